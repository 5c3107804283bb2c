"""An agent of another make takes the place of ours, and nothing else changes."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from .deployment import MAIN_JOB, ROOT, Deployment
from .test_work import events, fresh_world, submit


@pytest.fixture
def node_agent(deployment: Deployment) -> Iterator[Deployment]:
    overlay = ROOT / "examples" / "pick-agent-node" / "compose.yml"
    replaced = replace(deployment, files=(*deployment.files, overlay))
    replaced.compose("build", "--quiet", "pick")
    replaced.up("--no-deps", "pick")
    yield replaced
    deployment.up("--no-deps", "pick")


def test_an_agent_without_our_code_does_its_part_of_the_main_job(node_agent: Deployment) -> None:
    fresh_world(node_agent)
    with node_agent.api() as api:
        task_id = submit(api, MAIN_JOB)
        picks = [e for e in events(api, task_id) if e["kind"] == "skill_result" and e["skill"] == "pick"]
        status = api.get(f"/tasks/{task_id}").json()
    assert [one["error_code"] for one in picks] == ["NONE"], node_agent.logs("pick")
    assert status["state"] == "SUCCEEDED", status
    assert '"error_code":"NONE"' in node_agent.logs("pick")
