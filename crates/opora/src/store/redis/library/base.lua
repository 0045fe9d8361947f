-- What all functions share. The names of the keys (ROOM, CONV, ...) stand before this text: they are places in `keys`.
--
-- Ids are texts of nineteen digits: a number of Lua's would lose their last ones. A row in a list is `id|fields`; a field
-- is `length:text`, so that no text needs escaping. Everything is checked before anything is written, because nothing is
-- rolled back here. A call costs as much as what it does, so what is alike is read and written together.

-- While a library is loaded this is not to be had; whoever calls a function sets it.
local call

-- After so long without a new one, the marks of a room are older than anything that Telegram delivers again. A room that
-- was told otherwise at a cleaning has it as `marks_ms`.
local MARKS_LIVE_MS = 95 * 60 * 60 * 1000
-- They are given so much more, so that it need not be counted anew with every turn.
local MARKS_LIVE_MORE_MS = 60 * 60 * 1000
-- Where the fields of a row begin.
local FIELDS = 21
-- So many arguments go into one command; an even number, for they may be pairs.
local ARGUMENTS_MOST = 2000

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

-- A command with many arguments, in as few calls as may be.
local function in_bulk(command, key, arguments)
  for first = 1, #arguments, ARGUMENTS_MOST do
    call(command, key, unpack(arguments, first, math.min(first + ARGUMENTS_MOST - 1, #arguments)))
  end
end

-- Gathers rows for a list: those in the arguments from a place up to another.
local function gather(rows, args, first, stop)
  for i = first, stop - 1 do
    rows[#rows + 1] = '0'
    rows[#rows + 1] = args[i]
  end
  return rows
end

-- Who writes says its epoch, behind a hyphen its lease in short, and behind a colon how many writes of the room it has seen.
-- A room that has had fewer came back older: nothing is written to it. Such a server may also have given an epoch twice; two
-- leases are never the same in short.
local function is_refused(epoch, token, commits, pass)
  local mine, lease, seen = string.match(pass, '^(%d+)%-?(%x*):?(%d*)$')
  return epoch ~= mine or lease ~= '' and lease ~= token or tonumber(commits or '0') < (tonumber(seen) or 0)
end

local function is_fenced(keys, pass)
  local room = call('HMGET', keys[ROOM], 'epoch', 'token', 'commits')
  return is_refused(room[1], room[2], room[3], pass)
end

-- A version, or the one below which no turn begins here, if that is said.
local function at_least(version, least)
  return least and tonumber(version) < tonumber(least) and least or version
end

-- The answer of a write that found nothing to do: its word, and how many writes the room has seen.
local function unwritten(keys, word)
  return { word, call('HGET', keys[ROOM], 'commits') or '0' }
end

-- The same of one that did something, once or so many times. A server that came back older shows by that number.
local function written(keys, word, times)
  if times == 0 then
    return unwritten(keys, word)
  end
  return { word, string.format('%.0f', call('HINCRBY', keys[ROOM], 'commits', times or 1)) }
end
