"""quern-gateway as OpenAI's chat completions, with a real Redis and a real consumer."""

import base64
import json
import socket
import time

import pytest
from servers import wait_until
from stack import ROOT, call_of

GATEWAY = {"foreground_grace": "200ms"}
PATH = "/v1/chat/completions"
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object"}},
}
ASK = [{"role": "user", "content": "go"}]


def chat(gateway, **request):
    status, answer = gateway.json("POST", PATH, {"messages": ASK, **request})
    assert status == 200, answer
    assert answer["object"] == "chat.completion" and answer["id"].startswith("chatcmpl-")
    [choice] = answer["choices"]
    assert choice["index"] == 0 and choice["message"]["role"] == "assistant"
    return answer, choice["message"], choice["finish_reason"]


def chunks(gateway, **request):
    """The chunks of a stream, each a line of data alone, and [DONE] behind them."""
    body = json.dumps({"messages": ASK, "stream": True, **request})
    # The headers of a chat front end, which the gateway has no use for.
    headers = {
        "content_type": "application/json",
        "x_openwebui_user_name": "Ann",
        "x_openwebui_chat_id": "c1",
        "http_referer": "https://openwebui.com/",
    }
    status, answered, data = gateway.call("POST", PATH, body, **headers)
    assert status == 200 and answered["Content-Type"] == "text/event-stream", data
    *blocks, done, rest = data.decode().split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    lines = [block for block in blocks if block[0] != ":"]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def deltas(all):
    assert {c["object"] for c in all} == {"chat.completion.chunk"}
    assert len({(c["id"], c["created"], c["model"]) for c in all}) == 1
    choices = [choice for chunk in all for choice in chunk["choices"]]
    reasons = [c["finish_reason"] for c in choices]
    assert set(reasons[:-1]) == {None} and reasons[-1], reasons
    assert choices[0]["delta"] == {"role": "assistant", "content": ""}
    return [c["delta"] for c in choices], reasons[-1]


def text_of(parts):
    return "".join(delta.get("content") or "" for delta in parts)


def test_a_plain_chat(gateway, stack):
    stack.model.script([{"text": "Grüße"}])
    messages = [{"role": "system", "content": "Be brief."}, *ASK]
    answer, message, reason = chat(
        gateway, messages=messages, seed=7, stop="END", max_tokens=100_000, n=1, logprobs=False
    )
    assert (message["content"], reason) == ("Grüße", "stop")
    assert "tool_calls" not in message
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0
    asked = stack.model.request()
    assert asked["seed"] == 7 and asked["stop"] in ("END", ["END"])
    assert [m["role"] for m in asked["messages"]][-2:] == ["system", "user"]


def models(gateway):
    status, answer = gateway.json("GET", "/v1/models")
    assert status == 200 and answer["object"] == "list"
    return answer["data"]


def test_models(gateway, stack):
    """Those that consumers report, before any was asked; a chat may name each."""
    for model in wait_until(lambda: models(gateway)):
        assert model["object"] == "model" and model["created"] == 0
        assert gateway.json("GET", f"/v1/models/{model['id']}") == (200, model)
        stack.model.script([{"text": "again"}])
        answer, message, _ = chat(gateway, model=model["id"])
        assert (answer["model"], message["content"]) == (model["id"], "again")


@pytest.mark.parametrize("name", ["gpt-9", "org/gpt-9"])
def test_a_model_that_nobody_has(gateway, name):
    wait_until(lambda: models(gateway))
    status, answer = gateway.json("GET", f"/v1/models/{name}")
    body = {"model": name, "messages": [{"role": "user", "content": "hi"}]}
    assert (status, answer["error"]["code"]) == (404, "model_not_found")
    for path, given in (
        ("/v1/chat/completions", body),
        ("/v1/responses", {"model": name, "input": "hi", "background": True}),
    ):
        status, answer = gateway.json("POST", path, given)
        error = answer["error"]
        assert (status, error["code"], error["param"]) == (404, "model_not_found", "model")
        assert name in error["message"]


