"""Results of the ros server's tools."""

from typing import Any

from quartet_contracts.messages import Model
from quartet_contracts.tools.results import ToolResult


class TopicInfo(Model):
    """A name in the ROS graph and its type."""

    name: str
    type: str


class TopicsResult(ToolResult):
    """get_topics."""

    topics: list[TopicInfo] = []
    total: int = 0
    """All topics of the robot, also those left out by the filter or the limit."""


class MessageResult(ToolResult):
    """subscribe_once. Of an image, `msg` holds everything but the pixels, which come as image content."""

    topic: str = ""
    msg_type: str = ""
    msg: dict[str, Any] | None = None
    saved_image: str | None = None
    """Name for view_saved_image."""


class MessagesResult(ToolResult):
    """subscribe_for_duration."""

    topic: str = ""
    msg_type: str = ""
    messages: list[dict[str, Any]] = []
    received: int = 0
    """Messages that came, also those not shown."""
    duration_s: float = 0.0


class TypeResult(ToolResult):
    """get_topic_type, get_service_type."""

    name: str = ""
    type: str = ""


class TopicDetailsResult(TypeResult):
    """get_topic_details."""

    publishers: list[str] = []
    subscribers: list[str] = []


class Field(Model):
    """One field of a message. `array_length`: -1 a single value, 0 any length, n exactly n values."""

    name: str
    type: str
    array_length: int = -1


class Structure(Model):
    """A message type and its fields."""

    type: str
    fields: list[Field] = []


class MessageDetailsResult(ToolResult):
    """get_message_details: the type itself first, then those of its fields."""

    type: str = ""
    structures: list[Structure] = []


class NamesResult(ToolResult):
    """get_services, get_nodes."""

    names: list[str] = []
    total: int = 0
    """All there are, also those left out by the filter or the limit."""


class ServiceDetailsResult(TypeResult):
    """get_service_details."""

    providers: list[str] = []
    request: list[Structure] = []
    response: list[Structure] = []


class CallServiceResult(ToolResult):
    """call_service."""

    service: str = ""
    service_type: str = ""
    response: dict[str, Any] | None = None


class NodeDetailsResult(ToolResult):
    """get_node_details."""

    node: str = ""
    publishing: list[str] = []
    subscribing: list[str] = []
    services: list[str] = []


class ParameterResult(ToolResult):
    """get_parameter, set_parameter, has_parameter, delete_parameter."""

    name: str = ""
    exists: bool | None = None
    type: str = ""
    value: Any = None


class Parameter(Model):
    """A parameter of a node."""

    name: str
    type: str
    value: Any = None


class ParametersResult(ToolResult):
    """get_parameters."""

    node: str = ""
    parameters: list[Parameter] = []
    total: int = 0


class ParameterDetailsResult(ParameterResult):
    """get_parameter_details."""

    description: str = ""
    additional_constraints: str = ""
    read_only: bool = False
    range: tuple[float, float, float] | None = None
    """Least and largest value, and the step (0: any)."""


class ActionsResult(ToolResult):
    """get_actions."""

    actions: list[TopicInfo] = []
    """The type is empty where neither robot.yaml nor site.yaml tells it."""
    total: int = 0


class ActionDetailsResult(TypeResult):
    """get_action_details."""

    goal: list[Structure] = []
    result: list[Structure] = []
    feedback: list[Structure] = []


class GoalInfo(Model):
    """A goal that an action server knows."""

    goal_id: str
    """32 hexadecimal digits."""
    status: str
    """ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED or ABORTED; the last three are ends."""
    accepted_at_s: float
    """ROS time."""


class ActionStatusResult(ToolResult):
    """get_action_status."""

    action: str = ""
    goals: list[GoalInfo] = []
    """Newest first."""
    running: int = 0


class ActionGoalResult(ToolResult):
    """send_action_goal."""

    action: str = ""
    action_type: str = ""
    status: str = ""
    """SUCCEEDED, CANCELED or ABORTED."""
    result: dict[str, Any] | None = None
    duration_s: float | None = None
    """ROS time that it took."""


class CancelGoalResult(ToolResult):
    """cancel_action_goal."""

    action: str = ""
    canceling: list[str] = []
    """Ids of the goals that are being canceled."""


class PublishResult(ToolResult):
    """publish_once, publish_for_durations."""

    topic: str = ""
    msg_type: str = ""
    published: int = 0
    """Messages that were sent, a closing zero velocity included."""
    duration_s: float = 0.0
    """Wall time."""


class PingResult(ToolResult):
    """connect_to_robot, ping_robot."""

    robot: str = ""
    url: str = ""
    connected: bool = False
    latency_ms: float | None = None
    """Time of one service call to the robot and back."""


class PingsResult(ToolResult):
    """ping_robots: one result per robot."""

    robots: list[PingResult] = []


class RosVersionResult(ToolResult):
    """detect_ros_version; distro is empty where it is not known."""

    version: int = 0
    distro: str = ""


class RobotsResult(ToolResult):
    """get_verified_robots_list: names of the configured robots."""

    robots: list[str] = []


class RobotSpecResult(ToolResult):
    """get_verified_robot_spec."""

    robot: str = ""
    description: str = ""
    spec: dict[str, Any] = {}
    """What robot.yaml configures: bridge, frames, topics, actions, services, base, arm, gripper, cameras."""
    ros_writes: dict[str, list[str]] = {}
    """What the site lets the generic tools write, by kind."""


class SavedImageResult(ToolResult):
    """view_saved_image."""

    image_path: str = ""
    size_bytes: int = 0
