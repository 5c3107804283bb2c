"""Functions on the queues of tasks and of skill requests: entries, their leases and the consumers."""

from dataclasses import dataclass
from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, READ_ONLY, BoolFunction, Function, IntFunction, R
from quartet_contracts import MAX_MESSAGE_BYTES

RESULT_BYTES = 2 * MAX_MESSAGE_BYTES
"""Most bytes of a stored result; what is struck out of a message may lengthen it."""


@dataclass(frozen=True)
class Admission:
    """State of a request or task whose entry was read."""

    owner: str
    """Id of the entry that represents it; every other entry is a duplicate."""
    done: bytes | None
    """Result."""
    started: bool
    canceled: bool
    age_s: float
    """Time since the entry of `owner` was added, by Redis' clock alone [s]."""

    @classmethod
    def of(cls, row: list[Any]) -> "Admission":
        """Convert owner, done, started, canceled and age [ms] as Redis answers them."""
        return cls(row[0].decode(), row[1], bool(row[2]), bool(row[3]), int(row[4]) / 1000)


class Admit(Function[Admission]):
    """Make the entry stand for its request or task, unless another entry does."""

    owner: Key
    done: Key
    started: Key
    canceled: Key
    entry_id: str
    expiry_ms: int

    body = """
return admission(admit(owner, entry_id, expiry_ms), done, started, canceled)
"""

    def read(self, answer: Any) -> Admission:
        """Return the state of the request or task."""
        return Admission.of(answer)


class AdmitAgain(Function[Admission | None]):
    """Repeat the answer of Admit without a write, for a store that is full; None for an entry that is new."""

    owner: Key
    done: Key
    started: Key
    canceled: Key

    flags = READ_ONLY
    body = """
local first = redis.call('GET', owner)
return first and admission(first, done, started, canceled)
"""

    def read(self, answer: Any) -> Admission | None:
        """Return the state of the request or task."""
        return None if answer is None else Admission.of(answer)


class LeaseFunction(Function[R]):
    """Fields of a function on the entry that a consumer leases."""

    stream: Key
    group: str
    consumer: str
    entry_id: str


class RenewLease(IntFunction, LeaseFunction[int]):
    """Reset the idle time of an entry without counting a delivery.

    1: renewed. 0: another consumer has the entry, or it is finished. -1: the store does not know the entry any more.
    """

    done: Key

    flags = ALLOW_OOM
    body = """
if redis.call('EXISTS', done) == 1 then return 0 end
local row = pending(stream, group, entry_id)
if not row then return -1 end
if row[2] ~= consumer then return 0 end
redis.call('XCLAIM', stream, group, consumer, 0, entry_id, 'JUSTID')
return 1
"""


class ResetDeliveries(BoolFunction, LeaseFunction[bool]):
    """Count the deliveries of an entry from 1 again."""

    flags = ALLOW_OOM
    body = """
if not is_leased(stream, group, consumer, entry_id) then return 0 end
redis.call('XCLAIM', stream, group, consumer, 0, entry_id, 'RETRYCOUNT', 1, 'JUSTID')
return 1
"""


class HandOver(BoolFunction, LeaseFunction[bool]):
    """Set the idle time of an entry, so that the next consumer that looks claims it."""

    idle_ms: int

    flags = ALLOW_OOM
    body = """
if not is_leased(stream, group, consumer, entry_id) then return 0 end
redis.call('XCLAIM', stream, group, consumer, 0, entry_id, 'IDLE', idle_ms, 'RETRYCOUNT', 1, 'JUSTID')
return 1
"""


class StartFunction(LeaseFunction[R]):
    """Fields of a function with which a consumer starts the work of its entry."""

    started: Key
    done: Key
    expiry_ms: int


class MarkStarted(BoolFunction, StartFunction[bool]):
    """Record that this consumer starts a request; False when another one has it."""

    body = """
if not may_start(stream, group, consumer, entry_id, done) then return 0 end
local before = redis.call('GET', started)
if before and before ~= consumer then return 0 end
redis.call('SET', started, consumer, 'PX', expiry_ms)
return 1
"""


class CountDeliveries(IntFunction):
    """Count how often an entry was delivered; 0 for an entry that no consumer has."""

    stream: Key
    group: str
    entry_id: str

    flags = READ_ONLY
    body = """
local row = pending(stream, group, entry_id)
return row and row[4] or 0
"""


class FinishFunction(IntFunction):
    """Fields of a function that stores the result of an entry, answers the caller and deletes the entry."""

    stream: Key
    done: Key
    reply_to: Key | None
    """None when no caller waits."""
    group: str
    entry_id: str
    result: bytes
    expiry_ms: int
    channel: str
    """Channel that gives the caller the result at once; it is also on the stream, should nobody listen just then."""


class Finish(FinishFunction):
    """Finish an entry. 1: this result stands. 0: an earlier, other one does. -1: the store does not know the entry.

    A call that is repeated because its answer was lost finds its own result. Redis accepts it above its maxmemory, so
    that a caller could fill the machine with it: there is one result an entry, of at most RESULT_BYTES.
    """

    flags = ALLOW_OOM
    body = f"""
if #result > {RESULT_BYTES} then
  return redis.error_reply('TOOLARGE a result has ' .. #result .. ' bytes, the limit is {RESULT_BYTES}')
end
if redis.call('EXISTS', done) == 0 and not redis.call('XRANGE', stream, entry_id, entry_id)[1] then return -1 end
return finish(stream, done, reply_to, group, entry_id, result, expiry_ms, channel)
"""