def test_a_model_is_taken_while_no_consumer_has_told(gateway, stack):
    """Nobody knows then what there will be: the job waits."""
    stack.db.zadd(f"{ROOT}workers", {"old": time.time() * 1000})
    stack.db.hset(f"{ROOT}worker:old", mapping={"version": "0.0.9", "mode": "serving"})
    given = {"model": "gpt-9", "input": "hi", "background": True}
    try:
        time.sleep(1.1)  # what the gateway remembers is read anew
        status, answer = gateway.json("POST", "/v1/responses", given)
        assert (status, answer["status"]) == (200, "queued")
    finally:
        stack.db.delete(f"{ROOT}worker:old")


SHAPE = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
AS_JSON = {"type": "json_schema", "json_schema": {"name": "x", "schema": SHAPE}}


def test_an_answer_that_had_to_be_mended_is_json(gateway, stack):
    """What did not fit is not a part of it."""
    mended = {"match": "Answer again", "replies": [{"text": '{"a": 1}'}]}
    replies = [mended, {"match": "", "replies": [{"text": "Sure! here it is"}]}]
    stack.model.script(replies)
    message = chat(gateway, response_format=AS_JSON)[1]
    assert json.loads(message["content"]) == {"a": 1}
    stack.model.script(replies)
    parts = deltas(chunks(gateway, response_format=AS_JSON))[0]
    assert json.loads(text_of(parts)) == {"a": 1}


def test_a_text_that_broke_off_is_told_from_the_next(gateway, stack):
    broken = {"text": "forty-one because of " + "that, " * 300, "cut": 6000, "chunk_ms": 5}
    stack.model.script([[broken, {"text": "42."}]])
    asked = [{"role": "user", "content": "Why forty-two?"}]
    text = text_of(deltas(chunks(gateway, messages=asked))[0])
    assert text.startswith("forty-one") and text.endswith("42."), text
    assert "broke off and begins again" in text


def test_an_answer_that_was_cut_off(gateway, stack):
    stack.model.script([{"text": "word"}])
    assert chat(gateway)[2] == "stop"
    assert chat(gateway, max_tokens=9)[2] == "stop"  # it is whole
    assert stack.model.request()["max_tokens"] == 9
    stack.model.script([{"text": "wo", "finish_reason": "length"}])
    assert chat(gateway, max_tokens=9)[2] == "length"
    assert deltas(chunks(gateway, max_tokens=9))[1] == "length"


def test_a_stream_with_code_that_ran(gateway, stack):
    """A client sees texts alone."""
    script = [{"text": "I look.", "tool_calls": [call_of("print(6 * 7)")]}, {"text": "It is 42."}]
    stack.model.script(script)
    all = chunks(gateway, stream_options={"include_usage": True}, features={"voice": False})
    parts, reason = deltas(all)
    assert (text_of(parts), reason) == ("I look.\n\nIt is 42.", "stop")
    assert all[-1]["choices"] == [] and all[-1]["usage"]["total_tokens"] > 0
    assert [c["usage"] for c in all[:-1]] == [None] * (len(all) - 1)
    stack.model.script(script)
    assert chat(gateway)[1]["content"] == "I look.\n\nIt is 42."
    stack.model.script([{"text": "hi"}])
    assert not any("usage" in chunk for chunk in chunks(gateway))


