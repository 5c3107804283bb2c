"""Points and poses on the floor [m, rad]."""

import math

from quartet_contracts.tools import Pose2D

Point = tuple[float, float]


def wrap(angle: float) -> float:
    """Return the same angle [rad] between -pi and pi."""
    return math.atan2(math.sin(angle), math.cos(angle))


def to_map(pose: Pose2D, point: Point) -> Point:
    """Transform a point from the base frame of a robot at `pose` to the map frame."""
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    return pose.x + c * point[0] - s * point[1], pose.y + s * point[0] + c * point[1]


def to_base(pose: Pose2D, point: Point) -> Point:
    """Transform a point from the map frame to the base frame of a robot at `pose`."""
    c, s = math.cos(pose.yaw), math.sin(pose.yaw)
    dx, dy = point[0] - pose.x, point[1] - pose.y
    return c * dx + s * dy, -s * dx + c * dy


def facing(centre: Point, direction: float, distance: float) -> Pose2D:
    """Return the pose at `distance` [m] from `centre` in `direction` [rad], facing it (map frame)."""
    return Pose2D(
        x=centre[0] + distance * math.cos(direction),
        y=centre[1] + distance * math.sin(direction),
        yaw=wrap(direction + math.pi),
    )


def depth_in(outline: list[Point], point: Point) -> float:
    """Return how far a point lies inside of a polygon [m]; 0 outside."""
    if distance_to(outline, point) > 0.0:
        return 0.0
    return min(_to_edge(a, b, point) for a, b in zip(outline, [*outline[1:], outline[0]], strict=True))


def distance_to(outline: list[Point], point: Point) -> float:
    """Return how far a point lies outside of a polygon [m]; 0 inside."""
    edges = list(zip(outline, [*outline[1:], outline[0]], strict=True))
    crossings = sum(
        (y1 > point[1]) != (y2 > point[1]) and point[0] < x1 + (point[1] - y1) * (x2 - x1) / (y2 - y1)
        for (x1, y1), (x2, y2) in edges
    )
    return 0.0 if crossings % 2 else min(_to_edge(a, b, point) for a, b in edges)


def _to_edge(a: Point, b: Point, point: Point) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy
    share = 0.0 if length == 0 else max(0.0, min(1.0, ((point[0] - a[0]) * dx + (point[1] - a[1]) * dy) / length))
    return math.dist(point, (a[0] + share * dx, a[1] + share * dy))
