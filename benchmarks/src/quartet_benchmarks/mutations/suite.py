"""Sends mutated messages to all surfaces in turn and watches the stack."""

import asyncio
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.mutations.bridge import BridgeClients, StrangeRobot
from quartet_benchmarks.mutations.http import HttpApiSurface
from quartet_benchmarks.mutations.mcp import McpSurface
from quartet_benchmarks.mutations.mutate import Mutator
from quartet_benchmarks.mutations.streams import StreamSurface
from quartet_benchmarks.mutations.watch import StackWatch
from quartet_benchmarks.result import BenchParameters, BenchResult
from quartet_contracts import ApproachArguments, Skill, State
from quartet_deployment import SERVERS, Stack, StackOptions

MESSAGES, SHORT_MESSAGES = 100_000, 2_000
SHARES = {"streams": 0.3, "http": 0.15, "mcp": 0.15, "bridge": 0.25, "robot": 0.15}
"""Share of each surface in the messages; cheap ones get more."""
ROUNDS = 40
"""Number of rounds; the stack is checked after each."""
DRAIN_S = 600.0
WORLD = "studio"
FLAT_MB = 25.0
"""Growth of a process after the warm-up that is normal for the heap of a Python process [MB]."""


@dataclass
class Report:
    """Findings about a stack."""

    sent: dict[str, int] = field(default_factory=dict[str, int])
    crashes: list[str] = field(default_factory=list[str])
    complaints: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    failures: list[str] = field(default_factory=list[str])
    motions: list[str] = field(default_factory=list[str])
    growth_mb: dict[str, float] = field(default_factory=dict[str, float])
    size_mb: dict[str, float] = field(default_factory=dict[str, float])
    works: bool = False
    """Whether a sound request still moves the robot afterwards."""


async def play(
    stack: Stack,
    folder: Path,
    messages: int,
    seed: int,
    *,
    progress: Callable[[str], None] = print,
    rounds: int = ROUNDS,
    servers: Sequence[str] = SERVERS,
) -> Report:
    """Send `messages` mutated messages to `stack`, and to `servers` of a strange robot with their files in `folder`."""
    dice = random.Random(seed)
    mutators = {name: Mutator(random.Random(dice.random())) for name in SHARES}
    robot = StrangeRobot(stack, mutators["robot"], folder, servers)
    streams = StreamSurface(stack, mutators["streams"])
    surfaces: list[Any] = [
        streams,
        HttpApiSurface(stack, mutators["http"], bearers(stack)),
        McpSurface(stack, mutators["mcp"]),
        BridgeClients(stack, mutators["bridge"]),
        robot,
    ]
    report = Report(sent=dict.fromkeys(SHARES, 0))
    try:
        for surface in surfaces:
            await surface.open()
        watch = StackWatch(stack, robot.processes)
        began = time.monotonic()
        for turn in range(1, rounds + 1):
            for surface in surfaces:
                count = round(messages * SHARES[surface.name] * turn / rounds) - report.sent[surface.name]
                await surface.send(count)
                report.sent[surface.name] += count
            await _until_drained(streams)
            sent = sum(report.sent.values())
            await asyncio.to_thread(watch.check, sent)
            progress(f"{sent} messages, {time.monotonic() - began:.0f} s, {len(watch.crashes)} crashes, "
                f"{sum(map(len, watch.complaints.values()))} complaints, {len(watch.motions)} motions")  # fmt: skip
        report.failures = [text for surface in surfaces for text in getattr(surface, "failures", [])]
    finally:
        for surface in surfaces:
            await surface.close()
    report.crashes, report.motions, report.complaints = watch.crashes, watch.motions, dict(watch.complaints)
    report.growth_mb = {name: watch.growth_mb(name) for name in watch.names()}
    report.size_mb = {name: watch.sizes[name][-1][1] for name in watch.names()}
    report.works = await asyncio.to_thread(_works, stack)
    return report


def bearers(stack: Stack) -> Mapping[str, str]:
    """Return the credential of each process of the stack that asks for one."""
    return {
        "stop": stack.stop_token,
        "orchestrator": stack.api_token,
        "gateway": stack.secrets.text("pick", "gateway_key"),
    }


async def _until_drained(streams: StreamSurface) -> None:
    end = time.monotonic() + DRAIN_S
    while not await streams.drained():
        if time.monotonic() > end:
            raise MeasurementError(f"the streams were not read to their end within {DRAIN_S:g} s")
        await asyncio.sleep(0.1)


def _works(stack: Stack) -> bool:
    arguments = ApproachArguments.model_validate(
        {"target_area": "studio", "object_name": "red coke can", "next_action": "pick"}
    )
    with stack.api() as api:
        task_id = api.run_skill(Skill.APPROACH, arguments).task.task_id
        for _ in api.events(task_id):
            pass
        return api.task(task_id).state is State.SUCCEEDED


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of messages. Raises StackError."""
    messages = parameters.episodes or (SHORT_MESSAGES if parameters.short else MESSAGES)
    rounds = 10 if parameters.short else ROUNDS
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder:
        options = StackOptions(state_dir=Path(folder) / "stack", world=WORLD, use_dotenv=False)
        with Stack(options) as stack:
            report = asyncio.run(
                play(stack, Path(folder), messages, parameters.seed, progress=parameters.progress, rounds=rounds)
            )
    for name, texts in report.complaints.items():
        parameters.progress(f"{name}: {len(texts)} unhandled exceptions, the first one:\n{texts[0]}")
    for text in report.failures[:20]:
        parameters.progress(text)
    return BenchResult(
        "mutations",
        {"messages": sum(report.sent.values()), "seed": parameters.seed, "world": WORLD},
        {
            "crashes": float(len(report.crashes)),
            "unhandled_exceptions": float(sum(map(len, report.complaints.values()))),
            "server_errors": float(len(report.failures)),
            "motions": float(len(report.motions)),
            "grown": float(sum(grown > FLAT_MB for grown in report.growth_mb.values())),
            "growth_mb_max": max(report.growth_mb.values(), default=float("nan")),
            "works_afterwards": float(report.works),
            **{f"messages_{name}": float(count) for name, count in report.sent.items()},
        },
        [
            {
                "process": name,
                "growth_mb": round(grown, 1),
                "size_mb": round(report.size_mb[name], 1),
                "unhandled": len(report.complaints.get(name, [])),
            }
            for name, grown in report.growth_mb.items()
        ],
        notes=[
            "Each message is a valid one, changed in its structure, byte by byte, or both. streams: Redis; http: APIs "
            "of orchestrator, gateway, stop service, control endpoints; mcp: JSON-RPC at the servers; bridge: clients "
            "of the simulated robot's rosbridge; robot: what servers receive from a rosbridge. growth_mb: resident "
            f"memory at the end over that after 40 % of the messages; {FLAT_MB:g} MB is normal for a heap."
        ],
    )
