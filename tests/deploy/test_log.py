"""The table of what is logged: it has what the sources log, and deploy/LOGS.md has it.

/usr/bin/python3 tests/deploy/test_log.py writes the page anew.
"""

import pathlib
import re

TREE = pathlib.Path(__file__).resolve().parents[2]
TABLE = TREE / "schemas" / "service" / "log_event.c"
PAGE = TREE / "deploy" / "LOGS.md"
HEAD = "| what | level | sentence |\n|---|---|---|\n"
# log_line("ready", ...), link_log(link, "proxy.cut", ...), and either of two names
CALL = re.compile(r'\b(?:log_line|log_job_line|link_log)\(((?:[^";]|"[^"]*")*?)\);')
NAME = re.compile(r'"([a-z_]+(?:\.[a-z_]+)?)"')


def rows():
    row = re.compile(r'\{ "([a-z_.]+)",\s+SEVERITY_(\w+),\s+((?:"(?:[^"\\]|\\.)*"\s*)+)\}')
    for what, level, text in row.findall(TABLE.read_text()):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')
        yield what, level.lower(), text


def logged():
    """(what, path) of each event that the sources log."""
    for path in sorted(TREE.glob("*/**/*.c")):
        room = path.relative_to(TREE).parts[0]
        if room not in ("consumer", "executor", "producer", "schemas"):
            continue
        for arguments in CALL.findall(path.read_text()):
            names = NAME.findall(arguments.split('"{')[0])
            yield from ((name, path) for name in names[:2] if "log_line" not in name)


def page():
    lines = [f"| `{what}` | {level} | {text} |\n" for what, level, text in rows()]
    return HEAD + "".join(lines)


def test_each_event_has_a_row_and_each_row_an_event():
    table = {what for what, _, _ in rows()}
    found = {what for what, _ in logged()}
    assert len(table) > 90
    assert {what for what in found if "." in what} - table == set()
    assert table - found == set()


def test_the_page_has_the_table():
    assert PAGE.read_text().endswith(page()), "run tests/deploy/test_log.py"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(HEAD)[0] + page())
