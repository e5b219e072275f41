"""magics.py - the notebook commands that people and models write.

%name lines reach run_line() through shell.py; a cell that begins with %%name goes to
of_cell(). A magic that cannot work here prints a sentence why, and the cell goes on.
"""

import ast
import contextlib
import inspect
import io
import itertools
import os
import pydoc
import re
import runpy
import shlex
import sys

import __main__

from . import display, shell, text, timing

# Magics that set up a notebook: there is nothing to set up.
IGNORED = frozenset(
    "matplotlib load_ext reload_ext unload_ext autosave colors xmode gui "
    "autocall automagic autoawait doctest_mode rehashx".split()
)
WHY_NOT = {
    "modules are loaded once; importlib.reload(module) does it again": "autoreload",
    "values are shown as repr() has them": "precision pprint",
    "nobody sits at a terminal": "debug ed edit less man more page pdb qtconsole",
    "earlier cells are not kept": "hist history logstart logstop macro notebook "
    "recall rep rerun save tb",
    "names live as long as the session does; files can be kept": "store",
    "a function does the same": "alias alias_magic bookmark unalias",
    "%run runs a file, and %cat shows it": "load loadpy",
}
REASONS = {name: why for why, names in WHY_NOT.items() for name in names.split()}
PROGRAMS = frozenset("ls ll cat mkdir rmdir cp mv rm head tail wc grep".split())
INSTALLERS = frozenset("pip conda mamba uv".split())
SHELLS = frozenset("bash sh script system sx".split())
TAKE_PYTHON = frozenset("pinfo pinfo2 prun time timeit".split())  # braces are theirs
FIGURE_FORMAT = {f"InlineBackend.figure_format{plural}" for plural in ("", "s")}
# Perhaps after comments: %%name, and the rest of that line.
HEAD = re.compile(r"(?:[ \t]*(?:#.*)?\n)*[ \t]*%%(\w+|!)(.*)\n?")


def run_line(name, line, names=None):
    """Runs %name. names: the variables that {braces} in the line may mean."""
    line = line.strip()
    if names and name not in TAKE_PYTHON:
        line = shell.expand(line, names)
    if name in IGNORED:
        return None
    if name in PROGRAMS | INSTALLERS:
        shell.run(f"{'ls -l' if name == 'll' else name} {line}")
        return None
    if name in SHELLS:
        return shell.lines_of(line)
    if name in LINES:
        return LINES[name](line)
    if name in REASONS:
        print(f"%{name} does nothing here: {REASONS[name]}.", file=sys.stderr)
    else:
        print(f"UsageError: Line magic function `%{name}` not found.", file=sys.stderr)
    return None


def run_cell(name, line, body):
    from . import cell

    cell.evaluate_and_display(f"%%{name} {line}\n{body}", "<cell>")


def of_cell(code):
    """Gives what a cell that begins with %%name does; None: the cell is Python."""
    head = HEAD.match(code)
    if not head:
        return None
    name, line = head[1], head[2].strip()
    command = CELLS.get(name)
    if command is None:
        raise SyntaxError(f"%%{name} is not available here")
    if name not in TAKE_PYTHON:
        line = shell.expand(line, vars(__main__))
    # Tracebacks tell the lines of the whole cell.
    skipped = "\n" * head[0].count("\n")
    return lambda filename: command(line, code[head.end() :], filename, skipped)


def register(function, kind="line", name=None):
    """Registers a magic of the cell's own: function(line), or function(line, body)."""
    name = name or function.__name__
    if "line" in kind:
        LINES[name] = function
    if "cell" in kind:
        CELLS[name] = lambda line, body, *_where: shown(function(line, body))
    return function


def shown(value):
    return "" if value is None else display.result(value)


# ------------------------------------------------------------------ %name


def line_pwd(_line):
    return os.getcwd()


def line_cd(line):
    quiet, path = timing.read_options(line, "q")
    os.chdir(os.path.expanduser(path.strip("'\"") or "~"))
    if not quiet:
        print(os.getcwd())


def line_config(line):
    """Sets the format of figures; all else is about parts of IPython not here."""
    name, _, value = line.partition("=")
    if name.strip() not in FIGURE_FORMAT or not value.strip():
        return
    try:
        value = ast.literal_eval(value.strip())
    except (SyntaxError, ValueError):
        value = value.strip()  # a bare word
    display.set_figure_formats(*([value] if isinstance(value, str) else value))


def line_env(line):
    name, equals, value = line.partition("=") if "=" in line else line.partition(" ")
    if not name:
        return dict(os.environ)
    if not equals:
        return os.environ.get(name)
    os.environ[name.strip()] = value.strip()
    print(f"env: {name.strip()}={value.strip()}")


