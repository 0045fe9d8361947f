-- Conversations as they lie here. A row is `version at expires way place`, a line's end, and the state. Expires is the end
-- of life and way the number of the last transition; either may be empty, and so may be the place, and the state if
-- nothing is open. Where a turn was ever decided in SQL, a colon and the version of the last one stand behind way.

-- A conversation as it stands, by its row; of one never seen, a version from which it can start.
local function read_conversation(row, floor, least)
  if not row then
    local version = at_least(floor or '0', least)
    return { version = version, expires = '', way = '', decided = '', place = '', state = '', is_known = false }
  end
  local version, expires, way, decided, place, start =
    string.match(row, '^(%d+) %S+ (%S*) (%d*):?(%d*) ([^\n]*)\n()')
  return {
    version = at_least(version, least),
    expires = expires,
    way = way,
    decided = decided,
    place = place,
    state = string.sub(row, start),
    is_known = true,
  }
end

local function standing(keys, who)
  local room = call('HMGET', keys[ROOM], 'floor', 'least')
  return read_conversation(call('HGET', keys[CONV], who), room[1], room[2])
end

-- What is to be written of conversations, gathered; `now` has how those stand then.
local function nothing_changed()
  return { now = {}, rows = {}, names = {}, counts = {}, ends = {}, ended = {} }
end

local function count(changes, place, step)
  if place ~= '' then
    changes.counts[place] = (changes.counts[place] or 0) + step
  end
end

-- Notes a conversation's new row, and with it everything that is counted and found by it.
local function change(changes, who, old, version, at, expires, way, place, state, decided)
  local was_open, is_open = old.state ~= '', state ~= ''
  if was_open ~= is_open then
    count(changes, '*', is_open and 1 or -1)
  end
  if old.place ~= place then
    count(changes, old.place, -1)
    count(changes, place, 1)
  end
  if old.expires ~= expires then
    changes.ends[who] = expires
  end
  if not is_open then
    changes.ended[who] = at
  elseif old.is_known and not was_open then
    changes.ended[who] = ''
  end
  if not old.is_known then
    local names = changes.names
    names[#names + 1] = '0'
    names[#names + 1] = who
  end
  decided = decided or old.decided
  local rows, ways = changes.rows, decided == '' and way or way .. ':' .. decided
  rows[#rows + 1] = who
  rows[#rows + 1] = version .. ' ' .. at .. ' ' .. expires .. ' ' .. ways .. ' ' .. place .. '\n' .. state
  changes.now[who] =
    { version = version, expires = expires, way = way, decided = decided, place = place, state = state, is_known = true }
end

-- Writes names by their times; those whose time is empty go.
local function write_times(list, times)
  local come, go = {}, {}
  for who, at in pairs(times) do
    if at == '' then
      go[#go + 1] = who
    else
      come[#come + 1] = at
      come[#come + 1] = who
    end
  end
  in_bulk('ZADD', list, come)
  in_bulk('ZREM', list, go)
end

local function write_changes(keys, changes)
  in_bulk('HSET', keys[CONV], changes.rows)
  in_bulk('ZADD', keys[INDEX], changes.names)
  for place, step in pairs(changes.counts) do
    if step ~= 0 and call('HINCRBY', keys[COUNTS], place, step) == 0 then
      call('HDEL', keys[COUNTS], place)
    end
  end
  write_times(keys[ENDS], changes.ends)
  write_times(keys[ENDED], changes.ended)
end

local functions = {}
-- Functions that write nothing, and those that must work also while memory is short because they free it.
local only_reads, frees = {}, {}
