-- facts.lua - a job's facts and its events.

local NUMBERS = {
    epoch = true, attempts = true, errors = true, crashes = true, seq = true,
    told = true, submitted_at = true, started_at = true, deadline_at = true,
    not_before = true, lease_ms = true, cancel = true, limited = true,
    approval_until = true,
}
-- What a fact is while it is not there, which keeps a waiting job small.
local ABSENT = {
    epoch = 0, attempts = 0, errors = 0, crashes = 0, seq = 0, told = 0,
    submitted_at = 0, started_at = 0, deadline_at = 0, not_before = 0,
    lease_ms = 0, cancel = 0, limited = 0, queue = "default",
    priority = "normal", tenant = "default", session = "", claims = "",
    entry = "", place = "", owner = "", cancel_reason = "", blobs = "",
    unique = "", reason = "", approval = "", approval_note = "",
    approval_mark = "", approval_call = "", approval_default = "",
    approval_until = 0, reserved = "",
}
local OF_JOB = { __index = ABSENT }
-- What is asked for while it runs, most often by far.
local BEATEN = { "state", "epoch", "owner", "lease_ms", "cancel", "queue" }
local RUNNING = {
    "state", "epoch", "attempts", "seq", "told", "journal",
}

-- The bytes of submit have a key of their own: the facts stay small enough for
-- Redis to keep them in one piece of memory.
local function body_key(job)
    return job.root .. "body:" .. job.id
end

-- Whatever somebody else has put there must not raise an error: one broken job
-- would stop the walk over all that wait behind it.
local function fact(name, value)
    if NUMBERS[name] then
        local whole = tonumber(value) -- quicker than number()
        local fits = whole and whole >= 0 and whole < 1e15 and whole % 1 == 0
        return fits and whole or 0
    end
    if name == "priority" and not AGE_MS[value] then return nil end
    return value ~= "" and value or nil
end

-- The facts of those names, or all of them, or nil. Changes go through set()
-- and save(). Of tenant and session it has what stands in keys, the label
-- encoded; the hash has the label itself.
local function load(root, id, names)
    local key, job = root .. "job:" .. id, {}
    if names then
        local values = redis.pcall("HMGET", key, unpack(names))
        for i, name in ipairs(names) do
            if values[i] then job[name] = fact(name, values[i]) end
        end
    else
        local values = redis.pcall("HGETALL", key)
        for i = 1, #values, 2 do
            job[values[i]] = fact(values[i], values[i + 1])
        end
    end
    if not job.state then return nil end
    if job.tenant then job.tenant = encode(job.tenant) end
    if job.session then job.session = encode(job.session) end
    job.root, job.id, job.key, job.changes = root, id, key, {}
    job.fenced, job.body = false, nil
    return setmetatable(job, OF_JOB)
end

-- Redis takes a text much quicker than a number.
local function text(value)
    return type(value) == "number" and ("%d"):format(value) or value
end

-- The names that all get make room for their values at once.
local function new_job(root, id, now)
    return setmetatable({
        root = root, id = id, key = root .. "job:" .. id, submitted_at = now,
        changes = { "submitted_at", text(now) }, state = nil, place = nil,
        body = nil,
    }, OF_JOB)
end

