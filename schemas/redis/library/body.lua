-- body.lua - what the bytes of submit say.
--
-- They may come from anyone, and may be hostile: so they are walked where they
-- stand, nothing is built of what nobody needs, and the walk has a bound. (A
-- decoder would build a table of every array; and whoever chooses strings that
-- fall into one slot of Lua's table of strings stops the server for a second.)

local read_said -- what the job says of itself
local metadata_in -- the bytes of its metadata
local TOO_MANY = {} -- in place of an answer: the walk met its bound

do
    -- A walk of so many takes about 2 ms; what has to be opened (arrays, maps,
    -- names and long texts) takes as long as several others.
    local MAX_VALUES, OPENED = 20000, 5
    local MAX_METADATA, MAX_METADATA_KEY_BYTES = 32, 128

    -- By its first byte: how many bytes a value has; or the form of a longer
    -- one, how many bytes hold its count, and how many values each counts.
    local SIZES, FORMS = {}, {}
    for first = 0x00, 0x7f do SIZES[first] = 1 end
    for first = 0x80, 0x8f do
        FORMS[first] = { "map", 0, 2, first - 0x80 }
        FORMS[first + 16] = { "array", 0, 1, first - 0x80 }
    end
    for first = 0xa0, 0xbf do
        SIZES[first] = 1 + first - 0xa0
        FORMS[first] = { "text", 0, 0, first - 0xa0 }
    end
    for first = 0xe0, 0xff do SIZES[first] = 1 end
    SIZES[0xc0], SIZES[0xc2], SIZES[0xc3] = 1, 1, 1 -- nil, false, true
    SIZES[0xca], SIZES[0xcb] = 5, 9
    for power = 0, 3 do
        SIZES[0xcc + power], SIZES[0xd0 + power] = 1 + 2 ^ power, 1 + 2 ^ power
    end
    for power = 0, 2 do
        FORMS[0xc4 + power] = { "bytes", 2 ^ power, 0 }
        FORMS[0xd9 + power] = { "text", 2 ^ power, 0 }
    end
    FORMS[0xdc], FORMS[0xdd] = { "array", 2, 1 }, { "array", 4, 1 }
    FORMS[0xde], FORMS[0xdf] = { "map", 2, 2 }, { "map", 4, 2 }

    local left -- values that this walk may still look at

    -- A whole number of so many bytes at at; nil: they are not all there.
    local function big_endian(bytes, at, size)
        local sum = 0
        for i = at, at + size - 1 do
            local byte = bytes:byte(i)
            if not byte then return nil end
            sum = sum * 256 + byte
        end
        return sum
    end

    -- The value at at, if it is of a form: that, its count (of bytes, values or
    -- pairs), and where what it holds begins.
    local function open(bytes, at)
        local form = FORMS[bytes:byte(at)]
        if not form then return nil end
        local count = form[4] or big_endian(bytes, at + 1, form[2])
        if not count or count > #bytes then return nil end
        return form[1], count, at + 1 + form[2]
    end

    -- Where the value behind the one at at begins; nil: it is broken.
    local function skip(bytes, at)
        local open_values = 1
        while open_values > 0 do
            local first = bytes:byte(at)
            local size = SIZES[first]
            left = left - 1
            if left < 0 then return nil end
            if size then
                at, open_values = at + size, open_values - 1
            else
                local _, count, from = open(bytes, at)
                left = left - OPENED
                if not count then return nil end
                local each = FORMS[first][3]
                at = each > 0 and from or from + count
                open_values = open_values - 1 + count * each
            end
        end
        return at <= #bytes + 1 and at or nil
    end

    -- Where each of the wanted members of the map at at has its value; and
    -- where the map ends. nil: it is broken, or says one of them twice. wanted:
    -- by length, names and their patterns.
    local function members(bytes, at, wanted)
        local form, count, next_at = open(bytes, at)
        if form ~= "map" then
            return form == "array" and count == 0 and {} or nil, next_at
        end
        local found = {}
        for _ = 1, count do
            local key, length, from = open(bytes, next_at)
            if key ~= "text" then return nil end
            local value_at, names = from + length, wanted[length]
            for i = 1, names and #names or 0 do
                local name = names[i]
                if bytes:find(name[2], from) then
                    if found[name[1]] then return nil end
                    found[name[1]] = value_at
                end
            end
            left = left - OPENED
            next_at = skip(bytes, value_at)
            if not next_at then return nil end
        end
        return found, next_at
    end

    local function by_length(names)
        local wanted = {}
        for i = 1, #names do
            local name = names[i]
            local same = wanted[#name] or {}
            same[#same + 1], wanted[#name] = { name, "^" .. name }, same
        end
        return wanted
    end

    -- ---------------------------------------------------- single values

    -- As decode.c calls it.
    local function kind_of(bytes, at)
        local first, form = bytes:byte(at), (open(bytes, at))
        if form then
            return form == "text" and form or form == "bytes" and form
                or form == "map" and "a map" or "an array"
        end
        if first == 0xc0 then return "nil" end
        if first == 0xc2 or first == 0xc3 then return "a boolean" end
        if first == 0xca or first == 0xcb then return "a real" end
        return (first >= 0xd0 and first <= 0xd3 or first >= 0xe0)
            and "a negative integer" or "an integer"
    end

    local function wrong_kind(name, bytes, at, wanted)
        return nil, refuse("BADARG", "%s is %s, must be %s", name,
            kind_of(bytes, at), wanted)
    end

    -- Which is as good as absent.
    local function is_empty(bytes, at)
        local form, count = open(bytes, at)
        return bytes:byte(at) == 0xc0
            or (form == "map" or form == "array") and count == 0
    end

    local function read_text(name, bytes, at)
        local form, count, from = open(bytes, at)
        if form ~= "text" then return wrong_kind(name, bytes, at, "text") end
        return bytes:sub(from, from + count - 1)
    end

    -- As text, for the readers of pairs.
    local function read_whole(name, bytes, at)
        local first = bytes:byte(at)
        if first <= 0x7f then return ("%d"):format(first) end
        local signed = first >= 0xd0 and first <= 0xd3
        if (first >= 0xcc and first <= 0xcf) or signed then
            local size = SIZES[first] - 1
            local whole = big_endian(bytes, at + 1, size)
            if not (signed and bytes:byte(at + 1) >= 0x80) then
                return ("%.0f"):format(whole)
            end
        end
        return wrong_kind(name, bytes, at, "an integer")
    end

    local FILE = by_length({ "blob" })

    -- Its blobs; what is no file of any form is for the consumer to say.
    local function read_files(bytes, at)
        local form, count, next_at = open(bytes, at)
        local blobs = {}
        if form ~= "array" then return blobs end
        if count > MAX_FILES then
            return nil, refuse("TOOBIG", "files has %d items, the limit is %d",
                count, MAX_FILES)
        end
        for _ = 1, count do
            local file, behind = members(bytes, next_at, FILE)
            local blob = file and file.blob
            if blob and open(bytes, blob) == "text" then
                blobs[#blobs + 1] = read_text("blob", bytes, blob)
            end
            next_at = behind or skip(bytes, next_at)
        end
        return blobs
    end

    -- ----------------------------------------------------------- a job

    local READ = {
        id = read_text, queue = read_text, tenant = read_text,
        session = read_text, priority = read_text,
        idempotency_key = read_text, not_before = read_whole,
    }
    local JOB = by_length({
        "id", "queue", "tenant", "session", "priority", "idempotency_key",
        "not_before", "limits", "files",
    })
    local LIMITS = by_length({ "deadline_ms" })
    local METADATA = by_length({ "metadata" })

    local function whole_map(bytes, wanted)
        left = MAX_VALUES
        local found, behind = members(bytes, 1, wanted)
        if left < 0 then return TOO_MANY end
        return behind == #bytes + 1 and found or nil
    end

    -- A table of id, queue, tenant, session, priority, idempotency_key,
    -- not_before, deadline_ms (text, if it is there and not empty) and files
    -- (blobs); nil: nobody can read it; or nil and a refusal.
    function read_said(bytes)
        local found = whole_map(bytes, JOB)
        if not found or found == TOO_MANY then return found end
        local said, refusal = {}, nil
        for name, at in pairs(found) do
            local read = READ[name]
            if read and not is_empty(bytes, at) then
                said[name], refusal = read(name, bytes, at)
                if refusal then return nil, refusal end
                if said[name] == "" then said[name] = nil end
            end
        end
        local at = found.limits and members(bytes, found.limits, LIMITS)
        at = at and at.deadline_ms
        if at and not is_empty(bytes, at) then
            said.deadline_ms, refusal =
                read_whole("limits.deadline_ms", bytes, at)
        end
        if found.files and not refusal then
            said.files, refusal = read_files(bytes, found.files)
        end
        return not refusal and said or nil, refusal
    end

    -- A map of texts that a result may hold, or nil; and what a walk over the
    -- body is worth in bytes of a journal.
    function metadata_in(bytes)
        local found = whole_map(bytes, METADATA)
        local cost = (MAX_VALUES - left) * 200
        local at = found and found ~= TOO_MANY and found.metadata
        local form, count, next_at = open(bytes, at or #bytes + 1)
        if form ~= "map" or count > MAX_METADATA then return nil, cost end
        local keys = {}
        for _ = 1, count do
            local key, length, from = open(bytes, next_at)
            local value = open(bytes, from + length)
            local name = bytes:sub(from, from + length - 1)
            if length == 0 or length > MAX_METADATA_KEY_BYTES or keys[name]
                or name:find("[\128-\255]") and not is_utf8(name)
                or value ~= "text" and value ~= "bytes" then
                return nil, cost
            end
            keys[name], next_at = true, skip(bytes, from + length)
        end
        return bytes:sub(at, next_at - 1), cost
    end
end
