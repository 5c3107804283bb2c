"""What a person reads when something is wrong, and how a journal is followed."""

import asyncio
import json
import time

import jsonschema

from quartet_contracts import State

BAD_SUBMISSIONS = [
    ({"sentence": ""}, "it is empty; say what the robot should do"),
    ({"sentence": "  \n "}, "the sentence has no words; write what the robot should do"),
    ({"sentence": "!!! 123"}, "the sentence has no words"),
    ({"sentence": "x" * 1001}, "at most 1000 characters"),
    ({}, "sentence: Field required"),
    ({"sentence": 5}, "sentence: Input should be a valid string (got '5')"),
    ({"sentence": "go", "robot": "marvin"}, "there is no robot 'marvin'; valid: summit"),
    ({"sentence": "go", "timeout_s": -1}, "timeout_s: Input should be greater than 0 (got '-1')"),
    ({"sentence": "go", "speed": 3}, "speed: Extra inputs are not permitted"),
    ('{"sentence": "go", "timeout_s": NaN}', "timeout_s: Input should be"),
    ('{"sentence": "go", "timeout_s": 1e999}', "timeout_s: Input should be less than or equal to 86400"),
    ('{"sentence": "go", "budget": {"turns": 1e400}}', "budget.turns: Input should be a finite number"),
    ('{"sentence": "half a \\ud800 pair"}', "sentence: Input should be a valid string, unable to parse"),
    ("null", "request body: Input should be a valid dictionary"),
    ("{", "the request body is not JSON"),
    ("", "the request body is missing"),
]


async def test_a_bad_submission_says_what_is_wrong(client):
    for body, words in BAD_SUBMISSIONS:
        content = body if isinstance(body, str) else json.dumps(body)
        answer = await client.http.post("/tasks", content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), body
        assert words in answer.json()["detail"]
    assert (await client.http.get("/tasks")).json() == {"tasks": []}


BAD_QUESTIONS = [
    ("/tasks/nope", 404, "there is no task 'nope'"),
    ("/tasks/nope/events", 404, "there is no task"),
    ("/tasks/nope/images/x", 404, "has no image 'x'"),
    ("/tasks/nope/transcripts", 404, "there is no task"),
    ("/tasks?state=DONE", 422, "'SUCCEEDED'"),
    ("/tasks?limit=0", 422, "limit"),
    ("/tasks/%ED%A0%80%00", 404, "there is no task"),
    ("/tasks?limit=1e9", 422, "limit"),
    ("/task", 404, "/openapi.json"),
    ("/skills/dance", 404, "/openapi.json"),
]


async def test_a_bad_question_says_what_is_wrong(client):
    for path, status, words in BAD_QUESTIONS:
        answer = await client.http.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), path
        assert words in answer.json()["detail"]


async def test_a_bad_position_is_no_position(client, model, do):
    model.say(do.report(False))
    task_id = await client.submit()
    for position in ("now", "1", "99999999999999999999999-0", "١-٠", "0-0-0"):
        headers = {"Last-Event-ID": position.encode()}
        answer = await client.http.get(f"/tasks/{task_id}/events", headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), position
        assert "Last-Event-ID" in answer.json()["detail"]


