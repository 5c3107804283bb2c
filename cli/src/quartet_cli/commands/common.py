"""Options and steps that several commands share."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from quartet_cli.errors import ExitStatus, LeftError, UsageError
from quartet_cli.follow import follow
from quartet_cli.run_folder import RunFolder
from quartet_cli.settings import CliSettings, load_settings
from quartet_cli.story import EventRenderer, JsonRenderer, StoryRenderer
from quartet_cli.terminal import open_terminal
from quartet_contracts import Architecture, TaskStatus, TaskSubmission, describe
from quartet_deployment import OrchestratorClient, SensorLevel

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="Address of the orchestrator; default: QUARTET_URL, else the running `quartet up`, else port 8000 here.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every model turn and the arguments and results of every tool.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line in place of the story.")]
Robot = Annotated[str | None, typer.Option("--robot", help="Name of the robot; default: the one that is free first.")]
TimeoutS = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        help="Seconds of work after which the task fails, without waiting; default: 1800 times QUARTET_PATIENCE.",
    ),
]

World = Annotated[
    str,
    typer.Option(
        "--world", help="World of the simulation: home, studio, tabletop, a folder with world.yaml, or generated:SEED."
    ),
]
SimulatedRobot = Annotated[
    str | None,
    typer.Option(
        "--robot",
        help="Robot of the simulation: a name in deploy/robots, or a folder with robot.yaml; default: the world's own.",
    ),
]
SimulatedRobots = Annotated[
    list[str] | None,
    typer.Option(
        "--robot",
        help="Robot of the simulation: a name in deploy/robots, or a folder with robot.yaml; in the world tabletop ur5 "
        "or panda. Repeat it for unlike robots; default: the world's own.",
    ),
]
Sensors = Annotated[
    SensorLevel,
    typer.Option("--sensors", help="How far the simulation's sensors are from perfect (docs/perception.md)."),
]

ArchitectureOption = Annotated[
    Architecture,
    typer.Option(
        "--architecture",
        help="Where the policy of the work is: multi, a model for each agent; single, one model does all of it; "
        "skill, one model and a program for each agent.",
    ),
]


def make_renderer(json: bool, verbose: bool) -> EventRenderer:
    """Return what --json and --verbose ask for."""
    return JsonRenderer() if json else StoryRenderer(open_terminal(), verbose)


def make_submission(
    sentence: str, robot: str | None = None, timeout_s: float | None = None, team: str | None = None
) -> TaskSubmission:
    """Return the submission. Raises UsageError with what is wrong and what to do."""
    try:
        chosen = {} if timeout_s is None else {"timeout_s": timeout_s}
        return TaskSubmission.model_validate({"sentence": sentence, "robot": robot, "team": team, **chosen})
    except ValidationError as error:
        raise UsageError(_in_words(error, sentence)) from error


def _in_words(error: ValidationError, sentence: str) -> str:
    kinds = {fault["type"] for fault in error.errors()}
    if "string_too_short" in kinds:
        return (
            'the sentence is empty; say what the robot should do, such as: quartet run "put the orange into the basket"'
        )
    if "string_too_long" in kinds:
        limit = next(f["ctx"]["max_length"] for f in error.errors() if "ctx" in f and f["type"] == "string_too_long")
        return f"the sentence has {len(sentence)} characters, at most {limit} are allowed; make it shorter"
    return describe(error)


def start_and_follow(
    start: Callable[[OrchestratorClient], TaskStatus],
    settings: CliSettings,
    renderer: EventRenderer,
    *,
    detach: bool = False,
) -> ExitStatus:
    """Start a task, follow it to its end and leave its folder behind; with `detach` print its id alone."""
    if not detach:
        _require_writable(settings.runs_folder())
    with OrchestratorClient(settings.url, settings.token()) as api:
        try:
            status = start(api)
        except KeyboardInterrupt:
            raise LeftError(
                "left before the orchestrator answered; the task may have been taken: quartet list"
            ) from None
        if detach:
            print(status.task.task_id)
            return ExitStatus.DONE
        folder = RunFolder(settings.runs_folder(), status.task.task_id, api, settings.overhead_url)
        return follow(api, status, renderer, folder)


def _require_writable(runs: Path) -> None:
    """Check the folder for runs before anything moves. Raises UsageError."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=runs):
            pass
    except OSError as error:
        raise UsageError(
            f"the folder for runs, {runs}, cannot be written ({error.strerror}); name another: QUARTET_RUNS_DIR"
        ) from error


def api_for(url: str | None) -> OrchestratorClient:
    """Return a client of the orchestrator that options and settings name, with its token. Raises UsageError."""
    settings = load_settings(url)
    return OrchestratorClient(settings.url, settings.token())
