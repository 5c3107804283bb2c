"""The chart: what Helm makes of it is what Kubernetes takes, and fits together."""

import json
import re
import tarfile
from urllib.parse import urlsplit

import pytest
import yaml

from quartet_bus._keys import Keys
from quartet_bus._options import BusOptions
from quartet_deployment import AGENTS, SERVERS

from .cluster import Cluster, faults
from .conftest import CHART, LAB
from .helm import run
from .reach import selects


@pytest.fixture(params=["default", "fleet"])
def installed(request):
    return request.getfixturevalue(request.param)


def container_of(pod):
    (container,) = pod["spec"]["containers"]
    return container


def environment(pod):
    return {entry["name"]: entry["value"] for entry in container_of(pod).get("env", [])}


def test_helm_takes_the_chart_and_the_cluster_what_it_makes(installed):
    assert installed.error == ""
    assert installed.refused == []
    assert installed.of("Deployment", "StatefulSet", "NetworkPolicy")


def test_the_stand_in_refuses_what_kubernetes_refuses(tools):
    """Else nothing here proves a thing."""
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert faults(service) is None
    assert "portt" in faults(service | {"spec": {"ports": [{"port": 80, "portt": 1}]}})
    assert "port" in faults(service | {"spec": {"ports": [{"port": "eighty"}]}})


def test_it_is_removed_without_a_rest(default):
    assert len(default.outcomes) == 2
    assert default.left == []


def test_it_is_sound_and_can_be_packed(tools, tmp_path):
    with Cluster() as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig())
        steps = ["lint", str(CHART)], ["package", str(CHART), str(tmp_path)]
        lint, packed = run(tools, tmp_path / "kubeconfig", *steps)
    assert lint["Errors"] is None
    with tarfile.open(packed["path"]) as archive:
        assert {"quartet/files/sites/home/robot.yaml", "quartet/files/gateway.yaml"} <= set(archive.getnames())


def test_what_runs(default, fleet):
    def workloads(installed):
        return {name.removeprefix("quartet-") for name, _ in installed.pods}

    once = {"orchestrator", *AGENTS, "gateway", "scripted-model", "stop", "secrets"}
    summit = {f"summit-{name}" for name in (*SERVERS, "simulation")}
    second = {f"second-{name}" for name in (*SERVERS, "simulation")}
    assert workloads(default) == once | summit
    assert workloads(fleet) == once | summit | second | {f"lab-{name}" for name in SERVERS}
    images = {container_of(pod)["image"] for _, pod in fleet.pods}
    assert images == {
        f"r.example/q-{name}:latest"
        for name in (*AGENTS, *SERVERS, "orchestrator", "gateway", "scripted-model", "stop", "simulation", "cli")
    }


def test_every_pod_is_shut_in(installed):
    for name, pod in installed.pods:
        spec, container = pod["spec"], container_of(pod)
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["runAsUser"] == 10001, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert spec["automountServiceAccountToken"] is (name == "quartet-secrets"), "one alone speaks to the cluster"
        assert container["resources"]["limits"]["memory"], name
        assert container["resources"]["requests"]["memory"], name


def test_every_process_is_looked_after(installed):
    for thing in installed.of("Deployment", "StatefulSet"):
        name, pod = thing["metadata"]["name"], thing["spec"]["template"]
        container = container_of(pod)
        ports = {port["name"] for port in container["ports"]}
        probes = [container[f"{kind}Probe"] for kind in ("startup", "liveness")]
        for probe in probes:
            assert probe["tcpSocket"]["port"] in ports, name
        if not name.endswith("-simulation"):
            assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": "http"}, name
        # A Redis that is away is no reason to start a process anew.
        assert "httpGet" not in container["livenessProbe"], name


