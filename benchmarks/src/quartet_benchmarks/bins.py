"""Every thing that fits the gripper put into every bin: whether the report says what ground truth shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.outcome import Outcome, Unplayed
from quartet_benchmarks.home.suite import broken_down, play
from quartet_benchmarks.home.templates import Episode, slim_objects
from quartet_benchmarks.home.world import Goal, World
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_deployment import DeploymentError, Stack, StackOptions, state_folder
from quartet_site import Container, SiteFile, load_site

SHORT_EPISODES = 3


@dataclass(frozen=True)
class Drop:
    """One thing and the bin that it was to be put into."""

    thing: str
    container: str
    outcome: Outcome

    @property
    def verdict(self) -> str:
        """What the report is worth, in a few words."""
        if self.outcome.broke_down:
            return "broke down"
        reported, lies_there = self.outcome.state == "SUCCEEDED", self.outcome.in_the_world
        if reported:
            return "ok" if lies_there else "FALSE SUCCESS"
        return "failed though in" if lies_there else "not in, and said so"

    def row(self) -> dict[str, Any]:
        """Return its row in the JSON."""
        return {
            "thing": self.thing,
            "container": self.container,
            "seed": self.outcome.seed,
            "verdict": self.verdict,
            "state": self.outcome.state.value,
            "in": None if self.outcome.broke_down else self.outcome.in_the_world,
            "codes": self.outcome.codes,
            "summary": self.outcome.summary,
            "wall_s": self.outcome.metrics.get("wall_s"),
        }


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of pairs (default all; 3 with --short).

    Where a process dies, the pair under way counts as failed and those after it are not played. Raises what broke the
    run when no pair was begun, such as StackError.
    """
    options = StackOptions(
        state_dir=state_folder() / "bench-bins", fresh=True, world="home", sensors=parameters.sensors
    )
    drops: list[Drop] = []
    left, notes = 0, list[str]()
    with Stack(options) as stack:
        pairs = pairs_of(load_site(stack.site_dir / "site.yaml"), parameters.seed)
        planned = pairs[: parameters.episodes or (SHORT_EPISODES if parameters.short else len(pairs))]
        try:
            # Not at once, so that what was played is kept when the run breaks down.
            for one in _drops(stack, parameters, planned):
                drops.append(one)
                parameters.progress(_line(len(drops), one))
        except (DeploymentError, UnfitPlacementError, httpx.HTTPError) as error:
            if not drops:
                raise
            if left := len(planned) - len(drops):
                notes.append(Unplayed("home", left, str(error)).told)
    return BenchResult(
        "bins",
        {"pairs": len(drops), "of": len(pairs), "seed": parameters.seed, "sensors": parameters.sensors},
        {**metrics_of(drops), "episodes_not_played": left},
        [
            {
                "container": name,
                "in": sum(one.outcome.in_the_world for one in drops if one.container == name),
                "reported": sum(one.verdict == "ok" for one in drops if one.container == name),
                "failed though in": ", ".join(
                    one.thing for one in drops if one.container == name and one.verdict == "failed though in"
                ),
            }
            for name in sorted({one.container for one in drops})
        ],
        [one.row() for one in drops],
        notes=[
            *notes,
            "Each thing that fits the gripper is in it at the start and is to be put into a bin. right_reports: the "
            "task SUCCEEDED and the thing is in the bin by ground truth, or neither; one during which a process died "
            "counts as wrong. Seeds shuffle the pairs.",
        ],
    )


def _drops(stack: Stack, parameters: BenchParameters, pairs: list[tuple[str, Container]]) -> Iterator[Drop]:
    """Play pairs one by one. Raises what made one break down, after that one."""
    with World(stack.scoring_url) as world:
        for number, (thing, container) in enumerate(pairs):
            seed = parameters.seed * 10_000 + number
            before = world.reset(seed, f"in_gripper:{thing}")
            episode = Episode(
                "held thing into a bin",
                f"You are holding the {thing}. Put it into the {container.name} in the {container.area}.",
                [Goal(thing, "in", container.name)],
            )
            try:
                outcome = play(stack, world, episode, seed, before, number=number + 1)
            except (DeploymentError, httpx.HTTPError) as error:
                yield Drop(thing, container.name, broken_down(episode, seed, "home", number + 1, error))
                raise
            yield Drop(thing, container.name, outcome)


def _line(number: int, one: Drop) -> str:
    why = "" if one.verdict == "ok" else f" [{', '.join(one.outcome.codes)}] {one.outcome.summary}"
    return f"{number:3d} {one.verdict:20s} {one.thing} in {one.container}{why}"


def pairs_of(site: SiteFile, seed: int) -> list[tuple[str, Container]]:
    """Return every pair of a thing that fits the gripper and a container, in the order of the seed."""
    pairs = [(name, container) for name in slim_objects(site) for container in site.containers]
    Random(seed).shuffle(pairs)
    return pairs


def metrics_of(drops: list[Drop]) -> dict[str, float | Rate]:
    """Return the metrics."""
    inside = [one for one in drops if one.outcome.in_the_world]
    right = ("ok", "not in, and said so")
    return {
        "right_reports": Rate(sum(one.verdict in right for one in drops), len(drops)),
        "reported_of_those_in": Rate(sum(one.verdict == "ok" for one in inside), len(inside)),
        "false_successes": sum(one.verdict == "FALSE SUCCESS" for one in drops),
        "not_in_and_said_so": sum(one.verdict == "not in, and said so" for one in drops),
        "episodes_broken_down": sum(one.outcome.broke_down for one in drops),
    }
