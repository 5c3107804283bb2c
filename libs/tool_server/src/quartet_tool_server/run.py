"""Start of a tool server process: settings, files, keys, servers."""

import asyncio
import difflib
import functools
import logging
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from quartet_contracts import GrantClaims
from quartet_process import (
    BACKGROUND,
    MIN_TOKEN_LENGTH,
    Secret,
    load_settings,
    metrics_secret,
    run_process,
    token_source,
    write_ready_file,
)
from quartet_process.serving import HttpServer, listen
from quartet_process.signatures import read_keys
from quartet_robot_link import Robot
from quartet_safety.motion import FenceError
from quartet_site import (
    PolicyFile,
    RobotFile,
    RobotFiles,
    RobotSetup,
    SiteFile,
    SiteFileError,
    load_policy,
    load_robot,
    load_robots,
    load_site,
)
from quartet_tool_server._grants import GrantVerifier, caller
from quartet_tool_server._safety_controller import SafetyController
from quartet_tool_server._server import ServerSpec, ToolServer
from quartet_tool_server.errors import StartError, ToolServerError
from quartet_tool_server.hosting import host
from quartet_tool_server.metrics import Families
from quartet_tool_server.settings import ServerSettings

if TYPE_CHECKING:
    from quartet_tool_server.upstream import UpstreamMapping

log = logging.getLogger(__name__)


def run(spec: ServerSpec) -> None:
    """Serve until SIGTERM or SIGINT, and end the process: with status 2 when it cannot start."""
    expected = (ToolServerError, SiteFileError, FenceError)
    sys.exit(run_process(spec.name, _settings, functools.partial(_serve, spec), expected))


async def _serve(spec: ServerSpec, settings: ServerSettings, stop: asyncio.Event) -> None:
    known = _known_robots(settings)
    keys = read_keys(settings)
    stop_keys = () if settings.secret("stop_public_key") is None else read_keys(settings, "stop_public_key")
    metrics_token = metrics_secret(settings, settings.host)
    bridge_token = token_source(settings.secret("bridge_token", least=MIN_TOKEN_LENGTH))
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(listen(settings.host, settings.port))
        mapping = upstream_mapping(settings.upstreams_file, settings.upstream_urls)
        servers: dict[str, ToolServer] = {}
        families = Families()
        for files, one in known:
            policy = site_policy(files, one.site, one.robot)
            robot_file = with_heartbeat_timeout(one.robot, settings.heartbeat_timeout_s)
            robot = await Robot.open(robot_file, url=files.bridge_url, token=bridge_token)
            stack.push_async_callback(robot.close)
            server = servers[robot_file.name] = make_server(
                spec,
                robot,
                one.site,
                settings.state_dir,
                GrantVerifier(robot_file.name, keys, stop_keys),
                mapping=mapping,
                policy=policy,
                beats_required=settings.require_beats,
                families=families,
                metrics_token=metrics_token,
            )
            if server.upstream is not None:
                stack.push_async_callback(server.upstream.close)
                surveying = BACKGROUND.start("upstream-survey", server.upstream.survey)
                stack.callback(surveying.cancel)
        async with HttpServer(host(servers, settings.allowed_hosts), listener) as http:
            log.info("listening at %s/mcp", http.url)
            write_ready_file(settings.ready_file, {"url": http.url})
            try:
                await http.serve_until(stop)
            finally:
                leases = [server.leases for server in servers.values()]
                await asyncio.gather(*(one.cancel("the server is shutting down") for one in leases))


