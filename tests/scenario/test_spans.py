"""What jobs do is told as spans: one trace a job, a root an attempt, and in it
turns, requests, calls of tools and cells; a strict collector reads them."""

import json
import re
import signal

import msgpack
import pytest
from otlp_sink import CLIENT, CONSUMER, INTERNAL, Sink, tree
from servers import wait_until
from stack import ROOT, Stack, call_of
from web import Web

PRODUCER = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{PRODUCER}-{PARENT}-01"
STATE = "congo=t61"
PARAMETERS = {"type": "object", "properties": {"what": {"type": "string"}}}
TOOLS = ["execute_python_code", "look", "broken"]


class Shop(Web):
    """A company's API: look works, broken does not."""

    def answer(self, asked):
        status = 500 if asked.path == "/broken" else 200
        return status, b'{"is": "in stock"}', {"Content-Type": "application/json"}

    def parents(self, path):
        """Trace and span that requests there were said to belong to."""
        found = []
        for asked in self.asked:
            headers = {name.lower(): value for name, value in asked.headers.items()}
            if asked.path == path:
                found.append((headers.get("traceparent"), headers.get("tracestate")))
        return found


@pytest.fixture(scope="module")
def shop():
    with Shop() as shop:
        yield shop


@pytest.fixture(scope="module")
def tools(shop, tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "tools.json"
    path.write_text(
        json.dumps(
            {
                "look": {"url": shop.url + "/look", "parameters": PARAMETERS},
                "broken": {"url": shop.url + "/broken", "parameters": PARAMETERS},
                "risky": {
                    "url": shop.url + "/risky",
                    "parameters": PARAMETERS,
                    "approve": True,
                },
            }
        )
    )
    return path


@pytest.fixture
def sink():
    with Sink() as sink:
        yield sink
        sink.check()


@pytest.fixture
def stack(tools):
    with Stack(tools=tools) as stack:
        yield stack


def traced(stack, sink, **settings):
    env = {**sink.env, **settings.pop("env", {})}
    return stack.consumer(env=env, **settings)


def says(stack, *replies):
    stack.model.script([{"match": "", "replies": [*replies]}])


def calls(name, id="c1", **arguments):
    return {"id": id, "name": name, "arguments": json.dumps(arguments)}


def drained(consumer):
    """Until it has left: its last spans are sent first."""
    consumer.signal(signal.SIGTERM)
    assert consumer.wait() == 0, consumer.text()[-2000:]


def one(spans, name):
    [span] = [span for span in spans if span.name == name]
    return span


def test_a_job_is_a_tree(stack, sink, shop):
    consumer = traced(stack, sink)
    code = "print(look(what='tea')['is'])"
    says(
        stack,
        {"text": "Well,", "tool_calls": [call_of(code), calls("look", "c2")]},
        {"text": "It is.", "usage": {"prompt_tokens": 20, "completion_tokens": 3}},
    )
    job = stack.submit(
        prompt="Is there tea?",
        traceparent=TRACEPARENT,
        tracestate=STATE,
        session="ann",
        tenant="tea-house",
    )
    assert stack.result(job)["status"] == "completed"
    drained(consumer)
    spans = sink.of(job)
    python = ("execute_tool execute_python_code", [("quern.cell", [("execute_tool look", [])])])
    assert tree(spans) == [
        (
            "process default",
            [
                ("invoke_agent", [("chat practice", []), python, ("execute_tool look", [])]),
                ("invoke_agent", [("chat practice", [])]),
            ],
        )
    ]
    root = spans[0]
    assert root.kind == CONSUMER and not root.failed
    expected = {
        "messaging.system": "quern",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.destination.partition.id": "0",
        "messaging.message.id": job,
        "quern.tenant": "tea-house",
        "gen_ai.conversation.id": "ann",
        "quern.job.kind": "conversation",
        "quern.job.attempt": 1,
        "quern.job.outcome": "completed",
    }
    assert root.attributes == expected
    [link] = root.links
    assert (link["traceId"], link["spanId"], link["traceState"]) == (PRODUCER, PARENT, STATE)
    chat = [span for span in spans if span.name == "chat practice"][-1]
    assert chat.kind == CLIENT
    assert 0 < chat.attributes.pop("gen_ai.response.time_to_first_chunk") < 60
    assert chat.attributes.pop("server.port") > 0
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "ann",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "practice",
        "quern.endpoint": "default",
        "server.address": "127.0.0.1",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 3,
    }
    called = one(spans, "execute_tool execute_python_code")
    assert called.kind == INTERNAL
    assert called.attributes["gen_ai.tool.call.id"] == "c1"
    assert one(spans, "quern.cell").attributes["quern.cell.outcome"] == "ok"
    for span in spans[1:]:
        [above] = [other for other in spans if other.id == span.parent]
        assert above.begin <= span.begin <= span.end <= above.end, (above, span)


