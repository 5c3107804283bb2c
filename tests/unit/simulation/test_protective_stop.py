"""The protective stop: an arm that pushes too hard by what its torques tell is stopped, and ordinary work is not."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from quartet_simulation.arm.driver import ArmDriver
from quartet_simulation.arm.external_torques import ExternalTorques
from quartet_simulation.codes import MoveItCode
from quartet_simulation.mobile.file import load_build
from quartet_simulation.simulation import Simulation
from quartet_simulation.tabletop.simulation import TableSimulation
from support.robot_models import ROBOTS

TOUCH_M = 1.04
"""Height of the flange [m] at which the fingers touch the counter."""
AHEAD_M = 0.70
UNSTOPPED_N = 357.0
"""With which the arm presses on for 3 s in `pressed` without a protective stop."""


@pytest.fixture
def pushes(monkeypatch):
    """The force that the arm felt in each tick of its motions [N]."""
    felt, stop = [], ArmDriver._stop_when_pushing

    def record(self, goal):
        felt.append(self._contact.newtons())
        stop(self, goal)

    monkeypatch.setattr(ArmDriver, "_stop_when_pushing", record)
    return felt


@pytest.fixture
def above(studio, hands):
    """The studio's robot with closed fingers above the counter, of which its planner knows nothing below."""
    studio.reset("studio", 0)
    studio.put_robot(0.95, 0.3, 0.0)
    hand = hands(studio)
    start = studio.snapshot().ik(hands.down(AHEAD_M, 0.0, 1.15, 0.0))
    hand.execute(studio.snapshot().plan_joints(start).trajectory)
    hand.grip(0.7)
    return studio


def pressed(sim, hands, depth=0.05, scale=0.05):
    """Send the fingers straight down to `depth` [m] below the counter's top, slowly: what the impact adds is small."""
    pose = hands.down(AHEAD_M, 0.0, TOUCH_M - depth, 0.0)
    into, _ = sim.snapshot().cartesian([pose], avoid_collisions=False, scale=scale)
    return hands(sim).execute(into)


def counter_force(sim):
    """Return the sum of the normal forces between the robot and what stands fast now [N]."""
    physics, force, total = sim._physics, np.zeros(6), 0.0
    for number, geoms in enumerate(physics.data.contact.geom):
        names = {physics.model.geom(int(geom)).name for geom in geoms}
        if "counter top" in names:
            mujoco.mj_contactForce(physics.model, physics.data, number, force)
            total += force[0]
    return total


def test_an_arm_that_is_sent_into_a_table_top_stops(above, hands):
    goal = pressed(above, hands)
    assert (goal.status, goal.error_code) == ("ABORTED", MoveItCode.CONTROL_FAILED)
    assert goal.error_text.startswith("protective stop: the arm pushes with 10")
    assert "(allowed 100): something blocks it" in goal.error_text
    peak = max(touch.force_n for touch in above._physics.touched_fixed().values())
    assert peak < 0.5 * UNSTOPPED_N
    above.step(0.1)
    assert above.at_standstill
    assert counter_force(above) < 10


def test_it_moves_again_after_a_protective_stop(above, hands):
    pressed(above, hands)
    up, fraction = above.snapshot().cartesian([hands.down(AHEAD_M, 0.0, 1.14, 0.0)], avoid_collisions=False)
    assert fraction == 1.0
    goal = hands(above).execute(up)
    assert (goal.status, goal.error_code) == ("SUCCEEDED", MoveItCode.SUCCESS)


def test_a_fast_arm_stops_within_a_tick_of_the_impact(above, hands):
    """No stop can keep the impact itself small; without one the arm presses on with 360 N."""
    goal = pressed(above, hands, depth=0.29, scale=0.4)
    assert "protective stop" in goal.error_text
    above.step(0.02)
    assert counter_force(above) < 20


def test_an_arm_that_slows_down_for_a_cancel_stops_too(above, hands):
    pose = hands.down(AHEAD_M, 0.0, TOUCH_M - 0.2, 0.0)
    into, _ = above.snapshot().cartesian([pose], avoid_collisions=False, scale=0.2)
    points = list(zip(into.times.tolist(), into.positions.tolist(), strict=True))
    goal = above.execute_trajectory(list(into.joint_names), points)
    while above.truth()["robot"]["tool"][2] > TOUCH_M + 0.005:
        above.step(0.01)
    goal.cancel()
    hands(above).run(goal)
    assert "protective stop" in goal.error_text


def test_the_force_that_the_arm_feels_is_that_with_which_it_presses(above, hands, monkeypatch):
    arm = above._arm_body.arm
    monkeypatch.setattr(above._arm_body, "arm", replace(arm, force_limit=1000.0))
    pairs, slow = [], ArmDriver._stop_when_pushing

    def compare(self, goal):
        slow(self, goal)
        pairs.append((self._contact.newtons(), counter_force(above)))

    monkeypatch.setattr(ArmDriver, "_stop_when_pushing", compare)
    pressed(above, hands, depth=0.03)
    felt, true = np.array(pairs).T
    pressing = true > 100
    assert pressing.sum() > 100
    assert felt[pressing] == pytest.approx(true[pressing], rel=0.2)


