"""What a program sees that uses roslibpy's public API against a rosbridge; prints it as one JSON object.

A process of its own, because roslibpy runs the global Twisted reactor. Usage: python roslibpy_client.py URL
"""

import base64
import json
import queue
import sys
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import roslibpy

PATIENCE_S = 20.0
CHAT = "/interop/roslibpy"
Ros = roslibpy.Ros


class Inbox:
    """Messages of a topic, in order."""

    def __init__(self, ros: Ros, name: str, message_type: str, **options: Any) -> None:
        self._messages: queue.Queue[Any] = queue.Queue()
        self.topic = roslibpy.Topic(ros, name, message_type, **options)
        self.topic.subscribe(self._messages.put)

    def next(self) -> Any:
        return self._messages.get(timeout=PATIENCE_S)

    def __enter__(self) -> "Inbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.topic.unsubscribe()

    @property
    def waiting(self) -> int:
        return self._messages.qsize()


def first(ros: Ros, name: str, message_type: str) -> Any:
    with Inbox(ros, name, message_type) as inbox:
        return inbox.next()


def call(ros: Ros, service_name: str, service_type: str, **request: Any) -> Any:
    """The response, or the text of the refusal."""
    service = roslibpy.Service(ros, service_name, service_type)
    try:
        return dict(service.call(roslibpy.ServiceRequest(request), timeout=PATIENCE_S))
    except roslibpy.core.ServiceException as error:
        return str(error.args[0])


def goal(ros: Ros, name: str, action_type: str, args: dict[str, Any], *, cancel: bool = False) -> dict[str, Any]:
    """How a goal ended and whether feedback came; `cancel` at the first feedback."""
    client = roslibpy.ActionClient(ros, name, action_type)
    feedback: queue.Queue[Any] = queue.Queue()
    ends: queue.Queue[tuple[str, Any]] = queue.Queue()
    goal_id = client.send_goal(
        roslibpy.Goal(args), lambda end: ends.put(("result", end)), feedback.put, lambda end: ends.put(("error", end))
    )
    seen = None
    if cancel:
        seen = dict(feedback.get(timeout=PATIENCE_S))
        client.cancel_goal(goal_id)
    client.wait_goal(goal_id, timeout=PATIENCE_S)
    way, end = ends.get(timeout=PATIENCE_S)
    if seen is None and not feedback.empty():
        seen = dict(feedback.get())
    return {"way": way, "status": end["status"].value, "values": end["values"], "feedback": seen}


def graph(ros: Ros) -> dict[str, Any]:
    return {
        "topics": ros.get_topics(),
        "odom_type": ros.get_topic_type("/odom"),
        "topics_of_type": ros.get_topics_for_type("nav_msgs/msg/Odometry"),
        "services": ros.get_services(),
        "service_type": ros.get_service_type("/robot_guard/stop"),
        "services_of_type": ros.get_services_for_type("std_srvs/srv/Trigger"),
        "nodes": ros.get_nodes(),
        "node": dict(ros.get_node_details("/robot_guard")),
        "actions": dict(call(ros, "/rosapi/action_servers", "rosapi/GetActionServers"))["action_servers"],
        "twist_fields": ros.get_message_details("geometry_msgs/msg/Twist")["typedefs"][0]["fieldnames"],
        "trigger_response": ros.get_service_response_details("std_srvs/srv/Trigger")["typedefs"][0]["fieldnames"],
    }


def topics(ros: Ros, other: Ros) -> dict[str, Any]:
    odometry = first(ros, "/odom", "nav_msgs/Odometry")
    string = "std_msgs/String"
    writer = roslibpy.Topic(other, f"{CHAT}/chat", string)
    writer.advertise()
    with Inbox(ros, f"{CHAT}/chat", string) as inbox:
        settle(ros)
        for text in ("one", "two", "drei äöü"):
            writer.publish(roslibpy.Message({"data": text}))
        heard = [inbox.next()["data"] for _ in range(3)]
    settle(ros)
    writer.publish(roslibpy.Message({"data": "nobody listens"}))
    settle(other)
    settle(ros)
    after = inbox.waiting
    writer.unadvertise()
    settle(other)
    return {
        "odom_frame": odometry["header"]["frame_id"],
        "relative": first(ros, "odom", "nav_msgs/Odometry")["header"]["frame_id"],
        "heard": heard,
        "after_unsubscribe": after,
        "listed_after_unadvertise": f"{CHAT}/chat" in ros.get_topics(),
    }


def latched(ros: Ros, other: Ros) -> dict[str, Any]:
    static = first(ros, "/tf_static_merged", "tf2_msgs/TFMessage")
    writer = roslibpy.Topic(other, f"{CHAT}/latched", "std_msgs/String", latch=True)
    writer.publish(roslibpy.Message({"data": "kept"}))
    settle(other)
    return {
        "static_frames": [item["child_frame_id"] for item in static["transforms"]],
        "late": first(ros, f"{CHAT}/latched", "std_msgs/String")["data"],
        "guard": first(ros, "/robot_guard/state", "diagnostic_msgs/DiagnosticStatus")["name"],
    }


