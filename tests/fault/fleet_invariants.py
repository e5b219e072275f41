"""What must hold, whatever was killed: each one a function and its sentence.

A function is given what was seen and what is there when all is quiet, and
gives a sentence for every breach. It knows nothing of what was done to the
fleet.
"""

from collections import defaultdict

import msgpack
from history import sha_of
from seen import is_end, recoveries
from state import ONGOING, TERMINAL, WAITING

FOR_EVER = ("work", "queue", "queues", "schedule", "schedules", "lanes", "wakes")
PER_JOB = ("journal", "body", "events", "result")
RESTS = ("approval", "budget", "endpoint")


def no_loss(seen, state, _):
    """What a client was told is accepted is there, and has come to its end."""
    for id in seen.accepted():
        job = state.jobs.get(id)
        if job is None or not job.facts:
            yield f"{id} was accepted and is not known any more"
        elif job.state not in TERMINAL:
            yield f"{id} was accepted and is {job.state}, though all is quiet"
        elif job.result is None:
            yield f"{id} is {job.state} and has no result"


def one_end(seen, state, _):
    """A job ends once: one terminal event, the last; one result, which stays."""
    for id, job in state.jobs.items():
        if job.is_entry or not job.facts:
            continue
        told = job.told()
        if not told and job.facts.get("cancel_reason") == "purged":
            told = seen.events[id]  # Redis keeps them for ten minutes only
        ends = [event for event in told if is_end(event["type"])]
        if job.state not in TERMINAL:
            if ends or job.result is not None:
                yield f"{id} is {job.state} and has an end"
            continue
        if len(ends) != 1 or told[-1] is not ends[0]:
            types = [event["type"] for event in told]
            yield f"{id} is {job.state}, its events are {types}"
        elif ends[0]["type"] != f"job.{job.state}":
            yield f"{id} is {job.state}, its last event {ends[0]['type']}"
        if job.result is not None:
            status = msgpack.unpackb(job.result)["status"]
            if status != job.state:
                yield f"{id} is {job.state}, its result {status}"
            if len(seen.results[id] | {sha_of(job.result)}) > 1 + seen.revived[id]:
                yield f"{id}: a client has read another result than is there now"
    for id, events in seen.events.items():
        ends = {
            (event["seq"], event["type"]) for event in events if is_end(event["type"])
        }
        if len(ends) > 1 + seen.revived[id]:
            yield f"{id}: a follower has seen it end as {sorted(ends)}"


def is_expected(expect, result):
    """expect: states, or state:code."""
    code = result.get("error", {}).get("code", "")
    return not {result["status"], f"{result['status']}:{code}"}.isdisjoint(expect)


def nothing_unexpected(seen, state, _):
    """Nothing is there that nobody submitted, and nothing ends as it could not."""
    entries = sum(line.get("count", 1) for line in seen.of["garbage"])
    buried = sum(job.is_entry for job in state.jobs.values())
    if buried > entries:
        yield f"{buried} entries named no job, {entries} such were made"
    fired = set().union(*(state.fired(line["name"]) for line in seen.of["schedule"]))
    for id in {*state.jobs, *seen.events}:
        is_entry = id in state.jobs and state.jobs[id].is_entry
        if not seen.is_known(id) and not is_entry and id not in fired:
            yield f"{id} is there, and nobody submitted it"
    for id, submit in seen.submits.items():
        job = state.jobs.get(id)
        if job is None or job.result is None:
            continue
        if submit.answers and not submit.may_be_there:
            yield f"{id} was refused and is there"
        result, line = msgpack.unpackb(job.result), submit.line
        if result["id"] != id:
            yield f"{id} has the result of {result['id']}"
        if line.get("expect") and not is_expected(line["expect"], result):
            end = result.get("error", result["status"])
            yield f"{id} should have ended as {line['expect']}: {end}"
        if line.get("token") and not token_is_back(line["token"], result):
            yield f"{id} came back without what was in it, {line['token']}"


def token_is_back(token, result):
    """Who was failed by Redis alone, or cancelled early, was never decoded."""
    if "metadata" not in result:
        return result["status"] in ("failed", "cancelled")
    return result["metadata"].get("token") == token


