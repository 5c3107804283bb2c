"""A person answers a question at the terminal where a task is followed."""

import contextlib
import os
import pty
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate

import httpx2
import pytest

from quartet_cli import follow
from quartet_contracts import Budget, State, Task, TaskStatus
from quartet_contracts.journal import Asked
from quartet_deployment import OrchestratorClient, RefusedError

ASKED = Asked(question_id="q1", text="Which can?", choices=["red", "blue"], expires_at=0.0)
SAY = 'answer with: quartet answer t1 "your answer"'


class Deployment:
    """A task that asks until it has an answer; it refuses one that is too long."""

    def __init__(self, behind_s: float = 0.0) -> None:
        self.answers: list[str] = []
        self.behind_s = behind_s
        """How far its clock is behind that of this machine."""

    def now(self) -> float:
        return time.time() - self.behind_s

    def task(self, task_id: str) -> TaskStatus:
        task = Task(task_id=task_id, sentence="tidy up", robot="summit", created_at=1.0, deadline=2.0, budget=Budget())
        state = State.RUNNING if self.answers else State.PAUSED
        return TaskStatus(task=task, state=state, question=ASKED.text, updated_at=1.0)

    def answer(self, task_id: str, text: str, question_id: str) -> None:
        assert (task_id, question_id) == ("t1", "q1")
        if len(text) > 9:
            raise RefusedError("it is too long")
        self.answers.append(text)


class Notices:
    """What is told; `on` says what a person types after a text was told."""

    def __init__(self, on: dict[str, str], write: Callable[[str], object]) -> None:
        self.told: list[str] = []
        self._on, self._write = on, write

    def notice(self, text: str) -> None:
        self.told.append(text)
        for start in list(self._on):
            if text.startswith(start):
                self._write(self._on.pop(start))


@contextlib.contextmanager
def terminal() -> Iterator[Callable[[str], object]]:
    """A terminal at stdin; yields what types at it."""
    keyboard, screen = pty.openpty()
    before = sys.stdin
    with os.fdopen(screen) as opened:
        sys.stdin = opened
        try:
            yield lambda text: os.write(keyboard, text.encode())
        finally:
            sys.stdin = before
            os.close(keyboard)


def ask(on: dict[str, str], behind_s: float = 0.0) -> tuple[Deployment, list[str]]:
    deployment = Deployment(behind_s)
    with terminal() as write:
        notices = Notices(on, write)
        asked = ASKED.model_copy(update={"expires_at": deployment.now() + 3600})
        # In a thread: what waits for ever ends with the test.
        asking = threading.Thread(target=follow._ask, args=(deployment, "t1", asked, notices.notice), daemon=True)
        asking.start()
        asking.join(60)
        assert not asking.is_alive(), notices.told
    return deployment, notices.told


def test_an_empty_line_is_no_answer_and_the_person_is_asked_on() -> None:
    deployment, told = ask({"Your answer (": "\n", "Nothing was sent": "blue\n"})
    assert deployment.answers == ["blue"]
    assert told[1:] == ["Nothing was sent: the line is empty. Your answer:"]


def test_an_answer_that_is_refused_can_be_given_anew() -> None:
    deployment, told = ask({"Your answer (": "the blue one there\n", "Your answer:": "blue\n"})
    assert deployment.answers == ["blue"]
    assert told[1:] == ["The answer was refused: it is too long", "Your answer:"]


def test_at_the_end_of_the_terminal_it_is_told_how_to_answer_from_elsewhere() -> None:
    deployment, told = ask({"Your answer (": "\x04"})
    assert not deployment.answers
    assert told[1].endswith(SAY)


@pytest.mark.parametrize("typed", ["2\n", "  blue \n"])
def test_the_first_line_with_words_is_the_answer(typed: str) -> None:
    deployment, told = ask({"Your answer (": typed})
    assert (deployment.answers, len(told)) == ([typed.strip()], 1)


def test_a_clock_that_is_ahead_of_the_orchestrators_hides_no_question() -> None:
    deployment, told = ask({"Your answer (": "blue\n"}, behind_s=7200.0)
    assert deployment.answers == ["blue"]
    assert int(told[0].split("within ")[1].split(" s")[0]) > 3000


def answered_at(at: float) -> httpx2.Client:
    """A client whose answers have the time `at` in their header."""
    sent = httpx2.Response(200, json={"tasks": []}, headers={"date": formatdate(at, usegmt=True)})
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: sent), base_url="http://there")


@pytest.mark.parametrize("behind_s", [7200.0, -7200.0])
def test_the_orchestrators_time_is_that_of_its_answers(behind_s: float) -> None:
    api = OrchestratorClient("http://there", client=answered_at(time.time() - behind_s))
    api.tasks(None, 1)
    assert api.now() == pytest.approx(time.time() - behind_s, abs=60.0)


def test_a_time_that_nobody_tells_is_that_of_this_machine() -> None:
    answer = httpx2.Response(200, json={"tasks": []})
    transport = httpx2.MockTransport(lambda _: answer)
    api = OrchestratorClient("http://there", client=httpx2.Client(transport=transport, base_url="http://there"))
    api.tasks(None, 1)
    assert api.now() == pytest.approx(time.time(), abs=60.0)


@pytest.mark.parametrize("given", ["", "../../metrics", "..", "t1/../t2", "t1?x", "a b"])
def test_what_is_no_id_of_a_task_is_told_so_and_asks_for_nothing(given):
    asked = []
    transport = httpx2.MockTransport(lambda request: asked.append(request.url) or httpx2.Response(404, json={}))
    api = OrchestratorClient("http://there", client=httpx2.Client(transport=transport, base_url="http://there"))
    for ask in (
        api.task,
        api.resume,
        api.transcripts,
        lambda one: api.cancel(one, "x"),
        lambda one: api.answer(one, "x"),
    ):
        with pytest.raises(RefusedError, match=f"'{re.escape(given)}' is no id of a task; `quartet list` shows them"):
            ask(given)
    assert asked == []


@pytest.mark.parametrize("name", ["../../../metrics", "..", "a/b", "a?b#c"])
def test_a_name_that_an_agent_gave_its_transcript_leads_nowhere_else(name):
    asked = []
    transport = httpx2.MockTransport(
        lambda request: asked.append(request.url.raw_path) or httpx2.Response(200, json={})
    )
    api = OrchestratorClient("http://there", client=httpx2.Client(transport=transport, base_url="http://there"))
    api.transcript("t1", name)
    (path,) = asked
    assert path.startswith(b"/tasks/t1/transcripts/")
    assert path.count(b"/") == 4
    assert b".." not in path
    assert b"?" not in path