def test_every_part_finds_its_others(installed):
    made = {(thing["kind"], thing["metadata"]["name"]) for thing in installed.made}
    processes = (CHART / "files" / "processes.txt").read_text().split()
    for name, pod in installed.pods:
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        claims = next(
            (
                {claim["metadata"]["name"] for claim in thing["spec"].get("volumeClaimTemplates", [])}
                for thing in installed.of("StatefulSet")
                if thing["metadata"]["name"] == name
            ),
            set(),
        )
        mounted = {mount["name"] for mount in container_of(pod)["volumeMounts"]}
        assert mounted == volumes.keys() | claims, name
        for volume in volumes.values():
            if "secret" in volume:
                assert volume["secret"]["secretName"].removeprefix("quartet-") in processes, name
            configs = [source["configMap"] for source in volume.get("projected", {}).get("sources", [])]
            for config in [*configs, *([volume["configMap"]] if "configMap" in volume else [])]:
                assert ("ConfigMap", config["name"]) in made, name
    for thing in installed.of("Deployment", "StatefulSet"):
        labels = thing["spec"]["template"]["metadata"]["labels"]
        assert selects(thing["spec"]["selector"], labels)
        others = [pod["metadata"]["labels"] for name, pod in installed.pods if name != thing["metadata"]["name"]]
        assert not any(selects(thing["spec"]["selector"], other) for other in others), thing["metadata"]["name"]
        if thing["kind"] == "StatefulSet":
            assert ("Service", thing["spec"]["serviceName"]) in made


def test_a_process_mounts_its_own_secrets_and_no_others(installed):
    for name, pod in installed.pods:
        secrets = [volume["secret"]["secretName"] for volume in pod["spec"]["volumes"] if "secret" in volume]
        component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        assert secrets == ([] if component == "secrets" else [f"quartet-{component}"]), name


