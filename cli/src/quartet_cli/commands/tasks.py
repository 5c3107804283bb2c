"""`quartet watch|cancel|pause|answer|list`."""

import time
from typing import Annotated, Any

import typer

from quartet_cli.commands.common import Json, Url, Verbose, api_for, make_renderer
from quartet_cli.errors import UsageError
from quartet_cli.follow import follow
from quartet_cli.open_questions import open_questions
from quartet_cli.run_folder import RunFolder
from quartet_cli.settings import load_settings
from quartet_cli.tables import print_table
from quartet_cli.terminal import open_terminal
from quartet_contracts import STATE_WORDS, TERMINAL, State
from quartet_deployment import OrchestratorClient

CANCEL_WAIT_S = 30.0
"""Longest wait for a canceled task to end [s]; a robot comes to rest sooner."""
TASK_ID = typer.Argument(help="Id of the task, as `quartet list` shows it.")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (watch, cancel, pause, answer):
        app.command()(command)
    app.command("list")(list_tasks)


def watch(
    task_id: Annotated[str | None, typer.Argument(help="Id of the task; default: the newest task.")] = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Show a task from its start and follow it to its end.

    Ctrl-C ends the watching; the task goes on.
    """
    settings = load_settings(url)
    with OrchestratorClient(settings.url, settings.token()) as api:
        if task_id is None:
            newest = api.tasks(None, 1)
            if not newest:
                raise UsageError('there is no task yet; start one with: quartet run "..."')
            task_id = newest[0].task.task_id
        status = api.task(task_id)
        folder = RunFolder(settings.runs_folder(), task_id, api)
        raise typer.Exit(follow(api, status, make_renderer(json, verbose), folder, cancel_on_interrupt=False))


def cancel(
    task_id: Annotated[str, TASK_ID],
    reason: Annotated[str, typer.Option("--reason", help="Written into the journal.")] = "canceled by a person",
    url: Url = None,
) -> None:
    """Cancel a task: the robot comes to rest and keeps what it holds."""
    with api_for(url) as api:
        api.cancel(task_id, reason)
        deadline = time.monotonic() + CANCEL_WAIT_S
        while (status := api.task(task_id)).state not in TERMINAL and time.monotonic() < deadline:
            time.sleep(0.2)
    print(f"task {task_id}: {STATE_WORDS[status.state]}")
    if status.state not in TERMINAL:
        print(f"the robot is still being brought to rest; see how it ends with: quartet watch {task_id}")
    elif status.report is not None:
        open_terminal(soft_wrap=True).print(status.report.summary)


def pause(
    task_id: Annotated[str, TASK_ID],
    reason: Annotated[str, typer.Option("--reason", help="Written into the journal.")] = "paused by a person",
    url: Url = None,
) -> None:
    """Pause a task before its next step.

    The step that runs is completed, and the task's time stands still. To stop the robot at once use `quartet stop`.
    """
    with api_for(url) as api:
        state = api.pause(task_id, reason).state
    when = "" if state is State.PAUSED else ", it pauses before its next step"
    print(f"task {task_id}: {STATE_WORDS[state]}{when}; let it go on with: quartet resume {task_id}")


def answer(
    task_id: Annotated[str, TASK_ID],
    text: Annotated[str, typer.Argument(help="Answer to the open question, or the number of a choice.")],
    url: Url = None,
) -> None:
    """Answer a question that a task has asked."""
    with api_for(url) as api:
        api.answer(task_id, text)
        print(f"task {task_id}: the answer is taken; see how it goes on with: quartet watch {task_id}")


def list_tasks(
    state: Annotated[State | None, typer.Option("--state", help="Show only tasks in this state.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Number of tasks.")] = 20,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per task in place of the table.")] = False,
    url: Url = None,
) -> None:
    """List the robots and the newest tasks."""
    with api_for(url) as api:
        found = api.tasks(state, limit)
        fleet = None if json else api.robots()
        now = api.now()
    if json:
        for status in found:
            print(status.model_dump_json())
        return
    console = open_terminal()
    if fleet is not None:
        print_table(console, ("robot", "is", "task", "waiting", ""), _robots(fleet))
        console.print()
    if not found:
        console.print("no tasks")
    else:
        rows = [
            (
                one.task.task_id,
                STATE_WORDS[one.state],
                one.task.robot,
                _age(now - one.task.created_at),
                one.task.sentence,
            )
            for one in found
        ]
        print_table(console, ("task", "state", "robot", "age", "sentence"), rows)
    for line in open_questions(found):
        console.print(f"\n{line}", style="bold magenta", soft_wrap=True)


def _robots(fleet: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    rows = [
        (row["name"], row["state"], row["task"] or "", str(row["waiting"] or ""), row["why"]) for row in fleet["robots"]
    ]
    if fleet["waiting_for_any"]:
        rows.append(("any", "", "", str(fleet["waiting_for_any"]), "for whichever robot is free first"))
    return rows


def _age(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
