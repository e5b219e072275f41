"""Interpreters that stand ready, and the zygotes they come from."""

import os
import signal
import time

import pytest
from executor_client import Executor, Failed
from servers import wait_until
from test_survival import children, zygote_of

DRAWN = "import random, uuid; random.random(), uuid.uuid4().hex"
HASH = "hash('quern')"
LIMITS = "import resource; [resource.getrlimit(r)[0] for r in (%s)]"


def sessions_of(executor, count):
    """One after the other, as they come: some stood ready, some did not."""
    for i in range(count):
        session = executor.open(f"birth-{i}")
        yield session
        session.close()


def test_no_two_sessions_draw_the_same_numbers():
    code = DRAWN + ", numpy.random.rand(), numpy.random.default_rng().random()"
    with Executor() as executor:
        drawn = [
            eval(session.run("import numpy\n" + code).result)
            for session in sessions_of(executor, 12)
        ]
    for stream in zip(*drawn):
        assert len(set(stream)) == 12, stream


def test_a_renewed_zygote_has_another_hash_seed():
    """Every session is a new fork, and after three of them Python is loaded anew;
    there is always one to fork from."""
    with Executor("--profile", "bare", "--renew-forks", "3") as executor:
        ups = executor.process.text().count("zygote.up")
        first = executor.open("first")
        before = first.run(HASH).result
        for i in range(20):
            session = executor.open(f"next-{i}")
            assert session.run("1 + 1").result == "2"
            session.close()
            time.sleep(0.05)
        wait_until(lambda: executor.process.text().count("zygote.up") > ups + 1)

        def differs():
            with_new = executor.open("new")
            value = with_new.run(HASH).result
            with_new.close()
            return value != before

        wait_until(differs, what="a session has another hash seed")
        assert first.run(HASH).result == before, "the old session lives on"
        assert first.run("import os; os._exit(3)").state == "rolled_back"
        assert first.run(HASH).result == before
        assert "zygote.down" not in executor.process.text()


def test_a_zygote_is_renewed_by_age():
    with Executor("--profile", "bare", "--renew", "1s") as executor:
        seeds = set()

        def twice_renewed():
            session = executor.open("young")
            seeds.add(session.run(HASH).result)
            session.close()
            time.sleep(0.1)
            return len(seeds) > 2

        wait_until(twice_renewed, timeout=30, what="three hash seeds")
        assert "zygote.down" not in executor.process.text()


def test_lower_limits_hold_in_one_that_stood_ready():
    resources = "resource.RLIMIT_NPROC, resource.RLIMIT_AS"
    with Executor("--profile", "bare") as executor:
        full = executor.open("full")
        processes, memory = eval(full.run(LIMITS % resources).result)
        limits = {"processes": processes - 10, "memory_bytes": 1 << 30}
        for ready in (True, False):  # and in one that is born with them
            if not ready:
                others = [executor.open(f"other-{i}") for i in range(4)]
            low = executor.open(f"low-{ready}", **limits)
            got = eval(low.run(LIMITS % resources).result)
            assert got[0] == processes - 10
            assert abs(memory - got[1] - (1 << 30)) < 64 << 20
            assert low.run("bytearray(1200 << 20)").error["name"] == "MemoryError"
        assert full.run("len(bytearray(1200 << 20))").result == str(1200 << 20)
        assert all(session.fresh for session in others)


def test_a_lower_quota_holds_for_all_files_together():
    code = "for i in range(5): open(f'f{i}', 'wb').write(bytes(300 << 10))"
    with Executor("--profile", "bare") as executor:
        low = executor.open("low", disk_bytes=1 << 20)
        assert low.run(code).error["value"].startswith("[Errno 28]")
        assert executor.open("full").run(code).status == "ok"
        assert executor.open("low-2", disk_bytes=1 << 20).run("1").result == "1"


def test_a_session_has_the_profile_that_it_asks_for():
    loaded = "import sys; 'numpy' in sys.modules"
    with Executor("--profile", "bare") as executor:
        assert executor.open("default").run(loaded).result == "False"
        ask = executor.connection.ask
        ask(type="open", session="science", profile="science")
        ask(type="open", session="bare", profile="bare")
        for name, result in (("science", "True"), ("bare", "False")):
            assert executor.open(name).run(loaded).result == result
        with pytest.raises(Failed, match="science or bare"):
            ask(type="open", session="huge", profile="huge")


def test_one_that_dies_while_it_waits_is_replaced():
    """Nobody can reach it there but the machine's operator."""
    with Executor("--profile", "bare", "--ready", "2") as executor:
        zygote = zygote_of(executor)

        def ready():
            there = children(zygote, "quern-guest")
            return there if len(there) == 2 else []

        for pid in wait_until(ready, what="two stand ready"):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: executor.process.text().count("pool.lost") == 2)
        assert executor.open("a").run("1 + 1").result == "2"
        executor.connection.ask(type="close", session="a")
        wait_until(ready, what="two stand ready again")
