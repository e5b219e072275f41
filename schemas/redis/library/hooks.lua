-- hooks.lua - webhooks: who is told of the ends of a tenant's jobs, and the
-- deliveries that are still to be made.
--
-- ends.lua leaves an entry in the stream deliveries. deliver_take makes of it
-- one delivery for each webhook that wants it:
--
--   deliver                a sorted set of deliveries; score: when it is due
--   delivery:<delivery>    a hash: tenant, state, at, hook, taken, tries
--
-- <delivery> is <job>/<at>/<hook>; at: when the job ended, so that a job that
-- is run again and ends again is told of again. Whoever takes a delivery has it
-- for a lease: the score is then the end of the lease. taken counts these, and
-- tells a late deliver_done from that of the present holder.
--
-- hooks:<tenant> is a hash: the webhook's id, and JSON. Its secrets are in a key
-- outside of the prefix, which only operators and deliverers may read.

local MAX_HOOKS = 16 -- of one tenant
local MAX_URL_BYTES = 2048
local MAX_SECRETS = 4 -- of one webhook
local MAX_SECRET_BYTES = 128
local MAX_WHY_BYTES = 200

local function hooks_key(root, tenant)
    return root .. "hooks:" .. encode(tenant)
end

-- In the same slot of a cluster: the partition is the same.
local function secrets_key(root, tenant)
    local prefix, partition = root:match("^(.-):?({%x+}:)$")
    return prefix .. "-secrets:" .. partition .. "hooks:" .. encode(tenant)
end

local function is_hook(id)
    return id ~= nil and #id == 21 and id:find("^hook_[0-9a-f]+$") ~= nil
end

-- What that JSON says, a table; or nil. Only somebody else can have written
-- what is none.
local function decoded(json)
    local good, value = pcall(cjson.decode, json or "")
    return good and type(value) == "table" and value or nil
end

local function hook_of(root, tenant, id)
    return decoded(call("HGET", hooks_key(root, tenant), id))
end

local function write_hook(root, tenant, id, hook)
    call("HSET", hooks_key(root, tenant), id, cjson.encode(hook))
end

