-- operate.lua - what operators change: dead jobs, a queue and its settings,
-- consumers; and how many jobs a queue has now.

-- ---------------------------------------------------------------- the dead

-- The job, or nil; and whether it is among the dead of its queue.
local function dead_job(root, id)
    local job = load(root, id)
    local dead = job and job.state == "failed"
        and call("ZSCORE", root .. "dead:" .. job.queue, id)
    return job, dead and true or false
end

-- Makes the facts of a dead job those of a job that was just submitted. Its id,
-- the numbers of its events and, unless anew, its journal go on. All its keys
-- lose their time to live.
local function revive(job, now, anew, ticket)
    local root, id = job.root, job.id
    local journal = root .. "journal:" .. id
    call("ZREM", root .. "dead:" .. job.queue, id)
    redis.call("DEL", root .. "result:" .. id, root .. "events:" .. id)
    redis.call(anew and "DEL" or "PERSIST", journal)
    redis.call("PERSIST", job.key)
    redis.call("PERSIST", body_key(job))
    redis.call("HDEL", job.key, "finished_at", "error_code", "started_at")
    for _, name in ipairs({
        "attempts", "errors", "crashes", "told", "claims", "cancel",
        "cancel_reason", "reason", "approval", "approval_note", "approval_mark",
        "approval_call", "approval_default", "approval_until",
    }) do
        reset(job, name)
    end
    if job.deadline_at > 0 then
        set(job, "deadline_at", now + job.deadline_at - job.submitted_at)
        call("ZADD", root .. "deadlines", job.deadline_at, id)
    end
    set(job, "submitted_at", now)
    set(job, "requeued_at", now)
    set(job, "requeue_ticket", ticket)
    fence(job)
    keep_blobs(job)
    if job.unique ~= "" then
        redis.call("SET", unique_key(root, job.tenant, job.unique), id)
    end
end

-- Lets the job into its queue, or waits for its not_before, which may still lie
-- ahead when its deadline came first. Answers the data of the event.
local function come_back(job, now)
    local told = { queue = job.queue, reason = "requeued" }
    if job.not_before > now then
        schedule(job, job.not_before, "scheduled", "schedule")
        told.not_before = job.not_before
    else
        reset(job, "not_before")
        arrive(job, now, settings_of(job.root, job.queue, job.tenant))
    end
    return told
end

