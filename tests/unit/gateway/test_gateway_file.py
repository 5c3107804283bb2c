"""gateway.yaml and the environment: what is taken, and what is said about mistakes."""

import os
from pathlib import Path

import pytest
from pydantic import ValidationError

import quartet_gateway
from quartet_gateway import AGENTS, ConfigurationError, GatewayFile, Settings, choose_models, load_file
from quartet_gateway.load import find_file
from quartet_process import SecretError

pytestmark = pytest.mark.filterwarnings("ignore:Item .* on TypedDict class:UserWarning")
ROOT = Path(__file__).parents[3]


def write(tmp_path, text):
    path = tmp_path / "gateway.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_file_of_the_repository_says_what_holds_without_a_file():
    assert load_file(ROOT / "deploy" / "gateway.yaml") == GatewayFile()


def test_the_file_is_found_from_a_folder_below(monkeypatch, tmp_path):
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "gateway.yaml").write_text("retries: {attempts: 1}")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    found = find_file(None)
    assert found is not None
    assert load_file(found).retries.attempts == 1
    assert find_file(Path("other.yaml")) == Path("other.yaml")


def test_an_empty_file_means_the_defaults(tmp_path):
    assert load_file(write(tmp_path, "# nothing\n")) == GatewayFile()


@pytest.mark.slow
def test_a_model_of_the_file_and_one_named_in_place(tmp_path):
    path = write(
        tmp_path,
        """
models:
  big: {model: hosted_vllm/big, api_base: "http://host:8000/v1"}
agents:
  orchestrator: {model: big, fallbacks: [ollama_chat/qwen3]}
""",
    )
    chosen = choose_models(load_file(path), Settings(_env_file=None), {"QUARTET_SCRIPTED_MODEL_URL": "http://s:1"})
    assert [m.name for m in chosen["orchestrator"]] == ["hosted_vllm/big", "ollama_chat/qwen3"]
    assert [m.name for m in chosen["pick"]] == ["hosted_vllm/scripted"]
    assert chosen["pick"][0].parameters["api_base"] == "http://s:1/v1"
    assert not any(m.missing for chain in chosen.values() for m in chain)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("agents:\n  pick: {modle: scripted}", [":2:", "agents.pick.modle", "valid: model, fallbacks, budget_usd"]),
        ("agents:\n  chef: {model: scripted}", [":2:", "agents.chef", "valid: orchestrator, approach, pick, place"]),
        ("agents:\n  pick:\n    model: gpt", ["agents.pick", "'gpt'", "scripted", "provider/model"]),
        ("agents:\n  pick:\n    budget_usd: -1", [":3:", "agents.pick.budget_usd", "greater than or equal to 0", "-1"]),
        ("agents:\n  pick:\n    budget_period: week", [":3:", "'day', 'month' or 'total'", "week"]),
        ("models:\n  m: {model: a/b, api_base: host:8000}", [":2:", "models.m.api_base", "host:8000"]),
        ("models:\n  m: {api_base: 'http://h'}", ["models.m.model", "required"]),
        ("models:\n  m: {model: a/b, api_base: 'http://h', api_base_env: X}", ["api_base or api_base_env"]),
        ("retries:\n  attempts: 0", [":2:", "retries.attempts", "greater than or equal to 1"]),
        ("retry: {}", [":1:", "retry", "valid: models, agents, tasks, retries"]),
        ("- a\n- b", ["mapping"]),
        ("a: [", ["not YAML"]),
    ],
)
def test_a_mistake_is_told_with_file_line_field_and_what_is_valid(tmp_path, text, says):
    path = write(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        load_file(path)
    message = str(caught.value)
    assert str(path) in message
    for part in says:
        assert part in message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigurationError, match="QUARTET_GATEWAY_FILE"):
        load_file(tmp_path / "none.yaml")


# The environment


def names(settings, env=None, file=None):
    chosen = choose_models(file or GatewayFile(), settings, env or {})
    return {agent: chosen[agent][0].name for agent in AGENTS}


def test_one_variable_for_all_and_one_for_one_agent():
    settings = Settings(_env_file=None, model="openai/gpt-4.1", model_pick="anthropic/claude-sonnet-4-5")
    found = names(settings)
    assert found.pop("pick") == "anthropic/claude-sonnet-4-5"
    assert set(found.values()) == {"openai/gpt-4.1"}


def test_variables_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("QUARTET_MODEL", " hosted_vllm/qwen ")
    monkeypatch.setenv("QUARTET_MODEL_PLACE", "ollama_chat/llama3")
    monkeypatch.setenv("QUARTET_MODEL_API_BASE", "http://host:8000")
    monkeypatch.setenv("QUARTET_MODEL_APPROACH", "")
    settings = Settings(_env_file=None)
    chosen = choose_models(GatewayFile(), settings, {})
    assert names(settings)["approach"] == "hosted_vllm/qwen"
    assert chosen["pick"][0].parameters["api_base"] == "http://host:8000/v1"
    assert chosen["place"][0].parameters["api_base"] == "http://host:8000"


