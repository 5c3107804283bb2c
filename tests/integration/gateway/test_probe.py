"""`quartet doctor --models`: what works of a model and what does not, and the recording of it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quartet_gateway import GatewayFile, Settings
from quartet_gateway.probe import AGENT_TOOLS, probe
from support.fake_provider import FakeProvider, Family, families
from support.provider_rules import broken_rules

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")

FAMILIES = {family.name: family for family in families()}
KEY = "sk-ant-conformance-0000000000"
AGENTS_OFFERED = ("text", "text")
"""Answers to the tools of pick and of place."""
GOOD = ("text", "call", "text", "text")


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with FakeProvider().serve() as one:
        yield one


@pytest.fixture
def ask(provider, monkeypatch):
    """`ask(family, answers)`: the findings by step, what was said beside them, and whether all is well."""

    async def run(
        family: Family, answers: tuple[Any, ...], folder: Path | None = None, retries: Any = None, **entry: Any
    ) -> tuple[dict[str, tuple[str, str, str]], dict[str, Any], bool]:
        provider.plan = [family.answers[one] if isinstance(one, str) else one for one in answers]
        for name, value in family.environment.items():
            monkeypatch.setenv(name, value)
        uses = {"model": "main"}
        file = GatewayFile.model_validate(
            {
                "models": {"main": {**family.entry, "api_base": provider.url + family.path, **entry}},
                "agents": {"pick": uses, "place": uses},
                "retries": retries or {"attempts": 1, "timeout_attempts": 1},
            }
        )
        lines: list[Any] = []
        healthy = await probe(file, Settings(_env_file=None), family.environment, lines.append, folder)
        found = [line["finding"] for line in lines if "finding" in line]
        assert all((one["verdict"] == "ok") == (not one["remedy"]) for one in found)
        assert "scripted" in found.pop(0)["what"], "which needs no key"
        others = {name: value for line in lines if "finding" not in line for name, value in line.items()}
        return {one["step"]: (one["verdict"], one["what"], one["remedy"]) for one in found}, others, healthy

    return run


@pytest.mark.parametrize("name", ["anthropic", "gemini", "groq", "hosted_vllm_mistral", "ollama", "openai_responses"])
async def test_a_model_that_does_all(ask, provider, name):
    family = FAMILIES[name]
    found, others, healthy = await ask(family, GOOD)
    assert healthy, found
    assert {step: verdict for step, (verdict, _, _) in found.items()} == dict.fromkeys(
        ["text", "tool", "result", "tools", "picture"], "ok"
    )
    assert len(provider.asked) == (6 if family.takes_images else 5)
    assert others["used"]["tokens"] == 99 * len(provider.asked)
    assert list(broken_rules(provider.asked, family)) == []


async def test_a_wrong_key(ask, provider):
    found, _, healthy = await ask(FAMILIES["anthropic"], ("wrong_key",))
    assert not healthy
    verdict, what, remedy = found["text"]
    assert (verdict, "key" in what, ".env" in remedy) == ("wrong", True, True)
    assert found["tool"][0] == "skipped"
    assert len(provider.asked) == 1


async def test_no_key_at_all(ask, provider, monkeypatch):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    family = Family("none", "deepseek/deepseek-chat", FAMILIES["deepseek"].answers)
    found, _, healthy = await ask(family, GOOD)
    assert not healthy
    assert "DEEPSEEK_API_KEY" in found["key"][2]
    assert provider.asked == []


async def test_a_server_without_tools(ask):
    found, _, healthy = await ask(FAMILIES["hosted_vllm"], ("text", "no_tools", "text"))
    assert not healthy
    assert found["tool"][0] == "wrong"
    assert "--enable-auto-tool-choice" in found["tool"][2]
    assert [found[step][0] for step in ("result", "tools", "picture")] == ["skipped", "skipped", "ok"]


async def test_a_model_that_talks_in_place_of_calling(ask):
    found, _, healthy = await ask(FAMILIES["openai"], ("text", "text", "text"))
    assert not healthy
    assert "made no call" in found["tool"][1]


REJECTED = {
    "status": 400,
    "body": {"error": {"message": "In context=('properties', 'size_m'), array schema missing items."}},
}


@pytest.mark.parametrize(("bad", "named"), [("moveit__close_gripper", "moveit__close_gripper"), ("", "all tools")])
async def test_a_provider_that_rejects_the_schema_of_a_tool(ask, provider, bad, named):
    names = [tool["function"]["name"] for tool in json.loads(AGENT_TOOLS.read_text())["pick"]]
    each = [REJECTED if name == bad else "text" for name in names]
    found, _, healthy = await ask(FAMILIES["openai"], ("text", "call", "text", REJECTED, *each, "text"))
    assert not healthy
    verdict, what, _ = found["tools"]
    assert verdict == "wrong"
    assert f"rejects {named} of pick: " in what
    assert "array schema missing items" in what
    offered = [[tool["function"]["name"] for tool in one.body.get("tools", [])] for one in provider.asked]
    assert offered[3 : 4 + len(names)] == [names, *([name] for name in names)]


BLIND = {"status": 400, "body": {"error": {"message": "Model does not support images", "type": "BadRequestError"}}}


async def test_a_model_that_is_said_to_see_and_does_not(ask):
    found, _, healthy = await ask(FAMILIES["hosted_vllm"], ("text", "call", "text", *AGENTS_OFFERED, BLIND))
    assert not healthy
    assert found["picture"][0] == "wrong"
    assert "takes_images: false" in found["picture"][2]


@pytest.mark.parametrize(("last", "verdict"), [("text", "warning"), (BLIND, "ok")])
async def test_a_model_of_which_nobody_knows_whether_it_sees(ask, last, verdict):
    found, _, healthy = await ask(
        FAMILIES["hosted_vllm"], ("text", "call", "text", *AGENTS_OFFERED, last), takes_images=None
    )
    assert healthy
    assert found["picture"][0] == verdict
    assert ("takes_images: true" in found["picture"][2]) == (verdict == "warning")


async def test_a_server_that_does_not_answer_in_time(ask):
    retries = {"attempts": 1, "timeout_attempts": 1, "timeout_s": 0.2}
    found, _, healthy = await ask(FAMILIES["hosted_vllm"], ({"hang": True},), retries=retries)
    assert not healthy
    assert "QUARTET_PATIENCE" in found["text"][2]


async def test_a_recording_has_no_secrets_and_is_a_fixture(ask, provider, tmp_path):
    family = FAMILIES["anthropic"]
    body = {**family.answers["text"]["body"], "echo": f"your key is {KEY}", "api_key": "abc", "nested": [KEY]}
    _, others, _ = await ask(family, ({"body": body}, "call", "text", "text"), folder=tmp_path / "kept")
    file = tmp_path / "kept" / "anthropic_claude_sonnet_4_5.yaml"
    assert others["recorded"] == str(file)
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text()
    assert KEY not in text
    assert "abc" not in text
    played = Family.load(file)
    assert played.model == family.model
    assert set(played.answers) == {"text", "call", "result", "tools pick", "tools place", "picture"}
    assert played.requests["call"]["body"]["tools"]
    provider.asked.clear()
    found, _, healthy = await ask(played, ("text", "call", "result", "tools pick", "tools place", "picture"))
    assert healthy, found
    assert list(broken_rules(provider.asked, replace(played, name="anthropic"))) == []


@pytest.mark.long
async def test_the_command(provider, tmp_path):
    """`quartet doctor --models`, which starts the gateway's program: what it prints, and its exit status."""
    provider.plan = [FAMILIES["hosted_vllm"].answers[one] for one in GOOD]
    environment = {
        **os.environ,
        "QUARTET_MODEL": "hosted_vllm/m",
        "QUARTET_MODEL_API_BASE": provider.url,
        "QUARTET_MODEL_TAKES_IMAGES": "false",
        "HOSTED_VLLM_API_KEY": KEY,
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "quartet_cli", "doctor", "--models", "--record", str(tmp_path / "kept")),
        env=environment,
        cwd=Path(__file__).parents[3],
        stdout=asyncio.subprocess.PIPE,
    )
    output = (await process.communicate())[0].decode()
    assert process.returncode == 0, output
    assert "read the tool's result" in output
    assert "accepts the tools of approach, pick, place, orchestrator, orchestrator single" in output
    assert "the models are ready" in output
    assert "hosted_vllm_m.yaml" in output
    assert provider.asked[0].headers["authorization"] == f"Bearer {KEY}"
