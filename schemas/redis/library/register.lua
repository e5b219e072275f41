-- register.lua - the functions by name.

-- Those that let work in flight come to its end also run when memory is out:
-- the end is what frees memory. New work is refused then.
local ALWAYS = { "allow-oom" }

local function on_root(callback)
    return function(keys, args)
        if #keys == 1 and keys[1]:find("{%x%x%x}:$") then
            return callback(keys, args)
        end
        return refuse("BADARG", "one key is wanted, a partition's root: '%s'",
            keys[1] or "")
    end
end

local function register(name, callback, flags)
    redis.register_function({
        function_name = "quern_v1_" .. name,
        callback = name == "build" and callback or on_root(callback),
        flags = flags,
    })
end

register("build", function() return BUILD end, { "no-writes" })
register("submit", submit, {})
register("start", start, {})
register("beat", beat, ALWAYS)
register("journal", journal, ALWAYS)
register("event", event, ALWAYS)
register("session_claim", session_claim, ALWAYS)
register("session_save", session_save, ALWAYS)
register("finish", finish, ALWAYS)
register("release", release, ALWAYS)
register("reclaim", reclaim, ALWAYS)
register("cancel", cancel, ALWAYS)
