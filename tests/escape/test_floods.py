"""Attacks by too much of what a session is for: values, figures, tables, images,
archives, memory. With the scientific stack loaded, as most sessions have it."""

import pytest
from conftest import watched

OK, ERROR = ("ok", "kept"), ("error", "kept")
TIMEOUT, EXIT = ("timeout", "kept"), ("exit", "kept")
SHOWN_BYTES = 17 << 20  # of one display, with its names
TOLD_BYTES = 34 << 10  # of a value or a traceback


@pytest.fixture(scope="module")
def executor():
    with watched() as executor:
        yield executor


def bytes_of(display):
    return sum(len(part) for part in display.values())


# ------------------------------------------------------------ values, displays

NESTED = "a = []\nfor i in range(10**5): a = [a]\na"
ITSELF = "a = [1]\na.append(a)\na"
LOOPS = "class A:\n    def __repr__(self):\n        while True: pass\nA()"
RAISES = "class A:\n    def __repr__(self): return 1 / 0\nA()"
SLEEPS = "class A:\n    def __repr__(self): time.sleep(60)\nA()"
LEAVES = "class A:\n    def __repr__(self): sys.exit(3)\nA()"
NO_TEXT = "class A:\n    def __repr__(self): return 5\nA()"
DIGITS = "sys.set_int_max_str_digits(0)\n10 ** (10 ** 5)"
HTML = "class A:\n    def _repr_html_(self): return 'x' * (200 << 20)\nA()"
TYPES = """
class A:
    def _repr_mimebundle_(self, **more):
        return {f'x/{i}': 'x' for i in range(10**5)}
A()
"""
LIES = "class A:\n    def _repr_mimebundle_(self, **more): return {1: 2, None: []}\nA()"
TOLD = "class A(Exception):\n    def __str__(self): return 'x' * 10**8\nraise A"
NAMED = "raise type('x' * 10**7, (Exception,), {})"
UNTOLD = "class A(Exception):\n    def __str__(self): raise self\nraise A"
DEEP = "def f(n): return f(n - 1) if n else 1 / 0\nsys.setrecursionlimit(9999)\nf(5000)"
CHAIN = """
def fail(n):
    try:
        if n: fail(n - 1)
    finally:
        1 / 0
fail(300)
"""

# name, code, (status, state)
VALUES = [
    ("a text of 100 MB", "'x' * 10**8", OK),
    ("bytes of 100 MB", "bytes(10**8)", OK),
    ("a list of 10^7", "list(range(10**7))", OK),
    ("a dict of 10^6", "dict.fromkeys(range(10**6))", OK),
    ("an int of 10^5 digits", DIGITS, OK),
    ("an int that may not be written", "10 ** (10 ** 6)", {OK, ERROR}),
    ("10^5 lists in one another", NESTED, {OK, ERROR}),
    ("a list in itself", ITSELF, OK),
    ("a repr that loops", LOOPS, TIMEOUT),
    ("a repr that sleeps", SLEEPS, TIMEOUT),
    ("a repr that raises", RAISES, {OK, ERROR}),
    ("a repr that exits", LEAVES, {OK, EXIT}),
    ("a repr that is no text", NO_TEXT, {OK, ERROR}),
    ("HTML of 200 MB", HTML, OK),
    ("10^5 media types", TYPES, {OK, ERROR}),
    ("media types that are none", LIES, OK),
    ("10^5 displays", "for i in range(10**5): display(i)", OK),
    ("a message of 100 MB", TOLD, ERROR),
    ("an exception's name of 10 MB", NAMED, ERROR),
    ("an exception that cannot be told", UNTOLD, ERROR),
    ("a traceback of 5000 steps", DEEP, ERROR),
    ("300 exceptions in one another", CHAIN, ERROR),
]


@pytest.mark.parametrize("name, code, ends", VALUES, ids=[r[0] for r in VALUES])
def test_what_is_shown_is_bounded(attacker, name, code, ends):
    done = attacker.run(code, cell_ms=1500 if ends == TIMEOUT else 60000)
    ends = ends if isinstance(ends, set) else {ends}
    assert (done.status, done.state) in ends, done
    told = [done.result, *(done.error.get(k, "") for k in ("value", "traceback"))]
    assert max(len(text) for text in told) <= TOLD_BYTES
    assert len(done.error.get("name", "")) <= 1 << 10
    assert len(done.displays) <= 65
    assert all(bytes_of(d) <= SHOWN_BYTES for d in done.displays)


# ------------------------------------------------------- figures, tables, images

