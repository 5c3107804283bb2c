"""One scene of the perception and grasp suites: the robot before a place, and objects that are put down there."""

import io
import time
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from quartet_perception import Grasp, Intrinsics, View
from quartet_simulation.simulation import Simulation
from quartet_site import RobotFile, SiteFile

Array = NDArray[np.float64]

LIGHTS = ("normal", "dim", "warm", "cool")
PLACES = ("wooden coffee table", "kitchen counter", "dining table", "desk", "dresser", "tv stand", "floor")
PER_EPISODE = 5
BESIDE_M = (0.01, 0.05)
"""Free space beside an object that stands beside another one: from, to [m]."""


class Stage:
    """One scene: the robot before a place, and objects that the scoring interface puts down there."""

    def __init__(self, sim: Simulation, site: SiteFile, robot: RobotFile, seed: int, place: str, light: str) -> None:
        self.sim, self.site, self.robot = sim, site, robot
        self.seed, self.place, self.light = seed, place, light
        self.height = 0.0
        self.put: list[str] = []
        self.hidden: str | None = None
        self.frame_ms = 0.0, 0.0
        """What the last picture took to render: wall and processor time [ms]."""
        self._rng = np.random.default_rng([seed, 77])

    def set_up(self, *, hide: bool) -> None:
        """Drive there and put PER_EPISODE objects down; with `hide`, one behind another one."""
        rect = self._before_place()
        names = self._choose()
        spots = [self.in_base(n)[:2] for n in self.sim.truth()["objects"] if n not in names]
        for name in names:
            spot = self._spot(spots, rect)
            if spot is None:
                break
            self._put(name, spot)
            spots.append(spot)
        if hide and len(self.put) >= 2:
            self._hide(rect)
        self.sim.step(0.3)

    def _before_place(self) -> Any:
        """Begin the episode and drive before the place; return its rectangle on the map, None of the floor."""
        self.sim.reset("home", self.seed, self.light)
        surface = self.sim.world.surface(self.place)
        if surface is not None and surface.approach is not None:
            self.height = surface.height
            self._drive(self.sim.navigate_to_pose(*surface.approach))
            gap = self._gap(surface.rect) - self.robot.approach.standoff_m.surface_place
            if gap > 0.02:
                self._drive(self.sim.drive_on_heading(gap, 0.3))
        return surface.rect if surface else None

    def _drive(self, goal: Any) -> None:
        while goal.status == "RUNNING":
            self.sim.step(0.1)

    def _choose(self) -> list[str]:
        """Return names: a random object, two others of its colour, then any."""
        objects = [o for o in self.site.objects if o.name in self.sim.world.homes]
        first = objects[int(self._rng.integers(len(objects)))]
        same = [o.name for o in objects if set(o.appearance.colours) & set(first.appearance.colours)]
        rest = [o.name for o in objects if o.name not in same]
        chosen = [first.name, *self._rng.permutation([n for n in same if n != first.name])[:2]]
        return [str(n) for n in [*chosen, *self._rng.permutation(rest)]][:PER_EPISODE]

    def set_up_packed(self) -> None:
        """Drive there and put PER_EPISODE objects down as people do: every other one beside one that stands there."""
        rect = self._before_place()
        names = [str(n) for n in self._rng.permutation([o.name for o in self.site.objects if o.name in self._kinds])]
        spots = {n: self.in_base(n)[:2] for n in self.sim.truth()["objects"] if n not in names[:PER_EPISODE]}
        for number, name in enumerate(names[:PER_EPISODE]):
            beside = self.put if number % 2 else []
            if (spot := self._packed_spot(name, spots, beside, rect)) is not None:
                self._put(name, spot)
                spots[name] = spot
        self.sim.step(0.3)

    def _packed_spot(self, name: str, taken: dict[str, Array], beside: list[str], rect: Any) -> Array | None:
        radius = self._kinds[name].radius
        for _ in range(400):
            spot = self._rng.uniform((0.68, -0.28), (0.92, 0.28))
            if beside:
                other = beside[int(self._rng.integers(len(beside)))]
                away = radius + self._kinds[other].radius + self._rng.uniform(*BESIDE_M)
                bearing = self._rng.uniform(-np.pi, np.pi)
                spot = taken[other] + away * np.array([np.cos(bearing), np.sin(bearing)])
            apart = (np.hypot(*(spot - p)) - radius - self._kinds[n].radius for n, p in taken.items())
            if all(gap >= BESIDE_M[0] - 1e-9 for gap in apart) and self._is_on(rect, spot, 0.06):
                return spot
        return None

    def _is_on(self, rect: Any, spot: Array, inside: float) -> bool:
        """Return whether a point [m, base frame] is that far inside a rectangle of the map; None is the floor."""
        x, y = self._to_map(spot)
        return rect is None or (rect[0] + inside < x < rect[2] - inside and rect[1] + inside < y < rect[3] - inside)

    @property
    def _kinds(self) -> dict[str, Any]:
        return {name: kind for name, kind in self.sim.world.kinds.items() if name in self.sim.world.homes}

    def _spot(self, taken: list[Array], rect: Any) -> Array | None:
        """Return a free point in front of the robot [m, base frame]."""
        for _ in range(200):
            spot = self._rng.uniform((0.62, -0.32), (0.98, 0.32))
            if any(np.hypot(*(spot - other)) < 0.17 for other in taken):
                continue
            if self._is_on(rect, spot, 0.08):
                return spot
        return None

    def _put(self, name: str, spot: Array) -> None:
        x, y = self._to_map(spot)
        self.sim.place_object(name, x, y, self.height, float(self._rng.uniform(-np.pi, np.pi)))
        self.put.append(name)

    def _hide(self, rect: Any) -> None:
        """Move the second object right before the first one, as the camera sees it."""
        view = self.view()
        back = self.in_base(self.put[0])[:2]
        aim = view.origin[:2] - back
        for gap in (0.10, 0.12, 0.14):
            spot = back + aim / np.linalg.norm(aim) * gap
            x, y = self._to_map(spot)
            others = [self.in_base(n)[:2] for n in self.put if n != self.put[1]]
            if self._is_on(rect, spot, 0.06) and all(np.hypot(*(spot - o)) > 0.095 for o in others):
                self.sim.place_object(self.put[1], x, y, self.height, 0.0)
                self.hidden = self.put[0]
                return

    def _gap(self, rect: Any) -> float:
        """Return the distance from the base to a rectangle straight ahead [m]."""
        for ahead in np.arange(0.2, 4.0, 0.01):
            x, y = self._to_map(np.array([ahead, 0.0]))
            if rect[0] <= x <= rect[2] and rect[1] <= y <= rect[3]:
                return float(ahead)
        return 0.0

    def _to_map(self, point: Array) -> tuple[float, float]:
        x, y, yaw = self.sim.truth()["robot"]["pose"]
        c, s = np.cos(yaw), np.sin(yaw)
        return float(x + c * point[0] - s * point[1]), float(y + s * point[0] + c * point[1])

    def in_base(self, name: str) -> Array:
        """Return the true position of an object's middle [m, base frame], shape (3,)."""
        truth = self.sim.truth()
        x, y, yaw = truth["robot"]["pose"]
        px, py, pz = truth["objects"][name]["position"]
        c, s = np.cos(yaw), np.sin(yaw)
        return np.array([c * (px - x) + s * (py - y), c * (py - y) - s * (px - x), pz])

    def yaw_in_base(self, name: str) -> float:
        """Return the true yaw of an object that stands upright [rad, base frame]."""
        truth = self.sim.truth()
        x, y, z, w = truth["objects"][name]["quaternion"]
        return float(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) - truth["robot"]["pose"][2])

    def width_of(self, name: str, turned: float) -> float | None:
        """Return the true extent of a standing object along a direction [m]; None for one of no simple shape.

        turned: the direction in the object's own frame [rad].
        """
        kind = self.sim.world.kinds[name]
        if kind.parts or kind.shape not in ("box", "cylinder", "sphere"):
            return None
        x, y, _ = kind.size
        return float(x if kind.shape != "box" else abs(np.cos(turned)) * x + abs(np.sin(turned)) * y)

    def hand_at(self, grasp: Grasp) -> Array:
        """Return where the tool flange truly comes when it is sent to a grasp [4x4, base frame].

        It goes by its measured joints. Out of the arm's reach it is where it was sent.
        """
        joints = self.joints_at(grasp)
        if joints is None:
            return _matrix((grasp.x, grasp.y, grasp.z), grasp.quaternion)
        return self.sim.snapshot().fk(joints)

    def joints_at(self, grasp: Grasp, above: float = 0.0) -> Array | None:
        """Return the true joints of the arm when it is sent `above` [m] a grasp [rad]; None out of its reach."""
        scene = self.sim.snapshot()
        sent = _matrix((grasp.x, grasp.y, grasp.z + above), grasp.quaternion)
        joints = scene.ik(sent, avoid_collisions=False)
        return None if joints is None else joints - scene.positions + np.array(self.sim.truth()["robot"]["arm"])

    def view(self, camera: Literal["front", "arm"] = "front") -> View:
        """Return the picture of a camera as a robot sends it, through the JPEG codec."""
        began = time.perf_counter(), time.process_time()
        rgb, depth = self.sim.render(camera)
        self.frame_ms = (time.perf_counter() - began[0]) * 1000, (time.process_time() - began[1]) * 1000
        buffer = io.BytesIO()
        Image.fromarray(rgb).save(buffer, "JPEG", quality=self.sim.jpeg_quality)
        info, frames = self.sim.camera_info(camera), self._frames()
        position_sd, yaw_sd = self.sim.localisation_error()
        return View(
            rgb=np.asarray(Image.open(buffer)),
            depth=depth,
            intrinsics=Intrinsics(info["fx"], info["fy"], info["cx"], info["cy"]),
            base_from_camera=_chain(frames, info["frame"], "base_footprint"),
            camera=camera,
            stamp=self.sim.time,
            map_from_base=_chain(frames, "base_footprint", "map"),
            tool_in_base=_chain(frames, "arm_tool0", "base_footprint"),
            gripper=self.robot.gripper,
            finger_gap_m=self.sim.gripper_state()["width"],
            calibration_error=getattr(self.robot.cameras, camera).calibration_error,
            localisation=np.diag(np.square([position_sd, position_sd, yaw_sd])),
        )

    def wrist_camera(self) -> Array:
        """Return the 4x4 pose of the wrist camera in the frame of the tool flange, as tf has it."""
        return _chain(self._frames(), self.sim.camera_info("arm")["frame"], "arm_tool0")

    def _frames(self) -> dict[str, tuple[str, Array]]:
        every = [*self.sim.transforms(), *self.sim.static_transforms()]
        return {child: (parent, _matrix(t, q)) for parent, child, t, q in every}


def _matrix(translation: Any, quaternion: Any) -> Array:
    x, y, z, w = quaternion
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = translation
    return pose


def _chain(frames: dict[str, tuple[str, Array]], frame: str, root: str) -> Array:
    pose = np.eye(4)
    while frame != root:
        frame, step = frames[frame]
        pose = step @ pose
    return pose
