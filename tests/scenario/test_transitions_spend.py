"""What a tenant's model calls may take, and took, in one step with the record."""

import time

import pytest
from library import job_id, pack, refused

A, B, C = job_id(1), job_id(2), job_id(3)
DAY_MS = 24 * 3600 * 1000
STARTED = ("turn.started", pack(turn=1))


def begun(queue, id=A, **given):
    """Submitted and started; its epoch."""
    queue.submit(id, **given)
    (job,) = [job for job in queue.take_jobs(count=9) if job.id == id]
    return job.epoch


def test_it_is_written_like_any_other_record(queue):
    epoch = begun(queue)
    assert queue.reserve(A, epoch, 0, b"intent", 500, 7, *STARTED) is True
    assert queue.settle(A, epoch, 1, b"reply", 400) == 2
    assert queue.records(A) == [b"intent", b"reply"]
    assert queue.types(A)[2:] == ["turn.started"]
    assert queue.keys("spent") == [], "who has no budget leaves no key"
    assert "reserved" not in queue.facts(A)


def test_what_is_reserved_is_settled(queue):
    queue.queue_set(tenant_tokens=1000, tenant_cost=90)
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"intent", 500, 7)
    assert queue.spent() == (0, 0, 500, 7)
    queue.settle(A, epoch, 1, b"reply", 120, 3)
    assert queue.spent() == (120, 3, 0, 0)
    queue.reserve(A, epoch, 2, b"intent", 300, 5)
    queue.settle(A, epoch, 3, b"refused", 0)
    assert queue.spent() == (120, 3, 0, 0)


def test_sent_again_it_counts_once(queue):
    queue.queue_set(tenant_tokens=1000)
    epoch = begun(queue)
    for _ in range(3):
        assert queue.reserve(A, epoch, 0, b"intent", 500, 0, *STARTED) is True
        assert queue.spent() == (0, 0, 500, 0)
    for _ in range(3):
        assert queue.settle(A, epoch, 1, b"reply", 120) == 2
        assert queue.spent() == (120, 0, 0, 0)
    # The first one again, late: it is there.
    assert queue.reserve(A, epoch, 0, b"intent", 500) is True
    assert queue.spent() == (120, 0, 0, 0)
    assert queue.types(A)[2:] == ["turn.started"]


def test_a_zombie_neither_reserves_nor_settles(queue):
    queue.queue_set(tenant_tokens=1000)
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"intent", 500)
    queue.release(A, epoch)
    (job,) = queue.take_jobs()
    refused("STALE", queue.settle, A, epoch, 1, b"reply", 120)
    refused("STALE", queue.reserve, A, epoch, 1, b"intent", 400)
    assert queue.spent() == (0, 0, 500, 0)
    # Who has it now does not know what came of it: it counts.
    queue.reserve(A, job.epoch, 1, b"again", 400)
    assert queue.spent() == (500, 0, 400, 0)
    queue.settle(A, job.epoch, 2, b"reply", 100)
    assert queue.spent() == (600, 0, 0, 0)


ASKS = {"model": "a", "reserved": 5000, "cost": 900}
TOOK = {
    "input_tokens": 1000,
    "output_tokens": 20,
    "cached_tokens": 300,
    "cache_write_tokens": 200,
    "cost": 70,
    "model_calls": 1,
}
RECORDS = {
    "i": pack(kind="model_intent", turn=1, **ASKS),
    "b": pack(kind="model_intent", turn=1, **{**ASKS, "model": "b"}),
    "f": pack(kind="model_intent", turn=1, failed=True),
    "l": pack(kind="model_intent", turn=1, failed=True, last="token_limit"),
    "p": pack(kind="model_intent", turn=1, failed=True, model="a", usage=TOOK),
    "s": pack(kind="model_sent", turn=1, model="a", reply_id="resp_1"),
    "r": pack(kind="model_reply", turn=1, model="a", usage=TOOK),
    "n": pack(kind="model_reply", turn=1, usage=TOOK),
    "t": pack(kind="tool_result", turn=1, usage=TOOK),
    "x": pack(kind="model_reply", turn="?", usage=[1], model=2),
    "y": pack(kind="model_reply", turn=1, usage={"cost": -1, "input_tokens": "1"}),
    "z": b"\x81\xa4kind\xabmodel_reply\xc1",
}
ASKED = {"uncounted_tokens": 5000, "cost": 900}


