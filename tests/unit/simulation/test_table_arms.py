"""Several unlike arms at one table: builder, hands, joint plans and their execution."""

import math

import mujoco
import numpy as np
import pytest

from quartet_simulation.errors import TableError, UnknownNameError
from quartet_simulation.table_arms import (
    ArmAt,
    BoltedTool,
    Execution,
    Goals,
    HandPose,
    MotionPlan,
    PlanFailure,
    Rope,
    Scene,
    Shape,
    Thing,
    broom,
    build_table,
    check_goals,
    dustpan,
    execute,
    plan_motion,
)
from quartet_simulation.table_arms.collisions import Collisions
from quartet_simulation.table_arms.ik import Kinematics
from quartet_simulation.table_arms.search import Space, samples_between
from quartet_simulation.table_arms.timing import time_joint_path

NEAR, FAR = math.pi / 2, -math.pi / 2
RAIL = (-1.3, 1.3)
ALICE = ArmAt("Alice", "ur5", (-0.4, -0.2, 0.15), NEAR, RAIL)
BOB = ArmAt("Bob", "panda", (0.4, 1.02, 0.1), FAR, RAIL)
CUBE = Thing("cube", (Shape("box", (0.025, 0.025, 0.025)),), (-0.4, 0.4, 0.1751), mass=0.1)
SLICE = Thing("slice", (Shape("box", (0.06, 0.06, 0.005)),), (-0.4, 0.6, 0.1551), mass=0.05)


def go(scene: Scene, goals: Goals, allow: list[tuple[str, str]] | None = None, *, seed: int = 0) -> Execution:
    plan = plan_motion(scene, goals, allow=allow or [], seed=seed)
    assert isinstance(plan, MotionPlan), plan
    done = execute(scene, plan)
    assert done.ok, done
    return done


def crossing() -> tuple[Scene, dict[str, HandPose]]:
    """Return two arms whose hands are to change sides of the table."""
    scene = build_table([ALICE, BOB])
    go(scene, {"Alice": HandPose.down((-0.3, 0.5, 0.3)), "Bob": HandPose.down((0.3, 0.5, 0.3))})
    return scene, {"Alice": HandPose.down((0.3, 0.5, 0.3)), "Bob": HandPose.down((-0.3, 0.5, 0.3))}


def straight(scene: Scene, goals: Goals) -> MotionPlan:
    """Return the straight line to goals, unchecked."""
    path = np.array([scene.joints, check_goals(scene, goals).choices[0]])
    timed = time_joint_path(scene.joint_names, path, 0.5 * scene.speed, scene.acceleration)
    return MotionPlan(timed, scene.joints)


@pytest.mark.parametrize("rail", [None, RAIL])
@pytest.mark.parametrize("hand", ["fingers", "suction"])
@pytest.mark.parametrize("kind", ["ur5", "panda", "humanoid"])
def test_hand_reaches_poses_it_has_been_in(kind: str, hand: str, rail: tuple[float, float] | None) -> None:
    scene = build_table([ArmAt("A", kind, (0, 0, 0.15), NEAR, rail, hand)])
    home, arm, rng = scene.joints, scene.arm("A"), np.random.default_rng(0)
    for _ in range(5):
        scene.data.qpos[scene.qpos] = home + rng.uniform(-0.4, 0.4, len(home))
        mujoco.mj_forward(scene.model, scene.data)
        pose = scene.hand_pose("A")
        joints = next(Kinematics(scene).solutions(arm, pose, home))
        scene.data.qpos[scene.qpos] = joints
        mujoco.mj_forward(scene.model, scene.data)
        again = scene.hand_pose("A")
        assert math.dist(again.position, pose.position) < 1e-3
        assert np.allclose(again.rotation, pose.rotation, atol=1e-3)


@pytest.mark.parametrize("kind", ["ur5", "panda", "humanoid"])
def test_hand_points_down_in_front_of_foot_at_home(kind: str) -> None:
    scene = build_table([ArmAt("A", kind, (0, -0.1, 0.15), NEAR)])
    pose = scene.hand_pose("A")
    assert pose.rotation[2, 2] < -0.99
    assert 0.2 < pose.position[1] + 0.1 < 0.7
    assert abs(pose.position[0]) < 0.15
    assert check_goals(scene, {"A": None}).ok


