"""`quartet compat`: our servers as the ones that another client expects."""

import asyncio
import json
import secrets
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quartet_cli.commands.access import Fence, Key, RobotName, robot_and_key, signer
from quartet_cli.errors import CannotStartError, UsageError
from quartet_cli.settings import load_settings
from quartet_process import stop_on_signals

if TYPE_CHECKING:
    from quartet_tool_server.compat import Adapter

LOOPBACK = "127.0.0.1"
"""The only address: clients have no token but the address itself, so no other machine may connect."""
GRANT_S = 1800
"""Lifetime of a grant [s]; it is replaced when half of it is over."""


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(compat)


def compat(
    file: Annotated[Path, typer.Argument(help="Compatibility file, such as deploy/compat/four-agent.yaml.")],
    robot: RobotName = None,
    fence: Fence = None,
    key: Key = None,
) -> None:
    """Serve the robot's tools to a client of other servers.

    The command prints the .mcp.json with their addresses and ends with Ctrl-C. Keep the addresses secret: clients need
    no other credential.
    """
    # Here, because no other command needs the MCP servers' library, which takes long to import.
    from quartet_site import SiteFileError
    from quartet_tool_server import StartError
    from quartet_tool_server.compat import Adapter, load_compat

    try:
        rules = load_compat(file)
    except SiteFileError as error:
        raise UsageError(str(error)) from error
    robot, pem = robot_and_key(robot, key)
    endpoints = load_settings().servers_of(robot)
    task = f"compat-{uuid.uuid4().hex[:12]}"
    sign = signer(pem, robot, rules.tools, fence, name="compat", seconds=GRANT_S, task=task)
    try:
        asyncio.run(_serve(Adapter(rules, endpoints, renewed(sign))))
    except StartError as error:
        raise CannotStartError(f"{file} does not fit the servers of '{robot}': {error}") from error


def renewed(sign: Callable[[], str], clock: Callable[[], float] = time.time) -> Callable[[], str]:
    """Return a function that returns a token of `sign` valid for at least half of GRANT_S, the same one if possible.

    `clock` goes on while the machine sleeps, as the token's lifetime does [s].
    """
    token, signed_at = sign(), clock()

    def current() -> str:
        nonlocal token, signed_at
        if clock() - signed_at > GRANT_S / 2:
            token, signed_at = sign(), clock()
        return token

    return current


async def _serve(adapter: "Adapter") -> None:
    from quartet_process.serving import HttpServer, listen

    stop, path = stop_on_signals(), f"/{secrets.token_urlsafe(16)}/mcp"
    async with AsyncExitStack() as stack:
        servers: dict[str, dict[str, str]] = {}
        for name, app in (await adapter.apps(path)).items():
            server = await stack.enter_async_context(HttpServer(app, listen(LOOPBACK, 0)))
            servers[name] = {"type": "http", "url": f"{server.url}{path}"}
        print(json.dumps({"mcpServers": servers}, indent=2), flush=True)
        print("serving until Ctrl-C", file=sys.stderr)
        await stop.wait()
