"""Ctrl-C and old questions while a task is followed."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quartet_cli.commands.common import start_and_follow
from quartet_cli.errors import CliError, ExitStatus, LeftError, exit_status
from quartet_cli.follow import follow
from quartet_cli.interrupts import Interrupts
from quartet_cli.settings import CliSettings
from quartet_contracts import Budget, JournalEvent, State, Task, TaskStatus


def status(state: State, question: str | None = None) -> TaskStatus:
    task = Task(task_id="t1", sentence="tidy up", robot="summit", created_at=1.0, deadline=2.0, budget=Budget())
    return TaskStatus(task=task, state=state, question=question, updated_at=1.0)


def event(position: str, at: float, **fields: Any) -> JournalEvent:
    told = {"task_id": "t1", "actor": "orchestrator", "at": at, "position": position, "event": fields}
    return JournalEvent.model_validate(told)


class Deployment:
    """A task that ends once it is canceled."""

    def __init__(self, events: list[JournalEvent], state: State = State.RUNNING) -> None:
        self.given, self.state, self.canceled = events, state, 0

    def now(self) -> float:
        return time.time()

    def events(self, task_id: str, after: str) -> Iterator[JournalEvent]:
        return iter([one for one in self.given if one.position > after])

    def task(self, task_id: str) -> TaskStatus:
        return status(self.state)

    def tasks(self, state: State | None, limit: int) -> list[TaskStatus]:
        return []

    def cancel(self, task_id: str, reason: str) -> None:
        self.canceled += 1
        self.state = State.CANCELED


class Renderer:
    """What is shown; `on` is done in the midst of the first thing of that kind, which Ctrl-C must not cut off."""

    def __init__(self, on: dict[str, Callable[[], object]]) -> None:
        self.shown: list[str] = []
        self._on = on

    def _show(self, kind: str, what: str) -> None:
        if kind in self._on:
            self._on.pop(kind)()
        self.shown.append(what)

    def begin(self, status: TaskStatus) -> None:
        self._show("begin", "begin")

    def render(self, event: JournalEvent) -> None:
        self._show("render", event.position)

    def notice(self, text: str) -> None:
        self._show("notice", text.split()[0])

    def end(self, status: TaskStatus) -> None:
        self._show("end", f"end {status.state}")


class Busy(Deployment):
    """The task waits in the queue; the robots are as `rows` say."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__([event("1", 1.0, kind="state", state="SUCCEEDED")], State.QUEUED)
        self.rows = rows

    def robots(self) -> dict[str, Any]:
        return {"robots": self.rows}

    def task(self, task_id: str) -> TaskStatus:
        other = Task(
            task_id="t0", sentence="sort the mugs", robot="summit", created_at=1.0, deadline=2.0, budget=Budget()
        )
        return (
            TaskStatus(task=other, state=State.RUNNING, updated_at=1.0) if task_id == "t0" else status(State.SUCCEEDED)
        )


RUNS, FREE = {"name": "summit", "task": "t0", "waiting": 2}, {"name": "summit", "task": None, "waiting": 1}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [RUNS],
            [
                "Waits until summit has ended task t0: sort the mugs",
                "1 other task waits there too; `quartet list` shows them",
            ],
        ),
        ([{**RUNS, "waiting": 1}], ["Waits until summit has ended task t0: sort the mugs"]),
        ([FREE], []),
        ([{**RUNS, "name": "second"}, FREE], []),
    ],
)
def test_a_task_says_at_once_behind_which_one_it_waits(rows: list[dict[str, Any]], said: list[str]) -> None:
    told: list[str] = []
    renderer = Renderer({})
    renderer.notice = told.append  # type: ignore[method-assign]
    follow(Busy(rows), status(State.QUEUED), renderer, None)  # type: ignore[arg-type]
    assert told == said


def press() -> None:
    signal.raise_signal(signal.SIGINT)


NOTES = [event(str(number), 1.0, kind="note", text="hm") for number in (1, 2, 3)]


@pytest.mark.parametrize("when", ["begin", "render"])
def test_ctrl_c_in_the_midst_of_a_line_cancels_after_it_and_loses_no_event(when: str) -> None:
    api, renderer = Deployment(NOTES), Renderer({when: press})
    assert follow(api, status(State.RUNNING), renderer, None) is ExitStatus.CANCELED  # type: ignore[arg-type]
    assert api.canceled == 1
    canceling = {"begin": 1, "render": 2}[when]
    shown = ["begin", "1", "2", "3"]
    assert renderer.shown == [*shown[:canceling], "Canceling", *shown[canceling:], "end CANCELED"]


def test_a_second_ctrl_c_in_the_notice_of_the_first_leaves_with_a_whole_line() -> None:
    api, renderer = Deployment(NOTES), Renderer({"render": press, "notice": press})
    assert follow(api, status(State.RUNNING), renderer, None) is ExitStatus.LEFT  # type: ignore[arg-type]
    assert renderer.shown == ["begin", "1", "Canceling", "Left."]


def test_what_hangs_is_left_with_a_second_ctrl_c() -> None:
    def hang() -> None:
        with interrupts.held():
            press()
            press()
            pytest.fail("it goes on")

    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            hang()
        with interrupts.held():
            pass
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_ignores_ctrl_c_in_the_background_goes_on_ignoring_it() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts():
            press()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("state", [State.SUCCEEDED, State.RUNNING])
def test_a_question_that_was_answered_is_not_put_to_who_watches_later(state: State) -> None:
    asked = event("1", time.time() - 20, kind="question", question_id="q1", text="Which?", expires_at=time.time() + 600)
    api, renderer = Deployment([asked], state), Renderer({"render": lambda: setattr(api, "state", state)})
    ended = event("2", time.time(), kind="note", text="done")
    api.given.append(ended)
    if state is State.RUNNING:
        # It ends afterwards.
        renderer = Renderer({})
        before = api.task
        api.task = lambda task_id: before(task_id) if "2" not in renderer.shown else status(State.SUCCEEDED)  # type: ignore[method-assign]
    assert follow(api, status(state), renderer, None) is ExitStatus.DONE  # type: ignore[arg-type]
    assert renderer.shown == ["begin", "1", "2", "end SUCCEEDED"]


def test_ctrl_c_before_the_answer_says_where_to_see_whether_the_task_was_taken(tmp_path: Path) -> None:
    def start(_: object) -> TaskStatus:
        raise KeyboardInterrupt

    settings = CliSettings(runs_dir=tmp_path, url="http://127.0.0.1:1")
    with pytest.raises(LeftError, match=r"the task may have been taken.*quartet list") as left:
        start_and_follow(start, settings, Renderer({}))
    assert isinstance(left.value, CliError)
    assert exit_status(left.value) is ExitStatus.LEFT
