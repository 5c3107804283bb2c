"""Answers of local servers that are not quite in OpenAI's format, through the gateway to the agent's reader."""

import json

import pytest

from quartet_agent_runtime.gateway import _read

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

WAYS = ["hosted_vllm/double", "openai/double"]
"""LiteLLM's HTTP handler alone, and its acompletion."""


def content(provider, model):
    main = {"model": model, "api_base": provider.url}
    return {"models": {"main": main}, "agents": {"pick": {"model": "main"}}, "retries": {"attempts": 2}}


def answer(provider, **message):
    completion = provider.completion()
    completion["choices"] = [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}]
    return completion


@pytest.mark.parametrize("model", WAYS)
@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "hello"}], "hello"),
        ([{"type": "text", "text": "hel"}, {"type": "output_text", "text": "lo"}], "hello"),
        (["hel", "lo"], "hello"),
        ([], ""),
    ],
)
async def test_content_that_is_a_list_of_texts_is_one_text(gateway, provider, model, parts, text):
    provider.plan = [answer(provider, content=parts)]
    response = await gateway(content(provider, model), {"OPENAI_API_KEY": "sk-test"}).ask()
    assert response.status_code == 200, response.text
    assert _read(response.json()).text == text
    assert len(provider.requests) == 1


async def test_calls_beside_a_list_are_kept(gateway, provider):
    calls = provider.completion()["choices"][0]["message"]["tool_calls"]
    provider.plan = [answer(provider, content=[{"type": "text", "text": "I pick."}], tool_calls=calls)]
    read = _read((await gateway(content(provider, WAYS[0])).ask()).json())
    assert (read.text, [call.name for call in read.calls]) == ("I pick.", ["pick"])


async def test_arguments_that_look_like_such_an_answer_are_not_changed(gateway, provider):
    arguments = json.dumps({"content": [{"type": "text", "text": "x"}], "error": "none"})
    call = {"id": "c", "type": "function", "function": {"name": "pick", "arguments": arguments}}
    provider.plan = [answer(provider, content=None, tool_calls=[call])]
    read = _read((await gateway(content(provider, WAYS[0])).ask()).json())
    assert read.calls[0].arguments == arguments


@pytest.mark.parametrize("model", WAYS)
@pytest.mark.parametrize("error", ["model is loading", ["model is loading"]])
async def test_an_error_that_is_a_text_keeps_its_words_and_is_asked_again(gateway, provider, model, error):
    caller = gateway(content(provider, model), {"OPENAI_API_KEY": "sk-test"})
    provider.plan = [{"error": error}]
    assert (await caller.ask()).status_code == 200
    assert len(provider.requests) == 2
    provider.plan = [{"error": error}] * 2
    response = await caller.ask()
    assert (response.status_code, response.json()["error"]["code"]) == (502, "model_failed")
    assert "model is loading" in response.json()["error"]["message"]
    assert len(provider.requests) == 4


@pytest.mark.parametrize("error", [None, "", {}])
async def test_an_empty_error_is_none(gateway, provider, error):
    provider.plan = [{**answer(provider, content="hello"), "error": error}]
    assert (await gateway(content(provider, WAYS[0])).ask()).status_code == 200
    assert len(provider.requests) == 1
