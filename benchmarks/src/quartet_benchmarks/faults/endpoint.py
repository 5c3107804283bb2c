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
from quartet_contracts import NOT_RUN
from quartet_scripted_model import Settings, create_app
from quartet_scripted_model.answer import agent_of, answer
from quartet_scripted_model.conversation import Conversation, last_call
from quartet_scripted_model.misbehaviour import Kind, spoil
from quartet_scripted_model.turn import calls_of

DRIP_S = 0.1
"""Pause between bytes [s]: no answer is complete within the gateway's time limit."""
HUGE = 2 * MAX_ANSWER_BYTES
MARK = re.compile(r"\[run \d+\]")
Given = tuple[str, str]
"""Name and arguments (JSON, keys in order) of a call."""


def key_of(tool: str, arguments: dict[str, Any]) -> Given:
    """Return tool and arguments of a call in a comparable form: without null and "", which agents leave out."""
    return tool, json.dumps({key: value for key, value in arguments.items() if value not in (None, "")}, sort_keys=True)


@dataclass
class Plan:
    """Which answers go wrong: those to `agent` ("": to all) from its `turn`-th on, at most `times` (None: all)."""

    agent: str = ""
    fault: Fault | None = None
    turn: int = 0
    times: int | None = None
    given: Counter[Given] = field(default_factory=Counter[Given])
    """Number of times that each call was in a sound answer and not answered with NOT_RUN."""
    last: dict[str, Counter[Given]] = field(default_factory=dict[str, Counter[Given]])
    """Calls of the last sound answer, by the first two messages of the conversation."""
    hits: int = 0
    """Number of answers that went wrong."""

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """Return what goes wrong with the answer to `body`, None for a sound one, whose calls are noted."""
        if self.fault is None:
            return None
        messages, tools = body["messages"], body.get("tools") or []
        conversation = str(messages[:2])
        last = self.last.pop(conversation, Counter[Given]())
        steps = [
            s for s in Conversation.read(messages, []).steps[-last.total() :] if s.result and s.result.code == NOT_RUN
        ]
        self.given -= last & Counter(key_of(step.name, step.arguments or {}) for step in steps)
        agent = agent_of(tools)
        said_before = sum(message["role"] == "assistant" for message in messages)
        hit = agent is not None and self.agent in {"", agent} and said_before >= self.turn and self.hits != self.times
        fault = self.fault if hit else None
        self.hits += hit
        turn = answer(messages, tools, fault and fault.kind)
        if fault is not None:
            turn = spoil(fault.kind, turn, last_call(messages))
        if fault is None or fault.sound:
            calls = calls_of(turn) * (2 if fault is not None and fault.kind is Kind.SAME_ID else 1)
            self.last[conversation] = Counter(key_of(call.name, call.arguments) for call in calls)
            self.given += self.last[conversation]
        return None if fault is None else fault.kind


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