def test_a_request_belongs_to_its_span(stack, sink, shop):
    consumer = traced(stack, sink)
    says(stack, {"tool_calls": [calls("look")]}, {"text": "done"})
    before = len(shop.parents("/look"))
    job = stack.submit(prompt="go", traceparent=TRACEPARENT, tracestate=STATE)
    without = stack.submit(prompt="go")
    for submitted in (job, without):
        assert stack.result(submitted)["status"] == "completed"
    drained(consumer)
    span = one(sink.of(job), "execute_tool look")
    expected = f"00-{job.replace('-', '')}-{span.id}-01"
    # The state is of the producer's trace, and the other job has no header.
    assert sorted(shop.parents("/look")[before:], key=str) == [(expected, None), (None, None)]
    assert one(sink.of(without), "execute_tool look")


def test_the_log_names_the_producers_trace(stack, sink):
    consumer = traced(stack, sink)
    job = stack.submit(kind="code", cells=[""], traceparent=TRACEPARENT)
    stack.result(job)
    drained(consumer)
    lines = [json.loads(s) for s in consumer.text().splitlines() if job in s]
    assert lines and {line["trace"] for line in lines} == {PRODUCER}


def test_a_job_of_cells_has_no_turns(stack, sink):
    consumer = traced(stack, sink)
    job = stack.submit(kind="code", cells=["1", "2", "1/0"])
    assert stack.result(job)["status"] == "failed"
    empty = stack.submit(kind="code", cells=[""])
    assert stack.result(empty)["status"] == "completed"
    drained(consumer)
    spans = sink.of(job)
    assert tree(spans) == [("process default", [("quern.cell", [])] * 3)]
    assert [s.attributes["quern.cell.outcome"] for s in spans[1:]] == ["ok", "ok", "error"]
    assert [s.failed for s in spans] == [True, False, False, True]
    assert spans[0].attributes["error.type"] == "cell_failed"
    assert tree(sink.of(empty)) == [("process default", [])]


def test_an_attempt_that_takes_over_links_to_the_one_before(stack, sink):
    """The first consumer is killed in its second request. What had ended until
    then may be told; its root is not, but the second one links to it."""
    traced(stack, sink)
    slow = {"text": "one", "first_ms": 600000}
    says(stack, {"tool_calls": [calls("look")]}, slow)
    job = stack.submit(prompt="go")
    wait_until(lambda: any(s.name == "chat practice" for s in sink.of(job)), what="a chat")
    told = sink.of(job)
    stack.consumers[0].kill()
    says(stack, {"tool_calls": [calls("look")]}, {"text": "done"})
    second = traced(stack, sink)
    assert stack.result(job)["status"] == "completed"
    drained(second)
    spans = sink.of(job)
    root = one(spans, "process default")
    assert root.attributes["quern.job.attempt"] == 2
    [link] = root.links
    records = [msgpack.unpackb(r) for r in stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)]
    first = records[0]["span"]
    assert link["spanId"] == first != root.id and link["traceId"] == root.trace
    assert {r["span"] for r in records} == {first, root.id}
    above = {s.parent for s in told if s.name == "invoke_agent"}
    assert above <= {first}
    assert one([s for s in spans if s.parent == root.id], "invoke_agent")


def test_a_wait_for_a_person_is_no_span(stack, sink):
    consumer = traced(stack, sink)
    says(stack, {"tool_calls": [calls("risky", what="tea")]}, {"text": "done"})
    job = stack.submit(prompt="go")
    wait_until(lambda: stack.facts(job).get("reason") == "approval", what="a question")
    first = one(sink.wait_for(job), "process default")
    assert first.attributes["quern.job.outcome"] == "approval" and not first.failed
    assert stack.call("approve", job, "approve", "", "", "") == b"queued"
    assert stack.result(job)["status"] == "completed"
    drained(consumer)
    spans = sink.of(job)
    assert tree(spans) == [
        ("process default", [("invoke_agent", [("chat practice", [])])]),
        (
            "process default",
            [
                ("invoke_agent", [("execute_tool risky", [])]),
                ("invoke_agent", [("chat practice", [])]),
            ],
        ),
    ]
    second = [s for s in spans if s.parent is None][1]
    assert [link["spanId"] for link in second.links] == [first.id]
    assert second.begin >= first.end


def test_failures_are_told_by_their_codes(stack, sink):
    consumer = traced(stack, sink, max_attempts=2)
    says(
        stack,
        [{"status": 503, "error": "busy"}, {"tool_calls": [calls("broken")]}],
        {"tool_calls": [calls("a_tool_of_its_own_making", what="x")]},
        {"text": "done"},
    )
    job = stack.submit(prompt="go")
    assert stack.result(job)["status"] == "completed"
    drained(consumer)
    spans = sink.of(job)
    asked = [s for s in spans if s.name == "chat practice"]
    assert [s.failed for s in asked] == [True, False, False, False]
    assert asked[0].attributes["error.type"] == "model_unavailable"
    assert asked[0].attributes["http.response.status_code"] == 503
    broken = one(spans, "execute_tool broken")
    assert broken.failed and broken.attributes["error.type"] == "tool_failed"
    assert broken.message == ""  # the sentence quotes the tool's answer
    unknown = one(spans, "execute_tool _OTHER")
    assert unknown.attributes["error.type"] == "unknown_tool"
    assert not any(b"its_own_making" in asked.body for asked in sink.requests)


