"""quern replay: jobs that the whole of quern has run are done again from their
journals; and where something is another than it was, that is what is shown.

With QUERN_UPDATE=1 the recordings become the pack of tests/recordings/jobs."""

import base64
import json
import os
import pathlib
import shutil
import tempfile

import pytest
from command import Command, Terminal
from recording import NOWHERE, PACK, lines_of, outcome_of, written
from servers import binary, wait_until
from stack import ROOT, Stack, call_of, job_id
from web import Web

PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
}
BLOCK = "I do it.\n```python\n{}\n```"
LONG = "print('x' * 1500)"
TOO_LONG = "context_length_exceeded"
COUNTED = {"prompt_tokens": 3000, "completion_tokens": 50}
PRICE = {"input": 2, "cached": 0.7, "output": 8}
OF_A_NUMBER = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


def asks(name, arguments, id="c1"):
    return {"id": id, "name": name, "arguments": arguments}


def searches(*words):
    return [
        asks("search", json.dumps({"query": w}), f"s{n}") for n, w in enumerate(words)
    ]


def acts(*codes, **more):
    calls = [call_of(code, f"c{n}", index=n) for n, code in enumerate(codes)]
    return {"tool_calls": calls, **more}


# What each is good for, what the model says, and what is asked for beside.
JOBS = {
    "an-answer": ([{"text": "Two."}], {}),
    "cells": (
        [acts("x = 6", "x * 7", text="Let me see."), acts("1 / 0"), {"text": "42"}],
        {"system": "Be brief."},
    ),
    "figure": (
        [acts("import matplotlib.pyplot as plt; plt.plot([1, 2])"), {"text": "so"}],
        {},
    ),
    "tools": (
        [
            {"tool_calls": [*searches("a", "b"), call_of("search(query='c')", "p")]},
            {"tool_calls": searches("d")},
            {"text": "found"},
        ],
        {},
    ),
    "only-some-tools": (
        [acts("1"), {"text": "so"}],
        {"tools": ["execute_python_code"]},
    ),
    "refused": (
        [
            {
                "tool_calls": [
                    asks("search", "{}", "r1"),
                    asks("nobody", "{}", "r2"),
                    asks("execute_python_code", '{"kode": 1}', "r3"),
                    asks("execute_python_code", "print(1)\nprint(2)", "r3"),
                    asks("search", '{"query": "ok"}', ""),
                    asks("fetch_url", '{"url": "ftp://host/"}', "r4"),
                ]
            },
            {"text": "so"},
        ],
        {},
    ),
    "circles": ([acts("f()")] * 8 + [{"text": "I give up."}], {}),
    "circles-of-tools": (
        [{"tool_calls": searches("same", "same", "same")}] * 6 + [{"text": "enough"}],
        {},
    ),
    "turn-limit": (
        [acts("1"), acts("2"), {"text": "what I have"}],
        {"limits": {"max_turns": 2}},
    ),
    "token-limit": (
        [*[acts("1", usage=COUNTED)] * 2, {"text": "so far", "usage": COUNTED}],
        {"limits": {"max_total_tokens": 13000}},
    ),
    "cost-limit": (
        [*[acts("1", usage=COUNTED)] * 2, {"text": "so far", "usage": COUNTED}],
        {"limits": {"max_cost": 30000}, "model": "priced"},
    ),
    "spent": (
        [acts("1", text="Let me see.", usage=COUNTED), {"text": "never"}],
        {"limits": {"max_total_tokens": 5000}},
    ),
    "spent-at-once": (
        [{"text": "never"}],
        {"prompt": "go " * 1000, "limits": {"max_total_tokens": 200}},
    ),
    "cut": ([{"text": "It is", "finish_reason": "length"}], {}),
    "cut-call": ([acts("1", finish_reason="length"), {"text": "so"}], {}),
    "codeact": (
        [
            {"text": BLOCK.format("n = 2\nsearch(query=str(n))")},
            {"text": BLOCK.format("n + 1") + "\nObservation:\n7\nFINAL ANSWER: 7"},
            {"text": "FINAL ANSWER: three"},
        ],
        {"mode": "codeact"},
    ),
    "codeact-final": (
        [{"text": BLOCK.format("final_answer({'n': 1})")}],
        {"mode": "codeact"},
    ),
    "codeact-idle": ([{"text": "```python\nx = "}] * 3, {"mode": "codeact"}),
    "chinese": (
        [{"text": "四十二"}],
        {"prompt": "六乘七是多少", "system": "简短回答"},
    ),
    "window": (
        [acts(f"{LONG}; {n}") for n in range(5)] + [{"text": "done"}],
        {"model": "small"},
    ),
    "summarised": (
        [
            *(acts(f"{LONG}; {n}") for n in range(7)),
            {"text": "Many x were printed."},
            *(acts(f"{LONG}; {n}") for n in range(2)),
            {"text": "done"},
        ],
        {"model": "forgetful"},
    ),
    "too-long": (
        [
            *(acts(f"{LONG}; {n}") for n in range(5)),
            [
                {"status": 400, "error": {"message": "too long", "code": TOO_LONG}},
                {"text": "done"},
            ],
        ],
        {},
    ),
    "too-long-counted": (
        [{"text": "done", "window": 3000}] * 2,
        {
            "model": "digits",
            "messages": [
                *(
                    {"role": role, "content": str(n) * (1000 if n else 1)}
                    for n in range(6)
                    for role in ("user", "assistant")
                ),
                {"role": "user", "content": "so?"},
            ],
        },
    ),
    "fallback": ([{"text": "Two."}], {"model": "gone"}),
    "messages": (
        [
            acts("6 * 7", text="Let me see.", reasoning="Six times seven."),
            {"text": "42"},
        ],
        {"model": "claude"},
    ),
    "responses": (
        [
            acts("6 * 7", text="Let me see.", reasoning="Six times seven."),
            {"text": "42"},
        ],
        {"model": "o"},
    ),
    "approval": (
        [
            {"tool_calls": searches("thrown away")},
            {"tool_calls": [*searches("a", "b", "c"), call_of("1 + 1", "p")]},
            {"tool_calls": [*searches("d"), call_of("print(1)", "q")]},
            {"tool_calls": [asks("search", "{}", "r"), call_of("2", "t")]},
            {"text": "so"},
        ],
        {"approve": ["search", "execute_python_code"]},
    ),
    "approval-codeact": (
        [
            {"text": BLOCK.format("search(query='x')")},
            {
                "text": BLOCK.format(
                    "try:\n    globals()['sea' + 'rch'](query='y')\n"
                    "except Exception as error:\n    print(error)"
                )
            },
            {"text": "FINAL ANSWER: so"},
        ],
        {"mode": "codeact", "approve": ["search"]},
    ),
    "approval-aborted": (
        [{"tool_calls": searches("a", "b")}],
        {"approve": ["search"]},
    ),
    "approval-skipped": (
        [{"tool_calls": searches("a")}, {"text": "so"}],
        {"approve": ["search"], "approval_ms": 300, "approval_default": "skip"},
    ),
    "output": (
        [{"text": "Many."}, {"text": 'It is:\n```json\n{"n": 2}\n```'}],
        {"output_schema": OF_A_NUMBER},
    ),
    "output-codeact": (
        [
            {"text": BLOCK.format("final_answer({'n': 'two'})")},
            {"text": BLOCK.format("final_answer({'n': 2})")},
        ],
        {"mode": "codeact", "output_schema": OF_A_NUMBER},
    ),
    "output-bad": ([{"text": "Many."}] * 3, {"output_schema": OF_A_NUMBER}),
    "output-unknown": ([], {"output_schema": {"type": "object", "if": {}}}),
    "refused-again": (
        [{"tool_calls": [asks("execute_python_code", '{"kode": 1}', "r")]}] * 4
        + [{"text": "I give up."}],
        {},
    ),
    "rejected": ([{"status": 401, "error": "who are you"}], {}),
    "code": ([], {"kind": "code", "cells": ["x = 1", "x + 1", "b'\\xff'"]}),
    "code-failed": ([], {"kind": "code", "cells": ["1", "1 / 0", "3"]}),
}


