"""Models on one's own server are asked by LiteLLM's HTTP handler: server and gateway must see what acompletion does."""

import copy
from typing import Any

import pytest

from quartet_gateway import litellm_settings, models, own_server
from quartet_gateway.config import GatewayFile
from quartet_gateway.gateway import _headers
from quartet_gateway.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

CALLS = [
    {"role": "system", "content": "You are the eyes of a robot."},
    {"role": "user", "content": "What colour is the can?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "a red can"},
]
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look through a camera.",
            "strict": True,
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"camera": {"type": "string", "enum": ["front", "wrist"]}},
                "required": ["camera"],
            },
        },
    }
]
REQUESTS: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "plain": (CALLS[:2], {}),
    "calls": (CALLS, {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False}),
    "picture": ([{"role": "user", "content": [{"type": "text", "text": "What is that?"}, PICTURE]}], {}),
    "developer": ([{"role": "developer", "content": "Be brief."}, CALLS[1]], {"max_completion_tokens": 50}),
    "thinking": (
        [*CALLS[:2], {"role": "assistant", "content": "Red.", "reasoning_content": "It looks red."}, CALLS[1]],
        {"reasoning_effort": "low"},
    ),
    "sampling": (
        CALLS[:2],
        {"temperature": 0.2, "top_p": 0.9, "seed": 3, "max_tokens": 20, "user": "pick"},
    ),
    "format": (CALLS[:2], {"response_format": {"type": "json_object"}}),
}
ANSWERS: dict[str, Any] = {
    "text": {"role": "assistant", "content": "Red."},
    "thought": {"role": "assistant", "content": "Red.", "reasoning_content": "It looks red."},
    "tags": {"role": "assistant", "content": "<think>It looks red.</think>Red."},
    "refusal": {"role": "assistant", "content": None, "refusal": "I do not look at people."},
    "nothing": {"role": "assistant", "content": None},
}
FAILURES: dict[str, Any] = {
    "bad request": 400,
    "wrong key": 401,
    "no credit": (402, {"error": {"message": "Insufficient balance"}}),
    "forbidden": 403,
    "no model": (404, {"error": {"message": "The model `double` does not exist.", "code": 404}}),
    "unprocessable": 422,
    "busy": 429,
    "broken": 500,
    "restarting": 503,
    "too long": (
        400,
        {"error": {"message": "This model's maximum context length is 16384 tokens. However, you requested 20000"}},
    ),
    "error with status 200": (200, {"error": {"message": "the engine is dead", "type": "BadRequestError"}}),
    "error in words": (500, {"detail": "Internal Server Error"}),
    "half an answer": "cut",
    "page of a proxy": "html",
    "no choice": "empty",
    "no choices": (200, {"object": "error"}),
    "choices that are none": (200, {"id": "x", "choices": None}),
    "silence": "hang",
}


def parameters(provider: Any, **more: Any) -> dict[str, Any]:
    """The parameters that the gateway has for a model at the double."""
    return {"model": "hosted_vllm/double", "api_base": provider.url, "api_key": "none", "max_retries": 0, **more}


async def asked(way: str, messages: list[dict[str, Any]], timeout_s: float, given: dict[str, Any]) -> Any:
    """Ask in one of both ways; each may change what it is given."""
    messages, given = copy.deepcopy((messages, given))
    if way == "handler":
        return await own_server.ask(messages, timeout_s, given)
    litellm_settings.list_own_models(["hosted_vllm/double"])
    with litellm_settings.without_logging(priced=False):
        return await litellm_settings.load().acompletion(messages=messages, timeout=timeout_s, **given)


@pytest.mark.parametrize("name", REQUESTS)
async def test_the_server_sees_the_same_request(provider, name):
    messages, more = REQUESTS[name]
    for way in ("acompletion", "handler"):
        await asked(way, messages, 30, parameters(provider, **more))
    expected, found = provider.requests
    assert found == expected
    one, other = provider.headers
    assert other == one
    assert found["model"] == "double"


@pytest.mark.parametrize("name", ANSWERS)
async def test_the_gateway_gets_the_same_answer(provider, name):
    body = {**provider.completion(), "system_fingerprint": "fp", "vllm_field": 7}
    body["choices"] = [{"index": 0, "message": ANSWERS[name], "finish_reason": "stop", "stop_reason": 128}]
    provider.usage["prompt_tokens_details"] = {"cached_tokens": 900}
    provider.plan = [body, body]
    expected, found = [
        await asked(way, CALLS, 30, parameters(provider, tools=TOOLS)) for way in ("acompletion", "handler")
    ]
    assert found.model_dump() == expected.model_dump()
    assert type(found) is type(expected)


@pytest.mark.parametrize("usage", [{}, {"usage": None}, {"usage": {}}])
async def test_an_answer_without_tokens_is_the_same(provider, usage):
    body = provider.completion()
    del body["usage"]
    provider.plan = [{**body, **usage}] * 2
    expected, found = [await asked(way, CALLS, 30, parameters(provider)) for way in ("acompletion", "handler")]
    assert found.model_dump() == expected.model_dump()


