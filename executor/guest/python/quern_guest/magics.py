"""magics.py - the few notebook commands that people and models write.

%magic and !command lines reach Shell (source.py rewrites them); a cell that
begins with %%name is of_cell()'s.
"""

import builtins
import os
import re
import subprocess
import sys
import time
import timeit

import __main__

from . import installing, streams

IGNORED = "matplotlib pylab config load_ext reload_ext autoreload precision"


class Shell:
    """What get_ipython() gives here."""

    def system(self, command):
        if installing.is_meant(command):
            installing.carry_out(command)
            return
        streams.flush()
        subprocess.run(["/bin/sh", "-c", command], check=False)

    def run_line_magic(self, name, line):
        if name in IGNORED.split():
            return None
        if name in ("pip", "conda", "mamba", "uv"):
            return self.system(f"{name} {line}")
        if name in ("ls", "cat", "mkdir", "cp", "mv", "rm", "head"):
            return self.system(f"{name} {line}")
        method = getattr(self, f"magic_{name}", None)
        if method:
            return method(line)
        print(f"%{name} is not available here.", file=sys.stderr)

    def magic_pwd(self, _line):
        return os.getcwd()

    def magic_cd(self, line):
        os.chdir(os.path.expanduser(line or "~"))

    def magic_time(self, line):
        with Timer():
            try:
                code = compile(line, "<magic>", "eval")
            except SyntaxError:  # a statement: it has no value
                code = compile(line, "<magic>", "exec")
            return eval(code, vars(__main__))

    def magic_timeit(self, line):
        runs, seconds = timeit.Timer(line, globals=vars(__main__)).autorange()
        print(f"{show_time(seconds / runs)} per loop ({runs:,} loops)")


class Timer:
    def __enter__(self):
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def __exit__(self, *_error):
        cpu = time.process_time() - self.cpu
        wall = time.perf_counter() - self.wall
        print(f"CPU time: {show_time(cpu)}\nWall time: {show_time(wall)}")


def show_time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def of_cell(code):
    """What a cell that begins with %%name does, or None: it is Python."""
    head, _, body = code.lstrip().partition("\n")
    if not head.startswith("%%"):
        return None
    name, _, line = head[2:].strip().partition(" ")
    command = CELLS.get(name)
    if command is None:
        raise SyntaxError(f"%%{name} is not available here")
    skipped = code[: len(code) - len(body)].count("\n")
    return lambda filename: command(line.strip(), body, filename, skipped)


def cell_python(_line, body, filename, skipped):
    from . import cell

    return cell.evaluate("\n" * skipped + body, filename)


def cell_time(line, body, filename, skipped):
    with Timer():
        return cell_python(line, body, filename, skipped)


def cell_shell(_line, body, _filename, _skipped):
    get_ipython().system(body)
    return ""


def cell_writefile(line, body, _filename, _skipped):
    with open(line, "w", encoding="utf-8") as file:
        file.write(body)
    print(f"Wrote {line}")
    return ""


CELLS = {
    "time": cell_time,
    "timeit": cell_time,
    "capture": cell_python,
    "python": cell_python,
    "python3": cell_python,
    "bash": cell_shell,
    "sh": cell_shell,
    "writefile": cell_writefile,
}

_shell = Shell()


def get_ipython():
    return _shell


def install():
    builtins.get_ipython = get_ipython
