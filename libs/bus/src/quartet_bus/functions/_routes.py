"""Functions on the routes that robots announce."""

from dataclasses import dataclass
from typing import Any

from quartet_bus._keys import Key
from quartet_bus.functions._base import ALLOW_OOM, BoolFunction, Function


@dataclass(frozen=True)
class Announced:
    """Routes of a place: the number of one's own announcement, and what the other robots have announced."""

    number: int
    others: list[tuple[str, int, bytes]]
    """Robot, number and route."""


class AnnounceRoute(Function[Announced]):
    """Announce a route under the number that it has, or under the next one, and answer the others that are in force."""

    routes: Key
    """Hash: of each robot the time at which its route expires [Unix ms], its number and the route; '#' is the last
    number."""
    robot: str
    number: int
    """0: another drive than the one that was announced before."""
    route: bytes
    expiry_ms: int
    keep_ms: int
    """How long the hash is kept."""

    flags = ALLOW_OOM
    body = """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local rows, others, mine = redis.call('HGETALL', routes), {}, nil
for i = 1, #rows, 2 do
  local expires, drive, data = string.match(rows[i + 1], '^(%d+) (%d+) (.*)$')
  if expires then
    if tonumber(expires) <= now then
      redis.call('HDEL', routes, rows[i])
    elseif rows[i] == robot then
      mine = drive
    else
      others[#others + 1] = {rows[i], tonumber(drive), data}
    end
  end
end
if mine == nil or mine ~= number then number = redis.call('HINCRBY', routes, '#', 1) end
redis.call('HSET', routes, robot, string.format('%.0f %s %s', now + tonumber(expiry_ms), number, route))
redis.call('PEXPIRE', routes, keep_ms)
return {tonumber(number), others}
"""

    def read(self, answer: Any) -> Announced:
        """Return own number and the others."""
        number, others = answer
        return Announced(int(number), [(robot.decode(), int(drive), data) for robot, drive, data in others])


class WithdrawRoute(BoolFunction):
    """Forget the route of a robot if it still has this number; answer whether it had."""

    routes: Key
    robot: str
    number: int

    flags = ALLOW_OOM
    body = """
local drive = string.match(redis.call('HGET', routes, robot) or '', '^%d+ (%d+) ')
return drive == number and redis.call('HDEL', routes, robot) or 0
"""
