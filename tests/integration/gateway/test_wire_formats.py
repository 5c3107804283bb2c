"""What providers' own formats become at the gateway, and what goes back to them: refusals, thinking, ids, Mistral."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quartet_gateway import AGENTS
from support.http_server import serve_app

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

TOOLS = [{"type": "function", "function": {"name": "pick", "parameters": {"type": "object", "properties": {}}}}]
SENTENCE = {"role": "user", "content": "pick up the can"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


class AnyProvider:
    """Answers every POST with the next body of `plan`, and keeps what it was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.plan: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.paths: list[str] = []

    async def answer(self, request: Request) -> Response:
        self.sent.append(await request.json())
        self.paths.append(request.url.path)
        return JSONResponse(self.plan.pop(0))


@pytest.fixture
async def remote() -> AsyncIterator[AnyProvider]:
    provider = AnyProvider()
    async with serve_app(Starlette(routes=[Route("/{path:path}", provider.answer, methods=["POST"])])) as url:
        provider.url = url
        yield provider


@pytest.fixture
def asking(gateway, remote, monkeypatch):
    """`asking("deepseek/deepseek-reasoner")`: a gateway whose agents use that model at the double."""

    def make(model: str, *fallbacks: str, path: str = "", **entry: Any):
        for name in ("DEEPSEEK", "OPENROUTER", "GEMINI", "ANTHROPIC", "MISTRAL", "OPENAI"):
            monkeypatch.setenv(f"{name}_API_KEY", "sk-test-000000000")
        named = {"main": {"model": model, "api_base": remote.url + path, **entry}}
        named |= {f"other{i}": {"model": one, "api_base": f"{remote.url}/v1"} for i, one in enumerate(fallbacks)}
        uses = {"model": "main", "fallbacks": [name for name in named if name != "main"]}
        retries = {"timeout_s": 60, "total_s": 120}
        file = {"models": named, "agents": dict.fromkeys(AGENTS, uses), "retries": retries}
        return gateway(file, env={"GEMINI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"})

    return make


def chat(message: dict[str, Any], finish: str = "stop", **choice: Any) -> dict[str, Any]:
    """A body in OpenAI's format."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **choice}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def call(call_id: str, **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "pick", "arguments": "{}"}, **more}


def anthropic(content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": content, "stop_reason": stop,
            "usage": usage}  # fmt: skip


def gemini(parts: list[dict[str, Any]] | None, finish: str) -> dict[str, Any]:
    candidate: dict[str, Any] = {"finishReason": finish, "index": 0}
    if parts is not None:
        candidate["content"] = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro-preview"}


async def ask(caller, *messages: dict[str, Any]) -> dict[str, Any]:
    response = await caller.ask(messages=[SENTENCE, *messages], tools=TOOLS)
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]


def turn(message: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer as the agents put it into the conversation, with the results of its calls."""
    kept = {"role": "assistant", "content": message.get("content")}
    kept |= {name: message[name] for name in ("tool_calls", "reasoning") if message.get(name)}
    results = [{"role": "tool", "tool_call_id": one["id"], "content": "{}"} for one in message.get("tool_calls") or []]
    return [kept, *results]


# Refusals and stops


async def test_a_refusal_is_told_where_openai_has_it(asking, remote):
    remote.plan = [chat({"content": None, "refusal": "I cannot help with that."})]
    choice = await ask(asking("hosted_vllm/gpt", path="/v1"))
    assert choice["message"]["refusal"] == "I cannot help with that."


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"])
async def test_a_malformed_call_of_gemini_is_asked_for_again(asking, remote, reason):
    remote.plan = [gemini(None, reason), gemini([{"functionCall": {"name": "pick", "args": {}}}], "STOP")]
    choice = await ask(asking("gemini/gemini-2.5-pro"))
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "pick"
    assert len(remote.sent) == 2


async def test_only_malformed_calls_are_a_failed_model(asking, remote):
    remote.plan = [gemini(None, "MALFORMED_FUNCTION_CALL")] * 3
    response = await asking("gemini/gemini-2.5-pro").ask(messages=[SENTENCE], tools=TOOLS)
    assert response.status_code == 502
    assert "MALFORMED_FUNCTION_CALL" in response.json()["error"]["message"]


async def test_claudes_full_context_is_a_cut_off_answer(asking, remote):
    remote.plan = [anthropic([{"type": "text", "text": "I would"}], "model_context_window_exceeded")]
    assert (await ask(asking("anthropic/claude-sonnet-4-5")))["finish_reason"] == "length"


# Reasoning


async def test_deepseeks_thinking_goes_back_to_it(asking, remote):
    caller = asking("deepseek/deepseek-reasoner")
    said = {"content": "", "reasoning_content": "the can is red", "tool_calls": [call("call_1")]}
    remote.plan = [chat(said, "tool_calls"), chat({"content": "done"})]
    message = (await ask(caller))["message"]
    assert "reasoning_content" not in message, "one opaque field has it"
    await ask(caller, *turn(message))
    assert remote.sent[1]["messages"][1]["reasoning_content"] == "the can is red"


async def test_openrouters_details_go_back_to_it(asking, remote):
    caller = asking("openrouter/google/gemini-3-pro-preview", path="/api/v1")
    details = [{"type": "reasoning.encrypted", "data": "c2ln", "id": "tool_1", "format": "google-gemini-v1"}]
    said = {"content": None, "reasoning": "think", "reasoning_details": details, "tool_calls": [call("tool_1")]}
    remote.plan = [chat(said, "tool_calls"), chat({"content": "done"})]
    await ask(caller, *turn((await ask(caller))["message"]))
    assert remote.sent[1]["messages"][1]["reasoning_details"] == details