local function set(job, name, value)
    local changes = job.changes
    job[name] = value
    changes[#changes + 1] = name
    changes[#changes + 1] = text(value)
end

-- If it is not that already: what is absent stays so.
local function reset(job, name)
    if job[name] ~= ABSENT[name] then set(job, name, ABSENT[name]) end
end

-- A number that no start of this job has had, also where a failover has lost
-- starts: those that it has lost were before now.
local function new_epoch(job, now)
    set(job, "epoch", math.max(job.epoch + 1, now))
end

-- Whoever holds it holds it no more: once in a step.
local function fence(job)
    if job.fenced then return end
    set(job, "epoch", job.epoch + 1)
    job.fenced = true
end

local function save(job)
    if #job.changes == 0 then return end
    redis.call("HSET", job.key, unpack(job.changes))
    job.changes = {}
end

-- The job, when the caller still holds it; else nil and the refusal.
local function load_fenced(root, id, epoch, names)
    local job = load(root, id or "", names)
    if not (job or is_id(root, id)) then
        return nil, refuse("BADARG", "not a job id of this partition: '%s'",
            id or "")
    end
    if not job then return nil, refuse("GONE", "no job %s", id) end
    if job.state ~= "in_progress" or job.epoch ~= number(epoch) then
        return nil, refuse("STALE", "epoch %s of job %s, now %d and %s",
            epoch or "?", id, job.epoch, job.state), job
    end
    return job
end

-- ------------------------------------------------------------------ events

-- The header is packed here, data is the caller's map; together they are one
-- map of six.
local function event_bytes(seq, at, attempt, type, data)
    return "\134" .. cmsgpack.pack("v", 1, "seq", seq, "at", at,
        "attempt", attempt, "type", type, "data") .. data
end

-- A node of a stream holds a hundred entries: to look now and then is enough.
local function append(stream, seq, event)
    local entry = ("%d-0"):format(seq)
    if seq % 100 == 0 then
        return redis.pcall("XADD", stream, "MAXLEN", "~", MAX_EVENTS, entry,
            "event", event)
    end
    return redis.pcall("XADD", stream, entry, "event", event)
end

-- Appended for those who replay, published for those who follow.
local function tell(stream, seq, event)
    if append(stream, seq, event).err then
        redis.call("DEL", stream) -- somebody else's, or ahead of us
        append(stream, seq, event)
    end
    redis.call("PUBLISH", stream, event)
end

-- The first event of every job: that it was accepted, as its facts tell.
local function first_event(job)
    local data = { queue = job.queue }
    if job.not_before > job.submitted_at then
        data.not_before = job.not_before
    end
    return event_bytes(1, job.submitted_at, 0, "job.queued",
        cmsgpack.pack(data))
end

-- A stream takes more memory than all the rest of a job that waits: so it
-- begins with the second event. It is written beside and copied: a new stream
-- takes 4 KiB in advance, for which most jobs have no use, a copy what it needs.
-- pair: what is beside already; for jobs submitted in the same millisecond whose
-- second events are the same it is written once.
local function begin_events(job, now, type, data, pair)
    local beside, stream = job.root .. "copy", job.root .. "events:" .. job.id
    if pair.submitted_at ~= job.submitted_at or pair.queue ~= job.queue
        or pair.not_before ~= job.not_before then
        pair.submitted_at, pair.queue = job.submitted_at, job.queue
        pair.not_before = job.not_before
        pair[1] = first_event(job)
        pair[2] = event_bytes(2, now, job.attempts, type, data)
        redis.call("DEL", beside)
        append(beside, 1, pair[1])
        append(beside, 2, pair[2])
    end
    redis.call("COPY", beside, stream, "REPLACE")
    redis.call("PUBLISH", stream, pair[1])
    redis.call("PUBLISH", stream, pair[2])
    set(job, "seq", 2)
end

local function emit(job, now, type, data)
    if job.seq == 0 then
        begin_events(job, now, type, data, {})
        redis.call("DEL", job.root .. "copy")
        return
    end
    set(job, "seq", job.seq + 1)
    tell(job.root .. "events:" .. job.id, job.seq,
        event_bytes(job.seq, now, job.attempts, type, data))
end

local function emit_map(job, now, type, map)
    emit(job, now, type, cmsgpack.pack(map))
end

-- Pairs of type and data in args, from first on: checked, or the refusal.
local function bad_events(args, first)
    for i = first, #args, 2 do
        local type, data = args[i], args[i + 1]
        if not data then
            return refuse("BADARG", "event %s without its data", type)
        end
        -- What job.* tells is for the transitions to say, but for these two.
        if not type:find("^[a-z]+%.?[a-z]*$") or type:find("^job%.")
            and type ~= "job.retrying" and type ~= "job.waiting" then
            return refuse("BADARG", "event type '%s'", type)
        end
        if #data > MAX_EVENT_BYTES then
            return refuse("TOOBIG", "event %s has %d bytes, at most %d",
                type, #data, MAX_EVENT_BYTES)
        end
        if data ~= "" and not is_map(data) then
            return refuse("BADARG", "data of event %s is not a map", type)
        end
    end
    return nil
end

local function emit_all(job, now, args, first)
    for i = first, #args, 2 do
        local data = args[i + 1]
        emit(job, now, args[i], data ~= "" and data or EMPTY_MAP)
    end
end