# What a person says of the calls of some of them, in order: verdict, note, text.
VERDICTS = {
    "approval": [
        ("regenerate", "not so", ""),
        ("edit", "", '{"query": "A"}'),
        ("skip", "", ""),
        ("ask", "", "which c?"),
        ("edit", "", "1 + 2"),
        ("edit", "", "no JSON"),
        ("approve", "", ""),
        ("reject", "too dear", ""),
        ("approve", "", ""),
    ],
    "approval-codeact": [("approve", "", "")],
    "approval-aborted": [("approve", "", ""), ("abort", "enough", "")],
}


def answer(stack, id, verdicts):
    for count, (verdict, note, text) in enumerate(verdicts, 1):

        def waits():
            told = [e["type"] for e in stack.events(id)].count("job.waiting")
            return told == count

        wait_until(waits, what=f"question {count} of {id}")
        said = stack.call("approve", id, verdict, note, "", text)
        assert said == b"queued"


@pytest.fixture(scope="module")
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="quern-replay-", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def stack(folder):
    with Web() as web, Stack() as stack:
        tools = {
            "search": {"url": web.url + "/search", "parameters": PARAMETERS},
        }
        (folder / "tools.json").write_text(json.dumps(tools))
        model = {"url": stack.model.url, "model": "m"}
        models = {
            "default": {**model, "key": "sk-secret", "parameters": {"seed": 7}},
            "small": {**model, "window": 2400},
            "forgetful": {**model, "window": 4000, "history": "summarise"},
            "digits": model,
            "priced": {**model, "price": PRICE},
            "gone": {"url": NOWHERE.replace("redis", "http"), "fallback": "small"},
            "claude": {**model, "dialect": "anthropic"},
            "o": {**model, "dialect": "responses"},
            "kept": {
                **model,
                "dialect": "responses",
                "parameters": {"store": True, "background": True},
            },
            "signed": {**model, "parameters": {"api_key": "sk-secret"}},
        }
        (folder / "models.json").write_text(json.dumps(models))
        stack.settings = {
            "tools": folder / "tools.json",
            "models": folder / "models.json",
            "tools_builtin": "fetch_url",
            "max_attempts": 1,
        }
        stack.consumer()
        yield stack


