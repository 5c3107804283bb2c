"""A halted arm goes aside only when it is up, or has no way further up."""

from types import SimpleNamespace
from typing import Any

import pytest

from quartet_agent_runtime import _retreat, retreat
from quartet_contracts.tools import Pose3D

LOW_M, LIFT_M = 1.1, 0.2
NONE = "NONE"


class Arm:
    """An arm whose lifts end with `codes`, in their order, after this part [0 to 1] of the way."""

    def __init__(self, *lifts: tuple[str, float]) -> None:
        self._lifts = list(lifts)
        self.robot: Any = SimpleNamespace(
            arm=SimpleNamespace(group="arm", transit_state="transit"),
            manipulation=SimpleNamespace(lift_height_m=LIFT_M),
        )
        self.z = LOW_M
        self.lost = 0
        """So many times it is not known where it is."""
        self.aside: list[float] = []
        """Heights at which it began to go aside [m]."""

    async def call(self, result: type[Any], tool: str, **arguments: Any) -> Any:
        if tool == "moveit__get_current_pose" and self.lost:
            self.lost -= 1
            return result(ok=False, error_code="TRANSFORM_UNAVAILABLE")
        if tool == "moveit__get_current_pose":
            pose = Pose3D(position=(0.8, 0.1, self.z), orientation=(1.0, 0.0, 0.0, 0.0), frame_id="base_footprint")
            return result(pose=pose)
        if tool == "moveit__plan_and_execute":
            self.aside.append(self.z)
            return result()
        code, part = self._lifts.pop(0)
        self.z += part * (arguments["position"][2] - self.z)
        return result(ok=code == NONE, error_code=code)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retreat, "RETRY_S", 0.0)


@pytest.mark.parametrize("code", ["WRONG_PHASE", "TRANSFORM_UNAVAILABLE", "BUSY", "ROS_ERROR"])
async def test_a_lift_that_is_refused_for_now_is_tried_again(code: str) -> None:
    arm: Any = Arm((code, 0.0), (code, 0.0), (NONE, 1.0))
    ended = await retreat(arm)
    assert ended is not None
    assert ended.ok
    assert arm.aside == [pytest.approx(LOW_M + LIFT_M)]


async def test_a_lift_that_was_halted_on_its_way_goes_on_to_the_same_height() -> None:
    arm: Any = Arm(("HEARTBEAT_LAPSED", 0.5), (NONE, 1.0))
    await retreat(arm)
    assert arm.aside == [pytest.approx(LOW_M + LIFT_M)]


async def test_a_lift_that_got_a_part_of_the_way_goes_on_before_the_arm_goes_aside() -> None:
    """The planner's map may have something above the arm that the next picture does not have."""
    arm: Any = Arm((NONE, 0.3), (NONE, 1.0))
    ended = await retreat(arm)
    assert ended is not None
    assert ended.ok
    assert arm.aside == [pytest.approx(LOW_M + LIFT_M)]


async def test_an_arm_that_gets_no_higher_goes_aside_from_as_high_as_it_got() -> None:
    arm: Any = Arm(*[(NONE, 0.1)] * _retreat.LIFT_TRIES)
    await retreat(arm)
    (height,) = arm.aside
    assert LOW_M + 0.3 * LIFT_M < height < LOW_M + 0.4 * LIFT_M


async def test_a_server_that_does_not_know_yet_where_the_arm_is_is_asked_again() -> None:
    arm: Any = Arm((NONE, 1.0))
    arm.lost = 2
    await retreat(arm)
    assert arm.aside == [pytest.approx(LOW_M + LIFT_M)]
    arm = Arm()
    arm.lost = 9
    assert await retreat(arm) is None
    assert arm.aside == []


async def test_an_arm_that_is_not_lifted_stays_where_it_is() -> None:
    arm: Any = Arm(*[("WRONG_PHASE", 0.0)] * 9)
    ended = await retreat(arm)
    assert ended is not None
    assert ended.error_code == "WRONG_PHASE"
    assert arm.aside == []


@pytest.mark.parametrize("code", ["PATH_INCOMPLETE", "OUT_OF_REACH", "START_IN_COLLISION"])
async def test_an_arm_that_has_no_way_up_goes_aside_from_where_it_is(code: str) -> None:
    arm: Any = Arm((code, 0.0))
    await retreat(arm)
    assert arm.aside == [LOW_M]
