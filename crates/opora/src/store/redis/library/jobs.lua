-- Background jobs of a bot: all of them are in one partition. A job is JSON in the hash JOBS, by its id of nineteen
-- digits. Names of jobs and queues have no `|`, so they can be parts of members.

local function read_job(keys, id)
  local row = call('HGET', keys[JOBS], id)
  return row and cjson.decode(row)
end

local function kind_of(job)
  return job.queue .. '|' .. job.name .. '|' .. job.state
end

local function count_job(keys, job, by)
  local counted = kind_of(job)
  if call('HINCRBY', keys[JOB_COUNTS], counted, by) == 0 then
    call('HDEL', keys[JOB_COUNTS], counted)
  end
end

local function digits(number, width)
  local text = string.format('%.0f', number)
  return string.rep('0', width - #text) .. text
end

-- The place of an available job among those of its queue, and among those of its kind.
local function ready_members(job, id)
  local run_at = digits(job.run_at, 16)
  return job.queue .. '|' .. job.priority .. '|' .. run_at .. '|' .. id,
    job.queue .. '|' .. job.name .. '|' .. run_at .. '|' .. id
end

-- The place of a unique job among those of its key and state.
local function unique_member(job, id)
  return 'u' .. job.key .. '\0' .. job.state .. '\0' .. id
end

-- Removes a job from the sets of its state.
local function unlist_job(keys, id, job)
  if job.key then
    call('ZREM', keys[JOB_KEYS], unique_member(job, id))
  end
  if job.state == 'scheduled' then
    call('ZREM', keys[JOBS_DUE], id)
  elseif job.state == 'available' then
    local ready, age = ready_members(job, id)
    call('ZREM', keys[JOBS_READY], ready)
    call('ZREM', keys[JOB_AGES], age)
  elseif job.state == 'running' then
    call('HDEL', keys[JOBS_RUNNING], id)
  else
    call('ZREM', keys[JOBS_FINISHED], kind_of(job) .. '|' .. id)
    call('ZREM', keys[JOB_RESULTS], id)
  end
  count_job(keys, job, -1)
end

-- Stores a job, and lists it by its state.
local function list_job(keys, id, job)
  call('HSET', keys[JOBS], id, cjson.encode(job))
  if job.key then
    call('ZADD', keys[JOB_KEYS], 0, unique_member(job, id))
  end
  if job.state == 'scheduled' then
    call('ZADD', keys[JOBS_DUE], digits(job.run_at, 1), id)
  elseif job.state == 'available' then
    local ready, age = ready_members(job, id)
    call('ZADD', keys[JOBS_READY], 0, ready)
    call('ZADD', keys[JOB_AGES], 0, age)
  elseif job.state == 'running' then
    call('HSET', keys[JOBS_RUNNING], id, job.cancel and 'cancel' or 'run')
  else
    local at = digits(job.finished_at or 0, 1)
    call('ZADD', keys[JOBS_FINISHED], at, kind_of(job) .. '|' .. id)
    if job.result then
      call('ZADD', keys[JOB_RESULTS], at, id)
    end
  end
  count_job(keys, job, 1)
end

local function once_member(job, id)
  return 'o' .. job.once .. '\0' .. id
end

-- The id of the last member of JOB_KEYS that begins with this text and ends with an id.
local function last_id(keys, prefix)
  local member = call('ZREVRANGEBYLEX', keys[JOB_KEYS], '(' .. prefix .. '\1', '[' .. prefix .. '\0', 'LIMIT', 0, 1)[1]
  return member and string.sub(member, -19)
end

-- The id of a job that this one repeats: the latest one of its key in one of the states.
local function repeated_job(keys, new, now)
  local job = new.job
  if job.once then
    local id = last_id(keys, 'o' .. job.once)
    if id then
      return id
    end
  end
  local latest
  if job.key then
    for _, state in ipairs(new.states) do
      local id = last_id(keys, 'u' .. job.key .. '\0' .. state)
      if id and (not latest or id > latest) then
        if not new.period or read_job(keys, id).enqueued_at > now - new.period then
          latest = id
        end
      end
    end
  end
  return latest
end

-- Adds jobs, and the id of each to the answer, with a + if it is new.
local function add_jobs(keys, args, first, now, answer)
  for i = first, #args do
    local new = cjson.decode(args[i])
    local id = repeated_job(keys, new, now)
    if id then
      answer[#answer + 1] = id
    else
      id = digits(call('HINCRBY', keys[ROOM], 'jobs', 1), 19)
      if new.job.once then
        call('ZADD', keys[JOB_KEYS], 0, once_member(new.job, id))
      end
      call('ZADD', keys[JOB_INDEX], 0, id)
      list_job(keys, id, new.job)
      answer[#answer + 1] = '+' .. id
    end
  end
  return answer
end

-- Arguments: now; then a job each. Any instance may add jobs, so these writes are not counted.
function functions.add_jobs(keys, args)
  return add_jobs(keys, args, 2, tonumber(args[1]), unwritten(keys, 'done'))
end

-- Arguments: precondition, epoch, now, how many jobs become available at once; then a queue and a limit each. Returns
-- the id and the row of each job that is started.
function functions.start_jobs(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local epoch, now = tonumber(args[2]), tonumber(args[3])
  local started, changes = {}, 0
  for _, id in ipairs(call('ZRANGEBYSCORE', keys[JOBS_DUE], '-inf', args[3], 'LIMIT', 0, args[4])) do
    local job = read_job(keys, id)
    unlist_job(keys, id, job)
    job.state = 'available'
    list_job(keys, id, job)
    changes = changes + 1
  end
  for i = 5, #args, 2 do
    local queue = args[i]
    local ready = {}
    if call('SISMEMBER', keys[JOB_PAUSED], queue) == 0 then
      ready = call('ZRANGEBYLEX', keys[JOBS_READY], '[' .. queue .. '|', '(' .. queue .. '}', 'LIMIT', 0, args[i + 1])
    end
    for _, member in ipairs(ready) do
      local id = string.sub(member, -19)
      local job = read_job(keys, id)
      unlist_job(keys, id, job)
      job.state = 'running'
      job.attempt = job.attempt + 1
      job.epoch = epoch
      job.started_at = now
      list_job(keys, id, job)
      started[#started + 1] = id
      started[#started + 1] = cjson.encode(job)
      changes = changes + 1
    end
  end
  local answer = written(keys, 'done', changes)
  for _, text in ipairs(started) do
    answer[#answer + 1] = text
  end
  return answer
end

-- Arguments: precondition; then the id and the update of each attempt. Returns 1 or 0 for each.
function functions.update_jobs(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local applied, changes = {}, 0
  for i = 2, #args, 2 do
    local id, update = args[i], cjson.decode(args[i + 1])
    local job = read_job(keys, id)
    local fits = job and job.state == 'running' and job.attempt == update.attempt and job.epoch == update.epoch
    applied[#applied + 1] = fits and '1' or '0'
    if fits and update.state ~= 'running' then
      unlist_job(keys, id, job)
      local waits = update.state == 'scheduled' or update.state == 'available'
      job.state = waits and job.cancel and 'cancelled' or update.state
      job.finished_at = (not waits or job.cancel) and update.at or nil
      job.run_at, job.max_attempts = update.run_at, update.max_attempts
      job.errors, job.result, job.cancel = update.errors, update.result, nil
      list_job(keys, id, job)
      changes = changes + 1
    end
  end
  local answer = written(keys, 'done', changes)
  for _, one in ipairs(applied) do
    answer[#answer + 1] = one
  end
  return answer
end

-- Returns the time of the next scheduled job, or ''; how many queues have jobs that can start, and these queues; the
-- running jobs that are to be cancelled.
function functions.poll_jobs(keys, _)
  local due = call('ZRANGE', keys[JOBS_DUE], 0, 0, 'WITHSCORES')[2]
  local answer = { due and string.format('%.0f', tonumber(due)) or '', '0' }
  local from = '-'
  while true do
    local member = call('ZRANGEBYLEX', keys[JOBS_READY], from, '+', 'LIMIT', 0, 1)[1]
    if not member then
      break
    end
    local queue = string.match(member, '^([^|]*)|')
    if call('SISMEMBER', keys[JOB_PAUSED], queue) == 0 then
      answer[#answer + 1] = queue
    end
    from = '(' .. queue .. '}'
  end
  answer[2] = tostring(#answer - 2)
  local running = call('HGETALL', keys[JOBS_RUNNING])
  for i = 1, #running, 2 do
    if running[i + 1] == 'cancel' then
      answer[#answer + 1] = running[i]
    end
  end
  return answer
end
only_reads.poll_jobs = true

-- Returns the id and the row of running jobs. Arguments: the id after which they are, and the most of them.
function functions.running_jobs(keys, args)
  local ids = call('HKEYS', keys[JOBS_RUNNING])
  table.sort(ids)
  local answer = {}
  for _, id in ipairs(ids) do
    if id > args[1] and #answer < 2 * tonumber(args[2]) then
      answer[#answer + 1] = id
      answer[#answer + 1] = call('HGET', keys[JOBS], id)
    end
  end
  return answer
end
only_reads.running_jobs = true

local function drop_job(keys, id)
  local job = read_job(keys, id)
  unlist_job(keys, id, job)
  if job.once then
    call('ZREM', keys[JOB_KEYS], once_member(job, id))
  end
  call('ZREM', keys[JOB_INDEX], id)
  call('HDEL', keys[JOBS], id)
end

-- Arguments: precondition, before which results and before which finished jobs are removed, how many finished jobs are
-- kept, how many rows are removed at once. Returns how many were.
function functions.prune_jobs(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  local results = call('ZRANGEBYSCORE', keys[JOB_RESULTS], '-inf', '(' .. args[2], 'LIMIT', 0, args[5])
  for _, id in ipairs(results) do
    local job = read_job(keys, id)
    job.result = nil
    call('HSET', keys[JOBS], id, cjson.encode(job))
    call('ZREM', keys[JOB_RESULTS], id)
  end
  local old = call('ZCOUNT', keys[JOBS_FINISHED], '-inf', '(' .. args[3])
  local excess = call('ZCARD', keys[JOBS_FINISHED]) - tonumber(args[4])
  local gone = math.min(math.max(old, excess), tonumber(args[5]))
  if gone > 0 then
    for _, member in ipairs(call('ZRANGE', keys[JOBS_FINISHED], 0, gone - 1)) do
      drop_job(keys, string.sub(member, -19))
    end
  end
  local removed = #results + math.max(gone, 0)
  local answer = written(keys, 'done', removed)
  answer[#answer + 1] = tostring(removed)
  return answer
end

-- Arguments: precondition, schedule, the tick noted last or '', the tick to note, now; then a job each. Returns 1 or 0.
function functions.tick_jobs(keys, args)
  if is_fenced(keys, args[1]) then
    return { 'fenced' }
  end
  if (call('HGET', keys[JOB_TICKS], args[2]) or '') ~= args[3] then
    local answer = unwritten(keys, 'done')
    answer[#answer + 1] = '0'
    return answer
  end
  call('HSET', keys[JOB_TICKS], args[2], args[4])
  local answer = written(keys, 'done')
  answer[#answer + 1] = '1'
  return add_jobs(keys, args, 6, tonumber(args[5]), answer)
end

-- Arguments: now; then an id each. Any instance may ask, so these writes are not counted. Returns how many are changed.
function functions.retry_jobs(keys, args)
  local changed = 0
  for i = 2, #args do
    local job = read_job(keys, args[i])
    if job and job.state ~= 'running' then
      unlist_job(keys, args[i], job)
      job.state, job.run_at, job.finished_at, job.result = 'available', tonumber(args[1]), nil, nil
      job.max_attempts = math.max(job.max_attempts, job.attempt + 1)
      list_job(keys, args[i], job)
      changed = changed + 1
    end
  end
  local answer = unwritten(keys, 'done')
  answer[#answer + 1] = tostring(changed)
  return answer
end

-- As `retry_jobs`.
function functions.cancel_jobs(keys, args)
  local changed = 0
  for i = 2, #args do
    local job = read_job(keys, args[i])
    if job and (job.state == 'running' or job.state == 'scheduled' or job.state == 'available') then
      unlist_job(keys, args[i], job)
      if job.state == 'running' then
        job.cancel = true
      else
        job.state, job.finished_at = 'cancelled', tonumber(args[1])
      end
      list_job(keys, args[i], job)
      changed = changed + 1
    end
  end
  local answer = unwritten(keys, 'done')
  answer[#answer + 1] = tostring(changed)
  return answer
end

-- Returns the id and the row of jobs, the newest first. Arguments: the id before which they are, or '', and how many.
function functions.jobs_before(keys, args)
  local from = args[1] == '' and '+' or '(' .. args[1]
  local answer = {}
  for _, id in ipairs(call('ZREVRANGEBYLEX', keys[JOB_INDEX], from, '-', 'LIMIT', 0, args[2])) do
    answer[#answer + 1] = id
    answer[#answer + 1] = call('HGET', keys[JOBS], id)
  end
  return answer
end
only_reads.jobs_before = true

-- Returns for each queue, name and state: these as one text, how many jobs, the time of the oldest one if they are
-- available, otherwise '', and how many of them have finished since a time. Argument: that time, or ''.
function functions.count_jobs(keys, args)
  local counts = call('HGETALL', keys[JOB_COUNTS])
  local recent = {}
  if args[1] ~= '' then
    for _, member in ipairs(call('ZRANGEBYSCORE', keys[JOBS_FINISHED], args[1], '+inf')) do
      local kind = string.sub(member, 1, -21)
      recent[kind] = (recent[kind] or 0) + 1
    end
  end
  local answer = {}
  for i = 1, #counts, 2 do
    local kind, state = string.match(counts[i], '^(.*)|(%a+)$')
    local oldest = ''
    if state == 'available' then
      local first = call('ZRANGEBYLEX', keys[JOB_AGES], '[' .. kind .. '|', '(' .. kind .. '}', 'LIMIT', 0, 1)[1]
      oldest = first and string.match(first, '|(%d+)|%d+$') or ''
    end
    answer[#answer + 1] = counts[i]
    answer[#answer + 1] = counts[i + 1]
    answer[#answer + 1] = oldest
    answer[#answer + 1] = tostring(recent[counts[i]] or 0)
  end
  return answer
end
only_reads.count_jobs = true
