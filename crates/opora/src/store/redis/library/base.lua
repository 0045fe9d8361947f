-- Shared helpers. The names of the keys (ROOM, CONV, ...) are defined before this text: they are positions in `keys`.
-- ROOM is the partition header.
--
-- Ids are texts of nineteen digits, because a Lua number would lose the last ones. A row in a list is `id|fields`; a
-- field is `length:text`, so that no text needs escaping. Everything is checked before anything is written, because
-- Redis does not roll back. Every command costs time, so similar reads and writes are combined.

-- Not available while a library is loaded: the wrapper of each function sets it.
local call

-- When marks may expire after the newest one: then all are older than anything that Telegram delivers again. The header
-- field `marks_ms`, set by a cleaning, overrides it.
local MARKS_LIVE_MS = 95 * 60 * 60 * 1000
-- Extra time, so that the expiry need not be reset by every turn.
local MARKS_LIVE_MORE_MS = 60 * 60 * 1000
-- The position of the first field of a row.
local FIELDS = 21
-- The most arguments of one command; even, because they may be pairs.
local ARGUMENTS_MOST = 2000

local function packed(...)
  local out = {}
  for i = 1, select('#', ...) do
    local text = select(i, ...)
    out[i] = #text .. ':' .. text
  end
  return table.concat(out)
end

-- The field at a position, and the position of the next one.
local function field(row, place)
  local length, start = string.match(row, '^(%d+):()', place)
  local stop = start + length
  return string.sub(row, start, stop - 1), stop
end

local function row_of(list, id)
  return call('ZRANGEBYLEX', list, '[' .. id .. '|', '(' .. id .. '}', 'LIMIT', 0, 1)[1]
end

-- A command with many arguments, in as few calls as possible.
local function in_bulk(command, key, arguments)
  for first = 1, #arguments, ARGUMENTS_MOST do
    call(command, key, unpack(arguments, first, math.min(first + ARGUMENTS_MOST - 1, #arguments)))
  end
end

-- Appends rows with their scores for ZADD: the arguments from `first` up to before `stop`.
local function gather(rows, args, first, stop)
  for i = first, stop - 1 do
    rows[#rows + 1] = '0'
    rows[#rows + 1] = args[i]
  end
  return rows
end

-- A write carries the precondition `epoch-lease:seen`: its epoch, the hash of its lease's token, and the number of
-- writes that the writer has seen in the partition. A partition with fewer writes came back older: nothing is written
-- to it. Such a server may also grant an epoch twice, so the lease is compared too.
local function is_refused(epoch, token, commits, precondition)
  local mine, lease, seen = string.match(precondition, '^(%d+)%-?(%x*):?(%d*)$')
  return epoch ~= mine or lease ~= '' and lease ~= token or tonumber(commits or '0') < (tonumber(seen) or 0)
end

local function is_fenced(keys, precondition)
  local header = call('HMGET', keys[ROOM], 'epoch', 'token', 'commits')
  return is_refused(header[1], header[2], header[3], precondition)
end

-- A version, raised to the version floor if there is one.
local function at_least(version, version_floor)
  return version_floor and tonumber(version) < tonumber(version_floor) and version_floor or version
end

-- The answer of a write that changed nothing: its word, and the number of writes.
local function unwritten(keys, word)
  return { word, call('HGET', keys[ROOM], 'commits') or '0' }
end

-- The answer of a write; counts it, or `times` writes. The count shows that a server came back older.
local function written(keys, word, times)
  if times == 0 then
    return unwritten(keys, word)
  end
  return { word, string.format('%.0f', call('HINCRBY', keys[ROOM], 'commits', times or 1)) }
end
