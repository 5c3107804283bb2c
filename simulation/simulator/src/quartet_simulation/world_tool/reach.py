"""What robots can do at the places of a site, and which of its things they cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quartet_simulation.bodies.load import find_body
from quartet_simulation.bodies.resume import resume_of
from quartet_simulation.errors import SimulationError
from quartet_site import Abilities, Container, SiteFile, Surface, load_resume, load_robot

RESUME_FILE = "resume.json"


def abilities_of(file: Path) -> tuple[Abilities, str]:
    """Return the abilities of the robot of a robot.yaml, and what is wrong with the resume next to it, '' if nothing.

    A missing resume is computed, which takes some 5 s. Raises SiteFileError.
    """
    robot, path = load_robot(file), file.parent / RESUME_FILE
    write = f"write it with: quartet resume {file.parent} --format json > {path}"
    if path.is_file():
        resume = load_resume(path)
        if resume.robot_id == robot.name:
            return Abilities(robot, resume), ""
        fault = f"{path} is of '{resume.robot_id}', not of '{robot.name}'; {write}"
    else:
        fault = f"{robot.name} has no {RESUME_FILE}; {write}"
    try:
        return Abilities(robot, resume_of(find_body(str(file), file.parent))), fault
    except SimulationError as error:
        return Abilities(robot), f"{robot.name} has no {RESUME_FILE}, and none can be computed: {error}"


def reach_report(site: SiteFile, robots: Sequence[Abilities]) -> list[str]:
    """Return as lines what each robot can do at each place, and which things it cannot hold."""
    lines = ["Places, with things that the robot can hold:"]
    for place in _places(site):
        acts = {one.robot.name: _acts_at(place, one, site) for one in robots}
        if all(act.endswith(" everything") for each in acts.values() for act in each):
            lines.append(f"  {place.name}: {_names(robots)} can do everything")
            continue
        lines.append(f"  {place.name}")
        lines += [f"    {name} {act}" for name, each in acts.items() for act in each]
    unheld = [[reason for one in robots if (reason := one.no_hold(thing))] for thing in site.objects]
    if any(unheld):
        lines.append("Things that a robot cannot hold:")
        lines += [f"  {'; '.join(reasons)}" for reasons in unheld if reasons]
    else:
        lines.append(f"Each of the {len(site.objects)} things can be held by {_names(robots)}")
    return lines


def unused_places(site: SiteFile, robots: Sequence[Abilities]) -> list[str]:
    """Return the places at which no robot can pick anything up or put it down."""
    found: list[str] = []
    for place in _places(site):
        reasons = [_no_way(place, one, site) or one.no_handle(place) for one in robots]
        if robots and all(reasons):
            found.append(f"no robot can use the '{place.name}': {'; '.join(reasons)}")
    return found


def _places(site: SiteFile) -> tuple[Surface | Container, ...]:
    return (*site.surfaces, *site.containers)


def _names(robots: Sequence[Abilities]) -> str:
    return ", ".join(one.robot.name for one in robots)


def _no_way(place: Surface | Container, one: Abilities, site: SiteFile) -> str:
    return next(one.no_entry(area) for area in site.areas if area.name == place.area)


def _acts_at(place: Surface | Container, one: Abilities, site: SiteFile) -> list[str]:
    """Return what a robot does at a place."""
    if barred := _no_way(place, one, site):
        return [f"does not get there: {barred}"]
    held = [thing for thing in site.objects if not one.no_hold(thing)]
    # Nothing is known about what can be taken out of a container.
    asked = {"picks up": one.no_pick, "puts down": one.no_put}
    if isinstance(place, Container):
        del asked["picks up"]
    acts: list[str] = []
    for verb, reason_of in asked.items():
        reasons = {thing.name: reason for thing in held if (reason := reason_of(place, thing))}
        if reason := reason_of(place) or (next(iter(reasons.values())) if len(reasons) == len(held) > 0 else ""):
            acts.append(f"{verb} nothing: {reason}")
        elif reasons:
            acts.append(f"{verb} all but {', '.join(reasons)}: {next(iter(reasons.values()))}")
        else:
            acts.append(f"{verb} everything")
    return acts
