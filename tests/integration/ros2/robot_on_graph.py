"""The simulated robot on a real ROS graph, and, if asked for, a bridge to it that speaks rosbridge's operations.

Runs in the environment of scripts/ros-env with the interfaces of build_interfaces.py. Node `robot` offers actions,
services and topics with their message classes and the QoS of drivers, and passes each on to the simulation. Each
message of the simulation's /tf_static has its own node. Operations come and go as JSON lines: {"at": "bridge"} for a
client of the bridge, {"at": "robot"} for the simulation, {"at": "order"} from the test. Started as:
robot_on_graph.py NAMES, with the actions and services (type by name) and topics of the robot as JSON, and whether it
has a `bridge`.
"""

import contextlib
import itertools
import json
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import rclpy
from action_msgs.srv import CancelGoal
from bridge_on_graph import Bridge
from graph_messages import Values, as_message, as_values, interface, say
from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

SUCCEEDED, CANCELED = 4, 5
PATIENCE_S = 120.0
<<<<<<< HEAD
_writing = threading.Lock()


def say(at: str, operation: Values) -> None:
    with _writing:
        print(json.dumps({"at": at, **operation}), flush=True)


def interface(name: str) -> Any:
    """The class of `pkg/kind/Name`, or of `pkg/Name` for a message."""
    package, *kind, last = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind[0] if kind else 'msg'}"), last)


