-- submit.lua - accepts new jobs, or finds those that were submitted before.
--
-- A job that is submitted again (the same id and bytes, the same idempotency
-- key, or a unique key whose job has not ended) changes nothing and is answered
-- as "exists".

local LANE_BODY = 1 * KIB -- bytes of submit that wait in the lane itself

-- How many jobs of the tenant wait in streams and lanes.
local function tenant_depth(root, queue, tenant)
    return call("ZCARD", root .. "ready:" .. queue .. "/" .. tenant)
        + (tonumber(call("HGET", root .. "lanes:" .. queue, tenant) or 0) or 0)
end

-- The lower of two limits, of which 0 is none.
local function lower(one, other)
    if one == 0 then return other end
    return other == 0 and one or math.min(one, other)
end

-- How many jobs wait in the session's line behind its first one, which counts
-- where it stands.
local function behind_in_line(root, given)
    if not given.session then return 0 end
    local line = root .. "line:" .. encode(given.tenant) .. "/"
        .. encode(given.session)
    return math.max(0, call("ZCARD", line) - 1)
end

-- depth_now() and tenant_depth_now() count once in a step; count_created()
-- counts on from there.
local function depth_now(batch, queue)
    if not batch.depths[queue] then
        settle_lanes(batch)
        batch.depths[queue] = depth(batch.root, queue)
    end
    return batch.depths[queue]
end

local function tenant_depth_now(batch, known, given)
    if not known.depth then
        settle_lanes(batch)
        known.depth = tenant_depth(batch.root, given.queue,
            encode(given.tenant))
    end
    return known.depth + behind_in_line(batch.root, given)
end

local function count_created(batch, known, job)
    batch.created[job.id] = true
    if batch.depths[job.queue] then
        batch.depths[job.queue] = batch.depths[job.queue] + 1
    end
    if known.depth and (job.entry ~= "" or job.place ~= "") then
        known.depth = known.depth + 1
    end
end

-- The refusal when as many jobs wait as the limits of queue and tenant allow;
-- else nil. A job that would wait in a line counts the jobs of that line, too.
local function too_many(batch, known, given)
    local most = lower(given.max_depth, known.settings.max_depth)
    local tenant_most = lower(given.tenant_depth, known.settings.tenant_depth)
    local jobs = most > 0 and depth_now(batch, given.queue)
    if jobs and jobs >= most then
        return refuse("QUEUEFULL", "queue %s holds %d jobs, at most %d",
            given.queue, jobs, most)
    end
    jobs = tenant_most > 0 and tenant_depth_now(batch, known, given)
    if jobs and jobs >= tenant_most then
        return refuse("QUEUEFULL",
            "%d jobs of tenant %s wait in queue %s, at most %d", jobs,
            given.tenant, given.queue, tenant_most)
    end
    return nil
end

-- Appends to keys those of the job that must not exist before its submit. The
-- journal is not among them: a leftover one is deleted when the first record is
-- written (journal.lua).
local function add_keys(root, id, keys)
    local at = #keys
    keys[at + 1] = root .. "job:" .. id
    keys[at + 2] = root .. "events:" .. id
    keys[at + 3] = root .. "result:" .. id
    return keys
end

-- Whether no key of any of these jobs exists: one command answers the usual
-- case for a whole batch.
local function are_fresh(root, jobs)
    local keys = {}
    for _, given in ipairs(jobs) do
        if given.id then add_keys(root, given.id, keys) end
    end
    return #keys == 0 or redis.call("EXISTS", unpack(keys)) == 0
end

-- Whether the job was submitted before; nil and the refusal when another job
-- has its id. A result or events without facts are leftovers of a job whose
-- hash somebody deleted: write_job() removes them.
local function stands(batch, given)
    local root, id = batch.root, given.id
    if batch.created[id] then settle_lanes(batch) end
    local keys = add_keys(root, id, {})
    given.leftovers = redis.call("EXISTS", unpack(keys)) > 0 and keys
    if not (given.leftovers and redis.call("EXISTS", keys[1]) == 1) then
        return false
    end
    local body = redis.pcall("GET", root .. "body:" .. id)
    if type(body) ~= "string" then
        local job = load(root, id)
        body = job and job.place ~= "" and body_in_lane(job)
    end
    if body and body ~= given.job then
        return nil, refuse("BADARG", "job %s exists and is another", id)
    end
    return true
end

-- The id of the job that this submit repeats (by idempotency key, then by id,
-- then by unique key), or nil; nil and a refusal when there may be none.
local function standing(batch, given, idem, unique)
    local root = batch.root
    local id = idem and call("GET", idem)
    if id and redis.call("EXISTS", root .. "job:" .. id) == 1 then return id end
    if not batch.fresh or batch.created[given.id] then
        local itself, refusal = stands(batch, given)
        if itself then return given.id end
        if refusal then return nil, refusal end
    end
    id = unique and call("GET", unique)
    local other = id and load(root, id, { "state" })
    return other and not TERMINAL[other.state] and id or nil
