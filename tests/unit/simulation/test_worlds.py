"""Every world builds for many seeds, and the site and robot files say what the world is."""

import math
from pathlib import Path

import numpy as np
import pytest

from quartet_perception.scene.colour import parse_colours
from quartet_simulation.codes import NavCode
from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.reachability import (
    CONTAINER_STANDOFF,
    SURFACE_STANDOFF,
    drive_in_is_free,
    spin_is_free,
    visible_share,
)
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds import find_world
from quartet_simulation.worlds.file import Thing
from quartet_simulation.worlds.objects import CATALOGUE
from quartet_simulation.worlds.paint import COLOURS, MATERIALS
from quartet_simulation.worlds.site_file import describe_world
from quartet_site import load_robot, load_site

WORLDS = ("home", "studio")
"""Those with a folder in deploy/sites."""
SITES = Path(__file__).parents[3] / "deploy" / "sites"
ROUND = {"red apple", "green apple", "orange", "tennis ball"}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_objects_stand_where_they_were_put_for_many_seeds(world, request):
    sim = request.getfixturevalue(world)
    layouts = set()
    for seed in range(12):
        sim.reset(world, seed)
        objects = sim.truth()["objects"]
        assert set(objects) == set(sim.world.homes)
        for name, thing in objects.items():
            home = sim._episode.homes[name]
            wanted = "floor" if home.startswith("floor:") else home
            assert thing["on"] == wanted, (seed, name, home, thing)
            assert thing["upright"] or name in ROUND, (seed, name)
            assert thing["speed"] < 0.02, (seed, name)
        names = sorted(objects)
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                gap = math.dist(objects[a]["position"], objects[b]["position"])
                assert gap > CATALOGUE[a].radius + CATALOGUE[b].radius, (seed, a, b)
        layouts.add(tuple(round(v, 2) for n in names for v in objects[n]["position"]))
        assert sim.truth()["robot_in_collision"] == []
    assert len(layouts) == 12


@pytest.mark.parametrize("world", WORLDS)
def test_every_object_can_be_driven_up_to_from_its_areas_entry(world, request):
    sim = request.getfixturevalue(world)
    for seed in (0, 3, 8):
        sim.reset(world, seed)
        checks = sim._base_checks
        for name, thing in sim.truth()["objects"].items():
            checks.attach(None)
            checks.load(sim._physics.data.qpos)
            entry = sim.world.area(thing["area"]).entry
            assert drive_in_is_free(checks, entry, tuple(thing["position"][:2]), dim.PICK_STANDOFF), (seed, name)


@pytest.mark.parametrize("world", WORLDS)
def test_furniture_can_be_driven_up_to_and_the_robot_can_turn_at_every_entry(world, request):
    sim = request.getfixturevalue(world)
    sim.reset(world, 0)
    checks = sim._base_checks
    checks.load(sim._physics.data.qpos)
    for area in sim.world.areas:
        assert spin_is_free(checks, area.entry), area.name
    for container in sim.world.containers:
        x0, y0, x1, y1 = container.rect
        centre = ((x0 + x1) / 2, (y0 + y1) / 2)
        for pose in (sim.world.area(container.area).entry, container.approach):
            assert drive_in_is_free(checks, pose, centre, CONTAINER_STANDOFF), (container.name, pose)
    for surface in sim.world.surfaces:
        x0, y0, x1, y1 = surface.rect
        for pose in (sim.world.area(surface.area).entry, surface.approach):
            nearest = (min(max(pose[0], x0), x1), min(max(pose[1], y0), y1))
            assert drive_in_is_free(checks, pose, nearest, SURFACE_STANDOFF), (surface.name, pose)
        assert spin_is_free(checks, surface.approach), surface.name


@pytest.mark.parametrize("world", WORLDS)
def test_site_file_says_what_the_world_is(world):
    site = load_site(SITES / world / "site.yaml").model_dump(mode="json")
    wanted = describe_world(find_world(world))
    for told in (site, wanted):
        for kind in ("surfaces", "containers"):
            told[kind].sort(key=lambda place: place["name"])
    for kind in ("surfaces", "containers"):
        for found, expected in zip(site[kind], wanted[kind], strict=True):
            # Furniture has the colours that the cameras see, which the world's description does not know.
            assert found["appearance"].pop("colours")
            expected["appearance"].pop("colours")
    for key in ("name", "description"):
        assert site[key] == wanted[key]
    for kind in ("areas", "surfaces", "containers", "objects"):
        for found, expected in zip(site[kind], wanted[kind], strict=True):
            assert _same(found, expected), (found, expected)


