"""Functions on skill requests."""

from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, READ_ONLY, BoolFunction, Function, TextFunction
from quartet_bus.functions.queues import Admission


class AddRequest(TextFunction):
    """Put a request on a skill's stream and answer its entry id; None when the stream is full."""

    stream: Key
    cap: int
    message: bytes

    body = """
if redis.call('XLEN', stream) >= tonumber(cap) then return false end
return redis.call('XADD', stream, '*', 'm', message)
"""


class AdmitNewest(Function[tuple[str, str, Admission] | None]):
    """Admit the request that this consumer read last: of all taken entries a new one has the highest id.

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
    """Time after the deadline for which the owner is kept."""

    body = """
local rows = redis.pcall('XPENDING', stream, group, '-', '+', 1000, consumer)
if rows.err or not rows[1] then return false end
local entry_id = rows[#rows][1]
local found = redis.call('XRANGE', stream, entry_id, entry_id)
if not found[1] or found[1][2][1] ~= 'm' then return false end
local readable, message = pcall(cjson.decode, found[1][2][2])
if not readable or type(message) ~= 'table' then return false end
local id, deadline = message.request_id, message.deadline
if type(id) ~= 'string' or #id > 64 or type(deadline) ~= 'number' then return false end
local left_ms = (deadline - redis.call('TIME')[1]) * 1000
if left_ms > 1e12 then return false end
local first = admit(owner .. id, entry_id, string.format('%d', math.max(0, left_ms) + kept_ms))
return {entry_id, id, unpack(admission(first, done .. id, started .. id, canceled .. id))}
"""

    def read(self, answer: Any) -> tuple[str, str, Admission] | None:
        """Return entry id, request id and admission."""
        return None if answer is None else (answer[0].decode(), answer[1].decode(), Admission.of(answer[2:]))


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
