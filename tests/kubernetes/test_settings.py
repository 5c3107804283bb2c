"""Every process takes the environment, files and secrets that the chart gives it."""

import os
from pathlib import Path

import pytest

from quartet_agent_runtime import load_settings
from quartet_deployment import AGENTS, SERVERS, SecretsFolder
from quartet_gateway.load import load_file
from quartet_gateway.settings import Settings as GatewaySettings
from quartet_orchestrator.settings import load_orchestrator_settings
from quartet_perception.settings import PerceptionSettings
from quartet_process import MIN_TOKEN_LENGTH
from quartet_simulation.settings import Settings as SimulationSettings
from quartet_site import load_policy, load_robot, load_site
from quartet_stop.settings import load_stop_settings
from quartet_tool_server.settings import ServerSettings

ROBOTS = ("summit", "second", "lab")


@pytest.fixture(scope="module")
def secrets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    SecretsFolder(folder).init()
    return folder


@pytest.fixture
def become(fleet, secrets, tmp_path, monkeypatch):
    """`become(name)`: this process has the environment of that pod, its files under a folder of the test's."""

    def put(name: str) -> dict[str, str]:
        pod = dict(fleet.pods)[f"quartet-{name}"]
        places: dict[str, Path] = {}
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        (container,) = pod["spec"]["containers"]
        for mount in container["volumeMounts"]:
            volume = volumes.get(mount["name"], {})
            folder = tmp_path / name / mount["name"]
            folder.mkdir(parents=True)
            if "secret" in volume:
                folder = secrets / volume["secret"]["secretName"].removeprefix("quartet-").replace("-", "_")
            configs = [source["configMap"] for source in volume.get("projected", {}).get("sources", [])]
            for config in [*configs, *([volume["configMap"]] if "configMap" in volume else [])]:
                data = fleet.one("ConfigMap", config["name"])["data"]
                items = config.get("items") or [{"key": key, "path": key} for key in data]
                for item in items:
                    target = folder / item["path"]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_text(data[item["key"]])
            places[mount["mountPath"]] = folder
        for variable in [name for name in os.environ if name.startswith("QUARTET_")]:
            monkeypatch.delenv(variable)
        given = {"QUARTET_HOST": "0.0.0.0", "QUARTET_PORT": "8000", "QUARTET_STATE_DIR": "/state"}  # the image's
        given |= {entry["name"]: entry["value"] for entry in container["env"]}
        for variable, value in given.items():
            for path, folder in sorted(places.items(), reverse=True):
                value = value.replace(f"{path}/", f"{folder}/") if value != path else str(folder)
            monkeypatch.setenv(variable, value)
        return given

    return put


def test_agents_and_orchestrator(become):
    for name in AGENTS:
        become(name)
        settings = load_settings()
        assert set(settings.known_robots()) == set(ROBOTS)
        assert (settings.secret("gateway_key") is None) == (name == "executor"), "it asks no model"
        assert settings.model_timeout_s == (120 if name == "executor" else 300)
        assert settings.secret("redis_password") is not None
    become("orchestrator")
    settings = load_orchestrator_settings()
    assert set(settings.known_robots()) == set(ROBOTS)
    assert (settings.patience, settings.skill_timeout_s) == (2.5, 1050)
    assert str(settings.stop_url) == "http://quartet-stop:8000"
    for secret in ("api_token", "stop_button_token", "redis_password", "gateway_key", "metrics_token"):
        assert settings.secret(secret, least=MIN_TOKEN_LENGTH) is not None, secret
    assert settings.grant_private_key_file.is_file()


def test_servers(become):
    for robot in ROBOTS:
        for server in SERVERS:
            become(f"{robot}-{server}")
            settings = ServerSettings()
            assert PerceptionSettings().patience == (2.5 if server == "perception" else 1)
            known = load_robot(settings.robot_file)
            assert known.name == robot
            load_policy(settings.site_file.with_name("policy.yaml"), load_site(settings.site_file), known)
            assert settings.grant_public_key_file.is_file()
            assert settings.stop_public_key_file.is_file()
            assert settings.secret("metrics_token", least=MIN_TOKEN_LENGTH) is not None


def test_stop_gateway_and_simulation(become):
    become("stop")
    settings = load_stop_settings()
    assert set(settings.guards) == set(settings.servers) == set(ROBOTS)
    for secret in ("stop_token", "stop_button_token", "guard_token", "stop_private_key"):
        assert settings.secret(secret) is not None, secret
    become("gateway")
    settings = GatewaySettings()
    assert load_file(settings.gateway_file).agents.pick.model == "scripted"
    assert settings.secret("gateway_key_pick") is not None
    assert settings.patience == 2.5
    become("summit-simulation")
    assert SimulationSettings().world == "home"
