-- ends.lua - the ends that a job comes to, and the ways back into its queue.

-- How long Redis keeps a job that was purged before it started. Operators purge
-- very many of them when memory is short; a client that follows one still has
-- time to see its end.
local PURGED_EVENTS_MS = 600 * 1000
local PURGED_RESULT_MS = HOUR_MS

-- Puts the job among the dead of its queue. The facts of dead jobs expire on
-- their own, so each call also removes some of the oldest ids whose facts have
-- gone.
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

-- Codes of failures in what a person asked for, which only another job can
-- correct: the result tells them, and operators have nothing to do. All other
-- failed jobs are kept among the dead.
local OWN_FAULTS = {
    cell_failed = true, model_refused = true,
    unknown_session = true, session_exists = true, unknown_file = true,
}

-- Leaves behind that the job's tenant is to be told, if anybody is: hooks.lua
-- makes deliveries of it. Where no deliverer runs, what is older than a week is
-- removed.
local function leave_delivery(job, now, state)
    local root = job.root
    if redis.call("EXISTS", root .. "hooks:" .. job.tenant) == 0 then return end
    call("XADD", root .. "deliveries", "MINID", "~",
        text(now - WEEK_MS), "*", "job", job.id, "tenant",
        label_of(job.tenant), "state", state, "at", text(now))
end

