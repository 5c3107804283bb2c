"""Errors of quartet_safety.

SafetyError
├── GuardPortError       the guard's HTTP port cannot, or must not, be opened as configured
├── HaltError            a part of the robot could not be commanded to stop
├── FenceError           the fence file cannot be read or written
└── MotionRefusedError   a tool call may not move the robot, or may not go on moving it
    ├── BusyError            another call owns the motion lease of the channel
    ├── CanceledError        the call or its request was canceled
    ├── StoppedError         the robot guard or this server is stopped
    ├── LapsedError          heartbeats stopped while the robot moved
    └── FencedError          a newer attempt has taken the robot over
"""


class SafetyError(Exception):
    """Root of the errors of this distribution."""


class GuardPortError(SafetyError):
    """The guard's HTTP port cannot, or must not, be opened as configured; the text says what to change."""


class HaltError(SafetyError):
    """A part of the robot could not be commanded to stop; the text names each part and why."""


class FenceError(SafetyError):
    """The fence file cannot be read or written; a server must not guess its fence."""


class MotionRefusedError(SafetyError):
    """A tool call may not move the robot, or may not go on moving it."""


class BusyError(MotionRefusedError):
    """Another call owns the motion lease of the channel."""


class CanceledError(MotionRefusedError):
    """The call, or the request that it belongs to, was canceled."""


class StoppedError(MotionRefusedError):
    """The robot guard or this server is stopped until a person resets it."""


class LapsedError(MotionRefusedError):
    """Heartbeats of the caller or of this server stopped, so the motion was ended."""


class FencedError(MotionRefusedError):
    """The grant of the call is older than the newest one for this robot."""
