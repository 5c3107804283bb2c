"""Scripted model in a thread of this process, whose answers go wrong from a chosen turn on."""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from quartet_agent_runtime.gateway import MAX_ANSWER_BYTES
from quartet_benchmarks.faults.kinds import Fault
from quartet_benchmarks.serving import served
from quartet_scripted_model import Call, Settings, create_app
from quartet_scripted_model.answer import answer
from quartet_scripted_model.misbehaviour import Kind, spoil

DRIP_S = 0.1
"""Pause between bytes [s]: no answer is complete within the gateway's time limit."""
HUGE = 2 * MAX_ANSWER_BYTES
MARK = re.compile(r"\[run \d+\]")
Given = tuple[str, str]
"""Name and arguments (JSON, keys in order) of a call."""


def key_of(tool: str, arguments: Any) -> Given:
    """Return tool and arguments of a call in a comparable form."""
    return tool, json.dumps(arguments, sort_keys=True)


@dataclass
class Plan:
    """Which answers go wrong: those to `agent` from its `turn`-th on, at most `times` (None: all)."""

    agent: str = ""
    fault: Fault | None = None
    turn: int = 0
    times: int | None = None
    given: Counter[Given] = field(default_factory=Counter[Given])
    """Number of times that each call was in a sound answer."""
    hits: int = 0
    """Number of answers that went wrong."""

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """Return what goes wrong with the answer to `body`, None for a sound one, whose calls are noted."""
        if self.fault is None:
            return None
        tools = body.get("tools") or []
        offered = {tool["function"]["name"] for tool in tools}
        said_before = sum(message["role"] == "assistant" for message in body["messages"])
        fault = self.fault if f"report_{self.agent}_result" in offered and said_before >= self.turn else None
        if fault is not None and self.hits == self.times:
            fault = None
        self.hits += fault is not None
        turn = answer(body["messages"], tools, fault and fault.kind)
        if fault is not None:
            turn = spoil(fault.kind, turn, _last_call(body["messages"]))
        if isinstance(turn, Call) and (fault is None or fault.sound):
            self.given[key_of(turn.name, turn.arguments)] += 1
        return None if fault is None else fault.kind


def _last_call(messages: list[dict[str, Any]]) -> Call | None:
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or []]
    return Call(calls[-1]["name"], json.loads(calls[-1]["arguments"])) if calls else None


class Plans:
    """Plans of runs, by a mark in their system prompt; `default` is for requests without a mark."""

    def __init__(self) -> None:
        self.default = Plan()
        self._marked: dict[str, Plan] = {}
        self._lock = threading.Lock()

    def mark(self, plan: Plan) -> str:
        """Return the mark that assigns `plan` to a run."""
        with self._lock:
            mark = f"[run {len(self._marked)}]"
            self._marked[mark] = plan
        return mark

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """Return what goes wrong with the answer to `body`; see quartet_scripted_model.app.Choice."""
        found = MARK.search(str(body["messages"][0].get("content")))
        with self._lock:
            plan = self._marked[found.group()] if found else self.default
            return plan.draw(body)


@contextmanager
def endpoint() -> Iterator[tuple[str, Plans]]:
    """Serve the endpoint; yield its URL and the plans that control it."""
    plans = Plans()
    settings = Settings(misbehave_drip_s=DRIP_S, misbehave_huge_bytes=HUGE)
    with served(create_app(settings, plans)) as url:
        yield url, plans