def both(**usage):
    return {**usage, "models": [{"name": "a", **usage}]}


# As tests/unit/consumer/test_spending.c has them, of a consumer's results.
JOURNALS = {
    "": None,
    "ir": both(**TOOK),
    "i": both(**ASKED),
    "if": None,
    "ip": both(**TOOK),
    "il": both(**ASKED),
    "ifir": both(**TOOK),
    "iri": both(**{**TOOK, "uncounted_tokens": 5000, "cost": 970}),
    "is": both(**ASKED),
    "isr": both(**TOOK),
    "isf": None,
    "iir": {
        **both(**{**TOOK, "uncounted_tokens": 5000, "cost": 970}),
        "repeated_calls": 1,
    },
    "irb": {
        **TOOK,
        "uncounted_tokens": 5000,
        "cost": 970,
        "models": [{"name": "a", **TOOK}, {"name": "b", **ASKED}],
    },
    "in": TOOK,
    "t": None,
    "xyz": None,
    "ir" * 40: both(**{name: 40 * count for name, count in TOOK.items()}),
}


@pytest.mark.parametrize("journal", JOURNALS)
def test_an_end_that_no_consumer_writes_says_what_it_took(queue, journal):
    epoch = begun(queue)
    for index, letter in enumerate(journal):
        queue.journal(A, epoch, index, RECORDS[letter])
    queue.release(A, epoch)
    queue.cancel(A)
    result = queue.result(A)
    assert result["status"] == "cancelled"
    assert result.get("usage") == JOURNALS[journal]


LARGE = pack(kind="tool_result", turn=1, observation="x" * (1000 << 10))


def ends_of(queue, end, first):
    """Ten jobs, of which each has two records of nearly a MiB behind that one,
    end in steps of one kind: how many in each."""
    ids = [job_id(number) for number in range(10)]
    for id in ids:
        queue.submit(id)
    for job in queue.take_jobs(count=10):
        for index, record in enumerate([first, LARGE, LARGE]):
            queue.journal(job.id, job.epoch, index, record)
        if end == "lapse":
            queue.cancel(job.id)
            queue.client.zadd(f"{queue.root}leases:default", {job.id: 1})
        else:
            queue.wait(job.id, job.epoch, 60000)
        if end == "promote":
            queue.client.hset(f"{queue.root}job:{job.id}", "deadline_at", 1)
            queue.client.zadd(f"{queue.root}deadlines", {job.id: 1})
    counts, more = [], True
    while more:
        before = sum(queue.state(id) == "waiting" for id in ids)
        if end == "promote":
            more = queue.promote()[0] > 0
            count = before - sum(queue.state(id) == "waiting" for id in ids)
        else:
            count, more = queue.purge() if end == "purge" else queue.lapse()
        counts.append(count)
    usage = both(**ASKED) if first == RECORDS["i"] else None
    for id in ids:
        assert queue.result(id).get("usage") == usage, queue.result(id)
    return [count for count in counts if count > 0]


@pytest.mark.parametrize("end", ["purge", "promote", "lapse"])
def test_long_journals_are_read_in_several_calls(queue, end):
    assert ends_of(queue, end, RECORDS["i"]) == [3, 3, 3, 1]


@pytest.mark.parametrize("end", ["purge", "promote", "lapse"])
def test_the_journal_of_a_job_that_asks_no_model_is_not_read(queue, end):
    assert ends_of(queue, end, RECORDS["t"]) == [10]


