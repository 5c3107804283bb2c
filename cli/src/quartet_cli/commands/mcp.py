"""`quartet mcp`: Quartet for assistants that start their tools as programs and speak with them over stdin."""

import asyncio
from typing import Annotated

import typer

from quartet_cli.settings import load_settings

Url = Annotated[
    str | None,
    typer.Option("--url", help="Orchestrator; default: QUARTET_URL, the running `quartet up`, port 8000 here."),
]


def register(app: typer.Typer) -> None:
    app.command("mcp")(mcp)


def mcp(url: Url = None) -> None:
    """Serve the orchestrator's tools over stdin and stdout.

    For an assistant that starts this command itself.
    """
    from quartet_cli.relay import relay

    settings = load_settings(url)
    asyncio.run(relay(f"{settings.url.rstrip('/')}/mcp", settings.token()))
