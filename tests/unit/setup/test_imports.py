"""What a process imports before it is ready: it starts in less than a second and waits in little memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

MCP = {"fastmcp", "mcp", "mcp_types"}
MODELS = {"litellm", "openai", "aiohttp"}
ROBOT = {"quartet_robot_link", "quartet_tool_server", "websockets", "numpy", "mujoco"}
UNUSED = {"opentelemetry.sdk", "psutil", "click", "watchfiles", "redis.cluster", "redis.asyncio.sentinel"}
"""What redis-py would import for metrics of its own and for clusters, and uvicorn for its command line."""
PAGES = {"html.entities"}
"""What prometheus_client and starlette would import for web pages."""
LATER = {"jinja2", "jsonschema", "httpcore2"}
"""What the first request needs; it is imported while the process waits for it."""


def _imported(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("process", "not_needed"),
    [
        ("quartet_pick", MCP | MODELS | ROBOT | UNUSED | PAGES | LATER | {"httpx"}),
        ("quartet_orchestrator", MCP | MODELS | ROBOT | UNUSED | {"httpx"}),
        ("quartet_gateway", MCP | MODELS | ROBOT | {"redis", "quartet_contracts.tools", "quartet_site"}),
    ],
)
def test_a_process_imports_nothing_heavy_before_it_is_ready(process, not_needed):
    loaded = _imported(f"{process}.__main__")
    assert f"{process}.__main__" in loaded
    assert loaded.isdisjoint(not_needed), loaded & not_needed


@pytest.mark.slow
def test_an_agent_imports_the_client_of_mcp_without_its_server():
    loaded = _imported("quartet_agent_runtime._mcp")
    assert "mcp.client.session" in loaded
    assert loaded.isdisjoint({"mcp.server", "mcp.client.client", "sse_starlette", "cryptography.hazmat"})


SERVING = """
import asyncio, sys
from quartet_process import Exposition
from quartet_process.health import Health, health_app
from quartet_process.serving import HttpServer, listen

async def main():
    async with HttpServer(health_app("pick", Health(), Exposition("pick")), listen("127.0.0.1", 0)):
        print(*sys.modules)

asyncio.run(main())
"""


def test_a_process_that_serves_has_not_imported_the_command_line_of_its_server():
    done = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(done.stdout.split())
    assert "uvicorn.lifespan.on" in loaded
    assert loaded.isdisjoint({"uvicorn.main", "click"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ours", "then"),
    [
        ("quartet_agent_runtime._mcp as ours", "fastmcp, mcp; print(mcp.ClientSession is ours.ClientSession)"),
        (
            "quartet_bus._redis as ours",
            "redis.asyncio as r; print(r.Redis is ours.Redis and callable(r.RedisCluster))",
        ),
        ("quartet_process.serving as ours", "uvicorn; print(uvicorn.Config is ours.Config and callable(uvicorn.run))"),
    ],
)
def test_a_package_is_whole_for_those_who_use_it_as_a_whole(ours, then):
    code = f"import {ours}, {then}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "True\n"


def test_processes_of_the_suite_keep_their_bytecode():
    show = ["make", "--no-print-directory", "--eval", "show:;@env", "show"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(show, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert "XDG_CACHE_HOME=" in done.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout
