"""How a server reaches the robot: rosbridge v2 client, transforms, motions under supervision, camera snapshots.

robot = await Robot.open(load_robot(path))
pose = await robot.base_pose()                      # map frame
shot = await robot.snapshot("front")                # colour, depth, where the camera was
motion = robot.start_motion("/spin", "nav2_msgs/action/Spin", {...}, limit_s=30)
outcome = await motion.outcome()
"""

from typing import TYPE_CHECKING, Any

from quartet_robot_link.bridge import BridgeLink
from quartet_robot_link.clock import RosClock, duration, seconds, stamp_of
from quartet_robot_link.errors import (
    ActionUnavailable,
    BadFrame,
    BridgeUnavailable,
    CallTimeout,
    CameraUnavailable,
    GoalRejected,
    LinkError,
    RosError,
    ServiceUnavailable,
    TransformUnavailable,
)
from quartet_robot_link.geometry import Rigid, Transform
from quartet_robot_link.guard import GuardState
from quartet_robot_link.heartbeat import Heartbeat
from quartet_robot_link.link import (
    LATCHED,
    SENSOR,
    GoalHandle,
    GoalResult,
    GoalStatus,
    Message,
    QoS,
    RobotLink,
    Subscription,
)
from quartet_robot_link.motion import Motion, MotionOutcome
from quartet_robot_link.robot import BasePose, Robot
from quartet_robot_link.transforms import TransformBuffer

if TYPE_CHECKING:
    from quartet_robot_link.camera import CameraSnapshot, Intrinsics

__all__ = [
    "LATCHED",
    "SENSOR",
    "ActionUnavailable",
    "BadFrame",
    "BasePose",
    "BridgeLink",
    "BridgeUnavailable",
    "CallTimeout",
    "CameraSnapshot",
    "CameraUnavailable",
    "GoalHandle",
    "GoalRejected",
    "GoalResult",
    "GoalStatus",
    "GuardState",
    "Heartbeat",
    "Intrinsics",
    "LinkError",
    "Message",
    "Motion",
    "MotionOutcome",
    "QoS",
    "Rigid",
    "Robot",
    "RobotLink",
    "RosClock",
    "RosError",
    "ServiceUnavailable",
    "Subscription",
    "Transform",
    "TransformBuffer",
    "TransformUnavailable",
    "duration",
    "seconds",
    "stamp_of",
]


def __getattr__(name: str) -> Any:
    """Image types on demand: numpy and Pillow are loaded only by servers that use cameras."""
    if name in {"CameraSnapshot", "Intrinsics"}:
        from quartet_robot_link import camera

        return getattr(camera, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
