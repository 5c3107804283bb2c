"""The life of an agent process over the real bus, before the real robot of the small world."""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from quartet_agent_runtime import VerificationError, serve_agent
from quartet_bus import BusOptions, BusServerError, BusUnavailableError
from quartet_contracts import Skill, State

ENTRY = {"target_area": "studio", "object_name": "red coke can", "next_action": "pick"}


@dataclasses.dataclass
class Desk:
    """The orchestrator's side: asks and reads journals."""

    bus: Any
    replies: Any
    stage: Any

    def request(self, skill, **arguments):
        deadline_s = arguments.pop("deadline_s", 60.0)
        made = self.stage.request(skill, deadline_s=deadline_s, **arguments)
        return made.model_copy(update={"reply_to": self.replies.stream(made.skill), "task_id": f"t-{made.request_id}"})

    async def ask(self, request):
        return await self.replies.ask(self.bus.skills(request.skill), request)

    async def kinds(self, request):
        return [event.event.kind for event in await self.bus.journal.read_all(request.task_id)]


@pytest.fixture
def bus_options():
    """Short leases: there is never more than one agent that could lose its own to another."""
    return BusOptions(lease_s=0.6, block_ms=200)


@pytest.fixture
async def desk(bus, studio):
    async with bus.replies() as replies:
        yield Desk(bus, replies, studio)


@contextlib.asynccontextmanager
async def serving(stage, redis_url, bus_options, skill, **settings):
    """The agent of `skill` in this process, on a bus connection of its own; yields its stop event."""
    from quartet_bus import Bus

    stop = asyncio.Event()
    serve = serve_agent(
        stage.definition(skill),
        stage.settings(**settings),
        lambda tell: Bus.wait_for(redis_url, bus_options, tell=tell),
        stop,
    )
    agent = asyncio.create_task(serve)
    try:
        yield stop, agent
    finally:
        stop.set()
        await agent


