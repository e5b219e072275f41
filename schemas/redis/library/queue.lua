-- queue.lua - where jobs wait: work streams, and lanes beside them.
--
-- A tenant has up to WINDOW unread jobs in the streams of a queue, and never
-- more than its limits let start. The rest stand in its lanes, one for each
-- priority. So the streams hold a few jobs of every tenant, in turns, and every
-- job in them may start. The set ready has the jobs in the streams; the set
-- running those that run (only of tenants with a limit). They are sets of ids,
-- not counters, so that no job can be counted twice.
--
-- An entry wakes a consumer and says whose turn it is. A take that has read the
-- streams to their end goes on with the lanes of the tenants whose turn it was,
-- and leaves one entry of each tenant behind, which wakes the next consumer.
-- The rule: a lane whose jobs may start has an entry in a stream, or a time in
-- wakes. Without either its jobs would wait until the next mend. A job that
-- runs has no entry.
--
-- An element of a lane is "<place>:<id>:<body>". Places rise by one from head
-- to tail, and the job's fact place says which one is its own. So an element
-- whose job has gone (it was cancelled) is noticed at the head, and whether a
-- job is where it says takes one look. A body of up to 1 KiB waits in the
-- element, too: a key of its own would take a hundred bytes more. Most bodies
-- contain the id; then the element has, in place of the id, the number of the
-- byte in the body at which it begins.
--
-- The hash lanes counts the jobs that wait in a tenant's lanes; elements whose
-- jobs have gone are not counted.

local function work(root, queue, priority)
    return root .. "work:" .. queue .. ":" .. priority
end

local function lane_of(root, queue, tenant, priority)
    return root .. "lane:" .. queue .. "/" .. tenant .. ":" .. priority
end

-- Makes the group, and the stream when there is none. It begins at 0, so that
-- entries from before its first consumer are read. When it had to be made, the
-- stream may have been deleted with jobs in it: without the key mended, promote
-- tells one of its next callers to walk with mend.
local function make_group(root, stream)
    local made = redis.pcall("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")
    if made.ok then redis.call("DEL", root .. "mended") end
end

-- Acknowledges and deletes entries, so that XLEN is the number of jobs that
-- wait.
local function drop(stream, ...)
    redis.pcall("XACK", stream, GROUP, ...)
    redis.pcall("XDEL", stream, ...)
end

-- Entries that nobody has read, in their order.
local function unread(stream, count)
    local groups, last = redis.pcall("XINFO", "GROUPS", stream), "0-0"
    for _, row in ipairs(groups) do
        local about = {}
        for i = 1, #row, 2 do about[row[i]] = row[i + 1] end
        if about.name == GROUP then last = about["last-delivered-id"] end
    end
    return redis.call("XRANGE", stream, "(" .. last, "+", "COUNT", count)
end

-- ------------------------------------------------------- settings, limits

local SETTINGS = {
    "paused", "max_depth", "tenant_depth", "tenant_running", "tenant_rate",
    "tenant_rate_ms",
}

local NO_SETTINGS = {
    paused = false, max_depth = 0, tenant_depth = 0, running = 0, rate = 0,
    rate_ms = 1000,
}

-- What operators have set for the queue and this tenant; zero: no limit. A
-- tenant's own setting goes before the one for all tenants. The numbers in it
-- are indexes into SETTINGS, of which the first two are of the whole queue.
local function settings_of(root, queue, tenant)
    local key = root .. "queue:" .. queue
    if redis.call("EXISTS", key) == 0 then return NO_SETTINGS end
    local names = { unpack(SETTINGS) }
    for i = 3, #SETTINGS do names[i + 4] = SETTINGS[i] .. ":" .. tenant end
    local values = call("HMGET", key, unpack(names))
    local function setting(i)
        return number(values[i + 4]) or number(values[i]) or 0
    end
    local rate_ms = setting(6)
    return {
        paused = values[1] == "1", max_depth = number(values[2]) or 0,
        tenant_depth = setting(3), running = setting(4), rate = setting(5),
        rate_ms = rate_ms > 0 and rate_ms or 1000,
    }
end

