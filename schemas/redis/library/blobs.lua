-- blobs.lua - files live at least as long as what names them.
--
-- blob:<sha256> holds the bytes, for a day or so; refs:<sha256>, a sorted set,
-- holds who names them: the jobs that wait or run, at 0; sessions, each at the
-- time at which its record expires; and "ended", at the time at which nobody of
-- those that have gone needs them any more. While a job is in it neither key
-- expires; then both do, at the latest of these times.

local function blob_keys(root, sha256)
    return root .. "blob:" .. sha256, root .. "refs:" .. sha256
end

-- A longer life than refs knows of is that of a result which names the bytes.
local function note_expiry(blob, refs)
    local expires_at = redis.call("PEXPIRETIME", blob)
    local last = call("ZRANGE", refs, -1, -1, "WITHSCORES")
    if expires_at > tonumber(last[2] or 0) then
        call("ZADD", refs, "GT", expires_at, "ended")
    end
end

local function keep_blobs(job)
    for sha256 in job.blobs:gmatch("%x+") do
        local blob, refs = blob_keys(job.root, sha256)
        note_expiry(blob, refs)
        call("ZADD", refs, 0, job.id)
        redis.call("PERSIST", refs)
        redis.call("PERSIST", blob)
    end
end

-- Both keys live as long as refs says; "GT": the bytes no shorter than they do.
local function settle_blob(blob, refs, ...)
    local first = call("ZRANGE", refs, 0, 0, "WITHSCORES")
    if first[2] == "0" then return end
    local last = call("ZRANGE", refs, -1, -1, "WITHSCORES")
    redis.call("PEXPIREAT", blob, last[2], ...)
    redis.call("PEXPIREAT", refs, last[2])
end

local function keep_blob(root, sha256, who, until_ms)
    local blob, refs = blob_keys(root, sha256)
    call("ZADD", refs, until_ms, who)
    settle_blob(blob, refs, "GT")
end

-- who no longer names it: the bytes stay until then, or longer.
local function let_blob_go(root, sha256, who, until_ms)
    local blob, refs = blob_keys(root, sha256)
    note_expiry(blob, refs)
    call("ZREM", refs, who)
    call("ZADD", refs, "GT", until_ms, "ended")
    settle_blob(blob, refs)
end

-- A day at least: a producer that was told that they are there may be about to
-- submit.
local function let_blobs_go(job, now, ttl_ms)
    for sha256 in job.blobs:gmatch("%x+") do
        let_blob_go(job.root, sha256, job.id, now + math.max(ttl_ms, DAY_MS))
    end
end

-- As a set, of a list or of words.
local function blob_set(blobs)
    local set = {}
    if type(blobs) == "table" then
        for _, sha256 in ipairs(blobs) do set[sha256] = true end
    else
        for sha256 in (blobs or ""):gmatch("%x+") do set[sha256] = true end
    end
    return set
end
