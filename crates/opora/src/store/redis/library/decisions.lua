-- Turns that are decided in SQL, with the application's writes, before they are carried out here.
--
-- A conversation remembers the version of the last decision that was carried out, so each is carried out once, whoever
-- else has moved the conversation meanwhile. The arguments are those of a commit of one turn. What counts is the version
-- that a row has: the one below which no turn begins after a loss says nothing of what was carried out.

-- Where the marks of a single turn begin.
local MARKS_OF_ONE = 5

-- Of a conversation that was forgotten, or never seen, the floor of versions says it.
local function is_carried_out(old, to)
  local reached = old.is_known and old.decided or old.version
  return reached ~= '' and tonumber(reached) >= tonumber(to)
end

-- Says how a commit would end now, and changes nothing.
function functions.stands(keys, args)
  local room = call('HMGET', keys[ROOM], 'epoch', 'commits', 'floor', 'least', 'token')
  if is_refused(room[1], room[5], room[2], args[1]) then
    return { 'fenced' }
  end
  local marks, place = tonumber(args[3]), MARKS_OF_ONE + tonumber(args[3])
  local known = ask_marks(keys, args, MARKS_OF_ONE, marks)
  local shape, from = string.match(args[place], TURN)
  local takes = place + 2
  if not can_take_all(keys, known, args, takes, takes + read_shape({}, shape)[1]) then
    return { 'taken' }
  end
  local old = read_conversation(call('HGET', keys[CONV], args[4]), room[3], room[4])
  return { old.version == from and 'done' or 'overtaken' }
end
only_reads.stands = true

-- Takes what is still there. An update's mark is kept in any case.
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

-- Of a turn that is decided only an old epoch is refused. A conversation that is behind comes to the decision's version;
-- one that somebody else has moved there keeps its state.
function functions.carry_out(keys, args)
  local room = call('HMGET', keys[ROOM], 'epoch', 'commits', 'floor', 'least', 'marks_ms', 'token')
  if is_refused(room[1], room[6], room[2], args[1]) then
    return { 'fenced' }
  end
  local marks, place, who = tonumber(args[3]), MARKS_OF_ONE + tonumber(args[3]), args[4]
  local shape, _, to, at, kind, expires, new_place = string.match(args[place], TURN)
  local old = read_conversation(call('HGET', keys[CONV], who), room[3])
  if is_carried_out(old, to) then
    return unwritten(keys, 'known')
  end
  shape = read_shape({}, shape)
  local known, takes = ask_marks(keys, args, MARKS_OF_ONE, marks), place + 2
  local rest, changes, left = takes + shape[1], nothing_changed(), { messages = {}, effects = {}, moves = {} }
  take_what_is_there(keys, known, args, takes, rest, at)
  local way = leave_rest(keys, left, who, args, rest, shape, old.way)
  local is_behind, version = tonumber(old.version) < tonumber(to), at_least(to, room[4])
  if not is_behind then
    version = at_least(string.format('%.0f', tonumber(old.version) + 1), room[4])
    change(changes, who, old, version, at, old.expires, old.way, old.place, old.state, to)
  elseif kind == 'k' then
    change(changes, who, old, version, at, old.expires, way, old.place, old.state, to)
  else
    change(changes, who, old, version, at, expires, way, new_place, args[place + 1], to)
  end
  write_marks(keys, known, room[5])
  write_changes(keys, changes)
  in_bulk('ZADD', keys[OUTBOX], left.messages)
  in_bulk('ZADD', keys[EFFECTS], left.effects)
  if is_behind then
    in_bulk('ZADD', keys[MOVES], left.moves)
  end
  return written(keys, is_behind and 'done' or 'moved')
end

-- Whose and version to, for each decision; the places of those that are not carried out.
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