-- The only way into a terminal state. end_: state, result, data (of the
-- terminal event, bytes), error_code, result_ttl_ms, dead_ttl_ms, tokens, cost;
-- purged: it is kept for a short time only. ends: where several jobs end in one
-- step, leases and bodies are gathered there for settle_ends().
--
-- The order: the result stands before the terminal event is published, because
-- a client that sees the event reads the result. A dead job's body is copied
-- out of its lane before pull() makes it leave. Room is given to others last,
-- when the job counts nowhere any more.
local function finish_job(job, now, end_, ends)
    local root = job.root
    local dead = end_.state == "failed" and not OWN_FAULTS[end_.error_code]
    local ttl_ms = dead and end_.dead_ttl_ms or end_.result_ttl_ms
    -- The facts stay a week longer than the result, so that clients can tell an
    -- expired job from an unknown one.
    local facts_ttl_ms = end_.purged and DAY_MS or ttl_ms + WEEK_MS

    redis.call("SET", root .. "result:" .. job.id, end_.result, "PX",
        text(ttl_ms))
    local body = dead and job.place ~= "" and body_in_lane(job)
    if body and body ~= "" then redis.call("SET", body_key(job), body) end
    let_blobs_go(job, now, ttl_ms)
    if job.reserved ~= "" then settle(job) end
    local made_room = pull(job, ends)
    if job.deadline_at > 0 then call("ZREM", root .. "deadlines", job.id) end
    set(job, "state", end_.state)
    set(job, "finished_at", now)
    if end_.error_code ~= "" then set(job, "error_code", end_.error_code) end
    index.note_end(job, now, end_.state, end_.error_code, end_.tokens,
        end_.cost, not end_.purged)
    emit(job, now, "job." .. end_.state, end_.data)
    save(job)
    if job.notify == 1 then leave_delivery(job, now, end_.state) end

    redis.call("PEXPIRE", job.key, text(facts_ttl_ms))
    redis.call("PEXPIRE", root .. "events:" .. job.id,
        text(end_.purged and PURGED_EVENTS_MS or DAY_MS))
    -- How long journal and body are kept. A journal keeps the body with it:
    -- what was done is of no use without what was asked.
    local kept_ms = dead and ttl_ms or job.journal and HOUR_MS or nil
    if job.journal then
        redis.call("PEXPIRE", root .. "journal:" .. job.id, text(kept_ms))
    end
    if kept_ms then redis.call("PEXPIRE", body_key(job), text(kept_ms)) end
    if dead then
        bury(root, job.queue, job.id, now, facts_ttl_ms)
    elseif kept_ms then
        -- The body expires with the journal, see above.
    elseif ends then
        ends.bodies[#ends.bodies + 1] = body_key(job)
    else
        redis.call("DEL", body_key(job))
    end
    if job.unique ~= "" then
        local unique = unique_key(root, job.tenant, job.unique)
        if call("GET", unique) == job.id then redis.call("DEL", unique) end
    end
    -- Jobs of lanes first: they have waited for room, and go before the next
    -- job of the session's line.
    if made_room then refill(root, job.queue, job.tenant, now) end
    leave_lines(job, now)
end

local function settle_ends(ends)
    for leases, ids in pairs(ends.leases) do call("ZREM", leases, unpack(ids)) end
    if #ends.bodies > 0 then redis.call("DEL", unpack(ends.bodies)) end
end

-- Of what was submitted: the bytes of the metadata, or nil; and how long the
-- result is to be kept at least, or 0.
local function wanted_of_result(job)
    local body = job.body or job.place ~= "" and body_in_lane(job)
    if not body or body == "" then
        body = redis.pcall("GET", body_key(job))
    end
    if type(body) ~= "string" then return nil, 0 end
    local metadata, keep_ms, cost = said.of_result(body)
    journal_bytes = journal_bytes + #body + cost
    return metadata, keep_ms
end

-- The bytes of a fixmap of up to 14 members, with one more. value: bytes.
local function with_member(map, name, value)
    return string.char(map:byte() + 1) .. map:sub(2) .. cmsgpack.pack(name)
        .. value
end

-- An end that no consumer wrote, for which the result is made here. It raises
-- the epoch: a holder that is only slow must not write afterwards. purged: the
-- job had not started.
local function end_job(job, now, state, code, message, purged)
    fence(job)
    local usage, said = usage_of(job)
    usage = usage or {}
    local result = {
        v = 1, id = job.id, status = state, attempts = job.attempts,
        usage = next(usage) and usage, answer = said,
    }
    local data = { ms = now - job.submitted_at }
    if state == "failed" then
        result.error = { kind = "reject", code = code, message = message }
        data.error = result.error
    elseif job.cancel_reason ~= "" then
        result.notes = "cancelled: " .. job.cancel_reason
        data.reason = job.cancel_reason
    end
    local bytes, metadata, keep_ms = cmsgpack.pack(result),
        wanted_of_result(job)
    if metadata then bytes = with_member(bytes, "metadata", metadata) end
    finish_job(job, now, {
        state = state,
        result = bytes,
        data = cmsgpack.pack(data),
        error_code = code or "",
        result_ttl_ms = purged and PURGED_RESULT_MS
            or math.max(DAY_MS, keep_ms),
        dead_ttl_ms = math.max(WEEK_MS, keep_ms),
        purged = purged,
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            + (usage.uncounted_tokens or 0),
        cost = usage.cost or 0,
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
    local why = "its deadline passed %d ms before it could start"
    if job.reason == "approval" then
        why = "its deadline passed %d ms ago, and nobody had approved what it"
            .. " waits for"
    elseif job.started_at > 0 then
        why = "its deadline passed %d ms before it could go on"
    end
    end_job(job, now, "failed", "deadline_exceeded",
        string.format(why, now - job.deadline_at))
end

-- Ends a job that nobody holds when it was cancelled or its deadline has
-- passed; answers whether it did.
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

-- Puts the job back into its queue, unless it ends here. handed_back: its
-- consumer releases it, and the attempt does not count.
local function put_back(job, now, reason, handed_back)
    if ends_here(job, now) then return end
    if handed_back then set(job, "attempts", job.attempts - 1) end
    pull(job)
    enter(job, now, settings_of(job.root, job.queue, job.tenant), true)
    emit_map(job, now, "job.queued", { queue = job.queue, reason = reason })
    save(job)
end

-- The job's consumer has died or lost its connection. Ends a job that has lost
-- too many; answers whether it may run again.
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

-- An entry that names no job of ours leaves the stream, and is kept among the
-- dead under an id of its own, so that somebody may look at it.
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

-- The job that an entry stands for; else nil, and why the entry was removed.
-- fields: of the entry, when a read has brought them.
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
    -- The job runs or has ended, or this is not its own entry: mend, or
    -- somebody else, has made a second one.
    if job.state ~= "queued" or job.entry ~= entry
        or work(root, job.queue, job.priority) ~= stream then
        drop(stream, entry)
        return nil, TERMINAL[job.state] and "terminal" or "duplicate"
    end
    return job
end
