"""The product's identifiers keep to the rules of words.py, and a breach is seen."""

import pathlib

import pytest
from words import GLOSSARY, MOST_ROWS, breaches, rows_of, sources

TREE = pathlib.Path(__file__).resolve().parents[2]
HEAD = "| word | not | what it means | where it is seen |\n|---|---|---|---|\n"
IMAGE = "| image | picture | A part of a display. | `struct image_ref` |\n"
JOB = "| job | | One request. | `struct job`, `job:<id>` |\n"



def defining(name, files):
    """Files that define a function of that name, the glossary's tag in the first."""
    text = f"static bool {name}(int a)\n{{\n    return a;\n}}\n"
    tag = "struct job { };\n"
    return {f: (tag if f == files[0] else "") + text for f in files}


# (what is wrong, files, glossary, what is said of it)
BREACHES = [
    ("nothing", {"consumer/a.c": "struct job { int x; };"}, JOB, []),
    (
        "a tag in two rooms",
        {"consumer/a.c": "struct job {\n};", "producer/b.h": "enum job { X };"},
        JOB,
        ["producer/b.h: the tag job is also in consumer/a.c"],
    ),
    (
        "a tag in two files, once in a comment",
        {"consumer/a.c": "struct job { };", "consumer/b.c": "/* struct job { */"},
        JOB,
        [],
    ),
    (
        "a tag of a test",
        {"consumer/a.c": "struct job { };", "tests/b.c": "struct job { };"},
        JOB,
        [],
    ),
    (
        "a tag that the glossary names and nobody defines",
        {"consumer/a.c": "struct work { struct job *job; };"},
        JOB,
        [f"{GLOSSARY}: job: there is no struct job"],
    ),
    (
        "an enum where the glossary has a struct",
        {"consumer/a.c": "enum job { X };"},
        JOB,
        [f"{GLOSSARY}: job: there is no struct job"],
    ),
    (
        "a function's name in three files",
        defining("find", ["consumer/b.c", "schemas/c.c", "consumer/a.c"]),
        JOB,
        [
            "consumer/a.c, consumer/b.c, schemas/c.c: "
            "name find() after its file or struct"
        ],
    ),
    (
        "a function's name in two files, and in a test",
        defining("find", ["consumer/a.c", "consumer/b.c", "tests/c.c"]),
        JOB,
        [],
    ),
    (
        "a callback in three files",
        defining("on_find", ["consumer/a.c", "consumer/b.c", "consumer/c.c"]),
        JOB,
        [],
    ),
    (
        "a function of a machine in three files",
        defining("step_finding", ["consumer/a.c", "consumer/b.c", "consumer/c.c"]),
        JOB,
        [],
    ),
    (
        "a function named like a convention, in three files",
        defining("step", ["consumer/a.c", "consumer/b.c", "consumer/c.c"]),
        JOB,
        [
            "consumer/a.c, consumer/b.c, consumer/c.c: "
            "name step() after its file or struct"
        ],
    ),
    (
        "a file of another word",
        {"consumer/picture_size.c": "struct image_ref { };"},
        IMAGE,
        ["consumer/picture_size.c: the file picture_size: say image, not picture"],
    ),
    (
        "a tag of another word",
        {"consumer/a.c": "struct image_ref { }; union pictures { int x; };"},
        IMAGE,
        ["consumer/a.c: union pictures: say image, not picture"],
    ),
    (
        "a function of another word",
        {
            "consumer/a.c": "struct image_ref { };\nstatic bool\nadd_picture(int *a,"
            "\n            int b)\n{\n    return call(a);\n}\n"
        },
        IMAGE,
        ["consumer/a.c: the function add_picture: say image, not picture"],
    ),
    (
        "a function behind an attribute",
        {
            "consumer/a.c": "struct image_ref { };\n__attribute__((format(printf, 1, "
            "2))) static void\nshow_picture(const char *format, ...)\n{\n}\n"
        },
        IMAGE,
        ["consumer/a.c: the function show_picture: say image, not picture"],
    ),
    (
        "a text, a call and a member of another word",
        {
            "consumer/a.c": "struct image_ref { int picture; };\nvoid f(void)\n{\n"
            '    add_picture("the picture");\n}\n'
        },
        IMAGE,
        [],
    ),
    (
        "too many rows",
        {"consumer/a.c": "struct job { };"},
        JOB * (MOST_ROWS + 1),
        [f"{GLOSSARY}: {MOST_ROWS + 1} rows, at most {MOST_ROWS}"],
    ),
    (
        "a row without the second column",
        {"consumer/a.c": "struct job { };"},
        JOB.replace("| | ", "| "),
        [f"{GLOSSARY}: job: a row has four cells"],
    ),
]


def test_the_product_keeps_to_the_rules():
    assert not "\n".join(breaches(sources(TREE), (TREE / GLOSSARY).read_text()))


def test_the_glossary_says_what_not_to_say():
    rows = rows_of((TREE / GLOSSARY).read_text())
    assert sum(1 for row in rows if row[1]) > len(rows) / 2


@pytest.mark.parametrize(
    "files, rows, said", [b[1:] for b in BREACHES], ids=[b[0] for b in BREACHES]
)
def test_breach_is_seen(tmp_path, files, rows, said):
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert list(breaches(sources(tmp_path), HEAD + rows)) == said
