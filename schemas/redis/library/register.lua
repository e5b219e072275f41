-- register.lua - how the functions get their names. The files that follow hold
-- them, and each ends with what it registers.

-- Those that let work in flight come to its end also run when memory is out:
-- the end is what frees memory. New work is refused then.
local ALWAYS = { "allow-oom" }
local READS = { "no-writes" }

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