@pytest.mark.parametrize("world", WORLDS)
def test_a_robot_can_stand_aside_where_nobody_has_to_go(world, request):
    sim = request.getfixturevalue(world)
    sim.reset(world, 3)
    site = load_site(SITES / world / "site.yaml")
    places = [place.approach for place in (*site.surfaces, *site.containers)]
    goals = [pose for pose in (*(area.entry for area in site.areas), *places) if pose is not None]
    assert site.parking
    for spot in site.parking:
        for area in site.areas:
            code, text, _ = sim.compute_path((spot.x, spot.y, spot.yaw), (area.entry.x, area.entry.y, area.entry.yaw))
            assert code == NavCode.NONE, (spot, area.name, text)
        assert min(math.dist((spot.x, spot.y), (goal.x, goal.y)) for goal in goals) > 1.1, spot


def _same(found, expected) -> bool:
    if isinstance(expected, dict):
        return all(_same(found[k], v) for k, v in expected.items())
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, float | int):
        return abs(found - expected) < 1e-6
    return found == expected


@pytest.mark.parametrize("world", WORLDS)
def test_robot_file_fits_the_simulated_robot(world):
    robot = load_robot(SITES / world / "robot.yaml")
    assert tuple(robot.arm.joints) == dim.ARM_JOINTS
    assert tuple(robot.arm.named_states["look_forward"]) == dim.LOOK_FORWARD
    assert robot.gripper.stroke_m == dim.STROKE
    assert robot.gripper.finger_offset_m == dim.FINGER_OFFSET
    assert robot.gripper.pad_width_m == dim.FINGER_WIDTH
    assert robot.gripper.closed_position == dim.CLOSED_POSITION
    standoffs = robot.approach.standoff_m
    assert (standoffs.pick, standoffs.surface_place, standoffs.container_place) == (
        dim.PICK_STANDOFF, SURFACE_STANDOFF, CONTAINER_STANDOFF,
    )  # fmt: skip


@pytest.mark.parametrize("world", WORLDS)
def test_named_states_are_free_and_reachable_from_each_other(world, request):
    robot = load_robot(SITES / world / "robot.yaml")
    sim = request.getfixturevalue(world)
    sim.reset(world, 0)
    scene = sim.snapshot()
    for a, qa in robot.arm.named_states.items():
        for b, qb in robot.arm.named_states.items():
            plan = scene.plan_joints(qb, start=qa)
            assert plan.trajectory is not None, (a, b, plan.text)


def test_home_is_a_home():
    home = find_world("home")
    assert {a.name for a in home.areas} == {
        "living room", "kitchen", "dining area", "parents' bedroom", "kids' room", "hallway",
    }  # fmt: skip
    assert len(home.homes) >= 15
    assert len(home.containers) >= 3
    for name in home.homes:
        x, y, _ = CATALOGUE[name].size
        assert min(x, y) <= dim.STROKE - 0.02, name
    assert sum(CATALOGUE[n].colours == ("red",) for n in home.homes) >= 3


def test_the_coke_can_of_seed_0_is_on_the_kitchen_counter(home):
    home.reset("home", 0)
    can = home.truth()["objects"]["red coke can"]
    assert (can["on"], can["area"]) == ("kitchen counter", "kitchen")


def test_the_same_seed_gives_the_same_world(studio):
    studio.reset("studio", 5)
    first = studio.truth()
    studio.step(1.0)
    studio.reset("studio", 5)
    assert studio.truth() == first


def test_a_second_process_would_see_the_same_world(studio):
    studio.reset("studio", 4)
    other = Simulation("studio", 4, sensors="clean")
    assert other.truth() == studio.truth()
    assert np.array_equal(other.scan()["ranges"], studio.scan()["ranges"])


def test_scenarios(studio):
    studio.reset("studio", 1, "absent:red cup, dim")
    assert "red cup" not in studio.truth()["objects"]
    assert "red cup" in studio.truth()["absent"]
    studio.reset("studio", 1, "out_of_reach:red coke can")
    x, y, _ = studio.truth()["objects"]["red coke can"]["position"]
    assert studio.truth()["objects"]["red coke can"]["on"] == "counter"
    # Nearer than this to the counter's edge the folded hand would touch it.
    nearest_base = studio.world.surface("counter").rect[0] - 0.50
    assert x - nearest_base > 0.95, (x, y)
    studio.reset("studio", 1, "at:red coke can@wooden table")
    assert studio.truth()["objects"]["red coke can"]["on"] == "wooden table"


