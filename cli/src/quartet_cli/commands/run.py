"""`quartet run "sentence"`."""

from typing import Annotated

import typer

from quartet_cli.commands._common import (
    Json,
    Robot,
    TimeoutS,
    Url,
    Verbose,
    make_submission,
    make_teller,
    settings_for,
    start_and_follow,
)


def register(app: typer.Typer) -> None:
    app.command("run")(run)


def run(
    sentence: Annotated[str, typer.Argument(help="What the robot should do.")],
    robot: Robot = None,
    timeout_s: TimeoutS = 1800.0,
    detach: Annotated[bool, typer.Option("--detach", help="Print the task's id and leave it running.")] = False,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", help="Given again with the same sentence, it names the same task."),
    ] = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Give the robot a task in one sentence and watch it.

    Same as --task. Exits with 0 only when the task was completed.
    """
    submission = make_submission(sentence, robot, timeout_s)
    teller = make_teller(json, verbose)
    raise typer.Exit(
        start_and_follow(lambda api: api.submit(submission, key), settings_for(url), teller, detach=detach)
    )
