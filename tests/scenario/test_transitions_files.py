"""Records of uploaded files: their ids, their life, their lists, their blobs."""

import time

import pytest
from library import job_id, refused

A = job_id(1)
DAY_MS = 24 * 3600 * 1000


def file_id(number):
    return f"file-{number:012x}{number:012x}"


def set_file(queue, number, data=b"a,b", tenant="t", life_ms=30 * DAY_MS, **more):
    blob = queue.put(data)
    given = {"name": "a.csv", "purpose": "user_data", "mime": "text/csv", **more}
    queue.call("file_set", tenant, file_id(number), life_ms, blob, len(data), *given.values())
    return blob


def listed(queue, tenant="t", order="desc", count=100, after="", purpose=""):
    more, *rows = queue.call("file_list", tenant, order, count, after, purpose)
    return [row[0].decode() for row in rows], more


def test_a_blob_lives_as_long_as_its_record(queue):
    blob = set_file(queue, 1)
    record = queue.client.hgetall(f"{queue.root}file:{file_id(1)}")
    names = {b"tenant", b"name", b"purpose", b"mime", b"blob", b"bytes"}
    assert set(record) == names | {b"created_at", b"expires_at"}
    assert int(record[b"expires_at"]) - int(record[b"created_at"]) == 30 * DAY_MS
    assert abs(queue.blob_ttl(blob) * 1000 - 30 * DAY_MS) < 60000
    sets = [f"{queue.root}files:t", f"{queue.root}file_ends:t"]
    for key in (*sets, f"{queue.root}file:{file_id(1)}"):
        assert abs(queue.client.pttl(key) - 30 * DAY_MS) < 60000
    # a shorter life of another record shortens nothing
    assert set_file(queue, 2, life_ms=3600000) == blob
    assert abs(queue.blob_ttl(blob) * 1000 - 30 * DAY_MS) < 60000
    for key in sets:
        assert abs(queue.client.pttl(key) - 30 * DAY_MS) < 60000


def test_a_call_that_comes_again_changes_nothing(queue):
    blob = queue.put(b"a,b")
    given = ("t", file_id(1), DAY_MS, blob, 3, "a", "user_data", "")
    first = queue.call("file_set", *given)
    time.sleep(0.002)
    assert queue.call("file_set", *given) == first
    other = queue.put(b"c")
    refused("BADARG", queue.call, "file_set", "t", file_id(1), DAY_MS, other, 1, "a", "x")
    refused("BADARG", queue.call, "file_set", "u", *given[1:])


def test_a_removed_file_lets_its_blob_go(queue):
    blob = set_file(queue, 1)
    assert queue.call("file_rm", "u", file_id(1)) == 0
    assert queue.call("file_rm", "t", file_id(1)) == 1
    assert queue.call("file_rm", "t", file_id(1)) == 0
    assert queue.blob_ttl(blob) <= 3600
    assert not queue.client.exists(f"{queue.root}files:t", f"{queue.root}file_ends:t")


def test_a_removed_file_stays_for_a_job_that_names_it(queue):
    blob = set_file(queue, 1)
    queue.submit(A, blobs=[blob])
    queue.call("file_rm", "t", file_id(1))
    assert queue.blob_ttl(blob) == -1
    queue.finish(A, queue.begin().epoch, "completed")
    assert 0 < queue.blob_ttl(blob) <= 2 * DAY_MS / 1000


def test_two_records_of_one_blob(queue):
    blob = set_file(queue, 1)
    set_file(queue, 2)
    queue.call("file_rm", "t", file_id(1))
    assert abs(queue.blob_ttl(blob) * 1000 - 30 * DAY_MS) < 60000


def test_lists_go_on_behind_an_id_in_both_orders(queue):
    for number in range(1, 8):
        purpose = "vision" if number % 3 == 0 else "user_data"
        set_file(queue, number, purpose=purpose)
    set_file(queue, 9, tenant="other")
    ids = [file_id(number) for number in range(1, 8)]
    assert listed(queue) == (ids[::-1], 0)
    assert listed(queue, order="asc", count=7) == (ids, 0)
    assert listed(queue, order="asc", count=3) == (ids[:3], 1)
    assert listed(queue, order="asc", count=3, after=ids[2]) == (ids[3:6], 1)
    assert listed(queue, order="asc", count=3, after=ids[5]) == (ids[6:], 0)
    assert listed(queue, count=2, after=ids[4]) == ([ids[3], ids[2]], 1)
    assert listed(queue, after=ids[0]) == ([], 0)
    assert listed(queue, purpose="vision") == ([ids[5], ids[2]], 0)
    assert listed(queue, purpose="vision", count=1) == ([ids[5]], 1)
    assert listed(queue, purpose="batch") == ([], 0)
    # behind one that has gone meanwhile
    queue.call("file_rm", "t", ids[4])
    assert listed(queue, after=ids[4]) == (ids[3::-1], 0)
    assert listed(queue, order="asc", after=ids[4]) == (ids[5:], 0)


