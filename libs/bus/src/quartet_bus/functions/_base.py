"""Encoding of Redis functions: Python classes become Lua source, and their instances become FCALL commands."""

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform, get_type_hints

from quartet_bus._keys import Key

VERSION = 6
LIBRARY = f"quartet_v{VERSION}"
NOT_FOUND = "Function not found"
"""Part of the error with which Redis answers a call while the library is not loaded."""
ALLOW_OOM = ("allow-oom",)
"""Flags of small writes that end work: Redis accepts them even above its maxmemory."""
READ_ONLY = ("no-writes",)
FUNCTIONS: list[type["Function[Any]"]] = []
"""All functions, in the order in which their modules were imported."""

R = TypeVar("R")


@dataclass_transform(frozen_default=True)
class Function(ABC, Generic[R]):
    """Call of a Redis function that answers R.

    Each subclass is a frozen dataclass. Its fields of type Key are the function's KEYS, the others its ARGV, each in
    the order of the fields; the body sees them as locals of the same names. A key that is None is left out; a field
    of type tuple[Key, ...] has to be the only key.
    """

    body: ClassVar[str]
    """Lua source. A subclass without it only shares fields and is no function."""
    flags: ClassVar[tuple[str, ...]] = ()
    """https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags"""

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass and add it to FUNCTIONS."""
        dataclass(frozen=True)(cls)
        if hasattr(cls, "body"):
            FUNCTIONS.append(cls)

    @abstractmethod
    def read(self, answer: Any) -> R:
        """Convert the answer of Redis."""

    @classmethod
    @functools.cache
    def name(cls) -> str:
        """Return the name of the function in Redis."""
        return LIBRARY + "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in cls.__name__)

    @classmethod
    @functools.cache
    def signature(cls) -> tuple[list[str], list[str], bool]:
        """Return the names of keys and of arguments, and whether the only key is a tuple of any number of keys."""
        hints = get_type_hints(cls)
        names = [field.name for field in fields(cls)]  # pyright: ignore[reportArgumentType]
        keys = [name for name in names if hints[name] in (Key, Key | None, tuple[Key, ...])]
        return keys, [name for name in names if name not in keys], hints[keys[0]] == tuple[Key, ...]

    def command(self) -> tuple[Any, ...]:
        """Return the Redis command that calls the function."""
        key_names, argument_names, many = self.signature()
        values = vars(self)
        keys = values[key_names[0]] if many else [values[name] for name in key_names if values[name] is not None]
        return ("FCALL", self.name(), len(keys), *keys, *[values[name] for name in argument_names])

    @classmethod
    def from_command(cls, command: list[bytes]) -> dict[str, bytes] | None:
        """Return the fields of a command that calls this function, None for any other command."""
        if command[0].upper() != b"FCALL" or command[1] != cls.name().encode():
            return None
        key_names, argument_names, _ = cls.signature()
        end = 3 + int(command[2])
        return {
            **dict(zip(key_names, command[3:end], strict=False)),
            **dict(zip(argument_names, command[end:], strict=True)),
        }

    @classmethod
    def source(cls) -> str:
        """Return the Lua source that registers the function."""
        key_names, argument_names, many = cls.signature()
        local = f"local {', '.join(key_names)} = {'keys' if many else 'unpack(keys)'}\n"
        if argument_names:
            local += f"local {', '.join(argument_names)} = unpack(args)"
        flags = ", ".join(f"'{flag}'" for flag in cls.flags)
        return (
            f"redis.register_function{{function_name = '{cls.name()}', flags = {{{flags}}}, "
            f"callback = function(keys, args)\n{local}{cls.body}end}}\n"
        )


class BoolFunction(Function[bool]):
    """Function that answers 1 or 0."""

    def read(self, answer: Any) -> bool:
        return bool(answer)


class IntFunction(Function[int]):
    """Function that answers a number."""

    def read(self, answer: Any) -> int:
        return int(answer)


class TextFunction(Function[str | None]):
    """Function that answers a text or nothing."""

    def read(self, answer: Any) -> str | None:
        return None if answer is None else answer.decode()


HELPERS = """
-- Value of a field in a list of names and values; nil without it.
local function field(list, name)
  for i = 1, #list, 2 do
    if list[i] == name then return list[i + 1] end
  end
