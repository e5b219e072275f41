-- run.lua - a consumer renews its leases, and writes events.

-- Arguments: consumer, then pairs of id and epoch. Answers pairs: is it held,
-- is it to be cancelled. The lease of a job that is not held is left alone: it
-- is another consumer's.
local function beat(keys, args)
    local root, consumer, now = keys[1], args[1], now_ms()
    if not consumer or #args % 2 == 0 or #args > 1 + 2 * MAX_BATCH then
        return refuse("BADARG", "beat: a consumer and up to %d jobs", MAX_BATCH)
    end
    local answer, leases = {}, {}
    for i = 2, #args, 2 do
        local job = load_fenced(root, args[i], args[i + 1], BEATEN)
        if job and job.owner == consumer then
            gather(leases, leases_of(root, job.queue),
                text(now + job.lease_ms), job.id)
            answer[i - 1], answer[i] = 1, job.cancel
        else
            answer[i - 1], answer[i] = 0, 0
        end
    end
    for key, members in pairs(leases) do call("ZADD", key, unpack(members)) end
    return answer
end

-- Arguments: id epoch [number], then pairs of type and data. Answers the job's
-- last seq. number counts the attempt's writes: told is the last one that was
-- carried out, so a write that is sent again is known by its number.
local function event(keys, args)
    local job, refusal = load_fenced(keys[1], args[1], args[2], RUNNING)
    local count = number(args[3])
    local first = count and 4 or 3
    refusal = refusal or bad_events(args, first)
    if refusal then return refusal end
    if #args < first or count and count <= job.told then return job.seq end
    if count then set(job, "told", count) end
    emit_all(job, now_ms(), args, first)
    save(job)
    return job.seq
end

register("beat", beat, ALWAYS)
register("event", event, ALWAYS)
