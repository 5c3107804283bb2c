"""Buildings: their file, where bodies get to in them, and what they meet there."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from quartet_simulation.bodies.load import find_body
from quartet_simulation.buildings import Stand, climbs, load_building, routes_of
from quartet_simulation.buildings.extent import extent_of
from quartet_simulation.errors import BuildingFileError, SimulationError

ROOT = Path(__file__).resolve().parents[3]
ROBOTS, BUILDINGS = ROOT / "deploy" / "robots", ROOT / "deploy" / "buildings"
FLYER = """<mujoco><worldbody><body name="flyer"><freejoint/><geom type="box" size=".2 .2 .05" mass="1"/>
</body></worldbody></mujoco>"""
FLYER_FILE = """name: flyer
model: flyer.xml
cameras:
  down: {link: flyer, tilt_rad: 0.785, hfov_deg: 90}
mobility: {kind: rotors, footprint_radius_m: 0.3, speed_m_s: 1, flying_height_m: 1.5}
"""
SLIM = """<mujoco><worldbody><body name="slim" pos="0 0 .3"><geom type="box" size=".14 .14 .2" mass="1"/>
</body></worldbody></mujoco>"""
SLIM_FILE = """name: slim
model: slim.xml
position_m: [0, 0, 0.3]
mobility: {kind: wheels, footprint_radius_m: 0.2, speed_m_s: 0.5}
"""
FILE = """name: two homes
storeys:
- {name: below, world: studio, height: 2.7}
- {name: above, world: home, height: 2.7}
stairs:
- name: main stairs
  from: {storey: below, x: -1.0, y: -1.0}
  to: {storey: above, x: 3.2, y: 5.2}
  step_m: 0.15
  slope_deg: 27
"""


def with_mobility(body, **fields):
    mobility = body.file.mobility.model_copy(update=fields)
    return replace(body, file=body.file.model_copy(update={"mobility": mobility}))


@pytest.fixture(scope="module")
def rover():
    return find_body("rover", ROBOTS)


@pytest.fixture(scope="module")
def climber(rover):
    return with_mobility(rover, step_m=0.3, slope_deg=30.0)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Bodies without an arm: one that flies, and one that fits into a niche."""
    folder = tmp_path_factory.mktemp("bodies")
    bodies = {}
    for name, model, file in (("flyer", FLYER, FLYER_FILE), ("slim", SLIM, SLIM_FILE)):
        (folder / name).mkdir()
        (folder / name / f"{name}.xml").write_text(model)
        (folder / name / "body.yaml").write_text(file)
        bodies[name] = find_body(name, folder)
    return bodies


@pytest.fixture(scope="module")
def townhouse():
    return load_building(BUILDINGS / "townhouse")


@pytest.mark.parametrize(
    "name",
    [
        # Drawing homes takes seconds.
        pytest.param(path.parent.name, marks=[pytest.mark.slow] if "generated:" in path.read_text() else [])
        for path in sorted(BUILDINGS.glob("*/building.yaml"))
    ],
)
def test_deployed_building_is_sound_and_its_storeys_are_connected_for_a_climber(name, climber):
    building = load_building(BUILDINGS / name)
    storeys = list(building.storeys.values())
    assert storeys[0].elevation == 0
    assert all(upper.elevation == lower.elevation + lower.height for lower, upper in pairwise(storeys))
    routes = routes_of(building, climber)
    x, y, _ = storeys[0].world.areas[0].entry
    assert routes.storeys(Stand(storeys[0].name, x, y)) == list(building.storeys)


