"""Runs the main job with traces and sums up where its wall time went."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from quartet_benchmarks.errors import OptionError
from quartet_benchmarks.extras import require_time
from quartet_benchmarks.main_job import MAIN_JOB, Job, run_main_job
from quartet_benchmarks.result import START_TIMEOUT_S, BenchParameters, BenchResult
from quartet_benchmarks.timing.flame_graph import FlameGraph, find_py_spy
from quartet_benchmarks.timing.parts import PARTS, Span, Stretch, seconds_by_name, seconds_by_part, stretches
from quartet_deployment import Stack, StackOptions, run_metrics, state_folder

JOBS = 3
NAMES = 3
"""Longest spans that a row names."""
FLAME = "flame"


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of jobs. Raises StackError, MissingExtraError, MeasurementError."""
    require_time()
    # It imports what the extra installs.
    from quartet_benchmarks.timing.collector import collecting

    count = parameters.episodes or (1 if parameters.short else JOBS)
    agent: str | None = parameters.options.get(FLAME)
    if agent is not None:
        find_py_spy()
    folder = state_folder() / "bench-time"
    with collecting() as collector:
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
                jobs: list[Job] = []
                for number in range(count):
                    jobs.append(job := run_main_job(stack, parameters.seed))
                    parameters.progress(f"job {number + 1}: {job.wall_s:.2f} s")
            models = ", ".join(stack.model_names)
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


def _summary(jobs: Sequence[Job], spans: Sequence[Span], about: dict[str, Any], notes: list[str]) -> BenchResult:
    everything: list[Stretch] = []
    details: list[dict[str, Any]] = []
    for job in jobs:
        start_ns, end_ns = (round(at * 1e9) for at in (job.status.task.created_at, job.status.updated_at))
        found = stretches(spans, job.trace, start_ns, end_ns)
        everything += found
        metrics = run_metrics(job.status, job.events)
        details.append(
            {**{name: metrics[name] for name in ("wall_s", "model_turns", "tool_calls")}, **seconds_by_part(found)}
        )
    seconds = {part: sum_s / len(jobs) for part, sum_s in seconds_by_part(everything).items()}
    wall_s = sum(job.wall_s for job in jobs) / len(jobs)
    rows = [
        {
            "part": part,
            "s": round(seconds[part], 3),
            "share": f"{seconds[part] / wall_s:.1%}",
            "most of it": ", ".join(
                f"{name} {sum_s / len(jobs):.2f}"
                for name, sum_s in list(seconds_by_name(everything, part).items())[:NAMES]
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
