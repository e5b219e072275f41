"""quern check: sound partitions are called sound, also while jobs move, and each
thing that can be broken is found."""

import json
import subprocess
import threading
import time

import pytest
from command import QUERN
from library import Library, job_id
from servers import RedisServer


class World:
    """Jobs in every place there is, some of which are broken by hand."""

    def __init__(self):
        self.server = RedisServer()
        self.redis = self.server.client()
        self.jobs = Library(self.redis).load()
        self.root = self.jobs.root
        self.number = 0

    def key(self, name):
        return f"{self.root}{name}"

    def submit(self, **pairs):
        self.number += 1
        id = job_id(self.number)
        self.jobs.submit(id, **pairs)
        return id

    def queued(self):
        return self.submit(tenant=f"t{self.number}", queue="q")

    def running(self, **pairs):
        queue = f"run{self.number}"
        id = self.submit(queue=queue, **pairs)
        self.jobs.begin(stream=self.jobs.work(queue))
        return id

    def read(self):
        """Its entry was read, and is not acknowledged."""
        queue = f"run{self.number}"
        id = self.submit(queue=queue)
        self.jobs.take(stream=self.jobs.work(queue))
        return id

    def ended(self, state="completed"):
        id = self.running()
        self.jobs.finish(id, self.jobs.epoch(id), state)
        return id

    def laned(self):
        """One that is not the first of its lane, with a small body."""
        tenant = f"t{self.number}"
        for _ in range(34):
            id = self.submit(tenant=tenant, queue="q")
        return id

    def scheduled(self):
        return self.submit(delay_ms=600000, queue="q")

    def in_session(self):
        """The second in the line of one of its own."""
        session = f"s{self.number}"
        self.submit(session=session, queue="q")
        return self.submit(session=session, queue="q")

    def with_blob(self):
        name = self.jobs.put(f"bytes {self.number}".encode())
        return self.submit(queue="q", blobs=[name]), name

    def queue_of(self, id):
        return self.jobs.facts(id)["queue"]

    def entry(self, id):
        return self.jobs.facts(id)["entry"]

    def check(self, *words):
        done = subprocess.run(
            [QUERN, "check", *words],
            env={"REDIS_URL": self.server.url},
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr


ANY = ""  # key: what names a job may be read in any order


def job_key(id):
    return f"job:{id}"


# Each breaks something of its own; gives the key that is told, and of what is
# said of it a part.


def an_entry_is_deleted(world):
    id = world.queued()
    entry = world.entry(id)
    world.redis.xdel(world.jobs.work("q"), entry)
    return job_key(id), f"its entry {entry} is in no stream"


def a_running_job_has_no_lease(world):
    id = world.running()
    world.redis.zrem(world.key(f"leases:{world.queue_of(id)}"), id)
    return job_key(id), "it runs, but has no lease"


def a_running_job_has_an_entry(world):
    id = world.running()
    world.redis.xadd(world.jobs.work(world.queue_of(id)), {"id": id})
    return job_key(id), "it runs, and has an entry in a stream"


def an_entry_was_deleted_but_not_acknowledged(world):
    id = world.read()
    queue = world.jobs.facts(id)["queue"]
    world.redis.xdel(world.jobs.work(queue), world.entry(id))
    return f"work:{queue}:normal", "is pending, but not in the stream"


def a_second_entry(world):
    id = world.queued()
    world.redis.xadd(world.jobs.work("q"), {"id": id})
    return job_key(id), "it has two entries in streams"


def an_entry_of_no_job(world):
    world.redis.xadd(world.jobs.work("q"), {"no": "job"})
    return "work:q:normal", "names no job"


def an_entry_of_an_ended_job(world):
    id = world.ended()
    world.redis.xadd(world.jobs.work("q"), {"id": id})
    return job_key(id), "it is completed, but it has an entry in a stream"


def facts_are_deleted(world):
    id = world.queued()
    world.redis.delete(world.key(job_key(id)))
    return ANY, f"it names job {id}, which is not there"


def a_lane_is_not_served(world):
    world.laned()
    (tenant,) = [
        t for t in world.redis.hkeys(world.key("lanes:q")) if t == world.last_tenant()
    ]
    world.redis.hdel(world.key("lanes:q"), tenant)
    return f"lane:q/{tenant.decode()}:normal", "nobody will look at it"


def an_element_of_a_lane_is_gone(world):
    id = world.laned()
    world.redis.rpop(world.key(f"lane:q/{world.last_tenant().decode()}:normal"))
    return job_key(id), "of its lane"


def nothing_says_when_it_goes_on(world):
    id = world.scheduled()
    world.redis.zrem(world.key("scheduled:q"), id)
    return job_key(id), "it is scheduled, but nothing says when it goes on"


def out_of_its_line(world):
    id = world.in_session()
    session = world.jobs.facts(id)["session"]
    world.redis.zrem(world.key(f"line:default/{session}"), id)
    return job_key(id), "it is not in the line of its session"


def first_of_its_line_and_nowhere_else(world):
    id = world.in_session()
    session = world.jobs.facts(id)["session"]
    world.redis.zpopmin(world.key(f"line:default/{session}"))
    return job_key(id), "but in no stream and no lane"


def in_line_but_not_listed_as_behind(world):
    id = world.in_session()
    world.redis.srem(world.key("behind:q"), id)
    return job_key(id), "but is not listed among those behind them"


def listed_as_behind(world, id):
    world.redis.sadd(world.key("behind:q"), id)
    return job_key(id)


def behind_but_in_a_stream(world):
    key = listed_as_behind(world, world.queued())
    return key, "it stands in a stream or a lane, and is listed as behind"


def behind_but_in_a_lane(world):
    key = listed_as_behind(world, world.laned())
    return key, "it stands in a stream or a lane, and is listed as behind"


def behind_but_the_first_of_its_line(world):
    id = world.in_session()
    line = world.key(f"line:default/{world.jobs.facts(id)['session']}")
    world.redis.zadd(line, {id: 1})
    return job_key(id), "the first in the line of its session, but in no stream"


def behind_but_it_runs(world):
    key = listed_as_behind(world, world.running())
    return key, "it runs, and is listed as behind"


def behind_but_it_comes_later(world):
    key = listed_as_behind(world, world.scheduled())
    return key, "it is scheduled, and listed as behind"


def behind_but_it_has_ended(world):
    key = listed_as_behind(world, world.ended())
    return key, "it is completed, but it is listed as behind"


def behind_but_no_job(world):
    listed_as_behind(world, job_id(990000))
    return "behind:q", "it names job"


def a_waiting_job_expires(world):
    id = world.queued()
    world.redis.expire(world.key(job_key(id)), 600)
    return job_key(id), "it has not ended, and expires"


def an_ended_job_does_not_expire(world):
    id = world.ended()
    world.redis.persist(world.key(job_key(id)))
    return job_key(id), "it is completed, but does not expire"


def events_do_not_expire(world):
    id = world.ended()
    world.redis.persist(world.key(f"events:{id}"))
    return job_key(id), "its body, journal or events do not expire"


def a_result_does_not_expire(world):
    id = world.ended()
    world.redis.persist(world.key(f"result:{id}"))
    return f"result:{id}", "does not expire"


def a_failed_job_is_not_listed(world):
    id = world.ended("failed")
    world.redis.zrem(world.key(f"dead:{world.jobs.facts(id)['queue']}"), id)
    return job_key(id), "it failed, but is not listed as dead"


def a_body_is_gone(world):
    id = world.queued()
    world.redis.delete(world.key(f"body:{id}"))
    return job_key(id), "what was submitted is not there"


def nobody_watches_a_deadline(world):
    id = world.submit(queue="q", deadline_ms=600000)
    world.redis.zrem(world.key("deadlines"), id)
    return job_key(id), "nobody watches its deadline"


def a_blob_is_gone(world):
    id, blob = world.with_blob()
    world.redis.delete(world.key(f"blob:{blob}"))
    return job_key(id), f"its blob {blob} is not there"


def a_session_with(world, before):
    """Only words fell in it; its key, and the blob of these."""
    id = world.running(session=f"w{world.number}")
    session = f"default/{world.jobs.facts(id)['session']}"
    epoch = world.jobs.epoch(id)
    words = world.jobs.put(session.encode())
    world.jobs.claim(id, epoch, session)
    world.jobs.save(id, epoch, 0, session=session, picture=words)
    world.redis.hset(world.key(f"session:{session}"), "picture", before + words)
    return f"session:{session}", words


def what_was_said_in_a_session_is_gone(world):
    key, words = a_session_with(world, "")
    world.redis.delete(world.key(f"blob:{words}"))
    return key, f"its blob {words} is not there"


def what_was_said_is_gone_as_older_querns_name_it(world):
    key, words = a_session_with(world, " ")
    world.redis.delete(world.key(f"blob:{words}"))
    return key, f"its blob {words} is not there"


def nothing_keeps_a_blob(world):
    id, blob = world.with_blob()
    world.redis.delete(world.key(f"refs:{blob}"))
    return job_key(id), f"nothing keeps its blob {blob}"


def a_blob_of_nobody_does_not_expire(world):
    blob = world.jobs.put(b"nobody's")
    world.redis.persist(world.key(f"blob:{blob}"))
    return f"blob:{blob}", "no job needs it"


def an_ended_job_holds_a_unique_key(world):
    id = world.ended()
    world.redis.set(world.key("unique:default:mine"), id)
    return job_key(id), "it holds a unique key"


def an_ended_job_has_a_lease(world):
    id = world.ended()
    world.redis.zadd(world.key("leases:q"), {id: 1})
    return job_key(id), "it is completed, but it has a lease"


def a_key_of_another_kind(world):
    world.redis.set(world.key("line:default/other"), "x")
    return "line:default/other", "holds something that quern has not put there"


def a_state_that_is_none(world):
    id = world.ended()
    world.redis.hset(world.key(job_key(id)), "state", "dreaming")
    return job_key(id), '"dreaming" is not a state'


def no_job_id_in_a_set(world):
    world.redis.zadd(world.key("leases:q"), {"me": 1})
    return "leases:q", 'names "me", which is no job id'


BREAKS = [
    an_entry_is_deleted,
    a_running_job_has_no_lease,
    a_running_job_has_an_entry,
    an_entry_was_deleted_but_not_acknowledged,
    a_second_entry,
    an_entry_of_no_job,
    an_entry_of_an_ended_job,
    facts_are_deleted,
    a_lane_is_not_served,
    an_element_of_a_lane_is_gone,
    nothing_says_when_it_goes_on,
    out_of_its_line,
    first_of_its_line_and_nowhere_else,
    in_line_but_not_listed_as_behind,
    behind_but_in_a_stream,
    behind_but_in_a_lane,
    behind_but_the_first_of_its_line,
    behind_but_it_runs,
    behind_but_it_comes_later,
    behind_but_it_has_ended,
    behind_but_no_job,
    a_waiting_job_expires,
    an_ended_job_does_not_expire,
    events_do_not_expire,
    a_result_does_not_expire,
    a_failed_job_is_not_listed,
    a_body_is_gone,
    nobody_watches_a_deadline,
    a_blob_is_gone,
    what_was_said_in_a_session_is_gone,
    what_was_said_is_gone_as_older_querns_name_it,
    nothing_keeps_a_blob,
    a_blob_of_nobody_does_not_expire,
    an_ended_job_holds_a_unique_key,
    an_ended_job_has_a_lease,
    a_key_of_another_kind,
    a_state_that_is_none,
    no_job_id_in_a_set,
]


@pytest.fixture(scope="module")
def sound():
    """What check says of a world in which nothing is broken."""
    world = World()
    with world.server:
        world.laned()
        world.in_session()
        world.scheduled()
        world.with_blob()
        world.running()
        world.ended()
        world.ended("failed")
        world.submit(queue="q", deadline_ms=600000, unique_key="u")
        waits = world.running()
        world.jobs.wait(waits, world.jobs.epoch(waits), 0, "approval", 0)
        session = world.running(session="s")
        world.jobs.claim(session, world.jobs.epoch(session), "default/s")
        blob = world.jobs.put(b"x = 1")
        world.jobs.save(
            session, world.jobs.epoch(session), 0, session="default/s", files=[blob]
        )
        world.redis.xadd(world.jobs.work("q"), {"no": "job"})
        world.jobs.take_jobs(queues=["q"], count=50)
        yield world


@pytest.fixture(scope="module")
def broken():
    """Where each break is to be told, what, and all that check says."""
    world = World()
    world.last_tenant = lambda: max(
        world.redis.hkeys(world.key("lanes:q")), key=lambda t: int(t[1:])
    )
    with world.server:
        wanted = {broken.__name__: broken(world) for broken in BREAKS}
        code, out, _ = world.check("--json")
        lines = [json.loads(line) for line in out.splitlines()]
        yield code, wanted, lines


def test_what_is_sound_is_called_so(sound):
    code, out, err = sound.check()
    assert (code, out) == (0, ""), (out, err)
    assert err.startswith("waiting ") and err.endswith(": 0 faults\n")


@pytest.mark.parametrize("name", [broken.__name__ for broken in BREAKS])
def test_what_is_broken_is_found(broken, name):
    code, wanted, lines = broken
    key, said = wanted[name]
    assert code == 1
    assert [
        line
        for line in lines
        if line["type"] == "fault"
        and line["key"].endswith(key)
        and said in line["text"]
    ], (key, said, lines)


def test_nothing_else_is_found(broken):
    """But what follows from a break: an entry that was deleted is missed in two
    places, the first of a line in another one, a blob that nothing keeps is
    nobody's."""
    _, wanted, lines = broken
    keys = {"quern:{000}:" + key for key, _ in wanted.values()}
    others = [
        line for line in lines if line["type"] == "fault" and line["key"] not in keys
    ]
    follows = (
        "its entry",
        "it names job",
        "it is not in the line",
        "does not expire, and no job needs",
    )
    assert [line for line in others if not line["text"].startswith(follows)] == []


def test_jobs_that_move_are_no_faults(sound):
    """Submitted, taken, put back and ended while it looks."""
    stop = threading.Event()

    def move():
        client = sound.server.client()
        jobs = Library(client)
        number = 10000
        while not stop.is_set():
            number += 1
            jobs.submit(job_id(number), queue="busy", session=f"s{number % 3}")
            for job in jobs.take_jobs(queues=["busy"], count=2):
                if number % 2:
                    jobs.release(job.id, job.epoch)
                else:
                    jobs.finish(job.id, job.epoch)
            time.sleep(0.002)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for _ in range(3):
            code, out, err = sound.check()
            assert (code, out) == (0, ""), (out, err)
    finally:
        stop.set()
        mover.join()
