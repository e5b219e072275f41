"""Sessions that may reach some hosts reach these and nothing else."""

import os
import re
import time

import pytest
from executor_client import Executor
from internet import Internet
from servers import wait_until

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="makes an internet of its own: needs root"
)

PUBLIC, OTHER = "93.184.215.14", "151.101.1.140"
NOT_PUBLIC = [
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.192",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.7",
    "168.63.129.16",
]
NAMES = {
    "allowed.test": [PUBLIC],
    "forbidden.test": [PUBLIC],
    "ported.test": [PUBLIC],
    "wild.test": [PUBLIC],
    "silent.test": ["93.184.215.99"],  # nobody has it
    "rebind.test": [[PUBLIC], ["127.0.0.1"]],
    "mixed.test": ["127.0.0.1", "10.1.2.3", OTHER],
    "loop.test": ["127.0.0.1"],
    "zero.test": ["0.0.0.0"],
    "allowed.test.corp.test": ["10.1.2.3"],
    **{f"n{i}.private.test": [a] for i, a in enumerate(NOT_PUBLIC)},
}
POLICY = """
allowed.test, filed.test  # a comment
.wild.test ported.test:8443
rebind.test, mixed.test, loop.test, zero.test, silent.test, missing.test
.private.test
"""
PRELUDE = """
import http.client, os, socket, time, urllib.error, urllib.request

def get(url, **more):
    with urllib.request.urlopen(url, timeout=20, **more) as answer:
        return answer.read()

def raw(data, size=100_000):
    with socket.create_connection(("127.0.0.1", 3128), 20) as proxy:
        proxy.sendall(data)
        got = b""
        while len(got) < size and (more := proxy.recv(65536)):
            got += more
        return got

def status(data):
    line = raw(data).split(b"\\r\\n")[0].decode()
    return line.split(" ", 1)[1] if line else "nothing"
"""


@pytest.fixture(scope="module")
def internet():
    addresses = [PUBLIC, OTHER, *NOT_PUBLIC]
    with Internet(NAMES, addresses, [22, 80, 443, 8080, 8443]) as internet:
        yield internet


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "hosts"
    path.write_text(POLICY)
    return str(path)


@pytest.fixture(scope="module")
def executor(internet, policy):
    with Executor("--profile", "bare", "--network", policy) as executor:
        yield executor
        assert executor.process.alive(), executor.process.text()
        assert "proxy.down" not in executor.process.text()
        reached = {seen.address for seen in internet.seen}
        assert reached <= {PUBLIC, OTHER}, "somebody got through"


@pytest.fixture
def session(executor, request):
    session = executor.open(f"s-{abs(hash(request.node.name))}")
    assert session.run(PRELUDE).status == "ok"
    yield session
    assert session.run("get('http://allowed.test/after')").status == "ok"
    session.close()


# ------------------------------------------------------- what is there to use


def test_it_is_told(executor):
    assert "; network by proxy: " in executor.connection.welcome["isolation"]
    assert "allowed.test" in executor.connection.welcome["isolation"]


