"""The life of a tool server process."""

import asyncio
import json
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from pydantic import ValidationError
from pydantic_settings import SettingsError

from quartet_process import Secret, SecretProblem, metrics_secret, set_up_logging
from quartet_process.tracing import set_up_tracing
from quartet_robot_link import Robot
from quartet_site import (
    FileProblem,
    Known,
    PolicyFile,
    RobotFile,
    RobotFiles,
    SiteFile,
    load_policy,
    load_robot,
    load_robots,
    load_site,
)
from quartet_tool_server.fence import FenceProblem
from quartet_tool_server.grants import GrantVerifier, KeyProblem, read_keys
from quartet_tool_server.hosting import host
from quartet_tool_server.metrics import Families
from quartet_tool_server.server import ToolServer
from quartet_tool_server.settings import ServerSettings

if TYPE_CHECKING:
    from quartet_tool_server.upstream import Proxy

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 75
"""Idle connections are kept longer than clients keep them (5 s by default in httpx), so that none is closed while a
request for a motion is on its way."""

Register = Callable[[ToolServer], None]
Actions = Callable[[RobotFile], tuple[str, ...]]


class StartProblem(Exception):
    """The process cannot start; the message says what to change."""


def run(name: str, register: Register, *, actions: Actions | None = None, instructions: str = "") -> None:
    """Serve until SIGTERM or SIGINT; `register` adds the tools. Ends the process with status 2 when it cannot start.

    `actions` gives the action servers whose goals this server sends.
    """
    try:
        settings = _settings()
        set_up_logging(name, settings.log_format, settings.log_level)
        set_up_tracing(name)
        asyncio.run(_serve(name, register, actions, instructions, settings))
    except (StartProblem, FileProblem, KeyProblem, FenceProblem, SecretProblem) as error:
        print(f"quartet {name}: {error}", file=sys.stderr)
        raise SystemExit(2) from None


async def _serve(
    name: str, register: Register, actions: Actions | None, instructions: str, settings: ServerSettings
) -> None:
    known = _known_robots(settings)
    keys = read_keys(settings)
    stop_keys = () if settings.secret("stop_public_key") is None else read_keys(settings, "stop_public_key")
    metrics_token = metrics_secret(settings, settings.host)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(_bind(settings.host, settings.port))
        proxy = None if settings.upstreams_file is None else open_proxy(settings.upstreams_file, settings.upstream_urls)
        servers: dict[str, ToolServer] = {}
        families = Families()
        for files, one in known:
            policy = site_policy(files, one.site, one.robot)
            robot_file = with_heartbeat_timeout(one.robot, settings.heartbeat_timeout_s)
            robot = await Robot.open(robot_file, url=files.bridge_url)
            stack.push_async_callback(robot.close)
            servers[robot_file.name] = make_server(
                name,
                robot,
                one.site,
                settings.state_dir,
                GrantVerifier(robot_file.name, keys, stop_keys),
                register,
                actions=actions,
                instructions=instructions,
                proxy=proxy,
                policy=policy,
                beats_required=settings.require_beats,
                families=families,
                metrics_token=metrics_token,
            )
        if proxy is not None:
            stack.push_async_callback(proxy.close)
            surveying = asyncio.create_task(proxy.survey())
            stack.callback(surveying.cancel)
        http = uvicorn.Server(
            uvicorn.Config(
                host(servers),
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=2,
                timeout_keep_alive=KEEP_ALIVE_S,
                lifespan="on",
            )
        )
        stopping = asyncio.Event()
        _on_signals(stopping)
        serving = asyncio.create_task(http.serve(sockets=[listening]))
        try:
            await _announce(http, serving, listening, settings)
            stopped = asyncio.create_task(stopping.wait())
            await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.gather(*(one.motions.cancel("the server is shutting down") for one in servers.values()))
        finally:
            http.should_exit = True
            await serving


