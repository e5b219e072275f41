"""cell.py and source.py: what a cell does, shows and leaves behind."""

import pytest

# Every row: what it shows, the cells of one session, what the last one gives.
SHOWN = [
    (
        "input() reads what a cell has put there",
        ["import io, sys\nsys.stdin = io.StringIO('Ada\\n')\ninput()"],
        "'Ada'",
    ),
    (
        "getpass() does so, too",
        ["import getpass, io, sys\nsys.stdin = io.StringIO('Ada\\n')\ngetpass.getpass()"],
        "'Ada'",
    ),
    ("an expression", ["2 + 2"], "4"),
    ("an assignment shows nothing", ["x = 3"], ""),
    ("a variable of an earlier cell", ["x = 3", "x"], "3"),
    ("None shows nothing", ["None"], ""),
    ("a function shows nothing", ["def f():\n    return 1"], ""),
    ("a class shows nothing", ["class C:\n    pass"], ""),
    ("an import shows nothing", ["import os"], ""),
    ("a docstring is a value", ["'''text'''"], "'text'"),
    ("a call of a function shows its value", ["def f(): return 1\nf()"], "1"),
    ("a call that gives None shows nothing", ["[].append(1)"], ""),
    ("print is not repeated", ["print('a')"], ""),
    ("an expression inside if is not last", ["if True:\n    5"], ""),
    ("a loop shows nothing", ["for i in range(3):\n    i"], ""),
    ("a value over many lines", ["(1 +\n 2\n)"], "3"),
    ("a semicolon silences", ["1;"], ""),
    ("a semicolon and a comment silence", ["1 ;  # said"], ""),
    ("a semicolon in a comment does not", ["1  # no;"], "1"),
    ("a semicolon in a string does not", ["'a;'"], "'a;'"),
    ("a semicolon between does not", ["1; 2"], "2"),
    ("a semicolon after umlauts silences", ["'äöü🙂';"], ""),
    ("a comment after the value", ["4\n# done\n\n"], "4"),
    ("an indented cell", ["    x = 1\n    x + 1"], "2"),
    ("an indented cell after a comment", ["# c\n    x = 1\n    x"], "1"),
    ("indented lines in a string stay", ['x = """\n  a\n"""\nx'], r"'\n  a\n'"),
    ("Windows line ends", ["x = 1\r\nx\r\n"], "1"),
    ("a byte order mark", ["\ufeff1"], "1"),
    ("an empty cell", [""], ""),
    ("only a comment", ["# nothing"], ""),
    ("single quotes", ["'a\"b'"], "'a\"b'"),
    ("double quotes", ['"a\'b"'], '"a\'b"'),
    ("triple quotes", ['"""a"b\'c"""'], "'a\"b\\'c'"),
    ("backslashes", [r"'a\\n\x41'"], r"'a\\nA'"),
    ("a raw string", [r"r'\d+\n'"], r"'\\d+\\n'"),
    ("emoji and Chinese", ["'🙂 中文'"], "'🙂 中文'"),
    ("Chinese names", ["名字 = 2\n名字"], "2"),
    ("the last value", ["6 * 7", "_ + 1"], "43"),
    ("a silenced value is the last one too", ["5;", "_"], "5"),
    ("one's own underscore stays", ["_ = 1", "2", "_"], "1"),
    ("await", ["import asyncio\nawait asyncio.sleep(0, 'a')"], "'a'"),
    ("await in a statement", ["import asyncio\nx = await asyncio.sleep(0, 2)\nx"], "2"),
    (
        "a task goes on in the next cell",
        [
            "import asyncio\n"
            "async def start():\n"
            "    return asyncio.create_task(asyncio.sleep(0, 3))\n"
            "t = await start()",
            "await t",
        ],
        "3",
    ),
    (
        "asyncio.run works",
        ["import asyncio\nasync def f():\n    return 4\nasyncio.run(f())"],
        "4",
    ),
    (
        "async comprehension",
        ["async def g():\n    yield 1\n[i async for i in g()]"],
        "[1]",
    ),
    ("names are in __main__", ["x = 1", "import __main__; __main__.x"], "1"),
    ("classes belong to __main__", ["class C: pass\nC"], "<class '__main__.C'>"),
    (
        "classes can be pickled",
        ["class C: pass", "import pickle\ntype(pickle.loads(pickle.dumps(C()))) is C"],
        "True",
    ),
    (
        "the source of a function is known",
        ["def f():\n    return 1", "import inspect\ninspect.getsource(f)"],
        r"'def f():\n    return 1\n'",
    ),
    (
        "a future import holds from then on",
        ["from __future__ import annotations", "def f(x: y): pass\nf.__annotations__"],
        "{'x': 'y'}",
    ),
    ("a generator", ["(i for i in [])"], "<generator object <genexpr> at 0x"),
    ("a set keeps its form", ["{1}"], "{1}"),
    ("a dictionary keeps its order", ["{2: 1, 1: 2}"], "{2: 1, 1: 2}"),
    ("sympy shows its expression", ["import sympy\nsympy.Symbol('x') ** 2"], "x**2"),
    ("a line magic is passed over", ["%matplotlib inline\n1"], "1"),
    (
        "a line magic in a block",
        ["if True:\n    %matplotlib inline\n    x = 1\nx"],
        "1",
    ),
    (
        "a percent in a string is not a magic",
        ['x = """\n%time\n!ls\n"""\nlen(x)'],
        "11",
    ),
    ("a percent that continues a line is not", ["x = (7\n%4)\nx"], "3"),
    ("%time gives the value", ["%time 1 + 1"], "2"),
    ("%time of a statement", ["%time x = 5", "x"], "5"),
    ("%timeit -o gives its times", ["t = %timeit -o -q -n 5 -r 2 1\nt.loops"], "5"),
    ("%%timeit with a setup", ["%%timeit -n 1 -r 1 x = 3\nassert x == 3"], ""),
    ("lines = !command", ["lines = !echo a; echo b\nlines"], "['a', 'b']"),
    (
        "!command with what is in braces",
        ["name = 'a b'\nlines = !echo {name.upper()} $name ${QUERN_NOT_SET:-c}\nlines"],
        "['A B a b c']",
    ),
    (
        "braces of the shell stay",
        ["lines = !echo 1 2 | awk '{print $2}'\nlines"],
        "['2']",
    ),
    (
        "!command sees the names of its function",
        ["def f(x):\n    lines = !echo {x}\n    return lines", "f(5)"],
        "['5']",
    ),
    ("%pwd gives its value", ["import os\nhere = %pwd\nhere == os.getcwd()"], "True"),
    ("%cd", ["%cd /\nimport os\nos.getcwd()"], "'/'"),
    ("%env sets", ["%env QUERN_X=1\nimport os\nos.environ['QUERN_X']"], "'1'"),
    ("%reset forgets", ["x = 1", "%reset -f", "'x' in globals()"], "False"),
    (
        "%run keeps the names of the program",
        ["%%writefile p.py\nimport sys\ny = sys.argv[1]", "%run p.py 'a b'", "y"],
        "'a b'",
    ),
    (
        "%%capture keeps what was said and shown",
        [
            "%%capture c\nprint('out')\nimport sys\nprint('err', file=sys.stderr)\ndisplay(1)\n2",
            "c.stdout, c.stderr, [b['text/plain'] for b in c.outputs]",
        ],
        r"('out\n', 'err\n', ['1', '2'])",
    ),
    (
        "%%writefile -a",
        ["%%writefile a\n1", "%%writefile -a a\n2", "open('a').read()"],
        "'12'",
    ),
    ("%pylab", ["%pylab inline\nlen(linspace(0, 1, 5)), np.pi > 3"], "(5, True)"),
    (
        "every value, when that is asked for",
        [
            "from IPython.core.interactiveshell import InteractiveShell\n"
            "InteractiveShell.ast_node_interactivity = 'all'",
            "5\nx = 6;\n7;\nx",
        ],
        "6",
    ),
    ("%%time shows the last value", ["%%time\nx = 1\nx + 1"], "2"),
    ("%%writefile", ["%%writefile a.txt\nhello", "open('a.txt').read()"], "'hello'"),
    (
        "a command over two lines",
        ["!echo a \\\n  b > o.txt\nopen('o.txt').read()"],
        r"'a b\n'",
    ),
    (
        "get_ipython is there",
        ["get_ipython().run_line_magic('matplotlib', 'inline')"],
        "",
    ),
]


