"""Options and steps that several commands share."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console

from quartet_cli.api import Api
from quartet_cli.errors import ExitStatus, Refused
from quartet_cli.follow import follow
from quartet_cli.runs import RunFolder
from quartet_cli.settings import CliSettings, load_settings
from quartet_cli.story import JsonTeller, StoryTeller, Teller
from quartet_contracts import TaskStatus, TaskSubmission, describe

Url = Annotated[
    str | None,
    typer.Option("--url", help="Orchestrator; default: QUARTET_URL, the running `quartet up`, port 8000 here."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Every model turn, tool argument and result.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line instead of the story.")]
Robot = Annotated[str | None, typer.Option("--robot", help="Which robot; default: the one that is free first.")]
TimeoutS = Annotated[float, typer.Option("--timeout", help="The task fails when not done after this many seconds.")]


def make_teller(json: bool, verbose: bool) -> Teller:
    return JsonTeller() if json else StoryTeller(Console(highlight=False), verbose)


def make_submission(sentence: str, robot: str | None, timeout_s: float) -> TaskSubmission:
    """Raises Refused with what is wrong and what to do."""
    try:
        return TaskSubmission(sentence=sentence, robot=robot, timeout_s=timeout_s)
    except ValidationError as error:
        raise Refused(_in_words(error, sentence)) from error


def _in_words(error: ValidationError, sentence: str) -> str:
    kinds = {fault["type"] for fault in error.errors()}
    if "string_too_short" in kinds:
        return 'the sentence is empty; say what the robot should do, such as: quartet run "bring me the red coke can"'
    if "string_too_long" in kinds:
        limit = next(f["ctx"]["max_length"] for f in error.errors() if "ctx" in f and f["type"] == "string_too_long")
        return f"the sentence has {len(sentence)} characters, at most {limit} are allowed; say it shorter"
    return describe(error)


def start_and_follow(
    start: Callable[[Api], TaskStatus], settings: CliSettings, teller: Teller, *, detach: bool = False
) -> ExitStatus:
    """Start a task and follow it to its end, leaving its folder behind."""
    if not detach:
        _require_writable(settings.runs_folder())
    with Api(settings.url, settings.token()) as api:
        status = start(api)
        if detach:
            print(status.task.task_id)
            return ExitStatus.DONE
        folder = RunFolder(settings.runs_folder(), status.task.task_id, api, settings.overhead_url)
        return follow(api, status, teller, folder)


def _require_writable(runs: Path) -> None:
    """Before anything moves. Raises Refused."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=runs):
            pass
    except OSError as error:
        raise Refused(
            f"the folder for runs, {runs}, cannot be written ({error.strerror}); name another: QUARTET_RUNS_DIR"
        ) from error


def settings_for(url: str | None) -> CliSettings:
    return load_settings(url)


def api_for(url: str | None) -> Api:
    """A client of the orchestrator that the options and settings name, with its token. Raises Refused."""
    settings = load_settings(url)
    return Api(settings.url, settings.token())
