-- schedule.lua - jobs that are submitted again and again.
--
-- schedule:<name> is a hash:
--   spec, zone   not read here: consumers compute the times
--   job          the body, with NO_ID in place of the id; beside it the other
--                pairs of submit; blobs as words
--   next_at      when it goes off next; 0: never
--   created_at
--   last_at      when it last went off; last_try: the id that was given then;
--                last_id: the job's; or last_error: why there was no job
--   paused
-- It exists until it is removed, and so do its blobs.

-- Stands in the body in place of the id, which each job gets when it is
-- submitted.
local NO_ID = "00000000-0000-7000-8000-000000000000"

-- Fields that belong to the schedule and not to its job; NOT_OF_SCHEDULES
-- below: pairs of submit that a schedule cannot have.
local SCHEDULE_FACTS = {
    spec = true, zone = true, next_at = true, created_at = true,
    last_at = true, last_try = true, last_id = true, last_error = true,
    paused = true,
}
-- The score of a paused schedule: it keeps its place in schedules, but no time
-- comes to it.
local PAUSED_AT = 2 ^ 53
local NOT_OF_SCHEDULES = {
    id = true, idempotency_key = true, not_before = true, blobs = true,
}

local function schedule_key(root, name)
    return root .. "schedule:" .. name
end

-- The schedule in the form of a job, for the functions of blobs.lua.
local function holder_of(root, name, blobs)
    return { root = root, id = "schedule:" .. name, blobs = blobs or "" }
end

local function fill_id(body, id)
    local from, to = body:find(NO_ID, 1, true)
    return from and body:sub(1, from - 1) .. id .. body:sub(to + 1) or body
end