@pytest.mark.parametrize("streams", [True, False])
def test_a_function_there_and_back(gateway, stack, streams):
    call = {"id": "call_1", "name": "get_weather", "arguments": '{"city": "Bonn"}'}
    stack.model.script([{"tool_calls": [call]}, {"text": "Sunny."}])
    if streams:
        parts, reason = deltas(chunks(gateway, tools=[WEATHER]))
        calls = [one for delta in parts for one in delta.get("tool_calls", [])]
        assert [one.pop("index") for one in calls] == [0]
    else:
        _, message, reason = chat(gateway, tools=[WEATHER])
        calls = message["tool_calls"]
        assert message["content"] is None
    assert reason == "tool_calls" and calls[0]["type"] == "function"
    function = calls[0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == (
        *("get_weather", {"city": "Bonn"}),
    )
    answer = {"role": "tool", "tool_call_id": calls[0]["id"], "content": "25 degrees"}
    said = {"role": "assistant", "content": None, "tool_calls": calls}
    _, message, reason = chat(gateway, messages=[*ASK, said, answer], tools=[WEATHER])
    assert (message["content"], reason) == ("Sunny.", "stop")
    last = stack.model.request()["messages"][-1]
    assert (last["role"], last["content"]) == ("tool", "25 degrees")


def test_a_schema(gateway, stack):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    stack.model.script([{"text": '{"a": 1}'}])
    format = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    _, message, _ = chat(gateway, response_format=format)
    assert json.loads(message["content"]) == {"a": 1}


def test_a_file_in_a_message(gateway, stack):
    stack.model.script([{"tool_calls": [call_of("print(open('a.csv').read())")]}, {"text": "ok"}])
    data = base64.b64encode(b"seven,8").decode()
    file = {"filename": "a.csv", "file_data": f"data:text/csv;base64,{data}"}
    content = [{"type": "text", "text": "Read it."}, {"type": "file", "file": file}]
    assert chat(gateway, messages=[{"role": "user", "content": content}])[1]["content"] == "ok"
    assert "seven,8" in json.dumps(stack.model.request()["messages"])


def test_an_end_without_an_answer(gateway, stack):
    stack.model.script([{"status": 400, "error": "no such thing"}])
    status, answer = gateway.json("POST", PATH, {"messages": ASK})
    assert status in (400, 500) and answer["error"]["message"], answer
    stack.model.script([{"status": 400, "error": "no such thing"}])
    last = chunks(gateway)[-1]
    assert last["error"]["message"] and last["error"]["code"]


def test_a_client_that_goes_away_cancels(gateway, stack):
    stack.model.script([{"text": "word " * 100, "chunk_ms": 100}])
    before = jobs(stack)
    for streams in (True, False):
        with socket.create_connection(("127.0.0.1", gateway.port)) as peer:
            body = json.dumps({"messages": ASK, "stream": streams}).encode()
            peer.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            [job] = wait_until(lambda: jobs(stack) - before)
            stack.wait_event(job, "message.delta")
            before.add(job)
        wait_until(lambda: stack.state(job) == "cancelled")


def jobs(stack):
    return {key.decode().rsplit(":", 1)[1] for key in stack.db.scan_iter("quern:*:job:*")}


IMAGE = {"type": "image_url", "image_url": {"url": "ftp://x/a.png"}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
REFUSED = [
    ({"messages": None}, "missing_required_parameter", "messages"),
    ({"messages": []}, "invalid_value", "messages"),
    ({"messages": [{"role": "boss", "content": "x"}]}, "invalid_value", "messages[0].role"),
    (
        {"messages": [*ASK, {"role": "user", "content": [IMAGE]}]},
        *("invalid_value", "messages[1].content[0].image_url.url"),
    ),
    (
        # The second message is two items, so the third is the fourth item.
        {
            "messages": [
                *ASK,
                {"role": "assistant", "content": "so", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "x"},
                {"role": "user", "content": [{"type": "text", "text": 7}]},
            ]
        },
        *("invalid_type", "messages[3].content[0].text"),
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
        *("invalid_value", "messages[0].content[0].type"),
    ),
    ({"n": 2}, "unsupported_parameter", "n"),
    ({"logprobs": True}, "unsupported_parameter", "logprobs"),
    ({"audio": {"voice": "x"}}, "unsupported_parameter", "audio"),
    ({"modalities": ["text", "audio"]}, "unsupported_parameter", "modalities[1]"),
    ({"functions": [{"name": "f"}]}, "unsupported_parameter", "functions"),
    ({"temperature": 3}, "invalid_value", "temperature"),
    ({"presence_penalty": 3}, "invalid_value", "presence_penalty"),
    ({"stop": ["a", ""]}, "invalid_value", "stop[1]"),
    ({"max_tokens": 0}, "invalid_value", "max_tokens"),
    ({"reasoning_effort": "much"}, "invalid_value", "reasoning_effort"),
    ({"response_format": {"type": "xml"}}, "invalid_value", "response_format.type"),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
        *("missing_required_parameter", "response_format.json_schema.schema"),
    ),
    (
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        *("invalid_value", "tools[0].function.name"),
    ),
    ({"tools": [{"type": "mcp"}]}, "invalid_value", "tools[0].type"),
    ({"stream_options": {}}, "invalid_value", "stream_options"),
]


@pytest.mark.parametrize(("request_", "code", "param"), REFUSED)
def test_what_is_refused(gateway, request_, code, param):
    body = {"messages": ASK, **request_}
    assert gateway.refusal("POST", PATH, body) == (400, code, param)
    message = gateway.json("POST", PATH, body)[1]["error"]["message"]
    assert message.startswith(f"{param} ")
