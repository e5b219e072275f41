-- submit.lua - a new job, or the one that stands already.

local SUBMIT_NAMES = { "queue", "tenant", "session" }
local WRITTEN_NAMES = { "queue", "priority", "tenant", "session" }
local SUBMIT_KEYS = { "idempotency_key", "unique_key" }
local SUBMIT_NUMBERS = {
    "deadline_ms", "not_before", "delay_ms", "max_depth", "tenant_depth",
    "idempotency_ttl_ms",
}

-- Pairs of name and value, in any order, blob once per file; names that we do
-- not know are a newer producer's.
local function read_submit(root, args)
    local job = {
        queue = "default", priority = "normal", tenant = "default",
    }
    local blobs = {}
    if #args % 2 == 1 then
        return nil, refuse("BADARG", "'%s' has no value", args[#args])
    end
    for i = 1, #args, 2 do
        if args[i] == "blob" then
            blobs[#blobs + 1] = args[i + 1]
        elseif args[i + 1] ~= "" then
            job[args[i]] = args[i + 1]
        end
    end
    job.blobs = blobs
    if not is_id(root, job.id) then
        return nil, refuse("BADARG",
            "id must be a UUIDv7 of partition %s: '%s'",
            root:match("{(.*)}") or "?", job.id or "")
    end
    if not job.job then return nil, refuse("BADARG", "job is missing") end
    if #job.job > MAX_JOB_BYTES then
        return nil, refuse("TOOBIG", "job has %d bytes, at most %d",
            #job.job, MAX_JOB_BYTES)
    end
    for _, name in ipairs(SUBMIT_NAMES) do
        if job[name] ~= ABSENT[name] and job[name] and not is_name(job[name]) then
            return nil, refuse("BADARG",
                "%s must be 1 to 128 of [A-Za-z0-9._-]: '%s'", name, job[name])
        end
    end
    if not AGE_MS[job.priority] then
        return nil, refuse("BADARG",
            "priority must be high, normal or low: '%s'", job.priority)
    end
    for _, name in ipairs(SUBMIT_KEYS) do
        if job[name] and #job[name] > 256 then
            return nil, refuse("TOOBIG", "%s has %d bytes, at most 256", name,
                #job[name])
        end
    end
    for _, name in ipairs(SUBMIT_NUMBERS) do
        local value = not job[name] and 0 or number(job[name])
        if not value then
            return nil, refuse("BADARG", "%s must be a whole number: '%s'",
                name, job[name])
        end
        job[name] = value
    end
    return job
end

-- Written before submit, and there: else the refusal.
local function bad_blobs(root, blobs)
    if #blobs > MAX_FILES then
        return refuse("TOOBIG", "%d blobs, at most %d", #blobs, MAX_FILES)
    end
    for _, sha256 in ipairs(blobs) do
        if not is_sha256(sha256) then
            return refuse("BADARG",
                "blob must be a SHA-256 in 64 lower-case digits: '%s'", sha256)
        end
        if redis.call("EXISTS", root .. "blob:" .. sha256) == 0 then
            return refuse("NOBLOB",
                "blob %s is not there: write it before the job", sha256)
        end
    end
    return nil
end

-- Streams, lanes, lines, and what is scheduled.
local function depth(root, queue)
    local sum = call("ZCARD", root .. "scheduled:" .. queue)
        + call("SCARD", behind_of(root, queue))
    for _, priority in ipairs(PRIORITIES) do
        sum = sum + call("XLEN", work(root, queue, priority))
    end
    for _, count in ipairs(call("HVALS", root .. "lanes:" .. queue)) do
        sum = sum + (tonumber(count) or 0)
    end
    return sum
end

-- Those of the tenant that wait.
local function tenant_depth(root, queue, tenant)
    return call("ZCARD", root .. "ready:" .. queue .. "/" .. tenant)
        + (tonumber(call("HGET", root .. "lanes:" .. queue, tenant) or 0) or 0)
end

local function lower(one, other)
    if one == 0 then return other end
    return other == 0 and one or math.min(one, other)
end

local function behind_in_line(root, given)
    if not given.session then return 0 end
    local line = root .. "line:" .. given.tenant .. "/" .. given.session
    return math.max(0, call("ZCARD", line) - 1)
end

-- The refusal, when it is more than what may wait: of the tenant also behind the
-- first of its line.
local function too_many(root, given, settings)
    local most = lower(given.max_depth, settings.max_depth)
    local tenant_most = lower(given.tenant_depth, settings.tenant_depth)
    if most == 0 and tenant_most == 0 then return nil end
    local jobs = most > 0 and depth(root, given.queue)
    if jobs and jobs >= most then
        return refuse("QUEUEFULL", "queue %s holds %d jobs, at most %d",
            given.queue, jobs, most)
    end
    jobs = tenant_most > 0
        and tenant_depth(root, given.queue, given.tenant)
            + behind_in_line(root, given)
    if jobs and jobs >= tenant_most then
        return refuse("QUEUEFULL",
            "%d jobs of tenant %s wait in queue %s, at most %d", jobs,
            given.tenant, given.queue, tenant_most)
    end
    return nil
end

-- The id of the job that stands already, or nil; or nil and a refusal.
local function standing(root, given, idem, unique)
    local id = idem and call("GET", idem)
    if id and redis.call("EXISTS", root .. "job:" .. id) == 1 then return id end
    local parts = {
        root .. "job:" .. given.id, root .. "events:" .. given.id,
        root .. "journal:" .. given.id, root .. "result:" .. given.id,
    }
    given.leftovers = redis.call("EXISTS", unpack(parts)) > 0 and parts
    if given.leftovers and redis.call("EXISTS", parts[1]) == 1 then
        local body = redis.pcall("GET", root .. "body:" .. given.id)
        if type(body) ~= "string" then
            local job = load(root, given.id)
            body = job and job.place ~= "" and body_in_lane(job)
        end
        if body and body ~= given.job then
            return nil, refuse("BADARG", "job %s exists and is another",
                given.id)
        end
        return given.id
    end
    id = unique and call("GET", unique)
    local other = id and load(root, id, { "state" })
    return other and not TERMINAL[other.state] and id or nil
end

-- Its facts, but for where it stands.
local function write_job(root, given, now, not_before)
    -- Of a job whose facts somebody deleted.
    if given.leftovers then redis.call("DEL", unpack(given.leftovers)) end
    local job = new_job(root, given.id)
    set(job, "submitted_at", now)
    for _, name in ipairs(WRITTEN_NAMES) do
        if given[name] and given[name] ~= ABSENT[name] then
            set(job, name, given[name])
        end
    end
    if given.unique_key then set(job, "unique", given.unique_key) end
    if #given.blobs > 0 then
        set(job, "blobs", table.concat(given.blobs, " "))
        keep_blobs(job)
    end
    if given.deadline_ms > 0 then
        set(job, "deadline_at", now + given.deadline_ms)
        call("ZADD", root .. "deadlines", job.deadline_at, job.id)
    end
    if not_before > now then set(job, "not_before", not_before) end
    if #given.job <= LANE_BODY then job.body = given.job end
    return job
end

-- Not before its time: promote brings it.
local function schedule(job, at, state, reason)
    call("ZADD", job.root .. "scheduled:" .. job.queue, at, job.id)
    call("SADD", job.root .. "queues", job.queue)
    set(job, "state", state)
    set(job, "reason", reason)
end

local function submit_job(root, args, now)
    local given, refusal = read_submit(root, args)
    if not given then return refusal end
    local idem = given.idempotency_key
        and root .. "idem:" .. given.tenant .. ":" .. given.idempotency_key
    local unique = given.unique_key
        and unique_key(root, given.tenant, given.unique_key)
    local id
    id, refusal = standing(root, given, idem, unique)
    if refusal then return refusal end
    if id then return { id, "exists" } end
    local settings = settings_of(root, given.queue, given.tenant)
    refusal = bad_blobs(root, given.blobs) or too_many(root, given, settings)
    if refusal then return refusal end

    if idem then
        local ttl_ms = given.idempotency_ttl_ms
        redis.call("SET", idem, given.id, "PX", ttl_ms > 0 and ttl_ms or DAY_MS)
    end
    if unique then redis.call("SET", unique, given.id) end
    local not_before = math.max(given.not_before, now + given.delay_ms)
    local job = write_job(root, given, now, not_before)
    if not_before > now then
        schedule(job, not_before, "scheduled", "schedule")
    else
        arrive(job, now, settings)
    end
    if job.place == "" or not job.body then
        redis.call("SET", body_key(job), given.job)
    end
    save(job)
    return { job.id, "created" }
end

register("submit", function(keys, args)
    return submit_job(keys[1], args, now_ms())
end, {})
