"""The Helm chart, installed with Helm on a stand-in for a cluster, once per set of values."""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .cluster import Cluster
from .helm import run

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "kubernetes" / "quartet"


@pytest.fixture(scope="session")
def tools() -> Path:
    done = subprocess.run([ROOT / "scripts" / "kubernetes-tools"], capture_output=True, text=True, check=False)
    if done.returncode:
        if os.environ.get("QUARTET_TEST_ALL"):
            pytest.fail(done.stderr)
        pytest.skip(done.stderr.strip() or "Helm cannot be had here")
    folder = Path(done.stdout.strip())
    # Behind everything else: it has packages of its own.
    sys.path.append(str(folder))
    return folder


@dataclass
class Installed:
    """What Helm has made on the cluster."""

    outcomes: list[dict[str, Any]]
    made: list[dict[str, Any]]
    refused: list[str]
    left: list[str]
    """Names of what was on the cluster at the end."""

    @property
    def error(self) -> str:
        return self.outcomes[-1].get("error", "")

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [thing for thing in self.made if thing["kind"] in kinds]

    def one(self, kind: str, name: str) -> dict[str, Any]:
        (found,) = [thing for thing in self.of(kind) if thing["metadata"]["name"] == name]
        return found

    @property
    def pods(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and pod template of everything that runs."""
        makers = self.of("Deployment", "StatefulSet", "Job")
        return [(thing["metadata"]["name"], thing["spec"]["template"]) for thing in makers]


@pytest.fixture(scope="session")
def install(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Installed]:
    """`install(values, *more steps)`; see helm.py."""

    # Helm asks the cluster slowly, so what it has made is kept for all workers of this run.
    base, run_id = tmp_path_factory.getbasetemp(), os.environ.get("PYTEST_XDIST_TESTRUNUID")
    kept = base.parent / f"helm-{run_id}" if run_id else base / "helm"
    kept.mkdir(exist_ok=True)

    def put(values: dict[str, Any], *then: list[Any]) -> Installed:
        steps = [["install", "quartet", str(CHART), values], *then]
        file = kept / f"{hashlib.sha256(json.dumps(steps).encode()).hexdigest()}.json"
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
                with Cluster() as cluster:
                    kubeconfig.write_text(cluster.kubeconfig())
                    outcomes = run(tools, kubeconfig, *steps)
                left = [name for kind, name in cluster.objects if kind != "namespaces"]
                found = {"outcomes": outcomes, "made": cluster.made, "refused": cluster.refused, "left": left}
                file.write_text(json.dumps(found))
        return Installed(**json.loads(file.read_text()))

    return put


LAB = {
    "name": "lab",
    "bridge": "ws://192.168.1.10:9090",
    "guard": "http://192.168.1.10:9091",
    "addresses": ["192.168.1.10/32"],
    "files": {
        "robot.yaml": (ROOT / "deploy/sites/home/robot.yaml").read_text().replace("name: summit", "name: lab"),
    },
}
"""A robot with files of its own."""


@pytest.fixture(scope="session")
def default(install: Callable[..., Installed]) -> Installed:
    """As it comes; removed again."""
    return install({}, ["uninstall", "quartet"])


@pytest.fixture(scope="session")
def fleet(install: Callable[..., Installed]) -> Installed:
    """Two simulated robots, unlike each other, one real, scaling on, an entry from elsewhere."""
    ingress = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}
    rover = {"robot.yaml": (ROOT / "deploy" / "robots" / "rover" / "robot.yaml").read_text()}
    second = {"name": "second", "simulated": True, "site": "studio", "files": rover}
    robots = [{"name": "summit", "simulated": True}, second, LAB]
    return install(
        {
            "robots": robots,
            "keda": {"enabled": True},
            "access": [ingress],
            "image": {"prefix": "r.example/q-"},
            "model": {"patience": 2.5},
        }
    )
