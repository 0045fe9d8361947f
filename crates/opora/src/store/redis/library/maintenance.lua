-- Timers, cleaning, and operator commands.

-- Due timers with their rows. Keys: times, rows. Arguments: now, limit.
function functions.due_timers(keys, args)
  local ids = call('ZRANGEBYSCORE', keys[1], '-inf', args[1], 'LIMIT', 0, args[2])
  local out = {}
  for _, id in ipairs(ids) do
    out[#out + 1] = id
    out[#out + 1] = call('HGET', keys[2], id)
  end
  return out
end
only_reads.due_timers = true

-- Removes the oldest entries of a list by time. Returns how many.
local function drop_before(list, before, limit)
  local old = math.min(call('ZCOUNT', list, '-inf', '(' .. before), limit)
  if old > 0 then
    call('ZREMRANGEBYRANK', list, 0, old - 1)
  end
  return old
end

local function older_than(list, before, limit)
  return call('ZRANGEBYSCORE', list, '-inf', '(' .. before, 'LIMIT', 0, limit)
end

local function drop_labels(keys, before, limit)
  local old = older_than(keys[LABEL_AGES], before, limit)
  for _, label in ipairs(old) do
    call('HDEL', keys[LABELS], label)
    call('ZREM', keys[LABEL_AGES], label)
  end
  return #old
end

-- Removes ended conversations. The floor is raised, so that no version of theirs is used again.
local function drop_ended(keys, before, limit)
  local old = older_than(keys[ENDED], before, limit)
  local floor = tonumber(call('HGET', keys[ROOM], 'floor') or '0')
  for _, conversation in ipairs(old) do
    floor = math.max(floor, tonumber(standing(keys, conversation).version))
    call('HDEL', keys[CONV], conversation)
    call('ZREM', keys[INDEX], conversation)
    call('ZREM', keys[ENDED], conversation)
  end
  if #old > 0 then
    call('HSET', keys[ROOM], 'floor', string.format('%.0f', floor))
  end
  return #old
end

-- Removes old transitions. They are in the order of time: the first young one ends the search.
local function drop_moves(keys, before, limit)
  local gone, page = 0, 100
  while gone < limit do
    local rows = call('ZRANGE', keys[MOVES], 0, page - 1)
    for _, row in ipairs(rows) do
      local _, place = field(row, FIELDS)
      if tonumber((field(row, place))) >= tonumber(before) then
        return gone
      end
      call('ZREM', keys[MOVES], row)
      gone = gone + 1
    end
    if #rows < page then
      return gone
    end
  end
  return gone
end

-- Stores how long marks live after the newest one; '' changes nothing.
local function set_marks_live(keys, live_ms)
  if live_ms == '' or call('HGET', keys[ROOM], 'marks_ms') == live_ms then
    return
  end
  call('HSET', keys[ROOM], 'marks_ms', live_ms)
  if call('EXISTS', keys[MARKS]) == 1 then
    reset_marks_expiry(keys, live_ms)
  end
end

-- Arguments: precondition, marks before, records before, limit, how long marks live or ''. Returns how many rows were
-- removed, and how many of these were conversations.
function functions.clean(keys, args)
  local precondition, marks_before, records_before, limit = args[1], args[2], args[3], tonumber(args[4])
  if is_fenced(keys, precondition) then
    return { 'fenced' }
  end
  local gone = drop_before(keys[MARKS], marks_before, limit)
    + drop_before(keys[POSTS], marks_before, limit)
    + drop_before(keys[FAILED], records_before, limit)
    + drop_labels(keys, records_before, limit)
    + drop_moves(keys, records_before, limit)
  local ended = drop_ended(keys, records_before, limit)
  set_marks_live(keys, args[5])
  -- If they expire, the header still shows that there were conversations.
  if call('EXISTS', keys[CONV]) == 1 then
    call('HSET', keys[ROOM], 'held', '1')
  else
    call('HDEL', keys[ROOM], 'held')
  end
  local answer = written(keys, 'done')
  answer[3] = tostring(gone + ended)
  answer[4] = tostring(ended)
  return answer
end
frees.clean = true

-- Arguments: precondition, or '' for an operator; then ids. Returns how many there were.
function functions.drop_parked(keys, args)
  if args[1] ~= '' and is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local gone = 0
  for i = 2, #args do
    local id = args[i]
    gone = gone + call('ZREMRANGEBYLEX', keys[PARKED], '[' .. id .. '|', '(' .. id .. '}')
    call('SREM', keys[RETRY], id)
  end
  local answer = written(keys, 'done')
  answer[3] = tostring(gone)
  return answer
end
frees.drop_parked = true

function functions.retry_parked(keys, args)
  if not row_of(keys[PARKED], args[1]) then
    return unwritten(keys, 'no')
  end
  call('SADD', keys[RETRY], args[1])
  return written(keys, 'yes')
end

-- Whether a conversation's name has this user, encoded as in names. The chat comes before the user: a letter with its
-- sign and number of digits, then the digits.
local function is_of(name, user)
  local letter = string.byte(name)
  local start = 2 + (letter >= 97 and letter - 97 or 90 - letter)
  return string.sub(name, start, start + #user - 1) == user
end

-- Conversations after a name, with their rows, or '' for other people's. Keys: index, rows. Arguments: after or '',
-- limit, user or ''.
function functions.list(keys, args)
  local from, user = args[1] == '' and '-' or '(' .. args[1], args[3]
  local out = {}
  for _, conversation in ipairs(call('ZRANGEBYLEX', keys[1], from, '+', 'LIMIT', 0, args[2])) do
    out[#out + 1] = conversation
    out[#out + 1] = is_of(conversation, user) and call('HGET', keys[2], conversation) or ''
  end
  return out
end
only_reads.list = true

-- A conversation's transitions, the last first. Keys: conversations, transitions. Arguments: conversation, id to start
-- from or '' for the last, id to stop at, limit.
function functions.way(keys, args)
  local way, after, most = args[2], args[3], tonumber(args[4])
  if way == '' then
    way = read_conversation(call('HGET', keys[1], args[1])).way
  end
  local out = {}
  while #out < most and way > after do
    local row = row_of(keys[2], way)
    if not row then
      break
    end
    out[#out + 1] = row
    -- The last field is the id of the one before, or empty.
    way = string.sub(row, -1) == ':' and '' or string.sub(row, 2 - FIELDS)
  end
  return out
end
only_reads.way = true

-- Arguments: conversation, now.
function functions.reset(keys, args)
  local old = standing(keys, args[1])
  if old.state == '' then
    return unwritten(keys, 'no')
  end
  local changes = nothing_changed()
  change(changes, args[1], old, string.format('%.0f', tonumber(old.version) + 1), args[2], '', old.way, '', '')
  write_changes(keys, changes)
  return written(keys, 'yes')
end

-- Arguments: conversation, 'yes' to replace an open one, version, at, expires, state_name, state.
function functions.import(keys, args)
  local conversation, replace, version, at, expires, state_name, state = unpack(args)
  local old = standing(keys, conversation)
  if old.state ~= '' and replace ~= 'yes' then
    return unwritten(keys, 'no')
  end
  -- A running turn must be overtaken, and no version is used twice.
  local next_version = tonumber(old.version) + 1
  if tonumber(version) < next_version then
    version = string.format('%.0f', next_version)
  end
  local changes = nothing_changed()
  change(changes, conversation, old, version, at, expires, old.way, state_name, state)
  write_changes(keys, changes)
  return written(keys, 'yes')
end

-- Accepts a loss. Arguments: the version floor, and the numbers of writes and of delivered inputs to continue from.
function functions.accept(keys, args)
  for i, name in ipairs({ 'least', 'commits', 'delivered' }) do
    if tonumber(call('HGET', keys[ROOM], name) or '0') < tonumber(args[i]) then
      call('HSET', keys[ROOM], name, args[i])
    end
  end
  -- Inbox ids that were assigned after the lost point must not be used again.
  if call('HEXISTS', keys[ROOM], 'last') == 1 then
    call('HINCRBY', keys[ROOM], 'last', 16 * 1024 * 1024)
  end
  return { 'accepted' }
end
frees.accept = true

-- Returns the sizes of inbox, outbox, failed, timers, effects, parked; the oldest row of inbox, outbox and effects, or
-- ''; counts by state.
function functions.numbers(keys)
  local out = {}
  for i, list in ipairs({ INBOX, OUTBOX, FAILED, TIMERS, EFFECTS, PARKED }) do
    out[i] = tostring(call('ZCARD', keys[list]))
  end
  for _, list in ipairs({ INBOX, OUTBOX, EFFECTS }) do
    out[#out + 1] = call('ZRANGE', keys[list], 0, 0)[1] or ''
  end
  for _, part in ipairs(call('HGETALL', keys[COUNTS])) do
    out[#out + 1] = part
  end
  return out
end
only_reads.numbers = true

-- Answers if the library is loaded.
function functions.here()
  return { 'yes' }
end
only_reads.here = true
