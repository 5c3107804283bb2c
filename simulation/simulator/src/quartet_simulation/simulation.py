"""The simulated world and robot: everything physical behind one object.

One thread owns a Simulation and calls all its methods; a Scene (snapshot) may be used by any other thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quartet_simulation.goal import Goal


class Simulation:
    """A world with a robot in it.

    Units: m, rad, s, N. Frames: map, odom, base_footprint, arm_base, arm_tool0, gripper_tip,
    front_camera_color_optical_frame, arm_camera_color_optical_frame, laser. Quaternions are x, y, z, w.
    Raises UnknownName for an unknown world.
    """

    def __init__(self, world: str = "home", seed: int = 0, *, scenario: str | None = None) -> None:
        raise NotImplementedError

    @property
    def time(self) -> float:
        """World time [s]; starts at 0 after each reset."""
        raise NotImplementedError

    @property
    def busy(self) -> bool:
        """True while a goal of any channel runs."""
        raise NotImplementedError

    def step(self, duration_s: float) -> None:
        """Advance physics and the controllers of running goals by about `duration_s` (a multiple of 2 ms)."""
        raise NotImplementedError

    # --- goals: returned at once, advanced by step() -------------------------------------------------
    def navigate_to_pose(self, x: float, y: float, yaw: float) -> Goal:
        """Drive to a pose in `map`. feedback: distance_remaining, navigation_time, estimated_time_remaining,
        number_of_recoveries, current_pose (x, y, yaw)."""
        raise NotImplementedError

    def spin(self, target_yaw: float, time_allowance: float = 60.0) -> Goal:
        """Turn on the spot by `target_yaw` (relative). feedback: angular_distance_traveled."""
        raise NotImplementedError

    def drive_on_heading(self, distance: float, speed: float, time_allowance: float = 60.0) -> Goal:
        """Drive forward. feedback: distance_traveled."""
        raise NotImplementedError

    def backup(self, distance: float, speed: float, time_allowance: float = 60.0) -> Goal:
        """Drive backward by `distance` (positive). feedback: distance_traveled."""
        raise NotImplementedError

    def execute_trajectory(self, joint_names: list[str], points: list[tuple[float, list[float]]]) -> Goal:
        """Follow joint positions at times [s]; MoveIt codes (1 success, -2, -4, -7).
        feedback: time_from_start, desired, actual, error (lists by arm joint)."""
        raise NotImplementedError

    def gripper_command(self, position: float, max_effort: float) -> Goal:
        """0.0 open .. 0.7 closed. feedback and result: position, effort, stalled, reached_goal, width."""
        raise NotImplementedError

    def command_velocity(self, vx: float, vy: float, wz: float) -> None:
        """/cmd_vel in base_footprint; stale after 0.5 s of world time; ignored while a base goal runs."""
        raise NotImplementedError

    def halt(self) -> None:
        """Guard stop: every goal is CANCELED at once, the arm holds where it is, the base brakes, the gripper
        keeps its command."""
        raise NotImplementedError

    @property
    def at_standstill(self) -> bool:
        """True when base and arm are measured to be at rest."""
        raise NotImplementedError

    # --- planning ---------------------------------------------------------------------------------
    def snapshot(self) -> Any:
        """A Scene: an immutable copy of what planning needs (see scene.py for its methods)."""
        raise NotImplementedError

    def clear_octomap(self) -> None:
        """Forget movable obstacles of the planning scene until they are seen again (5 s of world time)."""
        raise NotImplementedError

    def clear_costmaps(self) -> None:
        """Forget marked obstacles of the costmaps; what the sensors see is marked again."""
        raise NotImplementedError

    # --- sensors ----------------------------------------------------------------------------------
    def render(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        """(rgb uint8 HxWx3, depth float32 m HxW, 0 where there is no return) of front, arm or overhead."""
        raise NotImplementedError

    def camera_info(self, camera: str) -> dict[str, Any]:
        """width, height, fx, fy, cx, cy, frame."""
        raise NotImplementedError

    def scan(self) -> dict[str, Any]:
        """angle_min, angle_max, angle_increment, range_min, range_max, ranges (float32), frame."""
        raise NotImplementedError

    def odometry(self) -> dict[str, Any]:
        """pose (x, y, yaw) in odom and twist (vx, vy, wz) in base_footprint, with drift."""
        raise NotImplementedError

    def transforms(self) -> list[tuple[str, str, list[float], list[float]]]:
        """(parent, child, translation, quaternion xyzw) of all moving frames, map -> odom included (noisy)."""
        raise NotImplementedError

    def static_transforms(self) -> list[tuple[str, str, list[float], list[float]]]:
        raise NotImplementedError

    def joint_states(self) -> dict[str, list[Any]]:
        """name, position, velocity, effort: six arm joints and robotiq finger_joint (0.0 open .. 0.7)."""
        raise NotImplementedError

    def gripper_state(self) -> dict[str, float]:
        """width [m], effort [N], position and command (0.0 .. 0.7), moving (0 or 1)."""
        raise NotImplementedError

    def occupancy_grid(self) -> dict[str, Any]:
        """The static map: resolution, origin (x, y), data int8 HxW (0 free, 100 occupied), row 0 at origin y."""
        raise NotImplementedError

    # --- scoring only -------------------------------------------------------------------------------
    def truth(self) -> dict[str, Any]:
        raise NotImplementedError

    def reset(self, world: str | None = None, seed: int = 0, scenario: str | None = None) -> None:
        raise NotImplementedError

    def place_object(self, name: str, x: float, y: float, z: float, yaw: float = 0.0) -> None:
        raise NotImplementedError

    def put_in_gripper(self, name: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Free renderers."""
        raise NotImplementedError
