"""What comes from people, robots and models is printed as it is: square brackets are no markup, :words: no emoji."""

import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quartet_cli
from quartet_cli.commands import tasks
from quartet_contracts import Budget, State, Task, TaskStatus

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


def test_no_command_makes_a_console_of_its_own() -> None:
    """Whose default is to take square brackets for markup."""
    makers: list[str] = []
    for path in Path(quartet_cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console":
                makers.append(path.name)
    assert makers == ["terminal.py"]
