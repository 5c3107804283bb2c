"""Geometry and decisions of the agents' own code, without a robot."""

import math
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import (
    PlaceRegion,
    RequestContext,
    ToolOutcome,
    VerificationError,
    WorkClock,
    _retreat,
    around_drop,
    mode_of,
    opening_m,
)
from quartet_agent_runtime._place_region import _around
from quartet_approach import agent as approach
from quartet_approach.geometry import distance_to, facing, to_base, to_map, wrap
from quartet_approach.target import Target, is_in_hand, place_named
from quartet_approach.traffic import ROUNDS, moves_aside, poses_of
from quartet_contracts import (
    AlikeThing,
    ApproachArguments,
    PickArguments,
    PickReport,
    PlaceArguments,
    PlaceReport,
    Skill,
    SkillRequest,
)
from quartet_contracts.tools import Pose2D
from quartet_contracts.tools.perception import Detection, PlacingPoseResult
from quartet_pick import agent as pick
from quartet_pick.verify import _fits_hand, _height, verify
from quartet_place import agent as place
from quartet_place.verify import HIGHER_M
from quartet_place.verify import verify as verify_place
from quartet_site import CatalogueObject, load_robot, load_site
from quartet_site.site import Appearance

FILES = Path(__file__).parents[3] / "deploy" / "sites" / "home"
HOME, ROBOT = load_site(FILES / "site.yaml"), load_robot(FILES / "robot.yaml")
SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 2.0), (0.0, 2.0)]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retreat, "RETRY_S", 0.0)


def test_frames_invert_each_other():
    pose = Pose2D(x=1.0, y=-2.0, yaw=2.5)
    assert to_map(pose, to_base(pose, (0.3, 0.7))) == pytest.approx((0.3, 0.7))
    assert to_map(Pose2D(x=1, y=1, yaw=math.pi / 2), (1.0, 0.0)) == pytest.approx((1.0, 2.0))


@pytest.mark.parametrize("direction", [0.0, 1.0, 3.0, -2.0])
def test_a_facing_pose_has_the_centre_straight_ahead(direction):
    pose = facing((1.0, 2.0), direction, 0.8)
    assert to_base(pose, (1.0, 2.0)) == pytest.approx((0.8, 0.0))


@pytest.mark.parametrize(
    ("point", "distance"),
    [((1.0, 1.0), 0.0), ((5.0, 1.0), 1.0), ((-3.0, -4.0), 5.0), ((2.0, 2.5), 0.5), ((0.1, 1.9), 0.0)],
)
def test_distance_to_an_area(point, distance):
    assert distance_to(SQUARE, point) == pytest.approx(distance)


def test_wrap():
    assert wrap(3 * math.pi / 2) == pytest.approx(-math.pi / 2)


def test_an_ambiguous_place_is_the_one_of_the_wanted_area():
    areas = {place.area for place in HOME.surfaces}
    for area in HOME.areas:
        if area.name in areas:
            own = next(place for place in HOME.surfaces if place.area == area.name)
            assert place_named(HOME, own.name, area) == own
    assert place_named(HOME, "moon", HOME.areas[0]) is None


def test_poses_of_an_area_begin_with_what_the_site_gives_and_lie_in_it():
    area = HOME.areas[0].model_copy(update={"other_entries": [HOME.areas[0].entry.model_copy(update={"x": 1.0})]})
    table = next(place for place in HOME.surfaces if place.area == area.name)
    poses = poses_of(HOME, Target(table.name, area, "surface", 0.66, table))
    given = [(table.approach.x, table.approach.y), (area.entry.x, area.entry.y), (1.0, area.entry.y)]
    assert [(pose.x, pose.y) for pose in poses[:3]] == given
    assert len(poses) > 8
    assert all(distance_to(list(area.outline), (pose.x, pose.y)) == 0 for pose in poses)
    assert poses == poses_of(HOME, Target(table.name, area, "surface", 0.66, table))


@pytest.mark.parametrize("robots", [2, 3, 5, 16, 64])
def test_of_any_two_robots_one_moves_aside_while_the_other_stays(robots):
    fleet = tuple(f"robot{number}" for number in range(robots))
    turns = {robot: [moves_aside(fleet, robot, number) for number in range(ROUNDS)] for robot in fleet}
    for one, other in combinations(fleet, 2):
        assert turns[one] != turns[other]
    assert all(any(turns[robot]) for robot in fleet) or robots > 2, "one that has no room is not the only one to move"


def test_modes_of_places():
    assert mode_of(HOME, HOME.surfaces[0].name) == "surface"
    assert mode_of(HOME, HOME.containers[0].aliases[0]) == "container"
    assert mode_of(HOME, "the floor") == "floor"


def seen(x, y, z, **more):
    return Detection(label="can", score=1, box_xyxy=(0, 0, 1, 1), camera="front", position_base=(x, y, z), **more)


def test_an_object_lies_on_a_surface_or_beside_it():
    table = _around("surface", (0.9, 0.0, 0.5), (0.6, 1.0, 0.01))
    assert table.holds(seen(0.7, 0.3, 0.56))
    assert not table.holds(seen(0.7, 0.3, 0.06))
    assert not table.holds(seen(1.6, 0.3, 0.56))
    assert not table.holds(seen(0.7, 0.3, 0.56, in_gripper=True))


def test_an_object_lies_in_a_container_or_beside_it():
    bin_ = _around("container", (0.7, 0.0, 0.17), (0.34, 0.34, 0.34))
    assert bin_.holds(seen(0.75, 0.05, 0.06))
    assert not bin_.holds(seen(1.1, 0.0, 0.06))
    assert not bin_.holds(seen(0.7, 0.0, 0.8))


