"""Who reaches whom, what is published, and what a process in a container may do, each seen from inside."""

import json
import os
import socket
import urllib.parse

import pytest

from .deployment import AGENTS, PROCESSES, SERVERS, Deployment, inspect, run

PORTS = {
    "redis": (6379,),
    "gateway": (4000,),
    "scripted-model": (8000,),
    "simulation": (9090, 9091, 9093),
    "moveit": (8001,),
    "nav2": (8002,),
    "perception": (8003,),
    "ros": (8004,),
    "stop": (8010,),
    "orchestrator": (8000,),
    "prometheus": (9090,),
    "grafana": (3000,),
}
AGENT_PORT = 9100
"""/health and /metrics of an agent."""
REACHES = {
    **{agent: {"redis", "gateway", "orchestrator", "stop", "prometheus", *SERVERS} for agent in AGENTS},
    "executor": {"redis", "orchestrator", "stop", "prometheus", *SERVERS},
    "orchestrator": {"redis", "gateway", "orchestrator", "stop", "prometheus", "grafana", *SERVERS},
    **{server: {"simulation", "orchestrator", "stop", "prometheus", *SERVERS} for server in SERVERS},
    "perception": {"simulation", "orchestrator", "stop", "prometheus", "gateway", *SERVERS},
    "stop": {"simulation", "orchestrator", "prometheus", "grafana", "stop", *SERVERS},
    "gateway": {"gateway", "scripted-model", "orchestrator", "perception", "prometheus"},
    "scripted-model": {"scripted-model", "gateway", "prometheus"},
    "simulation": {"simulation", "stop", "prometheus", *SERVERS},
}
"""Agents do not reach the robot; servers and the stop service do not reach Redis."""

PROBE = """
import json, socket, sys, threading
open_ = []
def knock(name, host, port):
    try:
        socket.create_connection((host, port), timeout=3).close()
        open_.append(name)
    except OSError:
        pass
threads = [threading.Thread(target=knock, args=target) for target in json.loads(sys.argv[1])]
for one in threads: one.start()
for one in threads: one.join()
print(json.dumps(sorted(set(open_))))
"""


def addresses(deployment: Deployment, service: str) -> list[str]:
    networks = deployment.facts(service)["NetworkSettings"]["Networks"]
    return [network["IPAddress"] for network in networks.values()]


@pytest.fixture(scope="module")
def targets(deployment: Deployment) -> list[tuple[str, str, int]]:
    """Every port at every address of whoever has it: (service, address, port)."""
    return [
        (service, address, port)
        for service, ports in PORTS.items()
        for address in addresses(deployment, service)
        for port in ports
    ]


@pytest.mark.parametrize("service", REACHES)
def test_it_reaches_whom_it_needs_and_nobody_else(
    deployment: Deployment, targets: list[tuple[str, str, int]], service: str
) -> None:
    found = set(json.loads(deployment.execute(service, "python", "-IS", "-c", PROBE, json.dumps(targets))))
    assert found == REACHES[service]


LISTENING = """
import json
found = set()
for table in ("tcp", "tcp6"):
    for row in open(f"/proc/net/{table}").read().splitlines()[1:]:
        local, state = row.split()[1], row.split()[3]
        address, port = local.split(":")
        # The bytes of an address are in the machine's order: 127.x.y.z ends in 7F, also where it is mapped into IPv6.
        mapped = address[:-8] in ("", 16 * "0" + "FFFF0000")
        loopback = address == 24 * "0" + "01000000" or (mapped and address.endswith("7F"))
        if state == "0A" and not loopback:
            found.add(int(port, 16))
print(json.dumps(sorted(found)))
"""


@pytest.mark.parametrize("service", PROCESSES)
def test_it_listens_beyond_itself_at_its_ports_alone(deployment: Deployment, service: str) -> None:
    """So the simulation's ground truth does not."""
    wanted = PORTS.get(service, (AGENT_PORT,))
    assert json.loads(deployment.execute(service, "python", "-IS", "-c", LISTENING)) == sorted(wanted)


def test_what_must_not_be_is_in_the_table() -> None:
    for agent in AGENTS:
        assert "simulation" not in REACHES[agent]
    for one in (*SERVERS, "stop"):
        assert "redis" not in REACHES[one]
    assert [one for one in REACHES if "scripted-model" in REACHES[one]] == ["gateway", "scripted-model"]


@pytest.fixture(scope="module")
def outside() -> tuple[str, int]:
    """An address beyond this machine that answers: the package index, which the build has just asked."""
    names = ("QUARTET_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL")
    index = next(filter(None, map(os.environ.get, names)), "https://pypi.org/simple")
    url = urllib.parse.urlsplit(index)
    port = url.port or {"http": 80}.get(url.scheme, 443)
    return socket.gethostbyname(url.hostname or "pypi.org"), port


