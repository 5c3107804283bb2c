"""Errors of the way to the robot.

LinkError
├── BridgeUnavailable      no connection to rosbridge, or it was lost during the call
├── CallTimeout            no answer in time; the outcome is not known
├── RosError               the robot's side answered with an error
│   ├── ServiceUnavailable     no such service
│   ├── ActionUnavailable      no such action server
│   └── GoalRejected           the action server refused the goal
├── TransformUnavailable   a frame is not connected to another one, or its data is too old
└── CameraUnavailable      no fresh, matching frames of a camera
    └── BadFrame               its message is no image, or no calibration
"""


class LinkError(Exception):
    """Base of everything this package raises."""


class BridgeUnavailable(LinkError):
    """No connection to the robot's rosbridge, or it was lost during the call."""


class CallTimeout(LinkError):
    """The robot did not answer in time; whether it did what was asked is not known."""


class RosError(LinkError):
    """The robot's side answered with an error; the text is the robot's own."""


class ServiceUnavailable(RosError):
    """The robot offers no such service."""


class ActionUnavailable(RosError):
    """The robot runs no such action server."""


class GoalRejected(RosError):
    """The action server refused the goal."""


class TransformUnavailable(LinkError):
    """Two frames are not connected, or the connecting data is too old; the text names the missing link."""


class CameraUnavailable(LinkError):
    """The camera sent no fresh frames with matching stamps."""


class BadFrame(CameraUnavailable):
    """The camera sent what is no image, or no calibration; the text names the topic."""
