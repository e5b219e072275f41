"""Tools of servers that speak the Model Context Protocol: real ones, of both
generations, as the package `mcp` has them."""

import json
import os
import tempfile

import pytest
from pypi import python_with
from servers import Process, free_ports, wait_until
from stack import Stack

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "..", "mcp_server.py")

# generation: the package, what its transport is set to, what it speaks
GENERATIONS = {
    "old": ("mcp==1.30.0", [], "2025-11-25"),
    "old, plain": ("mcp==1.30.0", ["json_response=true"], "2025-11-25"),
    "old, no sessions": ("mcp==1.30.0", ["stateless_http=true"], "2025-11-25"),
    "new": ("mcp==2.3.0", [], "2026-07-28"),
    "new, plain": ("mcp==2.3.0", ["json_response=true"], "2026-07-28"),
}


class Server:
    def __init__(self, generation):
        self.package, self.settings, self.version = GENERATIONS[generation]
        self.deaf = generation in DEAF
        [self.port] = free_ports(1)
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        handle, self.log = tempfile.mkstemp(suffix=".jsonl")
        os.close(handle)
        self.process = None

    def start(self):
        args = [python_with(self.package), SERVER, self.port, self.log]
        self.process = Process([*args, *self.settings]).start()
        self.process.wait_for("running on", timeout=60)
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.process.stop()
        os.unlink(self.log)

    def asked(self):
        with open(self.log) as log:
            return [json.loads(line) for line in log]


@pytest.fixture(params=GENERATIONS)
def server(request):
    with Server(request.param) as server:
        yield server


@pytest.fixture(params=["old", "new"])
def each(request):
    with Server(request.param) as server:
        yield server


def stack_with(**servers):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"mcpServers": servers}, file)
    stack = Stack(tools=file.name)
    return stack


def listed(consumer):
    return json.loads(consumer.wait_for('"mcp.listed"'))


def run(stack, code, **more):
    cell = stack.run(kind="code", cells=[code], **more)["cells"][0]
    return cell.get("result") or cell.get("stdout") or cell


# Every row: what it shows, the cell, what it gives in all generations.
GIVES = [
    ("structured content", "w_add(3)", "{'result': 5}"),
    ("a text", "w_say('a \"b\"\\n中')", "'a \"b\"\\n中'"),
    ("a number in its header, too", "w_book(7, 'us-west1')", "'7 in us-west1'"),
    ("no header ends early", "w_book(7, 'Zürich\\r\\nX: y')", "'7 in Zürich\\r\\nX: y'"),
    ("what looks like one that is packed", "w_book(7, '=?base64?x?=')", "'7 in =?base64?x?='"),
    ("what cannot be kept is said", "w_draw_map()", "'a map:\\n[an image left out, 72 bytes: image/png]\\n[a link, not followed: b.txt file:///a/b.txt]\\nheld in it'"),
    ("progress is passed over", "w_steps()", "'done'"),
    ("many at once", "from concurrent.futures import ThreadPoolExecutor as T\nwith T() as t: got = list(t.map(w_say, 'abcdefgh'))\n''.join(got)", "'abcdefgh'"),
]  # fmt: skip

RAISES = [
    ("a failure", "w_fail('no luck')", "w_fail(): Error executing tool fail"),
    ("a missing argument", "w_add(b=1)", "missing a required argument"),
    ("a wrong type", "w_add('x')", 'argument "a" is not what the tool takes'),
    ("a person is not offered", "w_ask()", "w_ask(): "),
]
# These never hear that nobody can be asked, and wait: they have no stream for it.
DEAF = {"old, plain", "old, no sessions"}


def test_code_calls_tools(server):
    with stack_with(w={"type": "http", "url": server.url}) as stack:
        line = listed(stack.consumer())
        assert (line["version"], line["tools"]) == (server.version, 9)
        for name, code, shown in GIVES:
            assert run(stack, code) == shown, name
        for name, code, sentence in RAISES[: -1 if server.deaf else None]:
            said = run(
                stack, f"try: {code}\nexcept (ToolError, TypeError) as e: print(e)"
            )
            assert sentence in said, name
        assert server.asked()[0] == {"tool": "add", "a": 3, "b": 2}


def test_the_model_calls_one_and_is_told_of_all(each):
    def call(name, arguments):
        return {"id": name, "index": 0, "name": name, "arguments": arguments}

    with stack_with(w={"url": each.url, "tools": ["say", "look", "nope"]}) as stack:
        stack.model.script(
            [{"tool_calls": [call("w_say", '{"words": "hi"}')]}, {"text": "said"}]
        )
        consumer = stack.consumer()
        consumer.wait_for("the server does not list it")
        job = stack.submit(prompt="say hi")
        assert stack.result(job)["answer"] == "said"
        offered = [tool["function"] for tool in stack.model.request(0)["tools"]]
        assert [f["name"] for f in offered] == [
            "execute_python_code",
            "w_look",
            "w_say",
        ]
        assert offered[2]["parameters"]["required"] == ["words"]
        [told] = [m for m in stack.model.request(1)["messages"] if m["role"] == "tool"]
        assert told["content"] == "hi"


def test_codeact_names_them(each):
    code = "```python\nfinal_answer(w_add(40)['result'])\n```"
    with stack_with(w={"url": each.url}) as stack:
        stack.model.script([{"text": code}])
        stack.consumer()
        assert stack.run(prompt="add", mode="codeact")["answer"] == "42"
        told = stack.model.request(0)["messages"][0]["content"]
        assert 'def w_add(a: int, b: int = None): """Adds two numbers."""' in told


