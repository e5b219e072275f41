"""Cells that do not come to an end: all of them do, soon after their limit, with
what they had shown by then and the truth about their variables."""

import pytest

LIMIT_MS = 400
PROMISE_MS = 500  # after the limit
LOADED_MS = 1500  # what a machine that runs other tests as well may take on top

IGNORE = "import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass"
MASK = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: pass
"""
SWALLOW = """
while True:
    try:
        while True:
            n = len('body')
    except BaseException:
        pass
"""
SORT_KEY = """
def key(n):
    try:
        time.sleep(0.001)
    except BaseException:
        pass
    return n
sorted(range(10**6), key=key)
"""
ASYNCIO = """
import asyncio
async def main():
    while True:
        try:
            await asyncio.sleep(1)
        except BaseException:
            pass
while True:
    try:
        asyncio.run(main())
    except BaseException:
        pass
"""
# What a cell before it does; and it
ZLIB = """
import zlib
pack = zlib.compressobj()
bomb = b''.join(pack.compress(bytes(1 << 24)) for i in range(16)) + pack.flush()
""", "while True: len(zlib.decompress(bomb))"
PBKDF2 = "import hashlib", "hashlib.pbkdf2_hmac('sha256', b'p', b's', 2 * 10**8)"
SVD = "import numpy\na = numpy.random.rand(2500, 2500)", "numpy.linalg.svd(a)"
MATMUL = "import numpy\na = numpy.random.rand(3000, 3000)", "while True: a @ a"
LIST = "", "a = []\nwhile True: a[:] = list(range(10**7))"
REGEX = "import re", "re.match('(a+)+$', 'a' * 64 + 'b')"
LOCK = "lock = threading.Lock()\nn = lock.acquire()", "lock.acquire()"
THREAD = "t = threading.Thread(target=time.sleep, args=(60,))"
PROGRAM = "import subprocess", "subprocess.run(['sleep', '60'])"
PIPE = "r, w = os.pipe()", "os.read(r, 1)"
TABLE = "import pandas\ntable = pandas.DataFrame({'a': range(10**6)})"
NUMPY_SORT = """
import numpy
a = numpy.random.rand(3 * 10**7)
""", "while True: numpy.sort(a)"
JSON = """
import json
text = json.dumps(list(range(4 * 10**6)))
""", "while True: json.loads(text)"
STR = "sys.set_int_max_str_digits(0)\nn = 7 ** (2 * 10**6)", "n = str(n)"

# name, code of the cell before, code
BLOCKING = [
    # SIGINT does nothing to these
    ("sum of a range", "", "sum(range(10**12))"),
    ("max of a range", "", "max(range(10**12))"),
    ("in itertools.count", "import itertools", "-1 in itertools.count()"),
    ("list of a range", *LIST),
    ("numpy matmul", *MATMUL),
    ("numpy svd", *SVD),
    ("a zlib bomb", *ZLIB),
    ("pbkdf2", *PBKDF2),
    ("SIGINT ignored", "", IGNORE),
    ("all signals masked", "", MASK),
    ("KeyboardInterrupt swallowed", "", SWALLOW),
    ("a sort key that swallows", "", SORT_KEY),
    ("an asyncio loop that swallows", "import asyncio", ASYNCIO),
    # these obey
    ("a loop in Python", "", "while True: pass"),
    ("sleep", "", "time.sleep(100)"),
    ("a catastrophic regex", *REGEX),
    ("a big power", "", "n = 10 ** (10 ** 9)"),
    ("a big str", *STR),
    ("a lock", *LOCK),
    ("joining a thread", THREAD, "t.start()\nt.join()"),
    ("an empty pipe", *PIPE),
    ("a program", *PROGRAM),
    ("groupby.apply", TABLE, "table.groupby('a').apply(lambda rows: rows.a.sum())"),
    ("sigwait", "", "signal.sigwait([signal.SIGUSR1])"),
    # these obey late
    ("sorted with a key", "", "sorted(range(10**8), key=lambda n: -n)"),
    ("numpy sort", *NUMPY_SORT),
    ("json.loads", *JSON),
]

SHOW = """
mark = 'after'
print('begun', flush=True)
display('shown')
"""


@pytest.mark.parametrize("name, before, code", BLOCKING, ids=[r[0] for r in BLOCKING])
def test_it_ends(attacker, record_property, name, before, code):
    prepared = attacker.run(before + "\nmark = 'before'")
    assert prepared.status == "ok", prepared
    done = attacker.run(SHOW + code, cell_ms=LIMIT_MS)
    assert done.status in ("timeout", "memory"), done
    late = f"{done.ms - LIMIT_MS} ms after its limit, {done.state}"
    record_property("told", late)
    assert done.ms <= LIMIT_MS + PROMISE_MS + LOADED_MS, done.reason
    assert done.stdout == "begun\n", "what it had said is not lost"
    assert len(done.displays) == 1, "nor what it had shown"
    assert done.state in ("kept", "rolled_back"), done.reason
    mark = "'after'" if done.state == "kept" else "'before'"
    assert attacker.run("mark").result == mark, f"it said {done.state}"


def test_there_are_27():
    assert len({row[0] for row in BLOCKING}) == 27


def test_input_does_not_block(attacker):
    assert attacker.run("input()").error["name"] == "EOFError"
