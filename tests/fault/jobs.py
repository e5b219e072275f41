"""Jobs of every kind, by chance, each with what may come of it.

A token in the metadata, which is given back, and in what the job does: a result
that has another's token is seen.
"""

import random
from dataclasses import dataclass, field

ROOT = "quern:{000}:"
NO_ID = "00000000-0000-7000-8000-000000000000"  # a schedule's job: in its place
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
    tenant: str | None = None
    priority: str = "normal"
    session: str | None = None
    key: str | None = None
    unique: str | None = None
    file: bytes | None = None  # a.txt in its folder
    copies: int = 1  # submitted so often under its key, as other jobs
    failures: int | None = None  # of the model, before it answers
    cancel: bool = False
    cancel_late: bool = False  # while it runs, as like as not
    requeue: bool = False  # once it has failed


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
    """While flaky jobs have the endpoint left alone for longer than the deadline, it
    is not waited for."""
    expect = ("completed", "failed:deadline_exceeded", "failed:model_unavailable")
    return Made(token, {"prompt": f"say {token}"}, expect, {"deadline_ms": 50})


def broken(token, number):
    raw = b"\xc1" + token.encode()
    dead = ("failed:bad_message",)
    return Made(token, expect=dead, raw=raw, requeue=number % 2 == 0)


def put_off(token, number):
    delay_ms = 50 * (number % 40)
    return Made(token, {"prompt": f"say {token}"}, pairs={"delay_ms": delay_ms})


def lonely(token, number):
    """Of those that come one after the other only one at a time."""
    cells = [f"'{token}'"]
    made = Made(token, {"kind": "code", "cells": cells}, ("completed", HIT_TWICE))
    made.unique, made.copies = f"u{number // PER_SESSION}", 2
    return made


def crowded(token, _):
    return Made(token, {"prompt": fenced(f"print('{token}')")}, tenant="crowd")


def paced(token, _):
    return Made(token, {"prompt": f"say {token}"}, tenant="paced")


def endless(token, _):
    """It runs when it is cancelled, if it is not killed."""
    members = {"kind": "code", "cells": ["import time", "time.sleep(600)"]}
    return Made(token, members, ("cancelled", HIT_TWICE), cancel_late=True)


def with_a_file(token, _):
    cells = ["print(open('a.txt').read())"]
    made = Made(token, {"kind": "code", "cells": cells}, ("completed", HIT_TWICE))
    made.file = token.encode()
    return made


def flaky(token, _):
    """The model fails twice before it answers: FLAKY."""
    return Made(token, {"prompt": f"flaky {token}"}, failures=2)


def by_hand(what):
    """For the workers of hand.py."""

    def made(token, _):
        return Made(token, {"prompt": what}, pairs={"queue": "hands"})

    return made


KINDS = {
    talk: 40,
    ask: 8,
    code: 4,
    session: 8,
    effect: 3,
    twice: 3,
    unwanted: 3,
    late: 3,
    broken: 2,
    put_off: 4,
    lonely: 3,
    crowded: 5,
    paced: 2,
    endless: 2,
    with_a_file: 2,
    flaky: 2,
    by_hand("finish"): 2,
    by_hand("retry"): 2,
    by_hand("approval"): 2,
}
TENANTS = ("default", "ant", "bee")
PRIORITIES = ("high", "normal", "low")
LIMITS = (  # of queue default
    ("tenant_running", "crowd", 4, {}),
    ("tenant_rate", "paced", 3, {"ms": 1000}),
)
FLAKY = {
    "match": "flaky",
    "replies": [[{"status": 503}, {"status": 503}, {"text": "at last"}]],
}


def jobs(count, dice, kinds=KINDS):
    for number in range(count):
        (kind,) = dice.choices(list(kinds), list(kinds.values()))
        made = kind(f"t{number}-{dice.randrange(1 << 32):08x}", number)
        # Those that belong together are of one tenant.
        made.tenant = made.tenant or TENANTS[number // PER_SESSION % len(TENANTS)]
        made.priority = dice.choice(PRIORITIES)
        yield made


def dice_of(seed):
    return random.Random(seed)