def test_rail_takes_arm_where_it_does_not_reach_from_its_foot() -> None:
    goal = {"Alice": HandPose.down((0.7, 0.4, 0.3))}
    fixed = build_table([ArmAt("Alice", "ur5", (-0.4, -0.2, 0.15), NEAR)])
    found = check_goals(fixed, goal)
    assert not found.ok
    assert found.unsolved == goal
    failure = plan_motion(fixed, goal)
    assert isinstance(failure, PlanFailure)
    assert failure.reason == "ik"
    assert failure.text.startswith("no joint positions reach the goal of Alice")
    scene = build_table([ALICE])
    go(scene, goal)
    assert scene.joints[0] > 0.2
    assert math.dist(scene.hand_pose("Alice").position, (0.7, 0.4, 0.3)) < 0.002


def test_free_turn_leaves_hand_upright() -> None:
    scene = build_table([ALICE])
    found = check_goals(scene, {"Alice": HandPose.down((-0.3, 0.5, 0.3), any_turn=True)})
    scene.data.qpos[scene.qpos] = found.choices[0]
    mujoco.mj_forward(scene.model, scene.data)
    assert scene.hand_pose("Alice").rotation[2, 2] < -0.9999
    assert math.dist(scene.hand_pose("Alice").position, (-0.3, 0.5, 0.3)) < 1e-3


@pytest.mark.slow
def test_cup_carries_slice_and_drops_it() -> None:
    dave = ArmAt("Dave", "humanoid", (-0.3, 1.06, 0.17), FAR, RAIL, hand="suction")
    scene = build_table([dave], [SLICE])
    scene.settle()
    go(scene, {"Dave": HandPose.down((-0.4, 0.6, 0.3), any_turn=True)})
    assert scene.grasp("Dave") == {"Dave": None}
    scene.release("Dave")
    go(scene, {"Dave": HandPose.down((-0.4, 0.6, 0.161), any_turn=True)}, [("Dave", "slice")])
    assert scene.holds("Dave") is None
    assert scene.grasp("Dave") == {"Dave": "slice"}
    assert go(scene, {"Dave": HandPose.down((-0.7, 0.6, 0.35), any_turn=True)}).lost == {}
    assert scene.holds("Dave") == "slice"
    assert math.dist(scene.position("slice"), (-0.7, 0.6, 0.345)) < 0.01
    scene.release("Dave")
    scene.settle()
    assert scene.holds("Dave") is None
    assert scene.position("slice")[2] < 0.16


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ur5", "panda", "humanoid"])
def test_fingers_lift_cube(kind: str) -> None:
    scene = build_table([ArmAt("A", kind, (-0.3, -0.2, 0.15), NEAR, RAIL)], [CUBE])
    scene.settle()
    go(scene, {"A": HandPose.down((-0.4, 0.4, 0.3))})
    go(scene, {"A": HandPose.down((-0.4, 0.4, 0.165))}, [("A", "cube")])
    assert scene.grasp("A") == {"A": "cube"}
    go(scene, {"A": HandPose.down((-0.1, 0.5, 0.4))})
    assert scene.holds("A") == "cube"
    assert math.dist(scene.position("cube"), (-0.1, 0.5, 0.41)) < 0.01
    scene.release("A")
    assert scene.holds("A") is None


@pytest.mark.slow
def test_two_hands_lift_rope_by_its_ends() -> None:
    scene = build_table([ALICE, BOB], [Rope("rope", (0.0, 0.5, 0.17))])
    scene.settle()
    ends = {"Alice": scene.position("rope/00"), "Bob": scene.position("rope/24")}

    def hands(height: float) -> dict[str, HandPose]:
        return {arm: HandPose.down((x, y, height), math.pi / 2) for arm, (x, y, _) in ends.items()}

    go(scene, hands(0.3))
    go(scene, hands(0.153), [("Alice", "rope/00"), ("Bob", "rope/00")])
    assert scene.grasp("Alice", "Bob") == {"Alice": "rope/00", "Bob": "rope/24"}
    go(scene, hands(0.4))
    assert min(scene.position("rope/00")[2], scene.position("rope/24")[2]) > 0.35
    assert {scene.holds("Alice"), scene.holds("Bob")} == {"rope/00", "rope/24"}


