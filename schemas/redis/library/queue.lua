-- queue.lua - where jobs wait: work streams, and lanes beside them.
--
-- A tenant has up to WINDOW jobs unread in the streams of a queue, and never
-- more than its limits let start; the rest stand in its lanes, one for each
-- priority. So the streams hold a few jobs of every tenant, in turns, and
-- whatever is in them may start. ready says which, running who runs (only of
-- tenants with a limit): sets of ids, so that nothing can be counted twice.
--
-- An entry wakes who waits for one, and says whose turn it is. Who has come to
-- the end of the streams goes on with the lanes of those whose turn it was, and
-- leaves one entry of each behind for the next to wake: a lane that may start
-- has one, or a time in wakes. A job that runs has no entry.
--
-- An element of a lane is "<place>:<id>:<body>"; places rise by one from head to
-- tail, and the job's fact place says which one is its own. So what has gone (a
-- job that was cancelled) is known when it comes to the head, and whether a job
-- stands where it says is one look. A body that is not large waits there too: a
-- key of its own would take a hundred bytes more. Most bodies have the id in
-- them: then the element says instead of it at which of their bytes.
--
-- lanes counts those that wait there; elements of jobs that have gone are not
-- among them.

local function work(root, queue, priority)
    return root .. "work:" .. queue .. ":" .. priority
end

local function lane_of(root, queue, tenant, priority)
    return root .. "lane:" .. queue .. "/" .. tenant .. ":" .. priority
end

-- At 0: what was there before its first consumer must not be lost. Where it
-- had to be made, whoever looks next walks over everything: jobs may stand in a
-- stream that was deleted.
local function make_group(root, stream)
    local made = redis.pcall("XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM")
    if made.ok then redis.call("DEL", root .. "mended") end
end

-- Acknowledged and deleted: XLEN is what waits.
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

-- What operators have set for the queue and this tenant; zero: no limit.
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

-- GCRA: until when the tenant's rate is used up, and how many may start now.
local function rate_left(root, who, settings, now)
    local spent = tonumber(call("GET", root .. "rate:" .. who) or 0) or 0
    if not (spent >= now and spent <= now + 2 * settings.rate_ms) then
        spent = now
    end
    local gap = settings.rate_ms / settings.rate
    return spent, math.floor((now + settings.rate_ms - spent) / gap + 0.001)
end

-- Why a job of the tenant may not start now, or nil; and when it may.
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

-- How many more of the tenant's jobs may stand in the streams, up to most in
-- all; and if its rate is what bars them, when to look again.
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

-- The tenant's lanes are looked at then: promote does.
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

local function count_lanes(root, queue, tenant, by)
    local lanes = root .. "lanes:" .. queue
    local count = redis.pcall("HINCRBY", lanes, tenant, by)
    if type(count) == "number" and count >= 0 then return count end
    -- Somebody else's. The field stays: the tenant has a lane.
    count = math.max(by, 0)
    call("HSET", lanes, tenant, count)
    return count
end

-- It waits there no more, though its element stays until it is the head.
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

-- Of its first element, or its last: 0, or -1.
local function place_in(lane, index)
    local element = call("LINDEX", lane, index)
    return element and tonumber(element:match("^%-?%d+")) or 0
end

-- Says so in its facts; gives the element.
local function give_place(job, place)
    local body = job.body or ""
    place = text(place)
    if job.state ~= "queued" then set(job, "state", "queued") end
    set(job, "place", place)
    reset(job, "entry")
    return place .. ":" .. (body:find(job.id, 1, true) or job.id) .. ":" .. body
end

-- Place, id and body; nil: it is somebody else's.
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

-- At the tail, or in front: one that has been in the streams before.
local function stand_in_lane(job, in_front)
    local lane = lane_of(job.root, job.queue, job.tenant, job.priority)
    local place = in_front and place_in(lane, 0) - 1 or place_in(lane, -1) + 1
    call(in_front and "LPUSH" or "RPUSH", lane, give_place(job, place))
    count_in(job.root, job.queue, job.tenant, 1)
