"""`quartet demo`: everything from nothing, the main job once."""

from typing import Annotated

import typer
from pydantic import SecretStr
from rich.console import Console

from quartet_cli.commands._common import Json, Verbose, make_submission, make_teller, start_and_follow
from quartet_cli.commands.up import Realtime, Seed, World, start_stack
from quartet_cli.errors import ExitStatus
from quartet_cli.settings import CliSettings, state_folder
from quartet_cli.stack import StackOptions

SENTENCE = "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room"


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    sentence: Annotated[str, typer.Argument(help="Another task for the same home.")] = SENTENCE,
    world: World = "home",
    seed: Seed = 0,
    realtime: Realtime = False,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Start everything, do one job, show it, end everything."""
    submission = make_submission(sentence, None, 1800.0)
    console = Console(highlight=False, stderr=json)
    folder = state_folder() / "demo"
    options = StackOptions(state_dir=folder, fresh=True, world=world, seed=seed, realtime=realtime)
    stack = start_stack(options, console)
    try:
        settings = CliSettings().model_copy(
            update={"url": stack.url, "overhead_url": stack.overhead_url, "api_token": SecretStr(stack.api_token)}
        )
        status = start_and_follow(lambda api: api.submit(submission), settings, make_teller(json, verbose))
        for error in stack.died():
            console.print(str(error), style="red")
    finally:
        stack.stop()
    if status != ExitStatus.DONE:
        console.print(f"logs of every process: {stack.log_dir}", style="dim")
    raise typer.Exit(status)
