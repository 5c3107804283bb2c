"""`quartet up`: every process on this machine until Ctrl-C. `quartet demo`: the same for one job."""

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import httpx2
import typer
from pydantic import SecretStr
from rich.console import Console
from rich.text import Text

from quartet_cli.commands.access import page_link
from quartet_cli.commands.common import (
    ArchitectureOption,
    Json,
    Sensors,
    SimulatedRobot,
    SimulatedRobots,
    Verbose,
    World,
    make_renderer,
    make_submission,
    start_and_follow,
)
from quartet_cli.errors import CannotStartError, ExitStatus
from quartet_cli.interrupts import Interrupts
from quartet_cli.settings import CliSettings, running_stack
from quartet_cli.terminal import open_terminal
from quartet_contracts import Architecture
from quartet_deployment import (
    DEFAULT_SENSORS,
    DeploymentError,
    Stack,
    StackOptions,
    StopClient,
    left_processes,
    state_folder,
)
from quartet_process import without_password
from quartet_process.bounded_answers import blocking_client
from quartet_site import SiteFileError

Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of where things lie in the simulation.")]
Realtime = Annotated[
    bool, typer.Option("--realtime", help="Run the simulation at the robot's own pace, not as fast as possible.")
]
StartTimeoutS = Annotated[
    float,
    typer.Option("--start-timeout", min=1.0, help="Seconds until every process must be ready; more on a busy machine."),
]

TABLETOP = "tabletop"
"""The world whose robots only a team can use by a sentence: its arms have no base that drives."""
SENTENCE = "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room"
EXAMPLES = {
    "home": "pick up the red coke can in the kitchen and put it on the wooden coffee table",
    "studio": "put the red coke can on the wooden table",
    TABLETOP: "put the rubbish in the bin",
}


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (up, demo):
        app.command()(command)


def up(
    world: World = "home",
    robot: SimulatedRobots = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario",
            help="What lies on the table of the world tabletop: TASK or TASK:VARIATION, such as stack-blocks:0 "
            "(docs/malmm.md has the tasks of one arm, docs/roco-deployment.md those of two).",
        ),
    ] = None,
    seed: Seed = 0,
    port: Annotated[
        int, typer.Option("--port", min=1, max=65535, help="Port of web page and HTTP API on this machine.")
    ] = 8000,
    realtime: Realtime = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the tasks of earlier runs.")] = False,
    robot_dir: Annotated[
        Path | None,
        typer.Option(
            "--robot-dir", help="Folder with robot.yaml and site.yaml of a robot of your own; starts no simulation."
        ),
    ] = None,
    guard_url: Annotated[
        str | None,
        typer.Option("--guard-url", help="Address of that robot's guard; default: port 9091 of the bridge's host."),
    ] = None,
    guard_token_file: Annotated[
        Path | None,
        typer.Option(
            "--guard-token-file", help="File with the guard's token; default: guard_token in --robot-dir, if it exists."
        ),
    ] = None,
    upstreams: Annotated[
        Path | None,
        typer.Option(
            "--upstreams", help="Folder with mapping files, by which third-party MCP servers do the work of ours."
        ),
    ] = None,
    robots: Annotated[int, typer.Option("--robots", min=1, help="Number of equal robots in each simulated home.")] = 1,
    homes: Annotated[int, typer.Option("--homes", min=1, help="Number of homes simulated side by side.")] = 1,
    sensors: Sensors = DEFAULT_SENSORS,
    architecture: ArchitectureOption = Architecture.MULTI,
    start_timeout_s: StartTimeoutS = 60.0,
) -> None:
    """Start everything on this machine and keep it running.

    Ctrl-C ends it, as SIGINT and SIGTERM do, in the background too. Logs are in .quartet/up/logs.
    """
    other = running_stack()
    if other:
        raise CannotStartError(
            f"`quartet up` already runs (process {other['pid']}, {other['url']}); end it with Ctrl-C"
        )
    console = open_terminal()
    options = StackOptions(
        state_dir=state_folder() / "up",
        fresh=fresh,
        world=world,
        kinds=tuple(robot or ()),
        scenario=scenario,
        seed=seed,
        realtime=realtime,
        orchestrator_port=port,
        upstreams_dir=upstreams,
        robots=robots,
        homes=homes,
        sensors=sensors,
        architecture=architecture,
        start_timeout_s=start_timeout_s,
    )
    if robot_dir is not None:
        try:
            options = options.on_robot(robot_dir, guard_url, guard_token_file)
        except (DeploymentError, SiteFileError) as error:
            raise CannotStartError(str(error)) from error
    elif guard_url or guard_token_file:
        raise CannotStartError("--guard-url and --guard-token-file are for a robot of your own: add --robot-dir")
    signal.signal(signal.SIGTERM, _interrupt)
    # A shell that is not interactive starts a command in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stack = start_stack(options, console)
    try:
        # A line that is interrupted half way would be printed once more, before the next one.
        with Interrupts() as interrupts:
            with interrupts.held():
                warn_of_stops(stack, console)
                place = f"in the world {world}" if robot_dir is None else f"at {without_password(stack.bridge_url)}"
                who = f"robot{'s' if stack.robots[1:] else ''} {', '.join(stack.robots)}"
                where = f"{who} {place}, orchestrator at {stack.url}, logs in {stack.log_dir}"
                console.print(where, soft_wrap=True)
                print_page(stack, console)
                example = _example(stack, world, robot_dir)
                console.print(f"now, in another terminal: quartet run {example}", soft_wrap=True)
            _watch(stack)
    except KeyboardInterrupt:
        console.print("ending all processes")
    finally:
        stack.stop()


