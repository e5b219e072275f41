"""Files of a job live at least as long as the job, whoever else names them."""

import pytest
from library import job_id, refused

A, B, C = job_id(1), job_id(2), job_id(3)
DAY_S = 24 * 3600
WEEK_MS = 7 * DAY_S * 1000


def test_a_job_that_waits_keeps_its_files(queue):
    short, other = queue.put(b"a,b", seconds=1), queue.put(b"unnamed", seconds=60)
    queue.submit(A, blobs=[short])
    assert queue.blob_ttl(short) == -1
    assert 0 < queue.blob_ttl(other) <= 60


def test_a_job_that_runs_keeps_its_files_and_lets_them_go_at_its_end(queue):
    files = [queue.put(b"%d" % number, seconds=1) for number in range(64)]
    queue.submit(A, blobs=files)
    queue.begin()
    queue.release(A, queue.epoch(A))
    epoch = queue.begin().epoch
    assert {queue.blob_ttl(file) for file in files} == {-1}
    queue.finish(A, epoch, result_ttl_ms=3 * DAY_S * 1000)
    assert {queue.blob_ttl(file) // DAY_S for file in files} <= {2, 3}


def end_by_finish(queue, id):
    queue.finish(id, queue.begin().epoch, "failed")


def end_by_cancel(queue, id):
    queue.cancel(id)


def end_by_crash(queue, id):
    queue.begin(lease_ms=0)
    queue.lapse(max_crashes=0)


@pytest.mark.parametrize(
    "end, days", [(end_by_finish, 7), (end_by_cancel, 1), (end_by_crash, 7)]
)
def test_whatever_ends_a_job_lets_its_files_go(queue, end, days):
    file = queue.put(b"a,b", seconds=1)
    queue.submit(A, blobs=[file])
    end(queue, A)
    assert abs(queue.blob_ttl(file) - days * DAY_S) < 60


def test_a_file_of_several_jobs_lives_as_long_as_the_last_of_them(queue):
    file = queue.put(b"a,b", seconds=1)
    for id in (A, B, C):
        queue.submit(id, blobs=[file, file])
    queue.cancel(B)
    assert queue.blob_ttl(file) == -1
    # The failed one may be asked for again for a week; the last for a day.
    queue.finish(A, queue.begin().epoch, "failed", dead_ttl_ms=WEEK_MS)
    assert queue.blob_ttl(file) == -1
    queue.finish(C, queue.begin().epoch)
    assert abs(queue.blob_ttl(file) - 7 * DAY_S) < 60


def test_a_file_that_was_let_go_is_kept_again_by_the_next_job(queue):
    file = queue.put(b"a,b", seconds=1)
    queue.submit(A, blobs=[file])
    queue.cancel(A)
    queue.submit(B, blobs=[file])
    assert queue.blob_ttl(file) == -1


def test_what_a_result_names_outlives_the_jobs_that_have_it_as_a_file(queue):
    """A picture of a failed job, handed to another one."""
    picture = queue.put(b"png", seconds=7 * DAY_S)
    for id in (A, B):
        queue.submit(id, blobs=[picture])
        queue.finish(id, queue.begin().epoch)
        assert abs(queue.blob_ttl(picture) - 7 * DAY_S) < 60


def test_files_are_let_go_for_a_day_at_least(queue):
    """Somebody may have been told that they are there, and submit now."""
    file = queue.put(b"a,b", seconds=1)
    queue.submit(A, blobs=[file])
    queue.finish(A, queue.begin().epoch, result_ttl_ms=60000)
    assert queue.blob_ttl(file) > DAY_S - 60


def test_a_job_without_files_has_no_key_and_no_field_for_them(queue):
    queue.submit(A)
    assert "blobs" not in queue.facts(A)
    assert queue.keys("refs") == []


@pytest.mark.parametrize(
    "word, blobs",
    [
        ("BADARG", ["x"]),
        ("BADARG", [""]),
        ("BADARG", ["A" * 64]),
        ("BADARG", ["a" * 63 + "\n"]),
        ("NOBLOB", ["a" * 64]),
        ("TOOBIG", ["a" * 64] * 66),
    ],
)
def test_files_that_are_not_there_are_refused_before_anything_is_written(
    queue, word, blobs
):
    refused(word, queue.submit, A, blobs=blobs, idempotency_key="k")
    assert queue.client.dbsize() == 0


def test_a_job_that_stands_is_found_though_its_files_are_gone(queue):
    file = queue.put(b"a,b")
    queue.submit(A, blobs=[file], idempotency_key="k")
    queue.finish(A, queue.begin().epoch)
    queue.client.delete(f"{queue.root}blob:{file}")
    assert queue.submit(A, blobs=[file]) == (A, "exists")
    assert queue.submit(B, blobs=[file], idempotency_key="k") == (A, "exists")
