-- files.lua - records of files that were uploaded, each with its blob.
--
-- file:<id> is a hash: tenant, name, purpose, mime, blob, bytes, created_at,
-- expires_at; it expires by itself. The blob lives as long: file:<id> is a
-- member of its refs.
--
-- Two sorted sets of a tenant have a member <id>:<purpose> for each record:
--   files:<tenant>       sorted by id, which begins with its time
--   file_ends:<tenant>   sorted by when the record expires
-- A record that has expired leaves both when the tenant's files are next looked
-- at; the sets expire with the last record.

local MAX_FILES_OF_TENANT = 10000
local MAX_FILE_LIFE_MS = 400 * DAY_MS
local MAX_FILE_PAGE = 1000
local MAX_TIDIED = 1000 -- records that have expired, in one call

local FILE_FACTS = {
    "name", "purpose", "mime", "blob", "bytes", "created_at", "expires_at",
}
local FILE_ID = "^file%-" .. ("[0-9a-f]"):rep(24) .. "$"

local function is_file_id(text)
    return text ~= nil and text:find(FILE_ID) ~= nil
end

local function file_sets(root, tenant)
    return root .. "files:" .. encode(tenant),
        root .. "file_ends:" .. encode(tenant)
end

local function drop_members(root, tenant, members)
    for _, set in ipairs({ file_sets(root, tenant) }) do
        call("ZREM", set, unpack(members))
    end
end

local function drop_expired(root, tenant, now)
    local _, ends = file_sets(root, tenant)
    local due = call("ZRANGE", ends, "-inf", now, "BYSCORE", "LIMIT", 0,
        MAX_TIDIED)
    if #due > 0 then drop_members(root, tenant, due) end
end

