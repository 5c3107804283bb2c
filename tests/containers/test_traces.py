"""Under deploy/compose.tracing.yml a job is one trace, across the containers that take part in it."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from .deployment import IMAGE_PREFIX, ROOT, TAG, Deployment, run
from .test_work import events, eventually, fresh_world, submit

TRACED = ("orchestrator", "approach", "nav2", "gateway")
"""One of each kind; the others stay as they are."""
TRACED_TAG = f"{TAG}-traced"
COLLECTOR = "tests/containers/stand-ins/collector.py"
Span = dict[str, str]


@pytest.fixture
def traced(deployment: Deployment, tmp_path: Path) -> Iterator[Deployment]:
    overlay = tmp_path / "traced.yml"
    image = f"{IMAGE_PREFIX}{{}}:{TRACED_TAG}"
    services = {
        name: {"image": image.format(name), "environment": {"OTEL_BSP_SCHEDULE_DELAY": "200"}} for name in TRACED
    }
    collector = {
        "image": image.format("orchestrator"),
        "entrypoint": ["python", "-u", "/collector.py"],
        "environment": {"HEALTH": "127.0.0.1:4318/health"},
        "volumes": [f"{ROOT / COLLECTOR}:/collector.py:ro"],
        "networks": ["tracing"],
    }
    overlay.write_text(yaml.safe_dump({"services": {**services, "collector": collector}}))
    files = (*deployment.files, ROOT / "deploy" / "compose.tracing.yml", overlay)
    settings = {**deployment.settings, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    made = replace(deployment, files=files, settings=settings)
    made.compose("build", "--quiet", *TRACED, timeout_s=1400)
    made.up("--no-deps", "collector", *TRACED)
    yield made
    made.compose("rm", "--stop", "--force", "collector")
    deployment.up("--no-deps", *TRACED)
    # The end of the deployment, which does not know the overlay, would leave it.
    run("docker", "network", "rm", f"{deployment.project}_tracing")


def spans(traced: Deployment, trace: str) -> list[Span]:
    script = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:4318/spans').read().decode())"
    return [one for one in json.loads(traced.execute("collector", "python", "-c", script)) if one["trace"] == trace]


def test_a_job_is_one_trace_across_containers(traced: Deployment) -> None:
    fresh_world(traced)
    with traced.api() as api:
        task_id = submit(api)
        for _ in events(api, task_id):
            pass
        status = api.get(f"/tasks/{task_id}").json()
    assert status["state"] == "SUCCEEDED", status
    trace = status["task"]["traceparent"].split("-")[1]

    def whole(found: list[Span]) -> bool:
        names = {(one["service"], one["name"]) for one in found}
        return names >= {
            ("orchestrator", "invoke_agent orchestrator"),
            ("gateway", "POST /v1/chat/completions"),
            ("approach", "invoke_agent approach"),
            ("nav2", "tools/call navigate_to_pose"),
        }

    found = eventually(lambda: spans(traced, trace), whole)
    by_id = {one["span"]: one for one in found}
    drive = next(one for one in found if (one["service"], one["name"]) == ("nav2", "tools/call navigate_to_pose"))
    above = [drive["service"]]
    while drive["parent"] in by_id:
        drive = by_id[drive["parent"]]
        above.append(drive["service"])
    assert list(dict.fromkeys(above)) == ["nav2", "approach", "orchestrator"]
