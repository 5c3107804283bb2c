from typing import Any, cast

import pytest

from quartet_cli.errors import ExitStatus
from quartet_cli.follow import follow
from quartet_cli.open_questions import open_questions
from quartet_contracts import Budget, State, Task, TaskStatus


def status(task_id: str, state: State, robot: str = "anna", question: str | None = None) -> TaskStatus:
    task = Task(task_id=task_id, sentence="tidy up", robot=robot, created_at=1.0, deadline=2.0, budget=Budget())
    return TaskStatus(task=task, state=state, question=question, updated_at=1.0)


@pytest.mark.parametrize(
    ("robot", "told"), [("anna", True), ("any", True), ("ben", False)], ids=["same robot", "any robot", "another"]
)
def test_who_waits_behind_a_question_is_told(robot: str, told: bool) -> None:
    (line,) = open_questions([status("t1", State.PAUSED, question="Which can?"), status("t2", State.QUEUED, robot)])
    assert line.startswith('t1 asks: Which can?\n  quartet answer t1 "..."')
    assert ("in its queue: t2" in line) == told


def test_choices_are_told_with_their_numbers() -> None:
    asking = status("t1", State.PAUSED, question="Which can?").model_copy(update={"choices": ["red can", "blue can"]})
    assert "t1 asks: Which can?\n  1) red can  2) blue can\n" in open_questions([asking])[0]


def test_a_task_that_asks_nothing_is_not_told() -> None:
    assert open_questions([status("t1", State.PAUSED), status("t2", State.RUNNING), status("t3", State.QUEUED)]) == []


class Deployment:
    """Two robots, each with a task that asks; the task in the queue ends when it is looked at."""

    def tasks(self, state: State, limit: int) -> list[TaskStatus]:
        assert state is State.PAUSED
        return [status("t1", state, question="Which can?"), status("t2", state, "ben", question="Which cup?")]

    def robots(self) -> dict[str, Any]:
        return {"robots": [{"name": "anna", "task": None, "waiting": 1}]}

    def events(self, task_id: str, after: str) -> list[Any]:
        return []

    def task(self, task_id: str) -> TaskStatus:
        return status(task_id, State.SUCCEEDED)


class Told:
    def __init__(self) -> None:
        self.notices: list[str] = []

    def begin(self, status: TaskStatus) -> None: ...

    def end(self, status: TaskStatus) -> None: ...

    def notice(self, text: str) -> None:
        self.notices.append(text)


@pytest.mark.parametrize(("state", "told"), [(State.QUEUED, ["t1 asks"]), (State.RUNNING, [])])
def test_a_task_in_the_queue_is_told_what_its_robot_waits_for(state: State, told: list[str]) -> None:
    renderer = Told()
    ended = follow(cast(Any, Deployment()), status("t3", state), cast(Any, renderer), None)
    assert ended is ExitStatus.DONE
    assert [line.partition(":")[0] for line in renderer.notices] == told
