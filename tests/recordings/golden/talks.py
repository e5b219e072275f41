"""Conversations: tools and CodeAct, in every dialect, answers of a form, what was
said before, pictures."""

import hashlib
import json

import msgpack
from golden.rows import (
    BLOCK,
    OF_A_NUMBER,
    acts,
    asks,
    calls,
    earlier,
    row,
    text,
    writes,
)
from golden.steps import blob_written
from pictures import PNG, shows

DIALECTS = {"chat": "default", "anthropic": "claude", "responses": "o"}
WINDOWS = {"chat": "small", "anthropic": "claude-small", "responses": "o-small"}
EYES = {"chat": "sees", "anthropic": "claude-sees", "responses": "o-sees"}
BEFORE = earlier([text("Hello Ada.")], prompt="My name is Ada.", session="lab")
LONG = "print('x' * 1500)"
CALL_IN_TEXT = json.dumps(
    {"name": "execute_python_code", "arguments": {"code": "6 * 7"}}
)
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Six times seven?"},
    {"role": "assistant", "content": "42."},
    {"role": "user", "content": [{"type": "text", "text": "And twice that?"}]},
]


KEPT = msgpack.packb(
    {
        "v": 1,
        "messages": [
            {"role": "system", "content": "Be long."},
            {"role": "user", "content": "Six times seven?"},
            {"role": "assistant", "content": "42."},
        ],
    }
)

FUNCTIONS = [
    {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
        "strict": True,
    },
    {"name": "clock"},
]
ANSWERED = [
    {"role": "user", "content": "How is the weather in Ulm?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_abc",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Ulm"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_abc", "content": "rain"},
]


def of_a_dialect(dialect, model):
    """What every endpoint has to be asked in its own words."""

    def said(what, end, says, **more):
        return row(f"{dialect}-{what}", end, says, **{"model": model, **more})

    think = "Six times seven."
    return [
        said("answer", "completed", [text("Two.")]),
        said("plain-body", "completed", [text("Two.", stream=False)]),
        said("without-usage", "completed", [text("Two.", usage=None)]),
        said("chat-so-far", "completed", [text("84.")], messages=CHAT),
        said(
            "cell-with-thought",
            "completed",
            [acts("6 * 7", text="Let me see.", reasoning=think), text("42")],
        ),
        said(
            "two-calls-at-once",
            "completed",
            [
                calls(asks("search", "a", query="a"), asks("search", "b", query="b")),
                text("both"),
            ],
            shows=["/search?query=a", "/search?query=b"],
        ),
        said(
            "functions-of-the-caller",
            "completed",
            [
                acts("6 * 7"),
                calls(
                    asks("get_weather", "a", city="Ulm"),
                    asks("search", "b", query="b"),
                    asks("get_weather", "c", city="Bern"),
                    text="Both cities.",
                ),
            ],
            functions=FUNCTIONS,
            tool_choice="required",
            parameters={"parallel_tool_calls": True, "reasoning_summary": "auto"},
            limits={"max_output_tokens": 20000, "max_tool_calls": 9},
            shows=['"calls":[', "/search?query=b", "hands_over"],
        ),
        said(
            "functions-answered",
            "completed",
            [text("Rain.")],
            functions=FUNCTIONS,
            tool_choice="none",
            messages=ANSWERED,
        ),
        said(
            "functions-alone",
            "completed",
            [calls(asks("get_weather", "a", city="Ulm"))],
            functions=FUNCTIONS,
            tools=["none"],
            shows=['"calls":['],
        ),
        said(
            "codeact",
            "completed",
            [writes("n = 6"), writes("n * 7"), text("FINAL ANSWER: 42")],
            mode="codeact",
        ),
        said(
            "cut-by-length",
            "incomplete token_limit",
            [text("It is", finish_reason="length")],
        ),
        said(
            "filtered",
            "failed model_refused",
            [{"text": "", "finish_reason": "content_filter"}],
        ),
        said("empty-once", "completed", [text(""), text("Two.")]),
        said("empty-always", "incomplete no_answer", [text("")] * 3),
        said(
            "turn-limit",
            "incomplete turn_limit",
            [acts("1"), acts("2"), text("what I have")],
            limits={"max_turns": 2},
        ),
        said(
            "rejected",
            "failed model_rejected",
            [{"status": 400, "error": "no such thing"}],
        ),
        said(
            "cut-stream",
            "completed",
            [{"text": "half of", "cut": 400}, text("all of it")],
            shows=['"repeated_calls":1'],
        ),
        said(
            "output-repaired",
            "completed",
            [text("Many."), text('{"n": 2}')],
            output_schema=OF_A_NUMBER,
        ),
        said(
            "window-full",
            "completed",
            [*(acts(f"{LONG}; {n}") for n in range(5)), text("done")],
            model=WINDOWS[dialect],
        ),
        said(
            "picture-shown",
            "completed",
            [*shows(1), text("A dot.")],
            model=EYES[dialect],
            shows=['"blob":{"name"'],
        ),
        said(
            "parameters",
            "completed",
            [text("Two.")],
            parameters={"temperature": 0.5, "top_p": 0.9, "stop": "END"},
        ),
        said("history", "completed", [text("Ada.")], before=[BEFORE], session="lab"),
    ]


