"""magics.py - the notebook commands that people and models write.

%name lines reach run_line() through shell.py; a cell that begins with %%name
is of_cell()'s.
"""

import contextlib
import inspect
import io
import os
import pydoc
import runpy
import shlex
import subprocess
import sys

import __main__

from . import display, shell, text, timing

IGNORED = frozenset(
    "matplotlib config load_ext reload_ext unload_ext autoreload precision "
    "autosave colors xmode pdb debug tb gui autocall automagic alias alias_magic "
    "doctest_mode history hist logstart logstop notebook rehashx store".split()
)
PROGRAMS = frozenset("ls cat mkdir rmdir cp mv rm head tail wc grep".split())
INSTALLERS = frozenset("pip conda mamba uv".split())
SHELLS = frozenset("bash sh script system sx".split())
TAKE_PYTHON = frozenset("pinfo prun time timeit".split())  # braces are theirs


def run_line(name, line):
    line = line.strip()
    if name in IGNORED:
        return None
    if name in PROGRAMS | INSTALLERS:
        shell.run(f"{name} {line}")
        return None
    if name in SHELLS:
        return shell.run(line, stdout=subprocess.PIPE).splitlines()
    if name in LINES:
        return LINES[name](line)
    print(f"UsageError: Line magic function `%{name}` not found.", file=sys.stderr)
    return None


def run_cell(name, line, body):
    result = of_cell(f"%%{name} {line}\n{body}")("<cell>")
    if result:
        display.emit({"text/plain": result})


def of_cell(code):
    """What a cell that begins with %%name does, or None: it is Python."""
    head, _, body = code.lstrip().partition("\n")
    if not head.startswith("%%"):
        return None
    name, _, line = head[2:].strip().partition(" ")
    command = CELLS.get(name)
    if command is None:
        raise SyntaxError(f"%%{name} is not available here")
    # Tracebacks tell the lines of the whole cell.
    skipped = "\n" * code[: len(code) - len(body)].count("\n")
    return lambda filename: command(line.strip(), body, filename, skipped)


# ------------------------------------------------------------------ %name


def line_pwd(_line):
    return os.getcwd()


def line_cd(line):
    os.chdir(os.path.expanduser(line.strip("'\"") or "~"))
    print(os.getcwd())


def line_env(line):
    name, equals, value = line.partition("=") if "=" in line else line.partition(" ")
    if not name:
        return dict(os.environ)
    if not equals:
        return os.environ.get(name)
    os.environ[name.strip()] = value.strip()
    print(f"env: {name.strip()}={value.strip()}")


def user_names():
    """What cells have made: no modules, nothing private."""
    return {
        name: value
        for name, value in vars(__main__).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }


def line_who(line):
    wanted = line.split()
    names = [
        name
        for name, value in sorted(user_names().items())
        if not wanted or type(value).__name__ in wanted
    ]
    print("\t ".join(names) or "Interactive namespace is empty.")


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
    """Like a program of its own; its names stay."""
    path, *arguments = shlex.split(line)
    before = sys.argv
    sys.argv = [path, *arguments]
    try:
        names = runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before
    names = {name: v for name, v in names.items() if not name.startswith("__")}
    vars(__main__).update(names)


def line_pylab(_line):
    code = "import numpy\nimport numpy as np\nfrom matplotlib import pyplot as plt\n"
    exec(code + "from pylab import *", vars(__main__))


def line_inspect(line):
    """name? tells what it is, name?? its source."""
    try:
        value = eval(line.strip("? "), vars(__main__))
    except (NameError, AttributeError):
        print(f"Object `{line.strip('? ')}` not found.")
        return
    if "??" in line:
        with contextlib.suppress(OSError, TypeError):
            print(inspect.getsource(value))
            return
    print(pydoc.plain(pydoc.render_doc(value, title="%s")))


def line_magics(_line):
    print(" ".join(f"%{name}" for name in sorted(LINES)))
    print(" ".join(f"%%{name}" for name in sorted(CELLS)))


LINES = {
    "cd": line_cd,
    "env": line_env,
    "lsmagic": line_magics,
    "pinfo": line_inspect,
    "prun": timing.profile_of,
    "pwd": line_pwd,
    "pylab": line_pylab,
    "reset": line_reset,
    "run": line_run,
    "set_env": line_env,
    "time": timing.time_of,
    "timeit": timing.timeit_of,
    "who": line_who,
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
    name = next((word for word in line.split() if word.isidentifier()), None)
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        display.captured() as bundles,
    ):
        result = cell_python(line, body, filename, skipped)
    if result:
        bundles.append({"text/plain": result})
    if name:
        captured = Captured(out.getvalue(), err.getvalue(), bundles)
        vars(__main__)[name] = captured
    return ""


def cell_shell(_line, body, _filename, _skipped):
    shell.run(body)
    return ""


def cell_writefile(line, body, _filename, _skipped):
    options, path = timing.read_options(line, "a")
    with open(path.strip("'\""), "a" if options else "w", encoding="utf-8") as file:
        file.write(body)
    print(f"{'Appended to' if options else 'Wrote'} {path}")
    return ""


def shows(mime):
    def cell_show(_line, body, _filename, _skipped):
        display.emit({"text/plain": body, mime: body})
        return ""

    return cell_show


CELLS = {
    "HTML": shows("text/html"),
    "bash": cell_shell,
    "capture": cell_capture,
    "file": cell_writefile,
    "html": shows("text/html"),
    "latex": shows("text/latex"),
    "markdown": shows("text/markdown"),
    "prun": cell_profile,
    "python": cell_python,
    "python3": cell_python,
    "script": cell_shell,
    "sh": cell_shell,
    "svg": shows("image/svg+xml"),
    "time": cell_time,
    "timeit": cell_timeit,
    "writefile": cell_writefile,
}
