"""A scripted model in a thread of this process, whose answers can be made to go wrong from a turn on."""

import asyncio
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from quartet_agent_runtime.gateway import MAX_ANSWER_BYTES
from quartet_benchmarks.faults.kinds import Fault
from quartet_scripted_model import Call, Settings, create_app
from quartet_scripted_model.answer import answer
from quartet_scripted_model.misbehaviour import Kind, spoil

DRIP_S = 0.1
"""No answer is over within the gateway's time for it."""
HUGE = 2 * MAX_ANSWER_BYTES
MARK = re.compile(r"\[run \d+\]")
Given = tuple[str, str]
"""Name and arguments (JSON, keys in order) of a call."""


def key_of(tool: str, arguments: Any) -> Given:
    return tool, json.dumps(arguments, sort_keys=True)


@dataclass
class Plan:
    """Which answers go wrong: those to `agent` from its `turn`-th on, at most `times` of them (None: all)."""

    agent: str = ""
    fault: Fault | None = None
    turn: int = 0
    times: int | None = None
    given: Counter[Given] = field(default_factory=Counter[Given])
    """Calls of sound answers, as often as they were given."""
    hits: int = 0
    """Answers that went wrong."""

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """What goes wrong with the answer to `body`; notes what a sound one says. Without a fault: nothing."""
        if self.fault is None:
            return None
        tools = body.get("tools") or []
        offered = {tool["function"]["name"] for tool in tools}
        said_before = sum(message["role"] == "assistant" for message in body["messages"])
        fault = self.fault if f"report_{self.agent}_result" in offered and said_before >= self.turn else None
        if fault is not None and self.hits == self.times:
            fault = None
        self.hits += fault is not None
        turn = answer(body["messages"], tools)
        if fault is not None:
            turn = spoil(fault.kind, turn, _last_call(body["messages"]))
        if isinstance(turn, Call) and (fault is None or fault.sound):
            self.given[key_of(turn.name, turn.arguments)] += 1
        return None if fault is None else fault.kind


def _last_call(messages: list[dict[str, Any]]) -> Call | None:
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or []]
    return Call(calls[-1]["name"], json.loads(calls[-1]["arguments"])) if calls else None


class Plans:
    """The plan of each run, by a mark in its system prompt; `here` for requests without one."""

    def __init__(self) -> None:
        self.here = Plan()
        self._marked: dict[str, Plan] = {}
        self._lock = threading.Lock()

    def mark(self, plan: Plan) -> str:
        """The mark that makes `plan` that of a run."""
        with self._lock:
            mark = f"[run {len(self._marked)}]"
            self._marked[mark] = plan
        return mark

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """See quartet_scripted_model.app.Choice."""
        found = MARK.search(str(body["messages"][0].get("content")))
        with self._lock:
            plan = self._marked[found.group()] if found else self.here
            return plan.draw(body)


@contextmanager
def endpoint() -> Iterator[tuple[str, Plans]]:
    """URL of the endpoint and what steers it."""
    plans = Plans()
    settings = Settings(misbehave_drip_s=DRIP_S, misbehave_huge_bytes=HUGE)
    config = uvicorn.Config(
        create_app(settings, plans), host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the model's endpoint did not start")
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", plans
    finally:
        server.should_exit = True
        thread.join()
