"""Each role does all of its work in Redis with its own user, and is refused everything else."""

import asyncio
import re
import time
from pathlib import Path

import pytest
import redis
import redis.exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry

import quartet_bus
from quartet_bus import Bus, BusOptions, BusUnavailableError, Credentials
from quartet_bus._questions import Question
from quartet_bus.access import AGENTS, ROLES, acl_file, digest, rules
from quartet_bus.functions import LIBRARY
from quartet_contracts import Answer, JournalEvent, Skill, State
from quartet_contracts.approvals import ApprovalDecision, ApprovalRequest
from quartet_contracts.journal import Note
from quartet_process import Secret

PASSWORDS = {role: f"the-password-of-{role}" for role in ROLES}


@pytest.fixture
def users(tmp_path):
    file = tmp_path / "users.acl"
    file.write_text(acl_file({role: [digest(password)] for role, password in PASSWORDS.items()}))
    return file


@pytest.fixture
def guarded(make_redis, users):
    """A Redis that knows the roles and nobody else."""
    return make_redis(users=users)


def login(server, role=None):
    known = {} if role is None else {"username": role, "password": PASSWORDS[role]}
    return redis.Redis(port=server.port, protocol=2, retry=Retry(NoBackoff(), 0), **known)


@pytest.fixture
async def bus_of(guarded, bus_options):
    """`await bus_of(role)`: the bus as a process of that role has it."""
    opened = []

    async def open_as(role, options=bus_options):
        credentials = Credentials(role, Secret.fixed(PASSWORDS[role]))
        bus = await Bus.connect(guarded.url, options, credentials=credentials)
        opened.append(bus)
        return bus

    yield open_as
    for bus in opened:
        await bus.close()


@pytest.fixture
def refused(guarded):
    """What Redis has refused to anybody, as 'user: object'."""

    def look():
        with login(guarded, "admin") as admin:
            return [f"{row['username']}: {row['object']}" for row in admin.acl_log()]

    return look


def note(task_id, actor):
    return JournalEvent(task_id=task_id, actor=actor, at=time.time(), event=Note(text="looked"))


async def test_all_that_a_job_needs(guarded, bus_of, a_request, a_result, a_task, eventually, refused):
    orchestrator = await bus_of("orchestrator")
    await orchestrator.tasks.submit(a_task("t1", submission="key"), "body")
    assert await orchestrator.tasks.overdue() == []
    tasks = orchestrator.robot_tasks("summit")
    delivery = await tasks.take()
    lease_epoch = await tasks.mark_started(delivery)
    await tasks.progressed(delivery)
    status = await orchestrator.statuses.get("t1")
    await orchestrator.statuses.put(status.model_copy(update={"state": State.RUNNING}), lease_epoch=lease_epoch)
    await orchestrator.fences.next("summit", lease_epoch=lease_epoch)
    await orchestrator.journal.append(note("t1", "orchestrator"), lease_epoch=lease_epoch)
    async with orchestrator.replies() as replies:
        for number, skill in enumerate(Skill):
            agent = await bus_of(str(skill))
            fields = {"reply_to": replies.stream(skill)}
            if skill is not Skill.PICK:
                await _only_cancel(orchestrator, agent, skill, a_request)
                continue
            request = a_request(f"r{number}", **fields)
            asking = asyncio.create_task(replies.ask(orchestrator.skills(skill), request))
            source = agent.skills(skill)
            taken = await source.take(10, begin=True)
            await source.mark_started(taken)
            reference = await agent.images.put("t1", b"picture", "image/jpeg")
            await agent.transcripts.save("t1", "loop", {"messages": []})
            await agent.journal.append(note("t1", "pick").model_copy(update={"request_id": request.request_id}))
            await _approve(orchestrator, agent, request.request_id)
            assert await source.finish(taken, a_result(request))
            assert (await asking).success
            assert await orchestrator.images.get("t1", reference) == (b"picture", "image/jpeg")
            assert await orchestrator.transcripts.list("t1") == ["loop"]
            await orchestrator.journal.copy_agent_events(request, lease_epoch)
            assert (await orchestrator.skills(skill).progress(request.request_id)).taken
    await _ask_a_person(orchestrator)
    await orchestrator.tasks.pause("t1", "a test")
    await orchestrator.tasks.resume("t1")
    await orchestrator.tasks.cancel("t1")
    assert await orchestrator.tasks.cancellation("t1")
    assert len(await orchestrator.journal.read_all("t1")) == 2
    with login(guarded, "admin") as admin:
        for key in ("quartet:journal:t1", "quartet:journal:t1:nonces"):
            assert admin.pttl(key) > 0, f"{key} stays for ever"
    await tasks.hand_over(delivery)
    await tasks.finish(await tasks.take())
    assert [status.task.task_id for status in await orchestrator.statuses.list()] == ["t1"]
    assert await tasks.waiting() == 0
    assert refused() == []


