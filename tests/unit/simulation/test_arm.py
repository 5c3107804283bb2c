"""The arm: kinematics, planning around things, and honest failures with MoveIt's own codes."""

import math
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from quartet_simulation.arm import kinematics, planning
from quartet_simulation.arm.objects import SceneObject, SceneObjects, Solid
from quartet_simulation.arm.planning import FINEST_STEP, PLANNERS, STEP, motion_is_free
from quartet_simulation.arm.summit import ARM
from quartet_simulation.codes import MoveItCode
from quartet_simulation.errors import InvalidCommandError, UnknownNameError
from quartet_simulation.robot import dimensions as dim


@pytest.fixture
def open_floor(studio):
    """The studio with the robot in the middle and nothing within reach."""
    studio.reset("studio", 0)
    studio.put_robot(-0.5, -0.4, 0.2)
    return studio


BESIDE_M = 1.10
"""Height of the flange [m] at which the fingers of a hand that points down are beside a can on the counter."""


def points_of(trajectory):
    return list(zip(trajectory.times.tolist(), trajectory.positions.tolist(), strict=True))


def test_closed_form_agrees_with_the_physical_model(open_floor):
    base = np.eye(4)
    x, y, yaw = open_floor.truth()["robot"]["pose"]
    base[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    base[:2, 3] = x, y
    physics = open_floor._physics
    for q in np.random.default_rng(0).uniform(-2, 2, (20, 6)):
        physics.set_arm(q)
        physics.forward()
        assert np.abs(base @ kinematics.forward(q) - physics.tool_pose()).max() < 1e-6
    physics.set_arm(dim.LOOK_FORWARD)


def test_inverse_finds_every_reachable_pose():
    for q in np.random.default_rng(1).uniform(-math.pi, math.pi, (300, 6)):
        solutions = kinematics.inverse(kinematics.forward(q))
        assert len(solutions) >= 1
        nearest = min(float(np.abs(np.arctan2(np.sin(s - q), np.cos(s - q))).max()) for s in solutions)
        assert nearest < 1e-4


@pytest.mark.parametrize(
    ("what", "distances", "tip_z"),
    [
        ("pick from the floor", (0.74, 0.80, 0.86, 0.93), (0.02, 0.22)),
        ("pick from a counter", (0.74, 0.80, 0.86, 0.88), (0.93, 1.15)),
        ("pick from a table", (0.74, 0.80, 0.86, 0.95), (0.47, 0.95)),
        ("put on a low table", (0.70, 0.81, 0.90), (0.56, 0.76)),
        ("put on a high table", (0.70, 0.81, 0.90), (0.86, 1.06)),
        ("put a tall thing on a counter", (0.72, 0.81, 0.86), (1.07, 1.215)),
        ("drop into a bin", (0.64, 0.70, 0.76), (0.70, 0.90)),
        ("put on the floor", (0.60, 0.62, 0.65), (0.08, 0.25)),
    ],
)
def test_top_down_poses_of_the_standoffs_are_reachable_at_any_yaw(open_floor, hands, what, distances, tip_z):
    with hands(open_floor).among_things():
        scene = open_floor.snapshot()
    for distance in distances:
        for z in tip_z:
            for yaw in np.linspace(0, math.pi, 6, endpoint=False):
                pose = hands.down(distance, 0.0, z + dim.FINGER_OFFSET, float(yaw))
                assert scene.ik(pose) is not None, (what, distance, z, yaw)


def test_out_of_reach_is_no_ik_solution(open_floor, hands):
    plan = open_floor.snapshot().plan_pose(hands.down(1.4, 0.0, 0.3, 0.0))
    assert (plan.code, plan.trajectory) == (MoveItCode.NO_IK_SOLUTION, None)
    assert "no IK solution for arm_tool0 at (1.400" in plan.text


def test_a_goal_inside_furniture_is_goal_in_collision(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.7, 0.0, 0.0)
    plan = studio.snapshot().plan_pose(hands.down(1.05, 0.0, 0.80, 0.0))
    assert plan.code is MoveItCode.GOAL_IN_COLLISION
    assert "what the cameras see" in plan.text


def test_a_joint_goal_outside_its_limits_is_refused(open_floor):
    plan = open_floor.snapshot().plan_joints([0, -1, 4.0, 0, 0, 0])
    assert plan.code is MoveItCode.INVALID_GOAL_CONSTRAINTS
    assert "arm_elbow_joint 4.000" in plan.text


def test_planning_goes_around_what_bars_the_straight_motion(studio, hands):
    """From one side of a thing on the counter to the other, low: the straight motion would sweep it away."""
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.place_object("red coke can", 1.62, 0.0, 0.90)
    scene = studio.snapshot()
    left = scene.ik(hands.down(0.78, 0.22, BESIDE_M, 0.0))
    right = scene.ik(hands.down(0.78, -0.22, BESIDE_M, 0.0), left)
    assert left is not None
    assert right is not None
    middle = (left + right) / 2
    assert scene.in_collision(middle)
    plan = scene.plan_joints(right, start=left)
    assert plan.code is MoveItCode.SUCCESS, plan.text
    assert all(not scene.in_collision(q) for q in plan.trajectory.positions)
    assert np.abs(plan.trajectory.positions[-1] - right).max() < 1e-3


def _bar(scene, monkeypatch, start, where):
    """Let the arm collide where its first joint is between the first two checks of a motion, and `where` holds."""
    world = scene._world

    def colliding():
        q = world.data.qpos[world.arm_qpos]
        return bool(start[0] + 0.3 * STEP < q[0] < start[0] + 0.7 * STEP and where(q))

    monkeypatch.setattr(world, "colliding", colliding)
    return np.asarray(start) + 20 * STEP * np.eye(6)[0]


def test_a_trajectory_that_touches_something_between_the_checks_of_its_path_is_not_taken(open_floor, monkeypatch):
    scene = open_floor.snapshot()
    start = np.array(dim.LOOK_FORWARD)
    goal = _bar(scene, monkeypatch, start, lambda q: abs(q[1] - start[1]) < 0.1)
    assert motion_is_free(np.array([start, goal]), lambda q: not scene.in_collision(q))
    plan = scene.plan_joints(goal, timeout=20.0, start=start)
    assert plan.code is MoveItCode.SUCCESS, plan.text
    times = plan.trajectory.times
    for moment in (*times, *(times[:-1] + times[1:]) / 2):
        assert not scene.in_collision(plan.trajectory.at(moment)[0])


def test_where_every_trajectory_touches_something_the_plan_is_invalid(open_floor, monkeypatch):
    scene = open_floor.snapshot()
    # No bar is met by each of them: one that is thin enough to be missed by a path is missed by a fast trajectory too.
    monkeypatch.setattr(scene, "_valid", lambda _: False)
    start = np.array(dim.LOOK_FORWARD)
    plan = scene.plan_joints(start + 20 * STEP * np.eye(6)[0], timeout=0.5, start=start)
    assert (plan.code, plan.trajectory) == (MoveItCode.INVALID_MOTION_PLAN, None)
    assert "touch something" in plan.text


def test_a_path_whose_short_cut_touches_something_is_cut_short_with_care_before_a_new_search(open_floor, monkeypatch):
    """Another search may take all of the time that is left, and most often the short cut alone touches something."""
    arm = open_floor.snapshot().arm
    start = np.array(dim.LOOK_FORWARD)
    goal = start + 20 * STEP * np.eye(6)[0]
    spent = [0.0]
    monkeypatch.setattr(planning, "time", SimpleNamespace(monotonic=lambda: spent[0], sleep=time.sleep))
    # A wall in the way, with one opening to the side.
    middle = start[0] + 10 * STEP

    def free(q):
        return abs(q[0] - middle) > 2 * STEP or q[1] > start[1] + 0.1

    paths = planning.search(arm, start, goal, free, planning.DEFAULT_PLANNER, 1.0)
    first = next(paths)
    spent[0] = 2.0
    careful, as_found = list(paths)
    steps = [np.abs(np.diff(path, axis=0)).max() for path in (first, careful, as_found)]
    assert steps[0] > FINEST_STEP + 1e-9 > max(steps[1:])
    assert all(np.allclose(path[[0, -1]], [start, goal]) for path in (first, careful, as_found))


@pytest.mark.slow
@pytest.mark.parametrize("planner", sorted(PLANNERS))
def test_every_planner_name_plans(studio, hands, planner):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.place_object("red coke can", 1.62, 0.0, 0.90)
    scene = studio.snapshot()
    left = scene.ik(hands.down(0.78, 0.22, BESIDE_M, 0.0))
    right = scene.ik(hands.down(0.78, -0.22, BESIDE_M, 0.0), left)
    plan = scene.plan_joints(right, planner, 10.0, start=left)
    assert plan.code is MoveItCode.SUCCESS, plan.text


def test_an_unknown_planner_is_named_with_the_valid_ones(open_floor):
    with pytest.raises(UnknownNameError, match="unknown planner 'Magic'; valid: BITstar"):
        open_floor.snapshot().plan_joints(dim.LOOK_FORWARD, "Magic")


def test_things_bar_the_arm_while_the_cameras_see_them(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    pose = hands.down(0.77, 0.05, BESIDE_M, math.pi / 2)
    assert studio.snapshot().plan_pose(pose).code is MoveItCode.SUCCESS
    studio.place_object("red coke can", 1.62, 0.05 + dim.STROKE / 2, 0.90)
    plan = studio.snapshot().plan_pose(pose)
    assert plan.code is MoveItCode.GOAL_IN_COLLISION
    assert "what the cameras see" in plan.text
    # What is still there is seen again at once; what has gone is seen through.
    studio.clear_octomap()
    assert studio.snapshot().plan_pose(pose).code is MoveItCode.GOAL_IN_COLLISION
    studio.place_object("red coke can", -1.0, 0.0, 0.0)
    assert studio.snapshot().plan_pose(pose).code is MoveItCode.SUCCESS


def test_the_fingers_are_checked_as_well_and_may_be_among_things_where_that_is_allowed(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.place_object("red coke can", 1.62, 0.05, 0.90)
    # A finger in the can, the palm above it.
    pose = hands.down(0.77, 0.05 + dim.STROKE / 2, 1.12, math.pi / 2)
    scene = studio.snapshot()
    touching = {link for q in scene.ik_all(pose) for link, _, _ in scene.named_contacts(q)}
    assert touching & {"left_finger", "right_finger"}
    assert scene.ik(pose) is None
    with hands(studio).among_things():
        assert studio.snapshot().ik(pose) is not None


def test_what_no_camera_saw_bars_nothing(studio, hands):
    studio.reset("studio", 0)
    in_counter = np.array([1.60, 0.0])
    for yaw, seen in ((0.0, True), (math.pi / 2, False)):
        studio.reset("studio", 0)
        studio.put_robot(0.85, 0.0, yaw)
        pose = hands.down(*hands(studio).in_base(*in_counter), 0.80, 0.0)
        scene = studio.snapshot()
        assert scene.ik_all(pose)
        assert (scene.ik(pose) is None) == seen


def test_what_is_attached_counts_as_part_of_the_arm(studio, hands):
    studio.reset("studio", 0, "in_gripper:red coke can")
    low = hands.down(0.75, 0.0, dim.FINGER_OFFSET + 0.06, 0.0)
    # What the hand holds is for the planner to be told.
    assert studio.snapshot().plan_pose(low).code is MoveItCode.SUCCESS
    tool = np.eye(4)
    tool[2, 3] = dim.FINGER_OFFSET + 0.02
    can = SceneObject("held_object", tool, (Solid("box", (0.07, 0.07, 0.13), np.eye(4)),), attached=True)
    studio.set_scene_objects(SceneObjects([can]))
    # With the can in the hand its bottom, not the finger tip, decides how low the hand may go.
    assert studio.snapshot().plan_pose(low).code is MoveItCode.GOAL_IN_COLLISION
    higher = hands.down(0.75, 0.0, dim.FINGER_OFFSET + 0.20, 0.0)
    assert studio.snapshot().plan_pose(higher).code is MoveItCode.SUCCESS


def test_a_straight_path_ends_where_it_must(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.7, 0.3, 0.0)
    scene = studio.snapshot()
    above = scene.ik(hands.down(0.95, 0.0, 1.20, 0.0))
    whole, fraction = scene.cartesian([hands.down(0.95, 0.0, 1.08, 0.0)], start=above)
    assert fraction == 1.0
    ends = kinematics.forward(whole.positions[-1])[:3, 3]
    assert ends == pytest.approx([0.95, 0.0, 1.08], abs=1e-4)
    for q in whole.positions:
        assert kinematics.forward(q)[:2, 3] == pytest.approx([0.95, 0.0], abs=0.002)
    into, fraction = scene.cartesian([hands.down(0.95, 0.0, 0.70, 0.0)], start=above)
    assert 0.1 < fraction < 0.6
    assert kinematics.forward(into.positions[-1])[2, 3] > 0.90


def test_trajectories_respect_speed_limits_and_start_and_end_at_rest(open_floor, hands):
    for scale in (1.0, 0.3):
        plan = open_floor.snapshot().plan_pose(hands.down(0.8, 0.2, 0.4, 0.5), scale=scale)
        trajectory = plan.trajectory
        assert (np.abs(trajectory.velocities) <= np.array(dim.JOINT_SPEED) * scale * 1.05).all()
        assert np.abs(trajectory.velocities[[0, -1]]).max() == 0
        assert trajectory.times[0] == 0


def test_execution_follows_closely_and_arrives(open_floor, hands):
    plan = open_floor.snapshot().plan_pose(hands.down(0.8, 0.2, 0.4, 0.5))
    goal = open_floor.execute_trajectory(list(plan.trajectory.joint_names), points_of(plan.trajectory))
    worst = 0.0
    while not goal.done:
        open_floor.step(0.02)
        worst = max(worst, float(np.abs(goal.feedback["error"]).max()))
    assert (goal.status, goal.error_code) == ("SUCCEEDED", MoveItCode.SUCCESS)
    assert worst < 0.05
    assert np.abs(open_floor._physics.arm_positions() - plan.trajectory.positions[-1]).max() < 0.01


def test_a_blocked_arm_is_control_failed_and_holds(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.7, 0.3, 0.0)
    scene = studio.snapshot()
    above = scene.ik(hands.down(0.95, 0.0, 1.20, 0.0))
    hand = hands(studio)
    hand.execute(scene.plan_joints(above).trajectory)
    into, _ = studio.snapshot().cartesian([hands.down(0.95, 0.0, 0.75, 0.0)], avoid_collisions=False)
    goal = hand.execute(into)
    assert (goal.status, goal.error_code) == ("ABORTED", MoveItCode.CONTROL_FAILED)
    assert "something blocks it" in goal.error_text
    studio.step(1.0)
    assert studio.at_standstill
    assert studio.truth()["robot"]["tool"][2] > 0.95


def test_an_arm_that_is_stopped_just_before_its_goal_does_not_press_on(open_floor, monkeypatch):
    """As ros2_control's trajectory controller, which holds where a goal tolerance was violated."""
    sim, told = open_floor, []
    here = sim._arm_body.arm_positions().copy()
    monkeypatch.setattr(sim._arm_body, "servo_arm", lambda positions, velocities=None: told.append(positions))
    monkeypatch.setattr(sim._arm_body, "arm_positions", lambda: here)
    goal = sim.execute_trajectory(list(ARM.joints), [(0.0, list(here)), (0.5, list(here + 0.05))])
    while not goal.done:
        sim.step(0.1)
    assert (goal.status, goal.error_code) == ("ABORTED", MoveItCode.CONTROL_FAILED)
    assert told[len(told) // 2] == pytest.approx(here + 0.05)
    assert told[-1] == pytest.approx(here)


def test_a_trajectory_that_starts_elsewhere_is_an_invalid_plan(open_floor, hands):
    plan = open_floor.snapshot().plan_pose(hands.down(0.8, 0.2, 0.4, 0.5))
    points = points_of(plan.trajectory)
    points[0][1][0] += 0.5
    goal = hands(open_floor).run(open_floor.execute_trajectory(list(dim.ARM_JOINTS), points))
    assert (goal.status, goal.error_code) == ("ABORTED", MoveItCode.INVALID_MOTION_PLAN)


@pytest.mark.parametrize(
    ("names", "points", "message"),
    [
        (["elbow"], [(0.0, [0.0])], "must be the arm's"),
        (list(dim.ARM_JOINTS), [], "at least one point"),
        (list(dim.ARM_JOINTS), [(0.0, [0.0] * 5)], "needs 6 positions"),
        (list(dim.ARM_JOINTS), [(1.0, [0.0] * 6), (0.5, [0.0] * 6)], "must grow"),
        (list(dim.ARM_JOINTS), [(0.0, [float("inf")] * 6)], "finite"),
    ],
)
def test_malformed_trajectories_are_refused(open_floor, names, points, message):
    with pytest.raises(InvalidCommandError, match=message):
        open_floor.execute_trajectory(names, points)


def test_start_in_collision_is_said(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    scene = studio.snapshot()
    inside = ARM.nearest_turns(kinematics.inverse(hands.down(0.9, 0.0, 0.85, 0.0))[0], np.array(dim.LOOK_FORWARD))
    plan = scene.plan_joints(dim.LOOK_FORWARD, start=inside)
    assert plan.code is MoveItCode.START_STATE_IN_COLLISION


def test_cancel_slows_the_arm_down_and_halt_stops_it(open_floor, hands):
    plan = open_floor.snapshot().plan_pose(hands.down(0.8, 0.2, 0.4, 0.5), scale=0.5)
    goal = open_floor.execute_trajectory(list(dim.ARM_JOINTS), points_of(plan.trajectory))
    open_floor.step(0.8)
    goal.cancel()
    began = open_floor.time
    hands(open_floor).run(goal)
    assert (goal.status, goal.error_code) == ("CANCELED", MoveItCode.PREEMPTED)
    assert open_floor.time - began < 0.6
    back = open_floor.snapshot().plan_joints(dim.LOOK_FORWARD, scale=0.5)
    goal = open_floor.execute_trajectory(list(dim.ARM_JOINTS), points_of(back.trajectory))
    open_floor.step(0.5)
    open_floor.halt()
    assert goal.status == "CANCELED"
    open_floor.step(0.3)
    assert open_floor.at_standstill


def test_planning_in_a_thread_does_not_hold_up_the_world(studio, hands):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.place_object("red coke can", 1.62, 0.0, 0.90)
    scene, results = studio.snapshot(), []
    left = scene.ik(hands.down(0.78, 0.22, BESIDE_M, 0.0))
    right = scene.ik(hands.down(0.78, -0.22, BESIDE_M, 0.0), left)
    # RRTstar is stopped by nothing but its result or the time: the world must go on meanwhile.
    worker = threading.Thread(target=lambda: results.append(scene.plan_joints(right, "RRTstar", 5.0, start=left)))
    worker.start()
    steps = 0
    while worker.is_alive():
        studio.step(0.02)
        steps += 1
    worker.join()
    assert steps > 0
    assert results[0].code in (MoveItCode.SUCCESS, MoveItCode.TIMED_OUT)
