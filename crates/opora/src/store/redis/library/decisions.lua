-- Carries out turns that were decided in SQL together with the application's writes.
--
-- A conversation stores the version of the last decision that was carried out, so each is carried out once, even if the
-- conversation was changed meanwhile. The arguments are those of a commit of one turn. The version in the row counts
-- here: the version floor after a loss says nothing about decisions.

-- The position of the first mark of a single turn.
local MARKS_OF_ONE = 5

-- For a conversation without a row, the floor decides.
local function is_carried_out(old, to)
  local reached = old.is_known and old.decided or old.version
  return reached ~= '' and tonumber(reached) >= tonumber(to)
end

-- The inbox floor of a turn: up to where every input of its conversation has left the inbox once the turn's own inputs
-- have. It is a bound of the queue: before the first other input that waits, or the last place that was given.
local function inbox_floor(keys, conversation, known, args, first, stop, last)
  local taken, mark = {}, known.next_mark
  for i = first, stop - 1 do
    local kind, id = string.sub(args[i], 1, 1), string.sub(args[i], 2)
    taken[kind == 'f' and known.waits[args[mark]] or id] = true
    if has_mark[kind] then
      mark = mark + 1
    end
  end
  local from, to = '[' .. conversation .. '|', '(' .. conversation .. '}'
  for _, member in ipairs(call('ZRANGEBYLEX', keys[QUEUE], from, to, 'LIMIT', 0, stop - first + 1)) do
    local seq = string.sub(member, #conversation + 2)
    if not taken[seq] then
      return '(' .. seq
    end
  end
  return last and '[' .. string.rep('0', 19 - #last) .. last or ''
end

-- How a commit would end now, and its inbox floor. Changes nothing.
function functions.stands(keys, args)
  local header = call('HMGET', keys[ROOM], 'epoch', 'commits', 'floor', 'least', 'token', 'last')
  if is_refused(header[1], header[5], header[2], args[1]) then
    return { 'fenced' }
  end
  local marks, place = tonumber(args[3]), MARKS_OF_ONE + tonumber(args[3])
  local known = ask_marks(keys, args, MARKS_OF_ONE, marks)
  local shape, from = string.match(args[place], TURN)
  local takes = place + 2
  local rest = takes + read_shape({}, shape)[1]
  if not can_take_all(keys, known, args, takes, rest) then
    return { 'taken' }
  end
  local old = read_conversation(call('HGET', keys[CONV], args[4]), header[3], header[4])
  if old.version ~= from then
    return { 'overtaken' }
  end
  return { 'done', inbox_floor(keys, args[4], known, args, takes, rest, header[6]) }
end
only_reads.stands = true

-- Takes the inputs that are still there. The mark of an update is stored in any case.
local function take_what_is_there(keys, known, args, first, stop, at)
  local mark = known.next_mark
  for i = first, stop - 1 do
    local kind, id = string.sub(args[i], 1, 1), string.sub(args[i], 2)
    if has_mark[kind] then
      take.f(keys, known, id, args[mark], at)
      mark = mark + 1
    elseif can_take[kind](keys, known, id) then
      take[kind](keys, known, id, nil, at)
    end
  end
end

-- Removes inputs that earlier turns took, and that wait again because the server has lost those turns. The state is
-- already past them, so they must not be processed in it.
local function drop_taken_before(keys, known, conversation, floor, at)
  local bound = string.sub(floor, 1, 1) .. conversation .. '|' .. string.sub(floor, 2)
  for _, member in ipairs(call('ZRANGEBYLEX', keys[QUEUE], '[' .. conversation .. '|', bound)) do
    drop_input(keys, row_of(keys[INBOX], string.sub(member, #conversation + 2)), known.news, at)
  end
end

-- Only an old epoch, or a server that came back older, refuses a decided turn. A conversation with a lower version gets
-- the decision's state and version; one that was changed meanwhile keeps its state. If the server may have lost earlier
-- turns, the inbox floor follows the turn.
function functions.carry_out(keys, args)
  local header = writable_header(keys, args[1])
  if not header then
    return { 'fenced' }
  end
  local marks, place, conversation = tonumber(args[3]), MARKS_OF_ONE + tonumber(args[3]), args[4]
  local shape, _, to, at, kind, expires, new_state_name = string.match(args[place], TURN)
  local old = read_conversation(call('HGET', keys[CONV], conversation), header[3])
  if is_carried_out(old, to) then
    return unwritten(keys, 'known')
  end
  shape = read_shape({}, shape)
  local known, takes = ask_marks(keys, args, MARKS_OF_ONE, marks), place + 2
  local rest, changes, left = takes + shape[1], nothing_changed(), { messages = {}, effects = {}, moves = {} }
  take_what_is_there(keys, known, args, takes, rest, at)
  local floor = args[rest + shape[2] + 4 * shape[3] + shape[4] + shape[5]]
  if floor and floor ~= '' then
    drop_taken_before(keys, known, conversation, floor, at)
  end
  local way = leave_rest(keys, left, conversation, args, rest, shape, old.way)
  local is_behind, version = tonumber(old.version) < tonumber(to), at_least(to, header[4])
  if not is_behind then
    version = at_least(string.format('%.0f', tonumber(old.version) + 1), header[4])
    change(changes, conversation, old, version, at, old.expires, old.way, old.state_name, old.state, to)
  elseif kind == 'k' then
    change(changes, conversation, old, version, at, old.expires, way, old.state_name, old.state, to)
  else
    change(changes, conversation, old, version, at, expires, way, new_state_name, args[place + 1], to)
  end
  if not is_behind then
    left.moves = {}
  end
  write_turns(keys, known, header[5], changes, left)
  return written(keys, is_behind and 'done' or 'moved')
end

-- Arguments: conversation and decided version, for each decision. Returns the positions of those that are not carried
-- out.
function functions.not_carried_out(keys, args)
  local places, floor = {}, call('HGET', keys[ROOM], 'floor')
  for i = 1, #args, 2 do
    if not is_carried_out(read_conversation(call('HGET', keys[CONV], args[i]), floor), args[i + 1]) then
      places[#places + 1] = tostring((i - 1) / 2)
    end
  end
  return places
end
only_reads.not_carried_out = true
