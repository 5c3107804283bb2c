"""A sweep of the planners as an indexed job: each pod runs a shard as a user would, and one more merges them."""

import subprocess

import pytest
import yaml
from typer.testing import CliRunner

from quartet_cli.errors import UsageError
from quartet_cli.main import app
from quartet_research.harness.shards import read_shard
from quartet_research.planners.options import read_experiment

from .reach import Outside, Reach

SUITE = {"suite": ["boxnet2"], "framework": ["cmas", "hmas2"], "trials": 40, "model": "gateway/orchestrator"}
VALUES = {
    "experiment": {
        "enabled": True, "suite": SUITE, "shards": 4, "parallelism": 2, "price": "2.5,10", "budgetUsd": 20,
        "environmentSecret": "experiment-keys", "claim": "runs",
    }
}  # fmt: skip


@pytest.fixture(scope="module")
def sweep(install):
    return install(VALUES)


@pytest.fixture(scope="module")
def jobs(sweep):
    """The job of the shards, and the one that merges them."""
    found = [job for job in sweep.of("Job") if job["metadata"]["labels"]["app.kubernetes.io/component"] == "experiment"]
    return sorted(found, key=lambda job: job["metadata"]["name"])


def arguments(pod, **variables):
    """Words of the command line of a pod, as its shell makes them."""
    shell, option, line = pod["containers"][0]["command"]
    said = subprocess.run(
        [shell, option, line.replace("exec quartet", "printf '%s\\n'")],
        env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return said.stdout.split()


def test_as_it_comes_there_is_no_experiment(default):
    assert not [thing for thing in default.made if "experiment" in thing["metadata"]["name"]]


def test_each_pod_runs_a_shard_and_one_more_merges_them(sweep, jobs):
    assert sweep.error == ""
    assert sweep.refused == []
    run, merge = (job["spec"] for job in jobs)
    assert (run["completionMode"], run["completions"], run["parallelism"]) == ("Indexed", 4, 2)
    assert run["backoffLimitPerIndex"] > 0
    assert merge["suspend"], "it waits for the shards"
    (config,) = [thing for thing in sweep.of("ConfigMap") if thing["metadata"]["name"] == jobs[0]["metadata"]["name"]]
    assert read_experiment(yaml.safe_load(config["data"]["suite.yaml"])) == read_experiment(SUITE)
    lines = [arguments(run["template"]["spec"], JOB_COMPLETION_INDEX=str(index)) for index in range(4)]
    options = [dict(zip(line[2::2], line[3::2], strict=True)) for line in lines]
    assert [read_shard(found["--shard"]) for found in options] == [(number, 4) for number in range(1, 5)]
    for found in options:
        assert found["--suite"] == "/suite/suite.yaml"
        assert found["--price"] == "2.5,10"
        assert found["--budget-usd"] == "5"
    merged = arguments(merge["template"]["spec"])
    assert merged[:4] == ["bench", "planners", "--merge", options[0]["--out"]]
    for line in (lines[0], merged):
        # An option that the command does not have would be SystemExit of Typer; Inspect or the file is not here.
        assert isinstance(CliRunner().invoke(app, line).exception, UsageError), line


def test_its_pods_are_shut_in_and_reach_the_gateway_alone(sweep, jobs):
    reach = Reach(sweep.of("NetworkPolicy"))
    gateway = sweep.one("StatefulSet", "quartet-gateway")["spec"]["template"]["metadata"]["labels"]
    for job in jobs:
        pod, labels = job["spec"]["template"]["spec"], job["spec"]["template"]["metadata"]["labels"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert not pod["automountServiceAccountToken"]
        assert container["envFrom"] == [{"secretRef": {"name": "experiment-keys"}}]
        claims = {volume["name"]: volume.get("persistentVolumeClaim") for volume in pod["volumes"]}
        assert claims["runs"] == {"claimName": "runs"}
        assert {mount["name"] for mount in container["volumeMounts"]} == set(claims)
        assert reach.allows(labels, gateway, 8000)
        assert not reach.allows(labels, Outside("93.184.216.34"), 443)
        for name, other in sweep.pods:
            if "experiment" not in name and not name.endswith("-gateway"):
                assert not reach.allows(labels, other["metadata"]["labels"], 8000), name


def test_another_suite_is_another_job_with_another_folder(install, jobs):
    other = install({"experiment": VALUES["experiment"] | {"suite": SUITE | {"trials": 10}}})
    names = {job["metadata"]["name"] for job in other.of("Job")}
    assert not names & {job["metadata"]["name"] for job in jobs}


@pytest.mark.parametrize(
    ("change", "words"),
    [({"claim": ""}, "name a claim that all pods can write to"), ({"shards": 0}, "/experiment/shards")],
)
def test_wrong_values_are_told_what_is_right(install, change, words):
    installed = install({"experiment": VALUES["experiment"] | change})
    assert words in installed.error
    assert installed.made == []
