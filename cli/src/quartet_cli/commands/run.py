"""`quartet run`: a task in one sentence. `quartet approach|pick|place`: one sub-agent by itself."""

import contextlib
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from quartet_cli.commands.common import (
    Json,
    Robot,
    TimeoutS,
    Url,
    Verbose,
    make_renderer,
    make_submission,
    start_and_follow,
)
from quartet_cli.commands.stop import stop as stop_robots
from quartet_cli.errors import UsageError
from quartet_cli.settings import load_settings, running_stack
from quartet_contracts import ARGUMENTS, NextAction, Skill, SkillArguments, describe, is_stop_order

OBJECT = typer.Argument(help="Name of the object, with its colour if it has one.")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (run, approach, pick, place):
        app.command()(command)


def run(
    sentence: Annotated[str, typer.Argument(help="What the robot should do.")],
    robot: Robot = None,
    team: Annotated[
        str | None,
        typer.Option(
            "--team",
            help="Several models do it: for all robots together cmas, dmas, hmas1, hmas2 or, if "
            "they are unlike, emos, for arms at one table roco; for one robot's arm, by programs, sa, ma or malmm.",
        ),
    ] = None,
    timeout_s: TimeoutS = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the task's id and return; the task goes on.")] = False,
    key: Annotated[
        str | None,
        typer.Option(
            "--idempotency-key",
            help="Any text; the same key with the same sentence is the same task, so that a call can be repeated.",
        ),
    ] = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Give the robot a task in one sentence and watch it.

    The exit status is 0 only when the task was completed. `quartet --task` does the same. A sentence like "stop" is an
    order to stop at once: it does what `quartet stop` does.
    """
    if url is None and is_stop_order(sentence, running_stack().get("robots", [])):
        # Past the orchestrator, as `quartet stop`; where the service is not known here, the orchestrator stops.
        with contextlib.suppress(UsageError):
            stop_robots(robot, f"a person said: {sentence[:200]}")
            return
    submission = make_submission(sentence, robot, timeout_s, team)
    renderer = make_renderer(json, verbose)
    raise typer.Exit(
        start_and_follow(lambda api: api.submit(submission, key), load_settings(url), renderer, detach=detach)
    )


def approach(
    target_area: Annotated[str, typer.Argument(help="Area to drive to, as site.yaml names it.")],
    object_name: Annotated[str, OBJECT],
    next_action: Annotated[NextAction, typer.Argument(help="What will be done there; it decides the standoff.")],
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Drive to an area and stand before an object or a place.

    `quartet --test-approach` does the same.
    """
    arguments = {"target_area": target_area, "object_name": object_name, "next_action": next_action}
    _run_skill(Skill.APPROACH, arguments, robot, verbose, json, url)


def pick(
    object_name: Annotated[str, OBJECT],
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Grasp an object that the robot stands before.

    `quartet --test-pick` does the same.
    """
    _run_skill(Skill.PICK, {"object_name": object_name}, robot, verbose, json, url)


def place(
    target_location: Annotated[str, typer.Argument(help="Name of a surface or container, or 'floor'.")],
    object_name: Annotated[str, OBJECT],
    object_height_m: Annotated[
        float | None, typer.Argument(help="Height of the held object in metres, if the robot does not know it.")
    ] = None,
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Put the held object down where the robot stands.

    `quartet --test-place` does the same.
    """
    arguments = {
        "target_location": target_location,
        "object_name": object_name,
        "object_height_m": object_height_m,
    }
    _run_skill(Skill.PLACE, arguments, robot, verbose, json, url)


def _run_skill(
    skill: Skill, fields: dict[str, Any], robot: str | None, verbose: bool, json: bool, url: str | None
) -> None:
    try:
        arguments: SkillArguments = ARGUMENTS[skill].model_validate(fields)  # type: ignore[assignment]
    except ValidationError as error:
        raise UsageError(f"{skill}: {describe(error)}") from error
    renderer = make_renderer(json, verbose)
    raise typer.Exit(
        start_and_follow(lambda api: api.run_skill(skill, arguments, robot=robot), load_settings(url), renderer)
    )
