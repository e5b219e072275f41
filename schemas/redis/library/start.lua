-- start.lua - a job that waits becomes one that runs. One block with take.lua.
--
-- who is the take that is under way: the consumer and its arguments, and what
-- is written once for all the jobs that it starts: settings (by tenant), plain
-- (queues without settings), shares (tenants whose jobs were started), entries,
-- leases, bodies, pair (begin_events).

-- Whether the entry is pending under that consumer's name: another consumer may
-- have reclaimed it since the blocking read.
local function is_pending(stream, entry, consumer)
    local rows = redis.pcall("XPENDING", stream, GROUP, entry, entry, 1,
        consumer)
    return not rows.err and #rows > 0
end

-- The answer of take for a job that was started. add_bodies() adds a body that
-- has a key of its own.
local function answer(job, now)
    local journal = {}
    if job.journal then
        journal = call("LRANGE", job.root .. "journal:" .. job.id, 0, -1)
    end
    return {
        1, "", job.id, job.epoch, job.attempts, job.crashes, job.cancel, now,
        job.deadline_at, job.submitted_at, job.body or "", journal, job.errors,
        job.approval, job.approval_note, job.queue, job.priority,
        label_of(job.tenant), label_of(job.session),
    }
end

local BODY, JOURNAL = 11, 12 -- indexes in that answer

