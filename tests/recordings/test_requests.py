"""One conversation as each dialect writes it.

What is expected is written down by hand, from what the vendors say of their
APIs. test_dialects.py has recorded replies go back to where they came from.
"""

import json
import subprocess

import pytest

from servers import binary

QUIRKS = {"tool_choice": 8, "stream": 64, "cache": 128, "encrypted": 256}
EPHEMERAL = {"type": "ephemeral"}


def body_of(dialect, messages, **asked):
    line = json.dumps({"dialect": dialect, "messages": messages, **asked})
    done = subprocess.run(
        [binary("dialect_body")],
        input=line + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def tool(name, **function):
    return {"type": "function", "function": {"name": name, **function}}


def call(id, arguments="{}", name="f"):
    function = {"name": name, "arguments": arguments}
    return {"id": id, "type": "function", "function": function}


def says(content, *calls, **more):
    message = {"role": "assistant", "content": content, **more}
    return {**message, "tool_calls": list(calls)} if calls else message


def user(content):
    return {"role": "user", "content": content}


def result(id, content="done"):
    return {"role": "tool", "tool_call_id": id, "content": content}


def kept(dialect, blocks, endpoint="e"):
    return {"dialect": dialect, "endpoint": endpoint, "blocks": blocks}


def picture(url="data:image/png;base64,QUJD", **more):
    return {"type": "image_url", "image_url": {"url": url, **more}}


def text(said, **more):
    return {"type": "text", "text": said, **more}


# ----------------------------------------------------------------- anthropic


def anthropic(*messages, **asked):
    """Without the marks of what is to be cached: they have a test of their own."""
    return body_of("anthropic", list(messages), quirks=QUIRKS["cache"], **asked)


def test_instructions_are_no_message():
    body = anthropic(
        {"role": "system", "content": "be kind"},
        user("hi"),
        {"role": "developer", "content": "and short"},
    )
    assert body == {
        "model": "m",
        "max_tokens": 8192,
        "system": [text("be kind"), text("and short")],
        "messages": [user([text("hi")])],
        "stream": True,
    }


def use(id, **input):
    return {"type": "tool_use", "id": id, "name": "f", "input": input}


def answer(id, *content):
    block = {"type": "tool_result", "tool_use_id": id}
    return {**block, "content": list(content)} if content else block


# name, messages, what the Messages are
TURNS = [
    (
        "results of one turn are one message, and come first in it",
        [
            user("q"),
            says("so", call("a", '{"x": 1}'), call("b")),
            result("a", "1"),
            result("b", [text("2"), picture()]),
            user("hurry"),
        ],
        [
            user([text("q")]),
            says([text("so"), use("a", x=1), use("b")]),
            user(
                [
                    answer("a", text("1")),
                    answer(
                        "b",
                        text("2"),
                        {
                            "type": "image",
                            "source": {
                                "type": "base64",
                                "media_type": "image/png",
                                "data": "QUJD",
                            },
                        },
                    ),
                    text("hurry"),
                ]
            ),
        ],
    ),
    (
        "a result stands before what was said before it",
        [user("q"), says(None, call("a")), user("wait"), result("a", "1")],
        [
            user([text("q")]),
            says([use("a")]),
            user([answer("a", text("1")), text("wait")]),
        ],
    ),
    (
        "of one side there is one message",
        [user("a"), user("b"), says("c"), says("d"), user("e")],
        [user([text("a"), text("b")]), says([text("c"), text("d")]), user([text("e")])],
    ),
    (
        "what is blank is left out, and a message of nothing else",
        [user("a"), says(" \n"), user(""), result("x", ""), user([text(" ")])],
        [user([answer("x"), text("a")])],
    ),
    (
        "an image by its address",
        [user([picture("https://example.org/a.png")])],
        [
            user(
                [
                    {
                        "type": "image",
                        "source": {"type": "url", "url": "https://example.org/a.png"},
                    }
                ]
            )
        ],
    ),
    (
        "a part that is not known goes as it is",
        [user([{"type": "document", "source": {"type": "file", "file_id": "f1"}}])],
        [user([{"type": "document", "source": {"type": "file", "file_id": "f1"}}])],
    ),
    (
        "arguments that are no object are none",
        [user("q"), says("a", call("a", "[1]"), call("b", "{oops"), call("c", ""))],
        [user([text("q")]), says([text("a"), use("a"), use("b"), use("c")])],
    ),
    (
        "numbers stay what they were",
        [user("q"), says("", call("a", '{"x": 0.1, "y": 3.141592653589793}'))],
        [user([text("q")]), says([use("a", x=0.1, y=3.141592653589793)])],
    ),
    (
        "reasoning goes back where it was",
        [
            user("q"),
            says(
                "ab",
                call("1"),
                opaque=kept(
                    "anthropic",
                    [
                        {"type": "thinking", "thinking": "hm", "signature": "s"},
                        {"text_bytes": 1},
                        {"type": "redacted_thinking", "data": "r"},
                        {"text_bytes": 1},
                        {"call": 1},
                    ],
                ),
            ),
        ],
        [
            user([text("q")]),
            says(
                [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    text("a"),
                    {"type": "redacted_thinking", "data": "r"},
                    text("b"),
                    use("1"),
                ]
            ),
        ],
    ),
    (
        "reasoning of another endpoint, or dialect, is left out",
        [
            user("q"),
            says("a", opaque=kept("anthropic", [{"type": "thinking"}], "other")),
            user("r"),
            says("b", opaque=kept("responses", [{"type": "reasoning"}])),
            user("s"),
            says("c", reasoning_content="hm", reasoning_details=[{"type": "x"}]),
        ],
        [
            user([text("q")]),
            says([text("a")]),
            user([text("r")]),
            says([text("b")]),
            user([text("s")]),
            says([text("c")]),
        ],
    ),
    (
        "reasoning that leads to nothing is left out",
        [
            user("q"),
            says(
                "a",
                opaque=kept(
                    "anthropic",
                    [{"text_bytes": 1}, {"type": "thinking", "thinking": "hm"}],
                ),
            ),
        ],
        [user([text("q")]), says([text("a")])],
    ),
    (
        "marks that do not fit lose nothing",
        [
            user("q"),
            says(
                "abc",
                call("1"),
                opaque=kept(
                    "anthropic",
                    [7, {"text_bytes": 99}, {"text_bytes": -1}, {"call": 1}] * 2,
                ),
            ),
        ],
        [user([text("q")]), says([text("abc"), use("1")])],
    ),
]


@pytest.mark.parametrize("name, messages, wanted", TURNS, ids=[t[0] for t in TURNS])
def test_turns(name, messages, wanted):
    assert anthropic(*messages)["messages"] == wanted


def test_ids_are_made_fit_alike():
    ids = ["functions.x:0", "a|b", "a.b", "x" * 65, "é", "ok-1_A"]
    calls = [call(id) for id in ids]
    for dialect in ("anthropic", "responses"):
        messages = [user("q"), says(None, *calls), *map(result, ids)]
        body = body_of(dialect, messages, quirks=QUIRKS["cache"])
        if dialect == "anthropic":
            made = [b["id"] for b in body["messages"][1]["content"]]
            answered = [b["tool_use_id"] for b in body["messages"][2]["content"]]
        else:
            items = body["input"][1:]
            made = [i["call_id"] for i in items if i["type"] == "function_call"]
            answered = [i["call_id"] for i in items if "output" in i]
        assert made == answered and len(set(made)) == len(ids)
        assert made[-1] == "ok-1_A"
        assert all(len(id) <= 64 and set(id) <= FIT for id in made)


FIT = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
SCHEMA = {"type": "object", "properties": {"x": {"type": "number"}}}
TOOLS = [tool("f", description="does", parameters=SCHEMA), tool("g")]


@pytest.mark.parametrize("last", [False, True])
def test_tools(last):
    body = anthropic(user("q"), tools=TOOLS, last=last)
    assert body["tools"] == [
        {"name": "f", "description": "does", "input_schema": SCHEMA},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert body["tool_choice"] == {"type": "none" if last else "auto"}
    body = body_of("responses", [user("q")], tools=TOOLS, last=last)
    assert body["tools"] == [
        {
            "type": "function",
            "name": "f",
            "description": "does",
            "parameters": SCHEMA,
            "strict": False,
        },
        {
            "type": "function",
            "name": "g",
            "parameters": {"type": "object", "properties": {}},
            "strict": False,
        },
    ]
    assert body["tool_choice"] == ("none" if last else "auto")


@pytest.mark.parametrize("dialect", ["anthropic", "responses"])
def test_what_is_not_taken_is_left_out(dialect):
    quirks = QUIRKS["tool_choice"] | QUIRKS["stream"]
    body = body_of(dialect, [user("q")], tools=TOOLS, quirks=quirks)
    assert "tools" in body and not {"tool_choice", "stream"} & set(body)
    body = body_of(dialect, [user("q")], tools=TOOLS, quirks=quirks, last=True)
    assert not {"tools", "tool_choice"} & set(body)


def test_what_is_to_be_cached():
    """Up to the instructions, or the tools; and up to here, if it goes on."""
    system = {"role": "system", "content": "be kind"}
    history = [user("q"), says("a", call("1")), result("1", "x")]
    body = body_of("anthropic", [system, *history], tools=TOOLS)
    assert body["system"] == [text("be kind", cache_control=EPHEMERAL)]
    last = body["messages"][-1]["content"][-1]
    assert last["type"] == "tool_result" and last["cache_control"] == EPHEMERAL
    assert json.dumps(body).count("cache_control") == 2
    body = body_of("anthropic", history, tools=TOOLS)
    assert body["tools"][-1]["cache_control"] == EPHEMERAL
    body = body_of("anthropic", [system, *history], tools=TOOLS, last=True)
    assert json.dumps(body).count("cache_control") == 1
    assert "cache_control" not in json.dumps(anthropic(system, *history, tools=TOOLS))


THINKS = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
THOUGHT = kept(
    "anthropic",
    [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"call": 1}],
)


def test_how_long_a_reply_may_be():
    def bounds(**asked):
        body = anthropic(user("q"), **asked)
        return body["max_tokens"], "thinking" in body

    assert bounds() == (8192, False)
    assert bounds(max_tokens=5) == (5, False)
    assert bounds(parameters={"max_tokens": 7}) == (7, False)
    assert bounds(parameters={"max_tokens": 7}, max_tokens=5) == (5, False)
    assert bounds(parameters=THINKS) == (10192, True)
    # Thinking has to leave room for an answer.
    assert bounds(parameters=THINKS, max_tokens=2000) == (2000, False)


def test_a_chain_that_began_without_thinking_goes_on_without():
    chain = [user("q"), says(None, call("1")), result("1")]
    assert "thinking" not in anthropic(*chain, parameters=THINKS)
    assert "thinking" in anthropic(*chain, says("a"), user("r"), parameters=THINKS)
    thought = [user("q"), says(None, call("1"), opaque=THOUGHT), result("1")]
    assert "thinking" in anthropic(*thought, parameters=THINKS)
    assert "thinking" not in anthropic(*thought, parameters=THINKS, name="other")
    adaptive = {"thinking": {"type": "adaptive"}}
    assert "thinking" in anthropic(*chain, parameters=adaptive)


# ----------------------------------------------------------------- responses


def test_items():
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "e",
    }
    message = says(
        "ab",
        call("c1", '{"x": 1}'),
        opaque=kept(
            "responses",
            [
                reasoning,
                {"text_bytes": 1, "phase": "commentary"},
                {"type": "reasoning", "id": "rs_2", "summary": []},
                {"text_bytes": 1},
                {"call": 1},
            ],
        ),
    )
    body = body_of(
        "responses",
        [
            {"role": "system", "content": "be kind"},
            user([text("q"), picture(detail="low")]),
            message,
            result("c1", [text("1"), picture()]),
        ],
        max_tokens=99,
    )
    assert body == {
        "model": "m",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "max_output_tokens": 99,
        "stream": True,
        "input": [
            {"role": "system", "content": "be kind"},
            user(
                [
                    {"type": "input_text", "text": "q"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/png;base64,QUJD",
                        "detail": "low",
                    },
                ]
            ),
            reasoning,
            {"role": "assistant", "content": "a", "phase": "commentary"},
            # rs_2 would be looked for where nothing is stored.
            {"role": "assistant", "content": "b"},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "f",
                "arguments": '{"x": 1}',
            },
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "1"},
                    {
                        "type": "input_image",
                        "image_url": "data:image/png;base64,QUJD",
                    },
                ],
            },
        ],
    }