def bounded_attempts(seen, state, _):
    """Attempts are counted: one more a start, none for what was handed back,
    a crash for every holder that died."""
    limits = {line["name"]: line["value"] for line in seen.of["limit"]}
    for id, job in state.jobs.items():
        if job.is_entry or not job.facts or not job.events:
            continue
        count, lost, holder = 0, 0, False
        told = job.told()
        if told[0]["seq"] != 1:
            continue  # its stream was cut, or taken away: no whole story
        for event in told:
            type = event["type"]
            if type == "job.started":
                count += 1
                if holder:
                    yield f"{id}: started while it ran, event {event['seq']}"
                if event["attempt"] != count:
                    yield f"{id}: attempt {event['attempt']} where {count} is due"
                holder = True
            elif type == "job.lost":
                lost += 1
                holder = False
            elif type == "job.queued":
                # Handed back by who ran it: as if it had not begun.
                count -= holder
                holder = False
            elif type == "job.waiting":
                # Who waits for somebody has not failed.
                count -= holder and event["data"].get("reason") in RESTS
                holder = False
        if job.number("attempts") != count:
            yield f"{id}: {job.number('attempts')} attempts, by its events {count}"
        if job.number("crashes") != lost:
            yield f"{id}: {job.number('crashes')} crashes, by its events {lost}"
        if lost > limits.get("max_crashes", lost) + 1:
            yield f"{id} crashed {lost} times, more than it may"


def fenced(seen, state, _):
    """Who has lost a job writes nothing to it any more."""
    for id, writes in seen.writes.items():
        for write in writes:
            later = [
                grant["epoch"]
                for grant in seen.grants[id]
                if grant["epoch"] > write["epoch"] and grant["number"] <= write["since"]
            ]
            if write["ok"] and later:
                yield (
                    f"{id}: {write['name']} of epoch {write['epoch']} was taken"
                    f" after epoch {max(later)} had begun"
                )
    for id, job in state.jobs.items():
        held = None
        for event in job.told():
            type = event["type"]
            if held is False and not type.startswith("job."):
                yield f"{id}: {type} (event {event['seq']}) while nobody held it"
            if type in ("job.started", "job.lost", "job.queued", "job.waiting"):
                held = type == "job.started"


def liveness(seen, _, within_ms):
    """What was interrupted goes on, soon."""
    for what, ms in recoveries(seen):
        if ms is None:
            yield f"after {what}: never again"
        elif ms > within_ms:
            yield f"after {what}: {ms} ms, at most {within_ms}"


def conservation(seen, state, _):
    """Every job is in the one place that its state says, and every place holds
    jobs of that state; quern check finds nothing either."""
    for line in seen.of["checked"]:
        yield f"quern check: {line['text']}"
    entry_of = {}
    for key, stream in state.streams.items():
        for entry, id in stream.entries.items():
            job = state.jobs.get(id)
            if job is None or job.facts.get("entry") != entry:
                yield f"{key}: {entry} is for {id!r}, which does not stand there"
            elif job.state != "queued":
                yield f"{key}: {entry} is for {id}, which is {job.state}"
            entry_of[id] = entry
        for entry in stream.pending.keys() - stream.entries.keys():
            yield f"{key}: {entry} is pending and not there"
    yield from places(state, entry_of)
    for id, job in state.jobs.items():
        left = [kind for kind in PER_JOB if kind in job.kinds]
        if not job.facts and left and id not in seen.excused:
            yield f"{id}: {left} of a job that is not known"


# Kind of key: states in which a job may be named there.
PLACES = {
    "ready": ("queued",),
    "running": ("in_progress",),
    "leases": ("in_progress",),
    "scheduled": WAITING,
    "deadlines": ONGOING,
}


def places(state, entry_of):
    named = defaultdict(set)
    for key, (kind, ids) in state.members.items():
        named[kind].update(ids)
        for id in ids:
            if id.startswith("lane ") or kind not in PLACES:
                continue  # ids of lanes and lines are looked at when their turn comes
            found = state.jobs[id].state if id in state.jobs else "not known"
            if found not in PLACES[kind]:
                yield f"{key} names {id}, which is {found}"
    for key, id in state.unique.items():
        if not state.is_ongoing(id):
            yield f"{key} is held by {id}, which has ended"
    for id, job in state.jobs.items():
        stands = id in entry_of or id in named["lane"] or id in named["line"]
        if job.state == "queued" and not stands:
            yield f"{id} is {job.state} and stands nowhere"
        if job.state == "in_progress" and id not in named["leases"]:
            yield f"{id} runs, and nobody will know when its holder dies"
        if job.state in WAITING and id not in named["scheduled"]:
            yield f"{id} is {job.state} and nobody will wake it"