-- Until when the tenant's rate is used up, and how many jobs may start now. The
-- algorithm is GCRA: each start adds rate_ms / rate to that time, and a start
-- is allowed while the time is less than rate_ms ahead. A time that has passed
-- counts as now; so does one too far ahead, after the settings or the clock
-- were changed.
local function rate_left(root, who, settings, now)
    local spent = tonumber(call("GET", root .. "rate:" .. who) or 0) or 0
    if not (spent >= now and spent <= now + 2 * settings.rate_ms) then
        spent = now
    end
    local gap = settings.rate_ms / settings.rate
    return spent, math.floor((now + settings.rate_ms - spent) / gap + 0.001)
end

-- Why a job of the tenant may not start now, or nil. When its rate is the
-- reason, also the time at which one may.
local function bar(root, queue, tenant, settings, now)
    local who = queue .. "/" .. tenant
    if settings.paused then return "paused" end
    if settings.running > 0 and settings.running
        <= call("SCARD", root .. "running:" .. who) then
        return "limit"
    end
    if settings.rate > 0 then
        local spent, left = rate_left(root, who, settings, now)
        if left < 1 then
            return "limit", math.ceil(spent - settings.rate_ms
                + settings.rate_ms / settings.rate)
        end
    end
    return nil
end

-- Counts a start against the tenant's limits. limited says that the job is in
-- running and has to leave it, also when the limit has been removed since.
local function charge(job, settings, now)
    local who = job.queue .. "/" .. job.tenant
    if settings.running > 0 then
        call("SADD", job.root .. "running:" .. who, job.id)
        set(job, "limited", 1)
    end
    if settings.rate > 0 then
        local spent = rate_left(job.root, who, settings, now)
            + settings.rate_ms / settings.rate
        redis.call("SET", job.root .. "rate:" .. who,
            string.format("%.3f", spent), "PX", math.ceil(spent - now) + 1)
    end
end

local function is_limited(settings)
    return settings.running > 0 or settings.rate > 0
end

-- How many more of the tenant's jobs may enter the streams, which hold up to
-- most of them; when its rate is what stops them, also the time to look again.
-- The answer may be below zero.
local function room(root, queue, tenant, settings, now, most)
    if settings.paused then return 0 end
    local who = queue .. "/" .. tenant
    local ready, at = call("ZCARD", root .. "ready:" .. who), nil
    local free = most - ready
    if settings.running > 0 then
        free = math.min(free, settings.running - ready
            - call("SCARD", root .. "running:" .. who))
    end
    if settings.rate > 0 then
        local spent, left = rate_left(root, who, settings, now)
        if left <= ready then
            at = math.ceil(spent - settings.rate_ms
                + (ready + 1) * settings.rate_ms / settings.rate)
        end
        free = math.min(free, left - ready)
    end
    return free, at
end

-- At that time promote looks into the tenant's lanes. "LT": an earlier time
-- that is set already stays.
local function wake(root, queue, tenant, at)
    call("ZADD", root .. "wakes:" .. queue, "LT", at, tenant)
end

-- ------------------------------------------------------ into the streams

local function push(job, now)
    local stream = work(job.root, job.queue, job.priority)
    local entry = call("XADD", stream, "NOMKSTREAM", "*", "id", job.id)
    if not entry then
        make_group(job.root, stream)
        call("SADD", job.root .. "queues", job.queue)
        entry = redis.call("XADD", stream, "*", "id", job.id)
    end
    if job.state ~= "queued" then set(job, "state", "queued") end
    set(job, "entry", entry)
    reset(job, "place")
end

-- Adds to the count of the tenant's waiting jobs; answers the new one.
local function count_lanes(root, queue, tenant, by)
    local lanes = root .. "lanes:" .. queue
    local count = redis.pcall("HINCRBY", lanes, tenant, by)
    if type(count) == "number" and count >= 0 then return count end
    -- Somebody else has written the field or the key. The field stays, because
    -- it says that the tenant has a lane; mend counts anew.
    count = math.max(by, 0)
    call("HSET", lanes, tenant, count)
    return count
end

-- The job no longer waits in its lane. Its element stays there until it comes
-- to the head, but does not count.
local function leave_lane(job)
    if job.place == "" then return end
    local lanes = job.root .. "lanes:" .. job.queue
    if call("HGET", lanes, job.tenant) then
        count_lanes(job.root, job.queue, job.tenant, -1)
    end
    reset(job, "place")
