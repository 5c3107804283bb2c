"""Whether base and arm stand still, as their own sensors measure it."""

import math
from collections.abc import Sequence

BASE_LINEAR_M_S = 0.02
BASE_ANGULAR_RAD_S = 0.03
JOINT_RAD_S = 0.03
"""Below these speeds a part stands: above the noise of wheel odometry and joint encoders."""
STILL_FOR_S = 0.25
"""How long every part must have been below them."""
FRESH_S = 1.0
"""Older readings count as none."""
POSITION_FRESH_S = 0.2
"""Older positions are not where a moving arm is: commanded to them, it would move."""


class Standstill:
    """Judges readings of odometry and joint states.

    Every time is of a clock that only goes forward [s].

    Args:
        joints: names of the arm's joints. Without any, the base alone decides.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._base: tuple[float, float] | None = None
        """When odometry came last, and when the base moved last."""
        self._arm: dict[str, tuple[float, float]] = {}
        """The same for each joint."""
        self._positions: dict[str, tuple[float, float]] = {}
        """When a joint reported last, and its position [rad]."""

    def positions(self, now: float) -> dict[str, float]:
        """Return the positions of the arm's joints [rad]; empty unless all have just reported."""
        fresh = {name: position for name, (at, position) in self._positions.items() if now - at <= POSITION_FRESH_S}
        return {name: fresh[name] for name in self._joints} if len(fresh) == len(self._joints) else {}

    def odometry(self, linear_m_s: float, angular_rad_s: float, now: float) -> None:
        """Take a reading of the base's speed. NaN counts as motion."""
        still = linear_m_s <= BASE_LINEAR_M_S and abs(angular_rad_s) <= BASE_ANGULAR_RAD_S
        self._base = _reading(self._base, still, now)

    def joints(self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float], now: float) -> None:
        """Take a reading of joints [rad, rad/s]. Where velocities are missing, two positions give the speed."""
        for index, name in enumerate(names):
            if name not in self._joints or index >= len(positions):
                continue
            before = self._positions.get(name)
            if index < len(velocities) and math.isfinite(velocities[index]):
                speed = abs(velocities[index])
            elif before is not None and now > before[0]:
                speed = abs(positions[index] - before[1]) / (now - before[0])
            else:
                speed = math.inf
            if math.isfinite(positions[index]):
                self._positions[name] = (now, positions[index])
            self._arm[name] = _reading(self._arm.get(name), speed <= JOINT_RAD_S, now)

    def verdict(self, now: float, since: float) -> bool | None:
        """Return True once every part has stood for `STILL_FOR_S` after `since`, False while one moves.

        None: base or a joint does not report.
        """
        readings = [self._base, *(self._arm.get(name) for name in self._joints)]
        known = [reading for reading in readings if reading is not None and now - reading[0] <= FRESH_S]
        if any(seen == moved for seen, moved in known):
            return False
        if len(known) < len(readings):
            return None
        return all(seen - max(moved, since) >= STILL_FOR_S for seen, moved in known)


def _reading(before: tuple[float, float] | None, still: bool, now: float) -> tuple[float, float]:
    """Return when a part was seen last and when it moved last; a first reading counts as motion."""
    return (now, before[1] if still and before is not None and now - before[0] <= FRESH_S else now)