@pytest.mark.parametrize(
    ("old", "new", "line", "text"),
    [
        ("height: 2.7}\n- {name: above", "height: 0}\n- {name: above", 3, "storeys.0.height"),
        ("{storey: above", "{storey: attic", 8, "there is no storey 'attic'; valid: below, above"),
        ("{storey: above, x: 3.2, y: 5.2}", "{storey: below, x: 1.0, y: 1.0}", 8, "begins and ends on 'below'"),
        ("name: above,", "name: below,", 4, "'below' is there twice"),
        ("x: 3.2, y: 5.2", "x: 3.2, y: 4.2", 8, "from a wall or furniture; valid: at least 0.20 m"),
        ("x: 3.2, y: 5.2", "x: 30, y: 5.2", 8, "ends at (30, 5.2) on 'above', outside of all rooms; valid: a point in"),
        ("world: studio", "world: castle", 3, "unknown world 'castle'; valid: a world file or its folder"),
        ("world: studio", "world: 'generated:x'", 3, "unknown world 'generated:x'"),
        ("slope_deg: 27", "slope_deg: 90", 10, "stairs.0.slope_deg"),
        ("step_m: 0.15", "step_m: .nan", 9, "stairs.0.step_m"),
        ("name: two homes\n", "", 1, "name"),
    ],
)
def test_fault_names_line_value_and_what_is_valid(tmp_path, old, new, line, text):
    assert old in FILE
    (tmp_path / "building.yaml").write_text(FILE.replace(old, new))
    with pytest.raises(BuildingFileError) as error:
        load_building(tmp_path)
    assert text in str(error.value)
    assert f"building.yaml:{line}:" in str(error.value)


def test_stairs_that_are_cut_off_from_the_storey_are_a_fault(tmp_path):
    # Behind the wall of 1 m only rotors get.
    floor = BUILDINGS / "floors" / "living.yaml"
    file = FILE.replace("world: home", f"world: {floor}").replace("x: 3.2, y: 5.2", "x: 8.5, y: 8.2")
    (tmp_path / "building.yaml").write_text(file)
    with pytest.raises(BuildingFileError, match=r"building.yaml:8: .*cut off from most of the storey"):
        load_building(tmp_path)


def test_fault_of_a_world_is_reported_with_the_storey(tmp_path):
    (tmp_path / "bad.yaml").write_text("name: bad\nrooms: []\n")
    (tmp_path / "building.yaml").write_text(FILE.replace("world: studio", "world: bad.yaml"))
    with pytest.raises(BuildingFileError, match=r"(?s)building.yaml:3: storeys.0.world: .*bad.yaml:2: rooms"):
        load_building(tmp_path)


def test_missing_building_is_an_error(tmp_path):
    with pytest.raises(BuildingFileError, match="cannot be read"):
        load_building(tmp_path / "nowhere")


def test_extent_counts_what_the_arm_does_not_move(rover, own):
    build = 0.50 / 2
    assert extent_of(rover).half_width == pytest.approx(build, abs=0.02)
    assert extent_of(own["flyer"]).heights == pytest.approx((1.45, 1.55))
    assert extent_of(own["slim"]).half_width == pytest.approx(0.14)


def test_stairs_are_for_bodies_that_climb_their_step_and_slope(townhouse, rover, own):
    (stairs,) = townhouse.stairs
    for step, slope, able in ((0.15, 27, True), (0.14, 27, False), (0.15, 26, False), (0.3, 30, True)):
        assert climbs(with_mobility(rover, step_m=step, slope_deg=slope), stairs) is able
    assert climbs(own["flyer"], stairs)


def test_routes_take_stairs_or_end_at_them(townhouse, rover, climber, own):
    start, goal = Stand("ground floor", 5.0, 6.0), Stand("upper floor", 5.0, 4.3)
    for body in (climber, own["flyer"]):
        route = routes_of(townhouse, body).path(start, goal)
        assert route is not None
        assert [leg.storey for leg in route.legs] == ["ground floor", "ground floor", "upper floor"]
        assert route.at(route.length + 1) == goal
    routes = routes_of(townhouse, rover)
    assert routes.path(start, goal) is None
    assert not routes.connected(start, goal)
    assert routes.storeys(start) == ["ground floor"]
    assert routes.nearest("upper floor", (5.0, 4.3, 0.5), start).distance == math.inf