-- The arguments of submit for the job of these facts.
local function job_args(facts, id)
    local args = { "id", id }
    for name, value in pairs(facts) do
        if name == "blobs" then
            for sha256 in value:gmatch("%S+") do
                args[#args + 1], args[#args + 2] = "blob", sha256
            end
        elseif not SCHEDULE_FACTS[name] then
            args[#args + 1] = name
            args[#args + 1] = name == "job" and fill_id(value, id) or value
        end
    end
    return args
end

local function schedule_facts(root, name)
    local values = call("HGETALL", schedule_key(root, name))
    local facts = {}
    for i = 1, #values, 2 do facts[values[i]] = values[i + 1] end
    return facts.spec and facts or nil
end

-- Tries the schedule's pairs out with read_submit(), so that a schedule whose
-- job would be refused is refused now. Answers what it gives, or nil and the
-- refusal.
local function read_scheduled(root, facts, now)
    local example = job_args(facts, "00000000-0000-7"
        .. root:match("{(%x%x%x)}") .. "-8000-000000000000")
    local given, refusal = read_submit(root, example, 1, #example, now)
    if refusal then return nil, refusal end
    for name in pairs(NOT_OF_SCHEDULES) do
        if rawget(given, name) and rawget(given, name) ~= 0
            and name ~= "id" and name ~= "blobs" then
            return nil, refuse("BADARG",
                "schedule_set: a schedule's job gives no '%s'", name)
        end
    end
    return given
end

-- Arguments: name spec zone next_at, then the pairs of submit, without id.
-- Replaces the schedule of that name; a paused one stays paused.
local function schedule_set(keys, args)
    local root, now, name, next_at = keys[1], now_ms(), args[1], number(args[4])
    if not (name and is_name(name) and next_at and next_at > 0
        and #args[2] > 0 and #args[2] <= 256 and #args[3] <= 64
        and #args % 2 == 0) then
        return refuse("BADARG", "schedule_set: name '%s', spec '%s', at '%s'",
            name or "", args[2] or "", args[4] or "")
    end
    local facts, blobs = {
        spec = args[2], zone = args[3], next_at = next_at, created_at = now,
    }, {}
    for i = 5, #args, 2 do
        if args[i] == "blob" then
            blobs[#blobs + 1] = args[i + 1]
        elseif SCHEDULE_FACTS[args[i]] or NOT_OF_SCHEDULES[args[i]] then
            return refuse("BADARG", "schedule_set: a schedule gives no '%s'",
                args[i])
        elseif facts[args[i]] then
            return refuse("BADARG", "the pair '%s' is given twice: '%s' and "
                .. "'%s'", args[i], facts[args[i]], args[i + 1])
        else
            facts[args[i]] = args[i + 1]
        end
    end
    if #blobs > 0 then facts.blobs = table.concat(blobs, " ") end
    local given, refusal = read_scheduled(root, facts, now)
    refusal = refusal or bad_blobs(root, given.blobs)
    if refusal then return refusal end
    if #given.blobs > 0 then facts.blobs = table.concat(given.blobs, " ") end

    local before = schedule_facts(root, name)
    keep_blobs(holder_of(root, name, facts.blobs))
    if before then
        local kept = blob_set(facts.blobs)
        for sha256 in pairs(blob_set(before.blobs)) do
            if not kept[sha256] then
                let_blob_go(root, sha256, "schedule:" .. name, now + DAY_MS)
            end
        end
        facts.created_at, facts.paused = before.created_at or now, before.paused
        redis.call("DEL", schedule_key(root, name))
    end
    local pairs_of = {}
    for fact, value in pairs(facts) do
        pairs_of[#pairs_of + 1], pairs_of[#pairs_of + 2] = fact, value
    end
    redis.call("HSET", schedule_key(root, name), unpack(pairs_of))
    call("ZADD", root .. "schedules", facts.paused and PAUSED_AT or next_at, name)
    return 1
end

-- Arguments: name "1" (pause), or name "0" next_at (resume). Answers whether
-- there is such a schedule.
local function schedule_pause(keys, args)
    local root, name, wish, next_at = keys[1], args[1], args[2], number(args[3])
    if not (name and is_name(name)
        and (wish == "1" or wish == "0" and next_at)) then
        return refuse("BADARG", "schedule_pause: name '%s', '%s', at '%s'",
            name or "", wish or "", args[3] or "")
    end
    if not schedule_facts(root, name) then return 0 end
    local key, due = schedule_key(root, name), root .. "schedules"
    if wish == "1" then
        redis.call("HSET", key, "paused", 1)
        call("ZADD", due, PAUSED_AT, name)
        return 1
    end
    redis.call("HDEL", key, "paused")
    redis.call("HSET", key, "next_at", next_at)
    if next_at > 0 then
        call("ZADD", due, next_at, name)
    else
        call("ZREM", due, name)
    end
    return 1
end

-- Arguments: name id. Submits the schedule's job at once, also of a paused one;
-- next_at stays. A call that is sent again has the same id, so it submits no
-- second job. Answers what submit answers.
local function schedule_run(keys, args)
    local root, now, name, id = keys[1], now_ms(), args[1], args[2]
    if not (name and is_name(name) and is_id(root, id)) then
        return refuse("BADARG", "schedule_run: name '%s', id '%s'", name or "",
            id or "")
    end
    local facts, key = schedule_facts(root, name), schedule_key(root, name)
    if not facts then return refuse("GONE", "no schedule %s", name) end
    local answer = submit_one(root, job_args(facts, id), now)
    if answer.err then return answer end
    redis.call("HDEL", key, "last_error")
    redis.call("HSET", key, "last_at", now, "last_id", answer[1])
    return answer
end

-- Arguments: name. Answers whether there was such a schedule.
local function schedule_rm(keys, args)
    local root, name = keys[1], args[1]
    if not (name and is_name(name)) then
        return refuse("BADARG", "schedule_rm: name '%s'", name or "")
    end
    local facts = schedule_facts(root, name)
    call("ZREM", root .. "schedules", name)
    if not facts then return 0 end
    let_blobs_go(holder_of(root, name, facts.blobs), now_ms(), 0)
    redis.call("DEL", schedule_key(root, name))
    return 1
end

-- Arguments: name at next_at id. Submits the schedule's job when at is still
-- the time at which it is due: several consumers may see it due, and only the
-- first call moves next_at. Answers {id, "created" or "exists"}, {"", "late"}
-- or {sentence, "refused"}: submit refused the job, and this time is left out.
local function fire(keys, args)
    local root, now, name, id = keys[1], now_ms(), args[1], args[4]
    local at, next_at = number(args[2]), number(args[3])
    if not (name and is_name(name) and at and next_at and is_id(root, id)
        and (next_at == 0 or next_at > at)) then
        return refuse("BADARG", "fire: name '%s', at '%s', next '%s', id '%s'",
            name or "", args[2] or "", args[3] or "", id or "")
    end
    local facts = schedule_facts(root, name)
    if not facts or facts.paused or number(facts.next_at) ~= at then
        if not facts or facts.last_try ~= id or number(facts.last_at) ~= at then
            return { "", "late" }
        end
        -- The same call sent again: answers what came of it.
        if facts.last_error then return { facts.last_error, "refused" } end
        return { facts.last_id, facts.last_id == id and "created" or "exists" }
    end
    local key = schedule_key(root, name)
    local answer = submit_one(root, job_args(facts, id), now,
        "schedule:" .. name .. ":" .. args[2])
    redis.call("HDEL", key, "last_id", "last_error")
    redis.call("HSET", key, "next_at", next_at, "last_at", at, "last_try", id,
        answer.err and "last_error" or "last_id", answer.err or answer[1])
    if next_at > 0 then
        call("ZADD", root .. "schedules", next_at, name)
    else
        call("ZREM", root .. "schedules", name)
    end
    return answer.err and { answer.err, "refused" } or answer
end

register("schedule_set", schedule_set, {})
register("schedule_rm", schedule_rm, ALWAYS)
register("schedule_pause", schedule_pause, ALWAYS)
register("schedule_run", schedule_run, {})
register("fire", fire, {})
