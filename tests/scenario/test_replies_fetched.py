"""A reply that was paid for, and not heard to its end, is fetched from the endpoint
that keeps it (OpenAI Responses, "store": true), and not asked for again.

"made" is what the practice model has made, and would have been paid for."""

import json
import time

import msgpack
import pytest
from command import Command
from held_redis import HeldRedis
from relay import Relay, read, write
from servers import KIND, PATIENCE_S, RedisCluster, wait_until
from stack import ROOT, Stack

KEPT = {"store": True, "background": True}
TEXT = "one two three four five six seven eight nine ten"
# It comes slowly enough to be cut in the middle; who fetches it has it soon.
SLOW = {"text": TEXT, "chunk_ms": 600, "kept": {"after_ms": 3000}}
CUT = {"text": TEXT, "cut": 700}  # behind the id, and some of the text
single = pytest.mark.skipif(KIND != "single", reason="HeldRedis holds one way")


@pytest.fixture
def models(tmp_path):
    """Writes the consumers' file of endpoints: name, what it has of its own."""
    path = tmp_path / "models.json"

    def write(stack, **endpoints):
        one = {"url": stack.model.url, "model": "m", "dialect": "responses"}
        path.write_text(json.dumps({n: {**one, **e} for n, e in endpoints.items()}))
        stack.settings["models"] = path

    return write


@pytest.fixture
def stack(models):
    with Stack(executor=False) as stack:
        models(
            stack,
            kept={"parameters": KEPT},
            stored={"parameters": {"store": True}},
            plain={},
            hasty={"parameters": KEPT, "total_ms": 5000},
            idle={"parameters": KEPT, "idle_ms": 5000},
        )
        yield stack


def script(stack, *replies):
    """In that order, whatever is asked; the last one again and again."""
    replies = [*replies, *[replies[-1]] * 9]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])


def journal(stack, job):
    return [msgpack.unpackb(r) for r in stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)]


def kinds(stack, job):
    return [record["kind"] for record in journal(stack, job)]


def sent(stack, job):
    wait_until(lambda: "model_sent" in kinds(stack, job), what="the id is known")


def killed(stack, job, known=True):
    """In the middle of its stream."""
    stack.wait_event(job, "message.delta")
    if known:
        sent(stack, job)
    stack.consumers[-1].kill()
    stack.consumer()


def heard(stack, job):
    """What who follows the job has in the end: a turn.started voids pieces."""
    events = stack.check_events(job)
    types = [event["type"] for event in events]
    last = len(types) - types[::-1].index("turn.started")
    deltas = [e["data"]["text"] for e in events[last:] if e["type"] == "message.delta"]
    return "".join(deltas)


def counted(stack):
    counts = stack.model.counts()
    return counts["made"], counts["fetched"]


def is_fetched(stack, job, attempts):
    """Paid for once, and so counted."""
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == TEXT, result
    assert stack.model.counts()["made"] == 1
    assert result["usage"]["model_calls"] == 1
    assert "repeated_calls" not in result["usage"]
    assert "uncounted_tokens" not in result["usage"]
    assert result["usage"]["input_tokens"] > 0
    assert result["attempts"] == attempts
    assert heard(stack, job) == TEXT
    return result


def is_repeated(stack, job, answer=TEXT):
    """As it was without: asked for again, and that is told."""
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == answer, result
    assert stack.model.counts()["made"] == 2
    assert result["usage"]["repeated_calls"] == 1
    assert heard(stack, job) == answer
    return result


def is_told(stack, job):
    assert stack.result(job)["answer"] == TEXT


def fleet_of(stack):
    """A client of who has the fleet's keys."""
    if isinstance(stack.redis, RedisCluster):
        return stack.redis.client(key="quern:fleet")
    return stack.db


# --------------------------------------------------------------- taken over


def test_killed_in_the_middle_of_the_stream(stack):
    script(stack, SLOW)
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    killed(stack, job)
    is_fetched(stack, job, attempts=2)


@single
@pytest.mark.parametrize("model", ["kept", "stored"])
def test_killed_between_the_end_of_the_stream_and_its_commit(stack, model):
    script(stack, {"text": TEXT})
    with HeldRedis(stack.redis.socket) as way:
        stack.consumer(redis_url=way.url)
        way.lose(b"settle", for_good=True)
        job = stack.submit(prompt="go", model=model)
        assert way.lost.wait(PATIENCE_S)
        sent(stack, job)
        stack.consumers[-1].kill()
    assert kinds(stack, job) == ["model_intent", "model_sent"]
    stack.consumer()
    is_fetched(stack, job, attempts=2)
    assert counted(stack) == (1, 1)


