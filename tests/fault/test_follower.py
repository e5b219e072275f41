"""The follower learns of every job, also of one whose events it did not hear."""

import time

import pytest
from fleet import SLOW_S
from fleet_invariants import whole_progress
from follower import Follower
from history import History
from jobs import ROOT
from library import Library, job_id
from seen import Seen
from servers import RedisServer, wait_until
from state import read_state

NAME = "nightly"
HEARD, MISSED = job_id(1), job_id(2)


@pytest.fixture
def server():
    with RedisServer() as server:
        Library(server.client()).load()
        yield server


def call(db, name, *args):
    return db.execute_command("FCALL", f"quern_v1_{name}", 1, ROOT, *args)


def fire(db, at, id):
    """A schedule's job, which nobody submits; its whole life is one event."""
    call(db, "fire", NAME, at, at + 1, id)
    call(db, "cancel", id, "not wanted")


def set_schedule(db, at):
    pairs = ("job", b"\x80", "pairs", "all", "tenant", "ant")
    call(db, "schedule_set", NAME, "every 1s", "", at, *pairs)


def is_subscribed(db):
    return db.pubsub_numpat() == 1


def follow_past(db, follower, at):
    """It hears of one job, and is cut off while the next one is fired."""
    with follower:
        wait_until(lambda: is_subscribed(db), SLOW_S, "it is subscribed")
        fire(db, at, HEARD)
        wait_until(lambda: HEARD in follower.last, SLOW_S, "it has heard")
        with db.pipeline() as at_once:
            at_once.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
            fire(at_once, at + 1, MISSED)
            at_once.execute()
        wait_until(lambda: MISSED in follower.last, SLOW_S, "it has caught up")


def look_at_the_end(db, follower, at):
    """Both are fired when it does not listen any more."""
    fire(db, at, HEARD)
    fire(db, at + 1, MISSED)
    follower.stopped.set()
    with follower:
        pass


@pytest.mark.parametrize("miss", [follow_past, look_at_the_end])
def test_a_schedules_job_that_was_not_heard_is_followed(server, tmp_path, miss):
    at, db = int(time.time() * 1000), server.client(encoding="latin-1")
    set_schedule(db, at)
    with History(tmp_path / "history") as history:
        miss(db, Follower(history, server.client), at)
        seen = Seen(history.lines())
    assert {HEARD, MISSED} == seen.events.keys()
    assert list(whole_progress(seen, read_state([db]), 0)) == []
