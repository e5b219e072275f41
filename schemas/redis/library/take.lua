-- take.lua - consumers get jobs: entries from the streams, started at once.

local function is_pending(stream, entry, consumer)
    local rows = redis.pcall("XPENDING", stream, GROUP, entry, entry, 1,
        consumer)
    return not rows.err and #rows > 0
end

-- ------------------------------------------------------------------- start

-- What a consumer needs to work on it. The body comes with those of others;
-- what has never been started has no journal.
local function answer(job, now, first)
    local journal = {}
    if not first then
        journal = call("LRANGE", job.root .. "journal:" .. job.id, 0, -1)
    end
    return {
        1, "", job.id, job.epoch, job.attempts, job.crashes, job.cancel, now,
        job.deadline_at, job.submitted_at, "", journal, job.errors,
        job.approval, job.approval_note,
    }
end

local BODY, JOURNAL = 11, 12

-- Puts the bodies into the answers that run; how many bytes all of it has.
local function add_bodies(root, answers)
    local keys, where, bytes = {}, {}, 0
    for _, one in ipairs(answers) do
        if one[1] == 1 then
            keys[#keys + 1] = root .. "body:" .. one[3]
            where[#keys] = one
        end
    end
    if #keys == 0 then return 0 end
    for i, body in ipairs(redis.call("MGET", unpack(keys))) do
        where[i][BODY] = body
        bytes = bytes + #(body or "")
        for _, record in ipairs(where[i][JOURNAL]) do bytes = bytes + #record end
    end
    return bytes
end

-- It would have started, but its queue is paused, or the tenant's limit has been
-- lowered: before the others of its lane.
local function hold_back(job, now, why, at)
    pull(job)
    stand_in_lane(job, true)
    save(job)
    if at then wake(job.root, job.queue, job.tenant, at) end
    return { 0, why, job.id }
end

-- Where several are started these are asked for once; and of a queue that
-- nobody has set anything for, not for each of its tenants.
local function cached_settings(who, job)
    local key = job.root .. "queue:" .. job.queue
    if who.plain[key] == nil then
        who.plain[key] = redis.call("EXISTS", key) == 0 and NO_SETTINGS
    end
    if who.plain[key] then return NO_SETTINGS end
    local name = job.queue .. "/" .. job.tenant
    local settings = who.settings[name]
    if not settings then
        settings = settings_of(job.root, job.queue, job.tenant)
        who.settings[name] = settings
    end
    return settings
end

-- What is written once for all that start: leases, and who is ready no more.
local function note_start(who, job, now)
    who.leases[#who.leases + 1] = now + who.lease_ms
    who.leases[#who.leases + 1] = job.id
    local tenants = who.started[job.queue] or {}
    local ids = tenants[job.tenant] or {}
    who.started[job.queue], tenants[job.tenant] = tenants, ids
    ids[#ids + 1] = job.id
end

-- The tenants whose jobs have started make room for their lanes.
local function settle_tenants(root, who, queue, tenants, now)
    local names = {}
    for tenant, ids in pairs(tenants) do
        names[#names + 1] = tenant
        call("ZREM", root .. "ready:" .. queue .. "/" .. tenant, unpack(ids))
    end
    for i, behind in ipairs(call("HMGET", root .. "lanes:" .. queue,
        unpack(names))) do
        if behind then
            admit(root, queue, names[i], cached_settings(who, {
                root = root, queue = queue, tenant = names[i],
            }), now)
        end
    end
end

local function settle_starts(root, who, now)
    if #who.leases == 0 then return end
    call("ZADD", root .. "leases", unpack(who.leases))
    for queue, tenants in pairs(who.started) do
        settle_tenants(root, who, queue, tenants, now)
    end
    who.leases, who.started = {}, {}
end

-- who: consumer, lease_ms, max_crashes, and what note_start() gathers.
local function start_job(job, now, who)
    local settings = cached_settings(who, job)
    local why, at = bar(job.root, job.queue, job.tenant, settings, now)
    if why then return hold_back(job, now, why, at) end
    local first = job.epoch == 0
    charge(job, settings, now)
    set(job, "state", "in_progress")
    new_epoch(job, now)
    set(job, "attempts", job.attempts + 1)
    set(job, "owner", who.consumer)
    set(job, "lease_ms", who.lease_ms)
    reset(job, "told")
    reset(job, "reason")
    if job.started_at == 0 then set(job, "started_at", now) end
    emit_map(job, now, "job.started", { consumer = who.consumer })
    save(job)
    note_start(who, job, now)
    return answer(job, now, first)
end

-- One that runs already: its holder is gone, or here is who asks again.
local function start_again(job, now, who)
    if job.owner == who.consumer and who.again then
        -- Its reply was lost: the same attempt under a new epoch, which nobody
        -- but this caller knows.
        new_epoch(job, now)
        set(job, "lease_ms", who.lease_ms)
        save(job)
        note_start(who, job, now)
        return answer(job, now)
    end
    local lease = call("ZSCORE", job.root .. "leases", job.id)
    if lease and tonumber(lease) > now then return { 0, "taken", "" } end
    if not lose(job, now, "claimed", who.max_crashes) then
        return { 0, "crashed", job.id }
    end
    let_go(job)
    return nil
end

local function start_entry(root, stream, entry, now, who, fields)
    local job, why = open_entry(root, stream, entry, now, fields)
    if not job then return { 0, why, "" } end
    if job.state == "in_progress" then
        local verdict = start_again(job, now, who)
        if verdict then return verdict end
    end
    if job.cancel == 1 then
        end_job(job, now, "cancelled")
        return { 0, "cancelled", job.id }
    end
    if is_late(job, now) then
        end_late(job, now)
        return { 0, "deadline", job.id }
    end
    -- Before anybody decodes the body: decoding may be what kills.
    if job.crashes > who.max_crashes then
        end_crashed(job, now)
        return { 0, "crashed", job.id }
    end
    return start_job(job, now, who)
end

local function new_who(consumer, lease, crashes)
    local lease_ms, max_crashes = number(lease), number(crashes)
    if not (lease_ms and max_crashes and is_consumer(consumer)) then
        return nil, refuse("BADARG",
            "start: consumer '%s', lease '%s', crashes '%s'",
            consumer or "", lease or "", crashes or "")
    end
    return {
        consumer = consumer, lease_ms = lease_ms, max_crashes = max_crashes,
        settings = {}, plain = {}, leases = {}, started = {},
    }
end

-- stream entry consumer lease_ms max_crashes
local function start(keys, args)
    local root, now, stream, entry = keys[1], now_ms(), args[1], args[2]
    local who, refusal = new_who(args[3], args[4], args[5])
    if not who then return refusal end
    if not is_work(root, stream) then
        return refuse("BADARG", "start: '%s' is no work stream", stream)
    end
    if not is_pending(stream, entry, who.consumer) then
        return { 0, "taken", "" }
    end
    who.again = true
    local verdict = start_entry(root, stream, entry, now, who)
    add_bodies(root, { verdict })
    settle_starts(root, who, now)
    return verdict
end

-- -------------------------------------------------------------------- take

-- Streams of those queues that hold anything, but for the paused ones.
local function open_streams(root, queues)
    local streams = {}
    for _, queue in ipairs(queues) do
        if call("HGET", root .. "queue:" .. queue, "paused") ~= "1" then
            for _, priority in ipairs(PRIORITIES) do
                local key = work(root, queue, priority)
                if call("XLEN", key) > 0 then
                    streams[#streams + 1] = {
                        key = key, age_ms = AGE_MS[priority],
                    }
                end
            end
        end
    end
    return streams
end

-- How many to read of each: the oldest of all, ages counted.
local function share(streams, count)
    if #streams == 1 then
        streams[1].take = count
        return
    end
    for _, stream in ipairs(streams) do
        stream.take, stream.heads = 0, unread(stream.key, count)
    end
    for _ = 1, count do
        local best, best_at
        for _, stream in ipairs(streams) do
            local head = stream.heads[stream.take + 1]
            local at = head and tonumber(head[1]:match("^%d+")) + stream.age_ms
            if at and (not best or at < best_at) then
                best, best_at = stream, at
            end
        end
        if not best then return end
        best.take = best.take + 1
    end
end

local function read_group(root, stream, consumer, count)
    local function read()
        return redis.pcall("XREADGROUP", "GROUP", GROUP, consumer,
            "COUNT", count, "STREAMS", stream, ">")
    end
    local got = read()
    if got and got.err then
        make_group(root, stream)
        got = read()
    end
    return got and not got.err and got[1] and got[1][2] or {}
end

-- Starts up to count of what stands in the streams; how many entries were read,
-- and the bytes of what has started.
local function take_some(root, streams, count, now, who, jobs)
    share(streams, count)
    local read, fresh = 0, {}
    for _, stream in ipairs(streams) do
        if stream.take > 0 then
            local entries = read_group(root, stream.key, who.consumer,
                stream.take)
            read = read + #entries
            for _, entry in ipairs(entries) do
                local one = start_entry(root, stream.key, entry[1], now, who,
                    entry[2] or {})
                if one[1] == 1 then
                    fresh[#fresh + 1], jobs[#jobs + 1] = one, one
                end
            end
        end
    end
    return read, add_bodies(root, fresh)
end

-- consumer lease_ms max_crashes count, then any of: ticket n, entry stream id,
-- queue name. Who has read an entry of a blocking read names it.
local function read_take(root, args)
    local who, refusal = new_who(args[1], args[2], args[3])
    if not who then return nil, refusal end
    who.count, who.claims, who.queues = number(args[4]), {}, {}
    local i = 5
    while args[i] do
        if args[i] == "entry" and is_work(root, args[i + 1]) and args[i + 2] then
            who.claims[#who.claims + 1] = { args[i + 1], args[i + 2] }
            i = i + 3
        elseif args[i] == "queue" and args[i + 1] and is_name(args[i + 1]) then
            who.queues[#who.queues + 1] = args[i + 1]
            i = i + 2
        elseif args[i] == "ticket" and number(args[i + 1]) then
            who.ticket = args[i + 1]
            i = i + 2
        else
            return nil, refuse("BADARG", "take: '%s' '%s'", args[i],
                args[i + 1] or "")
        end
    end
    if not (who.count and who.count >= math.max(1, #who.claims)
        and who.count <= MAX_BATCH) then
        return nil, refuse("BADARG", "take: count '%s', %d entries",
            args[4] or "", #who.claims)
    end
    return who
end

-- The same ticket again: its reply was lost. The jobs that it has started and
-- that nobody has taken from it since, in the order of the claims; or nil.
local function taken_before(root, now, who)
    local taken = call("GET", root .. "taken:" .. who.consumer) or ""
    if taken:match("^%d+") ~= who.ticket then return nil end
    local by_entry, answers, rest = {}, {}, {}
    for id in taken:gmatch(" (%S+)") do
        local job = load(root, id)
        if job and job.state == "in_progress" and job.owner == who.consumer then
            local one = answer(job, now)
            by_entry[job.entry], rest[#rest + 1] = one, one
        end
    end
    for i, claim in ipairs(who.claims) do
        local one = by_entry[claim[2]]
        answers[i] = one or { 0, "taken", "" }
        if one then by_entry[one] = true end
    end
    for _, one in ipairs(rest) do
        if not by_entry[one] then answers[#answers + 1] = one end
    end
    add_bodies(root, answers)
    return answers
end

local function keep_ticket(root, who, answers)
    local ids = {}
    for _, one in ipairs(answers) do
        if one[1] == 1 then ids[#ids + 1] = one[3] end
    end
    if not who.ticket or #ids == 0 then return end
    redis.call("SET", root .. "taken:" .. who.consumer,
        who.ticket .. " " .. table.concat(ids, " "),
        "PX", math.max(who.lease_ms, 1))
end

-- Answers first what has become of each entry named, as start does, then the
-- jobs that were started beside.
local function take(keys, args)
    local root, now = keys[1], now_ms()
    local who, refusal = read_take(root, args)
    if not who then return refusal end
    local before = who.ticket and taken_before(root, now, who)
    if before then return before end
    local answers, jobs, looked, bytes = {}, {}, 0, 0
    for i, claim in ipairs(who.claims) do
        answers[i] = is_pending(claim[1], claim[2], who.consumer)
            and start_entry(root, claim[1], claim[2], now, who)
            or { 0, "taken", "" }
        if answers[i][1] == 1 then who.count = who.count - 1 end
    end
    bytes = add_bodies(root, answers)
    while #jobs < who.count and looked < MAX_BATCH
        and bytes < MAX_TAKE_BYTES do
        local read, more = take_some(root, open_streams(root, who.queues),
            math.min(who.count - #jobs, MAX_ENTRIES), now, who, jobs)
        if read == 0 then break end
        looked, bytes = looked + read, bytes + more
        settle_starts(root, who, now)
    end
    settle_starts(root, who, now)
    for _, one in ipairs(jobs) do answers[#answers + 1] = one end
    keep_ticket(root, who, answers)
    return answers
end

register("start", start, {})
register("take", take, {})
