"""Cells through quern-executor: what unit/guest proves of the Python files
holds in the box as well."""

import importlib.util
import pathlib
import sys
import time

import pytest
from executor_client import Executor, Session

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "unit" / "guest"))
import test_cell
import test_display
import test_figures
import test_notebook

PROFILE = "science"


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


def test_a_font_that_is_missing_is_told_once_in_each_cell(session):
    code = "import matplotlib.pyplot as plt\nplt.title('a', font='No Such Font')\nplt.xlabel('b', font='No Such Font')\nplt.show()"
    for _ in range(2):
        cell = session.run(code)
        assert cell.stderr == "findfont: Font family 'No Such Font' not found.\n"


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


def test_who_opens_a_session_is_told_which_cell_runs_in_it(executor):
    connection = executor.connect()
    session = connection.open("busy")
    ref, call = session.start("import time\nprint('on')\ntime.sleep(20)")
    assert connection.answer(ref)["type"] == "output"
    opened = executor.connect().ask(type="open", session="busy")
    assert opened["call"] == call, opened
    session.interrupt()
    while connection.answer(ref)["type"] != "done":
        pass
    assert "call" not in executor.connect().ask(type="open", session="busy")
    session.close()


def test_files_that_a_cell_writes_are_told(session):
    cell = run(session, ["open('a.txt', 'w').write('a');", "open('b.txt', 'w');"])
    assert cell.files == {"b.txt": "new"}
    assert session.get("a.txt") == b"a"


HERE = "socket.socket().bind(('127.0.0.1', 0))"
# What asks for a network, and what says so.
NETWORK = [
    ("a name", "socket.create_connection(('example.org', 80))", "gaierror"),
    ("an address", "socket.create_connection(('1.1.1.1', 80))", "PermissionError"),
    ("this machine", HERE, "PermissionError"),
    ("a host's address", "socket.gethostbyname('example.org')", "gaierror"),
    ("a page", "import urllib.request as u\nu.urlopen('http://a.org')", "URLError"),
    ("requests", "import requests\nrequests.get('https://a.org')", "ConnectionError"),
    ("a server", "import http.server as h\nh.HTTPServer(('', 80), None)", "PermissionError"),
]  # fmt: skip


@table(NETWORK)
def test_an_error_says_that_there_is_no_network(session, row):
    code, name = row
    if "requests" in code:
        pytest.importorskip("requests")
    cell = run(session, [f"import socket\n{code}"])
    assert cell.error["name"] == name
    assert "this code has no network" in cell.error["value"]
    assert "quern_guest" not in cell.error["traceback"]


def test_an_error_of_a_local_socket_is_as_it_was(session):
    code = "import socket\nsocket.socket(socket.AF_UNIX).connect('/tmp/none')"
    cell = run(session, [code])
    assert cell.error["value"] == "[Errno 2] No such file or directory"


def test_what_is_written_to_mnt_data_is_in_the_workspace(session):
    code = "n = open('/mnt/data/a.txt', 'w').write('a')\nimport os\nos.chdir('/mnt/data')\nos.getcwd(), os.listdir('/mnt/data')"
    cell = run(session, [code])
    assert cell.result == "('/workspace', ['a.txt'])"
    assert cell.files == {"a.txt": "new"}
    session.put("b.txt", b"b")
    assert run(session, ["open('/mnt/data/b.txt').read()"]).result == "'b'"


def test_a_file_left_open_is_kept(session):
    cell = run(session, ["f = open('a.txt', 'w')\nn = f.write('kept')"])
    assert cell.files == {"a.txt": "new"}
    assert session.get("a.txt") == b"kept"


def test_exit_functions_run_with_the_last_cell(executor):
    """As that of a job that brings its own cells."""
    session = executor.open("ending")
    session.run("import atexit\nend = atexit.register(print, 'bye')")
    cell = session.run("print('work')", last=True)
    assert (cell.status, cell.stdout) == ("ok", "work\nbye\n")


def test_an_exit_function_that_hangs_is_stopped(executor):
    session = executor.open("hanging")
    code = "import atexit, time\nend = atexit.register(time.sleep, 60)"
    started = time.monotonic()
    session.run(code, last=True, cell_ms=500)
    assert time.monotonic() - started < 10


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


def test_psutil_knows_the_share_of_the_session(session):
    pytest.importorskip("psutil")
    code = """
import os, psutil
memory, own = psutil.virtual_memory(), psutil.Process()
assert 64 << 20 < memory.total <= os.sysconf("SC_PHYS_PAGES") * 4096
assert 0 < memory.available <= memory.total and 0 <= memory.percent < 100
assert psutil.swap_memory().total == 0
assert psutil.cpu_count() >= 1 and psutil.cpu_count(logical=False) >= 1
assert 0 <= psutil.cpu_percent(0.1) <= 100
assert len(psutil.cpu_percent(0.05, percpu=True)) == len(os.sched_getaffinity(0))
assert psutil.cpu_times().idle > 0
assert abs(own.create_time() - time.time()) < 3600
assert 0 < own.memory_info().rss and 0 < own.memory_percent() < 100
assert len(psutil.getloadavg()) == 3
psutil.cpu_freq(), psutil.boot_time(), psutil.disk_partitions(), psutil.net_io_counters()
"""
    cell = run(session, ["import time\n" + code])
    assert (cell.status, cell.error, cell.stderr) == ("ok", {}, "")


def test_psutil_is_quiet_where_it_is_not_loaded_ahead():
    pytest.importorskip("psutil")
    with Executor("--profile", "bare") as executor:
        cell = executor.open("a").run("import psutil\npsutil.cpu_count() > 0")
    assert (cell.result, cell.error, cell.stderr) == ("True", {}, "")


