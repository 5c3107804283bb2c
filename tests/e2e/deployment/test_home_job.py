"""The main job: one sentence, the whole deployment, the home. What the README promises.

The servers reach the robot through the bridge proxy, which knows no more than robot.yaml and site.yaml.
"""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from quartet_bridge_proxy import BridgeProxy
from quartet_cli.commands.up import SENTENCE
from quartet_contracts import TERMINAL, State, TaskStatus
from quartet_deployment import AGENTS, Stack
from quartet_process import Secret
from quartet_process.serving import listen
from quartet_robot_link.permits import BridgePermits
from quartet_site import load_robot, load_site

HOME = Path(__file__).resolve().parents[3] / "deploy" / "sites" / "home"
TOKEN = "token-of-the-servers"
MEMORY_MB, AGENT_MB = 1710, 110


class Proxy(BridgeProxy):
    """Served in a thread; counts the connections and notes what it refuses."""

    def __init__(self) -> None:
        permits = BridgePermits(load_robot(HOME / "robot.yaml"), load_site(HOME / "site.yaml").ros_writes)
        super().__init__("ws://127.0.0.1:9", permits, Secret.fixed(TOKEN))
        self.passed, self.refused = 0, list[Any]()
        self._listener = listen("127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._run()))
        self._thread.start()

    async def _run(self) -> None:
        async with await self.serve(self._listener):
            await self._end.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    def _filtered(self, frame: str | bytes) -> tuple[str | None, dict[str, Any] | None]:
        sound, refused = super()._filtered(frame)
        self.passed += sound is not None
        if refused is not None:
            self.refused.append(refused)
        return sound, refused


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture(scope="module")
def stack(make_stack: Callable[..., Stack], proxy: Proxy, wait_for_robot: Callable[[Stack], None]) -> Stack:
    reach = {"QUARTET_BRIDGE_URL": proxy.url, "QUARTET_BRIDGE_TOKEN": TOKEN}
    stack = make_stack(world="home", seed=0, env=reach)
    proxy.upstream_url = stack.bridge_url
    # The servers have tried the proxy before it knew the way; the first pictures of a task need them connected.
    wait_for_robot(stack)
    return stack


def test_one_sentence_moves_the_can(
    stack: Stack, proxy: Proxy, truth: Callable[[Stack], dict[str, Any]], environment: dict[str, str], tmp_path: Path
) -> None:
    assert truth(stack)["objects"]["red coke can"]["on"] == "kitchen counter"
    addresses = {
        "QUARTET_URL": stack.url,
        "QUARTET_API_TOKEN": stack.api_token,
        "QUARTET_OVERHEAD_URL": stack.overhead_url,
    }
    done = subprocess.run(
        [sys.executable, "-m", "quartet_cli", "run", SENTENCE],
        env={**environment, **addresses},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    can = truth(stack)["objects"]["red coke can"]
    assert (can["on"], can["held"]) == ("wooden coffee table", False), done.stdout
    assert "→ pick: pick up the red coke can" in done.stdout
    (folder,) = (tmp_path / "runs").iterdir()
    _check_folder(folder)
    memory = stack.memory_mb()
    assert sum(memory.values()) < MEMORY_MB, memory
    assert max(memory[agent] for agent in AGENTS) < AGENT_MB, memory
    assert stack.died() == []
    assert (proxy.passed > 100, proxy.refused) == (True, [])


def _check_folder(folder: Path) -> None:
    """Everything that a run leaves behind, and that it fits together."""
    status = TaskStatus.model_validate_json((folder / "status.json").read_text())
    assert status.state is State.SUCCEEDED
    journal = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    states = [line["event"]["state"] for line in journal if line["event"]["kind"] == "state"]
    assert states[-3:] == ["INITIALIZING", "RUNNING", "SUCCEEDED"]
    assert [state in TERMINAL for state in map(State, states)].count(True) == 1
    assert journal[-1]["event"].get("state") == "SUCCEEDED"
    skills = [line["event"]["skill"] for line in journal if line["event"]["kind"] == "skill_result"]
    assert skills == ["approach", "pick", "approach", "place"]
    _check_ids(journal)
    transcripts = sorted(path.stem for path in (folder / "transcripts").glob("*.json"))
    assert len(transcripts) == 5, transcripts
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["completed"] is True
    returned = [line for line in journal if line["event"]["kind"] == "tool_result"]
    assert metrics["tool_calls"] == status.usage.tool_calls == len(returned) > 20
    assert metrics["tool_calls"] == sum(row["calls"] for row in metrics["tools"].values())
    own = sum(line["actor"] == "orchestrator" for line in returned)
    assert metrics["tool_calls"] == own + sum(skill["tool_calls"] for skill in metrics["skills"])
    assert metrics["prompt_tokens"] > metrics["completion_tokens"] > 0
    happened = [line["event"] for line in journal]
    references = {ref for e in happened if e["kind"] == "tool_result" for ref in e["images"]}
    references |= {ref for e in happened if e["kind"] == "observation" for ref in e["images"].values()}
    saved = {path.stem for path in (folder / "images").iterdir()}
    assert references <= saved
    with Image.open(folder / "contact_sheet.png") as sheet:
        # A row each for the start and the four skills; three pictures wide.
        assert sheet.height > 5 * 240, [e["text"] for e in happened if e["kind"] == "note"]
        assert sheet.width > 3 * 320


def _check_ids(journal: list[dict[str, Any]]) -> None:
    """From agent to agent, and from agent to perception, things go by their id once they have one."""
    happened = [line["event"] for line in journal]
    found = [event["details"].get("object_id") for event in happened if event["kind"] == "skill_result"]
    can, held, table, placed = found
    assert can == held == placed
    assert None not in {can, table}
    asked = {event["skill"]: event["arguments"] for event in happened if event["kind"] == "skill_requested"}
    assert asked["pick"]["object_id"] == can
    assert (asked["place"]["target_id"], asked["place"]["held_id"]) == (table, can)
    poses = ("perception__get_topdown_grasp_pose", "perception__get_topdown_placing_pose")
    named = [e["arguments"] for e in happened if e["kind"] == "tool_call" and e["tool"] in poses]
    assert named
    assert all({"object_id", "target_id"} & set(one) and "object_name" not in one for one in named), named


def test_a_stack_that_is_stopped_leaves_no_process(stack: Stack) -> None:
    pids = stack.pids()
    assert len(pids) > 10
    stack.stop()
    left = [name for name, pid in pids.items() if psutil.pid_exists(pid)]
    assert left == []
