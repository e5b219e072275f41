#!lua name=quern_v1
--[[ args.lua - the rules that all files here keep, and the checks of arguments.

The files of this folder are one library, put together in the order of
../CMakeLists.txt. Its functions make every change of a job's facts, each in one
atomic step.

   scheduled --> queued --> in_progress --> completed | incomplete | failed
                 ^  ^ ^-----------+  |  +-> cancelled
                 |  `-- waiting <----'
                 `--- requeue, from failed

Redis runs a function alone and does not roll it back. So each function looks
first, refuses or decides, and only then writes. KEYS[1] is the partition's
root. Every other key begins with it, and so is in the same slot of a cluster.
The clock is the server's.

The epoch decides who may change a job that runs. The start sets it; whatever
takes the job from its holder (release, wait, lapse, an end that no consumer
wrote) raises it. So a late write names an old epoch and is refused. The epoch
is the time of the start in ms, or the last epoch plus one if that is more: a
count alone would come again after a failover that has lost a start.
When a job has ended and its epoch is still the caller's, that caller ended it:
this is how finish knows a call that is sent again. The sorted set leases says
until when the holder has the job.

Keys of a job that has not ended never expire; its end gives them all a time to
live. ../transition.h says what a caller may expect, ../../KEYS.md what each key
holds. ]]

local BUILD = 53 -- text 182f4da0

local GROUP = "consumers"
-- How much younger a job counts as than it is.
local AGE_MS = { high = 0, normal = 60 * 1000, low = 600 * 1000 }
local PRIORITIES = { "high", "normal", "low" }
local TERMINAL = {
    completed = true, incomplete = true, failed = true, cancelled = true,
}

local KIB = 1024
local MAX_JOB_BYTES = 256 * KIB
local MAX_EVENT_BYTES = 64 * KIB
local MAX_REASON_BYTES = 256
local MAX_EVENTS = 10000 -- kept of one job, about
local MAX_BATCH = 512 -- jobs, or other things, that one call may look at
local WINDOW = 32 -- jobs of a tenant that stand unread in a queue's streams
local MAX_FILES = 64 -- of one job

local HOUR_MS = 3600 * 1000
local DAY_MS = 24 * HOUR_MS
local WEEK_MS = 7 * DAY_MS
local MAX_KEEP_MS = 31 * DAY_MS -- of a result, as a job may ask
local MEND_STEP_MS = 15 * 1000 -- between two steps of a walk of mend, at the most

local EMPTY_MAP = "\128" -- MessagePack

-- ------------------------------------------------------- what callers send

local is_utf8

-- The head of a text, for an error sentence: what is not UTF-8 or not printable
-- becomes "?". Tenants and sessions may be UTF-8, and are shown as they are.
local function quote(text)
    local head = text:sub(1, 80)
    if #text > 80 then head = head:gsub("[\192-\255][\128-\191]*$", "") end
    if not is_utf8(head) then return (head:gsub("[^\32-\126]", "?")) end
    return (head:gsub("\194[\128-\159]", "?"):gsub("[%z\1-\31\127]", "?"))
end

-- The error reply of a refusal. Its texts come from the caller, so all of them
-- are quoted.
local function refuse(word, text, ...)
    local args = { ... }
    for i, arg in ipairs(args) do
        if type(arg) == "string" then args[i] = quote(arg) end
    end
    return redis.error_reply(word .. " " .. text:format(unpack(args)))
end

-- A function that answers what make answers, and keeps those answers of which
-- make says so (its second value). To turn a number into a text, or back, takes
-- as long as a short command of Redis, and the jobs of a batch have times and
-- small numbers in common. The answers outlive a call, so they are forgotten
-- when there are many.
local function remembering(make)
    local MOST_KEPT = 1024
    local answers, kept = {}, 0
    return function(value)
        local known = answers[value]
        if known then return known end
        local answer, keep = make(value)
        if keep then
            if kept == MOST_KEPT then answers, kept = {}, 0 end
            answers[value], kept = answer, kept + 1
        end
        return answer
    end
end

