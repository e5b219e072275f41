"""shell.py - what get_ipython() gives: the notebook's own commands, as calls.

source.py rewrites lines like %magic, !command and name? as calls of it; magics.py
has what they do.
"""

import builtins
import re
import subprocess
import sys

import __main__

from . import installing, streams

VARIABLE = re.compile(r"\{([^{}]+)\}|(\$\$(?=\w))|\$(\w+)")


class Lines(list):
    """What a command printed, as lines; also as one text, and as words."""

    n = property("\n".join)
    s = property(" ".join)


class Shell:
    """The part of IPython's shell that cells and libraries ask for."""

    ast_node_interactivity = "last_expr"

    def __init__(self):
        self.config = {}

    @property
    def user_ns(self):
        return vars(__main__)

    def push(self, names):
        vars(__main__).update(names)

    def ev(self, expression):
        return eval(expression, vars(__main__))

    def ex(self, code):
        exec(code, vars(__main__))

    def system(self, command):
        """!command"""
        run(expand(command, names_of(sys._getframe(1))))

    def getoutput(self, command):
        """lines = !command"""
        return lines_of(expand(command, names_of(sys._getframe(1))))

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        from . import magics

        magics.register(function, magic_kind, magic_name)

    def run_line_magic(self, name, line):
        from . import magics

        return magics.run_line(name, line, names_of(sys._getframe(1)))

    def run_cell_magic(self, name, line, cell):
        from . import magics

        return magics.run_cell(name, line, cell)

    def magic(self, line):
        from . import magics

        name, _, rest = line.lstrip("%").partition(" ")
        return magics.run_line(name, rest, names_of(sys._getframe(1)))

    def run_cell(self, code, **_options):
        from . import cell

        cell.evaluate_and_display(code, "<cell>")


def run(command, **options):
    """Runs a command in a shell; one that installs packages goes to the warden."""
    if installing.is_meant(command):
        installing.carry_out(command)
        return ""
    done = program(["/bin/sh", "-c", command], **options)
    vars(__main__)["_exit_code"] = done.returncode
    return text_of(done.stdout)


def program(words, **options):
    """Runs a program until it ends; it writes to where the cell writes."""
    streams.flush()
    return subprocess.run(words, check=False, **options)


def text_of(data):
    return (data or b"").decode(errors="backslashreplace")


def lines_of(command):
    return Lines(run(command, stdout=subprocess.PIPE).splitlines())


def names_of(frame):
    return {**frame.f_globals, **frame.f_locals}


def expand(command, names):
    """Replaces {expression} and $name where they mean something in Python. Other braces
    and dollars stay: they are for the shell or awk. $$name is the shell's $name."""

    def value_of(found):
        if found[2]:
            return "$"
        try:
            return str(eval(found[1] or found[3], names))
        except Exception:
            return found[0]

    return VARIABLE.sub(value_of, command)


_shell = Shell()


def get_ipython():
    return _shell


def for_cells_only():
    """Gives get_ipython() to cells only. Libraries call it to see whether they are in a
    notebook, and would then use parts of IPython that are not here."""
    caller = sys._getframe(1).f_code.co_filename
    return _shell if caller.startswith(("<cell", "<magic")) else None


def install():
    builtins.get_ipython = for_cells_only
