-- facts.lua - a job's facts and its events.
--
-- A step loads a job, changes it by set(), and writes all changes by one
-- save(). A function that loads a job and does not save it changes nothing.

-- The value of a fact that the hash does not have. Defaults are not written, so
-- that the hash of a waiting job stays small.
local ABSENT = {
    epoch = 0, attempts = 0, errors = 0, crashes = 0, seq = 0, told = 0,
    submitted_at = 0, started_at = 0, deadline_at = 0, not_before = 0,
    lease_ms = 0, cancel = 0, limited = 0, notify = 0, queue = "default",
    priority = "normal", tenant = "default", session = "", claims = "",
    entry = "", place = "", owner = "", cancel_reason = "", blobs = "",
    unique = "", reason = "", approval = "", approval_note = "",
    approval_mark = "", approval_call = "", approval_default = "",
    approval_until = 0, reserved = "", traceparent = "", tracestate = "",
    found_by = "", found_by2 = "", found_by3 = "", found_by4 = "",
}
local OF_JOB = { __index = ABSENT }
-- The facts that beat needs, and those that event and journal need: these are
-- by far the most frequent calls, so they do not read the whole hash.
local BEATEN = { "state", "epoch", "owner", "lease_ms", "cancel", "queue" }
local RUNNING = {
    "state", "epoch", "attempts", "seq", "told", "journal",
}

-- The bytes of submit have a key of their own: the facts stay small enough for
-- Redis to keep them in one piece of memory.
local function body_key(job)
    return job.root .. "body:" .. job.id
end

local load
do
    -- Facts that are numbers; all others are texts.
    local NUMBERS = {
        epoch = true, attempts = true, errors = true, crashes = true,
        seq = true, told = true, submitted_at = true, started_at = true,
        deadline_at = true, not_before = true, lease_ms = true, cancel = true,
        limited = true, notify = true, approval_until = true,
    }

    -- The number that a fact holds; 0 for what is none. A text that is longer
    -- than the library writes it is not kept.
    local whole_of = remembering(function(value)
        local whole = tonumber(value) -- quicker than number()
        if not (whole and whole >= 0 and whole < 1e15 and whole % 1 == 0) then
            return 0
        end
        return whole, #value < 16
    end)

    -- The value of a fact as the library uses it. A value that only somebody
    -- else can have written must not raise an error: one broken job would stop
    -- the walk over all jobs that wait behind it.
    local function fact(name, value)
        if NUMBERS[name] then return whole_of(value) end
        if name == "priority" and not AGE_MS[value] then return nil end
        return value ~= "" and value or nil
    end

    -- A table without members, and with room for as many as a job that runs
    -- has: a table that grows is made anew each time its size doubles.
    local function room_for_facts()
        return {
            root = nil, id = nil, key = nil, changes = nil, fenced = nil,
            body = nil, state = nil, queue = nil, tenant = nil, session = nil,
            epoch = nil, attempts = nil, submitted_at = nil, started_at = nil,
            entry = nil, place = nil, owner = nil, lease_ms = nil, seq = nil,
            journal = nil, finished_at = nil,
        }
    end

    -- The same for the changes of a start: eight names and values.
    local function room_for_changes()
        return {
            nil, nil, nil, nil, nil, nil, nil, nil,
            nil, nil, nil, nil, nil, nil, nil, nil,
        }
    end

    -- The job with the facts of those names, or with all of them; nil when there
    -- is no such job. A fact that is not in names reads as its default, so a
    -- function may use only what it has asked for. tenant and session are
    -- encoded, as keys have them; the hash has the labels themselves. What is
    -- not a fact is set last: the hash may have fields of these names, too.
    function load(root, id, names)
        local key, job = root .. "job:" .. id, room_for_facts()
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
        job.root, job.id, job.key = root, id, key
        job.changes, job.fenced, job.body = room_for_changes(), false, nil
        return setmetatable(job, OF_JOB)
    end
end

-- A number as text: Redis reads an argument that is a text much faster.
local text = remembering(function(value)
    if type(value) ~= "number" then return value end
    return ("%d"):format(value), true
end)

-- A job that is not in Redis yet. The members that are nil here make Lua
-- reserve room for the facts that every job gets.
local function new_job(root, id, now)
    return setmetatable({
        root = root, id = id, key = root .. "job:" .. id, submitted_at = now,
        changes = { "submitted_at", text(now), nil, nil, nil, nil, nil, nil },
        state = nil, place = nil, body = nil,
    }, OF_JOB)
end