async def _only_cancel(orchestrator, agent, skill, a_request):
    """A request of another skill that is withdrawn, and one that is canceled while it waits."""
    queue, source = orchestrator.skills(skill), agent.skills(skill)
    arguments = {
        Skill.APPROACH: {"target_area": "kitchen", "object_name": "can", "next_action": "pick"},
        Skill.PLACE: {"target_location": "table", "object_name": "can", "object_height_m": 0.1},
        Skill.EXECUTOR: {"code": "open_gripper()"},
    }[skill]
    fields = {"skill": skill, "arguments": arguments, "reply_to": f"quartet:replies:{skill}:tester"}
    first = a_request(f"{skill}-1", **fields)
    assert await queue.withdraw(await queue.submit(first), first, "a test")
    second = a_request(f"{skill}-2", **fields)
    await queue.submit(second)
    await queue.cancel(second.request_id)
    assert await source.take(0) is None
    assert (await queue.result(second.request_id)).state is State.CANCELED


async def _approve(orchestrator, agent, request_id):
    question = ApprovalRequest(
        approval_id="a1",
        request_id=request_id,
        task_id="t1",
        robot="summit",
        agent="pick",
        server="moveit",
        tool="open_gripper",
        arguments={},
        expires_at=time.time() + 60,
    )
    asking = asyncio.create_task(agent.approvals.ask(question, 60))
    asked = await orchestrator.approvals.next("pick", request_id)
    await orchestrator.approvals.decide(asked, ApprovalDecision(approval_id="a1", allowed=True, token="signed"))
    assert (await asking).approval_id == "a1"


async def _ask_a_person(orchestrator):
    question = Question("q1", "Which one?", time.time() + 60)
    await orchestrator.questions.put("t1", question, 60)
    await orchestrator.questions.answer("t1", Answer(text="the red one"))
    assert await orchestrator.questions.wait("t1", question, 60) == "the red one"


async def test_leases_are_renewed_and_taken_over_and_poison_is_buried(bus_of, a_request, eventually, refused):
    hasty = BusOptions(lease_s=0.3, block_ms=50, delivery_cap=1)
    orchestrator = await bus_of("orchestrator", hasty)
    dead, alive = await bus_of("pick", hasty), await bus_of("pick", hasty)
    queue = orchestrator.skills(Skill.PICK)
    await queue.submit(a_request("r1"))
    taken = await dead.skills(Skill.PICK).take(10)
    lease = taken.lease
    assert lease.entry_id in dead.skills(Skill.PICK)._leases
    await dead.close()
    source = alive.skills(Skill.PICK)
    for _ in range(400):
        again = await source.take(0.05)
        if again is not None or await orchestrator.dead_letters.list():
            break
    assert again is None, "the cap is one delivery"
    letters = await orchestrator.dead_letters.list()
    assert [letter.stream for letter in letters] == ["quartet:skill:pick"]
    assert refused() == []


