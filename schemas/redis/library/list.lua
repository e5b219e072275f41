-- list.lua - lists jobs by the place where they stand, some at a time; and
-- gives the counts of a queue by minute.
--
-- A walk goes over the places in this order:
--
--    running   of each queue, those with a lease
--    stream    of each queue and priority, those that may start
--    lane      of each queue, tenant and priority
--    behind    of each queue, those that wait for their session
--    later     of each queue, those that are scheduled or waiting
--    ended     the newest first
--
-- One call looks at some two hundred jobs, whatever it finds, and answers a
-- cursor with which to go on. Jobs move between calls: a job may be listed
-- twice, and one that moves to a place which the walk has passed is not listed.

local MOST_LOOKED = 250 -- jobs whose facts one call looks at
local LOOKS_OF_ROW = 3 -- how many of these a whole row counts as, in addition

local PLACES = { "running", "stream", "lane", "behind", "later", "ended" }
local STATES_AT = {
    running = { in_progress = true }, stream = { queued = true },
    lane = { queued = true }, behind = { queued = true },
    later = { scheduled = true, waiting = true }, ended = TERMINAL,
}
-- Places where a job's score is the time when its lease ends, or when it goes
-- on.
local DUE_AT = { running = true, later = true }
-- The facts that are read of each job that has not ended.
local FACTS = {
    "state", "queue", "tenant", "session", "owner", "reason", "priority",
    "submitted_at", "started_at", "attempts", "approval_call", "entry", "place",
}

-- --------------------------------------------------------------- a walk

-- The cursor is walk.at in MessagePack: place (an index into PLACES), queue,
-- tenant, priority, and what the place itself goes on with (next, skip, scan,
-- head). It comes back from a client: a false one can make the call fail or
-- list the wrong rows, and do no more, since nothing here writes.
local function read_cursor(bytes)
    if bytes == "" then return { place = 1, queue = "", tenant = "", priority = 1 } end
    local read, cursor = pcall(cmsgpack.unpack, bytes)
    if not read or type(cursor) ~= "table" or not PLACES[cursor.place]
        or type(cursor.queue) ~= "string" or type(cursor.tenant) ~= "string"
        or not PRIORITIES[cursor.priority] then
        return nil
    end
    return cursor
end

-- Whether a job at that place can pass the filters: if not, the place is
-- skipped.
local function may_match(walk, place)
    if walk.places and not walk.places[place] then return false end
    if walk.worker and place ~= "running" and place ~= "ended" then
        return false
    end
    if walk.error_code and place ~= "ended"
        or walk.reason and place ~= "later" then
        return false
    end
    if not walk.states then return true end
    for state in pairs(STATES_AT[place]) do
        if walk.states[state] then return true end
    end
    return false
end

-- Whether a queued job stands at that place, by its facts: a set may still have
-- the id of a job that has moved on.
local function stands_at(job, place)
    if place == "stream" then return job.entry ~= "" end
    if place == "lane" then return job.place ~= "" end
    if place == "behind" then return job.entry == "" and job.place == "" end
    return true
end

-- Whether a job that has not ended stands where the walk is, and passes all
-- filters.
local function matches(walk, job)
    local place = PLACES[walk.at.place]
    if not STATES_AT[place][job.state] or not stands_at(job, place)
        or job.queue ~= walk.at.queue
        or walk.states and not walk.states[job.state]
        or walk.tenant and job.tenant ~= walk.tenant
        or walk.session and job.session ~= walk.session
        or walk.worker and job.owner ~= walk.worker
        or walk.reason and job.reason ~= walk.reason then
        return false
    end
    return job.submitted_at >= walk.since and job.submitted_at < walk.before
end

-- The columns in the order of jobs(). due_at: when its lease ends, or it goes
-- on.
local function add_row(walk, job, due_at)
    local place = PLACES[walk.at.place]
    walk.rows[#walk.rows + 1] = {
        job.id, job.state, place, job.queue, label_of(job.tenant),
        label_of(job.session),
        place == "running" and job.owner or "", job.reason, job.priority,
        job.approval_call, "", job.submitted_at, job.started_at, 0,
        job.attempts, 0, 0, DUE_AT[place] and due_at or 0,
    }