local function set(job, name, value)
    local changes = job.changes
    job[name] = value
    changes[#changes + 1] = name
    changes[#changes + 1] = text(value)
end

local found_by = {}
do
    -- In pieces, because a value of more than 64 bytes makes Redis keep the hash
    -- in several times the memory.
    local FIELDS, PIECE_BYTES = { "found_by", "found_by2", "found_by3", "found_by4" }, 64

    function found_by.set(job, columns)
        local at = 1
        for _, field in ipairs(FIELDS) do
            local last = math.min(at + PIECE_BYTES - 1, #columns)
            while columns:find("^[\128-\191]", last + 1) do last = last - 1 end
            if last >= at then set(job, field, columns:sub(at, last)) end
            at = last + 1
        end
    end

    function found_by.of(job)
        if job.found_by2 == "" then return job.found_by end
        return job.found_by .. job.found_by2 .. job.found_by3 .. job.found_by4
    end

    function found_by.read(key)
        local pieces = redis.pcall("HMGET", key, unpack(FIELDS))
        for i = 1, #FIELDS do pieces[i] = pieces[i] or "" end
        return table.concat(pieces)
    end

    -- columns: a tab ends each of them. model, metadata: nil fits all.
    function found_by.fits(columns, model, metadata)
        return (not model or columns:sub(1, #model + 1) == model .. "\t")
            and (not metadata or columns:find("\t" .. metadata .. "\t", 1, true) ~= nil)
    end
end

-- Sets a fact back to its default. One that has it already is not written.
local function reset(job, name)
    if job[name] ~= ABSENT[name] then set(job, name, ABSENT[name]) end
end

-- An epoch that no start of this job has had. A failover may have lost starts,
-- and their epochs with them; but all of those were before now.
local function new_epoch(job, now)
    set(job, "epoch", math.max(job.epoch + 1, now))
end

-- Raises the epoch, so that writes of the present holder are refused from here
-- on. At most once in a step: left_before() of leave.lua relies on exactly one.
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

-- The job when the caller still holds it. Otherwise nil and the refusal, and
-- third, when there is such a job, the job: a call that was sent again may find
-- there that its first time has done the work.
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

-- The bytes of an event: a map of six members (\134 is 0x86). data is the bytes
-- of the caller's map, which are not read. The bytes before data are kept: jobs
-- that end in one call often have them in common.
local event_bytes
do
    local head, head_seq, head_at, head_attempt, head_type

    function event_bytes(seq, at, attempt, type, data)
        if at ~= head_at or seq ~= head_seq or attempt ~= head_attempt
            or type ~= head_type then
            head_seq = nil -- until head is whole: the call may be killed here
            head = "\134" .. cmsgpack.pack("v", 1, "seq", seq, "at", at,
                "attempt", attempt, "type", type, "data")
            head_at, head_attempt, head_type = at, attempt, type
            head_seq = seq
        end
        return head .. data
    end
end

-- Appends an event; its seq is the entry's id. The stream is trimmed at every
-- hundredth only: Redis removes whole nodes, which hold a hundred entries.
local function append(stream, seq, event)
    local entry = text(seq) .. "-0"
    if seq % 100 == 0 then
        return redis.pcall("XADD", stream, "MAXLEN", "~", MAX_EVENTS, entry,
            "event", event)
    end
    return redis.pcall("XADD", stream, entry, "event", event)
end

-- Publishes to those who follow now. PUBLISH in a Cluster visits every node, so
-- there it is SPUBLISH: channels begin with the partition's root, so they are in
-- the slot of its keys. No argument says whether this is a Cluster, because
-- clients of any build call. A server is asked once and never changes; when the
-- login may not ask, or not SPUBLISH, the message goes to every node.
local publish
do
    local sharded -- nil: not known yet

    local function ask_server()
        local err = redis.pcall("CLUSTER", "SLOTS").err
        if not err then
            sharded = true
        elseif err:find("cluster support disabled", 1, true) then
            sharded = false
        end
    end

    function publish(channel, message)
        if sharded == nil then ask_server() end
        if sharded then
            local heard = redis.pcall("SPUBLISH", channel, message)
            if type(heard) == "number" then return end
        end
        redis.call("PUBLISH", channel, message)
    end
end

-- Appends the event for clients that replay, and publishes it for clients that
-- follow.
local function tell(stream, seq, event)
    if append(stream, seq, event).err then
        -- It is of another type, or has a higher id: somebody else wrote it.
        redis.call("DEL", stream)
        append(stream, seq, event)
    end
    publish(stream, event)
end

-- The first event of every job, job.queued with the time of the submit, made
-- from its facts.
local function first_event(job)
    local data = { queue = job.queue }
    if job.not_before > job.submitted_at then
        data.not_before = job.not_before
    end
    if job.traceparent ~= "" then
        data.traceparent = job.traceparent
        if job.tracestate ~= "" then data.tracestate = job.tracestate end
    end
    return event_bytes(1, job.submitted_at, 0, "job.queued",
        cmsgpack.pack(data))
end

-- Writes the first two events of a job. A stream takes more memory than all the
-- rest of a job that waits, so it is made only with the second event. It is
-- made at the key "copy" and copied from there: Redis reserves 4 KiB for a new
-- stream, which most jobs never fill, but a copy takes only what it needs.
-- pair: what is at "copy" already. take starts many jobs with the same second
-- event; those with the same first event, too, share one stream there. Whoever
-- calls this deletes the key "copy" afterwards.
local function begin_events(job, now, type, data, pair)
    local beside, stream = job.root .. "copy", job.root .. "events:" .. job.id
    if pair.submitted_at ~= job.submitted_at or pair.queue ~= job.queue
        or pair.not_before ~= job.not_before
        or pair.traceparent ~= job.traceparent
        or pair.tracestate ~= job.tracestate then
        pair.submitted_at, pair.queue = job.submitted_at, job.queue
        pair.not_before = job.not_before
        pair.traceparent, pair.tracestate = job.traceparent, job.tracestate
        pair[1] = first_event(job)
        pair[2] = event_bytes(2, now, job.attempts, type, data)
        redis.call("DEL", beside)
        append(beside, 1, pair[1])
        append(beside, 2, pair[2])
    end
    redis.call("COPY", beside, stream, "REPLACE")
    publish(stream, pair[1])
    publish(stream, pair[2])
    set(job, "seq", 2)
end

-- One more event of the job. data: the bytes of a map. The caller saves the
-- job, because seq is one of its facts.
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

-- The refusal when args, from first on, are not pairs of type and data; else
-- nil.
local function bad_events(args, first)
    for i = first, #args, 2 do
        local type, data = args[i], args[i + 1]
        if not data then
            return refuse("BADARG", "event %s without its data", type)
        end
        -- Clients rely on job.* events for a job's state, so only transitions
        -- write them. These two say nothing about the state.
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