-- A whole number that Lua holds exactly, or nil.
local number = remembering(function(text)
    if not (text and text:find("^%d+$") and #text <= 15) then return nil end
    return tonumber(text), true
end)

-- May be part of a key as it is: a queue, a schedule.
local function is_name(text)
    return #text <= 128 and text:find("^[%w._-]+$") ~= nil
end

local encode, is_label, decode, label_of
do -- blocks keep what is theirs: Lua allows 200 names beside each other
    -- Sequences of more than one byte that RFC 3629 allows.
    local UTF8 = {
        "\240[\144-\191][\128-\191][\128-\191]",
        "[\241-\243][\128-\191][\128-\191][\128-\191]",
        "\244[\128-\143][\128-\191][\128-\191]",
        "\224[\160-\191][\128-\191]",
        "[\225-\236\238\239][\128-\191][\128-\191]",
        "\237[\128-\159][\128-\191]",
        "[\194-\223][\128-\191]",
    }

    function is_utf8(text)
        for _, sequence in ipairs(UTF8) do text = text:gsub(sequence, " ") end
        return not text:find("[\128-\255]")
    end

    -- Keys hold a label (a tenant, a session) encoded: every byte but A-Z a-z
    -- 0-9 . _ - is %XX. So no encoded label has one of the separators of keys
    -- (: / and space) in it, and no two labels, or pairs of labels, share a
    -- key. ../names.h has the same in C.
    --
    -- labels: valid labels that were seen lately, each with its encoded form.
    -- It outlives a call, so it is emptied when it is full.
    local labels, labels_kept
    local function forget_labels()
        labels, labels_kept = { default = "default" }, 1
    end
    forget_labels()
    local MOST_LABELS_KEPT = 512

    function encode(label)
        if labels[label] then return labels[label] end
        if not label:find("[^%w._-]") then return label end
        return (label:gsub("[^%w._-]", function(byte)
            return ("%%%02X"):format(byte:byte())
        end))
    end

    -- What applications call a tenant or a session: 1 to 128 bytes of UTF-8
    -- without control characters, byte for byte.
    function is_label(text)
        if labels[text] then return true end
        if #text == 0 or #text > 128 or text:find("[^%w._-]")
            and (text:find("[%z\1-\31\127]") or not is_utf8(text)
                or text:find("\194[\128-\159]")) then
            return false
        end
        if labels_kept == MOST_LABELS_KEPT then forget_labels() end
        labels[text], labels_kept = encode(text), labels_kept + 1
        return true
    end

    -- The label; nil when encode() would not have written it so.
    function decode(encoded)
        if not encoded:find("[^%w._-]") then
            return is_label(encoded) and encoded or nil
        end
        local label = encoded:gsub("%%(%x%x)", function(digits)
            return string.char(tonumber(digits, 16))
        end)
        return is_label(label) and encode(label) == encoded and label or nil
    end

    -- The label for an answer. The encoded form comes from load() or from the
    -- index of ended jobs.
    function label_of(encoded)
        if encoded == "" or labels[encoded] == encoded then return encoded end
        return decode(encoded) or encoded
    end
end

-- May stand in an event as text.
local function is_reason(text)
    return #text <= MAX_REASON_BYTES and is_utf8(text)
end

local ID_BYTES = 36
local function is_sha256(text)
    return #text == 64 and text:find("^[0-9a-f]+$") ~= nil
end

local is_id
do
    local HEX = "%x" -- quicker than a set; is_id() refuses capitals itself
    local UUID7 = "^" .. HEX:rep(8) .. "%-" .. HEX:rep(4) .. "%-7("
        .. HEX:rep(3) .. ")%-[89ab]" .. HEX:rep(3) .. "%-" .. HEX:rep(12) .. "$"

    -- A job's id names its partition, which must be the root's.
    local last_root, last_partition -- most calls are for the same
    function is_id(root, id)
        if root ~= last_root then
            last_root, last_partition = root, root:match("{(%x%x%x)}:$") or ""
        end
        return id and id:match(UUID7) == last_partition and id == id:lower()
    end
end

-- By its first byte: fixmap, map 16 or map 32 of MessagePack.
local function is_map(bytes)
    local first = bytes:byte()
    return first and (first >= 0x80 and first <= 0x8f
        or first == 0xde or first == 0xdf)
end

-- Whether the key is a work stream of this root. A caller names the key itself
-- (take, reclaim): without this check it could name any key of the partition.
local function is_work(root, stream)
    return stream ~= nil and stream:sub(1, #root + 5) == root .. "work:"
end

local function is_consumer(text)
    return text ~= nil and #text <= 128 and text:find("^[%w._:@-]+$") ~= nil
end

local function now_ms()
    local time = redis.call("TIME")
    return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- For a key that only this library writes. When somebody else has made a key of
-- another type there, the key is deleted and the command runs on an empty one:
-- an error in the middle of a step would leave it half done. mend puts back the
-- jobs that stood there.
local function call(command, key, ...)
    local answer = redis.pcall(command, key, ...)
    if type(answer) ~= "table" or not answer.err then return answer end
    if answer.err:find("WRONGTYPE", 1, true) then redis.call("DEL", key) end
    return redis.call(command, key, ...)
end

-- The members of that sorted set of times whose time has come.
local function due_members(key, count, now)
    return call("ZRANGE", key, "-inf", now, "BYSCORE", "LIMIT", 0, count)
end
