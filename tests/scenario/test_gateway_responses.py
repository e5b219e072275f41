"""quern-gateway as OpenAI's Responses API, with a real Redis and a real consumer.
(tests/clients does the same with the official clients.)"""

import base64
import json
import os
import socket
import ssl
import subprocess
import threading
import time

import pytest
from gateway import Gateway
from held_redis import HeldRedis
from servers import binary, wait_until
from stack import ROOT, call_of

GATEWAY = {"foreground_grace": "200ms"}
CODE = {"type": "code_interpreter", "container": {"type": "auto"}}
PATTERN = {"type": "object", "properties": {"a": {"pattern": "x"}}}
WEATHER = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}


def create(gateway, status=200, **request):
    got, answer = gateway.json("POST", "/v1/responses", request)
    assert got == status, answer
    return answer


def events_of(data):
    """The events of a stream; each type twice, as its line and in its data."""
    events = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and line[0] != ":"]
        if not lines or lines == ["data: [DONE]"]:
            continue
        type, text = lines
        event = json.loads(text.removeprefix("data: "))
        assert type == f"event: {event['type']}"
        events.append(event)
    assert data.endswith(b"data: [DONE]\n\n")
    numbers = [event["sequence_number"] for event in events]
    assert numbers == sorted(set(numbers))
    return events


def stream(gateway, method, path, body=None):
    text = json.dumps(body) if body else None
    status, headers, data = gateway.call(
        method, path, text, **({"content_type": "application/json"} if body else {})
    )
    assert status == 200 and headers["Content-Type"] == "text/event-stream", data
    assert headers["x-request-id"].startswith("req_")
    return events_of(data)


def ended(gateway, id):
    def found():
        status, answer = gateway.json("GET", f"/v1/responses/{id}")
        assert status == 200
        return answer if answer["status"] not in ("queued", "in_progress") else None

    return wait_until(found)


def texts(response):
    return [
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    ]


def test_a_plain_response(gateway, stack):
    stack.model.script([{"text": "Grüße"}])
    answer = create(gateway, input="hello", instructions="Be brief.", temperature=0.5)
    assert (answer["status"], texts(answer)) == ("completed", ["Grüße"])
    assert answer["instructions"] == "Be brief." and answer["temperature"] == 0.5
    assert answer["usage"]["total_tokens"] > 0
    messages = stack.model.request()["messages"]
    assert [m["role"] for m in messages] == ["system", "user"]
    assert "tools" not in stack.model.request()
    again = gateway.json("GET", f"/v1/responses/{answer['id']}")
    assert again == (200, answer)


def test_a_stream_is_the_same_at_every_gateway(gateway, stack):
    stack.model.script(
        [{"text": "I see.", "tool_calls": [call_of("print(42)")]}, {"text": "42"}]
    )
    request = {"input": "go", "tools": [CODE], "stream": True}
    events = stream(gateway, "POST", "/v1/responses", request)
    types = [e["type"].removeprefix("response.") for e in events]
    assert types[:2] == ["created", "in_progress"] and types[-1] == "completed"
    added = [e["item"]["type"] for e in events if e["type"].endswith("item.added")]
    assert added == ["message", "code_interpreter_call", "message"]
    last = events[-1]["response"]
    path = f"/v1/responses/{last['id']}"
    assert gateway.json("GET", path) == (200, last)
    with Gateway(stack.redis.url) as other:
        other.ready()
        assert stream(other, "GET", f"{path}?stream=true") == events
        at = events[9]["sequence_number"]
        rest = stream(other, "GET", f"{path}?stream=true&starting_after={at}")
        assert rest == events[10:]
        other.drain()


FACTS_ASKED = b"finished_at\r\n$10\r\nerror_code"
RESULT_ASKED = b":result:"


@pytest.mark.parametrize("asked", [FACTS_ASKED, RESULT_ASKED], ids=["facts", "result"])
def test_a_stream_has_its_true_end_though_redis_was_away_just_then(stack, asked):
    stack.model.script([{"text": "Here."}])
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as gateway:
        gateway.ready()
        way.lose(asked)
        seen = stream(
            gateway, "POST", "/v1/responses", {"input": "end", "stream": True}
        )
        assert way.lost.is_set()
        last = seen[-1]
        assert last["type"] == "response.completed", last
        assert last["response"]["usage"]["output_tokens"] > 0
        assert texts(last["response"]) == ["Here."]
        gateway.drain()


