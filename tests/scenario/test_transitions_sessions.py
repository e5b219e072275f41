"""Whose turn it is in a session, and what is known of it: one writer at a time."""

import random
import time

import pytest
from library import WEEK_MS, job_id, pack, refused

A, B, C = job_id(1), job_id(2), job_id(3)
IN_S = {"tenant": "t", "session": "s"}
DAY_S = 24 * 3600
HOUR_S = 3600


def run(queue, id):
    """Submits and starts it; gives its epoch."""
    queue.submit(id)
    return queue.begin(id).epoch


def claim_told(queue, id, epoch):
    """As it is answered."""
    return queue.call("session_claim", id, epoch, "t/s", WEEK_MS)


def test_a_session_that_nobody_knows_is_the_first_jobs(queue):
    assert queue.claim(A, run(queue, A)) == (True, b"")


def test_a_second_job_waits_for_the_first(queue):
    first, second = run(queue, A), run(queue, B)
    queue.claim(A, first)
    assert queue.claim(B, second) == (False, A)
    assert queue.claim(A, first)[0], "asking again does not lose the turn"
    queue.finish(A, first)
    assert queue.claim(B, second)[0]


def test_those_that_wait_go_in_the_order_of_their_submits(queue):
    epochs = {}
    for id in (A, B, C):
        epochs[id] = run(queue, id)
        time.sleep(0.002)
    queue.claim(A, epochs[A])
    assert queue.claim(C, epochs[C]) == (False, A)
    assert queue.claim(B, epochs[B]) == (False, A)
    queue.finish(A, epochs[A])
    assert queue.claim(C, epochs[C]) == (False, B)
    assert queue.claim(B, epochs[B])[0]


def test_who_waits_no_more_holds_nobody_up(queue):
    epochs = {id: run(queue, id) for id in (A, B, C)}
    for id in (A, B, C):
        queue.claim(id, epochs[id])
    queue.finish(B, epochs[B], "cancelled")
    queue.finish(A, epochs[A])
    assert queue.claim(C, epochs[C])[0]


def test_a_job_that_was_handed_back_keeps_its_turn(queue):
    """Its first cells have run there: nobody comes between them and the rest."""
    first, second = run(queue, A), run(queue, B)
    queue.claim(A, first)
    queue.release(A, first)
    assert queue.claim(B, second) == (False, A)
    again = queue.begin(A).epoch
    assert queue.claim(A, again)[0]


def test_one_that_said_so_waits_outside_until_its_turn_comes(queue):
    for id in (A, B, C):
        queue.submit(id, **IN_S)
    (job,) = queue.take_jobs(count=3)
    assert job.id == A and queue.take_jobs() == []
    queue.release(A, job.epoch)
    (job,) = queue.take_jobs(count=3)
    assert job.id == A, "it keeps its turn"
    queue.finish(A, job.epoch)
    (job,) = queue.take_jobs(count=3)
    assert job.id == B and queue.claim(B, job.epoch)[0]


def test_one_that_waits_for_a_retry_keeps_its_turn(queue):
    for id in (A, B):
        queue.submit(id, **IN_S)
    queue.wait(A, queue.begin().epoch, 1)
    assert queue.take_jobs() == []
    queue.wait_idle(5)
    queue.promote()
    assert [job.id for job in queue.take_jobs(count=3)] == [A]


def test_one_that_did_not_say_so_goes_by_when_it_was_submitted(queue):
    queue.submit(A)
    queue.wait_idle(2)
    queue.submit(B, **IN_S)
    first, second = queue.take("c", 2)
    later = queue.start(second, "c").epoch
    assert queue.claim(B, later)[0], "nobody knows yet that A will claim it"
    earlier = queue.start(first, "c").epoch
    assert claim_told(queue, A, earlier) == [0, B.encode(), b"in_progress"]
    queue.submit(C, **IN_S)
    queue.finish(B, later)
    assert queue.take_jobs() == [], "C is behind A"
    assert queue.claim(A, earlier)[0]
    queue.finish(A, earlier)
    assert [job.id for job in queue.take_jobs()] == [C]


def test_the_turn_in_a_second_session_ends_with_the_job(queue):
    first = run(queue, A)
    queue.claim(A, first, "t/one")
    queue.claim(A, first, "t/two")
    queue.submit(B, tenant="t", session="two")
    assert queue.take_jobs() == []
    queue.finish(A, first)
    assert [job.id for job in queue.take_jobs()] == [B]


def test_those_of_one_millisecond_stand_as_they_were_submitted(queue):
    ids = [job_id(number) for number in range(40)]
    random.Random(7).shuffle(ids)
    queue.submit(ids[0], **IN_S)
    with queue.client.pipeline(transaction=True) as pipe:
        for id in ids[1:]:
            given = ["id", id, "job", b"\x80", "pairs", "all"]
            given += ["tenant", "t", "session", "s"]
            pipe.execute_command("FCALL", "quern_v1_submit", 1, queue.root, *given)
        pipe.execute()
    line = queue.client.zrange(f"{queue.root}line:t/s", 0, -1)
    assert [id.decode() for id in line] == ids


