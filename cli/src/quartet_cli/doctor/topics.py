"""Topics of the robot file: they exist, have the right type, are live and frequent enough."""

import asyncio
import contextlib
import re
import time
from dataclasses import dataclass, field

from quartet_cli.doctor.edges import Edges, judge_edges
from quartet_cli.doctor.examination import Examination, candidates
from quartet_robot_link import (
    LATCHED,
    MERGED_SUFFIX,
    SENSOR,
    STATIC_TRANSFORMS,
    Message,
    QoS,
    Subscription,
    joint_values,
    stamp_of,
)

VELOCITIES = ("geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped")
LOG = QoS(durability="transient_local", depth=100)
LOG_TYPES = re.compile(r"More than one topic type detected: \[(?P<types>[^\]]*)\]")
LOG_TOPIC = re.compile(r"Subscribed to (?P<topic>\S+)")
"""What rosbridge logs at its first subscription to a topic with several types, and at the end of each subscription. It
tells its client nothing, and rosapi tells the first type in alphabetical order (rosbridge_library,
internal/subscribers.py and capabilities/subscribe.py)."""
LOG_WAIT_S = 2.0
STAMP_OFF_S = 1.0
"""Transforms and pictures with stamps further off than this fit nothing else."""


@dataclass
class Watched:
    """A topic of the robot file and the arrival times of its messages."""

    name: str
    """Field of `topics` in robot.yaml."""
    msg_type: str
    publisher: str
    """The usual publisher."""
    slowest_hz: float
    """Least rate at which a robot can be driven well; 0 for topics that are sent only on a change."""
    qos: QoS = SENSOR
    without: str = ""
    """What happens on a robot without it; empty if it is required."""
    topic: str = ""
    arrivals: list[float] = field(default_factory=list[float])
    ages_s: list[float] = field(default_factory=list[float])
    """ROS time since the stamps of its messages, negative for stamps that lie ahead."""

    @property
    def rate_hz(self) -> float | None:
        """Mean rate of the messages, None for fewer than two."""
        if len(self.arrivals) < 2:
            return None
        return (len(self.arrivals) - 1) / (self.arrivals[-1] - self.arrivals[0])


def watched_topics() -> list[Watched]:
    """Return the topics that are checked."""
    return [
        Watched("tf", "tf2_msgs/msg/TFMessage", "robot_state_publisher, the base's driver and the localisation", 2.0),
        Watched("tf_static", "tf2_msgs/msg/TFMessage", "robot_state_publisher", 0.0, STATIC_TRANSFORMS),
        Watched("odom", "nav_msgs/msg/Odometry", "the base's driver or robot_localization", 2.0),
        Watched("scan", "sensor_msgs/msg/LaserScan", "the laser's driver", 1.0, without="Nav2 uses its other sensors"),
        Watched("joint_states", "sensor_msgs/msg/JointState", "joint_state_broadcaster", 2.0),
        Watched(
            "gripper_status",
            "std_msgs/msg/String",
            "the gripper's driver",
            0.0,
            LATCHED,
            without="whether something is held is then known from width, effort or a stall alone",
        ),
    ]


async def optional_topics(exam: Examination) -> list[Watched]:
    """Return the topics that a robot may lack without a word, where a node publishes them."""
    topics = exam.robot.file.topics
    found = [
        Watched("clock", "rosgraph_msgs/msg/Clock", "the simulation", 1.0),
        Watched("battery", "sensor_msgs/msg/BatteryState", "the battery's driver", 0.0),
    ]
    names = {each.name: getattr(topics, each.name) for each in found}
    return [each for each in found if names[each.name] is not None and await exam.publishers_of(names[each.name])]


async def check_topics(exam: Examination) -> None:
    """Watch all topics at the same time, for `watch_s` or, while one is silent, up to `patience_s`."""
    topics = exam.robot.file.topics
    everything = [*watched_topics(), *await optional_topics(exam)]
    for watched in everything:
        watched.topic = getattr(topics, watched.name)
    present = [watched for watched in everything if _is_there(exam, watched)]
    heard, subscriptions, edges = asyncio.Event(), list[Subscription](), Edges()
    for watched in present:

        def arrived(message: Message, watched: Watched = watched) -> None:
            _note(exam, watched, message)
            if watched.name == "tf":
                edges.add(message, exam.ros_time())
            if all(other.arrivals for other in present):
                heard.set()

        subscriptions.append(
            exam.robot.link.subscribe(watched.topic, watched.msg_type, qos=watched.qos, keep=1, on_message=arrived)
        )
    began = time.monotonic()
    try:
        await asyncio.wait_for(heard.wait(), exam.patience_s)
        await asyncio.sleep(max(0.0, exam.watch_s - (time.monotonic() - began)))
    except TimeoutError:
        pass
    for subscription in subscriptions:
        subscription.close()
    silent = [watched for watched in present if not watched.arrivals]
    types = await _logged_types(exam, silent) if silent else {}
    for watched in present:
        await _judge(exam, watched, [kind for kind in types.get(watched.topic, []) if kind != watched.msg_type])
    await judge_edges(exam, edges)
    _check_velocity(exam)
    await _check_merged(exam)


async def _check_merged(exam: Examination) -> None:
    """Warn if several nodes publish static transforms and none merges them: rosbridge then loses some of them."""
    topic = exam.robot.file.topics.tf_static
    merged = f"{topic}{MERGED_SUFFIX}"
    broadcasters = await exam.publishers_of(topic)
    if len(broadcasters) > 1 and not await exam.publishers_of(merged):
        exam.warn(
            "topics",
            f"{len(broadcasters)} nodes publish {topic} ({', '.join(broadcasters)}), and rosbridge sends the frames of "
            f"only one of them to each client but the first; no node merges them on {merged}",
            "start `ros2 run quartet_bringup static_transforms`, as bridge.launch.py and robot.launch.py do",
        )


