"""What the chart makes where others shall reach it: an Ingress before the page, a PodMonitor for Prometheus."""

import copy

import pytest
import yaml

from .cluster import faults
from .conftest import ROOT

CONTROLLER = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
PROMETHEUS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
PROCESSES = (
    "approach",
    "pick",
    "place",
    "executor",
    "nav2",
    "moveit",
    "perception",
    "ros",
    "gateway",
    "stop",
    "simulation",
)
PAGE = "https://quartet.example.org"
VALUES = {
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "quartet.example.org",
        "annotations": {"cert-manager.io/cluster-issuer": "letsencrypt"},
    },
    "stop": {"url": "https://stop.example.org", "origins": [PAGE]},
    "settings": {
        **{process: {"QUARTET_LOG_LEVEL": "DEBUG"} for process in PROCESSES},
        "scripted-model": {"QUARTET_MISBEHAVE": {"refusal": 0.5}, "QUARTET_MISBEHAVE_HUGE_BYTES": 16777216},
        "orchestrator": {
            "QUARTET_SESSION_S": 0.5,
            "QUARTET_QUESTION_TIMEOUT_S": "60",
            "QUARTET_GATEWAY_URL": "http://mine:4000",
        },
    },
    "access": [CONTROLLER],
    "monitoring": {"access": [PROMETHEUS], "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}}},
}


@pytest.fixture(scope="module")
def published(install):
    return install(VALUES)


def without(*path):
    """VALUES without what is there."""
    values = copy.deepcopy(VALUES)
    inner = values
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return values


def test_as_it_comes_nothing_is_published(default):
    assert default.of("Ingress", "PodMonitor") == []


def test_the_page_is_behind_an_ingress_with_tls_and_the_stop_service_is_not(published):
    assert published.error == ""
    (ingress,) = published.of("Ingress")
    spec = ingress["spec"]
    assert spec["ingressClassName"] == "nginx"
    assert VALUES["ingress"]["annotations"].items() <= ingress["metadata"]["annotations"].items()
    assert spec["tls"] == [{"hosts": ["quartet.example.org"], "secretName": "quartet-page-tls"}]
    (rule,) = spec["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"], path["pathType"]) == ("quartet.example.org", "/", "Prefix")
    backend = path["backend"]["service"]
    service = published.one("Service", backend["name"])
    assert service["spec"]["selector"]["app.kubernetes.io/component"] == "orchestrator"
    assert backend["port"]["name"] in {port["name"] for port in service["spec"]["ports"]}
    policy = published.one("NetworkPolicy", "quartet-orchestrator")
    assert CONTROLLER in policy["spec"]["ingress"][0]["from"], "else the controller does not reach the page"


def test_the_pod_monitor_finds_every_process_and_has_the_token(published):
    (monitor,) = published.of("PodMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    spec = monitor["spec"]
    (endpoint,) = spec["podMetricsEndpoints"]
    asked = {}
    for name, pod in published.pods:
        labels = pod["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items(), name
        (container,) = pod["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        if endpoint["port"] in ports:
            assert ports[endpoint["port"]] == 8000, "which is what monitoring.access opens"
            asked[labels[spec["jobLabel"]]] = name
    configured = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["scrape_configs"]
    assert asked.keys() == {job["job_name"] for job in configured} - {"redis", "prometheus"}, "as the rules call them"
    token = endpoint["authorization"]["credentials"]
    assert token == {"name": "quartet-prometheus", "key": "metrics_token"}
    everybody = published.one("NetworkPolicy", "quartet-nothing")
    assert everybody["spec"]["ingress"][0]["from"] == [PROMETHEUS]
    assert everybody["spec"]["ingress"][0]["ports"] == [{"port": 8000, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (without("ingress", "host"), "/ingress"),
        (VALUES | {"ingress": {"enabled": True, "host": "https://quartet.example.org"}}, "/ingress/host"),
        (without("stop", "url"), "stop button that leads nowhere"),
        (VALUES | {"stop": {"url": "http://stop.example.org", "origins": [PAGE]}}, "begins with https://"),
        (VALUES | {"stop": {"url": PAGE, "origins": [PAGE]}}, "a stop needs a way of its own"),
        (without("stop", "origins"), f"add {PAGE} to stop.origins"),
        (without("access"), "name its namespace in access"),
        (without("monitoring", "access"), "name its namespace in monitoring.access"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_would_not_work_is_refused_with_what_to_do(install, values, words):
    installed = install(values)
    assert words in installed.error
    assert installed.made == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda spec: spec.update(jobLabels="x"), "jobLabels"),
        (lambda spec: spec.pop("selector"), "selector"),
        (lambda spec: spec["podMetricsEndpoints"][0].update(interval="15 s"), "15 s"),
        (lambda spec: spec["podMetricsEndpoints"][0]["authorization"]["credentials"].pop("key"), "key"),
    ],
)
def test_the_stand_in_refuses_what_the_operators_definition_refuses(published, change, words):
    """Else it proves nothing that the cluster took it."""
    (monitor,) = copy.deepcopy(published.of("PodMonitor"))
    assert faults(monitor) is None
    change(monitor["spec"])
    assert words in faults(monitor)


def test_settings_of_ones_own_take_the_place_of_the_chart_s_whatever_their_kind(published):
    seen = set()
    for name, pod in published.pods:
        (container,) = pod["spec"]["containers"]
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        given = [(one["name"], one["value"]) for one in container.get("env", [])]
        assert len(given) == len(dict(given)), f"{name}: a name stands twice, which server-side apply refuses"
        if component in PROCESSES:
            assert given[-1] == ("QUARTET_LOG_LEVEL", "DEBUG"), name
        elif component == "scripted-model":
            assert given[-2:] == [
                ("QUARTET_MISBEHAVE", '{"refusal":0.5}'),
                ("QUARTET_MISBEHAVE_HUGE_BYTES", "16777216"),
            ]
        elif component == "orchestrator":
            assert given[-2:] == [("QUARTET_QUESTION_TIMEOUT_S", "60"), ("QUARTET_SESSION_S", "0.5")]
            assert dict(given)["QUARTET_GATEWAY_URL"] == "http://mine:4000"
        else:
            continue
        seen.add(component)
    assert seen == {*PROCESSES, "scripted-model", "orchestrator"}


def test_the_notes_say_where_the_page_is_and_that_the_stop_needs_its_own_way(published):
    notes = published.outcomes[0]["info"]["notes"]
    assert f"is at {PAGE}; its stop button asks https://stop.example.org" in notes
    assert "port-forward" not in notes
