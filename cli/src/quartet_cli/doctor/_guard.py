"""The robot guard: there, and not stopped."""

from quartet_cli.doctor._exam import Exam, Graph
from quartet_cli.doctor._nav2 import check_name
from quartet_robot_link import LATCHED, LinkError

START = "start the robot guard next to the robot's drivers"
TYPE = "diagnostic_msgs/msg/DiagnosticStatus"


HEARTBEAT = "std_msgs/msg/Header"
BRIDGE = "rosbridge"
"""In the name of the bridge's node, which listens to a topic for its clients."""


async def _check_heartbeat(exam: Exam, graph: Graph) -> None:
    """A guard that listens: without one a robot goes on when the server that moves it dies."""
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


async def check_guard(exam: Exam) -> None:
    file = exam.robot.file
    if exam.graph is not None:
        for name in ("guard_stop", "guard_reset"):
            check_name(exam, "guard", f"services.{name}", getattr(file.services, name), exam.graph.services, START)
        await _check_heartbeat(exam, exam.graph)
    topic = file.topics.guard_state
    try:
        async with exam.robot.link.subscribe(topic, TYPE, qos=LATCHED, keep=1) as subscription:
            state = await subscription.next(exam.patience_s)
    except LinkError as error:
        exam.wrong("guard", f"the guard's state does not come: {error}", f"{START}, or set topics.guard_state")
        return
    values = {item["key"]: str(item["value"]).lower() for item in state.get("values", [])}
    if "latched" not in values:
        exam.wrong("guard", f"{topic} does not say whether it is latched", START)
    elif values["latched"] == "true":
        exam.wrong(
            "guard",
            f"the guard has stopped the robot: {state.get('message') or 'no reason given'}",
            f"see that the robot may move again, then: ros2 service call {file.services.guard_reset} "
            "std_srvs/srv/Trigger",
        )
    else:
        exam.ok("guard", "the guard watches and lets the robot move")
