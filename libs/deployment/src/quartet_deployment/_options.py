"""What a stack is to be."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from quartet_contracts import Architecture, ResultForm
from quartet_deployment._sensors import DEFAULT_SENSORS
from quartet_deployment.errors import OptionError
from quartet_site import load_robot

GUARD_PORT = 9091
"""HTTP port of the robot guard of deploy/ros2."""


@dataclass(frozen=True)
class StackOptions:
    """Everything that can be chosen; the defaults are those of the demo."""

    state_dir: Path
    """Logs, ready files, keys and Redis' append-only file; kept after the end."""
    fresh: bool = False
    """Forget what an earlier stack left in state_dir."""
    world: str = "home"
    """Name of a folder of deploy/sites, path of a folder with world.yaml, or generated:SEED."""
    kinds: tuple[str, ...] = ()
    """Kind of each robot of a home, or one for all: the name of a folder of deploy/robots or the path of a folder with
    robot.yaml; ur5 or panda at the table. (): the robot of the world."""
    scenario: str | None = None
    """What the world tabletop lays out: TASK or TASK:VARIATION; None: what deploy/sites/tabletop names."""
    seed: int = 0
    """Seed of the first home; the next ones count on from there."""
    robots: int = 1
    """Robots in each home; with several kinds, their number."""
    homes: int = 1
    """Simulated homes side by side, each a process of its own."""
    replicas: int = 0
    """Processes of each agent; 0: one for each robot."""
    architecture: Architecture = Architecture.MULTI
    """Where the policy of the work is."""
    results: ResultForm = ResultForm.TYPED
    """How the orchestrator's model reads what approach, pick and place give back."""
    sensors: str = DEFAULT_SENSORS
    """How far the simulation's sensors are from perfect: clean, typical or harsh."""
    realtime: bool = False
    """The simulation keeps to the wall clock."""
    realtime_thinking: bool = False
    """It does so while one of several robots thinks and another moves."""
    faults: tuple[str, ...] = ()
    """Given to the simulation as --faults."""
    example: str = ""
    """What a person may say there, where the scenario has it."""
    site_dir: Path | None = None
    """Folder with robot.yaml and site.yaml; None: that of the world."""
    guard_url: str | None = None
    """HTTP port of a real robot's guard: no simulation is started, the robot is the one of site_dir's robot.yaml."""
    guard_token_file: Path | None = None
    """File with the token that this guard asks for; None: it asks for none."""
    upstreams_dir: Path | None = None
    """Folder with mapping files <server>.yaml: third-party MCP servers do the work of these servers."""
    orchestrator_port: int = 0
    """TCP port of the orchestrator's HTTP API; 0: a free one."""
    without: frozenset[str] = frozenset()
    """Names of processes that are not started."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """Added to the environment of every process."""
    env_of: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """Added to the environment of single processes, by name."""
    use_dotenv: bool = True
    """Whether .env and the environment may choose models and change settings."""
    start_timeout_s: float = 60.0
    """Time that all processes together have to become ready [s]."""

    def on_robot(self, folder: Path, guard_url: str | None, token_file: Path | None) -> "StackOptions":
        """Return these options for a real robot in place of the simulation.

        `folder` holds its robot.yaml and site.yaml. Without `guard_url` the guard is at GUARD_PORT of the bridge's
        host; without `token_file` the file guard_token of the folder is used where there is one. Raises OptionError for
        a token file that is not there, SiteFileError for a robot file that cannot be used.
        """
        bridge = urlsplit(load_robot(folder / "robot.yaml").bridge.url)
        default = folder / "guard_token"
        if token_file is None and default.is_file():
            token_file = default
        if token_file is not None and not token_file.is_file():
            raise OptionError(f"there is no {token_file}; it holds the token that the guard was started with")
        host = f"[{bridge.hostname}]" if ":" in (bridge.hostname or "") else bridge.hostname
        return replace(
            self,
            site_dir=folder.resolve(),
            guard_url=guard_url or f"http://{host}:{GUARD_PORT}",
            guard_token_file=None if token_file is None else token_file.resolve(),
        )
