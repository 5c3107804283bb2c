"""Plans that wait for their execution, by operation id."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from quartet_contracts.tools.moveit import MoveitCode, OperationState, PlanResult
from quartet_robot_link import Message
from quartet_tool_server import ToolError

KEPT = 50
"""Operations that are remembered; the oldest go first."""


@dataclass
class Operation:
    """One plan. `fence` is that of the attempt that made it: no other attempt executes it."""

    result: PlanResult
    fence: int
    trajectory: Message = field(default_factory=dict[str, Any])
    since: int = 0
    """Event of the SharedSpace after which it was planned."""
    execution: dict[str, Any] = field(default_factory=dict[str, Any])
    """Fields of the execution's result, once there is one."""
    why: str = ""
    """Reason for which the plan is outdated."""

    @property
    def id(self) -> str:
        """Operation id, such as plan-3."""
        return self.result.operation_id

    @property
    def state(self) -> OperationState:
        """How far the operation is."""
        return self.result.state or OperationState.UNKNOWN

    @state.setter
    def state(self, value: OperationState) -> None:
        self.result.state = value


class Operations:
    """The plans of one server. `fence` gives the fence of the call that is being served."""

    def __init__(self, fence: Callable[[], int]) -> None:
        self._fence = fence
        self._items: dict[str, Operation] = {}
        self._count = 0

    def add(self, result: PlanResult, trajectory: Message, since: int) -> Operation:
        """Remember a plan, made after event `since`, and give it its id."""
        self._count += 1
        result.operation_id = f"plan-{self._count}"
        item = self._items[result.operation_id] = Operation(result, self._fence(), trajectory, since)
        for old in list(self._items)[:-KEPT]:
            if self._items[old].state is not OperationState.EXECUTING:
                del self._items[old]
        return item

    def find(self, operation_id: str | None) -> Operation:
        """The plan of that id, the newest when None. Raises ToolError UNKNOWN_OPERATION."""
        own = [item for item in self._items.values() if item.fence == self._fence()]
        if operation_id is None and own:
            return own[-1]
        for item in own:
            if item.id == operation_id:
                return item
        known = ", ".join(item.id for item in own[-5:]) or "none; call plan_to_pose, for example"
        asked = "there is no plan" if operation_id is None else f"operation_id '{operation_id}' is not known"
        raise ToolError(f"{asked}; valid: {known}", code=MoveitCode.UNKNOWN_OPERATION)

    def outdate(self, why: str) -> None:
        """No plan that was made so far is executed any more."""
        for item in self._items.values():
            if item.state is OperationState.PLANNED:
                item.state, item.why = OperationState.OUTDATED, why