@pytest.mark.parametrize(
    "cells, shown", [row[1:] for row in SHOWN], ids=[r[0] for r in SHOWN]
)
def test_shows(one, cells, shown):
    cell = one(*cells)
    assert (cell.status, cell.traceback) == ("ok", "")
    if shown.endswith("0x"):
        assert cell.result.startswith(shown)
    else:
        assert cell.result == shown


# What it does, cells, status, name, value, lines that the traceback has.
RAISED = [
    (
        "an exception",
        ["1/0"],
        "ZeroDivisionError",
        "division by zero",
        ["line 1, in <module>", "    1/0"],
    ),
    (
        "nested calls show their lines",
        ["def f():\n    return g()\ndef g():\n    return [][1]", "x = 1\nf()"],
        "IndexError",
        "list index out of range",
        [
            '"<cell-2>", line 2',
            "    f()",
            '"<cell-1>", line 2, in f',
            "    return [][1]",
        ],
    ),
    (
        "a cause",
        ["try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e"],
        "KeyError",
        "'k'",
        ["direct cause", "division by zero", "KeyError: 'k'"],
    ),
    (
        "a syntax error",
        ["x = (1,\ny = 2"],
        "SyntaxError",
        "'(' was never closed",
        ["x = (1,", "^"],
    ),
    (
        "a syntax error in a later line",
        ["a = 1\nb ="],
        "SyntaxError",
        "invalid syntax",
        ["line 2", "b ="],
    ),
    (
        "an unclosed string",
        ["'abc"],
        "SyntaxError",
        "unterminated string literal",
        ["'abc", "^"],
    ),
    ("a stray return", ["return 1"], "SyntaxError", "'return' outside function", []),
    ("a zero byte", ["x = 1\0"], ("ValueError", "SyntaxError"), "null bytes", []),
    (
        "broken beside an indented cell",
        ["  x = 1\n  y = ("],
        "SyntaxError",
        "'(' was never closed",
        ["line 2", "    y = (", "        ^"],
    ),
    (
        "broken beside a command",
        ["!true\nx = 1\ny = )"],
        "SyntaxError",
        "unmatched ')'",
        ["line 3", "    y = )", "        ^"],
    ),
    (
        "a percent with nothing before it",
        ["x = 5\n% 3"],
        "SyntaxError",
        "invalid syntax",
        ["line 2", "    % 3"],
    ),
    ("input()", ["input('? ')"], "EOFError", "nobody can type while this code runs", []),
    (
        "getpass()",
        ["import getpass", "getpass.getpass()"],
        "EOFError",
        "getpass() has nothing to read: nobody can type while this code runs",
        [],
    ),
    (
        "a missing module",
        ["import nope_nope"],
        "ModuleNotFoundError",
        "No module named 'nope_nope'",
        ["nope_nope is not installed here, and packages cannot be installed"],
    ),
    (
        "an exception whose str() fails",
        ["class E(Exception):\n    def __str__(self): return 1/0\nraise E()"],
        "E",
        "<its str() failed>",
        [],
    ),
    (
        "an awaited exception",
        ["async def f():\n    1/0\nawait f()"],
        "ZeroDivisionError",
        "division by zero",
        ["line 2, in f"],
    ),
    (
        "an exception group",
        ["raise ExceptionGroup('g', [ValueError(1)])"],
        "ExceptionGroup",
        "g (1 sub-exception)",
        ["ValueError: 1"],
    ),
    (
        "endless recursion",
        ["def f(): f()\nf()"],
        "RecursionError",
        "maximum recursion depth exceeded",
        ["repeated"],
    ),
    (
        "a frozen reading of a missing file",
        ["open('nope.csv')"],
        "FileNotFoundError",
        "[Errno 2] No such file or directory: 'nope.csv'",
        [],
    ),
    (
        "an unknown cell magic",
        ["%%nope\nx"],
        "SyntaxError",
        "%%nope is not available here",
        [],
    ),
    (
        "%%time",
        ["%%time\nx = 1\n1/0"],
        "ZeroDivisionError",
        "division by zero",
        ['"<cell-1>", line 3', "    1/0"],
    ),
]


