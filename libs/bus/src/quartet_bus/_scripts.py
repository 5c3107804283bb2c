"""What must happen in Redis in one step. A Lua script is atomic, as MULTI is, and can decide on what it finds."""

WHEN_FULL = "#!lua flags=allow-oom\n"
"""Before the few small writes that bring work to its end: a Redis beyond its maxmemory takes them all the same.
https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags"""

ADMIT = """
local owner = redis.call('GET', KEYS[1])
if not owner then
  owner = ARGV[1]
  redis.call('SET', KEYS[1], owner, 'PX', ARGV[2])
end
return {owner, redis.call('GET', KEYS[2]), redis.call('EXISTS', KEYS[3]), redis.call('EXISTS', KEYS[4])}
"""
"""KEYS owner, done, started, canceled. ARGV entry id, expiry [ms]. An identity has one entry; others are duplicates."""

ADMIT_READ = """
local rows = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, ARGV[2])
if rows.err or not rows[1] then return false end
local entry_id = rows[#rows][1]
local found = redis.call('XRANGE', KEYS[1], entry_id, entry_id)
if not found[1] or found[1][2][1] ~= 'm' then return false end
local readable, message = pcall(cjson.decode, found[1][2][2])
if not readable or type(message) ~= 'table' then return false end
local identity, deadline = message.request_id, message.deadline
if type(identity) ~= 'string' or #identity > 64 or type(deadline) ~= 'number' then return false end
local time = redis.call('TIME')
local left_ms = (deadline - time[1]) * 1000
if left_ms > 1e12 then return false end
local owner = redis.call('GET', ARGV[3] .. identity)
if not owner then
  owner = entry_id
  redis.call('SET', ARGV[3] .. identity, owner, 'PX', string.format('%d', math.max(0, left_ms) + ARGV[7]))
end
return {entry_id, identity, owner, redis.call('GET', ARGV[4] .. identity), redis.call('EXISTS', ARGV[5] .. identity),
        redis.call('EXISTS', ARGV[6] .. identity)}
"""
"""KEYS stream. ARGV group, consumer, keys without the identity: owner, done, started, canceled; expiry after the
deadline [ms]. Entry id, identity and what ADMIT says of the request that this consumer read last: what is read as new
has the highest id of all that were ever read. nil: not for this script to say."""

RENEW = """
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if held.err or not held[1] then return -1 end
if held[1][2] ~= ARGV[2] then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'JUSTID')
return 1
"""
"""KEYS stream, done. ARGV group, consumer, entry id. JUSTID resets the idle time and counts no delivery.
1 renewed, 0 lost to another consumer or finished elsewhere, -1 the store does not know the entry any more."""

START = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if not held.err and held[1] and held[1][2] ~= ARGV[2] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local before = redis.call('GET', KEYS[2])
if before and before ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
return 1
"""
"""KEYS stream, started, done. ARGV group, consumer, entry id, expiry [ms]. 0: somebody else has it."""

OWN = (
    WHEN_FULL
    + """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if not held.err and held[1] and held[1][2] ~= ARGV[2] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[4])
local epoch = redis.call('INCR', KEYS[4])
redis.call('PEXPIRE', KEYS[4], ARGV[5])
return epoch
"""
)
"""KEYS stream, started, done, epoch. ARGV group, consumer, entry id, expiry [ms], expiry of the epoch [ms].
The owner's new epoch; 0: somebody else has the entry."""

HAND_OVER = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if held.err or not held[1] or held[1][2] ~= ARGV[2] then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'IDLE', ARGV[4], 'RETRYCOUNT', 1, 'JUSTID')
return 1
"""
"""KEYS stream. ARGV group, consumer, entry id, idle time [ms]. The next consumer that looks may take the entry."""

PROGRESSED = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)
if held.err or not held[1] or held[1][2] ~= ARGV[2] then return 0 end
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
return 1
"""
"""KEYS stream. ARGV group, consumer, entry id. Deliveries are counted from here again."""

FINISH = (
    WHEN_FULL
    + """
local first = redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4])
if first and KEYS[3] then
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'm', ARGV[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.pcall('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
if first then return 1 end
return 0
"""
)
"""KEYS stream, done and, where somebody waits, the reply stream. ARGV group, entry id, result, expiry [ms]. The first
result stands."""

