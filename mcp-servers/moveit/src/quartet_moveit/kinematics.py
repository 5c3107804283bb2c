"""get_current_pose, get_current_joint_state, compute_fk, compute_ik, check_state_collision, list_planning_groups."""

import asyncio
import random
import time
from typing import Annotated, Any

from pydantic import Field

from quartet_contracts.tools import Pose3D
from quartet_contracts.tools.moveit import (
    Contact,
    CurrentPoseResult,
    JointStateResult,
    LinkPoseResult,
    MoveitCode,
    PlanningGroup,
    PlanningGroupsResult,
    StateCollisionResult,
)
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.arm import arm_joints, link_pose, moveit_code
from quartet_moveit.codes import ADVICE, SUCCESS, name_of, tool_code
from quartet_moveit.planner import Planner
from quartet_moveit.requests import ik_request
from quartet_moveit.target import Target, check_group, in_base, joints_of
from quartet_robot_link import Message, number
from quartet_tool_server import Finite, Orientation, Position, ToolError, ToolServer

MAX_IK_S = 10.0
MAX_ATTEMPTS = 50
INVALID_LINK_NAME = -18
SEED_RANGE_RAD = 3.1416

JointPositions = Annotated[list[Finite], Field(description="rad, in the order of list_planning_groups")]


