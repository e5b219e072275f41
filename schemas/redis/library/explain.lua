-- explain.lua - gives the facts of one job, and what it waits for.
--
-- It writes nothing. Its bounds keep it short, also when very many jobs wait.

local MOST_WORKERS = 1000 -- that are looked at
local MOST_AHEAD = 1000 -- jobs that are counted before one

local SHOWN = {
    "state", "queue", "priority", "tenant", "session", "submitted_at",
    "started_at", "finished_at", "deadline_at", "not_before", "requeued_at",
    "attempts", "errors", "crashes", "seq", "reason", "error_code", "cancel",
    "cancel_reason", "epoch",
}
local OF_APPROVAL = { "approval_call", "approval_until", "approval_default" }

-- Whether the queue is one of the words that a consumer has reported.
local function serves(queues, queue)
    for word in (queues or ""):gmatch("%S+") do
        if word == queue then return true end
    end
    return false
end

-- How many of the consumers that have reported lately take jobs of the queue;
-- how many would, if their executor were there; and how many are leaving.
local function tell_servers(root, queue, tell)
    local able, away, leaving = 0, 0, 0
    local names = redis.call("ZRANGE", root .. "workers", 0, MOST_WORKERS - 1,
        "REV")
    for _, name in ipairs(names) do
        local facts = redis.pcall("HMGET", root .. "worker:" .. name, "queues",
            "mode", "executor_away")
        if not serves(facts[1], queue) then
            -- It serves other queues.
        elseif (facts[2] or "serving") ~= "serving"
            or call("ZSCORE", root .. "drained", name) then
            leaving = leaving + 1
        elseif (facts[3] or "") ~= "" then
            away = away + 1
        else
            able = able + 1
        end
    end
    tell("served_by", able)
    if away > 0 then tell("servers_away", away) end
    if leaving > 0 then tell("servers_leaving", leaving) end
end

-- The earlier jobs of its session: how many; the first one, and its state.
local function tell_line(job, now, tell)
    if job.session == "" then return end
    local line = job.root .. "line:" .. job.tenant .. "/" .. job.session
    local ahead = redis.call("ZRANK", line, job.id)
    if not ahead or ahead == 0 then return end
    for _, id in ipairs(redis.call("ZRANGE", line, 0, MOST_AHEAD - 1)) do
        if id == job.id then return end
        local state = ongoing(job.root, id, now)
        if state then
            tell("line_ahead", ahead)
            tell("line_first", id)
            tell("line_first_state", state)
            return
        end
    end
end

-- How many of the first MOST_AHEAD elements of the lane are of jobs that have
-- gone: among the first before elements, and among the others.
local function count_gone(job, lane, before)
    local gone_before, gone_behind = 0, 0
    local elements = redis.call("LRANGE", lane, 0, MOST_AHEAD - 1)
    for i, element in ipairs(elements) do
        local place, id = read_element(element)
        local stands = id and redis.pcall("HGET", job.root .. "job:" .. id,
            "place") == place
        if not stands and i <= before then
            gone_before = gone_before + 1
        elseif not stands then
            gone_behind = gone_behind + 1
        end
    end
    return gone_before, gone_behind
end

local function tell_lane(job, tell)
    local lane = lane_of(job.root, job.queue, job.tenant, job.priority)
    local head = redis.call("LINDEX", lane, 0)
    local first = head and tonumber(head:match("^%-?%d+"))
    if not (first and tonumber(job.place)) then return end
    local before = tonumber(job.place) - first
    local length, gone = redis.call("LLEN", lane), 0
    local waiting = tonumber(call("HGET", job.root .. "lanes:" .. job.queue,
        job.tenant) or "")
    if waiting and waiting < lane_length(job.root, job.queue, job.tenant) then
        local behind
        gone, behind = count_gone(job, lane, before)
        length = length - gone - behind
    end
    tell("lane_place", before - gone + 1)
    tell("lane_length", length)
end

local function tell_place(job, tell)
    if job.place ~= "" then
        tell_lane(job, tell)
    elseif job.entry ~= "" then
        local stream = work(job.root, job.queue, job.priority)
        local ahead = 0
        for _, entry in ipairs(unread(stream, MOST_AHEAD)) do
            if entry[1] == job.entry then break end
            ahead = ahead + 1
        end
        tell("stream_ahead", ahead)
    end
