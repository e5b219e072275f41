"""A real model, served by a real server: tests/real_model/run.

What it writes is its own. What is held to: a call that comes in pieces is run, what
came of it goes back, an answer comes, and nothing that the server said is lost.
"""

import json

import pytest
from recordings import pack
from servers import wait_until
from stack import Stack

from real_model.served import SERVED, calls_of, text_of, usage_of
from real_model.server import MODES, asked, assistant, user

WAIT_S = 240  # on a busy machine it writes two tokens a second
STORY = "Tell me a long story about a mill."


@pytest.fixture(scope="module")
def stack(model, tap):
    builtin = "calculate_math_expression, fetch_url, search_web"
    with Stack(tools_builtin=builtin, profile="science") as stack:
        env = {"OPENAI_BASE_URL": f"{tap.url}/v1", "OPENAI_MODEL": "smollm2"}
        stack.consumer(env=env, backoff="1s")  # the server may have to load
        yield stack


@pytest.fixture
def served(tap):
    """served(): the exchanges of this test."""

    def take():
        new = tap.take()
        SERVED.extend(new)
        return new

    take()
    yield take
    take()


def submit(stack, mode="tools", expression="123456 * 789", **job):
    job.setdefault("messages", asked(mode, expression))
    job.setdefault("tools", ["execute_python_code"] if mode == "tools" else [])
    return stack.submit(kind="conversation", mode=mode, **job)


def check_answer(result, value):
    """The model may print the same figure once more before it answers: how it goes
    on depends on each word of the prompt."""
    assert result["status"] == "completed", result
    assert {cell["stdout"] for cell in result["cells"]} == {f"{value}\n"}
    assert len(result["cells"]) <= 2
    assert value in result["answer"]


def check_usage(result, exchanges):
    said = [usage_of(exchange) for exchange in exchanges]
    usage = result["usage"]
    assert usage["model_calls"] == len(said)
    assert usage["input_tokens"] == sum(u["prompt_tokens"] for u in said)
    assert usage["output_tokens"] == sum(u["completion_tokens"] for u in said)


def check_events(stack, job, exchanges):
    """Contiguous; and what was streamed is what is told, turn by turn."""
    events = stack.check_events(job)
    for turn, exchange in enumerate(exchanges, 1):
        of_turn = [e for e in events if e["data"].get("turn") == turn]
        told = [e["data"]["text"] for e in of_turn if e["type"] == "message.delta"]
        assert "".join(told) == text_of(exchange)


@pytest.mark.parametrize("mode", MODES)
def test_a_conversation_end_to_end(stack, served, mode):
    job = submit(stack, mode)
    result = stack.result(job, WAIT_S)
    check_answer(result, "97406784")
    exchanges = served()
    assert len(exchanges) == len(result["cells"]) + 1
    for exchange in exchanges:
        assert exchange.request["stream"] and exchange.whole
        assert exchange.headers["Content-Type"].startswith("text/event-stream")
        assert len(pack.chunks(exchange.body)) > 5
    check_usage(result, exchanges)
    check_events(stack, job, exchanges)


def test_a_call_in_pieces_is_put_together(stack, served):
    result = stack.result(submit(stack), WAIT_S)
    first, second = served()
    pieces = calls_of(first)
    arguments = "".join(piece["function"].get("arguments", "") for piece in pieces)
    assert len(pieces) > 5
    assert json.loads(arguments) == {"code": result["cells"][0]["code"]}
    call, answer = second.request["messages"][-2:]
    assert call["tool_calls"][0]["id"] == answer["tool_call_id"] == pieces[0]["id"]
    assert call["tool_calls"][0]["function"]["arguments"] == arguments
    assert "97406784" in answer["content"]


def test_several_at_once(stack, served):
    values = {"41 * 271": "11111", "2 ** 20": "1048576"}
    jobs = [(submit(stack, mode, text), text) for text in values for mode in MODES]
    turns = 0
    for job, text in jobs:
        result = stack.result(job, WAIT_S)
        check_answer(result, values[text])
        stack.check_events(job)
        turns += len(result["cells"]) + 1
    assert len(served()) == turns


def test_it_takes_every_tool_of_ours(stack, served):
    """The server makes a grammar of what tools take, or refuses the request."""
    tools = [
        "calculate_math_expression",
        "execute_python_code",
        "fetch_url",
        "search_web",
    ]
    result = stack.result(submit(stack, tools=tools), WAIT_S)
    assert result["status"] in ("completed", "incomplete"), result
    names = [tool["function"]["name"] for tool in served()[0].request["tools"]]
    assert sorted(names) == tools


def test_a_call_that_its_length_cut_is_not_run(stack, served):
    """The server closes no bracket, and nor do we: it is left out, and the model told."""
    result = stack.result(submit(stack, limits={"max_tokens": 26}), WAIT_S)
    assert "cells" not in result and result["usage"]["model_calls"] == 2
    cut, after = served()
    assert calls_of(cut) and usage_of(cut)["completion_tokens"] == 26
    *_, before, told = after.request["messages"]
    assert "maximum length inside a tool call" in told["content"]
    assert "tool_calls" not in before, "it would poison what follows"


def test_the_last_turn_is_without_a_call(stack, served):
    limits = {"max_turns": 1, "max_tokens": 60}
    result = stack.result(submit(stack, limits=limits), WAIT_S)
    assert result["status"] == "incomplete" and len(result["cells"]) == 1
    first, last = served()
    assert first.request["tool_choice"] == "auto"
    assert last.request["tool_choice"] == "none"
    assert result["answer"] == text_of(last) and not calls_of(last)


def test_a_conversation_longer_than_its_window(stack, served):
    """Several times as long, the first time; then the window is known."""
    said = [m for n in range(60) for m in (user(f"{n} " * 60), assistant("yes " * 40))]
    for requests in 2, 1:
        limits = {"max_tokens": 8}
        job = submit(stack, messages=[*said, user("Go on.")], tools=[], limits=limits)
        result = stack.result(job, WAIT_S)
        # Whether so few tokens are enough is the model's to say.
        assert result["status"] in ("completed", "incomplete"), result
        assert result["answer"], result
        assert [e.status for e in served()] == [400, 200][-requests:]
        stack.check_events(job)


def test_who_cancels_ends_the_work(stack, served, model):
    job = submit(stack, messages=[user(STORY)], tools=[])
    stack.wait_event(job, "message.delta", WAIT_S)
    assert model.busy() == 1
    assert stack.call("cancel", job, "enough") == b"asked"
    assert stack.result(job)["status"] == "cancelled"
    wait_until(lambda: model.busy() == 0, WAIT_S, "the server has nothing to do")
    (exchange,) = served()
    assert not exchange.whole and "[DONE]" not in exchange.body


def test_the_server_dies_while_it_answers(stack, served, model, tap):
    """It comes back; the call that was run is not run again."""
    tap.at(b'"delta":{"content":"Python"}', model.kill)
    job = submit(stack)
    assert tap.acted.wait(WAIT_S)
    stack.wait_event(job, "job.retrying", WAIT_S)
    model.start()
    result = stack.result(job, WAIT_S)
    check_answer(result, "97406784")
    assert result["usage"]["repeated_calls"] == 1, "paid for twice, perhaps"
    streams = [e for e in served() if e.status == 200]
    check_usage(result, [e for e in streams if e.whole])
    assert [e.whole for e in streams] == [True, False, True]
    assert stack.types(job).count("tool.started") == 1
    stack.check_events(job)