FORBIDDEN = {
    "approach": [
        ("FLUSHALL",),
        ("CONFIG", "GET", "*"),
        ("KEYS", "*"),
        ("SCAN", 0),
        ("ACL", "LIST"),
        ("MONITOR",),
        ("SHUTDOWN",),
        ("CLIENT", "LIST"),
        ("SCRIPT", "FLUSH"),
        ("FUNCTION", "LIST"),
        ("FUNCTION", "LOAD", "#!lua name=mine\nredis.register_function('mine', function() while true do end end)"),
        ("FUNCTION", "DELETE", LIBRARY),
        ("EVAL", "while true do end", 0),
        ("EVALSHA", "0" * 40, 0),
        ("FCALL", f"{LIBRARY}_put_status", 1, "quartet:status:t1"),
        ("FCALL", f"{LIBRARY}_next_fence", 2, "quartet:fence:summit", "quartet:epoch:t1", "", 1),
        ("FCALL", f"{LIBRARY}_append_last_event", 1, "quartet:journal:t1"),
        ("FCALL", f"{LIBRARY}_finish", 2, "quartet:skill:pick", "quartet:done:skill:pick:r1", "pick", "1-1", "x", 9),
        ("FCALL", f"{LIBRARY}_admit", 1, "quartet:skill:approach"),
        ("XRANGE", "quartet:skill:pick", "-", "+"),
        ("XREADGROUP", "GROUP", "pick", "me", "STREAMS", "quartet:skill:pick", ">"),
        ("XADD", "quartet:skill:pick", "*", "m", "x"),
        ("XADD", "quartet:skill:approach", "*", "m", "x"),
        ("SET", "quartet:done:skill:pick:r1", "x"),
        ("SET", "quartet:canceled:r1", "x"),
        ("XADD", "quartet:tasks:summit", "*", "m", "x"),
        ("HSET", "quartet:status:t1", "m", "x"),
        ("XRANGE", "quartet:journal:t1", "-", "+"),
        ("XADD", "quartet:journal:t1", "*", "m", "x"),
        ("XADD", "quartet:journal:t1", "18446744073709551615-18446744073709551615", "m", "x"),
        ("XADD", "quartet:journal:t1", "MAXLEN", "0", "*", "m", "x"),
        ("HSET", "quartet:journal:t1:nonces", "n", "1-1"),
        ("XADD", "quartet:agent-journal:pick:r1", "*", "m", "x"),
        ("XADD", "quartet:dead", "*", "m", "x"),
        ("XADD", "quartet:dead:pick", "*", "m", "x"),
        ("SET", "quartet:image:orchestrator:t1:abc", "x"),
        ("SET", "quartet:image:pick:t1:abc", "x"),
        ("HSET", "quartet:transcripts:orchestrator:t1", "orchestrator", "x"),
        ("HSET", "quartet:transcripts:pick:t1", "r1", "x"),
        ("SET", "quartet:approval:pick:r1", "x"),
        ("GET", "quartet:epoch:t1"),
        ("DEL", "quartet:journal:t1"),
        ("XTRIM", "quartet:journal:t1", "MAXLEN", 0),
        ("PEXPIRE", "quartet:journal:t1", 1),
        ("PEXPIRE", "quartet:journal:t1:nonces", 1),
        ("EVAL", "return redis.call('PEXPIRE', KEYS[1], 1)", 1, "quartet:journal:t1"),
        ("XREAD", "STREAMS", "quartet:replies:approach:o1", "0"),
        ("XADD", "quartet:replies:pick:o1", "*", "m", "x"),
        ("XADD", "quartet:replies:program:p1", "*", "m", "x"),
        ("XREADGROUP", "GROUP", "executors", "me", "STREAMS", "quartet:programs", ">"),
        ("EVAL", "return redis.call('XADD', KEYS[1], '*', 'm', 'x')", 1, "quartet:replies:pick:o1"),
        ("GET", "quartet:image:approach:t1:abc"),
        ("HGETALL", "quartet:transcripts:approach:t1"),
        ("INCR", "quartet:fence:summit"),
        ("INCR", "quartet:epoch:t1"),
        ("SET", "quartet:decision:a1", "x"),
        ("SET", "quartet:answer:q1", "x"),
        ("SET", "elsewhere", "x"),
        ("PUBLISH", "quartet:signal:answer:q1", ""),
        ("EVAL", "return redis.call('INCR', KEYS[1])", 1, "quartet:epoch:t1"),
        ("EVAL", "return redis.call('GET', KEYS[1])", 1, "quartet:status:t1"),
        ("EVAL", "return redis.call('XRANGE', KEYS[1], '-', '+')", 1, "quartet:journal:t1"),
    ],
    "executor": [
        ("XADD", "quartet:programs", "*", "m", "x"),
        ("XADD", "quartet:replies:turn:t1", "*", "m", "x"),
        ("XREADGROUP", "GROUP", "speakers", "me", "STREAMS", "quartet:turns", ">"),
        ("SET", "quartet:done:turn:t1", "x"),
        ("XADD", "quartet:journal:t1", "*", "m", "x"),
    ],
    "orchestrator": [
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("CONFIG", "SET", "maxmemory", "1"),
        ("KEYS", "*"),
        ("ACL", "SETUSER", "x"),
        ("MONITOR",),
        ("SHUTDOWN",),
        ("SET", "elsewhere", "x"),
        ("PUBLISH", "elsewhere", ""),
        ("CLIENT", "KILL", "ID", "1"),
        ("EVAL", "return 1", 0),
        ("FUNCTION", "FLUSH"),
    ],
    "exporter": [
        ("XRANGE", "quartet:skill:pick", "-", "+"),
        ("GET", "quartet:done:skill:pick:r1"),
        ("XADD", "quartet:skill:pick", "*", "m", "x"),
        ("CONFIG", "SET", "maxmemory", "1"),
        ("SLOWLOG", "GET"),
        ("FLUSHALL",),
        ("KEYS", "*"),
    ],
}


