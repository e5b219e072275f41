"""The Redis functions have a build number: it goes up whenever their text changes.

A server keeps the library of the highest build that it was given. So a text that
changes under the same number reaches no server that has the older one.
"""

import hashlib
import pathlib
import re

from servers import SOURCE

FOLDER = pathlib.Path(SOURCE) / "schemas" / "redis" / "library"
BUILD = re.compile(r"^local BUILD = (\d+) -- text (\w+)[^\n]*\n", re.M)


def text(folder=FOLDER):
    return "".join(f"{p.name}\n{p.read_text()}" for p in sorted(folder.glob("*.lua")))


def wrong(library):
    """Why build and text do not belong together; None where they do."""
    found = BUILD.search(library)
    if not found:
        return "library/args.lua has no line `local BUILD = N -- text XXXXXXXX`"
    rest = BUILD.sub("", library, count=1)
    digest = hashlib.sha256(rest.encode()).hexdigest()[:8]
    if digest == found[2]:
        return None
    return (
        f"the library's text is not that of build {found[1]}: write "
        f"`local BUILD = {int(found[1]) + 1} -- text {digest}` in library/args.lua"
    )


def test_the_build_is_that_of_the_text():
    assert wrong(text()) is None, wrong(text())


def test_a_change_is_seen():
    changed = text().replace("local GROUP", "local GROUPS", 1)
    assert "the library's text is not that of build" in wrong(changed)
    assert "has no line" in wrong("local BUILD = 1\n")
