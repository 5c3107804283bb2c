"""`quartet stop|reset`: the stop button."""

from typing import Annotated, Any

import typer
from rich.console import Console

from quartet_cli.errors import ExitStatus
from quartet_cli.settings import find_stop_service
from quartet_cli.terminal import open_terminal
from quartet_deployment import EMERGENCY_STOP

Robot = Annotated[str | None, typer.Argument(help="Name of the robot; default: all.")]
STANDSTILL_S = 8.0
"""Longest wait for the guard to measure standstill [s]; a robot brakes sooner."""


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (stop, reset):
        app.command()(command)


def stop(
    robot: Robot = None,
    reason: Annotated[str, typer.Option("--reason", help="Shown to everybody whose call the stop ends.")] = (
        "a person pressed stop"
    ),
) -> None:
    """Stop the robot at once; it stays stopped until `quartet reset`.

    The stop goes straight to the robot guard and every server, past Redis, models and orchestrator. The gripper keeps
    what it holds.
    """
    console = open_terminal(soft_wrap=True)
    with find_stop_service() as service:
        names = list(service.stop(robot, reason))
        found = service.wait_standstill(names, STANDSTILL_S)
    for name, state in sorted(found.items()):
        _print_state(console, name, state)
    if not all(state["stopped"] and state["standstill"] is True for state in found.values()):
        raise typer.Exit(ExitStatus.FAILED)


def reset(robot: Robot = None) -> None:
    """Let a stopped robot move again.

    Nothing that was stopped goes on by itself.
    """
    console = open_terminal(soft_wrap=True)
    with find_stop_service() as service:
        found = service.reset(robot)
    for name, state in sorted(found.items()):
        for missed in state["missed"]:
            console.print(f"{name}: not reset: {missed}", style="red")
        for server in state.get("absent", []):
            console.print(f"{name}: {server} does not run; it is reset when it comes back", style="yellow")
        console.print(
            f"{name}: {'may move again' if state['reset'] else 'stays stopped in part; run `quartet reset` again'}"
        )
    if not all(state["reset"] for state in found.values()):
        raise typer.Exit(ExitStatus.FAILED)


def _print_state(console: Console, name: str, state: dict[str, Any]) -> None:
    if not state["stopped"]:
        why = state["guard"].get("error", "it is not stopped")
        console.print(f"{name}: the guard did NOT confirm the stop: {why}. {EMERGENCY_STOP}", style="red")
    elif state["standstill"] is True:
        console.print(f"{name}: stopped; the guard has measured that it stands still")
    else:
        console.print(f"{name}: stopped, but standstill is NOT confirmed. {EMERGENCY_STOP}", style="red")
    for server, text in sorted(state["servers"].items()):
        console.print(f"  {server}: {text}", style="dim" if text == "stopped" else "yellow")
    console.print(f"  it stays stopped until: quartet reset {name}", style="dim")
