-- session.lua - sessions that outlive their jobs: whose turn it is, and what is
-- known of one.
--
-- session:<tenant>/<name>, labels encoded (args.lua), is a hash: record (../../message/session.h), its
-- generation, which every write raises; files, and picture, its own blobs: of
-- its names, and of what was said in it, a space between; and job, whose turn it is. A turn ends with its job, also when the
-- job has to go back into the queue meanwhile. Those that wait for theirs stand
-- in line (line.lua).

local MAX_SESSION_BYTES = 256 * KIB
local MAX_SESSION_FILES = 512

local function is_session(text)
    local tenant, name = (text or ""):match("^([^/]+)/([^/]+)$")
    return tenant ~= nil and decode(tenant) ~= nil and decode(name) ~= nil
end

-- At least for so long.
local function live_on(key, ttl_ms)
    if redis.call("PTTL", key) < ttl_ms then
        redis.call("PEXPIRE", key, ttl_ms)
    end
end

-- With the blobs that its record names.
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

-- It stands in that line from here to its end, by when it was submitted. In that
-- of its own session it stands already; not in that of a second one (a fork's).
local function join_line(job, session)
    call("ZADD", job.root .. "line:" .. session, "NX", job.submitted_at, job.id)
    for _, known in ipairs(lines_of(job)) do
        if known == session then return end
    end
    set(job, "claims", job.claims .. " " .. session)
    save(job)
end

-- id epoch session ttl_ms. Answers {1, record} when it is the job's turn, else
-- {0, the job that it waits for, the state of that one}.
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

-- What a record names now is kept, what it named before is let go.
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

-- id epoch session generation listed ttl_ms kept_ms record blobs file...
-- blobs: its own; none of them, or one, or both.
-- generation: the one that is replaced; 0: none stands. listed: 0 when it is
-- over. kept_ms: how long files that are replaced are still there. Answers the
-- new generation.
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
    -- Who restores it now may still read what is replaced.
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
