"""A question in, an answer with a chart out: through all the rooms."""

import json

import pytest
from stack import call_of

CSV = b"month,sold\n1,10\n2,30\n3,20\n"
PLOT = """Which month was best? Show me.
```python
import pandas as pd
import matplotlib.pyplot as plt

PROFILE = "science"

sales = pd.read_csv("sales.csv")
print(len(sales), "months")
sales.plot(x="month", y="sold")
plt.show()
sales.to_csv("copy.csv", index=False)
sales["sold"].idxmax() + 1
```
"""


@pytest.fixture(autouse=True)
def fresh(stack):
    stack.model.script([])
    stack.model.reset()


def observation(stack):
    """What the model was shown last."""
    return stack.model.request()["messages"][-1]["content"]


def cells(code, **job):
    return {"kind": "code", "cells": [code] if isinstance(code, str) else code, **job}


def test_a_cell_without_code_needs_no_session(stack):
    job = stack.submit(**cells([""]))
    result = stack.result(job)
    assert (result["status"], result.get("cells", [])) == ("completed", [])
    assert stack.types(job) == ["job.queued", "job.started", "job.completed"]


def test_answer_and_chart(stack):
    job = stack.submit(prompt=PLOT, files=[stack.file("sales.csv", CSV)])
    result = stack.result(job)
    assert result["status"] == "completed"
    assert "![figure-1.png](figure-1.png)" in result["answer"]
    [image] = result["images"]
    png = stack.bytes_of(image)
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and image["mime"] == "image/png"
    assert int.from_bytes(png[16:20], "big") == image["width"] > 100
    assert int.from_bytes(png[20:24], "big") == image["height"] > 100
    [file] = result["files"]
    assert file["name"] == "copy.csv" and stack.bytes_of(file) == CSV
    [cell] = result["cells"]
    assert cell["stdout"] == "3 months\n" and cell["result"] == "2"
    assert cell["status"] == "ok" and cell["state"] == "kept"
    assert "month" in result["messages"][0]["content"]
    assert [m["role"] for m in result["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert result["usage"]["model_calls"] == 2 == stack.model.counts()["total"]
    assert "user" in result["isolation"] and result["timings"]["tools"] > 0

    events = stack.check_events(job)
    order = [e["type"] for e in events if not e["type"].endswith((".delta", ".output"))]
    assert order == [
        "job.queued",
        "job.started",
        "turn.started",
        "message.completed",
        "tool.started",
        "image",
        "display",
        "file",
        "tool.completed",
        "turn.started",
        "message.completed",
        "job.completed",
    ]
    outputs = [e["data"]["text"] for e in events if e["type"] == "tool.output"]
    assert "".join(outputs) == "3 months\n"
    assert next(e for e in events if e["type"] == "image")["data"]["image"] == image
    assert events[-1]["data"]["answer"] == result["answer"]
    assert stack.is_quiet()


def test_the_model_is_told_what_it_needs(stack):
    stack.run(
        prompt="```python\n6 * 7\n```",
        system="Be brief.",
        files=[stack.file("sales.csv", CSV)],
    )
    first = stack.model.request(0)
    system = first["messages"][0]["content"]
    for word in ("execute_python_code", "/workspace", "sales.csv", "Be brief.", "data"):
        assert word in system
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    [tool] = first["tools"]
    assert tool["function"]["name"] == "execute_python_code"
    assert tool["function"]["parameters"]["required"] == ["code"]
    second = stack.model.request(1)["messages"]
    assert second[-1]["role"] == "tool" and "42" in second[-1]["content"]
    assert second[-1]["tool_call_id"] == second[-2]["tool_calls"][0]["id"]


def test_variables_last_from_call_to_call(stack):
    result = stack.run(prompt="```python\nx = 20\n```\nthen\n```python\nx * 2 + 2\n```")
    assert [c.get("result", "") for c in result["cells"]] == ["", "42"]
    assert "(no output)" in json.dumps(result["messages"])


def test_an_exception_is_shown_to_the_model(stack):
    result = stack.run(prompt="```python\n1 / 0\n```")
    assert result["status"] == "completed"
    assert result["cells"][0]["error"]["name"] == "ZeroDivisionError"
    assert "ZeroDivisionError: division by zero" in observation(stack)


def test_every_call_of_a_reply_is_answered(stack):
    calls = [
        call_of("a = 1\na", id="one"),
        call_of("x", id="two", name="fly_to_the_moon", index=1),
        {"id": "three", "index": 2, "name": "execute_python_code", "arguments": "{}"},
        {
            "id": "four",
            "index": 3,
            "name": "execute_python_code",
            "arguments": "a + 41",
        },
        {
            "id": "",
            "index": 4,
            "name": "execute_python_code",
            "arguments": '"{\\"code\\": \\"a + 42\\"}"',
        },
    ]
    stack.model.script([{"tool_calls": calls}, {"text": "done"}])
    result = stack.run(prompt="go")
    assert result["status"] == "completed" and result["answer"] == "done"
    asked, *answers = stack.model.request()["messages"][-6:]
    assert [a["tool_call_id"] for a in answers] == [
        c["id"] for c in asked["tool_calls"]
    ]
    texts = [a["content"] for a in answers]
    assert "result:\n1" in texts[0]
    assert "no tool" in texts[1] and "execute_python_code" in texts[1]
    assert "missing" in texts[2]
    assert "42" in texts[3] and "43" in texts[4]
    assert len(result["cells"]) == 3
    for call in asked["tool_calls"]:
        json.loads(call["function"]["arguments"])  # endpoints insist


def test_a_call_that_was_cut_is_not_run(stack):
    cut = {
        "id": "a",
        "index": 0,
        "name": "execute_python_code",
        "arguments": '{"code": "open(\'x',
    }
    stack.model.script(
        [
            {
                "match": "go",
                "replies": [{"tool_calls": [cut], "finish_reason": "length"}],
            },
            {"match": "maximum length", "replies": [{"text": "sorry"}]},
        ]
    )
    result = stack.run(prompt="go")
    assert result["status"] == "completed" and result["answer"] == "sorry"
    assert "cells" not in result
    assert "maximum length" in observation(stack)


def test_the_limit_of_turns(stack):
    """Then it is asked for what it knows, without tools."""
    replies = [{"text": "Wait.", "tool_calls": [call_of(str(n))]} for n in range(9)]
    last = {"match": "No more tools", "replies": [{"text": "Three, I think."}]}
    stack.model.script([last, {"match": "go", "replies": replies}])
    result = stack.run(prompt="go", limits={"max_turns": 3})
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "turn_limit"
    assert result["answer"] == "Three, I think."
    assert stack.model.counts()["total"] == 4 and len(result["cells"]) == 3
    assert stack.model.request()["tool_choice"] == "none"


def test_a_last_answer_that_calls_again_is_none(stack):
    reply = {"text": "Let me see.", "tool_calls": [call_of("1")]}
    stack.model.script([{"match": "", "replies": [reply] * 10}])
    result = stack.run(prompt="go", limits={"max_turns": 1})
    assert result["error"]["code"] == "turn_limit"
    assert result["answer"] == "Let me see." and len(result["cells"]) == 1


CIRCLES = [
    ("the same", ["1 + 1"] * 9, 4),
    ("an error, with other addresses", ["print(object())\n1 / 0"] * 9, 3),
    ("by turns", ["1 + 1", "2 + 2"] * 9, 8),
]


@pytest.mark.parametrize("codes, ran", [row[1:] for row in CIRCLES])
def test_who_goes_round_in_circles_is_stopped(stack, codes, ran):
    """A hint, then it is not run, then an answer is asked for."""
    replies = [{"tool_calls": [call_of(code)]} for code in codes]
    last = {"match": "No more tools", "replies": [{"text": "I give up."}]}
    stack.model.script([last, {"match": "go", "replies": replies}])
    result = stack.run(prompt="go", limits={"max_turns": 20})
    assert result["status"] == "incomplete" and result["error"]["code"] == "loop"
    assert result["answer"] == "I give up." and len(result["cells"]) == ran
    told = [m["content"] for m in stack.model.request()["messages"]]
    hints = [n for n, text in enumerate(told) if "You have done this before" in text]
    refused = [n for n, text in enumerate(told) if "Error: not run" in text]
    assert hints and len(refused) == 2 and max(hints) < min(refused)


def test_who_gets_on_is_not_stopped(stack):
    """The same code, and each time something else comes of it."""
    code = "n = globals().get('n', 0) + 1; n"
    replies = [{"tool_calls": [call_of(code)]}] * 8 + [{"text": "eight"}]
    stack.model.script(replies)
    result = stack.run(prompt="go")
    assert result["status"] == "completed" and len(result["cells"]) == 8


def test_a_cell_has_its_time(stack):
    file = stack.file("sales.csv", CSV)
    stack.model.script(
        [
            {"tool_calls": [call_of("x = 1")]},
            {"tool_calls": [call_of("print('begin')\nwhile True: pass")]},
            {"tool_calls": [call_of("open('sales.csv').read(5), 'x' in globals()")]},
            {"text": "done"},
        ]
    )
    result = stack.run(prompt="go", limits={"cell_ms": 500}, files=[file])
    assert result["status"] == "completed"
    first, stuck, after = result["cells"]
    assert stuck["status"] in ("timeout", "interrupted"), stuck
    assert stuck["stdout"] == "begin\n"
    if stuck["state"] == "lost":
        assert stuck["reason"]
        assert after["result"] == "('month', False)", "the files are there again"


def test_code_without_a_model(stack):
    job = stack.submit(**cells(["x = 1", "print('hi')\nx + 1"]))
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "2"
    assert [c["code"] for c in result["cells"]] == ["x = 1", "print('hi')\nx + 1"]
    assert "messages" not in result and "usage" not in result
    assert stack.model.counts()["total"] == 0
    types = stack.types(job)
    assert types.count("tool.completed") == 2 and "turn.started" not in types


def test_code_stops_at_the_first_failure(stack):
    result = stack.run(**cells(["print('a')", "1 / 0", "print('b')"]))
    assert result["status"] == "failed"
    assert result["error"]["code"] == "cell_failed"
    assert result["error"]["message"] == "cell 2 raised ZeroDivisionError"
    assert [c["status"] for c in result["cells"]] == ["ok", "error"]


def test_code_past_its_limit_says_the_limit_and_what_is_left(stack):
    result = stack.run(**cells("while True: pass", limits={"cell_ms": 300}))
    assert result["error"]["code"] == "cell_failed"
    assert result["error"]["message"] == (
        "cell 1: stopped at its limit of 0.3 s; variables are kept"
    )


def test_a_session_outlives_its_job(stack):
    stack.run(**cells("x = 41", session="mine"))
    result = stack.run(**cells("x + 1", session="mine"))
    assert result["answer"] == "42" and result["session"] == "mine"


def test_tenants_do_not_share_sessions(stack):
    stack.run(**cells("x = 41", session="theirs", tenant="a"))
    result = stack.run(**cells("x", session="theirs", tenant="b"))
    assert result["cells"][0]["error"]["name"] == "NameError"


def test_a_session_of_its_own_ends_with_the_job(stack):
    stack.run(**cells("x = 1"))
    stack.executor.wait_for('"session.ended"')


def test_exit_functions_run_when_a_conversation_is_over(stack):
    code = "import atexit, sys\nend = atexit.register(print, 'bye', file=sys.stderr)"
    stack.model.script([{"tool_calls": [call_of(code)]}, {"text": "done"}])
    job = stack.submit(prompt="go")
    assert stack.result(job)["answer"] == "done"
    line = stack.executor.wait_for(f'"session.at_exit","who":"job-{job}"')
    assert "wrote 4 bytes to stderr" in line


def test_much_output_is_bounded_everywhere(stack):
    job = stack.submit(**cells("for i in range(200000): print('line', i)"))
    result = stack.result(job)
    [cell] = result["cells"]
    assert len(cell["stdout"]) <= 16 << 10 and "left out" in cell["stdout"]
    assert cell["stdout"].startswith("line 0\n")
    assert cell["stdout"].endswith("line 199999\n")
    assert cell["stdout_bytes"] > 1 << 20
    told = [e["data"]["text"] for e in stack.events(job) if e["type"] == "tool.output"]
    assert sum(map(len, told)) < 300 << 10


def test_output_that_is_not_text(stack):
    result = stack.run(**cells("import os\nos.write(1, b'a\\xff\\n')\n'\\ud800'"))
    assert result["status"] == "completed"
    assert result["cells"][0]["stdout"] == "a\ufffd\n"


def test_files_of_any_name(stack):
    code = (
        "import os\nos.makedirs('d/e')\n"
        "for name in ['d/e/a.txt', 'd_e_a.txt', 'n\\nl', '中文.txt', 'empty']:\n"
        "    open(name, 'w').write(name if name != 'empty' else '')\n"
        "os.symlink('/etc/passwd', 'link')"
    )
    result = stack.run(**cells(code))
    names = {f["name"]: f for f in result["files"]}
    assert len(names) == len(result["files"]) == 5, names
    assert {"中文.txt", "n_l", "empty"} <= set(names)
    got = {stack.bytes_of(f) for f in result["files"]}
    assert b"d/e/a.txt" in got and b"d_e_a.txt" in got and b"" in got
    assert not any(b"root:" in data for data in got)


def test_more_files_and_images_than_a_job_may_have(stack):
    code = (
        "import matplotlib.pyplot as plt\n"
        "for i in range(70): open(f'{i:02}', 'w').write(str(i))\n"
        "from PIL import Image\n"
        "for i in range(3): display(Image.new('RGB', (10, 10 + i)))"
    )
    result = stack.run(**cells([code, code]))
    assert result["status"] == "completed", result["error"]
    assert len(result["files"]) == 64
    assert [i["name"] for i in result["images"]] == [
        f"figure-{n}.png" for n in range(1, 7)
    ]
    assert [i.get("from_cell", 0) for i in result["images"]] == [0, 0, 0, 1, 1, 1]


def test_a_large_file_goes_both_ways(stack):
    data = bytes(range(256)) * 20000  # 5 MB
    file = stack.file("big.bin", data, "application/octet-stream")
    result = stack.run(
        **cells(
            "d = open('big.bin','rb').read()\nopen('out.bin','wb').write(d[::-1])",
            files=[file],
        )
    )
    [out] = result["files"]
    assert stack.bytes_of(out) == data[::-1]


def test_a_chat_goes_on(stack):
    first = stack.run(prompt="```python\n1 + 1\n```")
    messages = first["messages"] + [{"role": "user", "content": "thanks"}]
    second = stack.run(messages=messages)
    assert second["answer"] == "You said: thanks"
    assert second["messages"][:-1] == messages
    sent = stack.model.request()["messages"]
    assert [m["role"] for m in sent] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_cancelled_while_a_cell_runs(stack):
    job = stack.submit(**cells("import time\nprint('on')\ntime.sleep(60)"))
    stack.wait_event(job, "tool.output")
    assert stack.call("cancel", job, "enough") == b"asked"
    assert stack.result(job)["status"] == "cancelled"
    assert stack.run(**cells("1"))["status"] == "completed"


def test_a_hundred_at_once(stack):
    jobs = [
        stack.submit(prompt=f"```python\nprint({n})\n{n} * 2\n```") for n in range(100)
    ]
    for n, job in enumerate(jobs):
        result = stack.result(job, 120)
        assert result["status"] == "completed", result
        assert result["cells"][0]["result"] == str(n * 2)
        stack.check_events(job)
    assert stack.is_quiet()


KEY = "import os\nos.environ.get('API_KEY')"


def test_a_job_has_variables_of_the_environment(stack):
    job = stack.submit(**cells([KEY, "len(os.environ['API_KEY'])"], env={"API_KEY": "s3"}))
    assert [cell["result"] for cell in stack.result(job)["cells"]] == ["'s3'", "2"]


def test_a_conversation_has_variables_of_the_environment(stack):
    job = stack.submit(prompt=f"Run:\n```python\n{KEY}\n```", env={"API_KEY": "s3"})
    assert stack.result(job)["cells"][0]["result"] == "'s3'"


def test_variables_of_a_job_do_not_stay_in_its_session(stack):
    first = stack.submit(**cells(KEY, session="env", env={"API_KEY": "s3"}))
    assert stack.result(first)["cells"][0]["result"] == "'s3'"
    second = stack.submit(**cells(KEY, session="env"))
    assert stack.result(second)["cells"][0].get("result", "") == ""


def test_values_of_variables_are_told_to_nobody(stack):
    secret = "s3-nobody-is-told"
    job = stack.submit(**cells("1", env={"API_KEY": secret}))
    told = [repr(stack.result(job)), repr(stack.events(job))]
    told += [consumer.text() for consumer in stack.consumers]
    assert secret not in "".join(told)


LIBRARIES = "Libraries that are installed, beside others: "


@pytest.mark.parametrize("mode", ["tools", "codeact"])
def test_a_model_is_told_which_libraries_there_are(stack, mode):
    stack.result(stack.submit(prompt="hello", mode=mode))
    system = stack.model.request()["messages"][0]["content"]
    told = system.split(LIBRARIES)[1].split(".\n")[0].rstrip(".").split(", ")
    code = f"import importlib.util as u\n[name for name in {told} if not u.find_spec(name)]"
    cell = stack.result(stack.submit(**cells(code)))["cells"][0]
    assert "numpy" in told and cell["result"] == "[]"


def test_in_chinese_as_well(stack):
    stack.result(stack.submit(prompt="你好，请画图"))
    assert "已安装的库（不止这些）：numpy" in stack.model.request()["messages"][0]["content"]
