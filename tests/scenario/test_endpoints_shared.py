"""When an endpoint asks one consumer to wait, the others leave it alone as well."""

import json
import time

import pytest
from practice_model import PracticeModel
from servers import KIND, RedisCluster, wait_until
from stack import Stack

FLEET = "quern:{quern:fleet}:"
WAITS = FLEET + "waits"
LATER = {"status": 429, "headers": {"Retry-After": "300"}}
OK = {"text": "ok"}
single = pytest.mark.skipif(KIND != "single", reason="of one server")


@pytest.fixture
def stack():
    with Stack(executor=False, hold=0) as stack:
        yield stack


@pytest.fixture
def lasting():
    """What Redis has said outlives it."""
    with Stack(executor=False, redis={"aof": True}, hold=0) as stack:
        yield stack


def fleet(stack):
    """A client of who has the fleet's keys."""
    if isinstance(stack.redis, RedisCluster):
        return stack.redis.client(key="quern:fleet")
    return stack.db


def script(stack, *replies):
    """In that order, whoever asks; the last one again and again."""
    replies = [*replies, *[replies[-1]] * 20]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.model.reset()


def asked(stack):
    return stack.model.counts()["total"]


def run_at(stack, queue, **job):
    job = stack.submit(queue=queue, **(job or {"prompt": "go"}))
    result = stack.result(job)
    assert result["answer"] == "ok", result
    return result


def wait_of(stack, job):
    """How long a job was put aside for, ms."""
    stack.wait_event(job, "job.waiting")
    return stack.wait_event(job, "job.retrying")["data"]["wait_ms"]


def two(stack):
    """Consumers of queues of their own, which have looked a while ago."""
    consumers = [stack.consumer(queues=queue) for queue in "ab"]
    time.sleep(0.2)
    return consumers


def is_put_aside(stack, queue):
    """No request is made for it."""
    before = asked(stack)
    assert wait_of(stack, stack.submit(prompt="go", queue=queue)) > 240_000
    assert asked(stack) == before


def is_turned_away(stack, queue, **settings):
    """A consumer's request is: it is asked to wait."""
    consumer = stack.consumer(queues=queue, **settings)
    wait_of(stack, stack.submit(prompt="go", queue=queue))
    assert asked(stack) == 1
    return consumer


def is_written(stack):
    wait_until(lambda: fleet(stack).exists(WAITS), 20, "the wait is in Redis")


# ------------------------------------------------------------------- waits

ASKED_FOR = [
    ("retry-after", {"status": 429, "headers": {"Retry-After": "300"}}, "waiting"),
    (
        "nothing is left",
        {
            "text": "ok",
            "headers": {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "5m0s",
            },
        },
        "completed",
    ),
    (
        "429 without retry-after",
        {
            "status": 429,
            "headers": {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "in 300 s",
            },
        },
        "waiting",
    ),
    (
        "fewer tokens than the last request took",
        {
            "text": "ok",
            "usage": {"prompt_tokens": 500, "completion_tokens": 500},
            "headers": {
                "x-ratelimit-remaining-tokens": "900",
                "x-ratelimit-reset-tokens": "300",
            },
        },
        "completed",
    ),
]


@pytest.mark.parametrize(
    "reply, state", [row[1:] for row in ASKED_FOR], ids=[row[0] for row in ASKED_FOR]
)
def test_one_is_asked_to_wait_and_all_do(stack, reply, state):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 300))
    headers = {k: at if v == "in 300 s" else v for k, v in reply["headers"].items()}
    script(stack, {**reply, "headers": headers})
    two(stack)
    first = stack.submit(prompt="go", queue="a")
    wait_until(lambda: stack.state(first) == state, what=f"the first is {state}")
    stack.consumer(queues="c")
    for queue in "abc":
        job = stack.submit(prompt="go", queue=queue)
        assert 240_000 < wait_of(stack, job) <= 300_000
    assert asked(stack) == 1, "nobody else has asked"


def test_what_is_over_is_over(stack):
    script(stack, {"status": 429, "headers": {"Retry-After": "8"}}, {"text": "ok"})
    two(stack)
    first = stack.submit(prompt="go", queue="a")
    assert wait_of(stack, first) <= 8000
    second = stack.submit(prompt="go", queue="b")
    assert wait_of(stack, second) <= 8000
    assert stack.result(first)["answer"] == stack.result(second)["answer"] == "ok"
    assert asked(stack) == 3