WORKS = [
    ("an address of a web page", "get('http://allowed.test/a?b=c')", b"GET /a?b=c"),
    ("a name below a suffix", "get('http://a.b.wild.test/')", b"GET /"),
    ("the suffix itself", "get('http://wild.test/')", b"GET /"),
    ("a name in another spelling", "get('http://ALLOWED.test.:80/')", b"GET /"),
    ("a name of the hosts file", "get('http://filed.test/')", b"GET /"),
    ("a port that is listed", "get('http://ported.test:8443/')", b"GET /"),
    ("a request with a body", "get('http://allowed.test/', data=b'abc')", b"abc"),
    (
        "much to take",
        "len(get('http://allowed.test/bytes/3000000'))",
        3000000,
    ),
    (
        "much to give",
        "len(get('http://allowed.test/', data=b'x' * 3_000_000))",
        3000000,
    ),
    (
        "a redirect to a host that is listed",
        "get('http://allowed.test/to/http://ported.test:8443/there')",
        b"GET /there",
    ),
    (
        "many at once",
        "from concurrent.futures import ThreadPoolExecutor as Pool\n"
        "with Pool(30) as pool:\n"
        "    got = list(pool.map(get, ['http://allowed.test/x'] * 60))\n"
        "set(got)",
        {b"GET /x"},
    ),
    (
        "a tunnel",
        "c = http.client.HTTPConnection('127.0.0.1', 3128)\n"
        "c.set_tunnel('allowed.test', 443)\n"
        "got = []\n"
        "for path in ('/1', '/2'):\n"
        "    c.request('GET', path)\n"
        "    got.append(c.getresponse().read())\n"
        "got",
        [b"GET /1", b"GET /2"],
    ),
    (
        "a tunnel whose client does not wait for it",
        "raw(b'CONNECT allowed.test:443 HTTP/1.1\\r\\n\\r\\n"
        "GET /early HTTP/1.0\\r\\n\\r\\n').split(b'\\r\\n\\r\\n')[-1]",
        b"GET /early",
    ),
    (
        "an address that is public among others that are not",
        "get('http://mixed.test/')",
        b"GET /",
    ),
]


@pytest.mark.parametrize("code, value", [r[1:] for r in WORKS], ids=[r[0] for r in WORKS])
def test_what_is_allowed_works(session, code, value):
    done = session.run(code)
    assert done.result == repr(value), done


def test_what_a_host_is_told(session, internet):
    request = (
        b"GET http://allowed.test/mark HTTP/1.1\r\nHost: forbidden.test\r\n"
        b"Proxy-Authorization: secret\r\nX-Private: 1\r\nConnection: x-private\r\n"
        b"Upgrade: h2c\r\nAccept: text/plain\r\n\r\n"
    )
    assert session.run(f"status({request!r})").result == "'200 OK'"
    seen = next(s for s in internet.seen if "/mark" in s.line)
    assert seen.line == "GET /mark HTTP/1.1"
    assert [*seen.headers] == [
        ("Host", "allowed.test"),
        ("Accept", "text/plain"),
        ("Connection", "close"),
    ]


def test_names_are_taken_as_they_are_written(session, internet):
    assert "missing.test is not known" in session.run(
        "status(b'CONNECT missing.test:80 HTTP/1.1\\r\\n\\r\\n')"
    ).result
    assert not [name for name in internet.asked if name.endswith(".corp.test")]


# ----------------------------------------------------------- what is refused

FORBIDDEN = "403 {} port {} is not allowed here"
NOWHERE = "403 {} has no address of the public internet"


def connect(authority):
    return f"CONNECT {authority} HTTP/1.1\r\n\r\n".encode()


def fetch(address, *headers):
    lines = "".join(header + "\r\n" for header in headers)
    return f"GET {address} HTTP/1.1\r\n{lines}\r\n".encode()


