"""What goes from one model to another, and what a caller could smuggle in; each family has test_conformance.py."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from quartet_gateway import AGENTS, wire_format
from support.fake_provider import FakeProvider

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

TOOLS = [{"type": "function", "function": {"name": "pick", "parameters": {"type": "object", "properties": {}}}}]
SENTENCE = {"role": "user", "content": "pick up the can"}


@pytest.fixture
async def remote() -> AsyncIterator[FakeProvider]:
    async with FakeProvider().serve() as provider:
        yield provider


@pytest.fixture
def asking(gateway, remote):
    """`asking("deepseek/deepseek-reasoner")`: a gateway whose agents use that model at the double."""

    def make(model: str, path: str = "", **entry: Any):
        named = {"main": {"model": model, "api_base": remote.url + path, **entry}}
        file = {
            "models": named,
            "agents": {agent: {"model": "main"} for agent in AGENTS},
            "retries": {"timeout_s": 60, "total_s": 120},
        }
        return gateway(file, env={"GEMINI_API_KEY": "k", "DEEPSEEK_API_KEY": "k"})

    return make


def chat(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    """An answer in OpenAI's format."""
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return {"body": body}


def gemini(content: dict[str, Any], finish: str) -> dict[str, Any]:
    candidate = {"finishReason": finish, "index": 0, **content}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"body": {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-pro"}}


def call(call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "pick", "arguments": "{}"}}


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


@pytest.mark.parametrize("reason", ["UNEXPECTED_TOOL_CALL", "MISSING_THOUGHT_SIGNATURE"])
async def test_further_malformed_calls_of_gemini_are_asked_for_again(asking, remote, reason):
    right = {"content": {"role": "model", "parts": [{"functionCall": {"name": "pick", "args": {}}}]}}
    remote.plan = [gemini({}, reason), gemini(right, "STOP")]
    choice = await ask(asking("gemini/gemini-2.5-pro"))
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "pick"
    assert len(remote.asked) == 2


async def test_only_malformed_calls_are_a_failed_model(asking, remote):
    remote.plan = [gemini({}, "MALFORMED_FUNCTION_CALL")]
    response = await asking("gemini/gemini-2.5-pro").ask(messages=[SENTENCE], tools=TOOLS)
    assert response.status_code == 502
    assert "MALFORMED_FUNCTION_CALL" in response.json()["error"]["message"]


async def test_deepseek_behind_openais_name_gets_the_thoughts_that_it_insists_on(asking, remote, monkeypatch):
    """Its documentation shows it as an OpenAI-compatible one: https://api-docs.deepseek.com/

    It refuses an assistant's message with calls and no reasoning_content, such as one of another model before a
    fallback, or one with an empty thought: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls
    """
    assert wire_format.DEEPSEEK_API.match("https://api.deepseek.com/v1")
    assert not wire_format.DEEPSEEK_API.match("https://deepseek.com.example.org/v1")
    monkeypatch.setattr(wire_format, "DEEPSEEK_API", re.compile("http://127"))
    caller = asking("openai/deepseek-reasoner", api_key_env="DEEPSEEK_API_KEY")
    said = {"content": "", "reasoning_content": "a thought", "tool_calls": [call("call_1")]}
    empty = {"content": "", "reasoning_content": "", "tool_calls": [call("call_2")]}
    remote.plan = [chat(said, "tool_calls"), chat(empty, "tool_calls"), chat({"content": "done"})]
    history = turn({"content": "", "tool_calls": [call("call_0")]})
    for _ in range(2):
        history += turn((await ask(caller, *history))["message"])
    await ask(caller, *history)
    sent = [one for one in remote.asked[2].body["messages"] if one["role"] == "assistant"]
    assert [one["reasoning_content"] for one in sent] == [" ", "a thought", " "]


async def test_reasoning_goes_to_no_other_model(asking, remote):
    first = asking("deepseek/deepseek-reasoner")
    said = {"content": "", "reasoning_content": "secret thought", "tool_calls": [call("call_1")]}
    remote.plan = [chat(said, "tool_calls"), chat({"content": "done"})]
    message = (await ask(first))["message"]
    assert "reasoning_content" not in message, "one opaque field has it"
    await ask(asking("hosted_vllm/qwen", path="/v1"), *turn(message))
    sent = remote.asked[1].body
    assert "secret thought" not in json.dumps(sent)
    assert "reasoning" not in sent["messages"][1]


