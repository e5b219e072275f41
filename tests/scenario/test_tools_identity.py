"""A tool is told for whom it is called, and can check who says so; what
consumer/TOOLS.md and consumer/MODELS.md show works as it stands there."""

import base64
import hmac
import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest
from servers import SOURCE, binary
from stack import Stack
from web import FORECASTS, Web

CONSUMER = Path(SOURCE) / "consumer"
SECRET = "an operator's secret of some length"


def block(name, language):
    """The first example of that language in a page."""
    text = (CONSUMER / name).read_text()
    return re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)[1]


def checker():
    """caller() of the page, as a company would copy it."""
    space = {}
    exec(block("TOOLS.md", "python"), space)
    return space["caller"]


def test_the_checker_has_as_many_lines_as_the_page_says():
    assert "These twelve lines" in (CONSUMER / "TOOLS.md").read_text()
    code = block("TOOLS.md", "python").partition("\n\n")[2].splitlines()
    function = [line for line in code if not line.lstrip().startswith('"""')]
    assert function[0].startswith("def caller(") and len(function) == 12


class Company(Web):
    """Its API, and its MCP server (of the older generation)."""

    def answer(self, asked):
        if not asked.path.startswith("/mcp"):
            return super().answer(asked)
        message = json.loads(asked.body)
        result = FORECASTS.get(message["method"])
        if result is None:
            return (202 if "id" not in message else 400), b"", {}
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return 200, json.dumps(reply).encode(), {"Content-Type": "application/json"}

    def calls(self, method):
        found = [a for a in self.asked if a.path.startswith("/mcp")]
        return [a for a in found if json.loads(a.body)["method"] == method]


@pytest.fixture(scope="module")
def web():
    with Company() as web:
        yield web


@pytest.fixture(scope="module")
def stack(web, tmp_path_factory):
    path = tmp_path_factory.mktemp("tools") / "tools.json"
    text = block("TOOLS.md", "json")
    text = text.replace("https://shop.example", web.url)
    text = text.replace("https://weather.example", web.url)
    tools = json.loads(text)
    tools["session"] = {
        "url": web.url + "/session",
        "headers": {"X-Session": "{{job.session}}", "X-Fixed": "f"},
        "sign": {"secret": "${ORDER_SECRET}"},
    }
    tools["quoted"] = {
        "url": web.url + "/quoted",
        "headers": {"X-For": 'user="{{job.metadata.user}}"; tenant="{{job.tenant}}"'},
    }
    tools["mcpServers"]["weather"]["sign"] = {"secret": "${ORDER_SECRET}"}
    path.write_text(json.dumps(tools))
    with Stack(tools=path) as stack:
        stack.consumer(env={"SHOP_KEY": "k" * 20, "ORDER_SECRET": SECRET})
        yield stack


def run(stack, web, code, **job):
    """The request that the cell's call was."""
    before = len(web.asked)
    result = stack.run(kind="code", cells=[code], **job)
    assert result["status"] == "completed", result
    return [a for a in web.asked[before:] if not a.path.startswith("/mcp")]


def parts(asked, **other):
    """The arguments of caller()."""
    path, _, query = asked.path.partition("?")
    headers = {name.lower(): value for name, value in asked.headers.items()}
    given = {
        "method": asked.method,
        "path": path,
        "query": query,
        "headers": headers,
        "body": asked.body,
        "secret": SECRET.encode(),
        **other,
    }
    return given


def test_a_signed_order_names_tenant_and_user(stack, web):
    code = "order('tea', count=2)"
    (asked,) = run(stack, web, code, tenant="acme", metadata={"user": "ann@acme.org"})
    assert asked.headers["X-Tenant"] == "acme"
    assert asked.headers["X-User"] == "ann@acme.org"
    names = ("x-tenant", "x-user")
    told = checker()(**parts(asked, names=names))
    assert told == {"x-tenant": "acme", "x-user": "ann@acme.org"}
    assert 'keyid="quern-2026"' in asked.headers["Signature-Input"]


