"""Roles of API tokens: an assistant's token gives tasks; it cannot approve a call nor open a session."""

import contextlib

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from quartet_bus import Question, QuestionError
from quartet_contracts import Answer, State
from quartet_process import SecretError

PICK = ("approach", {"target_area": "kitchen", "object_name": "red coke can", "next_action": "pick"})
TOKENS = {
    "assistant": "the-token-of-the-assistant roles=submit",
    "anna": "the-token-of-anna-herself anna roles=submit,approve",
}


def bearer(name):
    return {"Authorization": f"Bearer {TOKENS[name].split()[0]}"}


@pytest.fixture
def with_tokens(start, agents, tmp_path):
    @contextlib.asynccontextmanager
    async def run(*names):
        agents.start()
        file = tmp_path / "api_token"
        file.write_text("".join(f"{TOKENS[name]}\n" for name in names))
        async with start(api_token=None, api_token_file=file) as client:
            client.http.headers.update(bearer(names[0]))
            yield client

    return run


async def test_an_assistants_token_cannot_answer_an_approval(with_tokens, model, do, asking):
    asking()
    model.say(PICK, do.report(False))
    async with with_tokens("assistant", "anna") as client:
        task_id = await client.submit()
        await client.until_state(task_id, State.PAUSED)
        for body in ({"text": "yes"}, {"text": "yes", "question_id": f"a-{task_id}-01-approach"}):
            refused = await client.http.post(f"/tasks/{task_id}/answer", json=body)
            assert (refused.status_code, refused.json()["title"]) == (403, "Not allowed")
            assert "role 'approve'" in refused.json()["detail"]
        given = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes"}, headers=bearer("anna"))
        assert given.status_code == 200, given.text
        events = await client.events(task_id)
    assert asking.decision.allowed
    orders = [(event.event.order, event.event.by) for event in events if event.event.kind == "ordered"]
    assert orders == [("answer", "anna")], "a refused order is not one that was given"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_assistants_token_cannot_approve_over_mcp(with_tokens, model, do, asking, mode):
    asking()
    model.say(PICK, do.report(False))
    asked = []

    async def eager(_context, form):
        asked.append(form)
        return ElicitResult(action="accept", content={"answer": "yes"})

    async with with_tokens("assistant", "anna") as client:
        async with (
            httpx2.AsyncClient(headers=bearer("assistant"), timeout=60) as http,
            Client(
                streamable_http_client(f"{client.http.base_url}/mcp", http_client=http),
                elicitation_callback=eager,
                mode=mode,
            ) as mcp,
        ):
            sentence = "put the red coke can on the sofa table"
            view = (await mcp.call_tool("run_task", {"sentence": sentence, "wait_s": 60})).structured_content
            assert view["question"]["needs_a_person"]
            for arguments in ({}, {"text": "yes"}):
                refused = await mcp.call_tool("answer", {"task_id": view["task_id"], **arguments})
                assert refused.is_error
                assert "A person must answer" in str(refused.content[0])
        assert asked == []
        path = f"/tasks/{view['task_id']}/answer"
        assert (await client.http.post(path, json={"text": "no"}, headers=bearer("anna"))).status_code == 200
        await client.events(view["task_id"])
    assert not asking.decision.allowed


async def test_an_assistants_token_opens_no_session(with_tokens):
    async with with_tokens("assistant", "anna") as client:
        refused = await client.http.post("/session")
        assert (refused.status_code, refused.json()["title"]) == (403, "Not allowed")
        assert "set-cookie" not in refused.headers
        assert (await client.http.post("/session", headers=bearer("anna"))).status_code == 204


async def test_an_assistant_answers_the_models_own_question(with_tokens, model, do):
    model.say(("ask_person", {"question": "Which table?"}), do.report(False))
    async with with_tokens("assistant") as client:
        task_id = await client.submit()
        await client.until_state(task_id, State.PAUSED)
        assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": "the left"})).status_code == 200
        await client.events(task_id)


async def test_a_session_goes_with_the_role_of_its_token(with_tokens, tmp_path):
    async with with_tokens("anna") as client:
        assert (await client.http.post("/session")).status_code == 204
        client.http.headers.pop("authorization")
        assert (await client.http.get("/tasks")).status_code == 200
        draft = tmp_path / "draft"
        draft.write_text("the-token-of-anna-herself anna roles=submit\n")
        draft.replace(tmp_path / "api_token")
        assert (await client.http.get("/tasks")).status_code == 401


async def test_a_line_with_a_role_that_does_not_exist_is_ignored_and_told_in_health(with_tokens, tmp_path):
    async with with_tokens("anna") as client:
        assert "ignored_tokens" not in (await client.http.get("/health")).json()
        draft = tmp_path / "draft"
        draft.write_text(f"{TOKENS['assistant'].replace('submit', 'sumbit')}\n{TOKENS['anna']}\n")
        draft.replace(tmp_path / "api_token")
        assert (await client.http.get("/tasks", headers=bearer("assistant"))).status_code == 401
        assert (await client.http.get("/tasks")).status_code == 200
        (why,) = (await client.http.get("/health")).json()["ignored_tokens"]
        assert why == "api_token: line 1 has no role, or one that does not exist; valid: submit, approve, admin"


async def test_without_one_valid_line_it_does_not_start(start, agents, tmp_path):
    file = tmp_path / "api_token"
    file.write_text("the-token-of-the-assistant helper roles=sumbit\n")
    with pytest.raises(SecretError, match="line 1 has no role, or one that does not exist"):
        async with start(api_token=None, api_token_file=file):
            pass


async def test_the_token_of_quartet_mcp_submits_whatever_its_line_says(start, agents, tmp_path, model, do, asking):
    asking()
    model.say(PICK, do.report(False))
    agents.start()
    file = tmp_path / "assistant_token"
    file.write_text("the-token-of-quartet-mcp anna roles=admin\n")
    async with start(assistant_token_file=file) as client:
        mine = {"Authorization": "Bearer the-token-of-quartet-mcp"}
        assert (await client.http.post("/session", headers=mine)).status_code == 401
        given = await client.http.post("/tasks", json={"sentence": "put the can on the table"}, headers=mine)
        assert given.status_code == 202, given.text
        task_id = given.json()["task"]["task_id"]
        await client.until_state(task_id, State.PAUSED)
        refused = await client.http.post(f"/tasks/{task_id}/answer", json={"text": "yes"}, headers=mine)
        assert refused.status_code == 403
        assert (await client.http.post(f"/tasks/{task_id}/answer", json={"text": "no"})).status_code == 200
        await client.events(task_id)
    assert not asking.decision.allowed


async def test_an_answer_is_not_taken_by_a_question_that_was_not_checked(agents):
    """The question that is open when the answer is written is the one that counts."""
    bus = agents.bus
    await bus.questions.put("t-1", Question("a-1", "May it?", 2e9, approval=True), 60)

    def check(question):
        raise QuestionError(f"not {question.question_id}")

    with pytest.raises(QuestionError, match="not a-1"):
        await bus.questions.answer("t-1", Answer(text="yes"), check=check)
    assert await bus.questions.current("t-1") is not None
    await bus.questions.answer("t-1", Answer(text="yes"))