end

local function write_label(job, name, label)
    set(job, name, label)
    job[name] = encode(label) -- as load() has it
end

-- Makes the job's facts, but for where it stands; the caller saves.
local function write_job(root, given, now, not_before)
    -- Keys of a job with this id whose facts somebody deleted.
    if given.leftovers then redis.call("DEL", unpack(given.leftovers)) end
    local job = new_job(root, given.id, now)
    local queue, priority, tenant, session = given.queue, given.priority,
        given.tenant, given.session
    if queue ~= ABSENT.queue then set(job, "queue", queue) end
    if priority ~= ABSENT.priority then set(job, "priority", priority) end
    if tenant ~= ABSENT.tenant then write_label(job, "tenant", tenant) end
    if session then write_label(job, "session", session) end
    if given.unique_key then set(job, "unique", given.unique_key) end
    if given.notify then set(job, "notify", 1) end
    if #given.blobs > 0 then
        set(job, "blobs", table.concat(given.blobs, " "))
        keep_blobs(job)
    end
    if given.deadline_ms > 0 then
        set(job, "deadline_at", now + given.deadline_ms)
        call("ZADD", root .. "deadlines", job.deadline_at, job.id)
    end
    if not_before > now then set(job, "not_before", not_before) end
    local parent, state, columns = said.beside_pairs(given.job)
    if parent then set(job, "traceparent", parent) end
    if state then set(job, "tracestate", state) end
    if columns then found_by.set(job, columns) end
    if #given.job <= LANE_BODY then job.body = given.job end
    return job
end

-- {id, "created" or "exists"}, or the refusal. Everything that may refuse comes
-- before the first write.
local function submit_given(batch, given, now)
    local root, tenant = batch.root, encode(given.tenant)
    local idem = given.idempotency_key
        and root .. "idem:" .. tenant .. ":" .. given.idempotency_key
    local unique = given.unique_key
        and unique_key(root, tenant, given.unique_key)
    local id, refusal = standing(batch, given, idem, unique)
    if refusal then return refusal end
    if id then return { id, "exists" } end
    local known = tenant_of(batch, given.queue, tenant)
    refusal = bad_blobs(root, given.blobs) or too_many(batch, known, given)
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
    elseif not falls_in(job, now) then
        enter_new(job, now, batch, known)
    end
    if job.place == "" or not job.body then
        redis.call("SET", body_key(job), given.job)
    end
    if given.asked then
        local ttl_ms = given.asked_ttl_ms
        redis.call("SET", root .. "asked:" .. job.id, given.asked, "PX",
            ttl_ms > 0 and ttl_ms or WEEK_MS)
    end
    save(job)
    count_created(batch, known, job)
    return { job.id, "created" }
end

-- jobs: for each what read_submit() has answered, also a refusal. Answers one
-- for each.
local function submit_all(root, jobs, now)
    local batch, answers = new_batch(root), {}
    batch.fresh = are_fresh(root, jobs)
    said.begin()
    for i, given in ipairs(jobs) do
        answers[i] = given.err and given or submit_given(batch, given, now)
    end
    settle_lanes(batch)
    return answers
end

-- key: an idempotency key in place of the job's own, for schedules; or nil.
function submit_one(root, args, now, key)
    local given, refusal = read_submit(root, args, 1, #args, now)
    if key and given then given.idempotency_key = key end
    return submit_all(root, { given or refusal }, now)[1]
end

-- The pairs of one job after the other, those of each begin with its id.
-- Answers for each what submit does; one that is refused holds up no other.
local function submit_many(keys, args)
    local root, jobs, first, now = keys[1], {}, 1, now_ms()
    if #args % 2 == 1 or args[1] and args[1] ~= "id" then
        return refuse("BADARG", "submit_many: %d arguments, the first is '%s'",
            #args, args[1] or "")
    end
    for i = 3, #args + 1, 2 do
        if args[i] == "id" or i > #args then
            local given, refusal = read_submit(root, args, first, i - 1,
                now)
            jobs[#jobs + 1], first = given or refusal, i
        end
    end
    if #jobs > MAX_BATCH then
        return refuse("BADARG", "submit_many: %d jobs, at most %d", #jobs,
            MAX_BATCH)
    end
    return submit_all(root, jobs, now)
end

register("submit", function(keys, args)
    return submit_one(keys[1], args, now_ms())
end, {})
register("submit_many", submit_many, {})
