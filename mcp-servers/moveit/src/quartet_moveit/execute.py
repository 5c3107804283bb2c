"""execute_plan, get_execution_status, stop_execution."""

from quartet_contracts.tools.moveit import ExecutionResult, MoveitCode, OperationState
from quartet_contracts.tools.nav2 import CancelResult
from quartet_contracts.tools.results import CommonCode
from quartet_moveit.arm import arm_joints, missed_joints, not_reached, tool_pose_or_none, verdict
from quartet_moveit.held_object import HeldObject
from quartet_moveit.operations import Operation, Operations
from quartet_moveit.shared_space import execute as move_along
from quartet_robot_link import BridgeUnavailableError, CallTimeoutError, Robot
from quartet_safety.motion import CanceledError, FencedError, StoppedError
from quartet_site import RobotFile
from quartet_tool_server import ToolError, ToolServer

FINISHED = {
    OperationState.SUCCEEDED: "it was executed already",
    OperationState.FAILED: "its execution has failed",
    OperationState.CANCELED: "its execution was canceled",
    OperationState.UNKNOWN: "the outcome of its execution is not known (get_execution_status)",
    OperationState.EXECUTING: "it is being executed",
}


def actions(file: RobotFile) -> tuple[str, ...]:
    """Action servers that move the arm; the gripper's is not among them: a stop never lets go."""
    return (file.actions.move_group, file.actions.execute_trajectory)


def register(server: ToolServer, operations: Operations, held: HeldObject) -> None:
    """Add execute_plan, get_execution_status and stop_execution."""
    robot = server.robot

    @server.tool(moves="arm", goal=lambda **_: ("ExecuteTrajectory", {}))
    async def execute_plan(operation_id: str | None = None, controllers: list[str] | None = None) -> ExecutionResult:
        """Move the arm along a plan; returns when the arm is there (measured) or has failed.

        operation_id: of plan_to_pose, plan_to_joint_state or plan_to_named_state; the newest plan when left
        out. A plan is executed once, from where it was planned. controllers may be left out. pose is where the
        tool is after the motion, in the base frame. Failures: UNKNOWN_OPERATION, PLAN_OUTDATED (plan again),
        EXECUTION_FAILED (the arm stopped on the way: get_current_pose), CANCELED, BUSY, TIMEOUT or
        BRIDGE_UNAVAILABLE (outcome unknown: get_execution_status looks), STOPPED (report it).
        """
        async with server.leases.acquire("arm", "execute_plan") as lease:
            operation = operations.find(operation_id)
            check(operation)
            goal = {"trajectory": operation.trajectory, "controller_names": controllers or []}
            operation.state = OperationState.EXECUTING
            try:
                outcome = await move_along(server, lease, goal, operation.since)
                fields = verdict(outcome, planned=True)
                if fields["executed"] and (off := await not_there(robot, operation)):
                    fields |= not_reached(off)
            except BaseException as error:
                operation.state = state_after(error)
                operation.execution = {"message": str(error)}
                raise
            operation.execution = fields
            if fields["executed"]:
                operation.state = OperationState.SUCCEEDED
                await held.hand_has_left()
            elif fields["error_code"] == CommonCode.CANCELED:
                operation.state = OperationState.CANCELED
            else:
                operation.state = OperationState.FAILED
            pose = await tool_pose_or_none(robot)
            return ExecutionResult(**fields, operation_id=operation.id, state=operation.state, pose=pose)

    @server.tool(read_only=True)
    async def get_execution_status(operation_id: str | None = None) -> ExecutionResult:
        """How the execution of a plan stands; the newest plan when operation_id is left out.

        ok is true when the state could be told: PLANNED (not executed yet), EXECUTING, SUCCEEDED, FAILED or CANCELED
        (message says why), PLAN_FAILED, OUTDATED, UNKNOWN. When the outcome was lost (TIMEOUT, BRIDGE_UNAVAILABLE)
        it looks where the arm is. Failures: UNKNOWN_OPERATION, TIMEOUT, BRIDGE_UNAVAILABLE.
        """
        operation = operations.find(operation_id)
        fields = {
            key: value for key, value in operation.execution.items() if key not in {"ok", "error_code", "planned"}
        }
        if operation.state is OperationState.UNKNOWN:
            off = await not_there(robot, operation)
            if off is None:
                operation.state = OperationState.SUCCEEDED
                fields = {"executed": True, "message": "the outcome was lost, but the arm is where the plan ends"}
                operation.execution = fields
            else:
                fields["message"] = f"the outcome was lost, and the arm is not where the plan ends now: {off}"
        return ExecutionResult(
            **fields,
            operation_id=operation.id,
            state=operation.state,
            planned=bool(operation.trajectory),
            pose=await tool_pose_or_none(robot),
        )

    @server.tool(destructive=False, cancels="arm")
    async def stop_execution(operation_id: str | None = None) -> CancelResult:
        """Bring the arm to a standstill: cancel every arm motion, also one that another client started.

        operation_id may be left out: the arm runs one motion at a time, and that one ends, whatever its id. Works at
        any time and returns when the arm stands still; the gripper keeps its grip. canceled lists what was
        running (empty: nothing was). Failures: TIMEOUT (it still moves), ROS_ERROR (an action server refused to
        cancel), BRIDGE_UNAVAILABLE: use the stop button.
        """
        return await server.safety.cancel_channel("arm", actions(robot.file), "stop_execution", robot.wait_arm_at_rest)


def check(operation: Operation) -> None:
    """Raises ToolError PLAN_OUTDATED for a plan that is not executed any more."""
    if operation.state is OperationState.PLANNED:
        return
    reason = FINISHED.get(operation.state)
    if operation.state is OperationState.OUTDATED:
        reason = f"{operation.why} after it was planned"
    elif operation.state is OperationState.PLAN_FAILED:
        reason = "no path was found"
    raise ToolError(
        f"{operation.id} cannot be executed: {reason}; plan again. Nothing moved.",
        code=MoveitCode.PLAN_OUTDATED,
        operation_id=operation.id,
        state=operation.state,
    )


def state_after(error: BaseException) -> OperationState:
    """Return the state of an operation whose execution ended with an error."""
    if isinstance(error, CanceledError | StoppedError | FencedError):
        return OperationState.CANCELED
    lost = isinstance(error, CallTimeoutError | BridgeUnavailableError) or not isinstance(error, Exception)
    return OperationState.UNKNOWN if lost else OperationState.FAILED


async def not_there(robot: Robot, operation: Operation) -> str | None:
    """Return how far the arm is from the end of a plan, None when it is there.

    Raises CallTimeoutError, BridgeUnavailableError.
    """
    result = operation.result
    wanted = dict(zip(result.joint_names, result.final_positions, strict=True))
    return missed_joints(robot, await arm_joints(robot), [wanted[name] for name in robot.file.arm.joints])