@pytest.mark.parametrize("container", HOME.containers, ids=lambda one: one.name)
def test_what_leans_on_a_container_from_outside_is_not_in_it(container):
    """In every direction, though a box around a turned container would have room for it."""
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    arguments = PlaceArguments(target_location=container.name, object_name=can.name, object_height_m=0.12)
    half, height = container.appearance.size_m[0] / 2, container.appearance.size_m[2]
    radius = can.appearance.size_m[0] / 2
    opening = opening_m(HOME, arguments)
    for turn in [math.radians(degrees) for degrees in range(0, 90, 15)]:
        box = 2 * half * (math.cos(turn) + math.sin(turn))
        seen_there = _around("container", (0.8, 0.0, height / 2), (box, box, height), opening)
        pose = PlacingPoseResult(drop_point=(0.8, 0.0, 0.0), surface_height_m=height)
        for region in (seen_there, around_drop("container", pose, opening)):
            out, corner = half + radius, (half - radius - 0.01) * math.sqrt(2)
            assert not region.holds(seen(0.8 + out * math.cos(turn), out * math.sin(turn), 0.06))
            there = turn + math.pi / 4
            assert region.holds(seen(0.8 + corner * math.cos(there), corner * math.sin(there), 0.06))


def test_a_detection_without_depth_proves_nothing():
    everywhere = PlaceRegion((-9, 9), (-9, 9), (-9, 9))
    blind = Detection(label="can", score=1, box_xyxy=(0, 0, 1, 1), camera="front")
    assert not everywhere.holds(blind)


def test_what_fits_between_the_fingers():
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    diameter, _, height = can.appearance.size_m
    assert _fits_hand(can, diameter + 0.002)
    assert _fits_hand(can, height)
    assert not _fits_hand(can, (diameter + height) / 2)
    assert _fits_hand(None, 0.05)


def test_a_height_that_the_object_cannot_have_is_replaced():
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    height = can.appearance.size_m[2]
    assert _height(height + 0.01, can) == pytest.approx(height + 0.01)
    assert _height(0.6, can) == height
    assert _height(None, can) == height
    assert _height(0.07, None) == 0.07
    assert _height(None, None) is None


def test_a_thing_without_a_size_may_be_as_wide_and_as_tall_as_it_is_measured() -> None:
    bare = CatalogueObject.model_validate({"name": "red ball", "appearance": {"colours": ["red"], "shape": "sphere"}})
    assert _fits_hand(bare, 0.05)
    assert _height(0.07, bare) == 0.07
    assert _height(None, bare) is None
    assert _height(0.001, bare) is None, "that is no height"


LOOKS = ["get_current_pose"] * _retreat.LIFT_TRIES
"""Where the arm is, is asked again when it is not known."""


class Fingers(RequestContext):
    """A gripper that says one state after the other."""

    states: list[str]
    asked: list[str]

    async def outcome(self, tool: str, **_: Any) -> ToolOutcome:
        self.asked.append(tool.removeprefix("moveit__"))
        if tool == "moveit__get_current_pose":
            return ToolOutcome({"ok": False, "error_code": "TRANSFORM_UNAVAILABLE", "message": "no pose"})
        state = "EMPTY" if tool == "moveit__open_gripper" else self.states.pop(0)
        return ToolOutcome({"ok": True, "state": state, "width_m": 0.06, "effort_n": 1.0})


def fingers(*states: str) -> Fingers:
    now = time.time()
    request = SkillRequest.model_validate(
        {
            "request_id": "r1", "task_id": "t1", "robot": "anna", "skill": Skill.PICK, "created_at": now,
            "follows_uncertain": True,
            "deadline": now + 600, "grant": "g", "reply_to": "q", "arguments": {"object_name": "red coke can"},
        }
    )  # fmt: skip
    none: Any = None
    check = Fingers(request, ROBOT, HOME, none, none, WorkClock.of(request))
    check.states, check.asked = list(states), []
    return check


async def test_fingers_that_only_touch_something_are_not_asked_on_and_on():
    check = fingers("MOVING", "UNKNOWN")
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == "PICK_ATTACH_TIMEOUT"
    assert "UNKNOWN" in settled.reason
    assert check.states == []


class Hand(RequestContext):
    """A gripper that holds something `width` [m] wide; `seen`: the wrist camera takes it for the wanted thing."""

    width = 0.0
    seen = True
    state = "HOLDING"
    effort_n: float | None = 20.0
    closed_at: float | None = None
    """Height at which the fingers closed [m]; None: nobody knows."""
    height = 0.5
    tucked = False

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        if tool == "moveit__get_grasp_state":
            said = {"ok": True, "state": self.state, "width_m": self.width, "effort_n": self.effort_n}
            grasped = None if self.closed_at is None else {"tool_pose": _pose(self.closed_at), "age_s": 9.0}
            return ToolOutcome({**said, "grasped": grasped})
        if tool == "moveit__get_current_pose":
            joints = dict.fromkeys(ROBOT.arm.joints, 9.0)
            if self.tucked:
                joints = dict(zip(ROBOT.arm.joints, ROBOT.arm.named_states[ROBOT.arm.transit_state], strict=True))
            return ToolOutcome({"ok": True, "pose": _pose(self.height), "joint_positions": joints})
        assert tool == "perception__detect_objects"
        one = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 1, 1], "camera": "arm", "in_gripper": True}
        shown = self.seen and given["camera"] == "arm"
        return ToolOutcome({"ok": True, "detections": [one] if shown else []})


def _pose(height: float) -> dict[str, Any]:
    return {"frame_id": "odom", "position": [0.6, 0.0, height], "orientation": [1.0, 0.0, 0.0, 0.0]}


@pytest.mark.parametrize(
    ("closed_at", "height", "tucked", "code"),
    [
        (0.3, 0.3, False, "PICK_ATTACH_TIMEOUT"),
        (0.3, 0.32, False, "PICK_ATTACH_TIMEOUT"),
        (0.3, 0.34, False, "NONE"),
        (0.9, 0.5, True, "NONE"),
        (0.9, 0.5, False, "PICK_ATTACH_TIMEOUT"),
        (None, 0.9, False, "PICK_ATTACH_TIMEOUT"),
        (None, 0.9, True, "NONE"),
    ],
    ids=["there", "a little up", "lifted", "tucked below", "below", "unknown", "unknown, tucked"],
)
async def test_what_merely_stands_between_the_fingers_is_not_held(closed_at, height, tucked, code):
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    request = fingers().request
    check = Hand(request, ROBOT, HOME, None, None, WorkClock.of(request))
    check.width, check.state, check.effort_n = can.appearance.size_m[0], "UNKNOWN", None
    check.closed_at, check.height, check.tucked = closed_at, height, tucked
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == code, settled.reason


