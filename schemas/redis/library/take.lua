-- take.lua - consumers get jobs: from the streams, then from the lanes.
--
-- take() first starts the jobs of entries that a blocking read has brought,
-- then reads more of the streams. Where a stream comes to its end, it goes on
-- with the lanes of the tenants whose jobs it started. Before it answers, each
-- of these tenants whose lanes still hold jobs gets one entry in a stream.

local MAX_ENTRIES = 16 -- that a take reads at a time
local MAX_TAKE_BYTES = 1024 * KIB -- after which it reads no more
-- promote looks into the lanes of a tenant again after this time, in case the
-- consumer that reads the tenant's entry dies before it takes.
local LOOK_AGAIN_MS = 1000

-- ---------------------------------------------------- out of the streams

-- The streams with entries, of those queues that are not paused.
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

-- Which stream to read: the one whose first unread job is the oldest, where
-- AGE_MS of the priority is added to the time of its entry. Also how many of
-- its jobs, up to count, are older than the first one of every other stream;
-- and the time of the oldest job behind these. That is nil where only one
-- stream has entries: then nothing was looked up, and count is right.
local function best_run(streams, count)
    if #streams == 1 then return streams[1], count end
    local best, best_at, rival_at
    for _, stream in ipairs(streams) do
        stream.heads = unread(stream.key, count + 1)
        for i, head in ipairs(stream.heads) do
            stream.heads[i] = tonumber(head[1]:match("^%d+")) + stream.age_ms
        end
        local at = stream.heads[1]
        if at and (not best or at < best_at) then
            best, best_at, rival_at = stream, at, best_at
        elseif at and (not rival_at or at < rival_at) then
            rival_at = at
        end
    end
    if not best then return nil end
    local run = 1
    while run < count and best.heads[run + 1]
        and best.heads[run + 1] <= (rival_at or math.huge) do
        run = run + 1
    end
    local next_at = best.heads[run + 1]
    return best, run, math.min(next_at or math.huge, rival_at or math.huge)
end

-- Reads entries as the consumer, so that they are pending under its name: when
-- nobody starts them, reclaim finds them. An error is most likely a group that
-- is not there: it is made, and the read repeated.
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

