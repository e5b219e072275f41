"""installing.py - "pip install" and its like, as notebooks have them.

Nothing is installed from in here: the warden is asked, and installs outside of the
box, by the operator's rules (executor/packages). If it may not, its answer says so.
"""

import os
import re
import shlex

import _quern

from . import missing

COMMAND = re.compile(
    r"\s*(sudo\s+)?((python[\d.]*\s+-m\s+)?pip[\d.]*|conda|mamba|uv(\s+pip)?|apt(-get)?)"
    r"\s+(-\S+\s+)*(install|add)\b"
)
# Options of pip and conda that take a word. They are ignored: the operator decides.
WITH_WORD = frozenset(
    "-i --index-url --extra-index-url -f --find-links -c --constraint --channel "
    "-t --target --proxy --timeout --trusted-host --platform --python-version".split()
)
FILES = ("-r", "--requirement")


def is_meant(command):
    return COMMAND.match(command) is not None


def carry_out(command):
    """Carries out such a command, and prints what came of it."""
    command = command.strip()
    if not os.path.isdir(missing.PACKAGES) or COMMAND.match(command)[2][:3] == "apt":
        print(
            f"Packages cannot be installed here like this. Not run: {command}\n"
            f"Use the packages that are there, or the standard library."
        )
        return
    try:
        requirements = list(read(command))
    except (OSError, ValueError) as error:
        print(f"Not installed: {error}")
        return
    if not requirements:
        print("Not installed: no package is named")
        return
    code, sentence, answer = _quern.ask("install", "", "\n".join(requirements).encode())
    missing.look_again()
    print(f"Not installed: {sentence}" if code else answer.decode(errors="replace"))


def read(command):
    """Gives the requirements that a command names, and those in files that it names."""
    words = iter(shlex.split(command[COMMAND.match(command).end() :], comments=True))
    for word in words:
        option, _, value = word.partition("=")
        if option in FILES:
            yield from read_file(value or next(words, ""))
        elif word in WITH_WORD:
            next(words, None)
        elif word in ("&&", ";", "|", "||", ">", "2>&1"):
            return
        elif not word.startswith("-"):
            yield word


def read_file(path):
    with open(path, encoding="utf-8") as file:
        for line in file.read(64 << 10).splitlines():
            requirement = re.sub(r"(^|\s)#.*", "", line).strip()
            if requirement and not requirement.startswith("-"):
                yield requirement