end

-- The bytes of submit of a job that stands in a lane, if they do; nil when it
-- does not stand there.
local function body_in_lane(job)
    local lane = lane_of(job.root, job.queue, job.tenant, job.priority)
    local place, head = tonumber(job.place), call("LINDEX", lane, 0)
    local first = head and tonumber(head:match("^%-?%d+"))
    if not (place and first and place >= first) then return nil end
    local stands, id, body = read_element(call("LINDEX", lane, place - first)
        or "")
    return stands == job.place and id == job.id and body or nil
end

-- Those that only wait for others of their session, in no stream and no lane.
local function behind_of(root, queue)
    return root .. "behind:" .. queue
end

-- Jobs that come in one step. What holds for all of a tenant is looked up once;
-- those that go into the same lane are gathered, until settle_lanes.
local function new_batch(root)
    return { root = root, tenants = {}, depths = {}, lanes = {}, created = {} }
end

-- What the batch knows of a tenant in a queue; laned: one of its lanes has jobs,
-- so all that come go there, in the whole step.
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

-- Before anything looks into a lane, or counts.
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

-- Into the streams where there is room, else into its lane.
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

-- Behind those of its tenant that stand in lanes. One that comes back goes
-- before those that have not been out.
local function enter(job, now, settings, comes_back)
    leave_behind(job)
    if not comes_back and has_lane(job) then return stand_in_lane(job) end
    enter_streams(job, now, settings, comes_back)
end

-- The same of a new one.
local function enter_new(job, now, batch)
    local known = tenant_of(batch, job.queue, job.tenant)
    leave_behind(job)
    known.laned = known.laned or has_lane(job)
    if known.laned then return gather_in_lane(job, batch, known) end
    enter_streams(job, now, known.settings)
end

-- Streams, lanes, lines, and what is scheduled.
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

-- Up to count elements of each of its lanes that has any.
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

-- The first job that stands in it still, past those that do not.
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

local function oldest_head(root, lanes)
    local best, best_at
    for _, lane in ipairs(lanes) do
        local job = lane_head(root, lane)
        local at = job and job.submitted_at + AGE_MS[lane.priority]
        if at and (not best or at < best_at) then best, best_at = lane, at end
    end
    return best
end

-- What was read of the lanes is taken out; whether something is left. What has
-- come meanwhile stands behind what was read. Those that were not taken have
-- been left by their jobs before.
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

-- Fills the tenant's room in the streams from its lanes, so that most stand
-- there; a whole window when half of it is free, which is less work. Answers how
-- many jobs.
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
    -- Those that it passed were all that it read.
    if left and #arrivals < 2 * free then wake(root, queue, tenant, now) end
    return #arrivals / 2
end

-- After something has made room: for whom a lane waits.
local function refill(root, queue, tenant, now)
    if not call("HGET", root .. "lanes:" .. queue, tenant) then return end
    admit(root, queue, tenant, settings_of(root, queue, tenant), now, WINDOW)
end

-- ----------------------------------------------------- out of the streams

local function leases_of(root, queue)
    return root .. "leases:" .. queue
end

-- By the key of a set, for one call when all of them are there: an id, or a
-- score and an id.
local function gather(sets, key, one, two)
    local parts = sets[key]
    if not parts then
        parts = {}
        sets[key] = parts
    end
    parts[#parts + 1] = one
    if two then parts[#parts + 1] = two end
end

-- Out of its holder's hands. ends: gathers what many have in common.
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

-- What a job waits for when it waits for others: what was done until then was no
-- attempt, whatever it was.
local RESTS = { budget = true, endpoint = true }

-- Those that wait for that, by when they go on: counted for operators.
local function resting(root, reason, queue)
    return root .. "resting:" .. reason .. ":" .. queue
end

-- Out of wherever it stands or runs; whether that has made room for others of
-- its tenant. A lane keeps its element until that comes to the head.
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
