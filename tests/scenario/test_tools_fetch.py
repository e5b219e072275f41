"""fetch_url, called by the code of cells: a real consumer and executor, and web
servers here on loopback, which is let go to only where a test says so."""

import gzip
import json
import os
import pathlib
import signal
import time

import psutil
import pytest
from servers import wait_until
from stack import TERMINAL, Stack
from web import Web

PAGE = """<!doctype html><html><head><title> A  page &amp; more </title>
<style>p { color: red }</style><script>document.write("scripted")</script></head>
<body><nav><a href="/">Home</a></nav><main><h1>Grain</h1>
<p>It is <a href="mills?x=1#top">milled</a> by <em>hand</em>.</p>
<ol><li>first<li>second</ol><table><tr><th>Kind<th>Price
<tr><td>rye<td>1.20</table><noscript>no script</noscript></main></body></html>"""

PAGE_TEXT = """# Grain

It is [milled](URL/mills?x=1#top) by hand.

1. first
2. second

| Kind | Price |
| --- | --- |
| rye | 1.20 |"""

GZIP = {"Content-Encoding": "gzip"}
HTML = {"Content-Type": "text/html; charset=utf-8"}
LINES = "".join(f"<p>line {i} 中文</p>" for i in range(6_000)).encode()


# Made once: the large ones take a second of CPU.
PAGES = {
    "/page": (PAGE.encode(), HTML),
    "/json": (b'{"a": [1, 2]}', {"Content-Type": "application/json"}),
    "/text": ("a\nb 中".encode(), {"Content-Type": "text/plain"}),
    "/gbk": (
        "中文".encode("gbk"),
        {"Content-Type": "text/html;charset=GB2312"},
    ),
    "/meta": (
        b"<meta charset='shift_jis'>" + "日本".encode("shift_jis"),
        {"Content-Type": "text/html"},
    ),
    "/pdf": (b"%PDF-1.7 \0\1", {"Content-Type": "application/pdf"}),
    "/largepdf": (b"%PDF" * 800_000, {"Content-Type": "application/pdf"}),
    "/png": (b"\x89PNG\0", {"Content-Type": "image/png"}),
    "/lies": (b"text\0\1\2", {"Content-Type": "text/plain"}),
    "/untyped": (b"<!DOCTYPE html><p>page", {}),
    "/lines": (LINES, HTML),
    "/packed": (gzip.compress(PAGE.encode()), {**HTML, **GZIP}),
    "/bomb": (gzip.compress(bytes(64 << 20)), {**HTML, **GZIP}),
    "/spaces": (gzip.compress(b" " * (64 << 20)), {**HTML, **GZIP}),
    "/huge": (b"word " * 1_000_000, {"Content-Type": "text/plain"}),
    "/deep": (b"<div>" * 400_000 + b"x" * 90_000, HTML),
    "/bold": ("".join(f"<p><b a={i}>" for i in range(9000)).encode(), HTML),
}


class Pages(Web):
    """Whatever a server may send."""

    def answer(self, asked):
        path, _, query = asked.path.partition("?")
        if path.startswith("/hops/"):
            left = int(path.split("/")[2])
            if left:
                return 302, b"", {"Location": f"{left - 1}"}
            return 200, b"arrived", {"Content-Type": "text/plain"}
        if path == "/to":
            return 302, b"moved", {"Location": query, "Set-Cookie": "a=b"}
        if path not in PAGES:
            return 404, b"nothing here", {}
        return 200, *PAGES[path]


@pytest.fixture(scope="module")
def web():
    with Pages() as web, Web() as other:
        web.other = other
        yield web


@pytest.fixture(scope="module")
def stack():
    with Stack(tools_builtin="fetch_url") as stack:
        yield stack


def one_consumer(stack, **settings):
    """The only one: the settings are those of a test."""
    for old in stack.consumers:
        stack.dismiss(old)
    stack.consumers.clear()
    stack.consumer(**settings)


def fetch(stack, *urls, **more):
    """What code gets for each: the object, or the sentence of its error."""
    code = f"""import json
def one(url):
    try: return fetch_url(url, **{more!r})
    except ToolError as e: return str(e)
print(json.dumps([one(url) for url in {list(urls)!r}]))"""
    cell = stack.run(60, kind="code", cells=[code])["cells"][0]
    assert "stdout" in cell, cell
    return json.loads(cell["stdout"])


@pytest.fixture(scope="module")
def open_stack(stack, web):
    """Where 127.0.0.1 is let go to, at the port of these pages only."""
    one_consumer(stack, fetch_allow=f"127.0.0.1:{web.server_port}")
    return stack


def test_a_page_is_read(open_stack, web):
    page = fetch(open_stack, web.url + "/page#part")[0]
    assert page["title"] == "A page & more"
    assert page["text"] == PAGE_TEXT.replace("URL", web.url)
    assert page["url"] == web.url + "/page"
    headers = web.asked[-1].headers
    assert headers["User-Agent"].startswith("quern/")
    assert not {"Cookie", "Authorization", "Referer"} & set(headers)
    assert fetch(open_stack, web.url + "/packed")[0]["text"] == page["text"]


