"""Jobs of every kind, by chance, each with what may come of it.

A token in the metadata, which is given back, and in what the job does: a result
that has another's token is seen.
"""

import random
from dataclasses import dataclass, field

ROOT = "quern:{000}:"
PER_SESSION = 50  # jobs of all kinds
# What becomes of a cell whose executor is killed twice in it.
HIT_TWICE = "failed:cell_failed"
NOTE = {
    "note": {
        "method": "POST",
        "description": "Notes something down.",
        "parameters": {
            "type": "object",
            "properties": {"token": {"type": "string"}},
            "required": ["token"],
        },
    }
}


@dataclass
class Made:
    """One to be submitted; raw: its bytes, when it is no job."""

    token: str
    members: dict = field(default_factory=dict)
    expect: tuple = ("completed",)
    pairs: dict = field(default_factory=dict)
    raw: bytes | None = None
    session: str | None = None
    key: str | None = None
    copies: int = 1  # submitted so often under its key, as other jobs
    cancel: bool = False


def fenced(code):
    return f"go\n```python\n{code}\n```"


def talk(token, _):
    return Made(token, {"prompt": f"say {token}"})


def ask(token, _):
    prompt = fenced(f"print('{token}')")
    return Made(token, {"prompt": prompt})


def code(token, _):
    cells = [f"x = '{token}'", "print(x)"]
    return Made(token, {"kind": "code", "cells": cells}, ("completed", HIT_TWICE))


def session(token, number):
    """A few of those that come one after the other have the same."""
    name = f"s{number // PER_SESSION}"
    cells = [f"log = globals().get('log', []) + ['{token}']\nlog"]
    members = {"kind": "code", "cells": cells, "session": name}
    return Made(token, members, ("completed", HIT_TWICE), session=name)


def effect(token, _):
    cells = [f"try: note('{token}')\nexcept ToolError as e: print(e)"]
    return Made(token, {"kind": "code", "cells": cells}, ("completed", HIT_TWICE))


def twice(token, _):
    return Made(token, {"prompt": f"say {token}"}, key=f"key-{token}", copies=3)


def unwanted(token, _):
    expect = ("completed", "cancelled")
    return Made(token, {"prompt": fenced(f"'{token}'")}, expect, cancel=True)


def late(token, _):
    expect = ("completed", "failed:deadline_exceeded")
    return Made(token, {"prompt": f"say {token}"}, expect, {"deadline_ms": 50})


def broken(token, _):
    raw = b"\xc1" + token.encode()
    return Made(token, expect=("failed:bad_message",), raw=raw)


KINDS = {
    talk: 60,
    ask: 10,
    code: 5,
    session: 10,
    effect: 3,
    twice: 4,
    unwanted: 3,
    late: 3,
    broken: 2,
}


def jobs(count, dice, kinds=KINDS):
    for number in range(count):
        (kind,) = dice.choices(list(kinds), list(kinds.values()))
        yield kind(f"t{number}-{dice.randrange(1 << 32):08x}", number)


def dice_of(seed):
    return random.Random(seed)
