"""Functions of the caller: the model calls them, the job ends with these calls,
and another job brings what came of them. A real consumer and executor."""

import json

import pytest
from servers import wait_until
from stack import Stack, call_of

DIALECTS = ["chat", "anthropic", "responses"]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": CITY,
    "strict": True,
}
CLOCK = {"name": "clock"}
CALCULATE = "calculate_math_expression"


@pytest.fixture
def stack(tmp_path):
    with Stack(executor=False, tools_builtin=CALCULATE) as stack:
        table = {
            d: {"url": stack.model.url, "model": "m", "dialect": d} for d in DIALECTS
        }
        path = tmp_path / "models.json"
        path.write_text(json.dumps(table))
        stack.settings["models"] = str(path)
        yield stack


@pytest.fixture(params=DIALECTS)
def dialect(request):
    return request.param


def asks(city="Ulm", id="w1", name="get_weather"):
    return {"id": id, "name": name, "arguments": json.dumps({"city": city})}


def sum_of(expression, id="s1"):
    return {
        "id": id,
        "name": CALCULATE,
        "arguments": json.dumps({"expression": expression}),
    }


def handed(result):
    assert result["status"] == "completed" and "error" not in result
    return [
        (c["call_id"], c["name"], json.loads(c["arguments"])) for c in result["calls"]
    ]


def names_of(request):
    return [t.get("function", t)["name"] for t in request["tools"]]


def answer(call_id, content):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_a_function_is_called_and_answered(stack, dialect):
    stack.model.script(
        [{"text": "Let me see.", "tool_calls": [asks()]}, {"text": "Rain."}]
    )
    stack.consumer()
    job = {"model": dialect, "functions": [WEATHER, CLOCK]}
    first = stack.submit(prompt="go", **job)
    result = stack.result(first)
    assert handed(result) == [("w1", "get_weather", {"city": "Ulm"})]
    assert result["answer"] == "Let me see."
    assert stack.types(first)[-1] == "job.completed"
    request = stack.model.request()
    assert names_of(request) == [CALCULATE, "get_weather", "clock"]
    tool = request["tools"][1].get("function", request["tools"][1])
    schema = tool.get("parameters") or tool.get("input_schema")
    assert schema == CITY and tool["description"] == WEATHER["description"]
    if dialect != "anthropic":
        assert tool["strict"] is True
    messages = [*result["messages"], answer("w1", "rain, 9 degrees")]
    second = stack.run(messages=messages, **job)
    assert second["answer"] == "Rain." and "calls" not in second
    assert "rain, 9 degrees" in json.dumps(stack.model.request())
    assert stack.model.counts()["total"] == 2


def test_two_in_parallel(stack, dialect):
    calls = [
        asks("Ulm", "a"),
        asks("Bern", "b"),
        {"id": "c", "name": "clock", "arguments": ""},
    ]
    stack.model.script([{"tool_calls": calls}, {"text": "done"}])
    stack.consumer()
    job = {"model": dialect, "functions": [WEATHER, CLOCK]}
    result = stack.run(prompt="go", **job)
    assert handed(result) == [
        ("a", "get_weather", {"city": "Ulm"}),
        ("b", "get_weather", {"city": "Bern"}),
        ("c", "clock", {}),
    ]
    assert "answer" not in result
    answers = [answer(id, f"of {id}") for id in "cab"]  # in any order
    second = stack.run(messages=[*result["messages"], *answers], **job)
    assert second["answer"] == "done"


def test_what_is_ours_is_run_first(stack, dialect):
    """And Python between two functions runs as well."""
    calls = [
        asks("Ulm", "a"),
        call_of("print(6 * 7)", "p"),
        asks("Bern", "b"),
        sum_of("1 + 1"),
    ]
    stack.model.script([{"tool_calls": calls}, {"text": "done"}])
    stack.take_executor()
    stack.consumer()
    job = {"model": dialect, "functions": [WEATHER]}
    result = stack.run(prompt="go", **job)
    assert [call[0] for call in handed(result)] == ["a", "b"]
    assert [cell["stdout"] for cell in result["cells"]] == ["42\n"]
    [said] = [m for m in result["messages"] if m["role"] == "assistant"]
    assert [call["id"] for call in said["tool_calls"]] == ["a", "p", "b", "s1"]
    told = {
        m["tool_call_id"]: m["content"]
        for m in result["messages"]
        if m["role"] == "tool"
    }
    assert told.keys() == {"p", "s1"} and "42" in told["p"] and "2" in told["s1"]
    messages = [*result["messages"], answer("b", "dry"), answer("a", "wet")]
    assert stack.run(messages=messages, **job)["answer"] == "done"


