"""The policy's limits on what moves: geofence, speeds, workspace, payload, phases. Checked before a goal is sent."""

import asyncio
import math
from collections.abc import Callable, Sequence

from quartet_robot_link import (
    BasePose,
    BridgeUnavailableError,
    CallTimeoutError,
    Message,
    Robot,
    RobotLinkError,
    TransformUnavailableError,
)
from quartet_robot_link.geometry import Vector
from quartet_site import PolicyFile, SiteFile, WritableTopic, normalise
from quartet_tool_server import _goal_targets as goals
from quartet_tool_server._geofence import GeofenceCheck
from quartet_tool_server._goal_targets import Joints, Place, ToolPoint, Way
from quartet_tool_server.errors import OutsideWorkspaceError, OverLimitError, UnjudgeableError, WrongPhaseError

SETTLE_S = 1.0
"""Wall time in which the part that moved last may come to rest."""
MOVEIT_SUCCESS = 1
SLACK = 1e-6
"""Tolerance, so that a value at its cap passes despite rounding."""


class MotionLimits:
    """The limits of one policy for one robot. `agent` returns the agent of the running call."""

    def __init__(self, policy: PolicyFile, robot: Robot, site: SiteFile, *, agent: Callable[[], str]) -> None:
        self._policy, self._robot, self._agent = policy, robot, agent
        self._masses = {name: item.mass_kg for item in site.objects for name in (item.name, *item.aliases)}
        self._bounds = GeofenceCheck(policy.geofence, site)

    async def check_goal(
        self, tool: str, action: str, action_type: str, goal: Message, *, generic: bool = False
    ) -> None:
        """Check a goal that `tool` is about to send; `generic`: the goal is the caller's own, not built by the tool.

        Raises OutsideGeofenceError, OutsideWorkspaceError, OverLimitError, WrongPhaseError, UnjudgeableError, and
        RobotLinkError where the robot does not report what a limit needs to know.
        """
        kind = goals.short(action_type)
        if kind in goals.HARMLESS or (generic and action in self._policy.unchecked.actions):
            return
        if kind in goals.BASE:
            await self._check_base(tool, kind, goal)
            await self._check_arm_rests()
        elif kind in goals.ARM:
            await self._check_arm(kind, goal, generic=generic)
            await self._check_base_stands()
        elif kind in goals.GRIPPER:
            if generic:
                self.check_release(tool, "whether something is in the gripper is not known here")
        elif generic:
            raise UnjudgeableError(
                f"what {action_type} does cannot be judged by the policy; a person can list '{action}' under "
                "unchecked.actions in policy.yaml. Nothing moved."
            )

    async def check_way(self, tool: str, x: float, y: float) -> None:
        """A straight way from where the base stands to (x, y) [m] of the base frame. Raises as check_goal."""
        if self._bounds.bounded:
            here = await self._here()
            cos, sin = math.cos(here.yaw), math.sin(here.yaw)
            end = (here.x + cos * x - sin * y, here.y + sin * x + cos * y)
            self._bounds.check_way((here.x, here.y), end, f"{tool}: the end")

    async def check_message(self, permit: WritableTopic, message: Message) -> None:
        """A message to a topic that the site allows; velocities are judged by check_velocity. Raises as check_goal."""
        kind = goals.plain(permit.type)
        if permit.name in self._policy.unchecked.topics:
            return
        if kind == "geometry_msgs/PoseStamped":
            await self._check_place(f"a pose on {permit.name}", goals.place(message))
            await self._check_arm_rests()
        elif kind in goals.MOVING_MESSAGES:
            raise UnjudgeableError(
                f"what a {permit.type} on {permit.name} does cannot be judged by the policy; a person can list it "
                "under unchecked.topics in policy.yaml. Nothing was sent."
            )

    async def check_velocity(self, tool: str, steps: Sequence[tuple[Message, float]]) -> None:
        """Twists, each held for its seconds, from where the base stands. Raises as check_goal.

        However it turns, the base gets no further than its speed times the time.
        """
        if not steps:
            return
        reach = 0.0
        for twist, seconds in steps:
            linear, angular = _size(twist.get("linear")), _size(twist.get("angular"))
            self._check_speed("linear velocity", linear, self._policy.speed.base_m_s, "m/s", "speed.base_m_s")
            self._check_speed("angular velocity", angular, self._policy.speed.base_rad_s, "rad/s", "speed.base_rad_s")
            reach += linear * seconds
        if self._bounds.bounded and reach > 0:
            here = await self._here()
            self._bounds.check_around(here.x, here.y, reach, tool)
        await self._check_arm_rests()

    def check_payload(self, name: str) -> None:
        """Check the mass of a catalogue object before a grasp. Raises OverLimitError."""
        mass, cap = self._masses.get(normalise(name)), self._policy.payload_kg
        if mass is not None and cap is not None and mass > cap:
            raise OverLimitError(
                f"'{name}' weighs {mass:g} kg by the catalogue, at most {cap:g} kg is allowed (policy rule "
                "payload_kg). Nothing moved."
            )

    @property
    def may_release(self) -> bool:
        """Whether the caller may open the gripper while something is in it."""
        return self._agent() not in self._policy.phases.no_release

    def check_release(self, tool: str, because: str) -> None:
        """Opening the gripper while something is, or may be, in it. Raises WrongPhaseError."""
        if not self.may_release:
            barred = ", ".join(self._policy.phases.no_release)
            raise WrongPhaseError(
                f"{tool}: '{self._agent()}' may not open the gripper: {because} (policy rule phases.no_release: "
                f"{barred}). Nothing moved."
            )

    async def _check_base(self, tool: str, kind: str, goal: Message) -> None:
        if kind == "UndockRobot":
            await self.check_way(tool, -self._policy.geofence.undock_m, 0.0)
        elif kind == "DockRobot":
            await self._check_dock(tool, goal)
        elif kind in {"Spin", "DriveOnHeading", "BackUp"}:
            way: Way = goals.way(kind, goal)
            if way.speed is not None:
                self._check_speed("speed", way.speed, self._policy.speed.base_m_s, "m/s", "speed.base_m_s")
            await self.check_way(tool, way.x, way.y)
        else:
            found = goals.places(kind, goal)
            if not found:
                raise UnjudgeableError(f"{tool}: the goal has no pose. Nothing moved.")
            for number, place in enumerate(found):
                which = f" {number} (counted from 0)" if len(found) > 1 else ""
                await self._check_place(f"{tool}: the goal{which}", place)

    async def _check_dock(self, tool: str, goal: Message) -> None:
        if not goal.get("use_dock_id"):
            await self._check_place(f"{tool}: the dock", goals.place(goal.get("dock_pose") or {}))
            return
        if not self._bounds.bounded:
            return
        name, docks = str(goal.get("dock_id")), self._policy.geofence.docks
        if name not in docks:
            raise UnjudgeableError(
                f"{tool}: where dock '{name}' is, is not known here, and the base is kept to a geofence; docks of "
                f"geofence.docks in policy.yaml: {', '.join(docks) or 'none'}. Nothing moved."
            )
        self._bounds.check(docks[name].x, docks[name].y, f"{tool}: dock '{name}'")

    async def _check_place(self, what: str, place: Place) -> None:
        if not self._bounds.bounded:
            return
        names = self._robot.file.frames
        x, y = place.x, place.y
        if place.frame != names.map:
            found = await self._robot.transform(names.map, place.frame, stamp=place.stamp, timeout_s=1.0)
            x, y, _ = found.apply((x, y, 0.0))
        self._bounds.check(x, y, what)

    async def _check_arm(self, kind: str, goal: Message, *, generic: bool) -> None:
        cap = self._policy.speed.arm_scale
        if cap is not None and kind == "MoveGroup":
            for name, value in goals.arm_scales(goal):
                if not 0 < value <= cap + SLACK:
                    raise OverLimitError(
                        f"{name} {value:g} is not allowed; allowed: above 0, at most {cap:g} (policy rule "
                        "speed.arm_scale). Nothing moved."
                    )
        elif cap is not None and generic:
            raise UnjudgeableError(
                "how fast a given trajectory is cannot be judged; plan it with MoveIt. Nothing moved."
            )
        box = self._policy.workspace
        if box is None:
            return
        arm, frames = self._robot.file.arm, self._robot.file.frames
        targets = goals.arm_targets(kind, goal, arm.joints, frames.tool, on_the_way=generic)
        for point, margin in await asyncio.gather(*(self._flange(target) for target in targets)):
            for axis, value, low, high in zip("xyz", point, box.minimum, box.maximum, strict=True):
                if not low - SLACK <= value - margin <= value + margin <= high + SLACK:
                    at = ", ".join(f"{part:.2f}" for part in point)
                    raise OutsideWorkspaceError(
                        f"the tool flange would be at ({at}) in {frames.base}; allowed in {axis}: {low:g} to {high:g} "
                        "m (policy rule workspace). Nothing moved."
                    )

    async def _flange(self, target: Joints | ToolPoint) -> tuple[Vector, float]:
        """Return the flange's target in the base frame [m], and how far from it the motion may end [m]."""
        names, arm = self._robot.file.frames, self._robot.file.arm
        if isinstance(target, ToolPoint):
            if target.frame == names.base:
                return target.point, target.tolerance
            found = await self._robot.transform(names.base, target.frame, timeout_s=1.0)
            return found.apply(target.point), target.tolerance
        response = await self._robot.link.call_service(
            self._robot.file.services.compute_fk,
            {
                "header": {"frame_id": names.base},
                "fk_link_names": [names.tool],
                "robot_state": {"is_diff": True, "joint_state": {"name": arm.joints, "position": target.positions}},
            },
        )
        poses: list[Message] = response.get("pose_stamped") or []
        code: Message = response.get("error_code") or {}
        if code.get("val") != MOVEIT_SUCCESS or not poses:
            raise UnjudgeableError(
                "MoveIt does not say where the tool would be, so the workspace cannot be kept. Nothing moved."
            )
        at: Message = poses[0]["pose"]["position"]
        return (float(at["x"]), float(at["y"]), float(at["z"])), 0.0

    async def _here(self) -> BasePose:
        try:
            return await self._robot.base_pose(timeout_s=1.0)
        except TransformUnavailableError as error:
            if self._robot.link.connected:
                raise
            raise BridgeUnavailableError(
                f"no connection to the robot's rosbridge, so where the base stands is not known: {error}"
            ) from error

    async def _check_base_stands(self) -> None:
        if not self._policy.phases.arm_or_base:
            return
        try:
            stands = await self._robot.wait_standstill(timeout_s=SETTLE_S)
        except BridgeUnavailableError:
            raise
        except RobotLinkError as error:
            raise WrongPhaseError(f"whether the base stands still cannot be told: {error}. {_EITHER}") from error
        if not stands:
            raise WrongPhaseError(f"the base drives; the arm moves when it stands still. {_EITHER}")

    async def _check_arm_rests(self) -> None:
        if not self._policy.phases.arm_or_base:
            return
        try:
            rests = await self._robot.wait_arm_at_rest(timeout_s=SETTLE_S)
        except CallTimeoutError as error:
            raise WrongPhaseError(f"whether the arm moves cannot be told: {error}. {_EITHER}") from error
        if not rests:
            raise WrongPhaseError(f"the arm moves; the base drives when it is at rest. {_EITHER}")

    def _check_speed(self, what: str, value: float, cap: float | None, unit: str, rule: str) -> None:
        if cap is not None and value > cap + SLACK:
            raise OverLimitError(
                f"{what} {value:g} {unit} is not allowed; allowed: at most {cap:g} {unit} (policy rule {rule}). "
                "Nothing moved."
            )


_EITHER = "Either the arm or the base (policy rule phases.arm_or_base). Nothing moved."


def _size(vector: Message | None) -> float:
    values = vector or {}
    return math.hypot(*(goals.number(values.get(axis), axis) for axis in "xyz"))
