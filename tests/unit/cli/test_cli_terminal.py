"""What comes from people, robots and models is printed as it is: square brackets are no markup, :words: no emoji."""

import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

import quartet_cli
from quartet_cli import main as main_module
from quartet_cli.commands import tasks
from quartet_cli.errors import CliError
from quartet_cli.story import JsonRenderer, StoryRenderer
from quartet_cli.terminal import open_terminal
from quartet_contracts import Budget, JournalEvent, State, Task, TaskStatus

FOREIGN = "put [red] things in the [/bin] :robot: [1]"


class Deployment:
    def tasks(self, state: State | None, limit: int) -> list[TaskStatus]:
        task = Task(task_id="t1", sentence=FOREIGN, robot="anna", created_at=1.0, deadline=2.0, budget=Budget())
        return [TaskStatus(task=task, state=State.PAUSED, question=f"Which? {FOREIGN}", updated_at=1.0)]

    def now(self) -> float:
        return 61.0

    def robots(self) -> dict[str, Any]:
        row = {"name": "anna", "state": "busy", "task": "t1", "waiting": 0, "why": f"{FOREIGN}!"}
        return {"robots": [row], "waiting_for_any": 0}


@contextlib.contextmanager
def a_deployment(url: str | None) -> Iterator[Deployment]:
    yield Deployment()


def test_the_lists_of_robots_and_tasks_show_foreign_words_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tasks, "api_for", a_deployment)
    monkeypatch.setenv("COLUMNS", "200")
    tasks.list_tasks()
    shown = capsys.readouterr().out
    assert f"{FOREIGN}!" in shown, "why the robot is busy"
    assert f"{FOREIGN}\n" in shown.replace(f"Which? {FOREIGN}\n", "").replace(" \n", "\n"), "the sentence"
    assert f"Which? {FOREIGN}" in shown


CONTROLS = ["\x1b[2K", "\x1b]0;title\x07", "\x9b2K", "\u202e", "\u2066"]


@pytest.mark.parametrize("control", CONTROLS, ids=ascii)
def test_foreign_words_are_shown_and_not_obeyed_by_the_terminal(
    control: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They could wipe a question off the screen to which a person answers yes, or write another one there."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    said = JournalEvent.model_validate(
        {"task_id": "t1", "actor": "pick", "at": 1.0, "event": {"kind": "note", "text": f"before{control}after"}}
    )
    StoryRenderer(open_terminal()).render(said)
    JsonRenderer().notice(f"before{control}after")
    open_terminal().print(Text(f"before{control}after", style="bold red"))
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert control not in text
        assert text.count(f"before<U+{ord(control[0]):04X}>") >= 1
    assert "\x1b[1;31m" in shown.out, "its own style"


def test_an_error_of_a_server_is_shown_and_not_obeyed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise CliError("refused: \x1b[2Kall is well")

    monkeypatch.setattr(main_module, "app", fails)
    with pytest.raises(SystemExit):
        main_module.main(["list"])
    assert "refused: <U+001B>[2Kall is well" in capsys.readouterr().err


def test_no_command_makes_a_console_of_its_own() -> None:
    """Whose default is to take square brackets for markup."""
    makers: list[str] = []
    for path in Path(quartet_cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console":
                makers.append(path.name)
    assert makers == []
