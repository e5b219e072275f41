-- submit.lua - a new job, or the one that stands already.

local SUBMIT_NAMES = { "queue", "tenant", "session" }
local SUBMIT_NUMBERS = { "deadline_ms", "max_depth", "idempotency_ttl_ms" }

-- Pairs of name and value, in any order, blob once per file; names that we do
-- not know are a newer producer's.
local function read_submit(root, args)
    local job = {
        queue = "default", priority = "normal", tenant = "default",
        deadline_ms = "0", max_depth = "0", idempotency_ttl_ms = "0",
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
    if redis.call("EXISTS", root .. "job:" .. given.id) == 0 then return nil end
    local body = redis.call("GET", root .. "body:" .. given.id)
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
    refusal = bad_blobs(root, given.blobs)
    if refusal then return refusal end
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
    })
    if given.session then
        set(job, { session = given.session })
        stand_in_line(root, given.tenant .. "/" .. given.session, given.id, now)
    end
    if #given.blobs > 0 then
        set(job, { blobs = table.concat(given.blobs, " ") })
        keep_blobs(job)
    end
    if given.deadline_ms > 0 then
        set(job, { deadline_at = now + given.deadline_ms })
    end
    redis.call("SET", body_key(job), given.job)
    push(job)
    emit_map(job, now, "job.queued", { queue = job.queue })
    shrink_events(job)
    save(job)
    return { job.id, "created" }
end