def test_stairs_are_as_long_as_their_slope_says_and_rotors_fly_straight(townhouse, climber, own):
    start, goal = Stand("ground floor", 2.4, 6.2), Stand("upper floor", 7.7, 4.3)
    straight = math.hypot(5.3, 1.9, 2.7)
    climb = routes_of(townhouse, climber).path(start, goal).legs[1]
    assert climb.length == pytest.approx(max(2.7 / math.sin(math.radians(27)), straight))
    middle = climb.at(climb.length / 2)
    assert (middle.storey, middle.height) == ("ground floor", pytest.approx(1.35))
    flight = routes_of(townhouse, own["flyer"]).path(start, goal).legs[1]
    assert flight.length == pytest.approx(straight)
    assert flight.at(0.0).height == 1.5


def test_robot_stops_before_stairs_that_it_cannot_finish(townhouse, climber):
    route = routes_of(townhouse, climber).path(Stand("ground floor", 5.0, 6.0), Stand("upper floor", 5.0, 4.3))
    level, climb, _ = route.legs
    stop = route.stop(level.length + climb.length / 2)
    assert (stop.storey, stop.height) == ("ground floor", 0.0)
    assert (stop.x, stop.y) == pytest.approx((2.4, 6.2))
    assert route.stop(level.length / 2) == route.at(level.length / 2)


def test_only_a_slim_body_gets_to_the_end_of_the_niche(townhouse, rover, own):
    start, end = Stand("ground floor", 5.0, 6.0), (4.32, 8.22, 0.51)
    wide = routes_of(townhouse, rover).nearest("ground floor", end, start)
    slim = routes_of(townhouse, own["slim"]).nearest("ground floor", end, start)
    assert wide.distance > 1.2
    assert slim.distance < 0.4


def test_only_rotors_get_into_the_alcove(townhouse, rover, own):
    start, inside = Stand("ground floor", 5.0, 6.0), Stand("ground floor", 8.5, 8.2)
    assert routes_of(townhouse, own["flyer"]).connected(start, inside)
    assert not routes_of(townhouse, rover).connected(start, inside)
    assert not routes_of(townhouse, own["slim"]).connected(start, inside)


def test_what_is_outside_of_the_outer_walls_is_no_floor(townhouse, own):
    floor = routes_of(townhouse, own["slim"]).floor("ground floor")
    assert floor.part_at(2.0, 8.5) == 0
    assert floor.part_at(-5.0, -5.0) == 0
    assert floor.part_at(2.0, 6.0) > 0


def test_straight_moves_do_not_go_through_walls(townhouse, own):
    floor = routes_of(townhouse, own["slim"]).floor("ground floor")
    assert floor.straight((2.0, 4.7), (2.4, 4.4))
    assert not floor.straight((2.0, 4.7), (2.0, 5.3))
    with pytest.raises(SimulationError, match="no path leads from"):
        floor.path((5.0, 6.0), (8.5, 8.2))


def test_nearest_pose_stands_free_and_faces_the_position(townhouse, rover):
    routes, start = routes_of(townhouse, rover), Stand("ground floor", 5.0, 6.0)
    cup = (3.8, 2.8, 0.8)
    near = routes.nearest("ground floor", cup, start)
    stand, surroundings = near.stand, routes.floor("ground floor").surroundings
    assert surroundings.free(stand)
    bearing = math.atan2(cup[1] - stand.y, cup[0] - stand.x)
    assert abs(math.remainder(bearing - stand.yaw, 2 * math.pi)) <= math.radians(20) + 1e-9
    assert near.distance == pytest.approx(math.hypot(cup[0] - stand.x, cup[1] - stand.y))
    # Half a metre ahead its mast is in the table.
    c, s = math.cos(stand.yaw), math.sin(stand.yaw)
    assert not surroundings.free(replace(stand, x=stand.x + 0.5 * c, y=stand.y + 0.5 * s))


def test_flyer_faces_a_position_with_its_camera(townhouse, own):
    near = routes_of(townhouse, own["flyer"]).nearest("ground floor", (3.8, 2.8, 0.8), Stand("ground floor", 5.0, 6.0))
    # The camera looks 45 degrees down and sees 45 degrees more, of which the robot uses nine tenths.
    assert 0.02 < near.distance < 0.2