TOOLS = [
    row(
        "tools-many-turns", "completed", [*(acts(f"{n}") for n in range(8)), text("8")]
    ),
    row(
        "tools-five-cells-of-one-reply",
        "completed",
        [acts("a = 1", "b = a + 1", "c = b + 1", "1 / 0", "c"), text("3")],
        shows=["ZeroDivisionError"],
    ),
    row(
        "tools-call-in-the-text",
        "completed",
        [text(f"<tool_call>{CALL_IN_TEXT}</tool_call>"), text("42")],
        shows=['"code":"6 * 7"'],
    ),
    row(
        "tools-call-in-a-text-that-only-speaks-of-it",
        "completed",
        [text(f"You could say {CALL_IN_TEXT} here.")],
    ),
    row(
        "tools-sloppy-arguments",
        "completed",
        [
            calls({"id": "a", "name": "execute_python_code", "arguments": "6 * 7"}),
            calls(
                {
                    "id": "b",
                    "name": "execute_python_code",
                    "arguments": "```python\n1 + 1\n```",
                }
            ),
            calls(
                {
                    "id": "c",
                    "name": "execute_python_code",
                    "arguments": json.dumps(json.dumps({"code": "2 + 2"})),
                }
            ),
            text("42, 2 and 4"),
        ],
        shows=['"code":"1 + 1"', '"code":"2 + 2"'],
    ),
    row(
        "tools-ids-missing-and-repeated",
        "completed",
        [
            calls(
                asks("search", "", query="a"),
                asks("search", "x", query="b"),
                asks("search", "x", query="c"),
            ),
            text("so"),
        ],
    ),
    row(
        "tools-arguments-not-closed",
        "completed",
        [
            calls({"id": "a", "name": "search", "arguments": '{"query": "a'}),
            text("found"),
        ],
    ),
    row(
        "tools-arguments-that-are-no-json",
        "completed",
        [
            calls(
                {"id": "a", "name": "search", "arguments": '{"query": 7, "kind": "c"}'}
            ),
            text("I cannot."),
        ],
        shows=['"failed":true'],
    ),
    row(
        "tools-unknown-tool-called",
        "completed",
        [calls(asks("fly", to="Rome")), text("I cannot.")],
        shows=['"failed":true', "fly"],
    ),
    row(
        "tools-named-tool-only",
        "completed",
        [calls(asks("search", query="a")), text("found")],
        tools=["search"],
    ),
    row(
        "tools-python-called-though-not-offered",
        "completed",
        [acts("1"), text("I cannot.")],
        tools=["search"],
        shows=['"failed":true'],
    ),
    row(
        "tools-executor-is-meant-to-be-none",
        "completed",
        [calls(asks("search", query="a")), text("found")],
        house="no executor",
    ),
    row(
        "tools-reply-reaches-its-length-in-a-call",
        "completed",
        [acts("1", finish_reason="length"), text("never mind")],
    ),
    row(
        "tools-chinese",
        "completed",
        [acts("6 * 7", text="我算一下。"), text("四十二")],
        prompt="六乘七是多少",
        system="简短回答",
    ),
    row(
        "tools-operators-instructions",
        "completed",
        [acts("1"), text("so")],
        house="own words",
        shows=["the mill's tools assistant"],
    ),
    row(
        "tools-picture-of-an-upload",
        "completed",
        [text("A dot.")],
        files={"dot.png": PNG},
        prompt="Look.",
        model="sees",
        shows=['"shown":["'],
    ),
    row(
        "tools-two-of-four-pictures",
        "completed",
        [*shows(1, 2, 3, 4), text("Dots.")],
        model="sees",
        house="two pictures",
    ),
    row(
        "tools-picture-refused-for-good",
        "completed",
        [
            *shows(1),
            {"status": 400, "error": "This model does not support image inputs."},
            text("I see nothing."),
        ],
        model="sees",
        shows=['"failed":true'],
    ),
    row(
        "tools-links-of-the-answer",
        "completed",
        [
            acts("open('out.csv', 'w').write('1,2\\n')"),
            text("[all](sandbox:/mnt/data/out.csv), ![none](none.png)"),
        ],
        house="linked",
        shows=["https://files.example/"],
    ),
    row(
        "tools-files-named-to-the-model",
        "completed",
        [acts("open('b.csv').read()"), text("4")],
        files={"a.csv": b"1,2\n", "b.csv": b"3,4\n", "empty": b""},
        prompt="What is in b?",
    ),
    row("tools-files-alone", "completed", [text("Got it.")], files={"a.csv": b"1,2\n"}),
    row(
        "tools-odd-characters",
        "completed",
        [text("a\0b \U0001f600 \u2028 \u202e end")],
        prompt="\u200bodd \U0001f600",
    ),
    row(
        "tools-code-calls-tools",
        "completed",
        [acts("print(search(query='a'), search(query='b'))"), text("found")],
        shows=['"number":2'],
    ),
    row(
        "tools-code-calls-a-tool-wrongly",
        "completed",
        [
            acts("try:\n    search(word='a')\nexcept Exception as e:\n    print(e)"),
            text("so"),
        ],
    ),
]

