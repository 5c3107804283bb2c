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
LATER = {"jinja2", "jsonschema", "httpcore2"}
"""What the first request needs; it is imported while the process waits for it."""


def _imported(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("process", "not_needed"),
    [
        ("quartet_pick", MCP | MODELS | ROBOT | LATER | {"httpx"}),
        ("quartet_orchestrator", MCP | MODELS | ROBOT | {"httpx"}),
        ("quartet_gateway", MCP | MODELS | ROBOT | {"redis", "quartet_contracts.tools", "quartet_site"}),
    ],
)
def test_a_process_imports_nothing_heavy_before_it_is_ready(process, not_needed):
    loaded = _imported(f"{process}.__main__")
    assert f"{process}.__main__" in loaded
    assert loaded.isdisjoint(not_needed), loaded & not_needed


def test_processes_of_the_suite_keep_their_bytecode():
    show = ["make", "--no-print-directory", "--eval", "show:;@env", "show"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(show, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    assert "XDG_CACHE_HOME=" in done.stdout
    assert "PYTHONDONTWRITEBYTECODE" not in done.stdout
