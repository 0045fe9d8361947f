-- What all functions share. The names of the keys (ROOM, CONV, ...) stand before this text: they are places in `keys`.
--
-- Ids are texts of nineteen digits: a number of Lua's would lose their last ones. A row in a list is `id|fields`; a field
-- is `length:text`, so that no text needs escaping. Everything is checked before anything is written, because nothing is
-- rolled back here.

-- While a library is loaded this is not to be had; whoever calls a function sets it.
local call

-- After so long without a new one, the marks of a room are older than anything that Telegram delivers again.
local MARKS_LIVE_MS = 96 * 60 * 60 * 1000
-- Where the fields of a row begin.
local FIELDS = 21

local function packed(...)
  local out = {}
  for i = 1, select('#', ...) do
    local text = select(i, ...)
    out[i] = #text .. ':' .. text
  end
  return table.concat(out)
end

-- The field that begins at a place, and where the next one does.
local function field(row, place)
  local length, start = string.match(row, '^(%d+):()', place)
  local stop = start + length
  return string.sub(row, start, stop - 1), stop
end

local function row_of(list, id)
  return call('ZRANGEBYLEX', list, '[' .. id .. '|', '(' .. id .. '}', 'LIMIT', 0, 1)[1]
end

local function is_fenced(keys, epoch)
  return call('HGET', keys[ROOM], 'epoch') ~= epoch
end

-- Reads arguments one after another.
local function reader(args)
  local place = 0
  return function()
    place = place + 1
    return args[place]
  end
end

-- A conversation as it stands; of one never seen, a version from which it can start.
local function standing(keys, who)
  local row = call('HGET', keys[CONV], who)
  if not row then
    return { version = call('HGET', keys[ROOM], 'floor') or '0', at = '0', expires = '', place = '', stored = '' }
  end
  local found, place = { is_known = true }, 1
  found.version, place = field(row, place)
  found.at, place = field(row, place)
  found.expires, place = field(row, place)
  found.place, place = field(row, place)
  found.stored = field(row, place)
  return found
end

local function count(keys, place, step)
  if place ~= '' and call('HINCRBY', keys[COUNTS], place, step) == 0 then
    call('HDEL', keys[COUNTS], place)
  end
end

-- Writes a conversation, and with it everything that is counted and found by it.
local function write(keys, who, old, new)
  local was_open, is_open = old.stored ~= '', new.stored ~= ''
  if was_open ~= is_open then
    count(keys, '*', is_open and 1 or -1)
  end
  if old.place ~= new.place then
    count(keys, old.place, -1)
    count(keys, new.place, 1)
  end
  if new.expires == '' then
    if old.expires ~= '' then
      call('ZREM', keys[ENDS], who)
    end
  elseif new.expires ~= old.expires then
    call('ZADD', keys[ENDS], new.expires, who)
  end
  if not is_open then
    call('ZADD', keys[ENDED], new.at, who)
  elseif old.is_known and not was_open then
    call('ZREM', keys[ENDED], who)
  end
  if not old.is_known then
    call('ZADD', keys[INDEX], 0, who)
  end
  call('HSET', keys[CONV], who, packed(new.version, new.at, new.expires, new.place, new.stored))
end

local functions = {}
-- Functions that write nothing, and those that must work also while memory is short because they free it.
local only_reads, frees = {}, {}