def in_order(seen, state, _):
    """Jobs of one session work one after the other, as they were accepted."""
    sessions = defaultdict(list)
    for id, submit in seen.submits.items():
        job = state.jobs.get(id)
        if submit.line.get("session") and submit.accepted and job and job.events:
            name = submit.line.get("tenant", "default"), submit.line["session"]
            sessions[name].append((submit.number, submit.accepted, id, span_of(job)))
    for name, rows in sessions.items():
        rows.sort()
        for first, second in zip(rows, rows[1:]):
            together = second[0] < first[1]  # asked for at the same time
            if together or first[3] is None or second[3] is None:
                continue
            if second[3][0] < first[3][1]:
                begun, before = second[2], first[2]
                yield f"session {'/'.join(name)}: {begun} began before the end of {before}"


def span_of(job):
    """From its first work to its end, by Redis's clock; None: did no work."""
    told = job.told()
    work = [e["at"] for e in told if e["type"].startswith("tool.")]
    ends = [e["at"] for e in told if is_end(e["type"])]
    return (work[0], ends[-1]) if work and ends else None


def whole_progress(seen, state, _):
    """Events are numbered without a gap; who follows live sees the very same as
    who reads them later."""
    for id, job in state.jobs.items():
        if job.is_entry or not job.facts or not job.events:
            continue
        numbers = [event["seq"] for event in job.told()]
        last = job.number("seq")
        if numbers != list(range(last - len(numbers) + 1, last + 1)):
            yield f"{id}: events {numbers}, the last should be {last}"
        if [entry for entry, _ in job.events] != [f"{n}-0" for n in numbers]:
            yield f"{id}: events do not stand under their numbers"
        if id not in seen.events:
            if seen.events:  # else nobody has followed anything
                yield f"{id}: a follower has seen nothing of it"
            continue
        live = [(event["seq"], event["sha"]) for event in seen.events[id]]
        kept = [(n, sha_of(bytes)) for n, (_, bytes) in zip(numbers, job.events)]
        if [n for n, _ in live] != list(range(1, last + 1)):
            yield f"{id}: a follower has seen {[n for n, _ in live]} of {last} events"
        elif live[last - len(kept) :] != kept:
            yield f"{id}: a follower has seen other events than are there now"


def idempotent(seen, state, _):
    """The same key is the same job; a unique key is of one job at a time."""
    stands = defaultdict(set)
    for submit in seen.submits.values():
        key = submit.line.get("key")
        if key:
            ids = {line.get("stands") for line, _ in submit.answers} - {None}
            stands[submit.line.get("tenant", "default"), key] |= ids
    for (tenant, key), ids in stands.items():
        if len(ids) > 1:
            yield f"key {key} of {tenant} gave {len(ids)} jobs: {sorted(ids)}"
    for id, submit in seen.submits.items():
        if submit.stands and submit.stands != id and id in state.jobs:
            yield f"{id} is there, its client was told that {submit.stands} stands"
    yield from together(state)


def together(state):
    """Jobs of one unique key that have been there at the same time."""
    spans = defaultdict(list)
    for id, job in state.jobs.items():
        if job.facts.get("unique") and job.facts.get("finished_at"):
            key = job.facts.get("tenant", "default"), job.facts["unique"]
            span = job.number("submitted_at"), job.number("finished_at")
            spans[key].append((*span, id))
    for (tenant, key), rows in spans.items():
        rows.sort()
        for first, second in zip(rows, rows[1:]):
            if second[0] < first[1]:
                yield f"{first[2]} and {second[2]} had key {key} of {tenant} at once"


def cancelled(seen, state, _):
    """Told that it is cancelled: it is. Told that its worker was asked: no other
    worker goes on with it."""
    for id, lines in seen.cancels.items():
        job = state.jobs.get(id)
        for line in lines:
            if job is None or not job.facts:
                continue
            if line["verdict"] == "cancelled" and job.state != "cancelled":
                yield f"{id} was said to be cancelled and is {job.state}"
            begun = [
                event
                for event in seen.events[id]
                if event["type"] == "job.started" and event["number"] > line["number"]
            ]
            if line["verdict"] == "asked" and begun and job.state != "cancelled":
                # Its start may have been on its way when the answer came.
                late = [e for e in begun if e["server_at"] > line["at"]]
                if late:
                    yield f"{id}: started after it was to end, and is {job.state}"


def isolated(seen, state, _):
    """No tenant has more jobs running, or starts more of them, than it may."""
    yield from paced(seen, state)
    running = {
        line["tenant"]: line["value"]
        for line in seen.of["limit"]
        if line["name"] == "tenant_running"
    }
    moves = defaultdict(list)
    for job in state.jobs.values():
        tenant = job.facts.get("tenant")
        if tenant in running:
            moves[tenant] += runs_of(job)
    for tenant, steps in moves.items():
        count = 0
        for at, step in sorted(steps):
            count += step
            if count > running[tenant]:
                yield f"{count} jobs of {tenant} ran at {at}, at most {running[tenant]}"
                break


