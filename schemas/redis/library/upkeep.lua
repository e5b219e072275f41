-- upkeep.lua - what every consumer does from time to time, for all of them.
--
-- No leader is needed: each function looks for what is due and moves it in one
-- step, so when two consumers call at once, the second one finds nothing. Every
-- walk is bounded by a count and by has_read_enough().

local MAX_FACTS = 32 -- pairs of one report
local MAX_FACT_BYTES = 4096
local MAX_DUE = 16 -- schedules that one promote tells of

-- ----------------------------------------------------------------- promote

-- The time of a scheduled or waiting job has come.
local function promote_job(root, queue, id, now)
    local scheduled = root .. "scheduled:" .. queue
    local job = is_id(root, id) and load(root, id)
    if not job or job.state ~= "scheduled" and job.state ~= "waiting" then
        return redis.call("ZREM", scheduled, id)
    end
    if job.state == "waiting" and job.reason == "approval" then
        if goes_on_unasked(job) then return put_back(job, now, "skipped") end
        return end_job(job, now, "failed", "not_approved",
            "nobody has approved it, or refused to, in time")
    end
    if job.state == "waiting" then return put_back(job, now, job.reason) end
    if ends_here(job, now) then return nil end
    redis.call("ZREM", scheduled, id)
    reset(job, "reason")
    arrive(job, now, settings_of(root, job.queue, job.tenant))
    save(job)
end

local function promote_queue(root, queue, count, now)
    local wakes = root .. "wakes:" .. queue
    local jobs = due_members(root .. "scheduled:" .. queue, count, now)
    local tenants = due_members(wakes, count, now)
    for _, id in ipairs(jobs) do
        if has_read_enough() then break end
        promote_job(root, queue, id, now)
    end
    for _, tenant in ipairs(tenants) do
        redis.call("ZREM", wakes, tenant)
        admit(root, queue, tenant, settings_of(root, queue, tenant), now,
            WINDOW)
    end
    return #jobs + #tenants
end

-- Ends jobs whose deadline has passed while nobody ran them. A job that runs is
-- left to its consumer, which ends it, or hands it back into ends_here().
local function end_overdue(root, count, now)
    local deadlines = root .. "deadlines"
    local due = due_members(deadlines, count, now)
    for _, id in ipairs(due) do
        if has_read_enough() then break end
        local job = load(root, id)
        if not job or TERMINAL[job.state] or job.state == "in_progress"
            or not is_late(job, now) then
            redis.call("ZREM", deadlines, id)
        else
            end_late(job, now)
        end
    end
    return #due
end

-- The smaller of at and the first score of that sorted set above now.
local function sooner(at, key, now)
    local first = call("ZRANGE", key, "(" .. now, "+inf", "BYSCORE",
        "LIMIT", 0, 1, "WITHSCORES")[2]
    first = tonumber(first)
    return first and (not at or first < at) and first or at
end

