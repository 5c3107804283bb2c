"""What README.md and docs/deployment.md tell to type does what they say, word for word."""

import re
import urllib.parse
from pathlib import Path

import httpx

from .deployment import PROCESSES, Deployment
from .documented import block, blocks, do, pages
from .test_work import events, eventually, fresh_world, submit, wait_until_ready

PAGE = "docs/deployment.md"
ROTATED = (
    "stop_token", "stop_button_token", "guard_token", "bridge_token", "metrics_token", "gateway_key", "grant_key",
    "stop_key",
)  # fmt: skip
"""Beside api_token and redis_password, which have tests of their own."""

NOT_HERE = {
    "docker compose down": "each deployment of these tests ends with it",
    "docker compose up --detach --wait": "a deployment of these tests begins with it, for one service too",
    "docker compose -f docker-compose.yml -f examples/pick-agent-node/compose.yml up": "test_replaced_agent.py",
    "docker build -f deploy/images/perception-open-vocabulary.Dockerfile": "some GB of CUDA",
    "docker run --gpus all": "needs a GPU",
    "docker compose --profile cli build": "test_swarm.py",
    "docker stack deploy": "test_swarm.py",
    "docker service scale": "test_swarm.py",
}
"""Commands that are not tried word for word, and why; they begin so."""
TRIED = (
    ("README.md", "docker compose up"),
    (PAGE, "docker compose exec grafana"),
    (PAGE, "--scale pick=3"),
    (PAGE, "secrets rotate /secrets api_token"),
    (PAGE, "secrets rotate /secrets redis_password"),
    (PAGE, "tar -C /tmp/copy"),
    (PAGE, "docker volume rm"),
)
"""Blocks that are, here and in test_work.py."""


def commands_of(text: str) -> set[str]:
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in text.splitlines())
    return {line for line in lines if line.startswith("docker ")}


def test_no_command_is_forgotten() -> None:
    tried = set[str]().union(*(commands_of(block(page, words)) for page, words in TRIED))
    written = set[str]().union(*(commands_of(text) for page in pages() for text in blocks(page)))
    assert {one for one in written - tried if not one.startswith(tuple(NOT_HERE))} == set()


def test_the_first_commands(deployment: Deployment) -> None:
    """Everything up, a job, the link of the page."""
    fresh_world(deployment)
    told = do(deployment, block("README.md", "docker compose up"))
    assert "Done after" in told
    page = f"http://127.0.0.1:{deployment.settings['QUARTET_PAGE_PORT']}/#"
    (link,) = [word for word in told.split() if word.startswith(page)]
    tokens = urllib.parse.parse_qs(urllib.parse.urlsplit(link).fragment)
    assert tokens["token"] == [deployment.secret("orchestrator", "api_token")]


def test_grafana_s_password(deployment: Deployment) -> None:
    assert len(do(deployment, block(PAGE, "docker compose exec grafana")).strip()) > 16


def test_all_keys_rotate_while_everything_runs(deployment: Deployment) -> None:
    """Those of the services in the middle of a job, which ends with the old ones; the next begins with the new ones."""
    fresh_world(deployment)
    before = started(deployment)
    old = deployment.secret("orchestrator", "api_token")
    old_password = deployment.secret("pick", "redis_password")
    rotate, retire = block(PAGE, "secrets rotate /secrets api_token").splitlines()
    rotated = False
    with deployment.api() as api:
        task_id = submit(api)
        for event in events(api, task_id):
            if not rotated and event["kind"] == "skill_started":
                do(deployment, of_all("rotate"))
                do(deployment, rotate)
                rotated = True
        status = api.get(f"/tasks/{task_id}").json()
    assert rotated
    assert status["state"] == "SUCCEEDED", status
    assert deployment.secret("orchestrator", "api_token") != old

    do(deployment, of_all("retire"))
    do(deployment, retire)
    with deployment.api() as api:
        assert eventually(lambda: api.get("/tasks").status_code, lambda code: code == httpx.codes.OK)
        refused = {"Authorization": f"Bearer {old}"}
        eventually(
            lambda: api.get("/tasks", headers=refused).status_code, lambda code: code == httpx.codes.UNAUTHORIZED
        )

    of_redis = block(PAGE, "secrets rotate /secrets redis_password")
    do(deployment, of_redis)
    do(deployment, of_redis.replace(" rotate ", " retire "))
    ping = f"REDISCLI_AUTH={old_password} redis-cli --user pick PING 2>&1"
    assert "WRONGPASS" in deployment.execute("redis", "sh", "-c", ping)
    eventually(lambda: redis_is_read(deployment), bool)
    assert started(deployment) == before, "nothing was started anew"
    done_in(deployment)


def of_all(verb: str) -> str:
    """The documented command for the other names."""
    line = block(PAGE, "secrets rotate /secrets api_token").splitlines()[0]
    command = "python -m quartet_cli secrets rotate /secrets api_token"
    assert command in line
    loop = f"for name in {' '.join(ROTATED)}; do python -m quartet_cli secrets {verb} /secrets $name; done"
    return line.replace(command, loop)


def started(deployment: Deployment) -> dict[str, tuple[str, int]]:
    """When each process was started, and how often anew."""
    found = {service: deployment.facts(service) for service in (*PROCESSES, "redis", "prometheus")}
    return {service: (facts["State"]["StartedAt"], facts["RestartCount"]) for service, facts in found.items()}


def redis_is_read(deployment: Deployment) -> bool:
    """Whether the exporter may still look at Redis, as Prometheus has it."""
    script = """
import json, urllib.request
told = json.load(urllib.request.urlopen("http://prometheus:9090/api/v1/query?query=redis_up"))
print([one["value"][1] for one in told["data"]["result"]] == ["1"])
"""
    return deployment.execute("stop", "python", "-c", script).strip() == "True"


def test_a_backup_of_redis_is_restored_into_a_new_volume(deployment: Deployment, tmp_path: Path) -> None:
    """What was done before the copy is known, what was done after it is not, and the robot takes work."""
    with deployment.api() as api:
        done = api.get("/tasks", params={"state": "SUCCEEDED"}).json()["tasks"]
    kept = done[0]["task"]["task_id"] if done else done_in(deployment)
    do(deployment, block(PAGE, "tar -C /tmp/copy"), tmp_path)
    assert (tmp_path / "redis.tgz").stat().st_size > 1000
    lost = done_in(deployment)

    do(deployment, block(PAGE, "docker volume rm"), tmp_path)
    wait_until_ready(deployment)
    with deployment.api() as api:
        listed = [one["task"]["task_id"] for one in api.get("/tasks").json()["tasks"]]
        assert kept in listed
        assert lost not in listed
        report = api.get(f"/tasks/{kept}").json()
        assert (report["state"], bool(report["report"])) == ("SUCCEEDED", True)
        assert api.get(f"/tasks/{lost}").status_code == httpx.codes.NOT_FOUND
    done_in(deployment)


def done_in(deployment: Deployment) -> str:
    """Id of a job that has just been done."""
    fresh_world(deployment)
    with deployment.api() as api:
        task_id = submit(api)
        last = [event["kind"] for event in events(api, task_id)][-1]
        status = api.get(f"/tasks/{task_id}").json()
    assert status["state"] == "SUCCEEDED", (last, status)
    return task_id