async def test_claudes_thinking_goes_back_to_it(asking, remote):
    caller = asking("anthropic/claude-sonnet-4-5", reasoning_effort="low")
    thinking = {"type": "thinking", "thinking": "the can is red", "signature": "c2lnbmF0dXJl"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "pick", "input": {}}
    remote.plan = [anthropic([thinking, use], "tool_use"), anthropic([{"type": "text", "text": "done"}], "end_turn")]
    await ask(caller, *turn((await ask(caller))["message"]))
    first, second = remote.sent
    assert first["thinking"]["type"] == "enabled"
    assert second["messages"][1]["content"][0] == thinking


async def test_geminis_signatures_go_back_to_it(asking, remote):
    caller = asking("gemini/gemini-3-pro-preview")
    part = {"functionCall": {"name": "pick", "args": {}}, "thoughtSignature": "c2lnbmF0dXJl" * 40}
    remote.plan = [gemini([part], "STOP"), gemini([{"text": "done"}], "STOP")]
    message = (await ask(caller))["message"]
    assert len(message["tool_calls"][0]["id"]) <= 40, "OpenAI refuses longer ids"
    await ask(caller, *turn(message))
    parts = [one for content in remote.sent[1]["contents"] for one in content["parts"]]
    assert [one.get("thoughtSignature") for one in parts if "function_call" in one] == [part["thoughtSignature"]]


async def test_reasoning_goes_to_no_other_model(asking, remote):
    first = asking("deepseek/deepseek-reasoner")
    said = {"content": "", "reasoning_content": "secret thought", "tool_calls": [call("call_1")]}
    remote.plan = [chat(said, "tool_calls"), chat({"content": "done"})]
    message = (await ask(first))["message"]
    await ask(asking("hosted_vllm/qwen", path="/v1"), *turn(message))
    assert "secret thought" not in json.dumps(remote.sent[1])
    assert "reasoning" not in remote.sent[1]["messages"][1]


@pytest.mark.parametrize(
    "reasoning",
    [
        {"model": 1},
        {"fields": []},
        {"model": "hosted_vllm/qwen", "calls": {"call_1": 3}},
        {"model": "hosted_vllm/qwen", "fields": {"api_base": "http://x", "role": "user"}},
    ],
)
async def test_reasoning_that_nobody_made_changes_nothing(asking, remote, reasoning):
    remote.plan = [chat({"content": "done"})]
    messages = [{"role": "assistant", "content": None, "tool_calls": [call("call_1")], "reasoning": reasoning}]
    await ask(
        asking("hosted_vllm/qwen", path="/v1"), *messages, {"role": "tool", "tool_call_id": "call_1", "content": ""}
    )
    sent = remote.sent[0]["messages"][1]
    assert sent["role"] == "assistant"
    assert sent["tool_calls"][0]["id"] == "call_1"
    assert "api_base" not in sent


# Ids and Mistral


async def test_long_ids_come_back_as_they_were(asking, remote):
    caller = asking("hosted_vllm/qwen", path="/v1")
    long = "functions.pick:0/" + "x" * 80
    remote.plan = [chat({"content": None, "tool_calls": [call(long)]}, "tool_calls"), chat({"content": "done"})]
    message = (await ask(caller))["message"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", message["tool_calls"][0]["id"])
    await ask(caller, *turn(message))
    assert remote.sent[1]["messages"][1]["tool_calls"][0]["id"] == long
    assert remote.sent[1]["messages"][2]["tool_call_id"] == long


@pytest.mark.parametrize("model", ["mistral/mistral-large-latest", "hosted_vllm/mistralai/Mistral-Small-3.2-24B"])
async def test_mistral_gets_its_ids_and_no_user_after_a_tool(asking, remote, model):
    remote.plan = [chat({"content": "done"})]
    message = {"content": None, "tool_calls": [call("toolu_01ABCDEFGHIJKLMNOPQRSTUV")]}
    look = {"role": "user", "content": [{"type": "text", "text": "the camera"}, PICTURE]}
    await ask(asking(model, path="/v1"), *turn(message), look)
    sent = remote.sent[0]["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert re.fullmatch(r"[A-Za-z0-9]{9}", sent[1]["tool_calls"][0]["id"])
    assert sent[2]["tool_call_id"] == sent[1]["tool_calls"][0]["id"]


async def test_other_models_get_the_conversation_as_it_is(asking, remote):
    remote.plan = [chat({"content": "done"})]
    message = {"content": None, "tool_calls": [call("toolu_1")]}
    await ask(asking("hosted_vllm/qwen", path="/v1"), *turn(message), {"role": "user", "content": "look"})
    assert [one["role"] for one in remote.sent[0]["messages"]] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(("entry", "window"), [({}, 16_384), ({"num_ctx": 40_000}, 40_000)])
async def test_ollama_has_tools_and_room_for_a_prompt(asking, remote, entry, window):
    remote.plan = [{"model": "qwen3", "message": {"role": "assistant", "content": "done"}, "done": True}]
    await ask(asking("ollama/qwen3:14b", **entry))
    assert remote.paths == ["/api/chat"]
    assert remote.sent[0]["options"]["num_ctx"] == window
    assert remote.sent[0]["tools"]


async def test_an_assistants_pictures_are_no_way_out_either(asking, remote):
    remote.plan = [gemini([{"text": "done"}], "STOP")]
    images = [{"type": "image_url", "image_url": {"url": "http://169.254.169.254/secret"}}]
    await ask(asking("gemini/gemini-2.5-pro"), {"role": "assistant", "content": "hm", "images": images}, SENTENCE)
    assert "169.254" not in json.dumps(remote.sent[0])
