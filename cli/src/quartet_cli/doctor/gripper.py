"""The gripper: its action server, its joint, its status word."""

from quartet_cli.doctor.examination import Examination, candidates, check_action
from quartet_robot_link import LATCHED, RobotLinkError

WORDS = ("moving", "holding", "empty", "open")
TOLERANCE = 0.1
"""Share of its range by which the joint may be beyond either end."""


async def check_gripper(exam: Examination) -> None:
    """Check the gripper's action server, joint and status."""
    if exam.graph is not None:
        await check_action(exam, "gripper", "gripper", "start the gripper's controller")
    has_status = await _check_status(exam)
    await _check_joint(exam, has_status=has_status)


async def _check_joint(exam: Examination, *, has_status: bool) -> None:
    gripper, topic = exam.robot.file.gripper, exam.robot.file.topics.joint_states
    try:
        joints = await exam.robot.joint_positions([gripper.joint], timeout_s=exam.patience_s)
    except RobotLinkError:
        exam.skip("gripper", "where the fingers are is not known", "fix topics.joint_states first")
        return
    position = joints.get(gripper.joint)
    low, high = sorted((gripper.open_position, gripper.closed_position))
    slack = TOLERANCE * (high - low)
    if position is None:
        exam.wrong(
            "gripper",
            f"{topic} has no joint '{gripper.joint}' (gripper.joint)",
            f"set gripper.joint in robot.yaml to the finger joint of the URDF: {candidates(gripper.joint, joints)}",
        )
    elif not low - slack <= position <= high + slack:
        exam.wrong(
            "gripper",
            f"joint {gripper.joint} is at {position:.3f}, outside of {low:g} to {high:g}",
            "set gripper.open_position and gripper.closed_position in robot.yaml to what the joint shows when it is "
            "open and closed",
        )
    else:
        exam.ok("gripper", f"joint {gripper.joint} is at {position:.3f}, within {low:g} to {high:g}")
        if gripper.joint not in exam.with_effort and not has_status:
            _warn_of_effort(exam)


def _warn_of_effort(exam: Examination) -> None:
    topics, joint = exam.robot.file.topics, exam.robot.file.gripper.joint
    exam.warn(
        "gripper",
        f"joint {joint} has no effort in {topics.joint_states} (missing, null or 0.0), and no node publishes "
        f"{topics.gripper_status}: only a stall of the fingers and the wrist camera show whether something is held",
        "add the joint's effort state interface to the URDF's ros2_control tag, if the gripper has one; or check "
        f"that {exam.robot.file.actions.gripper} sets `stalled` when the fingers close on an object",
    )


async def _check_status(exam: Examination) -> bool:
    """Return whether the gripper's driver publishes a status."""
    topic = exam.robot.file.topics.gripper_status
    kind = None if exam.graph is None else exam.graph.topics.get(topic)
    if exam.graph is not None and (kind != "std_msgs/msg/String" or not await exam.publishers_of(topic)):
        # The check of the topics reports it.
        return False
    try:
        async with exam.robot.link.subscribe(topic, "std_msgs/msg/String", qos=LATCHED, keep=1) as subscription:
            word = str((await subscription.next(exam.patience_s)).get("data", ""))
    except RobotLinkError as error:
        exam.wrong("gripper", f"the gripper sends no status: {error}", "read the log of its driver")
        return False
    if word in WORDS or word.startswith("attached:"):
        exam.ok("gripper", f"status is '{word}'")
    else:
        exam.wrong(
            "gripper",
            f"the status '{word}' on {topic} is not a known one",
            f"let the driver publish one of {', '.join(WORDS)} or attached:NAME, or set topics.gripper_status in "
            "robot.yaml to a topic that does not exist: then width and force are used",
        )
    return True
