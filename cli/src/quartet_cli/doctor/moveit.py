"""MoveIt: services, actions, the planning group, the arm's joints and named states."""

from quartet_cli.doctor.examination import Examination, candidates, check_action, check_service
from quartet_robot_link import Message, RobotLinkError, TransformUnavailableError

START = "start move_group of the robot's MoveIt configuration"
SUCCESS, INVALID_GROUP, INVALID_LINK = 1, -15, -18
"""moveit_msgs/msg/MoveItErrorCodes: SUCCESS, INVALID_GROUP_NAME, INVALID_LINK_NAME."""
OCTOMAP = 32
"""Component of moveit_msgs/msg/PlanningSceneComponents."""
SERVICES = ("compute_ik", "compute_cartesian_path", "get_planning_scene", "apply_planning_scene")
OPTIONAL = ("compute_fk", "plan_kinematic_path", "check_state_validity", "clear_octomap")
"""Services that only single tools need."""


async def check_moveit(exam: Examination) -> None:
    """Check MoveIt's services and actions, the joints of the arm and its planning group."""
    file = exam.robot.file
    if exam.graph is None:
        exam.skip("moveit", "which servers run is not known", "get rosapi to run first")
        return
    there = [await check_service(exam, "moveit", name, START) for name in SERVICES]
    for name in OPTIONAL:
        if getattr(file.services, name) in exam.graph.services:
            await check_service(exam, "moveit", name, START)
    for name in ("move_group", "execute_trajectory"):
        await check_action(exam, "moveit", name, START)
    if file.services.clear_octomap not in exam.graph.services:
        exam.warn(
            "moveit",
            f"the robot has no service {file.services.clear_octomap} (services.clear_octomap)",
            "configure an octomap updater for move_group; without one MoveIt gets no obstacles from the cameras",
        )
    await _check_joints(exam)
    if there[0]:
        await _check_group(exam)
    if there[2]:
        await _check_gripper_links(exam)


async def _check_joints(exam: Examination) -> None:
    file = exam.robot.file
    try:
        present = await exam.robot.joint_positions(timeout_s=exam.patience_s)
    except RobotLinkError:
        exam.skip("moveit", "which joints the robot has is not known", "fix topics.joint_states first")
        return
    missing = [joint for joint in file.arm.joints if joint not in present]
    if missing:
        exam.wrong(
            "moveit",
            f"{file.topics.joint_states} has no joint {', '.join(missing)} (arm.joints)",
            f"set arm.joints in robot.yaml to the names of the URDF, such as {candidates(missing[0], present)}",
        )
    else:
        exam.ok("moveit", f"all {len(file.arm.joints)} joints of the arm are in {file.topics.joint_states}")
        silent = [joint for joint in file.arm.joints if joint not in exam.with_velocity]
        if silent:
            exam.warn(
                "moveit",
                f"{file.topics.joint_states} has no velocity of {', '.join(silent)}: whether the arm rests is derived "
                "from its positions, which takes longer",
                "let its driver fill `velocity` (joint_state_broadcaster does for a joint with a velocity state "
                "interface)",
            )


async def _check_gripper_links(exam: Examination) -> None:
    """Check that MoveIt knows the links of the gripper by the names of the robot file."""
    file = exam.robot.file
    links = file.gripper.links
    try:
        if not links:
            await _check_without_links(exam)
            return
        request: Message = {"header": {"frame_id": file.frames.base}, "fk_link_names": links}
        answer, _ = await exam.timed_call(file.services.compute_fk, request)
    except RobotLinkError as error:
        exam.skip("moveit", f"gripper.links cannot be checked: {error}", "read the log of move_group")
        return
    code = int(answer["error_code"]["val"])
    if code == INVALID_LINK:
        exam.wrong(
            "moveit",
            f"MoveIt does not know all of {', '.join(links)} (gripper.links)",
            "set gripper.links in robot.yaml to links of the URDF: those of palm and fingers",
        )
    elif code == SUCCESS:
        exam.ok("moveit", f"MoveIt knows all {len(links)} links of the gripper")


async def _check_without_links(exam: Examination) -> None:
    """Warn where MoveIt has an octomap, into which every grasp would then lead."""
    request: Message = {"components": {"components": OCTOMAP}}
    answer, _ = await exam.timed_call(exam.robot.file.services.get_planning_scene, request)
    if float(answer["scene"]["world"]["octomap"]["octomap"]["resolution"]) > 0:
        exam.warn(
            "moveit",
            "gripper.links is empty: a straight path down to a thing leads into an obstacle of MoveIt's octomap, so "
            "picks and places end with 'only ... of the straight path is free'",
            "list the links of palm and fingers in robot.yaml, as MoveIt's model names them",
        )


async def _check_group(exam: Examination) -> None:
    """Check group, link and solver with an inverse kinematics request for the tool's present pose; nothing moves."""
    file = exam.robot.file
    try:
        tool = await exam.robot.transform(file.frames.base, file.frames.tool, timeout_s=exam.patience_s)
    except TransformUnavailableError:
        exam.skip("moveit", f"group {file.arm.group} cannot be tried without the tool's frame", "fix the frames first")
        return
    (x, y, z), (qx, qy, qz, qw) = tool.translation, tool.quaternion
    pose: Message = {
        "position": {"x": x, "y": y, "z": z},
        "orientation": {"x": qx, "y": qy, "z": qz, "w": qw},
    }
    request: Message = {
        "group_name": file.arm.group,
        "ik_link_name": file.frames.tool,
        "robot_state": {"is_diff": True},
        "pose_stamped": {"header": {"frame_id": file.frames.base}, "pose": pose},
        "timeout": {"sec": 1, "nanosec": 0},
    }
    try:
        answer, took_ms = await exam.timed_call(file.services.compute_ik, {"ik_request": request})
    except RobotLinkError as error:
        exam.wrong("moveit", f"inverse kinematics gives no answer: {error}", "read the log of move_group")
        return
    code = int(answer["error_code"]["val"])
    solved = set(answer["solution"]["joint_state"]["name"])
    if code == SUCCESS and not solved.issuperset(file.arm.joints):
        exam.wrong(
            "moveit",
            f"group {file.arm.group} moves {', '.join(sorted(solved))}, arm.joints are {', '.join(file.arm.joints)}",
            "set arm.group in robot.yaml to the group of the arm, or arm.joints to the group's joints",
        )
    elif code == SUCCESS:
        exam.ok(
            "moveit", f"group {file.arm.group} solves inverse kinematics for {file.frames.tool}", latency_ms=took_ms
        )
    elif code == INVALID_GROUP:
        exam.wrong(
            "moveit",
            f"MoveIt has no planning group '{file.arm.group}' (arm.group)",
            'set arm.group in robot.yaml to a <group name="..."> of the robot\'s SRDF',
        )
    elif code == INVALID_LINK:
        exam.wrong(
            "moveit",
            f"'{file.frames.tool}' (frames.tool) is no link of group '{file.arm.group}'",
            "set frames.tool in robot.yaml to the tip link of the group's chain in the SRDF",
        )
    else:
        exam.wrong(
            "moveit",
            f"group {file.arm.group} finds no joints for where {file.frames.tool} is now (MoveIt code {code})",
            "check that kinematics.yaml names a solver for the group, and that arm.group, frames.base and frames.tool "
            "in robot.yaml belong together",
        )