# What looks for the number of processors or starts processes, in a box.
JOBLIB = [
    ("physical processors", "import joblib\njoblib.cpu_count(only_physical_cores=True) > 0"),
    ("its own workers", "from joblib import Parallel, delayed, parallel_backend\nwith parallel_backend('loky', n_jobs=2):\n    r = Parallel()(delayed(abs)(-i) for i in range(2))\nr == [0, 1]"),
    ("workers by name", "from joblib import Parallel, delayed\nParallel(2, backend='loky')(delayed(abs)(-i) for i in range(2)) == [0, 1]"),
    ("clusters", "import numpy as np\nfrom sklearn.cluster import KMeans\nbool(KMeans(2, n_init=2).fit(np.random.rand(50, 2)).inertia_ > 0)"),
    ("a search", "import numpy as np\nfrom sklearn.linear_model import Ridge\nfrom sklearn.model_selection import GridSearchCV\nbool(GridSearchCV(Ridge(), {'alpha': [1, 2]}, n_jobs=2).fit(np.random.rand(20, 2), np.random.rand(20)).best_score_ < 2)"),
]  # fmt: skip


@table(JOBLIB)
def test_joblib_is_quiet(session, row):
    (code,) = row
    pytest.importorskip("sklearn" if "sklearn" in code else "joblib")
    cell = run(session, [code])
    assert (cell.result, cell.error, cell.stderr) == ("True", {}, "")


# Until the tracker of joblib's temporary files has deleted one.
TRACKER = """
import os, time
from joblib._memmapping_reducer import resource_tracker as tracker
open("a.txt", "w").close()
tracker.register("a.txt", "file")
tracker.maybe_unlink("a.txt", "file")
while os.path.exists("a.txt"): time.sleep(0.01)
"""


def test_the_program_that_joblib_starts_is_quiet(session):
    """Most cells have ended before it could say anything."""
    pytest.importorskip("joblib")
    cell = run(session, [TRACKER])
    assert (cell.status, cell.error, cell.stderr) == ("ok", {}, "")


# What models import all the time: its name, and a use that gives True.
LIBRARIES = [
    ("bs4", "bs4.BeautifulSoup('<p>a</p>', 'lxml').p.text == 'a'"),
    ("docx", "d = docx.Document()\np = d.add_paragraph('a')\nd.save('a.docx')\ndocx.Document('a.docx').paragraphs[0].text == 'a'"),
    ("jinja2", "jinja2.Template('{{ a }}').render(a=1) == '1'"),
    ("lxml", "import lxml.etree\nlxml.etree.fromstring('<a/>').tag == 'a'"),
    ("nest_asyncio", "nest_asyncio.apply()\nimport asyncio\nasyncio.run(asyncio.sleep(0, True))"),
    ("networkx", "networkx.shortest_path_length(networkx.path_graph(4), 0, 3) == 3"),
    ("plotly", "import plotly.express as px\npx.bar(x=['a'], y=[1]).data[0].type == 'bar'"),
    ("qrcode", "qrcode.make('a').save('a.png')\nimport os\nos.path.getsize('a.png') > 100"),
    ("reportlab", "from reportlab.pdfgen.canvas import Canvas\nc = Canvas('a.pdf')\nc.drawString(9, 9, 'a')\nc.save()\nopen('a.pdf', 'rb').read(5) == b'%PDF-'"),
    ("requests", "requests.Request('GET', 'http://a.org').prepare().url == 'http://a.org/'"),
    ("statsmodels", "import statsmodels.api as sm\nbool(sm.OLS([1, 2, 3.5], sm.add_constant([1, 2, 3])).fit().rsquared > 0.9)"),
    ("tqdm", "from tqdm import tqdm\nsum(tqdm(range(3), disable=True)) == 3"),
    ("xlsxwriter", "w = xlsxwriter.Workbook('a.xlsx')\nw.add_worksheet().write(0, 0, 1)\nw.close()\nimport pandas\npandas.read_excel('a.xlsx', header=None).iloc[0, 0].item() == 1"),
]  # fmt: skip


@pytest.mark.parametrize("name, use", LIBRARIES, ids=[r[0] for r in LIBRARIES])
def test_a_library_that_models_import_works(session, name, use):
    pytest.importorskip(name)
    cell = run(session, [f"import {name}\n{use}"])
    assert (cell.result, cell.error, cell.stderr) == ("True", {}, "")


@pytest.mark.parametrize("name", ["auto", "notebook"])
def test_bars_of_tqdm_need_no_widgets(session, name):
    pytest.importorskip("tqdm")
    bars = "sum(tqdm(range(3))), sum(trange(3))"
    cell = run(session, [f"from tqdm.{name} import tqdm, trange\n{bars}"])
    assert (cell.result, cell.error) == ("(3, 3)", {})
    assert cell.stderr.count("100%") == 2


# Of no use to a cell without a network, and with a loop of its own.
UNTOLD = {"nest_asyncio", "requests"}


def test_the_executor_says_which_libraries_there_are(executor, session):
    names = executor.connection.welcome["libraries"].split(", ")
    there = {name for name, _ in LIBRARIES if importlib.util.find_spec(name)}
    assert {"numpy", "pandas", "matplotlib"} | there - UNTOLD <= set(names)
    cell = run(session, [f"import importlib.util\n[n for n in {names} if not importlib.util.find_spec(n)]"])
    assert cell.result == "[]"
