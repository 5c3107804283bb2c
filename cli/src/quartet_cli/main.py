"""The `quartet` command."""

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from quartet_cli.errors import CliError, exit_status
from quartet_deployment import DeploymentError

MODULES = {
    **dict.fromkeys(("run", "approach", "pick", "place"), "run"),
    **dict.fromkeys(("watch", "cancel", "pause"), "tasks"),
    "resume": "resume",
    **dict.fromkeys(("answer", "list"), "tasks"),
    **dict.fromkeys(("stop", "reset"), "stop"),
    "schema": "schema",
    **dict.fromkeys(("up", "demo"), "up"),
    **dict.fromkeys(("page", "mcp", "grant"), "access"),
    "compat": "compat",
    "bench": "bench",
    "doctor": "doctor",
    "secrets": "secrets",
    "world": "world",
}
"""Module of quartet_cli.commands by command, in the order of the help."""


class Commands(Mapping[str, Any]):
    """Every command by its name; its module is imported when it is asked for, so that no command pays for another."""

    def __getitem__(self, name: str) -> Any:
        loaded = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
        import_module(f"quartet_cli.commands.{MODULES[name]}").register(loaded)
        return get_group(loaded).commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


class CommandGroup(TyperGroup):
    """The commands of `quartet`, for Typer."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**{**fields, "commands": {}})
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names without importing anything."""
        return list(MODULES)


app = typer.Typer(
    name="quartet",
    cls=CommandGroup,
    help="A team of LLM agents that runs a mobile manipulator from one sentence.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ALIASES = {"--task": "run", "--test-approach": "approach", "--test-pick": "pick", "--test-place": "place"}
"""The published spellings of the four-agent system's command, so that its users' scripts go on working."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command and end the process with its exit status; errors are printed without a traceback."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        app(expand_aliases(given), prog_name="quartet")
    except (CliError, DeploymentError) as error:
        # Imported here because it costs more than the command has time for before it starts.
        from quartet_contracts.story import printable

        print(printable(f"quartet: {error}"), file=sys.stderr)
        sys.exit(exit_status(error))
    except BrokenPipeError:
        # The reader of a pipe has gone, such as `quartet list | head`.
        sys.stderr.close()
        sys.exit(1)


def expand_aliases(arguments: list[str]) -> list[str]:
    """Return `run "..."` for `--task "..."` and so on; anything else is returned as it is.

    Options may stand before or after: `--verbose --task "..."` is `run --verbose "..."`.
    """
    for index, argument in enumerate(arguments):
        if not argument.startswith("-"):
            return arguments
        name, equals, value = argument.partition("=")
        if name in ALIASES:
            values = [value] if equals else []
            return [ALIASES[name], *arguments[:index], *values, *arguments[index + 1 :]]
    return arguments


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"quartet {version('quartet-cli')}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...
