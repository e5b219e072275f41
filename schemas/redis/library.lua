#!lua name=quern_v1
--[[ library.lua - every change of a job's facts, each one atomic step.

   scheduled --> queued --> in_progress --> completed | incomplete | failed
      waiting ---^  ^-----------+  +------> cancelled

A function runs alone and is not rolled back: so each one looks first, refuses
or decides, and only then writes. KEYS[1] is the partition's root; every other
key begins with it and is in its slot. The clock is the server's.

Who may change a job that runs is decided by its epoch: start gives it, and
whatever takes the job from its holder (release, reclaim, an end from outside)
raises it, so a late write names an epoch that is over and is refused. A
terminal job whose epoch is still the caller's was ended by that caller.

Work in flight never expires; the end of a job gives all of it a time to live.
transition.h tells what a caller may expect, ../README.md what lives where. ]]

local BUILD = 1 -- raise with every change; transition.c reads it from here

local GROUP = "consumers"
local PRIORITIES = { high = true, normal = true, low = true }
local TERMINAL = {
    completed = true, incomplete = true, failed = true, cancelled = true,
}

local KIB = 1024
local MAX_JOB_BYTES = 256 * KIB
local MAX_RESULT_BYTES = 1024 * KIB
local MAX_RECORD_BYTES = 1024 * KIB
local MAX_EVENT_BYTES = 64 * KIB
local MAX_REASON_BYTES = 256
local MAX_EVENTS = 10000 -- kept of one job, about
local MAX_BATCH = 512

local HOUR_MS = 3600 * 1000
local DAY_MS = 24 * HOUR_MS
local WEEK_MS = 7 * DAY_MS

local EMPTY_MAP = "\128" -- MessagePack

-- ------------------------------------------------------- what callers send

-- What it quotes is the caller's: printable, and not all of it.
local function refuse(word, text, ...)
    local args = { ... }
    for i, arg in ipairs(args) do
        if type(arg) == "string" then
            args[i] = arg:sub(1, 80):gsub("[^\32-\126]", "?")
        end
    end
    return redis.error_reply(word .. " " .. text:format(unpack(args)))
end