@pytest.fixture(scope="module")
def quern(stack, folder):
    return Command(stack.redis.url, folder)


@pytest.fixture(scope="module")
def recorded(stack, quern, folder):
    """Of a name the recording, made once."""

    def record(name):
        path = folder / f"{name}.jsonl"
        if not path.exists():
            replies, job = JOBS[name]
            stack.model.script([{"match": "", "in_order": True, "replies": replies}])
            own = "messages" in job or job.get("kind") == "code"
            words = {} if own else {"prompt": f"of {name}"}
            id = stack.submit(**{**words, **job})
            answer(stack, id, VERDICTS.get(name, []))
            stack.result(id)
            [outcome] = quern.json("replay", id, "--save", path)
            assert outcome["equal"] and outcome["job"] == id, outcome
        return path

    return record


def edited(path, change):
    """A copy in which change() has had its hands on the lines."""
    lines = lines_of(path)
    change(lines)
    return written(path, lines)


def first_difference(quern, path, *args):
    outcome = outcome_of(quern, path, *args, code=1)
    assert not outcome["equal"]
    difference = outcome["first_difference"]
    assert difference["step"] == outcome["steps"] + 1
    return difference


def records_of(lines, kind, **more):
    return [
        line["record"]
        for line in lines
        if line.get("record", {}).get("kind") == kind
        and all(line["record"].get(k) == v for k, v in more.items())
    ]


def step_of(lines, record):
    [step] = [n for n, line in enumerate(lines[2:], 1) if line.get("record") is record]
    return step


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_done_again(quern, recorded, name):
    path = recorded(name)
    lines = lines_of(path)
    outcome = outcome_of(quern, path)
    assert outcome["equal"] and outcome["steps"] == len(lines) - 2
    asked = [r for r in records_of(lines, "model_intent") if not r.get("failed")]
    assert outcome["requests"] == len(asked), "each is compared, byte for byte"
    assert "sk-secret" not in path.read_text()
    if os.environ.get("QUERN_UPDATE"):
        PACK.mkdir(exist_ok=True)
        shutil.copy(path, PACK)