def test_it_is_still_made_when_the_job_is_taken_over(stack):
    script(stack, {**SLOW, "kept": {"after_ms": 8000}})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    killed(stack, job)
    is_fetched(stack, job, attempts=2)
    waits = [
        e["data"]["wait_ms"] for e in stack.events(job) if e["type"] == "job.retrying"
    ]
    assert waits and waits == [1000, 2000, 4000, 8000][: len(waits)]
    assert stack.model.counts()["fetched"] == len(waits) + 1


def test_killed_again_while_it_is_waited_for(stack):
    script(stack, {**SLOW, "kept": {"after_ms": 12000}})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    killed(stack, job)
    stack.wait_event(job, "job.retrying")
    stack.consumers[-1].kill()
    stack.consumer()
    is_fetched(stack, job, attempts=3)


def test_who_is_drained_leaves_it_to_the_next(stack):
    script(stack, SLOW)
    first = stack.consumer(lease="30s")
    job = stack.submit(prompt="go", model="kept")
    stack.wait_event(job, "message.delta")
    sent(stack, job)
    stack.dismiss(first)
    stack.consumer(lease="30s")
    is_fetched(stack, job, attempts=1)  # a drain is none
    counts = stack.model.counts()
    assert counts["fetched"] > 0 and counts["cancelled"] == 0


def test_without_background_it_dies_with_who_listens(stack):
    """Only what had come to its end is there."""
    script(stack, SLOW, {"text": TEXT})
    stack.consumer()
    job = stack.submit(prompt="go", model="stored")
    killed(stack, job)
    is_repeated(stack, job)
    assert stack.model.counts()["fetched"] >= 1


def test_without_store_it_is_repeated_as_before(stack):
    script(stack, SLOW, {"text": TEXT})
    stack.consumer()
    job = stack.submit(prompt="go", model="plain")
    killed(stack, job, known=False)
    is_repeated(stack, job)
    assert stack.model.counts()["fetched"] == 0
    assert "model_sent" not in kinds(stack, job)


# ------------------------------------------------------------------ cut off


@pytest.mark.parametrize("model", ["kept", "stored"])
def test_a_stream_that_was_cut(stack, model):
    script(stack, CUT)
    stack.consumer()
    job = stack.submit(prompt="go", model=model)
    is_fetched(stack, job, attempts=1)
    assert "job.retrying" not in stack.types(job)
    assert kinds(stack, job) == ["model_intent", "model_sent", "model_reply"]


def test_a_stream_that_says_nothing_any_more(stack):
    script(stack, {"text": TEXT, "chunk_ms": 20000, "kept": {"after_ms": 100}})
    stack.consumer()
    is_fetched(stack, stack.submit(prompt="go", model="idle"), attempts=1)


def test_one_that_is_made_without_a_stream(stack):
    """The first answer says only that it is begun."""
    script(stack, {"text": TEXT, "refuse": ["stream"], "kept": {"after_ms": 700}})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    is_fetched(stack, job, attempts=1)


def test_an_endpoint_that_cannot_say_for_now(stack):
    script(stack, {**CUT, "kept": [{"status": 503}, {"status": 429}, {}]})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    is_fetched(stack, job, attempts=1)
    assert counted(stack) == (1, 3)


NONE = {
    "not there": {"status": 404},
    "not ours to see": {"status": 403},
    "failed": {"state": "failed"},
    "cancelled": {"state": "cancelled"},
    "a page": {"body": "<html>"},
    "another object": {"body": '{"object": "list", "data": []}'},
    "half of it": {"body": '{"id": "r", "status": "comp'},
    "a status that nobody knows, and nothing": {"body": '{"status": "dreaming"}'},
}


@pytest.mark.parametrize("what", NONE)
def test_there_is_none(stack, what):
    """Cut off here, and when it is another's."""
    script(stack, {**CUT, "kept": NONE[what]}, {"text": TEXT})
    stack.consumer()
    is_repeated(stack, stack.submit(prompt="go", model="kept"))
    assert counted(stack) == (2, 1)
    stack.model.reset()
    script(stack, {**SLOW, "kept": NONE[what]}, {"text": TEXT})
    job = stack.submit(prompt="go", model="kept")
    killed(stack, job)
    is_repeated(stack, job)
    assert counted(stack) == (2, 1)


def test_an_endpoint_that_never_lets_one_go_through(stack):
    """It comes to an end, as it did before."""
    script(stack, {**CUT, "kept": {"status": 404}})
    stack.consumer(max_attempts=3)
    result = stack.result(stack.submit(prompt="go", model="kept"))
    assert result["status"] == "failed" and result["error"]["code"] == "model_cut"
    assert counted(stack) == (3, 3)


def test_one_that_never_comes_to_its_end(stack):
    """It is told so, and another one asked for."""
    script(stack, {**CUT, "kept": {"state": "queued"}}, {"text": TEXT})
    stack.consumer()
    is_repeated(stack, stack.submit(prompt="go", model="hasty"))
    assert stack.model.counts()["cancelled"] == 1