REFUSED = [
    # hosts
    ("another host", connect("forbidden.test:443"), FORBIDDEN.format("forbidden.test", 443)),
    ("another host's page", fetch("http://forbidden.test/"), "403 forbidden.test"),
    ("what ends alike", connect("notwild.test:443"), "403 notwild.test"),
    ("what begins alike", connect("allowed.test.evil.test:443"), "403 allowed.test.evil"),
    ("a name below one that is exact", connect("a.allowed.test:443"), "403 a.allowed.test"),
    ("ssh", connect("allowed.test:22"), FORBIDDEN.format("allowed.test", 22)),
    ("a port of another host", connect("allowed.test:8443"), "403 allowed.test port 8443"),
    ("a host's other ports", fetch("http://ported.test/"), "403 ported.test port 80"),
    # addresses
    ("the host itself", connect("127.0.0.1:80"), "403 127.0.0.1 port 80"),
    ("the host's name", connect("localhost:80"), "403 localhost"),
    ("metadata", fetch("http://169.254.169.254/latest"), "403 169.254.169.254"),
    ("an address as one number", connect("2130706433:80"), "400 \"2130706433\" is no host"),
    ("an address in hex", connect("0x7f000001:80"), "400 \"0x7f000001\" is no host"),
    ("an address in octal", connect("0177.0.0.1:80"), "400 \"0177.0.0.1\" is no host"),
    ("an address of two parts", connect("127.1:80"), "400 \"127.1\" is no host"),
    ("loopback in IPv6", connect("[::1]:80"), "403 ::1 port 80"),
    ("IPv4 in IPv6", connect("[::ffff:127.0.0.1]:80"), "403 ::ffff:127.0.0.1"),
    ("IPv4 in NAT64", connect("[64:ff9b::7f00:1]:80"), "403 64:ff9b::7f00:1"),
    ("a zone of IPv6", connect("[fe80::1%25lo]:80"), "400"),
    ("a name that is the host", connect("loop.test:80"), NOWHERE.format("loop.test")),
    ("a name that is nobody", connect("zero.test:80"), NOWHERE.format("zero.test")),
    *[
        (f"a name for {address}", connect(f"n{i}.private.test:80"), "403 n")
        for i, address in enumerate(NOT_PUBLIC)
    ],
    # tricks with the first line
    ("a user before the host", fetch("http://allowed.test@127.0.0.1/"), "400 no user"),
    ("a user in a tunnel", connect("allowed.test:443@127.0.0.1:80"), "400 no user"),
    ("a backslash", fetch("http://127.0.0.1\\@allowed.test/"), "400"),
    ("a fragment", fetch("http://127.0.0.1#allowed.test/"), "400"),
    ("a coded dot", connect("allowed%2etest:443"), "400"),
    ("a letter that is none", "CONNECT ａllowed.test:443 HTTP/1.1\r\n\r\n".encode(), "400"),
    ("a NUL", connect("127.0.0.1\0.wild.test:80"), "400"),
    ("no port", connect("allowed.test"), "400 CONNECT needs host and port"),
    ("port 0", connect("allowed.test:0"), "400"),
    ("a port beyond all", connect("allowed.test:65616"), "400"),
    ("a port with a sign", connect("allowed.test:+80"), "400"),
    ("another scheme", fetch("ftp://allowed.test/"), "400 this is a proxy"),
    ("TLS by the proxy", fetch("https://allowed.test/"), "400 this is a proxy"),
    ("a path alone", fetch("/"), "400 this is a proxy"),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"),
    ("HTTP/0.9", b"GET http://allowed.test/\r\n\r\n", "400"),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"),
    ("an empty line first", b"\r\n\r\n", "400"),
    # tricks with headers
    ("a length twice", fetch("http://allowed.test/", "Content-Length: 1", "Content-Length: 2"), "400"),
    ("a length that is none", fetch("http://allowed.test/", "Content-Length: +1"), "400"),
    ("chunks", fetch("http://allowed.test/", "Transfer-Encoding: chunked"), "411"),
    (
        "length and chunks",
        fetch("http://allowed.test/", "Content-Length: 3", "Transfer-Encoding: chunked"),
        "411",
    ),
    ("a space before the colon", fetch("http://allowed.test/", "Host : x"), "400"),
    ("a folded line", fetch("http://allowed.test/", "A: b", " c"), "400"),
    ("a line without colon", fetch("http://allowed.test/", "nothing"), "400"),
    ("a bare line feed", fetch("http://allowed.test/", "A: b\nHost: evil.test"), "400"),
    ("a bare return", fetch("http://allowed.test/", "A: b\rHost: evil.test"), "400"),
    ("a head without end", b"GET http://allowed.test/ HTTP/1.1\r\nA: " + b"x" * 70000, "431"),
    ("too many headers", fetch("http://allowed.test/", *["A: b"] * 101), "431"),
]


