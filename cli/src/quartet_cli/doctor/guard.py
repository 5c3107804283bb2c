"""The robot guard: it runs, listens for heartbeats and has not stopped the robot."""

from quartet_cli.doctor.examination import Examination, Graph, check_service
from quartet_robot_link import LATCHED, RobotLinkError

START = "start the robot guard next to the robot's drivers"
TYPE = "diagnostic_msgs/msg/DiagnosticStatus"


HEARTBEAT = "std_msgs/msg/Header"
BRIDGE = "rosbridge"
"""Part of the name of the bridge's node, which subscribes on behalf of its clients and is no guard."""


async def _listeners(exam: Examination, topic: str) -> list[str]:
    answer, _ = await exam.timed_call("/rosapi/subscribers", {"topic": topic})
    return [node for node in answer["subscribers"] if BRIDGE not in node]


async def _check_heartbeat(exam: Examination, graph: Graph) -> list[str]:
    """Check that a guard listens, and return who does: without it the robot moves on when its server dies."""
    topic = exam.robot.file.topics.guard_heartbeat
    kind = graph.topics.get(topic)
    if kind not in (None, HEARTBEAT):
        exam.wrong(
            "guard",
            f"{topic} carries {kind}, topics.guard_heartbeat needs {HEARTBEAT}",
            "set topics.guard_heartbeat in robot.yaml to the topic that the robot guard listens to",
        )
        return []
    listening = await _listeners(exam, topic)
    if listening:
        exam.ok("guard", f"{', '.join(listening)} listens for heartbeats on {topic}")
    else:
        exam.wrong(
            "guard",
            f"nobody listens for heartbeats on {topic}",
            f"{START}, or set topics.guard_heartbeat in robot.yaml to the topic that it listens to",
        )
    return listening


async def _check_gate(exam: Examination, guards: list[str]) -> None:
    """Check that velocities reach the base through the guard alone, which passes none on during a stop."""
    topic = exam.robot.file.topics.velocity
    fault = gate_fault(topic, await _listeners(exam, topic), guards)
    if fault is None:
        exam.ok("guard", f"velocities on {topic} reach the base through the guard alone")
    else:
        exam.warn("guard", *fault)


def gate_fault(topic: str, listening: list[str], guards: list[str]) -> tuple[str, str] | None:
    """Return what is wrong with who listens for velocities, and its remedy; None when it is the guard alone."""
    past = [node for node in listening if node not in guards]
    if past:
        return (
            f"{', '.join(past)} takes velocities from {topic} (topics.velocity) past the guard, also during a stop",
            f"remap the base's driver from {topic} to velocity_topic of the guard (/cmd_vel_gated), so that the guard "
            "alone listens there",
        )
    if not listening:
        return (
            f"nobody listens for velocities on {topic}: the guard has no gate there, or the base cannot be driven",
            "set topics.velocity in robot.yaml to velocity_input_topic of the guard",
        )
    return None


async def check_guard(exam: Examination) -> None:
    """Check services, heartbeat topic and state of the guard."""
    file = exam.robot.file
    if exam.graph is not None:
        await check_service(exam, "guard", "guard_stop", START)
        guards = await _check_heartbeat(exam, exam.graph)
        if guards:
            await _check_gate(exam, guards)
    topic = file.topics.guard_state
    kind = None if exam.graph is None else exam.graph.topics.get(topic)
    if kind not in (None, TYPE):
        what = f"{topic} carries {kind}, topics.guard_state needs {TYPE}"
        exam.wrong(
            "guard", what, "set topics.guard_state in robot.yaml to the topic on which the guard tells its state"
        )
        return
    try:
        async with exam.robot.link.subscribe(topic, TYPE, qos=LATCHED, keep=1) as subscription:
            state = await subscription.next(exam.patience_s)
    except RobotLinkError as error:
        exam.wrong("guard", f"the guard sends no state: {error}", f"{START}, or set topics.guard_state")
        return
    values = {item["key"]: str(item["value"]).lower() for item in state.get("values", [])}
    if "latched" not in values:
        exam.wrong("guard", f"{topic} does not say whether it is latched", START)
    elif values["latched"] == "true":
        exam.wrong(
            "guard",
            f"the guard has stopped the robot: {state.get('message') or 'no reason given'}",
            "make sure that the robot may move again, then: quartet reset; without a running stack: "
            'curl -X POST -H "Authorization: Bearer $QUARTET_GUARD_TOKEN" http://ROBOT:9091/reset',
        )
    else:
        exam.ok("guard", "the guard watches and lets the robot move")
