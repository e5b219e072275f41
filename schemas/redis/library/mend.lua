-- mend.lua - repairs what somebody else has deleted or changed.
--
-- A walk looks at every key of the partition. A job that has not ended and does
-- not stand where its facts say is put back where it belongs; ids of jobs that
-- are no more leave the sets that name them. After a key was deleted nothing
-- else is needed.
--
-- While the key mended exists no walk is wanted. When it has gone, promote
-- tells the first caller to walk.

local MEND_MS = 600 * 1000 -- between two walks

-- Whether the job's entry is in the stream, and its own: when a stream was
-- deleted and made again, another job may have an entry of the same id.
local function stands_in_stream(job)
    local stream = work(job.root, job.queue, job.priority)
    local found = redis.pcall("XRANGE", stream, job.entry, job.entry)[1]
    return found and found[2][2] == job.id
end

-- Puts a queued job into its lines, and into its queue when it is the first of
-- its session's line.
local function stand_again(job, now)
    reset(job, "entry")
    reset(job, "place")
    for _, session in ipairs(lines_of(job)) do
        call("ZADD", job.root .. "line:" .. session, "NX", job.submitted_at,
            job.id)
    end
    local session = job.session ~= "" and job.tenant .. "/" .. job.session
    local first = session and first_in_line(job.root, session, now)
    if not first or first == job.id then
        enter(job, now, settings_of(job.root, job.queue, job.tenant), true)
    end
end

-- stands: the body in its lane's element; nil when it does not stand in a lane.
local function mend_queued(job, now, stands)
    if job.entry ~= "" and stands_in_stream(job) then
        local ready = job.root .. "ready:" .. job.queue .. "/" .. job.tenant
        if call("ZSCORE", ready, job.id) then return 0 end
        call("ZADD", ready, now, job.id)
        return 1
    end
    if stands then return 0 end
    if job.entry == "" and job.place == "" and job.session ~= "" then
        local session = job.tenant .. "/" .. job.session
        local first = first_in_line(job.root, session, now)
        if first and first ~= job.id
            and call("ZSCORE", job.root .. "line:" .. session, job.id) then
            return call("SADD", behind_of(job.root, job.queue), job.id)
        end
    end
    if job.entry ~= "" then
        call("ZREM", job.root .. "ready:" .. job.queue .. "/" .. job.tenant,
            job.id)
    end
    stand_again(job, now)
    save(job)
    return 1
end

-- A job that runs needs its lease, or nobody would take it over when its
-- consumer dies; its place in running, or the limit would let one more start;
-- and its lines, or another job of the session would start beside it.
local function mend_running(job, now)
    local mended, leases = 0, leases_of(job.root, job.queue)
    if not call("ZSCORE", leases, job.id) then
        call("ZADD", leases, now + job.lease_ms, job.id)
        mended = 1
    end
    if job.limited == 1 then
        mended = mended + call("SADD", job.root .. "running:" .. job.queue
            .. "/" .. job.tenant, job.id)
    end
    for _, session in ipairs(lines_of(job)) do
        mended = mended + call("ZADD", job.root .. "line:" .. session, "NX",
            job.submitted_at, job.id)
    end
    return mended > 0 and 1 or 0
end

local function mend_scheduled(job, now)
    local scheduled = job.root .. "scheduled:" .. job.queue
    if call("ZSCORE", scheduled, job.id) then return 0 end
    local at = job.state == "scheduled" and job.not_before
        or job.reason == "approval" and job.approval_until > 0
        and job.approval_until
        or job.reason == "approval" and now + WEEK_MS or now
    call("ZADD", scheduled, at, job.id)
    return 1
end

-- Whether the job's body is still there: in its lane or in a key of its own.
-- The consumer of a job that runs has read it already.
local function has_body(job, stands)
    return job.state == "in_progress" or stands and stands ~= ""
        or redis.call("EXISTS", body_key(job)) == 1
end

-- Answers, as every mender, how many things it has repaired. PERSIST: somebody
-- may have given the facts a time to live. The deadline, the unique key and the
-- queue's name are written without a look, as they cost no more than one.
local function mend_job(root, id, now)
    local job = is_id(root, id) and load(root, id)
    if not job or TERMINAL[job.state] then return 0 end
    local stands = job.place ~= "" and body_in_lane(job) or nil
    if not has_body(job, stands) then
        end_job(job, now, "failed", "lost_body",
            "what was submitted is gone: somebody has deleted its body or lane")
        return 1
    end
    call("SADD", root .. "queues", job.queue)
    redis.call("PERSIST", job.key)
    if job.deadline_at > 0 and job.state ~= "in_progress" then
        call("ZADD", root .. "deadlines", job.deadline_at, id)
    end
    if job.unique ~= "" then
        redis.call("SET", unique_key(root, job.tenant, job.unique), id, "NX")
    end
    if job.state == "in_progress" then return mend_running(job, now) end
    if job.state == "scheduled" or job.state == "waiting" then
        return mend_scheduled(job, now)
    end
    return mend_queued(job, now, stands)
end

-- Removes those ids from a set that do not belong there. The caller looks at up
-- to a batch of them in one walk.
local function clear_ids(key, ids, remove, belongs)
    local cleared = 0
    for _, id in ipairs(ids) do
        if not belongs(id) then
            cleared = cleared + redis.call(remove, key, id)
        end
    end
    return cleared
end

local function mend_ready(root, who, now)
    local key, queue, tenant = root .. "ready:" .. who, who:match("^(.-)/(.*)$")
    local cleared = clear_ids(key, call("ZRANGE", key, 0, MAX_BATCH - 1),
        "ZREM", function(id)
            local job = load(root, id, { "state", "entry" })
            return job and job.state == "queued" and job.entry ~= ""
        end)
    if cleared > 0 and tenant then refill(root, queue, tenant, now) end
    return cleared
