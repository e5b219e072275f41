"""A job's trace reaches whom quern asks for the job, its first event and the log."""

import json
import re

import msgpack
import pytest
from stack import ROOT, Stack
from web import FORECASTS, Web

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"
TRACESTATE = "rojo=00f067aa0ba902b7, congo@ucfJif=t61rcWkgMzE".lower()


def call(name, **arguments):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"c-{name}", "type": "function", "function": function}


class World(Web):
    """A model, a company's API, its MCP server, and a foreign page."""

    def model_says(self, asked):
        message = {"role": "assistant", "content": "done"}
        if self.seen[asked.path] % 2 == 1:
            code = f"look(); weather_forecast(); fetch_url({self.url + '/page'!r})"
            message["tool_calls"] = [call("execute_python_code", code=code)]
        end = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": end}
        return {"id": "r", "object": "chat.completion", "choices": [choice]}

    def mcp_says(self, asked):
        message = json.loads(asked.body)
        result = FORECASTS.get(message["method"])
        if result is None:
            return (202 if "id" not in message else 400), None
        return 200, {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def answer(self, asked):
        status, says = 200, {"is": 1}
        if asked.path == "/page":
            return 200, b"a page", {"Content-Type": "text/plain"}
        if asked.path.startswith("/mcp"):
            status, says = self.mcp_says(asked)
        elif "chat" in asked.path:
            says = self.model_says(asked)
        return status, json.dumps(says).encode(), {"Content-Type": "application/json"}

    def headers(self, path, method=None):
        """Those of each request there, in lower case."""
        return [
            {name.lower(): value for name, value in asked.headers.items()}
            for asked in self.asked
            if asked.path.startswith(path)
            and (method is None or json.loads(asked.body)["method"] == method)
        ]


@pytest.fixture(scope="module")
def web():
    with World() as web:
        yield web


@pytest.fixture(scope="module")
def stack(web, tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "tools.json"
    tools = {
        "look": {"url": web.url + "/look"},
        "own": {"url": web.url + "/own", "headers": {"Tracestate": "quern=1"}},
        "mcpServers": {"weather": {"url": web.url + "/mcp"}},
    }
    path.write_text(json.dumps(tools))
    with Stack(tools=path, tools_builtin="fetch_url") as stack:
        env = {"OPENAI_BASE_URL": web.url + "/v1"}
        stack.consumer(env=env, fetch_allow=f"127.0.0.1:{web.server_port}")
        yield stack


@pytest.fixture(scope="module")
def asked(stack, web):
    """A job with a trace, and what its servers were asked."""
    job = stack.submit(prompt="go", traceparent=TRACEPARENT, tracestate=TRACESTATE)
    result = stack.result(job)
    assert result["status"] == "completed", result
    assert result["cells"][0]["status"] == "ok", result["cells"]
    return job


def test_each_request_is_a_child_of_its_own(asked, web):
    model, tool = web.headers("/v1/chat"), web.headers("/look")
    mcp = web.headers("/mcp", "tools/call")
    assert [len(model), len(tool), len(mcp)] == [2, 1, 1]
    parents = set()
    for headers in model + tool + mcp:
        found = re.fullmatch("00-([0-9a-f]{32})-([0-9a-f]{16})-01", headers["traceparent"])
        assert found[1] == TRACE
        parents.add(found[2])
        assert headers["tracestate"] == TRACESTATE
    assert len(parents) == 4 and not {PARENT, "0" * 16} & parents


def test_a_foreign_page_is_not_told(asked, web):
    (headers,) = web.headers("/page")
    assert not {"traceparent", "tracestate"} & set(headers)


def test_what_is_asked_for_no_job_has_no_trace(asked, web):
    listed = web.headers("/mcp", "tools/list")
    assert listed and not any("traceparent" in headers for headers in listed)


def test_the_first_event_has_it(asked, stack):
    first, *others = stack.events(asked)
    assert first["type"] == "job.queued"
    assert first["data"]["traceparent"] == TRACEPARENT
    assert first["data"]["tracestate"] == TRACESTATE
    assert not any("traceparent" in event["data"] for event in others)


def test_the_log_names_it(asked, stack):
    lines = [json.loads(s) for s in stack.consumers[0].text().splitlines() if asked in s]
    assert {"job.started", "job.finished"} <= {line["what"] for line in lines}
    assert {line["trace"] for line in lines} == {TRACE}


def test_a_job_without_has_none(asked, stack, web):
    before = len(web.asked)
    job = stack.submit(prompt="go")
    assert stack.result(job)["status"] == "completed"
    assert not any("traceparent" in map(str.lower, a.headers) for a in web.asked[before:])
    assert set(stack.events(job)[0]["data"]) == {"queue"}
    lines = [s for s in stack.consumers[0].text().splitlines() if job in s]
    assert lines and not any('"trace"' in line for line in lines)


def test_a_header_of_the_operator_stays(asked, stack, web):
    cells = ["print(own())"]
    job = stack.submit(kind="code", cells=cells, traceparent=TRACEPARENT, tracestate=TRACESTATE)
    assert stack.result(job)["status"] == "completed"
    (headers,) = web.headers("/own")
    assert headers["tracestate"] == "quern=1" and "traceparent" not in headers


def test_a_refused_job_says_why_and_where(asked, stack):
    job = stack.submit(prompt="go", traceparent=TRACEPARENT, tracestate="a=1,B=2")
    error = stack.result(job)["error"]
    assert error["code"] == "bad_field"
    assert error["message"].startswith('tracestate[1] is "B=2", must be key=value')
    lines = [json.loads(s) for s in stack.consumers[0].text().splitlines() if job in s]
    assert {line["trace"] for line in lines} == {TRACE}


# Every row: what the job says, what its first event has of it.
ODD = [
    ({"traceparent": 7}, {}),
    ({"traceparent": "x" * 200}, {}),
    ({"traceparent": "\n"}, {}),
    ({"traceparent": TRACEPARENT, "tracestate": "a" * 600}, {"traceparent"}),
    ({"traceparent": TRACEPARENT, "tracestate": "a=\x01"}, {"traceparent"}),
    ({"tracestate": "a=1"}, {}),
    ({"metadata": {"traceparent": TRACEPARENT}}, {}),
]


@pytest.mark.parametrize("said, kept", ODD)
def test_an_event_holds_no_odd_trace(stack, said, kept):
    """Redis writes the event before anybody has checked the job."""
    job = stack.submit(prompt="go", queue="nobody-serves-it", **said)
    stack.call("cancel", job)
    data = stack.events(job)[0]["data"]
    assert set(data) - {"queue"} == set(kept)


def test_jobs_that_start_together_keep_theirs_apart(stack):
    """Jobs of one moment share the bytes of their first events."""
    ids = []
    for i in range(4):
        given = {"traceparent": f"00-{i + 1:032x}-{PARENT}-00"} if i < 3 else {}
        ids.append(stack.submit(prompt="go", queue="together", **given))
    for job in ids:
        stack.db.hset(f"{ROOT}job:{job}", "submitted_at", 1763700000000)
    take = stack.call("take", "c1", 30000, 3, 1, "queue", "together")
    take += stack.call("take", "c1", 30000, 3, 9, "queue", "together")
    assert len(take) == 4, take
    traces = []
    for job in ids:
        entry = stack.db.xrange(f"{ROOT}events:{job}")[0][1][b"event"]
        traces.append(msgpack.unpackb(entry)["data"].get("traceparent", "")[3:35])
    assert traces == [f"{i + 1:032x}" for i in range(3)] + [""]