@pytest.mark.slow
def test_crossing_arms_keep_apart_where_straight_lines_collide() -> None:
    scene, goals = crossing()
    before = scene.snapshot()
    naive = execute(scene, straight(scene, goals))
    assert not naive.ok
    assert {name.partition("/")[0] for name in naive.arm_contacts[0]} == {"Alice", "Bob"}
    assert np.array_equal(scene.snapshot(), before), "the scene was not rewound"
    go(scene, goals)
    assert math.dist(scene.hand_pose("Alice").position, goals["Alice"].position) < 0.003
    assert math.dist(scene.hand_pose("Bob").position, goals["Bob"].position) < 0.003


@pytest.mark.slow
def test_equal_seeds_give_equal_plans() -> None:
    scene, goals = crossing()
    plans = [plan_motion(scene, goals, seed=seed) for seed in (1, 1, 2)]
    assert all(isinstance(plan, MotionPlan) for plan in plans)
    first, again, other = (plan.trajectory.positions for plan in plans if isinstance(plan, MotionPlan))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.allclose(first, other)


def test_number_of_checks_ends_hopeless_search() -> None:
    """Feet on one rail cannot pass each other."""
    other = ArmAt("Bob", "ur5", (0.4, -0.2, 0.15), NEAR, RAIL)
    scene = build_table([ALICE, other])
    swapped = scene.joints
    swapped[0], swapped[7] = 0.8, -0.8
    failure = plan_motion(scene, {"Alice": swapped[:7], "Bob": swapped[7:]}, checks=2000)
    assert isinstance(failure, PlanFailure)
    assert failure.reason == "no_path"
    assert failure.text == "no path of Alice, Bob was found within 2000 collision checks"


@pytest.mark.slow
def test_held_thing_is_part_of_collision_check() -> None:
    post = Thing("post", (Shape("box", (0.02, 0.02, 0.1)),), (-0.4, 0.7, 0.25))
    bar = Thing("bar", (Shape("box", (0.02, 0.15, 0.02)),), (-0.4, 0.4, 0.171), mass=0.1)
    scene = build_table([ALICE], [post, bar])
    scene.settle()
    beside = {"Alice": HandPose.down((-0.4, 0.58, 0.3))}
    assert check_goals(scene, beside).ok
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.3))})
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.16))}, [("Alice", "bar")])
    assert scene.grasp("Alice") == {"Alice": "bar"}
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.3))})
    assert check_goals(scene, beside).contacts == [("bar", "post")]
    failure = plan_motion(scene, beside)
    assert isinstance(failure, PlanFailure)
    assert (failure.reason, failure.text) == ("goal_contact", "at the goal these collide: bar and post")
    assert check_goals(scene, {"Alice": HandPose.down((-0.4, 0.535, 0.3))}, [("bar", "post")]).ok


def test_goal_inside_table_names_the_bodies() -> None:
    scene = build_table([ALICE, BOB])
    found = check_goals(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.1))})
    assert found.unsolved == {}
    assert ("Alice/left_finger", "table") in found.contacts


def test_goals_of_two_arms_at_one_spot_collide() -> None:
    scene = build_table([ALICE, BOB])
    spot = HandPose.down((0.0, 0.5, 0.3))
    found = check_goals(scene, {"Alice": spot, "Bob": spot})
    assert not found.ok
    assert {name.partition("/")[0] for pair in found.contacts for name in pair} == {"Alice", "Bob"}