def test_a_client_that_reads_slowly_gets_a_long_answer(gateway, stack):
    """Its last events have the whole text, four times: all at once."""
    stack.model.script([{"text": "long " * 60000}])
    body = json.dumps({"input": "hi", "stream": True})
    head = f"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(60)
        peer.connect(("127.0.0.1", gateway.port))
        peer.sendall(f"POST /v1/responses HTTP/1.1\r\n{head}\r\n\r\n{body}".encode())
        time.sleep(3)
        got = b""
        while not got.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n"):
            piece = peer.recv(65536)
            assert piece, "it was cut"
            got += piece
    assert got.count(b"long " * 59999) == 4 and b"event: response.completed" in got


def test_a_response_in_the_background_is_resumed_and_cancelled(gateway, stack):
    stack.model.script([{"text": "word " * 40, "chunk_ms": 100}])
    first = create(gateway, input="go", background=True)
    assert first["status"] in ("queued", "in_progress") and first["background"]
    job = job_of(first)
    stack.wait_event(job, "message.delta")
    status, now = gateway.json("POST", f"/v1/responses/{first['id']}/cancel", {})
    assert status == 200 and now["status"] in ("in_progress", "cancelled")
    assert ended(gateway, first["id"])["status"] == "cancelled"
    events = stream(gateway, "GET", f"/v1/responses/{first['id']}?stream=true")
    assert events[0]["response"]["status"] == "queued"
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["status"] == "cancelled"


def job_of(response):
    digits = response["id"].removeprefix("resp_")
    return "-".join(
        [digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]
    )


def test_a_response_goes_on_from_another(gateway, stack):
    stack.model.script([{"text": "one"}])
    first = create(gateway, input="a", instructions="Old.")
    for word in ("two", "three"):
        stack.model.script([{"text": word}])
        next = create(gateway, input="b", previous_response_id=first["id"])
        assert texts(next) == [word]
        assert next["previous_response_id"] == first["id"]
        said = [(m["role"], m["content"]) for m in stack.model.request()["messages"]]
        assert said[-3:] == [("user", "a"), ("assistant", "one"), ("user", "b")]
        assert ("system", "Old.") not in said


def test_what_a_response_was_given(gateway, stack):
    stack.model.script([{"text": "one"}])
    first = create(gateway, input="a", instructions="Old.")["id"]
    stack.model.script([{"text": "two"}])
    given = [{"role": "user", "content": "b"}, {"role": "user", "content": "c"}]
    second = create(gateway, input=given, previous_response_id=first)["id"]
    path = f"/v1/responses/{second}/input_items"
    status, all = gateway.json("GET", f"{path}?order=asc")
    assert status == 200 and all["object"] == "list" and all["has_more"] is False
    assert [(i["role"], i["content"][0]["text"]) for i in all["data"]] == [
        *(("user", "a"), ("assistant", "one"), ("user", "b"), ("user", "c"))
    ]
    ids = [item["id"] for item in all["data"]]
    assert len(set(ids)) == 4 and all["first_id"] == ids[0]
    # Newest first, page by page, as the clients' cursors go.
    seen, after = [], ""
    while True:
        page = gateway.json("GET", f"{path}?limit=3{after}")[1]
        seen += [item["id"] for item in page["data"]]
        after = f"&after={page['last_id']}"
        if not page["has_more"]:
            break
    assert seen == ids[::-1]
    for query, param in [("limit=0", "limit"), ("after=x", "after"), ("order=x", "order")]:
        assert gateway.refusal("GET", f"{path}?{query}") == (400, "invalid_value", param)
    assert gateway.refusal("GET", "/v1/responses/resp_7/input_items")[0] == 404


def test_a_stream_whose_events_have_expired(gateway, stack):
    """From the result: the same items, with the same ids, in the same order."""
    stack.model.script(
        [{"text": "I look.", "tool_calls": [call_of("print(7)")]}, {"text": "It is 7."}]
    )
    id = create(gateway, input="go", tools=[CODE], background=True)["id"]
    assert ended(gateway, id)["status"] == "completed"
    path = f"/v1/responses/{id}?stream=true&include_obfuscation=false"
    before = stream(gateway, "GET", path)
    stack.db.delete(f"quern:{{000}}:events:{job_of({'id': id})}")
    after = stream(gateway, "GET", path)
    items = [
        [(e["output_index"], e["item"]["id"]) for e in events if e["type"] == added]
        for events in (before, after)
        for added in ("response.output_item.added", "response.output_item.done")
    ]
    assert items[0] == items[2] and items[1] == items[3] and len(items[0]) > 1
    assert before[-1]["response"] == after[-1]["response"]
    assert [e["type"] for e in after[:2]] == ["response.created", "response.queued"]


