"""The link that signs a browser in."""

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from quartet_cli.commands.access import page_link
from quartet_cli.commands.up import print_page
from quartet_cli.main import main

STACK = SimpleNamespace(url="http://127.0.0.1:9", api_token="the-api-token", stop_token="the-stop-token")
LINK = "http://127.0.0.1:9/#token=the-api-token&stop=the-stop-token"
LINK_2 = LINK.replace("http://127.0.0.1:9", "http://127.0.0.2:9")


def test_the_tokens_stand_where_no_server_sees_them() -> None:
    assert page_link("http://127.0.0.1:9/", "the-api-token", "the-stop-token") == LINK
    assert page_link("http://h:1", "a&b#c", None) == "http://h:1/#token=a%26b%23c"
    assert page_link("http://h:1", None, None) == "http://h:1/"


@pytest.mark.parametrize(
    ("options", "reached_at", "link"),
    [
        ([], "", LINK),
        (["--address", "http://127.0.0.2:9/"], "http://127.0.0.3:9", LINK_2),
        ([], "http://127.0.0.2:9", LINK_2),
    ],
    ids=["here", "as told", "in a container"],
)
def test_the_command_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], reached_at: str, link: str
) -> None:
    monkeypatch.setenv("QUARTET_PAGE_ADDRESS", reached_at)
    monkeypatch.setenv("QUARTET_URL", STACK.url)
    monkeypatch.setenv("QUARTET_API_TOKEN", STACK.api_token)
    monkeypatch.setenv("QUARTET_STOP_TOKEN", STACK.stop_token)
    with pytest.raises(SystemExit) as ended:
        main(["page", *options])
    assert not ended.value.code
    told = capsys.readouterr()
    assert told.out == f"{link}\n"
    assert "no orchestrator answers at http://127.0.0.1:9" in told.err
    assert "quartet up" in told.err
    assert "docker compose ps" in told.err


@pytest.mark.parametrize("given", ["javascript:alert(1)", "robot.example:8000", "ftp://robot.example"])
def test_no_link_is_printed_to_what_is_no_address(
    given: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUARTET_URL", STACK.url)
    monkeypatch.setenv("QUARTET_API_TOKEN", STACK.api_token)
    with pytest.raises(SystemExit) as ended:
        main(["page", "--address", given])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert f"'{given}' is no address" in told.err


@pytest.mark.parametrize(
    ("given", "link"),
    [
        ({}, LINK),
        ({"QUARTET_URL": "http://127.0.0.2:9"}, None),
        (
            {
                "QUARTET_URL": "http://127.0.0.2:9",
                "QUARTET_STOP_URL": "https://stop.example",
                "QUARTET_STOP_TOKEN": "the-stop-token-of-there",
            },
            "http://127.0.0.2:9/#stop=the-stop-token-of-there",
        ),
    ],
)
def test_tokens_of_the_own_stack_are_for_its_own_page(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    given: dict[str, str],
    link: str | None,
) -> None:
    """A link without a token, to where nothing answers, would lead nowhere."""
    for name in [name for name in os.environ if name.startswith("QUARTET_")]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "api_token").write_text(STACK.api_token)
    (tmp_path / "cli" / "stop_token").write_text(STACK.stop_token)
    running = {"url": STACK.url, "secrets_dir": str(tmp_path)}
    monkeypatch.setattr("quartet_cli.settings.running_stack", lambda: running)
    with pytest.raises(SystemExit) as ended:
        main(["page"])
    told = capsys.readouterr()
    assert (ended.value.code or 0) == (0 if link else 3)
    assert told.out == (f"{link}\n" if link else "")
    assert "quartet up" in told.err


def test_up_shows_it_to_a_person_and_keeps_it_out_of_logs() -> None:
    for terminal in (True, False):
        out = io.StringIO()
        print_page(STACK, Console(file=out, force_terminal=terminal, width=200, highlight=False))  # type: ignore[arg-type]
        assert (LINK in out.getvalue()) is terminal
        assert ("the-api-token" in out.getvalue()) is terminal
        assert "web page" in out.getvalue()