def test_they_are_what_they_are_called(recorded):
    """Or some of them would show nothing."""

    def result(name):
        return lines_of(recorded(name))[-1]["result"]

    def brakes(name):
        records = records_of(lines_of(recorded(name)), "tool_result")
        return {record.get("brake", "none") for record in records}

    assert result("circles")["error"]["code"] == "loop"
    assert brakes("circles") == {"none", "hint", "forbid"}
    assert brakes("circles-of-tools") == {"none", "hint", "forbid"}
    assert result("turn-limit")["error"]["code"] == "turn_limit"
    assert result("token-limit")["error"]["code"] == "token_limit"
    assert result("token-limit")["answer"] == "so far"
    assert result("cost-limit")["error"]["code"] == "cost_limit"
    assert result("cost-limit")["usage"]["cost"] == 3 * 6400
    assert result("spent")["answer"] == "Let me see."
    assert "3050 of 5000 tokens" in result("spent")["error"]["message"]
    assert "0 of 200 tokens" in result("spent-at-once")["error"]["message"]
    assert result("cut")["error"]["code"] == "token_limit"
    assert result("codeact-idle")["error"]["code"] == "no_action"
    assert result("rejected")["error"]["code"] == "model_rejected"
    assert result("code-failed")["error"]["code"] == "cell_failed"
    assert result("fallback")["model"] == "small"
    kept = [
        r.get("kept", 0)
        for r in records_of(lines_of(recorded("window")), "model_intent")
    ]
    assert max(kept) > 2
    refused = [
        r.get("failed")
        for r in records_of(lines_of(recorded("refused")), "tool_result")
    ]
    assert refused.count(True) == 4 and refused.count(None) == 2
    inner = records_of(lines_of(recorded("codeact")), "tool_result", number=1)
    assert [r["tool"] for r in inner] == ["search"]
    lines = lines_of(recorded("summarised"))
    for kind in ("model_intent", "model_reply"):
        assert len(records_of(lines, kind, purpose="summary")) == 1
    assert "a summary in the place" in result("summarised")["notes"]
    assert result("summarised")["answer"] == "done"
    failed = records_of(lines_of(recorded("too-long")), "model_intent", failed=True)
    assert len(failed) == 1
    counted = records_of(lines_of(recorded("too-long-counted")), "model_intent")
    assert [r.get("counted", 0) > 10000 for r in counted] == [False, True, False]
    for name, verdicts in VERDICTS.items():
        said = records_of(lines_of(recorded(name)), "approval")
        assert [r["verdict"] for r in said] == [v for v, _, _ in verdicts]
    assert result("approval-aborted")["error"]["code"] == "aborted"
    [skipped] = records_of(lines_of(recorded("approval-skipped")), "approval")
    assert skipped["failed"] and skipped["verdict"] == "skip"
    kept_from = records_of(lines_of(recorded("approval-codeact")), "tool_result")[-1]
    assert "the user has to approve calls" in kept_from["observation"]
    assert result("output")["output"] == result("output-codeact")["output"]
    assert result("output-bad")["error"]["code"] == "bad_output"
    assert result("output-unknown")["error"]["code"] == "bad_field"


# --- one thing is another than it was


def test_other_instructions(quern, recorded, tmp_path):
    ours = pathlib.Path(__file__).parents[2] / "consumer/conversation/prompts"
    text = (ours / "tools.en.md").read_text()
    (tmp_path / "tools.en.md").write_text(text + "Say please.\n")
    for where in (["--prompts", tmp_path], []):
        env = {} if where else {"QUERN_PROMPTS": str(tmp_path)}
        out, err, code = quern.run("replay", recorded("cells"), *where, **env)
        assert (code, err) == (1, "")
        head, before, after, hunk, *rest = out.splitlines()
        assert "step 1, model_intent of turn 1, differs" in head
        assert (before, after) == ("--- recorded", "+++ replayed")
        assert hunk.startswith("@@ -")
    difference = first_difference(quern, recorded("cells"), "--prompts", tmp_path)
    system = difference["replayed"]["request"]["messages"][0]["content"]
    assert "Say please." in system
    assert "Say please." not in json.dumps(difference["recorded"])
    assert outcome_of(quern, recorded("codeact"), "--prompts", tmp_path)["equal"]


def test_what_the_model_was_told_of_a_cell(quern, recorded):
    def change(lines):
        [record] = records_of(lines, "tool_result", call="1.1")
        assert "42" in record["observation"]
        record["observation"] = record["observation"].replace("42", "43")
        at.append(step_of(lines, record))

    at = []
    difference = first_difference(quern, edited(recorded("cells"), change))
    assert difference["what"] == "tool_result" and difference["call"] == "1.1"
    assert [difference["step"], difference["turn"]] == [*at, 1]
    changed = [line for line in difference["diff"].splitlines() if line[0] in "-+"]
    assert [line[0] for line in changed[2:]] == ["-", "+"], "one line, and no other"
    assert "43" in changed[2] and "42" in changed[3]


