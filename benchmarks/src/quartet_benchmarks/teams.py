"""One, two and four robots sort the same things in the simulated home: how much sooner a team is done."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from quartet_benchmarks.errors import OptionError, UnfitPlacementError
from quartet_benchmarks.home.world import Goal, Truth, World
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult, Rate, percentile
from quartet_benchmarks.robot_time import PARTS, SIGNS, Span, WorldClock, drawn, parts_of_team, spans_of, time_of
from quartet_contracts import TERMINAL, State, TaskStatus, TaskSubmission
from quartet_deployment import OrchestratorClient, Stack, StackError, StackOptions, robot_folder, state_folder
from quartet_site import Abilities, SiteFile, load_robot, load_site

TEAM = "hmas2"
FLEETS = {1: "one", 2: "two", 4: "four"}
"""Numbers of equal robots and the names of their metrics."""
Fleet = tuple[str, tuple[str, ...], int]
"""Name, kinds as in StackOptions, number of robots."""
THINGS = 8
TASK_TIMEOUT_S = 1800.0
POLL_S = 0.5
SEED_ATTEMPTS = 25
SIGN_S = 4.0
"""Simulated time of one sign of a timeline [s]."""


@dataclass
class Sorting:
    """Result of one episode of one fleet."""

    seed: int
    fleet: str
    robots: int
    sentence: str
    end: TaskStatus
    delivered: list[bool]
    """Whether each thing lies where it was to go, by ground truth."""
    contacts: list[dict[str, Any]]
    """Parts of two robots that have touched, with the number of physics steps."""
    picked_by_two: list[str]
    """Things that the grippers of two robots have held."""
    sim_s: float
    wall_s: float
    spans: dict[str, list[Span]] = field(default_factory=dict[str, list[Span]])
    """What each robot did and when."""
    actions: dict[str, str] = field(default_factory=dict[str, str])
    """What each robot's task in it was, such as `move(can, kitchen, desk)`."""

    @property
    def robot_time_s(self) -> dict[str, dict[str, float]]:
        """Where the simulated time of each robot went, by `robot_time.PARTS` [s]."""
        return {robot: time_of(spans) for robot, spans in self.spans.items()}

    @property
    def mean_time_s(self) -> dict[str, float]:
        """The same as a mean of the robots [s]."""
        each = list(self.robot_time_s.values())
        return {part: round(sum(one[part] for one in each) / len(each), 1) for part in PARTS} if each else {}

    @property
    def done(self) -> bool:
        """Whether the task SUCCEEDED and everything is in its place."""
        return self.end.state is State.SUCCEEDED and all(self.delivered)

    def row(self) -> dict[str, Any]:
        """Return the row of this episode in the JSON."""
        return {
            "seed": self.seed,
            "fleet": self.fleet,
            "robots": self.robots,
            "done": self.done,
            "state": str(self.end.state),
            "delivered": sum(self.delivered),
            "contacts": self.contacts,
            "picked_by_two": self.picked_by_two,
            "sim_s": round(self.sim_s, 1),
            "wall_s": round(self.wall_s, 1),
            "robot_time_s": {
                robot: {part: round(seconds, 1) for part, seconds in parts.items()}
                for robot, parts in self.robot_time_s.items()
            },
            "timeline": {
                robot: [
                    [round(one.begin_s, 1), round(one.end_s, 1), one.part, self.actions.get(one.task, one.task)]
                    for one in spans
                ]
                for robot, spans in self.spans.items()
            },
            "sentence": self.sentence,
            "summary": self.end.report.summary if self.end.report else "",
        }


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of placements (default 6; 1 with --short).

    The option `robots` chooses the numbers of robots (default: 1, 2, 4; 1, 2 with --short). With several `kinds` the
    fleets are each of these robots alone and all together, and the things are such that each robot can hold them.

    An episode whose deployment does not start is left out and told.

    Raises StackError when none starts, UnfitPlacementError, OptionError.
    """
    count = parameters.episodes or (1 if parameters.short else 6)
    things = 2 if parameters.short else THINGS
    seeds = [parameters.seed * 10_000 + number for number in range(count)]
    fleets = _fleets(parameters)
    ran: list[Sorting] = []
    unplayed: list[StackError] = []
    # Of each placement one fleet after the other, so that other work on the machine slows all of them alike.
    for seed, (fleet, kinds, robots) in product(seeds, fleets):
        options = StackOptions(
            state_dir=state_folder() / "bench-teams",
            fresh=True,
            world="home",
            kinds=kinds,
            robots=robots,
            realtime_thinking=True,
            start_timeout_s=START_TIMEOUT_S,
        )
        try:
            with Stack(options) as stack:
                site = _without_what_one_cannot_hold(load_site(stack.site_dir / "site.yaml"), parameters.kinds)
                ran.append(one := sort_things(stack, site, seed, things, fleet))
        except StackError as error:
            # What was played before it stays: an episode of four robots takes minutes.
            parameters.progress(f"{fleet}, seed {seed}: not played: {error}")
            unplayed.append(error)
            continue
        state = "done" if one.done else f"not done ({one.end.state}, {sum(one.delivered)} of {things})"
        parameters.progress(f"{fleet}, seed {seed}: {state} in {one.sim_s:.0f} s of simulated time")
        for robot, spans in one.spans.items():
            parameters.progress(f"  {robot:8} {drawn(spans, SIGN_S)}")
    if not ran:
        raise unplayed[-1]
    return BenchResult(
        "teams",
        {
            "seed": parameters.seed,
            "episodes": count,
            "things": things,
            "team": TEAM,
            "robot": ", ".join(parameters.kinds) or "the world's own",
        },
        metrics_of(ran),
        [
            {"fleet": one.fleet, "seed": one.seed, "done": one.done, "sim_s": one.sim_s, "wall_s": one.wall_s}
            | one.mean_time_s
            for one in ran
        ],
        [one.row() for one in ran],
        [
            f"{things} things are carried to {things} surfaces of other rooms in the simulated home, by one robot (an "
            f"ordinary task) and by teams ({TEAM}), with the scripted model. Ratio: simulated time of the team over "
            "that of one robot for the same placement (of unlike robots, the faster one), of the placements that both "
            "have done; the median. The "
            "world stands still while no robot moves, and follows the wall clock while one moves and another thinks: "
            "thinking takes one robot no simulated time, a robot of a team as long as it takes on this machine. "
            "Done: SUCCEEDED, and everything in its place by ground truth. Contacts between any parts of two robots "
            "are counted in every step of the physics; a double pick is a thing that the grippers of two robots "
            "have held.",
            "Where the time went, as a mean of the robots [s]: driving, moving the arm, waiting for another robot to "
            "pass, thinking within errands (perception, models, checks), driving to a parking pose, free (without an "
            "errand, as during the team's discussion or when nothing is left). The JSON has it for each robot, with "
            "begin and end. A sign of a timeline is "
            f"{SIGN_S:g} s: {', '.join(f'{sign} {part}' for part, sign in SIGNS.items())}, | an errand begins.",
            *(f"An episode was not played: {error}" for error in unplayed),
        ],
    )


def _fleets(parameters: BenchParameters) -> list[Fleet]:
    """Return the fleets to measure. Raises OptionError."""
    chosen, kinds = tuple(dict.fromkeys(parameters.options.get("robots") or ())), parameters.kinds
    if kinds[1:]:
        if chosen:
            raise OptionError(f"robots: {chosen[0]}; leave it out, since --robot names each one ({', '.join(kinds)})")
        return [*((Path(kind).name, (kind,), 1) for kind in dict.fromkeys(kinds)), ("team", kinds, len(kinds))]
    if wrong := [number for number in chosen if number not in FLEETS]:
        raise OptionError(f"robots: {wrong[0]} is none that this suite measures; valid: {', '.join(map(str, FLEETS))}")
    numbers = chosen or tuple(number for number in FLEETS if number <= 2 or not parameters.short)
    return [(f"{FLEETS[number]}_robot", kinds, number) for number in numbers]


def _without_what_one_cannot_hold(site: SiteFile, kinds: Sequence[str]) -> SiteFile:
    hands = [Abilities(load_robot(robot_folder(kind) / "robot.yaml")) for kind in kinds]
    held = [thing for thing in site.objects if not any(hand.no_hold(thing) for hand in hands)]
    return site.model_copy(update={"objects": held})


def metrics_of(ran: list[Sorting]) -> dict[str, float | Rate]:
    """Return the metrics; a ratio is left out where no placement was done by both fleets."""
    alone: dict[int, float] = {}
    for one in ran:
        if one.robots == 1 and one.done:
            alone[one.seed] = min(one.sim_s, alone.get(one.seed, one.sim_s))
    metrics: dict[str, float | Rate] = {}
    for name in dict.fromkeys(one.fleet for one in ran):
        runs = [one for one in ran if one.fleet == name]
        metrics[f"{name}_success_rate"] = Rate(sum(one.done for one in runs), len(runs))
        ratios = [one.sim_s / alone[one.seed] for one in runs if one.done and one.seed in alone]
        if runs[0].robots > 1 and ratios:
            metrics[f"{name}_time_ratio"] = percentile(ratios, 0.5)
            metrics[f"{name}_time_ratio_max"] = max(ratios)
    if not (teams := [one for one in ran if one.robots > 1]):
        return metrics
    metrics["runs_with_contact"] = Rate(sum(bool(one.contacts) for one in teams), len(teams))
    metrics["runs_with_double_pick"] = Rate(sum(bool(one.picked_by_two) for one in teams), len(teams))
    return metrics


def goals_of(truth: Truth, site: SiteFile, rng: Random, count: int) -> list[tuple[Goal, str]] | None:
    """Return goals with the area where each thing is: every thing goes to another area, no two to the same surface.

    None when the placement has too few such things. The same seed gives the same goals.
    """
    areas = {place.name: place.area for place in site.surfaces}
    known = {thing.name for thing in site.objects}
    things = [
        (name, areas[one["on"]])
        for name, one in sorted(truth["objects"].items())
        if name in known and one["on"] in areas
    ]
    places = list(site.surfaces)
    rng.shuffle(things)
    rng.shuffle(places)
    found: list[tuple[Goal, str]] = []
    for place in places:
        thing = next(((name, area) for name, area in things if area != place.area), None)
        if thing is not None:
            things.remove(thing)
            found.append((Goal(thing[0], "on", place.name), thing[1]))
    return found[:count] if len(found) >= count else None


def sort_things(stack: Stack, site: SiteFile, seed: int, things: int = THINGS, fleet: str = "") -> Sorting:
    """One episode from a fresh world to the end of the task. Raises UnfitPlacementError, TimeoutError."""
    with World(stack.scoring_url) as world:
        goals, before = _set_up(world, site, seed, things)
        carried = [f"the {goal.object} from the {area} on the {goal.target}" for goal, area in goals]
        sentence = f"Put {', '.join(carried[:-1])} and {carried[-1]}."
        team = TEAM if len(stack.robots) > 1 else None
        begun, clock = time.monotonic(), WorldClock()
        clock.sample(time.time(), before["time"])
        with stack.api() as api:
            submission = TaskSubmission(sentence=sentence, team=team, timeout_s=TASK_TIMEOUT_S)
            task = api.submit(submission).task.task_id
            while (status := api.task(task)).state not in TERMINAL:
                if time.monotonic() - begun > TASK_TIMEOUT_S + 60:
                    raise TimeoutError(f"task {task} has not ended after its time: {status.state}")
                time.sleep(POLL_S)
                clock.sample(time.time(), world.truth()["time"])
            after = world.truth()
            clock.sample(time.time(), after["time"])
            spans, actions = _timeline(api, task, stack.robots, clock)
        return Sorting(
            seed=seed,
            fleet=fleet,
            robots=len(stack.robots),
            sentence=sentence,
            end=status,
            delivered=[goal.met(after) for goal, _ in goals],
            contacts=after["robot_contacts"],
            picked_by_two=[
                name for name in after["objects"] if sum(bool(one["grasps"].get(name)) for one in after["robots"]) > 1
            ],
            sim_s=after["time"] - before["time"],
            wall_s=time.monotonic() - begun,
            spans=spans,
            actions=actions,
        )


def _timeline(
    api: OrchestratorClient, task: str, robots: Sequence[str], clock: WorldClock
) -> tuple[dict[str, list[Span]], dict[str, str]]:
    """Return what each robot did, in its only task or in its parts of the team's task, and what each task was."""
    journal = list(api.events(task))
    if len(robots) == 1:
        return {robots[0]: spans_of({task: journal}, {task: False}, clock)}, {}
    parts = parts_of_team(journal)
    spans: dict[str, list[Span]] = {}
    for robot in robots:
        own = parts.get(robot, {})
        parks = {part: action.startswith("park(") for part, action in own.items()}
        spans[robot] = spans_of({part: list(api.events(part)) for part in own}, parks, clock)
    return spans, {task: action for own in parts.values() for task, action in own.items()}


def _set_up(world: World, site: SiteFile, seed: int, things: int) -> tuple[list[tuple[Goal, str]], Truth]:
    for tried in range(seed, seed + SEED_ATTEMPTS * 1_000_003, 1_000_003):
        truth = world.reset(tried)
        if goals := goals_of(truth, site, Random(tried), things):
            return goals, truth
    raise UnfitPlacementError(f"no placement has {things} things to sort in {SEED_ATTEMPTS} seeds from {seed}")
