"""shell.py - what get_ipython() gives: the notebook's own commands, as calls.

source.py makes %magic, !command and name? lines into calls of it; what they do
is in magics.py.
"""

import builtins
import re
import subprocess
import sys

import __main__

from . import installing, streams

VARIABLE = re.compile(r"\{([^{}]+)\}|\$(\w+)")


class Shell:
    """The part of IPython's shell that cells and libraries ask for."""

    @property
    def user_ns(self):
        return vars(__main__)

    def system(self, command):
        """!command"""
        run(expand(command, sys._getframe(1)))

    def getoutput(self, command):
        """lines = !command"""
        command = expand(command, sys._getframe(1))
        return run(command, stdout=subprocess.PIPE).splitlines()

    def run_line_magic(self, name, line):
        from . import magics

        if name not in magics.TAKE_PYTHON:
            line = expand(line, sys._getframe(1))
        return magics.run_line(name, line)

    def run_cell_magic(self, name, line, cell):
        from . import magics

        return magics.run_cell(name, line, cell)

    def magic(self, line):
        from . import magics

        name, _, rest = line.lstrip("%").partition(" ")
        return magics.run_line(name, rest)

    def run_cell(self, code, **_options):
        from . import cell, display

        if result := cell.evaluate(code, "<cell>"):
            display.emit({"text/plain": result})


def run(command, **options):
    """What a shell makes of it; packages are another matter."""
    if installing.is_meant(command):
        installing.carry_out(command)
        return ""
    streams.flush()
    done = subprocess.run(["/bin/sh", "-c", command], check=False, **options)
    return (done.stdout or b"").decode(errors="backslashreplace")


def expand(command, frame):
    """{expression} and $name are replaced where they mean something; what the
    shell or awk understands by braces and dollars stays."""

    def value_of(found):
        try:
            names = {**frame.f_globals, **frame.f_locals}
            return str(eval(found[1] or found[2], names))
        except Exception:
            return found[0]

    return VARIABLE.sub(value_of, command)


_shell = Shell()


def get_ipython():
    return _shell


def for_cells_only():
    """IPython.get_ipython: libraries ask it whether they are in a notebook."""
    caller = sys._getframe(1).f_code.co_filename
    return _shell if caller.startswith("<cell-") else None


def install():
    builtins.get_ipython = get_ipython
