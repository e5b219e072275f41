"""quern-guest itself: the zygote, its sessions, and what goes over the wire."""

import signal
import statistics
import time

import guest_client
import pytest


@pytest.fixture(scope="module", params=["science", "bare"])
def profile(request):
    return request.param


@pytest.fixture(scope="module")
def zygote(profile):
    zygote = guest_client.Zygote("--profile", profile)
    yield zygote
    zygote.close()
    assert zygote.process.returncode == 0


@pytest.fixture
def session(zygote, tmp_path):
    session = zygote.open(tmp_path)
    yield session
    assert session.close() == 0


def interrupt(session):
    signal.pidfd_send_signal(session.pidfd, signal.SIGINT)


def run_and_interrupt(session, code):
    """Gives the frame done."""
    session.start(f"print('on')\n{code}")
    session.hears(b"on\n")
    time.sleep(0.1)  # so that it is in the midst of it
    interrupt(session)
    return session.outcome()[0]


def done(session, code):
    frame, _displays = session.run(code)
    assert frame is not None, session.said
    return frame


def status(frame):
    """ok is not sent: it is the empty value."""
    return frame.get("status", "ok")


def test_a_value(session):
    frame = done(session, "2 + 2")
    assert (status(frame), frame["result"]) == ("ok", "4")


def test_an_exception_has_its_lines(session):
    frame = done(session, "def f():\n    1/0\nf()")
    assert status(frame) == "error"
    assert frame["error"]["name"] == "ZeroDivisionError"
    assert '"<cell-1>", line 2, in f\n    1/0\n' in frame["error"]["traceback"]


def test_variables_stay_with_their_session(zygote, tmp_path):
    one, two = zygote.open(tmp_path), zygote.open(tmp_path)
    done(one, "x = 'one'")
    done(two, "x = 'two'")
    assert done(one, "x")["result"] == "'one'"
    assert done(two, "x")["result"] == "'two'"
    one.channel.close()
    assert done(two, "x")["result"] == "'two'"
    two.channel.close()
    ended = {guest_client.receive(zygote.channel)["pid"] for _ in range(2)}
    assert ended == {one.forked["pid"], two.forked["pid"]}


def test_a_figure(session):
    frame, displays = session.run(
        "import matplotlib.pyplot as plt\n" + 2 * "plt.plot([1, 2])\nplt.show()\n"
    )
    assert status(frame) == "ok"
    assert [display["image/png"][:4] for display in displays] == [b"\x89PNG"] * 2


# Figures that take that long, whatever the machine; the first time, at least.
SLOW = """
import matplotlib.artist, matplotlib.pyplot as plt, time
class Slow(matplotlib.artist.Artist):
    def __init__(self, seconds, always=True):
        super().__init__()
        self.seconds, self.always = seconds, always
    def draw(self, renderer):
        seconds = self.seconds
        self.seconds = seconds if self.always else 0
        print('on', flush=True)
        time.sleep(seconds)
def slow(*args):
    plt.figure().add_artist(Slow(*args))
"""
QUICK = "plt.figure()\nplt.plot([1, 2])\n"
LOOP = "print('on', flush=True)\nwhile True: time.sleep(0.01)"

# What happens, the code, how it ends, what it says on the way, what it owns up to.
STOPPED = [
    (
        "a figure that is open is drawn",
        QUICK + LOOP,
        "KeyboardInterrupt",
        ["figure", "drawing", "display", "done"],
        b"",
    ),
    (
        "without one nothing is",
        "display(1)\n" + LOOP,
        "KeyboardInterrupt",
        ["display", "done"],
        b"",
    ),
    (
        "nor with one that is closed",
        QUICK + "plt.close()\n" + LOOP,
        "KeyboardInterrupt",
        ["figure", "done"],
        b"",
    ),
    (
        "of several the first is told, and all are drawn",
        QUICK + QUICK + LOOP,
        "KeyboardInterrupt",
        ["figure", "drawing", "display", "display", "done"],
        b"",
    ),
    (
        "what show() was drawing is drawn again, what it had shown is not",
        QUICK + "slow(60, False)\nplt.show()",
        "KeyboardInterrupt",
        ["figure", "display", "drawing", "display", "done"],
        b"",
    ),
    (
        "drawing may be interrupted, too",
        QUICK + "slow(60)\nslow(60)\nplt.figure()",
        "KeyboardInterrupt",
        ["figure", "drawing", "display", "done"],
        b"2 figures were not drawn: the cell was stopped\n",
    ),
    (
        "the code's own exception is what is told",
        "slow(60)\n1 / 0",
        "ZeroDivisionError",
        ["figure", "drawing", "done"],
        b"1 figure was not drawn: the cell was stopped\n",
    ),
]


