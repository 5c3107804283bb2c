"""Plans that are executed later: plan_to_pose, plan_to_joint_state, plan_to_named_state, get_plan_result."""

from typing import Annotated

from pydantic import Field

from quartet_contracts.tools.moveit import MoveitCode, OperationState, PlanResult
from quartet_moveit.arm import failed, moveit_code
from quartet_moveit.codes import ADVICE, SUCCESS, name_of, tool_code
from quartet_moveit.inverse import solve
from quartet_moveit.operations import Operations
from quartet_moveit.plan import MAX_PLANNING_S
from quartet_moveit.planner import Planner
from quartet_moveit.requests import joint_constraints, move_goal, pose_constraints
from quartet_moveit.shared_space import SPACE
from quartet_moveit.target import Target, check_group, in_base, joints_of
from quartet_robot_link import Message, number, seconds
from quartet_tool_server import Finite, Orientation, Position, ToolServer

ANSWER_S = 10.0
"""Wall time on top of the planning time within which MoveIt answers."""
PlanningTime = Annotated[Finite, Field(gt=0, le=MAX_PLANNING_S, description="planning time [s]")]


def register(server: ToolServer, operations: Operations, planner: Planner) -> None:
    """Add plan_to_pose, plan_to_joint_state, plan_to_named_state and get_plan_result."""
    robot = server.robot

    @server.tool(destructive=False)
    async def plan_to_pose(
        position: Position,
        orientation: Orientation,
        group: str | None = None,
        frame_id: str | None = None,
        planner_id: str = "",
        timeout: PlanningTime = 5.0,  # noqa: ASYNC109
    ) -> PlanResult:
        """Plan a path of the arm that brings the tool flange to a pose; nothing moves until execute_plan.

        position [x,y,z] m and orientation [x,y,z,w] in frame_id (the base frame when left out; fingers straight down
        is [1,0,0,0]). operation_id names the plan. Failures: OUT_OF_REACH, GOAL_IN_COLLISION, START_IN_COLLISION,
        PLANNING_FAILED, INVALID_GROUP, INVALID_PARAMETERS, TRANSFORM_UNAVAILABLE, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        pose = await in_base(robot, position, orientation, frame_id)
        joints = await solve(robot, chosen, pose)
        found = await plan(chosen, joint_constraints(robot, joints), planner_id, timeout)
        if found[0].error_code == MoveitCode.PLANNING_FAILED:
            found = await plan(chosen, pose_constraints(robot, pose), planner_id, timeout)
        return operations.add(*found).result

    @server.tool(destructive=False)
    async def plan_to_joint_state(
        joint_positions: Annotated[list[Finite], Field(description="rad, in the order of list_planning_groups")],
        group: str | None = None,
        planner_id: str = "",
        timeout: PlanningTime = 5.0,  # noqa: ASYNC109
    ) -> PlanResult:
        """Plan a path of the arm to joint positions; nothing moves until execute_plan.

        operation_id names the plan. Failures: GOAL_IN_COLLISION, START_IN_COLLISION, PLANNING_FAILED, INVALID_GROUP,
        INVALID_PARAMETERS, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        joints = joints_of(Target(joint_positions=joint_positions), robot)
        return operations.add(*await plan(chosen, joint_constraints(robot, joints), planner_id, timeout)).result

    @server.tool(destructive=False)
    async def plan_to_named_state(
        state_name: str,
        group: str | None = None,
        planner_id: str = "",
        timeout: PlanningTime = 5.0,  # noqa: ASYNC109
    ) -> PlanResult:
        """Plan a path of the arm to a named state (list_planning_groups has them); nothing moves until execute_plan.

        operation_id names the plan. Failures: UNKNOWN_STATE (the message has the known ones), START_IN_COLLISION,
        GOAL_IN_COLLISION, PLANNING_FAILED, INVALID_GROUP, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        chosen = check_group(group, robot)
        joints = joints_of(Target(state_name=state_name), robot)
        return operations.add(*await plan(chosen, joint_constraints(robot, joints), planner_id, timeout)).result

    @server.tool(read_only=True)
    async def get_plan_result(operation_id: str | None = None) -> PlanResult:
        """The result of a plan again, and whether it can still be executed (state PLANNED); the newest when left out.

        state: PLANNED, PLAN_FAILED, OUTDATED (an obstacle came after it: plan again), or how its execution stands.
        Failures: UNKNOWN_OPERATION (the message has the known ones).
        """
        return operations.find(operation_id).result

    async def plan(
        group: str, constraints: Message, planner_id: str, planning_s: float
    ) -> tuple[PlanResult, Message, int]:
        """The result without its id, the trajectory, and the event of SPACE before it. Raises RobotLinkError."""
        since = SPACE.now
        request = move_goal(robot, group, constraints, planner_id, planning_s)["request"]
        answer = await planner.ask(
            robot.file.services.plan_kinematic_path,
            {"motion_plan_request": request},
            timeout_s=planning_s + ANSWER_S,
        )
        response: Message = answer.get("motion_plan_response") or {}
        code, trajectory = moveit_code(response), response.get("trajectory") or {}
        path = trajectory.get("joint_trajectory") or {}
        points = path.get("points") or []
        if code != SUCCESS or not points:
            wire = tool_code(code, planned=False)
            text = str((response.get("error_code") or {}).get("message") or "")
            reason = f"no plan: {name_of(code)}{f' ({text})' if text else ''}; {ADVICE.get(wire, '')}"
            fields = failed(wire, reason) | {"moveit_error_code": code, "moveit_error": name_of(code)}
            return PlanResult(state=OperationState.PLAN_FAILED, **fields), {}, since
        return (
            PlanResult(
                state=OperationState.PLANNED,
                moveit_error_code=code,
                num_points=len(points),
                planned_duration_s=round(seconds(points[-1]["time_from_start"]), 2),
                planning_time_s=number(response.get("planning_time")),
                joint_names=[str(name) for name in path["joint_names"]],
                final_positions=[float(value) for value in points[-1]["positions"]],
            ),
            trajectory,
            since,
        )
