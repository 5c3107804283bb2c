"""A relay that gives the simulated robot another gripper driver: services or a topic, and a joint for each finger."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from quartet_site import RobotFile

CLOSE, OPEN, TOPIC = "/driver/close", "/driver/open", "/driver/commands"
LEFT, RIGHT = "left_finger_joint", "right_finger_joint"
TRAVEL = 0.04
"""Travel of each finger joint [m]: LEFT from 0.04 (open) to 0, RIGHT from -0.04 (open) to 0."""


class GripperDriver:
    """Turns requests and messages into goals of the simulated gripper, whose action the client does not see."""

    def __init__(self, robot_file: RobotFile, *, two_joints: bool = False) -> None:
        self._file, self._two_joints = robot_file, two_joints
        self.requests: list[dict[str, Any]] = []
        """Operations of the client that the driver took."""
        self.refuses = ""
        """Reason with which services are refused; '' to accept them."""
        self.lost = 0
        """Number of messages on the topic that the driver misses at first."""

    def position_in(self, operation: dict[str, Any]) -> float:
        """Return the commanded position of the simulated joint."""
        gripper, name = self._file.gripper, operation.get("service")
        if name is not None:
            closes = operation["args"]["data"] if "data" in operation.get("args", {}) else name == CLOSE
            return gripper.closed_position if closes else gripper.open_position
        message = operation["msg"]
        value = message["points"][0]["positions"] if "points" in message else message["data"]
        if not self._two_joints:
            return value[0] if isinstance(value, list) else value
        share = (value[0] - value[1]) / 2 / TRAVEL
        return gripper.closed_position + share * (gripper.open_position - gripper.closed_position)

    def split(self, operation: dict[str, Any]) -> None:
        """Replace the simulated joint by one for each finger, the right one 5 mm further closed."""
        message, gripper = operation["msg"], self._file.gripper
        if not self._two_joints or gripper.joint not in message["name"]:
            return
        at = message["name"].index(gripper.joint)
        share = gripper.width_at(message["position"][at]) / gripper.stroke_m
        message["name"][at : at + 1] = [LEFT, RIGHT]
        skew = 0.005 if 0.2 < share < 0.8 else 0.0
        message["position"][at : at + 1] = [share * TRAVEL + skew, -share * TRAVEL + skew]
        for field, sign in (("velocity", 0.1), ("effort", 1.0)):
            message[field][at : at + 1] = [sign * message[field][at], -sign * message[field][at]]

    @contextlib.asynccontextmanager
    async def relay(self, url: str) -> AsyncIterator[str]:
        """Relay to the bridge at `url`; yields the relay's address."""

        async def back(client: ServerConnection, robot: Any) -> None:
            async for frame in robot:
                if isinstance(frame, str):
                    operation = json.loads(frame)
                    if str(operation.get("id")).startswith("driver-"):
                        continue
                    if operation.get("op") == "publish" and operation["topic"] == "/joint_states":
                        self.split(operation)
                    frame = json.dumps(operation)
                await client.send(frame)

        async def take(client: ServerConnection, robot: Any, operation: dict[str, Any]) -> None:
            self.requests.append(operation)
            if "service" in operation:
                values = {"success": not self.refuses, "message": self.refuses}
                answer = {"op": "service_response", "id": operation["id"], "service": operation["service"]}
                await client.send(json.dumps({**answer, "values": values, "result": True}))
            if self.refuses or operation["op"] == "advertise":
                return
            if "topic" in operation and self.lost:
                self.lost -= 1
                return
            command = {"position": self.position_in(operation), "max_effort": self._file.gripper.effort}
            goal = {"op": "send_action_goal", "id": f"driver-{len(self.requests)}", "args": {"command": command}}
            goal |= {"action": self._file.actions.gripper, "action_type": "control_msgs/action/GripperCommand"}
            await robot.send(json.dumps(goal))

        async def forward(client: ServerConnection) -> None:
            async with connect(url, compression=None, max_size=None) as robot:
                task = asyncio.create_task(back(client, robot))
                with contextlib.suppress(ConnectionClosed):
                    async for frame in client:
                        operation = json.loads(frame)
                        if {operation.get("service"), operation.get("topic")} & {CLOSE, OPEN, TOPIC}:
                            await take(client, robot, operation)
                        else:
                            await robot.send(frame)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        async with serve(forward, "127.0.0.1", 0, compression=None, max_size=None) as server:
            yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