def _example(stack: Stack, world: str, robot_dir: Path | None) -> str:
    """Return what may be asked of a robot of a world, as words of the command line."""
    sentence = "..." if robot_dir is not None else stack.options.example or EXAMPLES.get(world, "...")
    team = "" if world != TABLETOP or robot_dir is not None else "--team roco " if stack.robots[1:] else "--team malmm "
    return f'{team}"{sentence}"'


def demo(
    sentence: Annotated[str, typer.Argument(help="Another task for the same world.")] = SENTENCE,
    world: World = "home",
    robot: SimulatedRobot = None,
    seed: Seed = 0,
    realtime: Realtime = False,
    sensors: Sensors = DEFAULT_SENSORS,
    architecture: ArchitectureOption = Architecture.MULTI,
    start_timeout_s: StartTimeoutS = 60.0,
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Start everything, do one job, show it, end everything."""
    submission = make_submission(sentence)
    console = open_terminal(stderr=json)
    folder = state_folder() / "demo"
    options = StackOptions(
        state_dir=folder,
        fresh=True,
        world=world,
        kinds=(robot,) if robot else (),
        seed=seed,
        sensors=sensors,
        architecture=architecture,
        realtime=realtime,
        start_timeout_s=start_timeout_s,
    )
    stack = start_stack(options, console)
    try:
        settings = CliSettings().model_copy(
            update={"url": stack.url, "overhead_url": stack.overhead_url, "api_token": SecretStr(stack.api_token)}
        )
        status = start_and_follow(lambda api: api.submit(submission), settings, make_renderer(json, verbose))
        for error in stack.died():
            console.print(str(error), style="red")
    finally:
        stack.stop()
    if status != ExitStatus.DONE:
        console.print(f"logs of every process: {stack.log_dir}", style="dim")
    raise typer.Exit(status)


def start_stack(options: StackOptions, console: Console) -> Stack:
    """Return a started stack. Raises CannotStartError with what to do."""
    try:
        stack = Stack(options)
        begun = time.monotonic()
        if left := left_processes(options.state_dir):
            console.print(f"an earlier run was killed; waiting until its processes have ended ({len(left)} left)")
        with console.status("starting Redis, simulation, model gateway, servers and agents"):
            stack.start()
    except (DeploymentError, SiteFileError) as error:
        raise CannotStartError(str(error)) from error
    console.print(f"{len(stack.pids())} processes ready after {time.monotonic() - begun:.1f} s", style="dim")
    if stack.model_names != ["scripted"]:
        console.print(f"models: {describe_models(stack.models)}", soft_wrap=True)
        for agents, problem in model_problems(stack.url_of("gateway")).items():
            console.print(f"no model for {agents}: {problem}", style="yellow", soft_wrap=True)
    else:
        console.print(
            "model: the scripted one, which is a fixed policy and not an LLM; docs/models.md says how to use an LLM",
            style="dim",
            soft_wrap=True,
        )
    return stack


def describe_models(models: Mapping[str, list[str]]) -> str:
    """Return the models with the agents that use them: `openai/gpt-4.1 (orchestrator, pick); scripted (place)`."""
    agents_of: dict[str, list[str]] = {}
    for agent, chain in models.items():
        agents_of.setdefault(", then ".join(chain), []).append(agent)
    return "; ".join(f"{chain} ({', '.join(agents)})" for chain, agents in agents_of.items())


def model_problems(gateway_url: str) -> dict[str, str]:
    """Return what to do about agents without a model, by the agents' names; {} when all have one."""
    try:
        with blocking_client(timeout=5.0) as http:
            problems: dict[str, str] = http.get(f"{gateway_url}/health").json().get("problems", {})
    except (httpx2.HTTPError, ValueError):
        # Stack.died() reports a process that does not answer.
        return {}
    agents_of: dict[str, list[str]] = {}
    for agent, problem in problems.items():
        agents_of.setdefault(problem, []).append(agent)
    return {", ".join(agents): problem for problem, agents in agents_of.items()}


def warn_of_stops(stack: Stack, console: Console) -> None:
    """Print which robots are stopped: a stop outlasts the processes, and nothing will move."""
    with StopClient(stack.url_of("stop"), stack.stop_token) as service:
        stopped = {name: state["reason"] for name, state in service.state().items() if state["latched"]}
    for name, reason in stopped.items():
        console.print(f"{name} is stopped ({reason}); nothing moves until: quartet reset", style="yellow")


def print_page(stack: Stack, console: Console) -> None:
    """Print the link of the web page on a terminal only: it signs in whoever has it, so no log may hold it."""
    if console.is_terminal:
        link = page_link(stack.url, stack.api_token, stack.stop_token)
        console.print(Text.assemble("web page: ", (link, f"link {link}")), soft_wrap=True)
    else:
        console.print("web page: `quartet page` prints the link", soft_wrap=True)


def _watch(stack: Stack) -> None:
    """Wait until a process dies (raises CannotStartError) or Ctrl-C."""
    while True:
        dead = stack.died()
        if dead:
            what = "\n".join(str(error) for error in dead)
            raise CannotStartError(f"{what}\nThe other processes are ended too. Start all of them with: quartet up")
        time.sleep(0.5)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