REFUSED = r"has no permissions|No permissions|can't run this command|can't access at least one of the keys"


@pytest.mark.parametrize(("role", "command"), [(role, one) for role, many in FORBIDDEN.items() for one in many])
def test_everything_else_is_refused(shared_guarded, role, command):
    with login(shared_guarded, role) as client, pytest.raises(redis.exceptions.ResponseError, match=REFUSED):
        client.execute_command(*command)


@pytest.fixture(scope="module")
def shared_guarded(redis_maker, tmp_path_factory):
    file = tmp_path_factory.mktemp("users") / "users.acl"
    file.write_text(acl_file({role: [digest(password)] for role, password in PASSWORDS.items()}))
    return redis_maker(users=file)


def test_the_exporter_sees_the_length_of_the_queues_and_nothing_in_them(shared_guarded):
    with login(shared_guarded, "admin") as admin:
        admin.xadd("quartet:skill:pick", {"m": "x"})
    with login(shared_guarded, "exporter") as client:
        assert client.xlen("quartet:skill:pick") == 1
        assert client.info("memory")["used_memory"] > 0
        # What the exporter sends first; refused, it logs an error with every scrape.
        assert client.client_setname("redis_exporter")


async def test_nobody_is_let_in_without_a_name_and_its_password(guarded, bus_options):
    with login(guarded) as client, pytest.raises(redis.exceptions.AuthenticationError):
        client.ping()
    for password in ("", "nothing"):
        with (
            redis.Redis(
                port=guarded.port, username="default", password=password, retry=Retry(NoBackoff(), 0)
            ) as client,
            pytest.raises(redis.exceptions.AuthenticationError),
        ):
            client.ping()
    with pytest.raises(BusUnavailableError, match="does not know this user or its password"):
        await Bus.connect(guarded.url, bus_options)
    wrong = Credentials("pick", Secret.fixed(PASSWORDS["place"]))
    with pytest.raises(BusUnavailableError, match="QUARTET_REDIS_PASSWORD") as problem:
        await Bus.connect(guarded.url, bus_options, credentials=wrong)
    assert PASSWORDS["place"] not in str(problem.value)


async def test_nothing_is_lost_when_a_redis_with_users_is_started_again(make_redis, users, bus_options, a_task):
    server = make_redis(users=users, durable=True)
    credentials = Credentials("orchestrator", Secret.fixed(PASSWORDS["orchestrator"]))
    async with await Bus.connect(server.url, bus_options, credentials=credentials) as bus:
        await bus.tasks.submit(a_task("t1"), "body")
        await bus.fences.next("summit")
        with login(server, "admin") as admin:
            before = sorted(admin.keys())
        server.kill()
        server.start()
        with login(server, "admin") as admin:
            assert sorted(admin.keys()) == before
        status = await bus.statuses.get("t1")
        assert status is not None
        assert status.state is State.QUEUED
        assert await bus.fences.current("summit") == 1


