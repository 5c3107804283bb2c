"""The job that makes the secrets, run against the stand-in for a cluster."""

import base64
import os
import subprocess
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from . import cluster as module
from .cluster import Cluster
from .conftest import CHART

SCRIPT = CHART / "files" / "publish.py"
PROCESSES = (CHART / "files" / "processes.txt").read_text().split()


@pytest.fixture
def cluster(tools):
    with Cluster() as made:
        yield made


@pytest.fixture
def publish(cluster, tmp_path):
    """Each run has a folder of its own, as each pod has."""
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("a-token-of-the-cluster")
    environment = {**os.environ, "KUBERNETES_API": cluster.url, "ACCOUNT_DIR": str(account)}
    runs = iter(range(100))

    def run():
        folder = tmp_path / f"run-{next(runs)}"
        command = [sys.executable, str(SCRIPT), str(folder), "quartet", "robots", ",".join(PROCESSES)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    return run


def secret(cluster, process):
    data = cluster.objects["secrets", f"quartet-{process}"]["data"]
    return {name: base64.b64decode(text).decode() for name, text in data.items()}


def test_every_process_gets_its_secrets_and_what_is_lost_is_made_to_fit(cluster, publish, tmp_path):
    first = publish()
    assert first.returncode == 0, first.stderr
    assert {name for kind, name in cluster.objects if kind == "secrets"} == {f"quartet-{name}" for name in PROCESSES}
    made = {folder.name.replace("_", "-") for folder in (tmp_path / "run-0").iterdir() if folder.is_dir()}
    assert made == set(PROCESSES), "the chart knows every process that has secrets"
    assert cluster.refused == []
    assert secret(cluster, "pick")["gateway_key"] in secret(cluster, "gateway")["gateway_key_pick"]
    assert "grant_private_key" not in secret(cluster, "pick")
    for process, name in (("exporter", "redis_password"), ("prometheus", "metrics_token")):
        text = secret(cluster, process)[name]
        assert text == text.strip(), "KEDA and the Prometheus operator send it with the line's end"
    before = dict(cluster.objects)

    again = publish()
    assert again.stdout == "every process has its secrets\n"
    assert cluster.objects == before, "what exists is kept"

    del cluster.objects["secrets", "quartet-nav2"]
    third = publish()
    assert third.returncode == 0, third.stderr
    assert third.stdout.count("made") == 1
    assert cluster.objects["secrets", "quartet-orchestrator"] == before["secrets", "quartet-orchestrator"]
    private: Any = load_pem_private_key(secret(cluster, "orchestrator")["grant_private_key"].encode(), None)
    public: Any = load_pem_public_key(secret(cluster, "nav2")["grant_public_key"].encode())
    assert public.public_bytes_raw() == private.public_key().public_bytes_raw()
    assert secret(cluster, "nav2")["metrics_token"].strip() == secret(cluster, "prometheus")["metrics_token"]


def test_a_cluster_that_refuses_is_told(cluster, publish, monkeypatch):
    monkeypatch.setattr(module._Handler, "do_GET", lambda self: self._refuse(403, "Forbidden", "no"))  # noqa: SLF001 - a cluster that refuses
    done = publish()
    assert done.returncode == 1
    assert "answered 403 to GET" in done.stderr
    assert cluster.objects == {}
