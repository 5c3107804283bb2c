"""`quartet up`: every process on this machine, until Ctrl-C."""

import signal
import time
from typing import Annotated

import httpx
import typer
from rich.console import Console

from quartet_cli._root import RootNotFound
from quartet_cli.errors import CannotStart
from quartet_cli.settings import running_stack, state_folder
from quartet_cli.stack import Stack, StackError, StackOptions
from quartet_cli.stop_service import StopService
from quartet_site import FileProblem

World = Annotated[str, typer.Option("--world", help="A folder of deploy/sites: home or studio.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Where things lie.")]
Realtime = Annotated[bool, typer.Option("--realtime", help="The simulation keeps to the wall clock.")]


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
    except (StackError, FileProblem, FileNotFoundError, RootNotFound) as error:
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
        state_dir=folder, fresh=fresh, world=world, seed=seed, realtime=realtime, orchestrator_port=port
    )
    signal.signal(signal.SIGTERM, _interrupt)
    stack = start_stack(options, console)
    try:
        _tell_stops(stack, console)
        where = f"robot {stack.robot} in the {world}, orchestrator at {stack.url}, logs in {stack.log_dir}"
        console.print(where, soft_wrap=True)
        console.print(f'now, in another terminal: quartet run "{EXAMPLES.get(world, "...")}"', soft_wrap=True)
        _watch(stack)
    except KeyboardInterrupt:
        console.print("ending")
    finally:
        stack.stop()


def _tell_stops(stack: Stack, console: Console) -> None:
    """A stop outlasts the processes: say so before somebody wonders why nothing moves."""
    with StopService(stack.url_of("stop"), stack.stop_token) as service:
        stopped = {name: state["reason"] for name, state in service.state().items() if state["latched"]}
    for name, reason in stopped.items():
        console.print(f"{name} is stopped ({reason}); nothing moves until: quartet reset", style="yellow")


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
