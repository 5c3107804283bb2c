"""Follows a task to its end: tells it, records it, answers questions, cancels at Ctrl-C."""

import contextlib
import select
import sys
import time
from collections.abc import Callable

from quartet_cli.api import Api
from quartet_cli.errors import CliError, ExitStatus
from quartet_cli.runs import RunFolder
from quartet_cli.story import Teller
from quartet_contracts import TERMINAL, State, TaskStatus
from quartet_contracts.journal import Asked

ASK_AGAIN_S = 1.0
ENDINGS = {State.SUCCEEDED: ExitStatus.DONE, State.CANCELED: ExitStatus.CANCELED}


def follow(
    api: Api, status: TaskStatus, teller: Teller, folder: RunFolder | None, *, cancel_on_interrupt: bool = True
) -> ExitStatus:
    """Until the task has ended. The first Ctrl-C cancels the task, the second leaves, whenever it comes."""
    try:
        return _to_its_end(api, status, teller, folder, cancel_on_interrupt=cancel_on_interrupt)
    except KeyboardInterrupt:
        teller.say(f"Left. See how it ends with: quartet watch {status.task.task_id}")
        return ExitStatus.LEFT


def _to_its_end(
    api: Api, status: TaskStatus, teller: Teller, folder: RunFolder | None, *, cancel_on_interrupt: bool
) -> ExitStatus:
    task_id = status.task.task_id
    teller.begin(status)
    position, canceling = "", False
    while True:
        try:
            for event in api.events(task_id, position):
                position = event.position
                if folder is not None:
                    folder.record(event)
                teller.tell(event)
                if isinstance(event.event, Asked):
                    _ask(api, task_id, event.event, teller)
            status = api.task(task_id)
            if status.state in TERMINAL:
                break
        except KeyboardInterrupt:
            if canceling or not cancel_on_interrupt:
                raise
            canceling = True
            teller.say("Canceling the task and halting the robot; press Ctrl-C again to leave without waiting.")
            with contextlib.suppress(CliError):
                api.cancel(task_id, "canceled with Ctrl-C")
    if folder is not None:
        folder.finish(status)
    teller.end(status)
    if folder is not None:
        teller.say(f"Record of the run: {folder.path}")
    return ENDINGS.get(status.state, ExitStatus.FAILED)


def _ask(api: Api, task_id: str, asked: Asked, teller: Teller) -> None:
    """Let the person at the terminal answer; without one say how to answer from elsewhere."""
    remaining = asked.expires_at - time.time()
    if remaining <= 0:
        return
    if not sys.stdin.isatty():
        teller.say(f'Answer within {remaining:.0f} s: quartet answer {task_id} "your answer"')
        return
    teller.say(f"Your answer (within {remaining:.0f} s, Enter sends it):")
    text = _line_while(lambda: time.time() < asked.expires_at and _waits(api, task_id, asked.text))
    if text:
        try:
            api.answer(task_id, text, asked.question_id)
        except CliError as error:
            teller.say(f"The answer was not taken: {error}")


def _line_while(wanted: Callable[[], bool]) -> str:
    """The line that the person enters; "" when it is no longer wanted."""
    while True:
        # Looked at only after a while: the question is in the journal before the task's state says so.
        ready, _, _ = select.select([sys.stdin], [], [], ASK_AGAIN_S)
        if ready:
            return sys.stdin.readline().strip()
        if not wanted():
            return ""


def _waits(api: Api, task_id: str, question: str) -> bool:
    """False once somebody else has answered it or the task has ended."""
    try:
        status = api.task(task_id)
    except CliError:
        return True
    return status.state == State.PAUSED and status.question == question
