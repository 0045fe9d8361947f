-- Conversations. A row is `version at expires way state_name`, a line break, and the state. `expires` is the expiry,
-- `way` the id of the last transition, `state_name` the foreground state. These three may be empty, and so is the state
-- if nothing is open. If a turn was ever decided in SQL, `way` is followed by a colon and the version of the last decision.

-- The conversation of a row. Without a row, the version at which it starts.
local function read_conversation(row, floor, version_floor)
  if not row then
    local version = at_least(floor or '0', version_floor)
    return { version = version, expires = '', way = '', decided = '', state_name = '', state = '', is_known = false }
  end
  local version, expires, way, decided, state_name, start =
    string.match(row, '^(%d+) %S+ (%S*) (%d*):?(%d*) ([^\n]*)\n()')
  return {
    version = at_least(version, version_floor),
    expires = expires,
    way = way,
    decided = decided,
    state_name = state_name,
    state = string.sub(row, start),
    is_known = true,
  }
end

local function standing(keys, conversation)
  local header = call('HMGET', keys[ROOM], 'floor', 'least')
  return read_conversation(call('HGET', keys[CONV], conversation), header[1], header[2])
end

-- Collects changes of conversations, to be written together. `now` has the changed conversations.
local function nothing_changed()
  return { now = {}, rows = {}, names = {}, counts = {}, ends = {}, ended = {} }
end

local function count(changes, state_name, step)
  if state_name ~= '' then
    changes.counts[state_name] = (changes.counts[state_name] or 0) + step
  end
end

-- Adds a conversation's new row to the changes, with its counters and indexes.
local function change(changes, conversation, old, version, at, expires, way, state_name, state, decided)
  local was_open, is_open = old.state ~= '', state ~= ''
  if was_open ~= is_open then
    count(changes, '*', is_open and 1 or -1)
  end
  if old.state_name ~= state_name then
    count(changes, old.state_name, -1)
    count(changes, state_name, 1)
  end
  if old.expires ~= expires then
    changes.ends[conversation] = expires
  end
  if not is_open then
    changes.ended[conversation] = at
  elseif old.is_known and not was_open then
    changes.ended[conversation] = ''
  end
  if not old.is_known then
    local names = changes.names
    names[#names + 1] = '0'
    names[#names + 1] = conversation
  end
  decided = decided or old.decided
  local rows, ways = changes.rows, decided == '' and way or way .. ':' .. decided
  rows[#rows + 1] = conversation
  rows[#rows + 1] = version .. ' ' .. at .. ' ' .. expires .. ' ' .. ways .. ' ' .. state_name .. '\n' .. state
  changes.now[conversation] = {
    version = version,
    expires = expires,
    way = way,
    decided = decided,
    state_name = state_name,
    state = state,
    is_known = true,
  }
end

-- Writes names with their times to a sorted set. A name with an empty time is removed.
local function write_times(list, times)
  local come, go = {}, {}
  for conversation, at in pairs(times) do
    if at == '' then
      go[#go + 1] = conversation
    else
      come[#come + 1] = at
      come[#come + 1] = conversation
    end
  end
  in_bulk('ZADD', list, come)
  in_bulk('ZREM', list, go)
end

local function write_changes(keys, changes)
  in_bulk('HSET', keys[CONV], changes.rows)
  in_bulk('ZADD', keys[INDEX], changes.names)
  for state_name, step in pairs(changes.counts) do
    if step ~= 0 and call('HINCRBY', keys[COUNTS], state_name, step) == 0 then
      call('HDEL', keys[COUNTS], state_name)
    end
  end
  write_times(keys[ENDS], changes.ends)
  write_times(keys[ENDED], changes.ended)
end

local functions = {}
-- Functions that only read, and functions that must work without free memory because they free it.
local only_reads, frees = {}, {}