def test_split_plan_stops_at_every_waypoint() -> None:
    scene = build_table([ALICE])
    hover = HandPose.down((-0.2, 0.5, 0.4))
    plan = plan_motion(scene, {"Alice": HandPose.down((-0.2, 0.5, 0.2))}, [{"Alice": hover}], split=True)
    assert isinstance(plan, MotionPlan)
    middle = check_goals(scene, {"Alice": hover}).choices[0]
    at = int(np.abs(plan.trajectory.positions - middle).max(axis=1).argmin())
    assert np.abs(plan.trajectory.positions[at] - middle).max() < 1e-6
    assert np.abs(plan.trajectory.velocities[at]).max() < 1e-9
    assert 0 < at < len(plan.trajectory.times) - 1


def test_search_tries_waypoints_first_then_lines_of_single_arms() -> None:
    scene, goals = crossing()
    start, goal, way = scene.joints, check_goals(scene, goals).choices[0], scene.home + 0.1
    arms = [arm.columns for arm in scene.arms.values()]
    space = Space(arms, scene.sweep, scene.lower, scene.upper, Collisions(scene).free, 0.02)
    samples = samples_between(space, start, [goal], scene.home, [way], {}, np.random.default_rng(0))
    assert np.array_equal(next(samples), way)
    drawn = np.array([next(samples) for _ in range(200)])
    assert ((drawn >= scene.lower) & (drawn <= scene.upper)).all()
    waits = [(np.abs(drawn[:, columns] - start[columns]).max(axis=1) < 1e-9) for columns in arms]
    assert all(10 < wait.sum() < 60 for wait in waits)
    assert (waits[0] & ~waits[1]).any()


@pytest.mark.slow
def test_plan_keeps_speed_and_acceleration_limits() -> None:
    scene, goals = crossing()
    plan = plan_motion(scene, goals, speed=0.8)
    assert isinstance(plan, MotionPlan)
    path = plan.trajectory
    times = np.arange(0, path.duration, 0.01)
    speeds = np.array([path.at(float(time))[1] for time in times])
    assert (np.abs(speeds).max(axis=0) <= 0.8 * scene.speed * 1.001).all()
    assert (np.abs(np.diff(speeds, axis=0)).max(axis=0) / 0.01 <= 0.8 * scene.acceleration * 1.05).all()
    assert (np.abs(speeds) / (0.8 * scene.speed)).max() > 0.3, "slower than it needs to be"
    positions = np.array([path.at(float(time))[0] for time in times])
    assert np.allclose(np.diff(positions, axis=0) / 0.01, (speeds[1:] + speeds[:-1]) / 2, atol=0.05)


def test_bolted_tool_has_its_own_tip_and_does_not_grasp() -> None:
    broom = BoltedTool((Shape("box", (0.07, 0.03, 0.08), (0, 0, 0.3)),), tip=(0, 0, 0.38))
    scene = build_table([ArmAt("Bob", "panda", (0, -0.2, 0.3), NEAR, hand=broom)])
    flange = scene.position("Bob/panda_tool0")
    assert math.dist(scene.hand_pose("Bob").position, flange) == pytest.approx(0.38)
    with pytest.raises(TableError, match="bolted tool"):
        scene.grasp("Bob")


def test_builder_callback_adds_mechanisms() -> None:
    def door(spec: mujoco.MjSpec) -> None:
        leaf = spec.worldbody.add_body(name="door", pos=(0, 0.5, 0.4))
        leaf.add_joint(name="hinge", axis=(0, 0, 1), range=(0, 2.6), limited=True)
        leaf.add_geom(name="leaf", type=mujoco.mjtGeom.mjGEOM_BOX, pos=(0.1, 0, 0), size=(0.1, 0.01, 0.1))

    scene = build_table([ALICE], [door])
    assert scene.model.joint("hinge").range[1] == pytest.approx(2.6)
    found = check_goals(scene, {"Alice": HandPose.down((0.1, 0.5, 0.45))})
    assert any("door" in pair for pair in found.contacts)


