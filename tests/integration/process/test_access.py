"""No process listens to other machines unless it is told to, and then only with its credential."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quartet_agent_runtime import AgentSettings
from quartet_gateway.settings import Settings as GatewaySettings
from quartet_orchestrator.settings import OrchestratorSettings
from quartet_process import is_loopback
from quartet_scripted_model.settings import Settings as ScriptedModelSettings
from quartet_simulation.settings import Settings as SimulationSettings
from quartet_stop.settings import Settings as StopSettings
from quartet_tool_server.settings import ServerSettings

ROOT = Path(__file__).parents[3]
STUDIO = ROOT / "deploy" / "sites" / "studio"
SETTINGS = (
    AgentSettings,
    GatewaySettings,
    OrchestratorSettings,
    ScriptedModelSettings,
    ServerSettings,
    SimulationSettings,
    StopSettings,
)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda kind: kind.__module__)
def test_every_process_is_on_loopback_by_default(settings: Any) -> None:
    assert is_loopback(settings.model_fields["host"].default)


def test_the_guard_on_a_robot_is_on_loopback_by_default() -> None:
    text = (ROOT / "deploy/ros2/quartet_bringup/config/guard.yaml").read_text()
    hosts = [value for name, value in _leaves(yaml.safe_load(text)) if name == "http_host"]
    assert hosts
    assert all(is_loopback(host) for host in hosts)


def _leaves(value: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key, one in value.items() for leaf in _leaves(one, str(key))]
    return [(name, value)]


def public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


@pytest.mark.parametrize(
    ("module", "missing"),
    [("quartet_nav2", "QUARTET_METRICS_TOKEN"), ("quartet_pick", "QUARTET_METRICS_TOKEN"),
     ("quartet_simulation", "QUARTET_GUARD_TOKEN"), ("quartet_scripted_model", "QUARTET_METRICS_TOKEN")],
)  # fmt: skip
def test_beyond_this_machine_nothing_starts_without_its_credential(
    redis_url: str, tmp_path: Path, module: str, missing: str
) -> None:
    """The orchestrator, the gateway and the stop service have such tests of their own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("QUARTET_")}
    environment = {
        "QUARTET_HOST": "0.0.0.0",
        "QUARTET_SIMULATION_HOST": "0.0.0.0",
        "QUARTET_ROBOT_FILE": str(STUDIO / "robot.yaml"),
        "QUARTET_SITE_FILE": str(STUDIO / "site.yaml"),
        "QUARTET_SERVERS": '{"summit": {"moveit": "http://127.0.0.1:9/mcp"}}',
        "QUARTET_REDIS_URL": redis_url,
        "QUARTET_GRANT_PUBLIC_KEY": public_key(),
        "QUARTET_STATE_DIR": str(tmp_path),
        "QUARTET_SIMULATION_PORT": "0",
    }
    ended = subprocess.run(
        [sys.executable, "-m", module],
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert f"{missing} is not set" in ended.stderr
    assert "not served at 0.0.0.0" in ended.stderr
