"""Reader of the messages of a chat request: facts, request, and each tool call with its result."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from quartet_scripted_model.turn import Call, Result

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_SENTENCE = re.compile(r"<sentence>(.*?)</sentence>", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """One past tool call; `arguments` is None when they are no JSON object, `result` is None before it is there."""

    name: str
    arguments: dict[str, Any] | None
    result: Result | None


@dataclass(frozen=True)
class Conversation:
    """Content of one chat request: everything that a policy may use."""

    facts: dict[str, Any]
    request: dict[str, Any]
    sentence: str
    steps: list[Step]
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    """JSON schema of the arguments by name of the tool."""
    spoke: bool = False
    """Whether an earlier answer had no tool call."""

    @classmethod
    def read(cls, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> "Conversation":
        """Return the conversation in `messages` (OpenAI chat format) with `tools` (OpenAI function tools)."""
        system = "\n".join(text_of(m) for m in messages if m.get("role") in {"system", "developer"})
        users = [text_of(m) for m in messages if m.get("role") == "user"]
        first = users[0] if users else ""
        return cls(
            facts=read_facts(system),
            request=_json_block(first),
            sentence=sentence_in(first),
            steps=_steps(messages),
            tools={t["function"]["name"]: t["function"].get("parameters") or {} for t in tools if "function" in t},
            spoke=any(m.get("role") == "assistant" and not m.get("tool_calls") for m in messages),
        )

    def fit(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return `arguments` without None values and without those that the schema of tool `name` lacks."""
        properties = self.tools.get(name, {}).get("properties", {})
        return {k: v for k, v in arguments.items() if v is not None and (not properties or k in properties)}


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, whose content is a string or a list of parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    return ""


def _json_block(text: str) -> dict[str, Any]:
    for block in _FENCE.findall(text):
        try:
            value = json.loads(block)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def read_facts(prompt: str) -> dict[str, Any]:
    """Return the Facts block of a prompt, {} without one."""
    return _json_block(prompt.rpartition("## Facts")[2])


def sentence_in(text: str) -> str:
    """Return the person's sentence in a message, the whole message where it is not marked."""
    found = _SENTENCE.search(text)
    return (found.group(1) if found else text).strip()


def _steps(messages: list[dict[str, Any]]) -> list[Step]:
    results = {m.get("tool_call_id"): text_of(m) for m in messages if m.get("role") == "tool"}
    steps: list[Step] = []
    for message in messages:
        if message.get("role") != "assistant":
            continue
        for call in message.get("tool_calls") or []:
            function = call.get("function") or {}
            content = results.get(call.get("id"))
            steps.append(
                Step(
                    name=str(function.get("name", "")),
                    arguments=_arguments(function.get("arguments")),
                    result=None if content is None else Result(read_result(content)),
                )
            )
    return steps


def last_call(messages: list[dict[str, Any]]) -> Call | None:
    """Return the last call in `messages`, None without one whose arguments are a JSON object."""
    steps = _steps(messages)
    return Call(steps[-1].name, steps[-1].arguments) if steps and steps[-1].arguments is not None else None


def _arguments(raw: Any) -> dict[str, Any] | None:
    if isinstance(raw, dict):
        return raw
    try:
        value = json.loads(raw)
    except (TypeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_result(content: str) -> dict[str, Any]:
    """Return the JSON object of a tool message without the text around it; text alone is a result without code."""
    start = content.find("{")
    if start >= 0:
        try:
            value, _ = json.JSONDecoder().raw_decode(content, start)
        except (ValueError, RecursionError):
            return {"ok": False, "error_code": "UNKNOWN", "message": f"unreadable result: {content[:200]}"}
        if isinstance(value, dict):
            return value
    return {"message": content[:300]}