def test_only_a_force_over_the_limit_exceeds_it(above, hands, monkeypatch):
    limits = []

    def compare(self, goal):
        limits.append([self._contact.exceeds(limit) == (self._contact.newtons() > limit) for limit in (1, 20, 60, 100)])
        return stop(self, goal)

    stop = ArmDriver._stop_when_pushing
    monkeypatch.setattr(ArmDriver, "_stop_when_pushing", compare)
    pressed(above, hands)
    assert np.all(limits)


@pytest.mark.slow
def test_picking_and_placing_are_no_reason_for_a_protective_stop(studio, hands, pushes):
    studio.reset("studio", 0)
    studio.put_robot(0.85, 0.0, 0.0)
    studio.place_object("red coke can", 1.62, 0.0, 0.90)
    studio.step(0.5)
    hand = hands(studio)
    with hand.among_things():
        hand.pick("red coke can")
        assert studio.truth()["held"] == "red coke can"
        # Held 62 mm above its bottom: it is pressed into the counter by 10 mm before it is let go.
        hand.place(1.62, 0.2, 0.90 + 0.052, "red coke can")
    thing = studio.truth()["objects"]["red coke can"]
    assert thing["bottom_z"] == pytest.approx(0.90, abs=0.005)
    assert 30 < max(pushes) < 80


HINGE = """
<mujoco><worldbody><body><joint name="hinge" axis="0 1 0" range="-1 0" limited="true" frictionloss="3" armature="1"/>
<geom size="0.1" mass="1"/></body></worldbody><actuator><motor joint="hinge"/></actuator></mujoco>
"""


@pytest.mark.parametrize(("motor", "felt"), [(2.0, 0.0), (10.0, -7.0)])
def test_friction_of_a_joint_is_not_felt(motor, felt):
    """At the end of its range, which pushes back with what friction leaves of the motor's torque."""
    model = mujoco.MjModel.from_xml_string(HINGE)
    data, torques = mujoco.MjData(model), ExternalTorques(model)
    data.ctrl[0] = motor
    for _ in range(500):
        torques.begin()
        mujoco.mj_step(model, data)
        torques.add(data)
    assert torques.of(np.array([0])) == pytest.approx([felt], abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["rover", "lifter"])
def test_what_moves_freely_feels_nothing(robot, pushes):
    build = load_build(ROBOTS / robot / "robot.yaml")
    sim = Simulation("studio", 0, builds=[build], sensors="clean")
    try:
        sim.put_robot(-0.5, -0.4, 0.2)
        swing(sim)
    finally:
        sim.close()
    assert len(pushes) > 50
    assert max(pushes) < 5


@pytest.mark.slow
def test_the_arm_at_the_table_feels_what_it_meets(pushes):
    sim = TableSimulation(0, sensors="clean")
    try:
        swing(sim)
        assert max(pushes) < 5
        down = sim.arm.forward(sim._body.arm_positions())
        down[2, 3] -= 0.6
        into, _ = sim.snapshot().cartesian([down], avoid_collisions=False, scale=0.1)
        goal = sim.execute_trajectory(list(into.joint_names), points_of(into))
        while not goal.done:
            sim.step(0.05)
    finally:
        sim.close()
    assert (goal.status, goal.error_code) == ("ABORTED", MoveItCode.CONTROL_FAILED)
    assert "protective stop" in goal.error_text


def test_a_robot_file_sets_the_limit(tmp_path):
    text = (ROBOTS / "rover" / "robot.yaml").read_text()
    path = tmp_path / "robot.yaml"
    path.write_text(text.replace("model: panda", "model: panda\n    force_limit_n: 40", 1))
    assert load_build(path).arm.force_limit == 40.0
    assert load_build(ROBOTS / "rover" / "robot.yaml").arm.force_limit == 100.0


def swing(sim):
    """Move all joints at full speed and back."""
    start = sim.arm.nearest_turns(sim._arm_body.arm_positions(), sim._arm_body.arm_positions())
    there = np.clip(start + 0.2, np.array(sim.arm.lower) + 0.01, np.array(sim.arm.upper) - 0.01)
    plan = sim.snapshot().plan_joints(there)
    goal = sim.execute_trajectory(list(plan.trajectory.joint_names), points_of(plan.trajectory))
    while not goal.done:
        sim.step(0.05)
    assert goal.status == "SUCCEEDED", goal.error_text


def points_of(trajectory):
    return list(zip(trajectory.times.tolist(), trajectory.positions.tolist(), strict=True))
