"""Lets all clients do the same task in turn, and compares what they need beside the model."""

import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quartet_benchmarks.environments import CLIENTS, environment, python_of, python_of_agent
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.overhead.model import ANSWER, CALLS, Model
from quartet_benchmarks.overhead.processes import ClientProcess, Run, import_cpu_s, tool_server, working_folder
from quartet_benchmarks.overhead.quartet import KEY, Backend, Requests, agent, backend
from quartet_benchmarks.result import BenchParameters, BenchResult, percentile
from quartet_benchmarks.serving import served

SYSTEM = (
    "You bring a mobile robot to things that a person names. Use one tool at a time, read its result, and go on. End "
    "when the robot stands before the thing, and say so in one sentence."
)
USER = "Drive to the red can in the kitchen."
TURNS = len(CALLS) + 1
ROUNDS, SHORT_ROUNDS = 30, 6
WARM_UP = 3
BARE_OPENAI, BARE_VLLM = "bare litellm openai/", "bare litellm hosted_vllm/"
FRAMEWORKS = {
    "pydantic-ai": "pydantic_ai_loop",
    "openai-agents": "openai_agents_loop",
    "langgraph": "langgraph_loop",
    "smolagents": "smolagents_loop",
}
LOOP, AGENT = "quartet, one process", "quartet, agent over the bus"


