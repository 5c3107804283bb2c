"""The robot guard: there, and not stopped."""

from quartet_cli.doctor._exam import Exam
from quartet_cli.doctor._nav2 import check_name
from quartet_robot_link import LATCHED, LinkError

START = "start the robot guard next to the robot's drivers"
TYPE = "diagnostic_msgs/msg/DiagnosticStatus"


async def check_guard(exam: Exam) -> None:
    file = exam.robot.file
    if exam.graph is not None:
        for name in ("guard_stop", "guard_reset"):
            check_name(exam, "guard", f"services.{name}", getattr(file.services, name), exam.graph.services, START)
        if file.topics.guard_heartbeat not in exam.graph.topics:
            exam.wrong("guard", f"nobody listens for heartbeats on {file.topics.guard_heartbeat}", START)
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
