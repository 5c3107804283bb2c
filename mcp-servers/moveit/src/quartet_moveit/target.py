"""Arm goal: pose, joints or named state."""

import math
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import MoveitCode
from quartet_robot_link import Message, Robot
from quartet_robot_link.geometry import Rigid, unit
from quartet_tool_server import Finite, InvalidArgumentsError, Orientation, Position, ToolError

MAX_DISTANCE_M = 3.0
"""A pose further from the base than this cannot be meant for the arm; it is most likely in another frame."""


class Target(BaseModel):
    """Exactly one of: position + orientation (+ frame_id), joint_positions, state_name."""

    model_config = ConfigDict(extra="forbid")

    position: Annotated[Position | None, Field(description="x, y, z of the tool flange [m] in frame_id")] = None
    orientation: Annotated[
        Orientation | None,
        Field(description="quaternion x, y, z, w of the tool flange; (1, 0, 0, 0) points the fingers straight down"),
    ] = None
    frame_id: Annotated[str | None, Field(description="frame of the pose; the base frame when left out")] = None
    joint_positions: Annotated[
        list[Finite] | None, Field(description="one angle [rad] for every joint of the arm, in the order of robot.yaml")
    ] = None
    state_name: Annotated[str | None, Field(description="a named arm state of robot.yaml, e.g. look_forward")] = None

    @property
    def kind(self) -> Literal["pose", "joint_state", "named_state"]:
        """Which of the three it is."""
        if self.state_name is not None:
            return "named_state"
        return "pose" if self.joint_positions is None else "joint_state"

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [
            name
            for name, there in (
                ("position + orientation", self.position is not None or self.orientation is not None),
                ("joint_positions", self.joint_positions is not None),
                ("state_name", self.state_name is not None),
            )
            if there
        ]
        if len(given) != 1:
            raise ValueError(
                "give exactly one of: position + orientation (+ frame_id), joint_positions, state_name; "
                f"this has {' and '.join(given) or 'none of them'}"
            )
        if self.kind == "pose" and (self.position is None or self.orientation is None):
            missing = "position" if self.position is None else "orientation"
            raise ValueError(f"a pose needs position and orientation; {missing} is missing")
        if self.kind != "pose" and self.frame_id is not None:
            raise ValueError(f"frame_id goes with a pose, not with {given[0]}")
        return self


def check_group(group: str | None, robot: Robot) -> str:
    """The planning group. Raises ToolError INVALID_GROUP."""
    own = robot.file.arm.group
    if group not in {None, "", own}:
        raise ToolError(f"group '{group}' is not known; valid: {own}", code=MoveitCode.INVALID_GROUP)
    return own


def joints_of(target: Target, robot: Robot) -> list[float]:
    """Joint positions of a joint or named target. Raises ToolError UNKNOWN_STATE, InvalidArgumentsError."""
    arm = robot.file.arm
    if target.state_name is not None:
        values = arm.named_states.get(target.state_name)
        if values is None:
            raise ToolError(
                f"state '{target.state_name}' is not known; valid: {', '.join(sorted(arm.named_states))}",
                code=MoveitCode.UNKNOWN_STATE,
            )
        return list(values)
    values = target.joint_positions or []
    if len(values) != len(arm.joints):
        raise InvalidArgumentsError(
            f"joint_positions has {len(values)} values; valid: {len(arm.joints)}, for {', '.join(arm.joints)}"
        )
    limit = arm.joint_limit_rad
    beyond = [f"{name} {value:g}" for name, value in zip(arm.joints, values, strict=True) if abs(value) > limit]
    if beyond:
        raise InvalidArgumentsError(
            f"joint_positions out of range: {', '.join(beyond)}; valid: -{limit:g} to {limit:g} rad"
        )
    return list(values)


async def in_base(
    robot: Robot,
    position: tuple[float, float, float],
    orientation: tuple[float, float, float, float],
    frame_id: str | None,
    *,
    within_m: float = MAX_DISTANCE_M,
) -> Pose3D:
    """A pose of any frame in the base frame, now; at most `within_m` away.

    Raises TransformUnavailableError, InvalidArgumentsError.
    """
    base = robot.file.frames.base
    placed = Rigid(position, orientation)
    if frame_id not in {None, "", base}:
        placed = (await robot.transform(base, str(frame_id), timeout_s=1.0)).rigid @ placed
    x, y, z = placed.translation
    distance = math.hypot(x, y, z)
    if distance > within_m:
        raise InvalidArgumentsError(
            f"the pose ({x:.2f}, {y:.2f}, {z:.2f}) in {base} is {distance:.1f} m away; valid: at most "
            f"{within_m:g} m. Is its frame_id right?"
        )
    return Pose3D(frame_id=base, position=(x, y, z), orientation=unit(placed.rotation))


def pose_message(pose: Pose3D) -> Message:
    """geometry_msgs/msg/Pose."""
    x, y, z = pose.position
    qx, qy, qz, qw = pose.orientation
    return {"position": {"x": x, "y": y, "z": z}, "orientation": {"x": qx, "y": qy, "z": qz, "w": qw}}
