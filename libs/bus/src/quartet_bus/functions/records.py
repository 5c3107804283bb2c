"""Functions on journals and fence counters."""

from dataclasses import dataclass
from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, READ_ONLY, Function, IntFunction, TextFunction


class AppendEvent(TextFunction):
    """Append to a journal and answer the event's position; an append that is repeated answers the first position.

    None: the epoch is over. '': the journal is full.
    """

    journal: Key
    epoch: Key
    positions: Key
    """Position of each event by its nonce."""
    mine: str
    """The writer's epoch, '' for no check."""
    cap: int | str
    """Most entries, '' for no limit."""
    expiry_ms: int
    message: bytes
    nonce: str
    channel: str
    """Channel that notifies the readers of the journal."""

    body = """
if epoch_is_over(epoch, mine) then return false end
local known = redis.call('HGET', positions, nonce)
if known then return known end
if cap ~= '' and redis.call('XLEN', journal) >= tonumber(cap) then return '' end
return append(journal, positions, expiry_ms, message, nonce, channel)
"""


class AppendLastEvent(AppendEvent):
    """Append an event that even a full store has to accept."""

    flags = ALLOW_OOM


class AppendAgentEvent(TextFunction):
    """Append an event that an agent writes about one request; '' when it has written as many as it may."""

    journal: Key
    positions: Key
    """Position of each event by its nonce. None of these is deleted, unlike the entries, so that they are counted."""
    cap: int
    expiry_ms: int
    message: bytes
    nonce: str
    channel: str

    body = """
local known = redis.call('HGET', positions, nonce)
if known then return known end
if redis.call('HLEN', positions) >= tonumber(cap) then return '' end
return append(journal, positions, expiry_ms, message, nonce, channel)
"""


@dataclass(frozen=True)
class Entry:
    """Entry of a stream."""

    entry_id: str
    data: bytes | None
    """Field 'm'; None without that field, or when the entry is too large to be read."""


class ReadEntries(Function[list[Entry]]):
    """Read the entries after one: `count` at most, and no more once `most_bytes` are reached."""

    stream: Key
    after: str
    count: int
    entry_bytes: int
    """Size above which an entry comes without its data."""
    most_bytes: int

    flags = READ_ONLY
    body = """
local found, total = {}, 0
while #found < tonumber(count) and total < tonumber(most_bytes) do
  if after == '18446744073709551615-18446744073709551615' then break end
  local rows = redis.call('XRANGE', stream, '(' .. after, '+', 'COUNT', 1)
  if not rows[1] then break end
  local data = data_of(rows[1], entry_bytes)
  if data then total = total + #data end
  after = rows[1][1]
  found[#found + 1] = {after, data}
end
return found
"""

    def read(self, answer: Any) -> list[Entry]:
        """Return the entries in order."""
        return [Entry(entry_id.decode(), data) for entry_id, data in answer]


class TakeEntries(Function[list[bytes | None]]):
    """Read and delete the oldest entries: `count` at most, and no more once `most_bytes` are reached.

    A stream that is empty is deleted with its last id, which an agent may have set to the highest there is.
    """

    stream: Key
    count: int
    entry_bytes: int
    """Size above which an entry comes without its data."""
    most_bytes: int

    flags = ALLOW_OOM
    body = """
local found, total = {}, 0
while #found < tonumber(count) and total < tonumber(most_bytes) do
  local rows = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)
  if not rows[1] then
    redis.call('DEL', stream)
    break
  end
  redis.call('XDEL', stream, rows[1][1])
  local data = data_of(rows[1], entry_bytes)
  if data then total = total + #data end
  found[#found + 1] = data
end
return found
"""

    def read(self, answer: Any) -> list[bytes | None]:
        """Return the data of the entries; None for one without field 'm' or one that is too large."""
        return answer


class ReadNewest(Function[list[tuple[str, dict[bytes, bytes] | None]]]):
    """Read the newest entries, the newest first: `count` at most, and no more once `most_bytes` are reached."""

    stream: Key
    count: int
    entry_bytes: int
    """Size above which an entry comes without its fields."""
    most_bytes: int

    flags = READ_ONLY
    body = """
local found, total, before = {}, 0, '+'
while #found < tonumber(count) and total < tonumber(most_bytes) do
  local rows = redis.call('XREVRANGE', stream, before, '-', 'COUNT', 1)
  if not rows[1] then break end
  local size = 0
  for _, part in ipairs(rows[1][2]) do size = size + #part end
  local small = size <= tonumber(entry_bytes)
  if small then total = total + size end
  found[#found + 1] = {rows[1][1], small and rows[1][2]}
  before = '(' .. rows[1][1]
end
return found
"""

    def read(self, answer: Any) -> list[tuple[str, dict[bytes, bytes] | None]]:
        """Return id and fields of each entry; None in place of the fields of one that is too large."""
        return [
            (entry_id.decode(), None if fields is None else dict(zip(fields[::2], fields[1::2], strict=True)))
            for entry_id, fields in answer
        ]


class CountEntries(IntFunction):
    """Drop the oldest entries beyond `cap` and count the rest: who writes to the stream may have left out its cap."""

    stream: Key
    cap: int

    flags = ALLOW_OOM
    body = """
redis.call('XTRIM', stream, 'MAXLEN', cap)
return redis.call('XLEN', stream)
"""


class ListFields(Function[tuple[int, list[bytes]]]):
    """Count the fields of a hash and list those with a name of `name_bytes` at most; none of a hash with over `cap`."""

    key: Key
    cap: int
    name_bytes: int

    flags = READ_ONLY
    body = """
local count, found = redis.call('HLEN', key), {}
if count <= tonumber(cap) then
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if #name <= tonumber(name_bytes) then found[#found + 1] = name end
  end
end
return {count, found}
"""

    def read(self, answer: Any) -> tuple[int, list[bytes]]:
        """Return the number of all fields and the names."""
        return int(answer[0]), answer[1]


class NextFence(IntFunction):
    """Increment a robot's fence to at least `at_least` and answer it; 0 when the epoch is over."""

    fence: Key
    epoch: Key
    mine: str
    """The caller's epoch, '' for no check."""
    at_least: int

    body = """
if epoch_is_over(epoch, mine) then return 0 end
local value = redis.call('INCR', fence)
if value < tonumber(at_least) then value = redis.call('INCRBY', fence, at_least - value) end
return value
"""