-- Reads a run of one stream and starts its jobs. Answers how many entries it
-- has read, and until which time jobs of lanes are older than what is left in
-- the streams; nil: not known, so lanes are not looked at yet.
local function take_streams(root, count, now, who, jobs)
    local streams = open_streams(root, who.queues)
    if #streams == 0 then return 0, math.huge end
    local stream, run, next_at = best_run(streams, count)
    if not stream then return 0, math.huge end
    local entries = read_group(root, stream.key, who.consumer, run)
    for _, entry in ipairs(entries) do
        local one = start_entry(root, stream.key, entry[1], now, who,
            entry[2] or {})
        if one[1] == 1 then jobs[#jobs + 1] = one end
    end
    if not next_at and #entries < run then next_at = math.huge end
    return #entries, next_at
end

-- ------------------------------------------------------ out of the lanes

-- Opens the lanes of each tenant for its part of count, as far as its limits
-- let jobs start.
local function open_shares(root, who, shares, count, now)
    local part, open = math.ceil(count / #shares), {}
    for _, share in ipairs(shares) do
        local settings = cached_settings(root, who, share.queue, share.tenant)
        local free = room(root, share.queue, share.tenant, settings, now,
            MAX_BATCH)
        if free > 0 then
            share.settings, share.served = settings, 0
            share.free = math.min(free, part)
            share.lanes =
                open_lanes(root, share.queue, share.tenant, share.free)
            open[#open + 1] = share
        end
    end
    return open
end

-- The tenant whose first job goes next. Jobs of lanes count as if they had come
-- into the streams now, so only the priority decides; within one priority the
-- tenants take turns. nil when jobs of the streams go before all of them.
local function next_share(root, shares, now, next_at)
    local best, best_at
    for _, share in ipairs(shares) do
        if share.served < share.free then
            share.lane = share.lane or oldest_head(root, share.lanes)
            local at = share.lane and now + AGE_MS[share.lane.priority]
            if at and at <= next_at and (not best or at < best_at
                or at == best_at and share.served < best.served) then
                best, best_at = share, at
            end
        end
    end
    return best
end

-- Starts jobs straight from the lanes of these tenants.
local function take_lanes(root, who, shares, next_at, now, jobs)
    local open = open_shares(root, who, shares, who.count - #jobs, now)
    while #jobs < who.count and who.bytes < MAX_TAKE_BYTES
        and not has_read_enough() do
        local share = next_share(root, open, now, next_at)
        if not share then break end
        local lane, job = share.lane, share.lane.job
        lane.job, lane.at, share.lane = nil, lane.at + 1, nil
        share.served = share.served + 1
        job.body = job.body ~= "" and job.body or nil
        if not end_instead(job, now, who) then
            local one = start_job(job, now, who, share.settings)
            jobs[#jobs + 1] = one
            lane.taken = lane.taken + 1
            if job.body then
                who.bytes = who.bytes + #job.body
            else
                who.bytes = who.bytes + add_bodies(root, { one })
            end
        end
    end
    for _, share in ipairs(open) do
        close_lanes(root, share.queue, share.tenant, share.lanes)
    end
end

-- The arguments: consumer lease_ms max_crashes count, then any of: ticket n;
-- entry stream id, an entry that a blocking read has brought; queue name.
local function read_take(root, args, now)
    local who, refusal = new_who(args[1], args[2], args[3], now)
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

-- The consumer sends the same ticket again, because the reply was lost. Answers
-- the jobs that the first call started and that the consumer still has, in the
-- order of the entries; nil when the ticket is new.
local function taken_before(root, now, who)
    local taken = call("GET", root .. "taken:" .. who.consumer) or ""
    if taken:match("^%d+") ~= who.ticket then return nil end
    local answers = {}
    for i = 1, #who.claims do answers[i] = { 0, "taken", "" } end
    for claim, id in taken:gmatch(" (%d+):(%S+)") do
        local job = load(root, id)
        if job and job.state == "in_progress" and job.owner == who.consumer then
            local i = tonumber(claim)
            answers[answers[i] and i or #answers + 1] = answer(job, now)
        end
    end
    add_bodies(root, answers)
    return answers
end

-- Keeps the ticket, and for each job which of the entries brought it (0: none),
-- for as long as a lease: after that the jobs are others' anyway.
local function keep_ticket(root, who, answers)
    local words = { who.ticket }
    for i, one in ipairs(answers) do
        if one[1] == 1 then
            words[#words + 1] = (i <= #who.claims and i or 0) .. ":" .. one[3]
        end
    end
    if not who.ticket or #words == 1 then return end
    redis.call("SET", root .. "taken:" .. who.consumer,
        table.concat(words, " "), "PX", text(math.max(who.lease_ms, 1)))
end

-- Starts further jobs, as many as the entries have left free. looked bounds the
-- entries of jobs that end here instead of starting.
local function take_more(root, who, now, jobs)
    local looked = 0
    while #jobs < who.count and looked < MAX_BATCH
        and who.bytes < MAX_TAKE_BYTES and not has_read_enough() do
        local before = #jobs
        local read, next_at = take_streams(root,
            math.min(who.count - #jobs, MAX_ENTRIES), now, who, jobs)
        who.bytes = who.bytes
            + add_bodies(root, { unpack(jobs, before + 1) })
        looked = looked + read
        local behind = next_at and settle_streams(root, who) or {}
        if #behind > 0 and #jobs < who.count then
            take_lanes(root, who, behind, next_at, now, jobs)
        end
        if read == 0 or next_at == math.huge then return end
    end
end

-- Answers what has become of each entry that was named, then the other jobs
-- that were started. The order at the end matters: leases and bodies are
-- written (settle_starts), entries of started jobs leave the streams
-- (settle_streams), and only then refill_shares() counts what room there is for
-- one more entry.
local function take(keys, args)
    local root, now = keys[1], now_ms()
    local who, refusal = read_take(root, args, now)
    if not who then return refusal end
    local before = who.ticket and taken_before(root, now, who)
    if before then return before end
    local answers, jobs = {}, {}
    for i, claim in ipairs(who.claims) do
        answers[i] = is_pending(claim[1], claim[2], who.consumer)
            and start_entry(root, claim[1], claim[2], now, who)
            or { 0, "taken", "" }
        if answers[i][1] == 1 then who.count = who.count - 1 end
    end
    who.bytes = add_bodies(root, answers)
    take_more(root, who, now, jobs)
    settle_starts(root, who)
    local behind = settle_streams(root, who)
    for _, share in ipairs(behind) do
        wake(root, share.queue, share.tenant, now + LOOK_AGAIN_MS)
    end
    refill_shares(root, who, behind, now, 1)
    for _, one in ipairs(jobs) do answers[#answers + 1] = one end
    keep_ticket(root, who, answers)
    return answers
end

register("take", take, {})