end

-- Data of a stream's entry; false without field 'm', or when the entry has more than `most` bytes.
local function data_of(entry, most)
  local size = 0
  for _, part in ipairs(entry[2]) do size = size + #part end
  return size <= tonumber(most) and field(entry[2], 'm') or false
end

-- Time at which an entry began to wait [Unix ms]: field t of an entry that was given a new id, else its id.
local function since(entry)
  return tonumber(field(entry[2], 't') or string.match(entry[1], '^%d+'))
end

-- Row of XPENDING for an entry: id, consumer, idle time [ms], deliveries.
local function pending(stream, group, entry_id)
  local rows = redis.pcall('XPENDING', stream, group, entry_id, entry_id, 1)
  if rows.err then return nil end
  return rows[1]
end

local function is_leased(stream, group, consumer, entry_id)
  local row = pending(stream, group, entry_id)
  return row and row[2] == consumer
end

local function may_start(stream, group, consumer, entry_id, done)
  local row = pending(stream, group, entry_id)
  return (not row or row[2] == consumer) and redis.call('EXISTS', done) == 0
end

local function admit(owner, entry_id, expiry_ms)
  local first = redis.call('GET', owner)
  if first then return first end
  redis.call('SET', owner, entry_id, 'PX', expiry_ms)
  return entry_id
end

-- Owner, result, started, canceled, and the age of the owner [ms].
local function admission(first, done, started, canceled)
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  local age = math.max(0, now - tonumber(string.match(first, '^%d+')))
  return {first, redis.call('GET', done), redis.call('EXISTS', started), redis.call('EXISTS', canceled), age}
end

local function epoch_is_over(epoch, mine)
  local newest = redis.call('GET', epoch)
  return mine ~= '' and newest and newest ~= mine
end

-- Whether a stream's id comes after another one. Its numbers have more digits than Lua's numbers keep.
local function comes_after(one, other)
  local ms, seq = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_seq = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then ms, other_ms = seq, other_seq end
  if #ms ~= #other_ms then return #ms > #other_ms end
  return ms > other_ms
end

-- Put consumers that were seen in the future, and the leases of the stream's entries, to now.
local function settle_presence(present, stream, group, now)
  local future = '(' .. now + 1
  local seen = redis.call('ZRANGE', present, future, '+inf', 'BYSCORE', 'LIMIT', 0, 1000)
  if not seen[1] then return end
  for _, one in ipairs(seen) do redis.call('ZADD', present, now, one) end
  redis.call('ZREMRANGEBYSCORE', present, future, '+inf')
  local taken = redis.pcall('XPENDING', stream, group, '-', '+', 10000)
  for _, row in ipairs(taken.err and {} or taken) do
    redis.call('XCLAIM', stream, group, row[2], 0, row[1], 'IDLE', 0, 'JUSTID')
  end
end

-- Store the first result of an entry, answer its caller and delete the entry; whether `result` is the one that stands.
local function finish(stream, done, reply_to, group, entry_id, result, expiry_ms, channel)
  local first = redis.call('SET', done, result, 'NX', 'PX', expiry_ms)
  if first and reply_to then
    -- The caller finds a stored result also without the entry, so that nothing about it may keep the result away.
    redis.pcall('XADD', reply_to, 'MAXLEN', '~', 10000, '*', 'm', result)
    redis.pcall('PEXPIRE', reply_to, expiry_ms)
    redis.pcall('PUBLISH', channel, result)
  end
  redis.pcall('XACK', stream, group, entry_id)
  redis.call('XDEL', stream, entry_id)
  return (first or redis.call('GET', done) == result) and 1 or 0
end

local function append(journal, positions, expiry_ms, message, nonce, channel)
  local position = redis.call('XADD', journal, '*', 'm', message)
  redis.call('HSET', positions, nonce, position)
  redis.call('PEXPIRE', journal, expiry_ms)
  redis.call('PEXPIRE', positions, expiry_ms)
  redis.call('PUBLISH', channel, '')
  return position
end
"""
