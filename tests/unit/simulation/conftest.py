"""A robot's hands for tests of the simulation: drives, grasps and puts down by ground truth."""

import math
from contextlib import contextmanager

import numpy as np
import pytest

from quartet_simulation.arm.collision import OCTOMAP
from quartet_simulation.codes import MoveItCode
from quartet_simulation.robot import dimensions as dim
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds.objects import CATALOGUE
from quartet_simulation.worlds.site_file import extent


def _down(x: float, y: float, z: float, yaw: float) -> np.ndarray:
    """arm_tool0 pointing down at (x, y, z) with its x axis, along which the fingers close, at `yaw`."""
    pose = np.eye(4)
    c, s = math.cos(yaw), math.sin(yaw)
    pose[:3, :3] = [[c, s, 0], [s, -c, 0], [0, 0, -1]]
    pose[:3, 3] = (x, y, z)
    return pose


class Hands:
    """Runs goals of a Simulation to their end."""

    down = staticmethod(_down)

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim

    def run(self, goal, limit: float = 120.0):
        end = self.sim.time + limit
        while not goal.done:
            assert self.sim.time < end, f"{goal.action} did not end within {limit} s: {goal.feedback}"
            self.sim.step(0.05)
        return goal

    def drive_to(self, x: float, y: float, yaw: float):
        return self.run(self.sim.navigate_to_pose(x, y, yaw))

    def in_base(self, x: float, y: float) -> tuple[float, float]:
        bx, by, yaw = self.sim.truth()["robot"]["pose"]
        c, s = math.cos(yaw), math.sin(yaw)
        return c * (x - bx) + s * (y - by), -s * (x - bx) + c * (y - by)

    def approach(self, x: float, y: float, standoff: float):
        """Turn to a point of the map and drive straight in."""
        dx, dy = self.in_base(x, y)
        if abs(math.atan2(dy, dx)) > math.radians(8):
            goal = self.run(self.sim.spin(math.atan2(dy, dx)))
            assert goal.status == "SUCCEEDED", goal.error_text
        dx, dy = self.in_base(x, y)
        distance = math.hypot(dx, dy)
        if distance <= standoff + 0.06:
            return None
        return self.run(self.sim.drive_on_heading(distance - standoff, 0.4))

    def execute(self, trajectory):
        points = list(zip(trajectory.times.tolist(), trajectory.positions.tolist(), strict=True))
        return self.run(self.sim.execute_trajectory(list(trajectory.joint_names), points))

    def move(self, pose: np.ndarray):
        plan = self.sim.snapshot().plan_pose(pose, scale=0.8)
        assert plan.code is MoveItCode.SUCCESS, (plan.code, plan.text)
        return self.execute(plan.trajectory)

    def straight(self, pose: np.ndarray):
        with self.among_things():
            trajectory, fraction = self.sim.snapshot().cartesian([pose], scale=0.4)
        assert fraction == 1.0, fraction
        return self.execute(trajectory)

    @contextmanager
    def among_things(self):
        """The gripper may be where the cameras see something."""
        links = (self.sim.arm.tool, *self.sim.arm.palm, *self.sim.arm.fingers)
        self.sim.allow_contacts(frozenset(frozenset((link, OCTOMAP)) for link in links))
        yield
        self.sim.allow_contacts(frozenset())

    def transit(self):
        plan = self.sim.snapshot().plan_joints(dim.LOOK_FORWARD, scale=0.8)
        assert plan.code is MoveItCode.SUCCESS, (plan.code, plan.text)
        return self.execute(plan.trajectory)

    def grip(self, position: float):
        return self.run(self.sim.gripper_command(position, 50.0))

    def pick(self, name: str):
        """Top grasp of an object that is within reach; ends in the transit pose."""
        thing, kind = self.sim.truth()["objects"][name], CATALOGUE[name]
        _, _, base_yaw = self.sim.truth()["robot"]["pose"]
        x, y = self.in_base(*thing["position"][:2])
        qx, qy, qz, qw = thing["quaternion"]
        yaw = math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz)) - base_yaw
        # Across the narrow side of all of it: a mug has a handle.
        width, depth, _ = extent(kind)
        if depth < width:
            yaw += math.pi / 2
        height = extent(kind)[2]
        top = thing["bottom_z"] + height
        tip = max(top - min(0.06, 0.6 * height), thing["bottom_z"] + 0.012)
        z = tip + dim.FINGER_OFFSET
        assert self.grip(0.0).status == "SUCCEEDED"
        for goal in (self.move(_down(x, y, z + 0.2, yaw)), self.straight(_down(x, y, z, yaw))):
            assert goal.status == "SUCCEEDED", goal.error_text
        closing = self.grip(0.7)
        lift = self.straight(_down(x, y, z + 0.2, yaw))
        back = self.transit()
        return closing, lift, back

    def place(self, x: float, y: float, z: float, name: str):
        """Put what is held down at (x, y) of the map with the fingertips at z above the floor."""
        bx, by = self.in_base(x, y)
        for goal in (
            self.move(_down(bx, by, z + dim.FINGER_OFFSET + 0.15, 0.0)),
            self.straight(_down(bx, by, z + dim.FINGER_OFFSET, 0.0)),
        ):
            assert goal.status == "SUCCEEDED", goal.error_text
        self.grip(0.0)
        self.straight(_down(bx, by, z + dim.FINGER_OFFSET + 0.15, 0.0))
        return self.transit()


@pytest.fixture(scope="session")
def home() -> Simulation:
    sim = Simulation("home", 0, sensors="clean")
    yield sim
    sim.close()


@pytest.fixture(scope="session")
def studio() -> Simulation:
    sim = Simulation("studio", 0, sensors="clean")
    yield sim
    sim.close()


@pytest.fixture(scope="session")
def flat() -> Simulation:
    sim = Simulation("flat", 0)
    yield sim
    sim.close()


@pytest.fixture(scope="session")
def hands():
    """Hands(sim): drives, picks and places by ground truth."""
    return Hands