@pytest.mark.parametrize("end", ["failed", "completed", "cancelled"])
def test_what_nobody_has_settled_counts_at_the_end(queue, end):
    queue.queue_set(tenant_tokens=1000, tenant_cost=9)
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"intent", 500, 4)
    queue.finish(A, epoch, end)
    assert queue.spent() == (500, 4, 0, 0)


def test_who_dies_of_it_holds_nothing(queue):
    queue.queue_set(tenant_tokens=1000)
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"intent", 500)
    queue.come_due()
    queue.lapse(max_crashes=0)
    assert queue.state(A) == "failed" and queue.spent() == (500, 0, 0, 0)


# ------------------------------------------------------------------ barred


def test_beyond_the_budget_nothing_is_written(queue):
    queue.queue_set(tenant_tokens=1000)
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"intent", 900)
    queue.settle(A, epoch, 1, b"reply", 600)
    bar = queue.reserve(A, epoch, 2, b"more", 401, 0, *STARTED)
    assert bar[:5] == ("tenant_tokens", 0, 1000, 600, DAY_MS)
    now = time.time() * 1000
    assert abs(bar[5] - (DAY_MS - now % DAY_MS)) < 5000, "midnight, UTC"
    assert queue.records(A) == [b"intent", b"reply"]
    assert queue.spent() == (600, 0, 0, 0) and "turn.started" not in queue.types(A)
    assert queue.reserve(A, epoch, 2, b"less", 400) is True


def test_others_that_hold_it_may_need_less(queue):
    """So it is worth looking again soon."""
    queue.queue_set(tenant_tokens=1000)
    first, second = begun(queue, A), begun(queue, B)
    queue.reserve(A, first, 0, b"intent", 900)
    bar = queue.reserve(B, second, 0, b"intent", 900)
    assert bar == ("tenant_tokens", 0, 1000, 900, DAY_MS, 1000)
    queue.settle(A, first, 1, b"reply", 50)
    assert queue.reserve(B, second, 0, b"intent", 900) is True


def test_what_is_more_than_all_of_it_is_never_granted(queue):
    queue.queue_set(tenant_tokens=1000)
    bar = queue.reserve(A, begun(queue), 0, b"intent", 1001)
    assert bar == ("tenant_tokens", 0, 1000, 0, DAY_MS, 0)


def test_money(queue):
    queue.queue_set(tenant_cost=1000, tenant_budget_ms=7 * DAY_MS)
    epoch = begun(queue)
    assert queue.reserve(A, epoch, 0, b"i", 10**9, 1001)[0] == "tenant_cost"
    assert queue.reserve(A, epoch, 0, b"i", 10**9, 1000) is True
    queue.settle(A, epoch, 1, b"r", 10**9, 1000)
    bar = queue.reserve(A, epoch, 2, b"i", 1, 1)
    assert bar[:5] == ("tenant_cost", 0, 1000, 1000, 7 * DAY_MS) and bar[5] > 0


def test_money_of_a_model_without_a_price(queue):
    queue.queue_set(tenant_cost=1000)
    epoch = begun(queue)
    assert queue.reserve(A, epoch, 0, b"i", 5, "")[:3] == ("tenant_cost", 1, 1000)
    queue.queue_set(tenant_cost="", tenant_tokens=1000)
    assert queue.reserve(A, epoch, 0, b"i", 5, "") is True


def test_the_later_of_two_limits_counts(queue):
    queue.queue_set(tenant_tokens=1000, tenant_cost=1000)
    first, second = begun(queue, A), begun(queue, B)
    queue.reserve(A, first, 0, b"i", 900, 1000)
    queue.settle(A, first, 1, b"r", 10, 900)
    queue.reserve(A, first, 2, b"i", 900, 1)
    bar = queue.reserve(B, second, 0, b"i", 900, 500)
    assert bar[0] == "tenant_cost" and bar[5] > 1000, "the tokens are only held"


