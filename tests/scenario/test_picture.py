"""A session's names as a picture, taken in one box and restored in another."""

import json
import random
import zlib

import pytest

PROFILE = "science"


@pytest.fixture
def sessions(executor, request):
    made = [executor.open(f"{name}-{id(request)}") for name in ("from", "to")]
    yield made
    for session in made:
        session.close()


def move(sessions, *cells):
    """Runs the cells in one session and restores its picture in the other.
    Gives (what save told, what restore told, that session)."""
    there, here = sessions
    for code in cells:
        done = there.run(code)
        assert done.status == "ok", done.error
    saved = there.run("", task="save")
    assert saved.status == "ok", saved.error
    restored = here.run("", task="restore", picture=saved.picture)
    assert restored.status == "ok", restored.error
    return json.loads(saved.result), json.loads(restored.result), here


def broken(data):
    """Some of the ways to be cut, and to have a bit that is another."""
    dice = random.Random(len(data))
    for _ in range(10):
        yield data[: dice.randrange(len(data))]
        turned = bytearray(data)
        turned[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        yield bytes(turned)


# name, cell, expression, its value
KEPT = [
    ("numbers and text", "a, b = 1.5, 'ü🙂'", "a, b", "(1.5, 'ü🙂')"),
    ("what is shared stays shared", "a = []\nb = [a, a]", "b[0] is a", "True"),
    ("an array", "import numpy as np\nx = np.arange(3)", "x + 1", "array([1, 2, 3])"),
    (
        "a table",
        "import pandas\nt = pandas.DataFrame({'a': [1, 2]})",
        "int(t.a.sum())",
        "3",
    ),
    ("a module", "import math as m", "m.floor(2.5)", "2"),
    (
        "a function",
        "k = 3\ndef f(x): return g(x) * k\ndef g(x): return x + 1",
        "f(1)",
        "6",
    ),
    ("a lambda", "f = lambda x: x * 2", "f(4)", "8"),
    (
        "a class",
        "class C:\n    n = 1\n    def m(self): return self.n\nc = C()",
        "c.m()",
        "1",
    ),
    (
        "a folder",
        "import os\nos.makedirs('d')\nos.chdir('/tmp')",
        "os.getcwd()",
        "'/tmp'",
    ),
]


@pytest.mark.parametrize("name, code, shown, value", KEPT, ids=[r[0] for r in KEPT])
def test_kept(sessions, name, code, shown, value):
    saved, restored, here = move(sessions, code)
    assert not saved["left"] and not restored["left"]
    assert here.run(shown).result == value


def test_lots_go_on_as_they_would_have(sessions):
    seeds = "import random, numpy\nrandom.seed(5); numpy.random.seed(5)"
    draw = "random.random(), float(numpy.random.random())"
    _, _, here = move(sessions, seeds)
    assert here.run(draw).result == sessions[0].run(draw).result


# name, cell, the name that is left, a word of the reason
LEFT = [
    ("a generator", "g = (x for x in [1])", "g", "generator"),
    ("a file that is written", "f = open('w', 'w')", "f", "file"),
    ("a lock in a list", "import threading\nl = [threading.Lock()]", "l", "lock"),
    (
        "too much of it",
        "import os\nb = os.urandom(20 << 20)",
        "b",
        " for a picture: 20,9",
    ),
    (
        "one that refuses",
        "class C:\n    def __reduce__(self): raise ValueError('no, thanks')\nc = C()",
        "c",
        "no, thanks",
    ),
]


@pytest.mark.parametrize("name, code, left, why", LEFT, ids=[r[0] for r in LEFT])
def test_left_and_named(sessions, name, code, left, why):
    saved, restored, here = move(sessions, "kept = 1", code)
    assert why in saved["left"][left]
    assert "kept" in saved["saved"] and "kept" in restored["restored"]
    assert here.run(f"kept, {left!r} in globals()").result == "(1, False)"


def test_a_large_value_takes_no_memory_a_second_time(executor):
    """It stays behind, and nothing with it."""
    session = executor.open("large", memory_bytes=512 << 20)
    session.run("import os\nx, large = 1, os.urandom(280 << 20)")
    saved = session.run("", task="save")
    assert saved.status == "ok", saved
    told = json.loads(saved.result)
    assert "x" in told["saved"] and "too " in told["left"]["large"]
    session.close()


def test_as_many_as_there_is_room_for(sessions):
    code = "import os\nv = os.urandom(5 << 20)\n"
    code += "\n".join(f"v{n} = v[{n}:] + b'{n}'" for n in range(6)) + "\ndel v"
    saved, _, here = move(sessions, code)
    kept = sorted(name for name in saved["saved"] if name[0] == "v")
    assert kept == ["v3", "v4", "v5"][-len(kept) :], "the smallest first"
    assert {*saved["left"], *kept} == {f"v{n}" for n in range(6)}
    assert here.run("[n for n in sorted(globals()) if n[0] == 'v']").result == str(kept)


def test_arrays_of_every_order_come_back(sessions):
    code = """
import numpy as np
rows = np.arange(600_000.0).reshape(600, 1000)
columns = np.asfortranarray(rows)
steps, none, one = rows[:, ::2], np.zeros((0, 3)), np.array(5)
"""
    _, _, here = move(sessions, code)
    alike = "bool((rows == columns).all()), steps.shape, none.shape, int(one)"
    assert here.run(alike).result == "(True, (600, 500), (0, 3), 5)"


def test_a_module_that_is_not_here_is_named(sessions):
    module = "open('mine.py', 'w').write('class C:\\n    pass\\n')"
    code = (
        "import sys\nsys.path.append('/workspace')\nimport mine\nc = [mine.C()]\nd = 2"
    )
    there, here = sessions
    there.run(module)
    _, restored, here = move(sessions, code)
    assert "mine" in restored["left"]["c"]
    assert here.run("d, 'c' in globals()").result == "(2, False)"


# What another Python, and its libraries, made.
MADE = """
import collections, enum, functools, numpy
n = 41
numbers = numpy.arange(3)
def plus(k): return n + k
class Point: pass
class Color(enum.Enum): RED = 1
Pair = collections.namedtuple('Pair', 'l r')
point, color, pair = [Point()], {'c': Color.RED}, Pair(1, 2)
add = functools.partial(plus, 1)
shared = [n]
both = (shared, plus)
again = {'s': shared}
generator = numpy.random.default_rng(1)
"""
CODE = {"plus", "Point", "Color", "Pair", "point", "color", "pair", "add", "both"}


def of_another(picture):
    head, rest = picture.split(b"\n", 1)
    return head.rpartition(b" ")[0] + b" 3.4\n" + rest


def test_of_another_python_data_comes_back_and_code_is_named(sessions):
    there, here = sessions
    assert there.run(MADE).status == "ok"
    other = of_another(there.run("", task="save").picture)
    restored = here.run("", task="restore", picture=other)
    assert restored.status == "ok", restored.error
    told = json.loads(restored.result)
    assert {*told["left"]} == CODE
    assert all(
        "code of Python 3.4, which Python 3." in w for w in told["left"].values()
    )
    shown = "n, int(numbers.sum()), again, int(generator.integers(1)), numpy.pi > 3"
    assert here.run(shown).result == "(41, 3, {'s': [41]}, 0, True)"
    assert here.run("[n for n in globals() if n in {0}]".format(CODE)).result == "[]"


# Their libraries were others, too: what these here cannot make of it.
REFUSES = """
import random
class Refuses:
    def __init__(self, *how): self.how = how
    def __reduce__(self): return self.how
made = Refuses(int, ('no number',))
state = Refuses(random.Random, (), 'no state')
twice, fine, deep = [state, state], [1], {'a': [made]}
del Refuses
"""


def test_of_another_python_only_that_is_lost_which_cannot_be_made(sessions):
    there, here = sessions
    there.run(REFUSES)
    other = of_another(there.run("", task="save").picture)
    restored = here.run("", task="restore", picture=other)
    assert restored.status == "ok", restored.error
    left = json.loads(restored.result)["left"]
    assert {*left} == {"made", "state", "twice", "deep"}
    assert "'no number'" in left["made"] and left["made"] == left["deep"]
    assert here.run("fine, random.random() < 1").result == "([1], True)"


# As if pandas here were an older one, which had a class that has moved since.
OLD = """
import pandas.core.series as home
class TimeSeries:
    def __reduce__(self): return type(self), ([1.5, 2.5],)
TimeSeries.__module__, TimeSeries.__qualname__ = home.__name__, 'TimeSeries'
home.TimeSeries = TimeSeries
series = TimeSeries()
del TimeSeries, home
"""


def test_what_an_older_pandas_made_comes_back(sessions):
    there, here = sessions
    assert there.run(OLD).status == "ok"
    other = of_another(there.run("", task="save").picture)
    restored = here.run("", task="restore", picture=other)
    assert json.loads(restored.result)["left"] == {}
    result = here.run("float(series.sum()), type(series).__name__").result
    assert result == "(4.0, 'Series')"


# name, picture, a word of what is said
REFUSED = [
    ("nothing", b"", "no picture"),
    ("something else", b"\x00\xff" * 100, "no picture"),
    ("another form", b"quern picture 0, Python 3.11\nxyz", "picture 0"),
    ("a cut one of another Python", b"quern picture 1, Python 2.7\nxyz", ""),
    ("a cut one", b"quern picture 1, Python 3.%d\nxyz", ""),
]


@pytest.mark.parametrize("name, picture, said", REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(sessions, name, picture, said):
    here = sessions[1]
    here.run("x = 1")
    if b"%d" in picture:
        picture %= int(here.run("import sys; sys.version_info[1]").result)
    done = here.run("", task="restore", picture=picture)
    assert done.status == "error" and said in done.error["value"]
    assert here.run("x").result == "1"


def test_what_is_cut_or_turned_brings_nothing_half(sessions):
    """Also inside: names are given all at once, or not at all."""
    there, here = sessions
    there.run("import numpy as np\na, b = 1, np.arange(9)\nf = lambda: a")
    picture = there.run("", task="save").picture
    head, packages, packed = picture.split(b"\n", 2)
    inside = zlib.decompress(packed)
    wrapped = [zlib.compress(data) for data in broken(inside)]
    pictures = [b"\n".join((head, packages, data)) for data in wrapped]
    pictures += broken(picture)
    here.run("x = 1")
    for picture in pictures:
        done = here.run("", task="restore", picture=picture, cell_ms=10000)
        names = here.run("sorted(n for n in globals() if len(n) == 1)").result
        if done.status == "ok":  # a value that is another, or a name
            assert "'x'" in names
            here.run("[globals().pop(n) for n in [*globals()] if n in 'abf'];")
        else:
            assert names == "['x']", (done.status, picture)
            assert done.error.get("name") or done.reason


def test_a_picture_that_never_ends_is_stopped(sessions):
    code = (
        "class C:\n    def __reduce__(self):\n        while True: pass\nc = C()\nx = 1"
    )
    sessions[0].run(code)
    done = sessions[0].run("", task="save", cell_ms=500)
    assert done.status == "timeout" and done.state == "kept", done
    assert sessions[0].run("x").result == "1"


def test_a_cell_that_is_killed_after_saving_costs_only_itself(sessions):
    there = sessions[0]
    there.run("x = 1")
    for _ in range(2):
        assert there.run("", task="save").status == "ok"
    killed = there.run("x = 2\nimport os; os._exit(1)")
    assert killed.state == "rolled_back" and "before this cell" in killed.reason
    assert there.run("x").result == "1"
