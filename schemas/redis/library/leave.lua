-- leave.lua - how a job leaves its consumer (finish, release, wait), and
-- cancel.

local MAX_RESULT_BYTES = 1024 * KIB

local FINISH_ARGS = 10

-- Ten arguments behind the one at first: id epoch state result event_data
-- error_code result_ttl_ms dead_ttl_ms tokens cost. Answers the state, or the
-- refusal.
local function finish_one(root, args, first, now, ends)
    local id, epoch, state, result, data, error_code, result_ttl, dead_ttl,
        tokens, cost = unpack(args, first + 1, first + FINISH_ARGS)
    local result_ttl_ms, dead_ttl_ms = number(result_ttl), number(dead_ttl)
    if not (TERMINAL[state] and result_ttl_ms and dead_ttl_ms) then
        return refuse("BADARG", "finish: state '%s', ttl '%s', '%s'",
            state or "", result_ttl or "", dead_ttl or "")
    end
    tokens = (not tokens or tokens == "0") and 0 or number(tokens)
    cost = (not cost or cost == "0") and 0 or number(cost)
    if not (tokens and cost) then
        return refuse("BADARG", "finish: tokens and cost are whole numbers")
    end
    local job, refusal, other = load_fenced(root, id, epoch)
    if not job then
        -- The same epoch: this caller has ended it, and sends the call again.
        -- Any other end has raised the epoch.
        local again = other and other.state == state
            and other.epoch == number(epoch)
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
    finish_job(job, now, {
        state = state,
        result = result,
        data = data ~= "" and data or EMPTY_MAP,
        error_code = error_code,
        result_ttl_ms = result_ttl_ms > 0 and result_ttl_ms or DAY_MS,
        dead_ttl_ms = dead_ttl_ms > 0 and dead_ttl_ms or WEEK_MS,
        tokens = tokens,
        cost = cost,
    }, ends)
    return state
end

local function finish(keys, args)
    return finish_one(keys[1], args, 0, now_ms())
end

-- The arguments of finish for one job after the other. Answers for each what
-- finish answers; a refusal of one does not stop the others.
local function finish_many(keys, args)
    local count, now = #args / FINISH_ARGS, now_ms()
    if count < 1 or count > MAX_BATCH or count % 1 ~= 0 then
        return refuse("BADARG", "finish_many: %d arguments", #args)
    end
    local answers, ends = {}, { leases = {}, bodies = {} }
    for i = 1, count do
        answers[i] = finish_one(keys[1], args, (i - 1) * FINISH_ARGS, now, ends)
    end
    settle_ends(ends)
    return answers
end

-- The state of a job that a call with this epoch has already taken out of its
-- consumer's hands: release and wait raise the epoch by exactly one. nil: it
-- was not this caller, or the job has been started since.
local function left_before(job, epoch)
    local left = job and job.state ~= "in_progress"
        and job.epoch - 1 == number(epoch)
    return left and job.state or nil
end

-- Arguments: id epoch reason. The consumer hands the job back because it
-- drains, which is no failure: the attempt does not count.
local function release(keys, args)
    local reason = args[3] or ""
    if not is_reason(reason) then
        return refuse("BADARG", "reason: text of at most %d bytes",
            MAX_REASON_BYTES)
    end
    local job, refusal, other = load_fenced(keys[1], args[1], args[2])
    if not job then return left_before(other, args[2]) or refusal end
    local now = now_ms()
    fence(job)
    put_back(job, now, reason ~= "" and reason or "released", true)
    return job.state
end

local WAITS = {
    retry = true, backoff = true, approval = true, budget = true,
    endpoint = true,
}

-- Arguments: id epoch delay_ms reason errors event_data [call [fallback]]. The
-- job waits for delay_ms, or until approve.
--   errors    failures in a row, with the one because of which it waits; zero:
--             it waits for something else, and the attempt does not count, as
--             with the reasons budget and endpoint
--   call      the call that needs approval
--   fallback  what happens when no verdict comes in time: abort or skip
local function wait(keys, args)
    local delay_ms, reason, errors = number(args[3]), args[4], number(args[5])
    local data, call_id, fallback = args[6] or "", args[7] or "", args[8] or ""
    if not (delay_ms and WAITS[reason] and errors
        and (delay_ms > 0 or reason == "approval")) then
        return refuse("BADARG", "wait: delay '%s', reason '%s', errors '%s'",
            args[3] or "", reason or "", args[5] or "")
    end
    if #data > MAX_EVENT_BYTES or data ~= "" and not is_map(data) then
        return refuse("BADARG", "wait: data of %d bytes, at most %d, a map",
            #data, MAX_EVENT_BYTES)
    end
    if call_id ~= "" and (reason ~= "approval" or not is_name(call_id))
        or fallback ~= "" and fallback ~= "abort" and fallback ~= "skip" then
        return refuse("BADARG", "wait: call '%s', fallback '%s'", call_id,
            fallback)
    end
    local job, refusal, other = load_fenced(keys[1], args[1], args[2])
    if not job then return left_before(other, args[2]) or refusal end
    local now = now_ms()
    local at = now + (delay_ms > 0 and delay_ms or WEEK_MS)
    fence(job)
    if errors > 0 then set(job, "errors", errors) end
    if ends_here(job, now) then return job.state end
    if errors == 0 or RESTS[reason] then
        set(job, "attempts", job.attempts - 1)
        if reason == "approval" then reset(job, "errors") end
    end
    local made_room = pull(job)
    schedule(job, at, "waiting", reason)
    if reason == "approval" then
        data = await_verdict(job, at, call_id, fallback, data)
    end
    if data == "" then
        data = cmsgpack.pack({ reason = reason, ["until"] = at })
    end
    emit(job, now, "job.waiting", data)
    save(job)
    if made_room then refill(job.root, job.queue, job.tenant, now) end
    return job.state
end

-- Arguments: id [reason]. A job that runs is only marked: its consumer hears of
-- it over the channel control or from its next beat, and ends the job itself,
-- so that the result has what was done. If the consumer dies first, ends_here()
-- does it.
local function cancel(keys, args)
    local root, id, reason = keys[1], args[1], args[2] or ""
    if not is_id(root, id) or not is_reason(reason) then
        return refuse("BADARG", "cancel: job id '%s', reason of %d bytes",
            id or "", #reason)
    end
    local job = load(root, id)
    if not job then return refuse("GONE", "no job %s", id) end
    if job.state == "cancelled" then return "cancelled" end
    if TERMINAL[job.state] then return "late" end
    set(job, "cancel", 1)
    set(job, "cancel_reason", reason)
    if job.state == "in_progress" then
        save(job)
        publish(root .. "control", "cancel " .. id)
        return "asked"
    end
    end_job(job, now_ms(), "cancelled")
    return "cancelled"
end

register("finish", finish, ALWAYS)
register("finish_many", finish_many, ALWAYS)
register("release", release, ALWAYS)
register("wait", wait, ALWAYS)
register("cancel", cancel, ALWAYS)
