"""Every thing that fits the gripper put into every bin: whether the report says what ground truth shows."""

from dataclasses import dataclass
from random import Random
from typing import Any

from quartet_benchmarks.home.outcome import Outcome
from quartet_benchmarks.home.suite import play
from quartet_benchmarks.home.templates import Episode, slim_objects
from quartet_benchmarks.home.world import Goal, World
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate
from quartet_deployment import Stack, StackOptions, state_folder
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
            "in": self.outcome.in_the_world,
            "codes": self.outcome.codes,
            "summary": self.outcome.summary,
            "wall_s": self.outcome.metrics["wall_s"],
        }


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of pairs (default all; 3 with --short).

    Raises StackError when the processes cannot be started.
    """
    options = StackOptions(
        state_dir=state_folder() / "bench-bins", fresh=True, world="home", sensors=parameters.sensors
    )
    drops: list[Drop] = []
    with Stack(options) as stack:
        site = load_site(stack.site_dir / "site.yaml")
        pairs = pairs_of(site, parameters.seed)
        count = parameters.episodes or (SHORT_EPISODES if parameters.short else len(pairs))
        with World(stack.scoring_url) as world:
            for number, (thing, container) in enumerate(pairs[:count]):
                seed = parameters.seed * 10_000 + number
                drops.append(one := _put_in(stack, world, seed, thing, container))
                parameters.progress(
                    f"{number + 1:3d} {one.verdict:20s} {thing} in {container.name}"
                    + ("" if one.verdict == "ok" else f" [{', '.join(one.outcome.codes)}] {one.outcome.summary}")
                )
    return BenchResult(
        "bins",
        {"pairs": len(drops), "of": len(pairs), "seed": parameters.seed, "sensors": parameters.sensors},
        metrics_of(drops),
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
            "Each thing that fits the gripper is in it at the start and is to be put into a bin. right_reports: the "
            "task SUCCEEDED and the thing is in the bin by ground truth, or neither. Seeds shuffle the pairs."
        ],
    )


def pairs_of(site: SiteFile, seed: int) -> list[tuple[str, Container]]:
    """Return every pair of a thing that fits the gripper and a container, in the order of the seed."""
    pairs = [(name, container) for name in slim_objects(site) for container in site.containers]
    Random(seed).shuffle(pairs)
    return pairs


def metrics_of(drops: list[Drop]) -> dict[str, float | Rate]:
    """Return the metrics."""
    inside = [one for one in drops if one.outcome.in_the_world]
    return {
        "right_reports": Rate(
            sum((one.outcome.state == "SUCCEEDED") == one.outcome.in_the_world for one in drops), len(drops)
        ),
        "reported_of_those_in": Rate(sum(one.verdict == "ok" for one in inside), len(inside)),
        "false_successes": sum(one.verdict == "FALSE SUCCESS" for one in drops),
        "not_in_and_said_so": sum(one.verdict == "not in, and said so" for one in drops),
    }


def _put_in(stack: Stack, world: World, seed: int, thing: str, container: Container) -> Drop:
    before = world.reset(seed, f"in_gripper:{thing}")
    episode = Episode(
        "held thing into a bin",
        f"You are holding the {thing}. Put it into the {container.name} in the {container.area}.",
        [Goal(thing, "in", container.name)],
    )
    return Drop(thing, container.name, play(stack, world, episode, seed, before))
