"""Servers of tools as no package has them: what they answer is what a test says.
The protocol's newer generation where it does not matter."""

import json
import os
import signal
import tempfile
import threading

import pytest
from servers import wait_until
from stack import Stack, call_of
from web import Web

MODERN = "2026-07-28"


class Server(Web):
    """answers: by method, or by the name of the tool that is called: a result,
    or a function of the message which gives status, body, headers."""

    def __init__(self, tools=("say",), legacy=False):
        super().__init__()
        self.legacy, self.heard, self.open = legacy, [], True
        self.session = 0
        self.answers = {"tools/list": {"tools": [tool(name) for name in tools]}}

    def methods(self):
        return [message.get("method") for message in self.heard]

    def answer(self, asked):
        message = json.loads(asked.body)
        self.heard.append(message)
        if not self.open:
            return 503, b"closed", {}
        method, name = message.get("method"), (message.get("params") or {}).get("name")
        if self.legacy:
            early = self.greet(asked, message)
            if early:
                return early
        else:
            self.check(asked, message)
        known = {"server/discover": {"supportedVersions": [MODERN]}, **self.answers}
        found = known.get(name) or known.get(method) or {"content": []}
        if callable(found):
            return found(message)
        return 200, reply(message, found), {"Content-Type": "application/json"}

    def greet(self, asked, message):
        """What comes before the answer, in the older generation."""
        if message.get("method") == "initialize":
            self.session += 1
            result = {"protocolVersion": "2025-06-18", "capabilities": {}}
            return 200, reply(message, result), {"Mcp-Session-Id": f"s{self.session}"}
        if asked.headers.get("Mcp-Session-Id") != f"s{self.session}":
            return 404, b"who are you?", {}
        assert asked.headers["MCP-Protocol-Version"] == "2025-06-18"
        return None if "id" in message and "method" in message else (202, b"", {})

    @staticmethod
    def check(asked, message):
        meta = message["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == MODERN
        assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
        assert asked.headers["MCP-Protocol-Version"] == MODERN
        assert asked.headers["Mcp-Method"] == message["method"]
        assert asked.headers.get("Mcp-Name") == message["params"].get("name")


def tool(name, **more):
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    return {"name": name, "inputSchema": schema, **more}


def reply(message, result):
    return json.dumps(
        {"jsonrpc": "2.0", "id": message["id"], "result": result}
    ).encode()


def text(text):
    return {"content": [{"type": "text", "text": text}]}


def events(*messages):
    data = "".join(f"data: {json.dumps(one)}\n\n" for one in messages)
    return 200, data.encode(), {"Content-Type": "text/event-stream"}


@pytest.fixture
def stack():
    os.environ["WEATHER_KEY"] = "s3cret"
    with Stack() as stack:
        yield stack


def serve(stack, **servers):
    """A consumer that has listed them; name=(server, members of its entry)."""
    entries = {
        name: {"url": f"{server.url}/mcp", **members}
        for name, (server, members) in servers.items()
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump({"mcpServers": entries}, file)
    consumer = stack.consumer(tools=file.name)
    wait_until(
        lambda: consumer.text().count('"mcp.listed"') >= len(servers), what="listed"
    )
    return consumer


def run(stack, code, **more):
    code = f"try: print(repr({code}))\nexcept ToolError as e: print(e)"
    return stack.run(kind="code", cells=[code], **more)["cells"][0]["stdout"].strip()


def raised(stack, code):
    return run(stack, code).partition("(): ")[2]


def test_lists_of_many_pages_and_bad_tools(stack):
    """In the order of their names, whatever order they come in."""
    pages = {
        None: ([tool("b"), tool("2"), {"name": "no schema"}], "next"),
        "next": ([tool("a"), tool("b"), tool("x" * 100), 7], None),
    }

    def page(message):
        tools, cursor = pages[message["params"].get("cursor")]
        return 200, reply(message, {"tools": tools, "nextCursor": cursor}), {}

    with Server() as one, Server(["a", "b_c"]) as other:
        one.answers["tools/list"] = page
        consumer = serve(stack, s=(one, {}), s_b=(other, {}), z=(other, {}))
        names = run(stack, "sorted(n for n in globals() if n[:2] in ('s_', 'z_'))")
        assert names == "['s_2', 's_a', 's_b', 's_b_a', 's_b_b_c', 'z_a', 'z_b_c']"
        refused = [
            json.loads(line)
            for line in consumer.text().splitlines()
            if "mcp.tool_refused" in line
        ]
        why = {(line["tool"], line["why"]) for line in refused}
        assert ("no schema", "it has no inputSchema") in why
        assert ("s_b", "a tool before it is s_b to code, too") in why
        assert ("", "its name must have 1 to 128 bytes") in why
        assert any("at most 64" in line["why"] for line in refused)


def test_two_of_one_name_the_first_in_the_file_wins(stack):
    with Server(["b_c"]) as one, Server(["c"]) as other:
        one.answers["b_c"], other.answers["c"] = text("one"), text("other")
        serve(stack, a=(one, {}), a_b=(other, {}))
        assert run(stack, "a_b_c()") == "'one'"


def test_tools_are_no_more_than_a_catalog_holds(stack):
    with Server([f"t{i:03}" for i in range(80)]) as server:
        consumer = serve(stack, s=(server, {}))
        assert run(stack, "sum(n[:3] == 's_t' for n in globals())") == "63"
        assert "more than 63 tools: name those that are wanted" in consumer.text()


def test_what_servers_get_wrong(stack):
    def failing(message):
        return 503, b"out of order, Bearer s3cret", {}

    def nonsense(message):
        return 200, b"<html>Bad Gateway</html>", {}

    def cut(message):
        return 200, b'data: {"jsonrpc": "2.0", "id', {}

    def large(message):
        return 200, reply(message, text("x" * 3000)), {}

    def endless(message):
        return 200, b"data: " + b"x" * (5 << 20), {}

    def refusing(message):
        body = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "error": {"code": -32602, "message": "Unknown tool: s3cret\n!"},
        }
        return 400, json.dumps(body).encode(), {}

    def redirecting(message):
        return 307, b"", {"Location": "http://127.0.0.1:1/"}

    def hanging_up(message):
        raise ConnectionError

    unknown = "whether the call was carried out is not known"
    wrong = {
        "failing": (failing, "HTTP 503: out of order, Bearer ******"),
        "nonsense": (
            nonsense,
            "the server's reply ended without an answer; " + unknown,
        ),
        "cut": (cut, "the server's reply ended without an answer; " + unknown),
        "large": (large, "the answer is 3002 bytes, may be at most 2000"),
        "endless": (endless, unknown),
        "refusing": (refusing, "Unknown tool: ****** ! (-32602)"),
        "redirecting": (redirecting, "HTTP 307"),
        "hanging_up": (hanging_up, unknown),
        "slow": (lambda message: server.let_go.wait(30) and None, unknown),
    }
    with Server(wrong) as server:
        server.answers.update({name: answer for name, (answer, _) in wrong.items()})
        headers = {"Authorization": "Bearer ${WEATHER_KEY}"}
        members = {"headers": headers, "max_bytes": 2000, "total_ms": 1500}
        consumer = serve(stack, s=(server, members))
        for name, (_, sentence) in wrong.items():
            assert sentence in raised(stack, f"s_{name}()"), name
        assert server.asked[0].headers["Authorization"] == "Bearer s3cret"
        assert "s3cret" not in consumer.text()


def test_a_key_that_a_server_repeats_is_told_to_nobody(stack):
    """In what its tools are said to do, in their answers, in any form."""
    key = "you sent Bearer s3cret"
    described = tool("say", description=key)
    described["inputSchema"]["properties"]["x"]["description"] = key
    answers = {
        "plain": text(key),
        "structured": {**text(key), "structuredContent": {"s3cret": [key]}},
        "failed": {**text(key), "isError": True},
        "streamed": lambda message: events(json.loads(reply(message, text(key)))),
    }
    with Server(answers) as server:
        server.answers["tools/list"]["tools"].append(described)
        server.answers.update(answers)
        headers = {"Authorization": "Bearer ${WEATHER_KEY}"}
        consumer = serve(stack, s=(server, {"headers": headers}))
        for name in answers:
            assert "Bearer ******" in run(stack, f"s_{name}()"), name
        stack.model.script([{"text": "done"}])
        assert stack.run(prompt="what is there?")["answer"] == "done"
        [said] = [
            t["function"]
            for t in stack.model.request(0)["tools"]
            if t["function"]["name"] == "s_say"
        ]
        assert said["description"] == "you sent Bearer ******"
        assert "s3cret" not in json.dumps(stack.model.request(0)) + consumer.text()
        dumped = [stack.db.dump(key) for key in stack.db.keys()]
        assert not any(b"s3cret" in value for value in dumped)


def test_a_key_of_its_url_that_a_server_repeats_is_told_to_nobody(stack):
    with Server() as server:
        server.answers["say"] = text("you sent s3cret-key")
        serve(stack, s=(server, {"url": f"{server.url}/mcp?token=s3cret-key"}))
        assert "you sent **********" in run(stack, "s_say()")


def test_a_lost_call_is_made_again_only_if_it_may_be(stack):
    lost = {"once": 1, "twice": 2, "never_again": 1}

    def losing(message):
        name = message["params"]["name"]
        lost[name] -= 1
        if lost[name] >= 0:
            raise ConnectionError
        return 200, reply(message, text("there")), {}

    with Server(lost) as server:
        server.answers.update({name: losing for name in lost})
        serve(stack, s=(server, {"repeat": ["once", "twice"]}))
        assert run(stack, "s_once()") == "'there'"
        assert "not known" not in raised(stack, "s_twice()")
        assert "not known" in raised(stack, "s_never_again()")
        calls = [m["params"]["name"] for m in server.heard if "name" in m["params"]]
        assert calls == ["once", "once", "twice", "twice", "never_again"]


def test_a_session_that_has_ended_is_begun_anew_once(stack):
    with Server(legacy=True) as server:
        server.answers["say"] = text("said")
        serve(stack, s=(server, {}))
        assert run(stack, "s_say()") == "'said'"
        server.session += 1  # nobody has heard of that one
        assert run(stack, "s_say()") == "'said'"
        assert server.methods() == [
            "server/discover",
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
            "tools/call",
            "initialize",
            "notifications/initialized",
            "tools/call",
        ]
        server.answers["say"] = lambda message: (404, b"gone for good", {})
        assert raised(stack, "s_say()") == "HTTP 404: gone for good"


def test_what_the_server_asks_of_us_is_answered(stack):
    """With what it may have, and that is nothing but a sign of life."""
    with Server(legacy=True) as server:

        def asking(message):
            return events(
                {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
                {"jsonrpc": "2.0", "id": "a", "method": "sampling/createMessage"},
                {"jsonrpc": "2.0", "id": 5, "method": "ping"},
                json.loads(reply(message, text("done"))),
            )

        server.answers["say"] = asking
        consumer = serve(stack, s=(server, {}))
        assert run(stack, "s_say()") == "'done'"

        def told():
            return {str(m["id"]): m for m in server.heard if "method" not in m}

        wait_until(lambda: len(told()) == 2, what="it is answered")
        assert told()["a"]["error"]["code"] == -32601
        assert told()["5"]["result"] == {}
        consumer.wait_for('"mcp.changed"')
        assert server.methods().count("tools/list") == 1, "a job's tools stay"


def test_a_call_that_takes_too_long_is_cancelled(stack):
    with Server(legacy=True) as server:
        server.answers["say"] = lambda message: server.let_go.wait(30) and None
        serve(stack, s=(server, {"total_ms": 500}))
        assert "not known" in raised(stack, "s_say()")
        wait_until(lambda: "notifications/cancelled" in server.methods(), what="told")
        [call] = [m for m in server.heard if m["method"] == "tools/call"]
        [cancel] = [m for m in server.heard if m["method"] == "notifications/cancelled"]
        assert cancel["params"]["requestId"] == call["id"]


def test_who_answers_neither_way_is_asked_again(stack):
    with Server() as server:
        server.open = False
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"mcpServers": {"s": {"url": server.url}}}, file)
        consumer = stack.consumer(tools=file.name)
        line = json.loads(consumer.wait_for('"mcp.away"'))
        assert (line["why"], line["wait_ms"]) == ("HTTP 503: closed", 1000)
        server.open = True
        consumer.wait_for('"mcp.listed"')


