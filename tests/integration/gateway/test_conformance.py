"""Conversations with every family of models, in the provider's own wire format: agent, gateway, provider and back.

The files of `families` are the providers' answers; support/provider_rules.py checks what the providers are asked. A new
family is a file and its line in RULES.
"""

import base64
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.routing import Mount

from quartet_agent_runtime import GatewayClient
from quartet_agent_runtime._conversation import Conversation
from quartet_agent_runtime._model import ModelAnswer, ToolCall
from quartet_agent_runtime._tools import CallResult, Image, ToolOutcome
from quartet_agent_runtime.errors import ModelUnavailableError
from quartet_gateway import TaskGrants, create_app, models
from quartet_gateway.access import Access
from support.fake_provider import FakeProvider, Family, families
from support.provider_rules import RULES, broken_rules
from support.schema_rules import broken_schema_rules, functions_in, types_in
from support.shown_tools import shown_tools

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

FAMILIES = {family.name: family for family in families()}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look through a camera.",
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "required": ["camera"],
                "properties": {
                    "camera": {"type": "string", "enum": ["front", "wrist"]},
                    "width_px": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                },
            },
        },
    }
]
RETRIES = {"timeout_s": 30, "total_s": 60, "attempts": 2}
PICTURE = Image(bytes.fromhex("89504e470d0a1a0a"), "image/png")
FOREIGN = ModelAnswer(
    text="I look.",
    calls=[ToolCall("functions.look:0/é", "look", '{"camera": "wrist"}')],
    reasoning={
        "model": "deepseek/another",
        "fields": {"reasoning_content": "A foreign thought.", "thinking_blocks": [{"type": "thinking"}]},
        "calls": {"functions.look:0/é": {"id": "functions.look:0/é", "call": {"extra": "A foreign thought."}}},
    },
)
"""A turn of another model, before a fallback."""
INVENTED = ModelAnswer(
    calls=[
        ToolCall("call_1", "functions.look:0 é", "{}"),
        ToolCall("call_2", "look_" * 40, "{}"),
        ToolCall("call_3", "", "{}"),
    ],
)
"""Calls of tools that there are not. Each is told to the model, and must not make the next request invalid."""


class Client(GatewayClient):
    """An agent's client, which notes why the last answer ended."""

    finished = ""

    async def _post(self, *given: Any) -> Any:
        response = await super()._post(*given)
        if response.is_success:
            self.finished = response.json()["choices"][0]["finish_reason"]
        return response


class Talk:
    """An agent's conversation with one model through the gateway."""

    def __init__(self, client: "Client", family: Family, provider: FakeProvider) -> None:
        self.family = family
        self.provider = provider
        self.client = client
        self._asked_before = 0
        self.begin()

    def begin(self) -> None:
        """Begin a conversation; the loop reminds a model once in each."""
        self.conversation = Conversation("You are the eyes of a robot.", "What colour is the can?")

    async def ask(self, *answers: str) -> ModelAnswer:
        """Return the model's answer, which is the last of these of the family's file."""
        self.provider.plan = [self.family.answers[name] for name in answers]
        self._asked_before = len(self.provider.asked)
        return await self.client.answer(self.conversation.messages(), TOOLS, 30)

    def asked(self) -> int:
        """Return how often the provider was asked for the last answer."""
        return len(self.provider.asked) - self._asked_before

    def give(self, answer: ModelAnswer, *, picture: bool = True) -> None:
        """Add an answer and the results of its calls, with a picture for a model that reads them."""
        self.conversation.add_answer(answer)
        for call in answer.calls:
            outcome = ToolOutcome({"ok": True, "error_code": "NONE", "camera": call.arguments}, [PICTURE])
            self.conversation.add_result(call, outcome)
            if picture:
                self.conversation.keep_images(call, CallResult(outcome, ["image_1"]))
        self.conversation.end_turn()

    def check_rules(self) -> None:
        """Check what the provider was asked."""
        assert list(broken_rules(self.provider.asked, self.family)) == []
        sent = json.dumps([one.body for one in self.provider.asked])
        assert "A foreign thought." not in sent
        for named in ("quartet", '"reasoning": {"model"'):
            assert named not in sent


@pytest.fixture
async def talk(request, gateway, monkeypatch) -> AsyncIterator[Talk]:
    """The agent pick with a model of the family that the test names."""
    family = FAMILIES[request.param]
    monkeypatch.setattr(models, "_missing_of_vertex", lambda *_: "")
    # Imported here, since every worker imports every module of tests and LiteLLM takes seconds.
    from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

    monkeypatch.setattr(VertexBase, "_ensure_access_token_async", _logged_in)
    async with FakeProvider().serve() as provider:
        entry = {**family.entry, "api_base": provider.url + family.path}
        file = {"models": {"main": entry}, "agents": {"pick": {"model": "main"}}, "retries": RETRIES}
        caller = gateway(file, env=family.environment)
        assert "pick" not in caller.gateway.problems()
        provider.app.router.routes.insert(0, Mount("/gateway", create_app(caller.gateway, Access([]), TaskGrants())))
        client = Client(f"{provider.url}/gateway", "pick")
        yield Talk(client, family, provider)
        await client.close()


async def _logged_in(*_: Any, **__: Any) -> tuple[str, str]:
    """Vertex AI's login needs a library that the gateway does not have."""
    return "token", "conformance"


