"""Functions on skill requests."""

from dataclasses import dataclass
from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, READ_ONLY, BoolFunction, Function, TextFunction
from quartet_bus.functions.queues import Admission


class AddRequest(TextFunction):
    """Put a request on a skill's stream and answer its entry id; None when the stream is full."""

    stream: Key
    cap: int
    message: bytes
    request_id: str
    deadline: float

    body = """
if redis.call('XLEN', stream) >= tonumber(cap) then return false end
return redis.call('XADD', stream, '*', 'm', message, 'i', request_id, 'd', deadline)
"""


@dataclass(frozen=True)
class Newest:
    """Request that a consumer has read last."""

    entry_id: str
    request_id: str
    begun: bool
    """Whether its start is recorded in the same step."""
    admission: Admission
    """Its state before that."""


class AdmitNewest(Function[Newest | None]):
    """Admit the request that this consumer read last: of all taken entries a new one has the highest id.

    With `begin` its start is recorded too, as MarkStarted does, if nobody has started, canceled or answered it, it is
    in time, and its id comes after `after`. The function is sent behind each read, also behind one that finds nothing.
    The newest entry is then one of an earlier read that could not be admitted, and must not be started unseen.

    None: the entry has to be admitted with Admit.
    """

    stream: Key
    group: str
    consumer: str
    owner: str
    """Key without the request id, which only the function knows; `done`, `started` and `canceled` likewise."""
    done: str
    started: str
    canceled: str
    kept_ms: int
    """Time after the deadline for which the owner and the start are kept."""
    begin: int
    """1 or 0."""
    after: str
    """Id of the newest entry that this consumer had before."""

    body = """
local rows = redis.pcall('XPENDING', stream, group, '-', '+', 1000, consumer)
if rows.err or not rows[1] then return false end
local entry_id = rows[#rows][1]
local found = redis.call('XRANGE', stream, entry_id, entry_id)
if not found[1] then return false end
local id, deadline = field(found[1][2], 'i'), tonumber(field(found[1][2], 'd'))
if not id or #id > 64 or not deadline then return false end
if not string.find(field(found[1][2], 'm') or '', '"request_id":"' .. id .. '"', 1, true) then return false end
local left_ms = (deadline - redis.call('TIME')[1]) * 1000
if not (left_ms <= 1e12) then return false end
local expiry_ms = string.format('%d', math.max(0, left_ms) + kept_ms)
local first = admit(owner .. id, entry_id, expiry_ms)
local state, begun = admission(first, done .. id, started .. id, canceled .. id), 0
local fresh = first == entry_id and comes_after(entry_id, after) and left_ms > 0
if begin == '1' and fresh and not state[2] and state[3] == 0 and state[4] == 0 then
  redis.call('SET', started .. id, consumer, 'PX', expiry_ms)
  begun = 1
end
return {entry_id, id, begun, unpack(state)}
"""

    def read(self, answer: Any) -> Newest | None:
        """Return the request and its state."""
        if answer is None:
            return None
        return Newest(answer[0].decode(), answer[1].decode(), bool(answer[2]), Admission.of(answer[3:]))


class Withdraw(BoolFunction):
    """Withdraw a request that no consumer has taken; False when one has."""

    stream: Key
    owner: Key
    done: Key
    entry_id: str
    """'' when it is not known."""
    result: bytes
    expiry_ms: int

    flags = ALLOW_OOM
    body = """
if redis.call('EXISTS', owner) == 1 or redis.call('EXISTS', done) == 1 then return 0 end
redis.call('SET', done, result, 'PX', expiry_ms)
if entry_id ~= '' then redis.call('XDEL', stream, entry_id) end
return 1
"""


class LookUp(Function[tuple[bytes | None, bool, bool, int, bool]]):
    """Look up the result of a request, whether it was taken, whether it was started, and how many consumers there are.

    Consumers count when they were present within the last `seconds`. The last answer is whether some are in the future.
    """

    done: Key
    owner: Key
    started: Key
    present: Key
    seconds: int
    most_bytes: int
    """Most bytes of the result."""

    flags = READ_ONLY
    body = """
local now = tonumber(redis.call('TIME')[1])
local result = redis.call('GETRANGE', done, 0, most_bytes)
return {#result > 0 and result, redis.call('EXISTS', owner), redis.call('EXISTS', started),
        redis.call('ZCOUNT', present, now - seconds, now + 1), redis.call('ZCOUNT', present, '(' .. now + 1, '+inf')}
"""

    def read(self, answer: Any) -> tuple[bytes | None, bool, bool, int, bool]:
        """Return result, taken, started, number of consumers, whether some are in the future."""
        return answer[0], bool(answer[1]), bool(answer[2]), int(answer[3]), bool(answer[4])
