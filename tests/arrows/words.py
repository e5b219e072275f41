"""One word for one idea: the identifiers of the product against the glossary.
And one name for one function, so that a stack trace or a search tells its file.

    words.py TREE

prints one line a breach and exits 1 when there is any. Identifiers are the names
of C files, the tags of structs, enums and unions, and the names of functions,
all of the product, without its tests.
"""

import pathlib
import re
import sys

ROOMS = ("consumer", "executor", "producer", "schemas")
GLOSSARY = "schemas/GLOSSARY.md"
MOST_ROWS = 50

# So many files may define a function of one name.
MOST_SHARED = 2
# (names, because): any number of files may define a function of such a name.
CONVENTIONS = [
    (r"main", "each program has one"),
    (r"on_\w+", "a callback is named after its event"),
    (r"(enter|step|landed)_\w+", "a machine's function is named after its state"),
]

NOT_CODE = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S
)
TAG = re.compile(r"\b(struct|enum|union)\s+(\w+)\s*\{")
# A definition begins at the margin, and its body at the margin of a later line.
FUNCTION = re.compile(r"^(?![#/}\s])(?:[^;={}]*?)\b(\w+)\([^;{}]*\)\s*\n\{", re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
NAMED_TAG = re.compile(r"`(struct|enum|union) (\w+)`")


def bare(text):
    """C without comments, literals and attributes."""
    return ATTRIBUTE.sub("", NOT_CODE.sub(" ", text))


def sources(tree):
    """The C files of the product, by path."""
    return {
        path.relative_to(tree).as_posix(): bare(path.read_text())
        for room in ROOMS
        for path in sorted((tree / room).rglob("*.[ch]"))
    }


def tags_of(files):
    """(kind, tag, path) of each struct, enum and union that is defined."""
    return [
        (kind, tag, path)
        for path, text in files.items()
        for kind, tag in TAG.findall(text)
    ]


def identifiers(files):
    """(what, name, path) of all that the glossary has a say in."""
    for path, text in files.items():
        yield "the file", pathlib.PurePosixPath(path).stem, path
        for name in FUNCTION.findall(text):
            yield "the function", name, path
    for kind, tag, path in tags_of(files):
        yield kind, tag, path


def rows_of(glossary):
    """The cells of each row: word, not, meaning, where."""
    lines = [x for x in glossary.splitlines() if x.startswith("| ")]
    return [[cell.strip() for cell in x[1:-1].split("|")] for x in lines[1:]]


def twice(files):
    """Tags that two places of the product define."""
    places = {}
    for _, tag, path in tags_of(files):
        places.setdefault(tag, []).append(path)
    for tag, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{paths[1]}: the tag {tag} is also in {paths[0]}"


def shared(files):
    """Functions whose name does not tell the file, because too many have it."""
    places = {}
    for path, text in files.items():
        for name in FUNCTION.findall(text):
            places.setdefault(name, set()).add(path)
    for name, paths in sorted(places.items()):
        if len(paths) > MOST_SHARED and not any(
            re.fullmatch(names, name) for names, _ in CONVENTIONS
        ):
            where = ", ".join(sorted(paths))
            yield f"{where}: name {name}() after its file or struct"


def missing(files, rows):
    """Tags that the glossary names, and nobody defines."""
    known = {(kind, tag) for kind, tag, _ in tags_of(files)}
    for row in rows:
        for kind, tag in NAMED_TAG.findall(row[-1]):
            if (kind, tag) not in known:
                yield f"{GLOSSARY}: {row[0]}: there is no {kind} {tag}"


def synonyms(files, rows):
    """Identifiers that have a word for which the glossary has another one."""
    instead = {
        word: row[0] for row in rows for word in row[1].replace(",", " ").split()
    }
    for what, name, path in identifiers(files):
        for part in name.lower().split("_"):
            word = part if part in instead else part.removesuffix("s")
            if word in instead:
                yield f"{path}: {what} {name}: say {instead[word]}, not {word}"


def breaches(files, glossary):
    """All that is wrong, a line each."""
    rows = rows_of(glossary)
    if len(rows) > MOST_ROWS:
        yield f"{GLOSSARY}: {len(rows)} rows, at most {MOST_ROWS}"
    bad = [row[0] for row in rows if len(row) != 4]
    if bad:
        yield f"{GLOSSARY}: {bad[0]}: a row has four cells"
        return
    yield from twice(files)
    yield from shared(files)
    yield from missing(files, rows)
    yield from synonyms(files, rows)


def main(tree):
    found = list(breaches(sources(tree), (tree / GLOSSARY).read_text()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
