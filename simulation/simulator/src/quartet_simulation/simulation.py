"""The simulated world and robot: everything physical behind one object.

One thread owns a Simulation and calls all its methods; a Scene (snapshot) may be used by any other thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import mujoco
import numpy as np

from quartet_simulation.arm.body import TICK
from quartet_simulation.arm.collision import CollisionWorld
from quartet_simulation.arm_simulation import ArmSimulation
from quartet_simulation.codes import NavCode
from quartet_simulation.episode import Episode
from quartet_simulation.errors import SimulationError
from quartet_simulation.events import Events
from quartet_simulation.goal import Goal
from quartet_simulation.layout import layout_of
from quartet_simulation.mobile.build import OPTICAL, SUMMIT, RobotBuild
from quartet_simulation.navigation.behaviours import Spin, Straight
from quartet_simulation.navigation.costmap import (
    Costmap,
)
from quartet_simulation.navigation.driver import BaseDriver
from quartet_simulation.navigation.footprint import Footprint
from quartet_simulation.navigation.local_costmap import NEAR_M, LocalCostmap
from quartet_simulation.navigation.navigate import Navigate
from quartet_simulation.navigation.obstacle_layer import ObstacleLayer, Sensor
from quartet_simulation.people import People
from quartet_simulation.physics import Physics
from quartet_simulation.robot import MOST_ROBOTS
from quartet_simulation.sensors import frames, laser
from quartet_simulation.sensors.calibration import (
    LIMIT,
    BodyState,
    CameraMounts,
    draw_calibration,
    exact,
    measured_joints,
)
from quartet_simulation.sensors.cameras import Cameras
from quartet_simulation.sensors.depth_rays import DepthRays, depth_error
from quartet_simulation.sensors.frame_tree import FrameTree, planar
from quartet_simulation.sensors.levels import DEFAULT_LEVEL, find_level
from quartet_simulation.sensors.localisation import Localisation, Pose
from quartet_simulation.sensors.noise import generator
from quartet_simulation.sensors.timing import Times, times_of
from quartet_simulation.truth import describe, describe_object, distances_of_hand
from quartet_simulation.worlds import find_world
from quartet_simulation.worlds.compile import make_spec

MARK_EVERY = 50
"""Ticks between two looks at what moves around a robot."""
PLANNER_ID = "GridBased"
"""Name of the path planner, as Nav2's example configurations have it."""
WITHIN_HAND_M = 0.2
"""Up to this far distances of the hand are told [m]."""
OCCUPIED_WITHIN = 0.15
"""A point nearer to an obstacle than this is occupied [m]."""


