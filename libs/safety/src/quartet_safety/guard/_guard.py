"""The robot guard: stops the robot past everything else, and holds it stopped until a person resets it."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from quartet_safety.errors import HaltError
from quartet_safety.guard._heartbeats import Heartbeats
from quartet_safety.guard._latch import Latch, LatchFile
from quartet_safety.guard._standstill import Standstill
from quartet_safety.guard._wire import LAPSED, RUNNING, GuardStatus, names_source

log = logging.getLogger(__name__)

LOOK_PERIOD_S = 0.02
"""How often an adapter calls `Guard.look` [s]."""
BRAKING_LIMIT_S = 3.0
"""Within this time a halted robot must have come to rest, else `standstill` is false."""
LAPSE_HOLD_S = 0.5
"""The shortest hold after a lapse, so that it also catches commands that are already under way."""
BRAKING_PERIOD_S, RESTING_PERIOD_S = 0.05, 0.5
"""Between two commands to the base to stand, while the robot brakes and while it rests."""
CANCEL_PERIOD_S, RESTING_CANCEL_PERIOD_S = 0.5, 2.0
"""Between two rounds of cancels, while the robot brakes and while it rests."""
WARNING_PERIOD_S = 5.0
"""Between two log lines on malformed heartbeats."""
INHERITED_GRACE_S = 1.0
"""Time beyond the heartbeat time-out in which whoever moves the robot while the guard starts must be heard [s].