@pytest.mark.parametrize(("seen", "code"), [(True, "NONE"), (False, "PICK_ATTACH_TIMEOUT")])
@pytest.mark.parametrize(("effort_n", "told"), [(None, False), (1.0, True)])
async def test_the_wrist_camera_tells_what_fingers_without_effort_hold(seen, code, effort_n, told):
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    request = fingers().request
    check = Hand(request, ROBOT, HOME, None, None, WorkClock.of(request))
    check.width, check.seen, check.state, check.effort_n = can.appearance.size_m[0], seen, "UNKNOWN", effort_n
    check.tucked = True
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == ("PICK_ATTACH_TIMEOUT" if told else code), settled.reason


@pytest.mark.parametrize(
    ("off", "seen", "size_error", "code"),
    [
        (0.0, True, 0.02, "NONE"),
        (0.15, True, 0.2, "NONE"),
        (-0.15, True, 0.2, "NONE"),
        (0.18, True, 0.02, "PICK_WRONG_OBJECT"),
        (0.18, True, 0.1, "PICK_WRONG_OBJECT"),
        (0.0, False, 0.02, "NONE"),
        (0.15, False, 0.02, "PICK_WRONG_OBJECT"),
        (0.15, False, 0.1, "PICK_WRONG_OBJECT"),
        (0.15, False, 0.2, "NONE"),
        (0.24, False, 0.2, "NONE"),
        (0.26, False, 0.2, "PICK_WRONG_OBJECT"),
        (-0.15, False, 0.2, "NONE"),
        (-0.18, False, 0.2, "PICK_WRONG_OBJECT"),
    ],
)
async def test_it_is_another_object_if_its_size_is_off_by_more_than_the_site_says(off, seen, size_error, code):
    """A jam jar in the can's colour is 18 % wider than the can."""
    can = next(thing for thing in HOME.objects if thing.name == "red coke can")
    told = can.model_copy(update={"appearance": can.appearance.model_copy(update={"size_error": size_error})})
    site = HOME.model_copy(update={"objects": [told if one is can else one for one in HOME.objects]})
    request = fingers().request
    check = Hand(request, ROBOT, site, None, None, WorkClock.of(request))
    check.width, check.seen = can.appearance.size_m[0] * (1 + off), seen
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == code
    assert settled.held_object == ("red coke can" if code == "NONE" else None)


@pytest.mark.parametrize(
    ("size_m", "width", "named", "code"),
    [
        ((0.16, 0.044, 0.024), 0.045, True, "NONE"),
        ((0.16, 0.044, 0.024), 0.053, True, "NONE"),
        ((0.16, 0.044, 0.024), 0.053, False, "PICK_WRONG_OBJECT"),
        ((0.16, 0.044, 0.024), 0.034, True, "PICK_WRONG_OBJECT"),
        ((0.16, 0.044, 0.024), 0.070, True, "PICK_WRONG_OBJECT"),
        ((0.17, 0.11, 0.035), 0.066, True, "PICK_WRONG_OBJECT"),
        ((0.17, 0.11, 0.035), 0.113, True, "NONE"),
    ],
    ids=["flat", "rolled", "rolled, not recognised", "between its sides", "wider than its section", "book", "its side"],
)
async def test_something_long_may_roll_between_the_fingers(size_m, width, named, code):
    """A remote control of 44 x 24 mm, whose section is 50 mm from corner to corner; a book is not long."""
    told = HOME.objects[0].model_copy(
        update={
            "name": "red coke can",
            "appearance": Appearance(shape="box", colours=["black"], size_m=size_m),
        }
    )
    site = HOME.model_copy(update={"objects": [told]})
    request = fingers().request
    check = Hand(request, ROBOT, site, None, None, WorkClock.of(request))
    check.width, check.seen = width, named
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == code


class GreenInHand(RequestContext):
    """A hand around something 66 mm wide that the wrist camera calls `label`.

    left: the bottle still stands there. elsewhere: what the label names does.
    """

    label = ""
    score = 0.9
    left = elsewhere = False

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        if tool == "moveit__get_grasp_state":
            return ToolOutcome({"ok": True, "state": "HOLDING", "width_m": 0.066, "effort_n": 20.0})
        one = {"score": self.score, "box_xyxy": [0, 0, 1, 1], "camera": given["camera"]}
        if given["camera"] == "front":
            there = {"green bottle": self.left, self.label: self.elsewhere}
            found = [{**one, "label": name} for name in given["names"] if there.get(name)]
            return ToolOutcome({"ok": True, "detections": found})
        asked = given.get("names")
        shown = [] if asked else [{**one, "label": self.label, "in_gripper": True}]
        return ToolOutcome({"ok": True, "detections": shown})


