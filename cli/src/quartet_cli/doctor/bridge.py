"""rosbridge and rosapi: reachable, alive, how fast."""

import asyncio
import statistics
import time

from quartet_cli.doctor.examination import Examination, Graph
from quartet_process import without_password
from quartet_robot_link import CallTimeoutError, RobotLinkError, RosError, ServiceUnavailableError, seconds

CALLS = 20
SLOW_MS = 50.0
CLOCK_OFF_S = 0.5
LAUNCH = "ros2 launch rosbridge_server rosbridge_websocket_launch.xml"


async def check_bridge(exam: Examination) -> bool:
    """Return whether rosbridge answers."""
    link, url = exam.robot.link, without_password(exam.robot.file.bridge.url)
    if not await link.wait_connected(exam.patience_s):
        exam.wrong(
            "bridge",
            f"nothing answers at {url}",
            f"start rosbridge on the robot ({LAUNCH}), check host and port with `nc -vz HOST PORT`, and set bridge.url "
            "in robot.yaml (or --bridge-url) to ws://HOST:PORT",
        )
        return False
    try:
        _, first_ms = await exam.timed_call("/rosapi/get_time")
    except CallTimeoutError:
        if await link.probe(exam.patience_s):
            exam.warn("bridge", f"connected to {url}; rosapi does not answer", "read the log of the rosapi node")
            return True
        _note_zombie(exam)
        return False
    except ServiceUnavailableError:
        if not await link.probe(exam.patience_s):
            _note_zombie(exam)
            return False
        exam.ok("bridge", f"connected to {url}")
        return True
    except RosError as error:
        exam.warn("bridge", f"connected to {url}; {error}", "read the log of the rosapi node")
        return True
    except RobotLinkError as error:
        exam.wrong("bridge", str(error), "read the log of rosbridge_websocket for why it closed the connection")
        return False
    exam.ok("bridge", f"connected to {url}", latency_ms=first_ms)
    return True


def _note_zombie(exam: Examination) -> None:
    exam.wrong(
        "bridge",
        f"{without_password(exam.robot.file.bridge.url)} accepts connections but answers nothing within "
        f"{exam.patience_s:g} s: a zombie bridge",
        "restart the rosbridge_websocket node and launch it with respawn, so that it comes back by itself",
    )


async def check_rosapi(exam: Examination) -> None:
    """Read the robot's graph, measure the latency of a service call and compare the clocks."""
    link = exam.robot.link
    try:
        topics, services, actions = await asyncio.gather(
            link.call_service("/rosapi/topics", timeout_s=exam.patience_s),
            link.call_service("/rosapi/services", timeout_s=exam.patience_s),
            link.call_service("/rosapi/action_servers", timeout_s=exam.patience_s),
        )
        began, times = time.monotonic(), [await exam.timed_call("/rosapi/get_time")]
        while len(times) < CALLS and time.monotonic() - began < exam.patience_s:
            times.append(await exam.timed_call("/rosapi/get_time"))
    except RobotLinkError as error:
        exam.wrong(
            "rosapi",
            f"rosapi does not answer: {error}",
            f"start it (`ros2 run rosapi rosapi_node`; {LAUNCH} starts it too) with respawn: some requests of other "
            "clients kill it",
        )
        return
    exam.graph = Graph(
        dict(zip(topics["topics"], topics["types"], strict=True)),
        set(services["services"]),
        set(actions["action_servers"]),
    )
    found = exam.graph
    exam.ok(
        "rosapi", f"{len(found.topics)} topics, {len(found.services)} services, {len(found.actions)} action servers"
    )
    _judge_latency(exam, [ms for _, ms in times])
    if not exam.robot.clock.simulated and not await exam.publishers_of(exam.robot.file.topics.clock):
        _judge_clock(exam, seconds(times[-1][0]["time"]))


def _judge_latency(exam: Examination, calls_ms: list[float]) -> None:
    median, worst = statistics.median(calls_ms), max(calls_ms)
    text = f"a service call takes {median:.1f} ms (median of {len(calls_ms)}), at most {worst:.1f} ms"
    if median > SLOW_MS:
        exam.warn(
            "rosapi",
            text,
            "run the servers on the robot or on its wired network, and look for nodes that use up the robot's CPU",
            latency_ms=median,
        )
    else:
        exam.ok("rosapi", text, latency_ms=median)


def _judge_clock(exam: Examination, robot_time: float) -> None:
    exam.clock_ahead_s = off = robot_time - time.time()
    if abs(off) > CLOCK_OFF_S:
        exam.warn(
            "rosapi",
            f"the robot's clock is {abs(off):.1f} s {'ahead of' if off > 0 else 'behind'} this machine's",
            "synchronise both with chrony or NTP",
        )
