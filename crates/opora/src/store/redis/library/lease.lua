-- Leases. The lease is a key of its own; each partition header holds the epoch that may write, and the hash of its
-- lease's token. These functions work without free memory: only a leader can free memory.

-- The next epoch of all bots. Argument: the epoch that it must be above.
function functions.next_epoch(keys, args)
  local last = math.max(tonumber(call('GET', keys[1]) or '0'), tonumber(args[1]))
  local next_one = string.format('%.0f', last + 1)
  call('SET', keys[1], next_one)
  return { next_one }
end
frees.next_epoch = true

-- Adds a bot to the set of bots.
function functions.remember(keys, args)
  call('SADD', keys[1], args[1])
  return { 'done' }
end
frees.remember = true

-- Grants the lease if it is free, or if it is still as the claimer has seen it. `view` is what the claimer has seen of
-- this server, for standbys.
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

-- Whether the lease has this epoch and token.
local function is_held(lease, epoch, token)
  local held = call('HMGET', lease, 'epoch', 'token', 'holder')
  return held[1] == epoch and held[2] == token and held[3]
end

-- Arguments: epoch, token, view.
function functions.renew(keys, args)
  if not is_held(keys[1], args[1], args[2]) then
    return { 'fenced' }
  end
  call('HSET', keys[1], 'view', args[3])
  call('HINCRBY', keys[1], 'renewals', 1)
  return { 'done' }
end
frees.renew = true

-- Ends the lease under a new epoch without a holder. With `mine` and `token`, only that lease.
function functions.let_go(keys, args)
  local new_epoch, mine, token = unpack(args)
  if mine ~= '' and not is_held(keys[1], mine, token) then
    return { 'fenced' }
  end
  local last = call('HGET', keys[1], 'epoch')
  call('HDEL', keys[1], 'holder', 'token', 'renewals', 'view')
  if not last or tonumber(last) < tonumber(new_epoch) then
    call('HSET', keys[1], 'epoch', new_epoch)
  end
  return { 'done' }
end
frees.let_go = true

-- Raises the epoch of a partition header. From then on only this epoch with this token hash may write; '' is no lease.
-- The epoch only rises: a slow claimer changes nothing. Returns the highest epoch that is taken.
function functions.raise(keys, args)
  -- If the conversations have expired, new ones start above their versions: at the present time in seconds, because no
  -- conversation had that many turns.
  if call('HGET', keys[ROOM], 'held') and call('EXISTS', keys[CONV]) == 0 then
    local floor = math.max(tonumber(call('HGET', keys[ROOM], 'floor') or '0'), tonumber(call('TIME')[1]))
    call('HSET', keys[ROOM], 'floor', string.format('%.0f', floor))
    call('HDEL', keys[ROOM], 'held')
  end
  local header = call('HMGET', keys[ROOM], 'epoch', 'token')
  local epoch = tonumber(header[1] or '-1')
  if epoch == tonumber(args[1]) and header[2] ~= args[2] then
    -- The epoch was granted before, and the server has lost that.
    return { string.format('%.0f', epoch + 1) }
  end
  if epoch >= tonumber(args[1]) then
    return { header[1] }
  end
  call('HSET', keys[ROOM], 'epoch', args[1], 'token', args[2])
  return { args[1] }
end
frees.raise = true

function functions.check(keys, args)
  return { is_fenced(keys, args[1]) and 'fenced' or 'done' }
end
only_reads.check = true
