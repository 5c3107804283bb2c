"""Runs and scores the episodes."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx

from quartet_benchmarks.errors import OptionError, UnfitPlacementError
from quartet_benchmarks.home.feasible import judged, load_arm
from quartet_benchmarks.home.harm import Harm, harm_of
from quartet_benchmarks.home.homes import SIZED_FILE, furnished
from quartet_benchmarks.home.oracle import Arm
from quartet_benchmarks.home.outcome import Draws, Outcome, Unplayed
from quartet_benchmarks.home.summary import summary
from quartet_benchmarks.home.templates import Draw, Episode, Template
from quartet_benchmarks.home.tiers import TIERS, Tier, find_tier, of_kinds
from quartet_benchmarks.home.variations import vary
from quartet_benchmarks.home.wording import Wording
from quartet_benchmarks.home.world import Truth, World
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult
from quartet_benchmarks.rough_catalogue import STATED
from quartet_contracts import DeliveryOutcome, JournalEvent, State, TaskSubmission
from quartet_contracts.journal import Asked, SkillFinished
from quartet_deployment import (
    DEFAULT_SENSORS,
    ClientError,
    DeploymentError,
    Stack,
    StackOptions,
    run_metrics,
    state_folder,
)
from quartet_site import RobotFile, SiteFile, load_robot, load_site, normalise

EASY = "easy"
SHORT_BUDGET_S = 36.0
"""Time after which a short run starts no further episode [s]; start and end of the stack take the rest of its 50 s."""
TASK_TIMEOUT_S = 300.0
SEED_ATTEMPTS = 25
IN_THE_HOME_M = 50.0
"""Who is farther from the middle of the map than this is away."""
MEASURED_M = 0.002
"""How much wider than it is a thing may be measured."""


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite in a tier, or, with `vary`, at each level of what makes it hard."""
    tier = of_kinds(find_tier(parameters.options.get("tier", EASY)), parameters.options.get("kind") or ())
    if varied := parameters.options.get("vary"):
        if "sensors" in varied and parameters.sensors != DEFAULT_SENSORS:
            raise OptionError("sensors: --vary sensors plays all levels of them; leave --sensors out")
        out = Path(parameters.options.get("out") or Path("runs") / "home")
        return vary(varied, tier, lambda changed: play_tier(parameters, changed), out, parameters.progress)
    if parameters.options.get("out"):
        raise OptionError("out: of home, it is the folder of the curves of --vary")
    return play_tier(parameters, tier)