@pytest.mark.parametrize("data, said", [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_is_not_allowed_is_refused_with_a_sentence(session, data, said):
    result = session.run(f"status({data!r})").result
    assert result[1:].startswith(said), result


def test_the_model_is_told_what_it_may_reach(session):
    done = session.run("get('https://forbidden.test/')")
    assert "forbidden.test port 443 is not allowed here" in done.error["value"]
    assert "code may reach: allowed.test, " in done.error["value"]


def test_a_redirect_leads_nowhere_else(session, internet):
    done = session.run("get('http://allowed.test/to/http://169.254.169.254/latest')")
    assert done.error["name"] == "HTTPError" and "403" in done.error["value"]
    assert "/latest" not in [seen.line for seen in internet.seen]


def test_a_name_is_looked_up_once_and_again_for_the_next(session, internet):
    before = internet.asked["rebind.test"]
    assert before == 0
    assert session.run("get('http://rebind.test/')").result == "b'GET /'"
    assert internet.asked["rebind.test"] == 1
    done = session.run("status(b'CONNECT rebind.test:80 HTTP/1.1\\r\\n\\r\\n')")
    assert NOWHERE.format("rebind.test") in done.result


def test_a_second_request_is_not_carried(session, internet):
    two = fetch("http://allowed.test/first") + fetch("http://forbidden.test/second")
    answer = session.run(f"raw({two!r})").result
    assert answer.count("HTTP/1.1 200") == 1 and "GET /first" in answer
    assert not [seen for seen in internet.seen if "second" in seen.line]


def test_a_body_ends_where_its_length_says(session, internet):
    head = fetch("http://allowed.test/body", "Content-Length: 3")
    smuggled = head + b"abcGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    assert "abc" in session.run(f"raw({smuggled!r})").result
    seen = [s for s in internet.seen if "/body" in s.line or "smuggled" in s.line]
    assert [(s.line, s.body) for s in seen] == [("GET /body HTTP/1.1", b"abc")]


AROUND = [
    ("a way to the host", "socket.create_connection(('10.1.2.3', 80), 3)", OSError),
    ("a way to an allowed host", f"socket.create_connection(('{PUBLIC}', 80), 3)", OSError),
    ("another port of its own", "socket.create_connection(('127.0.0.1', 80), 3)", OSError),
    ("a name", "socket.getaddrinfo('allowed.test', 80)", "gaierror"),
    ("UDP", "socket.socket(type=socket.SOCK_DGRAM)", "PermissionError"),
    ("raw packets", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "PermissionError"),
    ("SCTP", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)", OSError),
    ("multipath TCP", "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)", OSError),
    ("IPv6", "socket.socket(socket.AF_INET6)", "PermissionError"),
    ("netlink", "socket.socket(16, socket.SOCK_RAW)", "PermissionError"),
    ("packets", "socket.socket(17, socket.SOCK_RAW)", "PermissionError"),
    ("vsock", "socket.socket(40)", "PermissionError"),
    ("a server", "socket.socket().bind(('127.0.0.1', 8000))", "PermissionError"),
    ("the proxy's place", "socket.socket().bind(('127.0.0.1', 3128))", OSError),
    ("kernel TLS", "socket.socket().setsockopt(6, 31, b'tls')", OSError),
    ("a route", "socket.socket().setsockopt(0, 1, 1)", OSError),
]


@pytest.mark.parametrize("code, error", [r[1:] for r in AROUND], ids=[r[0] for r in AROUND])
def test_there_is_no_way_around_the_proxy(session, code, error):
    done = session.run(code)
    assert done.status == "error", done
    if isinstance(error, str):
        assert done.error["name"] == error


# -------------------------------------------------------------- how much of it

HOLD = """
held = []
for _ in range(45):
    s = socket.create_connection(("127.0.0.1", 3128), 20)
    s.sendall(b"CONNECT allowed.test:443 HTTP/1.1\\r\\n\\r\\n")
    held.append(s)
answers = [s.recv(12)[9:] for s in held[:40]]
(answers.count(b"200"), answers.count(b"503"))
"""


def test_connections_at_once_are_limited_for_each_session(executor, session):
    neighbour = executor.open("neighbour")
    neighbour.run(PRELUDE)
    done = session.run(HOLD)
    assert done.result == "(32, 8)", done
    assert neighbour.run("get('http://allowed.test/')").result == "b'GET /'"
    session.run("for s in held: s.close()")
    works = "get('http://allowed.test/')"
    wait_until(lambda: session.run(works).status == "ok", what="a way out again")


def test_who_sends_nothing_is_not_waited_for(session):
    slow = """
s = socket.create_connection(("127.0.0.1", 3128), 30)
try:
    for byte in b"GET http://allowed.test/ HTTP/1.1\\r\\nA: " + b"b" * 100:
        s.send(bytes([byte]))
        time.sleep(0.2)
except OSError:
    pass
s.recv(12)
"""
    done = session.run(slow, cell_ms=60000)
    assert done.result == "b'HTTP/1.1 408'" or done.error["name"].startswith("Conn")


def test_bytes_a_second_are_limited(session):
    start = time.monotonic()
    done = session.run("len(get('http://allowed.test/bytes/16000000'))")
    assert done.result == "16000000"
    assert time.monotonic() - start > 1.5


def test_bytes_in_all_are_limited(internet, policy):
    flags = ["--network", policy, "--traffic", "4M"]
    with Executor("--profile", "bare", *flags) as executor:
        session, other = executor.open("a"), executor.open("b")
        for each in (session, other):
            each.run(PRELUDE)
        assert session.run("len(get('http://allowed.test/bytes/3000000'))").result
        done = session.run("len(get('http://allowed.test/bytes/3000000'))")
        assert done.error["name"] in ("IncompleteRead", "ConnectionResetError")
        done = session.run("status(b'CONNECT allowed.test:443 HTTP/1.1\\r\\n\\r\\n')")
        assert "has used up its 4 MiB" in done.result
        assert other.run("get('http://allowed.test/')").result == "b'GET /'"


# ------------------------------------------------------------ who is concerned


def proxy_of(executor):
    children = f"/proc/{executor.process.pid}/task/{executor.process.pid}/children"
    with open(children) as file:
        for pid in file.read().split():
            with open(f"/proc/{pid}/comm") as comm:
                if comm.read().strip() == "quern-proxy":
                    return int(pid)
    return None


def test_the_proxy_is_walled_in_itself(executor):
    with open(f"/proc/{proxy_of(executor)}/status") as file:
        status = dict(re.findall(r"(\w+):\s+(.*)", file.read()))
    assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0
    assert status["Uid"].split()[0] != "0"


def test_the_log_tells_who_asked_for_what(executor):
    session = executor.open("somebody")
    session.run(PRELUDE)
    session.run("get('http://allowed.test/')")
    session.run("get('http://forbidden.test/')")
    lines = [x for x in executor.process.text().splitlines() if '"somebody"' in x]
    assert [x for x in lines if "proxy.connects" in x and PUBLIC in x]
    assert [x for x in lines if "proxy.refused" in x and "forbidden.test" in x]


def test_a_neighbour_without_network_stays_without(executor):
    with Executor("--profile", "bare") as other:
        assert "; no network" in other.connection.welcome["isolation"]
        session = other.open("a")
        done = session.run("import os, socket\nsocket.socket()")
        assert done.error["name"] == "PermissionError"
        assert session.run("[k for k in os.environ if 'PROXY' in k.upper()]").result == "[]"


def test_a_proxy_that_dies_comes_back(internet, policy):
    with Executor("--profile", "bare", "--network", policy) as executor:
        session = executor.open("a")
        session.run(PRELUDE)
        assert session.run("get('http://allowed.test/')").status == "ok"
        os.kill(proxy_of(executor), 9)
        executor.process.wait_for("proxy.down")
        wait_until(lambda: proxy_of(executor), what="another proxy")
        assert session.run("get('http://allowed.test/')").result == "b'GET /'"
        os.kill(proxy_of(executor), 19)  # SIGSTOP: sessions go on without it
        assert session.run("1 + 1").result == "2"
        os.kill(proxy_of(executor), 18)
        assert session.run("get('http://allowed.test/')").result == "b'GET /'"