def test_a_server_that_has_forgotten_us(each):
    """It was started anew: sessions of before are none of its."""
    with stack_with(w={"url": each.url}) as stack:
        stack.consumer()
        assert run(stack, "w_say('one')") == "'one'"
        each.process.stop()
        each.start()
        many = "from concurrent.futures import ThreadPoolExecutor as T\nwith T() as t: got = list(t.map(w_say, 'abcdefgh'))\n''.join(got)"
        assert run(stack, many) == "'abcdefgh'"
        said = [asked["words"] for asked in each.asked()]
        assert sorted(said) == ["a", "b", "c", "d", "e", "f", "g", "h", "one"]


def test_a_server_of_the_other_generation_in_its_place():
    with Server("old") as old, stack_with(w={"url": old.url}) as stack:
        stack.consumer()
        assert run(stack, "w_say('one')") == "'one'"
        old.process.stop()
        with Server("new") as new:
            new.process.stop()
            new.port = old.port
            new.start()
            assert run(stack, "w_say('two')") == "'two'"


def test_a_call_that_nobody_waits_for_is_cancelled(each):
    def noted(what):
        return [asked for asked in each.asked() if what in asked]

    with stack_with(w={"url": each.url}) as stack:
        stack.consumer()
        job = stack.submit(kind="code", cells=["w_wait('for me')"])
        wait_until(lambda: noted("name"), what="it is asked")
        stack.call("cancel", job, "enough")
        assert stack.result(job)["status"] == "cancelled"
        wait_until(lambda: noted("ended"), what="the server has heard of it")
        assert noted("ended")[0]["ended"] == "CancelledError"


def crash(stack, server, code):
    """The consumer dies with the call open; what the next one has of it."""
    first = stack.consumer(lease="600ms")
    cell = f"try: {code}\nexcept ToolError as e: print(e)"
    job = stack.submit(kind="code", cells=[cell])
    wait_until(server.asked, what="it is asked")
    first.kill()
    stack.consumer(lease="600ms")
    return job


def test_an_outcome_that_nobody_knows_is_told(each):
    with stack_with(w={"url": each.url, "trust_annotations": True}) as stack:
        job = crash(stack, each, "w_wait('x')")
        cell = stack.result(job)["cells"][0]
        assert "what became of this call is not known" in cell["stdout"]
        assert len([a for a in each.asked() if "ended" not in a]) == 1


def test_what_the_operator_says_may_be_made_again_is(each):
    with stack_with(w={"url": each.url, "repeat": ["wait"]}) as stack:
        job = crash(stack, each, "w_wait('x')")
        wait_until(
            lambda: len([a for a in each.asked() if "ended" not in a]) == 2,
            what="it is asked again",
        )
        stack.call("cancel", job, "enough")
        assert stack.result(job)["status"] == "cancelled"


def test_a_server_that_comes_later():
    """Its tools are there from then on; who asked for one by name has waited."""
    with Server("new") as server:
        server.process.stop()
        with stack_with(late={"url": server.url}) as stack:
            consumer = stack.consumer(hold="300ms", max_attempts=50)
            consumer.wait_for('"mcp.away"')
            assert run(stack, "'late_say' in globals()") == "False"
            job = stack.submit(kind="code", cells=["late_say('x')"], tools=["late_say"])
            consumer.wait_for('"job.parked"')
            unknown = stack.run(kind="code", cells=["1"], tools=["other_say"])
            assert unknown["error"]["code"] == "unknown_tool"
            mixed = stack.run(kind="code", cells=["1"], tools=["late_say", "other"])
            assert mixed["error"]["code"] == "unknown_tool"
            server.start()
            assert stack.result(job, 60)["cells"][0]["result"] == "'x'"
            assert run(stack, "'late_say' in globals()") == "True"


def asked_about(stack, job):
    facts = stack.facts(job)
    return (facts["state"], facts.get("reason")) == ("waiting", "approval")


def test_a_person_approves_what_the_entry_or_the_operator_names():
    """Also of a server that was away when the operator named its tool."""
    calls = [
        {"id": name, "index": i, "name": name, "arguments": '{"words": "hi"}'}
        for i, name in enumerate(["w_say", "late_say"])
    ]
    with Server("new") as server, Server("new") as late:
        late.process.stop()
        servers = {
            "w": {"url": server.url, "approve": ["say"]},
            "late": {"url": late.url},
        }
        with stack_with(**servers) as stack:
            with pytest.raises(AssertionError, match='there is no tool "other_say"'):
                stack.consumer(approve="late_say, other_say")
            stack.consumers.pop()
            stack.model.script(
                [{"tool_calls": calls[:1]}, {"tool_calls": calls[1:]}, {"text": "so"}]
            )
            consumer = stack.consumer(approve="late_say", hold="300ms", max_attempts=50)
            consumer.wait_for('"mcp.away"')
            job = stack.submit(prompt="say hi", approve=["late_say"])
            consumer.wait_for('"job.parked"')
            late.start()
            for turn in (1, 2):
                wait_until(lambda: asked_about(stack, job), 60, f"question {turn}")
                assert (server.asked() != [], late.asked()) == (turn == 2, [])
                stack.call("approve", job, "approve", "", f"{turn}.0")
                wait_until(lambda: not asked_about(stack, job), what="it goes on")
            assert stack.result(job, 60)["answer"] == "so"
            assert len(late.asked()) == 1


def test_a_job_that_waits_in_vain():
    [port] = free_ports(1)
    with stack_with(w={"url": f"http://127.0.0.1:{port}/mcp"}) as stack:
        stack.consumer(hold="50ms", max_attempts=3)
        result = stack.run(kind="code", cells=["1"], tools=["w_say"])
        assert result["error"]["code"] == "tool_unavailable", result
