"""Geofence: allowed areas and zones of the map for the base, and forbidden zones."""

import math
from collections.abc import Iterable

from quartet_site import Geofence, SiteFile, Zone, distance_to_edge, inside
from quartet_tool_server.errors import OutsideGeofenceError

STEP_M = 0.05
"""Distance between two points of a straight way that are checked."""


class GeofenceCheck:
    """The geofence of a policy over the areas of a site; map frame, metres."""

    def __init__(self, rules: Geofence, site: SiteFile) -> None:
        self._rules = rules
        chosen = [area for area in site.areas if rules.areas == "all" or area.name in rules.areas]
        self._allowed: list[tuple[str, list[tuple[float, float]]]] = []
        if rules.areas != "any place":
            self._allowed = [(area.name, area.outline) for area in chosen]
            self._allowed += [(zone.name, zone.outline) for zone in rules.zones]

    @property
    def bounded(self) -> bool:
        """Whether there is any place where the base may not be sent."""
        return self._rules.bounded

    def problem(self, x: float, y: float) -> str | None:
        """Return why the base may not stand at a point (map frame, m); None when it may."""
        if zone := self._forbidden(x, y):
            margin = f", {self._rules.margin_m:g} m around it included" if self._rules.margin_m else ""
            return f"is in the forbidden zone '{zone.name}' (policy rule geofence.forbidden{margin})"
        if self._allowed and not any(inside(outline, x, y) for _, outline in self._allowed):
            names = ", ".join(name for name, _ in self._allowed)
            return f"is outside the geofence (policy rule geofence.areas; allowed: {names})"
        return None

    def check(self, x: float, y: float, what: str) -> None:
        """Raises OutsideGeofenceError when the base may not be sent to a point."""
        if not (math.isfinite(x) and math.isfinite(y)):
            raise OutsideGeofenceError(f"{what} ({x}, {y}) is no point of the map. Nothing moved.")
        if problem := self.problem(x, y):
            raise OutsideGeofenceError(f"{what} ({x:.2f}, {y:.2f}) in the map {problem}. Nothing moved.")

    def check_way(self, start: tuple[float, float], end: tuple[float, float], what: str) -> None:
        """Check a straight way: its end must be allowed, and it must not leave what it has entered.

        A robot that stands outside may so be driven back in, and not through a forbidden zone once it is out of it.
        Raises OutsideGeofenceError.
        """
        self.check(*end, what)
        within = False
        for x, y in _points(start, end):
            problem = self.problem(x, y)
            if problem is None:
                within = True
            elif within:
                raise OutsideGeofenceError(
                    f"{what} ({end[0]:.2f}, {end[1]:.2f}): the way there passes ({x:.2f}, {y:.2f}), which {problem}. "
                    "Nothing moved."
                )

    def check_around(self, x: float, y: float, reach: float, what: str) -> None:
        """Everything within `reach` [m] of a point must be allowed. Raises OutsideGeofenceError."""
        self.check(x, y, f"{what}: the robot's place")
        for zone in self._rules.forbidden:
            if distance_to_edge(zone.outline, x, y) <= reach + self._rules.margin_m:
                raise OutsideGeofenceError(
                    f"{what} may take the base {reach:.2f} m from ({x:.2f}, {y:.2f}), into the forbidden zone "
                    f"'{zone.name}' (policy rule geofence.forbidden). Nothing moved."
                )
        if self._allowed and not self._covered(x, y, reach):
            names = ", ".join(name for name, _ in self._allowed)
            raise OutsideGeofenceError(
                f"{what} may take the base {reach:.2f} m from ({x:.2f}, {y:.2f}), out of the geofence (policy rule "
                f"geofence.areas; allowed: {names}). Slower or shorter is valid. Nothing moved."
            )

    def _covered(self, x: float, y: float, reach: float) -> bool:
        """Whether a disc lies in the allowed polygons: in one of them, or its points in any."""
        holding = [outline for _, outline in self._allowed if inside(outline, x, y)]
        if any(distance_to_edge(outline, x, y) > reach for outline in holding):
            return True
        rings = max(1, math.ceil(reach / STEP_M))
        for ring in range(rings, 0, -1):  # from without: most that fail do so at once
            radius = reach * ring / rings
            for number in range(count := max(8, math.ceil(2 * math.pi * radius / STEP_M))):
                angle = 2 * math.pi * number / count
                if self.problem(x + radius * math.cos(angle), y + radius * math.sin(angle)) is not None:
                    return False
        return True

    def _forbidden(self, x: float, y: float) -> Zone | None:
        margin = self._rules.margin_m
        for zone in self._rules.forbidden:
            if inside(zone.outline, x, y) or (margin > 0 and distance_to_edge(zone.outline, x, y) < margin):
                return zone
        return None


def _points(start: tuple[float, float], end: tuple[float, float]) -> Iterable[tuple[float, float]]:
    """Points along a way, both ends included, at most STEP_M apart."""
    count = max(1, math.ceil(math.dist(start, end) / STEP_M))
    for number in range(count + 1):
        t = number / count
        yield start[0] + t * (end[0] - start[0]), start[1] + t * (end[1] - start[1])
