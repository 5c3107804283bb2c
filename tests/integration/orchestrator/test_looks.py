"""What the orchestrator sees: look for the model, pictures for the record. Over a real MCP server."""

import asyncio
import contextlib

import jwt
import pytest

from quartet_agent_runtime import Toolbox
from quartet_bus import Bus
from quartet_contracts import ALGORITHM, State
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.observation import CameraClient, ObserverSessions
from support.http_server import serve_app


@pytest.fixture
async def seeing(start, settings, agents, perception):
    """An orchestrator with eyes."""
    agents.start()
    async with contextlib.AsyncExitStack() as stack:
        url = await stack.enter_async_context(serve_app(perception.mcp.http_app(path="/mcp"), lifespan="on"))
        servers = {"summit": {**settings.servers["summit"], "perception": f"{url}/mcp"}}
        yield await stack.enter_async_context(start(servers=servers))


def observations(events):
    return [e.event for e in events if e.event.kind == "observation"]


async def test_pictures_after_each_skill_and_a_look_for_the_model(seeing, model, perception, key, do):
    model.say(do.approach(), ("look", {"camera": "arm"}), do.pick(), do.report(False))
    task_id = await seeing.submit()
    events = await seeing.events(task_id)
    assert [o.label for o in observations(events)] == ["start", "after approach", "after pick"]
    for observation in observations(events):
        assert sorted(observation.images) == ["arm", "front"]
    reference = observations(events)[0].images["front"]
    image = await seeing.http.get(f"/tasks/{task_id}/images/{reference}")
    assert (image.content, image.headers["content-type"]) == (b"jpeg of front", "image/jpeg")
    looked = model.results()[1]
    assert (looked["ok"], looked["cameras"], looked["area"]) == (True, ["arm"], "kitchen")
    claims = jwt.decode(perception.grants[0], key.public_key(), algorithms=[ALGORITHM], audience="robot:summit")
    assert (claims["sub"], claims["tools"]) == ("orchestrator", ["perception__look"])
    assert claims["task"] == task_id, "what a vision model costs is the task's"
    result = next(e.event for e in events if e.event.kind == "tool_result" and e.event.tool == "look")
    assert len(result.images) == 1


async def test_a_broken_camera_fails_no_task(seeing, model, perception, do):
    perception.broken = True
    model.say(do.approach(), do.look, do.report(True))
    task_id = await seeing.submit("go to the kitchen")
    events = await seeing.events(task_id)
    assert (await seeing.status(task_id)).state is State.SUCCEEDED
    assert observations(events) == []
    assert any("CAMERA_UNAVAILABLE" in e.event.text for e in events if e.event.kind == "note")
    assert model.results()[1]["error_code"] == "CAMERA_UNAVAILABLE"


async def test_an_older_grant_is_renewed(seeing, model, perception, key, do):
    model.say(do.approach(), do.look, do.report(False))
    perception.fenced = 1
    task_id = await seeing.submit()
    events = await seeing.events(task_id)
    assert len(observations(events)) == 2
    fences = [
        jwt.decode(g, key.public_key(), algorithms=[ALGORITHM], audience="robot:summit")["fence"]
        for g in perception.grants
    ]
    assert fences == sorted(fences)


async def test_looks_at_the_same_time_share_one_session(settings, perception, key, monkeypatch):
    """The model may look while pictures are taken; a session that one of them renews is not cut off for the other."""
    opened = []

    class Counted(Toolbox):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            opened.append(self)

    monkeypatch.setattr("quartet_orchestrator.observation.client.Toolbox", Counted)
    perception.fenced = 1
    async with (
        serve_app(perception.mcp.http_app(path="/mcp"), lifespan="on") as url,
        await Bus.connect(settings.redis_url) as bus,
    ):
        changed = settings.model_copy(update={"servers": {"summit": {"perception": f"{url}/mcp"}}})
        sessions = ObserverSessions(bus, GrantSigner(key), changed)
        cameras = CameraClient(sessions, "summit", task_id="t1", lasts_s=lambda: 600)
        outcomes = await asyncio.gather(cameras.look("front"), cameras.look("arm"))
        await cameras.close()
    assert [outcome.error_code for outcome in outcomes] == ["NONE", "NONE"]
    assert len(opened) == 2, "one that was fenced off, and one that both used"


async def test_pictures_are_taken_before_the_next_skill_begins(seeing, model, do, settings):
    model.say(do.approach(), do.pick(), do.report(False))
    task_id = await seeing.submit()
    order = [e.event.kind for e in await seeing.events(task_id) if e.event.kind in {"skill_requested", "observation"}]
    assert order == ["observation", "skill_requested", "observation", "skill_requested", "observation"]
    async with await Bus.connect(settings.redis_url) as bus:
        assert await bus.transcripts.list(task_id) == ["orchestrator"]
