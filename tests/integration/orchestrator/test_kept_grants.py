"""A sub-agent that keeps its grant moves nothing with it once its request has ended, however it ended."""

import asyncio

import pytest

from quartet_agent_runtime import Toolbox
from quartet_benchmarks.fleet.instant_servers import make_app
from quartet_contracts import SkillRequest, State, decode
from quartet_site import load_robot, load_site
from support.http_server import serve_app
from support.store import KEYS, command

DRIVE = "nav2__navigate_to_pose"


@pytest.fixture
async def servers(settings, key, tmp_path):
    """The servers of one robot with their real checks of grants and fences; a drive takes no time."""
    robot, site = load_robot(settings.robot_file), load_site(settings.site_file)
    async with serve_app(make_app(["summit"], robot, site, [key.public_key()], tmp_path / "state")) as url:
        yield {name: f"{url}/{name}/mcp" for name in ("nav2", "moveit", "perception")}


@pytest.fixture
def drive(servers, settings):
    """`await drive(grant)`: the code with which the server answers."""
    entry = load_site(settings.site_file).areas[0].entry

    async def call(grant):
        async def ignore(*_):
            return None

        async with Toolbox(servers, grant, [DRIVE], 20.0) as toolbox:
            outcome = await toolbox.call(DRIVE, {"x": entry.x, "y": entry.y, "yaw": 0.0}, ignore)
        return outcome.error_code

    return call


async def ends(how, agents, delivery, do):
    """What the agent answers, once the test has let it."""
    if how == "cancel":
        return await agents.until_canceled(agents, delivery)
    if how == "failure":
        return do.failing("NAV_TARGET_NOT_VISIBLE")
    if how == "unknown":
        return do.failing("UNKNOWN", State.UNCERTAIN)
    return {"success": True, "error_code": "NONE", "reason": "there", "state": State.SUCCEEDED}


@pytest.mark.parametrize("how", ["success", "failure", "unknown", "cancel", "silence"])
async def test_a_kept_grant_is_void_after_the_end(start, agents, model, do, servers, drive, how, eventually):
    at_work, go = [], asyncio.Event()

    async def work(_, delivery):
        at_work.append(await drive(delivery.request.grant))
        if how == "silence":
            await asyncio.Event().wait()
        await go.wait()
        return await ends(how, agents, delivery, do)

    after_result = []

    async def think(_messages):
        after_result.append(await drive(agents.requests[0].grant))
        return do.report(False)

    agents.answers["approach"] = [work]
    agents.start()
    model.say(do.approach(), think)
    async with start(servers={"summit": servers}, cancel_wait_s=0.3) as client:
        task_id = await client.submit("go to the kitchen")
        await agents.started.wait()
        go.set()
        await eventually(lambda: at_work)
        if how in {"cancel", "silence"}:
            await client.http.post(f"/tasks/{task_id}/cancel", json={"reason": "enough"})
        await client.events(task_id)
        assert at_work == ["NONE"], "the grant was good while it was needed"
        assert after_result == ([] if how in {"cancel", "silence"} else ["FENCED"])
        assert await drive(agents.requests[0].grant) == "FENCED"


async def test_a_grant_that_was_read_and_not_taken_is_void_too(start, agents, model, do, servers, drive, eventually):
    """Whoever may read the stream sees the grant; the request is withdrawn since no agent takes it."""
    model.say(do.approach(), do.report(False))
    async with start(servers={"summit": servers}, agent_absent_s=0.5) as client:
        task_id = await client.submit("go to the kitchen")
        read = lambda: command(agents.bus, "XRANGE", KEYS.skill_stream("approach"), "-", "+")  # noqa: E731
        ((_, fields),) = await eventually(read)
        grant = decode(SkillRequest, fields[b"m"]).grant
        await client.events(task_id)
    assert await drive(grant) == "FENCED"


async def test_the_grant_of_a_task_that_was_given_up_is_void(start, agents, model, do, servers, drive):
    """Delivered again and again, so that no run of its own ends it and no further step raises the fence."""
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach())
    async with start(servers={"summit": servers}) as client:
        task_id = await client.submit("go to the kitchen")
        await agents.started.wait()
    stream = KEYS.task_stream("summit")
    for entry, _ in await command(agents.bus, "XRANGE", stream, "-", "+"):
        claim = ("XCLAIM", stream, "orchestrator", "dead", 0, entry, "IDLE", 60_000, "RETRYCOUNT", 99)
        await command(agents.bus, *claim)
    async with start(servers={"summit": servers}) as client:
        status = await client.until_state(task_id, State.FAILED)
    assert "given up" in status.report.summary
    assert await drive(agents.requests[0].grant) == "FENCED"