def test_only_the_gateway_reaches_the_internet(deployment: Deployment, outside: tuple[str, int]) -> None:
    target = json.dumps([("outside", *outside)])
    found = {
        service: json.loads(deployment.execute(service, "python", "-IS", "-c", PROBE, target)) for service in PROCESSES
    }
    assert found == {**{service: [] for service in PROCESSES}, "gateway": ["outside"]}


def test_page_stop_service_and_grafana_are_published_on_this_machine_alone(deployment: Deployment) -> None:
    published: dict[str, set[tuple[str, str]]] = {}
    for row in run("docker", "ps", "-q", "--filter", f"label=com.docker.compose.project={deployment.project}").split():
        (facts,) = inspect(row)
        service = facts["Config"]["Labels"]["com.docker.compose.service"]
        for bindings in facts["NetworkSettings"]["Ports"].values():
            for binding in bindings or ():
                published.setdefault(service, set()).add((binding["HostIp"], binding["HostPort"]))
    assert published == {
        "orchestrator": {("127.0.0.1", deployment.settings["QUARTET_PAGE_PORT"])},
        "stop": {("127.0.0.1", deployment.settings["QUARTET_STOP_PORT"])},
        "grafana": {("127.0.0.1", deployment.settings["QUARTET_GRAFANA_PORT"])},
    }


def test_the_api_asks_for_a_token(deployment: Deployment) -> None:
    with deployment.api() as api:
        assert api.get("/tasks").status_code == 200
        del api.headers["Authorization"]
        assert api.get("/tasks").status_code == 401
        assert api.get("/health").status_code == 200


@pytest.mark.parametrize("service", PROCESSES)
def test_a_process_may_do_little(deployment: Deployment, service: str) -> None:
    script = """
import json, os, pathlib
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
def writable(folder):
    try:
        probe = pathlib.Path(folder, "probe"); probe.write_text("x"); probe.unlink()
        return True
    except OSError:
        return False
print(json.dumps({
    "uid": os.getuid(), "capabilities": [int(status[n], 16) for n in ("CapEff", "CapPrm", "CapBnd")],
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "writable": [f for f in ("/", "/opt/quartet", "/etc", "/site", "/secrets", "/tmp") if writable(f)],
    "others": sorted(os.listdir("/secrets")),
}))
"""
    told = json.loads(deployment.execute(service, "python", "-IS", "-c", script))
    assert told["uid"] == 10001
    assert told["capabilities"] == [0, 0, 0]
    assert told["no_new_privileges"] == "1"
    assert told["writable"] == ["/tmp"]


@pytest.mark.parametrize("service", [*PROCESSES, "redis", "prometheus", "redis-exporter", "grafana"])
def test_its_memory_and_processes_are_limited(deployment: Deployment, service: str) -> None:
    host = deployment.facts(service)["HostConfig"]
    assert 0 < host["Memory"] <= 1536 * 2**20
    assert 0 < host["PidsLimit"] <= 128
    assert host["ReadonlyRootfs"] is True
    assert host["Privileged"] is False
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["Init"] is True


def test_nobody_has_a_secret_that_is_anothers(deployment: Deployment) -> None:
    held = {service: set(deployment.execute(service, "ls", "/secrets").split()) for service in PROCESSES}
    assert [one for one in held if "grant_private_key" in held[one]] == ["orchestrator"]
    assert [one for one in held if "stop_private_key" in held[one]] == ["stop"]
    assert {one for one in held if "guard_token" in held[one]} == {"stop", "simulation"}
    assert {one for one in held if "redis_password" in held[one]} == {*AGENTS, "orchestrator"}
    assert [one for one in held if "api_token" in held[one]] == ["orchestrator"]


@pytest.mark.parametrize("service", ["approach", "nav2", "gateway"])
def test_at_rest_it_needs_little_memory(deployment: Deployment, measured: dict[str, float], service: str) -> None:
    told = run("docker", "stats", "--no-stream", "--format", "{{.MemUsage}}", deployment.container(service))
    used = _mebibytes(told.split("/")[0].strip())
    measured[f"memory of {service} at rest [MB]"] = used
    assert used <= {"approach": 110, "nav2": 120, "gateway": 400}[service]


def _mebibytes(text: str) -> float:
    units = {"GiB": 1024 * 1.048576, "MiB": 1.048576, "KiB": 1.048576 / 1024, "B": 1e-6}
    unit = next(one for one in units if text.endswith(one))
    return float(text.removesuffix(unit)) * units[unit]