async def test_openrouters_models_get_their_own_reasoning_after_a_fallback_and_back(gateway, remote):
    """Two models behind one provider: the name of the model tells them apart, not that of the provider."""
    names = {"main": "openrouter/google/gemini-3-pro-preview", "spare": "openrouter/deepseek/deepseek-r1"}
    file = {
        "models": {name: {"model": model, "api_base": f"{remote.url}/api/v1"} for name, model in names.items()},
        "agents": {agent: {"model": "main", "fallbacks": ["spare"]} for agent in AGENTS},
        "retries": {"timeout_s": 60, "total_s": 120, "attempts": 1, "rest_s": 0},
    }
    caller = gateway(file, env={"OPENROUTER_API_KEY": "k"})

    def said(thought: str, call_id: str) -> dict[str, Any]:
        details = [{"type": "reasoning.encrypted", "data": thought, "index": 0}]
        return chat({"content": "", "reasoning_details": details, "tool_calls": [call(call_id)]}, "tool_calls")

    down = {"status": 503, "body": {"error": {"message": "no provider is there", "code": 503}}}
    remote.plan = [said("of-gemini", "call_1"), down, said("of-deepseek", "call_2"), chat({"content": "done"})]
    history = turn((await ask(caller))["message"])
    history += turn((await ask(caller, *history))["message"])
    await ask(caller, *history)
    asked = [(one.body["model"], json.dumps(one.body["messages"])) for one in remote.asked]
    gemini, deepseek = "google/gemini-3-pro-preview", "deepseek/deepseek-r1"
    assert [model for model, _ in asked] == [gemini, gemini, deepseek, gemini]
    got = [{name for name in ("of-gemini", "of-deepseek") if name in sent} for _, sent in asked]
    assert got == [set(), {"of-gemini"}, set(), {"of-gemini"}]


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
    message = {"role": "assistant", "content": None, "tool_calls": [call("call_1")], "reasoning": reasoning}
    result = {"role": "tool", "tool_call_id": "call_1", "content": ""}
    await ask(asking("hosted_vllm/qwen", path="/v1"), message, result)
    sent = remote.asked[0].body["messages"][1]
    assert sent["role"] == "assistant"
    assert sent["tool_calls"][0]["id"] == "call_1"
    assert "api_base" not in sent


async def test_long_ids_come_back_as_they_were(asking, remote):
    caller = asking("hosted_vllm/qwen", path="/v1")
    long = "functions.pick:0/" + "x" * 80
    remote.plan = [chat({"content": None, "tool_calls": [call(long)]}, "tool_calls"), chat({"content": "done"})]
    message = (await ask(caller))["message"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", message["tool_calls"][0]["id"])
    await ask(caller, *turn(message))
    sent = remote.asked[1].body["messages"]
    assert sent[1]["tool_calls"][0]["id"] == long
    assert sent[2]["tool_call_id"] == long


async def test_other_models_get_the_conversation_as_it_is(asking, remote):
    remote.plan = [chat({"content": "done"})]
    message = {"content": None, "tool_calls": [call("toolu_1")]}
    await ask(asking("hosted_vllm/qwen", path="/v1"), *turn(message), {"role": "user", "content": "look"})
    assert [one["role"] for one in remote.asked[0].body["messages"]] == ["user", "assistant", "tool", "user"]


async def test_an_assistants_pictures_are_no_way_out_either(asking, remote):
    remote.plan = [gemini({"content": {"role": "model", "parts": [{"text": "done"}]}}, "STOP")]
    images = [{"type": "image_url", "image_url": {"url": "http://169.254.169.254/secret"}}]
    await ask(asking("gemini/gemini-2.5-pro"), {"role": "assistant", "content": "hm", "images": images}, SENTENCE)
    assert "169.254" not in json.dumps(remote.asked[0].body)
