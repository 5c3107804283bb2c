"""kill -9 of a sub-agent, and a restart of Redis, in the middle of a motion; processes that cannot start."""

import asyncio
import subprocess
import sys
import textwrap

import pytest

from quartet_bus import Bus, BusOptions
from quartet_contracts import ApproachResult, Skill, State

CAN, TABLE = "red coke can", "wooden coffee table"

AGENT = textwrap.dedent(
    """
    import asyncio, sys
    from quartet_bus import Bus, BusOptions
    from quartet_contracts import Skill

    async def main(url):
        async with await Bus.connect(url, BusOptions(lease_s=1.0, block_ms=200)) as bus:
            queue = bus.skills(Skill.APPROACH)
            await queue.mark_started(await queue.take())
            print("moving", flush=True)
            await asyncio.Event().wait()

    asyncio.run(main(sys.argv[1]))
    """
)


@pytest.fixture
async def dying_agent(redis_url):
    """An approach agent in a process of its own that never answers."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", AGENT, redis_url, stdout=subprocess.PIPE)
    yield process
    if process.returncode is None:
        process.kill()
    await process.wait()


async def moving(process):
    assert await process.stdout.readline() == b"moving\n"


async def test_a_killed_agent_is_settled_by_another_and_never_run_again(start, agents, dying_agent, model, motion, do):
    """The second replica sees that it had started, looks, and answers UNCERTAIN; only the orchestrator tries again."""

    async def look_only(_, delivery):
        assert delivery.started
        assert delivery.redelivered
        return do.failing("UNKNOWN", State.UNCERTAIN, reason="another replica had started it", observed="in the hall")

    agents.answers["approach"] = [look_only]
    model.say(do.approach(), do.look, do.approach(), do.report(True))
    async with start() as client:
        task_id = await client.submit("go to the kitchen")
        await moving(dying_agent)
        dying_agent.kill()
        await dying_agent.wait()
        agents.start()
        events = await client.events(task_id)
        status = await client.status(task_id)
    assert status.state is State.SUCCEEDED
    asked = [e.event for e in events if e.event.kind == "skill_requested"]
    # Fence 2 took the robot from the first attempt, of which nobody knows whether it still moves.
    assert [(a.attempt, a.fence) for a in asked] == [(1, 1), (2, 3)]
    assert len({a.request_id for a in asked}) == 2
    assert [r.request_id for r in agents.requests] == [a.request_id for a in asked]
    first, second = [e.event.details for e in events if e.event.kind == "skill_result"]
    assert first["observed"] == "in the hall"
    assert "observed" not in second


async def test_an_outcome_is_looked_for_again_while_the_robot_is_silent(start, agents, standstill, model, do):
    """A simulation that hung for some seconds, or a server that restarts, ends no task whose outcome can be seen."""
    agents.answers["approach"] = [do.failing("UNKNOWN", State.UNCERTAIN, reason="the bridge was silent")]
    agents.start()
    standstill.rests_after = 4
    model.say(do.approach(), do.look, do.approach(), do.report(True))
    async with start(servers=standstill.servers, outcome_patience_s=60.0) as client:
        task_id = await client.submit("go to the kitchen")
        events = await client.events(task_id)
    settled = [e.event for e in events if e.event.kind == "skill_settled"]
    assert [(one.state, one.grasp) for one in settled] == [(State.RETRIABLE, "EMPTY")]
    assert standstill.asked == 6, "three looks at two servers"


LOST = "check after the report: moveit__plan_cartesian_path: BRIDGE_UNAVAILABLE: no connection"


@pytest.mark.parametrize(
    "reason", [LOST, "the connection to the robot's rosbridge was lost; look before doing it again"]
)
@pytest.mark.parametrize(
    ("lies_there", "said"),
    [
        (True, "At the end the red coke can was seen at 'wooden coffee table'."),
        (False, "Whether the red coke can was put down at 'wooden coffee table' is not known"),
    ],
)
async def test_a_release_without_a_bridge_is_not_known_and_looked_at_when_it_is_back(
    start, with_cameras, agents, world, model, do, lies_there, said, reason
):
    """The arm let go, and then nothing could be asked any more, also not by the second place."""

    async def lose(_, request):
        world.grasp, world.released = "EMPTY", (0.9, 0.0, 0.8)
        world.in_view = {TABLE: (0.9, 0.0, 0.5)} | ({CAN: (0.95, 0.05, 0.55)} if lies_there else {})
        return do.failing("UNKNOWN", State.UNCERTAIN, reason=reason)

    agents.answers["place"] = [lose, lose]
    agents.start()
    model.say(do.approach(), do.pick(), do.drop, do.place(), do.look, do.place(), do.look, do.report(False))
    async with start(servers=with_cameras) as client:
        status = await client.run()
    assert status.state is State.FAILED
    assert said in status.report.summary


@pytest.mark.parametrize(("full_for", "state"), [(2, State.SUCCEEDED), (10**6, State.FAILED)])
async def test_a_server_whose_disk_is_full_gets_the_fence_again(start, agents, model, motion, do, full_for, state):
    motion["nav2"].disk_full_for = full_for
    agents.start()
    model.say(do.approach(), do.report(True))
    async with start(fence_timeout_s=2.0) as client:
        status = await client.run("go to the kitchen")
    assert status.state is state, status.report
    if state is State.FAILED:
        assert "No space left on device" in status.report.summary
        assert "key" not in status.report.summary


async def test_a_task_survives_a_restart_of_redis(start, own_redis, model, world, do):
    model.say(do.approach(), do.report(True))
    async with (
        await Bus.connect(own_redis.url, BusOptions(lease_s=2, block_ms=200)) as bus,
        start(redis_url=own_redis.url) as client,
    ):
        task_id = await client.submit("go to the kitchen")
        queue = bus.skills(Skill.APPROACH)
        delivery = await queue.take(60)
        await queue.mark_started(delivery)
        own_redis.kill()
        down = await client.http.get("/health")
        own_redis.start()
        world.do(Skill.APPROACH, delivery.request.arguments)
        fields = {"request_id": delivery.request.request_id, "task_id": task_id, "reason": "there"}
        await queue.finish(delivery, ApproachResult(success=True, error_code="NONE", **fields))
        status = await client.until_state(task_id, State.SUCCEEDED, State.FAILED)
    assert status.state is State.SUCCEEDED, status.report
    assert down.status_code == 503
    assert "QUARTET_REDIS_URL" in down.json()["problem"]


FAULTS = [
    ({"QUARTET_SERVERS": "{"}, "QUARTET_SERVERS is JSON"),
    ({"QUARTET_SERVERS": None}, "QUARTET_SERVERS is not set; set it, such as"),
    ({"QUARTET_PORT": "99999"}, "QUARTET_PORT: Input should be less than or equal to 65535"),
    ({"QUARTET_ROBOT_FILE": "/nowhere/robot.yaml"}, "/nowhere/robot.yaml cannot be read"),
    ({"QUARTET_GRANT_PRIVATE_KEY": ""}, "openssl genpkey -algorithm ed25519"),
    ({"QUARTET_GRANT_PRIVATE_KEY": "nonsense"}, "QUARTET_GRANT_PRIVATE_KEY is not an unencrypted PEM private key"),
    ({"QUARTET_REDIS_URL": "http://127.0.0.1:9"}, "Redis URL 'http://127.0.0.1:9' cannot be used"),
]


def test_a_process_that_cannot_start_says_why(settings_environment, monkeypatch, capsys):
    from quartet_orchestrator.__main__ import main

    for changes, words in FAULTS:
        for name, value in {**settings_environment, **changes}.items():
            if value is None:
                monkeypatch.delenv(name)
            else:
                monkeypatch.setenv(name, value)
        assert main() == 2
        assert words in capsys.readouterr().err


def test_a_taken_port_is_named(settings_environment, monkeypatch, capsys, redis_server):
    from quartet_orchestrator.__main__ import main

    for name, value in {**settings_environment, "QUARTET_PORT": str(redis_server.port)}.items():
        monkeypatch.setenv(name, value)
    assert main() == 2
    assert f"port {redis_server.port} of 127.0.0.1 cannot be used" in capsys.readouterr().err