@pytest.mark.parametrize(
    "code, name, heard, owned",
    [row[1:] for row in STOPPED],
    ids=[row[0] for row in STOPPED],
)
def test_figures_of_a_cell_that_is_stopped(session, code, name, heard, owned):
    assert status(done(session, SLOW)) == "ok"
    session.start(code)
    session.hears(b"on\n")
    interrupt(session)
    frame, _displays = session.outcome()
    assert (frame["error"]["name"], session.heard) == (name, heard)
    session.hears(owned, "stderr")
    assert session.said["stderr"] == owned
    assert done(session, "plt.get_fignums()")["result"] == "[]"


def test_a_process_that_a_cell_forked_says_nothing_of_figures(session):
    done(session, SLOW)
    done(session, "import os\nif os.fork(): os.wait()\n" + QUICK)
    assert session.heard == ["figure", "drawing", "display", "done"]


def test_it_says_whether_functions_wait_for_its_end(session):
    """Those of the libraries do not count, and a cell cannot change how that is
    counted."""
    cells = [
        ("import atexit", {}, False),
        ("atexit._ncallbacks = lambda: 1000", {}, False),
        ("end = atexit.register(print, 'bye')", {}, True),
        ("1 / 0", {}, True),
        ("", {"last": True}, False),
    ]
    for code, more, waits in cells:
        session.start(code, **more)
        frame, _displays = session.outcome()
        assert frame.get("at_exit", False) == waits, code
    session.hears(b"bye\n")


def test_the_environment_is_ours_alone(session):
    frame = done(session, "import os\nsorted(set(os.environ))")
    assert "SECRET" not in frame["result"]
    assert (
        done(session, "os.environ['HOME'], os.environ['PATH']")["result"]
        == "('/workspace', '/usr/bin:/bin:/opt/bin')"
    )


def test_no_descriptor_but_the_streams_and_the_channel(session):
    done(session, "import os\nlisted = os.listdir('/proc/self/fd')")
    frame = done(
        session,
        "sorted(int(fd) for fd in listed if os.path.exists(f'/proc/self/fd/{fd}'))",
    )
    assert frame["result"] == "[0, 1, 2, 3, 60, 64, 65, 66]"


def test_descriptors_are_not_passed_on(session):
    frame = done(
        session,
        "import subprocess, sys\nprint(subprocess.run(['/bin/ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split())",
    )
    assert status(frame) == "ok"
    session.hears(b"['0', '1', '2', '3']\n")


def test_output_comes_before_the_end(session):
    done(session, "import sys\nprint('a', end='')\nprint('b', file=sys.stderr)")
    session.hears(b"a")
    session.hears(b"b\n", "stderr")


def test_warnings_and_logging_are_seen(session):
    done(
        session, "import warnings, logging\nwarnings.warn('w1')\nlogging.warning('w2')"
    )
    session.hears(b"WARNING:root:w2\n", "stderr")
    assert b"UserWarning: w1" in session.said["stderr"]


INTERRUPTED = [
    "while True: pass",
    "import time\ntime.sleep(60)",
    "import re\nre.match('(a+)+b', 'a' * 40)",
    "import subprocess\nsubprocess.run(['sleep', '60'])",
    "import threading\nthreading.Event().wait()",
    "import asyncio\nawait asyncio.sleep(60)",
    "import asyncio\nasyncio.run(asyncio.sleep(60))",
    "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
    "class C:\n    def __repr__(self):\n        while True: pass\nC()",
]


@pytest.mark.parametrize("code", INTERRUPTED)
def test_sigint_ends_the_cell_and_keeps_the_state(session, code):
    done(session, "x = 1")
    frame = run_and_interrupt(session, code)
    assert status(frame) == "interrupted"
    assert frame["error"]["name"] == "KeyboardInterrupt"
    assert done(session, "x")["result"] == "1"


def test_sigint_between_cells_is_nothing(session):
    done(session, "x = 1")
    interrupt(session)
    assert done(session, "x")["result"] == "1"


def test_sigint_to_the_zygote_is_nothing(zygote, tmp_path):
    zygote.process.send_signal(signal.SIGINT)
    session = zygote.open(tmp_path)
    assert done(session, "1 + 1")["result"] == "2"
    assert status(run_and_interrupt(session, "while True: pass")) == "interrupted"
    assert session.close() == 0


def test_sigint_works_whatever_the_cell_before_did(session):
    done(
        session,
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])",
    )
    assert status(run_and_interrupt(session, "while True: pass")) == "interrupted"


