"""The checker on stories that are made up: a sound one, and that with one thing
wrong in it."""

import msgpack
import pytest
from fleet_invariants import INVARIANTS
from history import History, read_history, sha_of
from seen import Seen
from state import Job, State, Stream
from verdict import judge, summary

ROOT = "quern:{000}:"
WORK = f"{ROOT}work:default:normal"
WITHIN_MS = 5000
WEEK_MS = 7 * 24 * 3600 * 1000


class Tale:
    """A history and what Redis holds at its end."""

    def __init__(self):
        self.lines, self.state, self.at = [], State(), 1000

    def say(self, what, **members):
        self.at += 10
        self.lines.append({"at": self.at, "what": what, **members})
        return self.lines[-1]

    def submit(self, id, verdict="created", stands=None, **more):
        self.say("submit", job=id, token=f"of {id}", expect=["completed"], **more)
        stands = stands or id if verdict in ("created", "exists") else None
        self.say("answer", job=id, verdict=verdict, stands=stands)

    def event(self, id, type, attempt=1, **data):
        job = self.state.jobs[id]
        seq = len(job.events) + 1
        at = self.at + 10
        event = msgpack.packb(
            {
                "v": 1,
                "seq": seq,
                "at": at,
                "attempt": attempt,
                "type": type,
                "data": data,
            }
        )
        job.events.append((f"{seq}-0", event))
        job.facts["seq"] = str(seq)
        self.say(
            "event",
            job=id,
            seq=seq,
            type=type,
            attempt=attempt,
            server_at=at,
            sha=sha_of(event),
            consumer=data.get("consumer"),
        )

    def job(self, id, state="queued"):
        kinds = {"job", "body", "events"}
        facts = {"state": state, "epoch": "1", "attempts": "0", "crashes": "0"}
        self.state.jobs[id] = Job(id, ROOT, facts, kinds=kinds)
        for kind in kinds:
            self.state.ttl_ms[f"{ROOT}{kind}:{id}"] = WEEK_MS
        self.event(id, "job.queued", 0)

    def start(self, id, attempt=1, consumer="a"):
        self.state.jobs[id].facts.update(state="in_progress", attempts=str(attempt))
        self.event(id, "job.started", attempt, consumer=consumer)
        self.event(id, "turn.started", attempt, turn=1)

    def lose(self, id, crashes=1, attempt=1):
        self.state.jobs[id].facts["crashes"] = str(crashes)
        self.event(id, "job.lost", attempt, consumer="a")
        self.event(id, "job.queued", attempt)

    def end(self, id, state="completed", attempt=1):
        job = self.state.jobs[id]
        job.facts["state"] = state
        result = {"id": id, "status": state, "metadata": {"token": f"of {id}"}}
        job.result = msgpack.packb(result)
        self.event(id, f"job.{state}", attempt)
        self.say("result", job=id, sha=sha_of(job.result))

    def whole(self, id, **submit):
        self.submit(id, **submit)
        self.job(id)
        self.start(id)
        self.event(id, "tool.started")
        self.end(id)

    def broken(self):
        seen = Seen([dict(line) for line in self.lines])
        found = judge(seen, self.state, WITHIN_MS)
        return {name: breaches for name, breaches in found.items() if breaches}


def retell(tale, id, between):
    """As it was from its first event on, but for what comes between."""
    job = tale.state.jobs[id]
    job.events.clear()
    tale.lines[:] = [line for line in tale.lines if line.get("job") != id]
    tale.submit(id)
    tale.job(id)
    between(tale, id)
    tale.start(id)
    tale.end(id)


def wait_for_somebody(tale, id):
    tale.start(id)
    tale.event(id, "job.waiting", reason="approval")
    tale.event(id, "job.queued", 0)


def span_of(tale, id):
    told = tale.state.jobs[id].told()
    return {"submitted_at": str(told[0]["at"]), "finished_at": str(told[-1]["at"])}


