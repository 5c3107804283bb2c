"""The policy file: what a site allows its agents, whatever a model asks for. The servers check it before every motion.

Every section may be left out; docs/policy.md says what holds then.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from quartet_site._outline import Outline
from quartet_site._robot import RobotFile
from quartet_site._ros_writes import AbsoluteName
from quartet_site._section import Finite, Positive, Section, form
from quartet_site.errors import field_error
from quartet_site.site import Name, Pose2D, SiteFile

AgentName = Annotated[
    str, form(r"[a-z][a-z0-9_-]{0,31}|\*", "the name of an agent in lower case, such as pick, or * for all")
]
"""The `sub` of a grant; `*` is every agent that is not listed."""
ToolPattern = Annotated[
    str,
    Field(max_length=128),
    form(r"[a-z][a-z0-9_]*__([a-z][a-z0-9_]*\*?|\*)", "SERVER__TOOL, such as nav2__navigate_to_pose or moveit__*"),
]
"""`<server>__<tool>`; a `*` at the end stands for any rest."""
ToolName = Annotated[
    str,
    Field(max_length=128),
    form(r"[a-z][a-z0-9_]*__[a-z][a-z0-9_]*", "SERVER__TOOL without *, such as nav2__navigate_to_pose"),
]
Point = tuple[Finite, Finite, Finite]


def _of(info: ValidationInfo, key: str, kind: type[Any]) -> Any:
    """Return the robot or site file that the policy belongs to, None when the loader was given none."""
    context: dict[str, Any] = info.context or {}
    value = context.get(key)
    return value if isinstance(value, kind) else None


class Zone(Section):
    """A polygon on the floor of the map."""

    name: Name
    outline: Outline
    """Corners in order [m]."""


class Geofence(Section):
    """Where the base may be sent: into any of `areas` and `zones`, and into none of `forbidden`."""

    areas: Literal["all", "any place"] | list[Name] = "all"
    """Areas of site.yaml by name; all of them; or no bounds but the forbidden zones."""
    zones: list[Zone] = []
    forbidden: list[Zone] = []
    margin_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """Distance that the middle of the base keeps from forbidden zones [m]."""
    docks: dict[str, Pose2D] = {}
    """Docks that dock_robot may be given by name, with their poses in the map frame; others are refused."""
    undock_m: Positive = 1.0
    """How far undock_robot may drive back [m]."""

    @property
    def bounded(self) -> bool:
        """Whether there is any place that the base may not be sent to."""
        return self.areas != "any place" or bool(self.forbidden)

    @model_validator(mode="after")
    def _fits_the_site(self, info: ValidationInfo) -> "Geofence":
        site = _of(info, "site", SiteFile)
        if site is not None and isinstance(self.areas, list):
            known = [area.name for area in site.areas]
            for number, name in enumerate(self.areas):
                if name not in known:
                    raise field_error(f"'{name}' is no area of site.yaml; valid: {', '.join(known)}", "areas", number)
        if self.areas == [] and not self.zones:
            raise field_error("with no areas and no zones the base may go nowhere; list some, or 'all'", "areas")
        return self


class Workspace(Section):
    """Box in the base frame that the tool flange (frames.tool) may be sent into [m]."""

    minimum: Point
    maximum: Point

    @model_validator(mode="after")
    def _is_a_box(self) -> "Workspace":
        for axis, low, high in zip("xyz", self.minimum, self.maximum, strict=True):
            if low >= high:
                raise field_error(f"minimum {axis} {low:g} is not below maximum {axis} {high:g}", "maximum")
        return self


class SpeedCaps(Section):
    """Largest speeds that a call may ask for. A cap that is left out is the robot file's."""

    base_m_s: Positive | None = None
    base_rad_s: Positive | None = None
    arm_scale: Annotated[float, Field(gt=0, le=1)] | None = None
    """Scaling factor of MoveIt, for speed and for acceleration."""

    @model_validator(mode="after")
    def _robot_keeps_them(self, info: ValidationInfo) -> "SpeedCaps":
        robot = _of(info, "robot", RobotFile)
        if robot is not None:
            if self.base_m_s is not None and robot.approach.speed_m_s > self.base_m_s:
                raise field_error(
                    f"robot.yaml drives in at approach.speed_m_s {robot.approach.speed_m_s:g}, faster than this cap "
                    f"{self.base_m_s:g}; lower that one, so that the agents keep to it",
                    "base_m_s",
                )
            if self.arm_scale is not None and robot.arm.speed_scale > self.arm_scale:
                raise field_error(
                    f"robot.yaml has arm.speed_scale {robot.arm.speed_scale:g}, above this cap {self.arm_scale:g}; "
                    "lower that one, so that the servers keep to it",
                    "arm_scale",
                )
        return self


