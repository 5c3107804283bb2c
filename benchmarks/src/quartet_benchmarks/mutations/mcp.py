"""Mutated JSON-RPC requests to the MCP endpoints: calls, sessions, grants, content types, sizes."""

import time
from typing import Any

import httpx

from quartet_benchmarks.mutations.http_surface import FIRST_ERROR_STATUS, HttpSurface
from quartet_benchmarks.mutations.mutate import STRANGE, Mutator, dump
from quartet_contracts import FENCE_SCOPE, Skill, granted_tools
from quartet_deployment import Stack

READS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "nav2": [("get_robot_pose", {}), ("get_path_from_robot", {"x": 1.0, "y": 1.0})],
    "moveit": [("get_grasp_state", {}), ("get_current_pose", {}), ("compute_fk", {"joints": [0, 0, 0, 0, 0, 0]})],
    "perception": [
        ("detect_objects", {"names": ["red coke can"]}),
        ("segment_objects", {"prompt": "red coke can", "camera": "front"}),
        ("get_topdown_grasp_pose", {"object_name": "red coke can"}),
    ],
    "ros": [("get_topics", {}), ("get_message_details", {"message_type": "std_msgs/msg/String"})],
}
"""Calls that move nothing, whatever becomes of their arguments."""
MOVES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "nav2": [("navigate_to_pose", {"x": 1.0, "y": 0.5, "yaw": 0.1}), ("spin_robot", {"angle": 1.0})],
    "moveit": [
        ("plan_cartesian_path", {"position": [0.6, 0.0, 0.5], "orientation": [1.0, 0.0, 0.0, 0.0]}),
        ("open_gripper", {}),
    ],
    "ros": [("publish_once", {"topic": "/cmd_vel", "msg_type": "geometry_msgs/msg/Twist", "msg": {}})],
    "perception": [],
}
"""Calls that move the robot; they come with an outdated, foreign or missing grant."""
BIG = 3 * 1024 * 1024


class McpSurface(HttpSurface):
    """Sends mutated requests to the MCP endpoints of the four servers."""

    name = "mcp"

    def __init__(self, stack: Stack, mutator: Mutator) -> None:
        super().__init__(stack, mutator)
        self._sessions: list[str] = []
        self._reading = self._old = ""

    async def open(self) -> None:
        """Make a grant that may only read, and one for everything with an outdated fence."""
        await self._install_fence(7)
        motions = sorted({tool for skill in Skill for tool in granted_tools(skill)})
        reads = [f"{server}__{tool}" for server, tools in READS.items() for tool, _ in tools]
        self._reading = self._stack.grant(reads, fence=7)
        self._old = self._stack.grant([*motions, "ros__publish_once"], fence=3)

    async def _install_fence(self, fence: int) -> None:
        token = self._stack.grant([FENCE_SCOPE], fence=fence)
        for server in READS:
            url = f"{self._stack.url_of(server)}/control/fence"
            await self._http.post(url, headers={"Authorization": f"Bearer {token}"})

    async def _one(self) -> None:
        dice = self._mutator.dice
        server = dice.choice(sorted(READS))
        moving = bool(MOVES[server]) and dice.random() < 0.3
        tool, arguments = dice.choice(MOVES[server] if moving else READS[server])
        if moving:
            token = dice.choice([self._old, "", "x.y.z", self._mutator.damaged(self._old.encode()).decode("latin-1")])
        else:
            token = self._reading if dice.random() < 0.9 else self._mutator.damaged(b"token").decode("latin-1")
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": "Bearer " + "".join(c for c in token if 32 < ord(c) < 127),
        }
        if dice.random() < 0.3:
            name = dice.choice(["Content-Type", "Accept", "Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method"])
            strange = str(dice.choice([*STRANGE, *self._sessions[-3:], "text/plain", "2025-06-18", "2020-01-01"]))
            headers[name] = "".join(c for c in strange[:2000] if c.isprintable() and ord(c) < 128)
        method = "POST" if dice.random() < 0.92 else dice.choice(["GET", "DELETE", "PUT"])
        if method == "GET":
            # The stream of a session would stay open.
            headers["Accept"] = "application/json"
        await self._ask(server, method, headers, self._content(tool, arguments))

    def _content(self, tool: str, arguments: dict[str, Any]) -> bytes:
        message = self._message(tool, arguments)
        if self._mutator.dice.random() < 0.01:
            return dump({**message, "padding": "x" * BIG})
        return self._mutator.text(message)

    def _message(self, tool: str, arguments: dict[str, Any]) -> Any:
        call = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}}
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "mutation", "version": "1"},
        }
        kinds: list[dict[str, Any]] = [
            {"method": "tools/call", "params": call},
            {"method": "tools/call", "params": call},
            {"method": "tools/call", "params": call},
            {"method": "initialize", "params": hello},
            {"method": "tools/list", "params": {}},
            {"method": "ping"},
            {"method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
            {"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "no"}},
            {"method": "completion/complete", "params": {"ref": {"type": "ref/prompt", "name": "x"}}},
        ]
        message = {"jsonrpc": "2.0", "id": self._mutator.dice.randint(1, 9), **self._mutator.dice.choice(kinds)}
        if message["method"].startswith("notifications"):
            del message["id"]
        return message

    async def _ask(self, server: str, method: str, headers: dict[str, str], content: bytes) -> None:
        url = f"{self._stack.url_of(server)}/mcp"
        began = time.monotonic()
        try:
            response = await self._http.request(method, url, content=content, headers=headers)
        except httpx.HTTPError as error:
            if isinstance(error, httpx.TimeoutException | httpx.ConnectError):
                seconds = time.monotonic() - began
                self.failures.append(f"{method} {url} {content[:300]!r}: {type(error).__name__} after {seconds:.0f} s")
            return
        if session := response.headers.get("mcp-session-id"):
            self._sessions = [*self._sessions[-9:], session]
        if response.status_code >= FIRST_ERROR_STATUS:
            self.failures.append(f"{method} {url} {content[:300]!r}: {response.status_code} {response.text[:300]}")
