"""Six bugs of the kind that queues have had: the checker must see each.

None is in the product: the library is changed on its way into the server, or a
command on its way to it. Every scenario also runs without its bug, and then
nothing may be broken.
"""

import re
import tempfile
import time
from collections import namedtuple

import r4
from fleet import SLOW_S, Fleet, wait_started
from history import History
from jobs import ROOT, Made
from library import LIBRARY
from servers import wait_until
from wire import FENCED, FINISH_ARGS, Wire

SLOWLY = [{"match": "slowly", "replies": [{"text": "done", "delay_ms": 1200}]}]
NEVER = [{"match": "never", "replies": [{"text": "done", "delay_ms": 600000}]}]
LONG_MS = 3600 * 1000
MANY = 130  # more than a step of the sweep looks at
# Lua: where the arguments of each of a step's jobs begin.
EACH_JOB = f'for i = 1, #args, name == "finish_many" and {FINISH_ARGS} or #args do'


def sow(source, **bodies):
    """Lua by the name of a function: its body instead, which knows the true
    one as inner."""
    wrapped = "".join(
        f'if name == "{name}" then return function(keys, args)\n{body}\nend end\n'
        for name, body in bodies.items()
        if f'register("{name}",' in source
    )
    head = "local function register(name, callback, flags)\n"
    assert wrapped and source.count(head) == 1
    # Without a name of its own: Lua allows 200 of them, and the library has nearly
    # as many.
    sown = f"(function(name, inner)\n{wrapped}return inner\nend)(name, callback)"
    return source.replace(head, f"{head}callback = {sown}\n")


# -- the bugs: a source in, a source out


def no_fence(source):
    """Whoever writes is taken for the holder."""
    body = f"""
    {EACH_JOB}
        local held = redis.call("HGET", keys[1] .. "job:" .. args[i], "epoch")
        args[i + 1] = held or args[i + 1]
    end
    return inner(keys, args)"""
    return sow(source, **dict.fromkeys(FENCED, body))


def ack_first(source):
    """Done with when it is taken, not when it has ended: nobody holds it."""
    body = """
    local answer = inner(keys, args)
    for _, queue in ipairs(redis.call("SMEMBERS", keys[1] .. "queues")) do
        redis.call("DEL", keys[1] .. "leases:" .. queue)
    end
    return answer"""
    return sow(source, start=body, take=body, beat=body)


def looked_for_from_the_beginning(source):
    """Leases are looked at from the beginning each time, and those that are good
    count too."""
    found = re.compile(r"local due = due_members\(leases, count, now\)")
    assert found.search(source)
    return found.sub(
        """local all, due = redis.call("ZRANGE", leases, 0, -1), {}
    table.sort(all)
    for i = 1, math.min(count, #all) do
        if tonumber(redis.call("ZSCORE", leases, all[i])) <= now then
            due[#due + 1] = all[i]
        end
    end""",
        source,
    )


def groups_at_the_end(source):
    """A group begins with what comes after it."""
    found = re.compile(r'("XGROUP", "CREATE",[^)]*?)"0"')
    assert found.search(source)
    return found.sub(r'\1"$"', source)


def end_in_two_steps(source):
    """The terminal event is written with the next beat."""
    finish = f"""
    local answer = inner(keys, args)
    {EACH_JOB}
        local stream = keys[1] .. "events:" .. args[i]
        local rows = redis.call("XRANGE", stream, "-", "+")
        redis.call("DEL", stream)
        for j, row in ipairs(rows) do
            if j < #rows then
                redis.call("XADD", stream, row[1], "event", row[2][2])
            else
                redis.call("RPUSH", keys[1] .. "late", stream, row[1], row[2][2])
            end
        end
        redis.call("EXPIRE", stream, 86400)
    end
    return answer"""
    beat = """
    local late = redis.call("LRANGE", keys[1] .. "late", 0, -1)
    redis.call("DEL", keys[1] .. "late")
    for i = 1, #late, 3 do
        redis.call("XADD", late[i], late[i + 1], "event", late[i + 2])
    end
    return inner(keys, args)"""
    return sow(source, finish=finish, finish_many=finish, beat=beat)


def keys_ignored(source):
    """An idempotency key is as good as none, in the job too."""
    body = """
    for i = 1, #args, 2 do
        if args[i] == "idempotency_key" then args[i + 1] = "" end
        args[i + 1] = args[i + 1]:gsub("idempotency_key", "idempotency_kez")
    end
    return inner(keys, args)"""
    return sow(source, submit=body)


# -- what brings them out


def zombies(fleet):
    for number in range(2):
        r4.round_of(fleet, number, after_the_end=False)
    fleet.hire()


