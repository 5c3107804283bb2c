"""`python -m quartet_simulation`: the simulated robot behind a rosbridge endpoint."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from starlette.applications import Starlette

from quartet_process import Exposition, SettingsError, displayed_value, run_process, write_ready_file
from quartet_process.health import metrics_route
from quartet_process.serving import HttpServer, listen
from quartet_safety.guard import GuardPort, LatchFile
from quartet_simulation import metrics
from quartet_simulation.errors import SimulationError, UnknownNameError
from quartet_simulation.faults import FAULTS, Faults
from quartet_simulation.settings import Settings

if TYPE_CHECKING:
    from quartet_simulation.arm_simulation import ArmSimulation
    from quartet_simulation.ros.engine import Engine
    from quartet_simulation.ros.robot import Robot

FAILED = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Exit status 0 after a clean end, 1 after a failure, 2 for bad usage."""
    return run_process("quartet_simulation", lambda: _settings(argv), _serve, (SimulationError,))


def _settings(argv: Sequence[str] | None) -> Settings:
    try:
        return Settings(**_arguments(argv))
    except ValidationError as error:
        faults = [(".".join(str(part) for part in fault["loc"]), fault) for fault in error.errors()]
        raise SettingsError(
            "\n".join(f"{name}: {fault['msg']} (got {displayed_value(name, fault['input'])})" for name, fault in faults)
        ) from error


