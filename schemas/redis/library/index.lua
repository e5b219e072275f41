-- index.lua - what operators list and draw: jobs that have ended, and counts of
-- every minute.
--
-- ended is one string with a line for each job that has ended, the newest last.
-- A job that ran again has a line for each end, of which the last one counts.
-- When the string has half of its largest size it becomes ended:before, and
-- replaces the one before it: so a string is only ever appended to. Tabs
-- separate the columns of a line (line_of() below, ../../KEYS.md); a default is
-- empty.
--
-- figures:<queue>:<period> is a hash of ten minutes (periods are counted from
-- 1970). A field is the digit of the minute and what is counted: s (started), c
-- i f x (ended, by the letter of the state), t (tokens), m (micro-dollars), w1
-- to w13 and r1 to r13 (waits and runs, by how long they took: BOUNDS_MS).
--
-- used:<queue>:<day> is a hash of what the jobs of each tenant have used that
-- ended on that day (UTC, counted from 1970): "tokens <tenant>", "cost
-- <tenant>".
--
-- A call of a function only notes what it has started and ended; register.lua
-- calls settle() after it, which writes all of it at once.

local index = {}

do
    -- About 100,000 jobs in both strings, or 40,000 with long metadata.
    local HALF_BYTES = 5 * 1024 * KIB
    -- How long a line is kept at least, when there are few of them.
    local KEEP_MS = 8 * DAY_MS

    -- Upper bounds of the buckets of times; the last bucket has none.
    local BOUNDS_MS = {
        10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000, 1000000,
        3000000, 1e300,
    }
    index.LETTERS = {
        completed = "c", incomplete = "i", failed = "f", cancelled = "x",
    }
    local PERIOD_MS = 600 * 1000
    local WAITS, RUNS = {}, {}
    for i = 1, #BOUNDS_MS do WAITS[i], RUNS[i] = "w" .. i, "r" .. i end

    -- What the present call has noted: lines; counts and use, by queue; any:
    -- is there something to write.
    local lines, minutes, used, any = {}, {}, {}, false

    -- Called before each function, too: the call before may have raised an
    -- error and left its notes.
    function index.clear()
        if not any then return end
        lines, minutes, used, any = {}, {}, {}, false
    end

    local function note_use(job, tokens, cost)
        used[job.queue] = used[job.queue] or {}
        local of_queue = used[job.queue]
        for name, amount in pairs({ tokens = tokens, cost = cost }) do
            if amount > 0 then
                local field = name .. " " .. job.tenant
                of_queue[field] = (of_queue[field] or 0) + amount
            end
        end
    end

    local function figures_of(queue)
        local figures = minutes[queue]
        if not figures then
            figures = {}
            minutes[queue], any = figures, true
        end
        return figures
    end

    local function count_time(figures, names, ms)
        local bounds, at = BOUNDS_MS, ms > 1000 and 6 or ms > 100 and 4 or 1
        while ms > bounds[at] do at = at + 1 end
        local name = names[at]
        figures[name] = (figures[name] or 0) + 1
    end

    -- first: it has not been started before.
    function index.note_start(job, now, first)
        local figures = figures_of(job.queue)
        figures.s = (figures.s or 0) + 1
        if first then count_time(figures, WAITS, now - job.submitted_at) end
    end

    -- A column of a line. No name of quern's has a tab or a line feed in it;
    -- facts that somebody else has written may.
    local function column(value, default)
        if not value or value == default then return "" end
        return value:find("%c") and value:gsub("%c", "?") or value
    end

    -- The columns in the middle, as the job before had them: the jobs of a
    -- batch often have them in common.
    local queue, tenant, session, owner, code, ended_at, names

    local function names_of(job, error_code, now)
        local of_queue, of_tenant, of_session, of_owner = job.queue, job.tenant,
            job.session, job.owner
        if of_owner ~= owner or of_tenant ~= tenant or of_session ~= session
            or of_queue ~= queue or error_code ~= code or now ~= ended_at then
            queue, tenant, session, owner = of_queue, of_tenant, of_session,
                of_owner
            code, ended_at = error_code, now
            names = table.concat({
                "", column(queue, "default"), column(tenant, "default"),
                column(session), column(owner), column(code), text(now), "",
            }, "\t")
        end
        return names
    end

    local function line_of(job, now, state, error_code, tokens, cost)
        local started_at, attempts, used = job.started_at, job.attempts,
            "\t1\t0\t0\n"
        if attempts ~= 1 or tokens > 0 or cost > 0 then
            used = ("\t%d\t%d\t%d\n"):format(attempts, tokens, cost)
        end
        if job.found_by ~= "" then -- tabs are its own, and one ends each column
            local columns = found_by.of(job):gsub("[\r\n]", "?")
            used = used:sub(1, -2) .. "\t" .. columns .. "\t\n"
        end
        local ran = started_at > 0 and text(now - started_at) or ""
        -- Every job comes here, and this is faster than a format.
        return job.id .. "\t" .. index.LETTERS[state]
            .. names_of(job, error_code, now) .. text(now - job.submitted_at)
            .. "\t" .. ran .. used
    end

    -- listed: the job gets a line. Purged jobs get none, because thousands of
    -- them would push all others out of the index.
    function index.note_end(job, now, state, error_code, tokens, cost, listed)
        local figures, letter = figures_of(job.queue), index.LETTERS[state]
        if listed then
            lines[#lines + 1] = line_of(job, now, state, error_code, tokens,
                cost)
        end
        figures[letter] = (figures[letter] or 0) + 1
        if tokens > 0 or cost > 0 then note_use(job, tokens, cost) end
        if tokens > 0 then figures.t = (figures.t or 0) + tokens end
        if cost > 0 then figures.m = (figures.m or 0) + cost end
        if job.started_at > 0 then
            count_time(figures, RUNS, now - job.started_at)
        end
    end

    local function turn_over(root)
        redis.call("RENAME", root .. "ended", root .. "ended:before")
        redis.call("PEXPIRE", root .. "ended:before", KEEP_MS)
    end

    local function append_lines(root)
        local new = table.concat(lines)
        local bytes = call("APPEND", root .. "ended", new)
        if bytes == #new then redis.call("PEXPIRE", root .. "ended", KEEP_MS) end
        if bytes >= HALF_BYTES then turn_over(root) end
    end

    -- When the job of the string's first line ended; nil: no line of ours.
    function index.first_end(key)
        local first = redis.pcall("GETRANGE", key, 0, 1023)
        return type(first) == "string" and number(first:match(
            "^[^\t\n]*\t%a\t[^\t\n]*\t[^\t\n]*\t[^\t\n]*\t[^\t\n]*\t[^\t\n]*\t(%d+)"))
            or nil
    end

    -- promote calls this. Where few jobs end, lines grow old before the string
    -- is long: when the first line is older than KEEP_MS, the string becomes
    -- ended:before all the same.
    function index.grow_old(root, now)
        local ended_at = index.first_end(root .. "ended")
        if ended_at and now - ended_at > KEEP_MS then
            turn_over(root)
        elseif ended_at then -- as long as a consumer asks, the string lives on
            redis.call("PEXPIRE", root .. "ended", KEEP_MS)
        end
    end

    local function write_figures(root, queue, figures, now)
        local period = math.floor(now / PERIOD_MS)
        local key = ("%sfigures:%s:%d"):format(root, queue, period)
        local minute = ("%d"):format(now % PERIOD_MS / 60000)
        local is_new = false
        for name, count in pairs(figures) do
            local amount = text(count)
            local sum = call("HINCRBY", key, minute .. name, amount)
            is_new = is_new or sum == count
        end
        if is_new then
            redis.call("PEXPIREAT", key,
                text((period + 1) * PERIOD_MS + WEEK_MS))
        end
    end

    local function write_use(root, queue, amounts, now)
        local day = math.floor(now / DAY_MS)
        local key = ("%sused:%s:%d"):format(root, queue, day)
        for field, amount in pairs(amounts) do
            call("HINCRBY", key, field, text(amount))
        end
        redis.call("PEXPIREAT", key, text((day + 1) * DAY_MS + WEEK_MS))
    end

    local function write_all(root)
        local now = now_ms()
        if #lines > 0 then append_lines(root) end
        for queue, figures in pairs(minutes) do
            write_figures(root, queue, figures, now)
        end
        for queue, amounts in pairs(used) do
            write_use(root, queue, amounts, now)
        end
    end

    -- Errors are dropped (the login may not write these keys, or memory is
    -- full): the jobs have started and ended all the same, and the caller must
    -- be told.
    function index.settle(root)
        if not any then return end
        pcall(write_all, root)
        index.clear()
    end
end
