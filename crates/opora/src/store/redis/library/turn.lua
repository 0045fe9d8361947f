-- The turn: what comes before it, its opening, its commit, and its parking. Turns that are ready together come together:
-- what they need to know is asked once for all, they are decided one after another, and what they leave is written once.

-- How a turn begins, see `commit`.
local TURN = '^([%d ]+);(%d+) (%d+) (%S+) (%a) (%S*) (.*)$'

-- The next place in the inbox. It rises whoever brings something; its lowest bits name the partition. The first one is
-- above every number that the room's epoch has given.
local function next_place(keys, partition)
  if call('HINCRBY', keys[ROOM], 'last', 16) == 16 then
    local epoch = tonumber(call('HGET', keys[ROOM], 'epoch') or '-1')
    call('HINCRBY', keys[ROOM], 'last', string.format('%.0f', (epoch + 1) * 2 ^ 40))
    call('HINCRBY', keys[ROOM], 'last', partition)
  end
  -- Read as a text: a number of Lua's would lose its last digits.
  local place = call('HGET', keys[ROOM], 'last')
  return string.rep('0', 19 - #place) .. place
end

-- Gives marks their time anew; `live_ms` is what the room was told of it.
local function let_marks_live(keys, live_ms)
  call('PEXPIRE', keys[MARKS], string.format('%.0f', (tonumber(live_ms) or MARKS_LIVE_MS) + MARKS_LIVE_MORE_MS))
end

local function write_marks(keys, known, live_ms)
  if #known.news > 0 then
    in_bulk('ZADD', keys[MARKS], known.news)
    if call('PTTL', keys[MARKS]) < (tonumber(live_ms) or MARKS_LIVE_MS) then
      let_marks_live(keys, live_ms)
    end
  end
end

local function wait(keys, who, seq, row)
  call('ZADD', keys[INBOX], 0, seq .. '|' .. row)
  call('ZADD', keys[QUEUE], 0, who .. '|' .. seq)
end

local function is_waited_for(keys, who)
  return #call('ZRANGEBYLEX', keys[QUEUE], '[' .. who .. '|', '(' .. who .. '}', 'LIMIT', 0, 1) > 0
end

-- Takes a mark that only says that an input has come, as of the server's own time.
local function take_own_mark(keys, mark)
  write_marks(keys, { news = { call('TIME')[1] .. '000', mark } }, call('HGET', keys[ROOM], 'marks_ms'))
end

-- Puts inputs into the inbox, see `receive`, and adds what became of each to the answer.
local function put_all(keys, args, answer, tells_first)
  local partition = args[2]
  for i = 3, #args, 3 do
    local own, mark = string.match(args[i], '^(=?)(.*)$')
    local who, row = args[i + 1], args[i + 2]
    if mark ~= '' and (call('ZSCORE', keys[MARKS], mark) or call('HEXISTS', keys[WAITS], mark) == 1) then
      answer[#answer + 1] = 'known'
    else
      local seq = next_place(keys, partition)
      local is_first = tells_first and not is_waited_for(keys, who)
      if own ~= '' then
        take_own_mark(keys, mark)
      elseif mark ~= '' then
        call('HSET', keys[WAITS], mark, seq)
      end
      wait(keys, who, seq, row)
      answer[#answer + 1] = (is_first and '+' or '') .. seq
    end
  end
  return answer
end

-- epoch, partition; then for each input: its mark or '', whose it is, its row without a number. Answers the number of each.
-- Behind an equals sign stands the mark of an input that has none by nature: it is used up with its coming.
function functions.receive(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  return put_all(keys, args, written(keys, 'done'), false)
end

-- The same of any instance, with an epoch or without: in its place stands how many writes of the room it has seen, and behind
-- a colon how many inputs that were delivered; both are answered so. Numbers are answered after a + where nothing else of the
-- conversation waits. It is counted apart: who has seen less than the one who works would make a room that came back older
-- look as if no write was missing.
function functions.deliver(keys, args)
  local room = call('HMGET', keys[ROOM], 'commits', 'delivered')
  local commits, delivered = room[1] or '0', room[2] or '0'
  local seen_commits, seen_delivered = string.match(args[1], '^(%d+):(%d+)$')
  if tonumber(commits) < tonumber(seen_commits) or tonumber(delivered) < tonumber(seen_delivered) then
    return { 'older' }
  end
  local answer, new = put_all(keys, args, { 'done', '' }, true), 0
  for i = 3, #answer do
    new = new + (answer[i] == 'known' and 0 or 1)
  end
  if new > 0 then
    delivered = string.format('%.0f', call('HINCRBY', keys[ROOM], 'delivered', new))
  end
  answer[2] = commits .. ':' .. delivered
  return answer
end

-- For each conversation: whose, mark or ''. Answers a word and a text for each.
function functions.open(keys, args)
  local names, marks = {}, {}
  for i = 1, #args, 2 do
    names[#names + 1] = args[i]
    marks[#marks + 1] = args[i + 1]
  end
  local taken, rows = call('ZMSCORE', keys[MARKS], unpack(marks)), call('HMGET', keys[CONV], unpack(names))
  local out, room = {}, call('HMGET', keys[ROOM], 'floor', 'least')
  for i, row in ipairs(rows) do
    if taken[i] then
      out[#out + 1] = 'taken'
      out[#out + 1] = ''
    elseif row then
      out[#out + 1] = 'known'
      out[#out + 1] = room[2] and string.gsub(row, '^%d+', function(version) return at_least(version, room[2]) end) or row
    else
      out[#out + 1] = 'unknown'
      out[#out + 1] = at_least(room[1] or '0', room[2])
    end
  end
  return out
end
only_reads.open = true

local function leave(keys, row, seq)
  call('ZREM', keys[INBOX], row)
  call('ZREM', keys[QUEUE], field(row, FIELDS) .. '|' .. seq)
end

local function drop_timer(keys, id)
  local row = call('HGET', keys[TIMER], id)
  if not row then
    return
  end
  local who, place = field(row, 1)
  call('HDEL', keys[NAMES], packed(who) .. field(row, place))
  call('HDEL', keys[TIMER], id)
  call('ZREM', keys[TIMERS], id)
end

-- What is known of the marks at some places of the arguments: which were taken, and where those of others wait. The marks
-- are asked for one after another, in the order of the takes that have one.
local function ask_marks(keys, args, first, number)
  local known = { next_mark = first, taken = {}, waits = {}, rows = {}, news = {} }
  if number > 0 then
    local stop = first + number - 1
    local taken = call('ZMSCORE', keys[MARKS], unpack(args, first, stop))
    local waits = call('HMGET', keys[WAITS], unpack(args, first, stop))
    for i = 1, number do
      local mark = args[first + i - 1]
      known.taken[mark], known.waits[mark] = taken[i], waits[i]
    end
  end
  return known
end

-- For each kind of input whether it can be taken; a row that is found is kept for the taking.
local can_take = {
  -- A fresh update.
  f = function(_, known, _, mark)
    return not known.taken[mark]
  end,
  -- An update that waits. After a loss its place may have been given to another one, which is not to go with it.
  u = function(keys, known, id, mark)
    known.rows[id] = known.waits[mark] == id and row_of(keys[INBOX], id)
    return known.rows[id] and not known.taken[mark]
  end,
  -- An outcome.
  o = function(keys, known, id)
    known.rows[id] = row_of(keys[INBOX], id)
    return known.rows[id]
  end,
  -- A timer.
  t = function(keys, _, id)
    return call('HEXISTS', keys[TIMER], id) == 1
  end,
  -- A parked turn.
  p = function(keys, known, id)
    known.rows[id] = row_of(keys[PARKED], id)
    return known.rows[id]
  end,
}

local has_mark = { f = true, u = true }

local function mark_taken(known, mark, at)
  local news = known.news
  known.taken[mark] = at
  news[#news + 1] = at
  news[#news + 1] = mark
end

local take = {
  f = function(keys, known, _, mark, at)
    local seq = known.waits[mark]
    local row = seq and row_of(keys[INBOX], seq)
    if row then
      leave(keys, row, seq)
      call('HDEL', keys[WAITS], mark)
    end
    mark_taken(known, mark, at)
  end,
  u = function(keys, known, id, mark, at)
    leave(keys, known.rows[id], id)
    call('HDEL', keys[WAITS], mark)
    mark_taken(known, mark, at)
  end,
  o = function(keys, known, id)
    leave(keys, known.rows[id], id)
  end,
  t = function(keys, _, id)
    drop_timer(keys, id)
  end,
  p = function(keys, known, id)
    call('ZREM', keys[PARKED], known.rows[id])
    call('SREM', keys[RETRY], id)
  end,
}

-- Whether all takes at some places of the arguments can be taken, and where the marks behind theirs begin. A take is the
-- letter of its kind and its number.
local function can_take_all(keys, known, args, first, stop)
  local can, mark = true, known.next_mark
  for i = first, stop - 1 do
    local kind = string.sub(args[i], 1, 1)
    can = can and can_take[kind](keys, known, string.sub(args[i], 2), args[mark])
    if has_mark[kind] then
      mark = mark + 1
    end
  end
  return can, mark
end

local function take_all(keys, known, args, first, stop, at)
  local mark = known.next_mark
  for i = first, stop - 1 do
    local kind = string.sub(args[i], 1, 1)
    take[kind](keys, known, string.sub(args[i], 2), args[mark], at)
    if has_mark[kind] then
      mark = mark + 1
    end
  end
end

local function set_timer(keys, who, name, id, due_at, row)
  local named = packed(who) .. name
  local former = call('HGET', keys[NAMES], named)
  if former then
    drop_timer(keys, former)
  end
  if id ~= '' then
    call('HSET', keys[NAMES], named, id)
    call('HSET', keys[TIMER], id, row)
    call('ZADD', keys[TIMERS], due_at, id)
  end
end

-- How many takes, messages, timers, effects and transitions a turn has. There are few different shapes.
local function read_shape(shapes, text)
  local shape = shapes[text]
  if not shape then
    shape = {}
    for number in string.gmatch(text, '%d+') do
      shape[#shape + 1] = tonumber(number)
    end
    shapes[text] = shape
  end
  return shape
end

-- Notes what a turn leaves behind its takes; answers the number of its transition, or ''.
local function leave_rest(keys, left, who, args, place, shape, way)
  local stop = place + shape[2]
  gather(left.messages, args, place, stop)
  for _ = 1, shape[3] do
    set_timer(keys, who, args[stop], args[stop + 1], args[stop + 2], args[stop + 3])
    stop = stop + 4
  end
  gather(left.effects, args, stop, stop + shape[4])
  if shape[5] == 0 then
    return way
  end
  local row, moves = args[stop + shape[4]], left.moves
  moves[#moves + 1] = '0'
  -- A record knows the one before it: so a conversation's way is found without a list of its own.
  moves[#moves + 1] = row .. packed(way)
  return string.sub(row, 1, FIELDS - 2)
end

-- Forgets messages that were sent: their ids stand in the arguments from a place on.
local function forget_sent(keys, args, first)
  for i = first, #args do
    call('ZREMRANGEBYLEX', keys[OUTBOX], '[' .. args[i] .. '|', '(' .. args[i] .. '}')
  end
  if call('EXISTS', keys[SENDING]) == 1 then
    in_bulk('SREM', keys[SENDING], { unpack(args, first) })
  end
end

-- epoch; number of turns and of marks; whose the turns are; the marks of what they take; then each turn:
--   `takes messages timers effects transitions;from to at change expires place`, where change is k to keep the state, and s
--   to set or clear it; the state or ''; takes; outbox rows; timers (name, id or '' to cancel, due, row); effects; at most
--   one transition.
-- Behind the turns: messages that were sent. Answers a word for each turn.
function functions.commit(keys, args)
  local room = call('HMGET', keys[ROOM], 'epoch', 'commits', 'floor', 'least', 'marks_ms', 'token')
  if is_refused(room[1], room[6], room[2], args[1]) then
    return { 'fenced' }
  end
  local turns, marks = tonumber(args[2]), tonumber(args[3])
  local place = 4 + turns
  local rows = call('HMGET', keys[CONV], unpack(args, 4, place - 1))
  local known = ask_marks(keys, args, place, marks)
  local words, done, shapes = {}, 0, {}
  local changes, left = nothing_changed(), { messages = {}, effects = {}, moves = {} }
  place = place + marks
  for i = 1, turns do
    local who = args[3 + i]
    local old = changes.now[who] or read_conversation(rows[i], room[3], room[4])
    local shape, from, to, at, kind, expires, new_place = string.match(args[place], TURN)
    shape = read_shape(shapes, shape)
    local takes = place + 2
    local rest = takes + shape[1]
    local can, next_mark = can_take_all(keys, known, args, takes, rest)
    if not can then
      words[i] = 'taken'
    elseif old.version ~= from then
      words[i] = 'overtaken'
    else
      take_all(keys, known, args, takes, rest, at)
      local way = leave_rest(keys, left, who, args, rest, shape, old.way)
      if kind == 'k' then
        change(changes, who, old, to, at, old.expires, way, old.place, old.state)
      else
        change(changes, who, old, to, at, expires, way, new_place, args[place + 1])
      end
      words[i], done = 'done', done + 1
    end
    known.next_mark = next_mark
    place = rest + shape[2] + 4 * shape[3] + shape[4] + shape[5]
  end
  write_marks(keys, known, room[5])
  write_changes(keys, changes)
  in_bulk('ZADD', keys[OUTBOX], left.messages)
  in_bulk('ZADD', keys[EFFECTS], left.effects)
  in_bulk('ZADD', keys[MOVES], left.moves)
  if place <= #args then
    forget_sent(keys, args, place)
    done = done + 1
  end
  local answer = written(keys, 'done', done)
  for i, word in ipairs(words) do
    answer[i + 2] = word
  end
  return answer
end

-- epoch, at; number of takes and of marks; the marks, the takes; the parked row; outbox rows.
function functions.park(keys, args)
  local at, number, marks = args[2], tonumber(args[3]), tonumber(args[4])
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local known, takes = ask_marks(keys, args, 5, marks), 5 + marks
  local rest = takes + number
  if not can_take_all(keys, known, args, takes, rest) then
    return { 'taken' }
  end
  take_all(keys, known, args, takes, rest, at)
  write_marks(keys, known, call('HGET', keys[ROOM], 'marks_ms'))
  call('ZADD', keys[PARKED], 0, args[rest])
  in_bulk('ZADD', keys[OUTBOX], gather({}, args, rest + 1, #args + 1))
  return written(keys, 'done')
end

-- epoch, partition, effect; whose its outcome is, and its row without a number.
function functions.finish_effect(keys, args)
  local epoch, partition, effect, who, row = unpack(args)
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  local asked = row_of(keys[EFFECTS], effect)
  if not asked then
    return unwritten(keys, 'known')
  end
  call('ZREM', keys[EFFECTS], asked)
  local seq = next_place(keys, partition)
  wait(keys, who, seq, row)
  local answer = written(keys, 'new')
  answer[3] = seq
  return answer
end
