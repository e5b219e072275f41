"""What notebooks have beside Python, as models write it: commands, prompts,
what is left of earlier cells."""

import re

import pytest

WARN = "import warnings\nwarnings.warn('w')"
TASK = "import asyncio\nasync def work():\n    await asyncio.sleep(0)\n    return 5\n"
# What it does, the cells of one session, what the last one gives.
SHOWN = [
    ("the last three values", ["1", "2", "3", "_, __, ___"], "(3, 2, 1)"),
    (
        "a task is started, then awaited",
        [f"{TASK}task = asyncio.create_task(work())\nawait task"],
        "5",
    ),
    (
        "a task is started after an await",
        [f"{TASK}await work()\nasyncio.current_task() is not None"],
        "True",
    ),
    (
        "asyncio.run after an await of before",
        [f"{TASK}await work()", "asyncio.run(work())"],
        "5",
    ),
    ("code with prompts", [">>> x = 1\n>>> if x:\n...     x += 1\n...\n>>> x"], "2"),
    ("indented code with prompts", ["  >>> x = 1\n  >>> x + 1"], "2"),
    ("prompts in a string stay", ["x = '''\n>>> 1\n'''\nx"], r"'\n>>> 1\n'"),
    ("line ends of an old Macintosh", ["x = 1\rx + 1"], "2"),
    ("a byte order mark before a command", ["\ufeff%%time\n1"], "1"),
    (
        "Windows line ends in a file",
        ["%%writefile a\r\nb\r\n", "open('a', newline='').read()"],
        r"'b\n'",
    ),
    (
        "a command after comments",
        ["# first\n\n%%capture c\nprint(1)", "c.stdout"],
        r"'1\n'",
    ),
    ("an indented command", ["    %%time\n    x = 1\n    x"], "1"),
    ("how a command ended", ["!exit 3\n_exit_code"], "3"),
    ("%cd says nothing with -q", ["%cd -q /\nimport os\nos.getcwd()"], "'/'"),
    ("%who_ls gives the names", ["a, b = 1, 'x'\n%who_ls"], "['a', 'b']"),
    ("%who_ls of a type", ["a, b = 1, 'x'\n%who_ls int"], "['a']"),
    (
        "two dollars are the shell's one",
        ["HOME = 'mine'\nlines = !HOME=its; echo $HOME $$HOME\nlines"],
        "['mine its']",
    ),
    (
        "what a command said, as one line",
        ["x = !printf 'a\\nb'\nx.s, x.n"],
        r"('a b', 'a\nb')",
    ),
    ("%%sx", ["%%sx\necho a"], "['a']"),
    (
        "%%capture keeps a table once",
        [
            "%%capture c\nimport pandas as pd\npd.DataFrame({'a': [1]})",
            "[sorted(b) for b in c.outputs]",
        ],
        "[['text/html', 'text/plain']]",
    ),
    (
        "%%writefile to a name in braces",
        ["n = 'a'", "%%writefile {n}.txt\n{n}", "open('a.txt').read()"],
        "'{n}'",
    ),
    (
        "%run and sys.exit()",
        ["%%writefile p.py\nimport sys\nsys.exit()", "%run p.py\n1"],
        "1",
    ),
    ("%run without .py", ["%%writefile p.py\ny = 1", "%run p\ny"], "1"),
    (
        "%run -i sees the names of cells",
        ["%%writefile p.py\ny = x + 1", "x = 1", "%run -i p.py\ny"],
        "2",
    ),
    ("%run -m", ["%%writefile m.py\ny = __name__", "%run -m m\ny"], "'__main__'"),
    (
        "functions of %run keep what they use",
        ["%%writefile p.py\ny = 1\ndef f(): return y", "%run p.py\nf()"],
        "1",
    ),
    (
        "a line magic of one's own",
        [
            "from IPython.core.magic import register_line_magic\n@register_line_magic\ndef twice(line):\n    return line * 2",
            "%twice ab",
        ],
        "'abab'",
    ),
    (
        "a cell magic of one's own",
        [
            "from IPython.core.magic import register_cell_magic\n@register_cell_magic\ndef up(line, cell):\n    return cell.upper()",
            "%%up\na",
        ],
        "'A'",
    ),
    ("get_ipython() evaluates", ["x = 1\nget_ipython().ev('x + 1')"], "2"),
    ("pip install without a mark", ["x = 1\npip install nothing\nx"], "1"),
    (
        "lambdas in joblib's processes",
        [
            "from joblib import Parallel, delayed\nParallel(n_jobs=2)(delayed(lambda x: x + 1)(i) for i in range(3))"
        ],
        "[1, 2, 3]",
    ),
    (
        "a test of unittest in a cell",
        [
            "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\nunittest.main(argv=[''], exit=False).result.wasSuccessful()"
        ],
        "True",
    ),
    (
        "sympy's init_printing()",
        ["import sympy\nsympy.init_printing()", "sympy.Symbol('x') ** 2"],
        "x**2",
    ),
    (
        "numbers as numpy is told to show them",
        [
            "import numpy as np\nnp.set_printoptions(formatter={'int': hex})",
            "np.array([10, 11])",
        ],
        "array([0xa, 0xb])",
    ),
    (
        "all numbers as numpy is told to show them",
        [
            "import numpy as np, sys\n"
            "np.set_printoptions(formatter={'int': hex}, threshold=sys.maxsize)",
            "np.array([10, 11])",
        ],
        "array([0xa, 0xb])",
    ),
    (
        "a dataclass in a cell",
        ["from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(1)"],
        "P(x=1)",
    ),
]