# what becomes of the first job before anybody has begun it
OVER_BEFORE = [
    ("cancelled", {}, lambda queue: queue.cancel(A)),
    (
        "past its deadline",
        {"deadline_ms": 1},
        lambda queue: (queue.wait_idle(10), queue.promote()),
    ),
]


@pytest.mark.parametrize(
    "what, given, end", OVER_BEFORE, ids=[r[0] for r in OVER_BEFORE]
)
def test_one_that_never_begins_holds_nobody_up(queue, what, given, end):
    queue.submit(A, **IN_S, **given)
    queue.submit(B, **IN_S)
    end(queue)
    (job,) = queue.take_jobs()
    assert job.id == B and queue.claim(B, job.epoch)[0]


def test_the_same_job_again_does_not_stand_there_twice(queue):
    for _ in range(2):
        queue.submit(A, **IN_S)
    queue.submit(B, **IN_S)
    queue.submit(A, **IN_S)
    assert queue.client.zrange(f"{queue.root}line:t/s", 0, -1) == [
        A.encode(),
        B.encode(),
    ]


def test_the_same_name_of_another_tenant_is_another_session(queue):
    queue.claim(A, run(queue, A))
    assert queue.claim(B, run(queue, B), session="other/s")[0]


def test_a_record_is_there_for_the_next_job(queue):
    epoch = run(queue, A)
    queue.claim(A, epoch)
    assert queue.save(A, epoch, 0, b"one") == 1
    assert queue.save(A, epoch, 1, b"two") == 2
    queue.finish(A, epoch)
    assert queue.claim(B, run(queue, B)) == (True, b"two")
    assert queue.client.zrange(f"{queue.root}sessions", 0, -1) == [b"t/s"]


def test_a_save_whose_answer_was_lost_is_made_once(queue):
    epoch = run(queue, A)
    assert queue.save(A, epoch, 0, b"one") == 1
    assert queue.save(A, epoch, 0, b"one") == 1
    assert queue.session()["generation"] == "1"


def test_who_saves_on_top_of_what_was_replaced_is_refused(queue):
    epoch = run(queue, A)
    queue.save(A, epoch, 0, b"one")
    assert "at generation 1, not at 0" in refused(
        "MISPLACED", queue.save, A, epoch, 0, b"other"
    )
    assert queue.session()["record"] == "one"


def test_a_late_job_saves_nothing(queue):
    epoch = run(queue, A)
    queue.release(A, epoch)
    refused("STALE", queue.save, A, epoch, 0)
    refused("STALE", queue.claim, A, epoch)
    assert queue.session() == {}


# arguments that differ, the refusal's word
REFUSED = [
    ({"session": "s"}, "BADARG"),
    ({"session": "t/"}, "BADARG"),
    ({"session": "t/s/u"}, "BADARG"),
    ({"session": "t/s}"}, "BADARG"),
    ({"ttl_ms": 0}, "BADARG"),
    ({"ttl_ms": "x"}, "BADARG"),
    ({"generation": "-1"}, "BADARG"),
    ({"record": b"x" * (256 * 1024 + 1)}, "TOOBIG"),
    ({"picture": "0" * 64}, "NOBLOB"),
    ({"files": ["0" * 64]}, "NOBLOB"),
    ({"files": ["x"]}, "NOBLOB"),
    ({"files": ["0" * 64] * 514}, "TOOBIG"),
]


@pytest.mark.parametrize("given, word", REFUSED, ids=[str(r[0])[:40] for r in REFUSED])
def test_refused_before_anything_is_written(queue, given, word):
    epoch = run(queue, A)
    refused(word, queue.save, **{"id": A, "epoch": epoch, "generation": 0, **given})
    assert queue.keys("session") == [] and queue.keys("refs") == []


def test_the_largest_record_with_most_files_is_taken(queue):
    epoch = run(queue, A)
    files = [queue.put(b"%d" % number) for number in range(512)]
    picture = queue.put(b"picture")
    record = b"x" * (256 * 1024)
    assert queue.save(A, epoch, 0, record, picture=picture, files=files) == 1


# --------------------------------------------------------------------- blobs


def lives(queue, sha256):
    return round(queue.blob_ttl(sha256) / HOUR_S)


def test_what_a_record_names_lives_as_long_as_the_record(queue):
    epoch = run(queue, A)
    file, picture = queue.put(b"a", seconds=60), queue.put(b"p", seconds=60)
    queue.save(A, epoch, 0, picture=picture, files=[file])
    assert lives(queue, file) == lives(queue, picture) == 7 * 24


def test_what_is_replaced_is_let_go(queue):
    """A picture within the hour; a file may be somebody's upload as well."""
    epoch = run(queue, A)
    file, picture = queue.put(b"a", seconds=60), queue.put(b"p", seconds=60)
    queue.save(A, epoch, 0, b"1", picture=picture, files=[file])
    queue.save(A, epoch, 1, b"2")
    assert (lives(queue, picture), lives(queue, file)) == (1, 24)


