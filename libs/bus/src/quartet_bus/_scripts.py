"""What must happen in Redis in one step. A Lua script is atomic, as MULTI is, and can decide on what it finds."""

ADMIT = """
local owner = redis.call('GET', KEYS[1])
if not owner then
  owner = ARGV[1]
  redis.call('SET', KEYS[1], owner, 'PX', ARGV[2])
end
return {owner, redis.call('GET', KEYS[2]), redis.call('EXISTS', KEYS[3]), redis.call('EXISTS', KEYS[4])}
"""
"""KEYS owner, done, started, canceled. ARGV entry id, expiry [ms]. An identity has one entry; others are duplicates."""

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

FINISH = """
local first = redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4])
if first and KEYS[3] ~= '' then
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', 'm', ARGV[3])
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.pcall('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('XDEL', KEYS[1], ARGV[2])
if first then return 1 end
return 0
"""
"""KEYS stream, done, reply stream or ''. ARGV group, entry id, result, expiry [ms]. The first result stands."""

ADD = """
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
return redis.call('XADD', KEYS[1], '*', 'm', ARGV[2])
"""
"""KEYS stream. ARGV cap, message. nil when the stream is full."""

WITHDRAW = """
if redis.call('EXISTS', KEYS[2]) == 1 or redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
redis.call('XDEL', KEYS[1], ARGV[1])
return 1
"""
"""KEYS stream, owner, done. ARGV entry id, result, expiry [ms]. 1: nobody had taken it and nobody will."""

PENDING_COUNT = """
local held = redis.pcall('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)
if held.err or not held[1] then return 0 end
return held[1][4]
"""

PUT_STATUS = """
local state = redis.call('HGET', KEYS[1], 'state')
if state then
  for word in string.gmatch(ARGV[4], '%S+') do
    if state == word then return 0 end
  end
  if ARGV[5] ~= '' and state ~= ARGV[5] then return 0 end
elseif ARGV[5] ~= '' then
  return 0
end
redis.call('HSET', KEYS[1], 'state', ARGV[1], 'm', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
"""KEYS status. ARGV state, message, expiry [ms], final states, expected state or ''. A final state is never changed."""

HOLD = """
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

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

LOOK_UP = """
local since = tonumber(redis.call('TIME')[1]) - ARGV[1]
return {redis.call('GET', KEYS[1]), redis.call('EXISTS', KEYS[2]), redis.call('EXISTS', KEYS[3]),
        redis.call('ZCOUNT', KEYS[4], since, '+inf')}
"""
"""KEYS done, owner, started, presence. ARGV seconds. How far a request has got, and how many could take it."""