@pytest.mark.parametrize(
    "cells, name, value, lines", [r[1:] for r in RAISED], ids=[r[0] for r in RAISED]
)
def test_raises(one, cells, name, value, lines):
    cell = one(*cells)
    assert cell.status == "error"
    assert cell.name in (name if isinstance(name, tuple) else (name,))
    assert value in cell.value
    for line in lines:
        assert line in cell.traceback
    assert "quern_guest" not in cell.traceback
    assert cell.result == ""


# What it does, cells, status and value of the last one.
ENDS = [
    ("sys.exit() ends the cell", ["import sys\nsys.exit()"], "exit", ""),
    ("exit code 0 is no exit code", ["import sys\nsys.exit(0)"], "exit", ""),
    ("an exit code", ["import sys\nsys.exit(3)"], "exit", "3"),
    ("an exit sentence", ["import sys\nsys.exit('no data')"], "exit", "no data"),
    ("exit()", ["exit()"], "exit", ""),
    ("KeyboardInterrupt", ["raise KeyboardInterrupt"], "interrupted", ""),
]


@pytest.mark.parametrize(
    "cells, status, value", [r[1:] for r in ENDS], ids=[r[0] for r in ENDS]
)
def test_ends(run, cells, status, value):
    *_, last, after = run(*cells, "1 + 1")
    assert (last.status, last.value) == (status, value)
    assert (after.status, after.result) == ("ok", "2")


