"""Cells whose time is over with figures open: those are shown, or it is said that
they are not."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "unit" / "guest"))
from test_session import QUICK, SLOW

PROFILE = "science"

LIMIT_MS = 1500
TRIES = 6  # on a busy machine too little may happen in the time there is

OPEN = "print('open', flush=True)\n"  # the figures are, the limit is not there yet

# Python looks for signals where a loop begins again: as if that came before it,
# which is to be within the try as well.
SWALLOW = """
while True:
    try:
        n = 0
        while True: n = len(str(1))
    except BaseException:
        pass
"""
LOST = "figures that it had not shown are lost"
UNDRAWN = "not drawn: the cell was stopped"


@pytest.fixture
def session(session):
    assert session.run(SLOW + QUICK).status == "ok"
    return session


def run_once(session, code):
    """With the truth about variables."""
    assert session.run("mark = 'before'").status == "ok"
    done = session.run("mark = 'after'\n" + code, cell_ms=LIMIT_MS)
    assert done.state in ("kept", "rolled_back"), done
    mark = "'after'" if done.state == "kept" else "'before'"
    assert session.run("mark").result == mark, done
    return done


def run(session, code):
    """One whose figures were open in time."""
    for _ in range(TRIES):
        done = run_once(session, code)
        if "open" in done.stdout:
            return done
    raise TimeoutError("its figures were never open in time")


# name, code, status, how many figures are shown
SHOWN = [
    ("one, and a loop", QUICK + OPEN + "while True: pass", "timeout", 1),
    ("many points", QUICK + "plt.plot(range(10**5))\n" + OPEN + "time.sleep(60)", "timeout", 1),
    (
        "three that take longer than the grace",
        "slow(0.3)\nslow(0.3)\nslow(0.3)\n" + OPEN + "while True: pass",
        "timeout",
        3,
    ),
    ("one that show() draws for ever at first", "slow(60, False)\n" + OPEN + "plt.show()", "timeout", 1),
    ("one that savefig() draws for ever at first", "slow(60, False)\n" + OPEN + "plt.savefig('x.png')", "timeout", 1),
    ("one after an exception", "slow(0.3)\n" + OPEN + "try: time.sleep(60)\nfinally: 1 / 0", "error", 1),
    ("one for which there is time after the limit", "slow(LIMIT + 0.3)\n" + OPEN, "ok", 1),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, code, status, count", SHOWN, ids=[row[0] for row in SHOWN]
)
def test_figures_are_shown(session, name, code, status, count):
    for _ in range(TRIES):
        done = run(session, code.replace("LIMIT", str(LIMIT_MS / 1000)))
        images = [d for d in done.displays if "image/png" in d]
        if len(images) == count:
            break
        assert UNDRAWN in done.stderr or LOST in done.reason, done
    assert (done.status, done.state, len(images)) == (status, "kept", count), done
    assert done.stderr == "" and LOST not in done.reason


# name, code, what is told
NOT_SHOWN = [
    ("a loop in native code", QUICK + OPEN + "sum(range(10**12))", LOST),
    ("KeyboardInterrupt swallowed", QUICK + OPEN + SWALLOW, LOST),
    ("a figure that is drawn for ever", "slow(60)\n" + OPEN, UNDRAWN),
    ("a crash", QUICK + OPEN + "import os\nos.abort()", LOST),
]


@pytest.mark.parametrize("name, code, told", NOT_SHOWN, ids=[r[0] for r in NOT_SHOWN])
def test_figures_that_are_not_shown_are_owned_up_to(session, name, code, told):
    done = run(session, code)
    assert not done.displays and told in done.stderr + done.reason, done


def test_what_was_shown_before_is_not_lost(session):
    done = run(session, QUICK + "plt.show()\n" + OPEN + "sum(range(10**12))")
    assert (done.state, len(done.displays)) == ("rolled_back", 1), done


def test_cells_without_figures_hear_nothing_of_them(session):
    done = run(session, OPEN + "sum(range(10**12))")
    assert done.state == "rolled_back" and "figure" not in done.reason, done
