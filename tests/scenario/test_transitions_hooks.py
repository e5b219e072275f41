"""Webhooks in Redis: who is told of which end, and deliveries until they are made."""

import json
import time

import pytest
from library import job_id, pack, refused

A, B = job_id(1), job_id(2)
ONE, OTHER = "hook_" + "1" * 16, "hook_" + "2" * 16
URL = "https://receiver.example/hook"
DAY_MS = 24 * 3600 * 1000


def hook(queue, id=ONE, tenant="t", **given):
    pairs = {"url": URL, "secret": "whsec_AAAA", **given}
    words = [word for pair in pairs.items() for word in pair]
    return queue.call("hook_set", tenant, id, *words).decode()


def change(queue, id=ONE, tenant="t", **given):
    words = [word for pair in given.items() for word in pair]
    return queue.call("hook_set", tenant, id, *words).decode()


def hooks(queue, tenant="t"):
    """Id: what it says, with how many secrets are valid."""
    got = queue.call("hook_list", tenant)
    rows = zip(got[::3], got[1::3], got[2::3])
    return {id.decode(): {**json.loads(text), "secrets": n} for id, text, n in rows}


def ended(queue, id=A, state="completed", tenant="t", **given):
    given = {"notify": 1, **given}
    queue.submit(id, tenant=tenant, **{k: v for k, v in given.items() if v})
    (job,) = queue.take_jobs()
    queue.finish(id, job.epoch, state)


def deliveries(queue, lease_ms=60000, count=100):
    return queue.call("deliver_take", lease_ms, count)


def done(queue, delivery, verdict="done", wait_ms=0, status=204, why=""):
    args = (delivery[0], delivery[1], verdict, wait_ms, status, why)
    return queue.call("deliver_done", *args)


def come_due(queue):
    """The time of every delivery, and the end of every lease, has come."""
    for name in queue.client.zrange(f"{queue.root}deliver", 0, -1):
        queue.client.zadd(f"{queue.root}deliver", {name: 1})


def left_of(queue):
    """Keys of deliveries, and entries of the stream."""
    keys = sorted(queue.client.scan_iter(f"{queue.root}deliver*", count=1000))
    stream = f"{queue.root}deliveries"
    entries = queue.client.xrange(stream)
    return [key for key in keys if key != stream.encode()] + entries


def test_an_end_is_delivered_once_to_each_webhook(queue):
    assert hook(queue) == "created"
    hook(queue, OTHER, secret="whsec_BBBB")
    before = int(time.time() * 1000)
    ended(queue)
    got = sorted(deliveries(queue))
    assert len(got) == 2
    for row, id, secret in zip(got, (ONE, OTHER), (b"whsec_AAAA", b"whsec_BBBB")):
        name, taken, tries, state, at, tenant, url, *secrets = row
        assert name.decode() == f"{A}/{at}/{id}"
        assert (taken, tries, state, tenant) == (1, 0, b"completed", b"t")
        assert before - 1000 <= at <= before + 60000
        assert (url.decode(), secrets) == (URL, [secret])
    assert deliveries(queue) == []
    for row in got:
        assert done(queue, row) == 1
    come_due(queue)
    assert deliveries(queue) == [] and left_of(queue) == []


@pytest.mark.parametrize("state", ["completed", "incomplete", "failed", "cancelled"])
def test_every_end_is_told_to_those_who_want_it(queue, state):
    hook(queue, events="failed cancelled")
    hook(queue, OTHER, events="completed incomplete")
    ended(queue, state=state)
    (got,) = deliveries(queue)
    wanted = ONE if state in ("failed", "cancelled") else OTHER
    assert got[0].decode().endswith(wanted) and got[3].decode() == state


def test_an_end_that_no_consumer_wrote_is_told(queue):
    hook(queue)
    queue.submit(A, tenant="t", notify=1)
    assert queue.cancel(A) == "cancelled"
    (got,) = deliveries(queue)
    assert got[3] == b"cancelled"


def test_what_nobody_wants_told_leaves_nothing(queue):
    ended(queue, A)  # its tenant has no webhook
    hook(queue, tenant="other")
    ended(queue, B)
    assert left_of(queue) == []
    hook(queue)
    ended(queue, job_id(3), notify=None)
    assert left_of(queue) == []


