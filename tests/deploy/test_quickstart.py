"""quickstart leaves nothing running and takes nothing away, also when killed.

The script is the shipped one; what it would install and build is there.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from servers import binary, wait_until

TREE = pathlib.Path(__file__).resolve().parents[2]


class Quickstart:
    def __init__(self, tree):
        self.tree = tree
        self.out = tree / "quern-out"
        shutil.copytree(TREE / "deploy", tree / "deploy")
        (tree / "build" / "release").mkdir(parents=True)
        (tree / "build/release/bin").symlink_to(pathlib.Path(binary("quern")).parent)
        stubs = tree / "stubs"
        stubs.mkdir()
        for stub in (stubs / "cmake", tree / "deploy" / "install"):
            stub.unlink(missing_ok=True)
            stub.write_text("#!/bin/sh\n")
            stub.chmod(0o755)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
        self.env = {**kept, "PATH": f"{stubs}:{os.environ['PATH']}"}

    def start(self, *args, **env):
        return subprocess.Popen(
            ["deploy/quickstart", *args],
            cwd=self.tree,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __call__(self, *args, code=0, **env):
        child = self.start(*args, **env)
        said, _ = child.communicate(timeout=120)
        assert child.returncode == code, said
        return said

    def running(self):
        """The servers of which the numbers are still in use."""
        files = (self.out / "run").glob("*.pid")
        numbers = {f.stem: f.read_text().split()[0] for f in files if f.stat().st_size}
        return {n for n, pid in numbers.items() if os.path.exists(f"/proc/{pid}")}


@pytest.fixture
def quickstart():
    # Not below pytest's own folder: that is closed, and others come and go in it.
    with tempfile.TemporaryDirectory(prefix="quern-quickstart-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        quickstart = Quickstart(pathlib.Path(folder, "a tree"))
        yield quickstart
        quickstart("--stop")


def test_keep_and_stop(quickstart):
    quickstart.out.mkdir()
    (quickstart.out / "mine.png").write_bytes(b"a chart of mine")
    assert "The chart: quern-out/figure-1.png" in quickstart("--keep")
    assert quickstart.running() == {"redis", "executor", "model", "consumer"}
    assert (quickstart.out / "mine.png").exists()
    assert "running already" in quickstart(code=1)
    assert quickstart("--stop") == "Stopped.\n"
    assert quickstart("--stop") == "Nothing is running.\n"
    assert "The chart: quern-out/figure-1.png" in quickstart()  # it was there


def test_what_a_killed_one_left_is_stopped(quickstart):
    child = quickstart.start()
    wait_until(lambda: "consumer" in quickstart.running(), what="the consumer")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    folder = os.readlink(quickstart.out / "run")
    assert "running already" in quickstart(code=1)
    assert quickstart("--stop") == "Stopped.\n"
    assert not os.path.exists(folder)


def test_a_consumer_that_cannot_start_says_why_at_once(quickstart):
    said = quickstart(code=1, OPENAI_BASE_URL="nonsense")
    assert "consumer ended" in said and "http://" in said
    assert quickstart.running() == set()


def test_a_proxy_is_not_asked_for_the_practice_model(quickstart):
    assert "The chart" in quickstart(http_proxy="http://127.0.0.1:9", no_proxy="")
