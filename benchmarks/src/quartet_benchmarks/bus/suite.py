"""Sends the same request over every bus in turn, one at a time, and compares the times until its result."""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quartet_benchmarks.bus.nats_server import nats_server
from quartet_benchmarks.environments import CLIENTS, environment, python_of
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.fleet.redis_process import RedisProcess
from quartet_benchmarks.fleet.suite import fsync_ms
from quartet_benchmarks.overhead.processes import ClientProcess, working_folder
from quartet_benchmarks.result import BenchParameters, BenchResult, percentile
from quartet_contracts import (
    MODEL_TOOLS,
    ApproachArguments,
    ApproachCode,
    ApproachResult,
    Budget,
    NextAction,
    Skill,
    SkillRequest,
    State,
)
from quartet_deployment import sign_grant

ROUNDS, SHORT_ROUNDS = 120, 30
REQUESTS = 10
"""Requests of each bus in a round, one after the other: few, so that a burst of other load hits all buses alike."""
WARM_UP = 5
"""Rounds that are not counted."""
TOLD = 10
"""Rounds between two lines of progress."""
GRANT_S = 3600

QUARTET, STREAMS, FASTSTREAM, GRPC = "quartet", "bare redis streams", "faststream", "grpc"
NATS, JETSTREAM = "nats", "nats jetstream"
ON_REDIS = {
    QUARTET: "bus_quartet",
    STREAMS: "bus_streams",
    FASTSTREAM: "bus_faststream",
    "taskiq": "bus_taskiq",
    "celery": "bus_celery",
}
"""Script of each bus that stands on Redis, and is therefore measured twice."""
OTHERS = {NATS: "bus_nats", JETSTREAM: "bus_nats", GRPC: "bus_grpc"}
OWN_ENVIRONMENT = frozenset({"bus_quartet", "bus_streams"})
"""Scripts that run with Quartet's own packages: they need no others."""
PLAIN, DURABLE, NONE = "no", "always", ""
"""appendfsync of the Redis of a case; none for a bus that is not on Redis."""


@dataclass(frozen=True)
class Case:
    """A bus, and what it writes to disk before it answers."""

    bus: str
    fsync: str


