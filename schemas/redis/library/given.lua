-- given.lua - what submit is given, and a schedule keeps for it.

-- Pairs of name and value from first to last, in any order, blob once per file;
-- names that we do not know are a newer producer's.
local read_submit
do
    -- What is not given.
    local OF_SUBMIT = { __index = {
        queue = "default", priority = "normal", tenant = "default",
        deadline_ms = 0, not_before = 0, delay_ms = 0, max_depth = 0,
        tenant_depth = 0, idempotency_ttl_ms = 0,
        blobs = {},
    } }

    -- Each gives the value, or nil and the refusal.

    local function read_name(name, value)
        if is_name(value) then return value end
        return nil, refuse("BADARG",
            "%s must be 1 to 128 of [A-Za-z0-9._-]: '%s'", name, value)
    end

    local function read_priority(name, value)
        if AGE_MS[value] then return value end
        return nil, refuse("BADARG",
            "priority must be high, normal or low: '%s'", value)
    end

    local function read_key(name, value)
        if #value <= 256 then return value end
        return nil, refuse("TOOBIG", "%s has %d bytes, at most 256", name,
            #value)
    end

    local function read_number(name, value)
        local whole = number(value)
        if whole then return whole end
        return nil, refuse("BADARG", "%s must be a whole number: '%s'", name,
            value)
    end

    local function read_job(name, value)
        if #value <= MAX_JOB_BYTES then return value end
        return nil, refuse("TOOBIG", "job has %d bytes, at most %d", #value,
            MAX_JOB_BYTES)
    end

    local READERS = {
        job = read_job, queue = read_name, tenant = read_name,
        session = read_name, priority = read_priority,
        idempotency_key = read_key, unique_key = read_key,
        deadline_ms = read_number, not_before = read_number,
        delay_ms = read_number, max_depth = read_number,
        tenant_depth = read_number, idempotency_ttl_ms = read_number,
    }

    local function bad_pair(given, name, value)
        local read, refusal = READERS[name], nil
        if name == "id" then
            given.id = value
        elseif name == "blob" then
            local blobs = rawget(given, "blobs") or {}
            blobs[#blobs + 1], given.blobs = value, blobs
        elseif read and value ~= "" then
            given[name], refusal = read(name, value)
        end
        return refusal
    end

    function read_submit(root, args, first, last)
        local given = setmetatable({ id = nil, job = nil }, OF_SUBMIT)
        if (last - first) % 2 == 0 then
            return nil, refuse("BADARG", "'%s' has no value", args[last])
        end
        for i = first, last, 2 do
            local refusal = bad_pair(given, args[i], args[i + 1])
            if refusal then return nil, refusal end
        end
        if not is_id(root, given.id) then
            return nil, refuse("BADARG",
                "id must be a UUIDv7 of partition %s: '%s'",
                root:match("{(.*)}") or "?", given.id or "")
        end
        if not given.job then return nil, refuse("BADARG", "job is missing") end
        return given
    end
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

-- Not before its time: promote brings it.
local function schedule(job, at, state, reason)
    call("ZADD", job.root .. "scheduled:" .. job.queue, at, job.id)
    call("SADD", job.root .. "queues", job.queue)
    set(job, "state", state)
    set(job, "reason", reason)
end

-- {id, "created" or "exists"}, or the refusal, of a job given as pairs.
local submit_one -- submit.lua
local await_verdict, goes_on_unasked -- approval.lua
