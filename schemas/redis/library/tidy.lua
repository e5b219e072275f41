-- tidy.lua - removes jobs that have ended before their keys expire.

local KINDS = { "job:", "body:", "result:", "events:", "journal:", "asked:" }

-- Removes all keys of the job. Its line in ended stays, but list.lua shows no
-- job without facts.
local function remove(root, id, queue)
    local keys = {}
    for i, kind in ipairs(KINDS) do keys[i] = root .. kind .. id end
    call("ZREM", root .. "dead:" .. queue, id)
    redis.call("UNLINK", unpack(keys))
end

local function is_asked_for(facts, wanted)
    local state, ended_at = facts[1], number(facts[2] or "")
    return TERMINAL[state] and ended_at and ended_at < wanted.before
        and (wanted.state == "" or state == wanted.state)
        and (wanted.queue == "" or (facts[3] or "default") == wanted.queue)
end

-- Arguments: cursor count before state queue dry. Looks at about count keys of
-- the partition, and removes the jobs that ended before that time (ms), in that
-- state and queue (empty: any). Answers the next cursor, "0" when the walk is
-- over, and how many were, or would be, removed.
local function tidy(keys, args)
    local root, count = keys[1], number(args[2])
    local wanted = {
        before = number(args[3]), state = args[4] or "", queue = args[5] or "",
    }
    if not (count and count > 0 and count <= MAX_BATCH and wanted.before
        and (args[1] or ""):find("^%d+$")
        and (wanted.state == "" or TERMINAL[wanted.state])
        and (args[6] == "0" or args[6] == "1")) then
        return refuse("BADARG",
            "tidy: cursor '%s', count '%s', before '%s', state '%s'",
            args[1] or "", args[2] or "", args[3] or "", wanted.state)
    end
    local found = redis.call("SCAN", args[1], "MATCH", root .. "job:*",
        "COUNT", count)
    local removed, skip = 0, #root + 5
    for _, key in ipairs(found[2]) do
        local facts = redis.pcall("HMGET", key, "state", "finished_at", "queue")
        if not facts.err and is_asked_for(facts, wanted) then
            removed = removed + 1
            if args[6] == "0" then
                remove(root, key:sub(skip), facts[3] or "default")
            end
        end
    end
    return { found[1], removed }
end

-- Arguments: id. Removes a job that has ended. Answers removed, also when there
-- is no such job (any more); or late: the job has not ended.
local function remove_one(keys, args)
    local root, id = keys[1], args[1] or ""
    if not is_id(root, id) then
        return refuse("BADARG", "remove: an id ('%s')", id)
    end
    local facts = redis.call("HMGET", root .. "job:" .. id, "state", "queue")
    if facts[1] and not TERMINAL[facts[1]] then return "late" end
    if facts[1] then remove(root, id, facts[2] or "default") end
    return "removed"
end

register("tidy", tidy, ALWAYS)
register("remove", remove_one, ALWAYS)