def test_what_the_operator_says_of_responses():
    def members(**asked):
        body = body_of("responses", [user("q")], **asked)
        return {n: v for n, v in body.items() if n not in ("model", "input", "stream")}

    plain = {"store": False, "include": ["reasoning.encrypted_content"]}
    assert members() == plain
    assert members(quirks=QUIRKS["encrypted"]) == {"store": False}
    given = {"store": True, "include": [], "max_output_tokens": 9, "model": "other"}
    assert members(parameters=given) == {
        "store": True,
        "include": [],
        "max_output_tokens": 9,
    }


# ---------------------------------------------------------------------- chat


def test_only_its_own_endpoint_gets_what_was_kept():
    inline = kept("chat", [{"type": "inline", "text": "<think>hm</think>\n"}])
    parts = kept(
        "chat",
        [{"type": "thinking", "thinking": "hm"}, {"text_bytes": 1}],
    )
    messages = [user("q"), says("a", opaque=inline), user("r"), says("b", opaque=parts)]
    told = body_of("chat", messages)["messages"]
    assert [m["content"] for m in told] == [
        "q",
        "<think>hm</think>\na",
        "r",
        [{"type": "thinking", "thinking": [text("hm")]}, text("b")],
    ]
    for name, dialect in (("other", "chat"), ("e", "responses")):
        told = body_of(dialect, messages, name=name)
        told = told.get("messages") or told["input"]
        assert told == [user("q"), says("a"), user("r"), says("b")]