def test_a_reply_that_is_fetched_counts_no_tokens(stack, sink, tmp_path):
    models = tmp_path / "models.json"
    parameters = {"store": True, "background": True}
    kept = {"url": stack.model.url, "model": "m", "dialect": "responses", "parameters": parameters}
    models.write_text(json.dumps({"kept": kept}))
    consumer = traced(stack, sink, models=models)
    text = "one two three four five six seven eight nine ten"
    stack.model.script([{"match": "", "replies": [{"text": text, "cut": 700}]}])
    job = stack.submit(prompt="go", model="kept", traceparent=TRACEPARENT)
    assert stack.result(job)["answer"] == text
    drained(consumer)
    spans = sink.of(job)
    assert tree(spans) == [
        ("process default", [("invoke_agent", [("chat m", []), ("fetch_response m", [])])])
    ]
    chat, fetched = one(spans, "chat m"), one(spans, "fetch_response m")
    assert chat.failed and chat.attributes["error.type"] == "model_cut"
    assert not fetched.failed and fetched.kind == CLIENT
    assert fetched.attributes["gen_ai.operation.name"] == "fetch_response"
    assert not any("usage" in key for span in spans for key in span.attributes)


SECRETS = ["sk-model-key", "env-secret", "header-secret", "prompt-words", "code-words"]


def with_secrets(stack, sink, **settings):
    headers = {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20header-secret"}
    env = {"OPENAI_API_KEY": SECRETS[0], **headers}
    consumer = traced(stack, sink, env=env, **settings)
    code = "print('code-words', __import__('os').environ['TOKEN'])"
    says(stack, {"text": "Hm.", "tool_calls": [call_of(code)]}, {"text": "said"})
    job = stack.submit(prompt="prompt-words " * 2000, env={"TOKEN": "env-secret"})
    assert stack.result(job)["status"] == "completed"
    drained(consumer)
    return sink.of(job), b"".join(asked.body for asked in sink.requests).decode()


def test_content_is_not_told(stack, sink):
    spans, bodies = with_secrets(stack, sink)
    assert len(spans) == 7 and not [secret for secret in SECRETS if secret in bodies]
    assert {a.headers["Authorization"] for a in sink.requests} == {"Bearer header-secret"}


def test_content_is_told_where_the_operator_wants_it(stack, sink):
    spans, bodies = with_secrets(stack, sink, trace_content="on")
    assert "sk-model-key" not in bodies and "header-secret" not in bodies
    chat = [span.attributes for span in spans if span.name == "chat practice"]
    asked = json.loads(chat[0]["gen_ai.input.messages"])
    [user] = [message for message in asked if message["role"] == "user"]
    assert user["parts"][0]["content"].startswith("prompt-words prompt-words")
    [said] = json.loads(chat[0]["gen_ai.output.messages"])
    assert said["parts"][0] == {"type": "text", "content": "Hm."}
    assert said["parts"][1]["name"] == "execute_python_code"
    called = one(spans, "execute_tool execute_python_code").attributes
    assert "code-words" in called["gen_ai.tool.call.arguments"]
    assert "code-words env-secret" in called["gen_ai.tool.call.result"]
    assert max(len(v) for a in chat for v in a.values() if isinstance(v, str)) <= 8192


def test_a_strangers_flag_does_not_raise_the_bill(stack, sink, shop):
    consumer = traced(stack, sink, trace_sample="0")
    says(stack, {"tool_calls": [calls("look")]}, {"text": "done"})
    before = len(shop.parents("/look"))
    job = stack.submit(prompt="go", traceparent=TRACEPARENT)
    assert stack.result(job)["status"] == "completed"
    drained(consumer)
    assert not sink.requests
    [(parent, _)] = shop.parents("/look")[before:]
    assert re.fullmatch(f"00-{job.replace('-', '')}-[0-9a-f]{{16}}-00", parent)
    records = [msgpack.unpackb(r) for r in stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)]
    assert records and not any("span" in record for record in records)


def test_jobs_that_are_stopped_are_told(stack, sink):
    consumer = traced(stack, sink, drain="1ms")
    says(stack, {"text": "a b c d e f g h", "chunk_ms": 2000})
    cancelled = stack.submit(prompt="go")
    stack.wait_event(cancelled, "message.delta")
    stack.call("cancel", cancelled)
    assert stack.result(cancelled)["status"] == "cancelled"
    released = stack.submit(prompt="go")
    stack.wait_event(released, "message.delta")
    drained(consumer)
    shape = [("process default", [("invoke_agent", [("chat practice", [])])])]
    for job, outcome in ((cancelled, "cancelled"), (released, "released")):
        spans = sink.of(job)
        assert tree(spans) == shape
        assert spans[0].attributes["quern.job.outcome"] == outcome and not spans[0].failed
        assert spans[2].failed and spans[2].attributes["error.type"] == outcome