def as_values(value: Any) -> Any:
    """What rosbridge sends for a message or a field."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: as_values(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, bytes):
        return value[0]
    if isinstance(value, array) and value.typecode == "B":
        return base64.b64encode(value.tobytes()).decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | str):
        return value
    return [
        as_values(item if isinstance(item, bytes) else getattr(item, "item", lambda item=item: item)())
        for item in value
    ]


def as_message(kind: Any, values: Values) -> Any:
    """A message of class `kind`; a field that it has not is an error, as for rosbridge."""
    message = kind()
    fields = kind.get_fields_and_field_types()
    for name, value in values.items():
        if name not in fields:
            raise ValueError(
                f"Message type {kind.__module__.split('.')[0]}/{kind.__name__} does not have a field {name}"
            )
        setattr(message, name, as_field(fields[name], value))
    return message


def as_field(kind: str, value: Any) -> Any:
    if kind.startswith("sequence<") or kind.endswith("]"):
        base = kind.removeprefix("sequence<").rstrip(">").split(",")[0].split("[")[0]
        if base == "uint8" and isinstance(value, str):
            return array("B", base64.b64decode(value))
        return [as_field(base, item) for item in value]
    if "/" in kind:
        return as_message(interface(kind), value)
    if kind in ("double", "float"):
        return math.nan if value is None else float(value)
    return bytes([value]) if kind == "octet" else value


class Bridge(Node):
    """Does on the graph what a client of rosbridge asks for."""

    def __init__(self, robot: "Robot") -> None:
        super().__init__("rosbridge_websocket")
        self.robot = robot
        self.workers = ThreadPoolExecutor(16)
        self.group = ReentrantCallbackGroup()
        self.made: dict[tuple[str, str], Any] = {}
        self.goals: dict[str, Any] = {}

    def once(self, what: str, name: str, make: Callable[[], Any]) -> Any:
        with _making:
            if (what, name) not in self.made:
                self.made[what, name] = make()
            return self.made[what, name]

    def do(self, operation: Values) -> None:
        self.workers.submit(self.guarded, operation)

    def guarded(self, operation: Values) -> None:
        try:
            getattr(self, operation["op"])(operation)
        except Exception as error:  # rosbridge tells it and lives on
            self.get_logger().error(f"{operation}: {error!r}")

    def subscribe(self, operation: Values) -> None:
        topic, kind = operation["topic"], interface(operation["type"])
        asked = operation.get("qos", {})
        qos = QoSProfile(
            depth=asked.get("depth", 10),
            reliability=ReliabilityPolicy[asked.get("reliability", "reliable").upper()],
            durability=DurabilityPolicy[asked.get("durability", "volatile").upper()],
        )

        def heard(message: Any) -> None:
            say("bridge", {"op": "publish", "topic": topic, "msg": as_values(message)})

        def make() -> Any:
            return self.create_subscription(kind, topic, heard, qos, callback_group=self.group)

        self.once("subscription", operation["id"], make)

    def unsubscribe(self, operation: Values) -> None:
        with _making:
            self.destroy_subscription(self.made.pop(("subscription", operation["id"])))

    def advertise(self, operation: Values) -> None:
        topic, kind = operation["topic"], interface(operation["type"])
        self.once("publisher", topic, lambda: self.create_publisher(kind, topic, 10))

    def publish(self, operation: Values) -> None:
        publisher = self.made["publisher", operation["topic"]]
        publisher.publish(as_message(publisher.msg_type, operation["msg"]))

    def call_service(self, operation: Values) -> None:
        name, answer = operation["service"], {"op": "service_response", "id": operation.get("id")}
        answer |= {"service": name, "result": False}
        if name.startswith("/rosapi/"):
            # The types of the simulation are those of this graph.
            known = self.robot.ask({"op": "call_service", "service": name, "args": operation.get("args", {})})
            say("bridge", answer | {"result": known["result"], "values": known["values"]})
            return
        try:
            name = self.resolve_service_name(name)
            kinds = dict(self.get_service_names_and_types())
            if name not in kinds:
                raise ValueError(f"Service {name} does not exist")
            package, kind, last = kinds[name][0].split("/")
            if kind == "action" and last.endswith("_GetResult"):
                raise ValueError(f"Unable to import class {last} from package {package}. module has no such class")
            service = interface(f"{package}/{kind}/{last}")
            client = self.once("client", name, lambda: self.create_client(service, name, callback_group=self.group))
            if not client.wait_for_service(1.0):
                raise ValueError(f"Service {name} does not exist")
            called = client.call_async(as_message(service.Request, operation.get("args", {})))
            called.add_done_callback(
                lambda done: say("bridge", answer | {"result": True, "values": as_values(done.result())})
            )
        except Exception as error:
            say("bridge", answer | {"values": str(error)})

    def send_action_goal(self, operation: Values) -> None:
        name, kind = operation["action"], interface(operation["action_type"])
        answer = {"op": "action_result", "action": name, "id": operation["id"], "result": False, "status": 0}

        def accepted(sent: Any) -> None:
            handle = sent.result()
            if not handle.accepted:
                say("bridge", answer | {"values": "Action goal was rejected"})
                return
            self.goals[operation["id"]] = handle
            handle.get_result_async().add_done_callback(ended)

        def ended(done: Any) -> None:
            values = {"values": as_values(done.result().result), "status": done.result().status, "result": True}
            say("bridge", answer | values)

        def feedback(message: Any) -> None:
            values = {"values": as_values(message.feedback), "action": name, "id": operation["id"]}
            say("bridge", {"op": "action_feedback", **values})

        try:
            client = self.once("action", name, lambda: ActionClient(self, kind, name, callback_group=self.group))
            if not client.wait_for_server(2.0):
                raise ValueError("No action server available")
            goal = as_message(kind.Goal, operation["args"])
            client.send_goal_async(goal, feedback_callback=feedback).add_done_callback(accepted)
        except Exception as error:
            say("bridge", answer | {"values": str(error)})

    def cancel_action_goal(self, operation: Values) -> None:
        self.goals[operation["id"]].cancel_goal_async()
=======
STATIC = "/tf_static"
LOOK_EVERY_S = 0.1
"""How often subscribers of a topic are looked for: what nobody reads is not asked of the simulation."""
PICTURE_EVERY_MS = 200
>>>>>>> graph


class Robot(Node):
    """Offers on the graph what the simulation has, and passes it on."""

    def __init__(self, names: dict[str, dict[str, str]]) -> None:
        super().__init__("robot")
        self.group = ReentrantCallbackGroup()
        self.ids = itertools.count(1)
        self.answers: dict[str, queue.SimpleQueue[Values]] = {}
        self.servers = {name: self.serve_action(name, kind) for name, kind in names["actions"].items()}
        for name, kind in names["services"].items():
            self.serve(name, interface(kind))
        self.kinds = {name: interface(kind) for name, kind in names["topics"].items()}
        self.topics = {name: self.offer(name, kind) for name, kind in names["topics"].items() if name != STATIC}
        self.broadcasters: dict[str, Any] = {}
        self.wanted = dict.fromkeys(self.topics, False)
        if STATIC in self.kinds:
            say("robot", {"op": "subscribe", "topic": STATIC, "type": names["topics"][STATIC], "id": STATIC})
        self.types = names["topics"]
        self.create_timer(LOOK_EVERY_S, self.look, callback_group=self.group)
        for name, kind in names["heard"].items():
            say("robot", {"op": "advertise", "topic": name, "type": kind})
            self.create_subscription(interface(kind), name, lambda message, name=name: self.forward(name, message), 10)

    def ask(self, operation: Values, on_feedback: Callable[[Values], None] = lambda _: None) -> Values:
        """The simulation's answer to an operation."""
        key = f"graph{next(self.ids)}"
        self.answers[key] = answers = queue.SimpleQueue()
        say("robot", {**operation, "id": key})
        while True:
            answer = answers.get(timeout=PATIENCE_S)
            if answer["op"] != "action_feedback":
                del self.answers[key]
                return answer
            on_feedback(answer["values"])

    def take(self, operation: Values) -> None:
        """What comes from the simulation."""
        if operation["op"] == "publish":
            topic, message = operation["topic"], operation["msg"]
            publisher = self.broadcaster(message) if topic == STATIC else self.topics[topic]
            publisher.publish(as_message(self.kinds[topic], message))
        elif (answers := self.answers.get(operation.get("id", ""))) is not None:
            answers.put(operation)

    def forward(self, topic: str, message: Any) -> None:
        say("robot", {"op": "publish", "topic": topic, "msg": as_values(message)})

    def offer(self, name: str, kind: str) -> Any:
        driver = QoSProfile(depth=10)
        if name.endswith(("state", "status")):
            driver.durability = DurabilityPolicy.TRANSIENT_LOCAL
        elif name.endswith("/compressed") or name == "/scan":
            driver.reliability = ReliabilityPolicy.BEST_EFFORT
        return self.create_publisher(interface(kind), name, driver)

    def broadcaster(self, message: Values) -> Any:
        """The publisher of a message of static transforms: a latched one in a node of its own."""
        first = message["transforms"][0]["child_frame_id"]
        if first not in self.broadcasters:
            node = rclpy.create_node(f"static_transform_publisher_{len(self.broadcasters)}")
            latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
            self.broadcasters[first] = node.create_publisher(self.kinds[STATIC], STATIC, latched)
        return self.broadcasters[first]

    def look(self) -> None:
        """Ask the simulation for the topics that somebody reads now, and for each latched one."""
        for name, publisher in self.topics.items():
            latched = publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
            wanted = latched or publisher.get_subscription_count() > 0
            if wanted == self.wanted[name]:
                continue
            self.wanted[name] = wanted
            rate = PICTURE_EVERY_MS if "_camera" in name else 0
            operation = {"topic": name, "id": name}
            if wanted:
                say("robot", {"op": "subscribe", "type": self.types[name], "throttle_rate": rate, **operation})
            else:
                say("robot", {"op": "unsubscribe", **operation})

    def serve(self, name: str, kind: Any) -> None:
        def handle(request: Any, _: Any) -> Any:
            answer = self.ask({"op": "call_service", "service": name, "args": as_values(request)})
            return as_message(kind.Response, answer["values"])

        self.create_service(kind, name, handle, callback_group=self.group)

    def serve_action(self, name: str, kind_name: str) -> ActionServer:
        kind = interface(kind_name)
        cancels = self.create_client(CancelGoal, f"{name}/_action/cancel_goal", callback_group=self.group)

        def execute(handle: ServerGoalHandle) -> Any:
            goal = {"action": name, "action_type": kind_name, "args": as_values(handle.request), "feedback": True}
            end = self.ask(
                {"op": "send_action_goal", **goal},
                lambda values: handle.publish_feedback(as_message(kind.Feedback, values)),
            )
            if end["status"] == SUCCEEDED:
                handle.succeed()
            elif end["status"] == CANCELED:
                self.cancel(cancels, handle)
                handle.canceled()
            else:
                handle.abort()
            return as_message(kind.Result, end["values"]) if end["result"] else kind.Result()

        def cancel(_: Any) -> CancelResponse:
            say("robot", {"op": "call_service", "service": f"{name}/_action/cancel_goal", "args": {}})
            return CancelResponse.ACCEPT

        return ActionServer(self, kind, name, execute, cancel_callback=cancel, callback_group=self.group)

    def cancel(self, cancels: Any, handle: ServerGoalHandle) -> None:
        """Ask for the cancel of a goal that the simulation's guard has ended, as a guard on this graph would."""
        request = CancelGoal.Request()
        request.goal_info.goal_id = handle.goal_id
        while not handle.is_cancel_requested:
            cancels.call(request)

    def order(self, order: Values) -> None:
        match order:
            case {"do": "remove", "action": name}:
                self.servers.pop(name).destroy()
            case {"do": "restore", "action": name, "type": kind}:
                self.servers[name] = self.serve_action(name, kind)
        say("order", {"done": order["do"]})


def spin(executor: MultiThreadedExecutor) -> None:
    while True:
        # What is destroyed while the executor waits for it ends this version's spin.
        with contextlib.suppress(InvalidHandle):
            executor.spin()


def main() -> None:
    rclpy.init()
    names = json.loads(sys.argv[1])
    robot = Robot(names)
    bridge = Bridge(robot.ask) if names["bridge"] else None
    executor = MultiThreadedExecutor(num_threads=16)
    for node in (robot, *([bridge.node] if bridge else [])):
        executor.add_node(node)
    threading.Thread(target=spin, args=(executor,), daemon=True).start()
    wanted = names["services"].keys()
    while not wanted <= dict(robot.get_service_names_and_types()).keys():
        pass
    say("order", {"done": "started"})
    takers = {"robot": robot.take, "order": robot.order}
    if bridge:
        takers["bridge"] = bridge.take
    for line in sys.stdin:
        operation = json.loads(line)
        takers[operation.pop("at")](operation)


if __name__ == "__main__":
    main()
