"""A difference is explained only by what a plain interpreter bears out."""

import pytest
from conformance import kinds

SYNTAX = "SyntaxError: invalid syntax (<prompt>, line 1)"
LATE = ("", "TimeoutError: it took too long")
REFUSED = ("", "ConnectionRefusedError: [Errno 111] Connection refused")
DENIED = ("", "PermissionError: [Errno 13] Permission denied")

# what it is, source, prompt, cell, the prompt's other answers, by a cell's rules
ROWS = [
    ("numbers that are others each time", "random()", "0.1", "0.2", ["0.3"], "0.4"),
    ("order of a set", "s", "{'a', 'b'}", "{'b', 'a'}", ["{'b', 'c'}"], ""),
    ("text that is another each time", "token()", "'ab'", "'cd'", ["'ef'"], "'gh'"),
    ("the prompt's answers vary", "f()", "one", "two", ["two"], "one"),
    ("other, and", "f()", "0.1", "", ["0.2"], "0.3"),
    ("other, and", "f()", "0.1", ("", "ValueError: no"), ["0.2"], "0.3"),
    ("several values", "1; 2", "1\n2", "2", ["1\n2"], "2"),
    ("several values", "for x in 1, 2: x", "1\n2", "", ["1\n2"], ""),
    ("a figure is shown", "gca()", "(0, 9)", "(0, 1)", ["(0, 9)"], "(0, 1)"),
    ("a wide table", "table", "a ... b", "a \\\nb", ["a ... b"], "a \\\nb"),
    ("other", "1; 2", "1\n2", "3", ["1\n2"], "2"),
    ("last digits", "f()", "1.0000000001", "1.0", ["1.0000000001"], ""),
    ("other", "f()", "1.001", "1.0", ["1.001"], "1.001"),
    ("memory that is not set", "np.empty(2)", "[1, 2]", "[8, 9]", ["[1, 2]"], ""),
    ("other", "np.zeros(2)", "[0, 0]", "[8, 9]", ["[0, 0]"], ""),
    ("no statement", "print 1", ("", SYNTAX), "1", [("", SYNTAX)], ""),
    ("other", "f()", "1", ("", "ValueError: no"), ["1"], "1"),
    ("words", "f()", ("", "E: one"), ("", "E: two"), [("", "E: one")], ""),
    ("about as slow", "f()", "1", ("", "KeyboardInterrupt: "), [LATE], "1"),
    ("late in the cell only", "f()", "1", ("", "timeout: 5 s"), ["1"], "1"),
    ("no network", "SMTP('a')", REFUSED, DENIED, [REFUSED], REFUSED),
    ("other", "f()", "a" * 9999, "a" * 999, ["a" * 9999], ""),
    ("long: cut", "f()", "a" * 99999, "a" * 9999, ["a" * 99999], ""),
]


def outcome(shown):
    return shown if isinstance(shown, tuple) else (f"{shown}\n", "")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1]}")
def test_a_difference_has_its_kind(row):
    kind, source, prompt, cell, again, by_rules = row
    prompt, cell, by_rules = map(outcome, (prompt, cell, by_rules))
    found = kinds.kind_of(f"{source}\n", prompt, cell, [*map(outcome, again)], by_rules)
    assert found == kind if kind == "other" else found.startswith(kind)


def test_addresses_and_names_of_a_cell_are_no_difference():
    one = ("<f at 0x7f01>", "SyntaxError: invalid (<prompt>, line 1)")
    other = ("<f at 0x7f02>", "SyntaxError: invalid (<cell-5>, line 1)")
    assert kinds.same(one, other)
    assert not kinds.same(one, ("<f at 0x7f01>", ""))