-- Reads the bodies that are missing, by one command. Answers how many bytes
-- bodies and journals of these answers have.
local function add_bodies(root, answers)
    local keys, where, bytes = {}, {}, 0
    for _, one in ipairs(answers) do
        if one[1] == 1 and one[BODY] == "" then
            keys[#keys + 1] = root .. "body:" .. one[3]
            where[#keys] = one
        end
    end
    if #keys > 0 then
        for i, body in ipairs(redis.call("MGET", unpack(keys))) do
            where[i][BODY] = body
        end
    end
    for _, one in ipairs(answers) do
        bytes = bytes + #(one[1] == 1 and one[BODY] or "")
        for _, record in ipairs(one[1] == 1 and one[JOURNAL] or {}) do
            bytes = bytes + #record
        end
    end
    return bytes
end

-- The job has an entry but may not start, because its queue was paused or the
-- tenant's limit lowered since. It goes to the head of its lane.
local function hold_back(job, now, why, at)
    pull(job)
    stand_in_lane(job, true)
    save(job)
    if at then wake(job.root, job.queue, job.tenant, at) end
    return { 0, why, job.id }
end

-- The tenant's settings, read once in a take. For a queue without any settings
-- one look is enough for all its tenants.
local function cached_settings(root, who, queue, tenant)
    local key = root .. "queue:" .. queue
    if who.plain[key] == nil then
        who.plain[key] = redis.call("EXISTS", key) == 0 and NO_SETTINGS
    end
    if who.plain[key] then return NO_SETTINGS end
    local name = queue .. "/" .. tenant
    local settings = who.settings[name]
    if not settings then
        settings = settings_of(root, queue, tenant)
        who.settings[name] = settings
    end
    return settings
end

-- The tenant's share of this take. A tenant gets one with its first job that
-- leaves a stream: there may be room for the jobs of its lanes from then on.
local function share_of(who, queue, tenant)
    local name = queue .. "/" .. tenant
    local share = who.shares[name]
    if not share then
        share = { queue = queue, tenant = tenant, ready = {} }
        who.shares[name], who.shares[#who.shares + 1] = share, share
    end
    return share
end

-- Gathers the entry of a job that starts, for settle_streams() to remove.
local function leave_stream(job, who)
    local ready = share_of(who, job.queue, job.tenant).ready
    ready[#ready + 1] = job.id
    gather(who.entries, work(job.root, job.queue, job.priority), job.entry)
    set(job, "entry", "")
end

-- Starts the job; answers what take answers. Its lease, its body and the
-- removal of its entry are only gathered: the caller must call settle_starts()
-- and settle_streams() in the same step.
local function start_job(job, now, who, settings)
    charge(job, settings, now)
    if job.entry ~= "" then
        leave_stream(job, who)
    else
        reset(job, "place")
    end
    if job.body then
        who.bodies[#who.bodies + 1] = body_key(job)
        who.bodies[#who.bodies + 1] = job.body
    end
    set(job, "state", "in_progress")
    new_epoch(job, now)
    set(job, "attempts", job.attempts + 1)
    set(job, "owner", who.consumer)
    set(job, "lease_ms", who.lease_ms)
    reset(job, "told")
    reset(job, "reason")
    index.note_start(job, now, job.started_at == 0)
    if job.started_at == 0 then set(job, "started_at", now) end
    if job.seq == 0 then
        begin_events(job, now, "job.started", who.event, who.pair)
    else
        emit(job, now, "job.started", who.event)
    end
    save(job)
    gather(who.leases, leases_of(job.root, job.queue), who.until_ms, job.id)
    return answer(job, now)
end

-- Why a job that waits ends here instead of starting, or nil.
local function end_instead(job, now, who)
    if job.cancel == 1 then
        end_job(job, now, "cancelled")
        return { 0, "cancelled", job.id }
    end
    if is_late(job, now) then
        end_late(job, now)
        return { 0, "deadline", job.id }
    end
    -- Checked before anybody decodes the body: that may be what kills
    -- consumers.
    if job.crashes > who.max_crashes then
        end_crashed(job, now)
        return { 0, "crashed", job.id }
    end
    return nil
end

-- Starts the job of an entry, or says why not. fields: of the entry, when a
-- read has brought them.
local function start_entry(root, stream, entry, now, who, fields)
    local job, why = open_entry(root, stream, entry, now, fields)
    if not job then return { 0, why, "" } end
    local verdict = end_instead(job, now, who)
    if verdict then return verdict end
    local settings, at = cached_settings(root, who, job.queue, job.tenant), nil
    why, at = bar(root, job.queue, job.tenant, settings, now)
    if why then return hold_back(job, now, why, at) end
    return start_job(job, now, who, settings)
end

local function new_who(consumer, lease, crashes, now)
    local lease_ms, max_crashes = number(lease), number(crashes)
    if not (lease_ms and max_crashes and is_consumer(consumer)) then
        return nil, refuse("BADARG",
            "start: consumer '%s', lease '%s', crashes '%s'",
            consumer or "", lease or "", crashes or "")
    end
    return {
        consumer = consumer, lease_ms = lease_ms, max_crashes = max_crashes,
        event = cmsgpack.pack({ consumer = consumer }),
        until_ms = text(now + lease_ms), settings = {}, plain = {}, shares = {},
        ready = {}, entries = {}, leases = {}, bodies = {}, pair = {},
    }
end

-- Writes the leases and bodies of all jobs that were started.
local function settle_starts(root, who)
    for leases, members in pairs(who.leases) do
        call("ZADD", leases, unpack(members))
    end
    if #who.bodies > 0 then redis.call("MSET", unpack(who.bodies)) end
    if who.pair.queue then redis.call("DEL", root .. "copy") end
end

-- Removes the entries of the jobs that were started. Answers the shares of the
-- tenants whose lanes hold jobs.
local function settle_streams(root, who)
    for stream, entries in pairs(who.entries) do drop(stream, unpack(entries)) end
    who.entries = {}
    local behind = {}
    for _, share in ipairs(who.shares) do
        if #share.ready > 0 then
            call("ZREM", root .. "ready:" .. share.queue .. "/" .. share.tenant,
                unpack(share.ready))
            share.ready = {}
        end
        if call("HGET", root .. "lanes:" .. share.queue, share.tenant) then
            behind[#behind + 1] = share
        end
    end
    return behind
end

-- Moves jobs of these tenants from their lanes into the streams, until most of
-- each tenant stand there.
local function refill_shares(root, who, shares, now, most)
    for _, share in ipairs(shares) do
        admit(root, share.queue, share.tenant,
            cached_settings(root, who, share.queue, share.tenant), now, most)
    end
end
