"""How long an approach waits for others and where it goes meanwhile, over a played Nav2."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, WorkClock
from quartet_approach.geometry import to_base, to_map
from quartet_approach.search import CANDIDATE_LOOKS, CANDIDATE_M, find, visit
from quartet_approach.target import MAX_CANDIDATES, Candidate, SearchMemory, Target, look
from quartet_approach.traffic import (
    ALONE_ROUNDS,
    ALONE_WAIT_S,
    ASIDE_WAIT_S,
    CLEAR_LOOKS,
    LEAST_LEFT_S,
    LOOK_S,
    ROUNDS,
    WAIT_S,
    Patience,
    is_parked,
    moves_aside,
    obstructed,
    poses_of,
    reach,
)
from quartet_approach.verify import verify
from quartet_contracts import PARKING, ApproachArguments, ApproachReport, NextAction, Skill, SkillRequest
from quartet_contracts.tools import Pose2D
from quartet_site import inside, load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
KITCHEN = SITE.area("kitchen")
FLEET = ("anna", "ben")
assert KITCHEN is not None
COUNTER = next(place for place in SITE.surfaces if place.area == "kitchen")
BIN = next(place for place in SITE.containers if place.area == "kitchen")
TARGET = Target(COUNTER.name, KITCHEN, "surface", 0.66, COUNTER)


ARRIVED = ApproachReport(success=True, error_code="NONE", reason="there")


@dataclass
class Played(RequestContext):
    """Nav2 as one robot finds it: `shut` says which poses of the kitchen cannot be reached after so many waits."""

    shut: Any = lambda x, y, waits: False
    why: str = "PLANNER_GOAL_OCCUPIED"
    asked: int = 0
    """How often a path was asked for."""
    cleared: int = 0
    blocked_drives: int = 0
    here: tuple[float, float] = (6.7, 2.9)
    drives: list[tuple[float, float]] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    lost_after: frozenset[int] = frozenset()
    """After which numbers of waits the robot is not localised."""
    yaw: float = 0.0
    sees: Any = lambda x, y: False
    """Whether the object that is asked for is seen from a point; it is 1.2 m ahead then."""

    @property
    def waits(self) -> int:
        return len(self.waited)

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        if tool == "nav2__get_path_from_robot":
            x, y = given["goal_x"], given["goal_y"]
            self.asked += 1
            if self.shut(x, y, self.waits):
                return failed(self.why)
            return ToolOutcome({"ok": True, "length_m": math.dist(self.here, (x, y))})
        if tool == "nav2__navigate_to_pose":
            self.drives.append((given["x"], given["y"]))
            if self.blocked_drives:
                self.blocked_drives -= 1
                return failed("CONTROLLER_FAILED_TO_MAKE_PROGRESS")
            self.here, self.yaw = (given["x"], given["y"]), given["yaw"]
            return ToolOutcome({"ok": True})
        if tool == "nav2__wait":
            self.waited.append(given["seconds"])
            return ToolOutcome({"ok": True, "waited_s": given["seconds"]})
        if tool == "perception__detect_objects":
            seen = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": given["camera"]}
            there = [{**seen, "position_base": [1.2, 0.0, 0.9]}] if self.sees(*self.here) else []
            return ToolOutcome({"ok": True, "detections": there})
        if tool in {"nav2__spin_robot", "nav2__drive_on_heading"}:
            return ToolOutcome({"ok": True})
        if tool == "nav2__clear_costmaps":
            self.cleared += 1
            return ToolOutcome({"ok": True})
        if tool == "moveit__get_current_pose":
            arm = ROBOT.arm
            tucked = dict(zip(arm.joints, arm.named_states[arm.transit_state], strict=True))
            return ToolOutcome({"ok": True, "joint_positions": tucked})
        if tool == "moveit__get_grasp_state":
            return ToolOutcome({"ok": True, "state": "EMPTY"})
        assert tool == "nav2__get_robot_pose"
        if self.waits in self.lost_after:
            return ToolOutcome({"ok": False, "error_code": "TRANSFORM_UNAVAILABLE", "message": "not localised"})
        return ToolOutcome({"ok": True, "pose": {"x": self.here[0], "y": self.here[1], "yaw": self.yaw}})


def failed(name: str) -> ToolOutcome:
    return ToolOutcome({"ok": False, "error_code": "NAVIGATION_FAILED", "message": name, "nav2_error": name})


def check(
    robot: str = "anna", fleet: tuple[str, ...] = FLEET, left_s: float = 600.0, *,
    wanted: tuple[str, str] = (COUNTER.name, "surface_place"), kind: type[Played] = Played, **more: Any,
) -> Played:  # fmt: skip
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": robot, "skill": Skill.APPROACH, "created_at": now,
            "deadline": now + left_s, "grant": "g", "reply_to": "q",
            "arguments": {"target_area": "kitchen", "object_name": wanted[0], "next_action": wanted[1]},
        }
    )  # fmt: skip
    none: Any = None
    return kind(request, ROBOT, SITE, none, none, WorkClock.of(request), fleet, **more)


def in_kitchen(x: float, y: float, _: int) -> bool:
    return 8.4 < x < 12 and 0 < y < 4.2 and (x, y) not in parking()


def parking() -> set[tuple[float, float]]:
    return {(spot.x, spot.y) for spot in SITE.parking}


async def test_a_place_before_which_something_stands_is_looked_at_from_beside():
    given, target = BIN.approach, Target(BIN.name, KITCHEN, "container", 0.7, BIN)
    nav2 = check(shut=lambda x, y, _: math.dist((x, y), (given.x, given.y)) < 0.3)
    assert await visit(nav2, target, SearchMemory()) is None
    ahead = given.x + 1.2 * math.cos(given.yaw), given.y + 1.2 * math.sin(given.yaw)
    assert nav2.drives, "it looks from nowhere"
    assert math.dist(nav2.drives[0], ahead) == pytest.approx(1.2)
    assert math.dist(nav2.drives[0], (given.x, given.y)) > 0.3
    # An area that is shut altogether is not searched pose by pose.
    closed = check(shut=lambda x, y, _: True, why="PLANNER_NO_VALID_PATH")
    await visit(closed, target, SearchMemory())
    assert closed.asked <= len([*SITE.surfaces, *SITE.containers])


@pytest.mark.parametrize(
    ("kind", "left_s", "found"), [("object", 600.0, True), ("surface", 600.0, False), ("object", 55.0, False)]
)
async def test_what_something_else_hides_is_looked_for_from_the_sides(kind, left_s, found):
    """A can behind a carton on the counter; where a place is looked for, or time is short, nobody looks again."""
    stand = COUNTER.approach
    can = stand.x + 1.2 * math.cos(stand.yaw), stand.y + 1.2 * math.sin(stand.yaw)

    def aside(x, y):
        turned = math.atan2(y - can[1], x - can[0]) - stand.yaw - math.pi
        return abs(math.remainder(turned, 2 * math.pi)) > math.radians(40)

    # Nav2 has no path to the other places of the kitchen.
    nav2 = check(left_s=left_s, shut=lambda x, y, _: math.dist((x, y), can) > 1.25, here=(stand.x, stand.y))
    nav2.sees = lambda x, y: math.dist((x, y), can) < 1.25 and aside(x, y)
    sight = await visit(nav2, Target("red coke can", KITCHEN, kind, 0.7, None), SearchMemory())
    assert (sight is not None) == found
    if sight is not None:
        assert sight.centre == pytest.approx(can, abs=0.01)


@dataclass
class TwoAlike(Played):
    """Things in the kitchen that look like the can, each from some distances only; the camera of the arm sees none."""

    things: dict[tuple[float, float], Any] = field(default_factory=dict)
    """By place [m, map frame], whether it looks like the can from a distance [m], or how much of it is visible."""

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        pose = Pose2D(x=self.here[0], y=self.here[1], yaw=self.yaw)
        if tool == "nav2__approach_target":
            target = to_map(pose, (given["target_x_base"], given["target_y_base"]))
            self.yaw = math.atan2(target[1] - pose.y, target[0] - pose.x)
            ahead = math.dist(self.here, target) - given["standoff_m"]
            self.here = pose.x + ahead * math.cos(self.yaw), pose.y + ahead * math.sin(self.yaw)
            return ToolOutcome({"ok": True, "distance_after_m": given["standoff_m"]})
        if tool == "perception__detect_objects":
            seen = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 9, 9], "camera": "front"}
            there = [
                {**seen, "position_base": [*to_base(pose, place), 0.9], "visible": float(visible)}
                for place, looks_like_it in self.things.items()
                if given["camera"] == "front" and (visible := looks_like_it(math.dist(self.here, place)))
            ]
            return ToolOutcome({"ok": True, "detections": there})
        return await super().outcome(tool, timeout_s=timeout_s, **given)


@pytest.mark.parametrize("there", [True, False])
async def test_what_looks_like_the_target_only_from_afar_is_left_and_the_target_found(there):
    alike, can = (8.9, 3.6), (10.75, 2.1)
    things = {alike: lambda away: away > 1.6} | ({can: lambda away: away < 1.5} if there else {})
    nav2 = check(fleet=("anna",), kind=TwoAlike, wanted=("red coke can", "pick"), things=things, here=(9.85, 0.6))
    claimed = ApproachReport(success=True, error_code="NONE", reason="seen from the door")
    ended = await verify(nav2, claimed)
    assert (ended.success, ended.error_code.value) == ((True, "NONE") if there else (False, "NAV_VERIFY_OVERRIDE"))
    assert not there or math.dist(nav2.here, can) < 1.0


async def test_what_may_be_the_target_is_looked_at_from_nearer_before_it_is_searched_for():
    """A third of an apple beside the leg of a desk, from the door."""
    can = (9.6, 2.6)
    things = {can: lambda away: 0.36 if away > 1.5 else away < 1.15}
    nav2 = check(fleet=("anna",), kind=TwoAlike, wanted=("red coke can", "pick"), things=things, here=(9.85, 0.6))
    ended = await verify(nav2, ApproachReport(success=True, error_code="NONE", reason="seen from the door"))
    assert ended.success, ended.reason
    assert math.dist(nav2.drives[0], can) == pytest.approx(CANDIDATE_M, abs=0.01)
    assert math.dist(nav2.here, can) < 1.0


async def test_what_is_not_the_target_from_nearer_is_looked_at_from_two_sides_once():
    alike = (9.6, 2.6)
    things = {alike: lambda away: 0.36 if away > 1.5 else 0}
    nav2 = check(fleet=("anna",), kind=TwoAlike, wanted=("red coke can", "pick"), things=things, here=(9.85, 0.6))
    ended = await verify(nav2, ApproachReport(success=True, error_code="NONE", reason="seen from the door"))
    assert ended.error_code.value == "NAV_VERIFY_OVERRIDE"
    near = [drive for drive in nav2.drives if math.dist(drive, alike) == pytest.approx(CANDIDATE_M, abs=0.01)]
    assert len(near) == CANDIDATE_LOOKS


async def test_a_candidate_is_looked_at_while_there_is_time():
    things = {(9.6, 2.6): lambda away: 0.36 if away > 1.5 else 0}
    wanted = ("red coke can", "pick")
    nav2 = check(
        fleet=("anna",), kind=TwoAlike, wanted=wanted, things=things, here=(9.85, 0.6), left_s=LEAST_LEFT_S - 1
    )
    target = Target("red coke can", KITCHEN, "object", 0.7, None)
    memory = SearchMemory()
    assert await look(nav2, target, memory=memory) is None
    assert await find(nav2, target, memory) is None
    assert not any(math.dist(drive, (9.6, 2.6)) == pytest.approx(CANDIDATE_M, abs=0.01) for drive in nav2.drives)


async def test_a_candidate_is_looked_at_from_where_it_was_seen_first():
    """Also where the robot has gone on since."""
    place, seen_from = (10.2, 2.4), (10.2, 0.6)
    nav2 = check(fleet=("anna",), kind=TwoAlike, wanted=("red coke can", "pick"), here=(8.9, 2.4))
    memory = SearchMemory()
    memory.note(Candidate(place, seen_from))
    await find(nav2, Target("red coke can", KITCHEN, "object", 0.7, None), memory)
    assert nav2.drives[0] == pytest.approx((place[0], place[1] - CANDIDATE_M), abs=0.01)


def test_each_candidate_is_taken_once_where_it_may_be_the_target_and_no_more_than_a_few():
    target = Target("red coke can", KITCHEN, "object", 0.7, None, mistaken=((9.0, 2.0),))
    memory = SearchMemory()
    assert memory.take(target) is None
    for x, y in ((9.0, 2.0), (9.0, 3.0), (9.1, 3.3), (10.0, 1.0), (10.0, 3.0), (11.0, 2.0)):
        memory.note(Candidate((x, y), (8.0, 2.0)))
    taken = [memory.take(target) for _ in range(MAX_CANDIDATES + 1)]
    assert [one and one.centre for one in taken] == [(9.0, 3.0), (10.0, 1.0), (10.0, 3.0), None]
    memory.note(Candidate((10.1, 1.1), (8.0, 2.0)))
    assert memory.take(target) is None


async def test_a_robot_that_is_alone_waits_for_who_stands_in_a_doorway():
    """Who was seen there is forgotten after the wait, since nobody may see that they have left."""
    nav2 = check(fleet=("anna",), shut=lambda x, y, waits: waits < 2, why="PLANNER_NO_VALID_PATH")
    came = await reach(nav2, TARGET, Patience(nav2))
    assert came.pose is not None
    assert (nav2.waited, nav2.cleared) == ([ALONE_WAIT_S] * 2, 2)


async def test_a_robot_that_is_alone_waits_no_longer_for_a_closed_door_and_not_for_things():
    door = check(fleet=("anna",), shut=in_kitchen, why="PLANNER_NO_VALID_PATH")
    assert (await reach(door, TARGET, Patience(door))).pose is None
    assert len(door.waited) == ALONE_ROUNDS
    thing = check(fleet=("anna",), shut=in_kitchen)
    assert (await reach(thing, TARGET, Patience(thing))).pose is None
    assert thing.waited == []


async def test_an_area_into_which_no_way_is_free_is_told_as_closed():
    shut = check(fleet=("anna",), shut=in_kitchen, why="PLANNER_NO_VALID_PATH")
    came = await reach(shut, TARGET, Patience(shut))
    assert came.pose is None
    assert "PLANNER_NO_VALID_PATH (no way is free: a door is closed, or somebody" in came.note
    occupied = check(fleet=("anna",), shut=in_kitchen)
    assert "door" not in (await reach(occupied, TARGET, Patience(occupied))).note


async def test_the_first_pose_that_has_a_way_is_taken_and_told():
    wanted, entry = poses_of(SITE, TARGET)[:2]
    nav2 = check(shut=lambda x, y, _: (x, y) in {(wanted.x, wanted.y), (entry.x, entry.y)})
    came = await reach(nav2, TARGET, Patience(nav2))
    assert came.pose not in (None, wanted, entry)
    assert nav2.drives == [(came.pose.x, came.pose.y)]
    assert f"({wanted.x:.2f}, {wanted.y:.2f}): PLANNER_GOAL_OCCUPIED" in came.note
    free = check()
    assert await reach(free, TARGET, Patience(free)) == type(came)(wanted, "")


@pytest.mark.parametrize(("robot", "moves"), [("anna", False), ("ben", True)])
async def test_while_none_has_a_way_one_of_two_moves_aside_and_waits_until_the_other_is_past(robot, moves):
    nav2 = check(robot, shut=lambda x, y, waits: waits < 2 and in_kitchen(x, y, waits))
    came = await reach(nav2, TARGET, Patience(nav2))
    assert came.pose == poses_of(SITE, TARGET)[0]
    assert sum(nav2.waited) == ((2 + CLEAR_LOOKS - 1) * LOOK_S if moves else WAIT_S)
    assert ASIDE_WAIT_S > 2 * WAIT_S
    aside = nav2.drives[:-1]
    assert len(aside) == moves, "once; from there it need not go again"
    assert set(aside) <= parking()


async def test_out_of_view_of_the_place_nobody_knows_whether_it_is_free_and_the_wait_is_whole():
    nav2 = check("ben", here=(1.1, 0.6), shut=lambda x, y, waits: waits < 1 and in_kitchen(x, y, waits))
    assert (await reach(nav2, TARGET, Patience(nav2))).pose == poses_of(SITE, TARGET)[0]
    assert sum(nav2.waited) == ASIDE_WAIT_S


async def test_who_waits_until_a_robot_leaves_the_place_goes_on_when_it_has_left():
    counter = poses_of(SITE, TARGET)[0]
    taken = check(here=(9.85, 2.1), shut=lambda x, y, waits: waits < 3 and (x, y) == (counter.x, counter.y))
    settled = await verify(taken, ARRIVED)
    assert settled.error_code == "NAV_VERIFY_OVERRIDE", "nobody sees the counter here"
    assert sum(taken.waited) == (3 + CLEAR_LOOKS - 1) * LOOK_S < ASIDE_WAIT_S


async def test_a_robot_that_was_met_on_the_way_is_let_past_for_the_whole_wait():
    nav2 = check("ben", blocked_drives=1)
    assert (await reach(nav2, TARGET, Patience(nav2))).pose == poses_of(SITE, TARGET)[0]
    assert nav2.waited == [ASIDE_WAIT_S]


async def test_a_look_that_finds_the_place_taken_again_begins_the_wait_anew():
    nav2 = check("ben", shut=lambda x, y, waits: waits in {0, 2} and in_kitchen(x, y, waits))
    assert (await reach(nav2, TARGET, Patience(nav2))).pose == poses_of(SITE, TARGET)[0]
    assert sum(nav2.waited) == (3 + CLEAR_LOOKS - 1) * LOOK_S


async def test_a_robot_that_is_not_localised_for_a_moment_waits_on():
    lost = frozenset({1, 2})
    nav2 = check("ben", shut=lambda x, y, waits: waits < 1 and in_kitchen(x, y, waits), lost_after=lost)
    assert (await reach(nav2, TARGET, Patience(nav2))).pose == poses_of(SITE, TARGET)[0]
    assert sum(nav2.waited) == (len(lost) + CLEAR_LOOKS) * LOOK_S < ASIDE_WAIT_S


async def test_a_robot_that_is_not_localised_for_a_moment_stays_instead_of_moving_aside():
    """The missing pose ended the approach, although the wait goes on without it."""
    nav2 = check("ben", lost_after=frozenset({0}))
    assert await Patience(nav2).let_pass()
    assert (nav2.drives, nav2.waited) == ([], [ASIDE_WAIT_S])


async def test_a_robot_that_is_not_localised_is_not_known_to_be_parked():
    nav2 = check(lost_after=frozenset({0}), here=min(parking()))
    area = next(one for one in SITE.areas if inside(one.outline, *nav2.here))
    assert not await is_parked(nav2, area)
    nav2.lost_after = frozenset()
    assert await is_parked(nav2, area)


async def test_who_waits_for_the_place_itself_does_not_stand_in_the_way_out():
    nav2 = check("anna", here=(9.85, 2.1))
    assert await Patience(nav2).let_pass(first=True)
    assert set(nav2.drives) <= parking()
    assert (len(nav2.drives), nav2.waits) == (1, 1)


async def test_it_gives_up_after_so_many_rounds_and_says_where():
    wanted = poses_of(SITE, TARGET)[0]
    nav2 = check(shut=in_kitchen)
    came = await reach(nav2, TARGET, Patience(nav2))
    whole = [ASIDE_WAIT_S if moves_aside(FLEET, "anna", number) else WAIT_S for number in range(ROUNDS)]
    assert (came.pose, sum(nav2.waited)) == (None, sum(whole))
    assert f"no pose of kitchen could be reached; ({wanted.x:.2f}, {wanted.y:.2f}): PLANNER_GOAL_OCCUPIED" in came.note


async def test_a_report_that_says_much_leaves_its_code_as_it_is():
    said = ApproachReport(success=False, error_code="NAV_DRIVE_FAILED", reason="x" * 2000)
    settled = await verify(check(shut=in_kitchen, fleet=("anna",)), said)
    assert settled.error_code == "NAV_DRIVE_FAILED"
    assert settled.reason.startswith("no pose of kitchen could be reached")


@pytest.mark.parametrize("reason", [{"fleet": ("anna",)}, {"left_s": 20.0}])
async def test_nobody_is_waited_for_alone_or_when_the_time_is_nearly_over(reason):
    nav2 = check(shut=in_kitchen, **reason)
    assert (await reach(nav2, TARGET, Patience(nav2))).pose is None
    assert nav2.waits == 0


async def test_a_drive_that_meets_somebody_is_not_followed_by_one_to_the_next_pose_at_once():
    nav2 = check(blocked_drives=1)
    came = await reach(nav2, TARGET, Patience(nav2))
    assert (came.pose, nav2.waits) == (poses_of(SITE, TARGET)[0], 1)
    assert nav2.drives == [(came.pose.x, came.pose.y)] * 2


async def test_a_pose_of_the_site_that_is_occupied_tells_that_somebody_is_there():
    counter = poses_of(SITE, TARGET)[0]
    nav2 = check(shut=lambda x, y, _: (x, y) == (counter.x, counter.y))
    told = await obstructed(nav2, TARGET)
    assert f"at or before ({counter.x:.2f}, {counter.y:.2f}) (PLANNER_GOAL_OCCUPIED)" in told
    assert told.endswith("other robots of this place: ben")
    assert await obstructed(check(), TARGET) == ""


def to_park(area: str, **more: Any) -> Played:
    asked = ApproachArguments(target_area=area, object_name=PARKING, next_action=NextAction.FLOOR_PLACE)
    played = check(**more)
    played.request = played.request.model_copy(update={"arguments": asked})
    return played


async def test_a_robot_that_is_to_park_stands_in_a_parking_pose_of_the_area_or_is_brought_there():
    (spot,) = [pose for pose in SITE.parking if pose.x > 10]
    nav2 = to_park("kitchen", here=(9.85, 2.1))
    assert (await verify(nav2, ARRIVED)).success
    assert nav2.drives == [(spot.x, spot.y)]
    there = to_park("kitchen", here=(spot.x + 0.1, spot.y))
    assert (await verify(there, ARRIVED)).reason == "in kitchen; in its parking pose"
    assert there.drives == []


async def test_a_robot_parks_nowhere_else():
    (spot,) = [pose for pose in SITE.parking if pose.x > 10]
    nav2 = to_park("kitchen", fleet=("anna",), here=(9.85, 2.1), shut=lambda x, y, _: (x, y) == (spot.x, spot.y))
    settled = await verify(nav2, ARRIVED)
    assert (settled.error_code, nav2.drives) == ("NAV_DRIVE_FAILED", [])
    nowhere = await verify(to_park("dining area", here=(6.7, 2.9)), ARRIVED)
    assert nowhere.error_code == "NAV_DRIVE_FAILED"
    assert "the site has no parking pose in dining area" in nowhere.reason