local function due_schedules(root, now)
    local due = {}
    for _, name in ipairs(due_members(root .. "schedules", MAX_DUE, now)) do
        local facts = call("HMGET", root .. "schedule:" .. name, "spec", "zone",
            "next_at")
        if facts[1] and number(facts[3]) then
            due[#due + 1], due[#due + 2] = name, facts[1]
            due[#due + 1], due[#due + 2] = facts[2] or "", number(facts[3])
        else
            redis.call("ZREM", root .. "schedules", name)
        end
    end
    return due
end

-- 1 when the caller is to walk with mend: nobody has walked lately, or the one
-- that began has not gone on. The key that is set here gives the caller
-- MEND_STEP_MS for its first step, in which no other caller is asked.
local function wants_mend(root)
    local key = root .. "mended"
    if redis.call("PTTL", key) >= 0 then return 0 end
    redis.call("SET", key, "", "PX", MEND_STEP_MS)
    return 1
end

-- Arguments: count. Answers how many jobs and tenants were due; in how many ms
-- the next one is due, or -1; the schedules that are due (name, spec, zone, at,
-- ...), which the caller fires since it computes their next times; and whether
-- the caller is to walk with mend. A call may stop before all that was due has
-- moved (has_read_enough()): callers call again until nothing was due.
local function promote(keys, args)
    local root, now, count = keys[1], now_ms(), number(args[1])
    if not (count and count > 0 and count <= MAX_BATCH) then
        return refuse("BADARG", "promote: count '%s'", args[1] or "")
    end
    index.grow_old(root, now)
    local moved, at = end_overdue(root, count, now), nil
    local queues = call("SMEMBERS", root .. "queues")
    for _, queue in ipairs(queues) do
        moved = moved + promote_queue(root, queue, count, now)
    end
    for _, queue in ipairs(queues) do
        at = sooner(at, root .. "scheduled:" .. queue, now)
        at = sooner(at, root .. "wakes:" .. queue, now)
    end
    at = sooner(at, root .. "deadlines", now)
    at = sooner(at, root .. "schedules", now)
    return {
        moved, at and math.ceil(at - now) or -1, due_schedules(root, now),
        wants_mend(root),
    }
end

-- ------------------------------------------------------------------ leases

-- Jobs of the queue whose leases have ended. Answers how many leases it looked
-- at, and how many jobs it put back or ended.
local function lapse_queue(root, queue, count, now, max_crashes)
    local leases, jobs = leases_of(root, queue), 0
    local due = due_members(leases, count, now)
    for _, id in ipairs(due) do
        if has_read_enough() then break end
        local job = is_id(root, id) and load(root, id)
        if not job or job.state ~= "in_progress" or job.queue ~= queue then
            redis.call("ZREM", leases, id)
        else
            jobs = jobs + 1
            if lose(job, now, "lease ended", max_crashes) then
                put_back(job, now, "lost")
            end
        end
    end
    return #due, jobs
end

-- Arguments: max_crashes count. Answers how many jobs were put back or ended,
-- and whether there may be more.
local function lapse(keys, args)
    local root, now = keys[1], now_ms()
    local max_crashes, count = number(args[1]), number(args[2])
    if not (max_crashes and count and count > 0 and count <= MAX_BATCH) then
        return refuse("BADARG", "lapse: crashes '%s', count '%s'",
            args[1] or "", args[2] or "")
    end
    local looked, jobs = 0, 0
    for _, queue in ipairs(call("SMEMBERS", root .. "queues")) do
        local due, lost = lapse_queue(root, queue, count - looked, now,
            max_crashes)
        looked, jobs = looked + due, jobs + lost
        if looked == count then break end
    end
    return { jobs, (looked == count or has_read_enough()) and 1 or 0 }
end

-- An entry that a consumer has read and whose job it never started: this counts
-- as no attempt and no crash. Answers how many jobs were put back.
local function reclaim_entry(root, stream, entry, now)
    local job = open_entry(root, stream, entry, now)
    if not job then return 0 end
    put_back(job, now, "lost")
    return 1
end

-- Removes names of consumers from the stream's group that hold no entry and
-- have not read for a hundred leases; otherwise every start of a consumer would
-- leave one for ever. The next read of a consumer that was only quiet makes its
-- name again.
local function forget_consumers(stream, lease_ms)
    for _, row in ipairs(redis.pcall("XINFO", "CONSUMERS", stream, GROUP)) do
        local about = {}
        for i = 1, #row, 2 do about[row[i]] = row[i + 1] end
        if about.pending == 0 and about.idle >= 100 * lease_ms then
            redis.call("XGROUP", "DELCONSUMER", stream, GROUP, about.name)
        end
    end
end

-- Whether it is a cursor of reclaim: an entry's id, or "-" for the beginning.
local function is_entry(cursor)
    return cursor == "-"
        or cursor and #cursor <= 41 and cursor:find("^%d+%-%d+$") ~= nil
end

-- Arguments: stream lease_ms count cursor. Puts back the jobs of entries that
-- were read so long ago and not started. Answers the next cursor, "-" when the
-- walk is over, and how many jobs were put back.
local function reclaim(keys, args)
    local root, now, stream, cursor = keys[1], now_ms(), args[1], args[4]
    local lease_ms, count = number(args[2]), number(args[3])
    if not (lease_ms and count and count > 0 and count <= MAX_BATCH
        and is_entry(cursor)) then
        return refuse("BADARG",
            "reclaim: lease '%s', count '%s' of 1 to %d, cursor '%s' (of an "
            .. "answer; - at first)", args[2] or "", args[3] or "", MAX_BATCH,
            cursor or "")
    end
    if not is_work(root, stream) then
        return refuse("BADARG", "reclaim: '%s' is no work stream", stream)
    end
    if cursor ~= "-" then cursor = "(" .. cursor end
    local rows = redis.pcall("XPENDING", stream, GROUP, "IDLE", lease_ms,
        cursor, "+", count)
    if rows.err then
        if not rows.err:find("NOGROUP", 1, true) then return rows end
        make_group(root, stream)
        rows = {}
    end
    local jobs = 0
    for _, row in ipairs(rows) do
        jobs = jobs + reclaim_entry(root, stream, row[1], now)
        if has_read_enough() then return { row[1], jobs } end
    end
    if #rows == count then return { rows[count][1], jobs } end
    forget_consumers(stream, lease_ms)
    return { "-", jobs }
end

-- ----------------------------------------------------------------- workers

-- Which of the queues (words) are paused. All of them are added to queues,
-- because a consumer serves them, although they may never have held a job.
local function paused_of(root, words)
    local paused = {}
    for queue in (words or ""):gmatch("[%w._-]+") do
        call("SADD", root .. "queues", queue)
        if call("HGET", root .. "queue:" .. queue, "paused") == "1" then
            paused[#paused + 1] = queue
        end
    end
    return paused
end

-- The consumer leaves. A wish that it drains is kept for its restart.
local function depart(root, consumer)
    redis.call("DEL", root .. "worker:" .. consumer)
    call("ZREM", root .. "workers", consumer)
    return { 0, {} }
end

-- Arguments: consumer ttl_ms, then pairs of what it says of itself, of which
-- only queues (words) is read here. Answers whether it is to drain, and which
-- of its queues are paused. With a ttl of 0 and no pairs it leaves.
local function report(keys, args)
    local root, now, consumer = keys[1], now_ms(), args[1]
    local ttl_ms = number(args[2])
    if is_consumer(consumer) and ttl_ms == 0 and #args == 2 then
        return depart(root, consumer)
    end
    if not (is_consumer(consumer) and ttl_ms and ttl_ms > 0 and #args > 2
        and #args % 2 == 0 and #args <= 2 + 2 * MAX_FACTS) then
        return refuse("BADARG",
            "report: consumer '%s', ttl '%s', up to %d pairs",
            consumer or "", args[2] or "", MAX_FACTS)
    end
    local queues
    for i = 3, #args, 2 do
        if not args[i]:find("^[a-z_]+$") or #args[i] > 64
            or #args[i + 1] > MAX_FACT_BYTES then
            return refuse("BADARG", "report: '%s', %d bytes", args[i],
                #args[i + 1])
        end
        if args[i] == "queues" then queues = args[i + 1] end
    end
    local key, workers = root .. "worker:" .. consumer, root .. "workers"
    call("HSET", key, unpack(args, 3))
    redis.call("PEXPIRE", key, ttl_ms)
    call("ZADD", workers, now, consumer)
    redis.call("ZREMRANGEBYSCORE", workers, "-inf", now - DAY_MS)
    redis.call("PEXPIRE", workers, DAY_MS)
    return {
        call("ZSCORE", root .. "drained", consumer) and 1 or 0,
        paused_of(root, queues),
    }
end

register("promote", promote, ALWAYS)
register("lapse", lapse, ALWAYS)
register("reclaim", reclaim, ALWAYS)
register("report", report, ALWAYS)