-- Arguments: id ["anew" | "" [ticket]]. Answers queued, or late: it is not
-- among the dead, or its body has gone. A call with the same ticket is the same
-- call sent again, and is answered queued, whatever has become of the job
-- since.
local function requeue(keys, args)
    local root, id, how, now = keys[1], args[1], args[2] or "", now_ms()
    local ticket = args[3] or ""
    if not is_id(root, id) or how ~= "" and how ~= "anew" or #ticket > 64 then
        return refuse("BADARG", "requeue: '%s' names no job, or '%s' no way",
            id or "", how)
    end
    local job, dead = dead_job(root, id)
    if not job then return refuse("GONE", "no job %s", id) end
    if ticket ~= "" and job.requeue_ticket == ticket then return "queued" end
    if not dead or redis.call("EXISTS", body_key(job)) == 0 then
        -- Without a ticket: it was requeued before and has not ended, so this
        -- is most likely the same call sent again.
        local again = job.requeued_at and not TERMINAL[job.state]
        return again and "queued" or "late"
    end
    local blobs = {}
    for sha256 in job.blobs:gmatch("%S+") do blobs[#blobs + 1] = sha256 end
    local refusal = bad_blobs(root, blobs)
    if refusal then return refusal end
    local holder = job.unique ~= ""
        and call("GET", unique_key(root, job.tenant, job.unique))
    if holder and ongoing(root, holder, now) then
        return refuse("BADARG", "requeue: job %s has its unique key", holder)
    end
    revive(job, now, how == "anew", ticket)
    emit_map(job, now, "job.queued", come_back(job, now))
    save(job)
    return "queued"
end

-- Arguments: queue id, which may be that of an entry (bury_entry). Answers
-- forgotten, or late: the job is not among the dead.
local function forget(keys, args)
    local root, queue, id = keys[1], args[1], args[2]
    if not (queue and is_name(queue)
        and (is_id(root, id) or (id or ""):find("^entry%-%d+%-%d+$"))) then
        return refuse("BADARG", "forget: queue '%s', '%s'", queue or "",
            id or "")
    end
    local job, dead = dead_job(root, id)
    if job and not (dead and job.queue == queue) then return "late" end
    call("ZREM", root .. "dead:" .. queue, id)
    if job then
        redis.call("DEL", job.key, root .. "body:" .. id, root .. "result:" .. id,
            root .. "events:" .. id, root .. "journal:" .. id)
    end
    return "forgotten"
end

-- ------------------------------------------------------------------- purge

local function purge_job(job, now)
    set(job, "cancel_reason", "purged")
    end_job(job, now, "cancelled", nil, nil, job.started_at == 0)
end

local function purge_lanes(root, queue, count, now)
    local jobs = 0
    for _, tenant in ipairs(call("HKEYS", root .. "lanes:" .. queue)) do
        if jobs >= count or has_read_enough() then return jobs end
        local lanes = open_lanes(root, queue, tenant, count - jobs)
        while jobs < count and not has_read_enough() do
            local lane = oldest_head(root, lanes)
            if not lane then break end
            purge_job(lane.job, now)
            jobs, lane.job, lane.at = jobs + 1, nil, lane.at + 1
        end
        close_lanes(root, queue, tenant, lanes)
    end
    return jobs
end

local function purge_ids(root, ids, now)
    local jobs = 0
    for _, id in ipairs(ids) do
        if has_read_enough() then break end
        local job = is_id(root, id) and load(root, id)
        if job and not TERMINAL[job.state] and job.state ~= "in_progress" then
            purge_job(job, now)
            jobs = jobs + 1
        end
    end
    return jobs
end

local function purge_stream(root, stream, count, now)
    local ids = {}
    for _, entry in ipairs(unread(stream, count)) do
        ids[#ids + 1] = entry[2][2]
    end
    return purge_ids(root, ids, now)
end

-- How many jobs of the queue purge would cancel: those that wait, less the
-- entries that a consumer has read and is about to start.
local function waiting_in(root, queue)
    local sum = depth(root, queue)
    for _, priority in ipairs(PRIORITIES) do
        local pending = redis.pcall("XPENDING", work(root, queue, priority),
            GROUP)
        sum = sum - (tonumber(pending[1]) or 0)
    end
    return sum
end

-- Arguments: queue count dry. Answers how many were, or would be, cancelled,
-- and whether there are more. Lanes first: the end of a job in a stream lets
-- jobs of the lanes into the stream, which would be work for nothing.
local function purge(keys, args)
    local root, now, queue, count = keys[1], now_ms(), args[1], number(args[2])
    if not (queue and is_name(queue) and count and count > 0
        and count <= MAX_BATCH and (args[3] == "0" or args[3] == "1")) then
        return refuse("BADARG", "purge: queue '%s', count '%s', dry '%s'",
            queue or "", args[2] or "", args[3] or "")
    end
    if args[3] == "1" then return { waiting_in(root, queue), 0 } end
    local jobs = purge_lanes(root, queue, count, now)
    for _, priority in ipairs(PRIORITIES) do
        if jobs < count then
            jobs = jobs + purge_stream(root, work(root, queue, priority),
                count - jobs, now)
        end
    end
    if jobs < count then
        jobs = jobs + purge_ids(root, call("SRANDMEMBER",
            behind_of(root, queue), count - jobs), now)
    end
    if jobs < count then
        jobs = jobs + purge_ids(root, call("ZRANGE",
            root .. "scheduled:" .. queue, 0, count - jobs - 1), now)
    end
    return { jobs, jobs > 0 and waiting_in(root, queue) > 0 and 1 or 0 }
end

-- -------------------------------------------------------- settings, counts

local function bad_limit(tenant, value)
    if tenant and not is_label(tenant) then return "is of no tenant" end
    return value ~= "" and not number(value)
        and "must be a whole number, or empty for no limit" or nil
end

-- What is wrong with a setting, as the end of a sentence; or nil.
local function bad_setting(name, value)
    local what, tenant = name:match("^([a-z_]+):(.+)$")
    what = what or name
    for _, known in ipairs(BUDGETS) do
        if what == known then return bad_limit(tenant, value) end
    end
    for i, known in ipairs(SETTINGS) do
        if what == known then
            if tenant and (i <= 2 or not is_label(tenant)) then
                return "is a setting of the whole queue, or that is no tenant"
            end
            if i == 1 and value ~= "" and value ~= "0" and value ~= "1" then
                return "must be 0 or 1"
            end
            return bad_limit(tenant, value)
        end
    end
    return "is no setting of a queue"
end

-- After a change of settings every tenant of the queue may have room: promote
-- looks into all their lanes.
local function wake_all(root, queue, now)
    for _, tenant in ipairs(call("HKEYS", root .. "lanes:" .. queue)) do
        wake(root, queue, tenant, now)
    end
end

-- The field of a setting: its tenant is encoded there.
local function setting_field(name)
    local what, tenant = name:match("^([a-z_]+):(.+)$")
    return tenant and what .. ":" .. encode(tenant) or name
end

-- Arguments: queue, then pairs of name and value (empty: removed). All pairs
-- are checked before the first one is written.
local function queue_set(keys, args)
    local root, queue = keys[1], args[1]
    if not (queue and is_name(queue) and #args % 2 == 1 and #args > 1
        and #args <= 1 + 2 * MAX_BATCH) then
        return refuse("BADARG", "queue_set: queue '%s', pairs of settings",
            queue or "")
    end
    for i = 2, #args, 2 do
        local wrong = bad_setting(args[i], args[i + 1])
        if wrong then
            return refuse("BADARG", "%s: '%s' " .. wrong, args[i], args[i + 1])
        end
    end
    local key = root .. "queue:" .. queue
    call("SADD", root .. "queues", queue)
    for i = 2, #args, 2 do
        local name, value = args[i], args[i + 1]
        if name == "paused" then
            if value == "0" then value = "" end
            publish(root .. "control",
                (value == "1" and "pause " or "resume ") .. queue)
        end
        if value == "" then
            call("HDEL", key, setting_field(name))
        else
            call("HSET", key, setting_field(name), value)
        end
    end
    wake_all(root, queue, now_ms())
    return 1
end

-- Arguments: consumer, 1 or 0. A drain holds for the name, over restarts, until
-- it is taken back. A name that nobody has reported is refused as a
-- misspelling.
local function drain(keys, args)
    local root, consumer, wish = keys[1], args[1], args[2]
    if not is_consumer(consumer) or wish ~= "0" and wish ~= "1" then
        return refuse("BADARG", "drain: consumer '%s', '%s'", consumer or "",
            wish or "")
    end
    local drained = root .. "drained"
    if redis.call("EXISTS", root .. "worker:" .. consumer) == 0
        and not call("ZSCORE", drained, consumer) then
        return refuse("GONE", "no consumer %s has reported lately", consumer)
    end
    if wish == "1" then
        call("ZADD", drained, "NX", now_ms(), consumer)
    else
        call("ZREM", drained, consumer)
    end
    publish(root .. "control", "drain " .. consumer)
    return 1
end

-- Arguments: queue. Answers pairs, which transition_stated() reads. oldest_ms:
-- how long the oldest job that may start has been in a stream; 0: there is
-- none. waits_ms: the same, also while the queue is paused. budget, endpoint: how many of the scheduled jobs wait for these.
local function stats(keys, args)
    local root, queue, now = keys[1], args[1], now_ms()
    if not (queue and is_name(queue)) then
        return refuse("BADARG", "stats: queue '%s'", queue or "")
    end
    local length, pending, oldest = 0, 0, nil
    local paused = redis.call("HGET", root .. "queue:" .. queue, "paused")
        == "1"
    for _, priority in ipairs(PRIORITIES) do
        local stream = work(root, queue, priority)
        local read = redis.pcall("XPENDING", stream, GROUP)
        length = length + redis.call("XLEN", stream)
        pending = pending + (tonumber(read[1]) or 0)
        local head = unread(stream, 1)[1]
        local at = head and tonumber(head[1]:match("^%d+"))
        if at and (not oldest or at < oldest) then oldest = at end
    end
    local waits_ms = oldest and math.max(now - oldest, 0) or 0
    local lanes, tenants = 0, 0
    for _, value in ipairs(redis.call("HVALS", root .. "lanes:" .. queue)) do
        local count = tonumber(value) or 0
        lanes, tenants = lanes + count, tenants + (count > 0 and 1 or 0)
    end
    lanes = lanes + redis.call("SCARD", behind_of(root, queue))
    -- Only ids whose time is still to come: the id of a job that was lost (its
    -- facts were deleted) may stay here.
    local function count_resting(reason)
        return redis.call("ZCOUNT", resting(root, reason, queue), text(now),
            "+inf")
    end
    return {
        "paused", paused and 1 or 0,
        "ready", math.max(length - pending, 0),
        "running", redis.call("ZCARD", leases_of(root, queue)),
        "lanes", lanes, "tenants", tenants,
        "scheduled", redis.call("ZCARD", root .. "scheduled:" .. queue),
        "dead", redis.call("ZCARD", root .. "dead:" .. queue),
        "oldest_ms", paused and 0 or waits_ms,
        "budget", count_resting("budget"),
        "endpoint", count_resting("endpoint"),
        "waits_ms", waits_ms,
    }
end

register("requeue", requeue, {})
register("forget", forget, ALWAYS)
register("purge", purge, ALWAYS)
register("queue_set", queue_set, ALWAYS)
register("drain", drain, ALWAYS)
register("stats", stats, READS)
