"""Approaches whose object is seen in another area, or has a name that the cameras do not know, over played servers."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, WorkClock
from quartet_approach.geometry import to_base
from quartet_approach.verify import verify
from quartet_contracts import ApproachReport, Skill, SkillRequest
from quartet_contracts.tools import Pose2D
from quartet_site import load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
ENTRY = SITE.area("kitchen").entry
DINING, HALL, NOWHERE = (7.4, 1.5), (9.5, 5.2), (20.0, 1.0)


@dataclass
class Played(RequestContext):
    """The robot stands in the kitchen, from where the front camera shows cans at points of the map; nothing drives."""

    cans: dict[tuple[float, float], float] = field(default_factory=dict[tuple[float, float], float])
    """Visible share of each can, by its point."""
    unknown: bool = False
    looks: int = 0
    asked_nav2: int = 0

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        pose = Pose2D(x=ENTRY.x, y=ENTRY.y, yaw=ENTRY.yaw)
        match tool:
            case "nav2__get_robot_pose":
                return ToolOutcome({"ok": True, "pose": pose.model_dump()})
            case "moveit__get_current_pose":
                arm = ROBOT.arm
                tucked = dict(zip(arm.joints, arm.named_states[arm.transit_state], strict=True))
                return ToolOutcome({"ok": True, "joint_positions": tucked})
            case "moveit__get_grasp_state":
                return ToolOutcome({"ok": True, "state": "EMPTY"})
            case "perception__detect_objects":
                self.looks += 1
                if self.unknown:
                    return failed("UNKNOWN_OBJECT", "nothing here is called 'sink'; this site's catalogue has: can")
                one = {"label": "can", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": given["camera"]}
                shown = self.cans.items() if given["camera"] == "front" else ()
                seen = [{**one, "position_base": [*to_base(pose, at), 0.5], "visible": v} for at, v in shown]
                return ToolOutcome({"ok": True, "detections": seen})
            case _:
                self.asked_nav2 += 1
                return failed("NAVIGATION_FAILED", "barred")


def failed(code: str, message: str) -> ToolOutcome:
    return ToolOutcome({"ok": False, "error_code": code, "message": message})


def played(name: str = "red coke can", **more: Any) -> Played:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": "anna", "skill": Skill.APPROACH, "created_at": now,
            "deadline": now + 600, "grant": "g", "reply_to": "q",
            "arguments": {"target_area": "kitchen", "object_name": name, "next_action": "pick"},
        }
    )  # fmt: skip
    none: Any = None
    return Played(request, ROBOT, SITE, none, none, WorkClock.of(request), ("anna",), **more)


@pytest.mark.parametrize(
    ("cans", "seen_in"),
    [
        ({DINING: 1.0}, "dining area"),
        ({HALL: 1.0, DINING: 0.9}, "dining area"),
        ({HALL: 1.0}, "hallway"),
        ({DINING: 0.3}, None),
        ({NOWHERE: 1.0}, None),
        ({}, None),
    ],
    ids=["there", "the nearer one", "behind a wall", "half hidden", "outside", "nothing"],
)
@pytest.mark.parametrize("claimed", ["NAV_TARGET_NOT_VISIBLE", "NONE"])
async def test_an_object_that_is_seen_in_another_area_is_reported_with_that_area(cans, seen_in, claimed):
    assert math.dist((ENTRY.x, ENTRY.y), DINING) < math.dist((ENTRY.x, ENTRY.y), HALL)
    robot = played(cans=cans)
    ended = await verify(robot, ApproachReport(success=claimed == "NONE", error_code=claimed, reason="seen"))
    assert ended.error_code == ("NAV_VERIFY_OVERRIDE" if claimed == "NONE" else "NAV_TARGET_NOT_VISIBLE")
    assert robot.seen_in == seen_in
    assert (f"it was seen in {seen_in}" in ended.reason) == (seen_in is not None)


@pytest.mark.parametrize("name", ["kitchen counter", "kitchen bin"])
async def test_a_place_is_where_the_site_says_and_not_where_a_camera_takes_something_for_it(name):
    robot = played(name, cans={DINING: 1.0})
    await verify(robot, ApproachReport(success=False, error_code="NAV_TARGET_NOT_VISIBLE", reason="not seen"))
    assert robot.seen_in is None


@pytest.mark.parametrize("claimed", ["NAV_TARGET_NOT_VISIBLE", "NONE", "UNKNOWN_NAME"])
@pytest.mark.parametrize("unknown", [True, False])
async def test_a_name_that_the_cameras_do_not_know_is_not_searched_for(unknown, claimed):
    robot = played("sink", unknown=unknown)
    ended = await verify(robot, ApproachReport(success=claimed == "NONE", error_code=claimed, reason="no sink"))
    assert (ended.error_code == "UNKNOWN_NAME") == unknown
    assert ("this site's catalogue has: can" in ended.reason) == unknown
    assert (ended.checks[0].name, ended.checks[0].result) == ("area", "PASS")
    assert (robot.asked_nav2 == 0) == unknown
    assert robot.looks == 2 if unknown else robot.looks > 2
