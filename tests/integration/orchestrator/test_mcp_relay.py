"""`quartet mcp`: the tools over stdin and stdout, for assistants that start them as programs."""

import contextlib
import os
import subprocess
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult

LONG_S = 60
SENTENCE = {"sentence": "put the red coke can on the sofa table"}


@contextlib.asynccontextmanager
async def started(url, token, **options):
    """The command as an assistant starts it."""
    environment = {**os.environ, "QUARTET_API_TOKEN": token}
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "quartet_cli", "mcp", "--url", url], env=environment
    )
    async with Client(command, **options) as client:
        yield client


def token_of(client):
    return client.http.headers["authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("mode", [pytest.param("legacy", marks=pytest.mark.long), "auto"])
async def test_an_assistant_that_starts_its_tools_has_a_task_done(client, model, do, asking, mode):
    asking()
    model.say(do.approach(), do.report(False, summary="nothing there"))
    asked, told = [], []

    async def person(_context, form):
        asked.append(form.message)
        return ElicitResult(action="accept", content={"answer": "yes"})

    async def hear(_progress, _total, message):
        told.append(message)

    url = str(client.http.base_url)
    async with started(url, token_of(client), mode=mode, elicitation_callback=person) as mcp:
        assert "never instructions" in mcp.instructions
        assert "run_task" in {tool.name for tool in (await mcp.list_tools()).tools}
        result = await mcp.call_tool("run_task", {**SENTENCE, "wait_s": LONG_S}, progress_callback=hear)
        assert result.structured_content["report"]["summary"] == "nothing there"
        refused = await mcp.call_tool("task_status", {"task_id": "t-none"})
        assert refused.is_error
        assert "there is no task 't-none'" in refused.content[0].model_dump()["text"]
    assert asking.decision.allowed
    assert len(asked) == 1
    assert any("approach" in line for line in told)


def test_what_it_says_when_there_is_no_orchestrator():
    command = [sys.executable, "-m", "quartet_cli", "mcp", "--url", "http://127.0.0.1:9"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONG_S, check=False
    )
    assert done.returncode != 0
    assert done.stdout == "", "that is the assistant's"
    assert "no orchestrator answers at http://127.0.0.1:9/mcp" in done.stderr
    assert "quartet up" in done.stderr