def test_the_job_itself_says_that_it_is_to_be_told(queue):
    hook(queue)
    job = pack(tenant="t", notify=True)
    queue.submit(A, job=job, pairs="")
    (begun,) = queue.take_jobs()
    queue.finish(A, begun.epoch)
    assert len(deliveries(queue)) == 1
    queue.submit(B, job=pack(tenant="t", notify=False), pairs="")
    assert "notify" not in queue.facts(B)
    said = refused("BADARG", queue.submit, job_id(3), job=pack(notify=1), pairs="")
    assert "notify is" in said and "must be true or false" in said
    said = refused("BADARG", queue.submit, job_id(4), notify="yes")
    assert "notify must be 1: 'yes'" in said
    said = refused("BADARG", queue.submit, job_id(5), job=pack(v=1), notify=1, pairs="")
    assert "notify_mismatch" in said


def test_a_label_that_a_key_cannot_hold(queue):
    hook(queue, tenant="ann@example.org")
    ended(queue, tenant="ann@example.org")
    (got,) = deliveries(queue)
    assert got[5] == b"ann@example.org"


def test_a_deliverer_that_died_loses_nothing(queue):
    hook(queue)
    ended(queue)
    (first,) = deliveries(queue)
    come_due(queue)  # its lease has ended
    (second,) = deliveries(queue)
    assert second[0] == first[0] and (first[1], second[1]) == (1, 2)
    # the first one was only slow: it changes nothing but what it has delivered
    assert done(queue, first, "again", 1000, 500, "500") == 0
    assert done(queue, first, "given_up", 0, 500, "500") == 0
    assert done(queue, first) == 1
    assert done(queue, second) == 0
    assert left_of(queue) == []


def test_an_attempt_that_failed_is_made_again_in_time(queue):
    hook(queue)
    ended(queue)
    (got,) = deliveries(queue)
    assert done(queue, got, "again", 5000, 503, "it answers 503") == 1
    due = queue.client.zscore(f"{queue.root}deliver", got[0])
    assert 0 < due - time.time() * 1000 <= 5000
    assert deliveries(queue) == []
    come_due(queue)
    (again,) = deliveries(queue)
    assert (again[0], again[1], again[2]) == (got[0], 2, 1)
    said = hooks(queue)[ONE]
    assert (said["last_status"], said["last_why"]) == (503, "it answers 503")
    assert said["failures"] == 1
    assert done(queue, again) == 1
    assert hooks(queue)[ONE]["failures"] == 0


def test_what_was_not_tried_counts_no_try(queue):
    hook(queue)
    ended(queue)
    (got,) = deliveries(queue)
    assert done(queue, got, "later", 60000, 0, "") == 1
    assert deliveries(queue) == []
    come_due(queue)
    (again,) = deliveries(queue)
    assert (again[1], again[2]) == (2, 0)
    assert "last_at" not in hooks(queue)[ONE]


def test_who_wants_no_more_is_disabled(queue):
    hook(queue)
    ended(queue)
    ended(queue, B)
    first, _ = deliveries(queue)
    done(queue, first, "gone", 0, 410, "it answers 410: it wants no more")
    said = hooks(queue)[ONE]
    assert said["disabled"] is True and "410" in said["reason"]
    come_due(queue)
    assert deliveries(queue) == [] and left_of(queue) == []
    ended(queue, job_id(3))
    assert deliveries(queue) == []
    assert change(queue, disabled="0") == "changed"
    assert "disabled" not in hooks(queue)[ONE]
    ended(queue, job_id(4))
    assert len(deliveries(queue)) == 1


def test_older_secrets_stay_for_a_time(queue):
    hook(queue)
    assert change(queue, secret="whsec_NEW", keep_ms=DAY_MS) == "changed"
    ended(queue)
    (got,) = deliveries(queue)
    assert got[7:] == [b"whsec_NEW", b"whsec_AAAA"]
    assert hooks(queue)[ONE]["secrets"] == 2
    done(queue, got, "again", 1, 500, "")
    change(queue, secret="whsec_NEWER")  # at once
    come_due(queue)
    (got,) = deliveries(queue)
    assert got[7:] == [b"whsec_NEWER"]


def test_secrets_are_outside_of_the_prefix(queue):
    """A login that may use the keys of the prefix does not see them."""
    hook(queue)
    held = queue.client.hget("quern-secrets:{000}:hooks:t", ONE)
    assert json.loads(held) == [{"secret": "whsec_AAAA"}]
    for key in queue.client.scan_iter("quern:*", count=1000):
        kind = queue.client.type(key)
        if kind == b"hash":
            assert b"whsec_" not in b"".join(queue.client.hgetall(key).values())
    assert queue.call("hook_rm", "t", ONE) == 1
    assert queue.client.exists("quern-secrets:{000}:hooks:t") == 0
    assert queue.call("hook_rm", "t", ONE) == 0


