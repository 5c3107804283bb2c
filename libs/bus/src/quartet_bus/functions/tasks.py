"""Functions on tasks, their statuses and the leases of robots."""

from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, READ_ONLY, BoolFunction, Function, IntFunction, TextFunction
from quartet_bus.functions.queues import StartFunction


class SubmitTask(Function[tuple[str, str] | None]):
    """Put a new task on its stream, unless its submission came before; None when the queue is full."""

    stream: Key
    status: Key
    index: Key
    waiting: Key
    submission: Key
    queue_cap: int
    task_id: str
    task: bytes
    message: bytes
    """Status."""
    expiry_ms: int
    created_at: str
    wait_s: str
    """How long it may wait for a robot [s]."""
    fingerprint: str
    """Fingerprint of the body; '' for a task without an idempotency key."""
    index_cap: int
    channel: str

    body = """
local known = redis.call('HMGET', submission, 'task', 'body')
if known[1] then return {known[1], known[2]} end
if redis.call('XLEN', stream) >= tonumber(queue_cap) then return false end
if fingerprint ~= '' then
  redis.call('HSET', submission, 'task', task_id, 'body', fingerprint)
  redis.call('PEXPIRE', submission, expiry_ms)
end
redis.call('HSET', status, 'state', 'QUEUED', 'm', message)
redis.call('PEXPIRE', status, expiry_ms)
redis.call('ZADD', index, created_at, task_id)
redis.call('ZREMRANGEBYRANK', index, 0, -index_cap - 1)
local now = redis.call('TIME')
redis.call('ZADD', waiting, string.format('%.6f', now[1] + now[2] / 1e6 + wait_s), task_id)
redis.call('XADD', stream, '*', 'm', task)
redis.call('PUBLISH', channel, '')
return {task_id, fingerprint}
"""

    def read(self, answer: Any) -> tuple[str, str] | None:
        """Return the id of the submission's task and the fingerprint it was submitted with."""
        return None if answer is None else (answer[0].decode(), answer[1].decode())


class PutStatus(IntFunction):
    """Replace a task's status. 1: written. 0: the task is in another state. -1: the epoch is over."""

    status: Key
    epoch: Key
    submission: Key
    waiting: Key
    index: Key
    state: str
    message: bytes
    expiry_ms: int
    may_follow: str
    """States that the new one may follow, each between spaces."""
    expected: str
    """State that the task has to be in, '' for any."""
    mine: str
    """The writer's epoch, '' for no check."""
    task_id: str
    created_at: str

    flags = ALLOW_OOM
    body = """
if epoch_is_over(epoch, mine) then return -1 end
local before = redis.call('HGET', status, 'state')
if before then
  if not string.find(may_follow, ' ' .. before .. ' ', 1, true) then return 0 end
  if expected ~= '' and before ~= expected then return 0 end
elseif expected ~= '' then
  return 0
end
-- A store that has lost the task lists it again.
if not before then redis.call('ZADD', index, created_at, task_id) end
redis.call('HSET', status, 'state', state, 'm', message)
redis.call('PEXPIRE', status, expiry_ms)
redis.call('PEXPIRE', submission, expiry_ms)
if state ~= 'QUEUED' then redis.call('ZREM', waiting, task_id) end
return 1
"""


class BeginEpoch(IntFunction, StartFunction[int]):
    """Make this consumer the owner of a task and answer its epoch; 0 when another one has the task."""

    epoch: Key
    epoch_expiry_ms: int

    flags = ALLOW_OOM
    body = """
if not may_start(stream, group, consumer, entry_id, done) then return 0 end
redis.call('SET', started, consumer, 'PX', expiry_ms)
local newest = redis.call('INCR', epoch)
redis.call('PEXPIRE', epoch, epoch_expiry_ms)
return newest
"""


class OldestConsumer(TextFunction):
    """Find the consumer of the oldest entry that was taken and not finished."""

    stream: Key
    group: str

    flags = READ_ONLY
    body = """
local rows = redis.call('XPENDING', stream, group, '-', '+', 1)
return rows[1] and rows[1][2] or false
"""


class OldestTaken(Function[dict[bytes, bytes] | None]):
    """Read the fields of the oldest entry that was taken and not finished."""

    stream: Key
    group: str

    flags = READ_ONLY
    body = """
local taken = redis.pcall('XPENDING', stream, group, '-', '+', 1)
if taken.err or not taken[1] then return false end
local rows = redis.call('XRANGE', stream, taken[1][1], taken[1][1])
return rows[1] and rows[1][2] or false
"""

    def read(self, answer: Any) -> dict[bytes, bytes] | None:
        """Return the fields, None without such an entry."""
        return None if answer is None else dict(zip(answer[::2], answer[1::2], strict=True))


class AssignTask(BoolFunction):
    """Put a task of the shared stream before the younger ones of a robot's own stream.

    None of those has been delivered, so that they may get new ids. False: the robot works, its own stream has an older
    task, or the entry is gone.
    """

    stream: Key
    shared: Key
    status: Key
    group: str
    entry_id: str
    """Id of the entry on the shared stream."""
    task: bytes
    """Task with the robot's name."""
    message: bytes
    """Status with that task; '' leaves the stored one as it is."""

    body = """
local taken = redis.pcall('XPENDING', stream, group)
if not taken.err and taken[1] > 0 then return 0 end
local found = redis.call('XRANGE', shared, entry_id, entry_id)
if not found[1] then return 0 end
local first = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)
if first[1] and since(first[1]) <= since(found[1]) then return 0 end
local waiting = redis.call('XRANGE', stream, '-', '+')
redis.call('XADD', stream, '*', 'm', task, 't', since(found[1]))
for _, entry in ipairs(waiting) do
  redis.call('XADD', stream, '*', 'm', field(entry[2], 'm') or '', 't', since(entry))
  redis.call('XDEL', stream, entry[1])
end
redis.call('XDEL', shared, entry_id)
if message ~= '' and redis.call('HGET', status, 'state') == 'QUEUED' then
  redis.call('HSET', status, 'm', message)
end
return 1
"""


class LeaseRobot(BoolFunction):
    """Acquire or renew the lease of a robot; False while another process owns it.

    A lease that lasts longer than any was given for shows that Redis' clock has stepped back. It is cut to that, so
    that a process that is gone keeps the robot for one lease more and not for as long as the step.
    """

    lease: Key
    owner: str
    expiry_ms: int

    flags = ALLOW_OOM
    body = """
local current = redis.call('GET', lease)
if current and current ~= owner then
  if redis.call('PTTL', lease) > tonumber(expiry_ms) then redis.call('PEXPIRE', lease, expiry_ms) end
  return 0
end
redis.call('SET', lease, owner, 'PX', expiry_ms)
return 1
"""


class ReleaseRobot(BoolFunction):
    """Release the lease of a robot; False when another process owns it."""

    lease: Key
    owner: str

    flags = ALLOW_OOM
    body = """
if redis.call('GET', lease) == owner then return redis.call('DEL', lease) end
return 0
"""
