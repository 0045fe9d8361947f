-- Who may write. The lease itself lies apart from the rooms; each room knows the one epoch that may write to it, and the
-- token of its lease in short. A full server refuses none of this: who cannot lead cannot free its memory.

-- The next epoch of all bots, above `floor`.
function functions.next_epoch(keys, args)
  local last = math.max(tonumber(call('GET', keys[1]) or '0'), tonumber(args[1]))
  local next_one = string.format('%.0f', last + 1)
  call('SET', keys[1], next_one)
  return { next_one }
end
frees.next_epoch = true

-- Notes that a bot has something here.
function functions.remember(keys, args)
  call('SADD', keys[1], args[1])
  return { 'done' }
end
frees.remember = true

-- Gives the lease to `holder` if nobody has it, or if it is still as it was seen. `view` is what the holder has seen of this
-- server, for those who stand by.
function functions.claim(keys, args)
  local epoch, holder, token, view, seen_epoch, seen_renewals, seen_token = unpack(args)
  local held = call('HMGET', keys[1], 'epoch', 'renewals', 'holder', 'token')
  if held[3] and not (held[1] == seen_epoch and held[2] == seen_renewals and held[4] == seen_token) then
    return { 'held', held[1], held[2], held[3] }
  end
  if held[1] and tonumber(held[1]) >= tonumber(epoch) then
    return { 'late', held[1] }
  end
  call('HSET', keys[1], 'epoch', epoch, 'renewals', '0', 'holder', holder, 'token', token, 'view', view)
  return { 'granted' }
end
frees.claim = true

-- Whether the lease is that of an epoch and a token.
local function is_held(lease, epoch, token)
  local held = call('HMGET', lease, 'epoch', 'token', 'holder')
  return held[1] == epoch and held[2] == token and held[3]
end

-- epoch, token, view.
function functions.renew(keys, args)
  if not is_held(keys[1], args[1], args[2]) then
    return { 'fenced' }
  end
  call('HSET', keys[1], 'view', args[3])
  call('HINCRBY', keys[1], 'renewals', 1)
  return { 'done' }
end
frees.renew = true

-- Ends the lease under a new epoch, which is nobody's; only that of `mine` and `token`, if it says them.
function functions.let_go(keys, args)
  local nobodys, mine, token = unpack(args)
  if mine ~= '' and not is_held(keys[1], mine, token) then
    return { 'fenced' }
  end
  local last = call('HGET', keys[1], 'epoch')
  call('HDEL', keys[1], 'holder', 'token', 'renewals', 'view')
  if not last or tonumber(last) < tonumber(nobodys) then
    call('HSET', keys[1], 'epoch', nobodys)
  end
  return { 'done' }
end
frees.let_go = true

-- Lets no epoch below this one write to the room any more, and of this one only the lease of that token; '' is nobody's. It
-- only ever rises: a slow claimer changes nothing. Answers the highest that is not to be had any more.
function functions.raise(keys, args)
  -- Conversations that went by their expiry had versions; the next ones begin above them, for nobody has had as many turns
  -- as there are seconds.
  if call('HGET', keys[ROOM], 'held') and call('EXISTS', keys[CONV]) == 0 then
    local floor = math.max(tonumber(call('HGET', keys[ROOM], 'floor') or '0'), tonumber(call('TIME')[1]))
    call('HSET', keys[ROOM], 'floor', string.format('%.0f', floor))
    call('HDEL', keys[ROOM], 'held')
  end
  local room = call('HMGET', keys[ROOM], 'epoch', 'token')
  local epoch = tonumber(room[1] or '-1')
  if epoch == tonumber(args[1]) and room[2] ~= args[2] then
    -- It was given before, and the rest of this server has forgotten that.
    return { string.format('%.0f', epoch + 1) }
  end
  if epoch >= tonumber(args[1]) then
    return { room[1] }
  end
  call('HSET', keys[ROOM], 'epoch', args[1], 'token', args[2])
  return { args[1] }
end
frees.raise = true

function functions.check(keys, args)
  return { is_fenced(keys, args[1]) and 'fenced' or 'done' }
end
only_reads.check = true