def test_the_later_time_stays(stack):
    """Who was asked to wait for less, and hears of it later, changes nothing."""
    less = {"status": 429, "headers": {"Retry-After": "5"}, "delay_ms": 6000}
    script(stack, less, {"status": 429, "headers": {"Retry-After": "300"}})
    two(stack)
    one = stack.submit(prompt="go", queue="a")
    wait_until(lambda: asked(stack) == 1, what="the first is asked")
    other = stack.submit(prompt="go", queue="b")
    assert wait_of(stack, other) > 240_000
    wait_of(stack, one)
    assert asked(stack) == 2
    stack.consumer(queues="c")
    assert wait_of(stack, stack.submit(prompt="go", queue="c")) > 240_000
    assert asked(stack) == 2


def test_a_reply_does_not_end_a_wait(stack):
    """It was asked for before the other one was turned away."""
    slow = {"text": "ok", "first_ms": 5000}
    script(stack, slow, {"status": 429, "headers": {"Retry-After": "300"}})
    stack.consumer(slots=4)
    one = stack.submit(prompt="go")
    wait_until(lambda: asked(stack) == 1, what="the first is asked")
    wait_of(stack, stack.submit(prompt="go"))
    assert stack.result(one)["answer"] == "ok"
    assert wait_of(stack, stack.submit(prompt="go")) > 240_000
    assert asked(stack) == 2


def test_no_more_are_sent_than_are_left(stack):
    """Ten want to ask, the endpoint takes three more."""
    left = {
        "x-ratelimit-remaining-requests": "3",
        "x-ratelimit-reset-requests": "300s",
    }
    script(
        stack,
        {"text": "ok", "headers": left},
        {"text": "ok", "first_ms": 2000},
    )
    stack.consumer(slots=12)
    run_at(stack, "default")
    jobs = [stack.submit(prompt="go") for _ in range(10)]
    wait_until(lambda: asked(stack) == 4, what="three are asked")
    wait_until(
        lambda: sorted(stack.state(job) for job in jobs)
        == ["completed"] * 3 + ["waiting"] * 7,
        what="seven wait",
    )
    assert asked(stack) == 4
    assert not fleet(stack).exists(WAITS), "the others may know better"


@pytest.mark.parametrize("reset, model", [("300ms", "default"), ("300s", "second")])
def test_another_model_is_asked_when_that_takes_long(stack, tmp_path, reset, model):
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": reset,
    }
    with PracticeModel(script=[{"text": "ok"}]) as other:
        models = {
            "default": {"url": stack.model.url, "model": "m", "fallback": "second"},
            "second": {"url": other.url, "model": "m"},
        }
        path = tmp_path / "models.json"
        path.write_text(json.dumps(models))
        script(stack, {"text": "ok", "headers": headers})
        stack.consumer(models=path, max_attempts=9)
        run_at(stack, "default")
        assert run_at(stack, "default")["model"] == model


def test_failures_are_ones_own(stack):
    script(stack, *[{"status": 503, "error": "closed"}] * 5, {"text": "ok"})
    stack.consumer(queues="a", max_attempts=5)
    assert stack.run(prompt="go", queue="a")["status"] == "failed"
    stack.consumer(queues="b")
    run_at(stack, "b")
    assert not fleet(stack).exists(WAITS)


def test_what_is_only_called_the_same_is_another_one(stack):
    script(stack, LATER, OK)
    is_turned_away(stack, "a")
    stack.consumer(queues="b", env={"OPENAI_MODEL": "another"})
    run_at(stack, "b")
    assert asked(stack) == 2


def test_a_wait_is_forgotten_some_day(stack):
    script(stack, LATER)
    is_turned_away(stack, "a")
    is_written(stack)
    assert 0 < fleet(stack).pttl(WAITS) <= 8 * 24 * 3600 * 1000


def test_a_parameter_is_refused_to_each(stack):
    """That is not shared: each consumer finds out for itself, once."""
    script(stack, {"refuse": ["stream_options"], "text": "ok"})
    two(stack)
    for queue, requests in [("a", 2), ("a", 3), ("b", 5), ("b", 6)]:
        run_at(stack, queue)
        assert asked(stack) == requests
    assert "stream_options" not in stack.model.request()