Publishers and subscribers find each other one after the other."""


class Brakes(Protocol):
    """How a guard acts on a robot. The gripper is left alone: a cancelled or repeated grip may let go.

    Each method may be called from any thread and returns without waiting for the robot.
    """

    def halt_base(self) -> None:
        """Command the base to stand."""
        ...

    def hold_arm(self) -> bool:
        """Command the arm to stay where it is; False: not possible yet, to be asked again."""
        ...

    def cancel_goals(self, *, again: bool) -> None:
        """Ask for the end of every goal that moves base or arm.

        Args:
            again: also where an earlier request has not been answered yet.
        """
        ...


class Guard:
    """Decides when the robot must not move, and has `brakes` bring it to rest and keep it there.

    A stop latches until the reset, also across restarts. A lapse of heartbeats halts the robot without latching: it is
    held for `LAPSE_HOLD_S` at least and until it rests, `BRAKING_LIMIT_S` at most. May be used from several threads.

    Args:
        brakes: act on the robot.
        latch: keeps a stop; None: it does not outlast this object.
        heartbeat_timeout_s: silence after which a motion has lapsed [s].
        arm_joints: joints whose rest counts beside the base's.
        clock: only goes forward [s].
        ros_time: for `GuardStatus.since_s` [s].
        on_change: told, in any thread, that `status` has news.
    """

    def __init__(
        self,
        brakes: Brakes,
        latch: LatchFile | None,
        heartbeat_timeout_s: float,
        arm_joints: Sequence[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        ros_time: Callable[[], float] = time.time,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._brakes, self._latch_file, self._on_change = brakes, latch, on_change
        self._clock, self._ros_time = clock, ros_time
        self._heartbeats = Heartbeats(heartbeat_timeout_s)
        self._standstill = Standstill(arm_joints)
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._held_since: float | None = None
        kept = Latch() if latch is None else latch.read()
        self._latched = kept.latched
        self._reason = kept.reason if kept.latched else RUNNING
        self._since_s = ros_time()
        self._still: bool | None = None
        self._answered_for = False
        """A motion has begun since the last halt."""
        self._hold_due = False
        """The arm has not been commanded to hold since the last halt."""
        self._last_zero = self._last_cancel = self._last_warning = float("-inf")
        self._inherited: set[str] = set()
        """Actions whose goals have run since before this start."""
        self._known_inherited: set[str] = set()
        """Those that were ever told of: a later word of the same goals is no news."""
        self._inherited_since = float("-inf")
        if self._latched:
            self._held_since = clock()

    # --- what others see --------------------------------------------------------------------------
    @property
    def holding(self) -> bool:
        """Nothing may move base or arm: after a stop until the reset, after a lapse until the robot rests."""
        with self._lock:
            return self._held_since is not None

    @property
    def latched(self) -> bool:
        """Stopped until a person resets it."""
        return self._latched

    @property
    def watches(self) -> list[str]:
        """Sources of heartbeats that are watched, sorted."""
        with self._lock:
            return self._heartbeats.sources

    @property
    def status(self) -> GuardStatus:
        """The state that is published."""
        with self._lock:
            age = self._heartbeats.age_s(self._clock())
            return GuardStatus(self._latched, self._reason, self._still, self._since_s, age)

    # --- orders -----------------------------------------------------------------------------------
    def start(self) -> None:
        """Halt the robot if it was stopped before this start."""
        if self._latched:
            log.error("stopped since before this start: %s", self._reason)
            self._halt()
        self._on_change()

    def stop(self, reason: str) -> str:
        """Halt the robot and latch. The latch is on disk before this returns; the robot is halted before that.

        Returns:
            What to tell whoever asked.

        Raises:
            HaltError: a part of the robot could not be commanded; the guard is latched all the same.
        """
        with self._lock:
            self._latched = True
            self._hold(reason)
        try:
            self._halt()
        finally:
            self._on_change()
            failure = self._keep_latch()
        log.error("stopped: %s", reason)
        return "stopped; latched until reset" + (f"; but {failure}" if failure else "")

    def reset(self) -> str:
        """Release the latch and return the answer for the caller; no stopped motion continues by itself."""
        with self._lock:
            was = self._latched
            if was:
                self._release()
        self._on_change()
        failure = self._keep_latch()
        if was:
            log.warning("reset: the robot may move again")
        return ("reset" if was else "was not stopped") + (f"; but {failure}" if failure else "")

    def forget(self) -> None:
        """Watch no motion any more, reset, and end the hold of a lapse: the world was put back to its beginning."""
        with self._lock:
            self._heartbeats.forget()
            if not self._latched:
                self._release()
        self.reset()

    def leave(self) -> bool:
        """Halt the robot if somebody moves it, before the guard ends; return whether it was halted."""
        if not self.watches:
            return False
        log.error("the guard ends while the robot moves: halted")
        self._halt()
        return True

    # --- what the robot and its servers report ----------------------------------------------------
    def beat(self, frame_id: str) -> None:
        """Take a heartbeat: the `frame_id` of a message on the heartbeat topic."""
        with self._lock:
            now = self._clock()
            if not names_source(frame_id) and now - self._last_warning >= WARNING_PERIOD_S:
                self._last_warning = now
                log.warning("not a heartbeat: frame_id '%s' is not <server>:<motion id>", frame_id[:80])
            self._answered_for = self._heartbeats.beat(frame_id, now) or self._answered_for
            changed = self._end_lapse()
        if changed:
            self._on_change()

    def inherited(self, action: str, *, running: bool) -> None:
        """Take whether an action has a goal that began before this start of the guard.

        Such a goal may have nobody left: whoever sent it may have died with the former guard. Unless some source beats
        soon, all motions end, as after a lapse. One motion may have goals of several actions, so they are not counted.
        """
        with self._lock:
            if not running:
                self._inherited.discard(action)
            elif action not in self._known_inherited:
                self._known_inherited.add(action)
                self._inherited.add(action)
                self._inherited_since = self._clock()

    def odometry(self, linear_m_s: float, angular_rad_s: float) -> None:
        """Take a reading of the base's speed."""
        with self._lock:
            self._standstill.odometry(linear_m_s, angular_rad_s, self._clock())

    def joints(self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]) -> None:
        """Take a reading of joints [rad, rad/s]; velocities may be missing."""
        with self._lock:
            self._standstill.joints(names, positions, velocities, self._clock())

    def arm_positions(self) -> dict[str, float]:
        """Return the positions of the arm's joints [rad]; empty unless all have just reported."""
        with self._lock:
            return self._standstill.positions(self._clock())

    # --- many times a second ----------------------------------------------------------------------
    def look(self) -> list[str]:
        """End motions whose heartbeats have lapsed and keep a held robot at rest. To be called each `LOOK_PERIOD_S`.

        Returns:
            The sources whose lapse has just halted the robot, and actions that nobody answered for at the start.
        """
        with self._lock:
            now = self._clock()
            lapsed = self._heartbeats.lapsed(now)
            for source in lapsed:
                log.error("no heartbeat of %s for %g s", source, self._heartbeats.timeout_s)
            lapsed += self._orphaned(now)
            halts = bool(lapsed) and not self._latched
            if halts:
                self._hold(f"{LAPSED}: {', '.join(lapsed)}")
            changed = halts or self._follow_braking(now)
            holding, resting = self._held_since is not None, self._still is True
        try:
            if halts:
                self._halt()
            elif holding:
                self._keep_at_rest(now, resting)
        finally:
            if changed:
                self._on_change()
        return lapsed if halts else []

    def _orphaned(self, now: float) -> list[str]:
        """Return the actions that have run since before this start when nobody answers for them, and forget them."""
        if not self._inherited or now - self._inherited_since <= self._heartbeats.timeout_s + INHERITED_GRACE_S:
            return []
        found, self._inherited = sorted(self._inherited), set()
        if self._heartbeats.sources:
            return []
        log.error("nobody answers for %s, begun before this start of the guard", ", ".join(found))
        return found

    def _halt(self) -> None:
        """Command base, arm and goals at once; each is tried although another fails. Raises HaltError."""
        self._last_zero = self._last_cancel = self._clock()
        self._hold_due = True
        _try_all(
            [
                ("base", self._brakes.halt_base),
                ("arm", self._hold_arm),
                ("goals", lambda: self._brakes.cancel_goals(again=True)),
            ]
        )

    def _keep_at_rest(self, now: float, resting: bool) -> None:
        due: list[tuple[str, Callable[[], None]]] = []
        if self._hold_due:
            due.append(("arm", self._hold_arm))
        if now - self._last_zero >= (RESTING_PERIOD_S if resting else BRAKING_PERIOD_S):
            self._last_zero = now
            due.append(("base", self._brakes.halt_base))
        if now - self._last_cancel >= (RESTING_CANCEL_PERIOD_S if resting else CANCEL_PERIOD_S):
            self._last_cancel = now
            due.append(("goals", lambda: self._brakes.cancel_goals(again=False)))
        _try_all(due)

    def _hold_arm(self) -> None:
        self._hold_due = not self._brakes.hold_arm()

    def _hold(self, reason: str) -> None:
        self._held_since, self._answered_for = self._clock(), False
        self._reason, self._since_s, self._still = reason, self._ros_time(), None

    def _release(self) -> None:
        self._latched, self._held_since = False, None
        self._run_again()

    def _run_again(self) -> None:
        self._reason, self._since_s, self._still = RUNNING, self._ros_time(), None

    def _follow_braking(self, now: float) -> bool:
        """Update `standstill` and end the hold of a lapse; return whether the status has news."""
        if self._held_since is None:
            return False
        held_s = now - self._held_since
        still = self._standstill.verdict(now, self._held_since)
        if still is False and held_s < BRAKING_LIMIT_S:
            still = None
        changed, self._still = still != self._still, still
        if not self._latched and ((still and held_s >= LAPSE_HOLD_S) or held_s >= BRAKING_LIMIT_S):
            self._held_since = None
            return self._end_lapse() or changed
        return changed

    def _end_lapse(self) -> bool:
        """Run again once the robot rests and another motion has begun; return whether it does."""
        if self._held_since is not None or not self._answered_for or self._reason == RUNNING:
            return False
        self._run_again()
        return True

    def _keep_latch(self) -> str | None:
        """Write the latch as it is now; return what a person should know when that fails."""
        if self._latch_file is None:
            return None
        with self._writing:
            status = self.status
            try:
                self._latch_file.write(Latch(True, status.reason, time.time()) if status.latched else Latch())
            except OSError as error:
                path = self._latch_file.path
                log.error("the latch file %s cannot be written: %s", path, error)
                then = "would forget this stop" if status.latched else "may stop the robot again"
                return f"{path} cannot be written ({error}): a restart of the guard {then}"
            return None


def _try_all(actions: Sequence[tuple[str, Callable[[], None]]]) -> None:
    failed: list[str] = []
    for part, action in actions:
        try:
            action()
        except Exception as error:
            log.exception("%s could not be commanded to stop", part)
            failed.append(f"{part}: {error!r}")
    if failed:
        raise HaltError(f"could not be commanded to stop: {'; '.join(failed)}")