def test_the_secret_of_signatures_is_told_to_nobody(stack, web, monkeypatch):
    """Its server has it, and repeats it."""
    told = (200, json.dumps({"you sign with": SECRET}).encode(), {})
    monkeypatch.setattr(web, "answer", lambda asked: told)
    result = stack.run(kind="code", cells=["print(session())"])
    assert result["cells"][0]["stdout"] == f"{{'you sign with': '{'*' * len(SECRET)}'}}\n"


def test_what_was_changed_is_not_signed(stack, web):
    (asked,) = run(stack, web, "order('tea', count=2)", tenant="acme")
    good, caller = parts(asked), checker()
    assert caller(**good) == {"x-tenant": "acme"}
    headers = good["headers"]
    old = re.sub(r"created=\d+", "created=1000000000", headers["signature-input"])
    changes = [
        {"method": "PUT"},
        {"path": "/v1/items/gold/orders"},
        {"query": "count=3"},
        {"body": b'{"count":200}'},
        {"secret": b"another secret of some length"},
        {"headers": {**headers, "x-tenant": "victim"}},
        {"headers": {**headers, "signature-input": old}},
        {"names": ("x-tenant", "x-user")},
    ]
    for change in changes:
        assert caller(**{**good, **change}) is None, change
    digest = re.sub(r'"content-digest" ?', "", headers["signature-input"])
    for value in (digest, old):
        assert caller(**{**good, "headers": signed_anew(good, value)}) is None
    again = signed_anew(good, headers["signature-input"])
    assert again["signature"] == headers["signature"]


def signed_anew(good, params):
    """Its headers, had quern covered those: the signature itself is right."""
    space = {**good["headers"], "@method": good["method"], "@path": good["path"]}
    space["@query"] = "?" + good["query"]
    params = params.removeprefix("quern=")
    names = re.findall(r'"([^"]+)"', params.partition(")")[0])
    base = "".join(f'"{name}": {space[name]}\n' for name in names)
    base += f'"@signature-params": {params}'
    mac = hmac.digest(good["secret"], base.encode(), "sha256")
    return {
        **good["headers"],
        "signature-input": f"quern={params}",
        "signature": f"quern=:{base64.b64encode(mac).decode()}:",
    }


def test_a_get_is_signed_without_a_digest(stack, web):
    (asked,) = run(stack, web, "session()", session="lab", tenant="acme")
    assert "Content-Digest" not in asked.headers
    told = checker()(**parts(asked, names=("x-session",)))
    assert told == {"x-session": "lab"} and asked.headers["X-Fixed"] == "f"


def test_what_the_job_does_not_have_is_not_sent(stack, web):
    (asked,) = run(stack, web, "session()")
    assert "X-Session" not in asked.headers and asked.headers["X-Fixed"] == "f"
    (asked,) = run(stack, web, "order('tea')")
    assert asked.headers["X-Tenant"] == "default" and "X-User" not in asked.headers


HOSTILE = [
    "x\r\nX-Admin: yes",
    'x"; role="admin',
    "100% José 李雷 \U0001f642",
    "a\0b",
    "a,b;c=d",
]


@pytest.mark.parametrize("user", HOSTILE, ids=ascii)
def test_no_value_leaves_its_header(stack, web, user):
    (asked,) = run(stack, web, "quoted()", metadata={"user": user}, tenant='t"x')
    shown = quote(user, safe="-._~@:/+")
    assert asked.headers["X-For"] == f'user="{shown}"; tenant="t%22x"'
    assert "X-Admin" not in asked.headers
    (asked,) = run(stack, web, "order('tea')", metadata={"user": user})
    assert checker()(**parts(asked, names=("x-user",))) == {"x-user": user}


def test_a_value_that_is_too_long_fails_the_call(stack, web):
    code = "try: order('tea')\nexcept ToolError as e: print(e)"
    job = {"metadata": {"user": "é" * 3000}}
    result = stack.run(kind="code", cells=[code], **job)
    said = result["cells"][0]["stdout"]
    assert "X-User would have more than 8192 bytes" in said, said


