-- ends.lua - the ends that a job comes to, and the ways back into its queue.

local DAY_TEXT = ("%d"):format(DAY_MS)

-- The oldest leave the dead when their facts have expired, each in its time.
local function bury(root, queue, id, now, ttl_ms)
    local dead = root .. "dead:" .. queue
    call("ZADD", dead, now, id)
    for _, old in ipairs(redis.call("ZRANGE", dead, 0, 9)) do
        if redis.call("EXISTS", root .. "job:" .. old) == 0 then
            redis.call("ZREM", dead, old)
        end
    end
    if redis.call("PTTL", dead) < ttl_ms then
        redis.call("PEXPIRE", dead, ttl_ms)
    end
end

local function unique_key(root, tenant, key)
    return root .. "unique:" .. tenant .. ":" .. key
end

-- The one way into a terminal state. end_: state, result, data (of the
-- terminal event, bytes), error_code, result_ttl_ms, dead_ttl_ms. ends: where
-- several end in one step, what they have in common, for settle_ends().
local function finish_job(job, now, end_, ends)
    local root, failed = job.root, end_.state == "failed"
    local ttl_ms = failed and end_.dead_ttl_ms or end_.result_ttl_ms
    -- The facts stay a week longer than the result: expired is not unknown.
    local facts_ttl_ms = ttl_ms + WEEK_MS

    redis.call("SET", root .. "result:" .. job.id, end_.result, "PX",
        text(ttl_ms))
    local body = failed and job.place ~= "" and body_in_lane(job)
    if body and body ~= "" then redis.call("SET", body_key(job), body) end
    let_blobs_go(job, now, ttl_ms)
    if job.reserved ~= "" then settle(job) end
    local made_room = pull(job, ends)
    if job.deadline_at > 0 then call("ZREM", root .. "deadlines", job.id) end
    set(job, "state", end_.state)
    set(job, "finished_at", now)
    if end_.error_code ~= "" then set(job, "error_code", end_.error_code) end
    emit(job, now, "job." .. end_.state, end_.data)
    save(job)

    redis.call("PEXPIRE", job.key, text(facts_ttl_ms))
    redis.call("PEXPIRE", root .. "events:" .. job.id, DAY_TEXT)
    -- With its journal: what was done is of no use without what was asked.
    local kept_ms = failed and ttl_ms or has_journal(job) and HOUR_MS or nil
    if has_journal(job) then
        redis.call("PEXPIRE", root .. "journal:" .. job.id, text(kept_ms))
    end
    if kept_ms then redis.call("PEXPIRE", body_key(job), text(kept_ms)) end
    if failed then
        bury(root, job.queue, job.id, now, facts_ttl_ms)
    elseif kept_ms then
        -- It goes with its journal.
    elseif ends then
        ends.bodies[#ends.bodies + 1] = body_key(job)
    else
        redis.call("DEL", body_key(job))
    end
    if job.unique ~= "" then
        local unique = unique_key(root, job.tenant, job.unique)
        if call("GET", unique) == job.id then redis.call("DEL", unique) end
    end
    -- Room first: what was let into the lane long ago goes before the line.
    if made_room then refill(root, job.queue, job.tenant, now) end
    leave_lines(job, now)
end

local function settle_ends(ends)
    for leases, ids in pairs(ends.leases) do call("ZREM", leases, unpack(ids)) end
    if #ends.bodies > 0 then redis.call("DEL", unpack(ends.bodies)) end
end

-- An end that no consumer wrote: its result is made here.
local function end_job(job, now, state, code, message)
    fence(job)
    local result = {
        v = 1, id = job.id, status = state, attempts = job.attempts,
        usage = usage_of(job),
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

local function is_late(job, now)
    return job.deadline_at > 0 and now >= job.deadline_at
end

local function end_late(job, now)
    end_job(job, now, "failed", "deadline_exceeded", string.format(
        "its deadline passed %d ms before it could %s",
        now - job.deadline_at, job.attempts == 0 and "start" or "go on"))
end

-- What nobody holds any more comes to an end here when it was cancelled, or its
-- deadline has passed, meanwhile; whether it did.
local function ends_here(job, now)
    if job.cancel == 1 then
        end_job(job, now, "cancelled")
    elseif is_late(job, now) then
        end_late(job, now)
    else
        return false
    end
    return true
end

-- Back into the queue, if it does not end here.
local function put_back(job, now, reason)
    if ends_here(job, now) then return end
    pull(job)
    enter(job, now, settings_of(job.root, job.queue, job.tenant), true)
    emit_map(job, now, "job.queued", { queue = job.queue, reason = reason })
    save(job)
end

-- The holder is gone. Answers whether the job may run again.
local function lose(job, now, reason, max_crashes)
    fence(job)
    set(job, "crashes", job.crashes + 1)
    emit_map(job, now, "job.lost", { consumer = job.owner, reason = reason })
    if job.crashes <= max_crashes then return true end
    end_crashed(job, now)
    return false
end

local function queue_of(stream)
    return stream:match("work:([%w._-]+):%a+$") or "default"
end

-- An entry that names no job of ours: kept under an id of its own, so that
-- somebody may look at it, and out of the way.
local function bury_entry(root, stream, entry, fields, now)
    local id = "entry-" .. entry
    local queue = queue_of(stream)
    call("HSET", root .. "job:" .. id, "state", "failed",
        "error_code", "bad_entry", "queue", queue, "finished_at", now)
    redis.call("PEXPIRE", root .. "job:" .. id, WEEK_MS)
    redis.call("SET", root .. "body:" .. id, cmsgpack.pack(fields),
        "PX", WEEK_MS)
    bury(root, queue, id, now, WEEK_MS)
    drop(stream, entry)
end

-- The job that an entry stands for; else nil, and why the entry is no more.
-- fields: what a read has brought, if it has.
local function open_entry(root, stream, entry, now, fields)
    if not fields then
        local found = redis.pcall("XRANGE", stream, entry, entry)[1]
        if not found then
            redis.pcall("XACK", stream, GROUP, entry)
            return nil, "gone"
        end
        fields = found[2]
    end
    local id
    for i = 1, #fields, 2 do
        if fields[i] == "id" then id = fields[i + 1] end
    end
    local job = is_id(root, id) and load(root, id)
    if not job then
        bury_entry(root, stream, entry, fields, now)
        return nil, "unknown"
    end
    -- Ended, or a second entry for a job that has its own.
    if TERMINAL[job.state] or job.entry ~= entry
        or work(root, job.queue, job.priority) ~= stream then
        drop(stream, entry)
        return nil, TERMINAL[job.state] and "terminal" or "duplicate"
    end
    return job
end
