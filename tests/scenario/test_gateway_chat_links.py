"""quern-gateway: what code has made, as links in chats and in outputs of responses."""

import base64
import http.client
import json
import re
import ssl
import subprocess
import time
import uuid

import pytest
from gateway import Gateway, bearer, make_key
from servers import PATIENCE_S, binary
from stack import call_of
from test_gateway_chat import chunks, text_of
from test_gateway_files import png
from test_gateway_responses import make_certificate

IMAGE = base64.b64decode(png())
DRAW = f"""
import base64
from IPython.display import display, Image
display(Image(base64.b64decode({png()!r})))
"""
WRITE = "open('data.csv', 'w').write('a,b'); open('other.txt', 'w').write('other')"
LINK = r"http://[^/]+/v1/links/[\w-]+"


def run(code, id="c1"):
    return {"tool_calls": [call_of(code, id)]}


def ask(gateway, **request):
    messages = [{"role": "user", "content": "go"}]
    body = {"messages": messages, **request}
    status, answer = gateway.json("POST", "/v1/chat/completions", body)
    assert status == 200, answer
    return answer["choices"][0]["message"]["content"]


def fetch(gateway, url):
    """What a browser gets, which has no key."""
    base, path = url.split("/v1/")
    assert base in (f"http://127.0.0.1:{gateway.port}", f"http://localhost:{gateway.port}")
    status, _, data = gateway.call("GET", f"/v1/{path}")
    assert status == 200, data
    return data


def test_images_and_files_of_a_plain_chat(gateway, stack):
    text = "Done: [the data](sandbox:/mnt/data/data.csv)."
    stack.model.script([run(DRAW), run(WRITE, "c2"), {"text": text}])
    shown = ask(gateway)
    pattern = (
        rf"!\[figure-1\.png\]\(({LINK})\)\n\n"
        rf"Done: \[the data\]\(({LINK})\)\.\n\n"
        rf"\[other\.txt\]\(({LINK})\)"
    )
    assert re.fullmatch(pattern, shown), shown
    image, data, other = re.fullmatch(pattern, shown).groups()
    assert fetch(gateway, image) == IMAGE
    assert (fetch(gateway, data), fetch(gateway, other)) == (b"a,b", b"other")


def test_images_and_files_of_a_streamed_chat(gateway, stack):
    stack.model.script([run(DRAW), run(WRITE, "c2"), {"text": "Done."}])
    all = chunks(gateway)
    deltas = [c["choices"][0]["delta"] for c in all if c["choices"]]
    pattern = (
        rf"!\[figure-1\.png\]\(({LINK})\)\n\nDone\.\n\n"
        rf"\[data\.csv\]\(({LINK})\)\n\n\[other\.txt\]\(({LINK})\)"
    )
    assert re.fullmatch(pattern, text_of(deltas)), text_of(deltas)
    image, data, other = re.fullmatch(pattern, text_of(deltas)).groups()
    assert fetch(gateway, image) == IMAGE
    assert (fetch(gateway, data), fetch(gateway, other)) == (b"a,b", b"other")


def test_an_image_is_there_before_the_job_has_ended(gateway, stack):
    """A browser asks for it as soon as it sees the link, and does not ask again."""
    stack.model.script([run(DRAW), {"text": "Late.", "delay_ms": 3000}])
    connection = gateway.connection()
    body = json.dumps({"messages": [{"role": "user", "content": "go"}], "stream": True})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer, seen = connection.getresponse(), ""
    while "/v1/links/" not in seen:
        seen += answer.readline().decode()
    url = re.search(LINK, seen).group()
    assert fetch(gateway, url) == IMAGE
    assert "Late." not in seen
    rest = answer.read().decode()
    assert "Late." in rest and rest.endswith("data: [DONE]\n\n")
    assert fetch(gateway, url) == IMAGE


def test_files_that_came_in_are_not_linked(gateway, stack):
    file = "data:text/csv;base64," + base64.b64encode(b"1,2").decode()
    parts = [{"type": "file", "file": {"filename": "in.csv", "file_data": file}}]
    code = "print(open('in.csv').read()); open('out.txt', 'w').write('out')"
    stack.model.script([run(code), {"text": "Done."}])
    shown = ask(gateway, messages=[{"role": "user", "content": parts}])
    assert re.fullmatch(rf"Done\.\n\n\[out\.txt\]\({LINK}\)", shown), shown


def test_links_begin_with_the_host_that_was_asked_or_the_public_url(stack):
    url = "https://quern.example:8443/ai"
    with Gateway(stack.redis.url, public_url=url, link_ttl="90s") as gateway:
        gateway.ready()
        stack.model.script([run(DRAW), {"text": "Done."}])
        shown = ask(gateway)
        token = re.search(r"\(https://quern\.example:8443/ai/v1/links/([\w-]+)\)", shown).group(1)
        path = f"/v1/links/{token}"
        status, headers, data = gateway.call("GET", path)
        assert (status, data) == (200, IMAGE)
        assert 80 <= int(headers["Cache-Control"].split("max-age=")[1]) <= 90
        gateway.drain()


