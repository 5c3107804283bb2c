"""Action servers that a client of the bridge offers to everybody else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import dataclass

from quartet_simulation.errors import NameTakenError
from quartet_simulation.ros.actions import ActionServer, GoalHandle, GoalStatus
from quartet_simulation.ros.graph import Graph
from quartet_simulation.ros.types import Message, complete

End = tuple[GoalStatus, Message]


@dataclass
class Running:
    """A goal that the client works on."""

    server: ActionServer
    handle: GoalHandle
    end: asyncio.Future[End]


class OfferedActions:
    """Action servers of one client of the bridge.

    A goal goes to the client as `send_action_goal`, a cancel as `cancel_action_goal`; its `action_feedback` and
    `action_result` come back. The texts are those of rosbridge_library 2.7, capabilities/advertise_action.py.
    """

    def __init__(self, graph: Graph, node: str, send: Callable[[Message], None]) -> None:
        self._graph, self._node, self._send = graph, node, send
        self._servers: dict[str, ActionServer] = {}
        self._goals: dict[str, Running] = {}
        self._numbers = itertools.count(1)

    def offer(self, name: str, spelled: str, type_name: str) -> None:
        """Serve `name`, which the client spells `spelled`; again takes the place of before.

        Raises UnknownTypeError, NameTakenError.
        """
        if name in self._graph.actions and name not in self._servers:
            raise NameTakenError(f"Action {name} is there already")

        async def execute(handle: GoalHandle) -> End:
            key = f"action_goal:{spelled}:{next(self._numbers)}"
            goal = {"action": spelled, "action_type": type_name, "args": handle.request, "feedback": True}
            running = self._goals[key] = Running(server, handle, asyncio.get_running_loop().create_future())
            handle.on_cancel = lambda: self._send({"op": "cancel_action_goal", "id": key, "action": spelled})
            self._send({"op": "send_action_goal", "id": key} | goal)
            if handle.cancel_asked.is_set():
                handle.on_cancel()
            try:
                return await running.end
            finally:
                del self._goals[key]

        server = ActionServer(
            name, type_name, self._node, execute, lambda _: None, self._graph.now, self._graph.checked
        )
        self.withdraw(name)
        self._servers[name] = server
        self._graph.add_action(server)

    def withdraw(self, name: str) -> None:
        """Serve `name` no more: its goals end aborted. What the client does not offer stays."""
        server = self._servers.pop(name, None)
        if server is None:
            return
        self._graph.remove_action(name)
        for running in self._goals.values():
            if running.server is server:
                _end(running, GoalStatus.ABORTED, {})

    def feedback(self, frame: Message) -> None:
        """Take in an `action_feedback`; one to no goal of ours is ignored. Raises FieldError."""
        running = self._goals.get(str(frame.get("id")))
        if running is not None and running.handle.on_feedback is not None:
            running.handle.on_feedback(frame.get("values") or {})

    def result(self, frame: Message) -> None:
        """Take in an `action_result`; one to no goal of ours is ignored. Raises FieldError, and the goal goes on."""
        running = self._goals.get(str(frame.get("id")))
        if running is None:
            return
        if not frame["result"]:
            _end(running, GoalStatus.ABORTED, {})
            return
        values = complete(running.server.result_type, frame.get("values") or {})
        status = frame["status"]
        if status == GoalStatus.SUCCEEDED:
            _end(running, GoalStatus.SUCCEEDED, values)
        elif status == GoalStatus.CANCELED and running.handle.cancel_asked.is_set():
            _end(running, GoalStatus.CANCELED, values)
        else:
            _end(running, GoalStatus.ABORTED, values)

    def close(self) -> None:
        """The client has gone: its action servers go too, and their goals end aborted."""
        for name in list(self._servers):
            self.withdraw(name)


def _end(running: Running, status: GoalStatus, values: Message) -> None:
    if not running.end.done():
        running.end.set_result((status, values))
