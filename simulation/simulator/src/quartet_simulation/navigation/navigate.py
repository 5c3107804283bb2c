"""NavigateToPose: plan, follow the smoothed path with a look-ahead point, replan when blocked."""

from __future__ import annotations

import math

import numpy as np

from quartet_simulation.codes import NavCode
from quartet_simulation.goal import Goal
from quartet_simulation.navigation.driver import BaseDriver, Twist
from quartet_simulation.sensors.localisation import Pose, wrap

LOOK_AHEAD = 0.40
GOAL_XY, GOAL_YAW = 0.03, 0.02
ARRIVED_XY = 0.06
"""A differential drive that has come within GOAL_XY only turns as long as it stays within this [m]."""
TURN_FIRST, REVERSE_WITHIN = 0.50, 0.35
"""A differential drive that heads farther off turns before it drives [rad]; so near to its goal it may reverse [m]."""
FACE_GOAL_WITHIN = 0.60
"""Closer than this to the goal the robot turns to the goal's yaw [m]."""
CHECK_EVERY = 5
HORIZON = 0.35
"""Time that a chosen motion must stay free of collisions [s]."""
PROGRESS_TIME, PROGRESS_LENGTH = 5.0, 0.10
MAX_RECOVERIES = 4
BACKUP_SPEED, BACKUP_S = 0.15, 2.0
"""How a recovery backs up, as far as that is free: 0.3 m, the values of Nav2's default behaviour tree [m/s, s]."""
ALIGN_S, ALIGN_SPEED = 3.0, 0.08
"""How long a recovery turns along the way and slides to where there is most room [s, m/s]."""
GAP_WITHIN, GAP_BEHIND = 0.90, 0.50
"""How far ahead on the path, and behind, a gap is heeded [m]."""
GAP_HALF = 0.52
"""A gap is where something stands on both sides of the path within this distance [m]: a door of up to about 1 m."""
GAP_SPEED, GAP_HEADING = 0.40, 0.10
"""Speed in a gap, and how far off its axis the robot may head when it enters [m/s, rad]."""
FRONT = 0.55
"""From the robot's middle to its hand [m]: nearer to a gap than this it is in it."""
SLIDES = (0.5, -0.5, 1.0, -1.0, 1.57, -1.57)
"""Directions beside the wanted one in which a robot slides past what blocks it [rad]."""
SLIDE_SHARE = 0.35
SLIDE_FROM = 0.15
"""Slower than this a robot begins to slide [m/s]."""
WAIT_S = 5.0
"""World time of one recovery that waits; the value of Nav2's default behaviour tree."""


Allowed = tuple[float, float, bool]
"""What of a wanted motion is free: share of its length, turned by this angle [rad], and whether it may turn."""