@dataclass
class Figures:
    """What one client needed."""

    start_s: float
    turns_s: list[float] = field(default_factory=list[float])
    """From an answer of the model to the next request, of every turn of every run [s]."""
    over_s: list[float] = field(default_factory=list[float])
    """Wall time of each run without that of the model [s]."""
    cpu_s: list[float] = field(default_factory=list[float])
    peak_mb: float = 0.0

    @property
    def turn_ms(self) -> float:
        """Median time of a turn beside the model [ms]."""
        return percentile(self.turns_s, 0.5) * 1e3

    @property
    def whole_turn_ms(self) -> float:
        """Median time of a run beside the model, by its turns [ms]."""
        return percentile(self.over_s, 0.5) / TURNS * 1e3

    def row(self, name: str) -> dict[str, Any]:
        """Return the row of the table."""
        return {
            "client": name,
            "turn ms p50": round(self.turn_ms, 2),
            "p95": round(percentile(self.turns_s, 0.95) * 1e3, 2),
            "whole run, by turns ms": round(self.whole_turn_ms, 2),
            "cpu ms a turn": round(percentile(self.cpu_s, 0.5) / TURNS * 1e3, 2),
            "peak MB": round(self.peak_mb, 1),
            "start s": round(self.start_s, 2),
        }


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of runs of each client. Raises MeasurementError, MissingExtraError."""
    rounds = parameters.episodes or (SHORT_ROUNDS if parameters.short else ROUNDS)
    model, absent = Model(), dict[str, str]()
    with ExitStack() as own:
        folder = own.enter_context(working_folder())
        model_url = own.enter_context(served(model.app))
        mcp_url = own.enter_context(tool_server(folder))
        on = own.enter_context(backend(f"{model_url}/quartet/v1", folder))
        python = python_of_agent()
        clients = _clients(own, folder, model_url, mcp_url, on, python, WARM_UP + rounds, absent, parameters.progress)
        process = own.enter_context(agent(on, python, mcp_url, SYSTEM, folder))
        bare_mcp_cpu_s = import_cpu_s(python, "mcp.client.session, mcp.client.streamable_http", folder)
        requests = Requests(on, process)
        own.callback(requests.close)
        figures = {name: Figures(client.start_s) for name, client in clients.items()}
        figures[AGENT] = Figures(process.start_s)
        runs: dict[str, Callable[[], Run]] = {name: client.run for name, client in clients.items()}
        runs[AGENT] = requests.run
        gateway_cpu = _measure(runs, figures, model, on, rounds, parameters.progress)
        for name, client in clients.items():
            figures[name].peak_mb = client.peak_mb()
        figures[AGENT].peak_mb = process.peak_mb()
    return summary(figures, absent, gateway_cpu, process.start_cpu_s / bare_mcp_cpu_s, rounds)


def _clients(
    own: ExitStack,
    folder: Path,
    model_url: str,
    mcp_url: str,
    on: Backend,
    of_agent: Path,
    runs: int,
    absent: dict[str, str],
    progress: Callable[[str], None],
) -> dict[str, ClientProcess]:
    """Start all clients, for `runs` runs; what cannot be installed is noted in `absent` with the reason."""
    found: dict[str, ClientProcess] = {}

    def start(name: str, python: Path, script: str, url: str, *more: str, **secrets: str) -> None:
        given = json.dumps({"model_url": url, "mcp_url": mcp_url, "system": SYSTEM, "user": USER})
        argv = [str(python), str(CLIENTS / f"{script}.py"), given, *more]
        # No price list or telemetry is fetched from the network while times are taken.
        settings = environment(LITELLM_LOCAL_MODEL_COST_MAP="True", DO_NOT_TRACK="1", **secrets)
        client = ClientProcess(name, argv, settings, folder / f"{len(found)}.log")
        own.callback(client.kill)
        found[name] = client

    wanted = {
        BARE_OPENAI: ("bare_loop", ("openai",)),
        BARE_VLLM: ("bare_loop", ("hosted_vllm",)),
        **{name: (script, ()) for name, script in FRAMEWORKS.items()},
    }
    for name, (script, more) in wanted.items():
        progress(f"{name}: its environment, its start")
        try:
            python = python_of(script)
        except MeasurementError as error:
            absent[name] = str(error)
            continue
        start(name, python, script, f"{model_url}/{script}/v1", *more)
    tasks = [f"loop-{number}" for number in range(runs)]
    own_secrets = {"GRANTS": json.dumps({task: on.grant(task) for task in tasks}), "GATEWAY_KEY": KEY}
    start(LOOP, of_agent, "quartet_loop", on.gateway.url, on.redis.url, **own_secrets)
    return found


def _measure(
    runs: dict[str, Callable[[], Run]],
    figures: dict[str, Figures],
    model: Model,
    on: Backend,
    rounds: int,
    progress: Callable[[str], None],
) -> dict[str, list[float]]:
    """Let the clients do the task in turn, each first in some round; return the gateway's processor time [s]."""
    gateway: dict[str, list[float]] = defaultdict(list)
    names = list(runs)
    for number in range(WARM_UP + rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before = on.gateway.cpu_s()
            done = runs[name]()
            if done.answer != ANSWER:
                raise MeasurementError(f"{name} ended with '{done.answer[:200]}', not with the model's answer")
            turns, own_s = model.times(_endpoint(name))
            if number < WARM_UP:
                continue
            one = figures[name]
            one.turns_s += turns
            one.over_s.append(done.wall_s - own_s)
            one.cpu_s.append(done.cpu_s)
            if name in (LOOP, AGENT):
                gateway[name].append(on.gateway.cpu_s() - before)
        progress(f"round {number + 1} of {WARM_UP + rounds}{' (not counted)' if number < WARM_UP else ''}")
    return gateway


def _endpoint(name: str) -> str:
    return FRAMEWORKS.get(name, "quartet" if name in (LOOP, AGENT) else "bare_loop")


def summary(
    figures: dict[str, Figures],
    absent: dict[str, str],
    gateway_cpu: dict[str, list[float]],
    start_over_bare_mcp: float,
    rounds: int,
) -> BenchResult:
    """Return the result of `rounds` runs of each client; `absent` says why a client has no figures.

    `start_over_bare_mcp`: processor time of the agent's start by that of importing the mcp client without bytecode.
    """
    turn = {name: one.turn_ms for name, one in figures.items()}
    whole = {name: one.whole_turn_ms for name, one in figures.items()}
    peers = [name for name in FRAMEWORKS if name in figures]
    nan = float("nan")
    metrics: dict[str, Any] = {
        "turn_ms_p50": turn[LOOP],
        "turn_over_bare_openai": turn[LOOP] / turn.get(BARE_OPENAI, nan),
        "turn_over_bare_vllm": turn[LOOP] / turn.get(BARE_VLLM, nan),
        "turn_over_fastest_framework": turn[LOOP] / min((turn[name] for name in peers), default=nan),
        "durable_turn_over_fastest_framework": whole[AGENT] / min((whole[name] for name in peers), default=nan),
        "agent_rss_mb": figures[AGENT].peak_mb,
        "agent_rss_over_smallest_framework": figures[AGENT].peak_mb
        / min((figures[name].peak_mb for name in peers), default=nan),
        "agent_start_s": figures[AGENT].start_s,
        "agent_start_over_bare_mcp": start_over_bare_mcp,
    }
    rows = [one.row(name) for name, one in sorted(figures.items(), key=lambda item: item[1].turn_ms)]
    for row in rows:
        cpu = gateway_cpu.get(row["client"], [])
        row["gateway's cpu ms a turn"] = round(percentile(cpu, 0.5) / TURNS * 1e3, 2) if cpu else ""
    notes = [
        "turn: from the model's answer to its next request; the calls of an MCP tool and of the model are in it, the "
        "work of model and tool is not (both answer at once). Quartet's has both ways through the gateway in it.",
        "whole run, by turns: wall time of the task without that of the model, by its 11 turns; for the agent over the "
        "bus from the request on the stream to its result, with its sessions to three MCP servers and a journal that "
        "is on disk before each step (appendfsync always).",
        "peak MB and start s are those of the client's process alone; LiteLLM is in Quartet's gateway, and in the bare "
        "loops. Every client has an environment with its own packages: Quartet's has those of an agent's image.",
        "agent_start_over_bare_mcp: in processor time, by that of importing the mcp client without compiled bytecode.",
        *(f"{name} is not in the table: {why}" for name, why in absent.items()),
    ]
    return BenchResult("overhead", {"runs": rounds, "turns": TURNS}, metrics, rows, notes=notes)
