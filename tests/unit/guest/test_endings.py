"""openfiles.py and endings.py: what a cell leaves open, and how programs end."""

import pytest

# What writes to "a.txt" and leaves the file open.
OPEN = [
    ("a text file", "f = open('a.txt', 'w')\nn = f.write('kept')"),
    ("a file of bytes", "f = open('a.txt', 'wb')\nn = f.write(b'kept')"),
    ("one that only an object holds", "class C: pass\nc = C()\nc.f = open('a.txt', 'w')\nn = c.f.write('kept')"),
    ("csv.writer", "import csv\nw = csv.writer(open('a.txt', 'w'), lineterminator='')\nn = w.writerow(['kept'])"),
    ("pathlib", "import pathlib\nf = pathlib.Path('a.txt').open('w')\nn = f.write('kept')"),
    ("one that an exception leaves open", "f = open('a.txt', 'w')\nf.write('kept')\n1/0"),
    ("one that sys.exit() leaves open", "import sys\nf = open('a.txt', 'w')\nf.write('kept')\nsys.exit()"),
]  # fmt: skip


@pytest.mark.parametrize("code", [r[1] for r in OPEN], ids=[r[0] for r in OPEN])
def test_a_file_left_open_has_what_was_written(run, tmp_path, code):
    run(code)
    assert (tmp_path / "a.txt").read_text() == "kept"


BETWEEN = """import _quern
from quern_guest import openfiles
inside, _quern.writable_files = _quern.writable_files, lambda: None
openfiles.flush()
_quern.writable_files = inside
print(f.fileno() in openfiles._seen)"""


def test_between_cells_what_is_known_of_open_files_is_kept(run):
    """The fork of a snapshot flushes as well. To find the file objects again would
    take long where there are many objects."""
    done = run("f = open('a.txt', 'w')", BETWEEN)
    assert done[-1].out == "True\n"


def test_what_a_later_cell_writes_is_there_as_well(run, tmp_path):
    more = ["n = f.write('2')", "g = open('b.txt', 'w')\nn = g.write('3')"]
    run("f = open('a.txt', 'w')\nn = f.write('1')", *more)
    assert (tmp_path / "a.txt").read_text() == "12"
    assert (tmp_path / "b.txt").read_text() == "3"


def test_a_file_under_the_number_of_a_closed_one(run, tmp_path):
    again = "f.close()\nf = open('a.txt', 'w')\nn = f.write('new')"
    run("f = open('a.txt', 'w')\nn = f.write('old')", again)
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_file_that_cannot_be_written_is_told(one):
    cell = one("f = open('/dev/full', 'w')\nf2 = open('a.txt', 'w')\n"
               "class F(type(f2.buffer)):\n"
               "    def flush(self): raise OSError(28, 'No space left on device')\n"
               "g = F(open('b.txt', 'wb', buffering=0))")  # fmt: skip
    assert cell.status == "ok"
    told = "b.txt could not be written: OSError: [Errno 28] No space left on device"
    assert cell.err.count(told) == 1


FORK = "import os, sys\npid = os.fork()\nif pid == 0:\n    {}\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])"
# What a forked process does, its status, what it prints.
CHILDREN = [
    ("sys.exit()", "sys.exit()", 0, ""),
    ("sys.exit(0)", "sys.exit(0)", 0, ""),
    ("sys.exit(False)", "sys.exit(False)", 0, ""),
    ("sys.exit(3)", "sys.exit(3)", 3, ""),
    ("sys.exit(-1)", "sys.exit(-1)", 255, ""),
    ("a sentence", "sys.exit('no data')", 1, "no data\n"),
    ("a number as text", "sys.exit('7')", 1, "7\n"),
    ("an exception", "1/0", 1, "ZeroDivisionError: division by zero\n"),
    ("a loss of memory", "raise MemoryError", 1, "MemoryError\n"),
]


@pytest.mark.parametrize(
    "code, status, printed", [r[1:] for r in CHILDREN], ids=[r[0] for r in CHILDREN]
)
def test_a_forked_process_ends_as_a_program_does(one, code, status, printed):
    cell = one(FORK.format(code))
    assert (cell.status, cell.result) == ("ok", str(status))
    assert cell.err.endswith(printed) and bool(cell.err) == bool(printed)
    assert ("Traceback" in cell.err) == ("Error" in printed)
    assert "quern_guest" not in cell.err


def test_what_waits_to_be_written_is_written_once_after_a_fork(run, tmp_path):
    run("f = open('a.txt', 'w')\nn = f.write('old')", "n = f.write('x')\n" + FORK.format("sys.exit()"))
    assert (tmp_path / "a.txt").read_text() == "oldx"


def test_a_sentence_of_exit_is_printed(run):
    cell, after = run("import sys\nsys.exit('fatal: no data')", "1")
    assert (cell.status, cell.value) == ("exit", "fatal: no data")
    assert (cell.err, after.err) == ("fatal: no data\n", "")


def test_a_number_of_exit_is_not_printed(one):
    assert one("import sys\nsys.exit(3)").err == ""


EXIT = "import atexit\n@atexit.register\ndef end():\n    print('bye')\n    open('a.txt', 'w').write('kept')\n"


def test_exit_functions_run_after_the_last_cell(run, tmp_path):
    cells = run(EXIT, "print('work')", last=True)
    assert [cell.out for cell in cells] == ["", "work\nbye\n"]
    assert (tmp_path / "a.txt").read_text() == "kept"


def test_exit_functions_run_when_the_last_cell_raises(run, tmp_path):
    *_, cell = run(EXIT + "1/0", last=True)
    assert (cell.name, cell.out) == ("ZeroDivisionError", "bye\n")


def test_exit_functions_do_not_run_while_the_session_goes_on(run, tmp_path):
    assert [cell.out for cell in run(EXIT, "x = 1")] == ["", ""]
    assert not (tmp_path / "a.txt").exists()


def test_an_exit_function_that_raises_is_told(one):
    before = "import sys\nsys.unraisablehook = sys.__unraisablehook__  # not pytest's"
    cell = one(before, "import atexit\nx = atexit.register(lambda: 1/0)", last=True)
    assert cell.status == "ok" and "ZeroDivisionError" in cell.err
