"""Mutated rosbridge frames: from clients to the simulated robot, and from a robot to the servers."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import WebSocketException

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.mutations.http_surface import TIMEOUT_S
from quartet_benchmarks.mutations.mcp import READS
from quartet_benchmarks.mutations.mutate import Mutator
from quartet_deployment import Stack, sign_grant

CLIENTS = 3
FRAMES: tuple[dict[str, Any], ...] = (
    {
        "op": "subscribe",
        "id": "s1",
        "topic": "/odom",
        "type": "nav_msgs/msg/Odometry",
        "throttle_rate": 50,
        "queue_length": 1,
    },
    {
        "op": "subscribe",
        "id": "s2",
        "topic": "/mutated",
        "type": "std_msgs/msg/String",
        "compression": "cbor",
        "qos": {"history": "keep_last", "depth": 1, "reliability": "reliable", "durability": "volatile"},
    },
    {"op": "unsubscribe", "id": "s1", "topic": "/odom"},
    {"op": "unsubscribe", "id": "s2", "topic": "/mutated"},
    {"op": "advertise", "id": "a1", "topic": "/mutated", "type": "std_msgs/msg/String", "latch": False},
    {"op": "publish", "id": "p1", "topic": "/mutated", "msg": {"data": "hello"}},
    {"op": "unadvertise", "id": "a1", "topic": "/mutated"},
    {"op": "call_service", "id": "c1", "service": "/rosapi/topics", "args": {}, "timeout": 1.0},
    {"op": "call_service", "id": "c2", "service": "/rosapi/topic_type", "args": {"topic": "/odom"}},
    {"op": "call_service", "id": "c3", "service": "/no_such_service", "args": [1, 2]},
    {"op": "advertise_service", "id": "v1", "service": "/mutated_service", "type": "std_srvs/srv/Trigger"},
    {
        "op": "service_response",
        "id": "v1",
        "service": "/mutated_service",
        "values": {"success": True, "message": ""},
        "result": True,
    },
    {"op": "unadvertise_service", "id": "v1", "service": "/mutated_service"},
    {
        "op": "send_action_goal",
        "id": "g1",
        "action": "/no_such_action",
        "action_type": "nav2_msgs/action/Spin",
        "args": {"target_yaw": 0.0},
        "feedback": True,
    },
    {"op": "cancel_action_goal", "id": "g1", "action": "/no_such_action"},
    {"op": "advertise_action", "id": "w1", "action": "/mutated_action", "type": "nav2_msgs/action/Wait"},
    {"op": "action_feedback", "id": "w1", "action": "/mutated_action", "values": {}},
    {"op": "action_result", "id": "w1", "action": "/mutated_action", "values": {}, "status": 4, "result": True},
    {"op": "unadvertise_action", "id": "w1", "action": "/mutated_action"},
    {"op": "fragment", "id": "f1", "data": '{"op": "subscr', "num": 0, "total": 2},
    {"op": "set_level", "id": "l1", "level": "none"},
    {"op": "auth", "mac": "x", "client": "y", "dest": "z", "rand": "r", "t": 1, "level": "admin", "end": 2},
)
"""Operations that move nothing, mutated or not, because they name no topic or action of a motion."""


class BridgeClients:
    """Clients of the simulated robot's bridge that send invalid frames."""

    name = "bridge"

    def __init__(self, stack: Stack, mutator: Mutator) -> None:
        self._url, self._mutator = stack.bridge_url, mutator
        self._open: list[tuple[ClientConnection, asyncio.Task[None]]] = []
        self.failures: list[str] = []

    async def open(self) -> None:
        """Connect the clients."""
        for _ in range(CLIENTS):
            await self._connect()

    async def close(self) -> None:
        """Close everything."""
        for socket, reader in self._open:
            reader.cancel()
            await socket.close()
        await asyncio.gather(*(reader for _, reader in self._open), return_exceptions=True)

    async def send(self, number: int) -> None:
        """Send `number` mutated frames."""
        for _ in range(number):
            socket, reader = self._open[self._mutator.dice.randrange(len(self._open))]
            data = self._mutator.text(self._mutator.dice.choice(FRAMES))
            frame = data if self._mutator.dice.random() < 0.1 else data.decode("utf-8", "replace")
            try:
                await socket.send(frame)
            except WebSocketException:
                # The bridge closes the connection after invalid UTF-8, as the protocol demands.
                self._open.remove((socket, reader))
                await self._connect()
            if self._mutator.dice.random() < 0.002:
                socket.transport.abort()
        await self._answers()

    async def _connect(self) -> None:
        socket = await connect(self._url, compression=None, max_size=None, proxy=None, open_timeout=60)
        self._open.append((socket, asyncio.create_task(_drain(socket))))

    async def _answers(self) -> None:
        """Check that the bridge still serves a sound client."""
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                connect(self._url, compression=None, max_size=None, proxy=None) as socket,
            ):
                ask = {"op": "call_service", "id": "sound", "service": "/rosapi/get_time", "args": {}}
                await socket.send(json.dumps(ask))
                while json.loads(await socket.recv()).get("id") != "sound":
                    pass
        except (OSError, TimeoutError, WebSocketException) as error:
            self.failures.append(f"a sound client got no answer: {type(error).__name__} {error}")


