-- body.lua - reads a few members out of the bytes of submit.
--
-- The bytes may be hostile. So this walks over them in place, builds nothing
-- that nobody needs, and has a bound. cmsgpack.unpack() would build a table for
-- every array and intern every string; somebody who chooses strings that all
-- fall into one slot of Lua's string table would stop the server for a second.

local read_said -- what the job says of itself
local said = {} -- of its result; of what no pair says: its trace, what finds it
local TOO_MANY = {} -- in place of an answer: the walk came to its bound

do
    -- A walk over so many values takes about 2 ms, in which Redis serves nobody
    -- else. A value that has to be opened (an array, a map, a name, a long
    -- text) takes as long as several others, so it counts as OPENED more.
    local MAX_VALUES, OPENED = 14000, 5
    local MAX_METADATA, MAX_METADATA_KEY_BYTES = 32, 128

    -- By a value's first byte. SIZES: how many bytes the whole value has.
    -- FORMS, for what may be longer: the form, how many bytes hold its count,
    -- how many values one of that count stands for (a pair of a map is two),
    -- and the count when the first byte has it.
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

    -- The number in size bytes at at; nil when they are not all there.
    local function big_endian(bytes, at, size)
        local sum = 0
        for i = at, at + size - 1 do
            local byte = bytes:byte(i)
            if not byte then return nil end
            sum = sum * 256 + byte
        end
        return sum
    end

    -- Of the value at at: its form, its count (of bytes, values or pairs), and
    -- where its content begins. nil: it has no form, or is broken. A count
    -- beyond the bytes that there are cannot be true.
    local function open(bytes, at)
        local form = FORMS[bytes:byte(at)]
        if not form then return nil end
        local count = form[4] or big_endian(bytes, at + 1, form[2])
        if not count or count > #bytes then return nil end
        return form[1], count, at + 1 + form[2]
    end

    -- Where the value after the one at at begins; nil: it is broken, or the
    -- bound is reached. A counter of open values takes the place of recursion,
    -- so depth costs nothing.
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

    -- A table from the names of wanted members to where their values begin, and
    -- where the map at at ends. nil: it is broken, or has one of them twice. An
    -- empty array counts as an empty map. wanted: as by_length() makes it, so
    -- that most keys are passed over by their length alone.
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

    -- The same words as kind_of() of ../../message/decode.c.
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

    -- nil, an empty array or an empty map: the same as absent.
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

    -- A whole number as text, because given.lua reads it as it reads a pair.
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

    -- As the pair gives it: "1", or empty for false.
    local function read_yes(name, bytes, at)
        local first = bytes:byte(at)
        if first == 0xc3 then return "1" end
        if first == 0xc2 then return "" end
        return wrong_kind(name, bytes, at, "true or false")
    end

    local FILE = by_length({ "blob" })

    -- The blobs of the job's files. What is malformed is passed over: the
    -- consumer reads the job whole, and says what is wrong.
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
        notify = read_yes,
    }
    local JOB = by_length({
        "id", "queue", "tenant", "session", "priority", "idempotency_key",
        "not_before", "limits", "files", "earlier", "notify",
    })
    local LIMITS = by_length({ "deadline_ms" })
    local FOR_RESULT = by_length({ "metadata", "keep_ms" })
    local UNSAID = by_length({ "traceparent", "tracestate", "model", "metadata" })
    local MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES = 128, 512
    local MAX_FOUND_BY_BYTES = 240 -- facts.lua has room for it
    local MAX_UNSAID_VALUES = 8 * MAX_VALUES -- of all jobs of one call
    local unsaid_left

    local function whole_map(bytes, wanted, most)
        left = most or MAX_VALUES
        local found, behind = members(bytes, 1, wanted)
        if left < 0 then return TOO_MANY end
        return behind == #bytes + 1 and found or nil
    end

    -- A table of id, queue, tenant, session, priority, idempotency_key,
    -- not_before, deadline_ms, notify (texts; those that are there and not empty)
    -- and files (blobs, also that of the earlier conversation). TOO_MANY: the
    -- walk came to its bound. nil: it is no map that can be read. nil and a refusal: one of these members is wrong.
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
        if found.earlier and open(bytes, found.earlier) == "text"
            and not refusal then
            local blobs = said.files or {}
            blobs[#blobs + 1] = read_text("earlier", bytes, found.earlier)
            said.files = blobs
        end
        return not refusal and said or nil, refusal
    end

    local function short_text(bytes, at, most, pattern)
        local form, count, from = open(bytes, at or #bytes + 1)
        if form ~= "text" or count > most then return nil end
        return bytes:sub(from, from + count - 1):match(pattern)
    end

    function said.begin() unsaid_left = MAX_UNSAID_VALUES end

    -- The columns of found_by (../../KEYS.md): the model that the job names, and
    -- those of its metadata that fit; nil when there are none. A control
    -- character becomes "?", since tabs separate the columns.
    local function columns_of(bytes, model_at, metadata_at)
        local model = short_text(bytes, model_at, MAX_FOUND_BY_BYTES, "^.*$") or ""
        local columns = { is_utf8(model) and model or "" }
        local size = #columns[1]
        local form, count, at = open(bytes, metadata_at or #bytes + 1)
        for _ = 1, form == "map" and count or 0 do
            local key, length, from = open(bytes, at)
            if key ~= "text" then break end
            local value, value_bytes, value_from = open(bytes, from + length)
            local total = size + length + 2 + (value_bytes or 0)
            if value == "text" and total <= MAX_FOUND_BY_BYTES then
                local column = bytes:sub(from, from + length - 1) .. "="
                    .. bytes:sub(value_from, value_from + value_bytes - 1)
                if is_utf8(column) then columns[#columns + 1], size = column, total end
            end
            at = skip(bytes, from + length)
            if not at then break end
        end
        if size == 0 then return nil end
        for i, column in ipairs(columns) do columns[i] = column:gsub("%c", "?") end
        return table.concat(columns, "\t")
    end

    -- Whether the bytes may have one of these members: each name is searched for
    -- behind its length (a fixstr, or the length byte of a longer form), a byte
    -- that is rare in text.
    local HINTS = {
        "\165model", "\5model", "\168metadata", "\8metadata",
        "\171traceparent", "\11traceparent",
    }
    local function may_leave_unsaid(bytes)
        for i = 1, #HINTS do
            if bytes:find(HINTS[i], 1, true) then return true end
        end
        return false
    end

    -- traceparent and tracestate of the job, as far as an event may hold them,
    -- else nil: the consumer checks them, and says what is wrong. Third, its
    -- found_by, or nil. No pairs give them, because an older library refuses a
    -- pair that it does not know. Most jobs have none of these members, so they
    -- are not walked over. The jobs of one call share a bound: for those that
    -- come behind it, none of all this is read.
    function said.beside_pairs(bytes)
        if not may_leave_unsaid(bytes) then return nil end
        local most = math.min(MAX_VALUES, unsaid_left)
        local found = whole_map(bytes, UNSAID, most)
        unsaid_left = unsaid_left - most + math.max(left, 0)
        if not found or found == TOO_MANY then return nil end
        local parent = short_text(bytes, found.traceparent,
            MAX_TRACEPARENT_BYTES, "^%x%x%-%x+%-%x+%-%x%x[!-~]*$")
        local state = parent and short_text(bytes, found.tracestate,
            MAX_TRACESTATE_BYTES, "^[\t -~]+$")
        return parent, state, columns_of(bytes, found.model, found.metadata)
    end

    -- The bytes of a job's metadata when a result may hold them, else nil.
    local function metadata_at(bytes, at)
        local form, count, next_at = open(bytes, at or #bytes + 1)
        if form ~= "map" or count > MAX_METADATA then return nil end
        local keys = {}
        for _ = 1, count do
            local key, length, from = open(bytes, next_at)
            if key ~= "text" then return nil end
            local value = open(bytes, from + length)
            local name = bytes:sub(from, from + length - 1)
            if length == 0 or length > MAX_METADATA_KEY_BYTES or keys[name]
                or name:find("[\128-\255]") and not is_utf8(name)
                or value ~= "text" and value ~= "bytes" then
                return nil
            end
            keys[name], next_at = true, skip(bytes, from + length)
            if not next_at then return nil end
        end
        return bytes:sub(at, next_at - 1)
    end

    -- What a job says of its result, also one that no consumer writes: the
    -- bytes of its metadata, or nil; keep_ms, or 0. Third, how much time the
    -- walk took, as bytes of a journal that would take as long:
    -- has_read_enough() of usage.lua adds both up.
    function said.of_result(bytes)
        local found = whole_map(bytes, FOR_RESULT)
        local cost = (MAX_VALUES - left) * 200
        if not found or found == TOO_MANY then return nil, 0, cost end
        local keep = found.keep_ms and read_whole("keep_ms", bytes,
            found.keep_ms)
        return metadata_at(bytes, found.metadata),
            math.min(number(keep or "0") or 0, MAX_KEEP_MS), cost
    end
end