def test_links_are_https_when_the_gateway_speaks_it(stack, tmp_path):
    pem = tmp_path / "both.pem"
    make_certificate(pem, "one")
    with Gateway(stack.redis.url, tls_certificate=str(pem)) as gateway:
        gateway.ready()
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", gateway.port, context=context)
        stack.model.script([run(DRAW), {"text": "Done."}])
        body = json.dumps({"messages": [{"role": "user", "content": "go"}]})
        headers = {"Content-Type": "application/json", "Host": "localhost:9443"}
        connection.request("POST", "/v1/chat/completions", body, headers)
        shown = json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]
        path = re.search(r"\(https://localhost:9443(/v1/links/[\w-]+)\)", shown).group(1)
        connection.request("GET", path, headers={"Host": "ai.example"})
        assert connection.getresponse().read() == IMAGE
        connection.close()
        gateway.drain()


@pytest.mark.parametrize(
    "url",
    ["quern.example", "ftp://x", "https://", "https://x/", "https://x?y", "https://a b",
     "https://x)", "https://u:p@x", "https://:80", "https://" + "x" * 300],
)  # fmt: skip
def test_a_public_url_is_a_url(url):
    done = subprocess.run(
        [binary("quern-gateway"), "--public-url", url],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 64 and "http://HOST or https://HOST" in done.stderr, done


def test_another_gateway_opens_what_one_has_made(gateway, stack):
    stack.model.script([run(DRAW), {"text": "Done."}])
    url = re.search(LINK, ask(gateway)).group()
    key = make_key(stack, tenant="bob")
    with Gateway(stack.redis.url, open=None) as other:
        other.ready()
        path = "/v1/" + url.split("/v1/")[1]
        assert other.call("GET", path)[2] == IMAGE
        assert other.call("GET", path, **bearer(key))[2] == IMAGE
        other.drain()


INCLUDE = ["code_interpreter_call.outputs"]
TOOLS = [{"type": "code_interpreter", "container": {"type": "auto"}}]


def outputs_of(response):
    [code] = [i for i in response["output"] if i["type"] == "code_interpreter_call"]
    return code["outputs"]


def test_outputs_of_a_response_have_images_by_url(gateway, stack):
    stack.model.script([run(DRAW + "\nprint('drawn')"), {"text": "Done."}])
    body = {"input": "go", "tools": TOOLS, "include": INCLUDE}
    status, response = gateway.json("POST", "/v1/responses", body)
    assert status == 200, response
    logs, image = outputs_of(response)
    assert logs["type"] == "logs" and "drawn" in logs["logs"]
    assert set(image) == {"type", "url"} and image["type"] == "image"
    assert fetch(gateway, image["url"]) == IMAGE
    again = gateway.json("GET", f"/v1/responses/{response['id']}")[1]
    assert fetch(gateway, outputs_of(again)[1]["url"]) == IMAGE


def test_outputs_of_a_streamed_response_have_them_too(gateway, stack):
    stack.model.script([run(DRAW), {"text": "Done."}])
    body = {"input": "go", "tools": TOOLS, "include": INCLUDE, "stream": True}
    status, _, data = gateway.call(
        "POST", "/v1/responses", json.dumps(body), content_type="application/json"
    )
    assert status == 200
    lines = [line for line in data.decode().split("\n") if line.startswith("data: {")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    done = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    images = [o for i in done for o in i.get("outputs") or [] if o["type"] == "image"]
    assert [fetch(gateway, i["url"]) for i in images] == [IMAGE]
    assert events[-1]["type"] == "response.completed"
    assert [o["type"] for o in outputs_of(events[-1]["response"])][-1] == "image"


@pytest.mark.parametrize("ttl, days", [("24h", 1), ("3d", 3)])
def test_a_chat_is_kept_as_long_as_its_links_work(stack, ttl, days):
    with Gateway(stack.redis.url, link_ttl=ttl) as gateway:
        gateway.ready()
        stack.model.script([run(WRITE), {"text": "Done."}])
        token = re.search(LINK, ask(gateway)).group().split("/")[-1]
        id = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))[10:26]
        [key] = stack.db.keys(f"quern:*:result:{uuid.UUID(bytes=id)}")
        day = 24 * 3600
        assert days * day - 60 < stack.db.ttl(key) <= days * day
        [file, _] = stack.result(str(uuid.UUID(bytes=id)))["files"]
        assert stack.db.ttl(f"quern:{{000}}:blob:{file['blob']}") > days * day - 60
        gateway.drain()


def test_a_link_ends_after_its_time(stack):
    with Gateway(stack.redis.url, link_ttl="60s") as gateway:
        gateway.ready()
        stack.model.script([run(DRAW), {"text": "Done."}])
        token = re.search(LINK, ask(gateway)).group().split("/")[-1]
        plain = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        assert 50 < int.from_bytes(plain[2:10], "big") - time.time() <= 60
        gateway.drain()
