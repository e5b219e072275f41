"""HumanEval: do the 164 problems' own solutions pass their own tests?

    tests/conformance/run humaneval FILE

FILE is HumanEval.jsonl.gz of openai/human-eval, which is not part of quern.
Every problem is one cell of a session of its own, by `quern exec --json`.
"""

import gzip
import json
import sys
import tempfile

from scenario.command import Command
from stack import Stack

PROBLEMS = 164


def problems(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def cell_of(problem):
    solution = problem["prompt"] + problem["canonical_solution"]
    return f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\n"


def passes(quern, problem):
    out, err, _code = quern.run("exec", "--json", "-", stdin=cell_of(problem))
    cell = json.loads(out) if out else {"status": "none"}
    if cell["status"] != "ok":
        print(problem["task_id"], cell.get("error"), err, file=sys.stderr)
    return cell["status"] == "ok"


def main(path):
    with Stack(profile="science") as stack, tempfile.TemporaryDirectory() as folder:
        stack.consumer()
        quern = Command(stack.redis.url, folder)
        passed = sum(passes(quern, problem) for problem in problems(path))
    print(f"HumanEval: {passed} of {PROBLEMS}")
    print(json.dumps({"humaneval": {"passed": passed, "of": PROBLEMS}}))
    return passed != PROBLEMS


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