ADD = """
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
return redis.call('XADD', KEYS[1], '*', 'm', ARGV[2])
"""
"""KEYS stream. ARGV cap, message. nil when the stream is full."""

WITHDRAW = (
    WHEN_FULL
    + """
if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
if ARGV[1] ~= '' then redis.call('XDEL', KEYS[1], ARGV[1]) end
return 1
"""
)
"""KEYS stream, owner, done. ARGV entry id or '', result, expiry [ms]. 1: nobody had taken it and nobody will."""

APPEND = """
local epoch = redis.call('GET', KEYS[2])
if ARGV[1] ~= '' and epoch and epoch ~= ARGV[1] then return false end
local known = redis.call('HGET', KEYS[3], ARGV[5])
if known then return known end
if ARGV[2] ~= '' and redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[2]) then return '' end
local position = redis.call('XADD', KEYS[1], '*', 'm', ARGV[4])
redis.call('HSET', KEYS[3], ARGV[5], position)
if ARGV[3] ~= '' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
redis.call('PUBLISH', ARGV[6], '')
return position
"""
"""KEYS journal, epoch, positions by nonce. ARGV epoch or '', cap or '', expiry [ms] or '', message, nonce, channel. The
position, also of an append that comes a second time; nil: the epoch is over; '': the journal is full."""

APPEND_WHEN_FULL = WHEN_FULL + APPEND

CANCEL = (
    WHEN_FULL
    + """
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
redis.call('PUBLISH', ARGV[3], '')
"""
)
"""KEYS canceled. ARGV reason, expiry [ms], channel. The first reason stands."""

NEXT_FENCE = """
local epoch = redis.call('GET', KEYS[2])
if ARGV[1] ~= '' and epoch and epoch ~= ARGV[1] then return 0 end
local value = redis.call('INCR', KEYS[1])
if value < tonumber(ARGV[2]) then value = redis.call('INCRBY', KEYS[1], ARGV[2] - value) end
return value
"""
"""KEYS fence, epoch. ARGV epoch or '', least value. 0: the epoch is over."""

PENDING_COUNT = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if held.err or not held[1] then return 0 end
return held[1][4]
"""

OLDEST_HOLDER = """
local rows = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if not rows[1] then return false end
return rows[1][2]
"""
"""KEYS stream. ARGV group. The consumer of the oldest entry that was taken and not finished, or nil."""

OLDEST_HELD = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 1)
if held.err or not held[1] then return false end
local rows = redis.call('XRANGE', KEYS[1], held[1][1], held[1][1])
if not rows[1] then return false end
return rows[1][2]
"""
"""KEYS stream. ARGV group. Fields and values of the oldest entry that was taken and not finished, or nil."""

PUT_STATUS = (
    WHEN_FULL
    + """
local epoch = redis.call('GET', KEYS[2])
if ARGV[6] ~= '' and epoch and epoch ~= ARGV[6] then return -1 end
local state = redis.call('HGET', KEYS[1], 'state')
if state then
  if not string.find(ARGV[4], ' ' .. state .. ' ', 1, true) then return 0 end
  if ARGV[5] ~= '' and state ~= ARGV[5] then return 0 end
elseif ARGV[5] ~= '' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', ARGV[1], 'm', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[3], ARGV[3])
if ARGV[1] ~= 'QUEUED' then redis.call('ZREM', KEYS[4], ARGV[7]) end
return 1
"""
)
"""KEYS status, epoch, submission, waiting tasks. ARGV state, message, expiry [ms], ' states it may follow ', expected
state or '', epoch or '', task id. 1 written, 0 the task is in another state, -1 the epoch is over."""