def test_every_service_leads_to_one_workload(installed):
    for service in installed.of("Service"):
        selector = {"matchLabels": service["spec"]["selector"]}
        pods = [pod for _, pod in installed.pods if selects(selector, pod["metadata"]["labels"])]
        assert len(pods) == 1, service["metadata"]["name"]
        ports = {port["name"]: port["containerPort"] for port in container_of(pods[0])["ports"]}
        for port in service["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]


def test_every_address_leads_to_a_service(installed):
    services = {
        thing["metadata"]["name"]: {port["port"] for port in thing["spec"]["ports"]}
        for thing in installed.of("Service")
    }
    found = 0
    for name, pod in installed.pods:
        for variable, value in environment(pod).items():
            for url in re.findall(r"(?:https?|ws)://[^\"\s]+", value):
                address = urlsplit(url)
                if address.hostname == "192.168.1.10":
                    continue
                assert address.port in services[address.hostname], (name, variable, url)
                found += 1
    assert found > 20


def test_each_robot_has_its_servers(fleet):
    for agent in (*AGENTS, "orchestrator"):
        urls = json.loads(
            environment(fleet.one("Deployment", f"quartet-{agent}")["spec"]["template"])["QUARTET_SERVERS"]
        )
        assert urls == {
            robot: {server: f"http://quartet-{robot}-{server}:8000/mcp" for server in SERVERS}
            for robot in ("summit", "second", "lab")
        }
    bridge = {
        robot: environment(fleet.one("StatefulSet", f"quartet-{robot}-nav2")["spec"]["template"])["QUARTET_BRIDGE_URL"]
        for robot in ("summit", "second", "lab")
    }
    assert bridge == {
        "summit": "ws://quartet-summit-simulation:9090",
        "second": "ws://quartet-second-simulation:9090",
        "lab": LAB["bridge"],
    }
    guards = json.loads(environment(fleet.one("StatefulSet", "quartet-stop")["spec"]["template"])["QUARTET_GUARDS"])
    assert guards["lab"] == LAB["guard"]
    assert guards["second"] == "http://quartet-second-simulation:9091"


def test_the_files_of_each_robot(fleet):
    for robot, site in {"summit": "home", "second": "studio", "lab": "home"}.items():
        data = fleet.one("ConfigMap", f"quartet-{robot}-files")["data"]
        assert yaml.safe_load(data["robot.yaml"])["name"] == robot
        assert data["site.yaml"] == (CHART / "files" / "sites" / site / "site.yaml").read_text()
        assert data["policy.yaml"] == (CHART / "files" / "sites" / site / "policy.yaml").read_text()
        # The resume of a site is of its own robot.
        resume = (CHART / "files" / "sites" / site / "resume.json").read_text() if robot == "summit" else None
        assert data.get("resume.json") == resume
    pod = dict(fleet.pods)["quartet-orchestrator"]
    (volume,) = [one for one in pod["spec"]["volumes"] if one["name"] == "robots"]
    paths = {item["path"] for source in volume["projected"]["sources"] for item in source["configMap"]["items"]}
    assert {path for path in paths if path.endswith("resume.json")} == {"summit/resume.json"}


def test_each_simulation_builds_the_robot_of_its_file(fleet):
    simulated = {name: pod for name, pod in fleet.pods if name.endswith("-simulation")}
    files = {name: environment(pod).get("QUARTET_SIMULATION_ROBOT_FILE") for name, pod in simulated.items()}
    assert files == {"quartet-summit-simulation": None, "quartet-second-simulation": "/robots/second/robot.yaml"}
    pod = simulated["quartet-second-simulation"]
    assert {"name": "robots", "mountPath": "/robots", "readOnly": True} in container_of(pod)["volumeMounts"]
    (volume,) = [volume for volume in pod["spec"]["volumes"] if volume["name"] == "robots"]
    maps = {source["configMap"]["name"] for source in volume["projected"]["sources"]}
    assert "quartet-second-files" in maps


def test_disruptions(default):
    budgets = {thing["metadata"]["name"]: thing["spec"] for thing in default.of("PodDisruptionBudget")}
    kept = {
        name for name, pod in default.pods if selects(budgets["quartet-motion"]["selector"], pod["metadata"]["labels"])
    }
    assert kept == {*(f"quartet-summit-{server}" for server in SERVERS), "quartet-stop"}
    assert budgets["quartet-motion"]["maxUnavailable"] == 0
    for name in ("orchestrator", *AGENTS):
        assert budgets[f"quartet-{name}"]["minAvailable"] == 1


def test_scaling_reads_the_streams_that_the_bus_has(fleet):
    keys = Keys(BusOptions().prefix)
    for agent in AGENTS:
        scaled = fleet.one("ScaledObject", f"quartet-{agent}")["spec"]
        (trigger,) = scaled["triggers"]
        assert trigger["metadata"]["stream"] == keys.skill_stream(agent)
        assert trigger["metadata"]["address"] == "redis:6379"
        assert scaled["scaleTargetRef"]["name"] == f"quartet-{agent}"
        assert "replicas" not in fleet.one("Deployment", f"quartet-{agent}")["spec"], "else Helm and KEDA would fight"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"robots": []}, "/robots"),
        ({"robots": [{"name": "lab"}]}, "missing properties 'bridge', 'guard', 'addresses'"),
        ({"robots": [{"name": "Lab 1", "simulated": True}]}, "/robots/0/name"),
        ({"robots": [LAB | {"site": "nowhere"}]}, "'lab' has no site.yaml"),
        ({"robots": [LAB | {"files": {}}]}, "the robot.yaml of 'lab' says 'name: summit'"),
        ({"redis": {"url": "redis://:word@redis:6379"}}, "/redis/url"),
        ({"agents": {"pick": {"replicas": 0}}}, "/agents/pick/replicas"),
        ({"modle": {}}, "additional properties 'modle' not allowed"),
        ({"settings": {"orchestartor": {}}}, "value must be one of 'orchestrator', 'approach'"),
    ],
)
def test_wrong_values_are_told_what_is_right(install, values, words):
    installed = install(values)
    assert words in installed.error
    assert installed.made == []