def test_a_chain_that_is_longer_than_a_job_may_be(gateway, stack):
    id = None
    for n in range(4):
        stack.model.script([{"text": f"answer {n}"}])
        answer = create(gateway, input="x" * 150_000, previous_response_id=id)
        assert texts(answer) == [f"answer {n}"]
        id = answer["id"]
    assert stack.model.request()["messages"][-2]["content"] == "answer 2"


def test_a_response_that_is_not_stored(gateway, stack):
    stack.model.script([{"text": "one"}])
    id = create(gateway, input="a", store=False)["id"]
    assert gateway.refusal("GET", f"/v1/responses/{id}")[0] == 404
    assert gateway.refusal(
        "POST", "/v1/responses", {"input": "b", "previous_response_id": id}
    ) == (400, "previous_response_not_found", "previous_response_id")


def test_functions_of_the_caller(gateway, stack):
    ask = {"id": "w", "name": "get_weather", "arguments": '{"city": "Ulm"}'}
    stack.model.script([{"tool_calls": [ask]}])
    first = create(gateway, input="go", tools=[WEATHER])
    [call] = first["output"]
    assert (call["type"], call["call_id"], call["name"]) == (
        "function_call",
        "w",
        "get_weather",
    )
    stack.model.script([{}, {"text": "Rain."}])
    output = {"type": "function_call_output", "call_id": "w", "output": "rain"}
    second = create(
        gateway, input=[output], tools=[WEATHER], previous_response_id=first["id"]
    )
    assert texts(second) == ["Rain."]
    stack.model.script([{}, {"text": "Rain."}])
    whole = [{"role": "user", "content": "go"}, call, output]
    assert texts(create(gateway, input=whole, tools=[WEATHER])) == ["Rain."]
    status, answer = gateway.json(
        "POST", "/v1/responses", {"input": "b", "previous_response_id": first["id"]}
    )
    assert status == 400 and '"w"' in answer["error"]["message"]


def test_a_file_that_code_left_is_cited(gateway, stack):
    code = "open('out.csv', 'w').write('a')"
    stack.model.script([{"tool_calls": [call_of(code)]}, {"text": "See out.csv"}])
    answer = create(gateway, input="go", tools=[CODE])
    [code_item, message] = answer["output"]
    assert code_item["container_id"].startswith("cntr_")
    [cited] = message["content"][0]["annotations"]
    assert cited["type"] == "container_file_citation"
    assert (cited["filename"], cited["start_index"], cited["end_index"]) == (
        "out.csv",
        4,
        11,
    )
    assert cited["container_id"] == code_item["container_id"]


def test_a_file_in_a_request_reaches_the_code(gateway, stack):
    data = base64.b64encode(b"42").decode()
    code = "print(open('a.csv').read())"
    for _ in range(2):  # the second time its blob is there already
        stack.model.script([{"tool_calls": [call_of(code)]}, {"text": "See it"}])
        file = {"type": "input_file", "filename": "a.csv", "file_data": data}
        answer = create(
            gateway,
            input=[
                {"role": "user", "content": [{"type": "input_text", "text": "?"}, file]}
            ],
            tools=[CODE],
            include=["code_interpreter_call.outputs"],
        )
        [logs] = answer["output"][0]["outputs"]
        assert logs["logs"] == "42\n"


def test_a_response_in_progress_is_not_deleted_nor_gone_on_from(gateway, stack):
    stack.model.script([{"text": "word " * 50, "chunk_ms": 100}])
    running = create(gateway, input="a", background=True)
    path = f"/v1/responses/{running['id']}"
    assert gateway.refusal("DELETE", path)[:2] == (409, "response_in_progress")
    body = {"input": "b", "previous_response_id": running["id"]}
    refused = gateway.refusal("POST", "/v1/responses", body)
    assert refused == (400, "response_in_progress", "previous_response_id")
    gateway.json("POST", f"{path}/cancel")
    stack.result(job_of(running))
    assert gateway.json("DELETE", path)[0] == 200


