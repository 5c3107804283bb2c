"""The gripper: what commands it, its joints, its status word."""

from quartet_cli.doctor.examination import Examination, candidates, check_action, check_named_service
from quartet_robot_link import LATCHED, RobotLinkError

WORDS = ("moving", "holding", "empty", "open")
TOLERANCE = 0.1
"""Share of its range by which the joint may be beyond either end."""


async def check_gripper(exam: Examination) -> None:
    """Check the gripper's action server, services or topic, its joints and status."""
    if exam.graph is not None:
        await _check_command(exam)
    has_status = await _check_status(exam)
    await _check_joint(exam, has_status=has_status)


async def _check_command(exam: Examination) -> None:
    """Check the action server, the services or the subscribers of the topic that command the gripper."""
    gripper = exam.robot.file.gripper
    if gripper.command_kind == "action":
        await check_action(exam, "gripper", "gripper", "start the gripper's controller")
        return
    for field in ("close_service", "open_service"):
        name, start = getattr(gripper, field), "start the gripper's driver"
        if name is not None and await check_named_service(
            exam, "gripper", f"gripper.{field}", name, gripper.command_type, start
        ):
            exam.ok("gripper", f"service {name} is {gripper.command_type}")
    topic = gripper.command_topic
    if topic is None or exam.graph is None:
        return
    found = exam.graph.topics.get(topic)
    try:
        subscribers = (await exam.timed_call("/rosapi/subscribers", {"topic": topic}))[0]["subscribers"]
    except RobotLinkError:
        return  # the check of rosapi reports it
    if found != gripper.command_type or not subscribers:
        what = f"carries {found}" if found not in (None, gripper.command_type) else "has no subscriber"
        exam.wrong(
            "gripper",
            f"topic {topic} (gripper.command_topic) {what}; a subscriber of {gripper.command_type} is needed",
            "start the gripper's controller, or set gripper.command_topic and gripper.command in robot.yaml to its "
            "topic and type",
        )
    else:
        exam.ok("gripper", f"topic {topic} is {found}, read by {', '.join(sorted(subscribers))}")


async def _check_joint(exam: Examination, *, has_status: bool) -> None:
    gripper, topic = exam.robot.file.gripper, exam.robot.file.topics.joint_states
    try:
        joints = await exam.robot.joint_positions(list(gripper.joint_ranges), timeout_s=exam.patience_s)
    except RobotLinkError:
        exam.skip("gripper", "where the fingers are is not known", "fix topics.joint_states first")
        return
    for name, ends in gripper.joint_ranges.items():
        field, prefix = ("joint", "") if name == gripper.joint else ("second_joint", "second_")
        position = joints.get(name)
        low, high = sorted(ends)
        slack = TOLERANCE * (high - low)
        if position is None:
            exam.wrong(
                "gripper",
                f"{topic} has no joint '{name}' (gripper.{field})",
                f"set gripper.{field} in robot.yaml to the finger joint of the URDF: {candidates(name, joints)}",
            )
        elif not low - slack <= position <= high + slack:
            exam.wrong(
                "gripper",
                f"joint {name} is at {position:.3f}, outside of {low:g} to {high:g}",
                f"set gripper.{prefix}open_position and gripper.{prefix}closed_position in robot.yaml to what the "
                "joint shows when it is open and closed",
            )
        else:
            exam.ok("gripper", f"joint {name} is at {position:.3f}, within {low:g} to {high:g}")
            if name not in exam.with_effort and not has_status and name == gripper.joint:
                _warn_of_effort(exam)


def _warn_of_effort(exam: Examination) -> None:
    topics, joint = exam.robot.file.topics, exam.robot.file.gripper.joint
    exam.warn(
        "gripper",
        f"joint {joint} has no effort in {topics.joint_states} (missing, null or 0.0), and no node publishes "
        f"{topics.gripper_status}: only a stall of the fingers and the wrist camera show whether something is held",
        "add the joint's effort state interface to the URDF's ros2_control tag, if the gripper has one"
        + (
            f"; or check that {exam.robot.file.actions.gripper} sets `stalled` when the fingers close on an object"
            if exam.robot.file.gripper.command_kind == "action"
            else ""
        ),
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
