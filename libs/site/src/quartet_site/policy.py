"""The policy file: what a site allows its agents, whatever a model says. The servers check it before anything moves.

Every section may be left out; docs/policy.md says what holds then.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from quartet_site.errors import misfit
from quartet_site.outline import area_of
from quartet_site.robot import Finite, Positive, RobotFile, Section
from quartet_site.site import Name, Pose2D, SiteFile
from quartet_site.writes import AbsoluteName

AgentName = Annotated[str, Field(pattern=r"^([a-z][a-z0-9_-]{0,31}|\*)$")]
"""`sub` of a grant; `*` is everybody who is not listed."""
ToolPattern = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*__([a-z][a-z0-9_]*\*?|\*)$", max_length=128)]
"""`<server>__<tool>`; a `*` at the end stands for any rest."""
ToolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*__[a-z][a-z0-9_]*$", max_length=128)]
Point = tuple[Finite, Finite, Finite]

SMALLEST_M2 = 0.01
"""A polygon of less area is a typing mistake."""


def _of(info: ValidationInfo, key: str, kind: type[Any]) -> Any:
    """The file that the policy goes with, where the loader has it."""
    context: dict[str, Any] = info.context or {}
    value = context.get(key)
    return value if isinstance(value, kind) else None


class Zone(Section):
    """A polygon on the floor of the map."""

    name: Name
    outline: Annotated[list[tuple[Finite, Finite]], Field(min_length=3)]
    """Corners in order [m]."""

    @field_validator("outline")
    @classmethod
    def _has_an_area(cls, outline: list[tuple[float, float]]) -> list[tuple[float, float]]:
        if area_of(outline) < SMALLEST_M2:
            raise ValueError(f"the polygon has an area of {area_of(outline):.3f} m2, at least {SMALLEST_M2} is valid")
        return outline


class Geofence(Section):
    """Where the base may be sent: into any of `areas` and `zones`, and into none of `forbidden`."""

    areas: Literal["all", "any place"] | list[Name] = "all"
    """Areas of site.yaml by name; all of them; or no bounds but the forbidden zones."""
    zones: list[Zone] = []
    forbidden: list[Zone] = []
    margin_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """The base's middle keeps this far from forbidden zones."""
    docks: dict[str, Pose2D] = {}
    """Where the docks are that dock_robot may be told by name, map frame; others are refused."""
    undock_m: Positive = 1.0
    """How far undock_robot may drive back."""

    @property
    def bounded(self) -> bool:
        """Whether there is any place where the base may not be sent."""
        return self.areas != "any place" or bool(self.forbidden)

    @model_validator(mode="after")
    def _fits_the_site(self, info: ValidationInfo) -> "Geofence":
        site = _of(info, "site", SiteFile)
        if site is not None and isinstance(self.areas, list):
            known = [area.name for area in site.areas]
            for number, name in enumerate(self.areas):
                if name not in known:
                    raise misfit(f"'{name}' is no area of site.yaml; valid: {', '.join(known)}", "areas", number)
        if self.areas == [] and not self.zones:
            raise misfit("with no areas and no zones the base may go nowhere; list some, or 'all'", "areas")
        return self


class Workspace(Section):
    """Box in the base frame that the tool flange (frames.tool) may be sent into [m]."""

    minimum: Point
    maximum: Point

    @model_validator(mode="after")
    def _is_a_box(self) -> "Workspace":
        for axis, low, high in zip("xyz", self.minimum, self.maximum, strict=True):
            if low >= high:
                raise misfit(f"minimum {axis} {low:g} is not below maximum {axis} {high:g}", "maximum")
        return self


class SpeedCaps(Section):
    """What a call may ask for at most. A cap that is left out is that of the robot file."""

    base_m_s: Positive | None = None
    base_rad_s: Positive | None = None
    arm_scale: Annotated[float, Field(gt=0, le=1)] | None = None
    """Scaling factor of MoveIt, for speed and for acceleration."""

    @model_validator(mode="after")
    def _robot_keeps_them(self, info: ValidationInfo) -> "SpeedCaps":
        robot = _of(info, "robot", RobotFile)
        if robot is not None:
            if self.base_m_s is not None and robot.approach.speed_m_s > self.base_m_s:
                raise misfit(
                    f"robot.yaml drives in at approach.speed_m_s {robot.approach.speed_m_s:g}, faster than this cap "
                    f"{self.base_m_s:g}; lower that one, so that the agents keep to it",
                    "base_m_s",
                )
            if self.arm_scale is not None and robot.arm.speed_scale > self.arm_scale:
                raise misfit(
                    f"robot.yaml has arm.speed_scale {robot.arm.speed_scale:g}, above this cap {self.arm_scale:g}; "
                    "lower that one, so that the servers keep to it",
                    "arm_scale",
                )
        return self


class Phases(Section):
    """What may not happen at the same time, or not now."""

    arm_or_base: bool = True
    """The arm does not start while the base drives, nor the base while the arm moves."""
    no_release: list[AgentName] = ["approach", "pick"]
    """Agents that may not open the gripper while something is in it."""


class Rates(Section):
    """Calls in one minute of wall time, of all callers together. What only looks, and what stops, is not counted."""

    per_tool: Annotated[int, Field(ge=1)] = 600
    """Of every tool that is not listed."""
    tools: dict[ToolName, Annotated[int, Field(ge=1)]] = {}


class Range(Section):
    """Which values of an argument a rule is about."""

    min: Finite | None = None
    max: Finite | None = None
    """Both ends belong to the range."""
    one_of: Annotated[list[str | bool | float | None], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Range":
        if self.one_of is None and self.min is None and self.max is None:
            raise misfit("give min, max or one_of")
        if self.one_of is not None and (self.min is not None or self.max is not None):
            raise misfit("one_of does not go with min and max", "one_of")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise misfit(f"min {self.min:g} is above max {self.max:g}; valid: at least {self.min:g}", "max")
        return self


class ApprovalRule(Section):
    """What becomes of a call that it fits: the first rule that fits holds; a call that none fits is `auto`."""

    tool: ToolPattern
    agents: list[AgentName] = ["*"]
    when: dict[Annotated[str, Field(pattern=r"^[a-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$")], Range] = {}
    """By argument; `target.position.2` is the third number of the field `position` of the argument `target`. All must
    fit. A value that cannot be compared fits `ask` and `deny`, and does not fit `auto`."""
    then: Literal["auto", "ask", "deny"]
    because: Annotated[str, Field(max_length=200)] = ""
    """Told to the person who is asked, and to the agent that is refused."""


class Unchecked(Section):
    """Generic writes of the ros server that the policy cannot judge and lets through all the same."""

    actions: list[AbsoluteName] = []
    topics: list[AbsoluteName] = []


class PolicyFile(Section):
    """policy.yaml, whole."""

    agents: dict[AgentName, list[ToolPattern]] = {}
    """Tools of its grant that an agent may use. Narrower than the grant, never wider; who is not listed may use all of
    its grant."""
    geofence: Geofence = Geofence()
    workspace: Workspace | None = None
    speed: SpeedCaps = SpeedCaps()
    payload_kg: Positive | None = None
    """Heaviest object of the catalogue that a grasp may be planned for."""
    phases: Phases = Phases()
    rates: Rates = Rates()
    approval: list[ApprovalRule] = []
    approval_wait_s: Annotated[float, Field(gt=0, le=3600)] = 300.0
    """A call whose approval has not come by then is refused."""
    unchecked: Unchecked = Unchecked()
