"""Code is compiled in its session before its cell comes, and nothing is run."""

import pytest
from executor_client import Executor

COUNT = """
import sys
compiled = []
ours = sys.modules["quern_guest.cell"]
def compile_steps(code, *rest, own=ours.compile_steps):
    compiled.append(code)
    return own(code, *rest)
ours.compile_steps = compile_steps
"""


@pytest.fixture(scope="module")
def executor():
    with Executor() as executor:
        yield executor


def prepare(session, code, **frame):
    done = session.run(code, task="compile", **frame)
    assert (done.stdout, done.stderr, done.result) == ("", "", "")
    return done


def test_nothing_is_run_and_nothing_counts(executor):
    session = executor.open("counts")
    assert prepare(session, "print('ran')\nx = 1").status == "ok"
    assert session.run("'x' in globals()").result == "False"
    failed = session.run("1 / 0").error["traceback"]
    assert "<cell-2>" in failed, "the second that ran"


def test_it_is_compiled_once(executor):
    session = executor.open("once")
    session.run(COUNT)
    code = "def f():\n    return 1 / 0\nf()"
    prepare(session, code)
    done = session.run(code)
    assert done.error["name"] == "ZeroDivisionError"
    assert "return 1 / 0" in done.error["traceback"], "its lines are known"
    assert session.run("compiled.count(%r)" % code).result == "1"


def test_other_code_is_compiled_anew(executor):
    session = executor.open("other")
    session.run(COUNT)
    prepare(session, "y = 1")
    assert session.run("y = 2\ny").result == "2"
    assert session.run("y = 1\ny").result == "1", "its time is over"
    prepare(session, "y = 3")
    prepare(session, "y = 4")
    session.run("y = 4")
    assert session.run("compiled.count('y = 4'), y").result == "(1, 4)"


def test_what_has_to_be_said_is_said_by_the_cell(executor):
    session = executor.open("said")
    assert prepare(session, "x = = 1").status == "ok"
    assert session.run("x = = 1").error["name"] == "SyntaxError"
    assert prepare(session, "2 is 2").status == "ok"
    assert "SyntaxWarning" in session.run("2 is 2").stderr


def test_a_session_keeps_its_way_back(executor):
    session = executor.open("back")
    session.run("x = 'kept'")
    prepare(session, "import os\nos.kill(os.getpid(), 9)")
    done = session.run("import os\nos.kill(os.getpid(), 9)")
    assert (done.status, done.state) == ("crashed", "rolled_back")
    assert session.run("x").result == "'kept'"


HOSTILE = """
import os, sys
x = "kept"
def clean(text, own=sys.modules["quern_guest.cell"].source.clean):
    return os.kill(os.getpid(), 9) if text == "die" else own(text)
sys.modules["quern_guest.cell"].source.clean = clean
"""


def test_one_that_dies_of_it_is_what_it_was(executor):
    session = executor.open("killed")
    session.run(HOSTILE)
    assert session.run("die", task="compile").status == "crashed"
    done = session.run("x")
    assert (done.result, done.state) == ("'kept'", "rolled_back")
    assert done.reason.startswith("when this cell was compiled, ")
    assert session.run("x").state == "kept", "told once"


def test_it_has_a_deadline(executor):
    session = executor.open("late")
    session.run(
        HOSTILE.replace("os.kill(os.getpid(), 9)", "__import__('time').sleep(99)")
    )
    assert session.run("die", task="compile", cell_ms=100).status == "timeout"
    assert session.run("x").result == "'kept'"


def test_it_leaves_no_trace(executor):
    session = executor.open("trace")
    prepare(session, "1", call="one")
    assert executor.open("trace").fresh, "nothing has run in it"
