"""CodeAct: the code in what the model writes is run, and it is told in turn."""

import pytest
from stack import call_of

ACT = "I compute it.\n```python\n{}\n```"


@pytest.fixture(autouse=True)
def fresh(stack):
    stack.model.script([])
    stack.model.reset()


def run(stack, *texts, prompt="go", **job):
    replies = [text if isinstance(text, dict) else {"text": text} for text in texts]
    stack.model.script(replies)
    return stack.run(prompt=prompt, mode="codeact", **job)


def told(stack, number=-1):
    """The messages of that request."""
    return stack.model.request(number)["messages"]


def test_code_is_run_until_there_is_an_answer(stack):
    result = run(stack, ACT.format("x = 6\nx * 7"), "FINAL ANSWER: it is **42**")
    assert result["status"] == "completed" and result["answer"] == "it is **42**"
    [cell] = result["cells"]
    assert cell["code"] == "x = 6\nx * 7" and cell["result"] == "42"
    assert "tools" not in stack.model.request()
    system, user, act, observation = told(stack)
    assert "FINAL ANSWER:" in system["content"]
    assert "execute_python_code" not in system["content"]
    assert act == {"role": "assistant", "content": ACT.format("x = 6\nx * 7")}
    assert observation["role"] == "user"
    assert observation["content"].startswith("Observation:\n")
    assert "42" in observation["content"]


def test_variables_are_kept(stack):
    result = run(stack, ACT.format("n = 2"), ACT.format("n + 1"), "FINAL ANSWER: three")
    assert [cell.get("result") for cell in result["cells"]] == [None, "3"]
    assert "no output" in told(stack, 1)[-1]["content"].lower()


def test_code_and_answer_in_one(stack):
    """The answer was a guess: code is run, and it has to answer again."""
    guess = ACT.format("1 + 1") + "\nFINAL ANSWER: 3"
    result = run(stack, guess, "FINAL ANSWER: 2")
    assert result["answer"] == "2" and len(result["cells"]) == 1


def test_an_error_is_observed(stack):
    result = run(stack, ACT.format("1 / 0"), "FINAL ANSWER: cannot")
    assert result["status"] == "completed"
    assert "ZeroDivisionError" in told(stack)[-1]["content"]


def test_a_plain_text_is_the_answer(stack):
    result = run(stack, "Hello, you.")
    assert result["status"] == "completed" and result["answer"] == "Hello, you."


def test_a_block_that_was_cut_is_not_run(stack):
    cut = {"text": "```python\nprint(1)\nprint(", "finish_reason": "length"}
    stack.model.script(
        [
            {"match": "ended inside", "replies": [{"text": "FINAL ANSWER: ok"}]},
            {"match": "go", "replies": [cut]},
        ]
    )
    result = stack.run(prompt="go", mode="codeact")
    assert result["status"] == "completed" and "cells" not in result


def test_who_only_writes_half_a_block_comes_to_an_end(stack):
    cut = {"text": "```python\nprint(", "finish_reason": "length"}
    stack.model.script([{"match": "", "replies": [cut] * 9}])
    result = stack.run(prompt="go", mode="codeact")
    assert result["status"] == "incomplete"
    assert result["error"]["code"] == "no_action"
    assert stack.model.counts()["total"] == 3


def test_who_calls_a_tool_all_the_same_is_understood(stack):
    result = run(stack, {"tool_calls": [call_of("6 * 7")]}, "FINAL ANSWER: 42")
    assert result["status"] == "completed" and len(result["cells"]) == 1
    assert told(stack)[-1]["role"] == "tool"


def test_the_last_turn_is_an_answer(stack):
    acts = [{"text": ACT.format(n)} for n in range(9)]
    last = {"match": "No more tools", "replies": [{"text": "FINAL ANSWER: two"}]}
    stack.model.script([last, {"match": "go", "replies": acts}])
    result = stack.run(prompt="go", mode="codeact", limits={"max_turns": 2})
    assert result["error"]["code"] == "turn_limit" and result["answer"] == "two"


@pytest.mark.parametrize(
    "prompt, chinese",
    [("画一张图，看看哪个月最好", True), ("Which month?", False), ("どの月？", False)],
)
def test_who_writes_chinese_is_told_in_chinese(stack, prompt, chinese):
    for mode in ("codeact", "tools"):
        stack.model.script([{"text": "FINAL ANSWER: 三月"}])
        stack.run(prompt=prompt, mode=mode)
        assert ("工作目录是" in told(stack)[0]["content"]) == chinese


def test_an_image_is_captured(stack):
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    answer = "FINAL ANSWER: ![rising](figure-1.png)"
    result = run(stack, ACT.format(plot), answer)
    [image] = result["images"]
    assert image["name"] == "figure-1.png" and "figure-1.png" in result["answer"]


def test_code_ends_it(stack):
    result = run(stack, ACT.format("x = {'n': 6 * 7}\nfinal_answer(x)\nprint(1)"))
    assert result["status"] == "completed" and result["answer"] == '{"n":42}'
    assert result["cells"][0]["stdout"] == "1\n"
    assert stack.model.counts()["total"] == 1


def test_code_that_fails_after_all_does_not(stack):
    code = "final_answer('soon')\n1 / 0"
    result = run(stack, ACT.format(code), ACT.format("final_answer('**now**')"))
    assert result["answer"] == "**now**" and len(result["cells"]) == 2


def test_who_names_tools_may_end_it_too(stack):
    code = "final_answer('a')"
    result = run(stack, ACT.format(code), tools=["execute_python_code"])
    assert result["answer"] == "a"
    assert "def final_answer(" in told(stack)[0]["content"]


def test_in_tools_mode_there_is_no_such_function(stack):
    stack.model.script([{"tool_calls": [call_of("final_answer(1)")]}, {"text": "so"}])
    result = stack.run(prompt="go")
    assert result["cells"][0]["error"]["name"] == "NameError"