def test_a_person_approves_what_is_ours(stack):
    calls = [asks("Ulm", "a"), sum_of("2 * 3")]
    stack.model.script([{"tool_calls": calls}])
    stack.consumer()
    job = stack.submit(prompt="go", functions=[WEATHER], approve=[CALCULATE])
    stack.wait_event(job, "job.waiting")
    [asked] = [e["data"] for e in stack.events(job) if e["type"] == "job.waiting"]
    assert asked["tool"] == CALCULATE and asked["call"] == "1.1"
    stack.call("approve", job, "approve", "", asked["call"], "")
    result = stack.result(job)
    assert handed(result) == [("a", "get_weather", {"city": "Ulm"})]
    assert "6" in result["messages"][-1]["content"]


ODD = [
    (
        "ids that are missing or used twice",
        [{"id": ""}, {"id": ""}],
        ["call_1_0", "call_1_1"],
    ),
    ("an id that no result can hold", [{"id": "x" * 200}], ["call_1_0"]),
    (
        "a long id that is used twice",
        [{"id": "x" * 126}, {"id": "x" * 126}],
        ["x" * 126, "call_1_1"],
    ),
]


@pytest.mark.parametrize(
    "calls, ids", [row[1:] for row in ODD], ids=[row[0] for row in ODD]
)
def test_odd_ids(stack, calls, ids):
    stack.model.script([{"tool_calls": [{**asks(), **call} for call in calls]}])
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER])
    assert [call[0] for call in handed(result)] == ids
    said = result["messages"][-1]["tool_calls"]
    assert [call["id"] for call in said] == ids


# As the model writes them, and as the caller gets them.
ARGUMENTS = [
    ('{"city": "Ulm"}', '{"city": "Ulm"}'),
    (json.dumps('{"city": "Ulm"}'), '{"city":"Ulm"}'),
    ('```json\n{"city": "Ulm"}\n```', '{"city":"Ulm"}'),
    ("", "{}"),
    ("Ulm, please", "Ulm, please"),
    ("[1, 2]", "[1, 2]"),
]


@pytest.mark.parametrize("said, given", ARGUMENTS)
def test_sloppy_arguments(stack, said, given):
    stack.model.script([{"tool_calls": [{**asks(), "arguments": said}]}])
    stack.consumer()
    [call] = stack.run(prompt="go", functions=[WEATHER])["calls"]
    assert call["arguments"] == given


def test_a_call_in_the_text_counts(stack):
    text = (
        '<tool_call>{"name": "get_weather", "arguments": {"city": "Ulm"}}</tool_call>'
    )
    stack.model.script([{"text": "So:\n" + text}])
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER])
    assert [call[1:] for call in handed(result)] == [("get_weather", {"city": "Ulm"})]
    assert result["answer"] == "So:"


def test_a_schema_of_the_answer_waits_for_the_answer(stack):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
    }
    replies = [
        {"text": "no JSON"},
        {"text": "hm", "tool_calls": [asks()]},
        {"text": '{"n": 1}'},
    ]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.consumer()
    job = {"functions": [WEATHER], "output_schema": schema}
    result = stack.run(prompt="go", **job)
    assert handed(result) and "output" not in result and result["answer"] == "hm"
    messages = [*result["messages"], answer("w1", "dry")]
    assert stack.run(messages=messages, **job)["output"] == {"n": 1}


# --- tool_choice

CHOICES = {
    "chat": {
        "none": "none",
        "required": "required",
        "get_weather": {"type": "function", "function": {"name": "get_weather"}},
    },
    "anthropic": {
        "none": {"type": "none"},
        "required": {"type": "any"},
        "get_weather": {"type": "tool", "name": "get_weather"},
    },
    "responses": {
        "none": "none",
        "required": "required",
        "get_weather": {"type": "function", "name": "get_weather"},
    },
}
AUTO = {"chat": "auto", "anthropic": {"type": "auto"}, "responses": "auto"}


