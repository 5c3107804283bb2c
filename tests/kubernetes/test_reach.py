"""The chart's NetworkPolicies keep the parts apart as the compose file's networks do."""

import json
import re
from urllib.parse import urlsplit

import pytest

from quartet_deployment import AGENTS, SERVERS

from .reach import Outside, Reach, selects

REDIS = {"app": "redis"}
INTERNET, ROBOT, ELSEWHERE = Outside("93.184.216.34"), Outside("192.168.1.10"), Outside("192.168.1.11")


@pytest.fixture(scope="module")
def reach(fleet):
    return Reach(fleet.of("NetworkPolicy"))


@pytest.fixture(scope="module")
def pods(fleet):
    """Labels by name, without the release's."""
    return {name.removeprefix("quartet-"): pod["metadata"]["labels"] for name, pod in fleet.pods}


def test_everybody_reaches_whom_their_environment_names(fleet, reach, pods):
    services = {thing["metadata"]["name"]: thing["spec"]["selector"] for thing in fleet.of("Service")}
    seen = 0
    for name, pod in fleet.pods:
        for entry in pod["spec"]["containers"][0].get("env", []):
            if entry["name"] == "QUARTET_PAGE_STOP_URL":
                continue
            for url in re.findall(r"(?:https?|ws|redis)://[^\"\s]+", entry["value"]):
                address = urlsplit(url)
                if address.hostname in services:
                    (target,) = [
                        other for other in pods.values() if selects({"matchLabels": services[address.hostname]}, other)
                    ]
                else:
                    target = REDIS if address.hostname == "redis" else Outside(address.hostname)
                assert reach.allows(pod["metadata"]["labels"], target, address.port), (name, url)
                seen += 1
    assert seen > 40


def test_nobody_reaches_anybody_else(reach, pods):
    """All pairs that the environments do not name, by what they are."""
    wanted = {
        "orchestrator": {"gateway", *SERVERS, "stop"},
        **{agent: {"gateway", *SERVERS} for agent in AGENTS},
        "executor": {*SERVERS},
        "gateway": {"scripted-model"},
        "stop": set(SERVERS),
        "perception": {"gateway"},
    }
    for name, labels in pods.items():
        for other, target in pods.items():
            kinds = [one["app.kubernetes.io/component"] for one in (labels, target)]
            allowed = kinds[1] in wanted.get(kinds[0], set())
            assert reach.allows(labels, target, 8000) is (allowed and name != other), (name, other)


def test_a_robot_is_reached_by_its_own_servers_alone(reach, pods):
    for robot in ("summit", "second"):
        simulation = pods[f"{robot}-simulation"]
        bridge = {name for name, labels in pods.items() if reach.allows(labels, simulation, 9090)}
        guard = {name for name, labels in pods.items() if reach.allows(labels, simulation, 9091)}
        assert bridge == {f"{robot}-{server}" for server in SERVERS}
        assert guard == {"stop"}
    assert {name for name, labels in pods.items() if reach.allows(labels, ROBOT, 9090)} == {
        "stop",
        *(f"lab-{server}" for server in SERVERS),
    }
    assert not any(reach.allows(labels, ELSEWHERE, 9090) for labels in pods.values())


def test_only_the_gateway_reaches_the_internet(reach, pods):
    # The job that makes the secrets ends before anything runs; it asks the cluster, whose address a chart cannot know.
    assert {name for name, labels in pods.items() if reach.allows(labels, INTERNET, 443)} == {"gateway", "secrets"}
    assert {name for name, labels in pods.items() if reach.allows(labels, INTERNET, 80)} == {"gateway"}
    assert not reach.allows(pods["gateway"], Outside("10.0.0.1"), 443), "nor does it look round in the cluster"


def test_only_agents_and_orchestrator_reach_redis(reach, pods):
    assert {name for name, labels in pods.items() if reach.allows(labels, REDIS, 6379)} == {"orchestrator", *AGENTS}


def test_from_elsewhere_page_and_stop_are_reached_where_it_is_said(fleet, reach, pods):
    assert not any(reach.allows(ELSEWHERE, labels, 8000) for labels in pods.values())
    ingress = {"kubernetes.io/metadata.name": "ingress"}
    opened = {
        policy["metadata"]["name"]
        for policy in fleet.of("NetworkPolicy")
        if json.dumps(ingress) in json.dumps(policy["spec"].get("ingress", []))
    }
    assert opened == {"quartet-orchestrator", "quartet-stop"}


def test_without_access_nobody_comes_in(default):
    reach = Reach(default.of("NetworkPolicy"))
    for name, pod in default.pods:
        assert not reach.allows(ELSEWHERE, pod["metadata"]["labels"], 8000), name
        assert not reach.allows({"app": "something"}, pod["metadata"]["labels"], 8000), name