TOOLS += [
    row(
        "tools-files-written-and-deleted",
        "completed",
        [
            acts("open('a.txt', 'w').write('a');"),
            acts("open('a.txt', 'w').write('b');"),
            acts("import os\nos.remove('a.txt')"),
            text("gone"),
        ],
        shows=['"change":"changed"', '"change":"deleted"'],
    ),
    row(
        "tools-cell-with-all-that-it-may-give",
        "completed",
        [
            acts(
                "import sys\nimport matplotlib.pyplot as plt\nimport pandas as pd\n"
                "print('out')\nprint('err', file=sys.stderr)\n"
                "plt.figure(figsize=(1, 1))\nplt.plot([1, 2])\nplt.show()\n"
                "open('a.csv', 'w').write('1,2')\npd.DataFrame({'a': [1]})"
            ),
            text("so"),
        ],
    ),
    row(
        "tools-long-output-told-in-part",
        "completed",
        [acts("for n in range(9000): print(n)"), text("many")],
        shows=['"stdout_blob"'],
    ),
]

CODEACT = [
    row(
        "codeact-block-that-is-not-closed",
        "completed",
        [text("I do it.\n```python\n6 * 7"), text("FINAL ANSWER: 42")],
        mode="codeact",
        shows=['"result":"42"'],
    ),
    row(
        "codeact-tag-that-is-not-closed",
        "completed",
        [text("<execute>\n6 * 7"), text("FINAL ANSWER: 42")],
        mode="codeact",
        shows=['"result":"42"'],
    ),
    row(
        "codeact-final-answer-with-code-that-is-shown",
        "completed",
        [text("FINAL ANSWER: it is\n```\n42\n```")],
        mode="codeact",
    ),
    row(
        "codeact-execute-tags",
        "completed",
        [text("<execute>\n6 * 7\n</execute>"), text("FINAL ANSWER: 42")],
        mode="codeact",
        shows=['"result":"42"'],
    ),
    row(
        "codeact-two-blocks",
        "completed",
        [text(BLOCK.format("a = 6") + "\n" + BLOCK.format("a * 7")), text("42")],
        mode="codeact",
    ),
    row(
        "codeact-nothing-but-python",
        "completed",
        [text("n = 6\nprint(n * 7)"), text("FINAL ANSWER: 42")],
        mode="codeact",
        shows=['"stdout":"42'],
    ),
    row("codeact-plain-answer", "completed", [text("Hello, you.")], mode="codeact"),
    row(
        "codeact-observation-invented",
        "completed",
        [
            text(BLOCK.format("6 * 7") + "\nObservation:\n7\nFINAL ANSWER: 7"),
            text("FINAL ANSWER: 42"),
        ],
        mode="codeact",
    ),
    row(
        "codeact-error-observed",
        "completed",
        [writes("1 / 0"), text("FINAL ANSWER: it cannot be")],
        mode="codeact",
        shows=["ZeroDivisionError"],
    ),
    row(
        "codeact-block-cut-by-length",
        "completed",
        [
            text("```python\nprint(1)\nprint(", finish_reason="length"),
            text("FINAL ANSWER: ok"),
        ],
        mode="codeact",
    ),
    row(
        "codeact-half-blocks-only",
        "incomplete no_action",
        [text("```python\nprint(", finish_reason="length")] * 3,
        mode="codeact",
    ),
    row(
        "codeact-proper-call",
        "completed",
        [acts("6 * 7"), text("FINAL ANSWER: 42")],
        mode="codeact",
    ),
    row(
        "codeact-final-answer-of-code",
        "completed",
        [writes("final_answer({'a': [1, 2.5, None], 'b': 'words'})")],
        mode="codeact",
    ),
    row(
        "codeact-final-answer-then-an-error",
        "completed",
        [writes("final_answer(1)\n1 / 0"), text("FINAL ANSWER: 1")],
        mode="codeact",
    ),
    row(
        "codeact-circles",
        "incomplete loop",
        [*[writes("f()")] * 7, text("FINAL ANSWER: I give up.")],
        mode="codeact",
    ),
    row(
        "codeact-turn-limit",
        "incomplete turn_limit",
        [writes("1"), writes("2"), text("FINAL ANSWER: two")],
        mode="codeact",
        limits={"max_turns": 2},
    ),
    row(
        "codeact-chinese",
        "completed",
        [writes("6 * 7"), text("FINAL ANSWER: 四十二")],
        mode="codeact",
        prompt="六乘七是多少",
    ),
    row(
        "codeact-calls-tools",
        "completed",
        [writes("found = search(query='a')\nprint(found)"), text("FINAL ANSWER: so")],
        mode="codeact",
        shows=["/search?query=a"],
    ),
    row(
        "codeact-operators-instructions",
        "completed",
        [text("FINAL ANSWER: so")],
        mode="codeact",
        house="own words",
        shows=["the mill's codeact assistant"],
    ),
    row(
        "codeact-figure-shown-to-the-model",
        "completed",
        [
            writes(
                "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\n"
                "plt.plot([1, 2]);"
            ),
            text("FINAL ANSWER: ![it](figure-1.png)"),
        ],
        mode="codeact",
        model="sees",
        shows=['"shown":["'],
    ),
    row(
        "codeact-output-of-a-form",
        "completed",
        [text("FINAL ANSWER: many"), text('FINAL ANSWER: {"n": 3}')],
        mode="codeact",
        output_schema=OF_A_NUMBER,
    ),
    row(
        "codeact-executor-is-meant-to-be-none",
        "failed executor_unavailable",
        mode="codeact",
        house="no executor",
    ),
]

