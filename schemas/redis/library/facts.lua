#!lua name=quern_v1
--[[ facts.lua - what callers send, a job's facts, and its events.

The files of this folder are one library, put together in the order facts, blobs,
ends, session, submit, run, leave, register: every change of a job's facts, each
one an atomic step.

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
../transition.h tells what a caller may expect, ../../README.md which key holds
what. ]]

local BUILD = 10 -- raise with every change; transition.c reads it from here

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
local MAX_FILES = 64 -- of one job
local MAX_SESSION_BYTES = 256 * KIB
local MAX_SESSION_FILES = 512

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

local function is_sha256(text)
    return #text == 64 and text:find("^" .. HEX .. "+$") ~= nil
end

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

-- A stream of work of this root, and nothing else that may be there.
local function is_work(root, stream)
    return stream ~= nil and stream:sub(1, #root + 5) == root .. "work:"
end

local function now_ms()
    local time = redis.call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- ----------------------------------------------------------- a job's facts

local NUMBERS = {
    epoch = true, attempts = true, crashes = true, seq = true, told = true,
    submitted_at = true, started_at = true, deadline_at = true,
    lease_ms = true, cancel = true,
}
-- What decides where a job goes next; and what is asked for while it runs, most
-- often by far.
local ALL = {
    "state", "epoch", "attempts", "crashes", "seq", "queue", "priority",
    "stream", "entry", "owner", "lease_ms", "submitted_at", "started_at",
    "deadline_at", "cancel", "cancel_reason", "blobs",
}
local RUNNING = {
    "state", "epoch", "attempts", "seq", "told", "stream", "entry", "cancel",
}

-- The bytes of submit have a key of their own: the facts stay small enough for
-- Redis to keep them in one piece of memory.
local function body_key(job)
    return job.root .. "body:" .. job.id
end

-- The facts of those names as a table, or nil. Changes go through set() and
-- save(). What somebody else has put there must not raise an error: one broken
-- job would stop the walk over all that wait behind it.
local function load(root, id, names)
    local key = root .. "job:" .. id
    local values = redis.pcall("HMGET", key, unpack(names))
    if not values[1] then return nil end
    local job = { root = root, id = id, key = key, changes = {} }
    for i, name in ipairs(names) do
        local value = values[i] or ""
        job[name] = NUMBERS[name] and (tonumber(value) or 0) or value
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
local function held(root, id, epoch, names)
    if not is_id(root, id) then
        return nil, refuse("BADARG", "not a job id of this partition: '%s'",
            id or "")
    end
    local job = load(root, id, names)
    if not job then return nil, refuse("GONE", "no job %s", id) end
    if job.state ~= "in_progress" or job.epoch ~= number(epoch) then
        return nil, refuse("STALE", "epoch %s of job %s, now %d and %s",
            epoch or "?", id, job.epoch, job.state), job
    end
    return job
end

-- ------------------------------------------------------------------ events

local function append(stream, seq, event)
    return redis.pcall("XADD", stream, "MAXLEN", "~", MAX_EVENTS,
        string.format("%d-0", seq), "event", event)
end

-- Appended for those who replay, published for those who follow. The header
-- is packed here, data is the caller's map; together they are one map of six.
local function emit(job, now, type, data)
    set(job, { seq = job.seq + 1 })
    local event = "\134" .. cmsgpack.pack("v", 1, "seq", job.seq, "at", now,
        "attempt", job.attempts, "type", type, "data") .. data
    local stream = job.root .. "events:" .. job.id
    if append(stream, job.seq, event).err then
        redis.call("DEL", stream) -- somebody else's, or ahead of us
        append(stream, job.seq, event)
    end
    redis.call("PUBLISH", stream, event)
end

local function emit_map(job, now, type, map)
    emit(job, now, type, cmsgpack.pack(map))
end

-- A new stream takes 4 KiB in advance, for which a waiting job has no use; a
-- copy takes what it needs.
local function shrink_events(job)
    local stream, copy = job.root .. "events:" .. job.id, job.root .. "copy"
    redis.call("COPY", stream, copy)
    redis.call("RENAME", copy, stream)
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