def test_a_page_of_many(queue):
    blob = queue.put(b"x")
    for number in range(1, 451):
        queue.call("file_set", "t", file_id(number), DAY_MS, blob, 1, "a", "user_data", "")
    ids = [file_id(number) for number in range(1, 451)]
    assert listed(queue, order="asc", count=1000) == (ids, 0)
    assert listed(queue, count=449) == (ids[:0:-1], 1)


def test_records_that_have_expired_leave_the_lists(queue):
    set_file(queue, 1, life_ms=1)
    set_file(queue, 2)
    time.sleep(0.01)
    assert listed(queue) == ([file_id(2)], 0)
    assert queue.client.zcard(f"{queue.root}files:t") == 1
    assert queue.client.zcard(f"{queue.root}file_ends:t") == 1


def test_a_member_without_a_record_is_left_out(queue):
    set_file(queue, 1)
    set_file(queue, 2)
    queue.client.delete(f"{queue.root}file:{file_id(1)}")
    queue.client.zadd(f"{queue.root}files:t", {"\xff" * 400: 0, "no member": 0})
    assert listed(queue) == ([file_id(2)], 0)
    assert listed(queue, order="asc") == ([file_id(2)], 0)


def test_a_tenant_has_a_largest_number_of_files(queue):
    members = {f"{file_id(number)}:x": 0 for number in range(10000)}
    queue.client.zadd(f"{queue.root}files:t", members)
    blob = queue.put(b"a")
    given = (DAY_MS, blob, 1, "a", "x")
    text = refused("TOOBIG", queue.call, "file_set", "t", file_id(10001), *given)
    assert "10000" in text and "'t'" in text
    assert queue.call("file_set", "u", file_id(10001), *given)
    # those that have expired do not count
    ends = {member: 1 for member in list(members)[:3]}
    queue.client.zadd(f"{queue.root}file_ends:t", ends)
    assert queue.call("file_set", "t", file_id(10002), *given)
    assert queue.client.zcard(f"{queue.root}files:t") == 9998


def test_a_record_needs_its_blob(queue):
    text = refused("NOBLOB", queue.call, "file_set", "t", file_id(1), 9, "0" * 64, 1, "a", "x")
    assert "0" * 64 in text
    assert not queue.client.exists(f"{queue.root}file:{file_id(1)}")


GOOD = ["t", file_id(1), str(DAY_MS), "0" * 64, "3", "a.csv", "user_data", ""]
BAD = [
    (0, ["", "a\n", "x" * 129]),
    (1, ["", "file-1", file_id(1).upper(), file_id(1) + "0", "x" + file_id(1)[1:]]),
    (2, ["", "0", "-1", "1.5", str(401 * DAY_MS)]),
    (3, ["", "0" * 63, "A" * 64]),
    (4, ["", "-1", "x"]),
    (5, ["", "x" * 256, b"\xff"]),
    (6, ["", "a b", "a:b", "x" * 129]),
    (7, ["x" * 129, b"\xff"]),
]


@pytest.mark.parametrize("at, values", BAD)
def test_what_is_no_record_is_refused(queue, at, values):
    for value in values:
        args = [*GOOD[:at], value, *GOOD[at + 1 :]]
        refused("BADARG", queue.call, "file_set", *args)
    assert not queue.client.keys(f"{queue.root}file*")


def test_what_is_no_page_is_refused(queue):
    for args in [
        ("t", "up", 1, "", ""),
        ("t", "asc", 0, "", ""),
        ("t", "asc", 1001, "", ""),
        ("t", "asc", 1, "x", ""),
        ("t", "asc", 1, "", "a:b"),
        ("", "asc", 1, "", ""),
        (),
    ]:
        refused("BADARG", queue.call, "file_list", *args)
    refused("BADARG", queue.call, "file_rm", "t", "x")
    refused("BADARG", queue.call, "file_rm")