def test_many_interrupts_at_any_moment_break_nothing(session):
    done(session, "n = 0")
    for i in range(300):
        session.start("n += 1\nfor i in range(200): pass")
        time.sleep(i % 10 * 3e-5)
        interrupt(session)
        assert status(session.outcome()[0]) in ("ok", "interrupted", "error")
    assert done(session, "1 + 1")["result"] == "2"


EXHAUST = """x = []
for size in (1 << 20, 1 << 14, 1 << 10, 1 << 7, 1):
    try:
        while True:
            x.append(bytearray(size))
    except MemoryError:
        pass
"""


def test_memory_errors_are_survived(zygote, tmp_path):
    session = zygote.open(tmp_path, memory_bytes=1 << 30)
    frame = done(session, "x = bytearray(1 << 31)")
    assert frame["error"]["name"] == "MemoryError"
    frame = done(session, EXHAUST + "bytearray(1 << 25)")
    assert frame["error"]["name"] == "MemoryError"
    assert "    bytearray(1 << 25)" in frame["error"]["traceback"]
    assert done(session, "n = len(x); del x\nn > 10")["result"] == "True"
    assert session.close() == 0


def test_a_display_larger_than_memory_is_a_memory_error(zygote, tmp_path):
    session = zygote.open(tmp_path, memory_bytes=1 << 30)
    frame = done(
        session,
        "png = bytes(15 << 20)\nx = []\n"
        "try:\n    while True: x.append(bytearray(1 << 20))\nexcept MemoryError: pass\n"
        "display({'image/png': png}, raw=True)",
    )
    assert frame["error"]["name"] == "MemoryError"
    assert done(session, "del x\n1")["result"] == "1"
    assert session.close() == 0


def test_files_left_open_are_written_out(session, tmp_path):
    done(session, "f = open('a.txt', 'w')\nn = f.write('kept')")
    assert (tmp_path / "a.txt").read_text() == "kept"


def test_only_a_new_descriptor_makes_it_look_at_all_objects(session):
    """It takes long where there are many."""
    done(
        session,
        "import gc, os\nlooked = []\nget = gc.get_objects\n"
        "gc.get_objects = lambda: looked.append(1) or get()",
    )
    done(session, "f = open('a.txt', 'w')\nd = os.open('b', os.O_CREAT | os.O_WRONLY)")
    done(session, "n = f.write('1')")
    assert done(session, "len(looked)")["result"] == "1"


def test_variables_of_the_environment_are_there_for_one_cell(session):
    more = {"env": {"KEY": "s=1", "HOME": "/x", "LEER": ""}}
    session.start("import os\nos.environ['KEY'], os.environ['HOME'], os.environ['LEER']", **more)
    assert session.outcome()[0]["result"] == "('s=1', '/x', '')"
    after = "'KEY' in os.environ, os.environ['HOME'], os.system('test -z \"$KEY\"')"
    assert done(session, after)["result"] == "(False, '/workspace', 0)"


def test_variables_of_the_environment_reach_programs_and_end_with_an_error(session):
    session.start("import os\nos.system('test \"$KEY\" = s') or 1/0", env={"KEY": "s"})
    assert session.outcome()[0]["error"]["name"] == "ZeroDivisionError"
    assert done(session, "os.environ.get('KEY')").get("result", "") == ""


def test_a_variable_that_a_cell_sets_itself_stays(session):
    session.start("import os\nos.environ['KEY'] = 'mine'", env={"KEY": "s"})
    session.outcome()
    assert done(session, "os.environ['KEY']")["result"] == "'mine'"


FORKED = [
    ("falls through", "import os\npid = os.fork()\nprint('x')\npid", 0),
    (
        "ends with sys.exit(3)",
        "import os, sys\npid = os.fork()\nif pid == 0: sys.exit(3)",
        3,
    ),
    ("ends with a sentence", "import os, sys\npid = os.fork()\nif pid == 0: sys.exit('x')", 1),
    ("raises", "import os\npid = os.fork()\nif pid == 0: 1/0", 1),
    ("displays", "import os\npid = os.fork()\nif pid == 0: display('forged')", 0),
]


@pytest.mark.parametrize(
    "code, code_of_child", [r[1:] for r in FORKED], ids=[r[0] for r in FORKED]
)
def test_a_forked_child_has_no_say(session, code, code_of_child):
    frame, displays = session.run(code)
    assert status(frame) == "ok" and displays == []
    assert done(session, "os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])")[
        "result"
    ] == str(code_of_child)
    assert done(session, "1 + 1")["result"] == "2"