def rows(table):
    return [pytest.param(*row[1:], id=row[0]) for row in table]


@pytest.mark.parametrize("cells, shown", rows(SHOWN))
def test_shows(one, cells, shown):
    cell = one(*cells)
    assert (cell.status, cell.traceback) == ("ok", "")
    assert cell.result == shown


# What it does, the cells, what the last says on stdout, and on stderr.
SAYS = [
    ("%%bash is bash", ["%%bash\n[[ ab == a* ]] && echo yes"], "yes\n", ""),
    ("%%bash has arguments", ["%%bash -s a b\necho $2"], "b\n", ""),
    ("%%script runs the program", ["%%script python3\nprint(6 * 7)"], "42\n", ""),
    (
        "a warning is told once",
        [f"{WARN}\nfor _ in range(3): warnings.warn('v')"],
        "",
        ("UserWarning: v", 1),
    ),
    (
        "a warning is told again in the next cell",
        [WARN, WARN],
        "",
        ("UserWarning: w", 1),
    ),
    (
        "code that looks odd is told once",
        ["!true\nx = 1\nx is 5"],
        "",
        ("SyntaxWarning", 1),
    ),
    (
        "%history says why not",
        ["%history"],
        "",
        ("%history does nothing here: earlier cells are not kept.", 1),
    ),
    ("%load_ext is passed over", ["%load_ext autoreload"], "", ""),
    (
        "%%capture --no-stderr",
        ["%%capture --no-stderr\nimport sys\nprint(1)\nprint(2, file=sys.stderr)"],
        "",
        "2\n",
    ),
    (
        "%run says how a program ended",
        ["%%writefile p.py\nimport sys\nsys.exit('no data')", "%run p.py"],
        "",
        "SystemExit: no data\n",
    ),
]


@pytest.mark.parametrize("columns, shown", [(6, 6), (20, 20), (30, 20)])
@pytest.mark.parametrize("show", ["df", "print(df)"])
def test_columns_that_do_not_fit_are_wrapped(one, show, columns, shown):
    names = [f"a name of some length {number}" for number in range(columns)]
    cell = one(
        f"import pandas as pd\ndf = pd.DataFrame({{n: [1] for n in {names}}})\n{show}"
    )
    said = cell.result + cell.out
    assert len(set(re.findall(r"length (\d+)", said))) == shown
    assert max(map(len, said.split("\n"))) <= 80
    assert ("..." in said) == (columns > shown)


@pytest.mark.parametrize("cells, out, err", rows(SAYS))
def test_says(one, cells, out, err):
    cell = one(*cells)
    assert (cell.status, cell.traceback, cell.out) == ("ok", "", out)
    if isinstance(err, tuple):
        told, times = err
        assert cell.err.count(told) == times, cell.err
    else:
        assert cell.err == err


# What it does, the cells, the exception of the last one, what is told with it.
RAISED = [
    (
        "a shell that fails",
        ["%%bash\nexit 3"],
        "CalledProcessError",
        "non-zero exit status 3",
    ),
    ("a program that is not there", ["%%script nope\n1"], "FileNotFoundError", "nope"),
    (
        "a program of %run",
        ["%%writefile p.py\ndef f():\n    1/0\nf()", "%run p.py"],
        "ZeroDivisionError",
        '  File "p.py", line 3, in <module>\n    f()',
    ),
    ("a folder that is not there", ["%cd -"], "FileNotFoundError", "'-'"),
    ("Out", ["1", "Out[1]"], "NameError", "the last three values, _, __ and ___"),
    ("a numbered value", ["1", "_1"], "NameError", "Give a name"),
    (
        "StopIteration beside an await",
        [f"{TASK}await work()\nnext(iter([]))"],
        "RuntimeError",
        "StopIteration",
    ),
    (
        "a list as deep as memory",
        ["def f(n):\n    return [f(n + 1)]\nf(0)"],
        "RecursionError",
        "line 2, in f",
    ),
]


@pytest.mark.parametrize("cells, name, told", rows(RAISED))
def test_raises(one, cells, name, told):
    cell = one(*cells)
    assert (cell.status, cell.name) == ("error", name)
    assert told in cell.traceback
    assert "runpy" not in cell.traceback
    assert "quern_guest" not in cell.traceback


def test_causes_have_no_frames_of_ours(one):
    code = "try:\n    get_ipython().run_cell_magic('bash', '', 'exit 3')\nexcept Exception:\n    1/0"
    cell = one(code)
    assert "exit status 3" in cell.traceback and "    1/0" in cell.traceback
    assert "quern_guest" not in cell.traceback


def test_a_cell_within_a_cell_shows_its_table_once(one):
    cell = one("get_ipython().run_cell('import pandas as pd\\npd.DataFrame({0: [1]})')")
    assert [sorted(bundle) for bundle in cell.displays] == [["text/html", "text/plain"]]


def test_a_bundle_is_asked_for_as_notebooks_ask(one):
    code = "class C:\n    def _repr_mimebundle_(self, include, exclude):\n        return {'text/html': '<b>'}\nC()"
    assert one(code).displays[0]["text/html"] == b"<b>"
