-- usage.lua - what the model calls of a job used, by its journal: for results
-- that no consumer writes. consumer/conversation/budget.h has the rules.

-- How many bytes of journals and bodies the present call has read. Redis serves
-- nobody else meanwhile, so it is bounded.
local journal_bytes = 0
local MAX_JOURNAL_BYTES = 4096 * KIB

-- Functions that end many jobs ask this before each one. They stop then, and
-- their answer makes the caller call again.
local function has_read_enough()
    return journal_bytes >= MAX_JOURNAL_BYTES
end

-- usage_of(job): the member usage of the result, nil when nothing was used; and
-- the last text of the model, which becomes the answer.
local usage_of

do
    local COUNTS = {
        "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
        "uncounted_tokens", "cost", "model_calls",
    }
    local MAX_MODELS = 64
    local MAX_SAID = 64 * KIB -- of a message as JSON: no call takes long
    local STEP = 4 -- records in memory at once, of up to a MiB

    -- A number of a record; 0 for whatever is no whole number, since somebody
    -- else may have written the record.
    local function count(value)
        local whole = type(value) == "number" and value > 0 and value < 1e15
            and value % 1 == 0
        return whole and value or 0
    end

    local function add_to(sum, counts)
        for _, name in ipairs(COUNTS) do
            local more = count(counts[name])
            if more > 0 then sum[name] = (sum[name] or 0) + more end
        end
    end

    -- nil: it has no name, or there are too many of them.
    local function model_of(all, name)
        if type(name) ~= "string" or name == "" then return nil end
        if not all.by_name[name] and #all.models < MAX_MODELS then
            all.by_name[name] = { name = name }
            all.models[#all.models + 1] = all.by_name[name]
        end
        return all.by_name[name]
    end

    local function add(all, name, counts)
        local model = model_of(all, name)
        add_to(all.sum, counts)
        if model then add_to(model, counts) end
    end

    -- Counts a request whose outcome nobody knows, by what was reserved for it.
    -- Answers whether there is one.
    local function count_asked(all)
        local asked = all.asked
        if not asked then return false end
        add(all, asked.model, {
            uncounted_tokens = asked.reserved, cost = asked.cost,
        })
        return true
    end

    -- A reply or a refusal: counts what the endpoint has counted.
    local function settle(all, record)
        all.asked = nil
        if type(record.usage) == "table" then
            add(all, record.model, record.usage)
        end
    end

    -- One record. An intent with failed was refused by the endpoint; with
    -- failed and last it was never sent. An intent after another one without a
    -- reply means that the request was sent again. model_sent says nothing of
    -- usage.
    local function take(all, record)
        if record.kind == "model_reply" then
            settle(all, record)
            all.message = record.message
        elseif record.kind ~= "model_intent" then
            return
        elseif not record.failed then
            if count_asked(all) then all.repeated = all.repeated + 1 end
            all.asked = record
        elseif not record.last then
            settle(all, record)
        end
    end

    -- By the head of its bytes, where kind stands: records of tools, which may
    -- be long, are not decoded.
    local function is_of_model(bytes)
        return bytes:sub(1, 32):find("kind.model_") ~= nil
    end

    local function take_records(all, records)
        for _, bytes in ipairs(records) do
            journal_bytes = journal_bytes + #bytes
            if is_of_model(bytes) then
                local read, record = pcall(cmsgpack.unpack, bytes)
                if read and type(record) == "table" then take(all, record) end
            end
        end
    end

    local function said_in(message)
        if type(message) ~= "string" or #message > MAX_SAID then return nil end
        local read, value = pcall(cjson.decode, message)
        local text = read and type(value) == "table" and value.content
        return type(text) == "string" and text ~= "" and text or nil
    end

    -- The journal is read in steps, to bound the memory. When its first record
    -- is not of a model, no model was asked at all (a job of kind code).
    function usage_of(job)
        local list, at, step = job.root .. "journal:" .. job.id, 0, 1
        local all = { sum = {}, models = {}, by_name = {}, repeated = 0 }
        while job.journal do
            local records = redis.pcall("LRANGE", list, at, at + step - 1)
            take_records(all, records)
            if #records < step or at == 0 and not is_of_model(records[1]) then
                break
            end
            at, step = at + step, STEP
        end
        count_asked(all)
        if all.repeated > 0 then all.sum.repeated_calls = all.repeated end
        if #all.models > 0 then all.sum.models = all.models end
        return next(all.sum) and all.sum, said_in(all.message)
    end
end
