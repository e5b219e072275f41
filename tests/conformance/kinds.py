"""kinds.py - why a cell shows something else than the prompt.

A kind is given to a difference only where a plain interpreter bears it out: it
was asked again, and once by the rules of a cell. What remains is "other", to be
read by a person.
"""

import ast
import doctest
import re

ADDRESS = re.compile(r"0x[0-9a-f]+")
FILE = re.compile(r"<prompt>|<cell(-\d+)?>")
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")
DIGITS = re.compile(r"[-+ ]*\b(?:\d[\d.]*(?:e[+-]?\d+)?j?|nan|inf)")
UNSET = re.compile(r"\bempty(_like)?\(|\bndarray\(|\bresize\(")
# What an example asks of the world around it, which is another in a box.
WORLD = {
    r"SMTP\(|create_server\(": "no network in a box",
    r'"-l", "/dev/null"': "no root in a box",
    r"show_runtime\(|lookfor\(": "what is loaded is told: a session has more",
}
LATE = ("TimeoutError", "timeout", "KeyboardInterrupt")
CUT = 16 << 10  # of what is written; a value has twice as much


def name_of(outcome):
    """The exception's."""
    return outcome[1].partition(":")[0]


def plain_text(text):
    return FILE.sub("<file>", ADDRESS.sub("0x", text))


def same(one, other):
    """Whether two outcomes, (what was shown, exception), are."""
    return [*map(plain_text, one)] == [*map(plain_text, other)]


def rounded(text):
    """To nine digits, as what is left of zero is zero; columns may be wider."""
    text = NUMBER.sub(lambda n: f"{float(n[0]) + 1:.9g}", plain_text(text))
    return text.split()


def without_numbers(text):
    """What stands around them; many are as one."""
    text = re.sub(r"[\s,.\[\]()]+", " ", DIGITS.sub(" # ", plain_text(text)))
    return re.sub(r"#( #)+", "#", text).strip()


def keeps(text, promise):
    """Whether that is what the docstring promises."""
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(promise, text, flags)


def is_python(source):
    try:
        return bool(compile(source, "<example>", "single"))
    except (SyntaxError, ValueError):
        return False


def shows_more(source):
    """Whether the prompt shows more than the last value of that."""
    tree = ast.parse(source)
    values = sum(isinstance(node, ast.Expr) for node in ast.walk(tree))
    return values > (bool(tree.body) and isinstance(tree.body[-1], ast.Expr))


def words(text):
    return sorted(re.findall(r"\w+", text))


def varied(cell, prompts):
    """How the prompt's answers vary, when the cell's is one of the kind."""
    text = cell[0]
    prompts = [p for p in prompts if name_of(p) == name_of(cell)]
    if not prompts:
        return "other, and the prompt's answers vary"
    if any(same(p, cell) for p in prompts):
        return "the prompt's answers vary, the cell's is one of them"
    if any(without_numbers(p[0]) == without_numbers(text) for p in prompts):
        return "numbers that are others each time: random, time, memory not set"
    if any(words(p[0]) == words(text) for p in prompts):
        return "order of a set"
    most = max(len(p[0]) for p in prompts)
    alike = len(text) <= 2 * most <= 4 * len(text)
    if alike and len({p[0] for p in prompts}) == len(prompts):
        return "text that is another each time: tokens, names"
    return "other, and the prompt's answers vary"


def rule_of(source, prompt, cell):
    """By which rule of a cell it is another; that it is by one is known."""
    if "\\\n" in cell[0] and "\\\n" not in prompt[0]:
        return "a wide table is wrapped, as in notebooks"
    if shows_more(source):
        return "several values in one example: a cell shows the last"
    return "a figure is shown and closed at the end of its cell"


def kind_of(source, prompt, cell, again, by_rules):
    """The kind of a difference. again: what the prompt showed the other times;
    by_rules: a plain interpreter by the rules of a cell."""
    prompts = [prompt, *again]
    for asked, kind in WORLD.items():
        if re.search(asked, source):
            return kind
    late = [name_of(p) in LATE for p in prompts]
    if any(late) or name_of(cell) in LATE:
        return "about as slow as the deadline" if any(late) else "late in the cell only"
    if not is_python(source):
        return "no statement of Python to the prompt"
    if not all(same(prompt, other) for other in again):
        return varied(cell, [*prompts, by_rules])
    if same(by_rules, cell):
        return rule_of(source, prompt, cell)
    if name_of(prompt) != name_of(cell):
        return "other"
    if UNSET.search(source) and without_numbers(prompt[0]) == without_numbers(cell[0]):
        return "memory that is not set"
    if rounded(prompt[0]) == rounded(cell[0]):
        if prompt[0].split() != cell[0].split() or prompt[1] == cell[1]:
            return "last digits of a float"
        return "words of an exception"
    if len(prompt[0]) > CUT and prompt[0][: CUT // 4] == cell[0][: CUT // 4]:
        return "long: cut"
    return "other"
