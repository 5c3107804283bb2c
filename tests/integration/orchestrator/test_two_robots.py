"""Several robots work side by side; each has its own fence and its own queue."""

import asyncio

from quartet_contracts import State


async def test_two_robots_at_once(start, settings, agents, model, do):
    both = asyncio.Barrier(2)

    async def meet(_, __):
        await both.wait()
        return {"success": True, "error_code": "NONE", "reason": "there", "state": State.SUCCEEDED}

    agents.answers["approach"] = [meet, meet]
    # One agent process serves one request at a time: two replicas for two robots.
    agents.start()
    agents.start()
    model.say(lambda messages: do.approach() if len(messages) == 2 else do.report(True))
    summit = settings.servers["summit"]
    async with start(servers={"summit": summit, "second": summit}) as client:
        missing = await client.http.post("/tasks", json={"sentence": "go"})
        assert missing.status_code == 422
        assert "name one of: second, summit" in missing.json()["detail"]
        names = [await client.submit("go to the kitchen", robot=robot) for robot in ("summit", "second")]
        for name in names:
            status = await client.until_state(name, State.SUCCEEDED, State.FAILED)
            assert status.state is State.SUCCEEDED, status.report
    assert {r.robot for r in agents.requests} == {"summit", "second"}
