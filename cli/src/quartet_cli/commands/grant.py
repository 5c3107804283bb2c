"""`quartet grant`: a signed token for a client that is not one of the agents."""

from pathlib import Path
from typing import Annotated

import typer

from quartet_cli.errors import Refused
from quartet_cli.grants import sign_grant
from quartet_cli.settings import running_stack


def register(app: typer.Typer) -> None:
    app.command("grant")(grant)


def grant(
    tools: Annotated[list[str], typer.Argument(help="Tools it may call, as <server>__<tool>.")],
    robot: Annotated[
        str | None, typer.Option("--robot", help="Default: the robot of the running `quartet up`.")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Who uses it; written into the servers' logs.")] = "client",
    fence: Annotated[
        int, typer.Option("--fence", min=0, help="At least the highest the robot's servers have seen.")
    ] = 0,
    seconds: Annotated[int, typer.Option("--seconds", min=1, max=86_400, help="How long it is valid.")] = 600,
    beats: Annotated[
        bool,
        typer.Option(
            "--beats", help="It posts to /control/beat every 0.1 s while it moves the robot, or its motion ends."
        ),
    ] = False,
    key: Annotated[
        Path | None, typer.Option("--key", help="Private key (PEM); default: that of the running `quartet up`.")
    ] = None,
) -> None:
    """Print a token for a client of your own.

    With it the client may call these tools of the robot's MCP servers.
    """
    running = running_stack()
    wrong = [tool for tool in tools if len(tool.split("__")) != 2]
    if wrong:
        raise Refused(f"'{wrong[0]}' is not the name of a tool; write <server>__<tool>, such as nav2__get_robot_pose")
    for option, value in (("--robot", robot or running.get("robot")), ("--key", key or running.get("private_key"))):
        if not value:
            raise Refused(f"{option} is needed, because no `quartet up` runs here")
    key_file = key or Path(running["private_key"])
    try:
        pem = key_file.read_text()
    except OSError as error:
        raise Refused(f"--key {key_file} cannot be read: {error.strerror}") from error
    try:
        print(sign_grant(pem, robot or running["robot"], tools, name=name, fence=fence, seconds=seconds, beats=beats))
    except ValueError as error:
        raise Refused(f"the grant cannot be signed: {error}") from error
