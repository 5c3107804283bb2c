"""Who goes first among robots that drive: where they would meet, where one waits, and when it sets off."""

import asyncio
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import RequestContext, ToolOutcome, WorkClock, ignore_progress
from quartet_approach.meeting import NEAR_M, SOON_M, meets_after, passes
from quartet_approach.right_of_way import LEAST_LEG_M, LOOK_S, MOST_WAIT_S, DriveInTurn
from quartet_contracts import AnnouncedRoute, Route, RouteTurn, Skill, SkillRequest
from quartet_site import inside, load_robot, load_site

HOME = Path(__file__).parents[3] / "deploy" / "sites" / "home"
SITE, ROBOT = load_site(HOME / "site.yaml"), load_robot(HOME / "robot.yaml")
FLEET = ("anna", "ben", "cleo")
APART = 2 * ROBOT.base.footprint_radius_m
HALL_Y = 5.2
"""Middle of the hallway, along x."""


def straight(*points):
    return passes(points)


class TestMeeting:
    def test_two_in_opposite_directions_meet_where_they_come_together(self):
        met = meets_after(straight((0, 0), (6, 0)), straight((4, 0), (0, 0)), APART)
        assert met is not None
        assert met <= 4

    def test_two_that_follow_one_another_or_pass_apart_do_not_meet(self):
        assert meets_after(straight((0, 0), (6, 0)), straight((1, 0), (12, 0)), APART) is None
        assert meets_after(straight((0, 0), (6, 0)), straight((6, APART + 0.1), (0, APART + 0.1)), APART) is None

    def test_who_is_past_long_before_the_other_comes_does_not_wait(self):
        """Across the other's way: at once, or 4 m before it."""
        across = straight((0, -1), (0, 4))
        assert meets_after(across, straight((-1, 0), (5, 0)), APART) is not None
        assert meets_after(across, straight((-6, 0), (5, 0)), APART) is None
        late = straight((0, -4.9), (0, 4))
        assert meets_after(late, straight((0, 0), (-5, 0)), APART) is None

    def test_what_comes_later_is_for_nav2_to_see(self):
        far = SOON_M + NEAR_M + 2
        assert meets_after(straight((0, 0), (far, 0)), straight((far, 0), (0, 0)), APART) is None

    def test_a_goal_on_the_way_of_another_is_taken_after_it_has_passed(self):
        mine = straight((0, 0), (2, 0))
        assert meets_after(mine, straight((-3, 0), (5, 0)), APART) == pytest.approx(2)
        assert meets_after(mine, straight((-3, 0), (2, 0)), APART) is None, "the same goal"
        assert meets_after(mine, straight((1, 0), (5, 0)), APART) is None, "it is past before"

    def test_what_is_driven_of_a_route_counts_no_more(self):
        left = passes([(0, 0), (4, 0), (4, 3)], driven_m=5)
        assert left[-1].ahead_m == pytest.approx(2)
        assert all(one.at[0] == pytest.approx(4) for one in left)
        assert [one.at for one in passes([(1, 1)], driven_m=3)] == [(1, 1)]


class Board:
    """Routes of one place, as the store keeps them."""

    def __init__(self):
        self.rows: dict[str, AnnouncedRoute] = {}
        self.log: list[tuple[str, bool]] = []
        self.last = 0

    async def announce(self, place, robot, number, route):
        assert place == FLEET[0]
        own = self.rows.get(robot)
        if number is None or own is None or own.number != number:
            self.last += 1
            number = self.last
        self.rows[robot] = AnnouncedRoute(robot, number, route)
        self.log.append((robot, route.waiting))
        return RouteTurn(number, tuple(row for name, row in self.rows.items() if name != robot))

    async def withdraw(self, place, robot, number):
        if robot in self.rows and self.rows[robot].number == number:
            del self.rows[robot]

    def drives(self, robot, *points, waiting=False):
        """Another robot is on its way."""
        self.last += 1
        route = Route(points=points, radius_m=APART / 2, waiting=waiting)
        self.rows[robot] = AnnouncedRoute(robot, self.last, route)