-- A whole number that Lua holds exactly, or nil.
local function number(text)
    if not (text and text:find("^%d+$") and #text <= 15) then return nil end
    return tonumber(text)
end

-- May be part of a key: queue, tenant, session.
local function is_name(text)
    return #text <= 128 and text:find("^[%w._-]+$") ~= nil
end

-- Sequences of more than one byte that RFC 3629 allows.
local UTF8 = {
    "\240[\144-\191][\128-\191][\128-\191]",
    "[\241-\243][\128-\191][\128-\191][\128-\191]",
    "\244[\128-\143][\128-\191][\128-\191]",
    "\224[\160-\191][\128-\191]",
    "[\225-\236\238\239][\128-\191][\128-\191]",
    "\237[\128-\159][\128-\191]",
    "[\194-\223][\128-\191]",
}

-- May stand in an event as text.
local function is_reason(text)
    if #text > MAX_REASON_BYTES then return false end
    for _, sequence in ipairs(UTF8) do text = text:gsub(sequence, " ") end
    return not text:find("[\128-\255]")
end

local HEX = "[0-9a-f]"
local UUID7 = "^" .. HEX:rep(8) .. "%-" .. HEX:rep(4) .. "%-7("
    .. HEX:rep(3) .. ")%-[89ab]" .. HEX:rep(3) .. "%-" .. HEX:rep(12) .. "$"

-- A job's id names its partition, which must be the root's.
local function is_id(root, id)
    local partition = id and id:match(UUID7)
    return partition ~= nil and partition == root:match("{(%x%x%x)}:$")
end

local function is_map(bytes)
    local first = bytes:byte()
    return first and (first >= 0x80 and first <= 0x8f
        or first == 0xde or first == 0xdf)
end

local function now_ms()
    local time = redis.call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- ----------------------------------------------------------- a job's facts

local FACTS = {
    "state", "queue", "priority", "owner", "stream", "entry", "cancel_reason",
    "epoch", "attempts", "crashes", "seq", "submitted_at", "started_at",
    "deadline_at", "lease_ms", "cancel",
}
local FIRST_NUMBER = 8

-- The facts as a table, or nil. Changes go through set() and save().
local function load(root, id)
    local key = root .. "job:" .. id
    local values = redis.call("HMGET", key, unpack(FACTS))
    if not values[1] then return nil end
    local job = { root = root, id = id, key = key, changes = {} }
    for i, name in ipairs(FACTS) do
        local value = values[i]
        if i < FIRST_NUMBER then
            job[name] = value or ""
        else
            job[name] = tonumber(value or 0)
        end
    end
    return job
end

local function set(job, facts)
    for name, value in pairs(facts) do
        job[name] = value
        job.changes[#job.changes + 1] = name
        job.changes[#job.changes + 1] = value
    end
end

local function save(job)
    redis.call("HSET", job.key, unpack(job.changes))
    job.changes = {}
end

-- The job, when the caller still holds it; else nil and the refusal.
local function held(root, id, epoch)
    if not is_id(root, id) then
        return nil, refuse("BADARG", "not a job id of this partition: '%s'",
            id or "")
    end
    local job = load(root, id)
    if not job then return nil, refuse("GONE", "no job %s", id) end
    if job.state ~= "in_progress" or job.epoch ~= number(epoch) then
        return nil, refuse("STALE", "epoch %s of job %s, now %d and %s",
            epoch or "?", id, job.epoch, job.state), job
    end
    return job
end

-- ------------------------------------------------------------------ events

-- Appended for those who replay, published for those who follow. The header
-- is packed here, data is the caller's map; together they are one map of six.
local function emit(job, now, type, data)
    set(job, { seq = job.seq + 1 })
    local event = "\134" .. cmsgpack.pack("v", 1, "seq", job.seq, "at", now,
        "attempt", job.attempts, "type", type, "data") .. data
    local stream = job.root .. "events:" .. job.id
    redis.call("XADD", stream, "MAXLEN", "~", MAX_EVENTS,
        string.format("%d-0", job.seq), "event", event)
    redis.call("PUBLISH", stream, event)
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

-- ------------------------------------------------------------ work streams

local function work(root, queue, priority)
    return root .. "work:" .. queue .. ":" .. priority
end

-- At 0: what was there before its first consumer must not be lost.
local function make_group(stream)
    redis.call("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")
end

local function push(job)
    local stream = work(job.root, job.queue, job.priority)
    if redis.call("EXISTS", stream) == 0 then make_group(stream) end
    local entry = redis.call("XADD", stream, "*", "id", job.id)
    set(job, { state = "queued", stream = stream, entry = entry })
end

-- Acknowledged and deleted: XLEN is what waits and runs.
local function drop(stream, entry)
    redis.call("XACK", stream, GROUP, entry)
    redis.call("XDEL", stream, entry)
end

local function pull(job)
    if job.entry ~= "" then drop(job.stream, job.entry) end
end

local function bury(root, queue, id, now, ttl_ms)
    local dead = root .. "dead:" .. queue
    redis.call("ZADD", dead, now, id)
    redis.call("ZREMRANGEBYSCORE", dead, "-inf", now - ttl_ms)
    redis.call("PEXPIRE", dead, ttl_ms)
end

-- ----------------------------------------------------------------- the end

-- The one way into a terminal state. end_: state, result, data (of the
-- terminal event, bytes), error_code, result_ttl_ms, dead_ttl_ms.
local function finish_job(job, now, end_)
    local failed = end_.state == "failed"
    local ttl_ms = failed and end_.dead_ttl_ms or end_.result_ttl_ms
    -- The facts stay a week longer than the result: expired is not unknown.
    local facts_ttl_ms = ttl_ms + WEEK_MS

    redis.call("SET", job.root .. "result:" .. job.id, end_.result,
        "PX", ttl_ms)
    pull(job)
    set(job, { state = end_.state, finished_at = now })
    if end_.error_code ~= "" then set(job, { error_code = end_.error_code }) end
    emit(job, now, "job." .. end_.state, end_.data)
    save(job)

    redis.call("HDEL", job.key, "stream", "entry", "lease_ms")
    if not failed then redis.call("HDEL", job.key, "job") end
    redis.call("PEXPIRE", job.key, facts_ttl_ms)
    redis.call("PEXPIRE", job.root .. "events:" .. job.id, DAY_MS)
    redis.call("PEXPIRE", job.root .. "journal:" .. job.id, HOUR_MS)
    if failed then bury(job.root, job.queue, job.id, now, facts_ttl_ms) end
end

-- An end that no consumer wrote: its result is made here.
local function end_job(job, now, state, code, message)
    set(job, { epoch = job.epoch + 1 })
    local result = {
        v = 1, id = job.id, status = state, attempts = job.attempts,
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

-- Back into the queue, unless it was cancelled meanwhile.
local function requeue(job, now, reason)
    if job.cancel == 1 then return end_job(job, now, "cancelled") end
    pull(job)
    push(job)
    emit_map(job, now, "job.queued", { queue = job.queue, reason = reason })
    save(job)
end

-- The holder is gone. Answers whether the job may run again.
local function lose(job, now, reason, max_crashes)
    set(job, { epoch = job.epoch + 1, crashes = job.crashes + 1 })
    emit_map(job, now, "job.lost", { consumer = job.owner, reason = reason })
    if job.crashes <= max_crashes then return true end
    end_crashed(job, now)
    return false
end

-- An entry that names no job of ours: kept under an id of its own, so that
-- somebody may look at it, and out of the way.
local function bury_entry(root, stream, entry, fields, now)
    local id = "entry-" .. entry
    local queue = stream:match("work:([%w._-]+):%a+$") or "default"
    redis.call("HSET", root .. "job:" .. id, "state", "failed",
        "error_code", "bad_entry", "queue", queue, "finished_at", now,
        "job", cmsgpack.pack(fields))
    redis.call("PEXPIRE", root .. "job:" .. id, WEEK_MS)
    bury(root, queue, id, now, WEEK_MS)
    drop(stream, entry)
end

-- The job that an entry stands for; else nil, and why the entry is no more.
local function open_entry(root, stream, entry, now)
    local found = redis.call("XRANGE", stream, entry, entry)[1]
    if not found then
        redis.call("XACK", stream, GROUP, entry)
        return nil, "gone"
    end
    local fields, id = found[2], nil
    for i = 1, #fields, 2 do
        if fields[i] == "id" then id = fields[i + 1] end
    end
    local job = is_id(root, id) and load(root, id)
    if not job then
        bury_entry(root, stream, entry, fields, now)
        return nil, "unknown"
    end
    -- Ended, or a second entry for a job that has its own.
    if TERMINAL[job.state] or job.stream ~= stream or job.entry ~= entry then
        drop(stream, entry)
        return nil, TERMINAL[job.state] and "terminal" or "duplicate"
    end
    return job
end

-- ------------------------------------------------------------------ submit

local SUBMIT_NAMES = { "queue", "tenant", "session" }
local SUBMIT_NUMBERS = { "deadline_ms", "max_depth", "idempotency_ttl_ms" }

-- Pairs of name and value, in any order; names that we do not know are a
-- newer producer's.
local function read_submit(root, args)
    local job = {
        queue = "default", priority = "normal", tenant = "default",
        deadline_ms = "0", max_depth = "0", idempotency_ttl_ms = "0",
    }
    if #args % 2 == 1 then
        return nil, refuse("BADARG", "'%s' has no value", args[#args])
    end
    for i = 1, #args, 2 do
        if args[i + 1] ~= "" then job[args[i]] = args[i + 1] end
    end
    if not is_id(root, job.id) then
        return nil, refuse("BADARG", "id must be a UUIDv7 of partition %s: '%s'",
            root:match("{(.*)}") or "?", job.id or "")
    end
    if not job.job then return nil, refuse("BADARG", "job is missing") end
    if #job.job > MAX_JOB_BYTES then
        return nil, refuse("TOOBIG", "job has %d bytes, at most %d",
            #job.job, MAX_JOB_BYTES)
    end
    for _, name in ipairs(SUBMIT_NAMES) do
        if job[name] and not is_name(job[name]) then
            return nil, refuse("BADARG",
                "%s must be 1 to 128 of [A-Za-z0-9._-]: '%s'", name, job[name])
        end
    end
    if not PRIORITIES[job.priority] then
        return nil, refuse("BADARG",
            "priority must be high, normal or low: '%s'", job.priority)
    end
    if job.idempotency_key and #job.idempotency_key > 256 then
        return nil, refuse("TOOBIG",
            "idempotency_key has %d bytes, at most 256", #job.idempotency_key)
    end
    for _, name in ipairs(SUBMIT_NUMBERS) do
        local value = number(job[name])
        if not value then
            return nil, refuse("BADARG", "%s must be a whole number: '%s'",
                name, job[name])
        end
        job[name] = value
    end
    return job
end

local function depth(root, queue)
    local sum = 0
    for priority in pairs(PRIORITIES) do
        sum = sum + redis.call("XLEN", work(root, queue, priority))
    end
    return sum
end

-- The id of the job that stands already, or nil; or nil and a refusal.
local function standing(root, given, idem)
    local id = idem and redis.call("GET", idem)
    if id and redis.call("EXISTS", root .. "job:" .. id) == 1 then return id end
    local key = root .. "job:" .. given.id
    if redis.call("EXISTS", key) == 0 then return nil end
    local body = redis.call("HGET", key, "job")
    if body and body ~= given.job then
        return nil, refuse("BADARG", "job %s exists and is another", given.id)
    end
    return given.id
end

local function submit(keys, args)
    local root, now = keys[1], now_ms()
    local given, refusal = read_submit(root, args)
    if not given then return refusal end
    local idem = given.idempotency_key
        and root .. "idem:" .. given.tenant .. ":" .. given.idempotency_key
    local id
    id, refusal = standing(root, given, idem)
    if refusal then return refusal end
    if id then return { id, "exists" } end
    if given.max_depth > 0 then
        local jobs = depth(root, given.queue)
        if jobs >= given.max_depth then
            return refuse("QUEUEFULL", "queue %s holds %d jobs, at most %d",
                given.queue, jobs, given.max_depth)
        end
    end

    if idem then
        local ttl_ms = given.idempotency_ttl_ms
        redis.call("SET", idem, given.id, "PX", ttl_ms > 0 and ttl_ms or DAY_MS)
    end
    -- Leftovers of a job whose facts somebody deleted.
    redis.call("DEL", root .. "events:" .. given.id,
        root .. "journal:" .. given.id, root .. "result:" .. given.id)
    local job = {
        root = root, id = given.id, key = root .. "job:" .. given.id,
        changes = {}, seq = 0,
    }
    set(job, {
        epoch = 0, attempts = 0, crashes = 0, queue = given.queue,
        priority = given.priority, tenant = given.tenant, submitted_at = now,
        job = given.job,
    })
    if given.session then set(job, { session = given.session }) end
    if given.deadline_ms > 0 then
        set(job, { deadline_at = now + given.deadline_ms })
    end
    push(job)
    emit_map(job, now, "job.queued", { queue = job.queue })
    save(job)
    return { job.id, "created" }
end

-- ------------------------------------------------------------------- start

local function run_job(job, now)
    return {
        1, "", job.id, job.epoch, job.attempts, job.crashes, job.cancel, now,
        job.deadline_at, job.submitted_at, redis.call("HGET", job.key, "job"),
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
        return refuse("BADARG", "start: consumer '%s', lease '%s', crashes '%s'",
            consumer or "", args[4] or "", args[5] or "")
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
        started_at = job.started_at > 0 and job.started_at or now,
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
        local job = held(root, args[i], args[i + 1])
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
    local job, refusal = held(keys[1], args[1], args[2])
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

-- id epoch, then pairs of type and data. Answers the last seq.
local function event(keys, args)
    local job, refusal = held(keys[1], args[1], args[2])
    refusal = refusal or bad_events(args, 3)
    if refusal then return refusal end
    if #args < 3 then return job.seq end
    emit_all(job, now_ms(), args, 3)
    save(job)
    return job.seq
end

-- ------------------------------------------------------- the ways out of it

-- id epoch state result event_data error_code result_ttl_ms dead_ttl_ms
local function finish(keys, args)
    local state, result, data = args[3], args[4], args[5]
    local result_ttl_ms, dead_ttl_ms = number(args[7]), number(args[8])
    if not (TERMINAL[state] and result_ttl_ms and dead_ttl_ms) then
        return refuse("BADARG", "finish: state '%s', ttl '%s', '%s'", state or "",
            args[7] or "", args[8] or "")
    end
    local job, refusal, other = held(keys[1], args[1], args[2])
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
    local job, refusal, other = held(keys[1], args[1], args[2])
    if not job then
        local again = other and other.state ~= "in_progress"
            and other.epoch - 1 == number(args[2])
        return again and "queued" or refusal
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
    return { #rows == count and rows[count][1] or "-", jobs }
end

-- id [reason]
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
    set(job, { cancel = 1, cancel_reason = reason })
    if job.state == "in_progress" then
        save(job)
        redis.call("PUBLISH", root .. "control", "cancel " .. id)
        return "asked"
    end
    end_job(job, now_ms(), "cancelled")
    return "cancelled"
end

-- ------------------------------------------------------------- registration

-- Those that let work in flight come to its end also run when memory is out:
-- the end is what frees memory. New work is refused then.
local ALWAYS = { "allow-oom" }

local function register(name, callback, flags)
    redis.register_function({
        function_name = "quern_v1_" .. name,
        callback = callback,
        flags = flags,
    })
end

register("build", function() return BUILD end, { "no-writes" })
register("submit", submit, {})
register("start", start, {})
register("beat", beat, ALWAYS)
register("journal", journal, ALWAYS)
register("event", event, ALWAYS)
register("finish", finish, ALWAYS)
register("release", release, ALWAYS)
register("reclaim", reclaim, ALWAYS)
register("cancel", cancel, ALWAYS)
