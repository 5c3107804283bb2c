"""Count what a loop uses, and tell when a limit is reached."""

import math
import time

from quartet_agent_runtime._model import ModelAnswer
from quartet_agent_runtime._work_clock import WorkClock
from quartet_contracts import Budget, Usage
from quartet_process import boot_time


class Meter:
    """One loop's use of its `budget`, and the time left by `clock` (None: no limit)."""

    def __init__(self, budget: Budget, clock: WorkClock | None) -> None:
        self.budget = budget
        self._clock = clock
        self.unlimited = clock is None
        """No wall time limit, not even the budget's."""
        self._began = boot_time()
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """What was used so far."""
        return self._usage.model_copy(update={"wall_s": round(boot_time() - self._began, 3)})

    @property
    def remaining_s(self) -> float:
        """Wall time left [s]: the smaller of the budget's and the deadline's, not below zero; inf when unlimited."""
        if self._clock is None:
            return math.inf
        of_budget = self.budget.wall_s - (boot_time() - self._began - self._clock.waited_s)
        return max(0.0, min(of_budget, self._clock.left_s))

    @property
    def calls_left(self) -> int:
        """Tool calls that the budget has left."""
        return self.budget.tool_calls - self._usage.tool_calls

    def count_turn(self, answer: ModelAnswer) -> Usage:
        """Count one turn of the model and return what it alone used."""
        turn = Usage(
            turns=1,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            cost_usd=answer.cost_usd,
        )
        self._usage = self._usage.plus(turn)
        return turn

    def count_since(self, at: float) -> None:
        """Count the wall time from `at` [s since the epoch] on, when an earlier process began the loop."""
        self._began = min(self._began, boot_time() - (time.time() - at))

    def count_call(self) -> None:
        """Count one tool call."""
        self._usage = self._usage.plus(Usage(tool_calls=1))

    def exhausted(self) -> str | None:
        """Return which limit forbids another turn of the model, in words, or None."""
        if spent := self.budget.spent(self._usage):
            return f"budget spent: {spent} without a report"
        if self.remaining_s <= 0:
            return self.out_of_time()
        return None

    def out_of_calls(self) -> str:
        """Return what the ending says when no tool call is left and no report has come."""
        return f"budget spent: all {self.budget.tool_calls} tool calls, no report"

    def out_of_time(self) -> str:
        """Return what the ending says when the wall time is over."""
        if self._clock is not None and self._clock.left_s <= 0:
            return "the request's deadline passed without a report"
        return f"budget spent: {self.budget.wall_s:.0f} s of wall time without a report"
