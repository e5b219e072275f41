"""Tools that the operator has set up, called by the code of cells: a real
consumer and executor, and a server here that counts what it is asked."""

import json
import os
import signal
import tempfile
import threading

import pytest
from servers import wait_until
from stack import Stack, call_of
from web import Web

PARAMETERS = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What to look for"},
        "count": {"type": "integer"},
    },
    "required": ["query"],
}


class Tools(Web):
    def answer(self, asked):
        if asked.path == "/cut":
            raise ConnectionError("the connection ends without an answer")
        key = asked.headers.get("Authorization")
        answers = {
            "/broken": (503, b"the index is closed", {}),
            "/locked": (401, f"who is {key}?".encode(), {}),
            "/echo": (200, json.dumps({"headers": dict(asked.headers)}).encode(), {}),
            "/text": (200, "just text, 中文".encode(), {}),
            "/long_refusal": (413, b"x" * 100_000, {}),
            "/large": (200, json.dumps("x" * 100_000).encode(), {}),
            "/away": (302, b"", {"Location": f"{self.url}/elsewhere"}),
        }
        return answers.get(asked.path.partition("?")[0]) or super().answer(asked)


@pytest.fixture
def web():
    with Tools() as web:
        yield web


def catalog(web):
    def tool(path, **more):
        return {"url": web.url + path, "parameters": PARAMETERS, **more}

    return {
        "search": tool(
            "/search",
            description="Looks something up.",
            headers={"Authorization": "Bearer ${SEARCH_KEY}"},
        ),
        "item": tool("/items/{query}"),
        "order": tool("/orders", method="POST"),
        "slow": tool("/slow", method="POST"),
        "slow-look": tool("/slow-look"),
        "text": tool("/text"),
        "broken": tool("/broken"),
        "away": tool("/away"),
        "locked": tool("/locked", headers={"Authorization": "Bearer ${SEARCH_KEY}"}),
        "echo": tool("/echo", headers={"Authorization": "Bearer ${SEARCH_KEY}"}),
        "keyed": tool("/keyed?author=v1&sort_key=name&api_key=s3cret%2Bkey&q={query}"),
        "large": tool("/large", max_bytes=50_000),
        "late": tool("/slow", total_ms=300),
        "late_order": tool("/slow", method="POST", total_ms=300),
        "late_put": tool("/slow", method="POST", total_ms=300, repeat=True),
        "large_order": tool("/large", method="POST", max_bytes=50_000),
        "cut_order": tool("/cut", method="POST"),
        "refused_order": tool("/broken", method="POST"),
        "long_refusal": tool("/long_refusal", method="POST", max_bytes=50_000),
        "unheard": {"url": "http://127.0.0.1:1/", "parameters": PARAMETERS, "method": "POST"},
    }


@pytest.fixture
def stack(web):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(catalog(web), file)
        file.flush()
        os.environ["SEARCH_KEY"] = "s3cret"
        with Stack(tools=file.name) as stack:
            yield stack


def run(stack, *cells, **more):
    return stack.run(kind="code", cells=cells, **more)


# Every row: what it shows, the cell, what it gives.
GIVES = [
    ("a GET", "search('a b&c', 2)", "{'path': '/search?query=a%20b%26c&count=2'}"),
    ("a place in the path", "item('x/../y')", "{'path': '/items/x%2F..%2Fy'}"),
    ("a POST", "order('中', count=1)", "{'query': '中', 'count': 1}"),
    ("an answer that is no JSON", "text('a')", "'just text, 中文'"),
    ("many at once", "from concurrent.futures import ThreadPoolExecutor as T\nwith T() as t: got = list(t.map(item, 'abc'))\n[g['path'][-1] for g in got]", "['a', 'b', 'c']"),
]  # fmt: skip

RAISES = [
    ("a failure", "broken('a')", "broken(): HTTP 503: the index is closed"),
    ("a redirect", "away('a')", "away(): HTTP 302"),
    ("a server that repeats the key", "locked('a')", "HTTP 401: who is Bearer ******?"),
    ("too large an answer", "large('a')", "longer than 50000 bytes"),
    ("too late an answer", "late('a')", "late(): "),
    ("out of its place", "item('..')", 'in the path may not be ".."'),
    ("a wrong type", "search('a', count='many')", 'argument "count" is not what'),
]