def _check_velocity(exam: Examination) -> None:
    """Check the type of what velocities are sent to; a robot where nobody listens yet has no such topic."""
    topic = exam.robot.file.topics.velocity
    kind = None if exam.graph is None else exam.graph.topics.get(topic)
    if kind not in (None, *VELOCITIES):
        exam.wrong(
            "topics",
            f"{topic} carries {kind}, topics.velocity needs {' or '.join(VELOCITIES)}",
            "set topics.velocity in robot.yaml to where the base takes velocities, which is the guard's gate",
        )


def _note(exam: Examination, watched: Watched, message: Message) -> None:
    watched.arrivals.append(time.monotonic())
    if "header" in message:
        watched.ages_s.append(exam.ros_time() - stamp_of(message))
    if watched.name == "joint_states":
        exam.with_velocity |= joint_values(message, "velocity").keys()
        exam.with_effort |= {name for name, effort in joint_values(message, "effort").items() if effort}
    for item in message.get("transforms", []):
        exam.frames |= {item["header"]["frame_id"].lstrip("/"), item["child_frame_id"].lstrip("/")}


def _is_there(exam: Examination, watched: Watched) -> bool:
    if exam.graph is None:
        return True
    kind = exam.graph.topics.get(watched.topic)
    if kind == watched.msg_type:
        return True
    if kind is not None:
        what = f"{watched.topic} carries {kind}, topics.{watched.name} needs {watched.msg_type}"
    else:
        what = f"the robot has no topic {watched.topic} (topics.{watched.name})"
    others = [topic for topic in exam.topics_of(watched.msg_type) if topic != watched.topic]
    if others:
        remedy = f"set topics.{watched.name} in robot.yaml to one of this type: {candidates(watched.topic, others)}"
    else:
        remedy = f"start what publishes {watched.msg_type} ({watched.publisher}); no topic of the robot has that type"
    if watched.without and kind is None:
        exam.warn("topics", f"{what}; {watched.without}", f"where the robot has one, {remedy}")
    else:
        exam.wrong("topics", what, remedy)
    return False


async def _judge(exam: Examination, watched: Watched, others: list[str]) -> None:
    """Add the finding about a topic; `others` are the types of its publishers beside the one wanted."""
    rate = watched.rate_hz
    if not watched.arrivals and others:
        exam.wrong(
            "topics",
            f"{watched.topic} carries {' and '.join(others)}, topics.{watched.name} needs {watched.msg_type}, which "
            "only its readers have",
            f"read with `ros2 topic info -v {watched.topic}` which node publishes the other type; rename its topic, "
            f"or set topics.{watched.name} in robot.yaml to what {watched.publisher} publishes",
        )
    elif not watched.arrivals:
        who = ", ".join(await exam.publishers_of(watched.topic))
        if not who and watched.without and exam.graph is not None:
            exam.warn(
                "topics",
                f"no node publishes {watched.topic} (topics.{watched.name}); {watched.without}",
                f"where the robot has one, start what publishes it ({watched.publisher})",
            )
            return
        exam.wrong(
            "topics",
            f"{watched.topic} (topics.{watched.name}) exists, but nothing came within {exam.patience_s:g} s",
            f"look with `ros2 topic info -v {watched.topic}` whether its publishers have the type {watched.msg_type} "
            "(rosapi tells one type of a topic, also where publisher and reader differ), and read the log of "
            f"{who or watched.publisher}; a bridge without `qos` in subscribe (older than rosbridge_suite 2.7) may "
            "also miss a best-effort publisher",
        )
    elif watched.ages_s and abs(age := min(watched.ages_s, key=abs)) > STAMP_OFF_S:
        off = f"{abs(age):.1f} s {'behind' if age > 0 else 'ahead of'} the robot's clock"
        exam.wrong(
            "topics",
            f"the stamps of {watched.topic} are {off}",
            f"synchronise the clock of the computer that stamps them ({watched.publisher}) with the robot's (chrony), "
            "or look for a driver or a network that holds messages back",
        )
    elif rate is None or watched.slowest_hz == 0:
        exam.ok("topics", f"{watched.topic} is live", rate_hz=rate)
    elif rate < watched.slowest_hz:
        exam.warn(
            "topics",
            f"{watched.topic} comes {rate:.1f} times a second, at least {watched.slowest_hz:g} are wanted",
            f"find out what slows down {watched.publisher} or the network",
            rate_hz=rate,
        )
    else:
        exam.ok("topics", f"{watched.topic} comes {rate:.1f} times a second", rate_hz=rate)


async def _logged_types(exam: Examination, silent: list[Watched]) -> dict[str, list[str]]:
    """Return all types of each silent topic that has several, by topic, as rosbridge logs them at a subscription.

    A topic that another client of the same bridge reads already is missing, since nothing is logged for it.
    """
    found, done = dict[str, list[str]](), asyncio.Event()
    types = list[str]()

    def read(message: Message) -> None:
        nonlocal types
        if match := LOG_TYPES.search(str(message["msg"])):
            types = re.findall(r"[\w/]+", match["types"])
        elif (match := LOG_TOPIC.search(str(message["msg"]))) and types:
            found[match["topic"]], types = types, []
            if found.keys() >= {watched.topic for watched in silent}:
                done.set()

    link = exam.robot.link
    log = link.subscribe("/rosout", "rcl_interfaces/msg/Log", qos=LOG, on_message=read)
    again = [link.subscribe(watched.topic, watched.msg_type, qos=watched.qos) for watched in silent]
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), min(LOG_WAIT_S, exam.patience_s))
    for subscription in (log, *again):
        subscription.close()
    return found