@pytest.mark.parametrize(
    ("label", "left", "code", "held"),
    [
        ("green tea box", False, "NONE", "green bottle"),
        ("green tea box", True, "PICK_WRONG_OBJECT", "green tea box"),
        ("red coke can", False, "PICK_WRONG_OBJECT", "red coke can"),
        ("gold bar", False, "PICK_WRONG_OBJECT", None),
    ],
)
async def test_a_thing_of_the_same_colour_in_the_hand_is_told_by_what_was_left_behind(label, left, code, held):
    """A bottle and a box of one colour and width look alike between the fingers."""
    request = fingers().request.model_copy(update={"arguments": PickArguments(object_name="green bottle")})
    check = GreenInHand(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.label, check.left = label, left
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert (settled.error_code, settled.held_object) == (code, held)


@pytest.mark.parametrize(("left", "code"), [(False, "NONE"), (True, "PICK_WRONG_OBJECT")])
async def test_what_stands_in_view_is_not_between_the_fingers(left, code):
    """The fingers hid all but a patch of a wooden cube, which looked like a sponge that stood beside it."""
    request = fingers().request.model_copy(update={"arguments": PickArguments(object_name="green bottle")})
    check = GreenInHand(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.label, check.left, check.elsewhere = "red coke can", left, True
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert (settled.error_code, settled.held_object) == (code, None if left else "green bottle")


class HeldTooHigh(RequestContext):
    """A hand that holds a carton near the top of the arm's reach: of further 5 cm up, `reach` are possible."""

    reach = 0.0

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        self.asked = [*getattr(self, "asked", []), tool.partition("__")[2]]
        match tool:
            case "moveit__get_grasp_state":
                return ToolOutcome({"ok": True, "state": "HOLDING", "width_m": 0.066, "effort_n": 20.0})
            case "moveit__get_current_pose":
                pose = {"frame_id": "base_footprint", "position": (0.79, 0.03, 1.38), "orientation": (1, 0, 0, 0)}
                return ToolOutcome({"ok": True, "pose": pose, "joint_positions": {}})
            case "moveit__plan_cartesian_path":
                short = self.reach < given.get("min_fraction", 0.95)
                return ToolOutcome({"ok": not short, "error_code": "PATH_INCOMPLETE" if short else "NONE"})
            case "moveit__plan_and_execute":
                free = "backup_robot" in self.asked
                return ToolOutcome({"ok": free, "error_code": "NONE" if free else "GOAL_IN_COLLISION"})
            case "perception__detect_objects":
                one = {"label": "red coke can", "score": 0.9, "box_xyxy": [0, 0, 1, 1], "camera": "arm"}
                shown = [{**one, "in_gripper": True}] if given["camera"] == "arm" else []
                return ToolOutcome({"ok": True, "detections": shown})
            case _:
                return ToolOutcome({"ok": True, "error_code": "NONE"})


@pytest.mark.parametrize(("reach", "code"), [(1.0, "NONE"), (0.83, "NONE"), (0.1, "PICK_HOLDING_ALREADY")])
async def test_a_base_backs_off_when_the_hand_has_been_lifted_at_all(reach, code):
    """A thing that is held and cannot be tucked is told as held: nobody is to look for it in the room."""
    request = fingers().request
    check = HeldTooHigh(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.reach = reach
    settled = await verify(check, PickReport(success=False, error_code="PICK_PLAN_FAILED", reason="not tucked"))
    assert (settled.error_code, settled.held_object) == (code, "red coke can")
    assert settled.held_object_height_m == pytest.approx(0.119, abs=0.02)
    assert ("backup_robot" in check.asked) == (code == "NONE")


@pytest.mark.parametrize("claimed", ["red coke can", "gold bar", None])
@pytest.mark.parametrize(("seen", "held"), [(True, "red coke can"), (False, None)])
async def test_what_the_gripper_already_holds_is_named_by_the_wrist_camera_and_not_by_the_model(claimed, seen, held):
    request = fingers().request
    check = Hand(request, ROBOT, HOME, None, None, WorkClock.of(request))
    check.width, check.seen = 0.06, seen
    code = "PICK_HOLDING_ALREADY"
    settled = await verify(check, PickReport(success=False, error_code=code, reason="held", held_object=claimed))
    assert settled.held_object == held


@pytest.mark.parametrize(
    ("score", "left", "code"),
    [(0.49, False, "NONE"), (0.49, True, "PICK_WRONG_OBJECT"), (0.5, False, "PICK_WRONG_OBJECT")],
)
async def test_a_poor_name_for_what_is_held_does_not_count_against_what_was_grasped(score, left, code):
    request = fingers().request.model_copy(update={"arguments": PickArguments(object_name="green bottle")})
    check = GreenInHand(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.label, check.score, check.left = "red coke can", score, left
    settled = await verify(check, PickReport(success=True, error_code="NONE", reason="held"))
    assert settled.error_code == code


@pytest.mark.parametrize(
    ("label", "score", "ended"),
    [("green bottle", 0.9, True), ("green bottle", 0.49, False), ("green tea box", 0.9, False)],
)
@pytest.mark.parametrize("object_id", [None, "obj_00000000000a"])
async def test_a_search_ends_only_for_what_is_surely_in_the_gripper(label, score, ended, object_id):
    """What is held has no id here, so it is not the very thing that an id names."""
    arguments = ApproachArguments(
        target_area="kitchen", object_name="glass bottle", next_action="pick", object_id=object_id
    )
    ended = ended and object_id is None
    check = GreenInHand(fingers().request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.label, check.score = label, score
    assert await is_in_hand(check, Target.of(check, arguments, HOME.area("kitchen"))) is ended


class SeveralNames(GreenInHand):
    """A hand around something 66 mm wide for which the wrist camera has several names."""

    scores: dict[str, float] | None = None

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        if tool == "moveit__get_grasp_state":
            return await super().outcome(tool, **given)
        one = {"box_xyxy": [0, 0, 1, 1], "camera": "arm", "in_gripper": True}
        named = given.get("names") or list(self.scores or {})
        found = [
            {**one, "label": label, "score": score} for label, score in (self.scores or {}).items() if label in named
        ]
        return ToolOutcome({"ok": True, "detections": found})


@pytest.mark.parametrize(
    ("scores", "held"),
    [
        ({"tennis ball": 0.76, "green tea box": 0.52}, "tennis ball"),
        ({"tennis ball": 0.76, "green tea box": 0.62}, None),
        # Where nothing else is known, one poor name is better than none.
        ({"tennis ball": 0.38}, "tennis ball"),
        # No side of a toy block is as wide as what is held.
        ({"tennis ball": 0.5, "purple toy block": 0.9}, "tennis ball"),
        # The wanted object is known by a look for it alone.
        ({"tennis ball": 0.6, "red coke can": 0.55}, "red coke can"),
        ({}, None),
    ],
)
async def test_what_the_gripper_already_holds_has_the_name_that_fits_clearly_best(scores, held):
    request = fingers().request
    check = SeveralNames(request, ROBOT, HOME, None, None, WorkClock.of(request))
    check.scores = scores
    settled = await verify(check, PickReport(success=False, error_code="PICK_HOLDING_ALREADY", reason="held"))
    assert settled.held_object == held


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        (["EMPTY"], ["get_grasp_state", "open_gripper", *LOOKS]),
        (["HOLDING"], ["get_grasp_state", *LOOKS]),
        (["UNKNOWN", "EMPTY"], ["get_grasp_state", "close_gripper", "open_gripper", *LOOKS]),
        (["UNKNOWN", "HOLDING"], ["get_grasp_state", "close_gripper", *LOOKS]),
        (["UNKNOWN", "UNKNOWN"], ["get_grasp_state", "close_gripper"]),
        # Of a server that has just been started again, or on a busy machine.
        (["MOVING", "EMPTY"], ["get_grasp_state", "get_grasp_state", "open_gripper", *LOOKS]),
    ],
)
async def test_after_a_pick_of_unknown_end_only_fingers_that_hold_nothing_are_opened(states, asked):
    check = fingers(*states)
    await pick.prepare(check)
    assert check.asked == asked


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        (["EMPTY"], ["get_grasp_state", "open_gripper", *LOOKS]),
        (["HOLDING"], ["get_grasp_state", *LOOKS]),
        (["UNKNOWN"], ["get_grasp_state"]),
        (["MOVING", "HOLDING"], ["get_grasp_state", "get_grasp_state", *LOOKS]),
    ],
)
async def test_after_a_place_of_unknown_end_the_arm_goes_up_before_it_goes_aside(states, asked):
    check = fingers(*states)
    await place.prepare(check)
    assert check.asked == asked


@pytest.mark.parametrize("agent", [pick, place])
async def test_a_first_attempt_is_not_prepared(agent):
    check = fingers("EMPTY")
    check.request = check.request.model_copy(update={"follows_uncertain": False})
    await agent.prepare(check)
    assert check.asked == []


class Nameless(RequestContext):
    """What has no name was let go at (0.8, `aside`); `standing_m`: what a camera measures there, None where it cannot.

    `flange_m`: how high the flange was over the surface then. `released_s`: how long ago. `spot_age_s`: how old the
    measurement of the front camera is. The front camera shows the table, if `shown`.
    """

    released_s = 0.0
    aside = 0.1
    flange_m = 0.25
    spot_age_s = 0.0
    shown = True
    standing_m: dict[str, float | None]
    asked: list[str]

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        name = tool.partition("__")[2]
        self.asked.append(f"{name} {given['camera']}" if name == "measure_spot" else name)
        if name == "get_grasp_state":
            released = {"tool_position": (0.8, self.aside, self.carried_at + self.flange_m), "age_s": self.released_s}
            return ToolOutcome({"ok": True, "state": "EMPTY", "width_m": 0.08, "effort_n": 0.0, "released": released})
        if name == "detect_objects":
            table = {"label": "table", "score": 1, "box_xyxy": (0, 0, 1, 1), "camera": "front"}
            seen = {**table, "position_base": (0.9, 0.0, 0.45), "size_m": (0.6, 1.0, 0.01)}
            return ToolOutcome({"ok": True, "detections": [seen] if self.shown else []})
        if name == "measure_spot":
            assert given["position_base"] == [0.8, 0.1, self.carried_at]
            assert given["most_m"] == pytest.approx(self.flange_m - ROBOT.gripper.finger_offset_m + 0.095)
            high = self.standing_m[given["camera"]]
            if high is None:
                return ToolOutcome({"ok": False, "error_code": "TOO_FEW_POINTS", "message": "out of view"})
            age_s = self.spot_age_s if given["camera"] == "front" else 0.0
            return ToolOutcome({"ok": True, "standing_m": high, "surface_height_m": 0.45, "age_s": age_s})
        if name == "plan_and_execute":
            return ToolOutcome({"ok": True})
        return ToolOutcome({"ok": False, "error_code": "NO_FREE_SPACE", "message": "full"})

    @property
    def carried_at(self) -> float:
        arguments = self.request.arguments
        assert isinstance(arguments, PlaceArguments)
        return 0.0 if arguments.target_location == "floor" else 0.45


def nameless(target: str, **measured: float | None) -> Nameless:
    request = fingers().request.model_copy(
        update={
            "skill": Skill.PLACE,
            "follows_uncertain": False,
            "arguments": PlaceArguments(target_location=target, object_name="held object", object_height_m=0.1),
        }
    )
    check = Nameless(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.standing_m, check.asked = measured, []
    return check


PUT_DOWN = PlaceReport(success=True, error_code="NONE", reason="it lies there")
FROM_ABOVE = ["plan_and_execute", "measure_spot arm", "plan_and_execute"]


@pytest.mark.parametrize("target", ["floor", HOME.surfaces[0].name])
@pytest.mark.parametrize(
    ("front", "arm", "code", "why", "asked"),
    [
        (0.05, None, "NONE", "something stands where it was let go", []),
        (0.0, 0.05, "NONE", "something stands where it was let go", FROM_ABOVE),
        (0.0, None, "PLACE_DROP_VERIFY_FAILED", "nothing higher than 1.5 cm stands", FROM_ABOVE),
        (None, 0.05, "NONE", "something stands where it was let go", FROM_ABOVE),
        (None, 0.0, "PLACE_DROP_VERIFY_FAILED", "nothing higher than 1.5 cm stands", FROM_ABOVE),
        (None, None, "PLACE_DROP_VERIFY_FAILED", "no camera shows the spot", FROM_ABOVE),
    ],
)
async def test_what_has_no_name_is_put_down_where_something_stands_afterwards(target, front, arm, code, why, asked):
    """No camera can look for it by a name; where it was let go nothing stood before."""
    check = nameless(target, front=front, arm=arm)
    settled = await verify_place(check, PUT_DOWN)
    assert settled.error_code == code
    assert why in settled.reason
    assert check.asked[check.asked.index("measure_spot front") + 1 :] == asked


@pytest.mark.parametrize(
    "fault", ["let go earlier", "let go beside it", "let go from high above", "the target is not seen"]
)
async def test_what_has_no_name_and_was_not_measured_to_be_let_go_there_is_not_put_down(fault):
    """Whatever stands there: it may have been lost on the way."""
    check = nameless(HOME.surfaces[0].name, front=0.05, arm=0.05)
    if fault == "let go earlier":
        check.released_s = 1000.0
    elif fault == "let go beside it":
        check.aside = 0.9
    elif fault == "let go from high above":
        # Over a table, when the target is the floor below it.
        check.flange_m = 0.7
    else:
        check.shown = False
    settled = await verify_place(check, PUT_DOWN)
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"
    assert "was not measured" in settled.reason
    assert not any(name.startswith("measure_spot") for name in check.asked)


async def test_what_was_measured_before_the_fingers_let_go_proves_nothing():
    """In the same request: then it may have hung there."""
    check = nameless("floor", front=0.05, arm=0.0)
    check.began -= 60.0
    check.released_s, check.spot_age_s = 5.0, 20.0
    settled = await verify_place(check, PUT_DOWN)
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"
    assert "measure_spot arm" in check.asked


async def test_an_attempt_that_found_nothing_in_the_gripper_stays_one_where_nothing_stands():
    check = nameless("floor", front=0.0, arm=0.0)
    check.request = check.request.model_copy(update={"follows_uncertain": True})
    holding_nothing = PlaceReport(success=False, error_code="PLACE_HOLDING_NOTHING", reason="the gripper is empty")
    assert await verify_place(check, holding_nothing) == holding_nothing
    check.standing_m = {"front": 0.05}
    assert (await verify_place(check, holding_nothing)).error_code == "NONE"


async def test_whether_a_container_has_what_has_no_name_is_not_known():
    check = nameless(HOME.containers[0].name, front=0.05, arm=0.05)
    with pytest.raises(VerificationError, match="whether it is in is not known") as caught:
        await verify_place(check, PUT_DOWN)
    assert caught.value.uncertain


class Touching(Fingers):
    """An arm that something keeps from its transit state until the base has moved; `shut`: ways that are not free."""

    code = "START_IN_COLLISION"
    shut: tuple[str, ...] = ()
    moved = 0.0

    async def outcome(self, tool: str, **given: Any) -> ToolOutcome:
        name = tool.partition("__")[2]
        self.asked.append(name)
        if name == "get_current_pose":
            pose = {"frame_id": "base_footprint", "position": (0.7, 0.0, 0.9), "orientation": (1, 0, 0, 0)}
            return ToolOutcome({"ok": True, "pose": pose, "joint_positions": {}})
        if name in {"backup_robot", "drive_on_heading"} and name not in self.shut:
            self.moved += given["distance"]
        free = self.moved > 0.3 if name == "plan_and_execute" else name not in self.shut
        return ToolOutcome({"ok": True} if free else {"ok": False, "error_code": self.code, "message": "no way"})


@pytest.mark.parametrize(
    ("code", "shut", "ways"),
    [
        ("START_IN_COLLISION", (), ["backup_robot", "backup_robot"]),
        ("GOAL_IN_COLLISION", ("backup_robot",), ["backup_robot", "drive_on_heading", "drive_on_heading"]),
        ("PLANNING_FAILED", ("backup_robot", "drive_on_heading"), ["backup_robot", "drive_on_heading"]),
        ("TIMEOUT", (), []),
    ],
)
async def test_an_arm_that_touches_something_at_the_start_is_backed_off_the_way_that_is_free(code, shut, ways):
    check = Touching(fingers().request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.asked, check.code, check.shut = [], code, ("plan_cartesian_path", *shut)
    await approach.prepare(check)
    assert [name for name in check.asked if name in {"backup_robot", "drive_on_heading"}] == ways
    assert check.moved <= 0.41


NO_WAY = ToolOutcome({"ok": False, "error_code": "PLANNING_FAILED", "message": "no way"})
NO_LOOK = {
    "no reach": {"no_pose": ToolOutcome({"ok": True, "error_code": "NONE", "reachable": False})},
    "no motion": {"reaches": False},
    "no picture": {"no_picture": True},
}
"""Why nothing can be looked at from above, and what `OverBin` has then."""


class OverBin(Fingers):
    """A robot before a bin, whose wrist camera sees what lies in it from one position of the flange only."""

    target = (0.65, 0.05, 0.7)
    """Pre-place position [m, base frame]."""
    sees_from: tuple[float, float, float] | None = None
    beside: tuple[tuple[float, float], ...] = ()
    """Where others that look like it lie on the floor [m, base frame]."""
    beside_from: tuple[float, float, float] | None = None
    """Position of the flange from which those are seen; None: where the one in the bin is."""
    stands_at: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Of the base on the map."""
    released: dict[str, Any] | None = None
    arm: tuple[float, float, float] | None = None
    shown_in_front = False
    """Whether the front camera sees the bin and the one in it."""
    backs_up = seen_from_back = False
    """Whether there is room behind the robot, and whether the front camera sees the object from there."""
    no_pose: ToolOutcome | None = None
    """The answer in place of a placing pose."""
    no_picture = False
    """Whether the wrist camera fails."""
    reaches, tucked_at_try, tries = True, 1, 0
    """Whether the arm gets to a pose, and at which try into its transit state."""

    async def outcome(self, tool, **arguments):
        if tool == "perception__get_topdown_placing_pose":
            pose = {"frame_id": "base_footprint", "position": self.target, "orientation": (1, 0, 0, 0)}
            drop = {"drop_point": (0.65, 0.05, 0.0), "surface_height_m": 0.34}
            there = {"ok": True, "error_code": "NONE", "pre_place_pose": pose, "reachable": True, **drop}
            return self.no_pose or ToolOutcome(there)
        if tool == "moveit__plan_and_execute":
            tucks = arguments["target_type"] == "named_state"
            self.tries += tucks
            if self.tries < self.tucked_at_try if tucks else not self.reaches:
                return NO_WAY
            self.arm = tuple(arguments["target"].get("position", ())) or None
            return ToolOutcome({"ok": True, "error_code": "NONE"})
        if tool == "moveit__get_current_pose":
            pose = {"frame_id": "base_footprint", "position": self.arm, "orientation": (1, 0, 0, 0)}
            return ToolOutcome({"ok": True, "pose": pose, "joint_positions": {}})
        if tool == "moveit__plan_cartesian_path":
            return ToolOutcome({"ok": True, "error_code": "NONE"})
        if tool == "perception__detect_objects":
            if self.no_picture and arguments["camera"] == "arm":
                return ToolOutcome({"ok": False, "error_code": "CAMERA_UNAVAILABLE", "message": "no image came"})
            found = self.seen_by(arguments["camera"], *arguments["names"])
            return ToolOutcome({"ok": True, "error_code": "NONE", "detections": [one.model_dump() for one in found]})
        if tool == "nav2__backup_robot":
            self.shown_in_front = self.backs_up and self.seen_from_back
            return ToolOutcome({"ok": self.backs_up, "error_code": "NONE" if self.backs_up else "NAVIGATION_FAILED"})
        if tool == "nav2__get_robot_pose":
            return ToolOutcome({"ok": True, "pose": dict(zip(("x", "y", "yaw"), self.stands_at, strict=True))})
        asked = await super().outcome(tool, **arguments)
        return ToolOutcome({**asked.content, "released": self.released})

    def seen_by(self, camera: str, name: str) -> list[Detection]:
        if camera == "front" and name == "waste basket":
            return [seen(0.65, 0.05, 0.17, size_m=(0.34, 0.34, 0.34))] if self.shown_in_front else []
        at = self.arm if camera == "arm" else None
        inside = self.shown_in_front if camera == "front" else at is not None and at == self.sees_from
        beside = self.beside if at is not None and at == (self.beside_from or self.sees_from) else ()
        return [seen(x, y, 0.06) for x, y in (*([(0.65, 0.05)] if inside else []), *beside)]


def over(place_name):
    arguments = PlaceArguments(target_location=place_name, object_name="red coke can", object_height_m=0.122)
    request = fingers().request.model_copy(update={"skill": Skill.PLACE, "arguments": arguments})
    check = OverBin(request, ROBOT, HOME, None, None, WorkClock(60, 60))
    check.states, check.asked = ["EMPTY"], []
    return check, opening_m(HOME, arguments) or 0.0


@pytest.mark.parametrize("turn", [math.pi, math.pi / 2, -math.pi / 2, 0.0])
async def test_what_stands_in_a_bin_is_looked_at_past_each_side_of_its_rim(turn):
    """Of a can that stands upright in it, the view from straight above shows the lid only."""
    check, opening = over("waste basket")
    away = math.atan2(0.05, 0.65) + turn
    check.sees_from = (0.65 + opening * math.cos(away), 0.05 + opening * math.sin(away), 0.7 + 0.05)
    check.released = released_at(0.65, 0.05)
    settled = await verify_place(check, PlaceReport(success=True, error_code="NONE", reason="it lies there"))
    assert settled.error_code == "NONE"


def released_at(x, y, age_s=0.0, on_map=None):
    return {"tool_position": (x, y, 0.6), "tool_position_map": on_map, "age_s": age_s}


CLAIM = PlaceReport(success=True, error_code="NONE", reason="it lies there")
HIDDEN = {"no": None, "beside": released_at(0.65, 0.45), "before": released_at(0.65, 0.05, age_s=3600.0)}


@pytest.mark.parametrize("released", HIDDEN.values(), ids=HIDDEN)
async def test_what_lies_in_a_bin_that_nobody_let_go_there_may_be_another_one(released):
    check, _ = over("waste basket")
    check.request = check.request.model_copy(update={"follows_uncertain": False, "alike_before": []})
    check.sees_from, check.released = check.target, released
    with pytest.raises(VerificationError, match="may have lain there before") as unknown:
        await verify_place(check, CLAIM)
    assert unknown.value.uncertain
    assert check.arm is None, "the arm is back in its transit state"


@pytest.mark.parametrize(("released", "found"), [(released_at(0.4, 0.1), True), (None, False)])
async def test_what_was_put_on_the_floor_is_looked_for_where_it_was_let_go(released, found):
    """A placing pose that is asked for now is beside it: the usual spot is taken."""
    check, _ = over("floor")
    check.sees_from, check.released = (0.4, 0.1, check.target[2]), released
    settled = await verify_place(check, CLAIM)
    assert (settled.error_code == "NONE") == found


@pytest.mark.parametrize("free", [True, False])
async def test_what_stands_right_before_the_robot_is_looked_for_from_farther_back(free):
    """The front camera does not see so far down, and from above the object is not recognised."""
    check, _ = over("floor")
    check.released, check.backs_up, check.seen_from_back = released_at(0.65, 0.05), free, True
    settled = await verify_place(check, CLAIM)
    assert (settled.error_code == "NONE") == free


async def test_the_robot_does_not_back_up_with_its_arm_out():
    check, _ = over("floor")
    check.released, check.backs_up, check.seen_from_back = released_at(0.65, 0.05), True, True
    check.tucked_at_try = 99
    settled = await verify_place(check, CLAIM)
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"
    assert not check.shown_in_front, "it would be seen from farther back"


async def test_of_one_in_the_bin_and_one_beside_it_nobody_knows_which_was_held():
    check, _ = over("waste basket")
    check.sees_from, check.released, check.beside = check.target, released_at(0.65, 0.05), ((0.65, 0.45),)
    with pytest.raises(VerificationError, match="which of them was held is not known") as unknown:
        await verify_place(check, CLAIM)
    assert unknown.value.uncertain


@pytest.mark.parametrize("released", [*HIDDEN.values(), released_at(0.65, 0.05)], ids=[*HIDDEN, "over it"])
async def test_what_is_seen_nowhere_has_failed_unless_it_was_let_go_over_the_bin(released):
    check, _ = over("waste basket")
    check.request = check.request.model_copy(update={"follows_uncertain": False, "alike_before": []})
    check.released = released
    if released == released_at(0.65, 0.05):
        with pytest.raises(VerificationError, match="whether it is in is not known"):
            await verify_place(check, CLAIM)
        return
    settled = await verify_place(check, CLAIM)
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"
    assert "it may have been lost on the way" in settled.reason


@pytest.mark.parametrize("beside", [(), ((0.65, 0.45),)])
async def test_a_bin_that_is_not_recognised_any_more_is_looked_at_from_where_the_thing_was_let_go(beside):
    """A carton that stands out of the basket covers most of it; the front camera still shows both."""
    check, _ = over("waste basket")
    check.request = check.request.model_copy(update={"follows_uncertain": False, "alike_before": []})
    check.no_pose = ToolOutcome({"ok": False, "error_code": "NO_OBJECTS_FOUND", "message": "no basket"})
    check.shown_in_front, check.beside = True, beside
    check.released = released_at(0.65, 0.05)
    check.sees_from = (0.65, 0.05, 0.6 + ROBOT.manipulation.pre_place_height_m)
    if beside:
        with pytest.raises(VerificationError, match="which of them was held is not known"):
            await verify_place(check, CLAIM)
        return
    assert (await verify_place(check, CLAIM)).error_code == "NONE"


async def test_what_bounced_out_of_a_bin_is_looked_for_around_it_although_one_like_it_is_seen_inside():
    """It shows only from higher up, where the fingers and the rim hide less of the floor."""
    check, _ = over("waste basket")
    x, y, z = check.target
    check.sees_from, check.released = check.target, released_at(0.65, 0.05)
    check.beside, check.beside_from = ((0.95, 0.3),), (x, y, z + HIGHER_M)
    with pytest.raises(VerificationError, match="another one beside it") as unknown:
        await verify_place(check, CLAIM)
    assert unknown.value.uncertain
    assert check.arm is None, "the arm is back in its transit state"


@pytest.mark.parametrize("why", NO_LOOK.values(), ids=NO_LOOK)
async def test_of_one_in_the_bin_nobody_knows_whether_it_was_held_while_nobody_looked_around_it(why):
    """The one that was held may have bounced out and lie behind the bin."""
    check, _ = over("waste basket")
    check.shown_in_front, check.released = True, released_at(0.65, 0.05)
    for name, value in why.items():
        setattr(check, name, value)
    with pytest.raises(VerificationError, match="could not look from above") as unknown:
        await verify_place(check, CLAIM)
    assert unknown.value.uncertain


@pytest.mark.parametrize(("at_try", "left"), [(1, False), (2, False), (99, True)])
async def test_a_success_with_the_arm_still_over_the_bin_says_so(at_try, left):
    check, _ = over("waste basket")
    check.shown_in_front, check.released, check.tucked_at_try = True, released_at(0.65, 0.05), at_try
    settled = await verify_place(check, CLAIM)
    assert settled.error_code == "NONE"
    assert (check.arm is not None) == left
    assert ("did not get back to its transit state (PLANNING_FAILED)" in settled.reason) == left


async def test_what_was_let_go_over_a_bin_may_be_hidden_by_one_that_lay_in_it():
    check, _ = over("waste basket")
    known = AlikeThing(position=(0.65, 0.05, 0.06))
    check.request = check.request.model_copy(update={"alike_before": [known]})
    check.sees_from, check.released = check.target, released_at(0.65, 0.05)
    with pytest.raises(VerificationError, match="whether it is in is not known"):
        await verify_place(check, CLAIM)
    check.released, check.states = released_at(0.65, 0.45), ["EMPTY"]
    lost = await verify_place(check, CLAIM)
    assert (lost.error_code, "was there before" in lost.reason) == ("PLACE_DROP_VERIFY_FAILED", True)


@pytest.mark.parametrize(
    ("on_map", "settled"),
    [((3.0 - 0.05, 1.0 + 0.65, 0.6), True), ((3.0 + 0.65, 1.0 + 0.05, 0.6), False), (None, False)],
    ids=["over the bin", "from where the robot stood then", "not localised then"],
)
async def test_what_an_earlier_attempt_let_go_counts_where_it_was_on_the_map(on_map, settled):
    """The base has turned and moved since, so that the position in its frame says nothing any more."""
    check, _ = over("waste basket")
    check.request = check.request.model_copy(update={"follows_uncertain": True})
    check.sees_from, check.stands_at = check.target, (3.0, 1.0, math.pi / 2)
    check.released = released_at(0.65, 0.05, age_s=60.0, on_map=on_map)
    holding_nothing = PlaceReport(success=False, error_code="PLACE_HOLDING_NOTHING", reason="the gripper is empty")
    if settled:
        assert (await verify_place(check, holding_nothing)).error_code == "NONE"
    else:
        with pytest.raises(VerificationError, match="may have lain there before"):
            await verify_place(check, holding_nothing)


async def test_what_was_let_go_over_a_bin_and_is_seen_nowhere_is_not_known_to_be_in_it():
    check, _ = over("waste basket")
    check.released = released_at(0.65, 0.05)
    with pytest.raises(VerificationError, match="whether it is in is not known") as unknown:
        await verify_place(check, PlaceReport(success=True, error_code="NONE", reason="it lies there"))
    assert unknown.value.uncertain
    assert check.arm is None, "the arm is back in its transit state"


@pytest.mark.parametrize(
    "released", [None, released_at(0.65, 0.45), released_at(0.65, 0.05, age_s=3600.0)], ids=["no", "beside", "before"]
)
async def test_what_was_not_let_go_over_the_bin_and_is_not_seen_is_not_in_it(released):
    check, _ = over("waste basket")
    check.request = check.request.model_copy(update={"follows_uncertain": False})
    check.released = released
    settled = await verify_place(check, PlaceReport(success=True, error_code="NONE", reason="it lies there"))
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"


async def test_what_is_seen_from_nowhere_over_a_bin_is_not_in_it():
    check, _ = over("waste basket")
    settled = await verify_place(check, PlaceReport(success=True, error_code="NONE", reason="it lies there"))
    assert settled.error_code == "PLACE_DROP_VERIFY_FAILED"
    assert check.arm is None, "the arm is back in its transit state"


@pytest.mark.parametrize(
    ("target", "named"), [("kitchen", 0), ("floor", 0), ("red coke can", 0), ("kitchen counter", 1), ("work bench", 15)]
)
def test_an_approach_is_shown_the_places_that_its_target_may_be(target: str, named: int) -> None:
    arguments = ApproachArguments(target_area="kitchen", object_name=target, next_action="look")
    assert len(HOME.surfaces) + len(HOME.containers) == 15
    assert len(approach.facts(ROBOT, HOME, arguments)["places"]) == named