def test_code_calls_tools(stack, web):
    stack.consumer()
    for _, code, shown in GIVES:
        result = run(stack, code)
        assert result["cells"][0].get("result") == shown, result
    key = web.asked[0].headers["Authorization"]
    assert key == "Bearer s3cret"


def test_a_key_that_a_server_repeats_is_told_to_nobody(stack, web):
    """Neither to code, nor to a model, nor in what is kept or followed."""
    call = {"id": "c", "index": 0, "name": "echo", "arguments": '{"query": "a"}'}
    stack.model.script([{"tool_calls": [call]}, {"text": "done"}])
    stack.consumer()
    code = run(stack, "print(echo('a')['headers']['Authorization'])")
    assert code["cells"][0]["stdout"] == "Bearer ******\n"
    job = stack.submit(prompt="who am I?")
    assert stack.result(job)["answer"] == "done"
    [told] = [m for m in stack.model.request(1)["messages"] if m["role"] == "tool"]
    assert "Bearer ******" in told["content"]
    dumped = [stack.db.dump(key) for key in stack.db.keys()]
    assert not any(b"s3cret" in value for value in dumped)
    assert web.asked[-1].headers["Authorization"] == "Bearer s3cret"


def test_a_key_of_its_url_that_a_server_repeats_is_told_to_nobody(stack, web):
    """As it stands there, and as the server reads it; and nothing else of it."""
    stack.consumer()
    sent = "/keyed?author=v1&sort_key=name&api_key={}&q=a"
    code = run(stack, "print(keyed('a')['path'])")
    assert code["cells"][0]["stdout"] == sent.format("*" * 12) + "\n"
    assert web.asked[-1].path == sent.format("s3cret%2Bkey")
    web.answer = lambda asked: (200, b'{"name": "v1", "you": "s3cret+key"}', {})
    code = run(stack, "print(keyed('a'))")
    assert code["cells"][0]["stdout"] == "{'name': 'v1', 'you': '**********'}\n"


def test_tools_refuse(stack, web):
    stack.consumer()
    for name, code, sentence in RAISES:
        result = run(stack, f"try: {code}\nexcept ToolError as e: print(e)")
        assert sentence in result["cells"][0].get("stdout", ""), (name, result)
    assert web.seen["/elsewhere"] == 0, "redirects are not followed"
    assert not any(path.startswith("/items") for path in web.seen)


def test_the_model_is_told_and_followers_are(stack, web):
    stack.model.script(
        [{"tool_calls": [call_of("search('a')['path']")]}, {"text": "found"}]
    )
    stack.consumer()
    job = stack.submit(prompt="look it up")
    assert stack.result(job)["answer"] == "found"
    offered = [tool["function"] for tool in stack.model.request(0)["tools"]]
    assert "functions of the session as well" in offered[0]["description"]
    [search] = [tool for tool in offered if tool["name"] == "search"]
    assert search["parameters"] == PARAMETERS
    inner = [e for e in stack.check_events(job) if e["data"].get("parent")]
    assert [(e["type"], e["data"]["tool"]) for e in inner] == [
        ("tool.started", "search"),
        ("tool.completed", "search"),
    ]
    assert inner[0]["data"]["text"] == '{"query":"a"}'
    assert inner[1]["data"]["status"] == "ok"
    assert {e["data"]["parent"] for e in inner} == {"1.0"}


def test_a_job_says_which_tools_its_code_may_call(stack):
    stack.consumer()
    code = "'search' in globals(), 'item' in globals()"
    assert run(stack, code, tools=["item"])["cells"][0]["result"] == "(False, True)"
    code = "import _quern\n_quern.ask('tool', 'search', b'{}')[0]"
    assert run(stack, code, tools=["item"])["cells"][0]["result"] == "'unknown_tool'"
    assert run(stack, "1", tools=["nope"])["error"]["code"] == "unknown_tool"