def test_a_replaced_file_stays_as_long_as_results_that_name_it(queue):
    epoch = run(queue, A)
    file = queue.put(b"a", seconds=60)
    queue.save(A, epoch, 0, b"1", files=[file])
    queue.save(A, epoch, 1, b"2", kept_ms=30 * DAY_S * 1000)
    assert lives(queue, file) == 30 * 24


def test_who_has_its_turn_finds_what_the_record_names_for_as_long(queue):
    """The record lives on from there, and would name what has expired."""
    epoch = run(queue, A)
    kinds = [queue.put(name, seconds=60) for name in (b"p", b"h", b"f", b"gone")]
    picture, history, file, gone = kinds
    both = f"{picture} {history}"
    files = [file, gone]
    queue.save(A, epoch, 0, picture=both, files=files, ttl_ms=2 * DAY_S * 1000)
    queue.finish(A, epoch)
    queue.client.delete(f"{queue.root}blob:{gone}", f"{queue.root}refs:{gone}")
    assert lives(queue, history) == 2 * 24
    second = run(queue, B)
    assert queue.claim(B, second)[0]
    assert [lives(queue, blob) for blob in kinds[:3]] == [7 * 24] * 3
    assert queue.client.exists(f"{queue.root}refs:{gone}") == 0
    queue.save(B, second, 1, picture=both, files=[file])


def test_what_stays_in_the_record_stays(queue):
    epoch = run(queue, A)
    file = queue.put(b"a", seconds=60)
    queue.save(A, epoch, 0, b"1", files=[file, file])
    queue.save(A, epoch, 1, b"2", files=[file])
    assert lives(queue, file) == 7 * 24


def test_what_two_sessions_share_stays_until_both_let_it_go(queue):
    epoch = run(queue, A)
    picture = queue.put(b"p", seconds=60)
    queue.save(A, epoch, 0, b"1", picture=picture)
    queue.save(A, epoch, 0, b"1", picture=picture, session="t/fork")
    queue.save(A, epoch, 1, b"2")
    assert lives(queue, picture) == 7 * 24
    queue.save(A, epoch, 1, b"2", session="t/fork")
    assert lives(queue, picture) == 1


def test_a_replaced_file_stays_with_the_result_that_was_renewed_since(queue):
    """A failed job's, which is kept for longer than the session."""
    epoch = run(queue, A)
    file = queue.put(b"a", seconds=60)
    queue.save(A, epoch, 0, b"1", files=[file])
    queue.client.expire(f"{queue.root}blob:{file}", 30 * DAY_S, gt=True)
    queue.save(A, epoch, 1, b"2")
    assert lives(queue, file) == 30 * 24


def test_a_file_that_a_job_needs_too_stays_with_both(queue):
    file = queue.put(b"a", seconds=60)
    queue.submit(B, blobs=[file])
    other = queue.begin(B).epoch
    epoch = run(queue, A)
    queue.save(A, epoch, 0, b"1", files=[file])
    assert queue.blob_ttl(file) == -1
    queue.finish(B, other)
    assert lives(queue, file) == 7 * 24
    queue.save(A, epoch, 1, b"2")
    assert lives(queue, file) == 24


def test_a_life_that_others_gave_is_not_cut_short(queue):
    epoch = run(queue, A)
    file = queue.put(b"a", seconds=30 * DAY_S)
    queue.save(A, epoch, 0, files=[file])
    assert lives(queue, file) == 30 * 24


# --------------------------------------------------------------- what expires


def test_a_record_expires_with_its_blobs_and_its_place_in_the_list(queue):
    epoch = run(queue, A)
    picture = queue.put(b"p", seconds=1)
    queue.save(A, epoch, 0, pack(v=1), picture=picture, ttl_ms=1)
    queue.wait_idle(1200)
    queue.save(A, epoch, 0, pack(v=1), session="t/next")
    assert queue.keys("session") == [f"{queue.root}session:t/next"]
    assert queue.blob_ttl(picture) == -2 and queue.keys("refs") == []
    assert queue.client.zrange(f"{queue.root}sessions", 0, -1) == [b"t/next"]


def test_a_session_that_is_over_is_remembered_and_not_listed(queue):
    """An executor may have it still: it must be known to be of the past."""
    epoch = run(queue, A)
    file = queue.put(b"a", seconds=60)
    queue.save(A, epoch, 0, b"1", files=[file])
    queue.save(A, epoch, 1, b"closed", listed=0)
    assert queue.session()["record"] == "closed"
    assert queue.client.zrange(f"{queue.root}sessions", 0, -1) == []


def test_the_list_lives_as_long_as_the_longest_of_its_sessions(queue):
    epoch = run(queue, A)
    queue.save(A, epoch, 0, b"1", session="t/long", ttl_ms=2 * WEEK_MS)
    queue.save(A, epoch, 0, b"1", session="t/short", ttl_ms=1000)
    assert queue.client.pttl(f"{queue.root}sessions") > WEEK_MS
