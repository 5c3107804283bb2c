"""`quartet page|mcp|grant`: how browsers, assistants and clients of one's own get in."""

import asyncio
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from quartet_cli.commands.common import Url
from quartet_cli.errors import UsageError
from quartet_cli.fences import newest_fence
from quartet_cli.settings import load_settings, require_address, running_stack
from quartet_deployment import SERVERS, ClientError, OrchestratorClient, sign_grant

TOOL = re.compile(rf"(?:{'|'.join(SERVERS)})__[a-z][a-z0-9_]*")
"""Name of a tool, as <server>__<tool>."""
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        help="Address of the page as the browser reaches it; default: QUARTET_PAGE_ADDRESS, else as this command does.",
    ),
]
RobotName = Annotated[
    str | None, typer.Option("--robot", help="Name of the robot; default: that of the running `quartet up`.")
]
Fence = Annotated[
    int | None,
    typer.Option(
        "--fence",
        min=0,
        help="Fence number; default: one more than the servers of these tools have in force, which takes the robot "
        "over from a task that runs.",
    ),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", help="File with the private key (PEM); default: that of the running `quartet up`."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (page, mcp, grant):
        app.command()(command)


def page(address: Address = None) -> None:
    """Print the link that signs a browser in to the web page.

    The tokens stand behind the '#', which a browser does not send. Whoever has the link can give tasks and stop the
    robot. When no orchestrator answers yet, that is told beside the link; one that would sign nobody in is not printed
    then.
    """
    settings = load_settings()
    if reached_at := address or settings.page_address:
        require_address(reached_at)
    token, stop_token = settings.token(), settings.token_for_page()
    try:
        with OrchestratorClient(settings.url, token) as api:
            api.robots()
    except ClientError as error:
        if token is None and stop_token is None:
            raise
        print(
            f"{error}\nIn containers: `docker compose ps` shows what is not ready. The link for later:", file=sys.stderr
        )
    print(page_link(reached_at or settings.url, token, stop_token))


def page_link(url: str, api_token: str | None, stop_token: str | None) -> str:
    """Return the address of the page; tokens that are not None go into the fragment, which no server sees."""
    given = {"token": api_token, "stop": stop_token}
    fields = urlencode({name: token for name, token in given.items() if token is not None})
    return f"{url.rstrip('/')}/" + (f"#{fields}" if fields else "")


def mcp(url: Url = None) -> None:
    """Serve the orchestrator's tools to an assistant over stdio.

    The assistant starts this command itself; see docs/as-a-tool.md. It may give tasks and stop, but not approve calls.
    """
    # Here, because no other command needs the MCP library, which takes long to import.
    from quartet_cli.mcp_relay import relay

    settings = load_settings(url)
    asyncio.run(relay(f"{settings.url.rstrip('/')}/mcp", settings.token_for_assistant()))


def grant(
    tools: Annotated[
        list[str] | None, typer.Argument(help="Tools that the client may call, as <server>__<tool>.")
    ] = None,
    gateway: Annotated[
        bool, typer.Option("--gateway", help="A token for asking the model gateway, for no robot; no tools then.")
    ] = False,
    robot: RobotName = None,
    name: Annotated[str, typer.Option("--name", help="Name of the client in the servers' logs.")] = "client",
    fence: Fence = None,
    seconds: Annotated[
        int, typer.Option("--seconds", min=1, max=86_400, help="Seconds that the token is valid.")
    ] = 600,
    beats: Annotated[
        bool,
        typer.Option(
            "--beats",
            help="The client posts to /control/beat every 0.1 s while it moves the robot; without, the motion ends.",
        ),
    ] = False,
    key: Key = None,
) -> None:
    """Print a token for a client of your own.

    With it the client may call these tools of the robot's MCP servers, or ask the model gateway.
    """
    tools = tools or []
    if gateway == bool(tools):
        raise UsageError("name the tools that the client may call, like nav2__get_robot_pose, or give --gateway")
    wrong = [tool for tool in tools if not TOOL.fullmatch(tool)]
    if wrong:
        raise UsageError(
            f"'{wrong[0]}' is not the name of a tool; write <server>__<tool>, like nav2__get_robot_pose; "
            f"servers: {', '.join(SERVERS)}"
        )
    named, pem = robot_and_key(robot, key, required=not gateway)
    sign = signer(pem, None if gateway else named, tools, fence, name=name, seconds=seconds, beats=beats)
    print(sign())


def signer(
    pem: str,
    robot: str | None,
    tools: Collection[str],
    fence: int | None,
    *,
    name: str,
    seconds: int,
    beats: bool = False,
    task: str = "",
) -> Callable[[], str]:
    """Return a function that signs a grant from now on; it raises UsageError for a key that cannot be used.

    `fence`: None for one more than the servers of these tools have in force. Further arguments as of sign_grant.
    """
    if robot is not None and fence is None:
        fence = newest_fence(robot, tools, load_settings().servers_of(robot)) + 1

    def sign() -> str:
        try:
            return sign_grant(pem, robot, tools, name=name, fence=fence or 0, seconds=seconds, beats=beats, task=task)
        except ValueError as error:
            raise UsageError(f"the grant cannot be signed: {error}") from error

    return sign


def robot_and_key(robot: str | None, key: Path | None, *, required: bool = True) -> tuple[str, str]:
    """Return the robot's name and the key that signs grants (PEM); None: those of the running `quartet up`.

    Raises UsageError for a key that cannot be read, and where none runs, also without a robot if that is `required`.
    """
    running = running_stack()
    named, file = robot or running.get("robot", ""), key or running.get("private_key")
    for option, value in (("--robot", named or not required), ("--key", file)):
        if not value:
            raise UsageError(f"{option} is needed, because no `quartet up` runs here")
    try:
        return named, Path(str(file)).read_text()
    except OSError as error:
        raise UsageError(f"--key {file} cannot be read: {error.strerror}") from error
