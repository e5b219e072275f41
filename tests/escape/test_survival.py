"""Parts of the executor die: sessions that need not, do not; the others say so."""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time

import pytest
from conftest import EMPTY, READY, answers
from executor_client import Executor, Failed
from servers import binary, wait_until


def children(pid, name, states="RSDTt"):
    """Pids of the children with this program name, oldest first."""
    found = []
    for task in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{task}/stat") as stat:
                text = stat.read()
        except OSError:
            continue
        state, parent = text.rpartition(")")[2].split()[:2]
        if int(parent) == pid and f"({name})" in text and state in states:
            found.append(int(task))
    return sorted(found)


def is_boxed(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            levels = next(s for s in status if s.startswith("NSpid:"))
    except OSError:
        return True  # it has just ended, and so is none of those outside
    return len(levels.split()) > 2


def makers(executor):
    pids = children(executor.process.pid, "quern-box")
    return [pid for pid in pids if not is_boxed(pid)]


def inits(executor, states="RSDTtZ"):
    """The first processes of its boxes: the executor's own, when their maker died."""
    parents = [executor.process.pid, *makers(executor)]
    pids = [pid for parent in parents for pid in children(parent, "quern-box", states)]
    return [pid for pid in pids if is_boxed(pid)]


def zygotes(executor):
    """Interpreters that lost theirs are the executor's children, too: in boxes."""
    pids = children(executor.process.pid, "quern-guest")
    return [pid for pid in pids if not is_boxed(pid)]


def zygote_of(executor):
    (pid,) = wait_until(lambda: zygotes(executor), what="there is a zygote")
    return pid


def test_sessions_outlive_the_zygote(executor):
    session = executor.open("survivor")
    session.run("x = 1")
    for round in range(3):
        os.kill(zygote_of(executor), signal.SIGKILL)
        assert session.run("x += 1; x").result == str(round + 2)
        # Whether the warden has noticed yet or not.
        assert executor.open(f"new-{round}").run("1").result == "1"
    done = session.run("import os; os._exit(7)")
    assert (done.status, done.state) == ("crashed", "rolled_back")
    assert "code 7" in done.reason, "known without the zygote that forked it"
    session.close()
    for round in range(3):
        executor.open(f"new-{round}").close()
    pid = executor.process.pid
    wait_until(lambda: not children(pid, "quern-guest", "Z"), what="none is a zombie")


def test_nobody_is_left_of_births_that_failed():
    """The zygote may die when it has forked and not said so yet."""
    with Executor("--profile", "bare") as executor:  # it starts again at once
        lose_births(executor)


def lose_births(executor):
    pid = executor.process.pid
    for round in range(40):
        refs = []
        for i in range(4):
            name = f"birth-{round}-{i}"
            refs.append(executor.connection.send(type="open", session=name))
        time.sleep(round * 0.0003)
        for zygote in zygotes(executor):
            with contextlib.suppress(ProcessLookupError):
                os.kill(zygote, signal.SIGKILL)
        for i, ref in enumerate(refs):
            with contextlib.suppress(Failed):
                executor.connection.answer(ref)
            executor.connection.ask(type="close", session=f"birth-{round}-{i}")

    def settled():
        boxes = len(inits(executor))
        return boxes == EMPTY + READY and not children(pid, "quern-guest", "Z")

    wait_until(settled, timeout=20, what="boxes and interpreters end")


def test_a_session_whose_box_dies_says_so(executor):
    session = executor.open("boxed")
    session.run("x = 1")
    ref, _ = session.start("import time; print('begun'); time.sleep(60)")
    assert session.connection.answer(ref)["data"] == b"begun\n"
    for box in inits(executor):
        with contextlib.suppress(ProcessLookupError):
            os.kill(box, signal.SIGKILL)
    done = session.finish(ref)
    assert (done.status, done.state) == ("crashed", "lost")
    assert answers(session), "though it may have got one that was to be killed"
    session.close()


def kill_maker(executor):
    for maker in makers(executor):
        os.kill(maker, signal.SIGKILL)


def test_boxes_outlive_what_makes_them():
    with Executor("--profile", "bare") as executor:
        session = executor.open("old")
        session.run("x = 1")
        for round in range(3):
            kill_maker(executor)
            assert session.run("x += 1; x").result == str(round + 2)
            new = [executor.open(f"new-{round}-{i}") for i in range(READY + 3)]
            assert [one.run("1").result for one in new] == ["1"] * len(new)
            for one in new:
                one.close()
        pid = executor.process.pid
        wait_until(lambda: not children(pid, "quern-box", "Z"), what="no zombie")


# While there is that file, nothing can be written in a box.
FAILING_BOX = """#!/usr/bin/python3 -I
import os, resource, sys
if os.path.exists({broken!r}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
os.execv({box!r}, [{box!r}])
"""


def test_nobody_is_left_of_boxes_that_failed():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path, broken = os.path.join(folder, "quern-box"), os.path.join(folder, "broken")
        with open(path, "w") as file:
            file.write(FAILING_BOX.format(broken=broken, box=binary("quern-box")))
        os.chmod(path, 0o755)
        with Executor("--profile", "bare", "--box", path) as executor:
            open(broken, "w").close()
            kill_maker(executor)
            executor.open("a").close()  # a box is to be made in the place of its own
            wait_until(
                lambda: executor.process.text().count("File too large") > 4,
                timeout=60,
                what="boxes fail, and say why",
            )
            assert not inits(executor, "Z")
            os.unlink(broken)
            kill_maker(executor)
            assert executor.open("b").run("1").result == "1"


def test_an_interpreter_that_dies_between_cells_is_owned_up_to(executor):
    session = executor.open("owner")
    session.run("x = 1")
    session.run("import ctypes; ctypes.CDLL(None).prctl(15, b'owner')")
    session.list()  # the snapshot is made, and has the name as well
    zygote = zygote_of(executor)
    (interpreter,) = children(zygote, "owner")
    os.kill(interpreter, signal.SIGKILL)
    wait_until(lambda: interpreter not in children(zygote, "owner"))
    heard = '"session.rolled_back","who":"owner"'
    wait_until(lambda: heard in executor.process.text(), what="it is heard of")
    done = session.run("1 + 1")
    assert (done.status, done.result, done.state) == ("ok", "2", "rolled_back")
    assert "signal 9" in done.reason
    assert session.run("1").state == "kept"
    session.close()


THREAD = """
import threading, time
gaps = []
def watch():
    before = time.monotonic()
    while True:
        time.sleep(0.01)
        now = time.monotonic()
        gaps.append(now - before)
        before = now
threading.Thread(target=watch, daemon=True).start()
"""
WAIT = "while not any(gap > {0} for gap in gaps): time.sleep(0.01)"


def test_nothing_runs_between_cells(executor):
    session = executor.open("thread")
    session.run(THREAD + WAIT.format(0))
    time.sleep(1.5)
    assert session.run(WAIT.format(1)).status == "ok", "it stood still"
    assert session.run("gaps.clear()\n" + WAIT.format(0)).status == "ok", "it goes on"
    session.close()


def test_sessions_come_and_go_without_a_trace(executor):
    def descriptors():
        return len(os.listdir(f"/proc/{executor.process.pid}/fd"))

    def settled():
        """How many, once all stand ready and nothing moves."""
        before = descriptors(), len(inits(executor))
        time.sleep(0.2)
        after = descriptors(), len(inits(executor))
        return after[0] if before == after and after[1] == EMPTY + READY else 0

    executor.open("first").close()
    before = wait_until(settled)
    for i in range(60):
        session = executor.open(f"s{i}")
        assert session.run("1").result == "1"
        if i % 3 == 0:
            session.run("import os; os._exit(1)")
        session.close()
    wait_until(lambda: 0 < settled() <= before + 2, what="descriptors are closed")


def test_many_sessions_at_once(executor):
    sessions = [executor.open(f"many-{i}") for i in range(40)]
    refs = [s.start(f"x = {i}; x") for i, s in enumerate(sessions)]
    for i, session in enumerate(sessions):
        assert session.finish(refs[i][0]).result == str(i)
    for i, session in enumerate(sessions):
        assert session.run("x").result == str(i)
        session.close()


def test_there_are_no_more_sessions_than_allowed():
    with Executor("--profile", "bare", "--sessions", "2") as executor:
        first = executor.open("a")
        executor.open("b")
        with pytest.raises(Failed, match="at most 2") as failed:
            executor.open("c")
        assert failed.value.error["retryable"]
        first.close()
        assert executor.open("c").run("1").result == "1"


def test_there_are_no_more_sessions_than_descriptors():
    few = ["prlimit", "--nofile=400:400"]
    with Executor("--profile", "bare", "--ready", "1", within=few) as executor:
        (line,) = [s for s in executor.process.text().splitlines() if "fewer" in s]
        most = int(json.loads(line)["text"].split()[0])
        assert most > 5
        sessions = [executor.open(f"s{i}") for i in range(most)]
        refs = [s.start("x = 1; x") for s in sessions]
        for session, (ref, _) in zip(sessions, refs):
            assert session.finish(ref).result == "1"
            assert session.run("x").result == "1", "with a snapshot each"
        with pytest.raises(Failed, match=f"at most {most}"):
            executor.open("one-more")


def test_an_idle_session_ends():
    with Executor("--profile", "bare", "--idle", "1s") as executor:
        session = executor.open("a")
        session.run("x = 1")

        def ended():
            return "session.ended" in executor.process.text().split("ready")[-1]

        wait_until(ended)
        assert executor.open("a").fresh


def test_two_executors_do_not_share_a_socket():
    with Executor("--profile", "bare") as executor:
        args = [*executor.process.args]
        second = subprocess.run(args, capture_output=True, text=True, timeout=30)
        assert second.returncode == 69
        assert "another executor" in second.stderr
        assert executor.open("a").run("1").result == "1"


def test_a_file_that_is_no_socket_stays(tmp_path):
    (tmp_path / "file").write_text("dear")
    args = [binary("quern-executor"), "--executor", tmp_path / "file"]
    ended = subprocess.run(args, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 69
    assert "is not a socket" in ended.stderr
    assert (tmp_path / "file").read_text() == "dear"