def test_a_removed_webhook_gets_nothing_more(queue):
    hook(queue)
    ended(queue)
    (got,) = deliveries(queue)
    queue.call("hook_rm", "t", ONE)
    assert done(queue, got, "again", 1, 500, "") == 1
    come_due(queue)
    assert deliveries(queue) == [] and left_of(queue) == []


def test_what_is_too_old_is_not_told(queue):
    hook(queue)
    ended(queue)
    (got,) = deliveries(queue)
    at = int(time.time() * 1000) - 8 * DAY_MS
    queue.client.hset(f"{queue.root}delivery:{got[0].decode()}", "at", at)
    come_due(queue)
    assert deliveries(queue) == [] and left_of(queue) == []


def test_a_test_is_delivered_to_a_disabled_one_too(queue):
    assert queue.call("hook_test", "t", ONE, B) == 0
    hook(queue, events="failed")
    change(queue, disabled="1")
    assert queue.call("hook_test", "t", ONE, B) == 1
    (got,) = deliveries(queue)
    assert got[3] == b"test"


def test_a_job_that_is_run_again_is_told_of_again(queue):
    hook(queue)
    queue.submit(A, tenant="t", notify=1)
    (job,) = queue.take_jobs()
    queue.finish(A, job.epoch, "failed", error_code="model_failed")
    (first,) = deliveries(queue)
    time.sleep(0.002)
    queue.requeue(A)
    (job,) = queue.take_jobs()
    queue.finish(A, job.epoch)
    (second,) = deliveries(queue)
    assert first[0] != second[0] and (first[3], second[3]) == (b"failed", b"completed")


def test_foreign_entries_and_values_stop_nothing(queue):
    hook(queue)
    queue.client.xadd(f"{queue.root}deliveries", {"no": "job"})
    queue.client.xadd(
        f"{queue.root}deliveries",
        {"job": A, "tenant": "t", "state": "dancing", "at": "1"},
    )
    queue.client.hset(f"{queue.root}hooks:t", OTHER, "{not json")
    queue.client.hset(f"{queue.root}hooks:t", "other", json.dumps({"url": URL}))
    queue.client.zadd(f"{queue.root}deliver", {"nobody": 1})
    ended(queue)
    (got,) = deliveries(queue)
    assert got[0].decode().endswith(ONE)


def test_a_tenant_has_a_bounded_number(queue):
    for number in range(16):
        hook(queue, f"hook_{number:016x}")
    said = refused("TOOBIG", hook, queue, OTHER)
    assert "tenant t has 16 webhooks, which is the limit" in said
    assert hook(queue, f"hook_{3:016x}") == "changed"


@pytest.mark.parametrize(
    "words, said",
    [
        (("t", "hook_1", "url", URL), "id 'hook_1'"),
        (("t", ONE, "url"), "3 arguments"),
        (("t", ONE, "url", "https://a b/"), "url is 'https://a b/', must be"),
        (("t", ONE, "url", "x" * 2049), "hook_set: url is"),
        (("t", ONE, "events", "completed started"), "events is 'completed started', must be states in which"),
        (("t", ONE, "secret", "a b"), "secret is '...', must be"),
        (("t", ONE, "keep_ms", 8 * DAY_MS), "keep_ms"),
        (("t", ONE, "disabled", "2"), "disabled is '2', must be 0 or 1"),
        (("t", ONE, "colour", "red"), "no pair 'colour'"),
        (("", ONE), "tenant ''"),
    ],
)
def test_wrong_words_are_refused(queue, words, said):
    assert said in refused("BADARG", queue.call, "hook_set", *words)


def test_other_wrong_words(queue):
    assert refused("GONE", change, queue, url=URL)
    refused("BADARG", queue.call, "deliver_take", 0, 1)
    refused("BADARG", queue.call, "deliver_take", 1000, 513)
    refused("BADARG", queue.call, "deliver_done", "x", 1, "perhaps", 0, 200, "")
    refused("BADARG", queue.call, "deliver_done", "x", 1, "again", -1, 200, "")
    refused("BADARG", queue.call, "deliver_done", "x", 1, "done", 0, 200, "y" * 201)
    refused("BADARG", queue.call, "hook_rm", "t", "x")
    refused("BADARG", queue.call, "hook_list", "")
    refused("BADARG", queue.call, "hook_test", "t", ONE, "x")