@pytest.mark.parametrize(
    "choice", ["", "auto", "none", "required", "get_weather", CALCULATE]
)
def test_a_choice_holds_for_the_first_request(stack, dialect, choice):
    stack.model.script([{"tool_calls": [sum_of("1 + 1")]}, {"text": "two"}])
    stack.consumer()
    result = stack.run(
        prompt="go", model=dialect, functions=[WEATHER], tool_choice=choice
    )
    assert result["answer"] == "two"
    named = json.loads(
        json.dumps(CHOICES[dialect]["get_weather"]).replace("get_weather", CALCULATE)
    )
    wanted = {**CHOICES[dialect], CALCULATE: named}.get(choice, AUTO[dialect])
    assert stack.model.request(0)["tool_choice"] == wanted
    later = wanted if choice == "none" else AUTO[dialect]
    assert stack.model.request(1)["tool_choice"] == later
    told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
    assert ("no tool may be called" in told[0]) == (choice == "none")


def test_only_functions_are_offered_to_a_job_without_tools(stack, dialect):
    stack.model.script([{"tool_calls": [sum_of("1 + 1")]}, {"tool_calls": [asks()]}])
    stack.consumer()
    result = stack.run(
        prompt="go", model=dialect, functions=[WEATHER], tools=["none"]
    )
    assert names_of(stack.model.request(0)) == ["get_weather"]
    told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
    assert f'there is no tool "{CALCULATE}"' in told[0]
    assert handed(result) == [("w1", "get_weather", {"city": "Ulm"})]


def test_a_job_without_tools_is_offered_none(stack, dialect):
    stack.model.script([{"text": "so"}])
    stack.consumer()
    assert stack.run(prompt="go", model=dialect, tools=["none"])["answer"] == "so"
    assert "tools" not in stack.model.request(0)


def test_none_forbids_functions_and_python_too(stack):
    stack.model.script([{"tool_calls": [asks(), call_of("1")]}, {"text": "so"}])
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER], tool_choice="none")
    assert result["answer"] == "so" and "calls" not in result and "cells" not in result
    told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
    assert len(told) == 2 and all("no tool may be called" in text for text in told)


REFUSED = [
    (
        {"functions": [CLOCK, WEATHER, {"name": CALCULATE}]},
        f'functions[2].name: is "{CALCULATE}", a tool of quern\'s own',
    ),
    (
        {"functions": [{"name": "execute_python_code"}]},
        'functions[0].name: is "execute_python_code", a tool of quern\'s own',
    ),
    (
        {"functions": [CLOCK], "tool_choice": "watch"},
        'tool_choice: is "watch", which the job does not offer; it offers: '
        f"{CALCULATE}, clock",
    ),
    (
        {"tools": [CALCULATE], "tool_choice": "execute_python_code"},
        'tool_choice: is "execute_python_code", which the job does not offer',
    ),
    (
        {
            "prompt": "",
            "messages": [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": "call_abc",
                            "type": "function",
                            "function": {"name": "get_weather"},
                        }
                    ],
                },
            ],
        },
        "messages[1].tool_calls[0]: no message answers the call "
        '"call_abc" of get_weather',
    ),
]


@pytest.mark.parametrize("job, sentence", REFUSED)
def test_refused_by_name(stack, job, sentence):
    stack.consumer()
    result = stack.run(**{"prompt": "go", **job})
    assert result["status"] == "failed" and result["error"]["code"] == "bad_field"
    assert sentence in result["error"]["message"]
    assert stack.model.counts()["total"] == 0


# --- limits


def test_no_more_calls_than_the_limit(stack):
    replies = [
        {
            "tool_calls": [
                sum_of("1 + 1", "a"),
                sum_of("2 + 2", "b"),
                sum_of("3 + 3", "c"),
            ]
        },
        {"tool_calls": [sum_of("4 + 4", "d"), asks()]},
    ]
    stack.model.script(replies)
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER], limits={"max_tool_calls": 2})
    assert handed(result) == [("w1", "get_weather", {"city": "Ulm"})]
    told = {
        m["tool_call_id"]: m["content"]
        for m in result["messages"]
        if m["role"] == "tool"
    }
    assert "2" in told["a"] and "4" in told["b"]
    for id in "cd":
        assert "no more calls are made: 2, the most of this job" in told[id]