def test_tenants_are_apart(queue):
    queue.queue_set(tenant_tokens=1000)
    queue.tenant_set("big", tenant_tokens=5000)
    queue.tenant_set("free", tenant_tokens=0)
    rows = ((A, "small", False), (B, "big", True), (C, "free", True))
    for id, tenant, fits in rows:
        epoch = begun(queue, id, tenant=tenant)
        assert (queue.reserve(id, epoch, 0, b"i", 3000) is True) == fits
    assert queue.spent("small") is None and queue.spent("free") is None
    assert queue.spent("big") == (0, 0, 3000, 0)


# ----------------------------------------------------------------- periods


def test_it_begins_anew_with_each_period(queue):
    queue.queue_set(tenant_tokens=1000, tenant_budget_ms=300)
    epoch = begun(queue)
    queue.wait_idle(300 - time.time() * 1000 % 300)  # a period has just begun
    queue.reserve(A, epoch, 0, b"i", 900)
    queue.settle(A, epoch, 1, b"r", 900)
    bar = queue.reserve(A, epoch, 2, b"i", 900)
    assert 0 < bar[5] <= 300
    assert 0 < queue.client.pttl(queue.keys("spent")[0]) <= 300
    queue.wait_idle(bar[5] + 1)
    assert queue.keys("spent") == []
    assert queue.reserve(A, epoch, 2, b"i", 900) is True


def test_what_is_settled_after_the_period_was_of_that_one(queue):
    queue.queue_set(tenant_tokens=1000, tenant_budget_ms=300)
    epoch, other = begun(queue, A), begun(queue, B)
    queue.wait_idle(300 - time.time() * 1000 % 300)
    queue.reserve(A, epoch, 0, b"i", 900)
    queue.wait_idle(310)
    assert queue.reserve(B, other, 0, b"i", 800) is True
    before = queue.spent()
    queue.settle(A, epoch, 1, b"r", 900)
    assert queue.spent() == before


def test_a_budget_that_is_set_late_counts_from_then(queue):
    epoch = begun(queue)
    queue.reserve(A, epoch, 0, b"i", 900)
    queue.queue_set(tenant_tokens=1000)
    queue.settle(A, epoch, 1, b"r", 900)
    assert queue.spent() is None
    assert queue.reserve(A, epoch, 2, b"i", 900) is True


def test_somebody_has_made_another_kind_of_the_key(queue):
    queue.queue_set(tenant_tokens=1000)
    epoch = begun(queue)
    queue.client.set(f"{queue.root}spent:default/default", "mine")
    assert queue.reserve(A, epoch, 0, b"i", 900) is True
    assert queue.spent() == (0, 0, 900, 0)


# ------------------------------------------------------------------ wrong


WRONG = [
    (("spend", 5, 0), "spend: 'spend'"),
    (("reserve", "x", 0), "of 'x' tokens"),
    (("reserve", -5, 0), "of '-5' tokens"),
    (("settle", 5, "dear"), "cost 'dear'"),
    (("settle", 5), "cost ''"),
]


@pytest.mark.parametrize("args, says", WRONG)
def test_what_is_wrong_is_told(queue, args, says):
    epoch = begun(queue)
    assert says in refused("BADARG", queue.call, "spend", A, epoch, 0, b"r", *args)
    assert queue.records(A) == []


@pytest.mark.parametrize("reason, errors", [("budget", 0), ("endpoint", 2)])
def test_a_wait_for_others_is_no_attempt(queue, reason, errors):
    epoch = begun(queue)
    assert queue.wait(A, epoch, 60000, reason, errors) == "waiting"
    facts = queue.facts(A)
    assert facts["attempts"] == "0" and facts["reason"] == reason
    assert facts.get("errors", "0") == str(errors), "what has failed has failed"
    queue.come_due()
    queue.promote()
    assert queue.events(A)[-1]["data"]["reason"] == reason
    assert queue.take_jobs()[0].attempt == 1
