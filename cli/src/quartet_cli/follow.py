"""Follow a task to its end: show it, record it, answer its questions, cancel it at Ctrl-C."""

import contextlib
import select
import sys
from collections.abc import Callable

from quartet_cli.errors import ExitStatus
from quartet_cli.interrupts import Interrupts
from quartet_cli.open_questions import open_questions
from quartet_cli.run_folder import RunFolder
from quartet_cli.story import EventRenderer
from quartet_contracts import ANY_ROBOT, TERMINAL, JournalEvent, State, TaskStatus
from quartet_contracts.journal import Asked
from quartet_deployment import ClientError, OrchestratorClient

ASK_AGAIN_S = 1.0
SAID_BY_THEN_S = 5.0
"""Time after which a task's state tells of the question that is in its journal [s]."""
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
    with Interrupts() as interrupts:
        try:
            return _follow_to_end(api, status, renderer, folder, interrupts, cancel_on_interrupt=cancel_on_interrupt)
        except KeyboardInterrupt:
            renderer.notice(f"Left. See how it ends with: quartet watch {status.task.task_id}")
            return ExitStatus.LEFT


def _follow_to_end(
    api: OrchestratorClient,
    status: TaskStatus,
    renderer: EventRenderer,
    folder: RunFolder | None,
    interrupts: Interrupts,
    *,
    cancel_on_interrupt: bool,
) -> ExitStatus:
    task_id = status.task.task_id
    notice = interrupts.whole(renderer.notice)
    position, begun, canceling = "", False, False
    while True:
        try:
            if not begun:
                begun = True
                with interrupts.held():
                    renderer.begin(status)
                _tell_open_questions(api, status, notice)
            for event in api.events(task_id, position):
                with interrupts.held():
                    position = event.position
                    if folder is not None:
                        folder.record(event)
                    renderer.render(event)
                _attend(api, event, folder, notice)
            status = api.task(task_id)
            if status.state in TERMINAL:
                break
        except KeyboardInterrupt:
            if canceling or not cancel_on_interrupt:
                raise
            canceling = True
            notice("Canceling the task and bringing the robot to rest; press Ctrl-C again to leave without waiting.")
            with contextlib.suppress(ClientError):
                api.cancel(task_id, "canceled with Ctrl-C")
    with interrupts.held():
        renderer.end(status)
    if folder is not None:
        folder.finish(status)
        notice(f"Record of the run: {folder.path}")
    return ENDINGS.get(status.state, ExitStatus.FAILED)


def _attend(
    api: OrchestratorClient, event: JournalEvent, folder: RunFolder | None, notice: Callable[[str], None]
) -> None:
    """Do what an event calls for, which may take long: fetch its pictures, ask the person."""
    if folder is not None:
        folder.fetch_pictures(event)
    if isinstance(event.event, Asked) and not _is_settled(api, event, event.event):
        if image := event.event.image:
            saved = folder.picture(image) if folder is not None else None
            notice(f"Picture: {saved or f'/tasks/{event.task_id}/images/{image} of the orchestrator, or on its page'}")
        _ask(api, event.task_id, event.event, notice)


def _tell_open_questions(api: OrchestratorClient, status: TaskStatus, notice: Callable[[str], None]) -> None:
    """Tell a task in the queue behind which task it waits, and what a person is asked by those before it."""
    if status.state is not State.QUEUED:
        return
    with contextlib.suppress(ClientError):
        _tell_what_runs(api, status, notice)
        before = [one for one in api.tasks(State.PAUSED, LISTED) if status.task.robot in {one.task.robot, ANY_ROBOT}]
        for line in open_questions([*before, status]):
            notice(line)


def _tell_what_runs(api: OrchestratorClient, status: TaskStatus, notice: Callable[[str], None]) -> None:
    """Tell what keeps the robots busy that may do a task in the queue; nothing where one of them is free."""
    robots = [one for one in api.robots()["robots"] if status.task.robot in {one["name"], ANY_ROBOT}]
    running = [str(one["task"]) for one in robots if one.get("task") and one["task"] != status.task.task_id]
    if not robots or len(running) < len(robots):
        return
    for task_id in running:
        task = api.task(task_id).task
        notice(f"Waits until {task.robot} has ended task {task_id}: {task.sentence}")
    if waiting := sum(int(one.get("waiting", 0)) for one in robots) - (status.task.robot != ANY_ROBOT):
        notice(f"{waiting} other task{'s wait' if waiting != 1 else ' waits'} there too; `quartet list` shows them")


def _is_settled(api: OrchestratorClient, event: JournalEvent, asked: Asked) -> bool:
    """Return whether a question that was asked a while ago is answered, or its task has ended."""
    # Until then it may be in the journal while the task's state does not say so yet.
    return api.now() - event.at > SAID_BY_THEN_S and not _is_open(api, event.task_id, asked.text)


def _ask(api: OrchestratorClient, task_id: str, asked: Asked, notice: Callable[[str], None]) -> None:
    """Let the person at the terminal answer; without a terminal say how to answer from elsewhere."""
    remaining = asked.expires_at - api.now()
    if remaining <= 0:
        return
    if not sys.stdin.isatty():
        notice(f'Answer within {remaining:.0f} s: quartet answer {task_id} "your answer"')
        return
    how = "a number or your own words, " if asked.choices else ""
    notice(f"Your answer ({how}within {remaining:.0f} s, Enter sends it):")

    def is_wanted() -> bool:
        return api.now() < asked.expires_at and _is_open(api, task_id, asked.text)

    while (line := _read_line_while(is_wanted)) is not None:
        if not line:
            notice(f'The terminal has ended; answer with: quartet answer {task_id} "your answer"')
            return
        if not (text := line.strip()):
            notice("Nothing was sent: the line is empty. Your answer:")
            continue
        try:
            api.answer(task_id, text, asked.question_id)
        except ClientError as error:
            notice(f"The answer was refused: {error}")
            if is_wanted():
                notice("Your answer:")
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
