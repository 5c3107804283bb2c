"""The OpenAI-compatible endpoint."""

import asyncio
import hashlib
import json
import time
from dataclasses import replace
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_process import Exposition, Secret
from quartet_process.health import metrics_route
from quartet_scripted_model.answer import agent_of, answer
from quartet_scripted_model.conversation import last_call, text_of
from quartet_scripted_model.metrics import Metrics
from quartet_scripted_model.misbehaviour import TRANSPORT, Draws, Kind, cut_json, spoil
from quartet_scripted_model.settings import Settings
from quartet_scripted_model.transport import spoiled_response
from quartet_scripted_model.turn import Call, Text, Turn, calls_of

MODEL = "scripted"
IMAGE_TOKENS = 765
"""Tokens of a 640 x 480 picture in OpenAI's high-detail tiling: 85 + 4 x 170."""
MAX_BODY = 32 * 1024 * 1024


class Choice(Protocol):
    """Chooses what goes wrong with a request."""

    def draw(self, body: dict[str, Any]) -> Kind | None:
        """Return what goes wrong with the request `body`; None: nothing."""
        ...


def create_app(settings: Settings, choice: Choice | None = None, metrics_token: Secret | None = None) -> Starlette:
    """Return the application; `choice` replaces the draws by the rates of the settings.

    Raises ValueError for misbehaviour rates that are not shares.
    """
    draws = choice or Draws(settings.misbehave, settings.misbehave_seed)
    metrics = Metrics()
    exposition = Exposition("scripted-model", metrics.registry, token=metrics_token)

    async def chat(request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, str):
            metrics.refused()
            return _error(400, body)
        kind, tools = draws.draw(body), body.get("tools") or []
        metrics.asked(agent_of(tools), kind)
        if kind is Kind.RATE_LIMIT:
            return _error(429, "rate limit reached, try again later", code="rate_limit_exceeded")
        return await _respond(settings, body, answer(body["messages"], tools, kind), kind)

    async def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "quartet"}]})

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "model": MODEL, "misbehave": settings.misbehave})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/models", models),
            Route("/health", health),
            metrics_route(exposition),
        ]
    )


async def _respond(settings: Settings, body: dict[str, Any], turn: Turn, kind: Kind | None) -> Response:
    """Return the response with `turn`, as the fault `kind` changes it."""
    if kind is None:
        return JSONResponse(completion(body, turn))
    turn = spoil(kind, turn, last_call(body["messages"]))
    if kind is Kind.SLOW:
        await asyncio.sleep(settings.misbehave_slow_s)
    if kind is Kind.HUGE and not isinstance(turn, Text):
        first, *others = calls_of(turn)
        turn = (replace(first, say="and on " * (settings.misbehave_huge_bytes // 7)), *others)
    said = completion(body, turn)
    _spoil_completion(kind, said)
    if kind in TRANSPORT:
        return spoiled_response(kind, json.dumps(said).encode(), settings.misbehave_drip_s)
    return JSONResponse(said)


def completion(body: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """Return `turn` as an OpenAI chat completion; the same request gives the same ids."""
    calls = calls_of(turn)
    say = turn.say if isinstance(turn, Text) else " ".join(call.say for call in calls if call.say)
    message: dict[str, Any] = {"role": "assistant", "content": say or None}
    finish = "stop"
    if calls:
        message["tool_calls"] = [_tool_call(call, len(body["messages"]), number) for number, call in enumerate(calls)]
        finish = "tool_calls"
    prompt, done = _prompt_tokens(body), _tokens(say) + _tokens(json.dumps(message.get("tool_calls", "")))
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": str(body.get("model") or MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": prompt + done},
    }


def _tool_call(call: Call, messages: int, number: int) -> dict[str, Any]:
    arguments = json.dumps(call.arguments)
    seen = json.dumps([messages, number, call.name, arguments])
    call_id = "call_" + hashlib.blake2b(seen.encode(), digest_size=8).hexdigest()
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _spoil_completion(kind: Kind, said: dict[str, Any]) -> None:
    choice = said["choices"][0]
    calls: list[dict[str, Any]] = choice["message"].get("tool_calls", [])
    match kind:
        case Kind.NO_CHOICES:
            said["choices"] = []
        case Kind.CONTENT_FILTER:
            choice["finish_reason"] = "content_filter"
        case Kind.MALFORMED_JSON if calls:
            calls[0]["function"]["arguments"] = cut_json(calls[0]["function"]["arguments"])
        case Kind.CUT_OFF:
            choice["finish_reason"] = "length"
            for call in calls:
                call["function"]["arguments"] = ""
        case Kind.SAME_ID:
            calls += json.loads(json.dumps(calls))
        case _:
            pass


def _prompt_tokens(body: dict[str, Any]) -> int:
    images = sum(
        1
        for m in body["messages"]
        if isinstance(m.get("content"), list)
        for part in m["content"]
        if isinstance(part, dict) and part.get("type") == "image_url"
    )
    text = sum(len(text_of(m)) + len(json.dumps(m.get("tool_calls") or "")) for m in body["messages"])
    return images * IMAGE_TOKENS + (text + len(json.dumps(body.get("tools") or ""))) // 4


def _tokens(text: str) -> int:
    """An estimate: English and JSON come to about four characters a token."""
    return (len(text) + 3) // 4


async def _body(request: Request) -> dict[str, Any] | str:
    """The request, or what is wrong with it."""
    raw = await request.body()
    if len(raw) > MAX_BODY:
        return f"the request has {len(raw)} bytes; at most {MAX_BODY} are taken"
    try:
        body = json.loads(raw)
    except ValueError as error:
        return f"the request is not JSON: {error}"
    if not isinstance(body, dict):
        return "the request must be a JSON object"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(_is_message(m) for m in messages):
        return "'messages' must be a list of at least one message, each with a 'role' and its 'tool_calls' as OpenAI's"
    if not _are_tools(body.get("tools") or []):
        return "'tools' must be a list of {'type': 'function', 'function': {'name': ..., 'parameters': {...}}}"
    if body.get("stream"):
        return "'stream': true is not supported; ask without it"
    return body


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return False
    calls = message.get("tool_calls") or []
    if not isinstance(message.get("tool_call_id"), str | None):
        return False
    return isinstance(calls, list) and all(
        isinstance(call, dict)
        and isinstance(function := call.get("function"), dict)
        and isinstance(function.get("name"), str)
        and isinstance(call.get("id"), str | None)
        for call in calls
    )


def _are_tools(tools: Any) -> bool:
    return isinstance(tools, list) and all(
        isinstance(tool, dict)
        and isinstance(function := tool.get("function"), dict)
        and isinstance(function.get("name"), str)
        and isinstance(function.get("parameters") or {}, dict)
        for tool in tools
    )


def _error(status: int, message: str, code: str = "invalid_request_error") -> JSONResponse:
    return JSONResponse({"error": {"message": message, "type": code, "code": code}}, status_code=status)
