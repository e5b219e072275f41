-- journal.lua - consumers write the steps of a conversation into its journal,
-- and reserve and settle what model calls use of a tenant's budget.

local MAX_RECORD_BYTES = 1024 * KIB

-- The journal's length when the record may be written at its end. Otherwise nil
-- and what to answer: a refusal; or the length, when the same record stands at
-- that index already. Then the first call has written its events, too.
local function place_for(job, place, record)
    local index = number(place)
    if not (index and record) then
        return nil, refuse("BADARG", "journal: index '%s'", place or "")
    end
    if #record > MAX_RECORD_BYTES then
        return nil, refuse("TOOBIG", "record has %d bytes, at most %d",
            #record, MAX_RECORD_BYTES)
    end
    local list, length = job.root .. "journal:" .. job.id, 0
    if job.journal then
        length = call("LLEN", list)
    else
        -- A leftover of a job with this id whose facts somebody deleted. Its
        -- records must not be taken for this job's.
        redis.call("DEL", list)
    end
    if length > index and redis.call("LINDEX", list, index) == record then
        return nil, length
    end
    if length ~= index then
        return nil, refuse("MISPLACED", "record %d of job %s, which has %d",
            index, job.id, length)
    end
    return length
end

-- Writes the record and its events, and saves the job. The fact journal says
-- that there is a journal, so that take need not look.
local function write_down(job, record, args, first_event)
    redis.call("RPUSH", job.root .. "journal:" .. job.id, record)
    if not job.journal then set(job, "journal", 1) end
    if #args >= first_event then emit_all(job, now_ms(), args, first_event) end
    save(job)
end

-- Arguments: id epoch index record, then pairs of event type and data. Answers
-- the journal's length.
local function journal(keys, args)
    local job, refusal = load_fenced(keys[1], args[1], args[2], RUNNING)
    refusal = refusal or bad_events(args, 5)
    if refusal then return refusal end
    local length, answer = place_for(job, args[3], args[4])
    if not length then return answer end
    write_down(job, args[4], args, 5)
    return length + 1
end

-- The facts that spend needs.
local SPENDING = {
    "state", "epoch", "attempts", "seq", "told", "journal", "queue", "tenant",
    "reserved",
}

-- Arguments: id epoch index record, reserve or settle, tokens, cost (empty: not
-- known), then pairs as of journal. Answers as journal. When the tenant's
-- budget does not allow the call, it answers what bar_of() says and writes no
-- record. Reservation and record are one step: a crash in between would leave
-- money reserved for a call that nobody makes, or a call that nobody has paid
-- for.
local function spend(keys, args)
    local verb, tokens, cost = args[5], number(args[6]), number(args[7])
    if not (tokens and (cost or args[7] == "")
        and (verb == "reserve" or verb == "settle")) then
        return refuse("BADARG", "spend: '%s' of '%s' tokens, cost '%s'",
            verb or "", args[6] or "", args[7] or "")
    end
    local job, refusal = load_fenced(keys[1], args[1], args[2], SPENDING)
    refusal = refusal or bad_events(args, 8)
    if refusal then return refusal end
    local length, answer = place_for(job, args[3], args[4])
    if not length then return answer end
    if verb == "settle" then
        settle(job, tokens, cost)
    else
        local bar = reserve(job, now_ms(), tokens, cost)
        if bar then
            save(job)
            return bar
        end
    end
    write_down(job, args[4], args, 8)
    return length + 1
end

register("journal", journal, ALWAYS)
register("spend", spend, ALWAYS)