def test_hup_lists_anew_and_running_jobs_keep_theirs(stack):
    """What counts is when a job began: for its code, and for its model."""
    call = {"id": "c2", "index": 0, "name": "s_say", "arguments": "{}"}
    with Server() as server:
        server.open = False
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"mcpServers": {"s": {"url": server.url}}}, file)
        consumer = stack.consumer(tools=file.name)
        stack.model.script(
            [
                {"tool_calls": [call_of("'s_say' in globals()")], "delay_ms": 8000},
                {"tool_calls": [call]},
                {"text": "no"},
            ]
        )
        job = stack.submit(prompt="is it there?")
        stack.wait_event(job, "turn.started")
        server.open = True
        consumer.signal(signal.SIGHUP)
        consumer.wait_for('"mcp.listed"')
        assert run(stack, "'s_say' in globals()") == "True"
        assert "tool.started" not in stack.types(job), "it still waits"
        result = stack.result(job)
        assert result["cells"][0]["result"] == "False"
        told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
        assert 'there is no tool "s_say"' in told[1], told
        assert "tools/call" not in server.methods()


def test_versions_that_are_not_ours(stack):
    def newer(message):
        data = {"supported": ["2030-01-01"], "requested": MODERN}
        error = {"code": -32022, "message": "Unsupported", "data": data}
        body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
        return 400, json.dumps(body).encode(), {}

    with Server() as server:
        server.answers["server/discover"] = newer
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"mcpServers": {"s": {"url": server.url}}}, file)
        consumer = stack.consumer(tools=file.name)
        line = json.loads(consumer.wait_for('"mcp.away"'))
        assert line["why"] == "Unsupported (-32022)"
        assert "initialize" not in server.methods()


