"""Whether a robot can do jobs in a world: it gets everywhere, and every thing finds a place where it can be fetched."""

from __future__ import annotations

import math

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
from quartet_simulation.worlds.world import ContainerInfo, Pose2, SurfaceInfo

SEEDS = (0, 1, 2)
"""Episodes whose layouts are tried."""
ON_FLOOR_M = 0.05
"""Radius of what may lie in a floor zone, wherever its middle is there."""


def unsolvable(world: str, seeds: tuple[int, ...] = SEEDS, build: RobotBuild = SUMMIT) -> list[str]:
    """Return what a robot cannot do in a world, by name or path; nothing for a world in which jobs can be done.

    Every entry and every approach must be reached from the first start, as the planner of the simulated robot plans
    and with room to turn, and every entry also past what may lie in a floor zone; from entry or approach the straight
    drive up to each surface and container must be free; and the things of each seed must find places that can be seen
    and fetched from their area's entry.
    """
    found: list[str] = []
    try:
        sim = Simulation(world, seeds[0], sensors="clean", builds=[build])
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
        found += _unreached(sim) or _barred_by_floor_zones(sim)
        found += _not_driven_up_to(sim)
    finally:
        sim.close()
    return found


def _entries(sim: Simulation) -> list[tuple[str, Pose2]]:
    return [(f"the entry of '{area.name}'", area.entry) for area in sim.world.areas]


def _approaches(sim: Simulation) -> list[tuple[str, Pose2]]:
    return [(f"the approach of '{one.name}'", one.approach) for one in _places(sim) if one.approach is not None]


def _not_planned(sim: Simulation, what: str, pose: Pose2) -> str:
    """Return why no path leads to a pose from the first start; "" when one does."""
    start = sim.world.area(sim.world.start_areas[0])
    assert start is not None
    code, text, _ = sim.compute_path(pose, start.entry)
    where = f"{what} at ({pose[0]}, {pose[1]}) is not reached from '{start.name}'"
    return "" if code == NavCode.NONE else f"{where}: {text}"


def _barred_by_floor_zones(sim: Simulation) -> list[str]:
    """Return which areas are not reached when something lies in a floor zone."""
    found: list[str] = []
    for zone, (_, (x0, y0, x1, y1)) in sim.world.floor_zones.items():
        radius = math.dist((x0, y0), (x1, y1)) / 2 + ON_FLOOR_M
        sim._costmap.mark({zone: ((x0 + x1) / 2, (y0 + y1) / 2, radius)})
        barred = (_not_planned(sim, what, pose) for what, pose in _entries(sim))
        found += [f"with something in the floor zone '{zone}', {text}" for text in barred if text]
        sim._costmap.unmark({zone})
    return found


def _unreached(sim: Simulation) -> list[str]:
    found: list[str] = []
    sim._base_checks.load(sim._physics.data.qpos)
    sim._base_checks.attach(None)
    for what, pose in (*_entries(sim), *_approaches(sim)):
        if barred := _not_planned(sim, what, pose):
            found.append(barred)
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