def make_server(
    name: str,
    robot: Robot,
    site: SiteFile,
    state_dir: Path,
    verifier: GrantVerifier | None,
    register: Register,
    *,
    actions: Actions | None = None,
    instructions: str = "",
    proxy: "Proxy | None" = None,
    policy: PolicyFile | None = None,
    beats_required: bool = False,
    families: Families | None = None,
    metrics_token: Secret | None = None,
) -> ToolServer:
    """A server with its tools; with a proxy those that it maps. Raises FileProblem for a mapping that does not fit."""
    server = ToolServer(
        name,
        robot,
        site,
        state_dir=state_dir,
        verifier=verifier,
        actions=actions(robot.file) if actions else (),
        instructions=instructions,
        proxy=proxy,
        policy=policy,
        beats_required=beats_required,
        families=families,
        metrics_token=metrics_token,
    )
    register(server)
    if proxy is not None and (missing := proxy.check()):
        log.warning(
            "agents need tools that the mapping does not cover: %s; add them under tools, or under own to have them "
            "served over rosbridge",
            ", ".join(missing),
        )
    return server


def _known_robots(settings: ServerSettings) -> list[tuple[RobotFiles, Known]]:
    """Each robot's files, and what they say. Raises StartProblem, FileProblem."""
    files = settings.files()
    if settings.upstreams_file is not None and len(files) > 1:
        raise StartProblem(
            f"QUARTET_UPSTREAMS_FILE is for one robot, QUARTET_ROBOTS has {len(files)}: {', '.join(sorted(files))}. "
            "Start one process for each robot whose work third-party servers do"
        )
    if "" in files:
        one = files[""]
        return [(one, Known(load_robot(one.robot_file), load_site(one.site_file)))]
    return [(files[name], one) for name, one in load_robots(files, files, None, None).items()]


def site_policy(files: RobotFiles, site: SiteFile, robot: RobotFile) -> PolicyFile:
    """The policy file of the settings, or the policy.yaml beside the site file, or the defaults. Raises FileProblem."""
    beside = files.site_file.with_name("policy.yaml")
    if files.policy_file is None and not beside.is_file():
        return PolicyFile()
    return load_policy(files.policy_file or beside, site, robot)


def with_heartbeat_timeout(file: RobotFile, timeout_s: float | None) -> RobotFile:
    """The robot file with `timeout_s`, where given, in place of both time-outs of its heartbeats."""
    if timeout_s is None:
        return file
    limits = file.heartbeat.model_copy(update={"caller_timeout_s": timeout_s, "guard_timeout_s": timeout_s})
    return file.model_copy(update={"heartbeat": limits})


def open_proxy(file: Path, urls: dict[str, str]) -> "Proxy":
    """The upstreams of a mapping file; `urls` are instead of the file's. Raises FileProblem."""
    # Here, because a client of MCP servers is slow to import and most servers need none.
    from quartet_tool_server.upstream import Proxy, load_mapping

    return Proxy(load_mapping(file).with_urls(urls))


def _settings() -> ServerSettings:
    try:
        settings = ServerSettings()
    except ValidationError as error:
        faults = "; ".join(
            f"QUARTET_{str(fault['loc'][0]).upper()}: {fault['msg']}"
            + ("" if fault["type"] == "missing" else f" (got {fault['input']!r})")
            for fault in error.errors(include_url=False)
        )
        raise StartProblem(f"settings cannot be used: {faults}. Set them in the environment.") from error
    except SettingsError as error:
        raise StartProblem(f"settings cannot be used: {error}: {error.__cause__}. QUARTET_ROBOTS is JSON") from error
    if not settings.files():
        faults = "; ".join(
            f"QUARTET_{name.upper()}: Field required"
            for name in ("robot_file", "site_file")
            if getattr(settings, name) is None
        )
        raise StartProblem(
            f"settings cannot be used: {faults}. Set them in the environment, or QUARTET_ROBOTS for several robots"
        )
    return settings


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, so that asyncio turns off Nagle on accepted connections: 45 ms a call otherwise.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise StartProblem(
            f"cannot listen on {host}:{port}: {error.strerror or error}; free the port or set QUARTET_PORT to another "
            "one (0 takes a free one)"
        ) from error
    return listening


async def _announce(
    http: uvicorn.Server, serving: "asyncio.Task[None]", listening: socket.socket, settings: ServerSettings
) -> None:
    while not http.started:
        if serving.done():
            await serving
            raise StartProblem("the HTTP server ended before it listened; its log says why")
        await asyncio.sleep(0.005)
    host, port = listening.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.info("listening at %s/mcp", url)
    if settings.ready_file is not None:
        temporary = settings.ready_file.with_name(settings.ready_file.name + ".new")
        temporary.write_text(json.dumps({"url": url}))
        temporary.replace(settings.ready_file)


def _on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