end

-- Whether the facts that are filtered by fit. Only these are read first,
-- because most jobs of a walk with filters do not fit.
local function may_be_it(walk, key)
    if walk.model or walk.metadata then
        local columns = found_by.read(key) .. "\t"
        if not found_by.fits(columns, walk.model, walk.metadata) then return false end
    end
    if not walk.facts then return true end
    if not walk.facts[2] then
        local value = redis.pcall("HGET", key, walk.facts[1])
        return (value or ABSENT[walk.facts[1]]) == walk.values[1]
    end
    local values = redis.pcall("HMGET", key, unpack(walk.facts))
    for i, name in ipairs(walk.facts) do
        if (values[i] or ABSENT[name]) ~= walk.values[i] then return false end
    end
    return true
end

-- Whether the id has the part that is asked for.
local function has_part(walk, id)
    return not walk.id or id:find(walk.id, 1, true) ~= nil
end

local function tell_if_asked(walk, id, due_at)
    walk.looked = walk.looked + 1
    if not has_part(walk, id) then return end
    if not may_be_it(walk, walk.root .. "job:" .. id) then return end
    walk.looked = walk.looked + LOOKS_OF_ROW
    local job = load(walk.root, id, FACTS)
    if job and matches(walk, job) then add_row(walk, job, due_at) end
end

-- Looks at one job. False: this call has done enough, and id was not looked at.
local function look_at(walk, id, due_at)
    if walk.looked >= MOST_LOOKED or #walk.rows >= walk.count then
        return false
    end
    if id then tell_if_asked(walk, id, due_at) end
    return true
end

-- ---------------------------------------------- the places of one queue

