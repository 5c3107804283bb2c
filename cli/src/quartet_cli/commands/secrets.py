"""`quartet secrets init|add|rotate|retire|list|check`: the keys and tokens of a deployment."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from quartet_bus import BusError
from quartet_bus.access import load_users
from quartet_cli.errors import ExitStatus
from quartet_cli.settings import running_stack
from quartet_cli.terminal import open_terminal
from quartet_contracts import Role
from quartet_deployment import SECRETS, SecretsError, SecretsFolder, check_secrets

app = typer.Typer(help="Manage the keys and tokens of a deployment.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="Folder of secrets; `quartet up` has it in .quartet/up/secrets.")]
Name = Annotated[str, typer.Argument(help=f"Name of the secret, one of: {', '.join(SECRETS)}.")]
RedisUrl = Annotated[
    str | None,
    typer.Option(
        "--redis-url", envvar="QUARTET_REDIS_URL", help="Address of Redis; default: that of the running `quartet up`."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Redis does not run; it will read its users at its start.")]


def register(root: typer.Typer) -> None:
    """Add the commands of this module."""
    root.add_typer(app, name="secrets")


@app.command("init")
def init(folder: Folder) -> None:
    """Create what is missing.

    Each process gets a folder of its own with what it may hold. Existing files are kept.
    """
    written = SecretsFolder(folder).init()
    for path in written:
        print(path)
    print(f"{len(written)} files written in {folder}" if written else f"nothing is missing in {folder}")


@app.command("add")
def add(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the person or program, as the journal has it.")],
    role: Annotated[list[Role], typer.Option("--role", help="What the token allows; may be given more than once.")],
) -> None:
    """Print a new token of the orchestrator's API, which works at once.

    It is not printed again. To revoke it, remove its line from orchestrator/api_token.
    """
    print(SecretsFolder(folder).add_caller(name, sorted(set(role))))


@app.command("rotate")
def rotate(folder: Folder, name: Name, redis_url: RedisUrl = None, offline: Offline = False) -> None:
    """Replace the secret NAME while everything runs.

    Servers accept both values until `quartet secrets retire`.
    """
    SecretsFolder(folder).rotate(name, redis_reload(name, folder, redis_url, offline))
    print(f"{name}: the new value is in use; the old one is accepted until: quartet secrets retire {folder} {name}")


@app.command("retire")
def retire(folder: Folder, name: Name, redis_url: RedisUrl = None, offline: Offline = False) -> None:
    """Accept only the newest value of NAME."""
    SecretsFolder(folder).retire(name, redis_reload(name, folder, redis_url, offline))
    print(f"{name}: only the newest value is accepted")


@app.command("list")
def list_secrets(folder: Folder) -> None:
    """List all secrets and who has them, without values."""
    table = Table("secret", "accepted by", "presented by", "values in use", box=None, pad_edge=False)
    for use in SecretsFolder(folder).uses():
        accepted_by = ["every process"] if len(use.accepted_by) > 5 else use.accepted_by
        table.add_row(use.name, ", ".join(accepted_by), ", ".join(use.presented_by), str(use.values))
    open_terminal(soft_wrap=True).print(table)


@app.command("check")
def check(folder: Folder) -> None:
    """Check that all secrets exist, fit together and are private.

    The exit status is 1 if not.
    """
    problems = check_secrets(SecretsFolder(folder))
    for problem in problems:
        print(problem)
    if problems:
        raise typer.Exit(ExitStatus.FAILED)
    print(f"{folder} is in order")


def redis_reload(name: str, folder: Path, redis_url: str | None, offline: bool) -> Callable[[str], None] | None:
    """Return what makes Redis read its users again, None when no Redis is named. Raises SecretsError."""
    secrets = SecretsFolder(folder)
    if offline or not secrets.changes_users(name):
        return lambda _: None
    running = running_stack()
    mine = running.get("secrets_dir") and Path(running["secrets_dir"]) == folder.resolve()
    url = redis_url or (running["redis_url"] if mine else None)
    if url is None:
        return None

    def reload(password: str) -> None:
        try:
            asyncio.run(load_users(url, password))
        except BusError as error:
            raise SecretsError(f"{error} The file {secrets.users_file} has the new users already.") from error

    return reload
