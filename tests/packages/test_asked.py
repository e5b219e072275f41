"""Packages that a cell asks for in so many words: %pip install and its like."""

import json

import pytest
from conftest import installing
from wheels import wheel


@pytest.fixture(scope="module")
def executor(scratch):
    folder = scratch / "wheels"
    for version in ("1.0", "2.0"):
        text = f"version = '{version}'\n"
        wheel(folder, "quern_pure", {"quern_pure.py": text}, version=version)
    wheel(folder, "quern_other", {"quern_other.py": "n = 2\n"})
    with installing(scratch, folder, "--cell-time", "2s") as executor:
        yield executor


LINES = [
    "%pip install quern_pure",
    "!pip install -q quern-pure",
    "!python3 -m pip install --upgrade 'quern_pure>=2'",
    "%pip install -i http://127.0.0.1/ --user quern_pure quern_other",
    "!uv pip install quern_pure && echo done",
    "%conda install -y -c some quern_pure",
]


@pytest.mark.parametrize("line", LINES)
def test_it_is_there_in_the_same_cell(session, line):
    done = session.run(f"x = 1\n{line}\nimport quern_pure\nx, quern_pure.version")
    assert (done.result, done.restarts, done.reason) == ("(1, '2.0')", 0, "")
    assert done.stdout.startswith("installed quern_pure 2.0 (sha256 ")


def test_a_version(session):
    done = session.run(
        "!pip install quern_pure==1.0\nimport quern_pure\nquern_pure.version"
    )
    assert done.result == "'1.0'"
    done = session.run("%pip install quern_pure==1.0")
    assert done.stdout == "quern_pure==1.0: installed already\n"
    done = session.run("%pip install quern_pure==2.0")
    assert done.stdout.startswith("Not installed: "), "one version in a session"
    done = session.run("%pip install quern_other\nimport quern_other\nquern_other.n")
    assert done.result == "2"


def test_a_file_of_requirements(session):
    session.put("requirements.txt", b"# ours\nquern_pure==1.0  # old\n\nquern-other\n")
    done = session.run(
        "!pip install -r requirements.txt\nimport quern_pure, quern_other"
    )
    assert done.status == "ok"
    done = session.run("!pip install -r nothing.txt")
    assert "Not installed: " in done.stdout


# what is asked for, what is said
REFUSED = [
    ("%pip install quern_nothing", "pip finds no wheels"),
    ("%pip install ./quern_pure", "is not a package"),
    ("%pip install git+https://example.org/x", "is not a package"),
    ("%pip install 'x @ file:///etc/passwd'", "is not a package"),
    ("%pip install 'x; rm -rf /'", "is not a package"),
    ("%pip install 'x; python_version>\"3\"'", "is not a package"),
    ("%pip install", "no package is named"),
    ("%pip install 'unclosed", "No closing quotation"),
    ("!apt-get install -y x", "cannot be installed here like this"),
    ("get_ipython().system('pip install ' + ' '.join(['x'] * 33))", "at most 32"),
    ("get_ipython().system('pip install ' + 'x' * 300)", "at most 200"),
    ("get_ipython().system('pip install ' + 'x' * 9000)", "must be 1 to 4096"),
]


@pytest.mark.parametrize("line, said", REFUSED, ids=[row[0][:40] for row in REFUSED])
def test_what_is_not_installed(session, line, said):
    done = session.run(f"{line}\n1")
    assert (done.status, done.result) == ("ok", "1")
    assert said in done.stdout
    assert session.run("import os; os.listdir('/packages')").result == "[]"


LOOK = json.dumps([{"name": "look", "parameters": {"type": "object"}}])
CROWDED = """
import _quern, sys, threading, time
sys.setswitchinterval(100)  # a thread goes on until it waits for its answer
begun = []
def ask(kind, data):
    begun.append(kind)
    return _quern.ask(kind, 'look' if kind == 'tool' else '', data)[0]
def start(count, *what):
    for _ in range(count):
        threading.Thread(target=ask, args=what, daemon=True).start()
start(16, 'tool', b'{}')
start(1, 'install', b'quern_nothing')
while len(begun) < 17: time.sleep(0.01)
sys.setswitchinterval(0.005)
ask('tool', b'{}')
"""


def test_an_installation_takes_no_calls_place(session):
    """The most calls that may be open are, and an installation goes on."""
    ref, _ = session.start(CROWDED, tools=LOOK, cell_ms=20000)
    frames = [session.connection.answer(ref) for _ in range(16)]
    assert {frame["type"] for frame in frames} == {"tool"}
    assert session.finish(ref).result == "'too_many_open'"


def test_threads_ask_one_at_a_time(session):
    done = session.run(
        "import _quern, threading\n"
        "told = []\n"
        "def ask():\n"
        "    told.append(_quern.ask('install', '', b'quern_nothing')[0])\n"
        "threads = [threading.Thread(target=ask) for _ in range(4)]\n"
        "for t in threads: t.start()\n"
        "for t in threads: t.join()\n"
        "sorted(told)"
    )
    assert done.result == str(["not_installed"] + ["too_many_open"] * 3)


def test_a_cell_may_ask_so_often(session):
    done = session.run(
        "import _quern\n"
        "[_quern.ask('install', '', b';')[0] for _ in range(17)][15:]",
        cell_ms=2000,
    )
    assert done.result == "['not_installed', 'too_many_calls']", "and its clock stands"
