"""The trace span around one request to the model."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from opentelemetry.trace import Span, SpanKind

from quartet_agent_runtime._model import ModelAnswer
from quartet_process import redact, tracing

MAX_CONTENT = 20_000
"""Characters of input and of output that a span holds at most."""


@contextmanager
def model_span(agent: str, messages: list[dict[str, Any]]) -> Generator[Span]:
    """Open a client span by OpenTelemetry's conventions for inference; the gateway decides which model answers."""
    about = {tracing.OPERATION: "chat", tracing.AGENT: agent, tracing.REQUEST_MODEL: agent}
    with tracing.span(f"chat {agent}", kind=SpanKind.CLIENT, attributes=about) as one:
        if tracing.captures_content() and one.is_recording():
            one.set_attribute(tracing.INPUT, _told([_message(message) for message in messages]))
        yield one


def note_answer(one: Span, answer: ModelAnswer) -> None:
    """Set what the answer cost and, where content is captured, what it was."""
    provider, _, model = answer.model.partition("/")
    one.set_attributes(
        {
            tracing.PROVIDER: provider if model else "quartet",
            tracing.RESPONSE_MODEL: answer.model,
            tracing.INPUT_TOKENS: answer.prompt_tokens,
            tracing.OUTPUT_TOKENS: answer.completion_tokens,
            tracing.COST: answer.cost_usd,
        }
    )
    if tracing.captures_content() and one.is_recording():
        parts: list[dict[str, Any]] = [{"type": "text", "content": answer.text}] if answer.text else []
        parts += [{"type": "tool_call", "id": c.id, "name": c.name, "arguments": c.arguments} for c in answer.calls]
        one.set_attribute(tracing.OUTPUT, _told([{"role": "assistant", "parts": parts}]))


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message in the conventions' form; images are named, without their data."""
    content = message.get("content")
    given = cast("list[dict[str, Any]]", content) if isinstance(content, list) else [{"type": "text", "text": content}]
    parts: list[dict[str, Any]] = [
        {"type": "text", "content": part.get("text")} if part.get("type") == "text" else {"type": str(part.get("type"))}
        for part in given
        if part.get("text") or part.get("type") != "text"
    ]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {})
        parts.append(
            {
                "type": "tool_call",
                "id": call.get("id"),
                "name": function.get("name"),
                "arguments": function.get("arguments"),
            }
        )
    return {"role": message.get("role"), "parts": parts}


def _told(value: list[dict[str, Any]]) -> str:
    return redact(json.dumps(value, default=str))[:MAX_CONTENT]