def play_tier(parameters: BenchParameters, tier: Tier) -> BenchResult:
    """Play the episodes of a tier, spread over its worlds.

    A world that does not start, or breaks down, costs its own episodes only: the one that was under way counts as
    failed, those after it are not played, and the result says which and why. Raises what the last world failed with,
    such as StackError, when no episode was begun at all.
    """
    if tier.sensors is not None and parameters.sensors not in (DEFAULT_SENSORS, tier.sensors):
        raise OptionError(
            f"sensors: the tier '{tier.name}' has {tier.sensors} ones, not {parameters.sensors}; leave one of both out"
        )
    sensors = tier.sensors or parameters.sensors
    catalogue = parameters.catalogue or STATED
    wanted = parameters.episodes or tier.episodes
    plan: list[tuple[BenchParameters, str, range]] = []
    for seed in parameters.all_seeds:
        # A home without an episode is not started, and a short run has time for one.
        drawn = tier.worlds_for(wanted, seed)
        names = (parameters.worlds or drawn[: 1 if parameters.short else None])[:wanted]
        for number, name in enumerate(names):
            numbers = range(wanted * number // len(names), wanted * (number + 1) // len(names))
            plan.append((replace(parameters, seed=seed), name, numbers))
    outcomes: list[Outcome] = []
    unplayed: list[Unplayed] = []
    draws = Draws()
    models = ""
    left_out: set[str] = set()
    for number, (seeded, name, numbers) in enumerate(plan):
        folder = state_folder() / ("bench-home" if number == 0 else f"bench-home-{number + 1}")
        played = len(outcomes)
        try:
            home = name
            sized: Path | None = None
            if tier.unknown_things or catalogue != "exact":
                beside = folder.with_name(f"{folder.name}-world")
                furnished(name, beside, seeded.seed, tier.unknown_things, catalogue=catalogue)
                home, sized = str(beside), beside / SIZED_FILE
            options = StackOptions(
                state_dir=folder,
                fresh=True,
                world=home,
                kinds=parameters.kinds,
                sensors=sensors,
                start_timeout_s=START_TIMEOUT_S,
            )
            with Stack(options) as stack:
                models = ", ".join(stack.model_names)
                site = load_site(sized if sized and sized.is_file() else stack.site_dir / "site.yaml")
                unfit = too_wide(site, load_robot(stack.site_dir / "robot.yaml"))
                left_out |= unfit
                # Not at once, so that what was played is kept when the world breaks down.
                for outcome in episodes_of(stack, seeded, numbers, name, site, unfit, tier, draws):
                    outcomes.append(outcome)
        except (DeploymentError, UnfitPlacementError, httpx.HTTPError) as error:
            if not outcomes and number == len(plan) - 1:
                raise
            # The episode that broke down says why itself.
            if left := len(numbers) - (len(outcomes) - played):
                unplayed.append(one := Unplayed(name, left, str(error)))
                parameters.progress(one.told)
    return summary(
        outcomes,
        {
            "tier": tier.name,
            "episodes": len(outcomes),
            "seed": ", ".join(map(str, parameters.all_seeds)),
            "worlds": ", ".join(name for _, name, _ in plan),
            "robot": ", ".join(parameters.kinds) or "the world's own",
            "too wide, so not asked for": ", ".join(sorted(left_out)) or "nothing",
            "not in this tier": tier.left_out,
            "sensors": sensors,
            "catalogue": catalogue,
            "model": models,
        },
        unplayed,
        draws,
    )


def episodes_of(
    stack: Stack,
    parameters: BenchParameters,
    numbers: range,
    name: str,
    site: SiteFile,
    unfit: frozenset[str],
    tier: Tier = TIERS[EASY],
    draws: Draws | None = None,
) -> Iterator[Outcome]:
    """Play episodes one by one, and keep the journals of those that went wrong or did harm.

    Raises what made one break down, after that one.
    """
    arm, draws, begun = load_arm(stack.site_dir), draws or Draws(), time.monotonic()
    with World(stack.scoring_url) as world:
        for index in numbers:
            if parameters.short and index > numbers.start and time.monotonic() - begun > SHORT_BUDGET_S:
                break
            seed, episode, truth = fitting(index, parameters.seed * 10_000 + index, site, world, unfit, tier, draws)
            try:
                outcome = play(stack, world, episode, seed, truth, name, index + 1, arm)
            except (DeploymentError, httpx.HTTPError) as error:
                # The world at the end is not known, so it is judged as it was at the start.
                outcome = broken_down(judged(episode, truth, truth, arm), seed, name, index + 1, error)
                parameters.progress(_line(outcome))
                yield outcome
                raise
            parameters.progress(_line(outcome))
            if not outcome.right or outcome.harm:
                _keep(stack, outcome)
            yield outcome


def fitting(
    index: int,
    seed: int,
    site: SiteFile,
    world: World,
    unfit: frozenset[str] = frozenset(),
    tier: Tier = TIERS[EASY],
    draws: Draws | None = None,
) -> tuple[int, Episode, Truth]:
    """Return the episode of the template whose turn it is, or of the next one that fits this world."""
    for template in tier.templates(index, seed):
        try:
            return set_up(template, seed, site, world, unfit, tier, draws)
        except UnfitPlacementError:
            continue
    raise UnfitPlacementError(f"no template fits this world from seed {seed}")


def too_wide(site: SiteFile, robot: RobotFile) -> frozenset[str]:
    """Return the names of the objects that the robot's gripper cannot take, which is nobody's failure."""
    room = robot.gripper.stroke_m - 2 * robot.gripper.side_clearance_m - MEASURED_M
    return frozenset(o.name for o in site.objects if min(o.appearance.known_size_m[:2]) > room)


def set_up(
    template: Template,
    seed: int,
    site: SiteFile,
    world: World,
    unfit: frozenset[str] = frozenset(),
    tier: Tier = TIERS[EASY],
    draws: Draws | None = None,
) -> tuple[int, Episode, Truth]:
    """Return seed, episode and ground truth of the first placement that fits the template, from `seed` on.

    The same seed gives the same episode; objects that are `unfit`, or in no catalogue, are part of none. `draws` counts
    the placements. Raises UnfitPlacementError.
    """
    draws = draws or Draws()
    choice = site.model_copy(update={"objects": [one for one in site.objects if one.name not in unfit]})
    names = [one.name for one in choice.objects]
    for attempt in range(SEED_ATTEMPTS):
        tried = seed + attempt * 1_000_003
        rng = Random(tried)
        try:
            wanted = template.scenario(rng, choice)
            scenario, hidden = tier.scenario(wanted, rng, names, Random(f"walks {tried}"))
            truth = world.reset(tried, scenario)
            seen = {**truth, "objects": {name: thing for name, thing in truth["objects"].items() if name in names}}
            seen["absent"] = [name for name in truth["absent"] if name in names]
            episode = template.make(Draw(rng, site, seen, hidden, wanted))
            if tier.reworded:
                episode = replace(episode, sentence=Wording(rng, site, seen).sentence(episode.goals))
            draws.accepted += 1
            return tried, episode, truth
        except UnfitPlacementError as error:
            draws.redrawn[f"{template.name}: {error.reason}"] += 1
    raise UnfitPlacementError(f"no placement fits '{template.name}' in {SEED_ATTEMPTS} seeds from {seed}")


def play(
    stack: Stack,
    world: World,
    episode: Episode,
    seed: int,
    before: Truth,
    name: str = "home",
    number: int = 1,
    arm: Arm | None = None,
) -> Outcome:
    """Run one episode to the end of its task.

    Args:
        stack: the deployment that does the task.
        world: its world.
        episode: the task, and what its result is measured by.
        seed: of the placement.
        before: ground truth of the world as it is now.
        name: the world's name.
        number: the episode's number in the run, from 1.
        arm: by which the oracle judges whether the episode is possible; None: as the episode says.

    Raises:
        ProcessDiedError, ClientError, httpx.HTTPError.
    """
    events: list[JournalEvent] = []
    try:
        with stack.api() as api:
            task_id = api.submit(TaskSubmission(sentence=episode.sentence, timeout_s=TASK_TIMEOUT_S)).task.task_id
            for event in api.events(task_id):
                events.append(event)
                if isinstance(event.event, Asked) and (answer := reply(episode, event.event.choices)) is not None:
                    api.answer(task_id, answer, event.event.question_id)
            status = api.task(task_id)
        after = world.truth()
    except (ClientError, httpx.HTTPError):
        if dead := stack.died():
            raise dead[0] from None
        raise
    if arm is not None:
        episode = judged(episode, before, after, arm)
    codes = [e.event.error_code for e in events if isinstance(e.event, SkillFinished) and not e.event.success]
    report = status.report
    missed = [one for one in report.objects if not one.completed] if report else []
    final_codes = {one.error_code for one in missed} or set(codes[-1:])
    return Outcome(
        episode=episode,
        world=name,
        number=number,
        seed=seed,
        state=status.state,
        goals_met=sum(goal.met(after) for goal in episode.goals),
        codes=codes,
        final_codes=final_codes,
        met=frozenset(goal.object for goal in episode.goals if goal.met(after)),
        object_codes=codes_by_object(episode, missed, final_codes, load_site(stack.site_dir / "site.yaml")),
        harm=harm_of(before, after, episode.goals, episode.also_moved),
        metrics=run_metrics(status, events),
        sim_s=after["time"] - before["time"],
        summary=report.summary if report else "",
        memory_mb=stack.memory_mb(),
        journal=events,
        people=any(math.dist(at, (0.0, 0.0)) < IN_THE_HOME_M for at in before["people"].values()),
    )


def codes_by_object(
    episode: Episode, missed: Sequence[DeliveryOutcome], final_codes: set[str], site: SiteFile
) -> dict[str, set[str]]:
    """Return the codes that ended the work on each object, whose names may be aliases of the site.

    All `final_codes` are those of the object if the episode has only one.
    """
    if len(episode.goals) == 1:
        return {episode.goals[0].object: final_codes}
    found: dict[str, set[str]] = {}
    for one in missed:
        known = site.object(one.object_name)
        found.setdefault(known.name if known else normalise(one.object_name), set()).add(one.error_code)
    return found


def reply(episode: Episode, choices: Sequence[str]) -> str | None:
    """Return what the person who gave the task says to a question: the one of its choices that the task is about.

    None, and so no answer, where that is none or several of them: who gives the task does not know more than it says.
    """
    meant = {normalise(name) for goal in episode.goals for name in (goal.object, goal.target)}
    fitting = [one for one in choices if normalise(one) in meant]
    return fitting[0] if len(fitting) == 1 else None


def broken_down(episode: Episode, seed: int, world: str, number: int, error: Exception) -> Outcome:
    """Return the outcome of an episode that `error` ended: how its task ended is not known, so it counts as failed."""
    return Outcome(
        episode=episode,
        world=world,
        number=number,
        broke_down=True,
        seed=seed,
        state=State.UNCERTAIN,
        goals_met=0,
        codes=[],
        final_codes=set(),
        harm=Harm(),
        metrics={},
        sim_s=math.nan,
        summary=str(error),
        memory_mb={},
        journal=[],
    )


def _keep(stack: Stack, outcome: Outcome) -> None:
    """Keep the journal of an episode."""
    folder = stack.options.state_dir / "wrong"
    folder.mkdir(exist_ok=True)
    lines = "".join(event.model_dump_json() + "\n" for event in outcome.journal)
    (folder / f"{outcome.number:03d}-seed-{outcome.seed}.jsonl").write_text(lines)


def _line(outcome: Outcome) -> str:
    verdict = outcome.verdict
    codes = f" [{', '.join(outcome.codes)}]" if outcome.codes else ""
    harm = f" harm: {', '.join(outcome.harm.told)}" if outcome.harm else ""
    why = f" ({outcome.summary})" if verdict != "ok" else ""
    return (
        f"{outcome.number:3d} {verdict:13s} {outcome.metrics.get('wall_s', math.nan):5.1f} s  seed {outcome.seed}  "
        f"{outcome.episode.template}: {outcome.episode.sentence}{codes}{harm}{why}"
    )
