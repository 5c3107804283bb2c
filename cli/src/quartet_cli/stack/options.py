"""What a stack is to be."""

from dataclasses import dataclass, field
from pathlib import Path

AGENTS = ("approach", "pick", "place")


@dataclass(frozen=True)
class StackOptions:
    """Everything that can be chosen; the defaults are those of the demo."""

    state_dir: Path
    """Logs, ready files, keys and Redis' append-only file; kept after the end."""
    fresh: bool = False
    """Forget what an earlier stack left in state_dir."""
    world: str = "home"
    """Name of a folder of deploy/sites, which is also the simulation's world."""
    seed: int = 0
    """Of the first home; the next ones count on from there."""
    robots: int = 1
    """In each home."""
    homes: int = 1
    """Simulated homes side by side, each a process of its own."""
    replicas: int = 0
    """Processes of each agent; 0: one for each robot."""
    realtime: bool = False
    faults: tuple[str, ...] = ()
    """Given to the simulation as --faults."""
    site_dir: Path | None = None
    """Folder with robot.yaml and site.yaml; None: deploy/sites/<world>."""
    guard_url: str | None = None
    """HTTP port of a real robot's guard: no simulation is started, the robot is the one of site_dir's robot.yaml."""
    guard_token_file: Path | None = None
    """What that guard asks for; None: nothing."""
    upstreams_dir: Path | None = None
    """Folder with mapping files <server>.yaml: third-party MCP servers do the work of these servers."""
    orchestrator_port: int = 0
    """0: a free one."""
    without: frozenset[str] = frozenset()
    """Processes that are not started."""
    env: dict[str, str] = field(default_factory=dict)
    """Added to the environment of every process."""
    env_of: dict[str, dict[str, str]] = field(default_factory=dict)
    """Added to the environment of single processes, by name."""
    use_dotenv: bool = True
    """Whether .env may put another model in the place of the scripted one."""
    start_timeout_s: float = 60.0
