"""What is seen of one job: its trace, its log lines, and data in every panel of every dashboard."""

import json
import math
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from quartet_benchmarks.timing.collector import Collector
from quartet_benchmarks.timing.parts import PARTS, Span, seconds_by_part, stretches
from quartet_contracts import State
from quartet_deployment import Stack, free_ports, hold_ports

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
"""The first test waits for a whole deployment, a job and what is seen of it."""
ROOT = Path(__file__).resolve().parents[3]
SECRET_LIKE = re.compile(r"eyJ[A-Za-z0-9_-]{20,}|PRIVATE KEY|Bearer ")
VARIABLES = {"$robot": "summit", "$agent": "pick", "$__rate_interval": "20s"}


class Prometheus:
    """A real one that reads a stack, with the rules of the repository."""

    def __init__(self, programs: Path, folder: Path, stack: Stack) -> None:
        self._folder = folder
        port, redis_port = free_ports(2)
        self._held = hold_ports([port, redis_port])
        self.url = f"http://127.0.0.1:{port}"
        self._http = httpx.Client(timeout=30)
        self._write_configuration(stack, {"redis": f"127.0.0.1:{redis_port}", "prometheus": f"127.0.0.1:{port}"})
        self._started = [
            self._start(
                programs / "prometheus-redis-exporter",
                f"-redis.addr=redis://{stack.redis_url.rpartition('@')[2]}",
                f"-web.listen-address=127.0.0.1:{redis_port}",
                env={"REDIS_USER": "exporter", "REDIS_PASSWORD": stack.secrets.text("exporter", "redis_password")},
            ),
            self._start(
                programs / "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ),
        ]

    def _start(self, *command: str | Path, env: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
        with (self._folder / f"{Path(command[0]).name}.log").open("wb") as log:
            inherited = {**os.environ, **(env or {})}
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=inherited)

    def _write_configuration(self, stack: Stack, other: dict[str, str]) -> None:
        """That of the repository, with this stack's addresses for those of the services."""
        configuration = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())
        configuration["global"] |= {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"}
        configuration["rule_files"] = [str(ROOT / "deploy/prometheus/rules/*.yml")]
        self._jobs = [job["job_name"] for job in configuration["scrape_configs"]]
        for job in configuration["scrape_configs"]:
            name = job["job_name"]
            own = stack.metrics_url(name.replace("-", "_")) if name not in other else ""
            target = other.get(name) or own.removeprefix("http://").removesuffix("/metrics")
            job["static_configs"] = [{"targets": [target]}]
            job.pop("dns_sd_configs", None)
            if job.pop("authorization", None):
                job["authorization"] = {"credentials": stack.metrics_token}
        (self._folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))

    def close(self) -> None:
        self._http.close()
        for process in self._started:
            process.kill()
            process.wait()
        self._held.close()

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self._http.get(f"{self.url}/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    def down(self) -> list[str]:
        """Jobs whose last scrape failed or has not been; all where Prometheus does not answer yet."""
        try:
            # It answers 503 while it starts.
            self._http.get(f"{self.url}/-/ready").raise_for_status()
        except httpx.HTTPError as error:
            return [f"prometheus: {error}"]
        targets = self.get("targets")["activeTargets"]
        found = {one["labels"]["job"]: one for one in targets}
        missing = [f"{job}: not looked at yet" for job in self._jobs if job not in found]
        return missing + [f"{job}: {one['lastError']}" for job, one in found.items() if one["health"] != "up"]

    def figures(self, query: str, since: float) -> list[float]:
        """All finite values that a query had since then."""
        found = self.get("query_range", query=query, start=since, end=time.time(), step=1)["result"]
        return [float(value) for one in found for _, value in one["values"] if math.isfinite(float(value))]


def wait_for(condition: Callable[[], Any], what: Callable[[], Any], limit_s: float = 120.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, what()
        time.sleep(0.1)


@pytest.fixture(scope="module")
def prometheus(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus | None]:
    """None where its programs cannot be had."""
    made = subprocess.run([ROOT / "scripts/prometheus-tools"], capture_output=True, text=True, timeout=280, check=False)
    if made.returncode == 3 and not os.environ.get("QUARTET_TEST_ALL"):
        yield None
        return
    assert made.returncode == 0, made.stderr
    running = Prometheus(Path(made.stdout.strip()), tmp_path_factory.mktemp("prometheus"), stack)
    try:
        wait_for(lambda: not running.down(), running.down)
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def began() -> float:
    return time.time()


@pytest.fixture(scope="module")
def job(
    stack: Stack,
    began: float,
    prometheus: Prometheus | None,
    reset: Callable[..., Any],
    sentence_about: Callable[..., Any],
    run: Callable[..., Any],
) -> Any:
    """A finished task, seen from before its begin."""
    sentence = sentence_about(reset(stack, 1))[0]
    done = run(stack, sentence)
    assert done.status.state is State.SUCCEEDED, done.story()
    return done


@pytest.fixture(scope="module")
def trace(job: Any, collector: Collector) -> list[Span]:
    """All spans of the job's trace."""
    identity = job.status.task.traceparent.split("-")[1]

    def arrived() -> list[Span]:
        return [one for one in list(collector.spans) if one.trace == identity]

    def whole() -> bool:
        found = arrived()
        known = {one.span for one in found}
        ended = any(one.name == "invoke_agent orchestrator" for one in found)
        return ended and all(one.parent in known for one in found if one.parent)

    wait_for(whole, lambda: [(one.service, one.name, one.parent) for one in arrived()])
    return arrived()


def ancestors(one: Span, trace: list[Span]) -> list[Span]:
    by_id = {other.span: other for other in trace}
    line: list[Span] = []
    while one.parent:
        one = by_id[one.parent]
        line.append(one)
    return line


def test_a_task_is_one_trace_from_its_acceptance_to_the_goals(trace: list[Span], job: Any) -> None:
    roots = [one for one in trace if not one.parent]
    assert [(one.service, one.name) for one in roots] == [("orchestrator", "POST /tasks")]
    assert {one.service for one in trace} >= {
        "orchestrator",
        "pick",
        "place",
        "gateway",
        "nav2",
        "moveit",
        "perception",
    }
    goal = next(one for one in trace if one.service == "moveit" and one.name.startswith("goal "))
    line = [one.service for one in ancestors(goal, trace)]
    names = [one.name for one in ancestors(goal, trace)]
    passed = [service for at, service in enumerate(line) if at == 0 or line[at - 1] != service]
    assert passed in (["moveit", agent, "orchestrator"] for agent in ("approach", "pick", "place")), passed
    # FastAPI puts spans of its own between the request and what is done for it.
    assert names.index("invoke_agent orchestrator") + 1 == names.index("accept task") < names.index("POST /tasks")
    assert any(name.startswith("execute_tool moveit__") for name in names)
    assert any(name.startswith("tools/call ") for name in names)
    assert {one.attributes["quartet.task_id"] for one in trace if "quartet.task_id" in one.attributes} == {
        job.status.task.task_id
    }


def test_the_wall_time_of_a_task_splits_over_the_parts_that_worked_on_it(
    trace: list[Span], job: Any, collector: Collector
) -> None:
    status = job.status
    start_ns, end_ns = round(status.task.created_at * 1e9), round(status.updated_at * 1e9)
    found = seconds_by_part(stretches(collector.spans, trace[0].trace, start_ns, end_ns))
    assert sum(found.values()) == pytest.approx(status.updated_at - status.task.created_at, abs=1e-6)
    assert {part for part, seconds in found.items() if seconds > 0} >= {*PARTS} - {"other"}
    # Whatever takes long has a span.
    assert found["other"] < sum(found.values()) / 4


def test_spans_of_models_and_tools_have_the_attributes_of_the_conventions(trace: list[Span]) -> None:
    asked = [one for one in trace if one.name == "chat pick" and one.service == "pick"]
    assert asked
    for one in asked:
        at = one.attributes
        assert (at["gen_ai.operation.name"], at["gen_ai.agent.name"]) == ("chat", "pick")
        assert at["gen_ai.request.model"] == "pick"
        assert at["gen_ai.response.model"]
        assert at["gen_ai.provider.name"]
        assert at["gen_ai.usage.input_tokens"] > 0
        assert at["gen_ai.usage.output_tokens"] > 0
    provider = [one for one in trace if one.service == "gateway" and one.name.startswith("chat ")]
    assert all(one.attributes["gen_ai.provider.name"] for one in provider)
    lines = [[other.name for other in ancestors(one, trace)] for one in provider]
    assert all(line[0] == "POST /v1/chat/completions" and line[1].startswith("chat ") for line in lines)
    tools = [one for one in trace if one.name.startswith("execute_tool ")]
    assert {one.attributes["gen_ai.operation.name"] for one in tools} == {"execute_tool"}
    assert {one.attributes["gen_ai.tool.name"] for one in tools} >= {"moveit__close_gripper", "moveit__open_gripper"}
    ended = [one.attributes for one in trace if one.name == "invoke_agent pick" and one.service == "pick"]
    assert [at["quartet.error_code"] for at in ended] == ["NONE"]


def test_neither_secrets_nor_what_models_read_and_say_is_in_a_span(trace: list[Span], job: Any, stack: Stack) -> None:
    told = "\n".join(str(value) for one in trace for value in (one.name, *one.attributes.values()))
    assert len(told) > 1000
    assert not SECRET_LIKE.search(told)
    assert stack.stop_token.strip() not in told
    assert job.status.task.sentence not in told
    assert not any("messages" in key for one in trace for key in one.attributes)


def test_log_lines_say_which_task_and_trace_they_belong_to(trace: list[Span], job: Any, stack: Stack) -> None:
    lines: dict[str, list[dict[str, Any]]] = {}
    for name in ("orchestrator", "pick"):
        text = (stack.log_dir / f"{name}.log").read_text().splitlines()
        lines[name] = [json.loads(line) for line in text if line.startswith("{")]
    mine = [line for line in lines["pick"] if line.get("task_id") == job.status.task.task_id]
    assert mine
    assert {line["trace_id"] for line in mine} == {trace[0].trace}
    assert {line["agent"] for line in mine} == {"pick"}
    assert {line["span_id"] for line in mine} <= {one.span for one in trace}
    assert all(line.keys() >= {"time", "level", "process", "message"} for one in lines.values() for line in one)


def test_prometheus_reads_every_process_and_takes_every_rule(prometheus: Prometheus | None, job: Any) -> None:
    if prometheus is None:
        pytest.skip("Prometheus cannot be had here, see scripts/prometheus-tools")
    # One scrape that a busy machine made too late is no fault.
    wait_for(lambda: not prometheus.down(), prometheus.down)
    groups = prometheus.get("rules")["groups"]
    faults = [
        (rule["name"], rule.get("lastError")) for group in groups for rule in group["rules"] if rule.get("lastError")
    ]
    assert faults == []
    assert sum(len(group["rules"]) for group in groups) > 30


def test_every_panel_of_every_dashboard_has_data(prometheus: Prometheus | None, job: Any, began: float) -> None:
    if prometheus is None:
        pytest.skip("Prometheus cannot be had here, see scripts/prometheus-tools")
    empty = dict(panel_queries())
    assert len(empty) > 80

    def all_have_data() -> bool:
        for where, query in list(empty.items()):
            if prometheus.figures(query, began):
                del empty[where]
        return not empty

    # What is recorded comes a moment after what it is made from.
    wait_for(all_have_data, lambda: empty, 60)


def panel_queries() -> Iterator[tuple[str, str]]:
    """Where each query is, and the query with its variables filled in."""
    for path in sorted((ROOT / "deploy/grafana/dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                query = target["expr"]
                for name, value in VARIABLES.items():
                    query = query.replace(name, value)
                assert "$" not in query, query
                yield f"{path.stem} / {panel['title']} / {target['refId']}", query


def test_no_label_of_ours_has_more_values_than_the_deployment_has_things(
    prometheus: Prometheus | None, job: Any
) -> None:
    """Ids, texts and names that a model made up must not become labels."""
    if prometheus is None:
        pytest.skip("Prometheus cannot be had here, see scripts/prometheus-tools")
    task_id = job.status.task.task_id
    series = prometheus.get("series", **{"match[]": '{__name__=~"quartet_.+"}'})
    assert len(series) > 300
    values: dict[str, set[str]] = {}
    for one in series:
        for label, value in one.items():
            values.setdefault(label, set()).add(value)
    assert not [value for found in values.values() for value in found if task_id in value]
    most = {label: len(found) for label, found in values.items() if label not in {"__name__", "le"}}
    assert max(most.values()) < 150, most
