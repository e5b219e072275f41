-- approval.lua - what a person says of a call that a model wants to make.
--
-- A wait may name the call. A verdict is of that call, and becomes a record of
-- the journal in the same step: whoever goes on finds it there, once. A wait
-- that names none is of a worker which is told the verdict when it starts.

-- What a person may say; job.queued gives the word as its reason.
local VERDICTS = {
    approve = true, reject = true, edit = true, skip = true,
    regenerate = true, ask = true, abort = true,
}
local WITH_TEXT = { edit = true, ask = true }
local MAX_VERDICT_BYTES = 48 * KIB

local function remember(job, name, value)
    if job[name] ~= value then set(job, name, value) end
end

-- Answers data, with until when it waits: the clock is ours.
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

-- late: nobody said it, the time was up.
local function record_verdict(job, verdict, note, words, late)
    local turn = number(job.approval_call:match("^(%d+)%.")) or 1
    redis.call("RPUSH", job.root .. "journal:" .. job.id, cmsgpack.pack({
        v = 1, kind = "approval", attempt = job.attempts, turn = turn,
        call = job.approval_call, verdict = verdict, observation = note,
        arguments = words, failed = late or nil,
    }))
    if not job.journal then set(job, "journal", 1) end
end

-- The time is up. Whether the job goes on.
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

-- Sent again: it was told this, and goes on.
local function told_before(job, verdict, call_id, mark)
    return not TERMINAL[job.state]
        and job.approval == verdict and job.approval_mark == mark
        and (call_id == "" or job.approval_call == call_id)
end

-- id verdict [note [call [text]]]. Whatever it is the job goes on, and is told;
-- text: what is to be run instead, or what the model is told. call: it is meant
-- for no other one.
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