local function read_file(args)
    local file = {
        tenant = args[1] or "", id = args[2] or "", life_ms = number(args[3]),
        blob = args[4] or "", bytes = number(args[5]), name = args[6] or "",
        purpose = args[7] or "", mime = args[8] or "",
    }
    if not is_label(file.tenant) or not is_file_id(file.id) then
        return nil, refuse("BADARG", "file_set: tenant '%s', id '%s'",
            file.tenant, file.id)
    end
    if not (file.life_ms and file.life_ms > 0
        and file.life_ms <= MAX_FILE_LIFE_MS) then
        return nil, refuse("BADARG", "file_set: life '%s', at most %d ms",
            args[3] or "", MAX_FILE_LIFE_MS)
    end
    if not (is_sha256(file.blob) and file.bytes and #file.name > 0
        and #file.name <= 255 and is_utf8(file.name) and is_name(file.purpose)
        and #file.mime <= 128 and is_utf8(file.mime)) then
        return nil, refuse("BADARG",
            "file_set: blob '%s', bytes '%s', name '%s', purpose '%s'",
            file.blob, args[5] or "", file.name, file.purpose)
    end
    return file
end

local function stands_already(key, file)
    local known = call("HMGET", key, "tenant", "blob", "created_at",
        "expires_at")
    if not known[1] then return nil end
    if known[1] ~= file.tenant or known[2] ~= file.blob then
        return refuse("BADARG", "file_set: the id %s is taken", file.id)
    end
    return { tonumber(known[3]), tonumber(known[4]) }
end

local function write_file(root, key, file, now)
    local expires_at = now + file.life_ms
    local member = file.id .. ":" .. file.purpose
    local list, ends = file_sets(root, file.tenant)
    redis.call("HSET", key, "tenant", file.tenant, "name", file.name,
        "purpose", file.purpose, "mime", file.mime, "blob", file.blob,
        "bytes", file.bytes, "created_at", now, "expires_at", expires_at)
    redis.call("PEXPIREAT", key, expires_at)
    call("ZADD", list, 0, member)
    call("ZADD", ends, expires_at, member)
    for _, set in ipairs({ list, ends }) do
        if redis.call("PEXPIRETIME", set) < expires_at then
            redis.call("PEXPIREAT", set, expires_at)
        end
    end
    keep_blob(root, file.blob, "file:" .. file.id, expires_at)
    return { now, expires_at }
end

-- Arguments: tenant id life_ms blob bytes name purpose [mime]. The caller makes
-- the id: "file-", 12 digits of the time in ms, 12 by chance. Answers
-- {created_at, expires_at}.
local function file_set(keys, args)
    local root, now = keys[1], now_ms()
    local file, refusal = read_file(args)
    if not file then return refusal end
    local key = root .. "file:" .. file.id
    local known = stands_already(key, file)
    if known then return known end
    if redis.call("EXISTS", root .. "blob:" .. file.blob) == 0 then
        return refuse("NOBLOB", "blob %s is not there: write it before the "
            .. "file's record", file.blob)
    end
    drop_expired(root, file.tenant, now)
    local count = call("ZCARD", (file_sets(root, file.tenant)))
    if count >= MAX_FILES_OF_TENANT then
        return refuse("TOOBIG", "tenant '%s' has %d files, at most %d: delete "
            .. "some first", file.tenant, count, MAX_FILES_OF_TENANT)
    end
    return write_file(root, key, file, now)
end

-- Arguments: tenant id. Answers whether the tenant had that file. The bytes stay
-- for an hour: a job that names them may be about to be submitted.
local function file_rm(keys, args)
    local root, tenant, id = keys[1], args[1] or "", args[2] or ""
    if not (is_label(tenant) and is_file_id(id)) then
        return refuse("BADARG", "file_rm: tenant '%s', id '%s'", tenant, id)
    end
    local key = root .. "file:" .. id
    local facts = call("HMGET", key, "tenant", "blob", "purpose")
    if facts[1] ~= tenant then return 0 end
    redis.call("DEL", key)
    drop_members(root, tenant, { id .. ":" .. (facts[3] or "") })
    if facts[2] and is_sha256(facts[2]) then
        let_blob_go(root, facts[2], "file:" .. id, now_ms() + HOUR_MS)
    end
    return 1
end

-- Some members behind that text; nil: from the beginning.
local function members_behind(list, cursor, order)
    local from, to, rev = cursor and "(" .. cursor or "-", "+", nil
    if order == "desc" then
        from, to, rev = cursor and "(" .. cursor or "+", "-", "REV"
    end
    local words = { from, to, "BYLEX", "LIMIT", 0, 200, rev }
    return call("ZRANGE", list, unpack(words))
end

-- The text behind which an answer goes on that ended with this id.
local function cursor_of(after, order)
    if after == "" then return nil end
    return order == "asc" and after .. ":\255" or after
end

local function file_row(root, id, tenant)
    local facts = call("HMGET", root .. "file:" .. id, "tenant",
        unpack(FILE_FACTS))
    if facts[1] ~= tenant then return nil end
    facts[1] = id
    for i, fact in ipairs(facts) do facts[i] = fact or "" end
    return facts
end

-- Arguments: tenant order count after purpose. order: asc or desc, by time.
-- after: an id behind which to go on, also of a file that has gone; empty: from
-- the beginning. purpose: empty: any. Answers {whether there are more, row...},
-- a row being {id, name, purpose, mime, blob, bytes, created_at, expires_at}.
local function file_list(keys, args)
    local root, now, tenant, order = keys[1], now_ms(), args[1] or "", args[2]
    local count, after, wanted = number(args[3]), args[4] or "", args[5] or ""
    if not (is_label(tenant) and (order == "asc" or order == "desc")
        and count and count > 0 and count <= MAX_FILE_PAGE
        and (after == "" or is_file_id(after))
        and (wanted == "" or is_name(wanted))) then
        return refuse("BADARG", "file_list: tenant '%s', order '%s', count "
            .. "'%s' of 1 to %d, after '%s'", tenant, order or "",
            args[3] or "", MAX_FILE_PAGE, after)
    end
    drop_expired(root, tenant, now)
    local list, answer = file_sets(root, tenant), { 0 }
    local members = members_behind(list, cursor_of(after, order), order)
    while #members > 0 do
        for _, member in ipairs(members) do
            local id, purpose = member:match("^([^:]+):(.*)$")
            local row = id and (wanted == "" or purpose == wanted)
                and file_row(root, id, tenant)
            if row and #answer > count then
                answer[1] = 1
                return answer
            end
            if row then answer[#answer + 1] = row end
        end
        members = members_behind(list, members[#members], order)
    end
    return answer
end

register("file_set", file_set, {})
register("file_rm", file_rm, ALWAYS)
register("file_list", file_list, ALWAYS)
