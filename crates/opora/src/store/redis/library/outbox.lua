-- The outbox.

-- Notes messages that are being sent and must not be sent twice. Arguments: precondition, ids.
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

-- Notes messages that were certainly not sent. Arguments: precondition, ids.
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

-- Removes sent messages without labels. Arguments: precondition, ids.
function functions.sent(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  forget_sent(keys, args, 2)
  return written(keys, 'done')
end
frees.sent = true

-- A failed message as it is kept: a secret one loses its body, which is the sixth field.
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

-- Arguments: precondition, at; then kind and two values for each message.
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

-- Arguments: precondition, id, the new row, 'yes' if it was certainly not sent.
function functions.redirect(keys, args)
  local precondition, id, row, is_unsent = unpack(args)
  if is_fenced(keys, precondition) then
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

-- Reserves a name under which something is posted once. Returns an answer if that is refused.
local function reserve_post(keys, precondition, at, name)
  if is_fenced(keys, precondition) then
    return { 'fenced' }
  end
  if call('ZSCORE', keys[POSTS], name) then
    return unwritten(keys, 'known')
  end
  call('ZADD', keys[POSTS], at, name)
end

-- Arguments: precondition, at, name, rows.
function functions.post(keys, args)
  local refused = reserve_post(keys, args[1], args[2], args[3])
  if refused then
    return refused
  end
  in_bulk('ZADD', keys[OUTBOX], gather({}, args, 4, #args + 1))
  return written(keys, 'new')
end

-- Posts a message that was being sent elsewhere and must not be sent twice. Arguments: precondition, at, name, row.
function functions.post_unsure(keys, args)
  local precondition, at, name, row = unpack(args)
  local refused = reserve_post(keys, precondition, at, name)
  if refused then
    return refused
  end
  call('ZADD', keys[OUTBOX], 0, row)
  call('SADD', keys[SENDING], string.sub(row, 1, FIELDS - 2))
  return written(keys, 'new')
end

-- Stores a message that failed elsewhere. Arguments: precondition, at, name, row, reason.
function functions.fail(keys, args)
  local precondition, at, name, row, reason = unpack(args)
  local refused = reserve_post(keys, precondition, at, name)
  if refused then
    return refused
  end
  call('ZADD', keys[FAILED], at, without_secret(row) .. packed(reason))
  return written(keys, 'new')
end

-- Rows of a list, each with whether its id is in a set. Keys: list, set. Arguments: after, limit.
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

-- Rows of one conversation. Keys: index by conversation, list. Arguments: conversation, after, limit.
function functions.page_of(keys, args)
  local conversation, after, limit = unpack(args)
  local found = call('ZRANGEBYLEX', keys[1], '(' .. conversation .. '|' .. after, '(' .. conversation .. '}', 'LIMIT', 0, limit)
  local out = {}
  for _, entry in ipairs(found) do
    out[#out + 1] = row_of(keys[2], string.sub(entry, #conversation + 2))
  end
  return out
end
only_reads.page_of = true