def test_what_is_deleted_is_forgotten_in_one_step(stack):
    """A client that repeats it after a lost answer finds the same."""
    stack.model.script([{"text": "secret"}])
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as gateway:
        gateway.ready()
        made = create(gateway, input="a")
        way.lose(b"quern_v1_remove")
        assert gateway.refusal("DELETE", f"/v1/responses/{made['id']}")[0] == 503
        wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
        assert gateway.json("DELETE", f"/v1/responses/{made['id']}")[0] == 200
        assert not stack.db.keys(f"{ROOT}*{job_of(made)}")
        gateway.drain()


def test_a_submit_whose_answer_is_lost_may_have_been_made(stack):
    stack.model.script([{"text": "made"}])
    with HeldRedis(stack.redis.socket) as way, Gateway(way.url) as gateway:
        gateway.ready()
        way.lose(b"quern_v1_submit")
        status, answer = gateway.json("POST", "/v1/responses", {"input": "a"})
        assert (status, answer["error"]["code"]) == (503, "unknown_outcome")
        assert "Redis at" not in answer["error"]["message"]
        wait_until(lambda: gateway.call("GET", "/readyz")[0] == 200)
        gateway.drain()


def test_a_key_of_another_request_is_refused(gateway, stack):
    stack.model.script([{"text": "one"}] * 3)
    key = {"content_type": "application/json", "idempotency_key": "reused"}
    first = gateway.json("POST", "/v1/responses", {"input": "a"}, **key)[1]
    again = gateway.json("POST", "/v1/responses", {"input": "a"}, **key)[1]
    assert first["id"] == again["id"]
    for path, body in (
        ("/v1/responses", {"input": "b"}),
        ("/v1/responses", {"input": "a", "instructions": "x"}),
        ("/v1/chat/completions", {"model": "default", "messages": [{"role": "user", "content": "a"}]}),
    ):
        status, answer = gateway.json("POST", path, body, **key)
        assert (status, answer["error"]["code"]) == (409, "idempotency_key_reused"), answer


def test_an_answer_that_had_to_be_mended_is_json(gateway, stack):
    shape = {"type": "object", "properties": {"a": {"type": "integer"}}}
    text = {"format": {"type": "json_schema", "name": "x", "schema": shape}}
    mended = {"match": "Answer again", "replies": [{"text": '{"a": 1}'}]}
    replies = [mended, {"match": "", "replies": [{"text": "Sure! here it is"}]}]
    stack.model.script(replies)
    whole = create(gateway, input="a", text=text)
    assert texts(whole) == ['{"a": 1}']
    stack.model.script(replies)
    body = {"input": "a", "text": text, "stream": True}
    last = stream(gateway, "POST", "/v1/responses", body)[-1]
    assert last["type"] == "response.completed" and texts(last["response"]) == ['{"a": 1}']


def test_a_body_of_very_many_values_is_refused_before_it_is_read(gateway):
    body = b'{"input": [' + b"{}," * 400_000 + b"{}]}"
    status, _, answer = gateway.call("POST", "/v1/responses", body, content_type="application/json")
    assert status == 400 and b"values, at most 100000" in answer


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_a_job_that_redis_has_lost_is_no_answer(gateway, stack, path):
    """A restart without its last writes, say. A client sends the request again."""
    body = {"model": "default", "input": "a"}
    if path.endswith("completions"):
        body = {"model": "default", "messages": [{"role": "user", "content": "a"}]}
    stack.model.script([{"text": "word " * 100, "chunk_ms": 100}])
    before = set(stack.db.keys(f"{ROOT}job:*"))
    answers = []
    asked = [{}, {"stream": True}]
    threads = [
        threading.Thread(
            target=lambda more=more: answers.append(
                gateway.call("POST", path, json.dumps({**body, **more}), content_type="application/json")
            )
        )
        for more in asked
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(set(stack.db.keys(f"{ROOT}job:*")) - before) == 2)
    time.sleep(0.5)
    for job in set(stack.db.keys(f"{ROOT}job:*")) - before:
        id = job.decode().rpartition(":")[2]
        stack.db.delete(*stack.db.keys(f"{ROOT}*{id}"))
    for thread in threads:
        thread.join()
    [whole] = [data for status, _, data in answers if status == 503]
    [streamed] = [data for status, _, data in answers if status == 200]
    assert json.loads(whole)["error"]["code"] == "job_lost"
    assert b'"job_lost"' in streamed and b"[DONE]" not in streamed, streamed[-300:]


