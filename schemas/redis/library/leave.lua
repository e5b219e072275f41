-- leave.lua - the ways out of a consumer's hands, and cancel.

-- id epoch state result event_data error_code result_ttl_ms dead_ttl_ms
local function finish(keys, args)
    local state, result, data = args[3], args[4], args[5]
    local result_ttl_ms, dead_ttl_ms = number(args[7]), number(args[8])
    if not (TERMINAL[state] and result_ttl_ms and dead_ttl_ms) then
        return refuse("BADARG", "finish: state '%s', ttl '%s', '%s'",
            state or "", args[7] or "", args[8] or "")
    end
    local job, refusal, other = held(keys[1], args[1], args[2], ALL)
    if not job then
        -- Sent again: this caller has ended it.
        local again = other and other.state == state
            and other.epoch == number(args[2])
        return again and state or refusal
    end
    if #result > MAX_RESULT_BYTES then
        return refuse("TOOBIG", "result has %d bytes, at most %d",
            #result, MAX_RESULT_BYTES)
    end
    if #data > MAX_EVENT_BYTES or data ~= "" and not is_map(data) then
        return refuse(#data > MAX_EVENT_BYTES and "TOOBIG" or "BADARG",
            "data of the terminal event: %d bytes, at most %d, a map",
            #data, MAX_EVENT_BYTES)
    end
    finish_job(job, now_ms(), {
        state = state,
        result = result,
        data = data ~= "" and data or EMPTY_MAP,
        error_code = args[6],
        result_ttl_ms = result_ttl_ms > 0 and result_ttl_ms or DAY_MS,
        dead_ttl_ms = dead_ttl_ms > 0 and dead_ttl_ms or WEEK_MS,
    })
    return state
end

-- id epoch reason. A drain is not a failure: the attempt is not counted.
local function release(keys, args)
    local reason = args[3] or ""
    if not is_reason(reason) then
        return refuse("BADARG", "reason: text of at most %d bytes",
            MAX_REASON_BYTES)
    end
    local job, refusal, other = held(keys[1], args[1], args[2], ALL)
    if not job then
        -- Sent again: it is where the first time left it.
        local again = other and other.state ~= "in_progress"
            and other.epoch - 1 == number(args[2])
        return again and other.state or refusal
    end
    local now = now_ms()
    if job.cancel == 1 then
        end_job(job, now, "cancelled")
        return "cancelled"
    end
    set(job, { epoch = job.epoch + 1, attempts = job.attempts - 1 })
    requeue(job, now, reason ~= "" and reason or "released")
    return "queued"
end

-- One pending entry whose lease may have ended. Answers jobs put back or ended.
local function reclaim_entry(root, stream, row, now, max_crashes)
    local job = open_entry(root, stream, row[1], now)
    if not job or row[3] < job.lease_ms then return 0 end
    if job.state ~= "in_progress" then
        -- Read by somebody, never started: nobody is charged.
        requeue(job, now, "lost")
    elseif lose(job, now, "lease ended", max_crashes) then
        requeue(job, now, "lost")
    end
    return 1
end

-- A name holds nothing and has not been heard of for a hundred leases: every
-- start of a consumer leaves one. One that was only quiet is made again by its
-- next read.
local function forget_consumers(stream, lease_ms)
    for _, row in ipairs(redis.call("XINFO", "CONSUMERS", stream, GROUP)) do
        local about = {}
        for i = 1, #row, 2 do about[row[i]] = row[i + 1] end
        if about.pending == 0 and about.idle >= 100 * lease_ms then
            redis.call("XGROUP", "DELCONSUMER", stream, GROUP, about.name)
        end
    end
end

-- stream lease_ms max_crashes count cursor. Answers the next cursor, "-" when
-- the walk is over, and how many jobs were put back or ended.
local function reclaim(keys, args)
    local root, now, stream, cursor = keys[1], now_ms(), args[1], args[5]
    local lease_ms, max_crashes = number(args[2]), number(args[3])
    local count = number(args[4])
    if not (lease_ms and max_crashes and count and count > 0 and cursor
        and count <= MAX_BATCH) then
        return refuse("BADARG", "reclaim: lease '%s', crashes '%s', count '%s'",
            args[2] or "", args[3] or "", args[4] or "")
    end
    if not is_work(root, stream) then
        return refuse("BADARG", "reclaim: '%s' is no work stream", stream)
    end
    if cursor ~= "-" then cursor = "(" .. cursor end
    local rows = redis.pcall("XPENDING", stream, GROUP, "IDLE", lease_ms,
        cursor, "+", count)
    if rows.err then
        if not rows.err:find("NOGROUP", 1, true) then return rows end
        make_group(stream)
        rows = {}
    end
    local jobs = 0
    for _, row in ipairs(rows) do
        jobs = jobs + reclaim_entry(root, stream, row, now, max_crashes)
    end
    if #rows == count then return { rows[count][1], jobs } end
    forget_consumers(stream, lease_ms)
    return { "-", jobs }
end

-- id [reason]
local function cancel(keys, args)
    local root, id, reason = keys[1], args[1], args[2] or ""
    if not is_id(root, id) or not is_reason(reason) then
        return refuse("BADARG", "cancel: job id '%s', reason of %d bytes",
            id or "", #reason)
    end
    local job = load(root, id, ALL)
    if not job then return refuse("GONE", "no job %s", id) end
    if job.state == "cancelled" then return "cancelled" end
    if TERMINAL[job.state] then return "late" end
    set(job, { cancel = 1, cancel_reason = reason })
    if job.state == "in_progress" then
        save(job)
        redis.call("PUBLISH", root .. "control", "cancel " .. id)
        return "asked"
    end
    end_job(job, now_ms(), "cancelled")
    return "cancelled"
end
