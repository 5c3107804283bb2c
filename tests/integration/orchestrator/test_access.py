"""Who is let in over HTTP: nobody without a token, whatever is asked for."""

import os
import subprocess
import sys

import pytest

from quartet_bus import BusUnavailableError
from quartet_bus.journal import Journal
from quartet_orchestrator.metrics import measure

PATHS = ["/tasks", "/tasks/t-1", "/tasks/t-1/events", "/robots", "/openapi.json", "/nowhere"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("header", [None, "Bearer", "Bearer wrong-token-of-24-chars", "Basic the-token-of-the-tests"])
async def test_nobody_is_served_without_a_token(client, path, header):
    answer = await client.http.get(path, headers={"Authorization": header or ""})
    assert answer.status_code == 401, path
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert "QUARTET_API_TOKEN" in answer.json()["detail"]


async def test_a_task_of_nobody_is_not_taken(client):
    answer = await client.http.post("/tasks", json={"sentence": "tidy up"}, headers={"Authorization": "Bearer no"})
    assert answer.status_code == 401
    assert (await client.http.get("/tasks")).json() == {"tasks": []}


async def test_health_is_open_and_tells_nothing_private(client):
    answer = await client.http.get("/health", headers={"Authorization": ""})
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"


async def test_metrics_have_a_token_of_their_own(start, agents, monkeypatch):
    measured = []

    async def counted(*arguments):
        measured.append(arguments)
        await measure(*arguments)

    monkeypatch.setattr("quartet_orchestrator.api.app.measure", counted)
    agents.start()
    async with start(metrics_token="the-token-of-prometheus") as client:
        assert (await client.http.get("/metrics")).status_code == 401, "the API's token is not that of the metrics"
        assert measured == [], "nobody's questions load Redis"
        mine = {"Authorization": "Bearer the-token-of-prometheus"}
        answer = await client.http.get("/metrics", headers=mine)
        assert answer.status_code == 200
        assert "quartet_tasks_total" in answer.text
        assert len(measured) == 1
        assert (await client.http.get("/tasks", headers=mine)).status_code == 401


async def test_tokens_are_rotated_while_it_runs(start, agents, tmp_path):
    agents.start()
    file = tmp_path / "api_token"
    file.write_text("the-newest-token-there-is anna\nthe-older-token-there-is\n")
    async with start(api_token=None, api_token_file=file) as client:

        async def status(token: str) -> int:
            return (await client.http.get("/tasks", headers={"Authorization": f"Bearer {token}"})).status_code

        assert await status("the-newest-token-there-is") == 200
        assert await status("the-older-token-there-is") == 200
        draft = tmp_path / "draft"
        draft.write_text("the-newest-token-there-is anna\n")
        draft.replace(file)
        assert await status("the-newest-token-there-is") == 200
        assert await status("the-older-token-there-is") == 401


async def test_the_journal_says_whose_token_ordered_what(start, agents, tmp_path, model, do):
    agents.start()
    model.say(do.report(False, summary="nothing is to be done"))
    file = tmp_path / "api_token"
    file.write_text("the-token-that-anna-has anna\nthe-token-that-ben-has ben\n")
    async with start(api_token=None, api_token_file=file) as client:
        anna, ben = ({"Authorization": f"Bearer the-token-that-{name}-has"} for name in ("anna", "ben"))
        key = {"Idempotency-Key": "k1"}
        body = {"sentence": "tidy up"}
        task = (await client.http.post("/tasks", json=body, headers=anna | key)).json()["task"]["task_id"]
        again = await client.http.post("/tasks", json=body, headers=ben | key)
        assert again.json()["task"]["task_id"] == task
        client.http.headers.update(anna)
        events = await client.events(task)
    orders = [(event.event.order, event.event.by) for event in events if event.event.kind == "ordered"]
    assert orders == [("submit", "anna")]


async def test_no_order_is_refused_because_nobody_could_note_who_gave_it(
    start, agents, tmp_path, model, do, monkeypatch
):
    agents.answers["approach"] = [agents.until_canceled]
    agents.start()
    model.say(do.approach())
    append = Journal.append

    async def fails_at_orders(journal, event, *more, **options):
        if event.event.kind == "ordered":
            raise BusUnavailableError("Redis went away")
        return await append(journal, event, *more, **options)

    monkeypatch.setattr(Journal, "append", fails_at_orders)
    file = tmp_path / "api_token"
    file.write_text("the-token-that-anna-has anna\n")
    async with start(api_token=None, api_token_file=file) as client:
        client.http.headers["Authorization"] = "Bearer the-token-that-anna-has"
        task_id = await client.submit()
        await agents.started.wait()
        assert (await client.http.post(f"/tasks/{task_id}/cancel")).status_code == 202
        events = await client.events(task_id)
    assert "ordered" not in {event.event.kind for event in events}
    assert events[-1].event.state == "CANCELED"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://page.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "page.example"}, 403),
        ({"Host": "[:"}, 403),
        ({"Host": "localhost:8000", "Origin": "http://localhost:8000"}, 200),
        ({"Host": "localhost:8000", "Origin": "http://localhost:9000"}, 403),
    ],
)
async def test_without_tokens_no_page_of_another_site_gives_orders(start, agents, headers, status):
    async with start(api_token=None, allow_anonymous=True) as client:
        client.http.headers.pop("Authorization", None)
        answer = await client.http.get("/tasks", headers=headers)
    assert answer.status_code == status
    assert status == 200 or "set QUARTET_API_TOKEN" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"QUARTET_API_TOKEN": ""}, "QUARTET_API_TOKEN is not set, nor QUARTET_API_TOKEN_FILE"),
        ({"QUARTET_API_TOKEN": "short"}, "QUARTET_API_TOKEN holds 5 characters; valid: at least 16"),
        (
            {"QUARTET_API_TOKEN": "", "QUARTET_ALLOW_ANONYMOUS": "true", "QUARTET_HOST": "0.0.0.0"},
            "the HTTP API is not served at 0.0.0.0",
        ),
        ({"QUARTET_HOST": "0.0.0.0"}, "QUARTET_METRICS_TOKEN is not set"),
    ],
)
def test_it_does_not_start_open_to_everybody(settings_environment, changes, said):
    mine = {name: value for name, value in os.environ.items() if not name.startswith("QUARTET_")}
    ended = subprocess.run(
        [sys.executable, "-m", "quartet_orchestrator"],
        env={**mine, **settings_environment, **changes},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert said in ended.stderr, ended.stderr
