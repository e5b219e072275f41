"""What the tables of jobs are made of: a row, what the model says, and what came
before the job."""

import dataclasses
import json
import time

from stack import call_of

BLOCK = "I do it.\n```python\n{}\n```"
# Of these a request takes a share that is known.
COUNTED = {"prompt_tokens": 3000, "completion_tokens": 50}
OF_A_NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}
# More than 256 MiB, in processes that have less each.
HUNGRY = """import os, time
for i in range(3):
    if os.fork() == 0:
        b = bytearray(b"x") * (100 << 20)
        time.sleep(60)
time.sleep(60)"""


@dataclasses.dataclass
class Row:
    """A job: the recording's name, how it ends, what the model says, a reply for
    each request. before: jobs that were there before it; during: what happens to
    it, in order; shows: words that its recording has, or it would show something
    else than its name says. house: under which settings (studio.HOUSES)."""

    name: str
    end: str
    says: list
    job: dict
    before: list = ()
    during: list = ()
    shows: list = ()
    house: str = "usual"
    pairs: dict = None  # what is said beside the job
    body: object = None  # bytes in place of the job, by its id


def row(name, end, says=(), *, before=(), during=(), shows=(), **more):
    own = {k: more.pop(k) for k in ("house", "pairs", "body") if k in more}
    return Row(name, end, [*says], more, before, during, shows, **own)


def earlier(says=(), **job):
    return [*says], job


def in_ms(ms):
    """Since 1970."""
    return int(time.time() * 1000) + ms


# --- what the model says


def text(words, **more):
    return {"text": words, **more}


def acts(*codes, **more):
    """Calls of Python."""
    calls = [call_of(code, f"c{n}", index=n) for n, code in enumerate(codes)]
    return {"tool_calls": calls, **more}


def asks(name, id="c1", **arguments):
    """A call of another tool."""
    return {"id": id, "name": name, "arguments": json.dumps(arguments)}


def calls(*made, **more):
    return {"tool_calls": [*made], **more}


def writes(code, **more):
    """In CodeAct mode."""
    return {"text": BLOCK.format(code), **more}


def fails(status, error="not now", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"status": status, "error": error, "headers": headers}