def test_the_first_jobs_wait_for_the_tools(stack):
    with Server() as server:
        server.answers["say"] = text("said")

        def slowly(message):
            server.let_go.wait(1)
            return 200, reply(message, {"tools": [tool("say")]}), {}

        server.answers["tools/list"] = slowly
        job = stack.submit(kind="code", cells=["s_say()"])
        serve(stack, s=(server, {}))
        assert stack.result(job)["cells"][0].get("result") == "'said'"


def test_a_server_that_hangs_holds_up_nobody_else(stack):
    """The first jobs wait for it for a while only."""
    with Server() as server:
        server.answers["server/discover"] = lambda message: server.let_go.wait(30)
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump({"mcpServers": {"s": {"url": server.url}}}, file)
        stack.consumer(tools=file.name)
        assert stack.run(kind="code", cells=["6 * 7"])["cells"][0]["result"] == "42"


def test_many_calls_at_once(stack):
    """A hundred jobs, one connection machine."""
    with Server() as server:
        server.answers["say"] = lambda message: (
            200,
            reply(message, text(message["params"]["arguments"]["x"])),
            {},
        )
        serve(stack, s=(server, {}))
        results = {}

        def one(number):
            results[number] = stack.submit(kind="code", cells=[f"s_say('{number}')"])

        threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        for number, job in results.items():
            assert stack.result(job, 60)["cells"][0]["result"] == f"'{number}'"
