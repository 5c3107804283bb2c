"""`quartet secrets init|rotate|retire|list|check`: the keys and tokens of a deployment."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from quartet_bus import BusError
from quartet_bus.access import load_users
from quartet_cli.errors import ExitStatus
from quartet_cli.secrets import SECRETS, SecretsError, SecretsFolder, check
from quartet_cli.secrets.folder import Reload
from quartet_cli.secrets.layout import USERS_FILE, Pair, Password, Token
from quartet_cli.settings import running_stack

app = typer.Typer(help="The keys and tokens of a deployment.", no_args_is_help=True, rich_markup_mode=None)
Folder = Annotated[Path, typer.Argument(help="With `quartet up`: .quartet/up/secrets.")]
Name = Annotated[str, typer.Argument(help=f"One of: {', '.join(SECRETS)}.")]
RedisUrl = Annotated[
    str | None,
    typer.Option(
        "--redis-url", envvar="QUARTET_REDIS_URL", help="Where Redis runs; default: that of the running `quartet up`."
    ),
]
Offline = Annotated[bool, typer.Option("--offline", help="Redis does not run; it reads its users when it starts.")]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="secrets")


@app.command("init")
def init(folder: Folder) -> None:
    """Make what is missing, one folder per process with what that process may hold. What is there is kept."""
    written = SecretsFolder(folder).init()
    for path in written:
        print(path)
    print(f"{len(written)} files written in {folder}" if written else f"nothing is missing in {folder}")


@app.command("rotate")
def rotate(folder: Folder, name: Name, redis_url: RedisUrl = None, offline: Offline = False) -> None:
    """Put a new value in the place of NAME while everything runs; the old one is accepted until `retire`."""
    SecretsFolder(folder).rotate(name, reload_for(name, folder, redis_url, offline))
    print(f"{name}: the new value is presented, the old one is accepted until: quartet secrets retire {folder} {name}")


@app.command("retire")
def retire(folder: Folder, name: Name, redis_url: RedisUrl = None, offline: Offline = False) -> None:
    """Accept the newest value of NAME alone."""
    SecretsFolder(folder).retire(name, reload_for(name, folder, redis_url, offline))
    print(f"{name}: only the newest value is accepted")


@app.command("list")
def show(folder: Folder) -> None:
    """Which secrets there are and who has them; no values."""
    held = SecretsFolder(folder)
    table = Table("secret", "accepted by", "presented by", "values in use", box=None, pad_edge=False)
    for name, items in SECRETS.items():
        for item in items:
            if isinstance(item, Token):
                accepts, presents = item.accepts, item.presents
            elif isinstance(item, Pair):
                accepts, presents = item.public, (item.private,)
            else:
                accepts, presents = (USERS_FILE,), (item.presents,)
            who = ["every process"] if len(accepts) > 5 else [path.parts[0] for path in accepts]
            table.add_row(name, ", ".join(who), ", ".join(p.parts[0] for p in presents), str(held.in_use(item)))
    Console(highlight=False, soft_wrap=True).print(table)


@app.command("check")
def examine(folder: Folder) -> None:
    """Whether everything is there, fits together and is open to nobody else. Exit status 1 where not."""
    problems = check(SecretsFolder(folder))
    for problem in problems:
        print(problem)
    if problems:
        raise typer.Exit(ExitStatus.FAILED)
    print(f"{folder} is in order")


def reload_for(name: str, folder: Path, redis_url: str | None, offline: bool) -> Reload | None:
    """What makes Redis read its users again; None where nobody said which Redis. Raises SecretsError."""
    if offline or not any(isinstance(item, Password) for item in SECRETS.get(name, [])):
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
            raise SecretsError(f"{error} The file {folder / USERS_FILE} has the new users already.") from error

    return reload