@dataclass
class Robot(RequestContext):
    """Nav2 of a robot that drives along straight lines; `after_wait` is called after each wait."""

    here: tuple[float, float] = (0.0, 0.0)
    drives: list[tuple[float, float]] = field(default_factory=list)
    waits: int = 0
    paths: int = 0
    shut: Any = lambda x, y: False
    after_wait: Any = lambda waits: None
    path: Any = None
    """Answered in place of a straight line."""

    async def outcome(self, tool: str, *, timeout_s: float | None = None, **given: Any) -> ToolOutcome:
        self.running = True
        await asyncio.sleep(0)
        self.running = False
        if tool == "nav2__get_path_from_robot":
            self.paths += 1
            goal = given["goal_x"], given["goal_y"]
            if self.shut(*goal):
                return ToolOutcome({"ok": False, "error_code": "NAVIGATION_FAILED", "nav2_error": "NO_VALID_PATH"})
            points = (self.here, goal) if self.path is None else self.path
            poses = [{"x": x, "y": y, "yaw": 0.0} for x, y in points]
            return ToolOutcome({"ok": True, "length_m": math.dist(self.here, goal), "poses": poses})
        if tool == "nav2__wait":
            assert given["seconds"] == LOOK_S
            self.waits += 1
            self.after_wait(self.waits)
            return ToolOutcome({"ok": True, "waited_s": LOOK_S})
        if tool == "nav2__navigate_to_pose":
            self.here = given["x"], given["y"]
            self.drives.append(self.here)
            return ToolOutcome({"ok": True})
        assert tool == "nav2__get_robot_pose"
        return ToolOutcome({"ok": True, "pose": {"x": self.here[0], "y": self.here[1], "yaw": 0.0}})


def robot(here, board, fleet=FLEET, next_action="pick", name="anna", **more):
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": name, "skill": Skill.APPROACH, "created_at": now,
            "deadline": now + 600, "grant": "g", "reply_to": "q",
            "arguments": {"target_area": "hallway", "object_name": "red coke can", "next_action": next_action},
        }
    )  # fmt: skip
    none: Any = None
    return Robot(request, ROBOT, SITE, none, none, WorkClock.of(request), fleet, board, here=here, **more)


async def drive(check, x, y, turn=None, during=None):
    """Make a call of navigate_to_pose in turn."""
    given = {"x": x, "y": y, "yaw": 0.0}

    async def call(tell):
        if during is not None:
            await during(tell)
        outcome = await check.outcome("nav2__navigate_to_pose", **given)
        check.running = True
        return outcome

    return await (turn or DriveInTurn(check))(given, ignore_progress, call)


@pytest.mark.parametrize("alone", [{"fleet": ("anna",)}, {"board": None}])
async def test_who_is_alone_or_has_nowhere_to_announce_drives_at_once(alone):
    board = alone.pop("board", Board())
    check = robot((1.0, HALL_Y), board, **alone)
    assert (await drive(check, 4.0, HALL_Y)).ok
    assert (check.paths, check.waits, check.drives) == (0, 0, [(4.0, HALL_Y)])


@pytest.mark.parametrize("points", [[(0.0, HALL_Y)] * 500, [(0.0, HALL_Y), (1e9, HALL_Y)], []])
async def test_a_path_that_cannot_be_announced_costs_the_order_and_not_the_drive(points):
    board = Board()
    board.drives("ben", (8.0, HALL_Y), (0.0, HALL_Y))
    check = robot((1.0, HALL_Y), board, path=points)
    assert (await drive(check, 4.0, HALL_Y)).ok
    assert (check.waits, check.drives, board.log) == (0, [(4.0, HALL_Y)], [])


async def test_a_robot_waits_for_one_that_drives_towards_it_and_goes_when_it_has_passed():
    board = Board()
    board.drives("ben", (5.0, HALL_Y), (1.0, HALL_Y))
    # In the living room, before the door: the other one comes out of the hallway past it.
    check = robot((4.3, 2.0), board)
    board.rows.clear()
    board.drives("ben", (4.3, 6.0), (4.3, 4.6), (8.0, 4.6))

    def passed(waits):
        if waits == 3:
            del board.rows["ben"]

    check.after_wait = passed
    assert (await drive(check, 4.3, 5.9)).ok
    assert check.waits == 3
    assert check.drives[-1] == (4.3, 5.9)
    assert board.log[-1] == ("anna", False)
    assert "anna" not in board.rows, "it is not withdrawn"


