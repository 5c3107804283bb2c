"""The site file that fits a world: areas, surfaces, containers, catalogue of objects."""

from __future__ import annotations

from typing import Any

import yaml

from quartet_simulation.worlds.objects import ObjectKind
from quartet_simulation.worlds.world import Pose2, Rect, World

MEASURED = 0.02
"""How far sizes may be off that were measured with a ruler: here they are those of the simulated things."""
HEADER = "# Derived from world.yaml; edit it as you like. Lengths in metres, map frame.\n"


def site_text(world: World) -> str:
    """Return site.yaml for a world."""
    content = describe_world(world)
    if world.parking:
        content["parking"] = [_pose(pose) for pose in world.parking]
    return dump_site(content, HEADER)


def dump_site(content: dict[str, Any], header: str) -> str:
    """Return the text of a site file with this content, below a header."""
    return header + yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=118, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Short lists and poses in one line each."""

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        short = not any(isinstance(item, dict) for item in sequence)
        return super().represent_sequence(tag, sequence, flow_style=short)

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> yaml.MappingNode:
        keys = set(mapping)
        short = keys <= {"x", "y", "yaw"} or "offset_m" in keys
        return super().represent_mapping(tag, mapping, flow_style=short)


def describe_world(world: World) -> dict[str, Any]:
    """Return the content of site.yaml; colours of furniture are its paint's as cameras see it in full light."""
    return {
        "name": world.name,
        "description": world.description,
        "areas": [
            {
                "name": area.name,
                "aliases": list(area.aliases),
                "entry": _pose(area.entry),
                "outline": [list(corner) for corner in area.outline],
                "landmarks": list(area.landmarks),
            }
            for area in world.areas
        ],
        "surfaces": [_place(s, "surface", s.height) for s in world.surfaces],
        "containers": [_place(c, "container", c.rim) for c in world.containers],
        "objects": [_object(world.kinds[name]) for name in world.homes],
    }


def extent(kind: ObjectKind) -> tuple[float, float, float]:
    """Outer size of an object with all its parts [m]."""
    if kind.shape == "irregular":
        return kind.size
    low = [-s / 2 for s in kind.size]
    high = [s / 2 for s in kind.size]
    for part in kind.parts:
        for axis in range(3):
            low[axis] = min(low[axis], part.offset[axis] - part.half[axis])
            high[axis] = max(high[axis], part.offset[axis] + part.half[axis])
    x, y, z = (round(b - a, 3) for a, b in zip(low, high, strict=True))
    return x, y, z


def _pose(pose: Pose2) -> dict[str, float]:
    return {"x": pose[0], "y": pose[1], "yaw": round(pose[2], 4)}


def _size(rect: Rect, height: float) -> list[float]:
    return [round(rect[2] - rect[0], 3), round(rect[3] - rect[1], 3), height]


def _place(thing: Any, shape: str, height: float) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": thing.name,
        "aliases": list(thing.aliases),
        "area": thing.area,
        "appearance": {
            "colours": list(thing.colours),
            "shape": shape,
            "size_m": _size(thing.rect, height),
        },
    }
    if thing.approach is not None:
        result["approach"] = _pose(thing.approach)
    return result


def _object(kind: ObjectKind) -> dict[str, Any]:
    return {
        "name": kind.name,
        "aliases": list(kind.aliases),
        "appearance": {
            "colours": list(kind.colours),
            "shape": kind.shape,
            "size_m": list(extent(kind)),
            "size_error": MEASURED,
            "parts": _parts(kind),
        },
        "mass_kg": kind.mass,
    }


def _parts(kind: ObjectKind) -> list[dict[str, Any]]:
    """The pieces of an object that is more than a body with a painted lid; sizes and offsets of the undersides [m]."""
    if kind.shape == "irregular" or not any(part.solid for part in kind.parts):
        return []
    pieces: list[dict[str, Any]] = [{"shape": kind.shape, "size_m": list(kind.size), "offset_m": [0.0, 0.0, 0.0]}]
    for part in kind.parts:
        x, y, z = part.offset
        below = kind.half_height + z - part.half[2]
        piece: dict[str, Any] = {
            "shape": part.shape,
            "size_m": [round(2 * h, 4) for h in part.half],
            "offset_m": [round(x, 4), round(y, 4), round(below, 4)],
        }
        if part.rgb != kind.rgb:
            piece["colours"] = ["#" + "".join(f"{round(255 * c):02x}" for c in part.rgb)]
        pieces.append(piece)
    return pieces
