-- Removes the data of a person. Marks stay, so that nothing is applied twice, and versions do not restart.

-- How many rows of a list are read together.
local PAGE = 500

-- Whether a conversation belongs to the person or to the person's chat, by its name.
local function is_theirs(name, user)
  return is_of(name, user) or string.sub(name, 1, #user) == user
end

-- The rows of a list for which `is_wanted` is true.
local function rows_where(list, is_wanted)
  local found, first = {}, 0
  while true do
    local rows = call('ZRANGE', list, first, first + PAGE - 1)
    for _, row in ipairs(rows) do
      if is_wanted(row) then
        found[#found + 1] = row
      end
    end
    if #rows < PAGE then
      return found
    end
    first = first + PAGE
  end
end

-- Removes inputs from the inbox. The marks of updates are stored as processed.
local function forget_inputs(keys, user, now)
  local inputs = rows_where(keys[INBOX], function(row) return is_theirs(field(row, FIELDS), user) end)
  local news = {}
  for _, row in ipairs(inputs) do
    drop_input(keys, row, news, now)
  end
  write_marks(keys, { news = news }, call('HGET', keys[ROOM], 'marks_ms'))
  return #inputs
end

-- Removes messages of the person's conversations and to the person's chat (`chat` is the plain number).
local function forget_messages(keys, list, user, chat)
  local rows = rows_where(list, function(row)
    local _, place = field(row, FIELDS)
    local name, to
    _, place = field(row, place)
    name, place = field(row, place)
    to = field(row, place)
    return to == chat or is_theirs(name, user)
  end)
  for _, row in ipairs(rows) do
    call('ZREM', list, row)
    call('SREM', keys[SENDING], string.sub(row, 1, FIELDS - 2))
  end
  return #rows
end

local function forget_timers(keys, user)
  local gone = 0
  local ids = rows_where(keys[TIMERS], function(id)
    local row = call('HGET', keys[TIMER], id)
    return row and is_theirs(field(row, 1), user)
  end)
  for _, id in ipairs(ids) do
    drop_timer(keys, id)
    gone = gone + 1
  end
  return gone
end

local function forget_effects(keys, user)
  local rows = rows_where(keys[EFFECTS], function(row) return is_theirs(field(row, FIELDS), user) end)
  in_bulk('ZREM', keys[EFFECTS], rows)
  return #rows
end

-- Parked turns are JSON with the conversation's key as a text.
local function forget_parked(keys, number)
  local rows = rows_where(keys[PARKED], function(row)
    local key = cjson.decode((field(row, FIELDS))).key
    local chat, user = string.match(key, '^[^:]*:([^:]*):([^:]*)')
    return chat == number or user == number
  end)
  for _, row in ipairs(rows) do
    call('ZREM', keys[PARKED], row)
    call('SREM', keys[RETRY], string.sub(row, 1, FIELDS - 2))
  end
  return #rows
end

local function forget_labels(keys, chat)
  local labels = rows_where(keys[LABEL_AGES], function(label) return string.sub(label, 1, #chat + 1) == chat .. ':' end)
  in_bulk('HDEL', keys[LABELS], labels)
  in_bulk('ZREM', keys[LABEL_AGES], labels)
  return #labels
end

-- Removes the transitions of a conversation: each has the id of the one before.
local function forget_way(keys, way)
  local gone = 0
  while way ~= '' do
    local row = row_of(keys[MOVES], way)
    if not row then
      break
    end
    call('ZREM', keys[MOVES], row)
    gone = gone + 1
    way = string.sub(row, -1) == ':' and '' or string.sub(row, 2 - FIELDS)
  end
  return gone
end

-- Ends these conversations.
local function forget_conversations(keys, args, first, now)
  local changes, gone = nothing_changed(), 0
  for i = first, #args do
    local conversation = args[i]
    local old = standing(keys, conversation)
    if old.is_known then
      gone = gone + forget_way(keys, old.way)
      local version = old.version
      if old.state ~= '' then
        version = string.format('%.0f', tonumber(version) + 1)
        gone = gone + 1
      end
      if old.state ~= '' or old.way ~= '' then
        change(changes, conversation, old, version, now, '', '', '', '')
      end
    end
    call('HDEL', keys[NOTES], conversation)
  end
  write_changes(keys, changes)
  return gone
end

-- Arguments: the person's number as in names, the plain number, now, the names of the person's conversations in this
-- partition. Returns the number of removed rows.
function functions.forget(keys, args)
  local user, number, now = args[1], args[2], args[3]
  local gone = forget_conversations(keys, args, 4, now)
    + forget_inputs(keys, user, now)
    + forget_messages(keys, keys[OUTBOX], user, number)
    + forget_messages(keys, keys[FAILED], user, number)
    + forget_timers(keys, user)
    + forget_effects(keys, user)
    + forget_parked(keys, number)
    + forget_labels(keys, number)
  local answer = written(keys, 'done', gone > 0 and 1 or 0)
  answer[3] = tostring(gone)
  return answer
end
frees.forget = true
