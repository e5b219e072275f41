-- line.lua - jobs of one session run one after the other.
--
-- line:<tenant>/<name> holds the session's jobs that have not ended, in the
-- order of their submits. Only the first one may stand in a stream or a lane.
-- Its end lets the next one in, so no consumer has to ask whether it may start.
-- It stays the first while it waits for a retry or an approval.

-- tenant/name of every line in which the job stands: that of its session, and
-- those of sessions that it has claimed (session.lua).
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

-- The state of a job for which others of its session have to wait, else nil. A
-- job that does not run and whose deadline has passed never starts, so nobody
-- waits for it, even before promote has ended it.
local function ongoing(root, id, now)
    local job = id and load(root, id, { "state", "deadline_at" })
    if not job or TERMINAL[job.state] then return nil end
    local late = job.deadline_at > 0 and now >= job.deadline_at
    return (job.state == "in_progress" or not late) and job.state or nil
end

-- Puts the job at the end of the line. Its score is at least one more than the
-- last one's: jobs of the same millisecond would be ordered by their ids.
local function stand_in_line(root, session, id, now)
    local line = root .. "line:" .. session
    local last = tonumber(call("ZRANGE", line, -1, -1, "WITHSCORES")[2]) or 0
    call("ZADD", line, "NX", last >= now and last + 1 or now, id)
end

-- The first job of the line, and its state. Jobs before it that have ended, or
-- are late, are removed.
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

-- Puts the job into its line; answers whether it has to wait there for others.
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

-- Lets a job whose time has come into its queue. When it is not the first of
-- its line, it waits behind, and let_in() lets it in later.
local function arrive(job, now, settings)
    if not falls_in(job, now) then enter(job, now, settings) end
end

-- Lets the first job of the line into its queue, unless it stands in a stream
-- or a lane already.
local function let_in(root, session, now)
    local id, state = first_in_line(root, session, now)
    if state ~= "queued" then return false end
    local job = load(root, id)
    if job.entry ~= "" or job.place ~= "" then return false end
    enter(job, now, settings_of(root, job.queue, job.tenant))
    save(job)
    return true
end

-- The job has ended: it leaves its lines, and the next job of each is let in.
local function leave_lines(job, now)
    for _, session in ipairs(lines_of(job)) do
        call("ZREM", job.root .. "line:" .. session, job.id)
        let_in(job.root, session, now)
    end
end
