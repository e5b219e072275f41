-- approval.lua - a person's verdict on a call that a model wants to make.
--
-- A wait may name the call. Then the verdict is about that call, and becomes a
-- record of the journal in the same step: the consumer that goes on finds it
-- there exactly once. When the wait names no call, take returns the verdict
-- with the job.

-- The verdicts; the event job.queued has the word as its reason.
local VERDICTS = {
    approve = true, reject = true, edit = true, skip = true,
    regenerate = true, ask = true, abort = true,
}
local WITH_TEXT = { edit = true, ask = true }
local MAX_VERDICT_BYTES = 48 * KIB

-- Like set(), but writes only what changes.
local function remember(job, name, value)
    if job[name] ~= value then set(job, name, value) end
end

-- Prepares the facts for a verdict, of a job that begins to wait. Answers the
-- data of job.waiting with the member until, which only Redis knows, since its
-- clock counts. (0x80 to 0x8e: a fixmap that has room for one more member.)
await_verdict = function(job, at, call_id, fallback, data)
    reset(job, "approval")
    reset(job, "approval_note")
    reset(job, "approval_mark")
    remember(job, "approval_call", call_id)
    remember(job, "approval_default", fallback)
    remember(job, "approval_until", at)
    local first = data:byte() or 0
    if call_id == "" or first < 0x80 or first > 0x8e then return data end
    return string.char(first + 1) .. data:sub(2) .. cmsgpack.pack("until", at)
end

-- Writes the verdict into the journal. The turn is the head of the call's id,
-- "turn.index". late: nobody gave the verdict, the time was up.
local function record_verdict(job, verdict, note, words, late)
    local turn = number(job.approval_call:match("^(%d+)%.")) or 1
    redis.call("RPUSH", job.root .. "journal:" .. job.id, cmsgpack.pack({
        v = 1, kind = "approval", attempt = job.attempts, turn = turn,
        call = job.approval_call, verdict = verdict, observation = note,
        arguments = words, failed = late or nil,
    }))
    if not job.journal then set(job, "journal", 1) end
end

-- The time for a verdict is up. Answers whether the job goes on: then the call
-- is skipped.
goes_on_unasked = function(job)
    if job.approval_default ~= "skip" then return false end
    set(job, "approval", "skip")
    record_verdict(job, "skip", "", "", true)
    return true
end

local function check_verdict(root, id, verdict, note, words)
    if not is_id(root, id) then
        return refuse("BADARG", "approve: '%s' is no job id of this partition",
            id or "")
    end
    if not VERDICTS[verdict] then
        return refuse("BADARG", "approve: verdict '%s', must be approve, "
            .. "reject, edit, skip, regenerate, ask or abort", verdict or "")
    end
    if not is_reason(note) then
        return refuse("BADARG", "approve: a note of %d bytes, must be UTF-8 of "
            .. "at most %d", #note, MAX_REASON_BYTES)
    end
    if (words ~= "") ~= (WITH_TEXT[verdict] or false)
        or #words > MAX_VERDICT_BYTES or not is_utf8(words) then
        return refuse("BADARG", "approve: verdict '%s' with %d bytes of text: "
            .. "edit and ask need UTF-8 of at most %d, others none", verdict,
            #words, MAX_VERDICT_BYTES)
    end
    return nil
end

-- Whether the job already has this very verdict: the call was sent again. mark:
-- the SHA-1 of the text, which stands in the journal and not in the facts.
local function told_before(job, verdict, call_id, mark)
    return not TERMINAL[job.state]
        and job.approval == verdict and job.approval_mark == mark
        and (call_id == "" or job.approval_call == call_id)
end

-- Arguments: id verdict [note [call [text]]]. Whatever the verdict, the job
-- goes back into its queue, and the next consumer acts on it. text: what is to
-- be run instead (edit), or what the model is told (ask). call: the verdict is
-- refused as late when the job waits for another call.
local function approve(keys, args)
    local root, id, verdict, note = keys[1], args[1], args[2], args[3] or ""
    local call_id, words = args[4] or "", args[5] or ""
    local refusal = check_verdict(root, id, verdict, note, words)
    if refusal then return refusal end
    local job = load(root, id)
    if not job then return refuse("GONE", "no job %s", id) end
    local mark = words ~= "" and redis.sha1hex(words) or ""
    if job.state ~= "waiting" or job.reason ~= "approval"
        or call_id ~= "" and call_id ~= job.approval_call then
        return told_before(job, verdict, call_id, mark) and "queued" or "late"
    end
    if job.approval_call ~= "" then
        record_verdict(job, verdict, note, words)
    elseif verdict ~= "approve" and verdict ~= "reject" then
        return refuse("BADARG",
            "approve: job %s waits for approve or reject, not %s", id, verdict)
    end
    set(job, "approval", verdict)
    set(job, "approval_note", note)
    remember(job, "approval_mark", mark)
    put_back(job, now_ms(), verdict)
    return TERMINAL[job.state] and "late" or "queued"
end

register("approve", approve, ALWAYS)
