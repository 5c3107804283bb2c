"""`python -m quartet_simulation`: the simulated robot behind a rosbridge endpoint."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError

from quartet_contracts import LatchFile
from quartet_process import SecretProblem, set_up_logging
from quartet_simulation import metrics
from quartet_simulation.bridge.faults import FAULTS, Faults
from quartet_simulation.settings import Settings

if TYPE_CHECKING:
    from quartet_simulation.ros.engine import Engine
    from quartet_simulation.ros.robot import Robot

BAD_USAGE = 2
FAILED = 1


class StartError(Exception):
    """The process cannot start; the text tells why and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT. Exit status 0 after a clean end, 1 after a failure, 2 for bad usage."""
    try:
        settings = Settings(**_arguments(argv))
    except ValidationError as error:
        for problem in error.errors():
            name = ".".join(str(part) for part in problem["loc"])
            print(f"quartet_simulation: {name}: {problem['msg']} (got {problem['input']!r})", file=sys.stderr)
        return BAD_USAGE
    set_up_logging("simulation", settings.log_format, settings.log_level)
    # Short turns keep the event loop responsive while the simulation's thread runs Python code.
    sys.setswitchinterval(0.0005)
    try:
        return asyncio.run(_serve(settings))
    except StartError as error:
        print(f"quartet_simulation: {error}", file=sys.stderr)
        return BAD_USAGE


def _arguments(argv: Sequence[str] | None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m quartet_simulation", description=__doc__)
    parser.add_argument("--world", help="home or studio")
    parser.add_argument("--seed", type=int, help="placements and noise")
    parser.add_argument("--scenario", help="a named variation of the world")
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--robots", type=int, help="how many robots share the world")
    parser.add_argument("--namespaces", help="names of the robots, with commas: they share one rosbridge")
    parser.add_argument("--port", help="rosbridge port, 0 = a free one; of several robots with commas")
    parser.add_argument("--scoring-port", type=int, help="ground truth port, 0 = a free one")
    parser.add_argument("--scoring-host", help="address of that, else 127.0.0.1: who reaches it may change the world")
    parser.add_argument("--metrics-port", type=int, help="port of /metrics, 0 = a free one")
    parser.add_argument("--guard-port", help="HTTP port of the robot guard, 0 = a free one; of several with commas")
    parser.add_argument("--guard-file", help="keeps a stop across restarts")
    parser.add_argument("--heartbeat-timeout", type=float, help="of the robot guard, in seconds of wall time")
    parser.add_argument("--realtime", action="store_true", default=None, help="follow the wall clock")
    parser.add_argument("--faults", help=f"comma-separated: {', '.join(FAULTS)}")
    parser.add_argument("--ready-file", help="also write the line with the ports here")
    parser.add_argument("--max-message-size", type=int, help="larger frames are sent in fragments")
    parser.add_argument("--check-messages", action="store_true", default=None, help="check outgoing messages (slow)")
    parser.add_argument("--log-level", help="DEBUG, INFO, WARNING or ERROR")
    values = vars(parser.parse_args(argv))
    return {name: value for name, value in values.items() if value is not None}


async def _serve(settings: Settings) -> int:
    from quartet_simulation.bridge.connection import Bridge
    from quartet_simulation.bridge.server import start_bridge
    from quartet_simulation.errors import SimulationError
    from quartet_simulation.guard_http import guard_server
    from quartet_simulation.metrics_http import metrics_server
    from quartet_simulation.ros.engine import Engine
    from quartet_simulation.ros.robot import Robot
    from quartet_simulation.scoring import Scoring
    from quartet_simulation.simulation import Simulation

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def make() -> Simulation:
        return Simulation(settings.world, settings.seed, scenario=settings.scenario, robots=settings.robots)

    engine, faults = Engine(make, settings.realtime), Faults(settings.faults)
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
        bridge_sockets = [stack.enter_context(_bind("--port", settings.host, port)) for port in settings.port]
        scoring_socket = stack.enter_context(_bind("--scoring-port", settings.scoring_host, settings.scoring_port))
        metrics_socket = stack.enter_context(_bind("--metrics-port", settings.host, settings.metrics_port))
        guard_sockets = [stack.enter_context(_bind("--guard-port", settings.host, p)) for p in settings.guard_port]
        try:
            guard_token, metrics_token = settings.guard_secret(), settings.metrics_secret()
        except SecretProblem as error:
            raise StartError(str(error)) from error
        for robot in robots:
            stack.push_async_callback(robot.close)
        try:
            for robot in robots:
                await robot.start()
        except SimulationError as error:
            raise StartError(str(error)) from error
        for robot, bridge_socket in zip(robots, bridge_sockets, strict=False):
            bridge = Bridge(robot.graph, faults, settings.max_message_size)
            await stack.enter_async_context(await start_bridge(bridge, bridge_socket))
        for robot, guard_socket in zip(robots, guard_sockets, strict=True):
            await stack.enter_async_context(guard_server(robot.guard, guard_token).serving(guard_socket))
        await stack.enter_async_context(Scoring(*robots).server().serving(scoring_socket))
        figures = metrics_server(lambda: _measure(engine, robots), metrics_token)
        await stack.enter_async_context(figures.serving(metrics_socket))
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


def _measure(engine: Engine, robots: Sequence[Robot]) -> None:
    metrics.WORLD_TIME.set(engine.time)
    for robot in robots:
        metrics.LATCHED.labels(robot.guard.name).set(float(robot.guard.latched))


def _port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


def _latch_file(path: Path | None, number: int) -> LatchFile | None:
    """Where the guard of a robot keeps a stop; that of the first is `path` itself."""
    if path is None:
        return None
    return LatchFile(path if number == 0 else path.with_stem(f"{path.stem}-robot{number + 1}"))


def _bind(option: str, host: str, port: int) -> socket.socket:
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        # The protocol is named, since asyncio switches Nagle's delay off only for sockets that tell they are TCP.
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
        return listener
    except OSError as error:
        if listener is not None:
            listener.close()
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; end the process that holds it, or choose"
            f" another port with {option} (0 takes a free one)"
        ) from error


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
    line = orjson.dumps(
        {
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
    ).decode()
    if settings.ready_file is not None:
        # Renamed into place, so that who waits for the file never reads half of it.
        draft = settings.ready_file.with_name(settings.ready_file.name + ".part")
        draft.write_text(line + "\n")
        draft.replace(settings.ready_file)
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
