"""Runs and scores the episodes and sums up their results."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.templates import TEMPLATES, Draw, Episode, Template
from quartet_benchmarks.home.world import Truth, World, disturbed
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, percentile
from quartet_contracts import JournalEvent, State, TaskSubmission
from quartet_contracts.journal import SkillFinished
from quartet_deployment import ClientError, DeploymentError, Stack, StackOptions, run_metrics, state_folder
from quartet_site import SiteFile, load_site

EPISODES = 40
SHORT_BUDGET_S = 36.0
"""Time after which a short run starts no further episode [s]; start and end of the stack take the rest of its 50 s."""
TASK_TIMEOUT_S = 300.0
SEED_ATTEMPTS = 25


@dataclass
class Outcome:
    """Result of one episode."""

    episode: Episode
    seed: int
    state: State
    goals_met: int
    codes: list[str]
    """Error codes of all failed skills, in order."""
    final_codes: set[str]
    harm: list[str]
    metrics: dict[str, Any]
    sim_s: float
    summary: str
    memory_mb: dict[str, float]
    journal: list[JournalEvent] = field(repr=False)
    world: str = "home"

    @property
    def in_the_world(self) -> bool:
        """Whether all goals are met by ground truth."""
        return self.goals_met == len(self.episode.goals)

    @property
    def false_success(self) -> bool:
        """Whether the task SUCCEEDED although a goal is not met."""
        return self.state == State.SUCCEEDED and not self.in_the_world

    @property
    def success(self) -> bool:
        """Whether the goals are met and the task SUCCEEDED."""
        return self.state == State.SUCCEEDED and self.in_the_world

    @property
    def right_end(self) -> bool:
        """Whether an infeasible task ended with a right code and without harm."""
        return self.state == State.FAILED and bool(self.final_codes & self.episode.right_codes) and not self.harm

    @property
    def right(self) -> bool:
        """Whether it ended as it should."""
        return self.success if self.episode.feasible else self.right_end

    @property
    def verdict(self) -> str:
        """The result in a word or two."""
        if self.right:
            return "ok"
        if self.false_success:
            return "FALSE SUCCESS"
        return "failed" if self.episode.feasible else "wrong end"


@dataclass(frozen=True)
class Unplayed:
    """Episodes of a world that were not played, and why."""

    world: str
    episodes: int
    reason: str

    @property
    def told(self) -> str:
        """The same in a sentence."""
        return f"{self.episodes} episodes of '{self.world}' were not played: {self.reason}"


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite, the episodes spread over its worlds.

    A world that does not start, or breaks down, costs its own episodes only; the result says which and why. Raises
    what the last one failed with, such as StackError, when no episode could be played at all.
    """
    wanted = parameters.episodes or EPISODES
    worlds = parameters.worlds or ("home",)
    outcomes: list[Outcome] = []
    unplayed: list[Unplayed] = []
    models = ""
    for number, name in enumerate(worlds):
        folder = state_folder() / ("bench-home" if number == 0 else f"bench-home-{number + 1}")
        options = StackOptions(state_dir=folder, fresh=True, world=name, sensors=parameters.sensors)
        numbers = range(wanted * number // len(worlds), wanted * (number + 1) // len(worlds))
        played = len(outcomes)
        try:
            with Stack(options) as stack:
                models = ", ".join(stack.models.values()) or "scripted"
                # Not at once, so that what was played is kept when the world breaks down.
                for outcome in _episodes(stack, parameters, numbers, name):
                    outcomes.append(outcome)
        except (DeploymentError, UnfitPlacementError, httpx.HTTPError) as error:
            if not outcomes and number == len(worlds) - 1:
                raise
            unplayed.append(one := Unplayed(name, len(numbers) - (len(outcomes) - played), str(error)))
            parameters.progress(one.told)
    return _summary(
        outcomes,
        {
            "episodes": len(outcomes),
            "seed": parameters.seed,
            "worlds": ", ".join(worlds),
            "sensors": parameters.sensors,
            "model": models,
        },
        unplayed,
    )


def _episodes(stack: Stack, parameters: BenchParameters, numbers: range, name: str) -> Iterator[Outcome]:
    """Play episodes one by one, and keep the journals of those that went wrong."""
    site = load_site(stack.site_dir / "site.yaml")
    begun = time.monotonic()
    with World(stack.scoring_url) as world:
        for index in numbers:
            if parameters.short and index > numbers.start and time.monotonic() - begun > SHORT_BUDGET_S:
                break
            seed, episode, truth = _fitting(index, parameters.seed * 10_000 + index, site, world)
            outcome = play(stack, world, episode, seed, truth, name)
            parameters.progress(_line(index, outcome))
            if not outcome.right:
                _keep(stack, index, outcome)
            yield outcome


def _fitting(index: int, seed: int, site: SiteFile, world: World) -> tuple[int, Episode, Truth]:
    """Return the episode of the template whose turn it is, or of the next one that fits this world."""
    for further in range(len(TEMPLATES)):
        try:
            return set_up(TEMPLATES[(index + further) % len(TEMPLATES)], seed, site, world)
        except UnfitPlacementError:
            continue
    raise UnfitPlacementError(f"no template fits this world from seed {seed}")


def set_up(template: Template, seed: int, site: SiteFile, world: World) -> tuple[int, Episode, Truth]:
    """Return seed, episode and ground truth of the first placement that fits the template, from `seed` on.

    The same seed gives the same episode. Raises UnfitPlacementError.
    """
    for attempt in range(SEED_ATTEMPTS):
        tried = seed + attempt * 1_000_003
        rng = Random(tried)
        try:
            truth = world.reset(tried, template.scenario(rng, site))
            return tried, template.make(Draw(rng, site, truth)), truth
        except UnfitPlacementError:
            continue
    raise UnfitPlacementError(f"no placement fits '{template.name}' in {SEED_ATTEMPTS} seeds from {seed}")


def play(stack: Stack, world: World, episode: Episode, seed: int, before: Truth, name: str = "home") -> Outcome:
    """Run one episode to the end of its task. `before`: ground truth of the world as it is now, `name`: the world."""
    with stack.api() as api:
        status = api.submit(TaskSubmission(sentence=episode.sentence, timeout_s=TASK_TIMEOUT_S))
        events: list[JournalEvent] = []
        try:
            events.extend(api.events(status.task.task_id))
        except ClientError:
            dead = stack.died()
            if dead:
                raise dead[0] from None
            raise
        status = api.task(status.task.task_id)
    after = world.truth()
    codes = [e.event.error_code for e in events if isinstance(e.event, SkillFinished) and not e.event.success]
    report = status.report
    reported = {one.error_code for one in report.objects if not one.completed} if report else set()
    return Outcome(
        episode=episode,
        world=name,
        seed=seed,
        state=status.state,
        goals_met=sum(goal.met(after) for goal in episode.goals),
        codes=codes,
        final_codes=reported or set(codes[-1:]),
        harm=disturbed(before, after, {*(goal.object for goal in episode.goals), *episode.also_moved}),
        metrics=run_metrics(status, events),
        sim_s=after["time"] - before["time"],
        summary=report.summary if report else "",
        memory_mb=stack.memory_mb(),
        journal=events,
    )


def _keep(stack: Stack, index: int, outcome: Outcome) -> None:
    """Keep the journal of an episode that went wrong."""
    folder = stack.options.state_dir / "wrong"
    folder.mkdir(exist_ok=True)
    lines = "".join(event.model_dump_json() + "\n" for event in outcome.journal)
    (folder / f"{index + 1:03d}-seed-{outcome.seed}.jsonl").write_text(lines)


def _line(index: int, outcome: Outcome) -> str:
    verdict = outcome.verdict
    codes = f" [{', '.join(outcome.codes)}]" if outcome.codes else ""
    harm = f" disturbed: {', '.join(outcome.harm)}" if outcome.harm else ""
    why = f" ({outcome.summary})" if verdict != "ok" else ""
    return (
        f"{index + 1:3d} {verdict:13s} {outcome.metrics['wall_s']:5.1f} s  seed {outcome.seed}  "
        f"{outcome.episode.template}: {outcome.episode.sentence}{codes}{harm}{why}"
    )


def _summary(outcomes: list[Outcome], parameters: dict[str, Any], unplayed: Sequence[Unplayed] = ()) -> BenchResult:
    feasible = [o for o in outcomes if o.episode.feasible]
    infeasible = [o for o in outcomes if not o.episode.feasible]
    wall = sum(o.metrics["wall_s"] for o in outcomes)
    metrics: dict[str, float | Rate] = {
        "feasible_success_rate": Rate(sum(o.success for o in feasible), len(feasible)),
        "false_successes": sum(o.false_success for o in outcomes),
        "infeasible_right_code_rate": Rate(sum(o.right_end for o in infeasible), len(infeasible)),
        "episodes_not_played": sum(one.episodes for one in unplayed),
        "episodes_with_harm": sum(bool(o.harm) for o in outcomes),
        "job_wall_s_p50": percentile([o.metrics["wall_s"] for o in feasible], 0.5) if feasible else 0.0,
        "job_wall_s_max": max((o.metrics["wall_s"] for o in feasible), default=0.0),
        "job_sim_s_p50": percentile([o.sim_s for o in feasible], 0.5) if feasible else 0.0,
        "sim_realtime_factor": sum(o.sim_s for o in outcomes) / wall if wall else 0.0,
        "rss_total_mb": max(sum(o.memory_mb.values()) for o in outcomes),
        "tool_calls_mean": _mean([o.metrics["tool_calls"] for o in outcomes]),
        "tokens_mean": _mean([o.metrics["prompt_tokens"] + o.metrics["completion_tokens"] for o in outcomes]),
    }
    failures = Counter(code for o in outcomes for code in o.codes)
    metrics.update({f"code_{code}": count for code, count in sorted(failures.items())})
    return BenchResult(
        "home",
        parameters,
        metrics,
        _by_template(outcomes),
        [_detail(index, outcome) for index, outcome in enumerate(outcomes)],
        notes=[
            *(one.told for one in unplayed),
            *_failures(outcomes),
            "Success: the task SUCCEEDED and every object lies where it should by ground truth. "
            "Right code of an infeasible task: it FAILED with a code that fits and nothing else was moved.",
            "job_*: feasible tasks only; one that cannot be done is refused long before. "
            "rss_total_mb: sum of the proportional set sizes of all processes, largest after any episode. "
            "sim_realtime_factor: simulated over wall time of whole jobs, thinking and rendering included. "
            "code_*: how often a skill ended with that code, recovered or not.",
        ],
    )


def _failures(outcomes: list[Outcome]) -> list[str]:
    """Return a sentence for each episode that went wrong, with its cause as the task reported it."""
    return [
        f"{one.verdict}: {one.world}, seed {one.seed}, {one.episode.template}: "
        f"{', '.join(one.codes) or 'no code'}; {one.summary}"
        for one in outcomes
        if not one.right
    ]


def _by_template(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for template in TEMPLATES:
        ran = [o for o in outcomes if o.episode.template == template.name]
        if not ran:
            continue
        good = sum(o.right for o in ran)
        low, high = Rate(good, len(ran)).interval
        rows.append(
            {
                "template": template.name,
                "right": good,
                "n": len(ran),
                "interval": f"{low:.2f} to {high:.2f}",
                "wall_s_p50": percentile([o.metrics["wall_s"] for o in ran], 0.5),
                "sim_s_p50": percentile([o.sim_s for o in ran], 0.5),
                "tool_calls": _mean([o.metrics["tool_calls"] for o in ran]),
                "codes": ", ".join(f"{c} {n}" for c, n in Counter(c for o in ran for c in o.codes).items()),
            }
        )
    return rows


def _detail(index: int, outcome: Outcome) -> dict[str, Any]:
    return {
        "episode": index + 1,
        "world": outcome.world,
        "seed": outcome.seed,
        "template": outcome.episode.template,
        "sentence": outcome.episode.sentence,
        "feasible": outcome.episode.feasible,
        "verdict": outcome.verdict,
        "state": outcome.state.value,
        "goals_met": outcome.goals_met,
        "goals": [f"{goal.object} {goal.kind} {goal.target}" for goal in outcome.episode.goals],
        "codes": outcome.codes,
        "harm": outcome.harm,
        "summary": outcome.summary,
        "sim_s": round(outcome.sim_s, 2),
        **{name: outcome.metrics[name] for name in ("wall_s", "tool_calls", "prompt_tokens", "completion_tokens")},
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
