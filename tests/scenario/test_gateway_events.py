"""quern-gateway: following jobs, whatever happens meanwhile."""

import contextlib
import http.client
import os
import select
import threading
import time

import msgpack
import pytest
import redis
from gateway import Gateway, frees_at_once
from processes import resident
from servers import wait_until
from stack import ROOT, Stack, job_id

LAST = ("job.completed", "job.incomplete", "job.failed", "job.cancelled")


@pytest.fixture
def gateway(stack):
    with Gateway(stack.redis.url) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


class Feed:
    """A job whose events the test itself writes, as a consumer would."""

    def __init__(self, stack, **job):
        self.stack, self.id, self.seq = stack, job_id(), 0
        self.key = f"{ROOT}events:{self.id}"
        stack.submit(id=self.id, kind="code", cells=["1"], queue="nobody", **job)

    def event(self, type, **data):
        self.seq += 1
        event = {"v": 1, "seq": self.seq, "at": 1, "attempt": 1, "type": type}
        return msgpack.packb({**event, "data": data})

    def write(self, type="message.delta", publish=True, **data):
        event = self.event(type, **data)
        pipe = self.stack.db.pipeline()
        pipe.xadd(self.key, {"event": event}, id=f"{self.seq}-0")
        pipe.hset(f"{ROOT}job:{self.id}", "seq", self.seq)
        if publish:
            pipe.publish(self.key, event)
        pipe.execute()

    def end(self, **given):
        self.stack.db.hset(f"{ROOT}job:{self.id}", "state", "completed")
        self.write("job.completed", **given)


def collect(follower):
    """A thread that takes all events; .seen grows, .join() at the end."""
    seen = []

    def take():
        for event in follower.events():
            seen.append(event)

    thread = threading.Thread(target=take, daemon=True)
    thread.seen = seen
    thread.start()
    return thread


def check_whole(seen, after=0):
    """Every number once and in order, and the end is the last."""
    assert [id for id, _, _ in seen] == list(range(after + 1, after + 1 + len(seen)))
    assert [data["seq"] for _, _, data in seen] == [id for id, _, _ in seen]
    assert [type for _, type, _ in seen if type in LAST] == [seen[-1][1]]


def test_a_job_is_followed_from_its_submit_to_its_end(gateway, stack):
    stack.model.script([{"text": "hello there", "chunks": 3}])
    status, answer = gateway.json("POST", "/v1/jobs", {"prompt": "x"})
    assert status == 201
    seen = list(gateway.follow(answer["id"]).events())
    check_whole(seen)
    assert [type for _, type, _ in seen] == stack.types(answer["id"])
    assert seen[-1][2]["data"]["answer"] == "hello there"
    again = list(gateway.follow(answer["id"]).events())
    assert again == seen
    late = list(gateway.follow(answer["id"], query="?after=2").events())
    assert late == seen[2:]
    back = gateway.follow(answer["id"], query="?after=1", last_event_id="3")
    assert list(back.events()) == seen[3:]
    last = gateway.follow(answer["id"], last_event_id=str(seen[-1][0]))
    assert last.open().status == 204


def test_what_is_no_number_is_refused(gateway, stack):
    job = Feed(stack)
    path = f"/v1/jobs/{job.id}/events"
    for value in ("x", "-1", "1x", "9" * 30):
        refused = gateway.refusal("GET", path, last_event_id=value)
        assert refused == (400, "bad_field", "Last-Event-ID")
    assert gateway.refusal("GET", f"{path}?after=x") == (400, "bad_field", "after")
    assert gateway.refusal("GET", f"/v1/jobs/{job_id()}/events")[0] == 404


def test_events_that_were_not_published_come_all_the_same(gateway, stack):
    job = Feed(stack)
    job.write()
    with_all = collect(gateway.follow(job.id))
    wait_until(lambda: len(with_all.seen) == 1)
    job.write(publish=False)
    begun = time.monotonic()
    job.write()  # a number is missing before it
    wait_until(lambda: len(with_all.seen) == 3)
    job.write(publish=False)  # silence: the facts say that there is more
    wait_until(lambda: len(with_all.seen) == 4)
    assert time.monotonic() - begun > 1
    job.end()
    with_all.join(60)
    check_whole(with_all.seen)


