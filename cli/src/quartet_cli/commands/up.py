"""`quartet up`: every process on this machine, until Ctrl-C."""

import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import httpx
import typer
from rich.console import Console

from quartet_cli._root import RootNotFound
from quartet_cli.commands.page import page_link
from quartet_cli.errors import CannotStart
from quartet_cli.settings import running_stack, state_folder
from quartet_cli.stack import Stack, StackError, StackOptions
from quartet_cli.stop_service import StopService
from quartet_site import FileProblem, load_robot

World = Annotated[str, typer.Option("--world", help="A folder of deploy/sites: home or studio.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Where things lie.")]
Realtime = Annotated[bool, typer.Option("--realtime", help="The simulation keeps to the wall clock.")]
RobotDir = Annotated[
    Path | None,
    typer.Option("--robot-dir", help="Folder with robot.yaml and site.yaml of a robot of your own; no simulation."),
]
GuardUrl = Annotated[
    str | None,
    typer.Option("--guard-url", help="HTTP port of its guard; default: port 9091 of the bridge's host."),
]
GuardToken = Annotated[
    Path | None,
    typer.Option("--guard-token-file", help="What the guard asks for; default: guard_token in the folder, if there."),
]
Robots = Annotated[int, typer.Option("--robots", min=1, help="How many robots there are in each simulated home.")]
Homes = Annotated[int, typer.Option("--homes", min=1, help="How many homes are simulated side by side.")]
Upstreams = Annotated[
    Path | None,
    typer.Option("--upstreams", help="Folder with mapping files; third-party MCP servers do the work of ours."),
]
GUARD_PORT = 9091
"""Of the robot guard, as deploy/ros2 has it."""

EXAMPLES = {
    "home": "pick up the red coke can in the kitchen and put it on the wooden coffee table",
    "studio": "put the red coke can on the wooden table",
}


def register(app: typer.Typer) -> None:
    app.command("up")(up)


def start_stack(options: StackOptions, console: Console) -> Stack:
    """A started stack. Raises CannotStart with what to do."""
    try:
        stack = Stack(options)
        begun = time.monotonic()
        with console.status("starting Redis, simulation, model gateway, servers and agents"):
            stack.start()
    except (StackError, FileProblem, FileNotFoundError, RootNotFound, ValueError) as error:
        raise CannotStart(str(error)) from error
    console.print(f"{len(stack.pids())} processes ready after {time.monotonic() - begun:.1f} s", style="dim")
    if stack.models:
        console.print("model: " + ", ".join(f"{name}={value}" for name, value in stack.models.items()), soft_wrap=True)
        for agents, problem in model_problems(stack.url_of("gateway")).items():
            console.print(f"no model for {agents}: {problem}", style="yellow", soft_wrap=True)
    else:
        console.print(
            "model: the scripted one (a fixed policy, not an LLM; README says how to use a real one)",
            style="dim",
            soft_wrap=True,
        )
    return stack


def model_problems(gateway_url: str) -> dict[str, str]:
    """Why agents are without a model: the agents, and what is to be done; {} where all have one."""
    try:
        problems: dict[str, str] = httpx.get(f"{gateway_url}/health", timeout=5.0).json().get("problems", {})
    except (httpx.HTTPError, ValueError):
        # That a process does not answer is told elsewhere.
        return {}
    agents_of: dict[str, list[str]] = {}
    for agent, problem in problems.items():
        agents_of.setdefault(problem, []).append(agent)
    return {", ".join(agents): problem for problem, agents in agents_of.items()}


def up(
    world: World = "home",
    seed: Seed = 0,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Of the orchestrator's HTTP API.")] = 8000,
    realtime: Realtime = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the tasks of earlier runs.")] = False,
    robot_dir: RobotDir = None,
    guard_url: GuardUrl = None,
    guard_token_file: GuardToken = None,
    upstreams: Upstreams = None,
    robots: Robots = 1,
    homes: Homes = 1,
) -> None:
    """Start everything on this machine and keep it running.

    Ctrl-C ends it. Logs are in .quartet/up/logs.
    """
    other = running_stack()
    if other:
        raise CannotStart(f"`quartet up` already runs (process {other['pid']}, {other['url']}); end it with Ctrl-C")
    console = Console(highlight=False)
    folder = state_folder() / "up"
    options = StackOptions(
        state_dir=folder,
        fresh=fresh,
        world=world,
        seed=seed,
        realtime=realtime,
        orchestrator_port=port,
        upstreams_dir=upstreams,
        robots=robots,
        homes=homes,
    )
    if robot_dir is not None:
        options = on_robot(options, robot_dir, guard_url, guard_token_file)
    elif guard_url or guard_token_file:
        raise CannotStart("--guard-url and --guard-token-file are for a robot of your own: add --robot-dir")
    signal.signal(signal.SIGTERM, _interrupt)
    stack = start_stack(options, console)
    try:
        tell_stops(stack, console)
        place = f"in the {world}" if robot_dir is None else f"at {stack.bridge_url}"
        who = f"robot{'s' if stack.robots[1:] else ''} {', '.join(stack.robots)}"
        where = f"{who} {place}, orchestrator at {stack.url}, logs in {stack.log_dir}"
        console.print(where, soft_wrap=True)
        tell_page(stack, console)
        example = EXAMPLES.get(world, "...") if robot_dir is None else "..."
        console.print(f'now, in another terminal: quartet run "{example}"', soft_wrap=True)
        _watch(stack)
    except KeyboardInterrupt:
        console.print("ending")
    finally:
        stack.stop()


def on_robot(options: StackOptions, folder: Path, guard_url: str | None, token_file: Path | None) -> StackOptions:
    """The options of a stack at a real robot, without a simulation. Raises CannotStart."""
    try:
        bridge = urlsplit(load_robot(folder / "robot.yaml").bridge.url)
    except (FileProblem, OSError) as error:
        raise CannotStart(str(error)) from error
    beside = folder / "guard_token"
    if token_file is None and beside.is_file():
        token_file = beside
    if token_file is not None and not token_file.is_file():
        raise CannotStart(f"there is no {token_file}; it holds the token that the guard was started with")
    host = f"[{bridge.hostname}]" if ":" in (bridge.hostname or "") else bridge.hostname
    return replace(
        options,
        site_dir=folder.resolve(),
        guard_url=guard_url or f"http://{host}:{GUARD_PORT}",
        guard_token_file=None if token_file is None else token_file.resolve(),
    )


def tell_stops(stack: Stack, console: Console) -> None:
    """A stop outlasts the processes: say so before somebody wonders why nothing moves."""
    with StopService(stack.url_of("stop"), stack.stop_token) as service:
        stopped = {name: state["reason"] for name, state in service.state().items() if state["latched"]}
    for name, reason in stopped.items():
        console.print(f"{name} is stopped ({reason}); nothing moves until: quartet reset", style="yellow")


def tell_page(stack: Stack, console: Console) -> None:
    """The link signs whoever follows it in: it is for the person at the terminal, and no text of a log."""
    if console.is_terminal:
        link = page_link(stack.url, stack.api_token, stack.stop_token)
        console.print(f"web page: [link={link}]{link}[/link]", soft_wrap=True)
    else:
        console.print("web page: the link is printed by `quartet page`", soft_wrap=True)


def _watch(stack: Stack) -> None:
    """Until a process dies (raises CannotStart) or Ctrl-C."""
    while True:
        dead = stack.died()
        if dead:
            what = "\n".join(str(error) for error in dead)
            raise CannotStart(
                f"{what}\nThe other processes are ended as well. Start all of them again with: quartet up"
            )
        time.sleep(0.5)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