async def test_a_request_is_served_and_its_trace_is_kept(desk, studio, redis_url, bus_options):
    request = desk.request(Skill.APPROACH, **ENTRY)
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        result = await desk.ask(request)
    assert result.error_code == "NONE", result
    assert result.state is State.SUCCEEDED
    assert result.tool_calls_used > 5
    assert result.usage.turns == 2, "all calls are one turn, and the report is another"
    assert result.usage.prompt_tokens > 0
    kinds = await desk.kinds(request)
    # Before the model is asked, the agent itself looks whether the arm is tucked.
    asked = kinds.index("model_turn")
    assert kinds[:asked] == ["skill_started", *["tool_call", "tool_result"] * ((asked - 1) // 2)]
    assert kinds[asked + 1] == "tool_call"
    assert kinds[-1] == "verified"
    transcript = await desk.bus.transcripts.get(request.task_id, request.request_id)
    assert transcript["messages"][0]["role"] == "system"
    assert request.grant not in json.dumps(transcript)


async def test_a_passed_deadline_moves_nothing(desk, studio, redis_url, bus_options):
    pose = studio.truth()["robot"]["pose"]
    request = desk.request(Skill.APPROACH, **ENTRY, deadline_s=-1.0)
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        result = await desk.ask(request)
    assert (result.error_code, result.state) == ("UNKNOWN", State.FAILED)
    assert "deadline" in result.reason
    assert studio.truth()["robot"]["pose"] == pytest.approx(pose, abs=0.01)


async def test_a_preparation_that_fails_is_told_as_that(desk, studio, redis_url, bus_options, monkeypatch):
    async def prepare(check):
        raise VerificationError("nav2__get_robot_pose: BRIDGE_UNAVAILABLE: no connection", uncertain=False)

    whole = studio.definition(Skill.APPROACH)
    monkeypatch.setattr(studio, "definition", lambda skill: dataclasses.replace(whole, prepare=prepare))
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        result = await desk.ask(desk.request(Skill.APPROACH, **ENTRY))
    assert result.reason.startswith("preparation, before the model's first turn: nav2__get_robot_pose"), result.reason


async def test_cancel_brings_the_robot_to_rest(desk, studio, redis_url, bus_options, until):
    """In real time a drive takes seconds; here the world stops as soon as no goal runs."""
    request = desk.request(Skill.APPROACH, **ENTRY)

    async def driving():
        return any(
            event.event.kind == "tool_call" and event.event.tool == "nav2__navigate_to_pose"
            for event in await desk.bus.journal.read_all(request.task_id)
        )

    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        asking = asyncio.create_task(desk.ask(request))
        await until(driving)
        await desk.bus.skills(Skill.APPROACH).cancel(request.request_id)
        result = await asking
    assert (result.error_code, result.state) == ("UNKNOWN", State.CANCELED), result
    events = await desk.bus.journal.read_all(request.task_id)
    calls = [event.event.tool for event in events if event.event.kind == "tool_call"]
    assert sorted(calls[-2:]) == ["moveit__stop_execution", "nav2__cancel_navigation"]
    speed = studio.truth()["robot"]["twist"]
    assert max(map(abs, speed)) < 0.02


async def test_a_request_that_the_store_has_lost_is_ended_and_answered(
    desk, studio, redis_url, redis_server, bus_options, until
):
    """Nobody could cancel it or take it over any more."""
    request = desk.request(Skill.APPROACH, **ENTRY)

    async def begun():
        return "model_turn" in await desk.kinds(request)

    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        asking = asyncio.create_task(desk.ask(request))
        await until(begun)
        redis_server.flush()
        result = await asking
    assert (result.error_code, result.state) == ("UNKNOWN", State.UNCERTAIN), result
    assert "the store has lost its data" in result.reason
    calls = [e.event.tool for e in await desk.bus.journal.read_all(request.task_id) if e.event.kind == "tool_call"]
    assert {"moveit__stop_execution", "nav2__cancel_navigation"} <= set(calls)
    assert max(map(abs, studio.truth()["robot"]["twist"])) < 0.02


async def test_a_request_that_nobody_could_cancel_any_more_is_not_told_as_canceled(
    desk, studio, redis_url, bus_options, until, monkeypatch
):
    """The watch for a cancel has failed; the orchestrator, which canceled nothing, must not read CANCELED."""
    request, begun = desk.request(Skill.APPROACH, **ENTRY), asyncio.Event()

    async def fails(*_):
        await begun.wait()
        raise BusServerError("NOPERM this user has no permissions to run the 'exists' command")

    async def asked():
        return "model_turn" in await desk.kinds(request)

    monkeypatch.setattr("quartet_bus._skills.SkillQueue.canceled", fails)
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        asking = asyncio.create_task(desk.ask(request))
        await until(asked)
        begun.set()
        result = await asking
    assert (result.error_code, result.state) == ("UNKNOWN", State.UNCERTAIN), result
    assert "nobody could cancel it any more (BusServerError: NOPERM" in result.reason


async def test_a_request_that_cannot_be_marked_as_started_is_answered(
    desk, studio, redis_url, bus_options, monkeypatch
):
    async def away(*_):
        raise BusUnavailableError("Redis is away")

    monkeypatch.setattr("quartet_bus._skills.SkillQueue.mark_started", away)
    pose = studio.truth()["robot"]["pose"]
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        result = await desk.ask(desk.request(Skill.APPROACH, **ENTRY))
    assert (result.error_code, result.state) == ("UNKNOWN", State.FAILED)
    assert "Redis is away; nothing moved" in result.reason
    assert studio.truth()["robot"]["pose"] == pose


async def test_a_started_request_is_never_run_again(desk, studio, redis_url, bus_options):
    """Another replica took it, marked it as started and died: standstill, a look, UNCERTAIN."""
    from quartet_bus import Bus

    pose = studio.truth()["robot"]["pose"]
    request = desk.request(Skill.PICK, object_name="red coke can")
    asking = asyncio.create_task(desk.ask(request))
    async with await Bus.connect(redis_url, bus_options) as dead:
        delivery = await dead.skills(Skill.PICK).take(60)
        await dead.skills(Skill.PICK).mark_started(delivery)
    async with serving(studio, redis_url, bus_options, Skill.PICK):
        result = await asking
    assert (result.error_code, result.state) == ("UNKNOWN", State.UNCERTAIN)
    assert '"state":"EMPTY"' in result.observed
    assert result.observed.count("perception__look") == 1
    assert not any(name in result.observed for name in ("text_is", "NONE", "joint_positions")), "words alone"
    assert "model_turn" not in await desk.kinds(request)
    assert studio.truth()["robot"]["pose"] == pytest.approx(pose, abs=0.01)


async def test_shut_down_while_working_ends_uncertain(desk, studio, redis_url, bus_options, until):
    """The stop comes during a tool call that does not end within the grace time."""
    request = desk.request(Skill.APPROACH, **ENTRY)
    studio.post("/faults", kinds=["silent_action"])

    async def driving():
        return "tool_call" in await desk.kinds(request)

    async with serving(studio, redis_url, bus_options, Skill.APPROACH, grace_s=4.5) as (stop, agent):
        asking = asyncio.create_task(desk.ask(request))
        await until(driving)
        stop.set()
        result = await asking
        await agent
    assert (result.error_code, result.state) == ("UNKNOWN", State.UNCERTAIN)
    assert "shut down" in result.reason
    assert result.observed


async def test_what_kept_the_robot_from_being_brought_to_rest_is_in_the_result(
    desk, studio, redis_url, bus_options, until
):
    from quartet_bus import Bus

    studio.post("/faults", kinds=["zombie"])
    request = desk.request(Skill.PICK, object_name="red coke can")
    asking = asyncio.create_task(desk.ask(request))
    async with await Bus.connect(redis_url, bus_options) as dead:
        delivery = await dead.skills(Skill.PICK).take(60)
        await dead.skills(Skill.PICK).mark_started(delivery)
    async with serving(studio, redis_url, bus_options, Skill.PICK):
        result = await asking
    assert result.state is State.UNCERTAIN
    assert "the robot is not known to rest (nav2__cancel_navigation: " in result.reason
    studio.post("/faults", kinds=[])

    async def sees_again():
        return (await studio.call("nav2__get_robot_pose")).ok and (await studio.call("moveit__get_current_pose")).ok

    await until(sees_again)


async def test_servers_that_never_answer_do_not_keep_a_process_that_is_to_end(
    desk, studio, redis_url, bus_options, until, monkeypatch
):
    """They accept connections and are silent, as processes that hang do; every limit of a call is far away."""
    monkeypatch.setattr("quartet_agent_runtime._server.HANDSHAKE_TIMEOUT_S", 3600.0)
    request = desk.request(Skill.APPROACH, **ENTRY)
    connected: list[asyncio.StreamWriter] = []
    silent = await asyncio.start_server(lambda _, writer: connected.append(writer), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/mcp"
    servers = {studio.robot.name: dict.fromkeys(studio.urls, url)}
    async with (
        asyncio.timeout(120),
        serving(studio, redis_url, bus_options, Skill.APPROACH, servers=servers, grace_s=4.5) as (stop, agent),
    ):
        asking = asyncio.create_task(desk.ask(request))
        await until(lambda: connected)
        stop.set()
        result = await asking
        await agent
    for writer in connected:
        writer.close()
    silent.close()
    assert (result.error_code, result.state) == ("UNKNOWN", State.UNCERTAIN)
    assert "shut down while it worked; standstill was not confirmed" in result.reason


async def test_a_running_request_may_end_within_the_grace_time(desk, studio, redis_url, bus_options, until):
    request = desk.request(Skill.PICK, object_name="blue whale")

    async def begun():
        return "model_turn" in await desk.kinds(request)

    async with serving(studio, redis_url, bus_options, Skill.PICK, grace_s=60) as (stop, _):
        asking = asyncio.create_task(desk.ask(request))
        await until(begun)
        stop.set()
        result = await asking
    assert result.error_code == "PICK_SEG_MISSED"


async def test_an_unknown_robot_is_named(desk, studio, redis_url, bus_options):
    request = desk.request(Skill.PICK, object_name="red coke can").model_copy(update={"robot": "rover"})
    async with serving(studio, redis_url, bus_options, Skill.PICK):
        result = await desk.ask(request)
    assert (result.error_code, result.state) == ("UNKNOWN", State.FAILED)
    assert "no MCP servers for robot 'rover'; QUARTET_SERVERS has: summit" in result.reason


async def test_a_stale_grant_is_refused_and_nothing_moves(desk, studio, redis_url, bus_options):
    pose = studio.truth()["robot"]["pose"]
    request = desk.request(Skill.APPROACH, **ENTRY)
    await studio.call("nav2__clear_costmaps")
    await studio.call("moveit__clear_planning_scene")
    await studio.install_fence()
    async with serving(studio, redis_url, bus_options, Skill.APPROACH):
        result = await desk.ask(request)
    assert (result.success, result.error_code, result.state) == (False, "UNKNOWN", State.UNCERTAIN), result
    assert studio.truth()["robot"]["pose"] == pytest.approx(pose, abs=0.01)


async def test_the_process_starts_serves_and_ends(desk, studio, redis_url, tmp_path, until):
    """`python -m quartet_pick` as it is deployed: ready file, health, metrics, a request, SIGTERM."""
    ready = tmp_path / "ready.json"
    settings = studio.settings()
    environment = {
        **os.environ,
        "QUARTET_REDIS_URL": redis_url,
        "QUARTET_GATEWAY_URL": settings.gateway_url,
        "QUARTET_SERVERS": json.dumps(settings.servers),
        "QUARTET_ROBOT_FILE": str(settings.robot_file),
        "QUARTET_SITE_FILE": str(settings.site_file),
        "QUARTET_READY_FILE": str(ready),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quartet_pick", env=environment, stderr=asyncio.subprocess.PIPE
    )
    # A request waits 15 s for an agent that is not there, and a busy machine may take longer to start one.
    await until(lambda: ready.exists() or process.returncode is not None, 120)
    request = desk.request(Skill.PICK, object_name="red coke can")
    result = await desk.ask(request)
    assert result.error_code == "PICK_REACH_EXCEEDED", result.reason
    url = json.loads(ready.read_text())["url"]
    assert (await fetch(f"{url}/health"))[0] == 200
    status, metrics = await fetch(f"{url}/metrics")
    assert status == 200
    assert 'quartet_skill_requests_total{agent="pick",attempt="1",code="PICK_REACH_EXCEEDED"} 1.0' in metrics
    assert (await fetch(f"{url}/nothing"))[0] == 404
    memory_mb = resident_mb(process.pid)
    process.send_signal(signal.SIGTERM)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert memory_mb < 110, memory_mb


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"QUARTET_SERVERS": None}, "QUARTET_SERVERS is not set"),
        ({"QUARTET_SERVERS": "{nav2"}, "QUARTET_SERVERS is JSON"),
        ({"QUARTET_GATEWAY_URL": "nowhere"}, "QUARTET_GATEWAY_URL"),
        ({"QUARTET_ROBOT_FILE": "/no/robot.yaml"}, "/no/robot.yaml cannot be read"),
        ({"QUARTET_REDIS_URL": "http://127.0.0.1:1"}, "Redis URL 'http://127.0.0.1:1' cannot be used"),
    ],
)
async def test_bad_settings_are_named_and_nothing_starts(studio_stage, redis_url, changes, said):
    settings = studio_stage.settings()
    environment = {
        **os.environ,
        "QUARTET_REDIS_URL": redis_url,
        "QUARTET_SERVERS": json.dumps(settings.servers),
        "QUARTET_ROBOT_FILE": str(settings.robot_file),
        "QUARTET_SITE_FILE": str(settings.site_file),
        **{key: value for key, value in changes.items() if value is not None},
    }
    for key in [key for key, value in changes.items() if value is None]:
        environment.pop(key, None)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quartet_pick", env=environment, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert said in errors.decode()
    assert "Traceback" not in errors.decode()


def resident_mb(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


async def fetch(url):
    def get():
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, ""

    return await asyncio.to_thread(get)
