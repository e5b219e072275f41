-- blobs.lua - a blob lives at least as long as everything that names it.
--
-- blob:<sha256> holds the bytes, for a day when a producer writes it. The
-- sorted set refs:<sha256> holds who needs them: jobs that have not ended and
-- schedules, with score 0; sessions, with the time when their record expires;
-- and "ended", with the time until which the others, which have left, still
-- needed them. While there is a member with score 0 neither key expires. After
-- that both expire at the latest of the times.

local function blob_keys(root, sha256)
    return root .. "blob:" .. sha256, root .. "refs:" .. sha256
end

-- A blob may be meant to live longer than refs says: a consumer gives blobs
-- that a result names the life of that result. That time is kept as "ended",
-- since the caller is about to change the expiry.
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

-- Gives both keys the life that refs says. "GT" as last argument: the blob's
-- life is not made shorter.
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

-- who no longer names the blob. The bytes stay until until_ms, or longer.
local function let_blob_go(root, sha256, who, until_ms)
    local blob, refs = blob_keys(root, sha256)
    note_expiry(blob, refs)
    call("ZREM", refs, who)
    call("ZADD", refs, "GT", until_ms, "ended")
    settle_blob(blob, refs)
end

-- The job has ended. Its blobs stay for a day at least: a producer that has
-- found a blob there may be about to submit a job that names it.
local function let_blobs_go(job, now, ttl_ms)
    for sha256 in job.blobs:gmatch("%x+") do
        let_blob_go(job.root, sha256, job.id, now + math.max(ttl_ms, DAY_MS))
    end
end

-- A set made of a list, or of a text with words.
local function blob_set(blobs)
    local set = {}
    if type(blobs) == "table" then
        for _, sha256 in ipairs(blobs) do set[sha256] = true end
    else
        for sha256 in (blobs or ""):gmatch("%x+") do set[sha256] = true end
    end
    return set
end
