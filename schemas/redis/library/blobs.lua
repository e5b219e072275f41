-- blobs.lua - files of a job live at least as long as the job.
--
-- blob:<sha256> holds the bytes, for a day or so; refs:<sha256>, a sorted set,
-- holds the jobs that wait or run and name them, and "ended": its score is when
-- the last of those that have ended needs them no more. While there is a job in
-- it neither key expires; then both do, at that time.

local function blob_keys(root, sha256)
    return root .. "blob:" .. sha256, root .. "refs:" .. sha256
end

local function keep_blobs(job)
    for sha256 in job.blobs:gmatch("%x+") do
        local blob, refs = blob_keys(job.root, sha256)
        redis.call("ZADD", refs, 0, job.id)
        redis.call("PERSIST", refs)
        redis.call("PERSIST", blob)
    end
end

-- A day at least: a producer that was told that they are there may be about to
-- submit.
local function let_blobs_go(job, now, ttl_ms)
    local until_ms = now + math.max(ttl_ms, DAY_MS)
    for sha256 in job.blobs:gmatch("%x+") do
        local blob, refs = blob_keys(job.root, sha256)
        redis.call("ZREM", refs, job.id)
        redis.call("ZADD", refs, "GT", until_ms, "ended")
        if redis.call("ZCARD", refs) == 1 then
            local at = tonumber(redis.call("ZSCORE", refs, "ended"))
            redis.call("PEXPIREAT", blob, at)
            redis.call("PEXPIREAT", refs, at)
        end
    end
end