SUBMIT = """
local known = redis.call('HMGET', KEYS[5], 'task', 'body')
if known[1] then return {known[1], known[2]} end
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
if ARGV[8] ~= '' then
  redis.call('HSET', KEYS[5], 'task', ARGV[2], 'body', ARGV[8])
  redis.call('PEXPIRE', KEYS[5], ARGV[5])
end
redis.call('HSET', KEYS[2], 'state', 'QUEUED', 'm', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('ZADD', KEYS[3], ARGV[6], ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -ARGV[9] - 1)
redis.call('ZADD', KEYS[4], ARGV[7], ARGV[2])
redis.call('XADD', KEYS[1], '*', 'm', ARGV[3])
redis.call('PUBLISH', ARGV[10], '')
return {ARGV[2], ARGV[8]}
"""
"""KEYS stream, status, index, waiting tasks, submission. ARGV queue cap, task id, task, status, expiry [ms], created
at, deadline, fingerprint of the body or '' without a key, index cap, channel. The task that stands for the submission
and the fingerprint it came with; nil when the queue is full."""

_SINCE = """
local function since(entry)
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 't' then return tonumber(entry[2][i + 1]) end
  end
  return tonumber(string.match(entry[1], '^%d+'))
end
"""
"""Since when an entry waits [Unix ms]: its id says it, or for one that ASSIGN gave a new id, its field t."""

ASSIGN = (
    _SINCE
    + """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1])
if not held.err and held[1] > 0 then return 0 end
local found = redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2])
if not found[1] then return 0 end
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)
if first[1] and since(first[1]) <= since(found[1]) then return 0 end
local waiting = redis.call('XRANGE', KEYS[1], '-', '+')
redis.call('XADD', KEYS[1], '*', 'm', ARGV[3], 't', since(found[1]))
for _, entry in ipairs(waiting) do
  local message = ''
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'm' then message = entry[2][i + 1] end
  end
  redis.call('XADD', KEYS[1], '*', 'm', message, 't', since(entry))
  redis.call('XDEL', KEYS[1], entry[1])
end
redis.call('XDEL', KEYS[2], ARGV[2])
if ARGV[4] ~= '' and redis.call('HGET', KEYS[3], 'state') == 'QUEUED' then
  redis.call('HSET', KEYS[3], 'm', ARGV[4])
end
return 1
"""
)
"""KEYS a robot's stream, the shared stream, status. ARGV group, entry id on the shared stream, task with the robot's
name in it, status with it or ''. 1: the task is the first of the robot's own stream now, before what waits there and
is younger; nothing of that has been delivered, so that it may get new ids. 0: the robot works, has something older of
its own, or the entry is gone."""

HOLD = """
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
if owner then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
"""KEYS lease. ARGV holder, expiry [ms]. A holder goes on holding also when Redis has no memory left for a SET."""

RELEASE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""

PRESENT = """
local now = tonumber(redis.call('TIME')[1])
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3600)
redis.call('EXPIRE', KEYS[1], 7200)
"""
"""KEYS presence. ARGV consumer. By Redis' own clock, so that the clocks of hosts need not agree."""

COUNT_PRESENT = """
return redis.call('ZCOUNT', KEYS[1], tonumber(redis.call('TIME')[1]) - ARGV[1], '+inf')
"""
"""KEYS presence. ARGV seconds."""

DEPTHS = (
    _SINCE
    + """
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local found = {}
for number, stream in ipairs(KEYS) do
  local held, last, oldest = 0, '-', nil
  local groups = redis.pcall('XINFO', 'GROUPS', stream)
  if not groups.err and groups[1] then
    for at = 1, #groups[1], 2 do
      if groups[1][at] == 'pending' then held = groups[1][at + 1] end
      if groups[1][at] == 'last-delivered-id' then last = '(' .. groups[1][at + 1] end
    end
  end
  local first = redis.call('XRANGE', stream, last, '+', 'COUNT', 1)
  if first[1] then oldest = math.max(0, now - since(first[1])) end
  local waiting = 0
  if oldest then waiting = math.max(1, redis.call('XLEN', stream) - held) end
  found[number] = {waiting, held, oldest or 0}
end
return found
"""
)
"""KEYS streams, each with at most one group. Of each: entries that wait, entries that are held, age of the oldest that
waits [ms]. Finished entries are deleted, so that what is not held waits."""

LOOK_UP = """
local since = tonumber(redis.call('TIME')[1]) - ARGV[1]
return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[2]), redis.call('EXISTS', KEYS[3]),
        redis.call('ZCOUNT', KEYS[4], since, '+inf')}
"""
"""KEYS done, owner, started, presence. ARGV seconds. How far a request has got, and how many could take it."""