def make_server(
    spec: ServerSpec,
    robot: Robot,
    site: SiteFile,
    state_dir: Path,
    verifier: GrantVerifier | None,
    *,
    caller: Callable[[], GrantClaims | None] = caller,
    mapping: "UpstreamMapping | None" = None,
    policy: PolicyFile | None = None,
    beats_required: bool = False,
    families: Families | None = None,
    metrics_token: Secret | None = None,
) -> ToolServer:
    """Make a server with its safety controller; with a `mapping` third-party servers do the work of some of its tools.

    Without a `policy` the defaults of its file hold. Raises FenceError, and SiteFileError for a mapping that does not
    fit.
    """
    actions = spec.actions(robot.file, site)
    safety = SafetyController(spec.name, robot, state_dir, actions=actions, beats_required=beats_required)
    upstream = None
    if mapping is not None:
        # Here, because a client of MCP servers is slow to import and most servers need none.
        from quartet_tool_server.upstream import Proxy

        upstream = Proxy(mapping, spec.name, robot, site, safety, canceled_code=spec.canceled_code)
    return ToolServer(
        spec,
        robot,
        site,
        safety,
        policy=policy or PolicyFile(),
        verifier=verifier,
        caller=caller,
        upstream=upstream,
        families=families,
        metrics_token=metrics_token,
    )


def _known_robots(settings: ServerSettings) -> list[tuple[RobotFiles, RobotSetup]]:
    """Each robot's files, and what they say. Raises StartError, SiteFileError."""
    files = settings.files()
    if settings.upstreams_file is not None and len(files) > 1:
        raise StartError(
            f"QUARTET_UPSTREAMS_FILE is for one robot, QUARTET_ROBOTS has {len(files)}: {', '.join(sorted(files))}. "
            "Start one process for each robot whose work third-party servers do"
        )
    if "" in files:
        one = files[""]
        return [(one, RobotSetup(load_robot(one.robot_file), load_site(one.site_file)))]
    return [(files[name], one) for name, one in load_robots(files, files, None, None).items()]


def site_policy(files: RobotFiles, site: SiteFile, robot: RobotFile) -> PolicyFile:
    """Return the policy of the settings' file, or of the policy.yaml beside the site file, or the defaults.

    Raises SiteFileError, also for a file beside the site file whose name is nearly policy.yaml.
    """
    beside = files.site_file.with_name("policy.yaml")
    if files.policy_file is None and not beside.is_file():
        if near := _nearly(beside):
            raise SiteFileError(
                f"{near} is not read: the name of a policy file is policy.yaml; rename it, or name it in "
                "QUARTET_POLICY_FILE"
            )
        return PolicyFile()
    return load_policy(files.policy_file or beside, site, robot)


def _nearly(path: Path) -> Path | None:
    """A file in the folder of `path` whose name is a misspelling of its name."""
    names = (
        {file.name.lower(): file for file in path.parent.iterdir() if file.is_file()} if path.parent.is_dir() else {}
    )
    found = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return names[found[0]] if found else None


def with_heartbeat_timeout(file: RobotFile, timeout_s: float | None) -> RobotFile:
    """The robot file with `timeout_s`, where given, in place of both time-outs of its heartbeats."""
    if timeout_s is None:
        return file
    limits = file.heartbeat.model_copy(update={"caller_timeout_s": timeout_s, "guard_timeout_s": timeout_s})
    return file.model_copy(update={"heartbeat": limits})


def upstream_mapping(file: Path | None, urls: dict[str, str]) -> "UpstreamMapping | None":
    """Return the mapping file's content; `urls` replace those of the file. Raises SiteFileError."""
    if file is None:
        return None
    from quartet_tool_server.upstream import load_mapping

    return load_mapping(file).with_urls(urls)


_ROBOTS = '{"summit": {"robot_file": "summit/robot.yaml", "site_file": "summit/site.yaml"}}'


def _settings() -> ServerSettings:
    settings = load_settings(ServerSettings, {"robots": _ROBOTS})
    if not settings.files():
        faults = "; ".join(
            f"QUARTET_{name.upper()}: Field required"
            for name in ("robot_file", "site_file")
            if getattr(settings, name) is None
        )
        raise StartError(
            f"settings cannot be used: {faults}. Set them in the environment, or QUARTET_ROBOTS for several robots"
        )
    return settings