def test_one_that_never_comes_to_its_end_where_nobody_holds_a_slot(stack):
    """It is waited for here all the same: else nobody knew for how long."""
    script(stack, {**CUT, "kept": {"state": "queued"}}, {"text": TEXT})
    stack.consumer(hold="100ms")
    job = stack.submit(prompt="go", model="hasty", retry={"backoff_ms": 50})
    is_repeated(stack, job)
    assert stack.model.counts()["cancelled"] == 1


def test_an_endpoint_that_never_says(stack):
    """Then it is asked for another one: what was tried is not that."""
    script(stack, {**CUT, "kept": {"status": 503}}, {"text": TEXT})
    stack.consumer(max_attempts=3)
    job = stack.submit(prompt="go", model="kept", retry={"backoff_ms": 50})
    is_repeated(stack, job)
    assert counted(stack) == (2, 3)


TOO_LONG = {
    "id": "r",
    "object": "response",
    "status": "failed",
    "error": {"code": "context_length_exceeded", "message": "too long"},
}


def test_a_reply_to_what_was_too_long(stack):
    """As one that comes with the stream: it is asked for with less."""
    kept = {"body": json.dumps(TOO_LONG)}
    script(stack, {**CUT, "kept": kept}, {"text": TEXT})
    stack.consumer()
    roles = ["user", "assistant"] * 3 + ["user"]
    messages = [{"role": role, "content": f"{n} " * 99} for n, role in enumerate(roles)]
    result = stack.result(stack.submit(messages=messages, model="kept"))
    assert result["answer"] == TEXT, result
    first, second = (len(stack.model.request(n)["input"]) for n in range(2))
    assert second < first


def test_a_reply_that_nobody_may_have(stack):
    """As one that comes with the stream: it is not asked for again."""
    filtered = {"text": TEXT, "finish_reason": "content_filter", "cut": 700}
    script(stack, filtered)
    stack.consumer()
    result = stack.result(stack.submit(prompt="go", model="kept"))
    assert result["status"] == "failed" and result["error"]["code"] == "model_refused"
    assert counted(stack) == (1, 1)


def test_a_reply_that_was_stopped_by_its_length(stack):
    short = {"text": TEXT, "finish_reason": "length"}
    script(stack, short, {**short, "cut": 700})
    stack.consumer()
    whole = stack.result(stack.submit(prompt="go", model="kept"))
    fetched = stack.result(stack.submit(prompt="go", model="kept"))
    for member in ("status", "answer", "error"):
        assert fetched.get(member) == whole.get(member)
    assert counted(stack) == (2, 1)


# ---------------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "id", ["../../counts", "a/b", "a?b=c", "a b", "é", "%2e%2e", "x" * 10240, ""]
)
def test_an_id_that_is_none(stack, id):
    """It would go into a URL: it is not kept, and not asked for."""
    long = {"text": TEXT * 400, "id": id, "cut": 12000}
    script(stack, long, {"text": TEXT})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    is_repeated(stack, job)
    assert stack.model.counts()["fetched"] == 0
    assert [r.get("reply_id") for r in journal(stack, job) if "reply_id" in r] in (
        [],
        ["resp_practice_2"],
    )


def test_an_id_in_a_journal_that_is_none(stack):
    script(stack, {"text": TEXT, "delay_ms": 60000}, {"text": TEXT})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
    stack.consumers[-1].kill()
    record = {"v": 1, "kind": "model_sent", "turn": 1, "reply_id": "../../counts"}
    stack.db.rpush(f"{ROOT}journal:{job}", msgpack.packb(record))
    stack.consumer()
    is_repeated(stack, job)
    assert stack.model.counts()["fetched"] == 0


# ---------------------------------------------------------------- endpoints

DOWN = {"status": 503, "error": "closed"}


def test_a_fallback_that_was_asked_is_asked_for_it(stack, models):
    models(stack, first={"fallback": "kept"}, kept={"parameters": KEPT})
    script(stack, DOWN, SLOW)
    stack.consumer(max_attempts=1)
    job = stack.submit(prompt="go", model="first")
    killed(stack, job)
    result = is_fetched(stack, job, attempts=2)
    assert result["model"] == "kept"


def test_an_endpoint_that_is_no_longer_there(stack, models):
    models(stack, first={"fallback": "kept"}, kept={"parameters": KEPT})
    script(stack, DOWN, SLOW, {"text": TEXT})
    stack.consumer(max_attempts=1)
    job = stack.submit(prompt="go", model="first")
    stack.wait_event(job, "message.delta")
    sent(stack, job)
    models(stack, first={}, other={"model": "kept", "parameters": KEPT})
    stack.consumers[-1].kill()
    stack.consumer()
    result = is_repeated(stack, job)
    assert result["model"] == "first" and stack.model.counts()["fetched"] == 0