def sound():
    """One of everything that may well happen."""
    tale = Tale()
    tale.whole("plain")
    tale.submit("again", key="k")
    tale.job("again")
    tale.submit("copy", "exists", "again", key="k")
    tale.start("again")
    tale.say("gone", consumer="a")
    tale.lose("again")
    tale.start("again", 2, "b")
    tale.end("again", attempt=2)
    tale.whole("first", session="s")
    tale.whole("second", session="s")
    tale.submit("never", "unknown")
    tale.submit("unwanted")
    tale.lines[-2]["expect"] = ["completed", "cancelled"]
    tale.job("unwanted")
    tale.say("cancel", job="unwanted", verdict="cancelled")
    tale.end("unwanted", "cancelled", 0)
    tale.say("grant", job="plain", epoch=1)
    tale.say("write", job="plain", epoch=1, name="finish", since=3, ok=True)
    tale.say("limit", name="tenant_running", tenant="t", value=1)
    tale.say("limit", name="tenant_rate", tenant="r", value=2, ms=1000)
    tale.whole("approved")
    retell(tale, "approved", wait_for_somebody)
    for id in ("fast", "faster"):
        tale.whole(id)
        tale.state.jobs[id].facts.update(tenant="r", unique="u")
        tale.state.jobs[id].facts.update(span_of(tale, id))
    tale.job("ticked")
    tale.start("ticked")
    tale.end("ticked")
    tale.say("schedule", name="tick")
    tale.state.idem[f"{ROOT}idem:default:schedule:tick:1"] = "ticked"
    tale.say("called", token="of plain", times=1)
    tale.say("asked", total=5, different=5)
    return tale


def test_a_sound_story_is_believed():
    tale = sound()
    assert tale.broken() == {}
    seen = Seen(tale.lines)
    told = summary(seen, tale.state, judge(seen, tale.state, WITHIN_MS))
    assert (told["jobs"], told["lost"], told["second_terminals"]) == (8, 0, 0)
    assert (told["duplicates_suppressed"], told["unknown"]) == (1, 1)


# -- what may be wrong


def forgotten(tale):
    del tale.state.jobs["plain"]


def left_in_progress(tale):
    tale.submit("x")
    tale.job("x")
    tale.start("x")
    tale.state.jobs["x"].facts["entry"] = "1-0"
    tale.state.streams[WORK] = Stream({"1-0": "x"}, {"1-0": "a"}, True)


def without_result(tale):
    tale.state.jobs["plain"].result = None


def two_ends(tale):
    tale.event("plain", "job.failed")


def an_end_and_more(tale):
    tale.event("plain", "message.delta")


def without_terminal_event(tale):
    job = tale.state.jobs["plain"]
    job.events.pop()
    job.facts["seq"] = str(len(job.events))
    tale.lines = [
        line
        for line in tale.lines
        if line.get("job") != "plain" or line.get("type") != "job.completed"
    ]


def a_result_that_changed(tale):
    tale.say("result", job="plain", sha="another")


def an_end_seen_and_taken_back(tale):
    tale.say(
        "event", job="plain", seq=5, type="job.failed", attempt=1, server_at=1, sha="x"
    )


def nobodys(tale):
    tale.job("x")
    tale.end("x", attempt=0)


def anothers_token(tale):
    job = tale.state.jobs["plain"]
    result = msgpack.unpackb(job.result)
    result["metadata"]["token"] = "of another"
    swap_result(tale, result)


def the_wrong_end(tale):
    next(line for line in tale.lines if line.get("job") == "plain")["expect"] = [
        "failed"
    ]


def swap_result(tale, result):
    job = tale.state.jobs["plain"]
    job.result = msgpack.packb(result)
    line = next(
        line
        for line in tale.lines
        if line["what"] == "result" and line["job"] == "plain"
    )
    line["sha"] = sha_of(job.result)


def refused_and_there(tale):
    next(
        line
        for line in tale.lines
        if line["what"] == "answer" and line["job"] == "plain"
    ).update(verdict="refused", stands=None)


def an_attempt_too_many(tale):
    tale.state.jobs["plain"].facts["attempts"] = "2"


def two_holders(tale):
    tale.submit("x")
    tale.job("x")
    tale.start("x")
    tale.start("x", 2, "b")
    tale.end("x", attempt=2)


def a_drain_that_is_charged(tale):
    tale.submit("x")
    tale.job("x")
    tale.start("x")
    tale.event("x", "job.queued", 0, reason="released")
    tale.start("x", 2)
    tale.end("x", attempt=2)


def more_crashes_than_allowed(tale):
    tale.say("limit", name="max_crashes", value=0)
    tale.submit("x")
    tale.job("x")
    for n in (1, 2):
        tale.start("x", n)
        tale.lose("x", n, n)
    tale.start("x", 3)
    tale.end("x", attempt=3)


