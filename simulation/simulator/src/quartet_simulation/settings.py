"""Settings of the simulation process, from the command line or QUARTET_SIMULATION_* variables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from quartet_simulation.bridge.faults import FAULTS

Port = Annotated[int, Field(ge=0, le=65535)]


class Settings(BaseSettings):
    """What the process is told at its start; the defaults are those of a local run."""

    model_config = SettingsConfigDict(env_prefix="QUARTET_SIMULATION_", extra="forbid")

    world: str = "home"
    seed: Annotated[int, Field(ge=0)] = 0
    scenario: str | None = None
    host: str = "127.0.0.1"
    port: Port = 9090
    """rosbridge; 0 takes a free port."""
    scoring_port: Port = 0
    """Ground truth for benchmarks; 0 takes a free port."""
    realtime: bool = False
    """World time follows the wall clock instead of running only while something moves."""
    faults: Annotated[frozenset[str], NoDecode] = frozenset()
    ready_file: Path | None = None
    """The line with the chosen ports is also written here."""
    max_message_size: Annotated[int, Field(ge=1024)] = 10_000_000
    """Larger frames are sent in fragments [characters]; the value of rosbridge's launch file."""
    check_messages: bool = False
    """Compare every outgoing message with its definition: for tests."""
    log_level: str = "INFO"

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
