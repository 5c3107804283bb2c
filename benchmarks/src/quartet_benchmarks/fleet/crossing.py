"""Two robots in one home whose jobs cross: each fetches an object from where the other puts one down."""

import time
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any

from quartet_benchmarks.errors import UnfitPlacementError
from quartet_benchmarks.home.world import Goal, Truth, World
from quartet_contracts import TERMINAL, JournalEvent, State, TaskStatus, TaskSubmission
from quartet_contracts.journal import SkillFinished, StateChanged
from quartet_deployment import OrchestratorClient, Stack
from quartet_site import SiteFile

TASK_TIMEOUT_S = 600.0
POLL_S = 0.5
SEED_ATTEMPTS = 25


@dataclass(frozen=True)
class Errand:
    """Task of one of the robots."""

    sentence: str
    goal: Goal


@dataclass
class CrossingRun:
    """Result of one episode."""

    seed: int
    errands: list[Errand]
    ends: list[TaskStatus]
    delivered: list[bool]
    """Whether each errand was done by ground truth."""
    overlapped: bool
    """Whether both tasks ran at the same time."""
    contacts: list[dict[str, Any]]
    """Parts of both robots that touched in any step of the physics, as ground truth has them."""
    codes: list[str]
    """Error codes of all failed skills."""
    wall_s: float
    sim_s: float

    @property
    def succeeded(self) -> list[bool]:
        """Whether each errand was done and its task SUCCEEDED."""
        pairs = zip(self.ends, self.delivered, strict=True)
        return [end.state is State.SUCCEEDED and delivered for end, delivered in pairs]

    @property
    def false_successes(self) -> int:
        """Number of tasks that SUCCEEDED although the errand was not done."""
        pairs = zip(self.ends, self.delivered, strict=True)
        return sum(end.state is State.SUCCEEDED and not delivered for end, delivered in pairs)

    def row(self) -> dict[str, Any]:
        """Return the row of this episode in the JSON."""
        return {
            "seed": self.seed,
            "sentences": [errand.sentence for errand in self.errands],
            "states": [str(end.state) for end in self.ends],
            "delivered": self.delivered,
            "overlapped": self.overlapped,
            "contacts": self.contacts,
            "codes": self.codes,
            "summaries": [end.report.summary if end.report else "" for end in self.ends],
            "wall_s": round(self.wall_s, 1),
            "sim_s": round(self.sim_s, 1),
        }


def crossing_of(truth: Truth, site: SiteFile, rng: Random) -> tuple[Errand, Errand] | None:
    """Return two errands that carry two objects each to the surface of the other, in two areas if possible.

    None when the placement has no such objects. The same seed gives the same errands.
    """
    areas = {surface.name: surface.area for surface in site.surfaces}
    found = [
        (name, thing["on"])
        for name, thing in sorted(truth["objects"].items())
        if thing["on"] in areas and not thing["held"]
    ]
    pairs = [pair for pair in combinations(found, 2) if pair[0][1] != pair[1][1]]
    apart = [(a, b) for a, b in pairs if areas[a[1]] != areas[b[1]]]
    if not pairs:
        return None
    (first, here), (second, there) = rng.choice(apart or pairs)
    return _errand(first, here, there, areas), _errand(second, there, here, areas)


def _errand(thing: str, source: str, target: str, areas: dict[str, str]) -> Errand:
    sentence = (
        f"Pick up the {thing} from the {source} in the {areas[source]} and place it on the {target} "
        f"in the {areas[target]}."
    )
    return Errand(sentence, Goal(thing, "on", target))


def cross(stack: Stack, site: SiteFile, seed: int) -> CrossingRun:
    """One episode from a fresh world to the end of both tasks. Raises LookupError where no placement fits."""
    with World(stack.scoring_url) as world:
        errands, before = _set_up(world, site, seed)
        begun = time.monotonic()
        with stack.api() as api:
            tasks = [_submit(api, errand, robot) for errand, robot in zip(errands, stack.robots, strict=True)]
            while any((status := api.task(task)).state not in TERMINAL for task in tasks):
                if time.monotonic() - begun > TASK_TIMEOUT_S + 60:
                    raise TimeoutError(f"task {status.task.task_id} has not ended after its time: {status.state}")
                time.sleep(POLL_S)
            ends = [api.task(task) for task in tasks]
            journals = [list(api.events(task)) for task in tasks]
        after = world.truth()
        spans = [(_begun(journal), journal[-1].at) for journal in journals]
        return CrossingRun(
            seed=seed,
            errands=errands,
            ends=ends,
            delivered=[errand.goal.met(after) for errand in errands],
            overlapped=max(start for start, _ in spans) < min(end for _, end in spans),
            contacts=after["robot_contacts"],
            codes=[
                event.event.error_code
                for journal in journals
                for event in journal
                if isinstance(event.event, SkillFinished) and not event.event.success
            ],
            wall_s=time.monotonic() - begun,
            sim_s=after["time"] - before["time"],
        )


def _set_up(world: World, site: SiteFile, seed: int) -> tuple[list[Errand], Truth]:
    for tried in range(seed, seed + SEED_ATTEMPTS * 1_000_003, 1_000_003):
        truth = world.reset(tried)
        if errands := crossing_of(truth, site, Random(tried)):
            return list(errands), truth
    raise UnfitPlacementError(f"no placement has things on two surfaces in {SEED_ATTEMPTS} seeds from {seed}")


def _submit(api: OrchestratorClient, errand: Errand, robot: str) -> str:
    submission = TaskSubmission(sentence=errand.sentence, robot=robot, timeout_s=TASK_TIMEOUT_S)
    return api.submit(submission).task.task_id


def _begun(journal: list[JournalEvent]) -> float:
    """Return when the task began to run, or its end if it never did."""
    runs = (one.at for one in journal if isinstance(one.event, StateChanged) and one.event.state is State.RUNNING)
    return next(runs, journal[-1].at)
