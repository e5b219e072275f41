"""source.py - from the text of a cell to code that can be run.

A cell is run as an interactive session shows it: all statements, then the value
of the last one if it is an expression. The syntax tree tells which that is,
never the text. What is not Python (an indented cell, %magic, !command) is
rewritten only where Python itself refuses it, so valid code is never changed.
"""

import ast
import re
from dataclasses import dataclass

MAX_REPAIRS = 500
COMMAND = re.compile(r"(\s*)(%(?=[a-zA-Z])|!)(.*)")


@dataclass
class Source:
    text: str  # as it is run
    body: ast.Module
    last: ast.Expression | None  # its value is shown
    silent: bool  # ... unless a semicolon follows


def parse(text, filename, flags=0):
    """Raises SyntaxError about what no repair makes into Python."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    tree, text = _parse_repaired(text, filename, flags)
    if not (tree.body and isinstance(tree.body[-1], ast.Expr)):
        return Source(text, tree, None, False)
    last = tree.body.pop()
    silent = _is_silenced(text, last)
    return Source(text, tree, ast.Expression(last.value), silent)


def _parse_repaired(text, filename, flags):
    flags |= ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for repairs_left in reversed(range(MAX_REPAIRS)):
        try:
            return compile(text, filename, "exec", flags, dont_inherit=True), text
        except SyntaxError as error:
            repaired = _repair(text, error)
            if repaired is None or not repairs_left:
                raise
            text = repaired


def _repair(text, error):
    if isinstance(error, IndentationError) and (dedented := _dedent(text)):
        return dedented
    lines = text.split("\n")
    if not error.lineno or error.lineno > len(lines):
        return None
    return _replace_command(lines, error.lineno - 1)


def _dedent(text):
    """Without the indentation of the first line of code; None: it has none."""
    lines = text.split("\n")
    code = (line for line in lines if line.strip() and line.lstrip()[0] != "#")
    line = next(code, "")
    indent = line[: len(line) - len(line.lstrip())]
    if not indent:
        return None
    return "\n".join(line.removeprefix(indent) for line in lines)


def _replace_command(lines, at):
    """A %magic or !command becomes the call that carries it out."""
    found = COMMAND.fullmatch(lines[at])
    if not found:
        return None
    indent, kind, command = found.groups()
    end = at
    while command.endswith("\\") and end + 1 < len(lines):
        end += 1
        command = command[:-1] + lines[end].strip()
        lines[end] = ""
    if kind == "!":
        call = f"system({command!r})"
    else:
        name, _, rest = command.partition(" ")
        call = f"run_line_magic({name!r}, {rest.strip()!r})"
    lines[at] = f"{indent}get_ipython().{call}"
    return "\n".join(lines)


def _is_silenced(text, last):
    """Only white space, comments and semicolons can follow an expression."""
    lines = text.split("\n")
    end = lines[last.end_lineno - 1].encode()[last.end_col_offset :]
    return end.lstrip(b" \t\f\\").startswith(b";")
