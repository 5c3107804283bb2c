"""The tools suite: what a tool call costs on its way through the stack, while the robot stands still."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from quartet_agent_runtime import Toolbox, ignore_progress
from quartet_benchmarks.errors import MeasurementError
from quartet_benchmarks.result import BenchParameters, BenchResult, Rate, percentile
from quartet_deployment import AGENTS, Stack, StackOptions
from quartet_robot_link import BridgeLink

CALLS, SHORT_CALLS, WARM_UP = 300, 60, 5
TIMEOUT_S = 30.0
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "get_robot_pose": ("nav2__get_robot_pose", {}),
    "get_grasp_state": ("moveit__get_grasp_state", {}),
    "look": ("perception__look", {"camera": "front"}),
    "detect_objects": ("perception__detect_objects", {"camera": "front", "names": ["red coke can"]}),
}
ROBOTLESS = "ros__get_verified_robots_list"
"""A tool that the server answers from what it read at its start."""
SERVER_SECONDS = "quartet_tool_call_seconds"
"""Metric of the servers: wall time from the token's check to the result."""
CLOCK_SERVICE = "/rosapi/get_time"


def run(parameters: BenchParameters) -> BenchResult:
    """Run the suite; `episodes` is the number of calls of each kind. Raises StackError."""
    calls = parameters.episodes or (SHORT_CALLS if parameters.short else CALLS)
    without = frozenset({"redis", "gateway", "scripted_model", "orchestrator", *AGENTS})
    with tempfile.TemporaryDirectory(prefix="quartet-bench-") as folder:
        options = StackOptions(
            state_dir=Path(folder), seed=parameters.seed, sensors=parameters.sensors, without=without
        )
        with Stack(options) as stack:
            times = asyncio.run(_measure(stack, calls, parameters.progress))
            inside = {name: _server_mean_ms(stack, tool) for name, (tool, _) in CASES.items()}
    metrics: dict[str, float | Rate] = {f"{name}_ms_p50": percentile(values, 0.5) for name, values in times.items()}
    rows = [
        {
            "call": name,
            "n": len(values),
            **{f"p{share}_ms": percentile(values, share / 100) for share in (50, 95, 99)},
            "server_mean_ms": inside.get(name, ""),
        }
        for name, values in times.items()
    ]
    return BenchResult(
        "tools",
        {"calls": calls, "seed": parameters.seed},
        metrics,
        rows,
        notes=[
            "mcp: a tool call that is answered without the robot (client, HTTP, token check and back). "
            "rosbridge: one service call without MCP. The others are whole tool calls, of which server_mean is the "
            "part inside the server (what it asks of the robot included), mean over all calls."
        ],
    )


async def _measure(stack: Stack, calls: int, progress: Callable[[str], None]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    grant = stack.grant([ROBOTLESS, *(tool for tool, _ in CASES.values())], name="bench")
    async with Toolbox(stack.servers(), grant, (), TIMEOUT_S) as tools:
        for name, (tool, arguments) in CASES.items():
            times[name] = await _time(lambda tool=tool, arguments=arguments: _checked(tools, tool, arguments), calls)
            progress(f"{name}: {percentile(times[name], 0.5):.2f} ms")
        times["mcp"] = await _time(lambda: _checked(tools, ROBOTLESS, {}), calls)
    link = await BridgeLink.open(stack.bridge_url, wait_s=5.0)
    try:
        times["rosbridge"] = await _time(lambda: link.call_service(CLOCK_SERVICE), calls)
    finally:
        await link.close()
    return times


async def _checked(tools: Toolbox, tool: str, arguments: dict[str, Any]) -> None:
    outcome = await tools.call(tool, arguments, ignore_progress)
    if not outcome.ok:
        raise MeasurementError(f"{tool}: {outcome.error_code} {outcome.message}")


def _server_mean_ms(stack: Stack, tool: str) -> float:
    """Return the mean wall time of `tool` inside its server [ms], as the server counts it."""
    server, name = tool.split("__")
    mine = {"Authorization": f"Bearer {stack.metrics_token}"}
    text = httpx.get(
        stack.servers()[server].removesuffix("/mcp") + "/metrics", headers=mine, timeout=TIMEOUT_S, trust_env=False
    ).text
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("tool") == name
    }
    return found[f"{SERVER_SECONDS}_sum"] / found[f"{SERVER_SECONDS}_count"] * 1e3


async def _time(call: Callable[[], Awaitable[Any]], count: int) -> list[float]:
    """Return the wall time of each call [ms], without the warm-up."""
    times: list[float] = []
    for index in range(count + WARM_UP):
        begun = time.perf_counter()
        await call()
        if index >= WARM_UP:
            times.append((time.perf_counter() - begun) * 1e3)
    return times
