"""Who may do what in Redis: one ACL user per role, with the keys, channels and commands that it needs and no others.

The rules follow what the bus does. A command that the bus learns has to be granted here, or Redis refuses it (NOPERM).
A selector in parentheses is a right of its own: these commands on these keys. A Redis function runs with the
rights of who calls it: the call needs a selector with the function's name and keys, and every command in it one of its
own. Agents call the functions that they need and run no script. https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quartet_bus._keys import OWNER, Key, Keys
from quartet_bus._options import BusOptions
from quartet_bus._store import Credentials, Store
from quartet_bus._turns import SPEAKER, ProgramQueue, TurnQueue
from quartet_bus.errors import BusError, BusServerError
from quartet_bus.functions import AnnounceRoute, Function, WithdrawRoute, queues, records, requests
from quartet_contracts import Skill
from quartet_process import Secret

AGENTS = tuple(str(skill) for skill in Skill)
ADMIN = "admin"
"""Everything: for the owner of the machine (ACL LOAD, looking for faults). No process of Quartet has its password."""
EXPORTER = "exporter"
ORCHESTRATOR = OWNER
ROLES = (ORCHESTRATOR, *AGENTS, EXPORTER, ADMIN)

_CONNECTION = "+ping +select +multi +exec +discard"
_FUNCTIONS = "+fcall +time +function|load +function|list"
_SIGNALS = "+publish +subscribe +unsubscribe"
_GROUP = (
    "+xreadgroup +xrange +xautoclaim +xpending +xclaim +xack +xdel +xgroup|create +xgroup|delconsumer +xinfo|consumers"
)
_PRESENCE = "+zadd +zrange +zcount +zremrangebyscore +expire"

_ORCHESTRATOR = (
    "+get +getrange +set +del +exists +incr +incrby +expire +pexpire +hget +hset +hmget +hgetall +hkeys +hlen +hstrlen "
    "+xadd +xlen +xrange +xrevrange +xtrim +xinfo|groups +xinfo|stream +xgroup|destroy "
    "+zadd +zrem +zcard +zcount +zrange +zrevrange +zrangebyscore +zscore +zremrangebyrank +zremrangebyscore +info"
)
_EXPORTER = (
    "+ping +select +info +dbsize +type +memory|usage +xlen +xinfo|stream +xinfo|groups +xinfo|consumers +zcard "
    "+latency|latest +latency|histogram +slowlog|len +config|get +client|setname"
)


def rules(role: str, prefix: str = "quartet") -> list[str]:
    """The ACL rules of `role` without its passwords. Raises ValueError for another role."""
    keys = Keys(prefix)
    everything, signals = f"~{keys.of('*')}", f"&{keys.signal('*')}"
    if role == ADMIN:
        return ["~*", "&*", "+@all"]
    if role == ORCHESTRATOR:
        return [everything, signals, _CONNECTION, _FUNCTIONS, _SIGNALS, _GROUP, _ORCHESTRATOR]
    if role == EXPORTER:
        return [f"%R~{keys.skill_stream('*')}", f"%R~{keys.task_stream('*')}", _EXPORTER]
    if role in AGENTS:
        return _agent(role, keys)
    raise ValueError(f"there is no role '{role}'; valid: {', '.join(ROLES)}")


def _agent(skill: str, keys: Keys) -> list[str]:
    """Rules of an agent: it serves the stream of its skill, and what it writes has keys that no other role writes."""
    canceled, journal = keys.canceled("*"), keys.agent_journal(skill, "*")
    # Of one type each: the owner would meet an error where a hash has the name of a stream.
    nonces = keys.agent_journal_nonces(skill, "*")
    topics = ("cancel:*", "agent-journal:*", "approval-asked:*", "approval-decided:*")
    return [
        *(f"&{keys.signal(topic)}" for topic in topics),
        _CONNECTION,
        "+time",
        _SIGNALS,
        f"(+get %R~{keys.identity})",
        *_serves(keys, keys.skill_stream(skill), f"skill:{skill}", skill),
        *(_serves(keys, keys.turns, TurnQueue.kind, TurnQueue.kind) if skill == SPEAKER else ()),
        *(_serves(keys, keys.programs, ProgramQueue.kind, ProgramQueue.kind) if skill == Skill.EXECUTOR else ()),
        *(_announces(keys.routes("*")) if skill == Skill.APPROACH else ()),
        _may_call((records.AppendAgentEvent,), journal),
        f"(+exists %R~{canceled})",
        f"(+get %R~{keys.decision('*')})",
        f"(+xadd +pexpire ~{journal})",
        f"(+hget +hset +hlen +pexpire ~{nonces})",
        f"(+xadd %W~{keys.dead(skill)})",
        f"(+set %W~{keys.image(skill, '*', '*')} %W~{keys.approval(skill, '*')})",
        f"(+hset +pexpire %W~{keys.transcripts(skill, '*')})",
    ]


def _serves(keys: Keys, stream: Key, kind: str, replies_as: str) -> list[str]:
    """The rights of who takes requests of one kind from their stream and answers them."""
    present, replies = keys.present(stream), keys.replies(replies_as, "*")
    owner, done, started = (of(kind, "*") for of in (keys.owner, keys.done, keys.started))
    return [
        f"&{keys.signal(keys.replies(replies_as, '*'))}",
        _may_call((queues.Admit, queues.AdmitAgain), owner, done, started, keys.canceled("*")),
        _may_call((requests.AdmitNewest, queues.ResetDeliveries, queues.CountDeliveries), stream),
        _may_call((queues.RenewLease, queues.MarkStarted), stream, started, done),
        _may_call((queues.Finish, queues.FinishForgotten), stream, done, replies),
        _may_call((queues.NotePresence,), present, stream),
        _may_call((queues.CountPresent,), present),
        f"({_GROUP} ~{stream})",
        f"({_PRESENCE} ~{present})",
        f"(+get +set +exists ~{owner} ~{done} ~{started})",
        f"(+xadd +pexpire %W~{replies})",
    ]


def _announces(announced: Key) -> list[str]:
    """The rights of who drives robots: to tell the others of their routes."""
    return [
        _may_call((AnnounceRoute, WithdrawRoute), announced),
        f"(+hget +hgetall +hset +hdel +hincrby +pexpire ~{announced})",
    ]


def _may_call(functions: Iterable[type[Function[Any]]], *keys: str) -> str:
    """The right to call `functions` with `keys`; their commands need rights of their own."""
    calls = " ".join(f"+fcall|{function.name()}" for function in functions)
    return f"({calls} {' '.join(f'~{key}' for key in keys)})"


def digest(password: str) -> str:
    """As the ACL file holds it, so that who reads the file learns no password."""
    return hashlib.sha256(password.encode()).hexdigest()


def acl_file(digests: Mapping[str, Sequence[str]], prefix: str = "quartet") -> str:
    """The content of Redis' --aclfile; `digests` are those of the passwords that each role may come with.

    Nobody is let in without a name and a password. The user `default`, as whom nobody can log in, may do everything:
    as that user Redis reads its append-only file back, and without the right to it drops every transaction and the
    effects of every script, silently (seen with Redis 7.0.15).
    """
    users = ["user default off resetpass ~* &* +@all"]
    for role in ROLES:
        passwords = " ".join(f"#{one}" for one in digests.get(role, ()))
        state = f"on {passwords}" if passwords else "off"
        users.append(f"user {role} {state} resetchannels -@all {' '.join(rules(role, prefix))}")
    return "\n".join(users) + "\n"


async def load_users(url: str, password: str) -> None:
    """Have the Redis at `url` read its ACL file again; `password` is the administrator's. Raises BusError."""
    store = Store(url, BusOptions(command_patience_s=1.0), Credentials(ADMIN, Secret.fixed(password)))
    try:
        await store.check()
        await store.call("ACL", "LOAD")
    except BusServerError as error:
        raise BusError(f"Redis cannot use its ACL file: {error}") from error
    finally:
        await store.close()


def digests_in(text: str) -> dict[str, list[str]]:
    """The digests of the passwords of each user of an ACL file."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "user":
            found[words[1]] = [word[1:] for word in words[2:] if re.fullmatch(r"#[0-9a-f]{64}", word)]
    return found
