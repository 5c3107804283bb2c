"""What the guard decides: stop, hold, lapse, reset. Moves nothing itself."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from quartet_bringup.guard.heartbeats import Heartbeats
from quartet_bringup.guard.latch import LatchFile
from quartet_bringup.guard.standstill import Standstill
from quartet_bringup.guard.state import RUNNING, State

log = logging.getLogger(__name__)

BRAKING_LIMIT_S = 3.0
"""Within this a stopped robot must have come to rest, or `standstill` says false."""
LAPSE_HOLD_S = 0.5
"""The shortest hold after a lapse, so that commands already under way find it."""


@dataclass(frozen=True)
class Look:
    """What to do after a look at the heartbeats and at the robot."""

    halt: bool = False
    """Bring the robot to a standstill, from the beginning."""
    changed: bool = False
    """The state has news."""


class Guard:
    """May be used from several threads.

    clock: goes forward only [s]. ros_time: for `since` [s]. arm_joints: whose rest counts besides the base's.
    """

    def __init__(
        self,
        latch: LatchFile,
        heartbeat_timeout_s: float,
        arm_joints: tuple[str, ...] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        ros_time: Callable[[], float] = time.time,
    ) -> None:
        self.heartbeats = Heartbeats(heartbeat_timeout_s)
        self.standstill = Standstill(arm_joints)
        self._latch, self._clock, self._ros_time = latch, clock, ros_time
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._held_since: float | None = None
        kept = latch.read()
        self._latched = kept is not None
        self._reason = RUNNING if kept is None else kept
        self._since_s = ros_time()
        self._still: bool | None = None
        self._answered_for = False
        """A motion has begun since the last halt."""
        if self._latched:
            self._held_since = clock()

    @property
    def holding(self) -> bool:
        """Nothing may move base or arm: after a stop until the reset, after a lapse until the robot rests."""
        with self._lock:
            return self._held_since is not None

    @property
    def state(self) -> State:
        with self._lock:
            age = self.heartbeats.age_s(self._clock())
            return State(self._latched, self._reason, self._still, self._since_s, age)

    def stop(self, reason: str) -> None:
        """Latch; `keep` writes it down once the robot is halted."""
        with self._lock:
            self._latched = True
            self._hold(reason)

    def reset(self) -> bool:
        """Let the robot move again; nothing goes on by itself. Whether it was stopped. `keep` writes it down."""
        with self._lock:
            was = self._latched
            if was:
                self._latched, self._held_since, self._still = False, None, None
                self._reason, self._since_s = RUNNING, self._ros_time()
            return was

    def keep(self) -> str | None:
        """Write down whether the robot is stopped. What a person should know when that fails."""
        with self._writing:
            state = self.state
            try:
                self._latch.write(state.reason if state.latched else None)
            except OSError as error:
                log.error("the latch file %s cannot be written: %s", self._latch.path, error)
                then = "would forget this stop" if state.latched else "may stop the robot again"
                return f"{self._latch.path} cannot be written ({error}): a restart of the guard {then}"
            return None

    def beat(self, frame_id: str) -> bool:
        """A heartbeat came. True: the state has news, since after a lapse somebody answers for the robot again."""
        with self._lock:
            self._answered_for = self.heartbeats.beat(frame_id, self._clock()) or self._answered_for
            return self._end_lapse()

    def odometry(self, linear_m_s: float, angular_rad_s: float) -> None:
        with self._lock:
            self.standstill.odometry(linear_m_s, angular_rad_s, self._clock())

    def joints(self, names: list[str], positions: list[float], velocities: list[float]) -> None:
        with self._lock:
            self.standstill.joints(names, positions, velocities, self._clock())

    def arm_positions(self) -> dict[str, float]:
        """Where the arm's joints are at this moment [rad]; empty unless all of them have just reported."""
        with self._lock:
            return self.standstill.positions(self._clock())

    def look(self) -> Look:
        """To be called many times a second."""
        with self._lock:
            now = self._clock()
            lapsed = self.heartbeats.lapsed(now)
            for source in lapsed:
                log.error("no heartbeat of %s for %g s", source, self.heartbeats.timeout_s)
            if lapsed and not self._latched:
                self._hold(f"heartbeat lapsed: {', '.join(lapsed)}")
                return Look(halt=True, changed=True)
            return Look(changed=self._follow_braking(now))

    def _hold(self, reason: str) -> None:
        self._held_since, self._answered_for = self._clock(), False
        self._reason, self._since_s, self._still = reason, self._ros_time(), None

    def _follow_braking(self, now: float) -> bool:
        if self._held_since is None:
            return False
        held_s = now - self._held_since
        still = self.standstill.verdict(now, self._held_since)
        if still is False and held_s < BRAKING_LIMIT_S:
            still = None
        changed, self._still = still != self._still, still
        if not self._latched and ((still and held_s >= LAPSE_HOLD_S) or held_s >= BRAKING_LIMIT_S):
            self._held_since = None
            return self._end_lapse() or changed
        return changed

    def _end_lapse(self) -> bool:
        """Back to running, once the robot rests and somebody answers for it again."""
        if self._held_since is not None or not self._answered_for or self._reason == RUNNING:
            return False
        self._reason, self._since_s, self._still = RUNNING, self._ros_time(), None
        return True