OUTPUT = [
    row(
        "output-a-list",
        "completed",
        [text("It is [1, 2].")],
        output_schema={"type": "array", "items": {"type": "integer"}},
    ),
    row(
        "output-never-fits",
        "incomplete bad_output",
        [text('{"n": "two"}')] * 3,
        output_schema=OF_A_NUMBER,
    ),
    row(
        "output-not-repaired",
        "incomplete bad_output",
        [text("Many.")],
        output_schema=OF_A_NUMBER,
        house="strict",
    ),
    row(
        "output-cut-by-length",
        "incomplete token_limit",
        [text('{"n": ', finish_reason="length")],
        output_schema=OF_A_NUMBER,
    ),
    row(
        "output-of-definitions",
        "completed",
        [text('{"who": {"name": "Ada"}, "how": "a"}')],
        output_schema={
            "type": "object",
            "properties": {
                "who": {"$ref": "#/$defs/person"},
                "how": {"enum": ["a", "b"]},
            },
            "additionalProperties": False,
            "$defs": {
                "person": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "minLength": 1}},
                }
            },
        },
    ),
    row(
        "output-after-cells",
        "completed",
        [acts("6 * 7"), text('```json\n{"n": 42}\n```')],
        output_schema=OF_A_NUMBER,
    ),
]

