"""The processes of a stack with their environments, dependencies first."""

import json
import os
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from quartet_bus.access import ADMIN, AGENTS
from quartet_contracts import MODEL_SKILLS
from quartet_deployment._environment import (
    gateway_environment,
    headless_gl,
    read_dotenv,
    segmenter_environment,
    tunable_environment,
)
from quartet_deployment._models import SCRIPTED, SCRIPTED_URL, models_in_use
from quartet_deployment._options import StackOptions
from quartet_deployment._ports import HOST, free_ports, redis_answers
from quartet_deployment._process import MODULE, ProcessSpec
from quartet_deployment._project import project_root
from quartet_deployment._robots import (
    RobotAt,
    metrics,
    port_names,
    port_of,
    robots_at,
    scoring,
    simulation,
    site_of,
    write_robot_files,
)
from quartet_deployment._secrets.folder import ADMIN_FILE, SecretsFolder
from quartet_deployment._secrets.layout import SERVERS, USERS_FILE
from quartet_deployment._world import OWN_FILES, TABLETOP, site_folder
from quartet_deployment.errors import OptionError
from quartet_site import load_robot, load_site

MODULES = {
    "scripted_model": "quartet_scripted_model",
    "gateway": "quartet_gateway",
    **{server: f"quartet_{server}" for server in SERVERS},
    "stop": "quartet_stop",
    "orchestrator": "quartet_orchestrator",
    **{agent: f"quartet_{agent}" for agent in AGENTS},
}

REDIS_MAXMEMORY = "512mb"
"""As in docker-compose.yml: a flood of messages is refused before it takes the memory of this machine."""
REDIS_LARGEST_VALUE = "16mb"
"""As in docker-compose.yml: a client that sends more is refused."""
REDIS_CLIENTS_MEMORY = "25%"
"""As in docker-compose.yml: beyond this part of maxmemory the client with the largest buffers is cut off."""
FAST_HEARTBEAT_TIMEOUT_S = 5.0
"""Heartbeat time-out while the simulation runs as fast as it can and uses the whole machine [s]."""


@dataclass(frozen=True)
class Addresses:
    """Addresses of all processes."""

    robots: tuple[RobotAt, ...]
    ports: dict[str, int]

    def url(self, name: str) -> str:
        return f"http://{HOST}:{self.ports[name]}"

    @property
    def redis(self) -> str:
        return f"redis://{HOST}:{self.ports['redis']}/0"

    def mcp(self, server: str, robot: str) -> str:
        """Return the MCP endpoint of one server for one robot."""
        return f"{self.url(server)}/mcp" if len(self.robots) == 1 else f"{self.url(server)}/{robot}/mcp"

    def servers(self, without: Collection[str] = ()) -> str:
        """Return the value of QUARTET_SERVERS."""
        return json.dumps(
            {
                robot.name: {server: self.mcp(server, robot.name) for server in SERVERS if server not in without}
                for robot in self.robots
            }
        )


def choose_addresses(options: StackOptions) -> Addresses:
    """Choose ports for everything. Raises OptionError, and SiteFileError for a file that cannot be used."""
    folder = site_folder(options)
    load_site(folder / "site.yaml")
    if options.upstreams_dir is not None and not any(
        (options.upstreams_dir / f"{server}.yaml").is_file() for server in SERVERS
    ):
        raise OptionError(
            f"{options.upstreams_dir} has no mapping file; name one after the server whose work is done elsewhere: "
            f"{', '.join(f'{server}.yaml' for server in SERVERS)}"
        )
    names = ["redis", *port_names(options), *MODULES]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    if options.orchestrator_port:
        ports["orchestrator"] = options.orchestrator_port
    return Addresses(robots_at(options, folder, ports), ports)


def models(options: StackOptions) -> dict[str, list[str]]:
    """Return the model of each agent, followed by its fallbacks."""
    return models_in_use({**_gateway_environment(options), **options.env, **options.env_of.get("gateway", {})})


