"""Runs the main job with traces and sums up where its wall time went."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from quartet_benchmarks.errors import MeasurementError, MissingExtraError, OptionError
from quartet_benchmarks.home.world import World
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_benchmarks.timing.flame_graph import FlameGraph, find_py_spy
from quartet_contracts import JournalEvent, State, TaskStatus, TaskSubmission
from quartet_deployment import Stack, StackOptions, run_metrics, state_folder

if TYPE_CHECKING:
    from quartet_benchmarks.timing.collector import Span

MAIN_JOB = "pick up the red coke can in the kitchen and place it on the wooden coffee table in the living room"
JOBS = 3
TASK_TIMEOUT_S = 300.0
START_TIMEOUT_S = 180.0
NAMES = 3
"""Longest spans that a row names."""
FLAME = "flame"


@dataclass(frozen=True)
class Job:
    """One run of the main job."""

    status: TaskStatus
    events: list[JournalEvent]

    @property
    def trace(self) -> str:
        """Id of its trace."""
        return (self.status.task.traceparent or "--").split("-")[1]

    @property
    def wall_s(self) -> float:
        """Wall time from its acceptance to its end [s]."""
        return self.status.updated_at - self.status.task.created_at


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of jobs. Raises StackError, MissingExtraError, MeasurementError."""
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise MissingExtraError(
            "the OpenTelemetry SDK is not installed, with which processes send traces; install quartet-benchmarks[time]"
        )
    from quartet_benchmarks.timing.collector import Collector

    count = parameters.episodes or (1 if parameters.short else JOBS)
    agent: str | None = parameters.options.get(FLAME)
    if agent is not None:
        find_py_spy()
    folder = state_folder() / "bench-time"
    with Collector() as collector:
        env = {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
            "OTEL_BSP_SCHEDULE_DELAY": "500",
            "OTEL_SDK_DISABLED": "false",
        }
        options = StackOptions(
            state_dir=folder,
            fresh=True,
            sensors=parameters.sensors,
            env=env,
            start_timeout_s=START_TIMEOUT_S,
        )
        with Stack(options) as stack:
            path = folder / f"flame-{agent}.svg"
            with nullcontext() if agent is None else FlameGraph(_pid(stack, agent), path):
                jobs = [_job(stack, parameters, number) for number in range(count)]
            models = ", ".join(stack.models.values()) or "scripted"
        # The processes have sent their last spans when they end.
        spans = list(collector.spans)
    notes = [] if agent is None else [f"flame graph of {agent} (its processor time, without waiting): {path}"]
    about = {"jobs": count, "seed": parameters.seed, "sensors": parameters.sensors, "model": models}
    return _summary(jobs, spans, about, notes)


def _pid(stack: Stack, name: str) -> int:
    pids = stack.pids()
    if name not in pids:
        raise OptionError(f"flame: there is no process '{name}'; valid: {', '.join(pids)}")
    return pids[name]


def _job(stack: Stack, parameters: BenchParameters, number: int) -> Job:
    world = World(stack.scoring_url)
    try:
        world.reset(parameters.seed)
    finally:
        world.close()
    with stack.api() as api:
        task_id = api.submit(TaskSubmission(sentence=MAIN_JOB, timeout_s=TASK_TIMEOUT_S)).task.task_id
        events = list(api.events(task_id))
        job = Job(api.task(task_id), events)
    if job.status.state is not State.SUCCEEDED:
        why = job.status.report.summary if job.status.report else ""
        raise MeasurementError(f"job {number + 1} ended as {job.status.state}, so its time says nothing: {why}")
    parameters.progress(f"job {number + 1}: {job.wall_s:.2f} s")
    return job


def _summary(jobs: Sequence[Job], spans: "list[Span]", about: dict[str, Any], notes: list[str]) -> BenchResult:
    from quartet_benchmarks.timing.parts import PARTS, seconds_by_name, seconds_by_part, stretches

    seconds: defaultdict[str, float] = defaultdict(float)
    names: dict[str, defaultdict[str, float]] = {part: defaultdict(float) for part in PARTS}
    details: list[dict[str, Any]] = []
    for job in jobs:
        start_ns, end_ns = (round(at * 1e9) for at in (job.status.task.created_at, job.status.updated_at))
        found = stretches(spans, job.trace, start_ns, end_ns)
        mine = seconds_by_part(found)
        for part in PARTS:
            seconds[part] += mine[part] / len(jobs)
            for name, value in seconds_by_name(found, part).items():
                names[part][name] += value / len(jobs)
        metrics = run_metrics(job.status, job.events)
        details.append({**{name: metrics[name] for name in ("wall_s", "model_turns", "tool_calls")}, **mine})
    wall_s = sum(job.wall_s for job in jobs) / len(jobs)
    rows = [
        {
            "part": part,
            "s": round(seconds[part], 3),
            "share": f"{seconds[part] / wall_s:.1%}",
            "most of it": ", ".join(
                f"{name} {value:.2f}" for name, value in sorted(names[part].items(), key=lambda one: -one[1])[:NAMES]
            ),
        }
        for part in sorted(PARTS, key=lambda part: (part == "other", -seconds[part]))
    ]
    return BenchResult(
        "time",
        about,
        {"job_wall_s": wall_s, **{f"{part}_s": seconds[part] for part in PARTS}},
        rows,
        details,
        [
            f"Means of {len(jobs)} runs of: {MAIN_JOB}. The parts add up to the wall time from acceptance to end.",
            "Each instant belongs to the innermost span of the task's trace. model: from the gateway's request to the "
            "answer, LiteLLM included. gateway: the rest of a request to it. mcp: a tool call but for what follows, "
            "the servers' own work included. rosbridge: service calls, and waiting for messages. motion: goals of the "
            "robot. rendering: of the simulation, while one of these two waits. perception: its server's own work. "
            "bus: a request until an agent takes it, its result, and Redis outside of the journal. agents: their own "
            "code. other: no span.",
            *notes,
        ],
    )
