-- repeats.lua - requests that their clients send once more.
--
-- repeats:<sha256> is a list of the tries of a request that are not answered
-- yet: <job id>/<number of the try>, see producer/gateway/openai/repeats.h.

local MAX_TRY = 1000
local MOST_LOOKED_AT = 1000

-- Arguments: sha256 try. Answers the id of the job of the oldest try in the
-- list that has a lower number, which from now on is the job of this one; or
-- "": there is none. A later try is of another client, which sends an equal
-- request. One step, as a caller that dies between two would leave the job to
-- nobody, and the next try would make a second one.
local function repeat_take(keys, args)
    local sha256, try = args[1] or "", number(args[2])
    if not (is_sha256(sha256) and try and try <= MAX_TRY) then
        return refuse("BADARG", "repeat_take: request '%s', try '%s'", sha256,
            args[2] or "")
    end
    local key = keys[1] .. "repeats:" .. sha256
    for _, note in ipairs(call("LRANGE", key, 0, MOST_LOOKED_AT - 1)) do
        local id, number_of = note:match("^([^/]+)/(%d+)$")
        if id and tonumber(number_of) < try then
            -- In this order the list is never empty: it keeps its expiry.
            call("RPUSH", key, id .. "/" .. args[2])
            call("LREM", key, 1, note)
            return id
        end
    end
    return ""
end

register("repeat_take", repeat_take, ALWAYS)
