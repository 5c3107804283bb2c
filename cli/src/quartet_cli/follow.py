"""Follow a task to its end: show it, record it, answer its questions, cancel it at Ctrl-C."""

import contextlib
import select
import sys
from collections.abc import Callable

from quartet_cli.errors import ExitStatus
from quartet_cli.open_questions import open_questions
from quartet_cli.run_folder import RunFolder
from quartet_cli.story import EventRenderer
from quartet_contracts import ANY_ROBOT, TERMINAL, State, TaskStatus
from quartet_contracts.journal import Asked
from quartet_deployment import ClientError, OrchestratorClient

ASK_AGAIN_S = 1.0
LISTED = 50
"""Paused tasks among which the one is looked for that a queued task waits for."""
ENDINGS = {State.SUCCEEDED: ExitStatus.DONE, State.CANCELED: ExitStatus.CANCELED}


def follow(
    api: OrchestratorClient,
    status: TaskStatus,
    renderer: EventRenderer,
    folder: RunFolder | None,
    *,
    cancel_on_interrupt: bool = True,
) -> ExitStatus:
    """Follow a task until it has ended and return the exit status.

    The first Ctrl-C cancels the task, the second leaves at once.
    """
    try:
        return _follow_to_end(api, status, renderer, folder, cancel_on_interrupt=cancel_on_interrupt)
    except KeyboardInterrupt:
        renderer.notice(f"Left. See how it ends with: quartet watch {status.task.task_id}")
        return ExitStatus.LEFT


def _follow_to_end(
    api: OrchestratorClient,
    status: TaskStatus,
    renderer: EventRenderer,
    folder: RunFolder | None,
    *,
    cancel_on_interrupt: bool,
) -> ExitStatus:
    task_id = status.task.task_id
    renderer.begin(status)
    _tell_open_questions(api, status, renderer)
    position, canceling = "", False
    while True:
        try:
            for event in api.events(task_id, position):
                position = event.position
                if folder is not None:
                    folder.record(event)
                renderer.render(event)
                if isinstance(event.event, Asked):
                    _ask(api, task_id, event.event, renderer)
            status = api.task(task_id)
            if status.state in TERMINAL:
                break
        except KeyboardInterrupt:
            if canceling or not cancel_on_interrupt:
                raise
            canceling = True
            renderer.notice(
                "Canceling the task and bringing the robot to rest; press Ctrl-C again to leave without waiting."
            )
            with contextlib.suppress(ClientError):
                api.cancel(task_id, "canceled with Ctrl-C")
    if folder is not None:
        folder.finish(status)
    renderer.end(status)
    if folder is not None:
        renderer.notice(f"Record of the run: {folder.path}")
    return ENDINGS.get(status.state, ExitStatus.FAILED)


def _tell_open_questions(api: OrchestratorClient, status: TaskStatus, renderer: EventRenderer) -> None:
    """Tell a task in the queue what a person is asked by those before it."""
    if status.state is not State.QUEUED:
        return
    with contextlib.suppress(ClientError):
        before = [one for one in api.tasks(State.PAUSED, LISTED) if status.task.robot in {one.task.robot, ANY_ROBOT}]
        for line in open_questions([*before, status]):
            renderer.notice(line)


def _ask(api: OrchestratorClient, task_id: str, asked: Asked, renderer: EventRenderer) -> None:
    """Let the person at the terminal answer; without a terminal say how to answer from elsewhere."""
    remaining = asked.expires_at - api.now()
    if remaining <= 0:
        return
    if not sys.stdin.isatty():
        renderer.notice(f'Answer within {remaining:.0f} s: quartet answer {task_id} "your answer"')
        return
    how = "a number or your own words, " if asked.choices else ""
    renderer.notice(f"Your answer ({how}within {remaining:.0f} s, Enter sends it):")

    def is_wanted() -> bool:
        return api.now() < asked.expires_at and _is_open(api, task_id, asked.text)

    while (line := _read_line_while(is_wanted)) is not None:
        if not line:
            renderer.notice(f'The terminal has ended; answer with: quartet answer {task_id} "your answer"')
            return
        if not (text := line.strip()):
            renderer.notice("Nothing was sent: the line is empty. Your answer:")
            continue
        try:
            api.answer(task_id, text, asked.question_id)
        except ClientError as error:
            renderer.notice(f"The answer was refused: {error}")
            if is_wanted():
                renderer.notice("Your answer:")
                continue
        return


def _read_line_while(wanted: Callable[[], bool]) -> str | None:
    """Return the line that the person enters, with its end; "" at the terminal's end, None once it is not wanted."""
    while True:
        # Checked only after a while: the question is in the journal before the task's state says so.
        ready, _, _ = select.select([sys.stdin], [], [], ASK_AGAIN_S)
        if ready:
            return sys.stdin.readline()
        if not wanted():
            return None


def _is_open(api: OrchestratorClient, task_id: str, question: str) -> bool:
    """Return False once somebody else has answered the question or the task has ended."""
    try:
        status = api.task(task_id)
    except ClientError:
        return True
    return status.state == State.PAUSED and status.question == question
