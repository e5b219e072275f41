"""Recordings of jobs, as quern replay --save writes them, and what comes of one."""

import json
import pathlib

PACK = pathlib.Path(__file__).parent.parent / "recordings" / "jobs"
NOWHERE = "redis://127.0.0.1:1"


def outcome_of(quern, path, *args, code=0):
    """Of a replay that could not ask Redis anything."""
    out, err, ended = quern.run("replay", "--json", path, *args, REDIS_URL=NOWHERE)
    assert (ended, err) == (code, ""), (out, err)
    return json.loads(out)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(path, lines):
    """Those lines, beside the recording."""
    other = path.with_name("edited.jsonl")
    other.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return other
