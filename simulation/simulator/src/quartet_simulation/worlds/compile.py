"""From a world to a MuJoCo model: the physical one, and a plain one for planning."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco

from quartet_simulation.mobile.build import SUMMIT, RobotBuild
from quartet_simulation.mobile.model import add_robots
from quartet_simulation.names import number_of
from quartet_simulation.robot.parts import GROUP as ROBOT_GROUP
from quartet_simulation.solver import new_scene
from quartet_simulation.worlds.objects import add_object
from quartet_simulation.worlds.paint import add_materials
from quartet_simulation.worlds.person import add_person
from quartet_simulation.worlds.world import World

PARKING = (60.0, 60.0)
"""Where objects stand that are not part of the episode: far outside every view."""


def parking_of(index: int) -> tuple[float, float]:
    """Return where an object waits outside the world while it is absent (x, y) [m]."""
    return PARKING[0] + 0.5 * (index % 6), PARKING[1] + 0.5 * (index // 6)


def make_spec(world: World, *, textures: bool = True, builds: Sequence[RobotBuild] = (SUMMIT,)) -> mujoco.MjSpec:
    """The world with a robot of each build, and all its objects."""
    spec = new_scene(world.name)
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    spec.option.enableflags |= int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    visual = spec.visual
    visual.quality.offsamples = 0
    visual.quality.shadowsize = 2048
    visual.map.shadowclip, visual.map.shadowscale = 4.0, 0.9
    visual.map.znear, visual.map.zfar = 0.01, 30.0
    visual.headlight.ambient, visual.headlight.diffuse = [world.ambient] * 3, [world.camera_light] * 3
    visual.headlight.specular = [0.0] * 3
    spec.stat.extent, spec.stat.center = 3.0, [0, 0, 1]
    add_materials(spec, world.materials, textures=textures)
    x0, y0, x1, y1 = world.bounds
    for number, light in enumerate(world.lights):
        parallel = light.at is None
        spec.worldbody.add_light(
            name="lamp" if number == 0 else f"lamp {number + 1}",
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL if parallel else mujoco.mjtLightType.mjLIGHT_SPOT,
            pos=((x0 + x1) / 2, (y0 + y1) / 2, 6) if light.at is None else light.at,
            dir=light.direction,
            cutoff=75,
            exponent=1,
            diffuse=[light.strength] * 3,
            ambient=[0.05] * 3,
            specular=[0.05] * 3,
            castshadow=parallel,
        )
    cx, cy, height = world.overhead
    spec.worldbody.add_camera(name="overhead", pos=(cx, cy, height), quat=(1, 0, 0, 0), fovy=45)
    world.build(spec)
    add_robots(spec, builds)
    for index, name in enumerate(world.objects):
        add_object(spec, world.kinds[name], parking_of(index), textures=textures)
    for person in world.people:
        add_person(spec, person.name)
    for geom in spec.geoms:
        if geom.contype == 0 and geom.conaffinity == 0:
            continue
        if geom.group != ROBOT_GROUP:
            geom.contype, geom.conaffinity = 1, 3
            continue
        # Robot parts touch the world and other robots but not each other: self-collision is the planner's business.
        own = number_of(geom.name)
        geom.contype = 2 << own
        geom.conaffinity = 1 | sum(2 << other for other in range(len(builds)) if other != own)
    return spec
