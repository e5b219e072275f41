"""A partition in the middle of everything, of which somebody deletes a key.

Whatever that was, one walk of mend later it is sound, and all of its jobs come
to an end.
"""

import pytest
from invariants import TERMINAL
from library import Library, job_id
from servers import RedisServer


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        yield server


def busy(queue):
    """Jobs in every state and place: their ids."""
    numbers = iter(range(1000))

    def submit(**given):
        return queue.submit(job_id(next(numbers)), **given)[0]

    ids = [submit(tenant="big") for _ in range(45)]
    ids += [submit(tenant="big", priority="high") for _ in range(3)]
    queue.queue_set("limited", tenant_running=2, tenant_rate=50, tenant_rate_ms=10)
    ids += [submit(queue="limited", tenant="t") for _ in range(5)]
    ids += [submit(session="s", tenant="t") for _ in range(3)]
    ids += [submit(delay_ms=60000), submit(unique_key="k", deadline_ms=600000)]
    ids.append(submit(blobs=[queue.put(b"file")], idempotency_key="i"))
    started = queue.take_jobs(count=4, queues=["default"], ticket=1)
    started += queue.take_jobs(count=4, queues=["limited"])
    for job in started:
        queue.journal(job.id, job.epoch, 0, b"r0")
    queue.claim(started[0].id, started[0].epoch, "big/own")
    queue.wait(started[1].id, started[1].epoch, 60000)
    queue.wait(started[2].id, started[2].epoch, 0, "approval", 0)
    queue.release(started[3].id, started[3].epoch)
    queue.client.set(f"{queue.root}unique:default:left", job_id(999))
    return ids


def kinds(server):
    """What keys there are in a busy partition."""
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    busy(queue)
    found = sorted(key.decode() for key in client.scan_iter(f"{queue.root}*"))
    client.close()
    return found


def test_a_sound_partition_needs_no_mending(server):
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    client.delete(f"{queue.root}unique:default:left")
    ids = busy(queue)
    client.delete(f"{queue.root}unique:default:left")
    queue.check()
    assert queue.mend() == 0
    assert queue.mend(count=7) == 0
    queue.check()
    queue.run_to_the_end(("default", "limited"))
    assert {queue.state(id) for id in ids} == {"completed"}


def delete(client, key):
    client.delete(key)


def replace(client, key):
    """By a key of another kind."""
    kind = client.type(key)
    client.delete(key)
    client.sadd(key, "junk") if kind != b"set" else client.set(key, "junk")


def tidy(client, key):
    """What nobody had to touch since is theirs."""
    junk = {b"set": client.smembers, b"string": client.get}.get(client.type(key))
    if junk and junk(key) in ({b"junk"}, b"junk"):
        client.delete(key)


@pytest.mark.parametrize("harm", [delete, replace], ids=["deleted", "replaced"])
def test_whichever_key_is_destroyed_every_job_ends(server, harm):
    keys = kinds(server)
    assert len({key.split(":")[2] for key in keys}) >= 18, keys
    # One of each kind and place, not of all jobs.
    chosen = {}
    for key in keys:
        chosen.setdefault(key.rstrip("0123456789abcdef-"), []).append(key)
    for key in sorted(
        key for group in chosen.values() for key in group[:2] + group[-2:]
    ):
        client = server.client()
        client.flushall()
        queue = Library(client).load()
        ids = busy(queue)
        if not client.exists(key):
            continue
        harm(client, key)
        lost = key.rpartition("job:")[2] if ":job:" in key else None
        try:
            queue.mend()
            queue.run_to_the_end(("default", "limited"))
            left = {id for id in ids if id != lost and queue.state(id) not in TERMINAL}
            assert not left, {id: queue.facts(id) for id in left}
            tidy(client, key)
            queue.mend()
            if not lost:
                queue.check()
        except Exception as error:
            raise AssertionError(f"{key} {harm.__name__}d: {error}") from error
        client.close()


def test_everything_but_the_facts_may_go(server):
    """What jobs are is known by their facts; where they stand, by nothing else."""
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    ids = busy(queue)
    for key in client.scan_iter(f"{queue.root}*"):
        kind = key.decode()[len(queue.root) :].partition(":")[0]
        if kind not in ("job", "queue", "blob"):
            client.delete(key)
    assert queue.mend() > 0
    queue.run_to_the_end(("default", "limited"))
    assert {queue.state(id) for id in ids} == {"completed"}


def test_files_and_parts_of_jobs_that_are_no_more_expire(server):
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    file = queue.put(b"file")
    id = job_id(1)
    queue.submit(id, blobs=[file])
    (job,) = queue.take_jobs()
    queue.journal(id, job.epoch, 0, b"r0")
    client.delete(f"{queue.root}job:{id}")
    assert queue.blob_ttl(file) == -1
    queue.mend()
    assert queue.blob_ttl(file) > 0
    for kind in ("body", "journal", "events"):
        assert client.pttl(f"{queue.root}{kind}:{id}") > 0, kind
    assert queue.take_jobs() == []
    queue.lapse()


def walk_is_wanted(queue):
    queue.promote()
    return queue.wants_mend == 1


def test_one_of_those_who_ask_is_to_walk_and_nobody_soon_after(server):
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    assert walk_is_wanted(queue), "nobody ever has"
    assert not walk_is_wanted(queue), "somebody does"
    assert client.pttl(f"{queue.root}mended") <= 15000, "and may die"
    queue.mend()
    assert client.pttl(f"{queue.root}mended") > 590000
    assert not walk_is_wanted(queue)
    client.set(f"{queue.root}mended", "of somebody else")
    assert walk_is_wanted(queue), "what lives for ever stops nobody"


def destroy_group(client, key):
    client.xgroup_destroy(key, "consumers")


@pytest.mark.parametrize(
    "harm, look",
    [
        (delete, lambda queue: queue.submit(job_id(2))),
        (delete, lambda queue: queue.reclaim()),
        (destroy_group, lambda queue: queue.take_jobs()),
        (destroy_group, lambda queue: queue.reclaim()),
    ],
    ids=["a submit", "a walk", "a take of no group", "a walk of no group"],
)
def test_who_misses_a_stream_or_its_group_wants_a_walk(server, harm, look):
    client = server.client()
    client.flushall()
    queue = Library(client).load()
    queue.submit(job_id(1))
    assert walk_is_wanted(queue)
    queue.mend()
    harm(client, queue.work())
    look(queue)
    assert walk_is_wanted(queue)
