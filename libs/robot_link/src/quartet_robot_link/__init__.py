"""The servers' way to the robot: rosbridge v2 client, transforms, supervised motions, camera snapshots.

robot = await Robot.open(load_robot(path))
pose = await robot.base_pose()                      # map frame
shot = await robot.snapshot("front")                # colour, depth, where the camera was
motion = robot.start_motion("/spin", "nav2_msgs/action/Spin", {...}, limit_s=30)
outcome = await motion.outcome()
"""

from typing import TYPE_CHECKING, Any

from quartet_robot_link._bridge import BridgeLink
from quartet_robot_link._clock import RosClock, duration, seconds, stamp_of
from quartet_robot_link._goal_states import GoalStates
from quartet_robot_link._guard import GuardState, Heartbeat
from quartet_robot_link._joints import joint_values
from quartet_robot_link._motion import Motion, MotionOutcome
from quartet_robot_link._robot import BasePose, Robot
from quartet_robot_link._transforms import TransformBuffer
from quartet_robot_link.errors import (
    ActionServerLostError,
    ActionUnavailableError,
    BadFrameError,
    BridgeUnavailableError,
    CallTimeoutError,
    CameraUnavailableError,
    CancelRejectedError,
    GoalRejectedError,
    MessageTooLargeError,
    RobotLinkError,
    RosError,
    ServiceUnavailableError,
    TransformStaleError,
    TransformUnavailableError,
)
from quartet_robot_link.geometry import Rigid, Transform
from quartet_robot_link.link import (
    LATCHED,
    MERGED_SUFFIX,
    SENSOR,
    STATIC_TRANSFORMS,
    GoalHandle,
    GoalResult,
    GoalStatus,
    Message,
    QoS,
    RobotLink,
    Subscription,
    number,
)

if TYPE_CHECKING:
    from quartet_robot_link.camera import CameraSnapshot, Intrinsics

__all__ = [
    "LATCHED",
    "MERGED_SUFFIX",
    "SENSOR",
    "STATIC_TRANSFORMS",
    "ActionServerLostError",
    "ActionUnavailableError",
    "BadFrameError",
    "BasePose",
    "BridgeLink",
    "BridgeUnavailableError",
    "CallTimeoutError",
    "CameraSnapshot",
    "CameraUnavailableError",
    "CancelRejectedError",
    "GoalHandle",
    "GoalRejectedError",
    "GoalResult",
    "GoalStates",
    "GoalStatus",
    "GuardState",
    "Heartbeat",
    "Intrinsics",
    "Message",
    "MessageTooLargeError",
    "Motion",
    "MotionOutcome",
    "QoS",
    "Rigid",
    "Robot",
    "RobotLink",
    "RobotLinkError",
    "RosClock",
    "RosError",
    "ServiceUnavailableError",
    "Subscription",
    "Transform",
    "TransformBuffer",
    "TransformStaleError",
    "TransformUnavailableError",
    "duration",
    "joint_values",
    "number",
    "seconds",
    "stamp_of",
]


def __getattr__(name: str) -> Any:
    """Import the image types on demand, so that only servers with cameras load numpy and Pillow."""
    if name in {"CameraSnapshot", "Intrinsics"}:
        from quartet_robot_link import camera

        return getattr(camera, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