def a_late_write(tale):
    tale.say("grant", job="plain", epoch=3)
    since = len(tale.lines)
    tale.say("write", job="plain", epoch=1, name="journal", since=since, ok=True)


def an_event_of_nobody(tale):
    tale.submit("x")
    tale.job("x")
    tale.start("x")
    tale.lose("x")
    tale.event("x", "message.delta")
    tale.start("x", 2)
    tale.end("x", attempt=2)


def a_job_of_the_dead(tale):
    """It ends in the end, but nobody took it over in time."""
    tale.submit("x")
    tale.job("x")
    tale.start("x", 1, "c")
    tale.say("gone", consumer="c")
    tale.at += 2 * WITHIN_MS
    tale.lose("x")
    tale.start("x", 2)
    tale.end("x", attempt=2)


def never_again(tale):
    tale.say("healed", kind="DEL")


def an_entry_left(tale):
    tale.state.streams[WORK] = Stream({"1-0": "plain"}, {}, True)
    tale.state.jobs["plain"].facts["entry"] = "1-0"


def a_second_entry(tale):
    tale.state.streams[WORK] = Stream({"1-0": "plain"}, {}, True)


def pending_and_gone(tale):
    tale.state.streams[WORK] = Stream({}, {"1-0": "a"}, True)


def a_lease_left(tale):
    tale.state.members[f"{ROOT}leases"] = "leases", ["plain"]


def a_unique_key_left(tale):
    tale.state.unique[f"{ROOT}unique:default:k"] = "plain"


def events_of_nobody(tale):
    tale.state.jobs["x"] = Job("x", ROOT, kinds={"events"})


def out_of_turn(tale):
    tale.submit("s1", session="z")
    tale.submit("s2", session="z")
    for id in ("s1", "s2"):
        tale.job(id)
        tale.start(id)
        tale.event(id, "tool.started")
    for id in ("s1", "s2"):
        tale.end(id)


def a_gap(tale):
    del tale.state.jobs["plain"].events[1]


def unheard(tale):
    tale.lines.remove(
        next(
            line
            for line in tale.lines
            if line.get("job") == "plain" and line.get("type") == "turn.started"
        )
    )


def fired_and_unheard(tale):
    """A schedule's job: nobody told the follower of it."""
    tale.lines = [line for line in tale.lines if line.get("job") != "ticked"]


def heard_otherwise(tale):
    next(line for line in tale.lines if line.get("type") == "turn.started")["sha"] = "x"


def a_key_for_two(tale):
    tale.whole("other", key="k")


def cancelled_and_completed(tale):
    tale.say("cancel", job="plain", verdict="cancelled")


def asked_and_started(tale):
    tale.submit("x")
    tale.job("x")
    tale.say("cancel", job="x", verdict="asked")
    tale.start("x")
    tale.end("x")


def two_at_once(tale):
    for id in ("t1", "t2"):
        tale.submit(id)
        tale.job(id)
        tale.state.jobs[id].facts["tenant"] = "t"
        tale.start(id)
    for id in ("t1", "t2"):
        tale.end(id)


def an_approval_that_is_charged(tale):
    tale.state.jobs["approved"].facts["attempts"] = "2"


def a_third_start_at_once(tale):
    tale.whole("fastest")
    tale.state.jobs["fastest"].facts["tenant"] = "r"


def too_soon(tale):
    tale.state.jobs["plain"].facts["not_before"] = str(tale.at)


def two_of_a_unique_key(tale):
    begun = tale.state.jobs["fast"].facts["submitted_at"]
    tale.state.jobs["faster"].facts["submitted_at"] = begun


def what_quern_check_finds(tale):
    tale.say("checked", text=f"{WORK}: 1 entry too many")


def of_no_schedule(tale):
    tale.state.idem.clear()


def an_end_after_requeue_too_many(tale):
    tale.say("requeue", job="plain")
    for seq in (90, 91):
        tale.say("event", job="plain", seq=seq, type="job.failed", sha="x")


def a_tool_twice(tale):
    tale.say("called", token="of plain", times=2)


def a_reply_twice(tale):
    tale.say("asked", total=6, different=5)


