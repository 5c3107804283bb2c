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
STATIC = "/tf_static"
LOOK_EVERY_S = 0.1
"""How often subscribers of a topic are looked for: what nobody reads is not asked of the simulation."""
PICTURE_EVERY_MS = 200


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
