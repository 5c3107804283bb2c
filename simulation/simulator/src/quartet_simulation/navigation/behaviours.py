"""Nav2's simple behaviours: spin, drive on heading, back up; each looks ahead with the real footprint."""

from __future__ import annotations

import math

from quartet_simulation.codes import BackUpCode, DriveCode, SpinCode
from quartet_simulation.errors import InvalidCommandError
from quartet_simulation.goal import Goal
from quartet_simulation.navigation.driver import BaseDriver, Twist
from quartet_simulation.sensors.localisation import Pose, compose, inverse, wrap

CHECK_EVERY = 5
"""Ticks between collision checks (50 ms)."""
LOOK_AHEAD_TIME = 0.35
"""A behaviour stops when it would touch something within this time at its present speed [s]."""
SETTLE_TIME = 2.0


class Spin:
    """Behaviour: turn on the spot by an angle [rad]."""

    def __init__(self, target_yaw: float, time_allowance: float) -> None:
        if not math.isfinite(target_yaw):
            raise InvalidCommandError(f"target_yaw {target_yaw} must be finite")
        self._target, self._allowance = target_yaw, time_allowance
        self._turned, self._last, self._ticks, self._reached_at = 0.0, None, 0, -1.0

    def tick(self, driver: BaseDriver, goal: Goal) -> Twist | None:
        """Return the twist for this tick, None once the goal has ended."""
        now = driver.physics.time
        yaw = driver.odom()[2]
        if self._last is not None:
            self._turned += wrap(yaw - self._last)
        self._last = yaw
        goal.feedback["angular_distance_traveled"] = self._turned
        left = self._target - self._turned
        if abs(left) < 0.01:
            if self._reached_at < 0:
                self._reached_at = now
            if driver.standing() or now - self._reached_at > SETTLE_TIME:
                goal.finish("SUCCEEDED", now, SpinCode.NONE)
                return None
        if now - goal.started_at > self._allowance:
            goal.finish("ABORTED", now, SpinCode.TIMEOUT, f"not turned within {self._allowance:.0f} s")
            return None
        direction = math.copysign(1.0, left)
        if self._ticks % CHECK_EVERY == 0 and abs(left) > 0.02:
            reach = min(abs(left), max(0.12, abs(driver.twist[2]) * LOOK_AHEAD_TIME))
            if driver.blocked_along([(0.0, 0.0, direction * reach)]):
                goal.finish(
                    "ABORTED",
                    now,
                    SpinCode.COLLISION_AHEAD,
                    f"collision ahead after turning {self._turned:.2f} of {self._target:.2f} rad",
                )
                return None
        self._ticks += 1
        return 0.0, 0.0, direction * min(driver.base.angular_speed, math.sqrt(2 * 1.6 * abs(left)))


class Straight:
    """Drive on heading and back up: `sign` is +1 forward, -1 backward."""

    def __init__(self, distance: float, speed: float, time_allowance: float, sign: int) -> None:
        self._distance, self._speed = abs(distance), abs(speed)
        self._allowance, self._sign = time_allowance, sign
        self._codes = DriveCode if sign > 0 else BackUpCode
        # Nav2 refuses a drive_on_heading whose distance and speed differ in sign.
        self._valid = all(map(math.isfinite, (distance, speed))) and speed != 0 and distance * speed * 1.0 >= 0
        self._start: Pose | None = None
        self._ticks, self._reached_at = 0, -1.0

    def tick(self, driver: BaseDriver, goal: Goal) -> Twist | None:
        """Return the twist for this tick, None once the goal has ended."""
        now = driver.physics.time
        if not self._valid:
            goal.finish(
                "ABORTED", now, self._codes.INVALID_INPUT, "distance and speed must be finite, non-zero and of one sign"
            )
            return None
        pose = driver.odom()
        if self._start is None:
            self._start = pose
        x, y, yaw = compose(inverse(self._start), pose)
        travelled = self._sign * x
        goal.feedback["distance_traveled"] = max(0.0, travelled)
        left = self._distance - travelled
        if left < 0.004:
            if self._reached_at < 0:
                self._reached_at = now
            if driver.standing() or now - self._reached_at > SETTLE_TIME:
                goal.finish("SUCCEEDED", now, self._codes.NONE)
                return None
            return 0.0, 0.0, 0.0
        if now - goal.started_at > self._allowance:
            goal.finish("ABORTED", now, self._codes.TIMEOUT, f"{travelled:.2f} m driven in {self._allowance:.0f} s")
            return None
        if self._ticks % CHECK_EVERY == 0:
            reach = min(left, max(0.06, abs(driver.twist[0]) * LOOK_AHEAD_TIME + 0.02))
            if driver.blocked_along([(self._sign * reach, 0.0, 0.0)]):
                goal.finish(
                    "ABORTED",
                    now,
                    self._codes.COLLISION_AHEAD,
                    f"collision ahead after {travelled:.2f} of {self._distance:.2f} m",
                )
                return None
        self._ticks += 1
        speed = min(self._speed, driver.base.linear_speed, math.sqrt(2 * 0.7 * max(left, 0.0)) + 0.01)
        if driver.base.differential:
            # It comes back to its line by steering alone.
            return self._sign * speed, 0.0, -2.0 * yaw - self._sign * 3.0 * y
        return self._sign * speed, -1.5 * y, -2.0 * yaw