async def test_a_body_that_is_too_large_is_refused_however_it_comes(client):
    async def in_parts():
        for _ in range(100):
            yield b"x" * 1000

    for content in (b"x" * 100_000, in_parts()):
        answer = await client.http.post("/tasks", content=content, headers={"content-type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (413, "application/problem+json")
        assert "over 65536 bytes" in answer.json()["detail"]


async def test_a_fault_of_the_orchestrator_is_a_problem_too(client, monkeypatch):
    async def broken(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("quartet_bus._task_statuses.TaskStatuses.list", broken)
    answer = await client.http.get("/tasks")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "its log has the details" in answer.json()["detail"]
    assert "secret" not in answer.text


async def test_a_bad_direct_skill_says_what_is_wrong(client):
    body = {"target_area": "kitchen", "object_name": "can", "next_action": "jump"}
    answer = await client.http.post("/skills/approach", json=body)
    assert answer.status_code == 422
    assert "'surface_place'" in answer.json()["detail"]


async def test_tasks_are_listed_newest_first_and_by_state(client, model, do):
    model.say(do.report(False))
    names = [await client.submit(f"task {n}") for n in ("one", "two", "three")]
    for name in names:
        await client.until_state(name, State.FAILED)

    async def listed(**query):
        rows = (await client.http.get("/tasks", params=query)).json()["tasks"]
        return [row["task"]["task_id"] for row in rows]

    assert await listed() == names[::-1]
    assert await listed(limit=1) == [names[2]]
    assert await listed(state="FAILED", limit=2) == names[:0:-1]
    assert await listed(state="RUNNING") == []


async def test_a_follower_resumes_where_it_was(client, model, do):
    model.say(do.approach(), do.report(True))
    task_id = await client.submit("go to the kitchen")
    events = await client.events(task_id)
    rest = await client.events(task_id, after=events[2].position)
    assert [e.position for e in rest] == [e.position for e in events[3:]]
    assert await client.events(task_id, after=events[-1].position, follow="false") == []
    assert await client.events(task_id, follow="false") == events
    wrong = await client.http.get(f"/tasks/{task_id}/events", headers={"Last-Event-ID": "latest"})
    assert wrong.status_code == 422


async def test_a_follower_sees_events_while_they_happen(client, agents, model, do):
    agents.answers["approach"] = [agents.until_canceled]
    model.say(do.approach(), do.report(False))
    task_id = await client.submit()
    seen = []
    async with client.http.stream("GET", f"/tasks/{task_id}/events") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                seen.append(line.removeprefix("event: "))
            if line == "event: skill_requested":
                await client.http.post(f"/tasks/{task_id}/cancel")
    assert seen[-2:] == ["report", "state"]


async def test_many_followers_at_once(client, agents, model, do):
    agents.answers["approach"] = [agents.until_canceled]
    model.say(do.approach(), do.report(False))
    task_id = await client.submit()
    followers = [asyncio.create_task(client.events(task_id)) for _ in range(60)]
    await agents.started.wait()
    await client.http.post(f"/tasks/{task_id}/cancel")
    told = await asyncio.gather(*followers)
    assert all(events == told[0] for events in told)


async def test_health_and_metrics(client, model, do):
    model.say(do.report(False))
    await client.run()
    health = (await client.http.get("/health")).json()
    assert health["status"] == "ok"
    assert health["agents"] == {"approach": 1, "pick": 1, "place": 1, "executor": 1}
    assert abs(health["time"] - time.time()) < 60
    assert health["store_clock_ahead_s"] == 0.0
    assert health["agent_clocks_ahead_s"] == {}
    metrics = (await client.http.get("/metrics")).text
    assert 'quartet_tasks_total{state="FAILED"}' in metrics
    assert 'quartet_agents_alive{agent="pick"} 1.0' in metrics
    assert 'quartet_queue_waiting{stream="skill:pick"} 0.0' in metrics
    assert 'quartet_queue_age_seconds{stream="tasks:summit"} 0.0' in metrics
    assert 'quartet_robot_lease_held{robot="summit"} 1.0' in metrics
    assert "quartet_bus_up 1.0" in metrics
    assert 'quartet_clock_skew_seconds{robot="",server="redis"} 0.0' in metrics


async def test_the_document_of_the_api_states_errors_as_they_are_sent(client):
    """Who generates a client from it parses problems."""
    document = (await client.http.get("/openapi.json")).json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            stated = {status: list(one.get("content", {})) for status, one in operation["responses"].items()}
            assert stated["4XX"] == ["application/problem+json"], (method, path)
            assert "422" not in stated, (method, path)
    refused = await client.http.post("/tasks/t-1/cancel", json=[None])
    assert refused.headers["content-type"] == "application/problem+json"
    schema = document["paths"]["/tasks"]["post"]["responses"]["4XX"]["content"]["application/problem+json"]["schema"]
    jsonschema.validate(refused.json(), schema)
