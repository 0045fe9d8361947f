-- What was said and is to be sent.

-- epoch, ids.
function functions.sending(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  for i = 2, #args do
    local row = row_of(keys[OUTBOX], args[i])
    if row then
      local _, place = field(row, FIELDS)
      if field(row, place) == 'once' then
        call('SADD', keys[SENDING], args[i])
      end
    end
  end
  return written(keys, 'done')
end

-- They surely were not sent. epoch, ids.
function functions.not_sent(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  for i = 2, #args do
    call('SREM', keys[SENDING], args[i])
  end
  return written(keys, 'done')
end
frees.not_sent = true

-- Messages that were sent and leave nothing to remember. epoch, ids.
function functions.sent(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  forget_sent(keys, args, 2)
  return written(keys, 'done')
end
frees.sent = true

-- A message as it is kept after it has failed: of a secret one without its body, which is the sixth field.
local function without_secret(row)
  local fields, place = {}, FIELDS
  for i = 1, 7 do
    fields[i], place = field(row, place)
  end
  if not string.find(fields[7], '"secret":true', 1, true) or not cjson.decode(fields[7]).secret then
    return row
  end
  fields[6] = '{}'
  return string.sub(row, 1, FIELDS - 1) .. packed(unpack(fields))
end

local settled = {
  -- id, nothing
  sent = function(keys, id)
    call('ZREMRANGEBYLEX', keys[OUTBOX], '[' .. id .. '|', '(' .. id .. '}')
    call('SREM', keys[SENDING], id)
  end,
  -- id, reason
  failed = function(keys, id, reason)
    local row = row_of(keys[OUTBOX], id)
    if row then
      call('ZREM', keys[OUTBOX], row)
      call('ZADD', keys[FAILED], field(row, FIELDS), without_secret(row) .. packed(reason))
      call('SREM', keys[SENDING], id)
    end
  end,
  -- label, message
  labelled = function(keys, label, message, at)
    call('HSET', keys[LABELS], label, message)
    call('ZADD', keys[LABEL_AGES], at, label)
  end,
}

-- epoch, at; then kind and two values for each.
function functions.settle(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  for i = 3, #args, 3 do
    settled[args[i]](keys, args[i + 1], args[i + 2], args[2])
  end
  return written(keys, 'done')
end
frees.settle = true

-- epoch, id, its row for another chat, 'yes' if it surely was not sent.
function functions.redirect(keys, args)
  local epoch, id, row, is_unsent = unpack(args)
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  local old = row_of(keys[OUTBOX], id)
  if old then
    call('ZREM', keys[OUTBOX], old)
    call('ZADD', keys[OUTBOX], 0, row)
  end
  if is_unsent == 'yes' then
    call('SREM', keys[SENDING], id)
  end
  return written(keys, 'done')
end

-- Takes a name, under which something is posted once; what to answer if it is not to be had.
local function not_taken(keys, epoch, at, name)
  if is_fenced(keys, epoch) then
    return { 'fenced' }
  end
  if call('ZSCORE', keys[POSTS], name) then
    return unwritten(keys, 'known')
  end
  call('ZADD', keys[POSTS], at, name)
end

-- epoch, at, name, rows.
function functions.post(keys, args)
  local refused = not_taken(keys, args[1], args[2], args[3])
  if refused then
    return refused
  end
  in_bulk('ZADD', keys[OUTBOX], gather({}, args, 4, #args + 1))
  return written(keys, 'new')
end

-- A message that was in the act elsewhere, and is to be sent once at most. epoch, at, name, its row.
function functions.post_unsure(keys, args)
  local epoch, at, name, row = unpack(args)
  local refused = not_taken(keys, epoch, at, name)
  if refused then
    return refused
  end
  call('ZADD', keys[OUTBOX], 0, row)
  call('SADD', keys[SENDING], string.sub(row, 1, FIELDS - 2))
  return written(keys, 'new')
end

-- A message that has failed elsewhere. epoch, at, name, its row, reason.
function functions.fail(keys, args)
  local epoch, at, name, row, reason = unpack(args)
  local refused = not_taken(keys, epoch, at, name)
  if refused then
    return refused
  end
  call('ZADD', keys[FAILED], at, without_secret(row) .. packed(reason))
  return written(keys, 'new')
end

-- Rows of a list and whether each is in a set; list and set are the only keys. after, limit.
function functions.page(keys, args)
  local rows = call('ZRANGEBYLEX', keys[1], '(' .. args[1] .. '}', '+', 'LIMIT', 0, args[2])
  local is_any = call('SCARD', keys[2]) > 0
  local out = {}
  for _, row in ipairs(rows) do
    out[#out + 1] = row
    out[#out + 1] = is_any and tostring(call('SISMEMBER', keys[2], string.sub(row, 1, FIELDS - 2))) or '0'
  end
  return out
end
only_reads.page = true

-- Rows of one conversation: an index by conversation and a list are the only keys. whose, after, limit.
function functions.page_of(keys, args)
  local who, after, limit = unpack(args)
  local found = call('ZRANGEBYLEX', keys[1], '(' .. who .. '|' .. after, '(' .. who .. '}', 'LIMIT', 0, limit)
  local out = {}
  for _, entry in ipairs(found) do
    out[#out + 1] = row_of(keys[2], string.sub(entry, #who + 2))
  end
  return out
end
only_reads.page_of = true