def paced(seen, state):
    """So many at once, then evenly: in any time its share of it, and those."""
    for line in seen.of["limit"]:
        if line["name"] != "tenant_rate":
            continue
        tenant, rate, gap = line["tenant"], line["value"], line["ms"] / line["value"]
        jobs = [j for j in state.jobs.values() if j.facts.get("tenant") == tenant]
        starts = sorted(at for job in jobs for at in job.starts())
        free_at = 0  # of a bucket that one start fills by gap
        for at in starts:
            free_at = max(free_at, at) + gap
            if free_at - at > rate * gap + 1 + gap / 100:
                yield f"a job of {tenant} started at {at}, sooner than its rate lets"
                break


def in_time(seen, state, _):
    """Nothing starts before its time."""
    for id, job in state.jobs.items():
        early = [at for at in job.starts() if at < job.number("not_before")]
        if early:
            yield f"{id} started at {early[0]}, not before {job.facts['not_before']}"


def runs_of(job):
    """(at, 1 or -1); a move out comes before a move in of the same millisecond."""
    holder = False
    for event in job.told():
        if event["type"] == "job.started":
            holder = True
            yield event["at"], 1
        elif holder and (
            event["type"] in ("job.lost", "job.queued", "job.waiting")
            or is_end(event["type"])
        ):
            holder = False
            yield event["at"], -1


def is_asked_past_a_kept_reply(job):
    """Though its id is in the journal, the request is made again."""
    kept = False
    for record in job.journal():
        if record.get("kind") == "model_intent" and kept:
            return True
        kept = record.get("kind") == "model_sent"
    return False


def done_once(seen, state, _):
    """No tool is called twice for one call; no reply is paid for twice that was
    there, or that its endpoint has kept; and what was asked again is told, unless it
    was refused."""
    for id, job in state.jobs.items():
        if is_asked_past_a_kept_reply(job):
            yield f"the model was asked again by {id}, though it had kept its reply"
    for line in seen.of["called"]:
        if line["times"] > 1:
            yield f"a tool was called {line['times']} times for {line['token']}"
    if not seen.of["asked"] or seen.of["loss"]:
        return
    asked = seen.of["asked"][-1]
    again = asked["total"] - asked["different"]
    failed = sum(
        submit.line.get("failures", 0)
        for id, submit in seen.submits.items()
        if id in state.jobs
    )
    told = failed + sum(
        msgpack.unpackb(job.result).get("usage", {}).get("repeated_calls", 0)
        for job in state.jobs.values()
        if job.result is not None
    )
    if again > told:
        yield f"the model was asked {again} times again, results and refusals tell of {told}"


def frugal(seen, state, _):
    """What is no work in flight does not live for ever; processes do not grow;
    secrets are nowhere."""
    for key, ttl_ms in state.ttl_ms.items():
        kind, _, name = key.partition("}:")[2].partition(":")
        if ttl_ms != -1 or not kind or kind in FOR_EVER:
            continue
        if kind in ("job", *PER_JOB):
            who = [name]
        elif kind in ("blob", "refs"):
            who = state.needs.get((key[: key.index("}:") + 2], name), ())
        else:
            _, who = state.members.get(key, ("", ()))
        if not any(map(state.is_ongoing, who)):
            yield f"{key} lives for ever"
    for key, secret in state.spilled:
        yield f"{key} holds the secret {secret[:4]}..."
    yield from grown(seen)


def grown(seen):
    samples = defaultdict(list)
    for line in seen.of["sample"]:
        samples[line["process"]].append(line)
    for process, lines in samples.items():
        first, last = lines[0], lines[-1]
        if last["rss_kib"] > 1.5 * first["rss_kib"] + 16384:
            yield f"{process}: {first['rss_kib']} KiB grew to {last['rss_kib']}"
        if last["fds"] > first["fds"] + 16:
            yield f"{process}: {first['fds']} descriptors became {last['fds']}"
    for line in seen.of["spilled"]:
        yield f"{line['where']} tells a secret"


INVARIANTS = [
    no_loss,
    one_end,
    nothing_unexpected,
    bounded_attempts,
    fenced,
    liveness,
    conservation,
    in_order,
    whole_progress,
    idempotent,
    cancelled,
    isolated,
    in_time,
    done_once,
    frugal,
]