end

local function lane_length(root, queue, tenant)
    local sum = 0
    for _, priority in ipairs(PRIORITIES) do
        sum = sum + call("LLEN", lane_of(root, queue, tenant, priority))
    end
    return sum
end

-- The place of the lane's first element (index 0) or last one (-1); 0: none.
local function place_in(lane, index)
    local element = call("LINDEX", lane, index)
    return element and tonumber(element:match("^%-?%d+")) or 0
end

-- Sets the job's place; answers the element for the lane. An element without a
-- body says that the body has a key of its own.
local function give_place(job, place)
    local body = job.body or ""
    place = text(place)
    if job.state ~= "queued" then set(job, "state", "queued") end
    set(job, "place", place)
    reset(job, "entry")
    return place .. ":" .. (body:find(job.id, 1, true) or job.id) .. ":" .. body
end

-- Place, id and body; nil when this library did not write the element.
local function read_element(element)
    local place, id, body = element:match("^(%-?%d+):([^:]*):(.*)$")
    local at = place and #id < ID_BYTES and number(id)
    if at then id = body:sub(at, at + ID_BYTES - 1) end
    return place, id, body
end

local function count_in(root, queue, tenant, count)
    if count_lanes(root, queue, tenant, count) <= count then
        call("SADD", root .. "queues", queue)
    end
end

-- Puts the job at the tail of its lane, or at the head when it has been in the
-- streams before: it must not lose its turn.
local function stand_in_lane(job, in_front)
    local lane = lane_of(job.root, job.queue, job.tenant, job.priority)
    local place = in_front and place_in(lane, 0) - 1 or place_in(lane, -1) + 1
    call(in_front and "LPUSH" or "RPUSH", lane, give_place(job, place))
    count_in(job.root, job.queue, job.tenant, 1)
end

-- The body of a job that stands in its lane: empty when it has a key of its
-- own, nil when the job does not stand there. Places rise by one, so its index
-- is its place less the head's.
local function body_in_lane(job)
    local lane = lane_of(job.root, job.queue, job.tenant, job.priority)
    local place, head = tonumber(job.place), call("LINDEX", lane, 0)
    local first = head and tonumber(head:match("^%-?%d+"))
    if not (place and first and place >= first) then return nil end
    local stands, id, body = read_element(call("LINDEX", lane, place - first)
        or "")
    return stands == job.place and id == job.id and body or nil
end

-- The set of jobs that wait only for earlier jobs of their session. They stand
-- in no stream and in no lane.
local function behind_of(root, queue)
    return root .. "behind:" .. queue
end

-- Jobs that are submitted in one step. Settings of a tenant are looked up once.
-- Jobs for the same lane are gathered, and written by settle_lanes(): until
-- then neither the lane nor the hash lanes has them.
local function new_batch(root)
    return { root = root, tenants = {}, depths = {}, lanes = {}, created = {} }
end

-- What the batch knows of a tenant in a queue. laned: one of its lanes has
-- jobs, so all further jobs of the step go into its lanes, behind them.
local function tenant_of(batch, queue, tenant)
    local who = queue .. "/" .. tenant
    local known = batch.tenants[who]
    if not known then
        known = {
            settings = settings_of(batch.root, queue, tenant), laned = false,
            lanes = {},
        }
        batch.tenants[who] = known
    end
    return known
end