PLOT = "from matplotlib import pyplot\n"
FIGURES = PLOT + "for i in range(10**4): pyplot.figure(figsize=(1, 1))"
HUGE = PLOT + "pyplot.figure(figsize=(200, 200), dpi=100)\nn = pyplot.plot([1, 2])"
SAVED = PLOT + "pyplot.figure(figsize=(200, 200)).savefig('x.png', dpi=100)"
POINTS = PLOT + "n = pyplot.plot(range(10**6))"
TABLE = "import numpy, pandas\npandas.DataFrame({'a': numpy.arange(10**7)})"
WIDE = "import pandas\npandas.DataFrame([range(10**5)])"
CELLS = "import pandas\npandas.DataFrame({'a': ['x' * 10**6] * 200})"
ARRAY = (
    "import numpy, sys\nnumpy.set_printoptions(threshold=sys.maxsize)\n"
    "numpy.zeros(10**7)"
)
BOMB = """
import struct, zlib
def chunk(kind, data):
    body = kind + data
    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))
def png(size):
    head = struct.pack('>IIBBBBB', size, size, 8, 6, 0, 0, 0)
    data = zlib.compress(bytes(1 << 24))
    return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + chunk(b'IDAT', data)
            + chunk(b'IEND', b''))
"""
OPENED = "import io, PIL.Image\nPIL.Image.open(io.BytesIO(png(60000))).load()"
DISPLAYED = "from IPython.display import Image\ndisplay(Image(data=png(60000)))"

# name, code, how it may end
DRAWN = [
    ("10^4 figures", FIGURES, {"ok", "timeout", "memory", "error"}),
    ("a figure of 20000 by 20000", HUGE, {"ok", "timeout"}),
    ("a file of 20000 by 20000", SAVED, {"ok", "error", "timeout", "memory"}),
    ("a line of 10^6 points", POINTS, {"ok", "timeout"}),
    ("a table of 10^7 rows", TABLE, {"ok"}),
    ("a table of 10^5 columns", WIDE, {"ok", "timeout"}),
    ("a table of 200 MB", CELLS, {"ok", "timeout"}),
    ("an array that is to be written whole", ARRAY, {"ok"}),
    ("a PNG bomb, opened", BOMB + OPENED, {"error"}),
    ("a PNG bomb, shown", BOMB + DISPLAYED, {"ok"}),
]


@pytest.mark.parametrize("name, code, ends", DRAWN, ids=[r[0] for r in DRAWN])
def test_what_is_drawn_is_bounded(attacker, name, code, ends):
    done = attacker.run(code, cell_ms=20000)
    assert done.status in ends, done
    assert done.state == "kept" or done.reason
    assert len(done.displays) <= 65
    assert all(bytes_of(d) <= SHOWN_BYTES for d in done.displays)
    for bundle in done.displays:
        if "image/png" in bundle:
            head = bundle["image/png"][16:24]
            width, height = int.from_bytes(head[:4]), int.from_bytes(head[4:])
            assert 0 < width * height <= 64 << 20


# ------------------------------------------------------------- memory, archives

SMALL = "a = []\nwhile True: a.append(bytes(999))"
PIPES = """
kept = []
while True:
    r, w = os.pipe()
    os.set_blocking(w, False)
    kept.append((r, w))
    try:
        while True: os.write(w, bytes(65536))
    except BlockingIOError:
        pass
"""
MMAP = "import mmap\nmmap.mmap(-1, 10 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
STACK = """
class A:
    def __repr__(self): return repr(self)
sys.setrecursionlimit(10**9)
n = repr(A())
"""
BREED = """
try:
    while True: os.fork()
except BlockingIOError:
    time.sleep(60)
"""
POOLS = """
import multiprocessing
def breed(depth):
    children = []
    for i in range(8):
        try:
            child = multiprocessing.get_context('fork').Process(
                target=breed, args=(depth + 1,))
            child.start()
        except OSError:
            break
        children.append(child)
    time.sleep(60)
breed(0)
"""
GZIP = "import gzip\ngz = gzip.compress(bytes(1 << 27), 1)\ngzip.decompress(gz * 128)"
ZIP = """
import zipfile
with zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=1) as bomb:
    with bomb.open('a', 'w') as part:
        for i in range(256): part.write(bytes(1 << 20))
with zipfile.ZipFile('bomb.zip') as bomb:
    for i in range(64):
        bomb.extract('a', f'd{i}')
"""
TAKEN = [
    ("10 GB by numpy", "import numpy\nnumpy.ones(10 << 27)", {"MemoryError"}),
    ("10 GB by mmap", MMAP, {"OSError", "MemoryError"}),
    ("a list of 10^9", "list(range(10**9))", {"MemoryError"}),
    ("small objects without end", SMALL, {"MemoryError", "memory"}),
    ("pipes full of bytes", PIPES, {"OSError", "memory"}),
    ("a C stack without end", STACK, {"crashed", "RecursionError", "MemoryError"}),
    ("children that fork as well", BREED, {"timeout"}),
    ("processes that start processes", POOLS, {"timeout"}),
    ("a gzip bomb", GZIP, {"MemoryError"}),
    ("a zip bomb on the disk", ZIP, {"OSError"}),
]