# Every row: where, what is read there.
READS = [
    ("/json", '{"a": [1, 2]}'),
    ("/text", "a\nb 中"),
    ("/gbk", "中文"),
    ("/meta", "日本"),
    ("/untyped", "page"),
    ("/hops/5", "arrived"),
    ("/spaces", ""),
]

# Every row: what it shows, where, the sentence.
REFUSES = [
    ("a PDF", "/pdf", "it is application/pdf, which has no text to read"),
    ("one that is large", "/largepdf", "it is application/pdf, which"),
    ("a picture", "/png", "it is image/png, which has no text"),
    ("bytes that are called text", "/lies", "it is called text/plain, but its bytes"),
    ("64 MiB of nothing, packed", "/bomb", "it is called text/html, but its bytes"),
    ("no page", "/none", "HTTP 404 from URL/none"),
    ("six redirects", "/hops/6", "more than 5 redirects, the last one to 0"),
    ("one to a file", "/to?file:///etc/passwd", "redirected to file:///etc/passwd: url: only http:// and https://"),
    ("one to FTP", "/to?ftp://127.0.0.1/", "only http:// and https://"),
    ("one with a password", "/to?http://u:p@127.0.0.1/", "url: no user name or password"),
    ("one to another port", "/to?OTHER/x", "redirected: 127.0.0.1 has an address that is not of the public internet"),
    ("one to a metadata server", "/to?http://169.254.169.254/latest/", "redirected: 169.254.169.254 has an address"),
    ("one to a name of this machine", "/to?http://localhost:PORT/x", "redirected: localhost has an address that"),
]  # fmt: skip


def test_forms_of_text(open_stack, web):
    got = fetch(open_stack, *[web.url + path for path, _ in READS])
    assert [page["text"] for page in got] == [text for _, text in READS]


def test_what_is_refused(open_stack, web):
    names = {"URL": web.url, "OTHER": web.other.url, "PORT": str(web.other.server_port)}

    def named(text):
        for name, value in names.items():
            text = text.replace(name, value)
        return text

    got = fetch(open_stack, *[web.url + named(path) for _, path, _ in REFUSES])
    for (name, _, sentence), said in zip(REFUSES, got):
        assert named(sentence) in said, (name, said)
    assert web.other.asked == [], "a redirect went past the list"


def test_cookies_are_neither_kept_nor_sent(open_stack, web):
    got = fetch(open_stack, web.url + "/to?text", web.url + "/text")
    assert [page["text"] for page in got] == ["a\nb 中"] * 2
    assert not [asked for asked in web.asked if "Cookie" in asked.headers]


PIECES = """text, at, pieces = '', 0, []
while at is not None:
    page = fetch_url(URL, at)
    pieces.append(len(page['text'].encode()))
    text += page['text']
    at = page.get('next_offset')
want = '\\n\\n'.join(f'line {i} 中文' for i in range(6_000))
text == want, page['bytes'] == len(want.encode()), max(pieces), 'cut' in page"""


def test_a_long_page_is_read_in_pieces(open_stack, web):
    code = PIECES.replace("URL", repr(web.url + "/lines"))
    cell = open_stack.run(60, kind="code", cells=[code])["cells"][0]
    assert cell.get("result") == "(True, True, 32768, False)", cell
    one = web.url + "/text"
    assert fetch(open_stack, one, offset=7)[0]["text"] == ""
    assert "offset is 8, the text has 7 bytes" in fetch(open_stack, one, offset=8)[0]
    assert "offset is -1, must be" in fetch(open_stack, one, offset=-1)[0]


def test_what_is_beyond_two_mebibytes_is_not_read(open_stack, web):
    page = fetch(open_stack, web.url + "/huge", offset=(2 << 20) - 4)[0]
    assert (page["cut"], page["bytes"], len(page["text"])) == (True, 2 << 20, 4)


def readers_of(stack):
    """The processes that read for the only consumer. One that is not begun yet
    must not be stopped: the consumer waits until it is."""
    found = []
    for child in psutil.Process(stack.consumers[0].pid).children():
        try:
            if child.name() == "quern-reader":
                found.append(child)
        except psutil.NoSuchProcess:
            pass
    return found


def reader_of(stack):
    return wait_until(lambda: readers_of(stack), what="a reader runs")[0]


def test_a_page_that_cannot_be_read_harms_nobody(open_stack, web):
    """Its reader is held: others go on. It is ended: the code is told."""
    code = f"try: fetch_url({web.url + '/deep'!r})\nexcept ToolError as e: print(e)"
    job = open_stack.submit(kind="code", cells=[code])
    reader = reader_of(open_stack)
    reader.send_signal(signal.SIGSTOP)
    assert fetch(open_stack, web.url + "/text")[0]["text"] == "a\nb 中"
    assert open_stack.state(job) == "in_progress"
    reader.send_signal(signal.SIGKILL)
    cell = open_stack.result(job)["cells"][0]
    assert "it takes too much time or memory to read" in cell["stdout"]