@pytest.mark.parametrize("status", [401, 403])
def test_a_model_that_refuses_quern_is_no_fault_of_the_client(gateway, stack, status):
    """Nor does the client see what the endpoint says of the operator's key."""
    refusal = {"status": status, "body": {"error": {"message": "Incorrect key sk-secret123"}}}
    stack.model.script([refusal])
    error = create(gateway, input=f"who are you {status}")["error"]
    assert error["code"] == "server_error" and "sk-secret" not in error["message"], error
    stack.model.script([{**refusal, "status": 400}])
    error = create(gateway, input="who are you")["error"]
    assert error["code"] == "invalid_prompt", error


def test_a_list_in_a_query_comes_member_by_member(gateway, stack):
    stack.model.script([{"text": "one"}])
    id = create(gateway, input="a")["id"]
    query = "include[]=a&include[]=b"
    assert gateway.json("GET", f"/v1/responses/{id}?{query}")[1]["id"] == id
    assert gateway.json("GET", f"/v1/responses/{id}/input_items?{query}")[0] == 200
    assert gateway.refusal("GET", f"/v1/responses/{id}?stream=false&stream=true")[0] == 400


def test_a_body_in_another_encoding(gateway):
    given = {"content_type": "application/json", "content_encoding": "gzip"}
    status, _, body = gateway.call("POST", "/v1/responses", b'{"input": "a"}', **given)
    assert status == 415 and b"Content-Encoding" in body


def test_a_nul_is_named(gateway):
    status, _, body = gateway.call(
        "POST", "/v1/responses", b'{"input": "a\\u0000"}', content_type="application/json"
    )
    message = json.loads(body)["error"]["message"]
    assert status == 400 and "\\u0000" in message and "JSON_ALLOW" not in message