local walk_places
do
    -- Each walk goes on from walk.at.next, and answers whether it has come to
    -- the end of its place.

    -- A sorted set, from the score at.next on, where the first at.skip members
    -- of that score are passed. By scores and not by indexes: members that
    -- leave move the indexes of others, which would be left out. A member whose
    -- score rises meanwhile comes again.
    local function walk_scores(walk, key)
        local at = walk.at
        local score, skip = at.next or "-inf", at.skip or 0
        while true do
            local got = redis.pcall("ZRANGE", key, score, "+inf", "BYSCORE",
                "LIMIT", skip, 100, "WITHSCORES")
            if got.err or #got == 0 then return true end
            for i = 1, #got, 2 do
                if not look_at(walk, got[i], tonumber(got[i + 1])) then
                    at.next, at.skip = score, skip
                    return false
                end
                if got[i + 1] == score then
                    skip = skip + 1
                else
                    score, skip = got[i + 1], 1
                end
            end
        end
    end

    local function walk_stream(walk)
        local at = walk.at
        local key = work(walk.root, at.queue, PRIORITIES[at.priority])
        while true do
            local got = redis.pcall("XRANGE", key, at.next and "(" .. at.next or "-",
                "+", "COUNT", 100)
            if got.err or #got == 0 then return true end
            for _, entry in ipairs(got) do
                if not look_at(walk, entry[2][2]) then return false end
                at.next = entry[1]
            end
        end
    end

    -- The id of a lane's element, without its body, as read_element() answers
    -- it.
    local function id_in(element)
        local id, body_at = element:match("^%-?%d+:([^:]*):()")
        local at = id and #id < ID_BYTES and number(id)
        if at then return element:sub(body_at + at - 1, body_at + at + ID_BYTES - 2) end
        return id
    end

    -- at.next is a place, not an index: places stay when the head of the lane
    -- goes.
    local function walk_lane(walk)
        local at = walk.at
        local key = lane_of(walk.root, at.queue, at.tenant, PRIORITIES[at.priority])
        local head = redis.pcall("LINDEX", key, 0)
        local first = type(head) == "string" and tonumber(head:match("^%-?%d+"))
        if not first then return true end
        local from = math.max((at.next or first) - first, 0)
        while true do
            local got = redis.call("LRANGE", key, text(from), text(from + 99))
            if #got == 0 then return true end
            for _, element in ipairs(got) do
                if not look_at(walk, id_in(element)) then
                    at.next = first + from
                    return false
                end
                from = from + 1
            end
        end
    end

    -- The jobs of the session that is asked for, of one tenant.
    local function line_asked_for(walk, tenant)
        return walk.root .. "line:" .. tenant .. "/" .. walk.session
    end

    -- Of a session only the first job of its line can stand in a lane. So with
    -- the filter session no lane is searched; some more ids, as ended ones may
    -- stand at the head of the line.
    local function walk_first_of_line(walk)
        local line = line_asked_for(walk, walk.at.tenant)
        local got = redis.pcall("ZRANGE", line, 0, 9)
        for _, id in ipairs(got.err and {} or got) do
            tell_if_asked(walk, id)
        end
        return true
    end

    local function walk_behind(walk)
        local at = walk.at
        if walk.session and walk.tenant then
            return walk_scores(walk, line_asked_for(walk, walk.tenant))
        end
        repeat
            local got = redis.pcall("SSCAN", behind_of(walk.root, at.queue),
                at.next or "0", "COUNT", 50)
            if got.err then return true end
            -- A step of SSCAN cannot be cut, so all of it is looked at.
            for _, id in ipairs(got[2]) do
                tell_if_asked(walk, id)
            end
            at.next = got[1]
            if walk.looked >= MOST_LOOKED or #walk.rows >= walk.count then
                return at.next == "0"
            end
        until at.next == "0"
        return true
    end

    local WALKS = {
        running = function(walk)
            return walk_scores(walk, leases_of(walk.root, walk.at.queue))
        end,
        stream = walk_stream, behind = walk_behind,
        lane = function(walk)
            return (walk.session and walk_first_of_line or walk_lane)(walk)
        end,
        later = function(walk)
            return walk_scores(walk, walk.root .. "scheduled:" .. walk.at.queue)
        end,
    }

    -- ------------------------------------------------ from one to the next

    local function move_on(at, place, queue, tenant, priority)
        at.place, at.queue, at.tenant, at.priority = place, queue, tenant, priority
        at.next, at.skip, at.scan = nil, nil, nil
    end

    -- The next queue in the order of names, or the next place.
    local function next_queue(walk)
        local at = walk.at
        for _, queue in ipairs(walk.queues) do
            if queue > at.queue then
                return move_on(at, at.place, queue, "", 1)
            end
        end
        move_on(at, at.place + 1, "", "", 1)
    end

    -- Some tenants with lanes, and the cursor of HSCAN for more: there may be
    -- very many. at.scan is the cursor that brought the tenants of whom
    -- at.tenant is one.
    local function some_tenants(walk)
        local at = walk.at
        if walk.tenant then
            local lanes = walk.root .. "lanes:" .. at.queue
            local stands = redis.pcall("HEXISTS", lanes, walk.tenant)
            return stands == 1 and { walk.tenant } or {}, "0"
        end
        local got = redis.pcall("HSCAN", walk.root .. "lanes:" .. at.queue,
            at.scan or "0", "COUNT", 50)
        if got.err then return {}, "0" end
        local tenants = {}
        for i = 1, #got[2], 2 do tenants[#tenants + 1] = got[2][i] end
        return tenants, got[1]
    end

    -- The tenant after the one whose lanes have been walked, or the next queue.
    local function next_tenant(walk)
        local at = walk.at
        local known = walk.tenants
        if not known or known.queue ~= at.queue or known.scan ~= at.scan then
            known = { queue = at.queue, scan = at.scan }
            known.names, known.more = some_tenants(walk)
            walk.tenants = known
        end
        local next_one = 1
        for i, tenant in ipairs(known.names) do
            if tenant == at.tenant then next_one = i + 1 end
        end
        local tenant, scan = known.names[next_one], at.scan
        if tenant then
            move_on(at, at.place, at.queue, tenant, 1)
            at.scan = scan
        elseif known.more ~= "0" then
            move_on(at, at.place, at.queue, "", 1)
            at.scan = known.more
        else
            next_queue(walk)
        end
    end

    local function next_source(walk)
        local at, place = walk.at, PLACES[walk.at.place]
        local by_priority = place == "stream"
            or place == "lane" and at.tenant ~= "" and not walk.session
        if at.queue ~= "" and by_priority and PRIORITIES[at.priority + 1] then
            at.priority, at.next, at.skip = at.priority + 1, nil, nil
            return
        end
        if place == "lane" and at.queue ~= "" then return next_tenant(walk) end
        next_queue(walk)
    end

    -- Walks until this call has done enough. Answers whether the walk has come
    -- to the jobs that have ended.
    function walk_places(walk)
        local at = walk.at
        while PLACES[at.place] ~= "ended" do
            local place = PLACES[at.place]
            if not may_match(walk, place) then
                move_on(at, at.place + 1, "", "", 1)
            else
                local stands = at.queue ~= "" and (place ~= "lane" or at.tenant ~= "")
                if stands and not WALKS[place](walk) then return false end
                next_source(walk)
                walk.looked = walk.looked + 1
                if walk.looked >= MOST_LOOKED or #walk.rows >= walk.count then
                    return false
                end
            end
        end
        return true
    end
