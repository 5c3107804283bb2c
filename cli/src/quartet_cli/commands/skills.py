"""`quartet approach|pick|place`: one sub-agent alone, without the orchestrator's model."""

from typing import Annotated, Any

import typer
from pydantic import ValidationError

from quartet_cli.commands._common import Json, Robot, Url, Verbose, make_teller, settings_for, start_and_follow
from quartet_cli.errors import Refused
from quartet_contracts import ARGUMENTS, NextAction, Skill, SkillArguments, describe

OBJECT = typer.Argument(help="The object's name, with its colour if it has one.")


def register(app: typer.Typer) -> None:
    app.command("approach")(approach)
    app.command("pick")(pick)
    app.command("place")(place)


def approach(
    target_area: Annotated[str, typer.Argument(help="Area to drive to, as the site names it.")],
    object_name: Annotated[str, OBJECT],
    next_action: Annotated[NextAction, typer.Argument(help="What follows; it decides the standoff.")],
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Drive to an area and stand before an object or a place.

    Same as --test-approach.
    """
    arguments = {"target_area": target_area, "object_name": object_name, "next_action": next_action}
    _run(Skill.APPROACH, arguments, robot, verbose, json, url)


def pick(
    object_name: Annotated[str, OBJECT],
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Grasp an object that the robot stands before.

    Same as --test-pick.
    """
    _run(Skill.PICK, {"object_name": object_name}, robot, verbose, json, url)


def place(
    target_location: Annotated[str, typer.Argument(help="Surface or container, or 'floor'.")],
    object_name: Annotated[str, OBJECT],
    object_height_m: Annotated[float, typer.Argument(help="Height of the held object [m], as pick reported it.")],
    robot: Robot = None,
    verbose: Verbose = False,
    json: Json = False,
    url: Url = None,
) -> None:
    """Put the held object down at the place before the robot.

    Same as --test-place.
    """
    arguments = {
        "target_location": target_location,
        "object_name": object_name,
        "object_height_m": object_height_m,
    }
    _run(Skill.PLACE, arguments, robot, verbose, json, url)


def _run(skill: Skill, fields: dict[str, Any], robot: str | None, verbose: bool, json: bool, url: str | None) -> None:
    try:
        arguments: SkillArguments = ARGUMENTS[skill].model_validate(fields)  # type: ignore[assignment]
    except ValidationError as error:
        raise Refused(f"{skill}: {describe(error)}") from error
    teller = make_teller(json, verbose)
    raise typer.Exit(
        start_and_follow(lambda api: api.run_skill(skill, arguments, robot=robot), settings_for(url), teller)
    )
