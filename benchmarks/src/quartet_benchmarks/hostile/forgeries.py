"""Agents with their own user in Redis that report what they have not done, or attack the tasks of others. Seeded.

Whole jobs run meanwhile, and the simulation's truth says what has become of them: a success that is none is forged, and
a job that an honest agent would have finished was ended by somebody else.
"""

import asyncio
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import psutil

from quartet_benchmarks.chaos.crashes import MOMENTS
from quartet_benchmarks.chaos.job import Job, Score
from quartet_bus import Bus, BusError, Credentials
from quartet_contracts import RESULTS, JournalEvent, Skill, SkillRequest, SkillResult, State
from quartet_contracts.journal import Note, SkillRequested, SkillStarted, ToolReturned
from quartet_deployment import ClientError, Stack
from quartet_process import Secret

Command = tuple[str | bytes, ...]
MIDDLES = ("drive begun", "pick started", "fingers closed", "arm goes down")
"""Moments at which an agent that does not work attacks what belongs to others."""
OVER = "arm goes down"
"""Moment from which approach and pick have no more work in the job: what they do to their own streams ends nothing."""
WORKING = {"drive begun": "approach", "pick started": "pick", "fingers closed": "pick", "arm goes down": "place"}
PREFIX = "quartet"
HIGHEST = "18446744073709551615-18446744073709551615"
COMMANDS = 60
"""Commands of one attack on others."""
TIMEOUT_S = 10.0


@dataclass
class Forgery:
    """Result of one job with an agent that forges or attacks."""

    kind: str
    """`liar` or `attacker`."""
    role: str
    moment: str
    seed: int
    score: Score
    happened: bool
    """Whether the moment came, or the liar was asked."""
    commands: int = 0
    refused: int = 0
    """Commands that Redis answered with an error."""
    ended: list[str] = field(default_factory=list[str])
    """Processes that have ended meanwhile."""

    @property
    def ended_by_others(self) -> bool:
        """Whether the attack ended a job in which the attacker had no more part, or a process."""
        return self.kind == "attacker" and not (self.score.succeeded and self.score.delivered and not self.ended)

    def row(self) -> dict[str, Any]:
        """Return the row of this job in the JSON."""
        return {
            "forgery": self.kind,
            "role": self.role,
            "at": self.moment,
            "seed": self.seed,
            "happened": self.happened,
            **self.score.row(),
            "report": self.score.status.report.summary if self.score.status and self.score.status.report else "",
            "commands": self.commands,
            "refused": self.refused,
            "ended": self.ended,
        }