def test_a_large_image_is_taken(gateway, stack):
    """A photograph as base64."""
    stack.model.script([{"text": "seen"}])
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG" + bytes(8 << 20)).decode()
    parts = [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": url}]
    create(gateway, input=[{"role": "user", "content": parts}])


def test_a_response_that_was_deleted_is_unknown(gateway, stack):
    stack.model.script([{"text": "one"}])
    id = create(gateway, input="a")["id"]
    assert gateway.json("DELETE", f"/v1/responses/{id}") == (
        200,
        {"id": id, "object": "response", "deleted": True},
    )
    for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/cancel")]:
        assert gateway.refusal(method, f"/v1/responses/{id}{path}")[0] == 404
    with Gateway(stack.redis.url, open="other") as other:
        other.ready()
        stack.model.script([{"text": "two"}])
        mine = create(gateway, input="a")["id"]
        status, code, param = other.refusal(
            "POST", "/v1/responses", {"input": "b", "previous_response_id": mine}
        )
        assert (status, code, param) == (
            400,
            "previous_response_not_found",
            "previous_response_id",
        )
        other.drain()


def test_a_client_that_goes_away_cancels(gateway, stack):
    stack.model.script([{"text": "word " * 100, "chunk_ms": 100}])
    before = jobs(stack)
    for streams in (True, False):
        with socket.create_connection(("127.0.0.1", gateway.port)) as peer:
            body = json.dumps({"input": "go", "stream": streams}).encode()
            peer.sendall(
                b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
            )
            [job] = wait_until(lambda: jobs(stack) - before)
            stack.wait_event(job, "message.delta")
            before.add(job)
        wait_until(lambda: stack.state(job) == "cancelled")


def jobs(stack):
    prefix = f"{ROOT}asked:"
    return {
        key.decode().removeprefix(prefix) for key in stack.db.scan_iter(f"{prefix}*")
    }


FUNCTION = {"type": "function", "name": "f"}
REFUSED = [
    ({}, "missing_required_parameter", "input"),
    ({"input": "a", "tools": [{**FUNCTION, "parameter": {}}]}, *("unknown_parameter", "tools[0].parameter")),
    ({"input": "a", "tools": [{"type": "functoin"}]}, *("invalid_value", "tools[0].type")),
    (
        {"input": "a", "tools": [{**CODE, "container": {"type": "auto", "skills": []}}]},
        *("unknown_parameter", "tools[0].container.skills"),
    ),
    (
        {"input": "a", "text": {"format": {"type": "json_schema", "name": "x", "schema": PATTERN}}},
        *("invalid_json_schema", "text.format.schema"),
    ),
    ({"input": "a", "x" * 300: 1}, "unknown_parameter", None),
    ({"input": 7}, "invalid_type", "input"),
    ({"input": [{"role": "boss", "content": "x"}]}, "invalid_value", "input[0].role"),
    (
        {"input": [{"role": "user", "content": [{"type": "input_audio"}]}]},
        "invalid_value",
        "input[0].content[0].type",
    ),
    (
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        "invalid_value",
        "input[0].id",
    ),
    ({"input": "x", "temperature": 3}, "invalid_value", "temperature"),
    ({"input": "x", "temperature": "hot"}, "invalid_type", "temperature"),
    ({"input": "x", "max_output_tokens": 1}, "invalid_value", "max_output_tokens"),
    ({"input": "x", "prompt": {"id": "p"}}, "unsupported_parameter", "prompt"),
    (
        {"input": "x", "tools": [{"type": "code_interpreter"}]},
        "missing_required_parameter",
        "tools[0].container",
    ),
    ({"input": "x", "tool_choice": {"type": "mcp"}}, "invalid_value", None),
    ({"input": "x", "text": {"format": {"type": "xml"}}}, "invalid_value", None),
    ({"input": "x", "metadata": {"a": 1}}, "invalid_type", "metadata.a"),
    ({"input": "x", "background": True, "store": False}, "invalid_value", "store"),
    ({"input": "x", "conversation": "conv_1"}, "invalid_value", "conversation"),
    (
        {"input": "x", "previous_response_id": "resp_7"},
        "previous_response_not_found",
        "previous_response_id",
    ),
]


@pytest.mark.parametrize("request_, code, param", REFUSED)
def test_bad_requests(gateway, request_, code, param):
    got = gateway.refusal("POST", "/v1/responses", request_)
    assert got[:2] == (400, code) and (param is None or got[2] == param)


def test_null_is_the_same_as_absent(gateway, stack):
    stack.model.script([{"text": "x"}])
    names = "instructions tools tool_choice temperature metadata text include stream"
    nothing = dict.fromkeys(names.split())
    assert texts(create(gateway, input="x", **nothing)) == ["x"]


@pytest.mark.parametrize(
    "headers, status",
    [
        ({}, 400),
        ({"host": "localhost:8088"}, 400),
        ({"host": "127.0.0.1"}, 400),
        ({"host": "[::1]:8088"}, 400),
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:8088"}, 403),
        ({"host": "abc.de"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_an_open_gateway_serves_no_web_page(gateway, headers, status):
    """A browser on this host shows pages of others, which may reach loopback."""
    headers = {"content_type": "application/json", **headers}
    got, _, _ = gateway.call("POST", "/v1/responses", "{}", **headers)
    assert got == status


def test_a_file_at_the_path_of_the_socket_stays(stack, tmp_path):
    path = tmp_path / "precious"
    path.write_text("data")
    ended = subprocess.run(
        [binary("quern-gateway"), "--listen", f"unix:{path}"],
        env={**os.environ, "REDIS_URL": stack.redis.url},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 69 and str(path) in ended.stderr
    assert path.read_text() == "data"


def test_a_container_has_a_name_of_bounded_length(gateway):
    request = {"input": "x", "tools": [{**CODE, "container": "c" * 65}]}
    status, _, param = gateway.refusal("POST", "/v1/responses", request)
    assert (status, param) == (400, "tools")


def test_over_tls(stack, tmp_path):
    """And HUP reads the certificate again."""
    pem = tmp_path / "both.pem"
    make_certificate(pem, "one")
    with Gateway(stack.redis.url, tls_certificate=str(pem)) as gateway:
        gateway.ready()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

        def served():
            with socket.create_connection(("127.0.0.1", gateway.port)) as plain:
                with context.wrap_socket(plain) as peer:
                    peer.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
                    assert peer.recv(99).startswith(b"HTTP/1.1 200")
                    return peer.getpeercert(binary_form=True)

        first = served()
        pem.write_text("half")
        gateway.child.send_signal(1)
        gateway.wait_for("tls.refused")
        assert served() == first
        make_certificate(pem, "two")
        gateway.child.send_signal(1)
        gateway.wait_for("tls.reloaded")
        assert served() != first
        gateway.drain()


def make_certificate(path, name):
    key, certificate = path.with_suffix(".key"), path.with_suffix(".crt")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
        + ["-subj", f"/CN={name}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    path.write_text(certificate.read_text() + key.read_text())
