"""CodeAct: recorded conversations, their cells run again.

    tests/conformance/run codeact FILE

FILE is mint-bench's recorded conversations: what models wrote, and what another
interpreter (IPython) showed them at the time. Prints how many observations are
the same, and what kinds of difference there are. Where there is one, a plain
interpreter runs the conversation up to there: what it shows as a cell does has
changed since.
"""

import gzip
import json
import re
import sys
from collections import Counter

from conformance import plain
from executor_client import Executor

CELL_MS = 60_000
ENDLESS_MS = 2000  # where it was stopped at the time, too
TRIES = 5  # of a plain interpreter: the order of a set is another each time
TOOLS = re.compile(r"wikipedia_search|networkx")  # not here
NOTHING = "[Executed Successfully with No Output]"
CUT = "[Output Truncated]"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def conversations(path, every=1):
    """[(code, observation)] of each that has any."""
    with gzip.open(path, "rt") as file:
        lines = [line for number, line in enumerate(file) if number % every == 0]
    return [cells for line in lines if (cells := cells_of(json.loads(line)["turns"]))]


def cells_of(turns):
    """(code, observation) as long as what was run is certain."""
    cells = []
    for said, seen in zip(turns, turns[1:]):
        code = re.findall(r"<execute>(.*?)</execute>", said["content"], re.S)
        observed = re.match(r"Observation:\n(.*?)(\nYou have|$)", seen["content"], re.S)
        if said["role"] != "assistant" or "<solution>" in said["content"]:
            continue
        if len(code) != 1 or not observed or TOOLS.search(code[0]):
            break
        cells.append((code[0].strip("\n"), observed[1]))
    return cells


def words(text):
    return " ".join(re.sub(r"Out\[\d+\]: ?", "", text).split())


def is_late(cell):
    return cell.status in ("interrupted", "timeout")


def agrees(cell, observed):
    late = is_late(cell)
    if late and ("TimeoutError" in observed or CUT not in observed):
        return "TimeoutError" in observed
    if cell.status != "ok" and not late:
        return cell.error.get("name", cell.status) in observed
    said, observed = words(cell.stdout + cell.result), observed.replace(NOTHING, "")
    if CUT in observed:
        return said.startswith(words(observed.partition(CUT)[0]).removesuffix("..."))
    return said == words(observed)


def rounded(text):
    """To nine digits, as what is left of zero is zero."""
    return NUMBER.sub(lambda number: f"{float(number[0]) + 1:.9g}", text)


def shown(cell):
    return cell.stdout + cell.result + cell.error.get("traceback", "")


def is_plain(codes, cell):
    """Whether a plain interpreter shows the same, here and today, or is as slow."""
    said = words(cell.stdout + cell.result), cell.error.get("name", "")
    for _ in range(TRIES):
        rows = plain.cells(codes)
        whole = len(rows) == len(codes)
        text, error = rows[-1] if whole else ("", "TimeoutError")
        if is_late(cell):
            return error == "TimeoutError"
        if said == (words(text), error):
            return True
    return False


def kind_of(codes, observed, cell):
    """Why a difference is none of ours, as far as a machine can tell."""
    said = shown(cell)
    if is_plain(codes, cell):
        if is_late(cell):
            return "ended in time neither here nor by a plain interpreter"
        return "a plain interpreter shows that, too, today"
    if "random" in codes[-1]:
        return "random numbers"
    if sorted(re.findall(r"-?\w+", said)) == sorted(re.findall(r"-?\w+", observed)):
        return "order of a set or dictionary"
    if words(rounded(said)) == words(rounded(observed)):
        return "last digits of a float"
    return "other"


def differences(executor, found):
    """Runs all; gives the number of those that agree, and of those that do not
    [(codes up to there, observed, cell)]."""
    same, different = 0, []
    executor.connection.socket.settimeout(2 * CELL_MS / 1000)
    for number, cells in enumerate(found):
        session = executor.open(f"conversation-{number}")
        codes = []
        for code, observed in cells:
            codes.append(code)
            endless = "TimeoutError" in observed
            cell = session.run(code, cell_ms=ENDLESS_MS if endless else CELL_MS)
            if agrees(cell, observed):
                same += 1
            else:
                different.append((codes[:], observed, cell))
        session.close()
    return same, different


def told(codes, observed, cell):
    return f"{codes[-1]}\n--- recorded\n{observed}\n--- here\n{shown(cell)}"


def main(path):
    with Executor() as executor:
        same, different = differences(executor, conversations(path))
    total = same + len(different)
    print(f"CodeAct: {same} of {total} observations agree ({same / total:.2%})")
    kinds = Counter()
    for row in different:
        kinds[kind := kind_of(*row)] += 1
        print(f"[{kind}]", told(*row), end="\n=====\n", file=sys.stderr, sep="\n")
    for kind, count in kinds.most_common():
        print(f"{count:6}  {kind}")
    print(json.dumps({"codeact": {"same": same, "of": total, "kinds": kinds}}))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