@pytest.mark.parametrize("name, code, ends", TAKEN, ids=[r[0] for r in TAKEN])
def test_what_is_taken_is_bounded(attacker, name, code, ends):
    attacker.run("mark = 1")
    done = attacker.run(code, cell_ms=2000 if "timeout" in ends else 60000)
    assert {done.status, done.error.get("name")} & ends, done
    assert done.state == "kept" or (done.state == "rolled_back" and done.reason), done
    assert attacker.run("mark").result == "1"


# ----------------------------------------------------------------------- output

FROM_CHILD = """
if os.fork() == 0:
    while True: os.write(1, bytes(65536))
time.sleep(1)
"""
FROM_CHILDREN = """
for i in range(8):
    if os.fork() == 0:
        while True: os.write(1 + i % 2, b'x' * 65536)
while True: pass
"""
FLOODS = [
    ("of a child", FROM_CHILD, {"ok"}),
    ("of eight children on both streams", FROM_CHILDREN, {"timeout"}),
    ("of a line without end", "while True: sys.stdout.write('x' * 65536)", {"timeout"}),
]


@pytest.mark.parametrize("name, code, ends", FLOODS, ids=[r[0] for r in FLOODS])
def test_a_flood_of_output(attacker, name, code, ends):
    done = attacker.run(code, cell_ms=3000)
    assert done.status in ends, done
    assert max(len(data) for data in done.raw.values()) <= 8 << 20
    assert done.stdout_bytes >= len(done.raw["stdout"])
    assert attacker.run("print('x', end='')").raw["stdout"] == b"x", "nothing is late"


FROM_THREAD = """
written = 0
def flood():
    global written
    while True: written += os.write(1, bytes(65536))
threading.Thread(target=flood, daemon=True).start()
"""
FLOODED = (
    "enough = written + (1 << 18)\nwhile written < enough: time.sleep(0.01)\n'here'"
)


def test_a_flood_of_a_thread_when_its_cell_has_ended(attacker):
    """It goes on with the next cell, is told as that one's, and bounded."""
    assert attacker.run(FROM_THREAD).status == "ok"
    for _ in range(3):
        done = attacker.run(FLOODED, cell_ms=20000)
        assert done.result == "'here'", done
        assert 0 < len(done.raw["stdout"]) <= 8 << 20


def test_output_of_any_bytes_comes_as_it_is(attacker):
    every = bytes(range(256)) + b"\x1b[2J\x1b]0;x\x07\xff\xfe\0\xed\xa0\x80\r\n"
    done = attacker.run(f"n = os.write(1, {every!r})\nn = os.write(2, {every!r})")
    assert done.raw == {"stdout": every, "stderr": every}


# ---------------------------------------------------------------- linear algebra

ALGEBRA = """
import numpy
a = numpy.random.rand(60, 60)
u, s, v = numpy.linalg.svd(a)
same = numpy.allclose((u * s) @ v, a)
bool(same and numpy.allclose(numpy.linalg.inv(a) @ a, numpy.eye(60)))
"""
IN_CHILD = f"""
r, w = os.pipe()
if os.fork() == 0:
    exec({ALGEBRA[:ALGEBRA.rindex('bool')]!r})
    os.write(w, b'1')
    os._exit(0)
os.read(r, 1) == b'1'
"""


def test_linear_algebra_works_in_runner_child_and_snapshot(attacker):
    """A BLAS with threads hangs in one that was forked, or in who forked it."""
    assert attacker.run(ALGEBRA, cell_ms=9000).result == "True"
    assert attacker.run(ALGEBRA).result == "True", "the runner has been forked"
    assert attacker.run(IN_CHILD).result == "True", "its child"
    attacker.run("os.kill(os.getpid(), 9)")
    assert attacker.run(ALGEBRA).result == "True", "the snapshot"
    assert attacker.run(IN_CHILD).result == "True", "the snapshot's child"
