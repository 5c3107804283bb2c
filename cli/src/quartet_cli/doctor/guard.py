"""The robot guard: it runs, listens for heartbeats and has not stopped the robot."""

from quartet_cli.doctor.examination import Examination, Graph, check_service
from quartet_robot_link import LATCHED, RobotLinkError

START = "start the robot guard next to the robot's drivers"
TYPE = "diagnostic_msgs/msg/DiagnosticStatus"


HEARTBEAT = "std_msgs/msg/Header"
BRIDGE = "rosbridge"
"""Part of the name of the bridge's node, which subscribes on behalf of its clients and is no guard."""


async def _check_heartbeat(exam: Examination, graph: Graph) -> None:
    """Check that a guard listens: without one the robot moves on when the server that moves it dies."""
    topic = exam.robot.file.topics.guard_heartbeat
    kind = graph.topics.get(topic)
    if kind not in (None, HEARTBEAT):
        exam.wrong(
            "guard",
            f"{topic} carries {kind}, topics.guard_heartbeat needs {HEARTBEAT}",
            "set topics.guard_heartbeat in robot.yaml to the topic that the robot guard listens to",
        )
        return
    answer, _ = await exam.timed_call("/rosapi/subscribers", {"topic": topic})
    listening = [node for node in answer["subscribers"] if BRIDGE not in node]
    if listening:
        exam.ok("guard", f"{', '.join(listening)} listens for heartbeats on {topic}")
    else:
        exam.wrong(
            "guard",
            f"nobody listens for heartbeats on {topic}",
            f"{START}, or set topics.guard_heartbeat in robot.yaml to the topic that it listens to",
        )


async def check_guard(exam: Examination) -> None:
    """Check services, heartbeat topic and state of the guard."""
    file = exam.robot.file
    if exam.graph is not None:
        await check_service(exam, "guard", "guard_stop", START)
        await _check_heartbeat(exam, exam.graph)
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