@pytest.mark.parametrize("end", ["1/0", "raise SystemExit", "x", "nope", "plt.show()"])
def test_statements_before_an_end_run_once(run, end):
    cells = run("n = 0\nx = 5", f"n += 1\nprint(n)\n{end}", "n")
    assert cells[1].out == "1\n"
    assert cells[2].result == "1"


# A cell that breaks something; afterwards everything works.
DAMAGE = [
    "import sys\nsys.stdout = None",
    "import sys\nsys.stdout.close()\nsys.stderr.close()",
    "import sys\nsys.stdout.detach()",
    "import sys, io\nsys.stdout = io.StringIO()",
    "import sys\nsys.stdout.reconfigure(encoding='ascii', errors='strict')",
    "import sys\ndel sys.stdout, sys.stderr, sys.stdin",
    "import builtins\nbuiltins.__dict__.clear()",
    "import builtins\nbuiltins.len = builtins.print = builtins.isinstance = None",
    "import builtins\ndel builtins.__import__, builtins.__build_class__",
    "del __builtins__",
    "__builtins__ = None",
    "globals().clear()",
    "import linecache\nlinecache.clearcache()",
    "import sys\nsys.displayhook = sys.excepthook = None",
    "import sys\nsys.setrecursionlimit(60)\ndef f(): f()\nf()",
    "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_event_loop().stop()",
    "import sys\nsys.path.clear()",
    "import sys\nsys.settrace(lambda *a: 1/0)",
    "raise SystemExit(print)",
    "import warnings\nwarnings.simplefilter('error')",
]


@pytest.mark.parametrize("code", DAMAGE)
def test_next_cell_works_after(run, code):
    _, after, failing = run(
        code, "print('fine')\nx = len([1, 2])\nx", "def f():\n    1/0\nf()"
    )
    assert (after.status, after.result, after.out) == ("ok", "2", "fine\n")
    assert failing.name == "ZeroDivisionError"
    assert "    1/0" in failing.traceback


def test_a_dedented_cell_points_at_the_right_place(one):
    cell = one("    x = 0\n    y = 1 / x")
    assert "    y = 1 / x\n        ~~^~~\n" in cell.traceback


def test_unusual_line_ends_do_not_shift_the_lines(one):
    cell = one("x = 'a\x0cb\u2028c'\n1/0")
    assert "line 2, in <module>\n    1/0\n" in cell.traceback


def test_tracing_ends_with_its_cell(one):
    trace = "import sys\nseen = []\nsys.settrace(lambda *a: seen.append(a))"
    assert one(trace, "seen.clear()", "def f(): pass\nf()\nseen").result == "[]"


def test_output_keeps_its_order_and_its_bytes(one):
    cell = one(
        "import sys, os\n"
        "print('a', end='')\n"
        "print('é🙂', '\\udcff')\n"
        "sys.stdout.buffer.write(b'\\xff\\n')\n"
        "sys.stdout.flush()\n"
        "os.system('echo child')\n"
        "print('no newline', end='')"
    )
    assert cell.status == "ok"
    assert cell.out == "aé🙂 \\udcff\n\\xff\nchild\nno newline"


# What it does, the cell, what is in its output.
SAYS = [
    ("%time", "%time sum(range(10))", "Wall time: "),
    (
        "%timeit",
        "%timeit -n 2 -r 3 1 + 1",
        "(mean ± std. dev. of 3 runs, 2 loops each)",
    ),
    ("%timeit of a dictionary", "x = 1\n%timeit -n 1 -r 1 {x}", "1 run, 1 loop each"),
    ("%who", "x = y = 1\n%who", "x\t y\n"),
    ("%whos", "import numpy\nz = numpy.zeros((2, 3))\n%whos", "shape (2, 3)"),
    ("name?", "def f(a):\n    'what it does'\nf?", "what it does"),
    ("?name of a module's", "import math\n?math.sqrt", "square root"),
    ("name?? has the source", "def f(a):\n    return a + 41\nf??", "return a + 41"),
    ("an unknown name?", "nope?", "Object `nope` not found."),
    ("%prun", "%prun sum(range(10))", "function calls"),
    ("%lsmagic", "%lsmagic", "%timeit"),
    ("%%bash", "%%bash\nfor i in 1 2; do echo $i; done", "1\n2\n"),
    ("!command of two words", "!echo a b", "a b\n"),
]


