-- ends.lua - into a work stream, out of it, and the ends that a job comes to.

-- ------------------------------------------------------------ work streams

local function work(root, queue, priority)
    return root .. "work:" .. queue .. ":" .. priority
end

-- At 0: what was there before its first consumer must not be lost.
local function make_group(stream)
    redis.call("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")
end

local function push(job)
    local stream = work(job.root, job.queue, job.priority)
    local entry = redis.call("XADD", stream, "NOMKSTREAM", "*", "id", job.id)
    if not entry then
        make_group(stream)
        entry = redis.call("XADD", stream, "*", "id", job.id)
    end
    set(job, { state = "queued", stream = stream, entry = entry })
end

-- Acknowledged and deleted: XLEN is what waits and runs.
local function drop(stream, entry)
    redis.call("XACK", stream, GROUP, entry)
    redis.call("XDEL", stream, entry)
end

local function pull(job)
    if job.entry ~= "" then drop(job.stream, job.entry) end
end

-- The oldest leave the dead when their facts have expired, each in its time.
local function bury(root, queue, id, now, ttl_ms)
    local dead = root .. "dead:" .. queue
    redis.call("ZADD", dead, now, id)
    for _, old in ipairs(redis.call("ZRANGE", dead, 0, 9)) do
        if redis.call("EXISTS", root .. "job:" .. old) == 0 then
            redis.call("ZREM", dead, old)
        end
    end
    if redis.call("PTTL", dead) < ttl_ms then
        redis.call("PEXPIRE", dead, ttl_ms)
    end
end

-- ----------------------------------------------------------------- the end

-- The one way into a terminal state. end_: state, result, data (of the
-- terminal event, bytes), error_code, result_ttl_ms, dead_ttl_ms.
local function finish_job(job, now, end_)
    local failed = end_.state == "failed"
    local ttl_ms = failed and end_.dead_ttl_ms or end_.result_ttl_ms
    -- The facts stay a week longer than the result: expired is not unknown.
    local facts_ttl_ms = ttl_ms + WEEK_MS

    redis.call("SET", job.root .. "result:" .. job.id, end_.result,
        "PX", ttl_ms)
    let_blobs_go(job, now, ttl_ms)
    pull(job)
    set(job, { state = end_.state, finished_at = now })
    if end_.error_code ~= "" then set(job, { error_code = end_.error_code }) end
    emit(job, now, "job." .. end_.state, end_.data)
    save(job)

    redis.call("PEXPIRE", job.key, facts_ttl_ms)
    redis.call("PEXPIRE", job.root .. "events:" .. job.id, DAY_MS)
    redis.call("PEXPIRE", job.root .. "journal:" .. job.id, HOUR_MS)
    if failed then
        redis.call("PEXPIRE", body_key(job), ttl_ms)
        bury(job.root, job.queue, job.id, now, facts_ttl_ms)
    else
        redis.call("DEL", body_key(job))
    end
end

-- An end that no consumer wrote: its result is made here.
local function end_job(job, now, state, code, message)
    set(job, { epoch = job.epoch + 1 })
    local result = {
        v = 1, id = job.id, status = state, attempts = job.attempts,
    }
    local data = { ms = now - job.submitted_at }
    if state == "failed" then
        result.error = { kind = "reject", code = code, message = message }
        data.error = result.error
    elseif job.cancel_reason ~= "" then
        result.notes = "cancelled: " .. job.cancel_reason
        data.reason = job.cancel_reason
    end
    finish_job(job, now, {
        state = state,
        result = cmsgpack.pack(result),
        data = cmsgpack.pack(data),
        error_code = code or "",
        result_ttl_ms = DAY_MS,
        dead_ttl_ms = WEEK_MS,
    })
end

local function end_crashed(job, now)
    end_job(job, now, "failed", "crashed", string.format(
        "%d consumers died while they ran it, or lost their connection",
        job.crashes))
end

-- Back into the queue, unless it was cancelled meanwhile.
local function requeue(job, now, reason)
    if job.cancel == 1 then return end_job(job, now, "cancelled") end
    pull(job)
    push(job)
    emit_map(job, now, "job.queued", { queue = job.queue, reason = reason })
    save(job)
end

-- The holder is gone. Answers whether the job may run again.
local function lose(job, now, reason, max_crashes)
    set(job, { epoch = job.epoch + 1, crashes = job.crashes + 1 })
    emit_map(job, now, "job.lost", { consumer = job.owner, reason = reason })
    if job.crashes <= max_crashes then return true end
    end_crashed(job, now)
    return false
end

-- An entry that names no job of ours: kept under an id of its own, so that
-- somebody may look at it, and out of the way.
local function bury_entry(root, stream, entry, fields, now)
    local id = "entry-" .. entry
    local queue = stream:match("work:([%w._-]+):%a+$") or "default"
    redis.call("HSET", root .. "job:" .. id, "state", "failed",
        "error_code", "bad_entry", "queue", queue, "finished_at", now)
    redis.call("PEXPIRE", root .. "job:" .. id, WEEK_MS)
    redis.call("SET", root .. "body:" .. id, cmsgpack.pack(fields),
        "PX", WEEK_MS)
    bury(root, queue, id, now, WEEK_MS)
    drop(stream, entry)
end

-- The job that an entry stands for; else nil, and why the entry is no more.
local function open_entry(root, stream, entry, now)
    local found = redis.call("XRANGE", stream, entry, entry)[1]
    if not found then
        redis.call("XACK", stream, GROUP, entry)
        return nil, "gone"
    end
    local fields, id = found[2], nil
    for i = 1, #fields, 2 do
        if fields[i] == "id" then id = fields[i + 1] end
    end
    local job = is_id(root, id) and load(root, id, ALL)
    if not job then
        bury_entry(root, stream, entry, fields, now)
        return nil, "unknown"
    end
    -- Ended, or a second entry for a job that has its own.
    if TERMINAL[job.state] or job.stream ~= stream or job.entry ~= entry then
        drop(stream, entry)
        return nil, TERMINAL[job.state] and "terminal" or "duplicate"
    end
    return job
end
