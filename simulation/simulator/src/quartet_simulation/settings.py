"""Settings of the simulation process, from the command line or QUARTET_SIMULATION_* variables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from quartet_process import MIN_TOKEN_LENGTH, LogFormat, Secret, find_secret, require_credential
from quartet_simulation.faults import FAULTS
from quartet_simulation.robot import MOST_ROBOTS
from quartet_simulation.sensors.levels import DEFAULT_LEVEL, LevelName

HEARTBEAT_TIMEOUT_S = 0.4
FAST_HEARTBEAT_TIMEOUT_S = 5.0
Port = Annotated[int, Field(ge=0, le=65535)]
Namespace = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
T = TypeVar("T")
Ports = Annotated[tuple[Port, ...], NoDecode, Field(min_length=1)]


class Settings(BaseSettings):
    """What the process is told at its start; the defaults are those of a local run."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_SIMULATION_", extra="forbid", env_ignore_empty=True)

    world: str = "home"
    seed: Annotated[int, Field(ge=0)] = 0
    scenario: str | None = None
    sensors: LevelName = DEFAULT_LEVEL
    """How far the sensors are from perfect, see sensors/levels.py."""
    robot_file: Annotated[tuple[Path, ...], NoDecode, Field(max_length=MOST_ROBOTS)] = ()
    """robot.yaml of each robot, whose part `simulation` says how it is built; one is for all. (): that of the home."""
    host: str = "127.0.0.1"
    robots: Annotated[int, Field(ge=1, le=MOST_ROBOTS)] = 1
    """Robots in the same world, each with a rosbridge and a guard of its own; several files or arms say how many."""
    arms: Annotated[tuple[str, ...], NoDecode] = ()
    """Kind of each robot of the world tabletop: ur5 or panda; (): Pandas."""
    namespaces: Annotated[tuple[Namespace, ...], NoDecode] = ()
    """One for each robot, such as ada: they share one ROS graph and one rosbridge, in which the names of each are below
    its own, such as /ada/scan. None: each robot has a rosbridge of its own, all with the same names."""
    port: Ports = (9090,)
    """rosbridge of each robot; of several the next ones count on from one port. 0 takes a free port."""
    scoring_port: Port = 0
    """Ground truth for benchmarks; 0 takes a free port."""
    scoring_host: str = "127.0.0.1"
    """Where that listens: whoever reaches it sees all and may change all, so it is this machine alone."""
    metrics_port: Port = 0
    """/metrics; 0 takes a free port."""
    metrics_token: SecretStr | None = Field(
        None, validation_alias=AliasChoices("metrics_token", "QUARTET_METRICS_TOKEN")
    )
    """Bearer token that /metrics asks for."""
    metrics_token_file: Path | None = Field(
        None, validation_alias=AliasChoices("metrics_token_file", "QUARTET_METRICS_TOKEN_FILE")
    )
    guard_port: Ports = (0,)
    """The HTTP port of each robot's guard, in the same way."""
    guard_token: SecretStr | None = Field(None, validation_alias=AliasChoices("guard_token", "QUARTET_GUARD_TOKEN"))
    """Bearer token that the guard's port asks for."""
    guard_token_file: Path | None = Field(
        None, validation_alias=AliasChoices("guard_token_file", "QUARTET_GUARD_TOKEN_FILE")
    )
    secrets_dir: Path | None = Field(None, validation_alias=AliasChoices("secrets_dir", "QUARTET_SECRETS_DIR"))
    """Folder with the files guard_token and metrics_token."""
    guard_file: Path | None = None
    """Where a stop is kept across restarts."""
    heartbeat_timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Wall time without a heartbeat after which the guard ends a motion [s]; None: 0.4 in real time, else 5, since
    the fast simulation takes all that a machine has."""
    realtime: bool = False
    """World time follows the wall clock instead of running only while something moves."""
    realtime_thinking: bool = False
    """While one of several robots moves and another is between two of its goals, world time follows the wall clock."""
    faults: Annotated[frozenset[str], NoDecode] = frozenset()
    ready_file: Path | None = None
    """The line with the chosen ports is also written here."""
    max_message_size: Annotated[int, Field(ge=1024)] = 10_000_000
    """Larger frames are sent in fragments [characters]; the value of rosbridge's launch file."""
    check_messages: bool = False
    """Compare every outgoing message with its definition: for tests."""
    log_format: LogFormat = Field("auto", validation_alias="QUARTET_LOG_FORMAT")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @property
    def heartbeat_timeout_s(self) -> float:
        """Silence after which the guard ends a motion [s of wall time]."""
        return self.heartbeat_timeout or (HEARTBEAT_TIMEOUT_S if self.realtime else FAST_HEARTBEAT_TIMEOUT_S)

    def for_each(self, given: Sequence[T]) -> list[T]:
        """Return what each robot has, of what one or each of them was given."""
        return list(given) * (self.robots if len(given) == 1 else 1)

    def guard_secret(self) -> Secret | None:
        """What the guard's port asks for. Raises SecretError, also for a port open to others."""
        secret = find_secret(self, "guard_token")
        require_credential(self.host, secret, "guard_token", what="the guard's port")
        return secret

    def metrics_secret(self) -> Secret | None:
        """What /metrics asks for. Raises SecretError, also for a port open to others."""
        secret = find_secret(self, "metrics_token", least=MIN_TOKEN_LENGTH)
        require_credential(self.host, secret, "metrics_token", what="/metrics")
        return secret

    @field_validator("port", "guard_port", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else (value,) if isinstance(value, int) else value

    @field_validator("namespaces", "arms", "robot_file", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _count(self) -> Self:
        for name in ("robot_file", "arms"):
            given: tuple[object, ...] = getattr(self, name)
            if len(given) > 1 and self.robots not in (1, len(given)):
                raise ValueError(f"{name} names {len(given)} robots, not {self.robots}; leave robots out")
            self.robots = max(self.robots, len(given))
        return self

    @model_validator(mode="after")
    def _a_port_for_each(self) -> Self:
        if self.namespaces:
            if len({*self.namespaces}) != self.robots:
                raise ValueError(f"{self.robots} robots cannot have the namespaces {', '.join(self.namespaces)}")
            if len(self.port) != 1:
                raise ValueError("robots with namespaces share one rosbridge: give one port")
        for name in ("guard_port",) if self.namespaces else ("port", "guard_port"):
            given: tuple[int, ...] = getattr(self, name)
            if len(given) == 1:
                (first,) = given
                setattr(self, name, tuple(first + number if first else 0 for number in range(self.robots)))
            elif len(given) != self.robots:
                raise ValueError(
                    f"{name} has {len(given)} ports for {self.robots} robots; give one for each, or one to count from"
                )
        return self

    @field_validator("faults", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        names = [name.strip() for name in value.split(",")] if isinstance(value, str) else value
        return frozenset(name for name in names if name) if isinstance(names, list) else names

    @field_validator("faults")
    @classmethod
    def _known(cls, value: frozenset[str]) -> frozenset[str]:
        unknown = sorted(value - FAULTS.keys())
        if unknown:
            raise ValueError(f"unknown fault {', '.join(unknown)}; valid: {', '.join(sorted(FAULTS))}")
        return value