end

-- ---------------------------------------------------------------- ended

local walk_ended
do
    local MOST_BYTES = 320 * KIB -- of ended that one call searches
    local PIECE_BYTES = 32 * KIB -- of them that are read at a time
    local STATE_OF = {
        c = "completed", i = "incomplete", f = "failed", x = "cancelled",
    }
    local ENDED_LINE = "^([^\t\n]*)\t(%a)\t([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)"
        .. "\t([^\t\n]*)\t([^\t\n]*)\t(%d+)\t(%d+)\t(%d*)\t(%d+)\t(%d+)\t(%d+)\t?([^\n]*)\n"

    -- The row of the line that begins there, or nil when it does not pass the
    -- filters; and the time of its end, nil when the line is malformed.
    local function read_line(walk, piece, from)
        local id, letter, queue, tenant, session, worker, code, ended, age, ran,
            attempts, tokens, cost, columns = piece:match(ENDED_LINE, from)
        local state = STATE_OF[letter or ""]
        if not state then return nil end
        if queue == "" then queue = "default" end
        if tenant == "" then tenant = "default" end
        ended = tonumber(ended)
        if walk.states and not walk.states[state]
            or walk.queue and queue ~= walk.queue
            or walk.tenant and tenant ~= walk.tenant
            or walk.session and session ~= walk.session
            or walk.worker and worker ~= walk.worker
            or walk.error_code and code ~= walk.error_code
            or not found_by.fits(columns, walk.model, walk.metadata)
            or not has_part(walk, id) or ended < walk.since or ended >= walk.before then
            return nil, ended
        end
        return {
            id, state, "ended", queue, label_of(tenant), label_of(session), worker, "", "", "", code,
            ended - tonumber(age), ran ~= "" and ended - tonumber(ran) or 0, ended,
            tonumber(attempts), tonumber(tokens), tonumber(cost), 0,
        }, ended
    end

    -- Whether the line still holds: the job was not removed, and has not run
    -- again since that end.
    local function has_ended_so(walk, row)
        local facts = redis.pcall("HMGET", walk.root .. "job:" .. row[1], "state",
            "finished_at")
        walk.looked = walk.looked + LOOKS_OF_ROW
        return facts[1] == row[2] and tonumber(facts[2] or "") == row[14]
    end

    -- A text that every line which passes the filters has: a search for it is
    -- much faster than a pattern on each line. nil: no filter gives one.
    local function needle_of(walk)
        local best
        for _, value in ipairs({
            walk.session or "", walk.worker or "", walk.error_code or "",
            walk.model or "", walk.metadata or "",
            walk.queue ~= "default" and walk.queue or "",
            walk.tenant ~= "default" and walk.tenant or "",
            walk.one_state and index.LETTERS[walk.one_state] or "",
        }) do
            if value ~= "" and (not best or #value > #best) then best = value end
        end
        if walk.id and (not best or #walk.id > #best) then return walk.id end
        return best and "\t" .. best .. "\t"
    end

    -- Where in a piece of whole lines those begin that may pass the filters.
    local function find_lines(piece, needle)
        local starts, at = {}, 1
        while at <= #piece do
            if needle then
                local found = piece:find(needle, at, true)
                if not found then break end
                -- Back to the beginning of its line.
                local head = piece:sub(at, found):match(".*\n()")
                if head then at = at + head - 1 end
            end
            starts[#starts + 1] = at
            at = (piece:find("\n", at, true) or #piece) + 1
        end
        return starts
    end

    -- Reads the string backwards from the byte at.next. Answers whether it is
    -- done with it: it has come to the beginning, or to lines older than since.
    local function walk_string(walk, key, needle)
        local at = walk.at
        while at.next > 0 and walk.bytes < MOST_BYTES do
            local size = needle and PIECE_BYTES or math.min(PIECE_BYTES,
                4096 + 128 * (walk.count - #walk.rows))
            local from = math.max(at.next - size, 0)
            local piece = redis.pcall("GETRANGE", key, from, at.next - 1)
            if type(piece) ~= "string" or piece == "" then return true end
            if from > 0 then -- the line that is cut belongs to the next piece
                local head = piece:find("\n", 1, true)
                if not head or head == #piece then
                    at.next = from -- longer than a piece: none of ours
                    head = #piece
                end
                piece, from = piece:sub(head + 1), from + head
            end
            walk.bytes = walk.bytes + #piece + 1024
            local starts = find_lines(piece, needle)
            for i = #starts, 1, -1 do
                if #walk.rows >= walk.count or walk.looked >= MOST_LOOKED then
                    return false
                end
                local row, ended = read_line(walk, piece, starts[i])
                if row and has_ended_so(walk, row) then
                    walk.rows[#walk.rows + 1] = row
                elseif ended and ended < walk.since then
                    at.next = 0
                    return true
                end
                at.next = from + starts[i] - 1
            end
            if piece ~= "" then at.next = from end
            if not needle then walk.bytes = walk.bytes + 2 * #piece end
        end
        return at.next == 0
    end

    -- ended, then ended:before. The cursor names the string by its first bytes,
    -- at.head: between two calls ended may become ended:before, and the walk
    -- goes on in that one, before the byte at.next.
    function walk_ended(walk)
        local at, needle = walk.at, needle_of(walk)
        if not may_match(walk, "ended") then return true end
        local keys = { walk.root .. "ended", walk.root .. "ended:before" }
        local passed = at.head ~= nil
        for _, key in ipairs(keys) do
            local head = redis.pcall("GETRANGE", key, 0, ID_BYTES - 1)
            if type(head) == "string" and head ~= "" and (not passed
                or head == at.head) then
                if not passed then
                    at.head, at.next = head, redis.call("STRLEN", key)
                end
                if not walk_string(walk, key, needle) then return false end
                passed, at.head = false, nil
            end
        end
        return true
    end
end

-- ended:before replaces an older one: so when it is there, lines may be lost.
local function listed_since(walk)
    if not may_match(walk, "ended") then return nil end
    local since = index.first_end(walk.root .. "ended:before")
    return since and since > walk.since and since or nil
end

-- ------------------------------------------------------------ functions

local MOST_ROWS = 500
local FILTERS = {
    state = true, place = true, queue = true, tenant = true, session = true, worker = true,
    error_code = true, reason = true, since = true, ["until"] = true, id = true,
    model = true, metadata = true,
}
-- Filters whose values are compared in their encoded form.
local LABELS = { tenant = true, session = true }

local function read_states(words)
    local states, one, count = {}, nil, 0
    for word in words:gmatch("%S+") do
        local known = TERMINAL[word] or word == "queued" or word == "scheduled"
            or word == "waiting" or word == "in_progress"
        if not known then return nil end
        states[word], one, count = true, word, count + 1
    end
    return states, count == 1 and one or nil
end

-- The walk: its cursor, its filters, and what this call has done so far (rows,
-- looked, bytes). nil and the refusal. facts and values: the filters that
-- may_be_it() compares.
local function read_walk(root, args)
    local walk = {
        root = root, count = number(args[2]), at = read_cursor(args[1] or ""),
        rows = {}, values = {}, looked = 0, bytes = 0, since = 0, before = math.huge,
    }
    if not (walk.at and walk.count and walk.count > 0
        and walk.count <= MOST_ROWS and #args % 2 == 0) then
        return nil, refuse("BADARG",
            "jobs: a cursor of an answer, a count of 1 to %d ('%s'), pairs",
            MOST_ROWS, args[2] or "")
    end
    for i = 3, #args, 2 do
        local name, value = args[i], args[i + 1]
        if not FILTERS[name] then
            return nil, refuse("BADARG", "jobs: there is no filter '%s'", name)
        elseif name == "state" then
            walk.states, walk.one_state = read_states(value)
            if not walk.states then
                return nil, refuse("BADARG", "jobs: state '%s'", value)
            end
        elseif name == "place" then
            walk.places = {}
            for word in value:gmatch("%S+") do walk.places[word] = true end
        elseif name == "since" or name == "until" then
            if not number(value) then
                return nil, refuse("BADARG", "jobs: %s '%s'", name, value)
            end
            walk[name == "since" and "since" or "before"] = number(value)
        elseif name == "metadata" and not value:find("=", 1, true) then
            return nil, refuse("BADARG", "jobs: metadata '%s' is not key=value",
                value)
        elseif name == "model" or name == "metadata" then
            walk[name] = value:gsub("%c", "?") -- as the fact has it
        else
            walk[name] = LABELS[name] and encode(value) or value
            local fact = name == "worker" and "owner" or name
            if ABSENT[fact] and name ~= "queue" then
                walk.facts = walk.facts or {}
                walk.facts[#walk.facts + 1] = fact
                walk.values[#walk.values + 1] = value
            end
        end
    end
    return walk
end

-- Arguments: cursor ("": from the beginning) count, then pairs of a filter and
-- its value: state and place (words), queue, tenant, session, worker,
-- error_code, reason, model, metadata (key=value); since and until (ms: of the end, or of the submit of a
-- job that has not ended). Answers the cursor with which to go on, "" when that
-- was all, and rows: id state place queue tenant session worker reason priority
-- call error_code submitted_at started_at finished_at attempts tokens cost
-- due_at. A third one, when that was all and jobs that ended before that time
-- (ms) are not listed because the index has lost them.
local function jobs(keys, args)
    local walk, refusal = read_walk(keys[1], args)
    if not walk then return refusal end
    walk.queues = walk.queue and { walk.queue }
        or redis.call("SMEMBERS", walk.root .. "queues")
    table.sort(walk.queues)
    local done = walk_places(walk) and walk_ended(walk)
    return { done and "" or cmsgpack.pack(walk.at), walk.rows,
        done and listed_since(walk) or nil }
end

-- Arguments: queue period... (index.lua). Answers for each period the fields
-- and values of its hash, in a flat array.
local function figures(keys, args)
    local root, queue = keys[1], args[1]
    if not (queue and is_name(queue) and #args > 1 and #args <= 1 + 200) then
        return refuse("BADARG", "figures: queue '%s', up to 200 periods",
            queue or "")
    end
    local answers = {}
    for i = 2, #args do
        if not number(args[i]) then
            return refuse("BADARG", "figures: period '%s'", args[i])
        end
        answers[i - 1] = redis.call("HGETALL", ("%sfigures:%s:%s"):format(root,
            queue, args[i]))
    end
    return answers
end

register("jobs", jobs, READS)
register("figures", figures, READS)
