"""A simulated robot with an arm and two cameras, as the ROS nodes use it, whatever it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np

from quartet_simulation.arm.body import ArmBody
from quartet_simulation.arm.collision import CollisionWorld, Octree, own_points, planning_model
from quartet_simulation.arm.driver import ArmDriver
from quartet_simulation.arm.model import ArmModel, GripperModel
from quartet_simulation.arm.objects import SceneObjects
from quartet_simulation.arm.octomap import DepthView, Octomap
from quartet_simulation.arm.scene import Scene
from quartet_simulation.arm.trajectory import from_points
from quartet_simulation.codes import MoveItCode
from quartet_simulation.goal import Goal
from quartet_simulation.gripper import GripperDriver
from quartet_simulation.sensors import frames
from quartet_simulation.sensors.calibration import CAMERAS, Calibration, exact
from quartet_simulation.sensors.frame_tree import FrameTree, planar
from quartet_simulation.sensors.localisation import Pose
from quartet_simulation.sensors.timing import Times, after

FIXED_FRAME = "odom"
"""Frame of the planning scene, in which what was seen and what clients added stays where it is."""
OCTOMAP_PERIOD_S = 2.0
"""World time between two pictures of a camera that enter the octomap while nobody plans [s]: a base at 0.5 m/s is then
a metre farther, half of what the octomap has around it."""
STILL = 0.02
"""Greatest joint speed of an arm at rest [rad/s]."""


@dataclass(frozen=True, eq=False)
class _Picture:
    """What a camera showed at a time [s], and the state of the world that it shows."""

    key: tuple[float, bytes]
    time: float
    rgb: np.ndarray
    depth: np.ndarray


class ArmSimulation(ABC):
    """What every simulated robot has: an arm, a gripper, two cameras, planning, time and an episode.

    One thread calls all methods; a Scene (snapshot) may be used by any other thread. Units: m, rad, s, N. Quaternions
    are x, y, z, w.
    """

    drives: ClassVar[bool] = False
    """Whether it has a base that drives, and so Nav2, a laser and a map."""
    robots: list[Any]
    """All robots of its world, this one the first of them."""

    def _equip_arm(self, physics: ArmBody, number: int = 0, prefix: str = "") -> None:
        """Make the controllers of arm and gripper; `number` and `prefix` say which robot of its world it is."""
        self._arm_body, self._number, self._prefix = physics, number, prefix
        self._planning_model = planning_model(physics.arm, self._planning_spec(), number=number)
        self._allowed: frozenset[frozenset[str]] = frozenset()
        self._octomap = Octomap()
        self._pictures: dict[str, _Picture] = {}
        self._mapped: dict[str, _Picture] = {}
        self.set_scene_objects(SceneObjects())
        self._calibration: Calibration = exact(len(physics.arm.joints))
        self._gripper = GripperDriver(physics, lambda: frames.measured_fingers(physics, self._calibration))
        self._arm = ArmDriver(physics)
        self._efforts_read = (-1.0, 0)
        """World time, and how many readings of the efforts there were at it."""

    @abstractmethod
    def _planning_spec(self) -> mujoco.MjSpec:
        """Return a specification of the world whose joints are those of the physics."""

    # --- the robot ----------------------------------------------------------------------------------
    @property
    def arm(self) -> ArmModel:
        """Names, limits and kinematics of the arm."""
        return self._arm_body.arm

    @property
    def hand(self) -> GripperModel:
        """Names and positions of the gripper."""
        return self._arm_body.hand

    @property
    @abstractmethod
    def seed(self) -> int:
        """Seed of the episode."""

    @abstractmethod
    def reset(self, world: str | None = None, seed: int = 0, scenario: str | None = None) -> None:
        """Begin a new episode; `world` None: the present one again. Raises UnknownNameError."""

    # --- time ---------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        """World time [s]; starts at 0 after each reset."""
        return self._arm_body.time

    @property
    def busy(self) -> bool:
        """True while a goal of any channel of this robot runs."""
        return any(g is not None and not g.done for g in self._goals())

    def _goals(self) -> list[Goal | None]:
        return [self._arm.goal, self._gripper.goal]

    @abstractmethod
    def step(self, duration_s: float) -> None:
        """Advance physics and the controllers of running goals by about `duration_s` [s], in ticks of 10 ms."""

    # --- goals: returned at once, advanced by step() -------------------------------------------------
    def execute_trajectory(self, joint_names: list[str], points: list[tuple[float, list[float]]]) -> Goal:
        """Follow joint positions [rad] at times [s]; ends with a MoveItCode.

        Feedback: time_from_start, duration, desired, actual, error (lists by arm joint).

        Raises:
            InvalidCommandError: joints or times make no sense.
        """
        trajectory = from_points(self.arm, list(joint_names), [(float(t), list(q)) for t, q in points])
        running = self._arm.goal
        if running is not None and not running.done:
            running.finish("ABORTED", self.time, MoveItCode.PREEMPTED, "preempted by a newer goal")
        goal = Goal("arm", "execute_trajectory", started_at=self.time)
        self._arm.start(trajectory, goal)
        return goal

    def gripper_command(self, position: float, max_effort: float) -> Goal:
        """Move the fingers to a position of the gripper's joint with at most `max_effort` [N].

        Feedback and result: position, effort, stalled, reached_goal, width.

        Raises:
            InvalidCommandError: the position is out of range.
        """
        goal = Goal("gripper", "gripper_command", started_at=self.time)
        running = self._gripper.goal
        self._gripper.start(position, max_effort, goal)
        if running is not None and not running.done:
            running.finish("ABORTED", self.time, 0, "preempted by a newer goal")
        return goal

    def hold_arm(self) -> None:
        """End the arm's goal as CANCELED and hold the arm where it is."""
        if self._arm.goal is not None:
            self._arm.goal.finish("CANCELED", self.time, MoveItCode.PREEMPTED, "stopped by the robot guard")
        self._arm.hold()

    @abstractmethod
    def halt_base(self) -> None:
        """End the base's goal as CANCELED and brake, where there is a base that drives."""

    @abstractmethod
    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """Drive by a velocity in the base frame [m/s, rad/s], where there is a base that drives."""

    def halt(self) -> None:
        """Hold the arm and halt the base; the gripper is left alone."""
        self.hold_arm()
        self.halt_base()

    @property
    def at_standstill(self) -> bool:
        """True when the robot is measured to be at rest."""
        return float(np.abs(self._arm_body.arm_velocities()).max()) < STILL

    # --- planning ---------------------------------------------------------------------------------
    def snapshot(self, *, look: bool = True) -> Scene:
        """A Scene: an own copy of what planning needs, for use in another thread.

        To be called in the thread that renders: the planner's octomap takes the pictures of this moment first. Without
        a `look` it has what it had, which is enough for kinematics.
        """
        for camera in CAMERAS if look else ():
            self.render(camera)
            self._map(camera)
        allowed = self._allowed | self._scene_objects.may_touch
        octree = Octree(self._octomap.voxels(), self._world_in_fixed(self.frame_tree()), allowed)
        return Scene(
            self.arm,
            self._scene_model,
            self._believed(),
            octree=octree,
            points=self._moving_points,
            seed=self.seed,
            prefix=self._prefix,
        )

    def watch(self) -> None:
        """Let the octomap take a picture of the front camera, if its last one is OCTOMAP_PERIOD_S old."""
        last = self._mapped.get("front")
        if last is None or self.time - last.time >= OCTOMAP_PERIOD_S:
            self.render("front")
            self._map("front")

    def believed_joints(self) -> np.ndarray:
        """Return the arm's joints where its encoders have them, without noise [rad], shape (J,)."""
        return self._arm_body.arm_positions() + self._calibration.joints

    def _believed(self) -> np.ndarray:
        """Return qpos with the arm where its encoders have it."""
        positions = self._arm_body.data.qpos.copy()
        positions[self._arm_body.arm_qpos] = self.believed_joints()
        return positions

    def _map(self, camera: str) -> None:
        """Enter the last picture of a camera into the octomap, unless it is there already."""
        picture = self._pictures[camera]
        if self._mapped.get(camera) is picture:
            return
        self._mapped[camera] = picture
        tree, info = self.frame_tree(), self.camera_info(camera)
        self._octomap.centre_on(tree.between(FIXED_FRAME, self.arm.base)[:3, 3])
        self._own_shape.load(self._believed())
        body, to_fixed = self._own_points.at(self._own_shape.moved()).reshape(-1, 3), self._world_in_fixed(tree)
        # The robot takes it for a picture of the moment of its stamp, and a base that drives is elsewhere by then.
        late = self._base_moves(self.times_of(camera).depth)
        base = tree.between(FIXED_FRAME, self.arm.base)
        view = DepthView(picture.depth, info["fx"], base @ late @ tree.between(self.arm.base, info["frame"]))
        self._octomap.integrate(view, body @ to_fixed[:3, :3].T + to_fixed[:3, 3])

    def _world_in_fixed(self, tree: FrameTree) -> np.ndarray:
        """Return what transforms points of the world into FIXED_FRAME, as the robot knows where it is there, 4x4."""
        return tree.between(FIXED_FRAME, self.arm.base) @ np.linalg.inv(self.base_in_world())

    def frame_tree(self) -> FrameTree:
        """Return all frames of /tf and /tf_static as of now."""
        return FrameTree([*self.static_transforms(), *self.transforms()])

    @property
    def allowed_contacts(self) -> frozenset[frozenset[str]]:
        """Pairs of links, objects and OCTOMAP that may be in contact: the allowed collision matrix."""
        return self._allowed

    def allow_contacts(self, pairs: frozenset[frozenset[str]]) -> None:
        """From now on these pairs may be in contact, and no others."""
        self._allowed = pairs

    @property
    def scene_objects(self) -> SceneObjects:
        """What clients added to the planning scene."""
        return self._scene_objects

    def set_scene_objects(self, objects: SceneObjects) -> None:
        """From now on planning keeps clear of these; driving and physics know nothing of them."""
        self._scene_objects = objects
        self._scene_model = self._planning_model
        if len(objects):
            self._scene_model = planning_model(self.arm, self._planning_spec(), objects, self._number)
        self._own_points = own_points(self._scene_model)
        self._moving_points = own_points(self._scene_model, moving=True)
        self._own_shape = CollisionWorld(self.arm, self._scene_model, prefix=self._prefix)
        # What is attached is no obstacle any more where the last pictures show it.
        self._mapped.clear()

    def _base_moves(self, time: float) -> np.ndarray:
        """Return the base's frame after a short time [s] in its present one, 4x4."""
        return planar(after((0.0, 0.0, 0.0), self.base_twist(), time))

    @abstractmethod
    def base_twist(self) -> Pose:
        """Return the true twist of the base in its own frame [m/s, m/s, rad/s]."""

    @abstractmethod
    def base_in_world(self) -> np.ndarray:
        """Return the arm's base frame in the world, 4x4: what planning reckons with."""

    def clear_octomap(self) -> None:
        """Forget what was seen until it is seen again."""
        self._octomap.clear()
        self._mapped.clear()

    def _forget_pictures(self) -> None:
        """Forget all that was seen."""
        self.clear_octomap()
        self._pictures.clear()

    def _forget_surroundings(self) -> None:
        """Begin an episode: nothing was seen or added."""
        self._forget_pictures()
        self._allowed = frozenset()
        self.set_scene_objects(SceneObjects())

    # --- sensors ----------------------------------------------------------------------------------
    def render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """Render the camera front, arm or overhead. To be called in the thread that made the first call.

        Returns:
            Colour, uint8 HxWx3, and depth, float32 HxW [m], 0 where nothing returns. Read only.
        """
        if camera not in CAMERAS:
            return self._render(camera)
        # A world in which nothing has moved looks as it did.
        key = (self.time, self._arm_body.data.qpos.tobytes())
        known = self._pictures.get(camera)
        if known is None or known.key != key:
            rgb, depth = self._render(camera)
            for array in (rgb, depth):
                array.setflags(write=False)
            known = self._pictures[camera] = _Picture(key, self.time, rgb, depth)
            mapped = self._mapped.get(camera)
            if mapped is None or self.time - mapped.time >= OCTOMAP_PERIOD_S:
                self._map(camera)
        return known.rgb, known.depth

    @abstractmethod
    def _render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """Render a camera, as `render` does."""

    @property
    @abstractmethod
    def jpeg_quality(self) -> int:
        """Of pictures on the compressed topics, 1 to 95."""

    @abstractmethod
    def times_of(self, sensor: str) -> Times:
        """Return the times of what the camera front or arm shows now, as of a robot that moves."""

    def camera_info(self, camera: str) -> dict[str, Any]:
        """Return width, height, fx, fy, cx, cy [pixels] and frame of a camera."""
        return frames.camera_info(self._arm_body, camera)

    @abstractmethod
    def odometry(self) -> dict[str, Any]:
        """Return pose (x, y, yaw) in odom and twist (vx, vy, wz) in the base frame."""

    @abstractmethod
    def transforms(self) -> list[frames.Transform]:
        """(parent, child, translation, quaternion xyzw) of all moving frames, map -> odom included."""

    @abstractmethod
    def static_transforms(self) -> list[frames.Transform]:
        """Return (parent, child, translation, quaternion xyzw) of all fixed frames."""

    def joint_states(self) -> dict[str, list[Any]]:
        """Return name, position, velocity, effort of the arm's joints and the gripper's."""
        at, number = self._efforts_read
        number = number + 1 if at == self.time else 0
        self._efforts_read = self.time, number
        return frames.joint_states(self._arm_body, self._calibration, number)

    @property
    def gripper_target(self) -> float:
        """Position that the gripper's joint was last told to go to."""
        return self._gripper.command

    def gripper_state(self) -> dict[str, float]:
        """Return width and wanted width [m], effort [N], position and command of its joint, moving (0 or 1)."""
        return frames.gripper_state(self._arm_body, self._gripper.command, self.seed, self._calibration)

    # --- scoring only -------------------------------------------------------------------------------
    @abstractmethod
    def truth(self) -> dict[str, Any]:
        """True poses and what is held. For scoring, never for a robot."""

    @abstractmethod
    def place_object(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        """Put an object at (x, y) in map, standing on height z. Raises UnknownNameError."""

    @abstractmethod
    def put_in_gripper(self, name: str) -> None:
        """Close the gripper around an object. Raises UnknownNameError."""

    @abstractmethod
    def close(self) -> None:
        """Free the renderer."""
