"""The overlay for a robot: its side is on the host's network, where the simulation plays it here."""

import json
import os
from collections.abc import Iterator

import pytest
import yaml

from quartet_deployment import hold_ports

from .conftest import deployed, free_ports
from .deployment import ROOT, SERVERS, TAG, Deployment

OVERLAY = ROOT / "deploy" / "compose.robot.yml"
NEEDED = {"ROBOT_DIR": str(ROOT / "deploy" / "sites" / "home"), "QUARTET_ROBOT": "summit"}
LEFT_OUT = ("approach", "pick", "place", "gateway", "prometheus", "grafana", "redis-exporter", "cli")
"""Not needed to see that robot and servers find each other."""

PRESS = """
import urllib.request as u
token = open("/secrets/stop_token").read().split()[0]
headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
print(u.urlopen(u.Request("http://127.0.0.1:8010/stop", b"{}", headers), timeout=30).read().decode())
"""


@pytest.fixture(scope="module")
def on_a_robot(images: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("robot")
    ports = bridge, guard, scoring = free_ports(3)
    played = folder / "played.yml"
    simulation = f"""
services:
  ros2:
    image: quartet-simulation:{TAG}
    build: !reset null
    entrypoint: !reset null
    command: !override [--host, 0.0.0.0, --port, "{bridge}", --guard-port, "{guard}", --scoring-port, "{scoring}"]
    environment: {{HEALTH: "127.0.0.1:{guard}/state", QUARTET_SECRETS_DIR: /run/quartet}}
"""
    unused = "".join(f"  {service}: !reset null\n" for service in LEFT_OUT)
    played.write_text(simulation + unused)
    urls = {"QUARTET_ROSBRIDGE_URL": f"ws://127.0.0.1:{bridge}", "QUARTET_GUARD_URL": f"http://robot:{guard}"}
    settings = {**NEEDED, **urls, "QUARTET_HEARTBEAT_TIMEOUT_S": "5"}
    # Minutes may pass until the simulation binds its ports on the host.
    with (
        hold_ports(ports),
        deployed(f"quartet-test-robot-{os.getpid()}", folder, OVERLAY, played, **settings) as started,
    ):
        yield started


def test_without_its_settings_it_says_what_is_missing(images: None) -> None:
    files = (ROOT / "docker-compose.yml", OVERLAY)
    told = Deployment(f"quartet-test-bare-{os.getpid()}", {"QUARTET_ROBOT": "summit"}, files)
    with pytest.raises(AssertionError, match=r"robot\.yaml, site\.yaml, guard\.yaml and map\.yaml"):
        told.compose("config")


def test_simulation_and_scripted_model_are_not_part_of_it(images: None) -> None:
    real = Deployment(f"quartet-test-config-{os.getpid()}", NEEDED, (ROOT / "docker-compose.yml", OVERLAY))
    told = yaml.safe_load(real.compose("config"))
    assert not {"simulation", "scripted-model"} & told["services"].keys()
    ros2 = told["services"]["ros2"]
    assert ros2["network_mode"] == "host"
    assert ros2["build"]["dockerfile"] == "deploy/ros2/Dockerfile"
    proxy = told["services"]["bridge-proxy"]
    assert (proxy["network_mode"], proxy["environment"]["QUARTET_HOST"]) == ("host", "robot")
    for server in SERVERS:
        environment = told["services"][server]["environment"]
        assert environment["QUARTET_BRIDGE_URL"] == "ws://robot:9092", "the bridge proxy"
        assert environment["QUARTET_HEARTBEAT_TIMEOUT_S"] == "", "as robot.yaml says"


def test_servers_reach_the_robot_on_the_host_through_the_bridge_proxy(on_a_robot: Deployment) -> None:
    with on_a_robot.api() as api:
        pose = api.get("/robots/summit/pose")
    assert pose.status_code == 200, pose.text


def test_stop_reaches_its_guard(on_a_robot: Deployment) -> None:
    told = json.loads(on_a_robot.execute("stop", "python", "-c", PRESS))
    assert told["stopped"] is True, told
    assert told["robots"]["summit"]["latched"] is True, told
