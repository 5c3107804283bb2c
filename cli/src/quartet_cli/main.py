"""The `quartet` command."""

import sys

import typer

from quartet_cli._aliases import expand_aliases
from quartet_cli.commands import bench, demo, doctor, grant, mcp, page, run, schema, secrets, skills, stop, tasks, up
from quartet_cli.errors import CliError

app = typer.Typer(
    name="quartet",
    help="A team of LLM agents that runs a mobile manipulator from one sentence.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for module in (run, skills, tasks, stop, schema, up, page, mcp, demo, bench, grant, doctor, secrets):
    module.register(app)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: published spellings are understood, errors are told without a traceback. Ends with SystemExit."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        app(expand_aliases(given), prog_name="quartet")
    except CliError as error:
        print(f"quartet: {error}", file=sys.stderr)
        sys.exit(error.status)
    except BrokenPipeError:
        # The reader of a pipe has gone, such as `quartet list | head`.
        sys.stderr.close()
        sys.exit(1)
