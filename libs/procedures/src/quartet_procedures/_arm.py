"""Motions of the arm that several procedures share."""

from typing import Any

from quartet_contracts.tools.moveit import GraspState, MoveitCode
from quartet_procedures._turns import GRASP_STATE, MOVE, OPEN, STRAIGHT, Call, Result, Turns, carry_out, why
from quartet_procedures.errors import GaveUpError

Pose = dict[str, Any]
"""Position [m], orientation (x, y, z, w) and frame_id, as results have them."""
GRASP_LOOKS = 3
"""How often the grasp state is read while the fingers move or nothing is known."""


class Arm:
    """The arm of one procedure.

    Its methods raise GaveUpError: `failed` or `out_of_reach` if a motion fails, UNKNOWN as carry_out does.
    """

    def __init__(self, transit_state: str, *, failed: str, out_of_reach: str) -> None:
        self._transit_state = transit_state
        self._failed = failed
        self._out_of_reach = out_of_reach

    @property
    def to_transit(self) -> Call:
        """Motion to the state in which the base may drive."""
        target = {"state_name": self._transit_state}
        return Call(MOVE, {"target_type": "named_state", "target": target}, "Arm to its transit state.")

    @staticmethod
    def above(pose: Pose, lower_by_m: float | None, say: str = "") -> Call:
        """Return a motion to `pose`, or up to `lower_by_m` [m] below it where the arm gets no higher."""
        lower = {} if lower_by_m is None else {"lower_by_m": lower_by_m}
        return Call(MOVE, {"target_type": "pose", "target": _target(pose), **lower}, say)

    @staticmethod
    def straight(pose: Pose, min_fraction: float | None = None, say: str = "") -> Call:
        """Return a motion in a straight line to `pose`, or at least `min_fraction` (0 to 1) of the way."""
        least = {} if min_fraction is None else {"min_fraction": min_fraction}
        return Call(STRAIGHT, {**_target(pose), **least}, say)

    @staticmethod
    def open(position: float | None = None) -> Call:
        """Return the opening of the gripper to a position of its joint; None: wholly."""
        return Call(OPEN, {} if position is None else {"position": position})

    def transit(self, note: str = "") -> Turns[None]:
        """Bring the arm to its transit state. A failure is reported with `note`."""
        moved = (yield from carry_out(self.to_transit))[-1]
        if not moved.ok:
            reason = f"{note}the arm did not reach its transit state: {why(moved)}"
            raise GaveUpError(self._failed, reason, because=moved.code)

    def give_up(self, failed: Result, what: str) -> Turns[None]:
        """Bring the arm to its transit state and give up a motion to `what`."""
        yield from self.transit(f"{what}: {why(failed)}; ")
        code = self._out_of_reach if failed.code == MoveitCode.OUT_OF_REACH else self._failed
        raise GaveUpError(code, f"the arm did not get to {what}: {why(failed)}", because=failed.code)

    def give_up_descent(self, failed: Result, above: Pose, min_fraction: float | None, what: str) -> Turns[None]:
        """Give up a straight descent. A hand that was stopped first leaves as it came, straight up to `above`."""
        if failed.code == MoveitCode.EXECUTION_FAILED:
            yield from carry_out(self.straight(above, min_fraction, "Something is in the way: up again."))
        yield from self.give_up(failed, what)

    def up(self, pose: Pose, min_fraction: float | None, lower_by_m: float | None, say: str = "") -> Turns[Result]:
        """Raise the hand straight up to `pose`, or by a planned motion if that fails."""
        moved = (yield from carry_out(self.straight(pose, min_fraction, say)))[-1]
        return moved if moved.ok else (yield from carry_out(self.above(pose, lower_by_m)))[-1]

    def settled(self, state: Result) -> Turns[Result]:
        """Return the grasp state, read again while the fingers move or nothing is known."""
        for _ in range(GRASP_LOOKS - 1):
            if state.ok and state.get("state") in {GraspState.HOLDING, GraspState.EMPTY}:
                break
            state = (yield from carry_out(Call(GRASP_STATE)))[-1]
        return state


def _target(pose: Pose) -> dict[str, Any]:
    return {key: pose[key] for key in ("position", "orientation", "frame_id")}
