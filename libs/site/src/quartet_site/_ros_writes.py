"""Allow list of the ros server's generic writes, by name: what is not listed is refused."""

from typing import Annotated

from pydantic import Field, model_validator

from quartet_site._section import Positive, Section, form
from quartet_site.errors import field_error

AbsoluteName = Annotated[
    str,
    Field(max_length=256),
    form(
        r"/[A-Za-z][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*", "a full ROS name without wildcards, such as /robot/lights"
    ),
]
"""A full ROS name with its leading slash; no wildcards."""
ParameterName = Annotated[
    str,
    Field(max_length=256),
    form(
        r"/[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_.\-]*",
        "/node:parameter, such as /controller_server:max_speed",
    ),
]
"""`/node:parameter`."""
MessageType = Annotated[
    str, form(r"[a-z][a-z0-9_]*(/msg)?/[A-Z][A-Za-z0-9]*", "a message type, such as std_msgs/msg/Bool")
]
ServiceType = Annotated[
    str, form(r"[a-z][a-z0-9_]*(/srv)?/[A-Z][A-Za-z0-9]*", "a service type, such as std_srvs/srv/Empty")
]
ActionType = Annotated[
    str, form(r"[a-z][a-z0-9_]*(/action)?/[A-Z][A-Za-z0-9]*", "an action type, such as nav2_msgs/action/Spin")
]

VELOCITY_TYPES = ("geometry_msgs/Twist", "geometry_msgs/TwistStamped")
_PARAMETER_SERVICES = ("/set_parameters", "/set_parameters_atomically")


class WritableTopic(Section):
    """A topic that may be published to. A velocity topic needs both caps."""

    name: AbsoluteName
    type: MessageType
    max_linear_m_s: Positive | None = None
    """Largest speed of a Twist: length of its linear part [m/s]."""
    max_angular_rad_s: Positive | None = None
    """Largest turning speed of a Twist: length of its angular part [rad/s]."""

    @property
    def moves_base(self) -> bool:
        """Whether it carries velocities."""
        return self.type.replace("/msg/", "/") in VELOCITY_TYPES

    @model_validator(mode="after")
    def _velocity_is_capped(self) -> "WritableTopic":
        caps = {"max_linear_m_s": self.max_linear_m_s, "max_angular_rad_s": self.max_angular_rad_s}
        moves = self.moves_base
        for field, cap in caps.items():
            if moves and cap is None:
                raise field_error(
                    f"'{self.name}' carries velocities ({self.type}): {field} is missing; give a number", field
                )
            if not moves and cap is not None:
                raise field_error(
                    f"'{self.name}' has type {self.type}; {field} goes only with a Twist, leave it out", field
                )
        return self


class WritableService(Section):
    """A service that may be called."""

    name: AbsoluteName
    type: ServiceType

    @model_validator(mode="after")
    def _is_no_back_door(self) -> "WritableService":
        if "/_action/" in self.name:
            raise field_error(f"'{self.name}' belongs to an action; list the action under ros_writes.actions", "name")
        if self.name.startswith("/rosapi/"):
            raise field_error(f"'{self.name}' is covered by tools of its own; leave it out", "name")
        if self.name.endswith(_PARAMETER_SERVICES):
            raise field_error(f"'{self.name}' sets parameters; list those under ros_writes.parameters", "name")
        return self


class WritableAction(Section):
    """An action that goals may be sent to. It has a type because rosbridge loses a goal of the wrong one."""

    name: AbsoluteName
    type: ActionType
    max_duration_s: Positive = 60.0
    """ROS time [s] after which its goal is canceled."""


class RosWrites(Section):
    """The section `ros_writes` of site.yaml."""

    topics: list[WritableTopic] = []
    services: list[WritableService] = []
    actions: list[WritableAction] = []
    parameters: list[ParameterName] = []

    @model_validator(mode="after")
    def _names_are_unique(self) -> "RosWrites":
        for field, entries in {"topics": self.topics, "services": self.services, "actions": self.actions}.items():
            seen: set[str] = set()
            for number, entry in enumerate(entries):
                if entry.name in seen:
                    raise field_error(f"'{entry.name}' is there twice; names must differ", field, number, "name")
                seen.add(entry.name)
        for number, name in enumerate(self.parameters):
            if name in self.parameters[:number]:
                raise field_error(f"'{name}' is there twice; names must differ", "parameters", number)
        return self