@pytest.mark.parametrize("own", [{"api_base_env": "SCRIPTED"}, {"api_base": "http://scripted:2"}])
def test_the_endpoint_for_all_is_not_that_of_an_entry_with_its_own(own):
    file = GatewayFile.model_validate({"models": {"scripted": {"model": "hosted_vllm/scripted", **own}}})
    settings = Settings(_env_file=None, model="hosted_vllm/mine", model_pick="scripted", model_api_base="http://host:1")
    chosen = choose_models(file, settings, {"SCRIPTED": "http://scripted:2"})
    assert chosen["place"][0].parameters["api_base"] == "http://host:1/v1"
    assert chosen["pick"][0].parameters["api_base"] == "http://scripted:2/v1"


@pytest.mark.parametrize("name", ["gpt", "unheard_of/model"])
def test_a_model_that_nobody_serves(name):
    with pytest.raises(ConfigurationError) as caught:
        choose_models(GatewayFile(), Settings(_env_file=None, model_pick=name), {})
    message = str(caught.value)
    assert "QUARTET_MODEL_PICK" in message
    assert name in message
    assert "anthropic/claude-sonnet-4-5" in message


def test_an_endpoint_that_is_no_address():
    with pytest.raises(ValidationError, match="model_api_base"):
        Settings(_env_file=None, model_api_base="host:8000")


def test_a_key_is_taken_from_the_variable_that_the_file_names():
    file = GatewayFile.model_validate(
        {"models": {"m": {"model": "openai/x", "api_key_env": "TEAM_API_KEY"}}, "agents": {"pick": {"model": "m"}}}
    )
    missing = choose_models(file, Settings(_env_file=None), {})["pick"][0]
    assert "TEAM_API_KEY" in missing.missing
    found = choose_models(file, Settings(_env_file=None), {"TEAM_API_KEY": "secret-1"})["pick"][0]
    assert found.missing == ""
    assert found.parameters["api_key"] == "secret-1"
    assert "secret-1" not in repr(found)


def test_every_provider_is_asked_without_retries_of_its_own():
    """The SDK behind LiteLLM would retry on its own and stretch every time-out."""
    for model in ("openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "hosted_vllm/x"):
        chosen = choose_models(GatewayFile(), Settings(_env_file=None, model=model), {})
        assert chosen["pick"][0].parameters["max_retries"] == 0


def test_keys_of_callers():
    settings = Settings(_env_file=None, gateway_key="key-of-all-agents", gateway_key_pick="key-of-pick-alone")
    keys = settings.caller_keys()
    found = {secret.first: agents for secret, agents in keys}
    assert found == {"key-of-all-agents": frozenset(AGENTS), "key-of-pick-alone": frozenset({"pick"})}
    assert "key-of-pick" not in repr(settings)


@pytest.mark.parametrize("name", ["gateway_key", "gateway_key_pick"])
def test_a_key_that_can_be_guessed(name):
    with pytest.raises(SecretError, match=f"{name.upper()} holds 5 characters; valid: at least 16"):
        Settings(_env_file=None, **{name: "short"}).caller_keys()


def test_what_the_package_exports():
    assert sorted(quartet_gateway.__all__) == quartet_gateway.__all__
    assert all(hasattr(quartet_gateway, name) for name in quartet_gateway.__all__)


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "more than 20000 values"),
        ("models: &m [*m]\n", "more than 20000 values"),
        ("[" * 100_000, "nested deeper than 20 levels"),
        ("models: !!int 'x'\n", "is not YAML"),
        ("tasks: !!timestamp 'x'\n", "is not YAML"),
        ("# " + "x" * 1_100_000, "is too long"),
        ("models: {\x00", "is not YAML"),
    ],
    ids=["aliases", "itself", "deep", "int", "date", "long", "nul"],
)
def test_a_file_that_is_meant_to_harm_is_refused(tmp_path, text, said):
    with pytest.raises(ConfigurationError, match=said):
        load_file(write(tmp_path, text))


def test_a_link_is_followed_to_a_file_and_to_nothing_that_has_no_end(tmp_path):
    real = write(tmp_path, "retries: {attempts: 1}\n")
    (tmp_path / "good.yaml").symlink_to(real)
    assert load_file(tmp_path / "good.yaml").retries.attempts == 1
    os.mkfifo(tmp_path / "pipe")
    for name, target in (("to_pipe", tmp_path / "pipe"), ("to_device", "/dev/zero")):
        (tmp_path / name).symlink_to(target)
        with pytest.raises(ConfigurationError, match="no regular file"):
            load_file(tmp_path / name)
    (tmp_path / "to_itself").symlink_to(tmp_path / "to_itself")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_file(tmp_path / "to_itself")
