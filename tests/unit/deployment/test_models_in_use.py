"""Which models the agents of a deployment use, by the gateway's file and the variables."""

from pathlib import Path

import pytest

from quartet_cli.commands.up import describe_models
from quartet_deployment import SecretsFolder, Stack, StackOptions
from quartet_deployment._models import models_in_use
from quartet_deployment._specs import choose_addresses, models, specs

AGENTS = ("orchestrator", "approach", "pick", "place")
FILE = """
models:
  local: {model: hosted_vllm/Qwen/Qwen3-32B, api_base: "http://gpu:8000/v1"}
  policy: {model: hosted_vllm/scripted, api_base_env: QUARTET_SCRIPTED_MODEL_URL}
agents:
  orchestrator: {model: local, fallbacks: [openai/gpt-4.1]}
  approach: {model: local}
  pick: {model: local}
  place: {model: local, fallbacks: [policy]}
"""


def used(tmp_path: Path, text: str, **variables: str) -> dict[str, list[str]]:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    return models_in_use({"QUARTET_GATEWAY_FILE": str(file), **variables})


def test_the_file_names_models_and_fallbacks(tmp_path: Path) -> None:
    local = "hosted_vllm/Qwen/Qwen3-32B"
    found = used(tmp_path, FILE)
    assert found == {
        "orchestrator": [local, "openai/gpt-4.1"],
        "approach": [local],
        "pick": [local],
        "place": [local, "scripted"],
    }
    assert describe_models(found) == (
        f"{local}, then openai/gpt-4.1 (orchestrator); {local} (approach, pick); {local}, then scripted (place)"
    )


def test_a_variable_replaces_the_model_and_keeps_the_fallbacks(tmp_path: Path) -> None:
    found = used(tmp_path, FILE, QUARTET_MODEL="a/b", QUARTET_MODEL_PICK=" scripted ")
    assert found == {"orchestrator": ["a/b", "openai/gpt-4.1"], "approach": ["a/b"], "pick": ["scripted"],
                     "place": ["a/b", "scripted"]}  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "agents: [", "agents: 5", "- a", "agents: {pick: 7}\nmodels: x", "\udcff", "a: !!int x", "[" * 5000]
)
def test_a_file_that_cannot_be_used_leaves_the_report_to_the_gateway(text: str, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    scripted = {agent: ["scripted"] for agent in AGENTS}
    assert models_in_use({"QUARTET_GATEWAY_FILE": str(file)}) == scripted
    assert models_in_use({"QUARTET_GATEWAY_FILE": str(tmp_path)}) == scripted


@pytest.mark.parametrize(
    ("text", "variables", "needed"),
    [
        ("", {}, True),
        (FILE, {}, True),
        (FILE.replace(", fallbacks: [policy]", ""), {}, False),
        (FILE.replace(", fallbacks: [policy]", ""), {"QUARTET_MODEL_PLACE": "scripted"}, True),
        ("", {"QUARTET_MODEL": "openai/gpt"}, False),
        ("", {"QUARTET_MODEL_PICK": "openai/gpt"}, True),
        ("", {f"QUARTET_MODEL_{agent.upper()}": "openai/gpt" for agent in AGENTS}, False),
    ],
)
def test_the_scripted_model_starts_only_if_an_agent_uses_it(
    text: str, variables: dict[str, str], needed: bool, tmp_path: Path
) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    gateway = {"QUARTET_GATEWAY_FILE": str(file), **variables}
    options = StackOptions(tmp_path / "stack", use_dotenv=False, env_of={"gateway": gateway})
    built = {one.name for one in specs(options, choose_addresses(options), SecretsFolder(tmp_path / "secrets"))}
    assert ("scripted_model" in built) is needed
    stack = Stack(options)
    assert stack.models == models(options)
    assert (stack.model_names == ["scripted"]) is (not text and not variables)


def test_the_variables_of_the_user_choose_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUARTET_MODEL", "openai/gpt")
    assert set(map(tuple, models(StackOptions(tmp_path)).values())) == {("openai/gpt",)}
    assert Stack(StackOptions(tmp_path, use_dotenv=False)).model_names == ["scripted"]


def test_a_model_of_a_wrong_type_is_left_to_the_gateway(tmp_path: Path) -> None:
    found = used(tmp_path, "agents: {pick: {model: [a], fallbacks: 5}, place: {model: null, fallbacks: null}}")
    assert (found["pick"], found["place"]) == (["['a']"], ["scripted"])
