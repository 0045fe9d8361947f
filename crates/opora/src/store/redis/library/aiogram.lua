-- Conversations whose states are kept as aiogram keeps them: its keys are the truth, and the rest of a turn lies beside
-- them as ever.
--
-- aiogram's keys know no version. So for each conversation it is noted, in short, what stood in them when its version was
-- made: as long as the note fits, that version is what they mean. The last four keys of a call are aiogram's state, its
-- data, its lock, and the notes.

-- The text of a key of aiogram's; false if there is none, nothing if it is no text.
local function text_of(key)
  local text = redis.pcall('GET', key)
  if type(text) == 'table' then
    return nil
  end
  return text
end

-- State, data, and both in short; nothing if one of them is no text.
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

-- As an answer: nothing, `p` and the text, or `x` and its bytes where others than ASCII are among them.
local function spelled(text)
  if not text then
    return ''
  end
  if not string.find(text, '[\128-\255]') then
    return 'p' .. text
  end
  return 'x' .. string.gsub(text, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
end

local function noted(keys, who)
  return call('HGET', keys[#keys], who) or ''
end

local function note(keys, who, what)
  if what == '' then
    call('HDEL', keys[#keys], who)
  else
    call('HSET', keys[#keys], who, what)
  end
end

-- Writes a text as it was said (`p` and the text, or nothing for none), where it is another one or its time begins anew.
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

local function put_both(keys, who, before, state, data, state_ttl, data_ttl)
  local last = #keys
  put(keys[last - 3], before.state, state, state_ttl)
  put(keys[last - 2], before.data, data, data_ttl)
  note(keys, who, raw_of(keys).note)
end

-- The arguments behind some others.
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

-- whose, mark or ''. As `open`, then state, data, both in short, and whether that is what was noted.
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
  return { answer[1], answer[2], spelled(raw.state), spelled(raw.data), raw.note, is_noted and 'same' or 'changed' }
end
only_reads.aiogram_look = true

-- A lock of ours is abandoned if the epoch that stands in it may not write any more.
local function is_abandoned(keys, held, ours)
  if string.sub(held, 1, #ours) ~= ours then
    return false
  end
  local epoch = string.match(held, '^(%d+):', #ours + 1)
  return epoch ~= nil and is_fenced(keys, epoch)
end

-- epoch, what our locks begin with, our own lock and how long it lasts; whose, mark or ''. Locks and looks.
function functions.aiogram_enter(keys, args)
  local epoch, ours, token, lasts_ms, who, mark = unpack(args)
  if is_fenced(keys, epoch) then
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
  local answer = functions.aiogram_look(keys, { who, mark })
  if answer[1] ~= 'taken' and answer[1] ~= 'no text' then
    call('SET', lock, token, 'PX', lasts_ms)
  end
  return answer
end

-- The lock is the only key. token.
function functions.aiogram_leave(keys, args)
  release(keys[1], args[1])
  return { 'done' }
end
frees.aiogram_leave = true

-- The keys are locks. How long they last from now on, then the token of each.
function functions.aiogram_extend(keys, args)
  for i, lock in ipairs(keys) do
    if call('GET', lock) == args[i + 1] then
      call('PEXPIRE', lock, args[1])
    end
  end
  return { 'done' }
end
frees.aiogram_extend = true

-- Somebody else holds the lock. They may have read what stands in the keys, and will write without looking again: who
-- commits now is overwritten. A lock that nobody holds was held by nobody who has changed anything.
local function is_anothers(lock, token)
  local held = text_of(lock)
  return held == nil or (held and held ~= token)
end

-- whose; what stands in aiogram's keys in short, or 'noted'; the token to release or ''; 'keep' or 'write' and the new state,
-- data, state_ttl, data_ttl; then what `commit` takes.
function functions.aiogram_commit(keys, args)
  local who, expected, token, change, state, data, state_ttl, data_ttl = unpack(args, 1, 8)
  local raw = raw_of(keys)
  if expected == 'noted' then
    expected = noted(keys, who)
  end
  if not raw or raw.note ~= expected then
    return { 'overtaken' }
  end
  -- Whose lease is over is told that first.
  if token ~= '' and is_anothers(keys[#keys - 1], token) and not is_fenced(keys, args[9]) then
    return { 'overtaken' }
  end
  -- A refusal of all, or a word for the one turn.
  local answer = functions.commit(keys, behind(args, 9))
  local word = answer[3] or answer[1]
  if word ~= 'done' then
    return { word }
  end
  answer[3] = nil
  if change == 'write' then
    put_both(keys, who, raw, state, data, state_ttl, data_ttl)
  else
    note(keys, who, expected)
  end
  if token ~= '' then
    release(keys[#keys - 1], token)
  end
  return answer
end

-- whose, now. Ends it here and there.
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

-- whose; whether an open one is replaced; state, data, state_ttl, data_ttl; then what `import` takes.
function functions.aiogram_import(keys, args)
  local who, replace, state, data, state_ttl, data_ttl = unpack(args, 1, 6)
  local raw = raw_of(keys)
  if not raw or (raw.state and replace ~= 'yes') then
    return { 'no' }
  end
  local answer = functions.import(keys, behind(args, 7))
  if answer[1] == 'yes' then
    put_both(keys, who, raw, state, data, state_ttl, data_ttl)
    if args[#args] == '' then
      -- Nothing is known here of what it means: the next turn reads it.
      note(keys, who, '')
    end
  end
  return answer
end
