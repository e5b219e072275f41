-- run.lua - a consumer takes a job, keeps it, and tells what it did.

-- ------------------------------------------------------------------- start

local function run_job(job, now)
    return {
        1, "", job.id, job.epoch, job.attempts, job.crashes, job.cancel, now,
        job.deadline_at, job.submitted_at, redis.call("GET", body_key(job)),
        redis.call("LRANGE", job.root .. "journal:" .. job.id, 0, -1),
    }
end

-- Also no when the group is gone, or the whole stream.
local function is_pending(stream, entry, consumer)
    local rows = redis.pcall("XPENDING", stream, GROUP, entry, entry, 1,
        consumer)
    return not rows.err and #rows > 0
end

-- stream entry consumer lease_ms max_crashes
local function start(keys, args)
    local root, now = keys[1], now_ms()
    local stream, entry, consumer = args[1], args[2], args[3]
    local lease_ms, max_crashes = number(args[4]), number(args[5])
    if not (lease_ms and max_crashes and consumer:find("^[%w._:@-]+$")) then
        return refuse("BADARG",
            "start: consumer '%s', lease '%s', crashes '%s'",
            consumer or "", args[4] or "", args[5] or "")
    end
    if not is_work(root, stream) then
        return refuse("BADARG", "start: '%s' is no work stream", stream)
    end
    if not is_pending(stream, entry, consumer) then
        return { 0, "taken", "" }
    end
    local job, why = open_entry(root, stream, entry, now)
    if not job then return { 0, why, "" } end

    if job.state == "in_progress" then
        if job.owner == consumer then
            -- Its reply was lost: the same attempt under a new epoch, which
            -- nobody but this caller knows.
            set(job, { epoch = job.epoch + 1 })
            save(job)
            return run_job(job, now)
        end
        -- Somebody claimed the entry past us: as good as a lease that ended.
        if not lose(job, now, "claimed", max_crashes) then
            return { 0, "crashed", job.id }
        end
    end
    if job.cancel == 1 then
        end_job(job, now, "cancelled")
        return { 0, "cancelled", job.id }
    end
    if job.deadline_at > 0 and now >= job.deadline_at then
        end_job(job, now, "failed", "deadline_exceeded", string.format(
            "its deadline passed %d ms before it could start",
            now - job.deadline_at))
        return { 0, "deadline", job.id }
    end
    -- Before anybody decodes the body: decoding may be what kills.
    if job.crashes > max_crashes then
        end_crashed(job, now)
        return { 0, "crashed", job.id }
    end

    set(job, {
        state = "in_progress", epoch = job.epoch + 1,
        attempts = job.attempts + 1, owner = consumer, lease_ms = lease_ms,
        started_at = job.started_at > 0 and job.started_at or now, told = 0,
    })
    emit_map(job, now, "job.started", { consumer = consumer })
    save(job)
    return run_job(job, now)
end

-- ---------------------------------------------------------- while it runs

-- consumer, then pairs of id and epoch. Answers pairs: held, cancel.
local function beat(keys, args)
    local root, consumer = keys[1], args[1]
    if not consumer or #args % 2 == 0 or #args > 1 + 2 * MAX_BATCH then
        return refuse("BADARG", "beat: a consumer and up to %d jobs", MAX_BATCH)
    end
    local answer = {}
    for i = 2, #args, 2 do
        local job = held(root, args[i], args[i + 1], RUNNING)
        -- XCLAIM asks nobody: it would take the job back from a new owner.
        if job and is_pending(job.stream, job.entry, consumer) then
            redis.call("XCLAIM", job.stream, GROUP, consumer, 0, job.entry,
                "JUSTID")
            answer[i - 1], answer[i] = 1, job.cancel
        else
            answer[i - 1], answer[i] = 0, 0
        end
    end
    return answer
end

-- id epoch index record, then pairs of event type and data. Answers the
-- journal's length.
local function journal(keys, args)
    local job, refusal = held(keys[1], args[1], args[2], RUNNING)
    if not job then return refusal end
    local index, record = number(args[3]), args[4]
    if not (index and record) then
        return refuse("BADARG", "journal: index '%s'", args[3] or "")
    end
    if #record > MAX_RECORD_BYTES then
        return refuse("TOOBIG", "record has %d bytes, at most %d",
            #record, MAX_RECORD_BYTES)
    end
    refusal = bad_events(args, 5)
    if refusal then return refusal end

    local list = job.root .. "journal:" .. job.id
    local length = redis.call("LLEN", list)
    if length > index and redis.call("LINDEX", list, index) == record then
        return length -- sent again: it is there, and so are its events
    end
    if length ~= index then
        return refuse("MISPLACED", "record %d of job %s, which has %d",
            index, job.id, length)
    end
    redis.call("RPUSH", list, record)
    if #args > 4 then
        emit_all(job, now_ms(), args, 5)
        save(job)
    end
    return length + 1
end

-- id epoch [number], then pairs of type and data. Answers the last seq. The
-- attempt counts its writes: one that comes again has a number that was there.
local function event(keys, args)
    local job, refusal = held(keys[1], args[1], args[2], RUNNING)
    local count = number(args[3])
    local first = count and 4 or 3
    refusal = refusal or bad_events(args, first)
    if refusal then return refusal end
    if #args < first or count and count <= job.told then return job.seq end
    if count then set(job, { told = count }) end
    emit_all(job, now_ms(), args, first)
    save(job)
    return job.seq
end
