"""Whether a robot can do jobs in a world: it gets everywhere, and every thing finds a place where it can be fetched."""

from __future__ import annotations

from quartet_simulation.codes import NavCode
from quartet_simulation.errors import SimulationError
from quartet_simulation.mobile.build import SUMMIT, RobotBuild
from quartet_simulation.reachability import (
    CONTAINER_STANDOFF,
    SURFACE_STANDOFF,
    drive_in_is_free,
    spin_is_free,
)
from quartet_simulation.simulation import Simulation
from quartet_simulation.worlds.world import ContainerInfo, SurfaceInfo

SEEDS = (0, 1, 2)
"""Episodes whose layouts are tried."""


def unsolvable(world: str, seeds: tuple[int, ...] = SEEDS, build: RobotBuild = SUMMIT) -> list[str]:
    """Return what a robot cannot do in a world, by name or path; nothing for a world in which jobs can be done.

    Every entry and every approach must be reached from the first start, as the planner of the simulated robot plans
    and with room to turn; from entry or approach the straight drive up to each surface and container must be free; and
    the things of each seed must find places that can be seen and fetched from their area's entry.
    """
    found: list[str] = []
    try:
        sim = Simulation(world, seeds[0], sensors="clean", build=build)
    except SimulationError as error:
        return [str(error)]
    try:
        for seed in seeds:
            try:
                sim.reset(None, seed)
            except SimulationError as error:
                found.append(f"seed {seed}: {error}")
        for name in sim.world.homes:
            sim.place_object(name, 60.0, 60.0, 0.0)
        found += _unreached(sim)
        found += _not_driven_up_to(sim)
    finally:
        sim.close()
    return found


def _unreached(sim: Simulation) -> list[str]:
    world, found = sim.world, []
    start = world.area(world.start_areas[0])
    assert start is not None
    poses = [(f"the entry of '{area.name}'", area.entry) for area in world.areas]
    poses += [(f"the approach of '{one.name}'", one.approach) for one in _places(sim) if one.approach is not None]
    sim._base_checks.load(sim._physics.data.qpos)
    sim._base_checks.attach(None)
    for what, pose in poses:
        code, text, _ = sim.compute_path(pose, start.entry)
        if code != NavCode.NONE:
            found.append(f"{what} at ({pose[0]}, {pose[1]}) is not reached from '{start.name}': {text}")
        elif not spin_is_free(sim._base_checks, pose):
            found.append(f"the robot cannot turn at {what}, ({pose[0]}, {pose[1]})")
    return found


def _not_driven_up_to(sim: Simulation) -> list[str]:
    found: list[str] = []
    checks = sim._base_checks
    checks.load(sim._physics.data.qpos)
    checks.attach(None)
    for one in _places(sim):
        area = sim.world.area(one.area)
        assert area is not None
        standoff = SURFACE_STANDOFF if isinstance(one, SurfaceInfo) else CONTAINER_STANDOFF
        poses = [pose for pose in (one.approach, area.entry) if pose is not None]
        if not any(drive_in_is_free(checks, pose, _target(one, pose), standoff) for pose in poses):
            found.append(f"the straight drive up to '{one.name}' is not free, neither from its approach nor the entry")
    return found


def _places(sim: Simulation) -> tuple[SurfaceInfo | ContainerInfo, ...]:
    return (*sim.world.surfaces, *sim.world.containers)


def _target(one: SurfaceInfo | ContainerInfo, pose: tuple[float, float, float]) -> tuple[float, float]:
    x0, y0, x1, y1 = one.rect
    if isinstance(one, ContainerInfo):
        return (x0 + x1) / 2, (y0 + y1) / 2
    return min(max(pose[0], x0), x1), min(max(pose[1], y0), y1)