end

-- The settings that may hold the job up. rate_at: when the tenant's rate lets
-- the next job start.
local function tell_limits(job, now, tell)
    local settings = settings_of(job.root, job.queue, job.tenant)
    local who = job.queue .. "/" .. job.tenant
    tell("paused", settings.paused and 1 or 0)
    if settings.running > 0 then
        tell("tenant_running", redis.call("SCARD",
            job.root .. "running:" .. who))
        tell("tenant_running_limit", settings.running)
    end
    if settings.rate > 0 then
        local spent, left = rate_left(job.root, who, settings, now)
        if left < 1 then
            tell("rate_at", math.ceil(spent - settings.rate_ms
                + settings.rate_ms / settings.rate))
        end
        tell("tenant_rate", settings.rate)
        tell("tenant_rate_ms", settings.rate_ms)
    end
end

-- When it goes on, and what for. because: the sentence in one of its last
-- events, where its consumer has said which endpoint or which budget it is.
local function tell_wait(job, tell)
    local due_at = redis.call("ZSCORE", job.root .. "scheduled:" .. job.queue,
        job.id)
    tell("due_at", due_at and tonumber(due_at) or 0)
    if job.state ~= "waiting" then return end
    for _, name in ipairs(OF_APPROVAL) do
        if job[name] ~= ABSENT[name] then tell(name, job[name]) end
    end
    local last = redis.call("XREVRANGE", job.root .. "events:" .. job.id, "+",
        "-", "COUNT", 4)
    for _, entry in ipairs(last) do
        local read, event = pcall(cmsgpack.unpack, entry[2][2])
        local data = read and type(event) == "table" and event.data
        local why = type(data) == "table" and data.error
        if type(why) == "table" and type(why.message) == "string" then
            return tell("because", why.message)
        end
    end
end

local function tell_waiting(job, now, tell)
    tell_limits(job, now, tell)
    tell_servers(job.root, job.queue, tell)
    if job.state == "queued" then
        tell_place(job, tell)
        tell_line(job, now, tell)
    else
        tell_wait(job, tell)
    end
end

-- Arguments: id. Answers pairs: now, the facts of the job that differ from
-- their defaults, and what its state adds; "Pairs of explain" in
-- ../../FUNCTIONS.md lists them.
local function explain(keys, args)
    local root, id, now = keys[1], args[1], now_ms()
    if not is_id(root, id) then
        return refuse("BADARG", "explain: job id '%s'", id or "")
    end
    local job = load(root, id)
    if not job then return refuse("GONE", "no job %s", id) end
    local answer = { "now", now }
    local function tell(name, value)
        answer[#answer + 1], answer[#answer + 2] = name, value
    end
    for _, name in ipairs(SHOWN) do
        local value = job[name]
        if name == "tenant" or name == "session" then
            value = label_of(value)
        end
        if value and value ~= "" and value ~= 0 then tell(name, value) end
    end
    if job.state == "in_progress" or TERMINAL[job.state] then
        tell("worker", job.owner)
    end
    if job.state == "in_progress" then
        local lease = redis.call("ZSCORE", leases_of(root, job.queue), id)
        lease = lease and tonumber(lease) or 0
        tell("lease_until", lease)
        if lease <= now then tell_servers(root, job.queue, tell) end
    elseif TERMINAL[job.state] then
        tell("expires_ms", redis.call("PTTL", root .. "result:" .. id))
    else
        tell_waiting(job, now, tell)
    end
    return answer
end

-- Arguments: id. Answers the bytes of submit, also of a job that waits in a lane
-- with them; nil: they are not kept any more.
local function body(keys, args)
    local root, id = keys[1], args[1]
    if not is_id(root, id) then
        return refuse("BADARG", "body: job id '%s'", id or "")
    end
    local bytes = redis.pcall("GET", root .. "body:" .. id)
    if type(bytes) == "string" then return bytes end
    local job = load(root, id)
    return job and job.place ~= "" and body_in_lane(job) or nil
end

register("explain", explain, READS)
register("body", body, READS)