def test_no_cell_beyond_the_limit(stack):
    stack.model.script(
        [{"tool_calls": [call_of("1", "a"), call_of("2", "b")]}, {"text": "so"}]
    )
    stack.take_executor()
    stack.consumer()
    result = stack.run(prompt="go", limits={"max_tool_calls": 1})
    assert result["status"] == "completed" and len(result["cells"]) == 1


def used(written):
    return {"usage": {"prompt_tokens": 5000, "completion_tokens": written}}


def test_tokens_that_models_write_are_limited(stack):
    calls = [
        {"tool_calls": [sum_of(f"{n} + 1", f"c{n}")], **used(600)} for n in range(9)
    ]
    last = {"match": "No more tools", "replies": [{"text": "That is all.", **used(20)}]}
    stack.model.script([last, {"match": "go", "replies": calls}])
    stack.consumer()
    result = stack.run(
        prompt="go", functions=[WEATHER], limits={"max_output_tokens": 2500}
    )
    assert result["status"] == "incomplete" and result["answer"] == "That is all."
    assert result["error"]["code"] == "token_limit"
    assert "max_output_tokens" in result["error"]["message"]
    assert result["usage"]["output_tokens"] <= 2500
    bounds = [
        stack.model.request(n)["max_tokens"]
        for n in range(stack.model.counts()["total"])
    ]
    assert bounds == [2500, 1900, 1300, 700, 100]


@pytest.mark.parametrize("most", [1, 50, 1000, 5000])
def test_a_small_limit_is_the_bound_of_the_reply(stack, most):
    """What fits is whole, and tools may be called."""
    stack.model.script([{"text": "yes", **used(1)}])
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER], limits={"max_output_tokens": most})
    assert (result["status"], result["answer"]) == ("completed", "yes"), result
    asked = stack.model.request()
    bound = most if most < 4096 else None  # no larger one is sent
    assert asked.get("max_tokens") == bound and asked["tool_choice"] == "auto"


def test_nothing_is_left_to_write(stack):
    reply = {"tool_calls": [sum_of("1 + 1", "c1")], **used(50)}
    stack.model.script([{"match": "go", "replies": [reply]}])
    stack.consumer()
    result = stack.run(prompt="go", limits={"max_output_tokens": 50})
    assert result["status"] == "incomplete" and stack.model.counts()["total"] == 1
    assert "max_output_tokens: 50 of 50 tokens" in result["error"]["message"]


def test_after_the_last_turn_no_function_is_called(stack):
    stack.model.script(
        [{"tool_calls": [sum_of("1 + 1")]}, {"text": "x", "tool_calls": [asks()]}]
    )
    stack.consumer()
    result = stack.run(prompt="go", functions=[WEATHER], limits={"max_turns": 1})
    assert result["status"] == "incomplete" and "calls" not in result
    assert stack.model.request()["tool_choice"] == "none"


# --- parameters

SENT = [
    ("chat", {"parallel_tool_calls": False}),
    ("responses", {"parallel_tool_calls": False, "reasoning": {"summary": "concise"}}),
    ("anthropic", {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
]


@pytest.mark.parametrize("dialect, members", SENT)
def test_parameters_in_each_dialect(stack, dialect, members):
    stack.model.script([{"text": "so"}])
    stack.consumer()
    parameters = {"parallel_tool_calls": False, "reasoning_summary": "concise"}
    stack.run(prompt="go", model=dialect, parameters=parameters)
    request = stack.model.request()
    assert {name: request.get(name) for name in members} == members
    assert (
        "reasoning_summary" not in request
        and "disable_parallel_tool_use" not in request
    )
    assert dialect == "responses" or "reasoning" not in request


# --- lost consumers


@pytest.mark.parametrize("killed_at", ["turn.started", "tool.started"])
def test_a_killed_consumer_changes_nothing(stack, killed_at):
    calls = [asks("Ulm", "a"), call_of("import time; time.sleep(1); print(6 * 7)", "p")]
    stack.model.script([{"tool_calls": calls, "delay_ms": 500}])
    stack.take_executor()
    first = stack.consumer(lease="600ms")
    job = stack.submit(prompt="go", functions=[WEATHER], tool_choice="required")
    stack.wait_event(job, killed_at)
    first.kill()
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert handed(result) == [("a", "get_weather", {"city": "Ulm"})]
    assert [cell["stdout"] for cell in result["cells"]] == ["42\n"]
    wait_until(stack.is_quiet, what="nothing is left")
