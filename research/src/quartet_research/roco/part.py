"""Parts of RoCo's experiments: tasks that are played in the same way, and counted in the same table."""

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from quartet_research.harness.study import Case, Record
from quartet_research.roco.speakers import Speakers
from quartet_teams import Discussion, Model
from quartet_teams.roco import Mode

SWITCH = {"on": True, "off": False}
PLANNERS = ("quartet", "rrt_connect")
PATHS = ("proposed", "linear", "hover")
HISTORY = {"all": True, "none": False}
WORDINGS = ("original", "reworded")
VARIED: Mapping[str, Collection[str]] = {
    "framework": tuple(mode.value for mode in Mode),
    "history": HISTORY,
    "feedback": SWITCH,
    "planner": PLANNERS,
    "path": PATHS,
    "wording": WORDINGS,
    "person": ("correcting", "imperfect", "typed"),
}
"""Valid values of the options that are compared; each value makes a setting of its own."""


@dataclass(frozen=True)
class Trial:
    """Outcome of one episode; a value that a part does not count is 0."""

    succeeded: bool
    """By ground truth."""
    steps: int = 0
    attempts: int = 0
    """Plans proposed in all steps."""
    calls: int = 0
    tokens: int = 0
    no_plan: int = 0
    """Steps without a plan that passed the checks."""
    not_executed: int = 0
    """Plans that passed the checks and were not executed."""
    idle: int = 0
    """Steps in which all robots agreed to wait although the task was not done."""
    arm_contacts: int = 0
    """Contacts between arms in executed plans."""
    reason: str = ""
    """Why it failed; empty if it succeeded."""
    wall_s: float = 0.0
    plan_cpu_s: tuple[float, ...] = ()
    """Processor time of each motion plan [s]."""


class Part(ABC):
    """Tasks that are played in the same way. Its name stands for all of them in `--tasks`."""

    name: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    most_trials: ClassVar[int] = 20
    """Trials of a task in the paper, or ours where it states none."""
    varies: ClassVar[tuple[str, ...]]
    """Options that apply to the tasks: keys of `VARIED`, or `temperature`."""
    published: ClassVar[Mapping[tuple[str, str], str]] = {}
    """Figures of the paper, by task and variant."""
    notes: ClassVar[Sequence[str]] = ()
    """Explanations that are printed with the table."""

    def trials(self, task: str) -> int:
        """Return the default number of trials of a task."""
        return self.most_trials

    def speakers(self, rate: float, case: Case) -> Model:
        """Return reference speakers that know only their own prompts, with a fault rate from 0 to 1."""
        return Speakers(rate, seed=case.instance["seed"])

    def baselines(self, cases: Sequence[Case]) -> Iterable[Record]:
        """Yield trials of baselines that need no model, for the tables."""
        return ()

    @abstractmethod
    async def play(self, case: Case, model: Model) -> Trial:
        """Play a case, whose setting has `task` and the options of `varies`, and whose instance has `seed`."""


def tokens_of(discussion: Discussion) -> int:
    """Return the tokens of all turns."""
    return sum(turn.answer.tokens_in + turn.answer.tokens_out for turn in discussion.turns)


def trial_of(discussion: Discussion, began: float, reason: str, *, agreed: bool, cpu_s: Sequence[float] = ()) -> Trial:
    """Return the trial of a team that agrees on one plan.

    Args:
        discussion: its turns and refusals.
        began: start by the monotonic clock [s].
        reason: of the failure, "" for a success.
        agreed: whether a plan passed the checks.
        cpu_s: processor time of the motion plan [s].
    """
    return Trial(
        succeeded=not reason,
        steps=1,
        attempts=len(discussion.refusals) + agreed,
        calls=len(discussion.turns),
        tokens=tokens_of(discussion),
        no_plan=int(not agreed),
        reason=reason,
        wall_s=time.monotonic() - began,
        plan_cpu_s=tuple(cpu_s),
    )