async def test_it_waits_off_the_way_of_the_other_one():
    board = Board()
    here = (4.3, 3.0)
    board.drives("ben", (4.3, 6.0), (4.3, 1.0))
    check = robot(here, board)
    check.after_wait = lambda waits: board.rows.pop("ben", None)
    assert (await drive(check, 4.3, 5.9)).ok
    aside = check.drives[0]
    assert abs(aside[0] - 4.3) > APART
    assert any(inside(area.outline, *aside) for area in SITE.areas)


async def test_it_drives_ahead_to_before_the_door_where_they_would_meet():
    board = Board()
    board.drives("ben", (1.5, 5.0), (4.3, 5.0), (9.0, 5.0))
    check = robot((4.3, 0.8), board)
    check.after_wait = lambda waits: board.rows.pop("ben", None)
    assert (await drive(check, 4.3, 5.9)).ok
    ahead = check.drives[0]
    assert ahead[0] == pytest.approx(4.3)
    assert 0.8 + LEAST_LEG_M <= ahead[1] <= 4.2 - 0.9 * APART, "before the door, not in it"
    assert check.waits == 1


async def test_of_two_that_set_off_at_once_the_first_that_has_announced_goes():
    board = Board()
    first = robot((4.3, 2.9), board, name="ben", fleet=FLEET)
    second = robot((4.3, 5.6), board, name="anna", fleet=FLEET)
    order = []

    async def go(check, y):
        async def during(_tell):
            order.append(check.request.robot)
            for _ in range(30):
                await asyncio.sleep(0)
            order.append(f"{check.request.robot} is there")

        return await drive(check, 4.3, y, during=during)

    await asyncio.gather(go(first, 5.9), go(second, 2.0))
    assert order == ["ben", "ben is there", "anna", "anna is there"]


async def test_who_has_set_off_goes_first_whoever_has_announced_before():
    class Late(Board):
        async def announce(self, place, robot, number, route):
            # Ben announces and sets off while anna, who has the smaller number, has not set off yet.
            if robot == "anna" and not route.waiting and self.last == 1:
                self.drives("ben", (4.3, 5.9), (4.3, 2.0))
            return await super().announce(place, robot, number, route)

    board = Late()
    check = robot((4.3, 2.9), board, after_wait=lambda waits: board.rows.pop("ben", None) if waits == 3 else None)
    assert (await drive(check, 4.3, 5.9)).ok
    assert 1 <= check.waits < MOST_WAIT_S, "it drove although the other one was on its way, or waited in vain"


async def test_nobody_waits_for_one_that_waits_and_nobody_for_ever():
    board = Board()
    board.drives("ben", (4.3, 5.9), (4.3, 2.0), waiting=True)
    check = robot((4.3, 2.9), board)
    await drive(check, 4.3, 5.9)
    assert check.waits == 0
    # One that drives and does not come on, as when something keeps it.
    stuck = Board()
    stuck.drives("ben", (4.3, 6.0), (4.3, 4.6), (8.0, 4.6))
    check = robot((4.3, 2.6), stuck)
    await drive(check, 4.3, 5.9)
    assert check.waits * LOOK_S == MOST_WAIT_S


async def test_the_others_hear_how_far_a_drive_has_come_and_that_it_has_failed():
    board = Board()
    check = robot((1.0, HALL_Y), board)

    async def halfway(tell):
        await tell(0.5, "half way")
        assert board.rows["anna"].route.driven_m == pytest.approx(2.0)
        raise RuntimeError("the server is lost")

    with pytest.raises(RuntimeError):
        await drive(check, 5.0, HALL_Y, during=halfway)
    assert board.rows == {}


async def test_a_call_that_runs_after_others_is_known_to_run():
    """Cut off then, its effect is not known."""
    check = robot((1.0, HALL_Y), Board())
    seen = []

    async def during(_tell):
        seen.append(check.running)

    await drive(check, 5.0, HALL_Y, during=during)
    assert seen == [True]
    assert not check.running


@pytest.mark.parametrize("fleet", [FLEET, ("anna",)])
async def test_the_areas_on_the_way_to_where_something_is_put_down_are_told(fleet):
    check = robot((4.3, 2.0), Board(), fleet, next_action="surface_place")
    turn = DriveInTurn(check)
    await drive(check, 4.3, 5.0, turn)
    await drive(check, 3.3, 5.0, turn)
    await drive(check, 3.3, 7.0, turn)
    assert check.passed == ["living room", "hallway", "parents' bedroom"]
    fetches = robot((4.3, 2.0), Board(), fleet)
    await drive(fetches, 4.3, 5.0)
    assert fetches.passed == []
