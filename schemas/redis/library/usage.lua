-- usage.lua - what the model calls of a job took, by its journal: for results
-- that no consumer writes. consumer/conversation/spending.h has the rules.

-- Of journals and bodies, by the call that runs: bytes. Nobody else is served
-- meanwhile.
local journal_bytes = 0
local MAX_JOURNAL_BYTES = 4096 * KIB

-- Whoever ends jobs one after the other stops then, and is called again.
local function has_read_enough()
    return journal_bytes >= MAX_JOURNAL_BYTES
end

-- As the result has it, nil: nothing; and what the model has said last, which
-- whoever follows the job has seen.
local usage_of

do
    local COUNTS = {
        "input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens",
        "uncounted_tokens", "cost", "model_calls",
    }
    local MAX_MODELS = 64
    local MAX_SAID = 64 * KIB -- of a message as JSON: no call takes long
    local STEP = 4 -- records in memory at once, of up to a MiB

    -- Of whoever has written it.
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

    -- Of one that is under way nobody knows the outcome.
    local function count_asked(all)
        local asked = all.asked
        if not asked then return false end
        add(all, asked.model, {
            uncounted_tokens = asked.reserved, cost = asked.cost,
        })
        return true
    end

    -- A reply, or a refusal, with what the endpoint has counted of it.
    local function settle(all, record)
        all.asked = nil
        if type(record.usage) == "table" then
            add(all, record.model, record.usage)
        end
    end

    -- An intent that failed was refused; or, with last, never sent. Where its
    -- reply can be had (model_sent) says nothing of what it took.
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

    -- The others, which may be long, are not read.
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

    -- Where no model was asked first, none was asked at all: a job of kind code.
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
