"""The suite `overhead`: its model, its figures, and the environments of its clients."""

import math
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from quartet_benchmarks import environments
from quartet_benchmarks.bus.suite import ON_REDIS, OTHERS, OWN_ENVIRONMENT
from quartet_benchmarks.environments import KEPT, environment
from quartet_benchmarks.errors import MeasurementError, MissingExtraError
from quartet_benchmarks.overhead.model import ANSWER, CALLS, Model, completion
from quartet_benchmarks.overhead.suite import AGENT, BARE_OPENAI, BARE_VLLM, FRAMEWORKS, LOOP, Figures, summary
from quartet_benchmarks.overhead.tools import create_server
from quartet_benchmarks.serving import served


def request(said: int, *tools: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": ""}, {"role": "user", "content": ""}]
    messages += [{"role": "assistant", "content": ""}, {"role": "tool", "content": ""}] * said
    return {"messages": messages, "tools": [{"type": "function", "function": {"name": name}} for name in tools]}


def called(body: dict[str, Any]) -> str:
    return body["choices"][0]["message"]["tool_calls"][0]["function"]["name"]


def test_the_model_asks_for_the_calls_in_order_by_the_names_that_the_client_offers() -> None:
    plain = [called(completion(request(said, *(name for name, _ in CALLS)))) for said in range(len(CALLS))]
    assert plain == [name for name, _ in CALLS]
    assert called(completion(request(0, "moveit__look", "nav2__get_robot_pose"))) == "nav2__get_robot_pose"


def test_the_model_ends_with_the_tool_that_ends_a_run_or_else_in_words() -> None:
    assert called(completion(request(len(CALLS), "look", "final_answer"))) == "final_answer"
    assert called(completion(request(len(CALLS), "nav2__look", "report_approach_result"))) == "report_approach_result"
    assert completion(request(len(CALLS), "look"))["choices"][0]["message"] == {"role": "assistant", "content": ANSWER}


async def test_the_tools_take_the_models_arguments() -> None:
    offered = {tool.name: tool.parameters["properties"] for tool in await create_server().list_tools()}
    assert len(offered) == 6
    for name, arguments in CALLS:
        # One of the clients requires every argument.
        assert arguments.keys() == offered[name].keys(), name


def test_a_turn_is_the_time_from_an_answer_to_the_clients_next_request() -> None:
    model = Model()
    with served(model.app) as url, httpx.Client(base_url=url) as http:
        for said in range(len(CALLS) + 1):
            for client in ("a", "b"):
                http.post(f"/{client}/v1/chat/completions", json=request(said)).raise_for_status()
    turns, own = model.times("a")
    assert len(turns) == len(CALLS)
    assert min(turns) > 0
    assert own > 0
    with pytest.raises(MeasurementError, match="a asked the model 0 times"):
        model.times("a")


def figures(turn_ms: float, over_s: float = 1.1, peak_mb: float = 100.0) -> Figures:
    return Figures(start_s=1.0, turns_s=[turn_ms / 1e3] * 3, over_s=[over_s], cpu_s=[0.1], peak_mb=peak_mb)


def test_ratios_are_to_the_bare_loops_and_to_the_best_framework_of_each_figure() -> None:
    names = list(FRAMEWORKS)
    measured = {
        BARE_OPENAI: figures(20.0),
        BARE_VLLM: figures(10.0),
        names[0]: figures(30.0, over_s=1.1, peak_mb=80.0),
        names[1]: figures(25.0, over_s=2.2, peak_mb=200.0),
        LOOP: figures(15.0, peak_mb=90.0),
        AGENT: figures(18.0, over_s=3.3, peak_mb=120.0),
    }
    result = summary(measured, {}, {LOOP: [0.011], AGENT: [0.022]}, 0.5, 3)
    metrics = {name: pytest.approx(value) for name, value in result.metrics.items() if isinstance(value, float)}
    assert metrics["turn_ms_p50"] == 15.0
    assert metrics["turn_over_bare_openai"] == 0.75
    assert metrics["turn_over_bare_vllm"] == 1.5
    assert metrics["turn_over_fastest_framework"] == 0.6
    assert metrics["durable_turn_over_fastest_framework"] == 3.0
    assert metrics["agent_rss_over_smallest_framework"] == 1.5
    assert metrics["agent_start_over_bare_mcp"] == 0.5
    assert [row["client"] for row in result.rows][:2] == [BARE_VLLM, LOOP]
    cpu = {row["client"]: row["gateway's cpu ms a turn"] for row in result.rows}
    assert cpu == {**dict.fromkeys((BARE_OPENAI, BARE_VLLM, *names[:2]), ""), LOOP: 1.0, AGENT: 2.0}


def test_clients_that_cannot_be_installed_are_named_with_the_reason_and_have_no_ratio() -> None:
    result = summary({LOOP: figures(15.0), AGENT: figures(18.0)}, {"langgraph": "no network"}, {}, 0.5, 1)
    assert math.isnan(float(result.metrics["turn_over_bare_openai"]))  # pyright: ignore[reportArgumentType]
    assert result.as_json()["metrics"]["durable_turn_over_fastest_framework"] is None
    assert "langgraph is not in the table: no network" in result.notes


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose only client needs `packages.txt`, and a uv that notes its calls."""
    requirements = tmp_path / "clients" / "requirements"
    requirements.mkdir(parents=True)
    (requirements / "some_loop.txt").write_text("some==1.0\n")
    monkeypatch.setattr(environments, "CLIENTS", tmp_path / "clients")
    monkeypatch.setattr(environments, "project_root", lambda: tmp_path)
    uv = tmp_path / ".quartet" / "tools" / "bin" / "uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/calls\n[ "$1" != venv ] || mkdir -p "$5"\n')
    uv.chmod(0o755)
    return tmp_path


def test_an_environment_is_made_once_and_again_when_its_requirements_change(project: Path) -> None:
    python = environments.python_of("some_loop")
    assert python == project / ".quartet" / "clients" / "some_loop" / "bin" / "python"
    environments.python_of("some_loop")
    assert (project / "calls").read_text().split() == ["venv", "pip"]
    (project / "clients" / "requirements" / "some_loop.txt").write_text("some==2.0\n")
    environments.python_of("some_loop")
    assert (project / "calls").read_text().split() == ["venv", "pip"] * 2


@pytest.mark.slow
def test_quartets_agent_is_measured_with_the_packages_of_its_image() -> None:
    code = "import sys, quartet_approach, quartet_agent_runtime._mcp as m, importlib.util as u; print(*[n for n in "
    code += "('h2', 'litellm', 'fastmcp', 'opentelemetry.sdk', 'watchfiles', 'pytest') if u.find_spec(n)])"
    python = environments.python_of_agent()
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert not found.strip()


def test_an_environment_that_cannot_be_made_says_why_and_is_tried_again(project: Path) -> None:
    uv = project / ".quartet" / "tools" / "bin" / "uv"
    sound = uv.read_text()
    uv.write_text('#!/bin/sh\necho "no route to the index" >&2\nexit 1\n')
    with pytest.raises(MeasurementError, match="no route to the index"):
        environments.python_of("some_loop")
    uv.write_text(sound)
    environments.python_of("some_loop")


def test_without_uv_it_says_what_to_do(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".quartet" / "tools" / "bin" / "uv").unlink()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtraError, match="make setup"):
        environments.python_of("some_loop")


def test_every_client_has_its_script_and_requirements() -> None:
    folder = environments.CLIENTS
    others = {*ON_REDIS.values(), *OTHERS.values()} - OWN_ENVIRONMENT
    for script in ("bare_loop", "charts", *FRAMEWORKS.values(), *others):
        assert (folder / f"{script}.py").is_file()
        pins = [line for line in (folder / "requirements" / f"{script}.txt").read_text().splitlines() if line[0] != "#"]
        assert pins
        assert all("==" in line for line in pins), script


def test_the_processes_get_no_keys_and_no_choice_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a person's own")
    monkeypatch.setenv("QUARTET_MODEL", "openai/gpt-4.1")
    given = environment(QUARTET_PORT="0")
    assert given.keys() <= {*KEPT, "QUARTET_PORT"}
    assert (given["PATH"], given["QUARTET_PORT"]) == (os.environ["PATH"], "0")