def every():
    """Run the test with each family."""
    return pytest.mark.parametrize("talk", FAMILIES, indirect=True)


def test_every_family_has_rules():
    assert set(FAMILIES) == set(RULES)
    assert all(rule.__doc__ and "https://" in rule.__doc__ for rules in RULES.values() for rule in rules)


@every()
async def test_a_conversation_of_several_turns(talk):
    answer = await talk.ask("calls")
    assert [(one.name, json.loads(one.arguments)) for one in answer.calls] == [
        ("look", {"camera": "front"}),
        ("look", {"camera": "wrist"}),
    ]
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one.id) for one in answer.calls)
    assert "Two cameras" not in answer.text, "thoughts are no speech"
    assert answer.prompt_tokens == 90
    talk.give(answer)
    talk.give(await talk.ask("call"))
    answer = await talk.ask("text")
    sent = json.dumps(talk.provider.asked[-1].body)
    assert [one for one in talk.family.thoughts if one not in sent] == []
    assert (answer.text, answer.calls, answer.refusal) == ("The can is green.", [], None)
    talk.conversation.add_answer(answer)
    assert talk.conversation.remind("report")
    talk.give(await talk.ask("call"), picture=False)
    await talk.ask("text")
    talk.check_rules()
    pictures = json.dumps(talk.provider.asked[1].body).count(base64.b64encode(PICTURE.data).decode())
    assert pictures == (2 if talk.family.takes_images else 0)


@every()
async def test_a_conversation_that_another_model_began(talk):
    talk.give(FOREIGN, picture=False)
    talk.give(await talk.ask("calls"))
    await talk.ask("text")
    talk.check_rules()


@every()
async def test_the_tools_that_agents_show(talk):
    talk.provider.plan = [talk.family.answers["text"]]
    for agent, tools in (await shown_tools()).items():
        await talk.client.answer(talk.conversation.messages(), tools, 30)
        sent, shown = functions_in(talk.provider.asked[-1].body), [tool["function"] for tool in tools]
        assert broken_schema_rules(sent, talk.family.name, sent=True) == [], agent
        # A list of numbers is still one.
        assert {one["name"]: types_in(one) for one in sent} == {one["name"]: types_in(one) for one in shown}


def names_of_calls(body: Any) -> list[str]:
    """Return the names in all calls and results of calls, in whatever format."""
    if isinstance(body, list):
        return [name for one in body for name in names_of_calls(one)]
    if not isinstance(body, dict):
        return []
    own = [body["name"]] if "name" in body and {"arguments", "args", "input", "response"} & body.keys() else []
    return [*own, *(name for one in body.values() for name in names_of_calls(one))]


@every()
async def test_a_call_of_a_tool_that_there_is_not(talk):
    """OpenAI: names are ^[a-zA-Z0-9_-]{1,64}$; https://platform.openai.com/docs/api-reference/chat/create"""
    talk.give(INVENTED, picture=False)
    talk.give(await talk.ask("call"))
    await talk.ask("text")
    talk.check_rules()
    names = [name for one in talk.provider.asked for name in names_of_calls(one.body)]
    assert names
    assert [name for name in names if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)] == []


@every()
async def test_how_an_answer_ends(talk):
    cut_off = [kind for kind in ("cut_off", "cut_off_in_thought", "full_context") if kind in talk.family.answers]
    for kind in cut_off:
        talk.begin()
        answer = await talk.ask(kind)
        assert (kind, talk.client.finished, answer.refusal) == (kind, "length", None)
        assert all("cut off" in one.fault for one in answer.calls)
        talk.give(answer, picture=False)
        assert talk.conversation.remind("report")
        await talk.ask("text")
    for kind in {"refusal", "blocked_prompt"} & set(talk.family.answers):
        talk.begin()
        answer = await talk.ask(kind)
        assert answer.refusal
        assert answer.calls == []
        talk.conversation.add_answer(answer)
        assert talk.conversation.remind("report")
        await talk.ask("text")
    talk.check_rules()


@every()
async def test_what_may_not_come_again_is_asked_for_again(talk):
    passing = {"busy", "malformed", "interrupted", "failed_within", "pause", "overloaded"} & set(talk.family.answers)
    found = {kind: (len((await talk.ask(kind, "call")).calls), talk.asked()) for kind in sorted(passing)}
    assert found == dict.fromkeys(sorted(passing), (1, 2))


REFUSED = {
    "overflow": "answered 400",
    "wrong_key": "does not accept the key",
    "no_money": "has no credit left",
    "no_tools": "tool",
    "refused_prompt": "content management policy",
    "not_there": "does the provider have this model",
}


@every()
async def test_what_will_come_again_is_told_and_not_asked_for_again(talk):
    for kind, told in REFUSED.items():
        if kind in talk.family.answers:
            with pytest.raises(ModelUnavailableError, match=told) as error:
                await talk.ask(kind)
            assert talk.family.model in str(error.value)
            assert (kind, talk.asked()) == (kind, 1)


@every()
async def test_a_provider_that_stays_busy_is_told(talk):
    status = "502" if talk.family.answers["busy"]["status"] == 503 else "429"
    with pytest.raises(ModelUnavailableError, match=f"answered {status}"):
        await talk.ask("busy")
    assert talk.asked() == 2