async def test_the_orchestrator_loads_the_functions_again_and_agents_wait_for_it(guarded, bus_of, a_request, refused):
    pick = await bus_of("pick")
    with pytest.raises(
        BusUnavailableError, match=r"does not have the functions quartet_v6\. The orchestrator loads them"
    ):
        await pick.skills(Skill.PICK).alive()
    orchestrator = await bus_of("orchestrator")
    assert await pick.skills(Skill.PICK).alive() == 0
    with login(guarded, "admin") as admin:
        admin.flushall()
        admin.execute_command("FUNCTION", "FLUSH")
    taking = asyncio.create_task(pick.skills(Skill.PICK).take())
    await orchestrator.skills(Skill.PICK).submit(a_request("r1"))
    delivery = await asyncio.wait_for(taking, 30)
    assert delivery is not None
    await pick.skills(Skill.PICK).mark_started(delivery)
    assert refused() == []


async def test_functions_outlast_a_restart(make_redis, users, bus_options):
    server = make_redis(users=users, durable=True)
    owner, pick = (Credentials(role, Secret.fixed(PASSWORDS[role])) for role in ("orchestrator", "pick"))
    async with await Bus.connect(server.url, bus_options, credentials=owner):
        server.kill()
    server.start()
    async with await Bus.connect(server.url, bus_options, credentials=pick) as bus:
        assert await bus.skills(Skill.PICK).alive() == 0


async def test_an_owner_with_a_user_of_another_name_loads_the_functions(make_redis, tmp_path, bus_options):
    users = tmp_path / "named.acl"
    users.write_text(f"user default off\nuser boss on >secret resetchannels -@all {' '.join(rules('orchestrator'))}\n")
    server = make_redis(users=users)
    boss = Credentials("boss", Secret.fixed("secret"), "orchestrator")
    async with await Bus.connect(server.url, bus_options, credentials=boss) as bus:
        assert await bus.fences.next("summit") == 1


async def test_a_command_that_the_user_may_not_send_says_where_rights_are_given(bus_of):
    pick = await bus_of("pick")
    with pytest.raises(BusUnavailableError, match=r"does not let this user do that: .*users\.acl"):
        await pick.fences.next("summit")


async def test_a_password_is_rotated_while_the_bus_is_open(guarded, users, bus_options, tmp_path, bus_of):
    await bus_of("orchestrator")
    file = tmp_path / "redis_password"
    file.write_text(PASSWORDS["pick"])
    credentials = Credentials("pick", Secret("QUARTET_REDIS_PASSWORD_FILE", file))
    digests = {role: [digest(password)] for role, password in PASSWORDS.items()}
    async with await Bus.connect(guarded.url, bus_options, credentials=credentials) as bus:
        with login(guarded, "admin") as admin:
            users.write_text(acl_file({**digests, "pick": [digest("a-new-password"), *digests["pick"]]}))
            admin.execute_command("ACL", "LOAD")
            file.write_text("a-new-password")
            assert await bus.skills(Skill.PICK).take(0) is None
            users.write_text(acl_file({**digests, "pick": [digest("a-new-password")]}))
            admin.execute_command("ACL", "LOAD")
            assert await bus.skills(Skill.PICK).take(0) is None
            admin.execute_command("CLIENT", "KILL", "USER", "pick")
        assert await bus.skills(Skill.PICK).alive() >= 0
        with login(guarded, "pick") as old, pytest.raises(redis.exceptions.AuthenticationError):
            old.ping()


def test_every_command_in_the_bus_is_granted_to_the_orchestrator():
    source = "\n".join(file.read_text() for file in Path(quartet_bus.__file__).parent.glob("*.py"))
    sent = set(re.findall(r"redis\.p?call\('([A-Z]+)'", source)) | set(re.findall(r"\(\s*\"([A-Z]{3,})[\" ]", source))
    granted = {word[1:].split("|")[0].upper() for word in " ".join(rules("orchestrator")).split() if word[0] == "+"}
    sent -= {"BLOCK", "ACL"}  # an option, and what only the administrator's command sends
    assert len(sent) > 25, sorted(sent)
    assert sent <= granted, f"grant them in quartet_bus/access.py: {sorted(sent - granted)}"


def test_roles_are_named_when_one_is_not_known():
    with pytest.raises(ValueError, match="there is no role 'stop'; valid: orchestrator, approach"):
        rules("stop")
    assert set(AGENTS) == {str(skill) for skill in Skill}