def test_a_crowded_world_is_crowded_and_hides_things_in_part(home):
    gaps = {}
    for scenario in ("roomy", "crowded", "packed"):
        home.reset("home", 3, scenario)
        objects = home.truth()["objects"]
        on_counter = [n for n, thing in objects.items() if thing["on"] == "kitchen counter"]
        pairs = [(a, b) for i, a in enumerate(on_counter) for b in on_counter[i + 1 :]]
        gaps[scenario] = min(
            math.dist(objects[a]["position"], objects[b]["position"]) - CATALOGUE[a].radius - CATALOGUE[b].radius
            for a, b in pairs
        )
        if scenario != "roomy":
            assert len(on_counter) >= 4
    assert 0.0 < gaps["packed"] < 0.035 < gaps["crowded"] < 0.09 < gaps["roomy"]


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_an_object_stands_behind_another_one(home, seed):
    home.reset("home", seed, "packed,behind:red coke can@yellow cereal box")
    can, box = (home.truth()["objects"][name] for name in ("red coke can", "yellow cereal box"))
    assert can["on"] == box["on"]
    entry = home.world.area(can["area"]).entry
    assert visible_share(home._physics, entry, "red coke can") <= 0.25
    assert math.dist(entry[:2], box["position"][:2]) < math.dist(entry[:2], can["position"][:2])
    assert visible_share(home._physics, entry, "yellow cereal box") > 0.5


def test_an_object_that_nothing_can_hide_is_refused(home):
    with pytest.raises(SimulationError, match="no room for 'red coke can' behind 'blue book'"):
        home.reset("home", 3, "behind:red coke can@blue book")
    with pytest.raises(UnknownNameError, match="cart"):
        home.reset("home", 3, "behind:red coke can@cart")


@pytest.mark.parametrize("name", ["red coke can", "red cup", "green tea box", "purple toy block"])
def test_an_episode_can_start_with_something_in_the_gripper(studio, name):
    studio.reset("studio", 2, f"in_gripper:{name}")
    studio.step(2.0)
    assert studio.truth()["held"] == name
    state = studio.gripper_state()
    assert state["width"] > 0.02
    assert state["effort"] > 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.reset("castle", 0), "unknown world 'castle'; valid: a folder with world.yaml, flat, home, studio"),
        (lambda s: s.reset("studio", 0, "absent:unicorn"), "unknown object 'unicorn'; valid: green tea box"),
        (lambda s: s.reset("studio", 0, "fog"), "unknown scenario 'fog'; valid: "),
        (lambda s: s.render("rear"), "unknown camera 'rear'; valid: arm, front, overhead"),
        (lambda s: s.place_object("unicorn", 0, 0, 0), "unknown object 'unicorn'"),
    ],
)
def test_unknown_names_are_answered_with_the_valid_ones(studio, call, message):
    with pytest.raises(UnknownNameError) as caught:
        call(studio)
    assert message in str(caught.value)


def test_a_flat_thing_that_falls_into_a_bin_lies_on_its_bottom(home):
    """Between a bottom of 4 mm and the floor it stuck, half of it in either, for some of these."""
    basket = next(one for one in home.world.containers if one.name == "waste basket")
    x, y = (basket.rect[0] + basket.rect[2]) / 2, (basket.rect[1] + basket.rect[3]) / 2
    for height, yaw in ((0.366, 0.3), (0.372, 1.2), (0.38, 2.0)):
        home.reset("home", 0)
        home.place_object("black remote control", x + 0.02, y - 0.004, height, yaw)
        home.step(0.8)
        lies_at = home.truth()["objects"]["black remote control"]["position"][2]
        assert lies_at == pytest.approx(0.004 + 0.012, abs=0.001), (height, yaw)


@pytest.mark.parametrize("paint", [*COLOURS, *MATERIALS, "marble", "#8040c0"])
def test_perception_knows_the_colour_of_every_paint(paint):
    marble = {"marble": (0.8, 0.8, 0.82)}
    thing = Thing(name="candle", shape="cylinder", size=(0.05, 0.05, 0.1), colour=paint, places=["table"])
    [stated] = thing.kind(marble).colours
    assert parse_colours([stated]) == [stated]
