"""What recorded models said in CodeAct mode: our parser beside the rules of the
system that recorded them.

    tests/transcripts PACK.jsonl.gz

That system (mint-bench) ran all that stands in <execute> tags, whatever else was
said, and took an answer in <solution> first. Where ours finds other code there
must be a reason, and each is a rule here: it rewrites the text, and the reference
then finds in it what ours found in the original. The recorded code is never run.
"""

import ast
import gzip
import itertools
import json
import re
import subprocess
import sys
import warnings
from collections import Counter, defaultdict

from servers import binary

EXECUTE = re.compile(r"<execute>(.*?)</execute>", re.S)
SOLUTION = re.compile(r"<solution>(.*?)</solution>", re.S)
INVENTED = re.compile(r"^[ \t]*(?:Observation|Output)[ \t]*:|^\[Executed ", re.M)
# Where the interpreter of the time says which line it stopped at.
ARROW = re.compile(r"^Cell In\[\d+\], line \d+.*?^-+> \d+ (.*?)$", re.M | re.S)


def conversations(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ask(frames):
    """[answer] of the parser to [(kind, text)]."""
    data = b"".join(
        b"%s %d\n%s" % (kind.encode(), len(text.encode()), text.encode())
        for kind, text in frames
    )
    done = subprocess.run(
        [binary("messages")], input=data, capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_run(code):
    """A block without empty lines around it, or what it is indented by."""
    lines = code.strip().split("\n") if "\n" not in code[: first(code)] else None
    if lines is None:
        lines = code.rstrip().split("\n")
        while not lines[0].strip():
            del lines[0]
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip(" \t"))]
        lines = [line.removeprefix(indent) for line in lines]
    return "\n".join(lines)


def first(code):
    """Where the first byte is that is no white space."""
    return len(code) - len(code.lstrip())


def reference(text):
    blocks = (as_run(code) for code in EXECUTE.findall(text) if code.strip())
    return "\n\n".join(blocks)


# The reasons, in the order in which they apply.


def without_reasoning(text):
    """Also what nobody has opened, and what was not closed before the end."""
    text = re.sub(r"<thought>.*?</thought>", "", text, flags=re.S)
    return re.sub(r"<thought>(?!.*</thought>).*", "", text, flags=re.S)


def up_to_invention(text):
    """Nothing counts behind what a model says that it has seen after its code."""
    for found in INVENTED.finditer(text):
        before = text[: found.start()]
        if EXECUTE.search(before) and before.count("<execute>") == before.count(
            "</execute>"
        ):
            return before
    return text


def last_opening(text):
    """A tag that was only spoken of is followed by one that is meant."""
    for tag in ("execute", "solution"):
        again = rf"<{tag}>(?=(?:(?!</{tag}>).)*<{tag}>)"
        text = re.sub(again, "", text, flags=re.S)
    return text


def fences(text):
    """Without tags, fences are code."""
    if "<execute>" in text:
        return text
    code = re.findall(r"^ {0,3}```(?:python)?\n(.*?)^ {0,3}```$", text, re.S | re.M)
    return "".join(f"<execute>\n{block}</execute>\n" for block in code)


REASONS = {
    "reasoning stripped": without_reasoning,
    "invented observation cut": up_to_invention,
    "opening tag only spoken of": last_opening,
    "fence instead of tags": fences,
}


def reason_for(text, code):
    """The fewest reasons why the code differs; None: there is none."""
    for count in range(1, len(REASONS) + 1):
        for names in itertools.combinations(REASONS, count):
            told = text
            for name in names:
                told = REASONS[name](told)
            if reference(told) == code:
                return " and ".join(names)
    return None


def answers(text):
    return [body.strip() for body in SOLUTION.findall(text) if body.strip()]


def answer_differs(text, said):
    """What is made of an answer; None: what the reference makes of it."""
    taken = answers(text)
    if not taken or said["answer"] == taken[-1]:
        return None
    if said["code"]:
        return "code and answer: the code counts"
    if said["unclosed"]:
        return "answer and a block that is cut off: nothing is final"
    outside = without_reasoning(text)
    if not answers(outside):
        return "answer in reasoning only"
    if said["answer"] == answers(last_opening(outside))[-1]:
        return "opening tag only spoken of"
    return "unexplained answer"


def parses(code):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def messages(found):
    """(model, text, what was observed then) of each message."""
    for one in found:
        turns = one["turns"] + [{"role": "", "content": ""}]
        for said, seen in zip(turns, turns[1:]):
            if said["role"] == "assistant":
                # The recorder put it there.
                text = said["content"].removeprefix("Assistant:\n")
                yield one["model"], text, seen["content"]


def whole(codes):
    """How often python_is_whole() is of one mind with a parser."""
    told = ask([("whole", code) for code in codes])
    agrees = sum(parses(code) == answer for code, answer in zip(codes, told))
    return {"agrees": agrees, "differs": len(codes) - agrees}


def line_seen(observed, code):
    """The line at which the interpreter stopped is one of the code's."""
    found = ARROW.search(observed)
    return found and found[1].strip() in (line.strip() for line in code.split("\n"))


def compare(found):
    """The report, and [(model, text, reference, ours)] without a reason."""
    rows = list(messages(found))
    said = ask([("cut", text) for _, text, _ in rows])
    models = defaultdict(Counter)
    differences, observed, unexplained = Counter(), Counter(), []
    for (model, text, seen), ours in zip(rows, said):
        theirs = reference(text)
        count = models[model]
        count["messages"] += 1
        count["code"] += bool(theirs)
        count["identical"] += bool(theirs) and theirs == ours["code"]
        why = None if theirs == ours["code"] else reason_for(text, ours["code"])
        if theirs != ours["code"] and why is None:
            unexplained.append((model, text, theirs, ours))
        for name in (why, answer_differs(text, ours)):
            differences[name] += name is not None
        differences["unclosed: not run"] += ours["unclosed"]
        if differences.pop("unexplained answer", 0):
            unexplained.append((model, text, answers(text), ours))
        if line_seen(seen, theirs):
            ran = line_seen(seen, ours["code"])
            observed["ran in what we run" if ran else "ran in what we do not"] += 1
    report = {
        "conversations": len(found),
        "models": {
            name: {**count, "rate": round(count["identical"] / count["code"], 4)}
            for name, count in sorted(models.items())
        },
        "differences": {name: n for name, n in differences.items() if n},
        "unexplained": len(unexplained),
        "observed": dict(observed),
        "python_is_whole": whole(codes_of(found)),
    }
    return report, unexplained


def codes_of(found):
    """Each block once."""
    blocks = (EXECUTE.findall(text) for _, text, _ in messages(found))
    every = itertools.chain.from_iterable(blocks)
    return sorted({as_run(code) for code in every if code.strip()})


def main(path):
    report, unexplained = compare(conversations(path))
    for row in unexplained:
        print(*row, sep="\n---\n", end="\n=====\n", file=sys.stderr)
    print(json.dumps(report))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