@pytest.mark.parametrize("code, said", [r[1:] for r in SAYS], ids=[r[0] for r in SAYS])
def test_says(one, code, said):
    cell = one(code)
    assert (cell.status, cell.traceback, cell.err) == ("ok", "", "")
    assert said in cell.out


def test_every_value_is_shown_in_order(one):
    everything = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.ast_node_interactivity = 'all'"
    )
    cell = one(everything, "5\nx = 6\n7;\nNone\nx + 2\nx")
    assert [d["text/plain"] for d in cell.displays] == [b"5", b"8"]
    assert cell.result == "6"


def test_an_unknown_magic_is_told_and_the_cell_goes_on(one):
    cell = one("%nope 1\n2")
    assert (cell.status, cell.result) == ("ok", "2")
    assert "`%nope` not found" in cell.err


# Each repr() alone would be hundreds of megabytes, or never end.
HUGE = [
    ("nested lists", "[list(range(10**5))] * 100", "[[0, 1, 2,"),
    ("a string within", "{'a': ('x' * 10**7,) * 10}", "{'a': ('xxx"),
    ("sets", "[frozenset([1])] * 10**6", "[frozenset({1}), frozenset({1}), "),
    ("a list in itself", "a = [0] * 40000\na[0] = a\na", "[[...], 0, 0, "),
]


@pytest.mark.parametrize("code, head", [r[1:] for r in HUGE], ids=[r[0] for r in HUGE])
def test_what_is_huge_within_is_cut(one, code, head):
    cell = one(code)
    assert cell.result.startswith(head) and len(cell.result) <= 32 << 10
    assert "in all" in cell.result


@pytest.mark.parametrize(
    "code",
    ["a = []\na.append(a)\na", "(1,)", "[{}, set(), (), frozenset()]", "{1: {2: [3]}}"],
)
def test_what_is_small_is_as_python_shows_it(one, code):
    *setup, value = code.split("\n")
    names = {}
    exec("\n".join(setup), names)
    assert one(code).result == repr(eval(value, names))


def test_large_and_small_are_written_alike(loaded):
    from quern_guest import text

    value = [1, (2,), (), {3: {4}, "a": b"c"}, frozenset({5}), frozenset(), [[], {}]]
    value.append(value)
    assert "".join(text._pieces(value, ())) == repr(value)


def test_packages_cannot_be_installed_and_that_is_said(one):
    for line in (
        "!pip install x",
        "%pip install x",
        "!python -m pip install -q x",
        "!apt-get install -y x",
    ):
        cell = one(f"{line}\n1")
        assert cell.status == "ok" and cell.result == "1"
        assert "cannot be installed" in cell.out


def test_large_values_are_cut_and_said_so(one):
    for code, total in (
        ("'a' * 10**7", "10,000,000 characters in all"),
        ("b'a' * 10**7", "10,000,000 bytes in all"),
        ("list(range(10**6))", "1,000,000 items"),
        ("dict.fromkeys(range(10**6))", "1,000,000 items"),
        (
            "class C:\n    def __repr__(self): return 'x' * 10**6\nC()",
            "1,000,000 bytes",
        ),
    ):
        cell = one(code)
        assert total in cell.result and len(cell.result) <= 32 << 10
        assert cell.result.count(" in all") == 1
    cell = one("raise ValueError('v' * 10**6)")
    assert len(cell.value) <= 16 << 10 and len(cell.traceback) <= 32 << 10
    assert cell.traceback.startswith("Traceback")


@pytest.mark.parametrize(
    "body", ["1/0", "return 5", "raise SystemExit(2)", "raise MemoryError"]
)
def test_a_broken_repr_is_told_not_raised(one, body):
    cell = one(f"class C:\n    def __repr__(self): {body}\nC()")
    assert cell.status == "ok"
    assert cell.result.startswith("<C object; repr() raised ")


def test_sessions_draw_different_random_numbers(run):
    code = "import random, numpy\n(random.random(), numpy.random.rand(), numpy.random.default_rng().random())"
    first, second = run(code)[0].result, run(code)[0].result
    assert not set(first.strip("()").split(", ")) & set(second.strip("()").split(", "))
