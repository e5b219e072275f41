"""source.py - from the text of a cell to code that can be run.

A cell is run as an interactive session shows it: all statements, then the value
of the last one if it is an expression. The syntax tree tells which that is,
never the text. What is not Python (an indented cell, one with prompts, %magic,
!command) is rewritten only where Python itself refuses it, so valid code is never
changed.
"""

import ast
import re
from dataclasses import dataclass

from . import installing

MAX_REPAIRS = 500
# Indentation, "lines = " perhaps, and what is asked of the shell.
COMMAND = re.compile(r"(\s*)((?:[\w.,\s]+=\s*)?)(%(?=[a-zA-Z])|!!?)(.*)")
PROMPT = re.compile(r"^[ \t]*>>>( |$)")
PROMPTS = re.compile(r"^[ \t]*(>>>|\.\.\.)( |$)")
QUESTION = re.compile(r"(\s*)(\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*")


@dataclass
class Step:
    """A part of a cell: statements, or an expression whose value is shown."""

    tree: ast.Module | ast.Expression
    silent: bool = True

    @property
    def mode(self):
        return "exec" if isinstance(self.tree, ast.Module) else "eval"


def clean(text):
    """Gives the text without what editors of other systems leave in it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parse(text, filename, flags=0, every=False):
    """Gives (text as it is run, [Step]). The value of the last expression is
    shown, or of every one. Raises SyntaxError about what no repair makes into
    Python."""
    tree, text = _parse_repaired(text, filename, flags)
    steps = [Step(ast.Module([], []))]
    for number, node in enumerate(tree.body, 1):
        if isinstance(node, ast.Expr) and (every or number == len(tree.body)):
            value = ast.Expression(node.value)
            steps += Step(value, _is_silenced(text, node)), Step(ast.Module([], []))
        else:
            steps[-1].tree.body.append(node)
    return text, [step for step in steps if step.mode == "eval" or step.tree.body]


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
    if PROMPT.match(lines[error.lineno - 1]):
        return "\n".join(PROMPTS.sub("", line) for line in lines)
    return _replace_command(lines, error.lineno - 1)


def _dedent(text):
    """Gives the text without the indentation of its first line; None: it has none."""
    lines = text.split("\n")
    code = (line for line in lines if line.strip() and line.lstrip()[0] != "#")
    line = next(code, "")
    indent = line[: len(line) - len(line.lstrip())]
    if not indent:
        return None
    return "\n".join(line.removeprefix(indent) for line in lines)


def _replace_command(lines, at):
    """Replaces a %magic, !command or name? by the call that carries it out."""
    if asked := QUESTION.fullmatch(lines[at]):
        indent, name = asked.groups()
        lines[at] = f"{indent}get_ipython().run_line_magic('pinfo', {name!r})"
        return "\n".join(lines)
    if installing.is_meant(lines[at]):
        lines[at] = f"!{lines[at].strip()}"
    found = COMMAND.fullmatch(lines[at])
    if not found:
        return None
    indent, target, kind, command = found.groups()
    end = at
    while command.endswith("\\") and end + 1 < len(lines):
        end += 1
        command = command[:-1] + lines[end].strip()
        lines[end] = ""
    lines[at] = f"{indent}{target}get_ipython().{_call(kind, target, command)}"
    return "\n".join(lines)


def _call(kind, target, command):
    if kind == "%":
        name, _, rest = command.partition(" ")
        return f"run_line_magic({name!r}, {rest.strip()!r})"
    return f"{'getoutput' if target or kind == '!!' else 'system'}({command!r})"


def _is_silenced(text, last):
    """Whether a semicolon follows; else only white space and comments can follow."""
    lines = text.split("\n")
    end = lines[last.end_lineno - 1].encode()[last.end_col_offset :]
    return end.lstrip(b" \t\f\\").startswith(b";")