def tips(scene: Scene, plan: MotionPlan, arm: str) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (N, 3) of a tip along a plan, and how far the hand leans from pointing down (N,) [rad]."""
    data = mujoco.MjData(scene.model)
    places, leans = [], []
    for time in np.arange(0, plan.trajectory.duration, 0.02):
        data.qpos[scene.qpos] = plan.trajectory.at(float(time))[0]
        mujoco.mj_kinematics(scene.model, data)
        places.append(data.site_xpos[scene.arm(arm).tip].copy())
        leans.append(math.acos(min(1.0, -float(data.site_xmat[scene.arm(arm).tip][8]))))
    return np.array(places), np.array(leans)


@pytest.mark.slow
def test_what_lies_on_a_tool_is_part_of_collision_check() -> None:
    cube = Thing("cube", (Shape("box", (0.025, 0.025, 0.025)),), (0, 0.6, 0.18), mass=0.125)
    shelf = Thing("shelf", (Shape("box", (0.05, 0.03, 0.005)),), (-0.5, 0.43, 0.451))
    scene = build_table([ArmAt("Alice", "ur5", (-0.2, -0.2, 0.15), NEAR, RAIL, dustpan())], [cube, shelf])
    under = {"Alice": HandPose.down((-0.5, 0.35, 0.4))}
    go(scene, {"Alice": HandPose.down((0.6, 0.35, 0.26))})
    assert check_goals(scene, under).ok
    scene.place("cube", (0.6, 0.42, 0.29))
    scene.settle()
    assert check_goals(scene, under).contacts == [("cube", "shelf")]


def test_tool_may_push_what_fingers_may_only_touch() -> None:
    inside = HandPose.down((-0.4, 0.4, 0.155))
    pushing = build_table([ArmAt("Alice", "ur5", (-0.4, -0.2, 0.15), NEAR, RAIL, broom())], [CUBE])
    assert check_goals(pushing, {"Alice": inside}).contacts == [("Alice/tool", "cube")]
    assert check_goals(pushing, {"Alice": inside}, [("Alice", "cube")]).ok
    across = HandPose.down((-0.33, 0.4, 0.155))  # one finger in the middle of the cube
    grasping = build_table([ALICE], [CUBE])
    assert not check_goals(grasping, {"Alice": across}, [("Alice", "cube")]).ok


@pytest.mark.slow
@pytest.mark.parametrize(("x", "yaw"), [(0.4, 0.3), (0.9, 2.0)])
def test_swept_cube_stays_on_dustpan_on_its_way_to_the_bin(x: float, yaw: float) -> None:
    cube = Thing("cube", (Shape("box", (0.025, 0.025, 0.025)),), (x, 0.5, 0.176), yaw, mass=0.125)
    pan = ArmAt("Alice", "ur5", (-0.2, -0.2, 0.15), NEAR, RAIL, dustpan())
    scene = build_table([pan, ArmAt("Bob", "panda", (0.6, 1.02, 0.1), FAR, RAIL, broom())], [cube])
    scene.settle()
    touching = [("Alice", "table"), ("Bob", "table"), ("Bob", "cube"), ("Alice", "cube"), ("Alice", "Bob")]

    def straight(goals: dict[str, HandPose], speed: float = 0.5) -> None:
        plan = plan_motion(scene, goals, straight=list(goals), allow=touching, speed=speed)
        assert isinstance(plan, MotionPlan), plan
        assert execute(scene, plan).ok

    go(scene, {"Alice": HandPose.down((x, 0.29, 0.25)), "Bob": HandPose.down((x, 0.62, 0.25))})
    straight({"Alice": HandPose.down((x, 0.29, 0.151)), "Bob": HandPose.down((x, 0.62, 0.152))})
    straight({"Bob": HandPose.down((x, 0.395, 0.158))}, speed=0.2)
    straight({"Bob": HandPose.down((x, 0.62, 0.25))})
    assert scene.carries("Alice") == ["cube"]
    straight({"Alice": HandPose.down((x, 0.29, 0.3))})
    plan = plan_motion(scene, {"Alice": HandPose.down((-0.5, 0.29, 0.5))}, level=["Alice"])
    assert isinstance(plan, MotionPlan)
    assert execute(scene, plan).ok
    assert scene.carries("Alice") == ["cube"]


def test_straight_motion_keeps_tip_on_a_line_at_an_even_turn() -> None:
    scene = build_table([ALICE, BOB])
    go(scene, {"Alice": HandPose.down((-0.6, 0.4, 0.3)), "Bob": HandPose.down((0.4, 0.6, 0.3))})
    goals = {"Alice": HandPose.down((-0.2, 0.6, 0.3)), "Bob": HandPose.down((0.6, 0.6, 0.3))}
    plan = plan_motion(scene, goals, straight=["Alice"])
    assert isinstance(plan, MotionPlan)
    places, leans = tips(scene, plan, "Alice")
    assert np.abs(places[:, 2] - 0.3).max() < 0.002
    assert np.abs(places[:, 1] - (0.4 + (places[:, 0] + 0.6) / 2)).max() < 0.002
    assert leans.max() < 0.01
    assert execute(scene, plan).ok
    assert math.dist(scene.hand_pose("Bob").position, (0.6, 0.6, 0.3)) < 0.002


def test_straight_motion_by_an_unreachable_waypoint_fails() -> None:
    scene = build_table([ALICE])
    go(scene, {"Alice": HandPose.down((-0.6, 0.4, 0.3))})
    far, goal = {"Alice": HandPose.down((-0.4, 0.5, 4.0))}, {"Alice": HandPose.down((-0.2, 0.6, 0.3))}
    failure = plan_motion(scene, goal, [far], straight=["Alice"])
    assert isinstance(failure, PlanFailure)
    assert failure.reason == "ik"
    assert failure.text.startswith("no joint positions reach the goal of Alice")
    assert isinstance(plan_motion(scene, goal, [far], seed=1), MotionPlan), "a search leaves it out"


def test_straight_motion_through_a_wall_names_what_it_meets() -> None:
    wall = Thing("wall", (Shape("box", (0.02, 0.2, 0.2)),), (-0.3, 0.5, 0.3))
    scene = build_table([ALICE], [wall])
    go(scene, {"Alice": HandPose.down((-0.6, 0.5, 0.3))})
    goal = {"Alice": HandPose.down((0.0, 0.5, 0.3))}
    failure = plan_motion(scene, goal, straight=["Alice"])
    assert isinstance(failure, PlanFailure)
    assert failure.reason == "no_path"
    assert failure.text.startswith("on the straight way these collide: ")
    assert "wall" in failure.text
    assert isinstance(plan_motion(scene, goal), MotionPlan)


@pytest.mark.slow
def test_level_hand_does_not_spill_where_a_free_one_does() -> None:
    cube = Thing("cube", (Shape("box", (0.025, 0.025, 0.025)),), (0, 0.6, 0.18), mass=0.125, friction=0.3)
    scene = build_table([ArmAt("Alice", "ur5", (-0.2, -0.2, 0.15), NEAR, RAIL, dustpan())], [cube])
    go(scene, {"Alice": HandPose.down((0.6, 0.35, 0.26))})
    scene.place("cube", (0.6, 0.42, 0.29))
    scene.settle()
    assert scene.carries("Alice") == ["cube"]
    before, goal = scene.snapshot(), {"Alice": HandPose.down((-0.5, 0.35, 0.4))}
    plan = plan_motion(scene, goal, level=["Alice"])
    assert isinstance(plan, MotionPlan)
    assert tips(scene, plan, "Alice")[1].max() < 0.21
    assert execute(scene, plan).ok
    assert scene.carries("Alice") == ["cube"]
    leaning = {"Alice": scene.joints + np.array([0, 0, 0, 0, 0.9, 0, 0])}
    scene.restore(before)
    assert isinstance(plan_motion(scene, leaning, level=["Alice"], checks=5000), PlanFailure)
    go(scene, leaning)
    assert scene.carries("Alice") == []


@pytest.mark.parametrize(
    ("arms", "text"),
    [
        ([], "0 arms"),
        ([ALICE, ALICE], "different names"),
        ([ArmAt("a/b", "ur5", (0, 0, 0))], "letters"),
        ([ArmAt("A", "ur5", (0, 0, math.nan))], "finite"),
        ([ArmAt("A", "ur5", (0, 0, 0), rail=(0.5, 1.0))], "rail"),
        ([ArmAt("A", "ur5", (0, 0, 0), rail=(0, 0))], "rail"),
        ([ArmAt("A", "ur5", (0, 0, 0), rail=RAIL, rail_home=1.4)], "rail_home 1.4 must be between -1.3 and 1.3 m"),
        ([ArmAt("A", "ur5", (0, 0, 0), rail_home=0.1)], "rail_home 0.1"),
    ],
)
def test_tables_that_cannot_be_are_refused(arms: list[ArmAt], text: str) -> None:
    with pytest.raises(TableError, match=text):
        build_table(arms)


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (Rope("Alice", (0, 0.5, 0.2)), "no arm has"),
        (Thing("Alice/x", (), (0, 0, 0)), "letters"),
        (Thing("cube", CUBE.shapes, (0, math.nan, 0)), "finite"),
        (Thing("cube", (Shape("box", (0.1, -0.1, 0.1)),), (0, 0, 0)), "cannot be built"),
        (Thing("cube", (Shape("cylinder", (0.1, 0.1, 0.1)),), (0, 0, 0), mass=1), "cannot be put"),
    ],
)
def test_things_that_cannot_be_are_refused(thing: Thing | Rope, text: str) -> None:
    with pytest.raises(TableError, match=text):
        build_table([ALICE], [thing])


def test_unknown_names_are_refused_with_valid_ones() -> None:
    with pytest.raises(UnknownNameError, match="humanoid, panda, ur5"):
        build_table([ArmAt("A", "scara", (0, 0, 0))])
    with pytest.raises(UnknownNameError, match="fingers, suction"):
        build_table([ArmAt("A", "ur5", (0, 0, 0), hand="magnet")])  # pyright: ignore[reportArgumentType]
    with pytest.raises(TableError, match="cube"):
        build_table([ALICE], [CUBE, CUBE])
    scene = build_table([ALICE], [CUBE])
    with pytest.raises(UnknownNameError, match="Alice"):
        check_goals(scene, {"Eve": None})
    with pytest.raises(UnknownNameError, match="cube"):
        check_goals(scene, {"Alice": None}, [("Alice", "cub")])
    with pytest.raises(UnknownNameError, match="cube"):
        scene.position("world2")


def test_values_that_make_no_sense_are_refused() -> None:
    scene = build_table([ALICE], [CUBE])
    with pytest.raises(TableError, match="finite"):
        HandPose.down((0, 0, math.inf))
    with pytest.raises(TableError, match="7 finite numbers"):
        check_goals(scene, {"Alice": [0.0] * 6})
    with pytest.raises(TableError, match="limits"):
        check_goals(scene, {"Alice": [9.0] * 7})
    with pytest.raises(TableError, match="share"):
        plan_motion(scene, {"Alice": None}, speed=1.5)
    with pytest.raises(TableError, match="shape"):
        scene.restore(np.zeros(3))
    with pytest.raises(TableError, match="free joint"):
        scene.place("table", (0, 0, 0))
    plan = plan_motion(scene, {"Alice": HandPose.down((-0.2, 0.5, 0.3))})
    assert isinstance(plan, MotionPlan)
    assert execute(scene, plan).ok
    with pytest.raises(TableError, match="plan again"):
        execute(scene, plan)


@pytest.mark.slow
def test_snapshot_brings_back_what_hands_hold() -> None:
    scene = build_table([ALICE], [CUBE])
    scene.settle()
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.3))})
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.165))}, [("Alice", "cube")])
    scene.grasp("Alice")
    state = scene.snapshot()
    scene.release("Alice")
    go(scene, {"Alice": HandPose.down((0.2, 0.5, 0.4))})
    scene.restore(state)
    assert scene.holds("Alice") == "cube"
    go(scene, {"Alice": HandPose.down((-0.4, 0.4, 0.3))})
    assert scene.holds("Alice") == "cube"