@pytest.mark.parametrize("how", [[], ["--json"]], ids=["people", "json"])
def test_nothing_of_a_recording_drives_the_terminal(quern, recorded, how):
    """It may be a stranger's."""

    def change(lines):
        [record] = records_of(lines, "tool_result", call="1.1")
        record["call"] = "1.1\u202e\u009b2J"
        record["observation"] = "4\u202e2"

    path = edited(recorded("cells"), change)
    with Terminal(quern, "replay", *how, str(path)) as terminal:
        assert os.WEXITSTATUS(terminal.end()) == 1
        assert not {*"\u202e\u009b"} & {*terminal.said}
        shown = r"1.1\u202e\u009b2J" if how else "call 1.1<U+202E><U+009B>2J, differs"
        assert shown in terminal.said


def test_a_reply_is_another(quern, recorded):
    def change(lines):
        reply = records_of(lines, "model_reply")[0]
        message = json.loads(reply["message"])
        message["content"] = "Let me look."
        reply["message"] = json.dumps(message)
        at.append(step_of(lines, records_of(lines, "model_intent")[1]))

    at = []
    difference = first_difference(quern, edited(recorded("cells"), change))
    assert difference["what"] == "model_intent" and difference["turn"] == 2
    assert [difference["step"]] == at
    assert "Let me look." in difference["diff"]
    assert "Let me see." in difference["diff"], "as the result has it"


def change_call(lines):
    """Of the first reply, the first call."""
    reply = records_of(lines, "model_reply")[0]
    message = json.loads(reply["message"])
    message["tool_calls"][0]["function"]["arguments"] = '{"code": "x = 7"}'
    reply["message"] = json.dumps(message)


def change_answer(lines):
    reply = records_of(lines, "model_reply")[-1]
    reply["message"] = reply["message"].replace("42", "43")


def change_code(lines):
    [record] = records_of(lines, "tool_result", call="1.0")
    record["cell"]["code"] = "x = 8"


def drop_result(lines):
    [record] = records_of(lines, "tool_result", call="1.0")
    lines[:] = [line for line in lines if line.get("record") is not record]


def swap_calls(lines):
    one = [
        n for n, line in enumerate(lines) if line.get("record", {}).get("call") == "1.0"
    ]
    other = [
        n for n, line in enumerate(lines) if line.get("record", {}).get("call") == "1.1"
    ]
    for a, b in zip(one, other):
        lines[a], lines[b] = lines[b], lines[a]


def change_hash(lines):
    records_of(lines, "model_intent")[1]["hash"] = "0" * 64


def change_kept(lines):
    records_of(lines, "model_intent")[1]["kept"] = 3


def change_reserved(lines):
    records_of(lines, "model_intent")[1]["reserved"] += 1


def repeat_intent(lines):
    [record] = records_of(lines, "tool_intent", call="1.0")
    lines.insert(2 + step_of(lines, record), {"record": record})


def drop_intent(lines):
    record = records_of(lines, "model_intent")[1]
    del lines[1 + step_of(lines, record)]


def drop_end(lines):
    """It has ended, but its last turn is gone."""
    del lines[-3:-1]


def change_usage(lines):
    lines[-1]["result"]["usage"]["input_tokens"] += 1


def change_status(lines):
    lines[-1]["result"]["status"] = "incomplete"


# What is done to the job "cells", and where that shows first.
CHANGES = [
    (change_call, "tool_intent", 1, "x = 7"),
    (change_answer, "result", 3, "43"),
    (change_code, "tool_result", 1, "x = 8"),
    (drop_result, "tool_intent", 1, '"1.1"'),
    (swap_calls, "tool_intent", 1, '"1.1"'),
    (repeat_intent, "tool_intent", 1, "arguments"),
    (drop_intent, "model_reply", 2, "model_intent"),
    (change_hash, "model_intent", 2, "0" * 64),
    (change_kept, "model_intent", 2, "kept: 3"),
    (change_reserved, "model_intent", 2, "reserved"),
    (drop_end, "result", 2, "model_intent"),
    (change_usage, "result", 3, "input_tokens"),
    (change_status, "result", 3, "incomplete"),
]


@pytest.mark.parametrize("change, what, turn, shown", CHANGES)
def test_a_change_shows_where_it_is(quern, recorded, change, what, turn, shown):
    difference = first_difference(quern, edited(recorded("cells"), change))
    assert (difference["what"], difference["turn"]) == (what, turn)
    assert shown in difference["diff"], difference["diff"]


