"""Packages from an index, with a list of what may be asked for."""

import hashlib
import os
import subprocess
import sys

import pytest
from conftest import QUIET, installing
from executor_client import Executor, wait_until
from servers import SOURCE
from web import Web
from wheels import wheel


class Index(Web):
    """The simple API (PEP 503)."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder
        self.changed = {}  # file: other bytes than the hash is of
        self.env = {"PIP_INDEX_URL": f"{self.url}/simple"}

    def answer(self, asked):
        kind, name = asked.path.strip("/").split("/")
        if kind == "simple":
            data, form = self.page(name), "text/html"
        else:
            data, form = self.file(name), "application/octet-stream"
        return 200 if data else 404, data, {"Content-Type": form}

    def page(self, name):
        links = ""
        for path in sorted(self.folder.iterdir()):
            if path.name.split("-")[0].replace("_", "-") == name:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                links += f'<a href="/files/{path.name}#sha256={digest}">{path.name}</a>'
        return f"<!DOCTYPE html><body>{links}</body>".encode() if links else b""

    def file(self, name):
        return self.changed.get(name) or (self.folder / name).read_bytes()


@pytest.fixture(scope="module")
def index(scratch):
    folder = scratch / "index"
    wheel(
        folder,
        "quern_asked",
        {"quern_asked.py": "import quern_needed\nn = 1\n"},
        needs=["quern-needed"],
    )
    wheel(folder, "quern_needed", {"quern_needed.py": "n = 2\n"})
    wheel(folder, "quern_banned", {"quern_banned.py": "n = 3\n"})
    wheel(folder, "quern_changed", {"quern_changed.py": "n = 4\n"})
    wheel(folder, "quern_slow", {"quern_slow.py": "n = 5\n"})
    with Index(folder) as index:
        yield index


@pytest.fixture(scope="module")
def executor(scratch, index):
    allowed = scratch / "allowed"
    allowed.write_text(
        "# what may be asked for\nQuern.Asked  # any spelling\n"
        "quern_changed\nquern-slow\nquern-unknown\n"
    )
    allowed.chmod(0o644)
    with installing(
        scratch, "index", "--packages-allow", str(allowed), env=index.env
    ) as executor:
        yield executor


def test_what_is_allowed_comes_with_what_it_needs(session, executor, index):
    done = session.run("import quern_asked\nquern_asked.quern_needed.n")
    assert (done.status, done.result) == ("ok", "2")
    page = index.page("quern-asked").decode()
    digest = page.partition("sha256=")[2][:64]
    assert f"wheel quern_asked 1.0 {digest}" in executor.process.text()
    assert digest[:12] in done.reason


def test_what_is_not_allowed_is_not_even_asked_for(session, index):
    before = index.seen.copy()
    done = session.run("import quern_banned")
    assert "quern-banned is not on this executor's list of packages" in done.reason
    assert session.run("import quern_needed").status == "error", "only along with it"
    assert index.seen == before


def test_what_the_index_does_not_have(session):
    done = session.run("import quern_unknown")
    assert "pip finds no wheels for it" in done.reason


def test_another_file_than_the_index_promised(session, index, executor):
    name = "quern_changed-1.0-py3-none-any.whl"
    good = (index.folder / name).read_bytes()
    index.changed[name] = good + b" "
    done = session.run("import quern_changed")
    assert done.status == "error" and done.restarts == 0
    assert not list(executor.store.glob("wheels/*/quern_changed.py"))
    del index.changed[name]
    assert session.run("import quern_changed\nquern_changed.n").result == "4"


def test_it_can_be_interrupted_while_it_waits(session, index, executor):
    session.run("x = 1")
    ref, _ = session.start("x = 2\nimport quern_slow")
    wait_until(lambda: index.seen["/simple/quern-slow/"])
    session.interrupt()
    done = session.finish(ref)
    assert done.status == "error"
    assert "was interrupted" in done.reason
    assert session.run("x").result == "2"
    assert not list(executor.store.glob("run-*/work-*/*.json"))


def test_a_session_can_be_closed_while_it_waits(executor, index):
    index.seen.clear()
    session = executor.open("closed")
    session.start("import quern_slow")
    wait_until(lambda: index.seen["/simple/quern-slow/"])
    session.close()
    assert executor.open("closed").fresh


# flags, what is said
REFUSED = [
    (["--packages", "index"], "needs --packages-allow"),
    (["--packages", "some"], "must be off, index, or a folder"),
    (["--packages", "/tmp", "--packages-allow", "/nothing"], "must be names"),
    (["--packages", "/nothing/there"], "must be off, index, or a folder"),
    (["--packages", "/tmp", "--insecure"], "needs boxes"),
    (["--packages", "/tmp", "--packages-store", "here"], "must be a folder"),
]


@pytest.mark.parametrize("flags, said", REFUSED)
def test_flags_that_make_no_sense(flags, said):
    with pytest.raises(AssertionError, match=said):
        Executor(*flags, env=QUIET)


def test_without_pip_nothing_is_promised(scratch):
    """Without the distribution's folders (-S) Python has no pip. The executor asks
    for nothing before it serves anybody, and ends when it hears this."""
    work = scratch / "work"
    work.mkdir()
    out, into = os.pipe()
    flags = {"source": "index", "store": work, "work": work, "into": work, "bytes": 9}
    words = [
        word for name, value in flags.items() for word in (f"--{name}", str(value))
    ]
    program = os.path.join(SOURCE, "executor", "packages")
    code = f"import os, sys; os.dup2({into}, 3); os.execv(sys.executable, sys.argv[1:])"
    python = [sys.executable, "-I", "-S", program, *words]
    subprocess.run([sys.executable, "-c", code, *python], pass_fds=[into], check=True)
    os.close(into)
    with open(out) as said:
        assert said.read() == "failed there is no pip here (Debian's python3-pip)\n"


def test_off_is_off(index):
    with Executor("--profile", "bare", env={**QUIET, **index.env}) as executor:
        session = executor.open("s")
        done = session.run("import quern_asked")
        assert (done.status, done.reason, done.restarts) == ("error", "", 0)
        assert "packages cannot be installed" in done.error["traceback"]
        assert session.run("import os; os.path.exists('/packages')").result == "False"
        session.close()