HISTORY = [
    row(
        "history-summarised-of-the-newest-alone",
        "completed",
        [text("Much was said."), text("done")],
        model="forgetful",
        messages=[
            {"role": role, "content": f"{n} " + "word " * 300}
            for n in range(8)
            for role in ("user", "assistant")
        ]
        + [{"role": "user", "content": "so?"}],
        shows=['"purpose":"summary"'],
    ),
    row(
        "history-anew",
        "completed",
        [text("Who knows.")],
        before=[BEFORE],
        session="lab",
        history="anew",
    ),
    row(
        "history-off",
        "completed",
        [text("Who knows.")],
        before=[BEFORE],
        session="lab",
        history="off",
    ),
    row(
        "continued",
        "completed",
        [text("84.")],
        before=[blob_written(KEPT)],
        prompt="And twice that?",
        earlier=hashlib.sha256(KEPT).hexdigest(),
        keep_ms=7 * 24 * 3600 * 1000,
    ),
    row(
        "history-of-messages",
        "completed",
        [text("84.")],
        before=[BEFORE],
        session="lab",
        messages=CHAT,
    ),
    row(
        "history-codeact",
        "completed",
        [writes("x = 1"), text("FINAL ANSWER: Ada")],
        before=[BEFORE],
        session="lab",
        mode="codeact",
    ),
    row(
        "history-with-work",
        "completed",
        [text("It was 42.")],
        before=[
            earlier([acts("6 * 7"), text("42")], prompt="6 * 7?", session="lab"),
            earlier([text("It was Python.")], prompt="How?", session="lab"),
        ],
        session="lab",
        prompt="What was it?",
    ),
    row(
        "history-not-kept",
        "completed",
        [text("Who knows.")],
        before=[BEFORE],
        session="lab",
        house="forgets",
    ),
    row(
        "history-summarised",
        "completed",
        [
            *(acts(f"{LONG}; {n}") for n in range(7)),
            text("Many x were printed."),
            *(acts(f"{LONG}; {n}") for n in range(2)),
            text("done"),
        ],
        model="forgetful",
        shows=["a summary in the place"],
    ),
    row(
        "history-dropped-for-want-of-a-summary",
        "completed",
        [
            *(acts(f"{LONG}; {n}") for n in range(7)),
            text(""),
            *(acts(f"{LONG}; {n}") for n in range(2)),
            text("done"),
        ],
        model="forgetful",
        shows=["no summary came of"],
    ),
    row(
        "history-dropped-for-a-summary-was-refused",
        "completed",
        [
            *(acts(f"{LONG}; {n}") for n in range(7)),
            {"status": 400, "error": "no such thing"},
            *(acts(f"{LONG}; {n}") for n in range(2)),
            text("done"),
        ],
        model="forgetful",
        shows=["no summary came of"],
    ),
]

ROWS = [
    *(
        line
        for dialect, model in DIALECTS.items()
        for line in of_a_dialect(dialect, model)
    ),
    *TOOLS,
    *CODEACT,
    *OUTPUT,
    *HISTORY,
]