class Simulation(ArmSimulation):
    """A world with a robot of each of `builds`; this one is the first of them.

    Time, episode and truth are those of the world, whichever of its robots is asked; everything else is the robot's.
    Things are placed where the first robot can fetch them.

    Units: m, rad, s, N. Frames: map, odom, base_footprint, those of the arm, front_camera_color_optical_frame,
    arm_camera_color_optical_frame, laser. Quaternions are x, y, z, w. `sensors` is a level of
    sensors/levels.py. Raises UnknownNameError for an unknown world, scenario or level, SimulationError for no robot or
    more than MOST_ROBOTS.
    """

    drives = True

    def __init__(
        self,
        world: str = "home",
        seed: int = 0,
        *,
        scenario: str | None = None,
        builds: Sequence[RobotBuild] = (SUMMIT,),
        sensors: str = DEFAULT_LEVEL,
    ) -> None:
        if not 1 <= len(builds) <= MOST_ROBOTS:
            raise SimulationError(f"{len(builds)} robots cannot be in one world; valid: 1 to {MOST_ROBOTS}")
        self._level = find_level(sensors)
        self._cameras: Cameras | None = None
        self._world_name = ""
        self._builds = builds
        self._host = self
        self.robots: list[Simulation] = [self]
        self.reset(world, seed, scenario)

    @classmethod
    def _beside(cls, host: Simulation, number: int) -> Simulation:
        """Another robot in the world of `host`."""
        robot = cls.__new__(cls)
        robot._host, robot._builds, robot.world, robot.robots = host, host._builds, host.world, []
        robot._physics = host._physics.of_robot(number)
        robot._equip()
        return robot

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self._host._seed

    # --- set-up -------------------------------------------------------------------------------------
    def _build(self, name: str) -> None:
        self._close_renderer()
        self.world = find_world(name)
        self._physics = Physics(self.world, self._builds)
        self._physics.forward()
        self._equip()
        self.robots = [self, *(Simulation._beside(self, number) for number in range(1, len(self._builds)))]
        others = [(robot._physics, robot._base_checks) for robot in self.robots[1:]]
        self._episode = Episode(self._physics, self._base_checks, others)
        self._people = People(self._physics, max(build.base.width for build in self._builds) / 2)
        self._events = Events(self._physics, partial(describe_object, self._physics))
        self._world_name = name

    def _equip(self) -> None:
        """What each robot has of its own."""
        number, prefix, build = self._physics.number, self._physics.prefix, self._physics.build
        self._costmap = Costmap(self.world, self._physics.model, self._physics.data, build.base.width / 2)
        self._equip_arm(self._physics, number, prefix)
        host = self._host
        self._obstacles = ObstacleLayer(
            self._physics,
            self._costmap,
            self._measured_point,
            lambda sensor: self.times_of(sensor).depth,
            self.estimated_pose,
            lambda: self._localisation.odom(),
            lambda name: host._episode.radius(name),
            lambda: host._episode.closed,
            lambda: [robot._physics for robot in host.robots if robot is not self],
        )
        self._base_checks = CollisionWorld(self.arm, self._planning_model, "base", prefix)
        self._mounts, self._known = CameraMounts(self._physics), BodyState(self._physics)
        self._mounted = frames.static(self._physics)
        self._front_at: np.ndarray | None = None
        held, rays = self._physics.held_object, DepthRays(self._physics, host._level.depth)
        calibration = host._level.calibration
        local = LocalCostmap(
            self._costmap,
            lambda: self._localisation,
            lambda: laser.scan(self._physics, self.seed + number, NEAR_M),
            build.laser_height,
            rays,
            0.0 if calibration is None else LIMIT * calibration.camera_rad,
            lambda: rays.measure(self.seed + number, held()),
            self._obstacles.things,
            self._front_camera,
            lambda: self.time,
            self._physics.base_twist,
            lambda: self._base.standing(),
            self.times_of,
        )
        self._base = BaseDriver(
            self._physics,
            lambda: self._localisation,
            self._costmap,
            local,
            Footprint(self._physics, self._body, held),
            self._base_checks,
            held,
            self._obstacles.known,
        )

    def _measured_point(self, sensor: Sensor, point: np.ndarray, reading: str) -> np.ndarray:
        """Return where the laser or the front camera has a point of base_footprint (3,) [m]."""
        unit = float(generator(self.seed + self._physics.number, f"mark {reading}", self.time).normal())
        if sensor == "laser":
            return point * (1 + unit * laser.NOISE / max(math.hypot(*point[:2]), laser.NOISE))
        to_map = planar(self._physics.base_pose())
        ahead = np.linalg.inv(np.linalg.inv(to_map) @ frames.optical_pose(self._physics, "front")) @ [*point, 1.0]
        ahead[:3] *= 1 + unit * depth_error(self._host._level.depth, float(ahead[2])) / float(ahead[2])
        return (self._front_camera() @ ahead)[:3]

    def _front_camera(self) -> np.ndarray:
        """Return the optical frame of the front camera in base_footprint, as the robot knows it, 4x4."""
        if self._front_at is None:
            self._front_at = FrameTree(self.static_transforms()).between(self.arm.base, OPTICAL["front"])
        return self._front_at

    def reset(self, world: str | None = None, seed: int = 0, scenario: str | None = None) -> None:
        """Begin a new episode for all robots.

        Args:
            world: None: the present one again.
            seed: of placements and noise.
            scenario: a comma-separated list, see episode.py.

        Raises:
            UnknownNameError: there is no such world or scenario.
        """
        if self._host is not self:
            self._host.reset(world, seed, scenario)
            return
        name = world or self._world_name
        if name != self._world_name:
            self._build(name)
        self._seed = seed
        self._physics.clear()
        self._remainder = 0.0
        for robot in self.robots:
            robot._costmap.clear()
            robot._forget_surroundings()
        self._episode.begin(seed, scenario)
        self._people.begin(self._episode, seed, [robot._physics for robot in self.robots])
        self._events.begin(self._episode.changes, self._episode.present)
        self._physics.forward()
        for robot in self.robots:
            robot._begin()

    def _planning_spec(self) -> mujoco.MjSpec:
        return make_spec(self.world, textures=False, builds=self._builds)

    def _begin(self) -> None:
        level, joints = self._host._level.calibration, len(self.arm.joints)
        self._calibration = (
            exact(joints) if level is None else draw_calibration(level, self.seed + self._physics.number, joints)
        )
        self._mounts.shift(self._calibration)
        self._front_at = None
        self._localise()
        self._gripper.reset(self._host._episode.gripper_position if self._host is self else self.hand.open_position)
        self._arm.reset(self._calibration.joints)
        self._efforts_read = (-1.0, 0)
        self._base.reset()
        self._obstacles.look()

    def _localise(self) -> None:
        seed, level = self.seed + self._physics.number, self._host._level.localisation
        self._obstacles.begin_odom()
        self._localisation = Localisation(seed, self._physics.base_pose(), level)

    # --- time ---------------------------------------------------------------------------------------
    def _goals(self) -> list[Goal | None]:
        return [self._base.goal, *super()._goals()]

    def step(self, duration_s: float) -> None:
        """Advance physics and the controllers of running goals by about `duration_s` [s].

        Ticks last 10 ms; what is left over is carried to the next call.
        """
        host = self._host
        ticks, host._remainder = divmod(host._remainder + duration_s + 1e-9, TICK)
        for _ in range(int(ticks)):
            for robot in host.robots:
                robot._base.tick()
                robot._arm.tick()
                robot._gripper.tick()
            robots = [robot._physics for robot in host.robots]
            host._people.tick(robots)
            host._events.tick(robots)
            host._physics.tick()
            for robot in host.robots:
                robot._localisation.update(robot._physics.base_pose())
                if robot._physics.ticks % MARK_EVERY == 0:
                    robot._obstacles.look()

    # --- goals: returned at once, advanced by step() -------------------------------------------------
    def _new_goal(self, action: str) -> Goal:
        """Return a goal of the base; one that runs is ended."""
        running = self._base.goal
        if running is not None and not running.done:
            running.finish("ABORTED", self.time, 0, "preempted by a newer goal")
        return Goal("base", action, started_at=self.time)

    def navigate_to_pose(self, x: float, y: float, yaw: float) -> Goal:
        """Drive to a pose in `map` [m, rad].

        Feedback: distance_remaining, navigation_time, estimated_time_remaining, number_of_recoveries, current_pose
        (x, y, yaw).
        """
        goal = self._new_goal("navigate_to_pose")
        self._base.start(Navigate((x, y, yaw)), goal)
        return goal

    def spin(self, target_yaw: float, time_allowance: float = 60.0) -> Goal:
        """Turn on the spot by `target_yaw` (relative). feedback: angular_distance_traveled."""
        behaviour = Spin(target_yaw, time_allowance)
        goal = self._new_goal("spin")
        self._base.start(behaviour, goal)
        return goal

    def drive_on_heading(self, distance: float, speed: float, time_allowance: float = 60.0) -> Goal:
        """Drive forward. feedback: distance_traveled."""
        behaviour = Straight(distance, speed, time_allowance, 1 if distance >= 0 else -1)
        goal = self._new_goal("drive_on_heading")
        self._base.start(behaviour, goal)
        return goal

    def backup(self, distance: float, speed: float, time_allowance: float = 60.0) -> Goal:
        """Drive backward by `distance` (positive). feedback: distance_traveled."""
        behaviour = Straight(abs(distance), abs(speed), time_allowance, -1)
        goal = self._new_goal("backup")
        self._base.start(behaviour, goal)
        return goal

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Drive by a velocity in base_footprint [m/s, rad/s].

        It is stale after 0.5 s of world time and ignored while a base goal runs.
        """
        self._base.command_velocity((vx, vy, wz))

    def halt_base(self) -> None:
        """End the base's goal as CANCELED and brake."""
        if self._base.goal is not None:
            self._base.goal.finish("CANCELED", self.time, 0, "stopped by the robot guard")
        self._base.brake_now()

    @property
    def at_standstill(self) -> bool:
        """True when base and arm are measured to be at rest."""
        return self._base.standing() and super().at_standstill

    # --- planning ---------------------------------------------------------------------------------
    def base_in_world(self) -> np.ndarray:
        """base_footprint in the world, 4x4: what planning reckons with."""
        return planar(self._physics.base_pose())

    def base_twist(self) -> Pose:
        """Return the true twist of the base in its own frame [m/s, m/s, rad/s]."""
        return self._physics.base_twist()

    def compute_path(
        self, goal: tuple[float, float, float], start: tuple[float, float, float] | None = None, planner_id: str = ""
    ) -> tuple[NavCode, str, np.ndarray | None]:
        """A path to a pose in `map` from `start` (None: from where localisation has the robot): points (N, 2)."""
        if planner_id not in ("", PLANNER_ID):
            return NavCode.INVALID_PLANNER, f"planner '{planner_id[:40]}' is not known; valid: {PLANNER_ID}", None
        origin = self.estimated_pose() if start is None else start
        for x, y, code, what in ((*origin[:2], NavCode.START_OUTSIDE_MAP, "start"),
                                 (*goal[:2], NavCode.GOAL_OUTSIDE_MAP, "goal")):  # fmt: skip
            if not (math.isfinite(x) and math.isfinite(y) and self._costmap.inside(x, y)):
                return code, f"{what} ({x:.2f}, {y:.2f}) is outside the map", None
        if start is not None and self._costmap.clearance_at(*start[:2]) < OCCUPIED_WITHIN:
            return NavCode.START_OCCUPIED, f"start ({start[0]:.2f}, {start[1]:.2f}) is in lethal space", None
        if self._costmap.clearance_at(*goal[:2]) < OCCUPIED_WITHIN or not self._base.pose_is_free(goal):
            return NavCode.GOAL_OCCUPIED, f"goal ({goal[0]:.2f}, {goal[1]:.2f}) is in lethal space", None
        path = self._base.planner.plan(origin[:2], goal[:2])
        if path is None:
            return NavCode.NO_VALID_PATH, f"no path to ({goal[0]:.2f}, {goal[1]:.2f})", None
        return NavCode.NONE, "", path

    def docks(self) -> dict[str, tuple[float, float, float]]:
        """Poses in `map` of the docks that the docking server knows."""
        area = self.world.area(self.world.start_areas[0])
        return {} if area is None else {"home_dock": area.entry}

    def distance_to(self, x: float, y: float) -> float:
        """From where localisation has the robot to a point of `map` [m]."""
        here = self.estimated_pose()
        return math.hypot(x - here[0], y - here[1])

    def clear_costmaps(self) -> None:
        """Forget marked obstacles of the costmaps; what the sensors see is marked again."""
        self._costmap.clear()
        self._base.forget_surroundings()
        self._obstacles.look()

    # --- sensors ----------------------------------------------------------------------------------
    def _render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        host, physics = self._host, self._physics
        if host._cameras is None:
            host._cameras = Cameras(physics.model, host._level, self.world.finishes)
        seed, warmth = self.seed + physics.number, host._episode.warmth
        return host._cameras.render(camera, physics.data, seed, self.time, warmth, physics.prefix)

    @property
    def jpeg_quality(self) -> int:
        """Of pictures on the compressed topics, 1 to 95."""
        return self._host._level.jpeg_quality

    def times_of(self, sensor: str) -> Times:
        """Return the times of what the camera front or arm, or the laser, shows now."""
        return times_of(self._host._level.timing, self.seed + self._physics.number, sensor, self.time)

    def scan(self) -> dict[str, Any]:
        """Return angle_min, angle_max, angle_increment, range_min, range_max, ranges (float32), frame."""
        return laser.scan(self._physics, self.seed + self._physics.number)

    def odometry(self) -> dict[str, Any]:
        """Return pose (x, y, yaw) in odom and twist (vx, vy, wz) in base_footprint, with drift and noise."""
        twist = self._localisation.twist(self._physics.base_twist(), self.time)
        return {"pose": self._localisation.odom(), "twist": twist}

    def estimated_pose(self) -> tuple[float, float, float]:
        """Return base_footprint in map as localisation has it (x, y, yaw)."""
        return self._localisation.estimate(self.time)

    def localisation_error(self) -> tuple[float, float]:
        """Return the RMS error of x and of y [m], and of yaw [rad], of the estimated pose."""
        return self._localisation.error

    def transforms(self) -> list[frames.Transform]:
        """(parent, child, translation, quaternion xyzw) of all moving frames, map -> odom included (noisy)."""
        return frames.moving(self._body(), self._localisation)

    def _body(self) -> Physics:
        """The robot as it knows itself."""
        if self._host._level.calibration is None:
            return self._physics
        return self._known.at(measured_joints(self._physics, self._calibration))

    def static_transforms(self) -> list[frames.Transform]:
        """Return (parent, child, translation, quaternion xyzw) of all fixed frames."""
        return frames.static(self._physics) if self._host._level.calibration is None else self._mounted

    def occupancy_grid(self) -> dict[str, Any]:
        """The static map: resolution, origin (x, y), data int8 HxW (0 free, 100 occupied), row 0 at origin y."""
        return self._costmap.occupancy_grid()

    def planned_path(self) -> np.ndarray:
        """The rest of the way that a running NavigateToPose has planned: N x 2 [m] in map."""
        return self._base.planned_path

    # --- scoring only -------------------------------------------------------------------------------
    def truth(self) -> dict[str, Any]:
        """True poses, what is held, what lies on or in what, and what stands fast (layout.py). For scoring only.

        `happened` has what people did with things since the episode began, `to_happen` what they are still to do
        (events.py).
        """
        host = self._host
        others = [(robot._physics, robot._gripper) for robot in host.robots[1:]]
        told = describe(host._physics, host._episode, host._gripper, others)
        events = {"happened": list(host._events.happened), "to_happen": host._events.to_happen}
        return {**told, **events, "layout": layout_of(host._physics)}

    def place_object(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        """Put an object at (x, y) in map, standing on height z. Raises UnknownNameError."""
        self._host._episode.put(name, x, y, z, yaw)

    def put_robot(self, x: float, y: float, yaw: float) -> None:
        """Set the base down at a pose of map; localisation knows. For scenario set-up."""
        self.halt()
        self._physics.set_base_pose(x, y, yaw)
        self._physics.forward()
        self._localise()
        self._base.reset()
        # Odometry begins anew, and what was seen is where it was in odom.
        self._forget_pictures()

    def put_arm(self, joints: Iterable[float], opening: float) -> None:
        """Set the arm to true joint positions [rad] with the fingers `opening` [m] apart. For scenario set-up."""
        self._physics.set_arm(joints)
        self._physics.set_opening(opening)
        self._physics.forward()

    def hand_distances(self) -> dict[str, float]:
        """Return the true distance of fingers, hand and wrist camera to each object within 0.2 m of them [m].

        Below zero they are within it. For scoring, never for a robot.
        """
        return distances_of_hand(self._physics, WITHIN_HAND_M)

    def put_in_gripper(self, name: str) -> None:
        """Close the gripper of the first robot around an object. Raises UnknownNameError."""
        host = self._host
        host._episode.put_in_gripper(name)
        host._gripper.reset(host._episode.gripper_position)

    def close(self) -> None:
        """Free the renderer."""
        self._host._close_renderer()

    def _close_renderer(self) -> None:
        if self._cameras is not None:
            self._cameras.close()
            self._cameras = None
