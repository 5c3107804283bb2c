"""Every metric is told in docs/monitoring.md, is one that dashboards and rules mean, and has bounded labels only."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

import quartet_agent_runtime._metrics
import quartet_gateway.metrics
import quartet_orchestrator.metrics  # noqa: F401 registers its metrics
import quartet_scripted_model.metrics
import quartet_simulation.metrics
import quartet_stop.metrics
import quartet_tool_server.metrics
from quartet_process import REGISTRY
from quartet_process.metrics import BUILD, LAG

BOUNDED = {"agent", "attempt", "background_task", "camera", "cause", "code", "error", "kind", "model", "outcome"} | {
    "reason",
    "robot",
    "sender",
    "server",
    "state",
    "stream",
    "target",
    "tool",
}
"""Labels whose values are things of the deployment, or go through LabelValues."""
SUFFIX = re.compile(r"_(total|bucket|sum|count)$")


def families() -> dict[str, set[str]]:
    """Labels by metric, of all processes."""
    registries: list[CollectorRegistry] = [
        REGISTRY,
        quartet_gateway.metrics.Metrics().registry,
        quartet_scripted_model.metrics.Metrics().registry,
        quartet_stop.metrics.Metrics().registry,
        quartet_tool_server.metrics.Families().registry,
    ]
    found = [one for registry in registries for one in registry._collector_to_names]
    collectors = [one for one in found if isinstance(one, MetricWrapperBase)]
    assert len(collectors) == len(found)
    return {one._name: set(one._labelnames) for one in collectors} | {BUILD: set(), LAG: set()}


def names_in(text: str) -> set[str]:
    return {SUFFIX.sub("", name) for name in re.findall(r"\bquartet_[a-z_]+\b", text)}


def test_every_metric_is_in_the_documentation_and_no_other(deploy: Path) -> None:
    told = names_in((deploy.parent / "docs/monitoring.md").read_text())
    assert told == families().keys()


@pytest.mark.parametrize("where", ["grafana/dashboards/*.json", "prometheus/rules/*.yml", "prometheus/tests/*.yml"])
def test_queries_mean_metrics_that_there_are(where: str, deploy: Path) -> None:
    known = families().keys() | {"quartet_robot_"}
    found = list(deploy.glob(where))
    assert found, "else this test proves nothing"
    for path in found:
        text = path.read_text()
        if path.suffix == ".json":
            panels = json.loads(text)["panels"]
            text = " ".join(target["expr"] for panel in panels for target in panel["targets"])
        assert names_in(text) <= known, path


def test_labels_are_bounded() -> None:
    assert {name: labels - BOUNDED for name, labels in families().items() if labels - BOUNDED} == {}


def test_codes_that_a_server_makes_up_do_not_fill_the_metrics() -> None:
    metrics = quartet_tool_server.metrics.Metrics("nav2", "summit")
    for number in range(500):
        metrics.called("spin_robot", f"MADE_UP_{number}", 0.1)
    codes = {
        sample.labels["code"]
        for family in metrics.registry.collect()
        for sample in family.samples
        if "code" in sample.labels
    }
    assert len(codes) < 100
    assert "other" in codes


def test_actions_that_a_client_of_the_bridge_offers_do_not_fill_the_metrics() -> None:
    for number in range(500):
        quartet_simulation.metrics.goal_ended(f"made_up_msgs/action/Kind{number}", "succeeded")
    kinds = {
        sample.labels["kind"] for family in quartet_simulation.metrics.GOALS.collect() for sample in family.samples
    }
    assert len(kinds) < 100
    assert "other" in kinds


@pytest.mark.parametrize(("number", "label"), [(1, "1"), (4, "4"), (5, "5+"), (1000, "5+")])
def test_late_attempts_are_counted_together(number: int, label: str) -> None:
    assert quartet_agent_runtime._metrics.attempt(number) == label