def test_pages_that_are_made_to_hurt(open_stack, web):
    for page in fetch(open_stack, web.url + "/deep", web.url + "/bold"):
        assert "too much time or memory" in page or "bytes of memory" in page, page
    assert fetch(open_stack, web.url + "/text")[0]["text"] == "a\nb 中"


def test_a_reader_has_nothing(open_stack, web):
    job = open_stack.submit(kind="code", cells=[f"fetch_url({web.url + '/deep'!r})"])
    reader = reader_of(open_stack)
    wait_until(lambda: reader.num_fds() <= 4, what="its descriptors are closed")
    reader.send_signal(signal.SIGSTOP)
    kinds = {os.readlink(f"/proc/{reader.pid}/fd/{fd}").split(":")[0] for fd in (0, 1)}
    assert kinds <= {"pipe", "socket"} and reader.environ() == {"LC_ALL": "C"}
    limits = pathlib.Path(f"/proc/{reader.pid}/limits").read_text().splitlines()
    bounds = {line[:25].strip(): line[26:].split()[0] for line in limits}
    assert bounds["Max cpu time"] == "5" and bounds["Max core file size"] == "0"
    reader.send_signal(signal.SIGKILL)
    open_stack.result(job)


def test_four_read_at_once_and_the_others_wait(open_stack, web):
    """All pages are fetched, and read by four at a time, which are held."""
    code = f"""from concurrent.futures import ThreadPoolExecutor as T
def one(_):
    try: return fetch_url({web.url + '/deep'!r})
    except ToolError as e: return str(e)
with T(8) as t: got = list(t.map(one, range(8)))
[g for g in got if 'read' not in g]"""
    before = web.seen["/deep"]
    job = open_stack.submit(kind="code", cells=[code])
    held = set()

    def all_are_held():
        for reader in readers_of(open_stack):
            reader.send_signal(signal.SIGSTOP)
            held.add(reader.pid)
        return len(held) >= 4 and web.seen["/deep"] == before + 8

    wait_until(all_are_held, what="eight pages and four readers")
    assert len(held) == len(readers_of(open_stack)) == 4
    while open_stack.state(job) not in TERMINAL:
        for reader in readers_of(open_stack):
            reader.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    cell = open_stack.result(job)["cells"][0]
    assert cell.get("result") == "[]", cell


def test_a_reader_ends_with_who_wants_it(open_stack, web):
    job = open_stack.submit(kind="code", cells=[f"fetch_url({web.url + '/deep'!r})"])
    reader = reader_of(open_stack)
    reader.send_signal(signal.SIGSTOP)
    open_stack.call("cancel", job, "no longer wanted")
    assert open_stack.result(job)["status"] == "cancelled"
    wait_until(lambda: not reader.is_running(), what="the reader is gone, and reaped")


def test_no_proxy_is_taken(stack, web):
    """It would connect to whatever it likes."""
    env = {"http_proxy": web.other.url, "no_proxy": ""}
    one_consumer(stack, fetch_allow="127.0.0.1", env=env)
    before = len(web.other.asked)
    assert fetch(stack, web.url + "/text")[0]["text"] == "a\nb 中"
    assert len(web.other.asked) == before
    one_consumer(stack, fetch_allow=f"127.0.0.1:{web.server_port}")


def test_nothing_of_this_machine_or_its_networks(stack, web):
    """The model's endpoint is here, too, and a connection to it is kept."""
    one_consumer(stack)
    assert stack.run(prompt="hello")["status"] == "completed"
    asked = stack.model.counts()
    inside = [
        web.url + "/page",
        stack.model.url + "/models",
        "http://localhost/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0.0.0.0/",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://224.0.0.1/",
        "http://[ff02::1]/",
        "http://255.255.255.255/",
        "http://１２７.0.0.1/",
    ]
    before = len(web.asked)
    for url, said in zip(inside, fetch(stack, *inside)):
        assert "not of the public internet" in said or "url: " in said, (url, said)
    assert len(web.asked) == before
    assert stack.model.counts() == asked


def test_what_is_denied_is_denied(stack, web):
    one_consumer(stack, fetch_allow="127.0.0.0/8", fetch_deny="127.0.0.1, .example")
    said = fetch(stack, web.url + "/page", web.url.replace("127.0.0.1", "127.0.0.2"))
    assert "127.0.0.1 may not be fetched from here" in said[0]
    assert "may not be" not in said[1]


@pytest.mark.parametrize(
    "url, sentence",
    [
        ("", "url: "),
        ("file:///etc/passwd", "url: only http:// and https:// are fetched"),
        ("gopher://127.0.0.1/", "url: only http:// and https://"),
        ("http://user@127.0.0.1/", "url: no user name or password may stand in it"),
        ("http://:pw@127.0.0.1/", "url: no user name or password"),
        ("http://" + "a" * 9000, "url: "),
        ("http://a:b:c/", "url: "),
    ],
)
def test_bad_urls(stack, url, sentence):
    assert sentence in fetch(stack, url)[0]


def test_it_is_offered_where_it_is_switched_on(stack):
    one_consumer(stack, tools_builtin="")
    cell = stack.run(kind="code", cells=["'fetch_url' in globals()"])["cells"][0]
    assert cell["result"] == "False"
