"""All secrets, and which process has which of them in its folder: only what it needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from quartet_bus.access import ADMIN, AGENTS, EXPORTER, ORCHESTRATOR
from quartet_contracts import MODEL_SKILLS

SERVERS = ("nav2", "moveit", "perception", "ros")
BRIDGE_PROXY = "bridge_proxy"
PROCESSES = (ORCHESTRATOR, *AGENTS, *SERVERS, "gateway", "scripted_model", "stop", "simulation")
ASKERS = (ORCHESTRATOR, *MODEL_SKILLS, "perception")
"""Processes that call the gateway."""
USERS_FILE = Path("redis", "users.acl")


@dataclass(frozen=True)
class Token:
    """Random text; files in `accepts` have all values in use, those in `presents` only the newest."""

    accepts: tuple[Path, ...]
    presents: tuple[Path, ...]
    owner: str = ""
    """Name of the caller in the journal."""


@dataclass(frozen=True)
class Pair:
    """Ed25519 pair (PEM): one process signs with the newest private key, others check with every public key in use."""

    private: Path
    public: tuple[Path, ...]


@dataclass(frozen=True)
class Password:
    """Password of a user of Redis, whose ACL file has the digests of all passwords in use."""

    role: str
    presents: Path


Item = Token | Pair | Password


def _each(processes: tuple[str, ...], file: str) -> tuple[Path, ...]:
    return tuple(Path(process, file) for process in processes)


def _one(accepts: str, presents: str, file: str, owner: str = "") -> list[Item]:
    return [Token((Path(accepts, file),), (Path(presents, file),), owner)]


SECRETS: dict[str, list[Item]] = {
    "api_token": _one(ORCHESTRATOR, "cli", "api_token", owner="cli"),
    "assistant_token": _one(ORCHESTRATOR, "cli", "assistant_token"),
    "stop_token": _one("stop", "cli", "stop_token"),
    "stop_button_token": _one("stop", ORCHESTRATOR, "stop_button_token"),
    "guard_token": _one("simulation", "stop", "guard_token"),
    "bridge_token": [Token((Path(BRIDGE_PROXY, "bridge_token"),), _each(SERVERS, "bridge_token"))],
    "metrics_token": [Token(_each(PROCESSES, "metrics_token"), (Path("prometheus", "metrics_token"),))],
    "gateway_key": [Token((Path("gateway", f"gateway_key_{who}"),), (Path(who, "gateway_key"),)) for who in ASKERS],
    "redis_password": [Password(role, Path(role, "redis_password")) for role in (ORCHESTRATOR, *AGENTS, EXPORTER)],
    "redis_admin_password": [Password(ADMIN, Path("redis", "admin_password"))],
    "grant_key": [Pair(Path(ORCHESTRATOR, "grant_private_key"), _each((*SERVERS, "gateway"), "grant_public_key"))],
    "stop_key": [Pair(Path("stop", "stop_private_key"), _each(SERVERS, "stop_public_key"))],
}
"""Secrets by the name that `quartet secrets rotate` takes."""


def files_of(item: Item) -> tuple[Path, ...]:
    """Return every file of one secret, the accepting ones first."""
    if isinstance(item, Token):
        return (*item.accepts, *item.presents)
    if isinstance(item, Pair):
        return (*item.public, item.private)
    return (USERS_FILE, item.presents)


def all_files() -> Iterator[Path]:
    """Yield the path of every file below the folder of secrets."""
    for items in SECRETS.values():
        for item in items:
            yield from files_of(item)
