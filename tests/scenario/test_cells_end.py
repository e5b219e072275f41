"""Functions that cells register by atexit, when their session ends: closed, or
after it was idle for too long. Only the executor's log can tell of them."""

import time

import pytest
from executor_client import Executor, wait_until

LEAVE_S = 5
# A function that writes to stderr is told of, as one is that raises.
WRITES = "import atexit, sys\nend = atexit.register(print, 'bye', file=sys.stderr)"
RAISES = "import atexit\nend = atexit.register(lambda: 1 / 0)"
# What it puts out and shows before it hangs goes nowhere.
HANGS = """
import atexit, time
from IPython.display import display
@atexit.register
def end():
    print("bye")
    display(1)
    time.sleep(600)
"""
DIES = "import atexit, os\nend = atexit.register(os._exit, 3)"
IS_QUIET = "import atexit\nend = atexit.register(print, 'bye')"


def sessions(executor):
    return executor.connection.ask(type="sessions").get("sessions", [])


def told(executor, name):
    """What the log says of how its functions ended."""
    start = f'"session.at_exit","who":"{name}"'
    return [line for line in executor.process.text().splitlines() if start in line]


@pytest.mark.parametrize(
    "name, code, sentence",
    [
        ("writes", WRITES, "wrote 4 bytes to stderr"),
        ("raises", RAISES, "bytes to stderr"),
        ("dies", DIES, "with code 3"),
        ("quiet", IS_QUIET, None),
    ],
)
def test_functions_run_when_a_session_is_closed(executor, name, code, sentence):
    session = executor.open(name)
    assert session.run(code).status == "ok"
    session.close()
    wait_until(lambda: sessions(executor) == [])
    assert [sentence in line for line in told(executor, name)] == [True] * bool(sentence)


def test_functions_that_hang_are_ended_and_the_name_is_free_at_once(executor):
    session = executor.open("hangs")
    assert session.run(HANGS).status == "ok"
    before = time.monotonic()
    session.close()
    again = executor.open("hangs")
    assert again.fresh
    assert again.run("'atexit' in globals()").result == "False"
    wait_until(lambda: len(sessions(executor)) == 1)
    assert time.monotonic() - before >= LEAVE_S
    assert ["ended after 5 s" in line for line in told(executor, "hangs")] == [True]
    assert again.run("1").result == "1"
    again.close()
    assert sessions(executor) == []


def test_functions_that_were_taken_back_cost_nothing(executor):
    session = executor.open("back")
    session.run(WRITES)
    session.run("atexit._clear()")
    session.close()
    assert sessions(executor) == []
    assert told(executor, "back") == []


def test_a_session_goes_back_with_its_functions():
    """To the snapshot: those of a cell that was killed are gone."""
    with Executor("--profile", "bare") as executor:
        for name, first, second in (("kept", WRITES, "1"), ("gone", "1", WRITES)):
            session = executor.open(name)
            session.run(first)
            cell = session.run(second + "\nimport os\nos._exit(1)")
            assert cell.state == "rolled_back"
            session.close()
        wait_until(lambda: sessions(executor) == [])
        assert [len(told(executor, name)) for name in ("kept", "gone")] == [1, 0]


def test_functions_run_when_a_session_was_idle_for_too_long():
    with Executor("--profile", "bare", "--idle", "1s") as executor:
        executor.open("idle").run(WRITES)
        wait_until(lambda: sessions(executor) == [])
        assert ["wrote 4 bytes" in line for line in told(executor, "idle")] == [True]


def test_functions_do_not_run_when_the_executor_stops():
    with Executor("--profile", "bare") as executor:
        executor.open("stopped").run(WRITES)
        executor.stop()
        assert told(executor, "stopped") == []
