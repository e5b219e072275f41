"""calculate_math_expression, called by the code of cells."""

import json

import pytest
from stack import Stack


@pytest.fixture(scope="module")
def stack():
    with Stack(tools_builtin="calculate_math_expression") as stack:
        stack.consumer()
        yield stack


# Every row: the expression, what code gets.
VALUES = [
    ("2**10", 1024),
    ("2**0.5", 1.4142135623731),
    ("1e308*10", "calculate_math_expression(): it is too large, more than"),
    ("1/", "calculate_math_expression(): Unexpected end of expression"),
    ("1 + \x00中", "the arguments are not a JSON object"),
    ("(" * 500, "the expression has 500 parentheses, may have 100"),
    ("1+" * 2000, "the expression has 4000 bytes, may have 1000"),
    ("\n", "Expression is empty"),
    ("2^0.5 * " * 100 + "1", 2**50),
]


def test_code_gets_numbers_and_sentences(stack):
    code = f"""import json
def one(text):
    try: return calculate_math_expression(text)
    except ToolError as e: return str(e)
print(json.dumps([one(text) for text in {[v[0] for v in VALUES]!r}]))"""
    cell = stack.run(60, kind="code", cells=[code])["cells"][0]
    for (text, want), got in zip(VALUES, json.loads(cell["stdout"])):
        if isinstance(want, str):
            assert want in str(got), (text, got)
        else:
            assert got == pytest.approx(want, rel=1e-14), (text, got)
        assert type(got) is type(want) or want == 2**50, (text, got)


def test_many_at_once(stack):
    code = """from concurrent.futures import ThreadPoolExecutor as T
with T() as t: got = list(t.map(calculate_math_expression, [f'{i}*{i}' for i in range(40)]))
got == [i * i for i in range(40)]"""
    cell = stack.run(60, kind="code", cells=[code])["cells"][0]
    assert cell.get("result") == "True", cell
