-- given.lua - the arguments of submit, which a schedule keeps, too.

-- read_submit() reads pairs of name and value, from first to last, in any
-- order; blob comes once for each file. The job is the truth: Redis reads from
-- it what no pair gives, and refuses a pair that differs from it. With the pair
-- "pairs all" the caller says that its pairs are all that the job says of
-- itself: then Redis does not read the job, and the consumer compares both.
local read_submit
do
    local YEAR_MS = 366 * DAY_MS

    -- The values of pairs that are not given.
    local OF_SUBMIT = { __index = {
        queue = "default", priority = "normal", tenant = "default",
        deadline_ms = 0, not_before = 0, delay_ms = 0, max_depth = 0,
        tenant_depth = 0, idempotency_ttl_ms = 0,
        asked_ttl_ms = 0, blobs = {},
    } }

    -- A reader answers the value, or nil and the refusal.

    local function read_name(name, value)
        if is_name(value) then return value end
        return nil, refuse("BADARG",
            "%s must be 1 to 128 of [A-Za-z0-9._-]: '%s'", name, value)
    end

    local function read_label(name, value)
        if is_label(value) then return value end
        return nil, refuse("BADARG", "%s must be 1 to 128 bytes of UTF-8 "
            .. "without control characters: '%s'", name, value)
    end

    local function read_priority(name, value)
        if AGE_MS[value] then return value end
        return nil, refuse("BADARG",
            "priority must be high, normal or low: '%s'", value)
    end

    local function read_key(name, value)
        if #value <= 256 then return value end
        return nil, refuse("TOOBIG", "%s has %d bytes, at most 256", name,
            #value)
    end

    local function read_number(name, value)
        local whole = number(value)
        if whole then return whole end
        return nil, refuse("BADARG", "%s must be a whole number: '%s'", name,
            value)
    end

    local function up_to(most, what)
        return function(name, value)
            local whole, refusal = read_number(name, value)
            if not whole or whole <= most then return whole, refusal end
            return nil, refuse("BADARG", "%s is %s ms, at most %d (%s)", name,
                value, most, what)
        end
    end

    local function read_job(name, value)
        if #value <= MAX_JOB_BYTES then return value end
        return nil, refuse("TOOBIG", "job has %d bytes, at most %d", #value,
            MAX_JOB_BYTES)
    end

    local function read_pairs(name, value)
        if value == "all" then return value end
        return nil, refuse("BADARG", "pairs must be all: '%s'", value)
    end

    local function read_yes(name, value)
        if value == "1" then return value end
        return nil, refuse("BADARG", "%s must be 1: '%s'", name, value)
    end

    local function as_it_is(name, value) return value end

    local READERS = {
        id = as_it_is, job = read_job, pairs = read_pairs,
        queue = read_name, tenant = read_label, session = read_label,
        priority = read_priority,
        idempotency_key = read_key, unique_key = read_key,
        deadline_ms = up_to(WEEK_MS, "a week"), not_before = read_number,
        delay_ms = up_to(YEAR_MS, "a year"), max_depth = read_number,
        tenant_depth = read_number,
        idempotency_ttl_ms = up_to(YEAR_MS, "a year"), notify = read_yes,
        asked = as_it_is, asked_ttl_ms = up_to(YEAR_MS, "a year"),
    }

    local function read_blob(given, sha256)
        local blobs = given.blobs or {}
        blobs[#blobs + 1], given.blobs = sha256, blobs
    end

    local function twice(name, value, again)
        return nil, refuse("BADARG",
            "the pair '%s' is given twice: '%s' and '%s'", name, value, again)
    end

    -- A pair with an empty value leaves nothing in given, so a second pair of
    -- its name is looked for in the arguments. Answers that one's value, or
    -- nil.
    local function given_again(args, i, last)
        for k = i + 2, last, 2 do
            if args[k] == args[i] then return args[k + 1] end
        end
        return nil
    end

    -- The pairs as a table, or nil and the refusal.
    local function read_pairs_of(args, first, last)
        if (last - first) % 2 == 0 then
            return nil, refuse("BADARG", "'%s' has no value", args[last])
        end
        local given = { id = nil, job = nil, pairs = nil, tenant = nil }
        for i = first, last, 2 do
            local name, value = args[i], args[i + 1]
            local read, refusal = READERS[name], nil
            if given[name] and name ~= "blobs" then
                return twice(name, given[name], value)
            elseif read and value == "" then
                local again = given_again(args, i, last)
                if again then return twice(name, value, again) end
            elseif read then
                given[name], refusal = read(name, value)
                if refusal then return nil, refusal end
            elseif name == "blob" then
                read_blob(given, value)
            else
                return nil, refuse("BADARG", "there is no pair '%s'", name)
            end
        end
        return given
    end

    -- ------------------------------------------- what the job says itself

    -- The members that both may give: name, default, and the first word of the
    -- mismatch's code when it is not the name. The last two may be given for a
    -- job that does not say them.
    local SAID = {
        { "tenant", "default" }, { "queue", "default" },
        { "priority", "normal" }, { "session" }, { "not_before", 0 },
        { "deadline_ms", 0, "deadline" }, { "notify" }, { "id" },
        { "idempotency_key" },
    }
    local MAY_BE_SILENT = { id = true, idempotency_key = true }

    local function in_words(name, value)
        if value == nil or value == 0 then return "no " .. name end
        return ("%s '%s'"):format(name, text(value))
    end

    local function mismatch(name, code, said, given)
        return refuse("BADARG", "%s_mismatch: the job says %s, the pair says %s",
            code, in_words(name, said), in_words(name, given))
    end

    -- Takes one member from the job, or compares it with the pair. Answers the
    -- refusal, or nil.
    local function take_said(given, name, value, row)
        local refusal
        if value then value, refusal = READERS[name](name, value) end
        if refusal then return refusal end
        if given[name] == nil then
            given[name] = value
        elseif given[name] ~= (value or row[2])
            and (value or not MAY_BE_SILENT[name]) then
            return mismatch(name, row[3] or name, value or row[2], given[name])
        end
        return nil
    end

    local function take_files(given, files)
        local known = blob_set(given.blobs)
        for _, sha256 in ipairs(files) do
            if not known[sha256] then read_blob(given, sha256) end
            known[sha256] = true
        end
    end

    -- For a job that takes too long to read. Without "pairs all" it is refused.
    -- With it, only the idempotency key needs care, since a key that Redis does
    -- not know would make two jobs of one. It is searched for as bytes: the
    -- member's name behind its length (\175 is a fixstr of 15 bytes, \15 the
    -- length byte of a longer form), and the key behind the name. Answers the
    -- refusal, or nil.
    local function too_many_values(given)
        local job, key = given.job, given.idempotency_key
        if given.pairs ~= "all" then
            return refuse("TOOBIG", "job has too many values to be read here: "
                .. "give all that it says of itself as pairs, and pairs all")
        end
        local says = job:find("\175idempotency_key", 1, true)
            or job:find("\15idempotency_key", 1, true)
        if not says or key and job:find("idempotency_key"
                .. cmsgpack.pack(key), 1, true) then
            return nil
        end
        return refuse("TOOBIG", "job has too many values to be read here: "
            .. "give its idempotency_key as a pair as well")
    end

    -- Compares the pairs with the job. Answers the refusal, or nil. A job that
    -- is not MessagePack is accepted: the consumer fails it, and its result
    -- tells the producer what is wrong.
    local function hold_to_job(given)
        local said, refusal = read_said(given.job)
        if said == TOO_MANY then return too_many_values(given) end
        if not said then return refusal end
        for i = 1, #SAID do
            local name = SAID[i][1]
            if said[name] or given[name] then
                refusal = take_said(given, name, said[name], SAID[i])
                if refusal then return refusal end
            end
        end
        if said.files then take_files(given, said.files) end
        return nil
    end

    -- Whether the job has to be read. Also with "pairs all" when there is an
    -- idempotency key, or bytes that may be one: a key that the pairs leave out
    -- would make two jobs of one.
    local function wants_reading(given)
        return given.pairs ~= "all" or given.idempotency_key
            or given.job:find("idempotency_key", 1, true)
    end

    local function too_far(given, now)
        if (given.not_before or 0) <= now + YEAR_MS then return nil end
        return refuse("BADARG",
            "not_before is %s, more than a year from now, %s",
            text(given.not_before), text(now))
    end

    function read_submit(root, args, first, last, now)
        local given, refusal = read_pairs_of(args, first, last)
        if not given then return nil, refusal end
        if not is_id(root, given.id) then
            return nil, refuse("BADARG",
                "id must be a UUIDv7 of partition %s: '%s'",
                root:match("{(.*)}") or "?", given.id or "")
        end
        if not given.job then return nil, refuse("BADARG", "job is missing") end
        refusal = wants_reading(given) and hold_to_job(given)
            or given.not_before and too_far(given, now)
        if refusal then return nil, refusal end
        return setmetatable(given, OF_SUBMIT)
    end
end

-- The refusal when one of the blobs is not in Redis; else nil. Producers write
-- blobs before they submit.
local function bad_blobs(root, blobs)
    -- One for each file, and one with an earlier conversation.
    if #blobs > MAX_FILES + 1 then
        return refuse("TOOBIG", "%d blobs, at most %d", #blobs, MAX_FILES + 1)
    end
    for _, sha256 in ipairs(blobs) do
        if not is_sha256(sha256) then
            return refuse("BADARG",
                "blob must be a SHA-256 in 64 lower-case digits: '%s'", sha256)
        end
        if redis.call("EXISTS", root .. "blob:" .. sha256) == 0 then
            return refuse("NOBLOB",
                "blob %s is not there: write it before the job", sha256)
        end
    end
    return nil
end

-- Puts the job into scheduled until that time; promote lets it go on. The
-- caller saves.
local function schedule(job, at, state, reason)
    call("ZADD", job.root .. "scheduled:" .. job.queue, at, job.id)
    call("SADD", job.root .. "queues", job.queue)
    if RESTS[reason] then
        call("ZADD", resting(job.root, reason, job.queue), at, job.id)
    end
    set(job, "state", state)
    set(job, "reason", reason)
end

-- Functions of later files that earlier ones call.
local submit_one -- submit.lua: {id, "created" or "exists"}, or the refusal
local await_verdict, goes_on_unasked -- approval.lua
