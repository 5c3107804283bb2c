"""The `quartet` command."""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from quartet_cli.commands import access, bench, doctor, run, schema, secrets, stop, tasks, up
from quartet_cli.errors import CliError, exit_status
from quartet_deployment import DeploymentError

app = typer.Typer(
    name="quartet",
    help="A team of LLM agents that runs a mobile manipulator from one sentence.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for module in (run, tasks, stop, schema, up, access, bench, doctor, secrets):
    module.register(app)

ALIASES = {"--task": "run", "--test-approach": "approach", "--test-pick": "pick", "--test-place": "place"}
"""The published spellings of the four-agent system's command, so that its users' scripts go on working."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command and end the process with its exit status; errors are printed without a traceback."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        app(expand_aliases(given), prog_name="quartet")
    except (CliError, DeploymentError) as error:
        print(f"quartet: {error}", file=sys.stderr)
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