def specs(options: StackOptions, at: Addresses, secrets: SecretsFolder) -> list[ProcessSpec]:
    """Return what to start, dependencies first."""
    built = [_redis(options, at, secrets)]
    if options.guard_url is None:
        built += [_simulation(options, at, secrets, home) for home in range(options.homes)]
    write_robot_files(at.robots, site_folder(options))
    tunable = tunable_environment(_dotenv(options)) if options.use_dotenv else {}
    for name, module in MODULES.items():
        if name == "scripted_model" and not any(SCRIPTED in chain for chain in models(options).values()):
            continue
        state = options.state_dir / name
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        env = {
            **tunable,
            **_common_environment(options, name),
            "QUARTET_SECRETS_DIR": str(secrets.path(name)),
            "QUARTET_PORT": str(at.ports[name]),
            "QUARTET_STATE_DIR": str(state),
            **_own_environment(options, at, name),
        }
        built.append(
            ProcessSpec(
                name=name,
                argv=[*MODULE, module],
                env={**env, **options.env, **options.env_of.get(name, {})},
                ready_file=_ready_file(options, name),
                forked=True,
            )
        )
    built = [spec for spec in built if spec.name not in options.without]
    built += [
        replica(options, spec, number)
        for spec in built
        if spec.name in MODEL_SKILLS
        for number in _further_replicas(options)
    ]
    return [spec for spec in built if spec.name not in options.without]


def _further_replicas(options: StackOptions) -> range:
    """Return the numbers of each agent's replicas beside the first.

    An agent serves one robot at a time, so each robot gets an agent of its own: none waits for another's. The executor,
    which few tasks need and which is busy for one program at a time, is there once.
    """
    return range(2, (options.replicas or options.robots * options.homes) + 1)


def replica(options: StackOptions, first: ProcessSpec, number: int) -> ProcessSpec:
    """Return one more process like `first`, at a free port."""
    name = f"{first.name}-{number}"
    ready = _ready_file(options, name)
    env = {**first.env, "QUARTET_PORT": "0", "QUARTET_READY_FILE": str(ready)}
    return replace(first, name=name, env={**env, **options.env_of.get(name, {})}, ready_file=ready)


def _common_environment(options: StackOptions, name: str) -> dict[str, str]:
    return {
        "QUARTET_HOST": HOST,
        "QUARTET_READY_FILE": str(_ready_file(options, name)),
        "QUARTET_LOG_FORMAT": "text",
    }


def _ready_file(options: StackOptions, name: str) -> Path:
    return options.state_dir / "ready" / f"{name}.json"


def _own_environment(options: StackOptions, at: Addresses, name: str) -> dict[str, str]:
    """Return the variables that only this process needs."""
    folder = site_folder(options)
    files = _files(at, folder)
    if name == "gateway":
        return {**_gateway_environment(options), SCRIPTED_URL: at.url("scripted_model")}
    if name in SERVERS:
        env = _files(at, folder, bridges=True)
        if not options.realtime and options.guard_url is None:
            env["QUARTET_HEARTBEAT_TIMEOUT_S"] = str(FAST_HEARTBEAT_TIMEOUT_S)
        env |= _upstreams(options, name)
        return {**env, **_segmenter(options, at)} if name == "perception" else env
    if name == "stop":
        token = options.guard_token_file
        return {
            "QUARTET_GUARDS": json.dumps({robot.name: robot.guard for robot in at.robots}),
            "QUARTET_SERVERS": at.servers(options.without),
            **({} if token is None else {"QUARTET_GUARD_TOKEN_FILE": str(token)}),
        }
    if name == "orchestrator" or name in AGENTS:
        own = {
            "QUARTET_STOP_URL": at.url("stop"),
            "QUARTET_PAGE_STOP_URL": at.url("stop"),
            "QUARTET_ARCHITECTURE": options.architecture,
            "QUARTET_RESULTS": options.results,
        }
        return {
            **files,
            **(own if name == "orchestrator" else {}),
            "QUARTET_REDIS_URL": at.redis,
            # The executor asks no model.
            **({} if name == "executor" else {"QUARTET_GATEWAY_URL": at.url("gateway")}),
            "QUARTET_SERVERS": at.servers(),
        }
    return {}


def _files(at: Addresses, folder: Path, *, bridges: bool = False) -> dict[str, str]:
    """Return the variables with the robots' files; with `bridges` also how to reach them, for servers."""
    if len(at.robots) == 1:
        (robot,) = at.robots
        site = str(site_of(robot, folder))
        bridge = {"QUARTET_BRIDGE_URL": robot.bridge} if bridges else {}
        return {"QUARTET_ROBOT_FILE": str(robot.robot_file), "QUARTET_SITE_FILE": site, **bridge}
    robots = {
        robot.name: {
            "robot_file": str(robot.robot_file),
            "site_file": str(site_of(robot, folder)),
            **{f"{own.stem}_file": str(own) for own in map(robot.source.with_name, OWN_FILES) if own.is_file()},
            **({"bridge_url": robot.bridge} if bridges else {}),
        }
        for robot in at.robots
    }
    return {"QUARTET_ROBOTS": json.dumps(robots)}