def test_what_the_model_was_told_of_its_reply(quern, recorded):
    def change(lines):
        reply = records_of(lines, "model_reply")[0]
        reply["observation"] = "[Once more.]"

    difference = first_difference(quern, edited(recorded("cut-call"), change))
    assert difference["what"] == "model_reply" and difference["turn"] == 1
    assert "Once more" in difference["diff"]


def test_a_brake_that_was_not_put_on(quern, recorded):
    def change(lines):
        hinted = records_of(lines, "tool_result", brake="hint")[0]
        del hinted["brake"]

    difference = first_difference(quern, edited(recorded("circles"), change))
    assert difference["what"] == "tool_result"
    assert 'brake: "none"' in difference["diff"]
    assert 'brake: "hint"' in difference["diff"]


@pytest.mark.parametrize("brake", ["none", "hint", "forbid"])
def test_calls_that_were_made_at_once(quern, recorded, brake):
    """The last is the same as the two before it, if they were there already."""

    def change(lines):
        record = records_of(lines, "tool_result", turn=1)[-1]
        record["brake"] = brake
        del lines[step_of(lines, record) + 2 :]

    path = edited(recorded("circles-of-tools"), change)
    if brake == "forbid":
        assert first_difference(quern, path)["step"] == 8
    else:
        assert outcome_of(quern, path)["equal"]


def test_a_refusal_in_other_words(quern, recorded):
    def change(lines):
        record = records_of(lines, "tool_result", failed=True)[0]
        record["observation"] = "Error: no."

    difference = first_difference(quern, edited(recorded("refused"), change))
    assert difference["what"] == "tool_result" and difference["turn"] == 1
    assert "+observation: " in difference["diff"]


def change_terms(lines, **more):
    intent = records_of(lines, "model_intent")[0]
    intent["terms"] = json.dumps({**json.loads(intent["terms"]), **more})


def leave_out_a_verdict(lines):
    record = records_of(lines, "approval", call="2.2")[0]
    del lines[1 + step_of(lines, record)]


def change_a_verdict(lines):
    records_of(lines, "approval", call="2.1")[0]["verdict"] = "ask"


def change_an_edit(lines):
    records_of(lines, "approval", call="2.0")[0]["arguments"] = '{"query": "Z"}'


def ask_about_another(lines):
    records_of(lines, "approval", call="2.0")[0]["call"] = "2.1"


def accept_what_cannot_be_run(lines):
    """What was no JSON was asked about again."""
    records_of(lines, "approval", call="3.0")[0]["arguments"] = '{"query": "D"}'


VERDICT_CHANGES = [
    (leave_out_a_verdict, "approval", 2, 'call: "2.2"'),
    (change_a_verdict, "tool_result", 2, "has skipped"),
    (change_an_edit, "tool_intent", 2, "Z"),
    (ask_about_another, "approval", 2, 'call: "2.0"'),
    (accept_what_cannot_be_run, "approval", 3, 'call: "3.1"'),
]


@pytest.mark.parametrize("change, what, turn, shown", VERDICT_CHANGES)
def test_what_a_person_was_asked(quern, recorded, change, what, turn, shown):
    difference = first_difference(quern, edited(recorded("approval"), change))
    assert (difference["what"], difference["turn"]) == (what, turn)
    assert shown in difference["diff"], difference["diff"]


def test_who_had_to_be_asked(quern, recorded):
    """By the terms: what the operator wants approved, and what he does not."""

    def operator(lines):
        change_terms(lines, approve=["search"])

    difference = first_difference(quern, edited(recorded("tools"), operator))
    assert (difference["what"], difference["turn"]) == ("tool_intent", 1)
    assert 'step: "approval"' in difference["diff"]


def test_how_often_another_answer_is_asked_for(quern, recorded):
    for repairs, what in ((1, "model_intent"), (3, "result")):

        def change(lines):
            change_terms(lines, output_repairs=repairs)

        difference = first_difference(quern, edited(recorded("output-bad"), change))
        assert difference["what"] == what


def test_a_tool_of_another_description(quern, recorded):
    """The terms say what was offered: a change there is one of the request."""

    def change(lines):
        intent = records_of(lines, "model_intent")[0]
        terms = json.loads(intent["terms"])
        terms["tools"][1]["description"] = "Runs code."
        intent["terms"] = json.dumps(terms)

    difference = first_difference(quern, edited(recorded("tools"), change))
    assert difference["step"] == 1 and difference["what"] == "model_intent"