class FinishForgotten(FinishFunction):
    """Store the result of an entry that the store does not know any more, unless it is full."""

    body = """
return finish(stream, done, reply_to, group, entry_id, result, expiry_ms, channel)
"""


class Cancel(BoolFunction):
    """Record why a task or request is to end; the first reason stands."""

    canceled: Key
    reason: str
    expiry_ms: int
    channel: str

    flags = ALLOW_OOM
    body = """
redis.call('SET', canceled, reason, 'NX', 'PX', expiry_ms)
redis.call('PUBLISH', channel, '')
return 1
"""


class NotePresence(BoolFunction):
    """Record that a consumer is present, by Redis' own clock, so that the clocks of hosts need not agree.

    A consumer that was seen in the future shows that this clock has stepped back. Leases of before would last longer
    by that step; each of them, and the presence of each consumer, begins anew, once.
    """

    present: Key
    stream: Key
    group: str
    consumer: str

    body = """
local now = tonumber(redis.call('TIME')[1])
settle_presence(present, stream, group, now)
redis.call('ZADD', present, now, consumer)
redis.call('ZREMRANGEBYSCORE', present, '-inf', now - 3600)
redis.call('EXPIRE', present, 7200)
return 1
"""


class CountPresent(IntFunction):
    """Count the consumers that were present within the last `seconds`, and not in the future."""

    present: Key
    seconds: int

    flags = READ_ONLY
    body = """
local now = tonumber(redis.call('TIME')[1])
return redis.call('ZCOUNT', present, now - seconds, now + 1)
"""


class SettlePresence(BoolFunction):
    """Put consumers that were seen in the future to now: an agent that is gone would look alive when that comes."""

    present: Key
    stream: Key
    group: str

    flags = ALLOW_OOM
    body = """
settle_presence(present, stream, group, tonumber(redis.call('TIME')[1]))
return 1
"""


class BoundConsumers(IntFunction):
    """Remove the consumers of a group that has more than `cap`, and every other group; answer how many are gone.

    Redis makes a consumer of every name that somebody reads with, also above its maxmemory. The group is made
    anew where it was; whoever has an entry keeps it, with its idle time and its deliveries.

    XCLAIM can also put a group behind the stream's end, so that nothing is delivered any more, to nobody. Such a group
    is made anew at the newest entry that somebody has.
    """

    stream: Key
    group: str
    cap: int

    flags = ALLOW_OOM
    body = """
local groups, gone = redis.pcall('XINFO', 'GROUPS', stream), 0
if groups.err then return 0 end
local newest = field(redis.call('XINFO', 'STREAM', stream), 'last-generated-id')
for _, one in ipairs(groups) do
  local name, count, at = field(one, 'name'), field(one, 'consumers'), field(one, 'last-delivered-id')
  local beyond = comes_after(at, newest)
  if name ~= group then
    redis.call('XGROUP', 'DESTROY', stream, name)
    gone = gone + count
  elseif count > tonumber(cap) or beyond then
    local taken = redis.call('XPENDING', stream, group, '-', '+', 10000)
    if beyond then at = taken[1] and taken[#taken][1] or '0-0' end
    redis.call('XGROUP', 'DESTROY', stream, group)
    redis.call('XGROUP', 'CREATE', stream, group, at)
    local kept = {}
    for _, row in ipairs(taken) do
      redis.call('XCLAIM', stream, group, row[2], 0, row[1], 'IDLE', row[3], 'RETRYCOUNT', row[4], 'FORCE', 'JUSTID')
      if not kept[row[2]] then kept[row[2]], gone = true, gone - 1 end
    end
    gone = gone + count
  end
end
return gone
"""


class MeasureQueues(Function[list[tuple[int, int, int]]]):
    """Measure each stream: number of waiting entries, number of taken entries, age of the oldest waiting one [ms].

    A stream has one group at most. Finished entries are deleted, so that an entry that is not taken waits.
    """

    streams: tuple[Key, ...]

    flags = READ_ONLY
    body = """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = {}
for number, stream in ipairs(streams) do
  local taken, last, oldest = 0, '-', nil
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if not groups.err and groups[1] then
    taken, last = field(groups[1], 'pending'), '(' .. field(groups[1], 'last-delivered-id')
  end
  local first = redis.call('XRANGE', stream, last, '+', 'COUNT', 1)
  if first[1] then oldest = math.max(0, now - since(first[1])) end
  local waiting = 0
  if oldest then waiting = math.max(1, redis.call('XLEN', stream) - taken) end
  found[number] = {waiting, taken, oldest or 0}
end
return found
"""

    def read(self, answer: Any) -> list[tuple[int, int, int]]:
        """Return waiting entries, taken entries and age [ms] of each stream."""
        return [(int(waiting), int(taken), int(age)) for waiting, taken, age in answer]