UNKNOWN = "; whether the call was carried out is not known"
# Every row: what it shows, the tool, whether its sentence says UNKNOWN.
UNANSWERED = [
    ("a POST without an answer in time", "late_order", True),
    ("a POST whose connection broke", "cut_order", True),
    ("a POST whose answer is too large", "large_order", True),
    ("a POST that may be repeated", "late_put", False),
    ("a GET", "late", False),
    ("a POST without a connection", "unheard", False),
    ("a POST that was answered", "refused_order", False),
    ("a POST that was refused at length", "long_refusal", False),
]


def test_a_post_without_an_answer_may_have_been_carried_out(stack, web):
    """And is not made a second time."""
    stack.consumer()
    for name, tool, unknown in UNANSWERED:
        result = run(stack, f"try: {tool}('a')\nexcept ToolError as e: print(e)")
        said = result["cells"][0]["stdout"]
        assert said.startswith(f"{tool}(): ") and len(said.splitlines()) == 1, name
        assert said.rstrip().endswith(UNKNOWN) == unknown, (name, said)
    assert web.seen["/cut"] == 1


def test_a_model_is_told_that_a_post_may_have_been_carried_out(stack):
    call = {"id": "c", "index": 0, "name": "cut_order", "arguments": '{"query": "a"}'}
    stack.model.script([{"tool_calls": [call]}, {"text": "done"}])
    stack.consumer()
    assert stack.result(stack.submit(prompt="order"))["answer"] == "done"
    [told] = [m for m in stack.model.request(1)["messages"] if m["role"] == "tool"]
    assert UNKNOWN in told["content"]


def test_python_cannot_be_called_from_python(stack):
    stack.consumer()
    code = "import _quern\n_quern.ask('tool', 'execute_python_code', b'{}')[0]"
    assert run(stack, code)["cells"][0]["result"] == "'unknown_tool'"


def test_the_same_call_twice_is_two_calls(stack, web):
    stack.consumer()
    run(stack, "for _ in range(3): search('a')")
    assert web.seen["/search?query=a"] == 3


def test_a_call_that_is_answered_is_not_made_again(stack, web):
    """The consumer dies with the second call open: the first is not repeated."""
    first = stack.consumer(lease="600ms")
    job = stack.submit(
        kind="code", cells=["a = order('one')\nb = slow_look('two')\na['query']"]
    )
    wait_until(lambda: web.seen["/slow-look?query=two"] == 1, what="it is asked")
    first.kill()
    web.let_go.set()
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert result["cells"][0].get("result") == "'one'", result
    assert web.seen["/orders"] == 1
    assert web.seen["/slow-look?query=two"] == 2, "a GET may be repeated"


def test_an_outcome_that_nobody_knows_is_told(stack, web):
    """A POST was on its way when the consumer died."""
    first = stack.consumer(lease="600ms")
    code = "try: slow('x')\nexcept ToolError as e: print(e)"
    job = stack.submit(kind="code", cells=[code])
    wait_until(lambda: web.seen["/slow"] == 1, what="it is asked")
    first.kill()
    stack.consumer(lease="600ms")
    result = stack.result(job)
    assert "what became of this call is not known" in result["cells"][0]["stdout"]
    assert web.seen["/slow"] == 1


def test_a_second_run_makes_no_call_twice(stack, web):
    """The executor dies: the cells run again, with the answers of before."""
    stack.consumer()
    job = stack.submit(
        kind="code",
        cells=["a = order('one')['query']", "b = order('two')\nc = slow_look('x')\na"],
    )
    wait_until(lambda: web.seen["/slow-look?query=x"] == 1, what="it is asked")
    stack.executor.signal(signal.SIGKILL)
    stack.executor.wait()
    stack.start_executor()
    web.let_go.set()
    result = stack.result(job, 60)
    assert result["cells"][1].get("result") == "'one'", result
    assert result["cells"][1]["state"] == "restored"
    assert web.seen["/orders"] == 2


def test_waiting_for_a_tool_is_not_running(stack, web):
    stack.consumer(cell_time="1500ms")
    job = stack.submit(kind="code", cells=["slow_look('x')['path']"])
    wait_until(lambda: web.seen["/slow-look?query=x"] == 1, what="it is asked")
    threading.Timer(3, web.let_go.set).start()
    assert stack.result(job)["cells"][0].get("result") == "'/slow-look?query=x'"
