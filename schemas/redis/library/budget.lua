-- budget.lua - what tenants may spend on model calls in a period.
--
-- A period is as long as operators have set (by default a day), and periods are
-- counted from 1970, so that a day begins at midnight UTC. The hash
-- spent:<queue>/<tenant> belongs to one period and expires with it: period (its
-- begin), tokens and cost (spent), held_tokens and held_cost (reserved for
-- calls that are not settled). The fact reserved says what a job has reserved:
-- period:tokens:cost.

local BUDGETS = { "tenant_tokens", "tenant_cost", "tenant_budget_ms" }
local settle, reserve

do -- the rest is for these two: Lua allows 200 names

-- How long a job waits when only reservations of others are in its way: their
-- calls may use less than was reserved.
local LOOK_FOR_ROOM_MS = 1000

-- The tenant's budget; nil: there is none. Its own setting goes before the one
-- for all tenants.
local function budget_of(root, queue, tenant)
    local names, count = { unpack(BUDGETS) }, #BUDGETS
    for i = 1, count do names[i + count] = BUDGETS[i] .. ":" .. tenant end
    local values = call("HMGET", root .. "queue:" .. queue, unpack(names))
    local function setting(i)
        return number(values[i + count]) or number(values[i]) or 0
    end
    local tokens, cost, ms = setting(1), setting(2), setting(3)
    if tokens == 0 and cost == 0 then return nil end
    return { tokens = tokens, cost = cost, ms = ms > 0 and ms or DAY_MS }
end

local function spent_key(job)
    return job.root .. "spent:" .. job.queue .. "/" .. job.tenant
end

-- What was spent and reserved in that period. A hash of another period is
-- deleted: its budget begins anew (also when the length of periods was
-- changed).
local function spent_in(key, period)
    local values = call("HMGET", key, "period", "tokens", "cost",
        "held_tokens", "held_cost")
    if values[1] ~= text(period) then
        redis.call("DEL", key)
        values = {}
    end
    return {
        tokens = number(values[2]) or 0, cost = number(values[3]) or 0,
        held_tokens = number(values[4]) or 0,
        held_cost = number(values[5]) or 0,
    }
end

-- Ends the job's reservation: tokens and cost were spent. Without tokens all
-- that was reserved counts as spent, because the call may have been paid for.
-- When the period of the reservation is over there is nothing to settle.
function settle(job, tokens, cost)
    local period, held_tokens, held_cost =
        job.reserved:match("^(%d+):(%d+):(%d+)$")
    reset(job, "reserved")
    local key = spent_key(job)
    if not period or call("HGET", key, "period") ~= period then return end
    local function add(name, amount)
        if amount ~= 0 then call("HINCRBY", key, name, text(amount)) end
    end
    add("held_tokens", -tonumber(held_tokens))
    add("held_cost", -tonumber(held_cost))
    add("tokens", tokens or tonumber(held_tokens))
    add("cost", tokens and (cost or 0) or tonumber(held_cost))
end

-- In how many ms there may be room for the call; 0: never, because it asks for
-- more than the whole budget.
local function room_in(limit, spent, want, left_ms)
    if want > limit then return 0 end
    if spent + want > limit then return left_ms end
    return math.min(left_ms, LOOK_FOR_ROOM_MS)
end

-- Why the budget does not allow the call: {setting, is the price missing,
-- limit, spent, period_ms, wait_ms}; nil when it does. When both limits are in
-- the way, the answer is the one that lasts longer.
local function bar_of(budget, spent, tokens, cost, left_ms)
    local bar
    if budget.cost > 0 and not cost then
        return { "tenant_cost", 1, budget.cost, spent.cost, budget.ms, 0 }
    end
    for _, row in ipairs({
        { "tenant_tokens", budget.tokens, spent.tokens, spent.held_tokens,
            tokens },
        { "tenant_cost", budget.cost, spent.cost, spent.held_cost, cost or 0 },
    }) do
        local setting, limit, gone, held, want = unpack(row)
        if limit > 0 and gone + held + want > limit then
            local wait_ms = room_in(limit, gone, want, left_ms)
            if not bar or bar[6] > 0 and (wait_ms == 0 or wait_ms > bar[6]) then
                bar = { setting, 0, limit, gone + held, budget.ms, wait_ms }
            end
        end
    end
    return bar
end

-- Reserves what a model call of the job may use. Answers nil, or why not. An
-- earlier reservation of the job that nobody has settled counts as spent: its
-- call may have been paid for.
function reserve(job, now, tokens, cost)
    settle(job)
    local budget = budget_of(job.root, job.queue, job.tenant)
    if not budget then return nil end
    local key, period = spent_key(job), now - now % budget.ms
    local spent = spent_in(key, period)
    local bar = bar_of(budget, spent, tokens, cost, period + budget.ms - now)
    if bar then return bar end
    call("HSET", key, "period", text(period),
        "held_tokens", text(spent.held_tokens + tokens),
        "held_cost", text(spent.held_cost + (cost or 0)))
    redis.call("PEXPIREAT", key, text(period + budget.ms))
    set(job, "reserved", ("%d:%d:%d"):format(period, tokens, cost or 0))
    return nil
end

end