def _upstreams(options: StackOptions, server: str) -> dict[str, str]:
    """Return the mapping file of a server and the tokens of its upstreams, {} for a server without one."""
    file = None if options.upstreams_dir is None else options.upstreams_dir / f"{server}.yaml"
    if file is None or not file.is_file():
        return {}
    # Here, because few stacks need it and it imports a client of MCP servers.
    from quartet_tool_server.upstream import load_mapping

    tokens = {one.token_env for one in load_mapping(file).upstreams.values() if one.token_env}
    return {"QUARTET_UPSTREAMS_FILE": str(file.resolve()), **{n: os.environ[n] for n in tokens if n in os.environ}}


def _segmenter(options: StackOptions, at: Addresses) -> dict[str, str]:
    """Return the variables of the segmenter, and the gateway to a vision model."""
    return {"QUARTET_GATEWAY_URL": at.url("gateway"), **segmenter_environment(_dotenv(options))}


def _gateway_environment(options: StackOptions) -> dict[str, str]:
    """Return the gateway's file, the model choices and the provider keys."""
    file = {"QUARTET_GATEWAY_FILE": str(project_root() / "deploy" / "gateway.yaml")}
    return {**file, **(gateway_environment(_dotenv(options)) if options.use_dotenv else {})}


def _dotenv(options: StackOptions) -> dict[str, str]:
    return read_dotenv(project_root() / ".env") if options.use_dotenv else {}


def _redis(options: StackOptions, at: Addresses, secrets: SecretsFolder) -> ProcessSpec:
    folder = options.state_dir / "redis"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    port = at.ports["redis"]
    return ProcessSpec(
        name="redis",
        argv=[
            "redis-server",
            *("--port", str(port)),
            *("--bind", HOST),
            *("--dir", str(folder)),
            *("--save", ""),
            *("--appendonly", "yes"),
            # Keeps every acknowledged entry when killed; everysec loses some.
            *("--appendfsync", "always"),
            *("--maxmemory", REDIS_MAXMEMORY),
            *("--maxmemory-policy", "noeviction"),
            *("--proto-max-bulk-len", REDIS_LARGEST_VALUE),
            *("--maxmemory-clients", REDIS_CLIENTS_MEMORY),
            *("--aclfile", str(secrets.root / USERS_FILE)),
        ],
        ready=lambda: redis_answers(port, ADMIN, secrets.text(*ADMIN_FILE)),
    )


def _simulation(options: StackOptions, at: Addresses, secrets: SecretsFolder, home: int) -> ProcessSpec:
    name = simulation(home)
    ready = _ready_file(options, name)
    robots = [robot for robot in at.robots if robot.home == home]
    argv = [
        *MODULE,
        "quartet_simulation",
        *("--world", options.world),
        *(("--scenario", options.scenario) if options.scenario is not None else ()),
        *("--seed", str(options.seed + home)),
        *("--sensors", options.sensors),
        *("--robots", str(len(robots))),
        *("--port", ",".join(str(at.ports[port_of("simulation", robot)]) for robot in robots)),
        *("--scoring-port", str(at.ports[scoring(home)])),
        *("--metrics-port", str(at.ports[metrics(home)])),
        *("--guard-port", ",".join(str(at.ports[port_of("guard", robot)]) for robot in robots)),
        *("--guard-file", str(options.state_dir / ("guard.json" if home == 0 else f"guard-{home + 1}.json"))),
        *("--ready-file", str(ready)),
    ]
    if options.world == TABLETOP and options.kinds:
        argv += ["--arms", ",".join(options.kinds)]
    files = [robot.source for robot in robots]
    if load_robot(files[0]).simulation is not None:
        argv += ["--robot-file", ",".join(map(str, files))]
    if options.realtime:
        argv.append("--realtime")
    if options.realtime_thinking:
        argv.append("--realtime-thinking")
    if options.faults:
        argv += ["--faults", ",".join(options.faults)]
    if not options.realtime:
        argv += ["--heartbeat-timeout", str(FAST_HEARTBEAT_TIMEOUT_S)]
    env = {
        "MUJOCO_GL": headless_gl(),
        "QUARTET_LOG_FORMAT": "text",
        "QUARTET_SECRETS_DIR": str(secrets.path("simulation")),
    }
    return ProcessSpec(name, argv, {**env, **options.env, **options.env_of.get("simulation", {})}, ready_file=ready)
