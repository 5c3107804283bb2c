"""Which floor a search has looked at, and from where it looks at the rest."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import quartet_approach.search
from quartet_agent_runtime import RequestContext, ToolOutcome, WorkClock
from quartet_approach.floor import Floor
from quartet_approach.geometry import to_base
from quartet_approach.search import FLOOR_LOOKS, find
from quartet_approach.target import SearchMemory, Target, look
from quartet_contracts import Skill, SkillRequest
from quartet_contracts.tools import Pose2D
from quartet_site import Area, load_robot, load_site

HALL = [(0.0, 0.0), (9.0, 0.0), (9.0, 2.0), (0.0, 2.0)]
AT_THE_DOOR = Pose2D(x=1.0, y=1.0, yaw=0.0)
HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")


def all_around(x: float, y: float) -> list[Pose2D]:
    return [Pose2D(x=x, y=y, yaw=math.radians(degrees)) for degrees in range(-180, 180, 60)]


def test_the_next_look_is_at_what_no_look_has_shown():
    floor = Floor(HALL, 0.4)
    floor.looked(all_around(1.0, 1.0))
    pose = floor.best_pose(AT_THE_DOOR)
    assert pose is not None
    assert 1.0 < pose.x < 4.5, "not farther than it has to be"
    unseen = len(floor.unseen)
    floor.looked([pose])
    assert len(floor.unseen) < unseen


def test_looks_come_to_an_end_and_leave_little_unseen():
    floor, here, looks = Floor(HALL, 0.4), AT_THE_DOOR, 0
    while (pose := floor.best_pose(here)) is not None:
        floor.looked([pose])
        here, looks = pose, looks + 1
    assert 10 < looks < 40
    # What is left is in corners.
    assert len(floor.unseen) < 0.25 * 18.0 / 0.16


def test_a_position_that_is_not_reached_is_not_asked_for_again():
    floor, refused = Floor(HALL, 0.4), list[Pose2D]()
    floor.looked(all_around(1.0, 1.0))
    while (pose := floor.best_pose(AT_THE_DOOR)) is not None and (pose.x, pose.y) != (1.0, 1.0):
        refused.append(pose)
        floor.leave_out(pose)
    places = [(one.x, one.y) for one in refused]
    assert len(places) == len(set(places)) > 5


def test_a_closet_has_no_floor_that_is_far_enough_from_the_robot():
    closet = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    assert Floor(closet, 0.4).best_pose(Pose2D(x=0.5, y=0.5, yaw=0.0)) is None


def test_a_robot_that_cannot_turn_is_sent_elsewhere():
    floor = Floor(HALL, 0.4)
    turned, driven = floor.best_pose(AT_THE_DOOR), floor.best_pose(AT_THE_DOOR, turn=False)
    assert turned is not None
    assert driven is not None
    assert (turned.x, turned.y) == (1.0, 1.0)
    assert math.dist((driven.x, driven.y), (1.0, 1.0)) > 0.4


@dataclass
class Hall(RequestContext):
    """A hall in which something small lies that is seen from near alone, with a block in which no pose is free."""

    toy: tuple[float, float] = (7.0, 1.0)
    block: tuple[float, float] = (math.inf, math.inf)
    """From x to x."""
    turns: bool = True
    sees: bool = True
    refused: int = 0
    here: Pose2D = field(default_factory=AT_THE_DOOR.model_copy)
    barred_from_x: float = math.inf
    looks: list[Pose2D] = field(default_factory=list[Pose2D])

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        match tool:
            case "nav2__get_robot_pose":
                return ToolOutcome({"ok": True, "pose": self.here.model_dump()})
            case "nav2__spin_robot" if not self.turns:
                why = "SPIN_COLLISION_AHEAD"
                return ToolOutcome({"ok": False, "error_code": "NAVIGATION_FAILED", "message": why, "nav2_error": why})
            case "nav2__spin_robot":
                self.here = self.here.model_copy(
                    update={"yaw": math.remainder(self.here.yaw + given["angle"], math.tau)}
                )
                return ToolOutcome({"ok": True})
            case "nav2__get_path_from_robot":
                if given["goal_x"] < self.barred_from_x and not self.block[0] < given["goal_x"] < self.block[1]:
                    return ToolOutcome({"ok": True, "length_m": 1.0})
                self.refused += 1
                why = "NO_VALID_PATH"
                return ToolOutcome({"ok": False, "error_code": "NAVIGATION_FAILED", "message": why, "nav2_error": why})
            case "nav2__navigate_to_pose":
                self.here = Pose2D(x=given["x"], y=given["y"], yaw=given["yaw"])
                return ToolOutcome({"ok": True})
        assert tool == "perception__detect_objects", tool
        if not self.sees:
            return ToolOutcome({"ok": False, "error_code": "CAMERA_UNAVAILABLE"})
        self.looks += [self.here] if given["camera"] == "front" else []
        x, y = to_base(self.here, self.toy)
        if given["camera"] == "front" and math.hypot(x, y) < 1.4 and abs(math.atan2(y, x)) < math.radians(30):
            seen = {"label": "red toy car", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": "front"}
            return ToolOutcome({"ok": True, "detections": [{**seen, "position_base": [x, y, 0.02]}]})
        return ToolOutcome({"ok": True, "detections": []})


def hall(*, left_s: float = 600.0, **more: Any) -> tuple[Hall, Target]:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": "anna", "skill": Skill.APPROACH, "created_at": now,
            "deadline": now + left_s, "grant": "g", "reply_to": "q",
            "arguments": {"target_area": "hall", "object_name": "red toy car", "next_action": "pick"},
        }
    )  # fmt: skip
    none: Any = None
    entry = {"x": 1.0, "y": 1.0, "yaw": 0.0}
    area = Area.model_validate({"name": "hall", "aliases": [], "entry": entry, "outline": HALL, "landmarks": []})
    empty = SITE.model_copy(update={"surfaces": [], "containers": [], "areas": [area]})
    clock = WorkClock.of(request)
    context = Hall(request, ROBOT, empty, none, none, clock, ("anna",), **more)
    return context, Target("red toy car", area, "object", 0.8, None)


async def search(context: Hall, target: Target):
    memory = SearchMemory()
    return await look(context, target, memory=memory) or await find(context, target, memory)


@pytest.mark.parametrize("toy", [(7.0, 1.0), (4.0, 0.4), (8.5, 1.7)])
async def test_a_small_thing_far_from_where_a_robot_comes_in_is_found(toy):
    context, target = hall(toy=toy)
    sight = await search(context, target)
    assert sight is not None
    assert math.dist(sight.centre, toy) < 0.01


async def test_furniture_in_which_no_pose_is_free_costs_no_drive(monkeypatch):
    monkeypatch.setattr(quartet_approach.search, "FLOOR_DRIVES", 2)
    context, target = hall(toy=(7.5, 0.5), block=(2.0, 6.5))
    assert await search(context, target) is not None
    assert context.refused > 2


async def test_a_robot_that_cannot_turn_where_it_stands_looks_from_elsewhere():
    context, target = hall(toy=(7.0, 1.0), turns=False)
    await search(context, target)
    # The step that turns on the spot looks once more after a turn that failed, and then ends.
    at_the_door, elsewhere = context.looks[:2], [(pose.x, pose.y, pose.yaw) for pose in context.looks[2:]]
    assert {(pose.x, pose.y) for pose in at_the_door} == {(1.0, 1.0)}
    assert len(elsewhere) > 2
    assert len(set(elsewhere)) == len(elsewhere), "it looks again at the same"


async def test_what_no_camera_showed_was_not_looked_at():
    context, target = hall(sees=False)
    memory = SearchMemory()
    assert await look(context, target, memory=memory) is None
    assert memory.floor_of(target.area, 0.4).unseen == Floor(HALL, 0.4).unseen


async def test_looking_over_the_floor_comes_to_an_end():
    context, target = hall(toy=(50.0, 50.0))
    assert await search(context, target) is None
    assert len(context.looks) <= 6 + 1 + FLOOR_LOOKS


async def test_where_the_robot_does_not_get_to_it_does_not_look_from():
    context, target = hall(barred_from_x=2.0)
    assert await search(context, target) is None
    assert max(pose.x for pose in context.looks) < 2.0


async def test_a_search_with_little_time_left_does_not_look_over_the_floor():
    context, target = hall(left_s=50.0)
    assert await search(context, target) is None
    assert {(pose.x, pose.y) for pose in context.looks} == {(1.0, 1.0)}
