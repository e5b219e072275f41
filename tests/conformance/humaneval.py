"""HumanEval: do the 164 problems' own solutions pass their own tests?

    tests/conformance/run humaneval FILE

FILE is HumanEval.jsonl.gz of openai/human-eval, which is not part of quern.
Every problem is one cell of a session of its own.
"""

import gzip
import json
import sys

from executor_client import Executor

PROBLEMS = 164


def problems(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def cell_of(problem):
    solution = problem["prompt"] + problem["canonical_solution"]
    return f"{solution}\n{problem['test']}\ncheck({problem['entry_point']})\n"


def passes(executor, problem):
    session = executor.open(problem["task_id"].replace("/", "-"))
    cell = session.run(cell_of(problem), cell_ms=30_000)
    session.close()
    if cell.status == "ok":
        return True
    print(problem["task_id"], cell.status, cell.error, file=sys.stderr)
    return False


def main(path):
    with Executor() as executor:
        passed = sum(passes(executor, problem) for problem in problems(path))
    print(f"HumanEval: {passed} of {PROBLEMS}")
    return passed != PROBLEMS


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