def _arguments(argv: Sequence[str] | None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation", description=__doc__)
    parser.add_argument("--world", help="home, studio, flat, tabletop, or a folder with world.yaml")
    parser.add_argument("--seed", type=int, help="placements and noise")
    parser.add_argument("--scenario", help="a named variation of the world")
    parser.add_argument("--sensors", help="clean, typical or harsh: how far the sensors are from perfect")
    parser.add_argument("--robot-file", help="robot.yaml of each robot, with commas; one: of all; default: the home's")
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--robots", type=int, help="how many robots share the world")
    parser.add_argument("--arms", help="kinds of the arms of the world tabletop, with commas: ur5, panda")
    parser.add_argument("--namespaces", help="names of the robots, with commas: they share one rosbridge")
    parser.add_argument("--port", help="rosbridge port, 0 = a free one; of several robots with commas")
    parser.add_argument("--scoring-port", type=int, help="ground truth port, 0 = a free one")
    parser.add_argument("--scoring-host", help="address of that, else 127.0.0.1: who reaches it may change the world")
    parser.add_argument("--metrics-port", type=int, help="port of /metrics, 0 = a free one")
    parser.add_argument("--guard-port", help="HTTP port of the robot guard, 0 = a free one; of several with commas")
    parser.add_argument("--guard-file", help="keeps a stop across restarts")
    parser.add_argument("--heartbeat-timeout", type=float, help="of the robot guard, in seconds of wall time")
    parser.add_argument("--realtime", action="store_true", default=None, help="follow the wall clock")
    parser.add_argument(
        "--realtime-thinking",
        action="store_true",
        default=None,
        help="follow the wall clock while one of several robots thinks and another moves",
    )
    parser.add_argument("--faults", help=f"comma-separated: {', '.join(FAULTS)}")
    parser.add_argument("--ready-file", help="also write the line with the ports here")
    parser.add_argument("--max-message-size", type=int, help="larger frames are sent in fragments")
    parser.add_argument("--check-messages", action="store_true", default=None, help="check outgoing messages (slow)")
    parser.add_argument("--log-level", help="DEBUG, INFO, WARNING or ERROR")
    values = vars(parser.parse_args(argv))
    return {name: value for name, value in values.items() if value is not None}


def _maker(settings: Settings) -> Callable[[], ArmSimulation]:
    """Return what makes the simulation in its own thread. Raises SimulationError for a robot that cannot be built."""
    from quartet_simulation.mobile.build import SUMMIT
    from quartet_simulation.mobile.file import load_build
    from quartet_simulation.simulation import Simulation
    from quartet_simulation.tabletop.simulation import WORLD, TableSimulation

    _require_world(settings.world)
    built = {path: load_build(path) for path in dict.fromkeys(settings.robot_file)}
    builds = settings.for_each([built[path] for path in settings.robot_file] or [SUMMIT])
    if settings.world == WORLD and built:
        raise SimulationError(f"the world {WORLD} has arms of its own; leave --robot-file out")
    if settings.arms and settings.world != WORLD:
        raise SimulationError(f"--arms is for the world {WORLD}, not for {settings.world}; use --robot-file")
    arms = settings.for_each(settings.arms or ("panda",))

    def make() -> ArmSimulation:
        if settings.world == WORLD:
            return TableSimulation(settings.seed, scenario=settings.scenario, sensors=settings.sensors, arms=arms)
        return Simulation(
            settings.world,
            settings.seed,
            scenario=settings.scenario,
            builds=builds,
            sensors=settings.sensors,
        )

    return make


async def _serve(settings: Settings, stop: asyncio.Event) -> int:
    from quartet_simulation.bridge.connection import Bridge
    from quartet_simulation.bridge.server import start_bridge
    from quartet_simulation.ros.engine import Engine
    from quartet_simulation.ros.robot import Robot
    from quartet_simulation.scoring import Scoring

    # Short turns keep the event loop responsive while the simulation's thread runs Python code.
    sys.setswitchinterval(0.0005)

    make = _maker(settings)
    engine, faults = Engine(make, settings.realtime, settings.realtime_thinking), Faults(settings.faults)
    robots: list[Robot] = []
    for number in range(settings.robots):
        robot = Robot(
            make,
            settings.realtime,
            faults,
            settings.check_messages,
            settings.heartbeat_timeout_s,
            _latch_file(settings.guard_file, number),
            engine=engine,
            place=number,
            shared=robots[0].graph if robots and settings.namespaces else None,
            namespace=f"/{settings.namespaces[number]}" if settings.namespaces else "",
        )
        robots.append(robot)
    async with contextlib.AsyncExitStack() as stack:
        # Ports first: a taken one is told at once, not after the world has been built.

        def bound(setting: str, host: str, port: int) -> socket.socket:
            return stack.enter_context(listen(host, port, setting=setting))

        bridge_sockets = [bound("--port", settings.host, port) for port in settings.port]
        scoring_socket = bound("--scoring-port", settings.scoring_host, settings.scoring_port)
        metrics_socket = bound("--metrics-port", settings.host, settings.metrics_port)
        guard_sockets = [bound("--guard-port", settings.host, port) for port in settings.guard_port]
        guard_token, exposition = settings.guard_secret(), Exposition("simulation", token=settings.metrics_secret())
        for robot in robots:
            stack.push_async_callback(robot.close)
        for robot in robots:
            await robot.start()
        for robot, bridge_socket in zip(robots, bridge_sockets, strict=False):
            bridge = Bridge(robot.graph, faults, settings.max_message_size)
            await stack.enter_async_context(await start_bridge(bridge, bridge_socket))

        def tokens() -> tuple[str, ...]:
            return () if guard_token is None else tuple(value.text for value in guard_token.values)

        for robot, guard_socket in zip(robots, guard_sockets, strict=True):
            guard_port = GuardPort(robot.guard, guard_socket, tokens)
            guard_port.open()
            stack.callback(guard_port.close)
        await stack.enter_async_context(HttpServer(Scoring(*robots).app(), scoring_socket))
        # A port of its own, so that what Prometheus may read leads to no robot.
        figures = Starlette(routes=[metrics_route(exposition, lambda: _measure(engine, robots))])
        await stack.enter_async_context(HttpServer(figures, metrics_socket))
        _announce(
            settings,
            [_port_of(one) for one in bridge_sockets],
            [_port_of(one) for one in guard_sockets],
            scoring_port=_port_of(scoring_socket),
            metrics_port=_port_of(metrics_socket),
        )
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({stopping, engine.failed}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        return FAILED if engine.failed.done() else 0


def _require_world(name: str) -> None:
    """Raise UnknownNameError with all worlds of this command where there is none of this name."""
    from quartet_simulation.tabletop.simulation import WORLD
    from quartet_simulation.worlds import WORLD_FILE, WORLDS

    if name not in (WORLD, *WORLDS) and not Path(name).exists():
        raise UnknownNameError("world", name, (WORLD, *WORLDS, f"a folder with {WORLD_FILE}"))


def _measure(engine: Engine, robots: Sequence[Robot]) -> None:
    metrics.WORLD_TIME.set(engine.time)
    for robot in robots:
        metrics.LATCHED.labels(robot.guard.name).set(float(robot.guard.status.latched))


def _port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def _latch_file(path: Path | None, number: int) -> LatchFile | None:
    """Where the guard of a robot keeps a stop; that of the first is `path` itself."""
    if path is None:
        return None
    return LatchFile(path if number == 0 else path.with_stem(f"{path.stem}-robot{number + 1}"))


def _announce(
    settings: Settings, ports: list[int], guard_ports: list[int], *, scoring_port: int, metrics_port: int
) -> None:
    robots = [
        {
            "url": f"ws://{settings.host}:{port}",
            "port": port,
            "guard_url": f"http://{settings.host}:{guard_port}",
            "guard_port": guard_port,
        }
        for port, guard_port in zip(ports * (len(guard_ports) // len(ports)), guard_ports, strict=True)
    ]
    ready = {
        "event": "ready",
        **robots[0],
        "robots": robots,
        "scoring_url": f"http://{settings.scoring_host}:{scoring_port}",
        "scoring_port": scoring_port,
        "metrics_url": f"http://{settings.host}:{metrics_port}/metrics",
        "metrics_port": metrics_port,
        "world": settings.world,
        "seed": settings.seed,
        "pid": os.getpid(),
    }
    write_ready_file(settings.ready_file, ready)
    print(json.dumps(ready), flush=True)


if __name__ == "__main__":
    sys.exit(main())