def test_multiprocessing_works(session):
    frame = done(
        session,
        "from multiprocessing import Pool\ndef f(x): return x * x\nwith Pool(2) as p: r = p.map(f, [1, 2])\nr",
    )
    assert frame.get("result") == "[1, 4]", frame


def test_threads_go_on_between_cells(session):
    done(session, "import threading\nthreading.Timer(0.1, print, ['later']).start()")
    session.hears(b"later\n")


def test_a_display_between_cells_is_nobodys(session):
    done(
        session,
        "import threading\n"
        "def late():\n"
        "    display('late')\n"
        "    print('late')\n"
        "threading.Timer(0.2, late).start()",
    )
    session.hears(b"late\n")
    frame, displays = session.run("1")
    assert frame["result"] == "1" and displays == []


CLOSED = [
    "import os\nos.close(0); os.close(1); os.close(2)",
    "import os\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
    "import os\nos.closerange(4, 60)",
]


@pytest.mark.parametrize("code", CLOSED)
def test_streams_come_back(session, code):
    done(session, code)
    assert status(done(session, "print('heard')")) == "ok"
    session.hears(b"heard\n")


DEATHS = [
    ("os._exit", "import os\nos._exit(9)", 9 << 8),
    ("SIGKILL", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", 9),
    ("a segmentation fault", "import ctypes\nctypes.string_at(0)", 11),
    ("the channel closed", "import os\nos.close(3)", 70 << 8),
    ("execv", "import os\nos.execv('/bin/true', ['true'])", 0),
]


@pytest.mark.parametrize(
    "code, expected", [r[1:] for r in DEATHS], ids=[r[0] for r in DEATHS]
)
def test_a_death_is_told_and_harms_nobody(zygote, tmp_path, code, expected):
    session = zygote.open(tmp_path)
    session.run("print('last words')")
    frame, _ = session.run(code)
    assert frame is None
    assert session.wait() == expected
    assert session.said["stdout"] == b"last words\n"
    after = zygote.open(tmp_path)
    assert done(after, "1 + 1")["result"] == "2"
    assert after.close() == 0


def test_a_large_result_and_a_large_display(session):
    frame, displays = session.run(
        "display({'image/png': bytes(15 << 20)}, raw=True)\n'é' * 10**6"
    )
    assert len(displays[0]["image/png"]) == 15 << 20
    assert len(frame["result"].encode()) <= 32 << 10


def test_any_bytes_as_code(session):
    frame = done(session, b"x = '\xff'".decode("latin-1").encode())
    assert status(frame) == "ok"
    assert status(done(session, b"'\xff\xfe'")) == "ok"


def test_a_thousand_small_displays(session):
    _, displays = session.run("for i in range(1000): display(i)")
    assert len(displays) == 65


def test_sessions_do_not_share_their_randomness(pair):
    first, second = pair
    code = "import random, uuid, os\n[random.random(), uuid.uuid4().hex, os.urandom(8).hex()]"
    numbers = [done(s, code)["result"].strip("[]").split(", ") for s in (first, second)]
    assert not set(numbers[0]) & set(numbers[1])


FORKED = """
import os, random
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, repr(random.random()).encode())
    os._exit(0)
os.wait()
os.read(read, 64) != repr(random.random()).encode()
"""
OWN = [
    (
        "its main thread knows its number",
        "import threading\n"
        "threading.main_thread().native_id == threading.get_native_id()",
    ),
    ("it collects garbage", "import gc\ngc.isenabled()"),
    ("what it forks draws other random numbers", FORKED),
    ("it imports from its folder", "import sys\nsys.path.count('') == 1"),
]


@pytest.mark.parametrize("code", [row[1] for row in OWN], ids=[row[0] for row in OWN])
def test_a_session_is_a_process_of_its_own(session, code):
    assert done(session, code).get("result") == "True"


@pytest.fixture
def pair(zygote, tmp_path):
    pair = zygote.open(tmp_path), zygote.open(tmp_path)
    yield pair
    for session in pair:
        session.channel.close()
        guest_client.receive(zygote.channel)


def test_delays(zygote, profile, tmp_path):
    """No limits here: they are printed (pytest -s)."""
    ready, first, cell = [], [], []
    for _ in range(20):
        session = zygote.open(tmp_path)
        ready.append(session.ready_ms)
        for times in (first, *[cell] * 10):
            start = time.perf_counter()
            done(session, "x = 1 + 1")
            times.append((time.perf_counter() - start) * 1e3)
        assert session.close() == 0
    for name, times in (
        ("fork to ready", ready),
        ("first cell", first),
        ("cell", cell),
    ):
        print(
            f"{profile}: {name} p50 {statistics.median(times):.2f} ms, max {max(times):.2f} ms"
        )
