"""Frames of rosbridge that would move the robot, or let it move, and that the bridge proxy refuses. Seeded."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from quartet_site import RobotFile

TWIST = "geometry_msgs/msg/Twist"


@dataclass(frozen=True)
class Approach:
    """Frames that one client sends, and the headers with which it connects."""

    kind: str
    frames: list[str | bytes]
    token: str = "right"
    """right, wrong or none."""
    headers: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def admitted(self) -> bool:
        """Whether the client may connect, so that its frames are what is refused."""
        return self.token == "right" and not self.headers


class FrameAttacker:
    """Frames against the bridge of one robot."""

    def __init__(self, robot: RobotFile, seed: int) -> None:
        self._robot, self._random = robot, random.Random(seed)
        self._kinds: list[Callable[[], Approach]] = [
            self._velocity,
            self._goal,
            self._service,
            self._fragments,
            self._variant,
            self._framing,
            self._not_admitted,
            self._foreign_page,
        ]

    @property
    def kinds(self) -> int:
        """Number of kinds."""
        return len(self._kinds)

    def approaches(self, count: int) -> Iterator[Approach]:
        """Yield `count` approaches, every kind in turn."""
        for number in range(count):
            yield self._kinds[number % len(self._kinds)]()

    def drive(self) -> dict[str, Any]:
        """Return a frame that drives the base, wherever nothing filters."""
        speed = self._random.choice([-1.0, 1.0]) * self._random.uniform(0.3, 1.0)
        return {"op": "publish", "topic": "/cmd_vel", "type": TWIST, "msg": {"linear": {"x": speed}}}

    def _velocity(self) -> Approach:
        topics = [
            "/cmd_vel",
            "cmd_vel",
            "//cmd_vel",
            "/cmd_vel/",
            "/./cmd_vel",
            self._robot.topics.velocity,
            "/cmd_vel_gated",
        ]
        named = {"topic": self._random.choice(topics)}
        publish = {**self.drive(), **named}
        if self._random.random() < 0.5:
            publish = {name: value for name, value in publish.items() if name != "type"}
        advertise = {"op": "advertise", "id": "a", **named, "type": TWIST}
        return Approach("velocity", [_text(advertise), _text(publish)])

    def _goal(self) -> Approach:
        names = self._robot.actions
        action, kind = self._random.choice(
            [
                ("/follow_path", "nav2_msgs/action/FollowPath"),
                ("/arm_controller/follow_joint_trajectory", "control_msgs/action/FollowJointTrajectory"),
                (names.spin, "nav2_msgs/action/BackUp"),
                (names.spin.lstrip("/") + "/", "nav2_msgs/action/Spin"),
                (names.navigate_to_pose + "/../spin", "nav2_msgs/action/Spin"),
            ]
        )
        args = {"target_yaw": 1.5, "time_allowance": {"sec": 10, "nanosec": 0}}
        return Approach(
            "goal", [_text({"op": "send_action_goal", "id": "g", "action": action, "action_type": kind, "args": args})]
        )

    def _service(self) -> Approach:
        services = self._robot.services
        service, args = self._random.choice(
            [
                (services.guard_reset, {}),
                (services.guard_reset.lstrip("/"), {}),
                (f"{self._robot.actions.spin}/_action/send_goal", {"goal": {"target_yaw": 1.5}}),
                ("/controller_manager/switch_controller", {"deactivate_controllers": ["arm_controller"]}),
                ("/rosapi/set_param", {"name": "/controller_server:max_vel_x", "value": "9.0"}),
                (
                    "/controller_server/set_parameters",
                    {"parameters": [{"name": "FollowPath.max_vel_x", "value": {"type": 3, "double_value": 9.0}}]},
                ),
            ]
        )
        return Approach("service", [_text({"op": "call_service", "id": "s", "service": service, "args": args})])

    def _fragments(self) -> Approach:
        whole, total = _text(self.drive()), self._random.randint(1, 4)
        size = -(-len(whole) // total)
        pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
        return Approach(
            "fragment",
            [
                _text({"op": "fragment", "id": "f", "num": number, "total": len(pieces), "data": piece})
                for number, piece in enumerate(pieces)
            ],
        )

    def _variant(self) -> Approach:
        frame = self.drive()
        op = self._random.choice(
            ["PUBLISH", "Publish", " publish", "publish ", "pub\u200blish", ["publish"], None, 1, "png"]
        )
        texts = [
            _text({**frame, "op": op}),
            _text(frame).replace('"op"', '"OP"'),
            # The last of two wins at the proxy, and nobody is to read the first.
            _text(frame).replace('"op": "publish"', '"op": "subscribe", "op": "publish"'),
            _text({**frame, "topic": ["/cmd_vel"]}),
        ]
        return Approach("variant", [self._random.choice(texts)])

    def _framing(self) -> Approach:
        text = _text(self.drive())
        harmless = '{"op": "subscribe", "topic": "/odom"}'
        whole: list[str | bytes] = [text.encode(), f"[{text}]", harmless + text, text + harmless, f"{harmless}\n{text}"]
        half: list[str | bytes] = [text[:20], text[20:]]
        return Approach("framing", self._random.choice([*([one] for one in whole), half]))

    def _not_admitted(self) -> Approach:
        return Approach("token", [_text(self._allowed_goal())], token=self._random.choice(["wrong", "none"]))

    def _foreign_page(self) -> Approach:
        origin = self._random.choice(["https://foreign.example", "http://localhost:8000", "null", "file://"])
        return Approach("origin", [_text(self._allowed_goal())], headers={"Origin": origin})

    def _allowed_goal(self) -> dict[str, Any]:
        """Return a goal that the servers may send."""
        args = {"target_yaw": 1.5, "time_allowance": {"sec": 10, "nanosec": 0}}
        spin = {"action": self._robot.actions.spin, "action_type": "nav2_msgs/action/Spin"}
        return {"op": "send_action_goal", "id": "g", **spin, "args": args}


def _text(operation: Any) -> str:
    return json.dumps(operation)