class Phases(Section):
    """Motions that exclude each other, and agents that may not release an object."""

    arm_or_base: bool = True
    """Whether the arm may not start while the base drives, nor the base while the arm moves."""
    no_release: list[AgentName] = ["approach", "pick"]
    """Agents that may not open the gripper while it holds something, except where this request grasped that."""


class Rates(Section):
    """Calls per minute of wall time, of all callers together; read-only and stopping tools are not counted."""

    per_tool: Annotated[int, Field(ge=1)] = 600
    """Limit of every tool that is not listed."""
    tools: dict[ToolName, Annotated[int, Field(ge=1)]] = {}


class Range(Section):
    """Values of an argument that a rule applies to."""

    min: Finite | None = None
    max: Finite | None = None
    """Both ends are inside the range."""
    one_of: Annotated[list[str | bool | float | None], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Range":
        if self.one_of is None and self.min is None and self.max is None:
            raise field_error("give min, max or one_of")
        if self.one_of is not None and (self.min is not None or self.max is not None):
            raise field_error("one_of does not go with min and max", "one_of")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise field_error(f"min {self.min:g} is above max {self.max:g}; valid: at least {self.min:g}", "max")
        return self


class ApprovalRule(Section):
    """What happens to a call that the rule matches: the first match counts, a call without one is `auto`."""

    tool: ToolPattern
    agents: list[AgentName] = ["*"]
    when: dict[
        Annotated[
            str,
            form(r"[a-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*", "an argument with its fields, such as target.position.2"),
        ],
        Range,
    ] = {}
    """By argument; `target.position.2` is the third number of the field `position` of the argument `target`. All must
    match. A value that cannot be compared matches `ask` and `deny`, not `auto`."""
    then: Literal["auto", "ask", "deny"]
    because: Annotated[str, Field(max_length=200)] = ""
    """Reason shown to the person who is asked, and to the agent that is refused."""


class Unchecked(Section):
    """Generic writes of the ros server that the policy cannot check and allows all the same."""

    actions: list[AbsoluteName] = []
    topics: list[AbsoluteName] = []


ProgramRule = Literal["auto", "ask", "deny"]


class PolicyFile(Section):
    """policy.yaml, whole."""

    agents: dict[AgentName, list[ToolPattern]] = {}
    """Tools of its grant that an agent may use: narrower than the grant, never wider. An agent that is not listed may
    use all of its grant."""
    geofence: Geofence = Geofence()
    workspace: Workspace | None = None
    speed: SpeedCaps = SpeedCaps()
    payload_kg: Positive | None = None
    """Heaviest object of the catalogue that a grasp may be planned for [kg]."""
    phases: Phases = Phases()
    rates: Rates = Rates()
    approval: list[ApprovalRule] = []
    approval_wait_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """Wall time [s] after which a call without an answer is refused."""
    programs: ProgramRule = "auto"
    """Whether programs that a team of models writes for the arm run: each at once, after a person's word, or never.
    Their calls of the servers are judged by all of this file in any case."""
    unchecked: Unchecked = Unchecked()