class Navigate:
    """Behaviour: drive to a pose in map around what is in the way, as Nav2 does."""

    def __init__(self, target: Pose) -> None:
        self._target = (target[0], target[1], wrap(target[2]))
        self._path: np.ndarray | None = None
        self._index = 0
        self._ticks = 0
        self._recoveries = 0
        self._progress: tuple[float, Pose] | None = None
        self._allowed: Allowed = (1.0, 0.0, True)
        self._gap: tuple[float, float] | None = None
        self._seen = -1
        self._wait_until = -math.inf
        self._back_until = -math.inf
        self._align_until = -math.inf
        self._arrived = False

    def tick(self, driver: BaseDriver, goal: Goal) -> Twist | None:
        """Return the twist for this tick, None once the goal has ended."""
        now, pose = driver.physics.time, driver.pose()
        if now < self._back_until:
            return self._back_up(driver)
        if now < self._align_until and self._path is not None:
            return self._align(driver, pose)
        if self._path is None and not self._find_path(driver, goal, now, pose):
            return None if goal.done else (0.0, 0.0, 0.0)
        driver.follow(self._advance(pose))
        if driver.costmap.version != self._seen:
            self._seen = driver.costmap.version
            if not self._still_free(driver):
                # Something has come into the way: plan around it at once.
                self._path = None
                return 0.0, 0.0, 0.0
        gap = math.hypot(self._target[0] - pose[0], self._target[1] - pose[1])
        turn = wrap(self._target[2] - pose[2])
        remaining = self._remaining(pose)
        goal.feedback.update(
            current_pose=pose,
            distance_remaining=remaining,
            navigation_time=now - goal.started_at,
            estimated_time_remaining=remaining / driver.base.linear_speed + abs(turn) / driver.base.angular_speed,
            number_of_recoveries=self._recoveries,
        )
        # A differential drive leaves its goal by a little as it turns, and has no way to slide back.
        self._arrived = gap < (ARRIVED_XY if self._arrived and driver.base.differential else GOAL_XY)
        if self._arrived and abs(turn) < GOAL_YAW:
            if driver.standing():
                goal.finish("SUCCEEDED", now, NavCode.NONE)
                return None
            return 0.0, 0.0, 0.0
        if not self._progressing(now, pose):
            self._recoveries += 1
            if self._recoveries > MAX_RECOVERIES:
                goal.finish(
                    "ABORTED",
                    now,
                    NavCode.FAILED_TO_MAKE_PROGRESS,
                    f"no progress after {MAX_RECOVERIES} recoveries, {remaining:.2f} m from the goal",
                )
                return None
            self._recover(driver, now, pose)
            return 0.0, 0.0, 0.0
        return self._steer(driver, pose, gap, turn, remaining)

    def _recover(self, driver: BaseDriver, now: float, pose: Pose) -> None:
        """Begin the next recovery: back up, align with the way, back up farther, align again."""
        if self._recoveries % 2:
            self._path = None
            self._back_until = now + BACKUP_S * (self._recoveries + 1) / 2
        elif self._plan(driver, pose)[0] is NavCode.NONE:
            self._align_until = now + ALIGN_S

    def _find_path(self, driver: BaseDriver, goal: Goal, now: float, pose: Pose) -> bool:
        """Plan; return whether there is a path. Waits for whoever is in the way, else ends the goal."""
        if now < self._wait_until:
            return False
        code, text = self._plan(driver, pose)
        if code is NavCode.NONE:
            self._progress = (now, pose)
            return True
        if driver.costmap.others_near and self._recoveries < MAX_RECOVERIES:
            # As Nav2's recoveries clear the costmaps and wait: another robot, or a person, may be gone by then, and
            # from where they were seen some time ago as well.
            driver.costmap.clear()
            self._recoveries += 1
            self._wait_until = now + WAIT_S
        else:
            goal.finish("ABORTED", now, code, text)
        return False

    def _plan(self, driver: BaseDriver, pose: Pose) -> tuple[NavCode, str]:
        x, y, _ = self._target
        if not all(map(math.isfinite, self._target)) or not driver.costmap.inside(x, y):
            return NavCode.GOAL_OUTSIDE_MAP, f"goal ({x:.2f}, {y:.2f}) is outside the map"
        if driver.costmap.clearance_at(x, y) < 0.15 or not driver.pose_is_free(self._target):
            return NavCode.GOAL_OCCUPIED, f"goal ({x:.2f}, {y:.2f}) is in lethal space"
        path = driver.planner.plan(pose[:2], (x, y))
        if path is None:
            return NavCode.NO_VALID_PATH, f"no path to ({x:.2f}, {y:.2f})"
        self._path, self._index, self._seen = path, 0, driver.costmap.version
        return NavCode.NONE, ""

    def _advance(self, pose: Pose) -> np.ndarray:
        """Move the path index to the point nearest to the robot, never back; return the rest of the path."""
        assert self._path is not None
        window = self._path[self._index : self._index + 20]
        self._index += int(np.hypot(window[:, 0] - pose[0], window[:, 1] - pose[1]).argmin())
        return self._path[self._index :]

    def _still_free(self, driver: BaseDriver) -> bool:
        """Is the rest of the path, but for its very start and end, still clear of obstacles?"""
        assert self._path is not None
        rest = self._path[self._index + 8 : -6]
        return all(driver.planner.is_free(x, y) for x, y in rest)

    def _remaining(self, pose: Pose) -> float:
        assert self._path is not None
        rest = self._path[self._index :]
        first = math.hypot(rest[0, 0] - pose[0], rest[0, 1] - pose[1])
        return first + (float(np.hypot(*np.diff(rest, axis=0).T).sum()) if len(rest) > 1 else 0.0)

    def _progressing(self, now: float, pose: Pose) -> bool:
        assert self._progress is not None
        then, where = self._progress
        moved = math.hypot(pose[0] - where[0], pose[1] - where[1]) + 0.3 * abs(wrap(pose[2] - where[2]))
        if moved > PROGRESS_LENGTH:
            self._progress = (now, pose)
            return True
        if now - then > PROGRESS_TIME:
            self._progress = (now, pose)
            return False
        return True

    def _steer(self, driver: BaseDriver, pose: Pose, gap: float, turn: float, remaining: float) -> Twist:
        assert self._path is not None
        ahead = min(self._index + max(1, round(LOOK_AHEAD / 0.05)), len(self._path) - 1)
        point = self._path[ahead] if remaining > LOOK_AHEAD else np.array(self._target[:2])
        bearing = math.atan2(point[1] - pose[1], point[0] - pose[0])
        heading_error = turn if remaining < FACE_GOAL_WITHIN else wrap(bearing - pose[2])
        speed = min(driver.base.linear_speed, math.sqrt(2 * 0.6 * max(remaining, gap)), 0.04 + 1.6 * remaining)
        if self._ticks % CHECK_EVERY == 0:
            self._gap = self._next_gap(driver)
        gap_at = None if remaining < 0.3 else self._gap
        if gap_at is not None:
            # Through a door as straight as it lies, and no turn to the goal's yaw inside of it.
            ahead_m, axis = gap_at
            heading_error = wrap(axis - pose[2])
            speed = min(speed, GAP_SPEED)
            if ahead_m > FRONT and abs(heading_error) > GAP_HEADING:
                speed = min(speed, 0.04 if ahead_m < FRONT + 0.15 else 0.15)
        elif remaining >= FACE_GOAL_WITHIN:
            # Look where it drives: fast only when it faces its way; the base may still slide aside slowly.
            speed *= max(0.12, math.cos(heading_error)) if abs(heading_error) < 1.2 else 0.12
        if driver.base.differential:
            return self._steer_wheels(driver, bearing - pose[2], heading_error if gap_at else None, speed, gap, turn)
        local = bearing - pose[2]
        move = (speed * math.cos(local), speed * math.sin(local))
        spin = math.copysign(min(driver.base.angular_speed, 2.5 * abs(heading_error)), heading_error)
        if gap < GOAL_XY * 0.5:
            move = (0.0, 0.0)
        if self._ticks % CHECK_EVERY == 0:
            self._allowed = self._choose(driver, move, spin)
        self._ticks += 1
        share, turned, may_turn = self._allowed
        return (*_turned(move, share, turned), spin if may_turn else 0.0)

    def _steer_wheels(
        self, driver: BaseDriver, ahead: float, along_gap: float | None, speed: float, gap: float, turn: float
    ) -> Twist:
        """Return the twist of a base that drives along its own axis alone.

        Args:
            driver: of the base.
            ahead: direction of the point to drive to, from its own [rad].
            along_gap: how far it heads off the axis of a gap that it passes [rad]; None outside of gaps.
            speed: to drive with [m/s].
            gap: distance to the goal [m].
            turn: what is left to turn to the goal's yaw [rad].
        """
        error, sign = wrap(ahead), 1.0
        if self._arrived:
            error, speed = turn, 0.0
        elif gap < REVERSE_WITHIN and abs(error) > math.pi / 2:
            # Past its goal by a little, it backs up instead of turning round.
            error, sign = wrap(ahead - math.pi), -1.0
        elif along_gap is not None:
            # The point ahead is in the gap's middle: it lies off the axis by what is to be corrected.
            error = wrap(0.5 * error + 0.5 * along_gap)
        drive = 0.0 if abs(error) > TURN_FIRST else sign * speed * math.cos(error)
        spin = math.copysign(min(driver.base.angular_speed, 2.5 * abs(error)), error)
        if self._ticks % CHECK_EVERY == 0:
            self._allowed = self._choose(driver, (drive, 0.0), spin, slide=False)
        self._ticks += 1
        share, _, may_turn = self._allowed
        return share * drive, 0.0, spin if may_turn else 0.0

    def _next_gap(self, driver: BaseDriver) -> tuple[float, float] | None:
        """Return how far ahead the nearest gap of the path is [m] and its axis [rad], None without one.

        A gap behind counts until the robot has left it; how far ahead it is, is then negative.
        """
        assert self._path is not None
        spacing, reach = 0.05, 4
        first = max(self._index - round(GAP_BEHIND / spacing), reach)
        last = min(self._index + round(GAP_WITHIN / spacing), len(self._path) - 1 - reach)
        if last < first:
            return None
        path, at = self._path, np.arange(first, last + 1)
        along = path[at + reach] - path[at - reach]
        aside = GAP_HALF * np.stack([-along[:, 1], along[:, 0]], axis=1) / np.linalg.norm(along, axis=1, keepdims=True)
        free = driver.costmap.clearances_at(np.stack([path[at] + aside, path[at] - aside]))
        found = np.flatnonzero((free < 0.06).all(axis=0))
        if not len(found):
            return None
        dx, dy = along[found[0]]
        return float(at[found[0]] - self._index) * spacing, math.atan2(float(dy), float(dx))

    def _align(self, driver: BaseDriver, pose: Pose) -> Twist:
        """Turn along the way and slide to where there is more room."""
        assert self._path is not None
        gap = self._next_gap(driver)
        point = self._path[min(self._index + 8, len(self._path) - 1)]
        axis = math.atan2(point[1] - pose[1], point[0] - pose[0]) if gap is None else gap[1]
        error = wrap(axis - pose[2])
        spin = math.copysign(min(driver.base.angular_speed / 2, 2.5 * abs(error)), error)
        turns = [number * math.pi / 4 for number in range(8)]
        room = [driver.costmap.clearance_at(pose[0] + 0.1 * math.cos(t), pose[1] + 0.1 * math.sin(t)) for t in turns]
        away = turns[int(np.argmax(room))] - pose[2]
        move = (ALIGN_SPEED * math.cos(away), 0.0 if driver.base.differential else ALIGN_SPEED * math.sin(away))
        if self._ticks % CHECK_EVERY == 0:
            self._allowed = self._choose(driver, move, spin, slide=not driver.base.differential)
        self._ticks += 1
        share, turned, may_turn = self._allowed
        return (*_turned(move, share, turned), spin if may_turn else 0.0)

    def _back_up(self, driver: BaseDriver) -> Twist:
        if self._ticks % CHECK_EVERY == 0:
            self._allowed = self._choose(driver, (-BACKUP_SPEED, 0.0), 0.0, slide=False)
        self._ticks += 1
        return -BACKUP_SPEED * self._allowed[0], 0.0, 0.0

    def _choose(self, driver: BaseDriver, move: tuple[float, float], spin: float, *, slide: bool = True) -> Allowed:
        """Return which part of the wanted motion stays free of collisions.

        All of it, only moving, only turning; where turning leads no farther, sliding to the side past what blocks.
        """
        choices: list[Allowed] = [(1.0, 0.0, True), (1.0, 0.0, False)]
        slides: list[Allowed] = [(SLIDE_SHARE, turn, turning) for turn in SLIDES for turning in (True, False)]
        turning_helps = abs(spin) > 2.5 * GAP_HEADING
        choices += [(0.0, 0.0, True), *slides] if turning_helps else [*slides, (0.0, 0.0, True)]
        for share, turned, may_turn in choices:
            if not slide and turned:
                continue
            twist = (*_turned(move, share, turned), spin if may_turn else 0.0)
            if twist != (0.0, 0.0, 0.0) and not driver.blocked_along(driver.way_of(twist, HORIZON)):
                # What still rolls forward would touch what the slide is to pass: brake first.
                fast = turned != 0.0 and math.hypot(*driver.twist[:2]) > SLIDE_FROM
                return (0.0, 0.0, False) if fast else (share, turned, may_turn)
        return 0.0, 0.0, False


def _turned(move: tuple[float, float], share: float, angle: float) -> tuple[float, float]:
    """Return a share of a motion, turned by an angle [rad]."""
    c, s = share * math.cos(angle), share * math.sin(angle)
    return c * move[0] - s * move[1], s * move[0] + c * move[1]
