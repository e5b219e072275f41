#!lua name=quern_v1
--[[ args.lua - what all of it keeps to, and what callers send.

The files of this folder are one library, put together in the order of
../CMakeLists.txt: every change of a job's facts, each one an atomic step.

   scheduled --> queued --> in_progress --> completed | incomplete | failed
                 ^  ^ ^-----------+  |  +-> cancelled
                 |  `-- waiting <----'
                 `--- requeue, from failed

A function runs alone and is not rolled back: so each one looks first, refuses
or decides, and only then writes. KEYS[1] is the partition's root; every other
key begins with it and is in its slot. The clock is the server's.

Who may change a job that runs is decided by its epoch: its start gives it, and
whatever takes the job from its holder (release, wait, lapse, an end from
outside) raises it, so a late write names an epoch that is over and is refused.
It is the time of the start, in ms, or one more than it was, if that is greater:
a count alone would come again after a failover that has lost a start.
A terminal job whose epoch is still the caller's was ended by that caller. Until
when the holder has it stands in the sorted set leases.

Work in flight never expires; the end of a job gives all of it a time to live.
../transition.h tells what a caller may expect, ../../README.md which key holds
what. ]]

local BUILD = 33 -- text 94427a05; raise with every change, as a test says

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
local MAX_BATCH = 512
local WINDOW = 32 -- jobs of a tenant that stand unread in a queue's streams
local MAX_FILES = 64 -- of one job

local HOUR_MS = 3600 * 1000
local DAY_MS = 24 * HOUR_MS
local WEEK_MS = 7 * DAY_MS
local MEND_STEP_MS = 15 * 1000 -- between two steps of a walk of mend, at the most

local EMPTY_MAP = "\128" -- MessagePack

-- ------------------------------------------------------- what callers send

local is_utf8

-- Printable, and not all of it; tenants and sessions have any letters.
local function quote(text)
    local head = text:sub(1, 80)
    if #text > 80 then head = head:gsub("[\192-\255][\128-\191]*$", "") end
    if not is_utf8(head) then return (head:gsub("[^\32-\126]", "?")) end
    return (head:gsub("\194[\128-\159]", "?"):gsub("[%z\1-\31\127]", "?"))
end

-- What it quotes is the caller's.
local function refuse(word, text, ...)
    local args = { ... }
    for i, arg in ipairs(args) do
        if type(arg) == "string" then args[i] = quote(arg) end
    end
    return redis.error_reply(word .. " " .. text:format(unpack(args)))
end

-- A whole number that Lua holds exactly, or nil.
local function number(text)
    if not (text and text:find("^%d+$") and #text <= 15) then return nil end
    return tonumber(text)
end

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

    -- Keys hold a label encoded: every byte but A-Z a-z 0-9 . _ - is %XX. So what
    -- separates the parts of a key (: / a space) is in none of them, and no two
    -- labels, or pairs of them, share a key. ../names.h has the same in C.
    local labels, labels_kept -- encoded, of some that were checked lately
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

    -- What applications call a tenant or a session: 1 to 128 bytes of UTF-8 without
    -- control characters, byte for byte.
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

    -- The label, or nil: it is not encoded so, or none.
    function decode(encoded)
        if not encoded:find("[^%w._-]") then
            return is_label(encoded) and encoded or nil
        end
        local label = encoded:gsub("%%(%x%x)", function(digits)
            return string.char(tonumber(digits, 16))
        end)
        return is_label(label) and encode(label) == encoded and label or nil
    end

    -- For answers: of a fact that load() has encoded, or the index.
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
    local HEX = "%x" -- quicker than a set; capitals are none of it, see below
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

local function is_map(bytes)
    local first = bytes:byte()
    return first and (first >= 0x80 and first <= 0x8f
        or first == 0xde or first == 0xdf)
end

-- A stream of work of this root, and nothing else that may be there.
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

-- For a key that only this library writes. Somebody has made another kind of
-- it: what it held is lost, mend puts back what stood there.
local function call(command, key, ...)
    local answer = redis.pcall(command, key, ...)
    if type(answer) ~= "table" or not answer.err then return answer end
    if answer.err:find("WRONGTYPE", 1, true) then redis.call("DEL", key) end
    return redis.call(command, key, ...)
end