end

local function mend_behind(root, queue)
    local key = behind_of(root, queue)
    return clear_ids(key, call("SRANDMEMBER", key, MAX_BATCH), "SREM",
        function(id)
            local job = load(root, id)
            return job and job.state == "queued" and job.entry == ""
                and job.place == ""
        end)
end

local function mend_set_running(root, who, now)
    local key = root .. "running:" .. who
    local queue, tenant = who:match("^(.-)/(.*)$")
    local cleared = clear_ids(key, call("SRANDMEMBER", key, MAX_BATCH),
        "SREM", function(id)
            local job = load(root, id, { "state" })
            return job and job.state == "in_progress"
        end)
    if cleared > 0 and tenant then refill(root, queue, tenant, now) end
    return cleared
end

-- Counts a tenant's lanes anew. promote then looks into lanes that hold
-- something, in case their entry or their time in wakes was lost.
local function recount(root, queue, tenant, now)
    local lanes = root .. "lanes:" .. queue
    local length = lane_length(root, queue, tenant)
    local was = tonumber(call("HGET", lanes, tenant) or "")
    if length > 0 then wake(root, queue, tenant, now) end
    -- A count below the length is right: elements of jobs that have gone do not
    -- count.
    if was and was <= length and length > 0 then return 0 end
    if length == 0 then
        if not was then return 0 end
        call("HDEL", lanes, tenant)
    else
        call("HSET", lanes, tenant, length)
    end
    return 1
end

local function mend_lane(root, name, now)
    local queue, tenant = name:match("^(.-)/(.*):%a+$")
    if not tenant then return 0 end
    call("SADD", root .. "queues", queue)
    return recount(root, queue, tenant, now)
end

local function mend_lanes(root, queue, now)
    local mended = 0
    for _, tenant in ipairs(call("HKEYS", root .. "lanes:" .. queue)) do
        mended = mended + recount(root, queue, tenant, now)
    end
    return mended
end

local function mend_line(root, session, now)
    return let_in(root, session, now) and 1 or 0
end

local function mend_unique(root, name, now)
    local key = root .. "unique:" .. name
    local id = call("GET", key)
    local job = id and load(root, id, { "state" })
    if not id or job and not TERMINAL[job.state] then return 0 end
    return redis.call("DEL", key)
end

-- Lets a blob go that is kept only for jobs and schedules which are no more.
local function mend_refs(root, sha256, now)
    local key, mended = root .. "refs:" .. sha256, 0
    for _, who in ipairs(call("ZRANGE", key, 0, 0, "BYSCORE",
        "LIMIT", 0, MAX_BATCH)) do
        local schedule = who:match("^schedule:(.*)$")
        local job = not schedule and load(root, who, { "state" })
        local needed = job and not TERMINAL[job.state] or schedule
            and redis.call("EXISTS", root .. "schedule:" .. schedule) == 1
        if not needed then
            let_blob_go(root, sha256, who, now + DAY_MS)
            mended = mended + 1
        end
    end
    return mended
end

-- A key that belongs to a job without facts gets a day to live.
local function mend_part(kind)
    return function(root, id)
        local key = root .. kind .. ":" .. id
        if redis.call("EXISTS", root .. "job:" .. id) == 1
            or redis.call("PTTL", key) ~= -1 then
            return 0
        end
        return redis.call("PEXPIRE", key, DAY_MS)
    end
end

-- A key of this kind always has a time to live: one that lost it gets a week.
local function mend_ttl(kind)
    return function(root, name)
        local key = root .. kind .. ":" .. name
        return redis.call("PTTL", key) == -1
            and redis.call("PEXPIRE", key, WEEK_MS) or 0
    end
end

local function mend_schedule(root, name)
    local at = call("HGET", root .. "schedule:" .. name, "next_at")
    at = number(at or "")
    if not at or at == 0 or call("ZSCORE", root .. "schedules", name) then
        return 0
    end
    return call("ZADD", root .. "schedules", at, name)
end

local MENDERS = {
    job = mend_job, line = mend_line, ready = mend_ready, lane = mend_lane,
    behind = mend_behind, lanes = mend_lanes, running = mend_set_running,
    unique = mend_unique, refs = mend_refs, schedule = mend_schedule,
    idem = mend_ttl("idem"), session = mend_ttl("session"),
    result = mend_ttl("result"), body = mend_part("body"),
    journal = mend_part("journal"), events = mend_part("events"),
}

-- Arguments: count cursor. Looks at about count keys. Answers the next cursor,
-- "0" when the walk is over, and how many things were repaired. The cursor is
-- that of SCAN, which may bring a key twice.
local function mend(keys, args)
    local root, now, count = keys[1], now_ms(), number(args[1])
    if not (count and count > 0 and count <= MAX_BATCH
        and (args[2] or ""):find("^%d+$")) then
        return refuse("BADARG", "mend: count '%s', cursor '%s'", args[1] or "",
            args[2] or "")
    end
    local found = redis.call("SCAN", args[2], "MATCH", root .. "*",
        "COUNT", count)
    local mended = 0
    for _, key in ipairs(found[2]) do
        local kind, name = key:sub(#root + 1):match("^(%a+):(.*)$")
        local mender = MENDERS[kind]
        if mender then mended = mended + mender(root, name, now) end
    end
    -- PEXPIRE makes no key: when make_group() has deleted it meanwhile, another
    -- walk is wanted, and this one must not hide that.
    redis.call("PEXPIRE", root .. "mended",
        found[1] == "0" and MEND_MS or MEND_STEP_MS)
    return { found[1], mended }
end

register("mend", mend, ALWAYS)
