-- session.lua - sessions that outlive their jobs: which job has the turn, and
-- the session's record.
--
-- session:<tenant>/<name>, with encoded labels (args.lua), is a hash:
--   record      bytes, see ../../message/session.h
--   generation  how often the record was written
--   files       the blobs of the workspace, with a space between
--   picture     the blobs of the variables and of the history, likewise
--   job         the job that has the turn
-- A job keeps the turn until its end, also while it is back in the queue. Jobs
-- that wait for the turn stand in the session's line (line.lua).

local MAX_SESSION_BYTES = 256 * KIB
local MAX_SESSION_FILES = 512

local function is_session(text)
    local tenant, name = (text or ""):match("^([^/]+)/([^/]+)$")
    return tenant ~= nil and decode(tenant) ~= nil and decode(name) ~= nil
end

-- Makes the key live for ttl_ms at least.
local function live_on(key, ttl_ms)
    if redis.call("PTTL", key) < ttl_ms then
        redis.call("PEXPIRE", key, ttl_ms)
    end
end

-- Makes a session live for ttl_ms at least, with all blobs that its record
-- names. In the refs of a blob the session stands as its key; for a picture as
-- the key with "#picture", because a blob may be both.
local function session_lives_on(root, key, ttl_ms)
    live_on(key, ttl_ms)
    local expires_at = redis.call("PEXPIRETIME", key)
    local named = call("HMGET", key, "files", "picture")
    for i, who in ipairs({ key, key .. "#picture" }) do
        for sha256 in pairs(blob_set(named[i])) do
            if redis.call("EXISTS", root .. "blob:" .. sha256) == 1 then
                keep_blob(root, sha256, who, expires_at)
            end
        end
    end
end

-- Puts the job into the session's line, in the order of its submit, until its
-- end. It stands in the line of its own session since submit; a second session
-- (that of a fork) it claims here, and the fact claims says so.
local function join_line(job, session)
    call("ZADD", job.root .. "line:" .. session, "NX", job.submitted_at, job.id)
    for _, known in ipairs(lines_of(job)) do
        if known == session then return end
    end
    set(job, "claims", job.claims .. " " .. session)
    save(job)
end

-- Arguments: id epoch session ttl_ms. Answers {1, record} when it is the job's
-- turn, else {0, the job that it waits for, that one's state}. The job whose id
-- is in the hash has the turn as long as it has not ended, also when it is no
-- longer the first of the line (the line was deleted).
local function session_claim(keys, args)
    local root, id, session = keys[1], args[1], args[3]
    local ttl_ms = number(args[4])
    if not (is_session(session) and ttl_ms and ttl_ms > 0) then
        return refuse("BADARG", "session_claim: session '%s', ttl '%s'",
            session or "", args[4] or "")
    end
    local job, refusal = load_fenced(root, id, args[2])
    if not job then return refusal end

    local key, now = root .. "session:" .. session, now_ms()
    local user = call("HGET", key, "job")
    if user ~= id then
        join_line(job, session)
        local other, state = user, ongoing(root, user, now)
        if not state then other, state = first_in_line(root, session, now) end
        if state and other ~= id then return { 0, other, state } end
        redis.call("HSET", key, "job", id)
        session_lives_on(root, key, ttl_ms)
    end
    return { 1, redis.call("HGET", key, "record") or "" }
end

-- Keeps the blobs that the new record names, and lets go, until until_ms, those
-- that only the old one named. Keeps first: a blob in both never expires
-- between.
local function move_blobs(root, who, old, new, expires_at, until_ms)
    for sha256 in pairs(new) do keep_blob(root, sha256, who, expires_at) end
    for sha256 in pairs(old) do
        if not new[sha256] then let_blob_go(root, sha256, who, until_ms) end
    end
end

local function bad_session_blobs(root, blobs)
    if #blobs > MAX_SESSION_FILES + 1 then
        return refuse("TOOBIG", "session: %d blobs, at most %d", #blobs,
            MAX_SESSION_FILES + 1)
    end
    for _, sha256 in ipairs(blobs) do
        if not is_sha256(sha256)
            or redis.call("EXISTS", root .. "blob:" .. sha256) == 0 then
            return refuse("NOBLOB", "session: there is no blob '%s'", sha256)
        end
    end
    return nil
end

local function list_session(root, session, listed, now, ttl_ms)
    local all = root .. "sessions"
    redis.call("ZREMRANGEBYSCORE", all, "-inf", now)
    if listed == 0 then
        redis.call("ZREM", all, session)
    else
        redis.call("ZADD", all, now + ttl_ms, session)
        live_on(all, ttl_ms)
    end
end

-- Arguments: id epoch session generation listed ttl_ms kept_ms record blobs
-- file... Answers the new generation.
--   generation  of the record that is replaced; 0: there is none
--   listed      0: the session is closed
--   kept_ms     how long files that only the old record names are kept
--   blobs       words: of the variables and of the history, where there are any
--   file        one blob of the workspace each
-- A save with the generation that the job has read cannot overwrite a save that
-- it has not seen.
local function session_save(keys, args)
    local root, session, record = keys[1], args[3], args[8]
    local generation, listed = number(args[4]), number(args[5])
    local ttl_ms, kept_ms = number(args[6]), number(args[7])
    if not (is_session(session) and generation and listed and ttl_ms
        and ttl_ms > 0 and kept_ms and args[9]) then
        return refuse("BADARG", "session_save: session '%s', generation '%s'",
            session or "", args[4] or "")
    end
    local job, refusal = load_fenced(root, args[1], args[2], RUNNING)
    if not job then return refusal end
    if #record > MAX_SESSION_BYTES then
        return refuse("TOOBIG", "session: %d bytes, at most %d", #record,
            MAX_SESSION_BYTES)
    end
    local blobs = {}
    for sha256 in args[9]:gmatch("%S+") do blobs[#blobs + 1] = sha256 end
    local files = { unpack(args, 10) }
    refusal = bad_session_blobs(root, blobs) or bad_session_blobs(root, files)
    if refusal then return refusal end
    local key = root .. "session:" .. session
    local stands = call("HMGET", key, "generation", "record", "files",
        "picture")
    local there = tonumber(stands[1] or 0)
    if there == generation + 1 and stands[2] == record then
        return there -- sent again
    end
    if there ~= generation then
        return refuse("MISPLACED", "session %s is at generation %d, not at %d",
            session, there, generation)
    end

    local now = now_ms()
    local expires_at = now + ttl_ms
    move_blobs(root, key, blob_set(stands[3]), blob_set(files), expires_at,
        now + math.max(kept_ms, DAY_MS))
    -- An executor that restores the session now may still read the old ones.
    move_blobs(root, key .. "#picture", blob_set(stands[4]), blob_set(blobs),
        expires_at, now + HOUR_MS)
    redis.call("HSET", key, "generation", generation + 1, "record", record,
        "files", table.concat(files, " "), "picture", table.concat(blobs, " "))
    redis.call("PEXPIREAT", key, expires_at)
    list_session(root, session, listed, now, ttl_ms)
    return generation + 1
end

register("session_claim", session_claim, ALWAYS)
register("session_save", session_save, ALWAYS)
