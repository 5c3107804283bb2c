"""A bridge to a real ROS graph that speaks rosbridge's operations with its clients."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from graph_messages import Values, as_message, as_values, interface, say
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

AskRobot = Callable[[Values], Values]


class Bridge:
    """Node `rosbridge_websocket` with its clients, by number."""

    def __init__(self, ask_robot: AskRobot) -> None:
        self.node = Node("rosbridge_websocket")
        self.ask_robot = ask_robot
        self.workers = ThreadPoolExecutor(16)
        self.clients: dict[int, Client] = {}

    def take(self, operation: Values) -> None:
        """What a client sends; `op` "leave": its connection is closed."""
        number = operation.pop("client")
        client = self.clients.setdefault(number, Client(self, number))
        if operation["op"] == "leave":
            self.workers.submit(self.clients.pop(number).leave)
        else:
            self.workers.submit(client.guarded, operation)


class Client:
    """Does on the graph what a client of rosbridge asks for."""

    def __init__(self, bridge: Bridge, number: int) -> None:
        self.bridge, self.node, self.number = bridge, bridge.node, number
        self.group = ReentrantCallbackGroup()
        self.made: dict[tuple[str, str], Any] = {}
        self.goals: dict[str, Any] = {}
        self.making = threading.Lock()

    def once(self, what: str, name: str, make: Callable[[], Any]) -> Any:
        with self.making:
            if (what, name) not in self.made:
                self.made[what, name] = make()
            return self.made[what, name]

    def say(self, operation: Values) -> None:
        say("bridge", {**operation, "client": self.number})

    def guarded(self, operation: Values) -> None:
        try:
            getattr(self, operation["op"])(operation)
        except Exception as error:  # rosbridge tells it and lives on
            self.node.get_logger().error(f"{operation}: {error!r}")

    def leave(self) -> None:
        """End what it listens to; its goals keep running, as rosbridge's do."""
        with self.making:
            for what, name in [key for key in self.made if key[0] == "subscription"]:
                self.node.destroy_subscription(self.made.pop((what, name)))

    def subscribe(self, operation: Values) -> None:
        topic, kind = operation["topic"], interface(operation["type"])
        asked = operation.get("qos", {})
        qos = QoSProfile(
            depth=asked.get("depth", 10),
            reliability=ReliabilityPolicy[asked.get("reliability", "reliable").upper()],
            durability=DurabilityPolicy[asked.get("durability", "volatile").upper()],
        )

        def heard(message: Any) -> None:
            self.say({"op": "publish", "topic": topic, "msg": as_values(message)})

        def make() -> Any:
            return self.node.create_subscription(kind, topic, heard, qos, callback_group=self.group)

        self.once("subscription", operation["id"], make)

    def unsubscribe(self, operation: Values) -> None:
        with self.making:
            self.node.destroy_subscription(self.made.pop(("subscription", operation["id"])))

    def advertise(self, operation: Values) -> None:
        topic, kind = operation["topic"], interface(operation["type"])
        self.once("publisher", topic, lambda: self.node.create_publisher(kind, topic, 10))

    def publish(self, operation: Values) -> None:
        publisher = self.made["publisher", operation["topic"]]
        publisher.publish(as_message(publisher.msg_type, operation["msg"]))

    def call_service(self, operation: Values) -> None:
        name, answer = operation["service"], {"op": "service_response", "id": operation.get("id")}
        answer |= {"service": name, "result": False}
        if name.startswith("/rosapi/"):
            # The types of the simulation are those of this graph.
            known = self.bridge.ask_robot({"op": "call_service", "service": name, "args": operation.get("args", {})})
            self.say(answer | {"result": known["result"], "values": known["values"]})
            return
        try:
            name = self.node.resolve_service_name(name)
            kinds = dict(self.node.get_service_names_and_types())
            if name not in kinds:
                raise ValueError(f"Service {name} does not exist")
            package, kind, last = kinds[name][0].split("/")
            if kind == "action" and last.endswith("_GetResult"):
                raise ValueError(f"Unable to import class {last} from package {package}. module has no such class")
            service = interface(f"{package}/{kind}/{last}")
            client = self.once(
                "client", name, lambda: self.node.create_client(service, name, callback_group=self.group)
            )
            if not client.wait_for_service(1.0):
                raise ValueError(f"Service {name} does not exist")
            called = client.call_async(as_message(service.Request, operation.get("args", {})))
            called.add_done_callback(
                lambda done: self.say(answer | {"result": True, "values": as_values(done.result())})
            )
        except Exception as error:
            self.say(answer | {"values": str(error)})

    def send_action_goal(self, operation: Values) -> None:
        name, kind = operation["action"], interface(operation["action_type"])
        answer = {"op": "action_result", "action": name, "id": operation["id"], "result": False, "status": 0}

        def accepted(sent: Any) -> None:
            handle = sent.result()
            if not handle.accepted:
                self.say(answer | {"values": "Action goal was rejected"})
                return
            self.goals[operation["id"]] = handle
            handle.get_result_async().add_done_callback(ended)

        def ended(done: Any) -> None:
            values = {"values": as_values(done.result().result), "status": done.result().status, "result": True}
            self.say(answer | values)

        def feedback(message: Any) -> None:
            values = {"values": as_values(message.feedback), "action": name, "id": operation["id"]}
            self.say({"op": "action_feedback", **values})

        try:
            client = self.once("action", name, lambda: ActionClient(self.node, kind, name, callback_group=self.group))
            if not client.wait_for_server(2.0):
                raise ValueError("No action server available")
            goal = as_message(kind.Goal, operation["args"])
            client.send_goal_async(goal, feedback_callback=feedback).add_done_callback(accepted)
        except Exception as error:
            self.say(answer | {"values": str(error)})

    def cancel_action_goal(self, operation: Values) -> None:
        self.goals[operation["id"]].cancel_goal_async()