def forgeries(stack: Stack, count: int, seed: int) -> Iterator[Forgery]:
    """Run `count` jobs, liars and attackers in turn. Raises StackError when a process cannot be started again."""
    dice = random.Random(seed)
    for number in range(count):
        placement = 1 + dice.randrange(12)
        if number % 2:
            yield _attacked(stack, dice, placement)
        else:
            yield _lied_to(stack, list(Skill)[number // 2 % len(Skill)], placement)


def _lied_to(stack: Stack, skill: Skill, seed: int) -> Forgery:
    """Run a job in which one agent does nothing and reports that it has done everything."""
    stack.kill(str(skill))
    told: list[str] = []
    try:
        job = Job.begin(stack, seed)
        asyncio.run(_lie_during(stack, job, skill, told))
    finally:
        stack.restart(str(skill))
    return Forgery("liar", str(skill), "", seed, job.score(), bool(told))


async def _lie_during(stack: Stack, job: Job, skill: Skill, told: list[str]) -> None:
    following = asyncio.create_task(asyncio.to_thread(_follow, job, lambda _: None))
    async with await Bus.connect(_without_user(stack.redis_url), credentials=_credentials(stack, str(skill))) as bus:
        lying = asyncio.create_task(_lie(bus, skill, told))
        await following
        lying.cancel()
        await asyncio.gather(lying, return_exceptions=True)


async def _lie(bus: Bus, skill: Skill, told: list[str]) -> None:
    queue = bus.skills(skill)
    while True:
        delivery = await queue.take(begin=True)
        if delivery is None:
            continue
        request = delivery.request
        if not delivery.started:
            await queue.mark_started(delivery)
        for event in _made_up(request, bus.replica):
            about = {"task_id": request.task_id, "actor": str(skill), "request_id": request.request_id}
            await bus.journal.append(JournalEvent.model_validate({**about, "at": time.time(), "event": event}))
        await queue.finish(delivery, _success(request))
        told.append(request.request_id)


def _made_up(request: SkillRequest, replica: str) -> list[Any]:
    closed = {"ok": True, "error_code": "NONE", "state": "HOLDING", "width_m": 0.05, "effort_n": 20.0}
    return [
        SkillStarted(request_id=request.request_id, skill=request.skill, replica=replica),
        ToolReturned(
            call_id="c1",
            tool="moveit__close_gripper",
            ok=True,
            error_code="NONE",
            text=json.dumps(closed),
            duration_s=1,
        ),
        Note(text="everything is done"),
    ]


def _success(request: SkillRequest) -> SkillResult:
    extra = {"held_object_height_m": 0.12} if request.skill is Skill.PICK else {}
    return RESULTS[request.skill].model_validate(
        {
            "request_id": request.request_id,
            "task_id": request.task_id,
            "success": True,
            "error_code": "NONE",
            "reason": "done",
            "state": State.SUCCEEDED,
            "tool_calls_used": 5,
            **extra,
        }
    )


def _attacked(stack: Stack, dice: random.Random, seed: int) -> Forgery:
    """Run a job in the middle of which an agent attacks whose turn it is not."""
    own = dice.random() < 0.5
    moment = OVER if own else dice.choice(MIDDLES)
    roles = ("approach", "pick") if own else tuple(str(s) for s in Skill if str(s) != WORKING[moment])
    role = dice.choice(roles)
    before, sent = stack.pids(), list[bool]()
    job = Job.begin(stack, seed)
    requests: dict[str, str] = {}

    def attack(event: JournalEvent) -> None:
        if isinstance(event.event, SkillRequested):
            requests[event.event.skill] = event.event.request_id
        if not sent and MOMENTS[moment](event):
            choice = _on_its_own(role, requests) if own else _on_others(role, job.task_id, requests, stack.robot)
            sent.extend(_send(stack, role, dice.choices(choice, k=COMMANDS)))

    _follow(job, attack)
    score = job.score()
    ended = [name for name, pid in before.items() if not psutil.pid_exists(pid)]
    return Forgery("attacker", role, moment, seed, score, bool(sent), len(sent), sent.count(False), ended)


def _on_its_own(role: str, requests: dict[str, str]) -> list[Command]:
    """Return commands on the attacker's own stream and records."""
    stream, journal = f"{PREFIX}:skill:{role}", f"{PREFIX}:agent-journal:{role}:{requests.get(role, 'r')}"
    names = [f"name {number}" for number in range(20)]
    return [
        ("XADD", stream, "*", "m", "not JSON"),
        ("XADD", stream, "*", "x", "y"),
        ("XADD", stream, "MAXLEN", "0", "*", "m", "x"),
        ("XADD", stream, HIGHEST, "m", "x"),
        ("XGROUP", "DESTROY", stream, role),
        ("XGROUP", "CREATE", stream, "another", "0"),
        *(("XREADGROUP", "GROUP", role, name, "COUNT", "1", "STREAMS", stream, "0") for name in names),
        ("XADD", journal, "*", "m", b"x" * 200_000),
        ("XADD", journal, HIGHEST, "m", "x"),
        ("XADD", f"{PREFIX}:dead:{role}", "*", "x", "y"),
        ("ZADD", f"{stream}:present", "9999999999", "ghost"),
        ("DEL", stream),
        ("DEL", journal),
    ]


def _on_others(role: str, task: str, requests: dict[str, str], robot: str) -> list[Command]:
    """Return commands on the task, on other agents and on Redis itself."""
    journal, status, tasks = f"{PREFIX}:journal:{task}", f"{PREFIX}:status:{task}", f"{PREFIX}:tasks:{robot}"
    others = [(skill, request) for skill, request in requests.items() if skill != role]
    end = {"kind": "state", "state": "SUCCEEDED", "reason": "done"}
    event = json.dumps({"task_id": task, "actor": "orchestrator", "at": time.time(), "event": end})
    commands: list[Command] = [
        ("XADD", journal, "*", "m", event),
        ("XADD", journal, HIGHEST, "m", event),
        ("XADD", journal, "MAXLEN", "0", "*", "m", event),
        ("DEL", journal),
        ("SET", status, "{}"),
        ("DEL", status),
        ("SET", f"{PREFIX}:canceled:{task}", "1"),
        ("SET", f"{PREFIX}:paused:{task}", "1"),
        ("PUBLISH", f"{PREFIX}:signal:cancel:{task}", ""),
        ("XTRIM", tasks, "MAXLEN", "0"),
        ("XGROUP", "DESTROY", tasks, "orchestrator"),
        ("XAUTOCLAIM", tasks, "orchestrator", "me", "0", "0"),
        ("INCRBY", f"{PREFIX}:fence:{robot}", "1000"),
        ("SET", f"{PREFIX}:robot:{robot}", "me"),
        ("INCR", f"{PREFIX}:epoch:{task}"),
        ("DEL", f"{PREFIX}:identity"),
        ("EVAL", "while true do end", "0"),
        ("FUNCTION", "FLUSH"),
        ("SCRIPT", "FLUSH"),
        ("FLUSHALL",),
        ("SHUTDOWN", "NOSAVE"),
        ("DEBUG", "SLEEP", "60"),
        ("CONFIG", "SET", "maxmemory", "1"),
        ("CLIENT", "KILL", "TYPE", "normal"),
        ("CLIENT", "PAUSE", "60000"),
        ("ACL", "SETUSER", role, "+@all", "~*"),
        ("KEYS", "*"),
    ]
    for skill, request in others:
        stream, done = f"{PREFIX}:skill:{skill}", f"{PREFIX}:done:skill:{request}"
        commands += [
            ("SET", done, "{}"),
            ("SET", f"{PREFIX}:done:skill:{skill}:{request}", "{}"),
            ("SET", f"{PREFIX}:canceled:{request}", "1"),
            ("SET", f"{PREFIX}:started:skill:{request}", "me"),
            ("PUBLISH", f"{PREFIX}:signal:cancel:{request}", ""),
            ("XADD", stream, "*", "m", "x"),
            ("XTRIM", stream, "MAXLEN", "0"),
            ("XGROUP", "DESTROY", stream, skill),
            ("XAUTOCLAIM", stream, skill, "me", "0", "0"),
            ("XADD", f"{PREFIX}:agent-journal:{skill}:{request}", "*", "m", event),
        ]
    return commands


def _send(stack: Stack, role: str, commands: list[Command]) -> Iterator[bool]:
    """Send commands as the Redis user `role`; yield for each whether Redis did it.

    One that ends the connection, or that Redis never answers, counts as done.
    """
    at, password = urlsplit(stack.redis_url), stack.secrets.path(role, "redis_password").read_text().strip()
    for command in commands:
        try:
            with socket.create_connection((at.hostname or "", at.port or 0), TIMEOUT_S) as connection:
                connection.settimeout(TIMEOUT_S)
                connection.sendall(_resp(("AUTH", role, password)) + _resp(command))
                lines = connection.makefile("rb")
                if not lines.readline().startswith(b"+OK"):
                    raise BusError(f"the user {role} cannot log in")
                yield not lines.readline().startswith(b"-")
        except OSError:
            yield True


def _resp(command: Command) -> bytes:
    parts = [part if isinstance(part, bytes) else part.encode() for part in command]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def _follow(job: Job, look: Callable[[JournalEvent], None]) -> None:
    try:
        for event in job.follow():
            look(event)
    except ClientError:
        # The journal broke off for good; the score shows it.
        pass


def _without_user(url: str) -> str:
    at = urlsplit(url)
    return at._replace(netloc=f"{at.hostname}:{at.port}").geturl()


def _credentials(stack: Stack, role: str) -> Credentials:
    return Credentials(role, Secret.fixed(stack.secrets.path(role, "redis_password").read_text().strip()))


def forgery_rows(done: list[Forgery]) -> list[dict[str, object]]:
    """Return one row for each kind of attack and role."""
    counted = Counter((one.kind, one.role) for one in done if one.happened)
    rows: list[dict[str, object]] = []
    for (kind, role), n in sorted(counted.items()):
        some = [one for one in done if one.happened and (one.kind, one.role) == (kind, role)]
        good = sum(not one.ended_by_others and not one.score.false_success for one in some)
        rows.append({"attack": f"{kind}: {role}", "n": n, "refused": good})
    return rows
