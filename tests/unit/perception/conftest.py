"""Pictures of known geometry: MuJoCo geoms, seen by casting one ray per pixel, with light and noise of our choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy import ndimage

from quartet_perception.catalogue import Catalogue
from quartet_perception.scene.view import Intrinsics, View
from quartet_site import RobotFile, SiteFile, load_robot, load_site

SITES = Path(__file__).parents[3] / "deploy" / "sites"
WIDTH, HEIGHT, FOCAL = 640, 480, 500.0


@dataclass
class Scene:
    """Geoms (name-free) with colours; a floor is always there."""

    geoms: list[tuple[str, Sequence[float], Sequence[float], float, Sequence[float], bool]] = field(
        default_factory=list
    )

    def box(self, centre: Sequence[float], size: Sequence[float], rgb: Sequence[float], yaw: float = 0.0) -> "Scene":
        self.geoms.append(("box", centre, [s / 2 for s in size], yaw, rgb, False))
        return self

    def cylinder(
        self, centre: Sequence[float], diameter: float, height: float, rgb: Sequence[float], *, yaw: float = 0.0,
        lying: bool = False,
    ) -> "Scene":  # fmt: skip
        self.geoms.append(("cylinder", centre, [diameter / 2, height / 2, 0], yaw, rgb, lying))
        return self

    def sphere(self, centre: Sequence[float], diameter: float, rgb: Sequence[float]) -> "Scene":
        self.geoms.append(("sphere", centre, [diameter / 2, 0, 0], 0.0, rgb, False))
        return self

    def table(self, near_x: float, height: float, rgb: Sequence[float] = (0.56, 0.35, 0.18)) -> "Scene":
        """A table of 0.6 x 1.0 m whose near edge is at near_x."""
        return self.box((near_x + 0.3, 0.0, height - 0.02), (0.6, 1.0, 0.04), rgb)

    def view(
        self, *, eye: Sequence[float] = (0.05, 0.24, 1.38), target: Sequence[float] = (0.9, 0.0, 0.4),
        light: Sequence[float] = (1.0, 1.0, 1.0), noise: float = 0.001, seed: int = 0, stride: int = 1,
        camera: str = "front", patches: float = 0.0,
    ) -> View:  # fmt: skip
        """What a camera at `eye` that looks at `target` sees, with depth noise `noise` at 1 m (in patches, pixels)."""
        model, colours = self._model()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        pose = look_at(eye, target)
        w, h, f = WIDTH // stride, HEIGHT // stride, FOCAL / stride
        k = Intrinsics(f, f, (w - 1) / 2, (h - 1) / 2)
        u, v = np.meshgrid((np.arange(w) - k.cx) / f, (np.arange(h) - k.cy) / f)
        rays = np.stack([u.ravel(), v.ravel(), np.ones(u.size)], axis=1) @ pose[:3, :3].T
        length = np.linalg.norm(rays, axis=1)
        ids, dist = np.empty(len(rays), np.int32), np.empty(len(rays))
        normal = np.zeros((len(rays), 3))
        mujoco.mj_multiRay(
            model, data, np.array(eye, float), (rays / length[:, None]).ravel(), None, 1, -1, ids, dist,
            normal.ravel(), len(rays), 20.0,
        )  # fmt: skip
        depth = np.where(ids >= 0, dist / length, 0.0).reshape(h, w)
        rng = np.random.default_rng(seed)
        # Shading from the depth picture itself: lambertian, light from above and behind the camera.
        points = rays.reshape(h, w, 3) * depth[..., None] + np.array(eye)
        across = np.cross(np.gradient(points, axis=1), np.gradient(points, axis=0))
        across /= np.maximum(np.linalg.norm(across, axis=2, keepdims=True), 1e-9)
        shade = 0.55 + 0.45 * np.abs(across @ np.array([-0.35, 0.2, 0.91]))
        rgb = np.where(ids >= 0, 1, 0)[:, None] * colours[ids]
        picture = rgb.reshape(h, w, 3) * shade[..., None] * np.array(light) * 255 + rng.normal(0, 2.5, (h, w, 3))
        off = rng.normal(0, 1, (h, w))
        if patches:
            off = ndimage.gaussian_filter(off, patches)
            off /= off.std()
        noisy = np.round(depth + off * noise * depth**2, 3) * (depth > 0)
        return View(np.clip(picture, 0, 255).astype(np.uint8), noisy.astype(np.float32), k, pose, camera)

    def _model(self) -> tuple[mujoco.MjModel, np.ndarray]:
        spec = mujoco.MjSpec()
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.1])
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 4, 1.2], pos=[3.5, 0, 1.2])
        colours = [(0.70, 0.66, 0.60), (0.86, 0.84, 0.79)]
        kinds = {
            "box": mujoco.mjtGeom.mjGEOM_BOX,
            "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
            "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
        }
        for kind, centre, size, yaw, rgb, lying in self.geoms:
            quat = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
            if lying:
                turned = np.zeros(4)
                mujoco.mju_mulQuat(turned, quat, np.array([np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0]))
                quat = turned
            spec.worldbody.add_geom(type=kinds[kind], size=list(size), pos=list(centre), quat=quat)
            colours.append(tuple(rgb))
        return spec.compile(), np.array(colours)


def look_at(eye: Sequence[float], target: Sequence[float]) -> np.ndarray:
    """Pose of an optical frame at `eye` with its axis through `target` and no roll."""
    z = np.array(target, float) - np.array(eye, float)
    z /= np.linalg.norm(z)
    x = np.cross(z, [0, 0, 1.0])
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    pose[:3, 3] = eye
    return pose


COLOURS = {
    "red": (0.80, 0.05, 0.06),
    "green": (0.20, 0.55, 0.20),
    "blue": (0.07, 0.20, 0.60),
    "yellow": (0.95, 0.75, 0.05),
    "wood": (0.56, 0.35, 0.18),
}

SITE = {
    "name": "test room",
    "areas": [
        {"name": "kitchen", "entry": {"x": 0, "y": 0}, "outline": [[-2, -2], [3.5, -2], [3.5, 2], [-2, 2]]},
    ],
    "surfaces": [
        {
            "name": "wooden table", "aliases": ["table"], "area": "kitchen",
            "appearance": {"colours": ["wood"], "shape": "surface", "size_m": [0.6, 1.0, 0.45]},
        },
        {
            "name": "counter", "area": "kitchen",
            "appearance": {"colours": ["white"], "shape": "surface", "size_m": [0.6, 1.0, 0.9]},
        },
    ],
    "containers": [
        {
            "name": "blue bin", "aliases": ["bin", "trash can"], "area": "kitchen",
            "appearance": {"colours": ["blue"], "shape": "container", "size_m": [0.3, 0.3, 0.3]},
        },
    ],
    "objects": [
        {
            "name": "red coke can", "aliases": ["coke can", "coke", "red can"],
            "appearance": {"colours": ["red"], "shape": "cylinder", "size_m": [0.066, 0.066, 0.118]},
        },
        {
            "name": "red cup", "aliases": ["red mug"],
            "appearance": {"colours": ["red"], "shape": "cylinder", "size_m": [0.078, 0.078, 0.092]},
        },
        {
            "name": "red apple",
            "appearance": {"colours": ["red"], "shape": "sphere", "size_m": [0.074, 0.074, 0.074]},
        },
        {
            "name": "yellow cereal box", "aliases": ["cereal"],
            "appearance": {"colours": ["yellow"], "shape": "box", "size_m": [0.15, 0.06, 0.2]},
        },
        {
            "name": "blue book", "aliases": ["book"],
            "appearance": {"colours": ["blue"], "shape": "box", "size_m": [0.17, 0.11, 0.035]},
        },
        {
            "name": "green toy block", "aliases": ["block"],
            "appearance": {"colours": ["green"], "shape": "box", "size_m": [0.055, 0.055, 0.055]},
        },
    ],
}  # fmt: skip


@pytest.fixture(scope="session")
def site() -> SiteFile:
    return SiteFile.model_validate(SITE)


@pytest.fixture(scope="session")
def catalogue(site: SiteFile) -> Catalogue:
    return Catalogue.of_site(site)


@pytest.fixture(scope="session")
def home_catalogue() -> Catalogue:
    """That of the simulated home."""
    return Catalogue.of_site(load_site(SITES / "home" / "site.yaml"))


@pytest.fixture(scope="session")
def robot() -> RobotFile:
    return load_robot(SITES / "home" / "robot.yaml")


@pytest.fixture(scope="session")
def colours() -> dict[str, tuple[float, float, float]]:
    return COLOURS


@pytest.fixture(scope="session")
def new_scene() -> Callable[[], Scene]:
    return Scene