def test_events_that_redis_no_longer_has_are_a_gap(gateway, stack):
    job = Feed(stack)
    for _ in range(10):
        job.write()
    stack.db.xtrim(job.key, maxlen=4, approximate=False)
    job.end()
    seen = list(gateway.follow(job.id, query="?after=2").events())
    assert (seen[0][0], seen[0][1]) == (6, "gap")
    assert seen[0][2]["data"] == {"from": 3, "to": 6}
    assert [id for id, _, _ in seen[1:]] == [7, 8, 9, 10, 11]


def test_the_end_is_made_when_the_stream_is_gone(gateway, stack):
    stack.model.script([{"text": "kept"}])
    job = gateway.json("POST", "/v1/jobs", {"prompt": "x"})[1]["id"]
    stack.result(job)
    stack.db.delete(f"{ROOT}events:{job}")
    seen = list(gateway.follow(job).events())
    assert [type for _, type, _ in seen] == ["gap", "job.completed"]
    assert seen[1][2]["data"]["answer"] == "kept"


def test_a_failover_that_lost_events_begins_again(gateway, stack):
    job = Feed(stack)
    for _ in range(5):
        job.write(text="first")
    follower = collect(gateway.follow(job.id))
    wait_until(lambda: len(follower.seen) == 5)
    stack.db.delete(job.key)
    job.seq = 3
    job.write(text="second")
    job.end()
    follower.join(60)
    gap = follower.seen[5]
    assert gap[:2] == (0, "gap") and gap[2]["data"] == {"from": 1, "to": 5}
    rest = [(id, type) for id, type, _ in follower.seen[6:]]
    assert rest == [(3, "gap"), (4, "message.delta"), (5, "job.completed")]


def test_waiting_for_the_end(gateway, stack):
    job = Feed(stack)
    begun = time.monotonic()
    status, answer = gateway.json("GET", f"/v1/jobs/{job.id}?wait=300ms")
    assert status == 200 and answer["state"] == "queued"
    assert time.monotonic() - begun > 0.25
    threading.Timer(0.5, job.end).start()
    begun = time.monotonic()
    status, answer = gateway.json("GET", f"/v1/jobs/{job.id}?wait=50s")
    assert status == 200 and answer["state"] == "completed"
    assert time.monotonic() - begun < 20
    for wrong in ("5", "x", "2m"):
        refused = gateway.refusal("GET", f"/v1/jobs/{job.id}?wait={wrong}")
        assert refused == (400, "bad_field", "wait")


def test_a_follower_goes_on_after_its_gateway_was_killed(stack):
    job = Feed(stack)
    seen = []
    with Gateway(stack.redis.url) as gateway:
        gateway.ready()
        for round in range(4):
            for _ in range(5):
                job.write(text="x")
            if round == 3:
                job.end()
            follower = gateway.follow(job.id, last_event_id=str(len(seen)))
            for event in follower.events():
                seen.append(event)
                if len(seen) == 5 * round + 5 and round < 3:
                    break
            gateway.kill()
            gateway.begin()
            gateway.ready()
        gateway.drain()
    check_whole(seen)
    assert len(seen) == 21


def takes_writes(stack):
    try:
        return stack.db.set(f"{ROOT}probe", 1, px=1)
    except redis.exceptions.RedisError:
        return False


def test_followers_stay_while_redis_is_away():
    """They miss nothing of what was written before, meanwhile and after."""
    with Stack(executor=False, redis={"appendonly": "yes"}) as stack:
        with Gateway(stack.redis.url) as gateway:
            gateway.ready()
            jobs = [Feed(stack) for _ in range(5)]
            threads = [collect(gateway.follow(job.id)) for job in jobs]
            for job in jobs:
                job.write()
            for _ in range(2):
                wait_until(lambda: all(len(t.seen) == jobs[0].seq for t in threads))
                stack.redis.kill()
                wait_until(lambda: gateway.call("GET", "/readyz")[0] == 503)
                refused = gateway.call("GET", f"/v1/jobs/{jobs[0].id}")
                assert (refused[0], refused[1]["Retry-After"]) == (503, "1")
                assert gateway.call("GET", "/livez")[0] == 200
                stack.redis.start()
                wait_until(lambda: takes_writes(stack))
                for job in jobs:
                    job.write(publish=False)
                    job.write()
                wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
            for job in jobs:
                job.end()
            for thread in threads:
                thread.join(60)
                check_whole(thread.seen)
                assert len(thread.seen) == 6
            gateway.drain()


