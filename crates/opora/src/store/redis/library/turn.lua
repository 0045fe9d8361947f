-- Turns: inbox, open, commit, park. A commit has several turns: what they need is read once for all, they are decided
-- one after another, and their results are written once.

-- The head of a turn, see `commit`.
local TURN = '^([%d ]+);(%d+) (%d+) (%S+) (%a) (%S*) (.*)$'

-- The next inbox id. It always rises; its lowest bits are the partition. The first one is above every id of the
-- header's epoch.
local function next_inbox_id(keys, partition)
  if call('HINCRBY', keys[ROOM], 'last', 16) == 16 then
    local epoch = tonumber(call('HGET', keys[ROOM], 'epoch') or '-1')
    call('HINCRBY', keys[ROOM], 'last', string.format('%.0f', (epoch + 1) * 2 ^ 40))
    call('HINCRBY', keys[ROOM], 'last', partition)
  end
  -- Read as a text: a Lua number would lose the last digits.
  local place = call('HGET', keys[ROOM], 'last')
  return string.rep('0', 19 - #place) .. place
end

-- Resets the expiry of marks. `live_ms` is the header's `marks_ms`.
local function reset_marks_expiry(keys, live_ms)
  call('PEXPIRE', keys[MARKS], string.format('%.0f', (tonumber(live_ms) or MARKS_LIVE_MS) + MARKS_LIVE_MORE_MS))
end

local function write_marks(keys, known, live_ms)
  if #known.news > 0 then
    in_bulk('ZADD', keys[MARKS], known.news)
    if call('PTTL', keys[MARKS]) < (tonumber(live_ms) or MARKS_LIVE_MS) then
      reset_marks_expiry(keys, live_ms)
    end
  end
end

local function wait(keys, conversation, seq, row)
  call('ZADD', keys[INBOX], 0, seq .. '|' .. row)
  call('ZADD', keys[QUEUE], 0, conversation .. '|' .. seq)
end

local function is_waited_for(keys, conversation)
  return #call('ZRANGEBYLEX', keys[QUEUE], '[' .. conversation .. '|', '(' .. conversation .. '}', 'LIMIT', 0, 1) > 0
end

-- Stores the mark of an input that has none by nature, at the server's time.
local function take_own_mark(keys, mark)
  write_marks(keys, { news = { call('TIME')[1] .. '000', mark } }, call('HGET', keys[ROOM], 'marks_ms'))
end

-- Stores inputs in the inbox, see `receive`, and adds the result of each to the answer.
local function put_all(keys, args, answer, tells_first)
  local partition = args[2]
  for i = 3, #args, 3 do
    local own, mark = string.match(args[i], '^(=?)(.*)$')
    local conversation, row = args[i + 1], args[i + 2]
    if mark ~= '' and (call('ZSCORE', keys[MARKS], mark) or call('HEXISTS', keys[WAITS], mark) == 1) then
      answer[#answer + 1] = 'known'
    else
      local seq = next_inbox_id(keys, partition)
      local is_first = tells_first and not is_waited_for(keys, conversation)
      if own ~= '' then
        take_own_mark(keys, mark)
      elseif mark ~= '' then
        call('HSET', keys[WAITS], mark, seq)
      end
      wait(keys, conversation, seq, row)
      answer[#answer + 1] = (is_first and '+' or '') .. seq
    end
  end
  return answer
end

-- Arguments: precondition, partition; then for each input: mark or '', conversation, row without id. Returns the id of
-- each. A mark after an equals sign is for an input that has none by nature: it is stored as processed at once.
function functions.receive(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  return put_all(keys, args, written(keys, 'done'), false)
end

-- As `receive`, for any instance, without a lease. The first argument and the first result are `writes:delivered`: the
-- numbers of writes and of delivered inputs that the instance has seen, and that there are. An id has a + if nothing
-- else of the conversation waits. Deliveries have a counter of their own: an instance that has seen fewer writes than
-- the leader would otherwise hide that writes are missing.
function functions.deliver(keys, args)
  local header = call('HMGET', keys[ROOM], 'commits', 'delivered')
  local commits, delivered = header[1] or '0', header[2] or '0'
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

-- Arguments: for each conversation its name, and a mark or ''. Returns a word and a text for each.
function functions.open(keys, args)
  local names, marks = {}, {}
  for i = 1, #args, 2 do
    names[#names + 1] = args[i]
    marks[#marks + 1] = args[i + 1]
  end
  local taken, rows = call('ZMSCORE', keys[MARKS], unpack(marks)), call('HMGET', keys[CONV], unpack(names))
  local out, header = {}, call('HMGET', keys[ROOM], 'floor', 'least')
  for i, row in ipairs(rows) do
    if taken[i] then
      out[#out + 1] = 'taken'
      out[#out + 1] = ''
    elseif row then
      out[#out + 1] = 'known'
      out[#out + 1] = header[2] and string.gsub(row, '^%d+', function(version) return at_least(version, header[2]) end) or row
    else
      out[#out + 1] = 'unknown'
      out[#out + 1] = at_least(header[1] or '0', header[2])
    end
  end
  return out
end
only_reads.open = true

local function leave(keys, row, seq)
  call('ZREM', keys[INBOX], row)
  call('ZREM', keys[QUEUE], field(row, FIELDS) .. '|' .. seq)
end

-- Removes an input without a turn. The mark of an update is added to `news`, to be stored as processed.
local function drop_input(keys, row, news, at)
  local fields, place = {}, FIELDS
  for i = 1, 5 do
    fields[i], place = field(row, place)
  end
  leave(keys, row, string.sub(row, 1, FIELDS - 2))
  if fields[3] == 'update' then
    local mark = fields[4] .. ':' .. fields[5]
    call('HDEL', keys[WAITS], mark)
    news[#news + 1] = at
    news[#news + 1] = mark
  end
end

local function drop_timer(keys, id)
  local row = call('HGET', keys[TIMER], id)
  if not row then
    return
  end
  local conversation, place = field(row, 1)
  call('HDEL', keys[NAMES], packed(conversation) .. field(row, place))
  call('HDEL', keys[TIMER], id)
  call('ZREM', keys[TIMERS], id)
end

-- Reads the marks in the arguments: which are processed, and the inbox ids of those that wait. Marks are in the order
-- of the inputs that have one; `next_mark` is the position of the next.
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

-- For each kind of input: whether it can be taken. A row that was found is kept for `take`.
local can_take = {
  -- A direct update.
  f = function(_, known, _, mark)
    return not known.taken[mark]
  end,
  -- A waiting update. After a loss its id may belong to another input, which must stay.
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

-- Whether all inputs in the arguments can be taken, and the position of the next mark. An input is the letter of its
-- kind and its id.
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

local function set_timer(keys, conversation, name, id, due_at, row)
  local named = packed(conversation) .. name
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

-- The numbers of inputs, messages, timers, effects and transitions of a turn. There are few different shapes, so they
-- are cached.
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

-- Collects what a turn writes; sets its timers. Returns the id of the conversation's last transition, or ''.
local function leave_rest(keys, left, conversation, args, place, shape, way)
  local stop = place + shape[2]
  gather(left.messages, args, place, stop)
  for _ = 1, shape[3] do
    set_timer(keys, conversation, args[stop], args[stop + 1], args[stop + 2], args[stop + 3])
    stop = stop + 4
  end
  gather(left.effects, args, stop, stop + shape[4])
  if shape[5] == 0 then
    return way
  end
  local row, moves = args[stop + shape[4]], left.moves
  moves[#moves + 1] = '0'
  -- A transition has the id of the one before, so a conversation needs no list of its own.
  moves[#moves + 1] = row .. packed(way)
  return string.sub(row, 1, FIELDS - 2)
end

-- The header of a partition that turns are written to; nil if their precondition does not hold.
local function writable_header(keys, precondition)
  local header = call('HMGET', keys[ROOM], 'epoch', 'commits', 'floor', 'least', 'marks_ms', 'token')
  return not is_refused(header[1], header[6], header[2], precondition) and header
end

local function write_turns(keys, known, marks_ms, changes, left)
  write_marks(keys, known, marks_ms)
  write_changes(keys, changes)
  in_bulk('ZADD', keys[OUTBOX], left.messages)
  in_bulk('ZADD', keys[EFFECTS], left.effects)
  in_bulk('ZADD', keys[MOVES], left.moves)
end

-- Removes sent messages: the arguments from `first` on are their ids.
local function forget_sent(keys, args, first)
  for i = first, #args do
    call('ZREMRANGEBYLEX', keys[OUTBOX], '[' .. args[i] .. '|', '(' .. args[i] .. '}')
  end
  if call('EXISTS', keys[SENDING]) == 1 then
    in_bulk('SREM', keys[SENDING], { unpack(args, first) })
  end
end

-- Arguments: precondition; number of turns and of marks; the turns' conversations; the marks of their inputs; then each
-- turn:
--   `inputs messages timers effects transitions;from to at change expires state_name`, where change is k to keep the
--   state, and s to set or clear it; the state or ''; inputs; outbox rows; timers (name, id or '' to cancel, due, row);
--   effects; at most one transition.
-- After the turns: ids of sent messages. Returns a word for each turn.
function functions.commit(keys, args)
  local header = writable_header(keys, args[1])
  if not header then
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
    local conversation = args[3 + i]
    local old = changes.now[conversation] or read_conversation(rows[i], header[3], header[4])
    local shape, from, to, at, kind, expires, new_state_name = string.match(args[place], TURN)
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
      local way = leave_rest(keys, left, conversation, args, rest, shape, old.way)
      if kind == 'k' then
        change(changes, conversation, old, to, at, old.expires, way, old.state_name, old.state)
      else
        change(changes, conversation, old, to, at, expires, way, new_state_name, args[place + 1])
      end
      words[i], done = 'done', done + 1
    end
    known.next_mark = next_mark
    place = rest + shape[2] + 4 * shape[3] + shape[4] + shape[5]
  end
  write_turns(keys, known, header[5], changes, left)
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

-- Arguments: precondition, at; number of inputs and of marks; the marks, the inputs; the parked row; outbox rows.
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

-- Arguments: precondition, partition, effect; the conversation of its outcome, and the outcome's row without id.
function functions.finish_effect(keys, args)
  local precondition, partition, effect, conversation, row = unpack(args)
  if is_fenced(keys, precondition) then
    return { 'fenced' }
  end
  local asked = row_of(keys[EFFECTS], effect)
  if not asked then
    return unwritten(keys, 'known')
  end
  call('ZREM', keys[EFFECTS], asked)
  local seq = next_inbox_id(keys, partition)
  wait(keys, conversation, seq, row)
  local answer = written(keys, 'new')
  answer[3] = seq
  return answer
end