def test_limits_and_prices_are_terms(quern, recorded):
    """Whether another request is made, and what for, follows from them."""

    def change(**more):
        def edit(lines):
            intent = records_of(lines, "model_intent")[0]
            intent["terms"] = json.dumps({**json.loads(intent["terms"]), **more})

        return edit

    less = change(max_total_tokens=9000)
    difference = first_difference(quern, edited(recorded("token-limit"), less))
    assert difference["what"] == "model_intent" and difference["turn"] == 2
    dear = change(price={**PRICE, "output": 40})
    difference = first_difference(quern, edited(recorded("cost-limit"), dear))
    assert difference["step"] == 1 and "cost: " in difference["diff"]
    none = change(max_total_tokens=100)
    difference = first_difference(quern, edited(recorded("spent-at-once"), none))
    assert difference["what"] == "result" and "of 100 tokens" in difference["diff"]


def test_a_request_that_did_not_fit_would_fit(quern, recorded):
    def change(lines):
        reply = records_of(lines, "model_reply")[0]
        reply["usage"]["input_tokens"] = 300

    difference = first_difference(quern, edited(recorded("spent"), change))
    assert difference["what"] == "model_intent" and difference["turn"] == 2


# --- what takes a while, or goes wrong


def test_a_job_that_was_taken_over(stack, quern, folder):
    """kill -9 while the model thinks, and while a cell runs."""
    slow = acts("import time; time.sleep(5); 6 * 7")
    replies = [{"delay_ms": 60000}, slow, {"text": "42"}]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    stack.model.reset()
    limits = {"max_total_tokens": 9000}  # of which the first request takes a part
    id = stack.submit(prompt="taken over", limits=limits)
    wait_until(lambda: stack.model.counts()["total"] == 1, what="it is asked")
    for type in ("turn.started", "tool.started"):
        stack.wait_event(id, type)
        stack.consumers[-1].kill()
        stack.consumer()
    result = stack.result(id)
    assert result["usage"]["repeated_calls"] == 1 and result["attempts"] == 3
    [outcome] = quern.json("replay", id, "--save", folder / "taken-over.jsonl")
    assert outcome["equal"] and outcome["requests"] == 3
    if os.environ.get("QUERN_UPDATE"):
        shutil.copy(folder / "taken-over.jsonl", PACK)


def test_a_reply_that_was_fetched(stack, quern, folder):
    """kill -9 while the model speaks, to an endpoint that keeps what it says; and a
    stream that is cut off, of which there is nothing."""
    slow = {**acts("6 * 7"), "reasoning": "Six times seven.", "chunk_ms": 2000}
    slow["kept"] = {"after_ms": 4000}
    gone = {"text": "It is 42.", "cut": 700, "kept": {"status": 404}}
    replies = [slow, gone, {"text": "42"}]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])
    id = stack.submit(prompt="fetched", model="kept", retry={"max_attempts": 2})
    stack.wait_event(id, "reasoning.delta")
    key = f"{ROOT}journal:{id}"
    wait_until(lambda: stack.db.llen(key) >= 2, what="its id is known")
    stack.consumers[-1].kill()
    stack.consumer()
    result = stack.result(id)
    assert result["answer"] == "42" and result["usage"]["repeated_calls"] == 1
    thought = [i for i in stack.model.request()["input"] if i.get("summary")]
    assert thought[0]["encrypted_content"], "it goes back as it was"
    path = folder / "fetched.jsonl"
    [outcome] = quern.json("replay", id, "--save", path)
    assert outcome["equal"] and outcome["requests"] == 3
    kinds = [line["record"]["kind"] for line in lines_of(path)[2:-1]]
    assert kinds == [
        *("model_intent", "model_sent", "model_reply", "tool_intent", "tool_result"),
        *("model_intent", "model_sent", "model_intent", "model_sent", "model_reply"),
    ]
    if os.environ.get("QUERN_UPDATE"):
        shutil.copy(path, PACK)


def test_a_job_that_runs(stack, quern):
    stack.model.script([acts("1"), {"text": "so", "delay_ms": 60000}])
    id = stack.submit(prompt="runs")
    wait_until(lambda: stack.types(id).count("turn.started") == 2, what="turn 2")
    [outcome] = quern.json("replay", id)
    assert outcome["equal"] and outcome["steps"] == 5
    stack.call("cancel", id)
    assert stack.result(id)["status"] == "cancelled"
    [outcome] = quern.json("replay", id)
    assert outcome["equal"] and outcome["steps"] == 6