@pytest.mark.parametrize("name", FAILURES)
async def test_the_gateway_tells_each_failure(provider, gateway, name):
    models_of = {"main": {"model": "hosted_vllm/double", "api_base": provider.url}}
    retries = {"attempts": 1, "timeout_s": 0.5, "timeout_attempts": 1}
    caller = gateway({"models": models_of, "agents": {"pick": {"model": "main"}}, "retries": retries})
    provider.plan = [FAILURES[name]]
    response = await caller.ask()
    assert response.status_code >= 400
    assert response.json()["error"]["message"].startswith("hosted_vllm/double")


async def test_calls_and_tokens_are_the_same(provider):
    expected, found = [
        await asked(way, CALLS, 30, parameters(provider, tools=TOOLS)) for way in ("acompletion", "handler")
    ]
    assert found.model_dump() == expected.model_dump()
    assert found.choices[0].message.tool_calls[0].function.name == "pick"
    assert found.usage.prompt_tokens == 1000


@pytest.mark.parametrize("name", FAILURES)
async def test_it_fails_the_same_way(provider, name):
    provider.retry_after = "7"
    seen: list[tuple[Any, ...]] = []
    for way in ("acompletion", "handler"):
        provider.plan = [FAILURES[name]]
        try:
            answer = await asked(way, CALLS, 0.5 if name == "silence" else 30, parameters(provider))
        except Exception as error:
            said, wait = str(error).split("time taken=")[0], (_headers(error) or {}).get("retry-after")
            of_itself = error.__cause__ is error
            seen.append((type(error), getattr(error, "status_code", None), said, wait, of_itself))
        else:
            seen.append((answer.model_dump(),))
    expected, found = seen
    assert found == expected
    assert (name == "no choice") == (len(found) == 1)
    assert ("7" in found) == isinstance(FAILURES[name], int)
    assert True not in found, "raised from itself, it has no end of causes"


async def test_a_server_that_is_not_there_is_told_the_same_way(provider):
    seen = []
    for way in ("acompletion", "handler"):
        with pytest.raises(Exception, match="connect") as caught:
            await asked(way, CALLS, 5, {**parameters(provider), "api_base": "http://127.0.0.1:9/v1"})
        seen.append((caught.type, str(caught.value)))
    assert seen[0] == seen[1]


async def test_an_answer_without_end_is_cut_off_the_same_way(provider, monkeypatch):
    """The limits of connections.py hold in both ways."""
    monkeypatch.setattr("quartet_gateway.connections.MOST_BYTES", 1000)
    provider.usage["note"] = "x" * 2000
    seen = []
    for way in ("acompletion", "handler"):
        with pytest.raises(Exception, match="1000 bytes") as caught:
            await asked(way, CALLS, 5, parameters(provider))
        seen.append((caught.type, str(caught.value)))
    assert seen[0] == seen[1]


def model_of(**entry: Any) -> models.Model:
    """The model of the pick agent, by an entry of the gateway's file."""
    main = {"api_base": "http://127.0.0.1:9/v1", **entry}
    file = GatewayFile.model_validate({"models": {"main": main}, "agents": {"pick": {"model": "main"}}})
    return models.choose_models(file, Settings(_env_file=None), {"OPENAI_API_KEY": "sk-test"})["pick"][0]


@pytest.mark.parametrize(
    ("entry", "used"),
    [
        ({"model": "hosted_vllm/double"}, True),
        ({"model": "hosted_vllm/double", "price": {"prompt": 1, "completion": 2}}, True),
        ({"model": "hosted_vllm/double", "prompt_caching": "on"}, False),
        ({"model": "hosted_vllm/gpt-4o-mini"}, False),
        ({"model": "openai/double"}, False),
        ({"model": "openai/gpt-4o-mini"}, False),
        ({"model": "lm_studio/double"}, False),
    ],
)
def test_models_that_need_more_go_by_acompletion(entry, used):
    model = model_of(**entry)
    assert own_server.uses_handler(model, model.parameters) is used


@pytest.mark.parametrize(
    ("given", "used"),
    [
        *((more, True) for _, more in REQUESTS.values()),
        ({"tool_choice": {"type": "auto"}}, False),
        ({"tool_choice": {"type": "function", "function": {"name": "look"}}}, False),
        ({"stop": ["a", "b", "c", "d", "e"]}, False),
        ({"tools": [{"type": "function", "function": {"name": "look", "input_examples": []}}]}, False),
        ({"num_ctx": 100}, False),
    ],
)
def test_requests_that_litellm_corrects_go_by_acompletion(given, used):
    model = model_of(model="hosted_vllm/double")
    assert own_server.uses_handler(model, {**model.parameters, **given}) is used
    assert not own_server.uses_handler(model, {**given, "model": "hosted_vllm/double"}), "no address and no key"