@dataclass(frozen=True)
class Servers:
    """What the buses stand on."""

    plain: RedisProcess
    durable: RedisProcess
    folder: Path
    given: dict[str, Any]
    """The request and the result that go over each bus."""


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of rounds. Raises MeasurementError, MissingExtraError, StackError."""
    rounds = parameters.episodes or (SHORT_ROUNDS if parameters.short else ROUNDS)
    absent: dict[str, str] = {}
    with ExitStack() as own:
        servers = own.enter_context(_servers())
        asking = _start(own, servers, absent, parameters.progress)
        times, medians = _measure(asking, rounds, parameters.progress)
        fsync = percentile(fsync_ms(), 0.5)
    return summary(times, medians, absent, rounds, fsync)


@contextmanager
def _servers() -> Iterator[Servers]:
    with RedisProcess(None) as plain, RedisProcess("always") as durable, working_folder() as folder:
        yield Servers(plain, durable, folder, messages())


def messages() -> dict[str, Any]:
    """Return a request with a signed grant and its result, as JSON objects: what the approach agent gets and says."""
    key = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    now, task = time.time(), "t-0123456789abcdef"
    tools = MODEL_TOOLS[Skill.APPROACH]
    request = SkillRequest(
        request_id="r-0123456789abcdef",
        task_id=task,
        robot="robot",
        skill=Skill.APPROACH,
        created_at=now,
        deadline=now + GRANT_S,
        arguments=ApproachArguments(target_area="kitchen", object_name="red can", next_action=NextAction.PICK),
        grant=sign_grant(key.decode(), "robot", tools, name=Skill.APPROACH.value, seconds=GRANT_S, task=task),
        reply_to="replaced-by-the-asking-side",
        budget=Budget(),
    )
    result = ApproachResult(
        request_id=request.request_id,
        task_id=task,
        success=True,
        error_code=ApproachCode.NONE,
        reason="the robot stands 0.62 m before the kitchen table; the head camera sees 'red can' on it",
        state=State.SUCCEEDED,
    )
    return {"request": request.model_dump(mode="json"), "result": result.model_dump(mode="json")}


def _start(
    own: ExitStack, servers: Servers, absent: dict[str, str], progress: Callable[[str], None]
) -> dict[Case, ClientProcess]:
    """Start both sides of all buses; what cannot be installed or started is noted in `absent` with the reason."""
    asking: dict[Case, ClientProcess] = {}
    nats_url: str | None = None
    for bus, script in {**ON_REDIS, **OTHERS}.items():
        progress(f"{bus}: its environment, its start")
        try:
            python = Path(sys.executable) if script in OWN_ENVIRONMENT else python_of(script)
            if script == "bus_nats" and nats_url is None:
                nats_url = own.enter_context(nats_server(python, servers.folder))
            urls = {
                NATS: {NONE: nats_url},
                JETSTREAM: {NONE: f"jetstream+{nats_url}"},
                GRPC: {NONE: ""},
            }.get(bus, {PLAIN: servers.plain.url, DURABLE: servers.durable.url})
            for fsync, url in urls.items():
                asking[Case(bus, fsync)] = _both(own, servers, python, script, url)
        except MeasurementError as error:
            absent[bus] = str(error)
    return asking


def _both(own: ExitStack, servers: Servers, python: Path, script: str, url: str | None) -> ClientProcess:
    """Start the answering side, then the asking one, which is returned."""

    def start(mode: str, at: str | None) -> ClientProcess:
        given = json.dumps({"url": at, **servers.given})
        argv = [str(python), str(CLIENTS / f"{script}.py"), mode, given]
        log = servers.folder / f"{script}-{mode}-{time.monotonic_ns()}.log"
        client = ClientProcess(f"{script} ({mode})", argv, environment(DO_NOT_TRACK="1"), log)
        own.callback(client.kill)
        return client

    return start("ask", start("answer", url).ready["url"])


def _measure(
    asking: dict[Case, ClientProcess], rounds: int, progress: Callable[[str], None]
) -> tuple[dict[Case, list[float]], dict[Case, list[float]]]:
    """Let the buses take turns, each first in some round; return all times [ms], and the median of each round [ms]."""
    times: dict[Case, list[float]] = defaultdict(list)
    medians: dict[Case, list[float]] = defaultdict(list)
    cases = list(asking)
    for number in range(WARM_UP + rounds):
        first = number % len(cases)
        for case in cases[first:] + cases[:first]:
            taken = [one * 1e3 for one in asking[case].tell(str(REQUESTS))["times_s"]]
            if number >= WARM_UP:
                times[case] += taken
                medians[case].append(percentile(taken, 0.5))
        if (number + 1) % TOLD == 0:
            progress(f"round {number + 1} of {WARM_UP + rounds}")
    return times, medians


def ratio(medians: Mapping[Case, list[float]], one: Case, other: Case) -> float:
    """Return how long `one` takes by `other`: the median over the rounds, in which both have the same load."""
    both = zip(medians.get(one, []), medians.get(other, []), strict=False)
    return percentile([mine / theirs for mine, theirs in both], 0.5)


def summary(
    times: Mapping[Case, list[float]],
    medians: Mapping[Case, list[float]],
    absent: Mapping[str, str],
    rounds: int,
    fsync: float,
) -> BenchResult:
    """Return the result: `times` and the `medians` of the rounds [ms]; `absent` says why a bus has no figures."""
    mine, durable = Case(QUARTET, PLAIN), Case(QUARTET, DURABLE)
    metrics: dict[str, Any] = {
        "bus_ms_p50": percentile(times.get(mine, []), 0.5),
        "bus_durable_ms_p50": percentile(times.get(durable, []), 0.5),
        "bus_over_streams": ratio(medians, mine, Case(STREAMS, PLAIN)),
        "bus_over_faststream": ratio(medians, mine, Case(FASTSTREAM, PLAIN)),
        "bus_over_grpc": ratio(medians, mine, Case(GRPC, NONE)),
        "bus_durable_over_streams": ratio(medians, durable, Case(STREAMS, DURABLE)),
        "bus_durable_over_faststream": ratio(medians, durable, Case(FASTSTREAM, DURABLE)),
        "fsync_ms_p50": fsync,
    }
    rows = [
        {
            "bus": case.bus,
            "appendfsync": case.fsync,
            "p50 ms": round(percentile(taken, 0.5), 3),
            "p95 ms": round(percentile(taken, 0.95), 3),
            "n": len(taken),
            "by bare streams": _by_streams(medians, case),
        }
        for case, taken in sorted(times.items(), key=lambda item: (item[0].fsync, percentile(item[1], 0.5)))
    ]
    notes = [
        "p50 and p95: from a skill's request to its result, one request at a time, process to process; the answering "
        "side answers at once. Every bus has the same request and result, and turns messages to JSON and back.",
        "Quartet's checks both by their types, admits a request once however often it is delivered, marks it as "
        "started before its first effect, keeps the result, and renews leases. NATS and gRPC keep no request that "
        "nobody answers; JetStream keeps it in a file that it writes to disk later. taskiq's caller polls every 2 ms.",
        "Ratios are medians over the rounds, in each of which all buses take their turn.",
        *(f"{name} is not in the table: {why}" for name, why in absent.items()),
    ]
    return BenchResult("bus", {"rounds": rounds, "requests a round": REQUESTS}, metrics, rows, notes=notes)


def _by_streams(medians: Mapping[Case, list[float]], case: Case) -> float | None:
    value = ratio(medians, case, Case(STREAMS, case.fsync or PLAIN))
    return round(value, 2) if value == value else None