def a_kept_reply_twice(tale):
    kinds = ("model_intent", "model_sent", "model_intent", "model_reply")
    job = next(iter(tale.state.jobs.values()))
    job.records = [msgpack.packb({"v": 1, "kind": kind}) for kind in kinds]


def for_ever(tale):
    tale.state.ttl_ms[f"{ROOT}result:plain"] = -1


def a_secret(tale):
    tale.state.spilled.append((f"{ROOT}result:plain", "sk-1"))


def growth(tale):
    for fds in (10, 40):
        tale.say("sample", process="a", rss_kib=9000, fds=fds)


# What is wrong, and by what it is seen; others may see it as well.
WRONG = [
    (forgotten, "no_loss"),
    (left_in_progress, "no_loss"),
    (without_result, "no_loss"),
    (two_ends, "one_end"),
    (an_end_and_more, "one_end"),
    (without_terminal_event, "one_end"),
    (a_result_that_changed, "one_end"),
    (an_end_seen_and_taken_back, "one_end"),
    (an_end_after_requeue_too_many, "one_end"),
    (nobodys, "nothing_unexpected"),
    (of_no_schedule, "nothing_unexpected"),
    (anothers_token, "nothing_unexpected"),
    (the_wrong_end, "nothing_unexpected"),
    (refused_and_there, "nothing_unexpected"),
    (an_attempt_too_many, "bounded_attempts"),
    (two_holders, "bounded_attempts"),
    (a_drain_that_is_charged, "bounded_attempts"),
    (an_approval_that_is_charged, "bounded_attempts"),
    (more_crashes_than_allowed, "bounded_attempts"),
    (a_late_write, "fenced"),
    (an_event_of_nobody, "fenced"),
    (a_job_of_the_dead, "liveness"),
    (never_again, "liveness"),
    (an_entry_left, "conservation"),
    (a_second_entry, "conservation"),
    (pending_and_gone, "conservation"),
    (a_lease_left, "conservation"),
    (a_unique_key_left, "conservation"),
    (events_of_nobody, "conservation"),
    (out_of_turn, "in_order"),
    (what_quern_check_finds, "conservation"),
    (a_gap, "whole_progress"),
    (unheard, "whole_progress"),
    (fired_and_unheard, "whole_progress"),
    (heard_otherwise, "whole_progress"),
    (a_key_for_two, "idempotent"),
    (two_of_a_unique_key, "idempotent"),
    (cancelled_and_completed, "cancelled"),
    (asked_and_started, "cancelled"),
    (two_at_once, "isolated"),
    (a_third_start_at_once, "isolated"),
    (too_soon, "in_time"),
    (a_tool_twice, "done_once"),
    (a_reply_twice, "done_once"),
    (a_kept_reply_twice, "done_once"),
    (for_ever, "frugal"),
    (a_secret, "frugal"),
    (growth, "frugal"),
]


@pytest.mark.parametrize(
    "spoil, invariant", WRONG, ids=lambda x: getattr(x, "__name__", x)
)
def test_what_is_wrong_is_seen(spoil, invariant):
    tale = sound()
    spoil(tale)
    broken = tale.broken()
    assert invariant in broken, broken


def test_every_invariant_can_be_broken():
    assert {name for _, name in WRONG} == {i.__name__ for i in INVARIANTS}


def test_a_declared_loss_excuses_what_was_before_and_nothing_after():
    tale = sound()
    tale.say("loss")
    tale.state.jobs.clear()
    assert tale.broken() == {}
    tale.submit("x")
    assert "no_loss" in tale.broken()


def test_the_time_without_redis_is_not_the_fleets():
    tale = sound()
    tale.submit("x")
    tale.job("x")
    tale.start("x", 1, "c")
    tale.say("gone", consumer="c")
    tale.say("away")
    tale.at += 2 * WITHIN_MS
    tale.say("back")
    tale.lose("x")
    tale.start("x", 2)
    tale.end("x", attempt=2)
    assert tale.broken() == {}


def test_half_a_line_says_nothing(tmp_path):
    path = tmp_path / "history"
    with History(path) as history:
        assert history.note("fault", kind="x") == 1
        assert history.note("healed", kind="x", empty=None) == 2
    with open(path, "a", encoding="utf-8") as file:
        file.write('{"at": 1, "wh')
    lines = read_history(path)
    assert [line["what"] for line in lines] == ["fault", "healed"]
    assert "empty" not in lines[1]