-- The webhook's secrets that are valid at that time, the newest first.
local function live_secrets(root, tenant, id, now)
    local live = {}
    for _, one in ipairs(
        decoded(call("HGET", secrets_key(root, tenant), id)) or {}) do
        if type(one) == "table" and type(one.secret) == "string"
            and (not one["until"] or one["until"] > now) then
            live[#live + 1] = one
        end
    end
    return live
end

-- ------------------------------------------------------------ for operators

-- Which values the pairs may have, and how that is said.
local HOOK_FIELDS = {
    url = { "1 to 2048 bytes without blanks", function(value)
        return #value > 0 and #value <= MAX_URL_BYTES and is_utf8(value)
            and not value:find("[%z\1-\32\127]")
    end },
    name = { "up to 128 bytes without control characters", function(value)
        return value == "" or is_label(value)
    end },
    events = { "states in which a job ends", function(value)
        for state in value:gmatch("%S+") do
            if not TERMINAL[state] then return false end
        end
        return #value <= 64
    end },
    secret = { "1 to 128 bytes of ASCII without blanks", function(value)
        return #value > 0 and #value <= MAX_SECRET_BYTES
            and not value:find("[^!-~]")
    end },
    keep_ms = { "a whole number, at most a week", function(value)
        local ms = number(value)
        return ms and ms <= WEEK_MS
    end },
    disabled = { "0 or 1", function(value)
        return value == "0" or value == "1"
    end },
}

-- The pairs as a table, or nil and the refusal.
local function read_hook_pairs(args)
    local given = {}
    for i = 3, #args, 2 do
        local name, value = args[i], args[i + 1]
        local field = HOOK_FIELDS[name]
        if not field then
            return nil, refuse("BADARG", "hook_set: there is no pair '%s'", name)
        elseif not field[2](value) then
            return nil, refuse("BADARG", "hook_set: %s is '%s', must be %s",
                name, name == "secret" and "..." or value, field[1])
        end
        given[name] = value
    end
    return given
end

-- A new secret goes in front. The older ones stay valid for keep_ms; without it
-- they are not read, because quern-gateway may write secrets but not read them.
local function add_secret(root, tenant, id, given, now)
    local key, until_ms = secrets_key(root, tenant),
        now + (number(given.keep_ms or "0") or 0)
    local secrets = { { secret = given.secret } }
    local older = until_ms > now and live_secrets(root, tenant, id, now) or {}
    for _, one in ipairs(older) do
        one["until"] = math.min(one["until"] or until_ms, until_ms)
        if one.secret ~= given.secret and one["until"] > now
            and #secrets < MAX_SECRETS then
            secrets[#secrets + 1] = one
        end
    end
    call("HSET", key, id, cjson.encode(secrets))
end

-- Arguments: tenant id, then pairs: url, secret, name, events (words), keep_ms,
-- disabled. A new webhook needs url and secret; of one that exists, what is
-- given is changed. Answers "created" or "changed".
local function hook_set(keys, args)
    local root, now, tenant, id = keys[1], now_ms(), args[1], args[2]
    if not (tenant and is_label(tenant) and is_hook(id) and #args % 2 == 0) then
        return refuse("BADARG", "hook_set: tenant '%s', id '%s', %d arguments",
            tenant or "", id or "", #args)
    end
    local given, refusal = read_hook_pairs(args)
    if refusal then return refusal end
    local before = hook_of(root, tenant, id)
    if not before and not (given.url and given.secret) then
        return refuse("GONE", "tenant %s has no webhook %s", tenant, id)
    end
    if not before and call("HLEN", hooks_key(root, tenant)) >= MAX_HOOKS then
        return refuse("TOOBIG", "tenant %s has %d webhooks, which is the limit",
            tenant, MAX_HOOKS)
    end
    local hook = before or { created_at = now }
    hook.url = given.url or hook.url
    hook.name = given.name or hook.name
    hook.events = given.events or hook.events
    if given.disabled then
        hook.disabled = given.disabled == "1" or nil
        hook.reason = hook.disabled and "an operator has disabled it" or nil
    end
    if given.secret then add_secret(root, tenant, id, given, now) end
    write_hook(root, tenant, id, hook)
    return before and "changed" or "created"
end

-- Arguments: tenant id. Answers whether there was such a webhook. Deliveries
-- that are on their way to it are dropped when they are due.
local function hook_rm(keys, args)
    local root, tenant, id = keys[1], args[1], args[2]
    if not (tenant and is_label(tenant) and is_hook(id)) then
        return refuse("BADARG", "hook_rm: tenant '%s', id '%s'", tenant or "",
            id or "")
    end
    redis.call("HDEL", secrets_key(root, tenant), id)
    return call("HDEL", hooks_key(root, tenant), id)
end

-- Arguments: tenant. Answers for each of its webhooks: id, JSON, how many
-- secrets are valid.
local function hook_list(keys, args)
    local root, now, tenant = keys[1], now_ms(), args[1]
    if not (tenant and is_label(tenant)) then
        return refuse("BADARG", "hook_list: tenant '%s'", tenant or "")
    end
    local answer, hooks = {}, call("HGETALL", hooks_key(root, tenant))
    for i = 1, #hooks, 2 do
        answer[#answer + 1] = hooks[i]
        answer[#answer + 1] = hooks[i + 1]
        answer[#answer + 1] = #live_secrets(root, tenant, hooks[i], now)
    end
    return answer
end

-- --------------------------------------------------------------- deliveries

local function delivery_key(root, delivery)
    return root .. "delivery:" .. delivery
end

local function drop_delivery(root, delivery)
    call("ZREM", root .. "deliver", delivery)
    redis.call("DEL", delivery_key(root, delivery))
end

local function add_delivery(root, end_, hook, now)
    local delivery = ("%s/%s/%s"):format(end_.job, end_.at, hook)
    local key = delivery_key(root, delivery)
    redis.call("DEL", key)
    redis.call("HSET", key, "tenant", end_.tenant, "state", end_.state,
        "at", end_.at, "hook", hook)
    call("ZADD", root .. "deliver", now, delivery)
end

local function wants(hook, state)
    local events = hook.events
    if hook.disabled then return false end
    return type(events) ~= "string" or events == ""
        or (" " .. events .. " "):find(" " .. state .. " ", 1, true) ~= nil
end

-- The end of a job that this entry of the stream tells of; nil: it tells of
-- none, somebody else has written it.
local function read_end(root, fields)
    local end_ = { job = nil, tenant = nil, state = nil, at = nil }
    for i = 1, #fields, 2 do end_[fields[i]] = fields[i + 1] end
    return end_.tenant and is_label(end_.tenant) and TERMINAL[end_.state]
        and number(end_.at) and is_id(root, end_.job) and end_ or nil
end

-- Makes deliveries of up to count entries of the stream.
local function spread(root, count, now)
    local stream = root .. "deliveries"
    for _, entry in ipairs(call("XRANGE", stream, "-", "+", "COUNT", count)) do
        local end_ = read_end(root, entry[2])
        local hooks = end_ and call("HGETALL", hooks_key(root, end_.tenant))
            or {}
        for i = 1, #hooks, 2 do
            local hook = decoded(hooks[i + 1])
            if is_hook(hooks[i]) and hook and wants(hook, end_.state) then
                add_delivery(root, end_, hooks[i], now)
            end
        end
        redis.call("XDEL", stream, entry[1])
    end
end

local function delivery_facts(root, delivery)
    local values = call("HMGET", delivery_key(root, delivery), "tenant", "state",
        "at", "hook", "taken", "tries")
    local tenant, state, at, hook = values[1], values[2], number(values[3]),
        values[4]
    if not (tenant and state and at and hook) then return nil end
    return {
        tenant = tenant, state = state, at = at, hook = hook,
        taken = number(values[5]) or 0, tries = number(values[6]) or 0,
    }
end

-- Leases one that is due; nil when it is dropped: its webhook has gone, or is
-- disabled, or the job ended a week ago.
local function take_delivery(root, delivery, lease_ms, now)
    local facts = delivery_facts(root, delivery)
    local hook = facts and hook_of(root, facts.tenant, facts.hook)
    local secrets = hook and live_secrets(root, facts.tenant, facts.hook, now)
    if not hook or hook.disabled and facts.state ~= "test" or type(hook.url) ~= "string"
        or #secrets == 0 or facts.at + WEEK_MS < now then
        drop_delivery(root, delivery)
        return nil
    end
    call("HSET", delivery_key(root, delivery), "taken", facts.taken + 1)
    call("ZADD", root .. "deliver", now + lease_ms, delivery)
    local answer = {
        delivery, facts.taken + 1, facts.tries, facts.state, facts.at,
        facts.tenant, hook.url,
    }
    for _, one in ipairs(secrets) do answer[#answer + 1] = one.secret end
    return answer
end

-- Arguments: lease_ms count. Answers deliveries that are due, and nobody else's
-- for lease_ms: [delivery, taken, tries, state, at, tenant, url, secret...].
-- Fewer than count does not mean that there are no more.
local function deliver_take(keys, args)
    local root, now = keys[1], now_ms()
    local lease_ms, count = number(args[1]), number(args[2])
    if not (lease_ms and lease_ms > 0 and lease_ms <= HOUR_MS and count
        and count > 0 and count <= MAX_BATCH) then
        return refuse("BADARG", "deliver_take: lease '%s', count '%s'",
            args[1] or "", args[2] or "")
    end
    spread(root, count, now)
    local taken = {}
    for _, delivery in ipairs(due_members(root .. "deliver", count, now)) do
        taken[#taken + 1] = take_delivery(root, delivery, lease_ms, now)
    end
    return taken
end

-- What hook ls shows of the last attempt.
local function note_attempt(root, facts, good, status, why, now)
    local hook = hook_of(root, facts.tenant, facts.hook)
    if not hook then return end
    hook.last_at, hook.last_status, hook.last_why = now, status, why
    hook.failures = good and 0 or (tonumber(hook.failures) or 0) + 1
    write_hook(root, facts.tenant, facts.hook, hook)
end

local function disable_hook(root, facts, why)
    local hook = hook_of(root, facts.tenant, facts.hook)
    if not hook then return end
    hook.disabled, hook.reason = true, why
    write_hook(root, facts.tenant, facts.hook, hook)
end

local OUTCOMES = {
    done = true, again = true, later = true, given_up = true, gone = true,
}

-- Arguments: delivery taken outcome wait_ms status why. outcome: done; again,
-- after wait_ms; later, the same without an attempt; given_up; gone: the receiver
-- wants no more, and the webhook is disabled. Answers 1; 0: the delivery is not there any more, or another one
-- has it. That it is done counts also when it comes late.
local function deliver_done(keys, args)
    local root, now, delivery = keys[1], now_ms(), args[1]
    local taken, outcome, wait_ms = number(args[2]), args[3], number(args[4])
    local status, why = number(args[5]), args[6] or ""
    if not (delivery and taken and OUTCOMES[outcome] and wait_ms
        and wait_ms <= WEEK_MS and status and #why <= MAX_WHY_BYTES
        and is_utf8(why)) then
        return refuse("BADARG", "deliver_done: '%s', taken '%s', %s, wait '%s', "
            .. "status '%s', why of %d bytes", delivery or "", args[2] or "",
            outcome or "", args[4] or "", args[5] or "", #why)
    end
    local facts = delivery_facts(root, delivery)
    if not facts or facts.taken ~= taken and outcome ~= "done" then return 0 end
    if outcome == "later" then
        call("ZADD", root .. "deliver", now + wait_ms, delivery)
        return 1
    end
    note_attempt(root, facts, outcome == "done", status, why, now)
    if outcome == "again" then
        call("HSET", delivery_key(root, delivery), "tries", facts.tries + 1)
        call("ZADD", root .. "deliver", now + wait_ms, delivery)
        return 1
    end
    if outcome == "gone" then disable_hook(root, facts, why) end
    drop_delivery(root, delivery)
    return 1
end

-- Arguments: tenant id job. A delivery that tells of nothing (its state is
-- "test"), to try the webhook out, also a disabled one. job: an id
-- that no job has. Answers whether there is such a webhook.
local function hook_test(keys, args)
    local root, now, tenant, id, job = keys[1], now_ms(), args[1], args[2],
        args[3]
    if not (tenant and is_label(tenant) and is_hook(id) and is_id(root, job)) then
        return refuse("BADARG", "hook_test: tenant '%s', id '%s', job '%s'",
            tenant or "", id or "", job or "")
    end
    if not hook_of(root, tenant, id) then return 0 end
    add_delivery(root,
        { job = job, tenant = tenant, state = "test", at = text(now) }, id, now)
    return 1
end

register("hook_set", hook_set, {})
register("hook_rm", hook_rm, ALWAYS)
register("hook_list", hook_list, READS)
register("hook_test", hook_test, {})
register("deliver_take", deliver_take, ALWAYS)
register("deliver_done", deliver_done, ALWAYS)
