"""The dashboards in the repository are those that the generator makes, and Grafana finds what they need."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

SOURCE = {"type": "prometheus", "uid": "quartet-prometheus"}
BOARDS = ("agent", "bus", "fleet", "models", "safety", "simulation", "task")


@pytest.fixture(scope="module")
def boards(deploy: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text()) for path in (deploy / "grafana/dashboards").glob("*.json")}


def test_the_repository_has_what_the_generator_makes(deploy: Path, tmp_path: Path) -> None:
    command = [sys.executable, deploy / "grafana/generate", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_text() for path in (deploy / "grafana/dashboards").iterdir()}
    assert sorted(made) == [f"{name}.json" for name in BOARDS]
    assert made == kept, "make them anew: .venv/bin/python deploy/grafana/generate"


@pytest.mark.parametrize("name", BOARDS)
def test_a_panel_has_a_title_a_place_and_a_query_to_the_provisioned_source(
    name: str, boards: dict[str, dict[str, Any]]
) -> None:
    board = boards[name]
    assert board["uid"] == f"quartet-{name}"
    panels = board["panels"]
    assert len({panel["title"] for panel in panels}) == len(panels) >= 10
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        assert panel["datasource"] == SOURCE
        assert panel["targets"], panel["title"]
        assert all(target["expr"] and target["datasource"] == SOURCE for target in panel["targets"]), panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, f"{panel['title']} lies on another panel"
        taken |= cells


def test_what_is_provisioned_is_what_the_dashboards_ask_for(deploy: Path) -> None:
    provisioning = deploy / "grafana/provisioning"
    (source,) = yaml.safe_load((provisioning / "datasources/quartet.yml").read_text())["datasources"]
    assert {"type": source["type"], "uid": source["uid"]} == SOURCE
    (provider,) = yaml.safe_load((provisioning / "dashboards/quartet.yml").read_text())["providers"]
    services = yaml.safe_load((deploy.parent / "docker-compose.yml").read_text())["services"]
    places = {volume.split(":")[1]: volume.split(":")[0] for volume in services["grafana"]["volumes"]}
    assert places[provider["options"]["path"]] == "./deploy/grafana/dashboards"
    assert places["/etc/grafana/provisioning"] == "./deploy/grafana/provisioning"
    assert source["url"] == "http://prometheus:9090"
    assert "prometheus" in services


def test_prometheus_reads_every_process_that_compose_starts(deploy: Path) -> None:
    services = yaml.safe_load((deploy.parent / "docker-compose.yml").read_text())["services"]
    jobs = yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    asked: dict[str, int] = {}
    for job in jobs:
        for one in job.get("static_configs", ()):
            for target in one["targets"]:
                asked[target.split(":")[0]] = int(target.split(":")[1])
        for one in job.get("dns_sd_configs", ()):
            asked |= dict.fromkeys(one["names"], one["port"])
    asked.pop("localhost")
    assert asked.keys() <= services.keys()
    ours = {
        "orchestrator",
        "approach",
        "pick",
        "place",
        "executor",
        "gateway",
        "moveit",
        "nav2",
        "perception",
        "ros",
        "stop",
    }
    ours |= {"simulation", "scripted-model"}
    assert asked.keys() == ours | {"redis-exporter"}
    reader = set(services["prometheus"]["networks"])
    for name in ours:
        environment = services[name]["environment"]
        port = environment.get("QUARTET_SIMULATION_METRICS_PORT") or environment["QUARTET_PORT"]
        assert int(port) == asked[name], name
        assert reader & set(services[name]["networks"]), f"Prometheus cannot reach {name}"


def test_the_tracing_overlay_reaches_every_process_that_makes_spans(deploy: Path) -> None:
    services = yaml.safe_load((deploy.parent / "docker-compose.yml").read_text())["services"]
    overlay = yaml.safe_load((deploy / "compose.tracing.yml").read_text())
    assert overlay["services"].keys() <= services.keys()
    jobs = yaml.safe_load((deploy / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    silent = {"redis", "prometheus", "simulation", "scripted-model"}
    assert overlay["services"].keys() == {job["job_name"] for job in jobs} - silent
    for name, service in overlay["services"].items():
        assert service["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"].startswith("${OTEL_EXPORTER_OTLP_ENDPOINT:?"), name
        (argument,) = service["build"]["args"]
        assert f"ARG {argument}=" in (deploy / "images/quartet.Dockerfile").read_text()
    assert overlay["networks"]["tracing"] == {"internal": True}