def services(ros: Ros) -> dict[str, Any]:
    return {
        "state": call(ros, "/bt_navigator/get_state", "lifecycle_msgs/GetState")["current_state"]["label"],
        "unknown": call(ros, "/nope", "std_srvs/Trigger"),
        "bad_field": call(ros, "/robot_guard/stop", "std_srvs/Trigger", bad=1),
        "time": call(ros, "/rosapi/get_time", "rosapi/GetTime")["time"],
    }


def offered(ros: Ros, other: Ros) -> dict[str, Any]:
    """A service that this program offers and another connection calls."""
    name, kind = f"{CHAT}/switch", "std_srvs/SetBool"
    asked: list[dict[str, Any]] = []

    def switch(request: Any, response: Any) -> bool:
        asked.append(dict(request))
        response["success"], response["message"] = True, "switched äöü"
        return True

    service = roslibpy.Service(ros, name, kind)
    service.advertise(switch)
    settle(ros)
    answer = call(other, name, kind, data=True)
    service.unadvertise()
    settle(ros)
    return {"asked": asked, "answer": answer, "gone": call(other, name, kind, data=True)}


def parameters(ros: Ros) -> dict[str, Any]:
    name = "/move_group:use_sim_time"
    parameter = roslibpy.Param(ros, name)
    before = parameter.get(timeout=PATIENCE_S)
    parameter.set(False, timeout=PATIENCE_S)
    changed = parameter.get(timeout=PATIENCE_S)
    parameter.set(before, timeout=PATIENCE_S)
    refused = call(ros, "/rosapi/set_param", "rosapi/SetParam", name=name, value='"words"')
    own = call(ros, "/move_group/get_parameters", "rcl_interfaces/GetParameters", names=["use_sim_time"])
    return {
        "listed": name in ros.get_params(),
        "before": before,
        "changed": changed,
        "restored": parameter.get(timeout=PATIENCE_S),
        "refused": refused["successful"],
        "own": own["values"][0]["bool_value"],
        "deleted": call(ros, "/rosapi/delete_param", "rosapi/DeleteParam", name=name)["successful"],
    }


def actions(ros: Ros, guard_url: str) -> dict[str, Any]:
    drive = {"target": {"x": 1.0, "y": 0.0, "z": 0.0}, "speed": -0.2}
    spin = "nav2_msgs/action/Spin"
    stopped = call(ros, "/robot_guard/stop", "std_srvs/Trigger")["success"]
    rejected = goal(ros, "/spin", spin, {"target_yaw": 0.5})
    urllib.request.urlopen(f"{guard_url}/reset", b"", timeout=PATIENCE_S).close()
    return {
        "succeeded": goal(ros, "/spin", spin, {"target_yaw": 0.5}),
        "aborted": goal(ros, "/drive_on_heading", "nav2_msgs/action/DriveOnHeading", drive),
        "canceled": goal(
            ros, "/wait", "nav2_msgs/action/Wait", {"time": {"sec": 1_000_000, "nanosec": 0}}, cancel=True
        ),
        "unknown": goal(ros, "/fly", spin, {}),
        "stopped": stopped,
        "rejected": rejected,
    }


def images(ros: Ros) -> dict[str, Any]:
    colour = first(ros, "/front_camera/color/image_raw/compressed", "sensor_msgs/CompressedImage")
    depth = first(ros, "/front_camera/aligned_depth_to_color/image_raw", "sensor_msgs/Image")
    return {
        "format": colour["format"],
        "frame": colour["header"]["frame_id"],
        "magic": base64.b64decode(colour["data"])[:3].hex(),
        "depth": [depth["width"], depth["height"], depth["encoding"], len(base64.b64decode(depth["data"]))],
    }


def settle(ros: Ros) -> None:
    """What this connection sent before has been taken in: a bridge reads in order and answers this last."""
    call(ros, "/rosapi/get_time", "rosapi/GetTime")


def connect(url: str) -> Ros:
    address = urlsplit(url)
    ros = Ros(host=address.hostname, port=address.port)
    ros.run(timeout=PATIENCE_S)
    return ros


def main(url: str, guard_url: str) -> None:
    ros, other = connect(url), connect(url)
    parts: dict[str, Callable[[], Any]] = {
        "graph": lambda: graph(ros),
        "topics": lambda: topics(ros, other),
        "latched": lambda: latched(ros, other),
        "services": lambda: services(ros),
        "offered": lambda: offered(ros, other),
        "parameters": lambda: parameters(ros),
        "actions": lambda: actions(ros, guard_url),
        "images": lambda: images(ros),
    }
    report: dict[str, Any] = {"connected": ros.is_connected}
    for name, part in parts.items():
        try:
            report[name] = part()
        except Exception as error:
            report[name] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(report, default=dict))
    other.close()
    ros.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