def a_death(fleet):
    worker = fleet.hire()
    # It would mend what the bug does.
    walked = f"{ROOT}mended"
    wait_until(lambda: fleet.db.pttl(walked) > 60000, SLOW_S, "the first walk is over")
    for n in range(4):
        fleet.client.submit(Made(f"t{n}", {"prompt": f"slowly {n}"}))
    wait_started(fleet, 4)
    fleet.kill(worker)
    fleet.hire()


def a_death_behind_long_leases(fleet):
    """One is healthy, and silent for long; who has died stands behind it."""
    fleet.hire(slots=MANY, lease=f"{LONG_MS}ms")
    long = [
        fleet.client.submit(Made(f"l{n}", {"prompt": f"never {n}"}, ("cancelled",)))[0]
        for n in range(MANY)
    ]
    wait_started(fleet, MANY)
    victim = fleet.hire()
    short = [
        fleet.client.submit(Made(f"s{n}", {"prompt": f"slowly {n}"}))[0]
        for n in range(4)
    ]
    wait_started(fleet, MANY + 4)
    fleet.kill(victim)
    other = fleet.hire()
    fleet.wait_for(short, patience_s=20)
    fleet.kill(other)  # nobody else sweeps
    for job in long:
        fleet.client.cancel(job)


def a_group_that_is_gone(fleet):
    for n in range(4):
        fleet.client.submit(Made(f"t{n}", {"prompt": f"say {n}"}))
    fleet.db.xgroup_destroy(f"{ROOT}work:default:normal", "consumers")
    fleet.hire(fleet.way)


def a_death_after_the_end(fleet):
    worker = fleet.hire(lease=f"{LONG_MS}ms")
    (job,) = fleet.client.submit(Made("t", {"prompt": "say t"}))
    wait_until(lambda: fleet.state(job) == "completed", SLOW_S, "it ends")
    fleet.kill(worker)


def a_key_that_comes_again(fleet):
    fleet.hire()
    fleet.client.submit(Made("t", {"prompt": "say t"}, key="k", copies=3))


Seed = namedtuple("Seed", "bug change scenario seen_by script", defaults=[SLOWLY])
SEEDS = [
    Seed("the fence is removed", no_fence, zombies, "fenced"),
    Seed("acknowledged before the result", ack_first, a_death, "no_loss"),
    Seed(
        "leases are looked for from the beginning each time",
        looked_for_from_the_beginning,
        a_death_behind_long_leases,
        "no_loss",
        NEVER + SLOWLY,
    ),
    Seed("groups are created at $", groups_at_the_end, a_group_that_is_gone, "no_loss"),
    Seed(
        "the end is told in a step of its own",
        end_in_two_steps,
        a_death_after_the_end,
        "one_end",
    ),
    Seed(
        "idempotency keys are ignored",
        keys_ignored,
        a_key_that_comes_again,
        "idempotent",
    ),
]


def at_the_end(command):
    """The consumer's own making of groups."""
    if [word.upper() for word in command[:2]] == [b"XGROUP", b"CREATE"]:
        return [b"$" if word == b"0" else word for word in command]
    return command


def try_seed(seed, sown, within_ms, patience_s=8):
    """The names of the invariants that were broken, and the breaches."""
    with open(LIBRARY, encoding="utf-8") as file:
        source = file.read()
    with tempfile.NamedTemporaryFile(suffix=".history") as file:
        with History(file.name) as history, Fleet(
            history,
            library=seed.change(source) if sown else None,
            script=seed.script,
            max_crashes=1000,
        ) as fleet:
            with Wire(fleet.redis.socket) as fleet.way:
                if sown and seed.change is groups_at_the_end:
                    fleet.way.rewrite = at_the_end
                seed.scenario(fleet)
                fleet.settle(stuck_s=patience_s)
                _, breaches = fleet.verdicts(within_ms)
    return {name: found for name, found in breaches.items() if found}


def run_seeded(within_ms, tell):
    """(what the last line says, whether the checker is to be trusted)."""
    told, trusted = {}, True
    for seed in SEEDS:
        begin = time.monotonic()
        control = try_seed(seed, False, within_ms)
        broken = try_seed(seed, True, within_ms)
        good = not control and seed.seen_by in broken
        trusted = trusted and good
        told[seed.bug] = sorted(broken)
        took_s = time.monotonic() - begin
        verdict = "seen" if seed.seen_by in broken else "MISSED"
        by = ", ".join(sorted(broken)) or "none"
        tell(f"{verdict}: {seed.bug}: by {by} ({took_s:.0f} s)")
        for found in list(broken.values())[:2]:
            tell(f"    {found[0]}")
        for name, found in control.items():
            tell(f"    without the bug {name} is broken too: {found[0]}")
    return {"seeded": told, "trusted": trusted}, trusted