# ---------------------------------------------------------------- cancelled


def test_nobody_wants_it_any_more(stack):
    """While it comes, and while it is waited for."""
    script(stack, {**SLOW, "kept": {"after_ms": 60000}})
    stack.consumer()
    job = stack.submit(prompt="go", model="kept")
    stack.wait_event(job, "message.delta")
    stack.call("cancel", job)
    assert stack.result(job)["status"] == "cancelled"
    wait_until(lambda: stack.model.counts()["cancelled"] == 1, what="it is told")
    script(stack, {**CUT, "kept": {"after_ms": 60000}})
    job = stack.submit(prompt="go", model="kept")
    stack.wait_event(job, "job.retrying")
    stack.call("cancel", job)
    assert stack.result(job)["status"] == "cancelled"
    wait_until(lambda: stack.model.counts()["cancelled"] == 2, what="it is told")


def test_the_deadline_ends_the_wait(stack):
    script(stack, {**CUT, "kept": {"after_ms": 60000}})
    stack.consumer()
    begin = time.monotonic()
    job = stack.submit(prompt="go", model="kept", limits={"deadline_ms": 10000})
    assert stack.result(job)["status"] == "failed"
    assert time.monotonic() - begin < 55
    wait_until(lambda: stack.model.counts()["cancelled"] == 1, what="it is told")


def test_without_background_there_is_nothing_to_cancel(stack):
    script(stack, SLOW)
    stack.consumer()
    job = stack.submit(prompt="go", model="stored")
    stack.wait_event(job, "message.delta")
    stack.call("cancel", job)
    assert stack.result(job)["status"] == "cancelled"
    wait_until(lambda: stack.model.counts()["open"] == 0, what="nobody listens")
    assert stack.model.counts()["cancelled"] == 0


# ------------------------------------------------------------------ counted


def endpoints(stack, tmp_path):
    """As the operator sees them, by name."""
    quern = Command(stack.redis.url, tmp_path)
    return {line["endpoint"]: line for line in quern.json("endpoint", "ls")}


def test_what_was_paid_twice_and_what_was_not_is_counted(stack, tmp_path):
    lost = {**CUT, "kept": {"status": 404}}
    script(stack, {"text": TEXT}, CUT, lost, {"text": TEXT}, CUT, {"text": TEXT})
    stack.consumer()
    for model in ("kept", "kept", "kept", "plain"):
        is_told(stack, stack.submit(prompt="go", model=model))

    def counts():
        told = endpoints(stack, tmp_path)
        names = ("calls", "paid_twice", "recovered")
        return {n: tuple(e[name] for name in names) for n, e in told.items()}

    wanted = {"kept": (4, 1, 1), "plain": (2, 1, 0)}
    wait_until(lambda: counts() == wanted, what=f"{wanted}, by the fleet")
    key = "quern:{quern:fleet}:counts"
    client = fleet_of(stack)
    assert 29 * 24 * 3600 * 1000 < client.pttl(key) <= 30 * 24 * 3600 * 1000


class Counted(Relay):
    """Counts what it carries to Redis of these."""

    def __init__(self, server, command):
        self.command, self.times = command, 0
        super().__init__(server, shared=object)

    def requests(self, client, server, _):
        while data := read(client):
            self.times += data.count(self.command)
            if not write(server, data):
                break

    def answers(self, client, server, _):
        while (data := read(server)) and write(client, data):
            pass


@single
def test_counts_are_told_once_a_second(stack, tmp_path):
    """However many requests there are."""
    with Counted(stack.redis.socket, b"\r\nHINCRBY\r\n") as way:
        consumer = stack.consumer(redis_url=way.url)
        begin = time.monotonic()
        for job in [stack.submit(prompt=f"job {n}", model="plain") for n in range(60)]:
            stack.result(job)

        def calls():
            return endpoints(stack, tmp_path).get("plain", {}).get("calls")

        wait_until(lambda: calls() == 60, what="they are told")
        assert 0 < way.times <= time.monotonic() - begin + 1
        stack.dismiss(consumer)


def test_counts_that_redis_does_not_take(stack, tmp_path):
    """It is said once, and everything goes on."""
    stack.consumer()
    client = fleet_of(stack)
    client.execute_command("ACL", "SETUSER", "default", "-hincrby")
    stack.run(prompt="go", model="plain")
    consumer = stack.consumers[-1]
    wait_until(lambda: "endpoints.refused" in consumer.text(), what="it is said")
    client.execute_command("ACL", "SETUSER", "default", "+hincrby")
    stack.run(prompt="go on", model="plain")
    wait_until(lambda: "plain" in endpoints(stack, tmp_path), what="it is told")
    assert consumer.text().count("endpoints.refused") == 1
