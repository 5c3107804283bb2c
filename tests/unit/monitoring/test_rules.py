"""Prometheus takes the configuration, and every rule does what it is there for."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml


def rules_of(path: Path) -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]


def check(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_prometheus_takes_configuration_and_rules(promtool: str, deploy: Path) -> None:
    check(promtool, "check", "config", "--syntax-only", deploy / "prometheus/prometheus.yml")
    check(promtool, "check", "rules", *sorted((deploy / "prometheus/rules").glob("*.yml")))


@pytest.mark.slow
def test_the_rules_do_what_their_tests_say(promtool: str, deploy: Path) -> None:
    check(promtool, "test", "rules", *sorted((deploy / "prometheus/tests").glob("*.yml")))


def test_every_alert_is_seen_to_fire_and_seen_to_be_quiet(deploy: Path) -> None:
    cases = yaml.safe_load((deploy / "prometheus/tests/alerts.yml").read_text())["tests"]
    checked = [one for case in cases for one in case["alert_rule_test"]]
    alerts = {rule["alert"] for rule in rules_of(deploy / "prometheus/rules/alerts.yml")}
    assert {one["alertname"] for one in checked if one["exp_alerts"]} == alerts
    assert {one["alertname"] for one in checked if not one["exp_alerts"]} == alerts


def test_every_recorded_figure_has_a_test(deploy: Path) -> None:
    recorded = {rule["record"] for rule in rules_of(deploy / "prometheus/rules/quartet.yml")}
    tests = yaml.safe_load((deploy / "prometheus/tests/records.yml").read_text())["tests"]
    assert {one["expr"] for case in tests for one in case["promql_expr_test"]} == recorded


def test_every_alert_says_what_is_wrong_and_what_to_do(deploy: Path) -> None:
    for rule in rules_of(deploy / "prometheus/rules/alerts.yml"):
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}, rule["alert"]
        assert rule["annotations"].keys() == {"summary", "remedy"}, rule["alert"]
