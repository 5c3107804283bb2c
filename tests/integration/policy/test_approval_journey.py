"""The whole way of a person's word: server, agent, bus, orchestrator, person, and back to the server."""

import asyncio
import time
from types import SimpleNamespace

import pytest

import quartet_nav2
from quartet_agent_runtime import Toolbox
from quartet_agent_runtime._approvals import ApprovalRequester
from quartet_contracts import Answer, Budget, PickArguments, Skill, SkillRequest, State, Task, TaskStatus
from quartet_orchestrator.grants import GrantSigner
from quartet_orchestrator.recovery.record import TaskRecord
from quartet_orchestrator.skills.approvals import ApprovalService
from quartet_site import PolicyFile
from quartet_tool_server import GrantVerifier, make_server

ASK = {"approval": [{"tool": "nav2__spin_robot", "when": {"angle": {"min": 1}}, "then": "ask", "because": "cables"}]}
TOOL = "nav2__spin_robot"


@pytest.fixture
def keys(make_keys):
    return make_keys()


@pytest.fixture
async def url(robot, site_file, tmp_path, keys, sent, over_http):
    """nav2 over HTTP, with a policy that asks."""
    server = make_server(
        quartet_nav2.SERVER,
        robot,
        site_file,
        tmp_path,
        GrantVerifier("summit", [keys.private.public_key()]),
        policy=PolicyFile.model_validate(ASK),
    )
    return await over_http(server)


@pytest.fixture
async def request_(keys):
    now = time.time()
    return SkillRequest(
        request_id="t-1-01-pick",
        task_id="t-1",
        robot="summit",
        skill=Skill.PICK,
        attempt=1,
        created_at=now,
        deadline=now + 60,
        arguments=PickArguments(object_name="red can"),
        grant=keys.token(TOOL, sub="pick", jti="t-1-01-pick"),
        reply_to="replies",
        budget=Budget(wall_s=60),
    )


@pytest.fixture
async def desk(bus, keys, request_):
    """The orchestrator's part, while a skill runs."""
    task = Task(
        task_id="t-1", sentence="pick", robot="summit", created_at=0, deadline=time.time() + 60, budget=Budget(turns=5)
    )
    status = TaskStatus(task=task, state=State.RUNNING, updated_at=0)
    await bus.statuses.put(status)

    class Settings:
        question_timeout_s = 60.0

    record = TaskRecord(bus, status)
    serving = asyncio.create_task(ApprovalService(record, bus, GrantSigner(keys.private), Settings()).serve(request_))
    yield record
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)


async def ignore(*_):
    pass


async def answer(bus, text):
    async with asyncio.timeout(30):
        while await bus.questions.current("t-1") is None:  # noqa: ASYNC110  it lies in Redis
            await asyncio.sleep(0.01)
    await bus.questions.answer("t-1", Answer(text=text))


@pytest.mark.parametrize(("word", "code"), [("yes", "NAV2_NOT_ACTIVE"), ("not today", "APPROVAL_DENIED")])
async def test_the_call_waits_for_the_persons_word(bus, url, desk, request_, sent, word, code):
    requester = ApprovalRequester(request_, bus.approvals)
    async with Toolbox({"nav2": url}, request_.grant, [TOOL], 30, requester) as toolbox:
        calling = asyncio.create_task(toolbox.call(TOOL, {"angle": 2.0}, ignore))
        await answer(bus, word)
        outcome = await calling
    # The test's robot rejects every goal; one that came to it was allowed.
    assert outcome.error_code == code, outcome
    assert len(sent.goals) == (word == "yes")
    assert word in outcome.message or word == "yes"
    assert desk.state is State.RUNNING


async def test_a_server_whose_clock_is_behind_waits_as_long_as_any(bus, url, desk, request_, sent, monkeypatch):
    behind = SimpleNamespace(time=lambda: time.time() - 3600.0)
    monkeypatch.setattr("quartet_tool_server._approvals.time", behind)
    requester = ApprovalRequester(request_, bus.approvals)
    async with Toolbox({"nav2": url}, request_.grant, [TOOL], 30, requester) as toolbox:
        calling = asyncio.create_task(toolbox.call(TOOL, {"angle": 2.0}, ignore))
        await answer(bus, "yes")
        await calling
    assert len(sent.goals) == 1


async def test_without_anybody_to_ask_the_call_is_refused(bus, url, request_, sent):
    async with Toolbox({"nav2": url}, request_.grant, [TOOL], 30) as toolbox:
        assert (await toolbox.call(TOOL, {"angle": 2.0}, ignore)).error_code == "INPUT_REQUIRED"
    assert not sent.goals


async def test_an_agent_that_cannot_reach_the_store_gets_no(url, request_, sent):
    class Gone:
        async def ask(self, _, left_s):
            raise ConnectionError("the store is away")

    async with Toolbox({"nav2": url}, request_.grant, [TOOL], 30, ApprovalRequester(request_, Gone())) as toolbox:
        assert (await toolbox.call(TOOL, {"angle": 2.0}, ignore)).error_code == "APPROVAL_DENIED"
    assert not sent.goals


async def test_no_decision_by_the_deadline_is_no(bus, url, request_, sent):
    """Nobody serves the orchestrator's desk here."""
    late = request_.model_copy(update={"deadline": time.time() + 0.3})
    async with Toolbox({"nav2": url}, late.grant, [TOOL], 30, ApprovalRequester(late, bus.approvals)) as toolbox:
        assert (await toolbox.call(TOOL, {"angle": 2.0}, ignore)).error_code == "APPROVAL_DENIED"
    assert not sent.goals