def register(server: ToolServer, planner: Planner) -> None:  # noqa: C901 - a list of small functions
    """Add the tools of this module: 6 in all."""
    robot, arm, frames, services = (
        server.robot,
        server.robot.file.arm,
        server.robot.file.frames,
        server.robot.file.services,
    )

    @server.tool(read_only=True)
    async def get_current_pose(group: str | None = None, link_name: str | None = None) -> CurrentPoseResult:
        """Where the tool flange is now (base frame; position m, orientation x,y,z,w) and all joint positions (rad).

        group and link_name (another link) may be left out. Failures: TRANSFORM_UNAVAILABLE (also for an unknown link)
        or TIMEOUT (the arm's driver is silent), INVALID_GROUP, BRIDGE_UNAVAILABLE.
        """
        check_group(group, robot)
        pose, joints = await asyncio.gather(link_pose(robot, link_name), robot.joint_positions())
        return CurrentPoseResult(pose=pose, joint_positions=joints)

    @server.tool(read_only=True)
    async def get_current_joint_state(group: str | None = None) -> JointStateResult:
        """Where the joints of the arm are now [rad].

        Failures: INVALID_GROUP, TIMEOUT (the arm's driver is silent), BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        return JointStateResult(group=chosen, joint_names=arm.joints, joint_positions=await arm_joints(robot))

    @server.tool(read_only=True)
    async def compute_fk(
        joint_positions: JointPositions, group: str | None = None, link_name: str | None = None
    ) -> LinkPoseResult:
        """Where a link would be, with the arm's joints at these positions: pose in the base frame; nothing moves.

        link_name: the tool flange when left out. Failures: INVALID_PARAMETERS (wrong joints or link), INVALID_GROUP,
        ROS_ERROR (MoveIt is not running), TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        check_group(group, robot)
        link = link_name or frames.tool
        response = await robot.link.call_service(
            services.compute_fk,
            {"header": {"frame_id": frames.base}, "fk_link_names": [link], "robot_state": state(joint_positions)},
        )
        code = moveit_code(response)
        if code != SUCCESS or not response.get("pose_stamped"):
            wire = CommonCode.INVALID_PARAMETERS if code == INVALID_LINK_NAME else CommonCode.ROS_ERROR
            raise ToolError(f"no pose of link '{link}': {_said(response)}", code=wire, link_name=link[:64])
        stamped = response["pose_stamped"][0]
        position, q = stamped["pose"]["position"], stamped["pose"]["orientation"]
        pose = Pose3D(
            frame_id=str(stamped["header"]["frame_id"]),
            position=(position["x"], position["y"], position["z"]),
            orientation=(q["x"], q["y"], q["z"], q["w"]),
        )
        return LinkPoseResult(link_name=link, pose=pose)

    @server.tool(read_only=True)
    async def compute_ik(
        position: Position,
        orientation: Orientation,
        group: str | None = None,
        frame_id: str | None = None,
        timeout: Annotated[Finite, Field(gt=0, le=MAX_IK_S, description="s for all attempts")] = 5.0,  # noqa: ASYNC109
        attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = 10,
    ) -> JointStateResult:
        """Joint positions that bring the tool flange to a pose without a collision; nothing moves.

        position [x,y,z] m and orientation [x,y,z,w] in frame_id (the base frame when left out). The solution near the
        arm's present joints is looked for first, then from random ones. Failures: OUT_OF_REACH (also when every
        solution touches something), INVALID_GROUP, INVALID_PARAMETERS, TRANSFORM_UNAVAILABLE, TIMEOUT,
        BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        pose = await in_base(robot, position, orientation, frame_id)
        request = ik_request(robot, chosen, pose, avoid_collisions=True)
        deadline, seeds = time.monotonic() + timeout, random.Random(0)
        response: Message = {}
        for attempt in range(attempts):
            if attempt > 0:
                if time.monotonic() > deadline:
                    break
                near = [seeds.uniform(-SEED_RANGE_RAD, SEED_RANGE_RAD) for _ in arm.joints]
                request["ik_request"]["robot_state"] = joint_state(near)
            response = await planner.look(services.compute_ik, request)
            if moveit_code(response) == SUCCESS:
                found = response["solution"]["joint_state"]
                by_name = dict(zip(found["name"], map(float, found["position"]), strict=True))
                return JointStateResult(
                    group=chosen, joint_names=arm.joints, joint_positions=[by_name[name] for name in arm.joints]
                )
        wire = tool_code(moveit_code(response), planned=False)
        x, y, z = pose.position
        raise ToolError(
            f"no free joint positions bring the tool to ({x:.3f}, {y:.3f}, {z:.3f}) in {pose.frame_id}: "
            f"{_said(response)}; {ADVICE.get(wire, '')}".rstrip("; "),
            code=MoveitCode.OUT_OF_REACH if wire == MoveitCode.PLANNING_FAILED else wire,
        )

    @server.tool(read_only=True)
    async def check_state_collision(joint_positions: JointPositions, group: str | None = None) -> StateCollisionResult:
        """Whether the arm, or what it holds, would touch something with its joints at these positions; nothing moves.

        contacts say what: links of the robot, added objects by their id, <octomap> for what the sensors see.
        Failures: INVALID_PARAMETERS (wrong joints), INVALID_GROUP, ROS_ERROR, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        response = await planner.look(
            services.check_state_validity, {"group_name": chosen, "robot_state": state(joint_positions)}
        )
        contacts = [
            Contact(
                first=str(item["contact_body_1"]),
                second=str(item["contact_body_2"]),
                depth_m=number(item.get("depth")),
            )
            for item in response.get("contacts") or []
        ]
        return StateCollisionResult(in_collision=not response.get("valid"), contacts=contacts)

    @server.tool(read_only=True)
    async def list_planning_groups() -> PlanningGroupsResult:
        """The planning groups of this robot with their joints, named states [rad] and frames."""
        group = PlanningGroup(
            name=arm.group,
            joint_names=arm.joints,
            named_states=arm.named_states,
            base_frame=frames.base,
            tool_frame=frames.tool,
        )
        return PlanningGroupsResult(groups=[group])

    def state(joint_positions: list[float]) -> Message:
        return joint_state(joints_of(Target(joint_positions=joint_positions), robot))

    def joint_state(joints: list[float]) -> Message:
        return {"is_diff": True, "joint_state": {"name": arm.joints, "position": joints}}


def _said(response: dict[str, Any]) -> str:
    code = moveit_code(response)
    text = str((response.get("error_code") or {}).get("message") or "")
    return f"{name_of(code)}{f' ({text})' if text else ''}"