@pytest.fixture
def frugal(stack):
    with Gateway(stack.redis.url, more=frees_at_once()) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


def test_a_thousand_followers_some_of_whom_do_not_read(frugal, stack):
    """Who does not read is cut, and costs no memory; the others get all."""
    gateway, job = frugal, Feed(stack)
    job.write()
    readers = [collect(gateway.follow(job.id)) for _ in range(40)]
    others = [gateway.follow(job.id, buffer=4096) for _ in range(960)]
    wait_until(lambda: all(len(reader.seen) == 1 for reader in readers))
    for other in others:  # it has been answered
        assert select.select([other.socket], [], [], 60)[0]
    before = resident(gateway.pid)
    for _ in range(400):
        job.write(text="x" * 20000)
        if job.seq % 2 == 0:  # so that readers keep up
            wait_until(lambda: all(len(reader.seen) == job.seq for reader in readers))
    grown = resident(gateway.pid) - before
    job.end()
    for reader in readers:
        reader.join(60)
        check_whole(reader.seen)
        assert len(reader.seen) == job.seq
    assert grown < 100 << 20, f"{grown >> 20} MiB more"
    for other in others:
        other.close()


def events_until_cut(follower):
    """What had come to it when the gateway closed its connection."""
    seen = []
    with contextlib.suppress(ConnectionResetError, http.client.IncompleteRead):
        for event in follower.events():
            seen.append(event)
    return seen


def test_who_does_not_read_is_cut_and_goes_on_where_it_was(frugal, stack):
    """Also while pings are sent; all that one has missed is there for it. Those that
    are only slow are not cut."""
    gateway, job = frugal, Feed(stack)
    files = f"/proc/{gateway.child.pid}/fd"
    readers = [collect(gateway.follow(job.id)) for _ in range(20)]
    silent = [gateway.follow(job.id, buffer=4096) for _ in range(100)]
    job.write()
    for one in silent:  # it has been answered
        assert select.select([one.socket], [], [], 60)[0]
    before, used = len(os.listdir(files)), resident(gateway.pid)
    for _ in range(300):
        job.write(text="x" * 20000)
    assert resident(gateway.pid) - used < len(silent) * 480 << 10
    wait_until(lambda: len(os.listdir(files)) <= before - len(silent), 120, "all cut")
    job.write(text="last")
    job.end()
    for reader in readers:
        reader.join(60)
        check_whole(reader.seen)
        assert len(reader.seen) == job.seq
    for one in silent[::10]:
        seen = events_until_cut(one)
        assert 0 < len(seen) < job.seq
        again = gateway.follow(job.id, last_event_id=str(seen[-1][0]))
        assert seen + list(again.events()) == readers[0].seen
    for one in silent:
        one.close()


def test_a_follower_that_is_slow_replays_without_being_cut(gateway, stack):
    """Who is behind is not sent more than he takes."""
    job = Feed(stack)
    for _ in range(200):
        job.write(text="y" * 20000)
    job.end()
    follower = gateway.follow(job.id, buffer=4096)
    seen = []
    for event in follower.events():
        seen.append(event)
        if len(seen) < 40:
            time.sleep(0.02)
    check_whole(seen)
    assert len(seen) == 201


def test_many_jobs_and_many_followers_share_one_connection(gateway, stack):
    jobs = [Feed(stack) for _ in range(20)]
    threads = [collect(gateway.follow(job.id)) for job in jobs for _ in range(3)]
    for _ in range(30):
        for job in jobs:
            job.write(text="x" * 100)
    for job in jobs:
        job.end()
    for thread in threads:
        thread.join(60)
        check_whole(thread.seen)
        assert len(thread.seen) == 31
    clients = stack.db.client_list()
    names = [client["name"] for client in clients]
    assert names.count("quern-gateway-events") == 1
    channels = stack.db.execute_command("PUBSUB", "CHANNELS", f"{ROOT}events:*")
    wait_until(
        lambda: not stack.db.execute_command("PUBSUB", "CHANNELS", f"{ROOT}events:*"),
        what=f"no channel of {channels}",
    )