def test_a_secret_parameter(stack, quern, folder):
    stack.model.script([{"text": "so"}])
    id = stack.submit(prompt="go", model="signed")
    stack.result(id)
    [outcome] = quern.json("replay", id, "--save", folder / "signed.jsonl")
    assert outcome["equal"] and outcome["requests"] == 0
    assert outcome["hidden_requests"] == 1
    assert "sk-secret" not in (folder / "signed.jsonl").read_text()


@pytest.mark.parametrize("more", [{}, {"sesion": "s"}], ids=["", "unknown member"])
def test_a_variable_of_the_environment(stack, quern, folder, more):
    stack.model.script([{"text": "so"}])
    env = {"API_KEY": "s3-secret", "EMPTY": ""}
    id = stack.submit(prompt="go", env=env, **more)
    stack.result(id)
    [outcome] = quern.json("replay", id, "--save", folder / "env.jsonl")
    assert outcome["equal"] and outcome["requests"] == 1
    body = body_of(folder / "env.jsonl")
    assert b"API_KEY" in body and b"s3-secret" not in body
    [outcome] = quern.json("replay", folder / "env.jsonl")
    assert outcome["equal"]


def body_of(path):
    """What the recording has of what was submitted."""
    [line] = [line for line in lines_of(path) if {"job", "body"} & set(line)]
    if "job" in line:
        return json.dumps(line["job"]).encode()
    return base64.b64decode(line["body"]["base64"])


def test_a_variable_of_a_job_that_is_malformed(stack, quern, folder):
    id = stack.submit(prompt=7, env={"API_KEY": "s3-secret"})
    assert stack.result(id)["status"] == "failed"
    [outcome] = quern.json("replay", id, "--save", folder / "malformed.jsonl")
    assert outcome["equal"]
    body = body_of(folder / "malformed.jsonl")
    assert b"API_KEY" in body and b"s3-secret" not in body


def test_a_job_that_says_other_than_what_was_submitted(stack, quern, folder):
    """What Redis knew of it is in no recording: the error is taken as it was."""
    path = folder / "mismatch.jsonl"
    metadata = {"ticket": "T-7"}
    id, pairs = job_id(), {"pairs": "all", "tenant": "other"}
    stack.submit(id=id, prompt="x", metadata=metadata, sesion="s", pairs=pairs)
    assert stack.result(id)["error"]["code"] == "tenant_mismatch"
    [outcome] = quern.json("replay", id, "--save", path)
    assert outcome["equal"] and outcome["steps"] == 1

    def change(lines):
        lines[-1]["result"]["metadata"] = {}
        lines[-1]["result"]["timings"] = {"total": 1}  # or Redis might have made it

    difference = first_difference(quern, edited(path, change))
    assert difference["what"] == "result" and "T-7" in difference["diff"]


def test_bytes_that_are_no_job(stack, quern, folder):
    for id, body in ((job_id(), b"\xc1 no job"), (job_id(), None)):
        job = {"body": body} if body else {"kind": "code", "cells": [], "prompt": "x"}
        stack.submit(id=id, **job)
        assert stack.result(id)["status"] == "failed"
        [outcome] = quern.json("replay", id, "--save", folder / "none.jsonl")
        assert outcome["equal"] and outcome["steps"] == 1


def test_many_at_once(quern, recorded, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    out, err, code = quern.run(
        "replay", recorded("cells"), edited(recorded("cells"), change_hash), bad
    )
    assert code == 65
    assert "equal in" in out and "differs" in out
    assert f"{bad}: line 1: must be an object with one member" in err


def test_what_cannot_be_replayed(quern, tmp_path):
    assert "no such file" in quern("replay", "nowhere.jsonl", code=64).lower()
    assert "Redis has no body of job" in quern("replay", job_id(), code=65)
    told = quern("replay", job_id(), code=69, REDIS_URL=NOWHERE)
    assert "refused" in told.lower()
    told = quern("replay", job_id(), job_id(), "--save", "x", code=64)
    assert "--save needs exactly one job" in told


def test_the_program_alone(recorded, folder):
    command = Command(NOWHERE, folder, binary("quern-replay"))
    assert "equal in" in command(recorded("an-answer"))
    assert "equal in" in command("-", stdin=recorded("an-answer").read_text())
    assert "quern-replay" in command("--help")
    command(code=64)
