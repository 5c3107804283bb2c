"""Whether base and arm stand still, from what their own sensors say."""

import math
from collections.abc import Sequence

BASE_LINEAR_M_S = 0.02
BASE_ANGULAR_RAD_S = 0.03
JOINT_RAD_S = 0.03
"""Below these it counts as standing: above the noise of wheel odometry and joint encoders."""
STILL_FOR_S = 0.25
"""How long everything must have been below them."""
FRESH_S = 1.0
"""Older readings say nothing."""
POSITION_FRESH_S = 0.2
"""Older positions are not where a moving arm is: sent back to them, it would move."""


class Standstill:
    """Follows /odom and /joint_states. Times are those of a clock that only goes forward [s].

    joints: the names to watch, the arm's. Without any, the base alone decides.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = tuple(joints)
        self._base: tuple[float, float] | None = None
        """When /odom came last, and when it moved last."""
        self._arm: dict[str, tuple[float, float]] = {}
        self._positions: dict[str, tuple[float, float]] = {}

    def positions(self, now: float) -> dict[str, float]:
        """Where the watched joints are at this moment [rad]; empty unless all of them have just reported."""
        fresh = {name: position for name, (at, position) in self._positions.items() if now - at <= POSITION_FRESH_S}
        return {name: fresh[name] for name in self._joints} if len(fresh) == len(self._joints) else {}

    def odometry(self, linear_m_s: float, angular_rad_s: float, now: float) -> None:
        """A reading of the base's speed. NaN counts as motion."""
        still = linear_m_s <= BASE_LINEAR_M_S and abs(angular_rad_s) <= BASE_ANGULAR_RAD_S
        self._base = _followed(self._base, still, now)

    def joints(self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float], now: float) -> None:
        """A reading of joints. Where a driver gives no velocities, positions of two readings do."""
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
            self._arm[name] = _followed(self._arm.get(name), speed <= JOINT_RAD_S, now)

    def verdict(self, now: float, since: float) -> bool | None:
        """True: everything has stood since `since` or for a while; None: base or a joint does not report."""
        readings = [self._base, *(self._arm.get(name) for name in self._joints)]
        known = [reading for reading in readings if reading is not None and now - reading[0] <= FRESH_S]
        if any(seen == moved for seen, moved in known):
            return False
        if len(known) < len(readings):
            return None
        return all(seen - max(moved, since) >= STILL_FOR_S for seen, moved in known)


def _followed(before: tuple[float, float] | None, still: bool, now: float) -> tuple[float, float]:
    """When it was seen last, and when it moved last; the first reading counts as motion."""
    return (now, before[1] if still and before is not None and now - before[0] <= FRESH_S else now)