async def _drain(socket: ClientConnection) -> None:
    with contextlib.suppress(WebSocketException):
        async for _ in socket:
            pass


POSE = {"position": {"x": 0.0, "y": 0.0, "z": 0.0}, "orientation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}}
STAMP = {"sec": 1, "nanosec": 0}
TRANSFORM = {
    "header": {"stamp": STAMP, "frame_id": "map"},
    "child_frame_id": "odom",
    "transform": {"translation": POSE["position"], "rotation": POSE["orientation"]},
}
MESSAGES: dict[str, Any] = {
    "tf": {"transforms": [TRANSFORM]},
    "joint": {
        "header": {"stamp": STAMP, "frame_id": ""},
        "name": ["a", "b"],
        "position": [0.0, 0.1],
        "velocity": [],
        "effort": [],
    },
    "odom": {
        "header": {"stamp": STAMP, "frame_id": "odom"},
        "child_frame_id": "base",
        "pose": {"pose": POSE, "covariance": [0.0] * 36},
    },
    "image": {"header": {"stamp": STAMP, "frame_id": "cam"}, "format": "jpeg", "data": "/9j/4AAQ"},
    "info": {
        "header": {"stamp": STAMP, "frame_id": "cam"},
        "width": 640,
        "height": 480,
        "k": [500.0, 0, 320, 0, 500, 240, 0, 0, 1],
        "d": [],
        "distortion_model": "plumb_bob",
    },
    "state": {
        "level": 0,
        "name": "guard",
        "message": "",
        "hardware_id": "",
        "values": [{"key": "latched", "value": "False"}],
    },
    "clock": {"clock": STAMP},
}
"""Messages by a part of the topic's name."""
VALUES: tuple[dict[str, Any], ...] = (
    {"topics": ["/odom"], "types": ["nav_msgs/msg/Odometry"]},
    {"success": True, "message": ""},
    {"solution": {"joint_state": MESSAGES["joint"]}, "error_code": {"val": 1}},
    {"state": {"id": 3, "label": "active"}},
    {"time": STAMP},
    {},
)


class StrangeRobot:
    """Bridge that answers servers of its own with mutated frames.

    One message is one frame to a server; in between the servers' reading tools are called.
    """

    name = "robot"

    def __init__(self, stack: Stack, mutator: Mutator, folder: Path, servers: Sequence[str]) -> None:
        """Take the names of the servers to start, and the folder for their files."""
        self._mutator, self._folder, self._site, self._names = mutator, folder, stack.site_dir, servers
        self._key = Ed25519PrivateKey.generate()
        self._robot = stack.robot
        self._server: Server | None = None
        self._sockets: list[tuple[ServerConnection, list[dict[str, Any]]]] = []
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._urls: dict[str, str] = {}
        self._http = httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False)
        self.failures: list[str] = []

    @property
    def processes(self) -> dict[str, tuple[int, Path]]:
        """Process id and log of each server."""
        return {f"{name} (strange robot)": (p.pid, self._log(name)) for name, p in self._processes.items()}

    async def open(self) -> None:
        """Start the bridge and its servers."""
        self._server = await serve(self._serve, "127.0.0.1", 0, compression=None, max_size=None)
        port = self._server.sockets[0].getsockname()[1]
        public = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        for name in self._names:
            state = self._folder / name
            state.mkdir(parents=True)
            env = {
                **{k: v for k, v in os.environ.items() if not k.startswith("QUARTET_")},
                "QUARTET_HOST": "127.0.0.1",
                "QUARTET_PORT": "0",
                "QUARTET_READY_FILE": str(state / "ready.json"),
                "QUARTET_STATE_DIR": str(state),
                "QUARTET_LOG_FORMAT": "text",
                "QUARTET_ROBOT_FILE": str(self._site / "robot.yaml"),
                "QUARTET_SITE_FILE": str(self._site / "site.yaml"),
                "QUARTET_BRIDGE_URL": f"ws://127.0.0.1:{port}",
                "QUARTET_GRANT_PUBLIC_KEY": public.decode(),
            }
            self._processes[name] = await asyncio.to_thread(self._start, name, env)
        for name, process in self._processes.items():
            ready = self._folder / name / "ready.json"
            end = time.monotonic() + 180
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > end:
                    raise MeasurementError(f"{name} did not start:\n{self._log(name).read_text()[-2000:]}")
                await asyncio.sleep(0.05)
            self._urls[name] = json.loads(ready.read_text())["url"]

    async def close(self) -> None:
        """End the servers and the bridge."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            try:
                await asyncio.to_thread(process.wait, 30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        await self._http.aclose()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def send(self, number: int) -> None:
        """Send `number` frames to the servers and call each server once per hundred."""
        asking = asyncio.gather(*(self._ask(name) for name in self._names for _ in range(max(1, number // 100))))
        for _ in range(number):
            if not self._sockets:
                await asyncio.sleep(0.05)
                continue
            socket, asked = self._mutator.dice.choice(self._sockets)
            with contextlib.suppress(WebSocketException):
                await socket.send(self._frame(self._operation(asked)))
        await asking

    def _start(self, name: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
        with self._log(name).open("wb") as log:
            return subprocess.Popen([sys.executable, "-m", f"quartet_{name}"], env=env, stdout=log, stderr=log)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    async def _serve(self, socket: ServerConnection) -> None:
        mine: tuple[ServerConnection, list[dict[str, Any]]] = (socket, [])
        self._sockets.append(mine)
        try:
            async for frame in socket:
                asked = json.loads(frame)
                mine[1].append(asked)
                del mine[1][:-50]
                if asked.get("op") in {"call_service", "send_action_goal"}:
                    await socket.send(self._frame(self._answer(asked)))
        except WebSocketException:
            pass
        finally:
            self._sockets.remove(mine)

    def _operation(self, asked: list[dict[str, Any]]) -> dict[str, Any]:
        """Return a message of a subscribed topic, or an answer to an earlier request."""
        if not asked:
            return {"op": "publish", "topic": "/tf", "msg": MESSAGES["tf"]}
        one = self._mutator.dice.choice(asked)
        if one.get("op") != "subscribe":
            return self._answer(one)
        topic = str(one.get("topic"))
        known = [message for part, message in MESSAGES.items() if part in topic]
        message = known[0] if known else self._mutator.dice.choice([*MESSAGES.values()])
        return {"op": "publish", "topic": topic, "msg": message}

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        values = self._mutator.dice.choice(VALUES)
        if asked.get("op") == "send_action_goal":
            answer = {"op": "action_result", "id": asked.get("id"), "action": asked.get("action"), "status": 4}
            return {**answer, "values": values, "result": True}
        answer = {"op": "service_response", "id": asked.get("id"), "service": asked.get("service")}
        return {**answer, "values": values, "result": True}

    def _frame(self, operation: dict[str, Any]) -> str | bytes:
        dice = self._mutator.dice
        data = self._mutator.text(operation)
        if dice.random() < 0.1:
            return data
        return data.decode("utf-8", "replace")

    async def _ask(self, name: str) -> None:
        tool, arguments = self._mutator.dice.choice(READS[name])
        grant = sign_grant(
            self._key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ).decode(),
            self._robot,
            [f"{name}__{tool}"],
            fence=1,
        )
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {
            "Authorization": f"Bearer {grant}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        try:
            response = await self._http.post(f"{self._urls[name]}/mcp", json=call, headers=headers)
        except httpx.HTTPError as error:
            self.failures.append(f"{name} {tool}: {type(error).__name__} {error}")
            return
        if response.status_code >= 500:
            self.failures.append(f"{name} {tool}: {response.status_code} {response.text[:300]}")