def user_names():
    """Gives the names that cells have made: no modules, nothing private."""
    return {
        name: value
        for name, value in vars(__main__).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def line_who_ls(line):
    wanted = line.split()
    return [
        name
        for name, value in sorted(user_names().items())
        if not wanted or type(value).__name__ in wanted
    ]


def line_who(line):
    print("\t ".join(line_who_ls(line)) or "Interactive namespace is empty.")


def line_whos(_line):
    print("Variable   Type         Data/Info\n---------------------------------")
    for name, value in sorted(user_names().items()):
        about = text.show(value).partition("\n")[0]
        if hasattr(value, "shape"):
            about = f"shape {value.shape}"
        print(f"{name:<10} {type(value).__name__:<12} {about[:60]}")


def line_reset(_line):
    for name in [name for name in vars(__main__) if not name.startswith("__")]:
        del vars(__main__)[name]


def line_run(line):
    """Runs a file like a program of its own, and keeps its names. -i: it has the names
    of cells, -m: it is a module."""
    words = shlex.split(line)
    options = [*itertools.takewhile(lambda word: word.startswith("-"), words)]
    path, *arguments = words[len(options) :]
    run = runpy.run_module if "-m" in options else run_file
    before = sys.argv, sys.path[:]
    sys.argv = [path, *arguments]
    try:
        names = run(path, user_names() if "-i" in options else {}, "__main__")
    except SystemExit as end:
        names = {}
        if end.code not in (None, 0):
            print(f"SystemExit: {end.code}", file=sys.stderr)
    finally:
        sys.argv, sys.path[:] = before
    names = {name: v for name, v in names.items() if not name.startswith("__")}
    vars(__main__).update(names)


def run_file(path, *arguments):
    if not os.path.exists(path) and os.path.exists(f"{path}.py"):
        path += ".py"
    sys.path.insert(0, os.path.dirname(path))
    return runpy.run_path(path, *arguments)


def line_pylab(_line):
    code = "import numpy\nimport numpy as np\nfrom matplotlib import pyplot as plt\n"
    exec(code + "from pylab import *", vars(__main__))


def line_inspect(line):
    """Does name?, which tells what it is, and name??, which prints its source."""
    try:
        value = eval(line.strip("? "), vars(__main__))
    except (NameError, AttributeError):
        print(f"Object `{line.strip('? ')}` not found.")
        return
    if line.endswith("??") or line.startswith("??"):
        with contextlib.suppress(OSError, TypeError):
            print(inspect.getsource(value))
            return
    print(pydoc.plain(pydoc.render_doc(value, title="%s")))


def line_magics(_line):
    print(" ".join(f"%{name}" for name in sorted(LINES)))
    print(" ".join(f"%%{name}" for name in sorted(CELLS)))


LINES = {
    "cd": line_cd,
    "config": line_config,
    "env": line_env,
    "lsmagic": line_magics,
    "pdef": line_inspect,
    "pdoc": line_inspect,
    "pinfo": line_inspect,
    "pinfo2": lambda line: line_inspect(f"{line}??"),
    "prun": timing.profile_of,
    "psource": lambda line: line_inspect(f"{line}??"),
    "pwd": line_pwd,
    "pylab": line_pylab,
    "reset": line_reset,
    "run": line_run,
    "set_env": line_env,
    "time": timing.time_of,
    "timeit": timing.timeit_of,
    "who": line_who,
    "who_ls": line_who_ls,
    "whos": line_whos,
}

# ----------------------------------------------------------------- %%name


def cell_python(_line, body, filename, skipped):
    from . import cell

    return cell.evaluate(skipped + body, filename)


def cell_time(line, body, filename, skipped):
    with timing.Timer():
        return cell_python(line, body, filename, skipped)


def cell_timeit(line, body, _filename, _skipped):
    timed = timing.timeit_of(line, body)
    return repr(timed) if timed else ""


def cell_profile(_line, body, filename, skipped):
    timing.profile_of(compile(skipped + body, filename, "exec"))
    return ""


class Captured:
    """What %%capture keeps of a cell."""

    def __init__(self, stdout, stderr, outputs):
        self.stdout, self.stderr, self.outputs = stdout, stderr, outputs

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for bundle in self.outputs:
            display.emit(bundle)

    __call__ = show


def cell_capture(line, body, filename, skipped):
    from . import cell

    words, bundles = line.split(), []
    name = next((word for word in words if word.isidentifier()), None)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        if "--no-stdout" not in words:
            stack.enter_context(contextlib.redirect_stdout(out))
        if "--no-stderr" not in words:
            stack.enter_context(contextlib.redirect_stderr(err))
        if "--no-display" not in words:
            bundles = stack.enter_context(display.captured())
        cell.evaluate_and_display(skipped + body, filename)
    if name:
        captured = Captured(out.getvalue(), err.getvalue(), bundles)
        vars(__main__)[name] = captured
    return ""


def cell_script(line, body, _filename, _skipped):
    """Does %%script PROGRAM...: the program reads the cell."""
    raises, line = "--no-raise-error" not in line, line.replace("--no-raise-error", "")
    words = shlex.split(line)
    done = shell.program(words, input=body.encode())
    if raises:
        done.check_returncode()
    return ""


def script_of(program):
    return lambda line, *cell: cell_script(f"{program} {line}", *cell)


def cell_lines(_line, body, _filename, _skipped):
    return shown(shell.lines_of(body))


def cell_writefile(line, body, _filename, _skipped):
    append, path = timing.read_options(line, "a")
    path = os.path.expanduser(path.strip("'\""))
    there = "Overwriting" if os.path.exists(path) else "Writing"
    print(f"{'Appending to' if append else there} {path}")
    with open(path, "a" if append else "w", encoding="utf-8") as file:
        file.write(body)
    return ""


def shows(mime):
    def cell_show(_line, body, _filename, _skipped):
        display.emit({"text/plain": body, mime: body})
        return ""

    return cell_show


CELLS = {
    "!": cell_lines,
    "HTML": shows("text/html"),
    "SVG": shows("image/svg+xml"),
    "bash": script_of("bash"),
    "capture": cell_capture,
    "file": cell_writefile,
    "html": shows("text/html"),
    "javascript": shows("application/javascript"),
    "js": shows("application/javascript"),
    "latex": shows("text/latex"),
    "markdown": shows("text/markdown"),
    "perl": script_of("perl"),
    "prun": cell_profile,
    "python": cell_python,
    "python3": cell_python,
    "script": cell_script,
    "sh": script_of("sh"),
    "svg": shows("image/svg+xml"),
    "sx": cell_lines,
    "system": cell_lines,
    "time": cell_time,
    "timeit": cell_timeit,
    "writefile": cell_writefile,
}