def test_a_server_of_tools_is_told_as_well(stack, web):
    before = len(web.calls("tools/call"))
    job = stack.submit(kind="code", cells=["weather_forecast()"], tenant="acme")
    assert stack.result(job)["cells"][0]["result"] == "'rain'"
    (asked,) = web.calls("tools/call")[before:]
    assert asked.headers["X-Job"] == job
    assert checker()(**parts(asked, names=("x-job",))) == {"x-job": job}
    for method in ("initialize", "notifications/initialized", "tools/list"):
        asked = web.calls(method)[0]
        assert "X-Job" not in asked.headers, "that is for all jobs"
        assert checker()(**parts(asked, names=())) == {}


BAD = [
    ({"headers": {"X": "{{job.tenat}}"}}, "there is no {{job.tenat}}; there are job.id"),
    ({"headers": {"X": "{{job.tenant"}}, "{{ without its }}"),
    ({"headers": {"X": "{{job.metadata.}}"}}, "there is no {{job.metadata.}}"),
    ({"sign": {}}, "sign: secret is missing"),
    ({"sign": {"secret": "short"}}, "sign: secret: must have 16 to 256 bytes"),
    ({"sign": {"secret": "${NOT_THERE}"}}, "the environment has no NOT_THERE"),
    ({"sign": {"secret": "x" * 20, "key_id": 'a"b'}}, "key_id: is"),
    ({"sign": {"secret": "x" * 20, "alg": "none"}}, "alg: unknown; there are secret"),
    ({"sign": True}, "sign: must be an object {secret, key_id}"),
]


@pytest.mark.parametrize("member, why", BAD, ids=[why for _, why in BAD])
@pytest.mark.parametrize("server", [False, True], ids=["http", "mcp"])
def test_what_is_set_wrong_is_named(server, member, why, tmp_path):
    entry = {"url": "http://127.0.0.1:1/", **member}
    tools = {"mcpServers": {"w": entry}} if server else {"w": entry}
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(tools))
    said = refused(tools=path)
    assert why in said and "short" not in said


def refused(**settings):
    """What a consumer says that does not start."""
    env = {f"QUERN_{name.upper()}": str(value) for name, value in settings.items()}
    env |= {"PATH": os.environ["PATH"], "REDIS_URL": "redis://127.0.0.1:1"}
    done = subprocess.run(
        [binary("quern-consumer")], env=env, capture_output=True, text=True, timeout=30
    )
    assert done.returncode != 0
    return done.stderr + done.stdout


# --- the pages


def members_of(page, heading):
    """Those of the table below that line; what a cell says of one is no member."""
    rows = (CONSUMER / page).read_text().split(f"{heading}\n|---")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in rows.splitlines()[1:]]
    return set(re.findall(r"`(\w+)`", "".join(cells)))


ODD = {"url": "http://127.0.0.1:1/", "no_member": 1}
PAGES = [
    ("TOOLS.md", "| member of a request | what it is | absent |", "tools", {"x": ODD}),
    (
        "TOOLS.md",
        "| member of a server | what it is |",
        "tools",
        {"mcpServers": {"x": ODD}},
    ),
    ("MODELS.md", "| member | what it is | absent |", "models", {"x": ODD}),
]


@pytest.mark.parametrize("page, heading, setting, example", PAGES)
def test_a_page_has_every_member(page, heading, setting, example, tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(example))
    said = refused(**{setting: path})
    known = re.search(r"no_member: unknown; there are ([a-z_, ]+)", said)[1]
    assert set(known.strip().split(", ")) == members_of(page, heading)


# --- the models


def test_the_models_of_the_page(tmp_path):
    """Its paths are relative to the file, wherever the consumer was started."""
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "openai.key").write_text("key-of-openai-0123456789\n")
    (folder / "anthropic.key").write_text("key-of-anthropic-0123456789\n")
    with Stack(executor=False) as stack:
        text = block("MODELS.md", "json")
        for url in ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1"):
            text = text.replace(url, stack.model.url)
        (folder / "models.json").write_text(text)
        stack.consumer(models=folder / "models.json")
        for model in ("local", "gpt-4o", "default"):
            assert stack.run(prompt="hi", model=model)["answer"] == "You said: hi"
        error = stack.run(prompt="hi", model="nobody")["error"]
        assert error["code"] == "unknown_model"
