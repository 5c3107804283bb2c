"""Errors of the connection to the robot.

RobotLinkError
├── BridgeUnavailableError         no connection to rosbridge, or it was lost during the call
├── CallTimeoutError               no answer in time; the outcome is unknown
│   └── ActionServerLostError          the action server left the ROS graph during a goal
├── RosError                       a ROS node or the bridge answered with an error
│   ├── ServiceUnavailableError        no such service
│   ├── ActionUnavailableError         no such action server
│   ├── GoalRejectedError              the action server rejected the goal
│   ├── CancelRejectedError            the action server refused to cancel its goals
│   ├── MessageTooLargeError           a message is larger than what is decoded; the connection is kept
│   └── UndecodableFrameError          a websocket frame is not a rosbridge operation; logged, never raised to a caller
├── TransformUnavailableError      a frame is not connected to another one, or lacks data of that time
│   └── TransformStaleError            its data is too old
└── CameraUnavailableError         no fresh, matching frames from a camera
    └── BadFrameError                  a camera message is not an image, or not a calibration
"""


class RobotLinkError(Exception):
    """Base of everything this package raises."""


class BridgeUnavailableError(RobotLinkError):
    """There is no connection to the robot's rosbridge, or it was lost during the call."""


class CallTimeoutError(RobotLinkError):
    """The robot did not answer in time; whether it did what was asked is unknown."""


class ActionServerLostError(CallTimeoutError):
    """The action server left the ROS graph during a goal; whether the robot still moves is unknown."""


class RosError(RobotLinkError):
    """A ROS node or the bridge answered with an error; the text is its own."""


class ServiceUnavailableError(RosError):
    """The robot offers no such service."""


class ActionUnavailableError(RosError):
    """The robot runs no such action server."""


class GoalRejectedError(RosError):
    """The action server rejected the goal."""


class CancelRejectedError(RosError):
    """The action server refused to cancel its goals, which go on."""


class TransformUnavailableError(RobotLinkError):
    """Two frames are not connected, or the connecting data is too old; the text names the missing transform."""


class TransformStaleError(TransformUnavailableError):
    """The newest data of a frame is too old, by its arrival or by its stamp."""


class CameraUnavailableError(RobotLinkError):
    """The camera sent no fresh frames with matching stamps."""


class BadFrameError(CameraUnavailableError):
    """The camera sent a message that is not an image or not a calibration; the text names the topic."""


class MessageTooLargeError(RosError):
    """A message is larger than what is decoded. `topic` is its topic, '' where that cannot be read."""

    def __init__(self, text: str, topic: str = "") -> None:
        super().__init__(text)
        self.topic = topic


class UndecodableFrameError(RosError):
    """A websocket frame is not a rosbridge operation."""
