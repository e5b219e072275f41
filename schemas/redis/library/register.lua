-- register.lua - gives functions their names. The files that follow hold the
-- functions; each ends with the calls that register them.

-- Functions that let running jobs come to their end also run while Redis is out
-- of memory, since an end frees memory. Functions that bring new work do not.
local ALWAYS = { "allow-oom" }
local READS = { "no-writes" }

-- What every function but build does around its own work: what the call before
-- has left in the shared variables is cleared, the one key is checked, and what
-- the call has noted for the index is written.
local function on_root(callback)
    return function(keys, args)
        journal_bytes = 0
        index.clear()
        if #keys == 1 and keys[1]:find("{%x%x%x}:$") then
            local answer = callback(keys, args)
            index.settle(keys[1])
            return answer
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

register("build", function() return BUILD end, READS)
