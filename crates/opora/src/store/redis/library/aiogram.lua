-- Conversations with their states in aiogram's keys, which are the source of truth. The rest of a turn is stored as
-- usual.
--
-- aiogram's keys have no version. So each conversation has a note: a hash of aiogram's keys when its version was made.
-- As long as the note fits, that version is what the keys mean. The last four keys of a call are aiogram's state, data
-- and lock, and the notes.

-- The text of one of aiogram's keys; false if it is missing, nil if it is not a string.
local function text_of(key)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    return nil
  end
  return text
end

-- State, data, and a hash of both; nil if one of them is not a string.
local function raw_of(keys)
  local last = #keys
  local state, data = text_of(keys[last - 3]), text_of(keys[last - 2])
  if state == nil or data == nil then
    return nil
  end
  local note = ''
  if state or data then
    note = redis.sha1hex((state and #state .. ':' .. state or '-') .. '|' .. (data or ''))
  end
  return { state = state, data = data, note = note }
end

-- A text for an answer: '' for none, `p` and the text, or `x` and hexadecimal bytes if it is not ASCII.
local function encode_text(text)
  if not text then
    return ''
  end
  if not string.find(text, '[\128-\255]') then
    return 'p' .. text
  end
  return 'x' .. string.gsub(text, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
end

local function noted(keys, conversation)
  return call('HGET', keys[#keys], conversation) or ''
end

local function note(keys, conversation, what)
  if what == '' then
    call('HDEL', keys[#keys], conversation)
  else
    call('HSET', keys[#keys], conversation, what)
  end
end

-- Writes a text of the arguments (`p` and the text, or '' for none) if it has changed or its TTL has to start again.
local function put(key, before, said, ttl_seconds)
  local text = said ~= '' and string.sub(said, 2)
  if not text then
    call('DEL', key)
  elseif ttl_seconds ~= '' then
    call('SET', key, text, 'EX', ttl_seconds)
  elseif text ~= before then
    call('SET', key, text, 'KEEPTTL')
  end
end

local function put_both(keys, conversation, before, state, data, state_ttl, data_ttl)
  local last = #keys
  put(keys[last - 3], before.state, state, state_ttl)
  put(keys[last - 2], before.data, data, data_ttl)
  note(keys, conversation, raw_of(keys).note)
end

-- The arguments from `first` on.
local function behind(args, first)
  local rest = {}
  for i = first, #args do
    rest[#rest + 1] = args[i]
  end
  return rest
end

local function release(lock, token)
  if call('GET', lock) == token then
    call('DEL', lock)
  end
end

-- Arguments: conversation, mark or ''. Returns the answer of `open`, then state, data, their hash, and whether that was
-- noted.
function functions.aiogram_look(keys, args)
  local answer = functions.open(keys, args)
  if answer[1] == 'taken' then
    return { 'taken' }
  end
  local raw = raw_of(keys)
  if not raw then
    return { 'no text' }
  end
  local is_noted = raw.note == noted(keys, args[1])
  return { answer[1], answer[2], encode_text(raw.state), encode_text(raw.data), raw.note, is_noted and 'same' or 'changed' }
end
only_reads.aiogram_look = true

-- A lock of ours is abandoned if its epoch may not write any more.
local function is_abandoned(keys, held, ours)
  if string.sub(held, 1, #ours) ~= ours then
    return false
  end
  local epoch = string.match(held, '^(%d+):', #ours + 1)
  return epoch ~= nil and is_fenced(keys, epoch)
end

-- Locks and reads a conversation. Arguments: precondition, the prefix of our lock tokens, our token and its TTL;
-- conversation, mark or ''.
function functions.aiogram_enter(keys, args)
  local precondition, ours, token, lasts_ms, conversation, mark = unpack(args)
  if is_fenced(keys, precondition) then
    return { 'fenced' }
  end
  local lock = keys[#keys - 1]
  local held = text_of(lock)
  if held == nil then
    return { 'no text' }
  end
  if held and held ~= token and not is_abandoned(keys, held, ours) then
    return { 'locked' }
  end
  local answer = functions.aiogram_look(keys, { conversation, mark })
  if answer[1] ~= 'taken' and answer[1] ~= 'no text' then
    call('SET', lock, token, 'PX', lasts_ms)
  end
  return answer
end

-- Key: the lock. Argument: token.
function functions.aiogram_leave(keys, args)
  release(keys[1], args[1])
  return { 'done' }
end
frees.aiogram_leave = true

-- Keys: locks. Arguments: their TTL from now on, then the token of each.
function functions.aiogram_extend(keys, args)
  for i, lock in ipairs(keys) do
    if call('GET', lock) == args[i + 1] then
      call('PEXPIRE', lock, args[1])
    end
  end
  return { 'done' }
end
frees.aiogram_extend = true

-- Whether another process holds the lock. It may have read the keys and will write without reading again, which would
-- overwrite our commit. If the lock is free, no other holder has changed anything.
local function is_held_by_other(lock, token)
  local held = text_of(lock)
  return held == nil or (held and held ~= token)
end

-- Arguments: conversation; the expected hash of aiogram's keys, or 'noted'; the token to release or ''; 'keep' or
-- 'write' and the new state, data, state_ttl, data_ttl; then the arguments of `commit`.
function functions.aiogram_commit(keys, args)
  local conversation, expected, token, change, state, data, state_ttl, data_ttl = unpack(args, 1, 8)
  local raw = raw_of(keys)
  if expected == 'noted' then
    expected = noted(keys, conversation)
  end
  if not raw or raw.note ~= expected then
    return { 'overtaken' }
  end
  -- A fenced writer gets that answer first.
  if token ~= '' and is_held_by_other(keys[#keys - 1], token) and not is_fenced(keys, args[9]) then
    return { 'overtaken' }
  end
  -- A refusal of the call, or the word for the one turn.
  local answer = functions.commit(keys, behind(args, 9))
  local word = answer[3] or answer[1]
  if word ~= 'done' then
    return { word }
  end
  answer[3] = nil
  if change == 'write' then
    put_both(keys, conversation, raw, state, data, state_ttl, data_ttl)
  else
    note(keys, conversation, expected)
  end
  if token ~= '' then
    release(keys[#keys - 1], token)
  end
  return answer
end

-- Ends a conversation in both places. Arguments: conversation, now.
function functions.aiogram_reset(keys, args)
  local raw = raw_of(keys)
  local answer = functions.reset(keys, args)
  if answer[1] == 'yes' or not raw or raw.state then
    answer[1] = 'yes'
    call('DEL', keys[#keys - 3], keys[#keys - 2])
    note(keys, args[1], '')
  end
  return answer
end

-- Arguments: conversation; 'yes' to replace an open one; state, data, state_ttl, data_ttl; then the arguments of
-- `import`.
function functions.aiogram_import(keys, args)
  local conversation, replace, state, data, state_ttl, data_ttl = unpack(args, 1, 6)
  local raw = raw_of(keys)
  if not raw or (raw.state and replace ~= 'yes') then
    return { 'no' }
  end
  local answer = functions.import(keys, behind(args, 7))
  if answer[1] == 'yes' then
    put_both(keys, conversation, raw, state, data, state_ttl, data_ttl)
    if args[#args] == '' then
      -- The state was not translated: the next turn reads it.
      note(keys, conversation, '')
    end
  end
  return answer
end
