"""A deployment of Quartet on this machine: its processes, its folder of secrets, and clients of its services."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quartet_deployment._environment import headless_gl
from quartet_deployment._model_check import check_models
from quartet_deployment._orchestrator_client import OrchestratorClient
from quartet_deployment._ports import free_ports, hold_ports
from quartet_deployment._project import project_root, state_folder
from quartet_deployment._run_metrics import run_metrics
from quartet_deployment._sensors import DEFAULT_SENSORS, SensorLevel
from quartet_deployment._state import left_processes, read_description
from quartet_deployment._stop_client import EMERGENCY_STOP, StopClient
from quartet_deployment.errors import (
    ClientError,
    DeploymentError,
    FolderInUseError,
    NotInstalledError,
    OptionError,
    PortTakenError,
    ProcessDiedError,
    ProjectNotFoundError,
    RefusedError,
    SecretsError,
    StackError,
    StartTimeoutError,
    UnreachableError,
)

if TYPE_CHECKING:
    from quartet_bus.access import AGENTS
    from quartet_deployment._grants import sign_grant
    from quartet_deployment._options import StackOptions
    from quartet_deployment._secrets.check import check_secrets
    from quartet_deployment._secrets.folder import SecretsFolder
    from quartet_deployment._secrets.layout import SECRETS, SERVERS
    from quartet_deployment._stack import Stack
    from quartet_deployment._world import is_body, new_world, resume_of, robot_folder, run_worlds

__all__ = [
    "AGENTS",
    "DEFAULT_SENSORS",
    "EMERGENCY_STOP",
    "SECRETS",
    "SERVERS",
    "ClientError",
    "DeploymentError",
    "FolderInUseError",
    "NotInstalledError",
    "OptionError",
    "OrchestratorClient",
    "PortTakenError",
    "ProcessDiedError",
    "ProjectNotFoundError",
    "RefusedError",
    "SecretsError",
    "SecretsFolder",
    "SensorLevel",
    "Stack",
    "StackError",
    "StackOptions",
    "StartTimeoutError",
    "StopClient",
    "UnreachableError",
    "check_models",
    "check_secrets",
    "free_ports",
    "headless_gl",
    "hold_ports",
    "is_body",
    "left_processes",
    "new_world",
    "project_root",
    "read_description",
    "resume_of",
    "robot_folder",
    "run_metrics",
    "run_worlds",
    "sign_grant",
    "state_folder",
]

_ON_DEMAND = {
    "AGENTS": "quartet_bus.access",
    "SECRETS": "quartet_deployment._secrets.layout",
    "SERVERS": "quartet_deployment._secrets.layout",
    "SecretsFolder": "quartet_deployment._secrets.folder",
    "Stack": "quartet_deployment._stack",
    "StackOptions": "quartet_deployment._options",
    "check_secrets": "quartet_deployment._secrets.check",
    "is_body": "quartet_deployment._world",
    "new_world": "quartet_deployment._world",
    "resume_of": "quartet_deployment._world",
    "robot_folder": "quartet_deployment._world",
    "run_worlds": "quartet_deployment._world",
    "sign_grant": "quartet_deployment._grants",
}
"""Names whose modules bring Redis, cryptography and YAML, which a client of the services does without."""


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_ON_DEMAND[name]), name)