def test_models_that_are_loaded_anew_are_known(stack, tmp_path):
    script(stack, LATER)
    is_turned_away(stack, "a")
    is_written(stack)
    path = tmp_path / "models.json"
    entry = {"url": stack.model.url, "model": "other"}
    path.write_text(json.dumps({"default": entry}))
    later = stack.consumer(queues="b", models=path, lease="1m")
    path.write_text(json.dumps({"default": {**entry, "model": "practice"}}))
    later.signal(1)  # HUP
    later.wait_for('"model.heard"')
    is_put_aside(stack, "b")


def test_while_redis_is_away_it_is_kept(lasting):
    stack = lasting
    script(stack, {**LATER, "delay_ms": 5000})
    stack.consumer(queues="a")
    stack.submit(prompt="go", queue="a")
    wait_until(lambda: asked(stack) == 1, what="it is asked")
    stack.redis.kill()
    time.sleep(6)
    stack.redis.start()
    is_written(stack)
    stack.consumer(queues="b")
    is_put_aside(stack, "b")


def test_what_redis_has_lost_is_written_again(stack):
    script(stack, LATER)
    is_turned_away(stack, "a")
    is_written(stack)
    fleet(stack).delete(WAITS)
    fleet(stack).client_kill_filter(_type="normal", skipme=True)
    is_written(stack)


def login(stack, *more):
    """A URL for one that may not write to the keys that are shared."""
    rules = ["on", ">secret", "~quern:{000}:*", "~quern:fleet", "&*", "+@all"]
    stack.db.execute_command("ACL", "SETUSER", "me", *rules, *more)
    return f"unix://me:secret@{stack.redis.url.split('://')[1]}"


@single
def test_what_redis_has_refused_is_written_again(stack):
    """The connection stands all the while."""
    url = login(stack, "%R~quern:{quern:fleet}:*")
    script(stack, LATER)
    consumer = is_turned_away(stack, "a", redis_url=url, lease="600ms")
    consumer.wait_for('"endpoints.refused"')
    assert not fleet(stack).exists(WAITS)
    stack.db.execute_command("ACL", "SETUSER", "me", "~quern:{quern:fleet}:*")
    is_written(stack)
    assert consumer.text().count('"redis.lost"') == 0


# ----------------------------------------------------------------- garbage


def odd(consumer):
    return consumer.text().count('"endpoints.bad_wait"')


@pytest.mark.parametrize("until", ["inf", "-inf", "1e300", "-5", "0", "99999999999999"])
def test_what_is_no_time_is_passed_over(stack, until):
    script(stack, {"text": "ok", "headers": {"x": "y"}})
    stack.consumer(queues="a")
    script(stack, {"status": 429, "headers": {"Retry-After": "2"}}, {"text": "ok"})
    stack.result(stack.submit(prompt="go", queue="a"))
    ((name, _),) = fleet(stack).zrange(WAITS, 0, -1, withscores=True)
    fleet(stack).zadd(WAITS, {name: until, b"\xff": until})
    late = stack.consumer(queues="b")
    run_at(stack, "b")
    run_at(stack, "b")
    later_than_any = until in ("inf", "1e300", "99999999999999")
    assert odd(late) == (1 if later_than_any else 0)
    if later_than_any:
        assert fleet(stack).zscore(WAITS, name) is None, "it would stay for ever"


def test_a_key_of_another_kind_is_told_of_once(stack):
    fleet(stack).set(WAITS, "text")
    script(stack, OK)
    consumer = stack.consumer()
    for _ in range(3):
        run_at(stack, "default")
    assert asked(stack) == 3
    assert consumer.text().count('"endpoints.refused"') == 1
    assert "WRONGTYPE" in consumer.text()


@single
def test_a_login_that_may_not_read_it_serves_all_the_same(stack):
    script(stack, OK)
    consumer = stack.consumer(redis_url=login(stack))
    for _ in range(2):
        run_at(stack, "default")
    assert asked(stack) == 2
    assert consumer.text().count('"endpoints.refused"') == 1
