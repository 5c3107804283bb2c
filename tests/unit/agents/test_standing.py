"""Where the robot stands before a target, over a played Nav2 that leaves few poses free."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, WorkClock
from quartet_approach.geometry import facing, to_base, to_map
from quartet_approach.standing import AROUND_DEG, BETWEEN_DEG, stand_before
from quartet_approach.target import Sight, Target
from quartet_contracts import ApproachArguments, NextAction, Skill, SkillRequest
from quartet_contracts.tools import Pose2D
from quartet_site import load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
KITCHEN = SITE.area("kitchen")
assert KITCHEN is not None
MIDDLE = (10.2, 2.4)
"""Of the kitchen, where nothing of the site bars a side."""
STANDOFF = 0.7


@dataclass
class Played(RequestContext):
    """Something small lies before the bin in the middle: no drive straight in, and only the pose `free` is reached."""

    free: tuple[float, float] = (0.0, 0.0)
    all_free: bool = False
    """Whether each pose is reached, and the bin seen from `free` alone."""
    here: Pose2D = field(default_factory=lambda: facing(MIDDLE, 0.0, 1.4))
    asked: int = 0
    poses: list[Pose2D] = field(default_factory=list[Pose2D])
    """To which the robot was driven."""
    approached: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """To which it was to drive straight in."""

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        if tool == "nav2__get_robot_pose":
            return ToolOutcome({"ok": True, "pose": self.here.model_dump()})
        if tool == "perception__detect_objects":
            at = to_base(self.here, MIDDLE)
            if self.all_free and math.dist((self.here.x, self.here.y), self.free) > 0.1:
                return ToolOutcome({"ok": True, "detections": []})
            seen = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": given["camera"]}
            return ToolOutcome({"ok": True, "detections": [{**seen, "position_base": [*at, 0.1]}]})
        if tool == "nav2__get_path_from_robot":
            self.asked += 1
            if self.all_free or math.dist((given["goal_x"], given["goal_y"]), self.free) < 0.1:
                return ToolOutcome({"ok": True, "length_m": 1.0})
            return barred("PLANNER_GOAL_OCCUPIED")
        if tool == "nav2__navigate_to_pose":
            self.here = Pose2D(x=given["x"], y=given["y"], yaw=given["yaw"])
            self.poses.append(self.here)
            return ToolOutcome({"ok": True})
        if tool == "nav2__spin_robot":
            return ToolOutcome({"ok": True})
        assert tool == "nav2__approach_target", tool
        self.approached.append(to_map(self.here, (given["target_x_base"], given["target_y_base"])))
        return barred("DRIVE_COLLISION_AHEAD")


def barred(why: str) -> ToolOutcome:
    return ToolOutcome({"ok": False, "error_code": "NAVIGATION_FAILED", "message": why, "nav2_error": why})


def played(free: tuple[float, float], *, all_free: bool = False) -> Played:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": "anna", "skill": Skill.APPROACH, "created_at": now,
            "deadline": now + 600, "grant": "g", "reply_to": "q",
            "arguments": {"target_area": "kitchen", "object_name": "red coke can", "next_action": "pick"},
        }
    )  # fmt: skip
    none: Any = None
    clock = WorkClock.of(request)
    return Played(request, ROBOT, SITE, none, none, clock, ("anna",), free=free, all_free=all_free)


async def stands(nav2: Played):
    target = Target("red coke can", KITCHEN, "object", STANDOFF, None)
    return await stand_before(nav2, target, Sight(MIDDLE, MIDDLE, to_base(nav2.here, MIDDLE)))


@pytest.mark.parametrize("degrees", [17, -35, *BETWEEN_DEG[:4]])
async def test_the_robot_finds_the_only_side_that_is_free(degrees):
    pose = facing(MIDDLE, math.radians(degrees), STANDOFF)
    nav2 = played((pose.x, pose.y))
    standing = await stands(nav2)
    assert standing.reached, standing
    assert math.dist((nav2.here.x, nav2.here.y), (pose.x, pose.y)) < 0.01


async def test_where_no_side_is_free_each_is_asked_for_once():
    nav2 = played((0.0, 0.0))
    standing = await stands(nav2)
    assert not standing.reached
    assert "DRIVE_COLLISION_AHEAD" in standing.note
    assert nav2.asked == len(AROUND_DEG) + len(BETWEEN_DEG)


@pytest.mark.parametrize(("degrees", "reached"), [(-17, True), (BETWEEN_DEG[0], False)])
async def test_what_is_hidden_from_its_sides_is_looked_for_from_near_where_it_was_seen(degrees, reached):
    """And not from everywhere else: nothing bars the way there."""
    pose = facing(MIDDLE, math.radians(degrees), STANDOFF)
    nav2 = played((pose.x, pose.y), all_free=True)
    standing = await stands(nav2)
    assert standing.reached is reached, standing
    assert nav2.asked <= len(AROUND_DEG)


@pytest.mark.parametrize(("kind", "degrees"), [("object", 35), ("surface", 70)])
async def test_another_side_of_a_surface_is_another_edge(kind, degrees):
    """From a little aside the same part of a table is seen, and the arm reaches the same."""
    nav2 = played((0.0, 0.0), all_free=True)
    before = nav2.here
    target = Target("red coke can", KITCHEN, kind, STANDOFF, None, other_side=True)
    await stand_before(nav2, target, Sight(MIDDLE, MIDDLE, to_base(before, MIDDLE)))
    was, now = (math.atan2(pose.y - MIDDLE[1], pose.x - MIDDLE[0]) for pose in (before, nav2.poses[0]))
    assert abs(math.degrees(math.remainder(now - was, math.tau))) == pytest.approx(degrees)


async def test_where_another_edge_is_barred_a_little_aside_will_do():
    nav2 = played((0.0, 0.0))
    before = nav2.here
    for degrees in (35, 17):
        seen_from = math.atan2(before.y - MIDDLE[1], before.x - MIDDLE[0])
        pose = facing(MIDDLE, seen_from + math.radians(degrees), 1.2)
        nav2 = played((pose.x, pose.y))
        target = Target("red coke can", KITCHEN, "surface", 1.2, None, other_side=True)
        await stand_before(nav2, target, Sight(MIDDLE, MIDDLE, to_base(before, MIDDLE)))
        assert [(one.x, one.y) for one in nav2.poses] == [pytest.approx((pose.x, pose.y))]


async def test_after_vain_drives_to_other_sides_the_target_is_where_it_was_seen():
    """Not as far ahead of the last of these poses as of the first."""
    nav2 = played((0.0, 0.0), all_free=True)
    target = Target("red coke can", KITCHEN, "surface", STANDOFF, None, other_side=True)
    await stand_before(nav2, target, Sight(MIDDLE, MIDDLE, to_base(nav2.here, MIDDLE)))
    assert nav2.poses
    assert nav2.approached
    assert all(at == pytest.approx(MIDDLE) for at in nav2.approached)


@pytest.mark.parametrize(("action", "away"), [("look", 1.3), ("pick", 0.8)])
def test_the_robot_stands_farther_off_to_look(action: str, away: float):
    """From nearer, a camera shows a part of a surface only."""
    check = played((0.0, 0.0))
    arguments = ApproachArguments(target_area="kitchen", object_name="red coke can", next_action=NextAction(action))
    assert Target.of(check, arguments, KITCHEN).standoff == away