local function gather_in_lane(job, batch, known)
    local lane = known.lanes[job.priority]
    if not lane then
        local key = lane_of(job.root, job.queue, job.tenant, job.priority)
        lane = {
            key = key, queue = job.queue, tenant = job.tenant, elements = {},
            place = place_in(key, -1),
        }
        known.lanes[job.priority] = lane
        batch.lanes[#batch.lanes + 1] = lane
    end
    lane.place = lane.place + 1
    lane.elements[#lane.elements + 1] = give_place(job, lane.place)
end

-- Writes the gathered jobs. Must run before anything reads a lane or counts.
local function settle_lanes(batch)
    for _, lane in ipairs(batch.lanes) do
        local count = #lane.elements
        if count > 0 then
            call("RPUSH", lane.key, unpack(lane.elements))
            count_in(batch.root, lane.queue, lane.tenant, count)
            lane.elements = {}
        end
    end
end

local function has_lane(job)
    return call("HGET", job.root .. "lanes:" .. job.queue, job.tenant) ~= false
end

local function leave_behind(job)
    if job.session == "" then return end
    call("SREM", behind_of(job.root, job.queue), job.id)
end

-- Puts the job into a stream when there is room for its tenant, else into its
-- lane. The caller saves the job.
local function enter_streams(job, now, settings, comes_back)
    local root, queue, tenant = job.root, job.queue, job.tenant
    local free, at = room(root, queue, tenant, settings, now, WINDOW)
    if free > 0 then
        push(job, now)
        call("ZADD", root .. "ready:" .. queue .. "/" .. tenant, now, job.id)
        return
    end
    stand_in_lane(job, comes_back)
    if at then wake(root, queue, tenant, at) end
end

-- Lets a job into its queue, behind the jobs of its tenant that stand in lanes.
-- A job that comes back goes before those that have not been out.
local function enter(job, now, settings, comes_back)
    leave_behind(job)
    if not comes_back and has_lane(job) then return stand_in_lane(job) end
    enter_streams(job, now, settings, comes_back)
end

-- The same for a job of a batch. known: what tenant_of() answers for it.
local function enter_new(job, now, batch, known)
    leave_behind(job)
    known.laned = known.laned or has_lane(job)
    if known.laned then return gather_in_lane(job, batch, known) end
    enter_streams(job, now, known.settings)
end

-- How many jobs of the queue wait: in streams, in lanes, behind others of their
-- session, and scheduled.
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

-- ------------------------------------------------------- out of the lanes

-- Reads up to count elements of each lane of the tenant. The lanes themselves
-- do not change until close_lanes() cuts off what was passed. at: the index of
-- the next element; taken: how many jobs were taken out.
local function open_lanes(root, queue, tenant, count)
    local lanes, last = {}, text(count - 1)
    for _, priority in ipairs(PRIORITIES) do
        local key = lane_of(root, queue, tenant, priority)
        local elements = call("LRANGE", key, "0", last)
        if #elements > 0 then
            lanes[#lanes + 1] = {
                key = key, priority = priority, at = 1, asked = count,
                elements = elements, taken = 0,
            }
        end
    end
    return lanes
end

-- The first job that still stands there; elements of jobs that have gone are
-- passed. It is kept in lane.job until somebody takes it.
local function lane_head(root, lane)
    while not lane.job and lane.elements[lane.at] do
        local place, id, body = read_element(lane.elements[lane.at])
        local job = id and load(root, id)
        if job and job.state == "queued" and job.place == place then
            lane.job, job.body = job, body
        else
            lane.at = lane.at + 1
        end
    end
    return lane.job
end

-- The lane whose first job is the oldest. A job counts as younger than it is by
-- the AGE_MS of its priority.
local function oldest_head(root, lanes)
    local best, best_at
    for _, lane in ipairs(lanes) do
        local job = lane_head(root, lane)
        local at = job and job.submitted_at + AGE_MS[lane.priority]
        if at and (not best or at < best_at) then best, best_at = lane, at end
    end
    return best
end

-- Cuts off what was passed; answers whether something is left. A job that came
-- in the same step stands behind what was read, so LTRIM does not touch it.
-- lanes is lowered by the jobs that were taken: the others that were passed had
-- left before, and were subtracted then. Where the count and the lanes do not
-- agree, the lanes are right.
local function close_lanes(root, queue, tenant, lanes)
    local taken, left = 0, false
    for _, lane in ipairs(lanes) do
        local passed = lane.at - 1
        if passed > 0 then redis.call("LTRIM", lane.key, passed, -1) end
        taken = taken + lane.taken
        left = left or #lane.elements > passed or #lane.elements == lane.asked
    end
    local waiting = count_lanes(root, queue, tenant, 0 - taken) -- never "-0"
    if left and waiting > 0 then return true end
    local length = lane_length(root, queue, tenant)
    if length == 0 then
        call("HDEL", root .. "lanes:" .. queue, tenant)
    elseif waiting > length then
        call("HSET", root .. "lanes:" .. queue, tenant, length)
    end
    return length > 0
end

-- Moves jobs from the tenant's lanes into the streams until most of them stand
-- there; answers how many it moved. A whole window is filled only when half of
-- it is free, which is less work than one job at a time.
local function admit(root, queue, tenant, settings, now, most)
    local free, at = room(root, queue, tenant, settings, now, most)
    if at then wake(root, queue, tenant, at) end
    local least = most == WINDOW and not is_limited(settings) and WINDOW / 2
    if free < (least or 1) then return 0 end
    local lanes, arrivals = open_lanes(root, queue, tenant, free), {}
    while #arrivals < 2 * free do
        local lane = oldest_head(root, lanes)
        if not lane then break end
        local job = lane.job
        job.queue, job.tenant, job.priority = queue, tenant, lane.priority
        if job.body ~= "" then redis.call("SET", body_key(job), job.body) end
        push(job, now)
        save(job)
        lane.job, lane.at, lane.taken = nil, lane.at + 1, lane.taken + 1
        arrivals[#arrivals + 1] = now
        arrivals[#arrivals + 1] = job.id
    end
    if #arrivals > 0 then
        call("ZADD", root .. "ready:" .. queue .. "/" .. tenant,
            unpack(arrivals))
    end
    local left = close_lanes(root, queue, tenant, lanes)
    -- It read only elements of jobs that have gone, and there are more behind
    -- them: promote goes on, so that this step stays short.
    if left and #arrivals < 2 * free then wake(root, queue, tenant, now) end
    return #arrivals / 2
end

-- For every step that has made room for the tenant: lets jobs in that its lanes
-- hold. Without it they would wait although they may start.
local function refill(root, queue, tenant, now)
    if not call("HGET", root .. "lanes:" .. queue, tenant) then return end
    admit(root, queue, tenant, settings_of(root, queue, tenant), now, WINDOW)
end

-- ----------------------------------------------------- out of the streams

local function leases_of(root, queue)
    return root .. "leases:" .. queue
end

-- Collects members (an id, or a score and an id) by the key that they go to, so
-- that one command writes them all.
local function gather(sets, key, one, two)
    local parts = sets[key]
    if not parts then
        parts = {}
        sets[key] = parts
    end
    parts[#parts + 1] = one
    if two then parts[#parts + 1] = two end
end

-- Takes the job's lease and its place in running. ends: where several jobs end
-- in one step, leases are gathered there.
local function let_go(job, ends)
    local leases = leases_of(job.root, job.queue)
    if ends then
        gather(ends.leases, leases, job.id)
    else
        call("ZREM", leases, job.id)
    end
    if job.limited == 1 then
        call("SREM", job.root .. "running:" .. job.queue .. "/" .. job.tenant,
            job.id)
        set(job, "limited", 0)
    end
end

-- Reasons to wait that are not the job's own fault: the attempt does not count.
local RESTS = { budget = true, endpoint = true }

-- The jobs that wait for such a reason, by the time at which they go on. Only
-- stats reads it, for operators.
local function resting(root, reason, queue)
    return root .. "resting:" .. reason .. ":" .. queue
end

-- Removes the job from wherever it stands or runs; answers whether that has
-- made room for others of its tenant. A lane keeps the element until it comes
-- to the head: to take it out of the middle would be a search. The caller sets
-- the new state, and saves.
local function pull(job, ends)
    local made_room = job.limited == 1
    if job.session ~= "" and job.entry == "" and job.place == "" then
        call("SREM", behind_of(job.root, job.queue), job.id)
    end
    if job.entry ~= "" then
        drop(work(job.root, job.queue, job.priority), job.entry)
        if job.state == "queued" then
            call("ZREM", job.root .. "ready:" .. job.queue .. "/" .. job.tenant,
                job.id)
            made_room = true
        end
        set(job, "entry", "")
    end
    leave_lane(job)
    if job.state == "in_progress" then
        let_go(job, ends)
    elseif job.state == "scheduled" or job.state == "waiting" then
        call("ZREM", job.root .. "scheduled:" .. job.queue, job.id)
        if RESTS[job.reason] then
            call("ZREM", resting(job.root, job.reason, job.queue), job.id)
        end
    end
    return made_room
end
