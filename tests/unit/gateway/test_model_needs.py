"""What each provider needs before its model can be used, and what is known of a model."""

from pathlib import Path

import pytest

from quartet_gateway import GatewayFile, Settings, choose_models


def model_of(name: str, env: dict[str, str] | None = None, settings: dict[str, object] | None = None, **entry: object):
    file = GatewayFile.model_validate({"models": {"main": {"model": name, **entry}}})
    return choose_models(file, Settings(_env_file=None, model="main", **(settings or {})), env or {})["pick"][0]


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


BEDROCK = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    "env",
    [
        {"AWS_BEARER_TOKEN_BEDROCK": "t", "AWS_REGION": "eu-central-1"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23/v1/credentials"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/token"},
        {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION_NAME": "eu-central-1"},
    ],
)
def test_bedrock_takes_each_of_its_logins(env):
    assert model_of(BEDROCK, env).missing == ""


def test_bedrock_without_a_login_names_the_ways():
    missing = model_of(BEDROCK).missing
    assert "AWS_BEARER_TOKEN_BEDROCK" in missing
    assert "ambient_login" in missing


def test_an_instance_role_is_told_in_the_file():
    assert model_of(BEDROCK, ambient_login=True).missing == ""


def test_a_file_of_credentials_is_a_login(tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")
    assert model_of(BEDROCK).missing == ""


VERTEX = "vertex_ai/gemini-2.5-pro"
PROJECT = {"VERTEXAI_PROJECT": "p", "VERTEXAI_LOCATION": "europe-west4"}


def with_google_auth(monkeypatch: pytest.MonkeyPatch, *, there: bool) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec",
        lambda name, *a: (object() if there else None) if name.startswith("google") else find(name, *a),
    )


def test_vertex_is_not_ready_without_the_library_that_logs_in(monkeypatch):
    with_google_auth(monkeypatch, there=False)
    assert "google-auth" in model_of(VERTEX, {**PROJECT, "GOOGLE_APPLICATION_CREDENTIALS": "k.json"}).missing


def test_vertex_is_not_ready_without_credentials(monkeypatch):
    with_google_auth(monkeypatch, there=True)
    assert "GOOGLE_APPLICATION_CREDENTIALS" in model_of(VERTEX, PROJECT).missing
    assert "VERTEXAI_PROJECT" in model_of(VERTEX, {"GOOGLE_APPLICATION_CREDENTIALS": "k.json"}).missing
    assert model_of(VERTEX, {**PROJECT, "GOOGLE_APPLICATION_CREDENTIALS": "k.json"}).missing == ""
    assert model_of(VERTEX, PROJECT, ambient_login=True).missing == ""


@pytest.mark.parametrize("name", ["azure/my-deployment", "openai/responses/my-model", "hosted_vllm/Qwen/Qwen3-VL-8B"])
def test_a_model_that_nobody_knows_is_blind_until_told(name):
    endpoint = {"api_base": "http://127.0.0.1:9/v1"}
    assert model_of(name, **endpoint).images_unknown
    assert not model_of(name, **endpoint).takes_images
    for told in (
        model_of(name, takes_images=True, **endpoint),
        model_of(name, settings={"model_takes_images": True}, **endpoint),
    ):
        assert told.takes_images
        assert not told.images_unknown


def test_a_known_model_is_as_the_list_says():
    assert model_of("anthropic/claude-sonnet-4-5").takes_images
    assert not model_of("anthropic/claude-sonnet-4-5").images_unknown
    assert not model_of("anthropic/claude-sonnet-4-5", takes_images=False).takes_images


def test_ollamas_endpoint_with_tools_is_used():
    chosen = model_of("ollama/qwen3:14b")
    assert chosen.name == "ollama_chat/qwen3:14b"
    assert chosen.parameters["num_ctx"] == 16_384
    assert model_of("ollama/qwen3:14b", num_ctx=40_000).parameters["num_ctx"] == 40_000


def test_an_endpoint_of_the_file_is_azures_too():
    env = {"AZURE_API_KEY": "k", "AZURE_API_VERSION": "2024-10-21"}
    assert "AZURE_API_BASE" in model_of("azure/my-deployment", env).missing
    assert model_of("azure/my-deployment", env, api_base="https://me.openai.azure.com").missing == ""
