-- The turn: what comes before it, its opening, its commit, and its parking.

local function wait(keys, who, seq, row)
  call('ZADD', keys[INBOX], 0, row)
  call('ZADD', keys[QUEUE], 0, who .. '|' .. seq)
end

-- epoch, then for each input: its mark or '', whose it is, its number, its row.
function functions.receive(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local receipts = { 'done' }
  for i = 2, #args, 4 do
    local mark, who, seq, row = args[i], args[i + 1], args[i + 2], args[i + 3]
    if mark ~= '' and (call('ZSCORE', keys[MARKS], mark) or call('HSETNX', keys[WAITS], mark, seq) == 0) then
      receipts[#receipts + 1] = 'known'
    else
      wait(keys, who, seq, row)
      receipts[#receipts + 1] = 'new'
    end
  end
  return receipts
end

-- whose, mark or ''.
function functions.open(keys, args)
  if args[2] ~= '' and call('ZSCORE', keys[MARKS], args[2]) then
    return { 'taken' }
  end
  local row = call('HGET', keys[CONV], args[1])
  if row then
    return { 'known', row }
  end
  return { 'unknown', call('HGET', keys[ROOM], 'floor') or '0' }
end
only_reads.open = true

local function leave(keys, row, seq)
  call('ZREM', keys[INBOX], row)
  call('ZREM', keys[QUEUE], field(row, FIELDS) .. '|' .. seq)
end

local function mark_taken(keys, mark, at)
  call('ZADD', keys[MARKS], at, mark)
  call('PEXPIRE', keys[MARKS], MARKS_LIVE_MS)
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

-- For each kind of input whether it can be taken; the row that is found is kept for the taking.
local can_take = {
  update = function(keys, taken)
    taken.row = row_of(keys[INBOX], taken.id)
    return taken.row and not call('ZSCORE', keys[MARKS], taken.mark)
  end,
  fresh = function(keys, taken)
    return not call('ZSCORE', keys[MARKS], taken.mark)
  end,
  outcome = function(keys, taken)
    taken.row = row_of(keys[INBOX], taken.id)
    return taken.row
  end,
  timer = function(keys, taken)
    return call('HEXISTS', keys[TIMER], taken.id) == 1
  end,
  parked = function(keys, taken)
    taken.row = row_of(keys[PARKED], taken.id)
    return taken.row
  end,
}

local take = {
  update = function(keys, taken, at)
    leave(keys, taken.row, taken.id)
    call('HDEL', keys[WAITS], taken.mark)
    mark_taken(keys, taken.mark, at)
  end,
  fresh = function(keys, taken, at)
    local seq = call('HGET', keys[WAITS], taken.mark)
    local row = seq and row_of(keys[INBOX], seq)
    if row then
      leave(keys, row, seq)
      call('HDEL', keys[WAITS], taken.mark)
    end
    mark_taken(keys, taken.mark, at)
  end,
  outcome = function(keys, taken)
    leave(keys, taken.row, taken.id)
  end,
  timer = function(keys, taken)
    drop_timer(keys, taken.id)
  end,
  parked = function(keys, taken)
    call('ZREM', keys[PARKED], taken.row)
    call('SREM', keys[RETRY], taken.id)
  end,
}

-- Reads what is to be taken; nothing if any of it is taken already.
local function takes_of(keys, next_one)
  local takes = {}
  for i = 1, tonumber(next_one()) do
    local kind, id, mark = next_one(), next_one(), next_one()
    takes[i] = { kind = kind, id = id, mark = mark }
    if not can_take[kind](keys, takes[i]) then
      return nil
    end
  end
  return takes
end

local function take_all(keys, takes, at)
  for _, taken in ipairs(takes) do
    take[taken.kind](keys, taken, at)
  end
end

local function add_all(list, next_one)
  for _ = 1, tonumber(next_one()) do
    call('ZADD', list, 0, next_one())
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

-- epoch, at, a word for what comes later, whose, version from and to; number of takes and each of them (kind, id, mark);
-- change and the new expires, place, stored; outbox rows; timers (name, id or '' to cancel, due, row); effects; transitions
-- (id, row).
function functions.commit(keys, args)
  local next_one = reader(args)
  local epoch, at, _, who, from, to = next_one(), next_one(), next_one(), next_one(), next_one(), next_one()
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  local takes = takes_of(keys, next_one)
  if not takes then
    return { 'taken' }
  end
  local old = standing(keys, who)
  if old.version ~= from then
    return { 'overtaken' }
  end
  take_all(keys, takes, at)
  local change, expires, place, stored = next_one(), next_one(), next_one(), next_one()
  if change == 'keep' then
    expires, place, stored = old.expires, old.place, old.stored
  end
  write(keys, who, old, { version = to, at = at, expires = expires, place = place, stored = stored })
  add_all(keys[OUTBOX], next_one)
  for _ = 1, tonumber(next_one()) do
    set_timer(keys, who, next_one(), next_one(), next_one(), next_one())
  end
  add_all(keys[EFFECTS], next_one)
  for _ = 1, tonumber(next_one()) do
    local id, row = next_one(), next_one()
    call('ZADD', keys[MOVES], 0, row)
    call('ZADD', keys[WAYS], 0, who .. '|' .. id)
  end
  return { 'done' }
end

-- epoch, at; takes as above; the parked row; outbox rows.
function functions.park(keys, args)
  local next_one = reader(args)
  local epoch, at = next_one(), next_one()
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  local takes = takes_of(keys, next_one)
  if not takes then
    return { 'taken' }
  end
  take_all(keys, takes, at)
  call('ZADD', keys[PARKED], 0, next_one())
  add_all(keys[OUTBOX], next_one)
  return { 'done' }
end

-- epoch, effect; whose, number and row of its outcome.
function functions.finish_effect(keys, args)
  local epoch, effect, who, seq, row = unpack(args)
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  local asked = row_of(keys[EFFECTS], effect)
  if not asked then
    return { 'known' }
  end
  call('ZREM', keys[EFFECTS], asked)
  wait(keys, who, seq, row)
  return { 'new' }
end
