"""With which token the command comes, and to whom it is sent."""

import json
import os
from pathlib import Path

import httpx2
import pytest

from quartet_cli import settings as module
from quartet_cli.errors import UsageError
from quartet_cli.settings import find_stop_service, load_settings
from quartet_deployment import OrchestratorClient, RefusedError

RUNNING = "http://127.0.0.1:8000"


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A running `quartet up`, as another terminal sees it; its folder of secrets."""
    for name in [name for name in os.environ if name.startswith("QUARTET_")]:
        monkeypatch.delenv(name)
    secrets = tmp_path / "up" / "secrets"
    (secrets / "cli").mkdir(parents=True)
    (secrets / "cli" / "api_token").write_text("the-token-of-the-stack\n")
    (secrets / "cli" / "stop_token").write_text("the-stop-token-of-the-stack\n")
    about = {"pid": os.getpid(), "url": RUNNING, "stop_url": "http://127.0.0.1:8001", "secrets_dir": str(secrets)}
    (tmp_path / "up" / "stack.json").write_text(json.dumps(about))
    monkeypatch.setattr(module, "state_folder", lambda: tmp_path)
    return secrets


@pytest.mark.parametrize("given", ["robot.example", "localhost:8000", "http://", "ftp://robot.example"])
def test_what_is_no_address_is_told_so_and_not_as_an_orchestrator_that_is_silent(given, monkeypatch):
    with pytest.raises(UsageError, match=f"'{given}' is no address of an orchestrator; valid: http://HOST:PORT"):
        load_settings(given)
    monkeypatch.setenv("QUARTET_URL", given)
    with pytest.raises(UsageError, match="is no address"):
        load_settings()


def test_the_running_stack_is_asked_with_its_own_token(up: Path) -> None:
    assert (load_settings().url, load_settings().token()) == (RUNNING, "the-token-of-the-stack")
    assert load_settings(RUNNING).token() == "the-token-of-the-stack"


def test_a_running_demo_is_found_if_no_stack_is_up(up: Path, tmp_path: Path) -> None:
    """`quartet answer` must reach the question that a demo prints."""
    demo = tmp_path / "demo"
    demo.mkdir()
    about = json.loads((tmp_path / "up" / "stack.json").read_text()) | {"url": "http://127.0.0.1:8100"}
    (demo / "stack.json").write_text(json.dumps(about))
    assert load_settings().url == RUNNING
    (tmp_path / "up" / "stack.json").unlink()
    assert (load_settings().url, load_settings().token()) == ("http://127.0.0.1:8100", "the-token-of-the-stack")


def test_an_assistant_gets_a_token_of_its_own(up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never that of the command, which may approve, unless a variable names it."""
    assert load_settings().token_for_assistant() is None
    (up / "cli" / "assistant_token").write_text("the-token-of-assistants\n")
    assert load_settings().token_for_assistant() == "the-token-of-assistants"
    assert load_settings("http://robot.example:8000").token_for_assistant() is None
    monkeypatch.setenv("QUARTET_API_TOKEN", "from-the-environment")
    assert load_settings().token_for_assistant() == "the-token-of-assistants"
    assert load_settings("http://robot.example:8000").token_for_assistant() == "from-the-environment"


def test_its_token_is_sent_to_nobody_else(up: Path) -> None:
    assert load_settings("http://robot.example:8000").token() is None


def test_the_environment_wins(up: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "api_token").write_text("from-a-folder\n")
    monkeypatch.setenv("QUARTET_SECRETS_DIR", str(folder))
    assert load_settings("http://robot.example:8000").token() == "from-a-folder"
    monkeypatch.setenv("QUARTET_API_TOKEN", "from-the-environment")
    assert load_settings().token() == "from-the-environment"
    monkeypatch.delenv("QUARTET_API_TOKEN")
    monkeypatch.setenv("QUARTET_API_TOKEN_FILE", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match=r"QUARTET_API_TOKEN_FILE .* cannot be read"):
        load_settings().token()


def test_the_stop_service_too(up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with find_stop_service() as service:
        assert service._http.headers["authorization"] == "Bearer the-stop-token-of-the-stack"
    monkeypatch.setenv("QUARTET_STOP_URL", "http://robot.example:8001")
    with pytest.raises(UsageError, match=r"QUARTET_STOP_TOKEN is not set.*emergency stop"):
        find_stop_service()


@pytest.mark.parametrize(("token", "said"), [(None, "came with none"), ("x", "came with another")])
def test_an_orchestrator_that_lets_nobody_in_is_told_with_the_remedy(token: str | None, said: str) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(401, json={"title": "Not authenticated", "detail": "send a token"})

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    client = httpx2.Client(transport=httpx2.MockTransport(refuse), base_url=RUNNING, headers=headers)
    with (
        OrchestratorClient(RUNNING, client=client) as api,
        pytest.raises(RefusedError, match=f"{said}: set QUARTET_API_TOKEN"),
    ):
        api.tasks(None, 1)
