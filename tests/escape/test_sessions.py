"""What is told of the sessions that are open, and what many of them cost."""

import pytest
from executor_client import Executor
from servers import wait_until


@pytest.fixture(scope="module")
def executor():
    with Executor("--profile", "bare") as executor:
        yield executor


def listed(executor):
    frame = executor.connection.ask(type="sessions")
    assert frame["type"] == "listing"
    return {info["name"]: info for info in frame.get("sessions", [])}


def test_nobody_is_listed_where_nobody_is(executor):
    assert listed(executor) == {}


def test_open_sessions_are_listed(executor):
    used, fresh = executor.open("used"), executor.open("fresh")
    used.run("x = bytearray(64 << 20)")
    used.run("x[0]")

    def rests():
        found = listed(executor)
        return found if found["used"].get("idle_ms", 0) >= 100 else None

    found = wait_until(rests, what="it is parked, and has nothing to do")
    assert set(found) == {"used", "fresh"}
    assert found["used"]["state"] == "idle"
    assert found["used"]["cells"] == 2
    assert found["used"]["snapshot"] and found["used"]["idle_ms"] < 60000
    assert found["used"]["memory_bytes"] > 64 << 20
    assert "cells" not in found["fresh"]
    assert "snapshot" not in found["fresh"]
    assert 0 < found["fresh"]["memory_bytes"] < 64 << 20
    used.close()
    assert set(listed(executor)) == {"fresh"}
    fresh.close()


def test_one_that_runs_a_cell_is_not_idle(executor):
    session = executor.open("busy")
    ref, _ = session.start("import time; print(1); time.sleep(60)")
    session.connection.answer(ref)
    info = listed(executor)["busy"]
    assert (info["state"], info.get("idle_ms", 0)) == ("running", 0)
    session.interrupt()
    assert session.finish(ref).status == "interrupted"
    session.close()


def test_cells_of_one_session_run_in_the_order_of_asking(executor):
    """Whoever asks: two connections take turns."""
    first, other = executor.open("order"), executor.connect()
    second = other.open("order")
    assert first.run("seen = []").status == "ok"
    asked = []
    for i in range(20):
        session = (first, second)[i % 2]
        ref, _ = session.start(f"seen.append({i})")
        asked.append((session, ref))
        session.connection.ask(type="sessions")  # it has arrived
    for session, ref in asked:
        assert session.finish(ref).status == "ok"
    assert first.run("seen").result == str(list(range(20)))
    other.close()
    first.close()
