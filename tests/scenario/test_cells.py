"""Cells through quern-executor: what unit/guest proves of the Python files
holds in the box as well."""

import pathlib
import sys

import pytest
from executor_client import Session

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "unit" / "guest"))
import test_cell
import test_display
import test_figures
import test_notebook


def run(session, cells):
    """What the last of the cells came to; all of them kept the state."""
    done = [session.run(cell) for cell in cells]
    assert [cell.state for cell in done] == ["kept"] * len(done), done[-1].reason
    return done[-1]


def table(rows):
    return pytest.mark.parametrize(
        "row", [row[1:] for row in rows], ids=[row[0] for row in rows]
    )


PYTHON = "%%writefile p.py\nprint(6 * 7)"
BOXED = [
    ("!python", [PYTHON, "lines = !python p.py\nlines"], "['42']"),
    (
        "python of subprocess",
        ["import subprocess\nsubprocess.check_output(['python', '-c', 'print(1)'])"],
        r"b'1\n'",
    ),
]


@table(test_cell.SHOWN + test_notebook.SHOWN + BOXED)
def test_shows(session, row):
    cells, shown = row
    cell = run(session, cells)
    assert (cell.status, cell.error) == ("ok", {})
    assert cell.result.startswith(shown) and bool(cell.result) == bool(shown)


@table(test_cell.RAISED)
def test_raises(session, row):
    cells, name, value, lines = row
    cell = run(session, cells)
    assert cell.status == "error"
    assert cell.error["name"] in (name if isinstance(name, tuple) else (name,))
    assert value in cell.error["value"]
    assert all(line in cell.error["traceback"] for line in lines)


@table(test_notebook.SAYS)
def test_says(session, row):
    cells, out, err = row
    cell = run(session, cells)
    assert (cell.status, cell.error, cell.stdout) == ("ok", {}, out)
    told, times = err if isinstance(err, tuple) else (err, 1)
    assert cell.stderr.count(told) == times if told else not cell.stderr


@table(test_cell.ENDS)
def test_ends(session, row):
    cells, status, value = row
    cell = run(session, cells)
    assert (cell.status, cell.error.get("value", "")) == (status, value)
    assert session.run("1 + 1").result == "2"


@pytest.mark.parametrize("code", test_cell.DAMAGE)
def test_next_cell_works_after(session, code):
    session.run(code)
    cell = run(session, ["print('fine')\nx = len([1, 2])\nx"])
    assert (cell.status, cell.result, cell.stdout) == ("ok", "2", "fine\n")


@table(test_figures.COUNTS)
def test_images(session, row):
    cells, count = row
    cell = run(session, cells)
    images = [d["image/png"] for d in cell.displays if "image/png" in d]
    assert len(images) == count, cell.error
    assert all(image.startswith(b"\x89PNG\r\n") for image in images)
    assert cell.stderr == ""


@table(test_figures.SCRIPTS)
def test_chinese_has_glyphs(session, row):
    (setting,) = row
    plot = "plt.title('销售额 かな 한국어')\nplt.ylabel('温度 °C')"
    cell = run(session, [test_figures.PLOT + setting + plot])
    assert len(cell.displays) == 1 and cell.stderr == ""


@table(test_display.BUNDLES)
def test_bundles(session, row):
    code, types, shown = row
    cell = run(session, [code])
    assert cell.status == "ok", cell.error
    sent = [sorted(bundle) for bundle in cell.displays]
    assert sent == types
    assert cell.result.startswith(shown) and bool(cell.result) == bool(shown)


def test_interrupted_before_it_was_begun(executor):
    """While its session is still being opened: no box so small is ready."""
    connection = executor.connect()
    limits = {"disk_bytes": 5 << 20}
    connection.send(type="open", session="early", limits=limits)
    session = Session(connection, "early", True)
    ref, _ = session.start("import time\ntime.sleep(20)")
    session.interrupt()
    assert session.finish(ref).status == "interrupted"
    assert session.run("1").result == "1"
    session.close()


def test_files_that_a_cell_writes_are_told(session):
    cell = run(session, ["open('a.txt', 'w').write('a');", "open('b.txt', 'w');"])
    assert cell.files == {"b.txt": "new"}
    assert session.get("a.txt") == b"a"


def test_modules_in_the_workspace_can_be_imported(session):
    session.put("mine.py", b"answer = 42\n")
    cell = run(session, ["import mine\nmine.answer"])
    assert (cell.result, cell.files) == ("42", {})


def test_a_table_from_a_file_to_a_chart(session):
    session.put("sales.csv", "month,销售\n1,10\n2,30\n".encode())
    cell = run(
        session,
        [
            "import pandas as pd\ndf = pd.read_csv('sales.csv')\ndf",
            "ax = df.plot(x='month', y='销售', title='销售')\nint(df['销售'].sum())",
        ],
    )
    assert (cell.result, len(cell.displays), cell.stderr) == ("40", 1, "")


PROGRAMS = [
    ("a shell", "import subprocess\nsubprocess.run('echo a | tr a b', shell=True, capture_output=True, text=True).stdout", r"'b\n'"),
    ("Python", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import numpy; print(1)'], capture_output=True, text=True).stdout", r"'1\n'"),
    ("a script that plots", "open('p.py', 'w').write('import matplotlib.pyplot as p; p.plot([1]); p.savefig(\"p.png\")')\nimport subprocess, sys\nsubprocess.run([sys.executable, 'p.py']).returncode", "0"),
    ("processes", "from multiprocessing import Pool\ndef f(x): return x * x\nwith Pool(2) as p: r = p.map(f, [1, 2])\nr", "[1, 4]"),
    ("threads", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as t: r = list(t.map(str, [1, 2]))\nr", "['1', '2']"),
    ("sqlite", "import sqlite3\nc = sqlite3.connect('a.db')\nc.execute('create table t(x)')\nc.execute('insert into t values (7)')\nc.execute('select x from t').fetchone()", "(7,)"),
    ("linear algebra", "import numpy as np\nfloat(np.linalg.svd(np.eye(3))[1].sum())", "3.0"),
    ("scipy", "from scipy import optimize\nround(optimize.brentq(lambda x: x * x - 2, 0, 2), 6)", "1.414214"),
    ("time zones", "from zoneinfo import ZoneInfo\nfrom datetime import datetime\ndatetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin')).utcoffset().seconds", "7200"),
    ("temporary files", "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f: n = f.write('abc')\nn", "3"),
    ("the home folder", "import pathlib\nstr(pathlib.Path.home())", "'/workspace'"),
    ("the user's name", "import getpass\nlen(getpass.getuser()) > 0", "True"),
    ("spreadsheets", "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('a.csv')\nint(pd.read_csv('a.csv').a[0])", "1"),
]  # fmt: skip


@table(PROGRAMS)
def test_what_programs_need_is_there(session, row):
    code, shown = row
    cell = run(session, [code])
    assert (cell.result, cell.error) == (shown, {})


def test_learning_needs_no_machine_wide_figures(session):
    # psutil, which joblib looks for, reads files that the box's /proc lacks.
    cell = session.run("import psutil\nimport sklearn.linear_model\n1")
    assert (cell.status, cell.result, cell.stderr) == ("ok", "1", "")


def test_workers_of_joblib_live_in_a_box(executor):
    pytest.importorskip("joblib")
    session = executor.open("joblib")
    code = "from joblib import Parallel, delayed\nParallel(2)(delayed(abs)(-i) for i in range(4))"
    for _ in range(2):  # what the first cell left has been swept away
        cell = session.run(code)
        assert (cell.status, cell.result, cell.stderr) == ("ok", "[0, 1, 2, 3]", "")
