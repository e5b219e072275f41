-- line.lua - jobs of one session run one after the other.
--
-- line:<tenant>/<name> holds those that have not ended, by when they were
-- submitted; only the first may stand in a stream or a lane, and its end lets
-- the next one in. It stays the first while it waits for a retry or an
-- approval. Nobody asks, so nobody has to ask again.

-- tenant/name of every line that the job stands in: its own, and those of
-- sessions that it has claimed.
local function lines_of(job)
    local sessions = {}
    if job.session ~= "" then
        sessions[1] = job.tenant .. "/" .. job.session
    end
    for session in job.claims:gmatch("%S+") do
        sessions[#sessions + 1] = session
    end
    return sessions
end

-- Its state, while others of the session have to wait for it: one that has not
-- begun by its deadline never will.
local function ongoing(root, id, now)
    local job = id and load(root, id, { "state", "deadline_at" })
    if not job or TERMINAL[job.state] then return nil end
    local late = job.deadline_at > 0 and now >= job.deadline_at
    return (job.state == "in_progress" or not late) and job.state or nil
end

-- Behind all that stand there, also those of the same millisecond.
local function stand_in_line(root, session, id, now)
    local line = root .. "line:" .. session
    local last = tonumber(call("ZRANGE", line, -1, -1, "WITHSCORES")[2]) or 0
    call("ZADD", line, "NX", last >= now and last + 1 or now, id)
end

-- The first of the line, and its state; those before it that are no more leave.
local function first_in_line(root, session, now)
    local line = root .. "line:" .. session
    while true do
        local id = call("ZRANGE", line, 0, 0)[1]
        if not id then return nil end
        local state = ongoing(root, id, now)
        if state then return id, state end
        call("ZREM", line, id)
    end
end

-- Whether it has to wait for others of its session: then it stands behind them.
local function falls_in(job, now)
    if job.session == "" then return false end
    local session = job.tenant .. "/" .. job.session
    local first = first_in_line(job.root, session, now)
    stand_in_line(job.root, session, job.id, now)
    if not first or first == job.id then return false end
    call("SADD", behind_of(job.root, job.queue), job.id)
    call("SADD", job.root .. "queues", job.queue)
    set(job, "state", "queued")
    return true
end

-- One whose time has come: into streams or lane when it is the first of its
-- line; else it is let in.
local function arrive(job, now, settings)
    if not falls_in(job, now) then enter(job, now, settings) end
end

-- The first of the line, if it stands nowhere else.
local function let_in(root, session, now)
    local id, state = first_in_line(root, session, now)
    if state ~= "queued" then return false end
    local job = load(root, id)
    if job.entry ~= "" or job.place ~= "" then return false end
    enter(job, now, settings_of(root, job.queue, job.tenant))
    save(job)
    return true
end

local function leave_lines(job, now)
    for _, session in ipairs(lines_of(job)) do
        call("ZREM", job.root .. "line:" .. session, job.id)
        let_in(job.root, session, now)
    end
end
