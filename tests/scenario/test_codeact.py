"""What recorded models said in CodeAct mode: mint-bench's conversations, where
they are at hand, else the few of their kind below. Their code is never run."""

import io
import pathlib
import tokenize

import pytest

import transcripts

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT.parent / "shared" / "data" / "codeact-transcripts.jsonl.gz"
FIRST = "<execute>\nx = [\n    1,\n]\n\nprint(x)\n</execute>"
SOME = [
    [FIRST],
    ["<thought> One line. </thought>\n<execute> print('''a\nb''') </execute>"],
    [FIRST + "\n\nObservation:\n[1]\n\n<execute>\ny = 2\n</execute>\n"],
    [FIRST + "\n\nOutput:\n[1]\n\nThe answer is <solution> 1 </solution>."],
    [FIRST + "\nThen:\n<execute>\ndef f(a):\n    return a\n</execute>"],
    ["<thought>It is in <execute> tags.</thought>\n" + FIRST],
    ["So I use <execute> tags.\n" + FIRST + "\n<solution>1</solution>"],
    ["The answer is <solution> -5, or <solution> 5 </solution>."],
    ["<thought>It is <solution>6</solution></thought>"],
    ["<thought>I think", "Well.\n</thought>\n" + FIRST],
    ["<execute>\nprint(", "I cannot say.", "It is this:\n\n```python\nx = 1\n```\n"],
]
# How else a block may be written down; {} is the code, {:…} each line of it.
PLAIN = [
    "```python\n{}\n```\n",
    "Text\n\n~~~~ Py\n{}\n~~~~\nmore",
    "`````ipython3 title=x\n{}\n`````",
    "```{{python}}\n\n{}\n\n```  \n",
    "<code>\n{}\n</code>\n",
    "<python>\n{}\n</python>",
    "<execute>\n```python\n{}\n```\n</execute>",
    "<think>```python\nno\n```</think>\n```json\n[]\n```\n```py\n{}\n```\n",
]
INDENTED = [
    ("1. Do\n\n   ```python\n", "   ", "\n   ```\n2. Look\n"),
    ("- a\n  - b\n    ~~~py\n", "    ", "\n    ~~~\n"),
    ("* ```python\n", "  ", "\n  ```\n"),
]


@pytest.fixture(scope="module")
def found():
    if RECORDED.exists():
        return transcripts.conversations(RECORDED)
    return [
        {
            "model": "none",
            "turns": [{"role": "assistant", "content": text} for text in texts],
        }
        for texts in SOME
    ]


@pytest.fixture(scope="module")
def codes(found):
    """Of any worth, but for those that hold marks, which end them elsewhere."""
    marks = "```", "~~~", "</", "<execute>", "\r"
    every = transcripts.codes_of(found)
    codes = [code for code in every if not any(mark in code for mark in marks)]
    assert len(codes) > len(every) / 2
    return codes


def test_every_difference_has_a_reason(found):
    report, unexplained = transcripts.compare(found)
    print(report)
    assert not unexplained, "\n".join(map(str, unexplained[:5]))
    assert report["differences"]["invented observation cut"]
    assert report["differences"]["code and answer: the code counts"]


def respelled(code):
    """The messages that say nothing but this code."""
    yield from (form.format(code) for form in PLAIN)
    for head, indent, end in INDENTED:
        lines = (indent + line if line else "" for line in code.split("\n"))
        yield head + "\n".join(lines) + end
    yield f"```python\n{code}\n```\n".replace("\n", "\r\n")
    yield f"```python\n{code}\n```\n".replace("\n", "\r")


def check(codes, forms):
    """The parser finds each code in every form of it."""
    frames, expected = [], []
    for code in codes:
        for said, meant in forms(code):
            frames.append(("cut", said))
            expected.append((said, meant))
    told = transcripts.ask(frames)
    for (said, meant), ours in zip(expected, told):
        assert ours["code"] == meant, said
        assert not ours["unclosed"] and not ours["final"], said


def test_the_same_code_in_other_spellings(codes):
    check(codes, lambda code: [(said, code) for said in respelled(code)])


def test_fences_in_strings(codes):
    def forms(code):
        for mark in ("```", "~~~"):
            held = f"note = r'''\n{mark}python\n{code}\n{mark}\n'''\nprint(note)"
            yield f"{mark}python\n{held}\n{mark}\nDone.", held
        held = f"note = r'''\n<execute>\n{code}\n</execute>\n'''\nprint(note)"
        yield f"<execute>\n{held}\n</execute>", held

    check([code for code in codes if "'''" not in code], forms)


def test_several_blocks(codes):
    both = dict(zip(codes, codes[1:]))
    check(
        both,
        lambda code: [
            (
                f"{head}{code}{end}\nand\n{head}{both[code]}{end}",
                f"{code}\n\n{both[code]}",
            )
            for head, end in (("```python\n", "\n```"), ("<execute>", "</execute>"))
        ],
    )


def may_end(code):
    """As the tokenizer sees it: not in brackets or in a string; that of a string
    of one line is an error token. Nor where a body or a value must follow."""
    tokens = []
    try:
        tokens += tokenize.generate_tokens(io.StringIO(code).readline)
    except tokenize.TokenError:
        return False
    said = [t for t in tokens if t.string.strip() and t.type != tokenize.COMMENT]
    if any(token.type == tokenize.ERRORTOKEN for token in said):
        return False
    return not said or said[-1].string[-1] not in ":="


def test_whole_is_what_the_tokenizer_says(codes):
    """Of code that stops anywhere: after each of its lines, or in one."""
    heads = set()
    for number, code in enumerate(codes):
        if not transcripts.parses(code) or not code.isascii():
            continue
        lines = code.split("\n")
        heads |= {"\n".join(lines[:end]) for end in range(1, len(lines))}
        heads.add(code[: number % len(code)])
    heads = sorted(heads)[:: max(1, len(heads) // 4000)]
    told = transcripts.ask([("whole", head) for head in heads])
    differ = [head for head, whole in zip(heads, told) if whole != may_end(head)]
    assert not differ, differ[:5]
