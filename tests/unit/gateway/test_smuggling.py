"""Requests that two servers may read in two ways: 400, and the end.

Each is followed by a second request, which must not be answered: nor may the
first one be, by more than one answer.
"""

import http_server
import pytest

SECOND = b"GET /status?code=299 HTTP/1.1\r\nHost: x\r\n\r\n"


def post(*fields, body=b"", line=b"POST /echo HTTP/1.1", host=b"Host: x"):
    lines = [line, *([host] if host else []), *fields]
    return b"".join(each + b"\r\n" for each in lines) + b"\r\n" + body


def get(target, *fields):
    return post(*fields, line=b"GET " + target + b" HTTP/1.1")


def chunked(body):
    return post(b"Transfer-Encoding: chunked", body=body)


ZERO = b"0\r\n\r\n"
REFUSED = {
    "CL with TE": post(b"Content-Length: 5", b"Transfer-Encoding: chunked", body=ZERO),
    "TE with CL": post(b"Transfer-Encoding: chunked", b"Content-Length: 5", body=ZERO),
    "two CL that differ": post(b"Content-Length: 5", b"Content-Length: 6", body=b"12345"),
    "two CL that are equal": post(b"Content-Length: 5", b"Content-Length: 5", body=b"12345"),
    "CL +5": post(b"Content-Length: +5", body=b"12345"),
    "CL 5,5": post(b"Content-Length: 5,5", body=b"12345"),
    "CL 5, 5": post(b"Content-Length: 5, 5", body=b"12345"),
    "CL 0x5": post(b"Content-Length: 0x5", body=b"12345"),
    "CL -1": post(b"Content-Length: -1"),
    "CL empty": post(b"Content-Length:"),
    "CL blank": post(b"Content-Length:  "),
    "CL 5 5": post(b"Content-Length: 5 5", body=b"12345"),
    "CL 5.0": post(b"Content-Length: 5.0", body=b"12345"),
    "CL of letters": post(b"Content-Length: five", body=b"12345"),
    "CL beyond 2^63": post(b"Content-Length: 9223372036854775808"),
    "CL beyond 2^64": post(b"Content-Length: 18446744073709551621", body=b"12345"),
    "TE gzip, chunked": post(b"Transfer-Encoding: gzip, chunked", body=ZERO),
    "TE chunked, gzip": post(b"Transfer-Encoding: chunked, gzip", body=ZERO),
    "TE ,chunked": post(b"Transfer-Encoding: ,chunked", body=ZERO),
    "TE chunked,": post(b"Transfer-Encoding: chunked,", body=ZERO),
    "TE chunked, chunked": post(b"Transfer-Encoding: chunked, chunked", body=ZERO),
    "TE xchunked": post(b"Transfer-Encoding: xchunked", body=ZERO),
    "TE identity": post(b"Transfer-Encoding: identity"),
    "TE empty": post(b"Transfer-Encoding:"),
    "TE quoted": post(b'Transfer-Encoding: "chunked"', body=ZERO),
    "TE chunked;q=1": post(b"Transfer-Encoding: chunked;q=1", body=ZERO),
    "TE with a vertical tab": post(b"Transfer-Encoding: \x0bchunked", body=ZERO),
    "two TE": post(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked", body=ZERO),
    "TE in 1.0": post(b"Transfer-Encoding: chunked", line=b"POST /echo HTTP/1.0", body=ZERO),
    "blank before the colon of CL": post(b"Content-Length : 5", body=b"12345"),
    "blank before the colon of TE": post(b"Transfer-Encoding : chunked", body=ZERO),
    "tab before a colon": post(b"X-A\t: b"),
    "no colon": post(b"X-A"),
    "no name": post(b": b"),
    "blank in a name": post(b"X A: b"),
    "a byte above ASCII in a name": post(b"X-\xc3\xa4: b"),
    "a folded line": post(b"X-A: b", b" c: d"),
    "a line folded by a tab": post(b"X-A: b", b"\tc"),
    "a folded first line": post(b" X-A: b", host=None),
    "a folded TE": post(b"Transfer-Encoding:", b" chunked", body=ZERO),
    "a bare LF after the request line": b"GET /echo HTTP/1.1\nHost: x\r\n\r\n",
    "a bare LF after a field": b"GET /echo HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n",
    "a bare LF for the blank line": b"GET /echo HTTP/1.1\r\nHost: x\r\n\n",
    "only LF": b"GET /echo HTTP/1.1\nHost: x\n\n",
    "a bare CR in a value": post(b"X-A: b\rContent-Length: 5"),
    "a bare CR in a name": post(b"X-\rA: b"),
    "two CR": b"GET /echo HTTP/1.1\r\nHost: x\r\r\n\r\n",
    "NUL in a name": post(b"X-\x00A: b"),
    "NUL in a value": post(b"X-A: b\x00c"),
    "NUL in the target": get(b"/echo\x00"),
    "a control byte in a value": post(b"X-A: \x01"),
    "DEL in a value": post(b"X-A: \x7f"),
    "a control byte in the target": get(b"/e\x01cho"),
    "a tab in the request line": b"GET\t/echo HTTP/1.1\r\nHost: x\r\n\r\n",
    "a byte above ASCII in the target": get(b"/\xc3\xa4"),
    "a quote in the target": get(b'/a"b'),
    "a fragment in the target": get(b"/a#b"),
    "chunk size +5": chunked(b"+5\r\n12345\r\n" + ZERO),
    "chunk size -5": chunked(b"-5\r\n12345\r\n" + ZERO),
    "chunk size 0x5": chunked(b"0x5\r\n12345\r\n" + ZERO),
    "a blank before a chunk size": chunked(b" 5\r\n12345\r\n" + ZERO),
    "a blank behind a chunk size": chunked(b"5 \r\n12345\r\n" + ZERO),
    "a tab behind a chunk size": chunked(b"5\t\r\n12345\r\n" + ZERO),
    "a chunk size of 17 digits": chunked(b"00000000000000005\r\n12345\r\n" + ZERO),
    "a chunk size beyond 2^64": chunked(b"10000000000000005\r\n12345\r\n" + ZERO),
    "no chunk size": chunked(b"\r\n12345\r\n" + ZERO),
    "a chunk size that is no number": chunked(b"g\r\n12345\r\n" + ZERO),
    "an extension of a chunk": chunked(b"5;a=b\r\n12345\r\n" + ZERO),
    "an extension with a bare LF": chunked(b"5;a\n12345\r\n" + ZERO),
    "a bare LF behind a chunk size": chunked(b"5\n12345\r\n" + ZERO),
    "a bare CR behind a chunk size": chunked(b"5\r12345\r\n" + ZERO),
    "no CRLF behind a chunk": chunked(b"5\r\n123450\r\n\r\n"),
    "a bare LF behind a chunk": chunked(b"5\r\n12345\n" + ZERO),
    "a chunk longer than its size": chunked(b"5\r\n123456\r\n" + ZERO),
    "a chunk shorter than its size": chunked(b"5\r\n1234\r\n" + ZERO),
    "a trailer": chunked(b"0\r\nX-A: b\r\n\r\n"),
    "CL as a trailer": chunked(b"0\r\nContent-Length: 5\r\n\r\n"),
    "a bare LF at the end of the chunks": chunked(b"0\n\n"),
    "no Host": post(host=None),
    "two Host": post(b"Host: x"),
    "two Host that differ": post(b"Host: y"),
    "Host with a path": post(host=b"Host: x/y"),
    "Host with a user": post(host=b"Host: a@x"),
    "Host with a blank": post(host=b"Host: x y"),
    "Host with a port of letters": post(host=b"Host: x:http"),
    "Host empty": post(host=b"Host:"),
    "two hosts in Host": post(host=b"Host: x, y"),
    "an absolute target of another host": get(b"http://y/echo"),
    "an absolute target that begins like Host": get(b"http://xy/echo"),
    "an absolute target of another scheme": get(b"ftp://x/echo"),
    "a target without a slash": get(b"echo"),
    "the target * of GET": get(b"*"),
    "%00 in the path": get(b"/echo%00"),
    "%2f in the path": get(b"/echo%2fx"),
    "%0a in the path": get(b"/echo%0ax"),
    "%7f in the path": get(b"/echo%7fx"),
    "%2F in the path": get(b"/echo%2Fx"),
    "%5c in the path": get(b"/echo%5cx"),
    ".. in the path": get(b"/a/../echo"),
    ".. at the end of the path": get(b"/a/.."),
    "%2e%2e in the path": get(b"/a/%2e%2e/echo"),
    ". in the path": get(b"/./echo"),
    "// in the path": get(b"/a//echo"),
    "// before the path": get(b"//echo"),
    "% without digits": get(b"/%zz"),
    "% at the end": get(b"/a%2"),
    "an escape that is no UTF-8": get(b"/%ff"),
    "%00 in the query": get(b"/echo?a=%00"),
    "a method in lower case": post(line=b"get /echo HTTP/1.1"),
    "an unknown method": post(line=b"FOO /echo HTTP/1.1"),
    "CONNECT": post(line=b"CONNECT x:80 HTTP/1.1"),
    "TRACE": post(line=b"TRACE /echo HTTP/1.1"),
    "PRI *": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "PRI * with Host": post(line=b"PRI * HTTP/1.1"),
    "Upgrade": get(b"/echo", b"Connection: Upgrade", b"Upgrade: websocket"),
    "Upgrade to h2c": get(b"/echo", b"Connection: Upgrade, HTTP2-Settings",
                          b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
    "version 0.9": b"GET /echo\r\n\r\n",
    "version 2.0": post(line=b"GET /echo HTTP/2.0"),
    "version 1.2": post(line=b"GET /echo HTTP/1.2"),
    "version 1": post(line=b"GET /echo HTTP/1"),
    "version 01.1": post(line=b"GET /echo HTTP/01.1"),
    "version in lower case": post(line=b"GET /echo http/1.1"),
    "another protocol": post(line=b"GET /echo RTSP/1.0"),
    "two blanks after the method": post(line=b"GET  /echo HTTP/1.1"),
    "two blanks before the version": post(line=b"GET /echo  HTTP/1.1"),
    "a blank behind the version": post(line=b"GET /echo HTTP/1.1 "),
    "a blank before the method": post(line=b" GET /echo HTTP/1.1"),
    "a leading blank line": b"\r\n" + get(b"/echo"),
    "leading blank lines": b"\r\n\r\n" + get(b"/echo"),
    "a leading LF": b"\n" + get(b"/echo"),
    "two Content-Type": post(b"Content-Type: a/b", b"Content-Type: a/b"),
    "two Authorization": post(b"Authorization: a", b"Authorization: b"),
    "bytes of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}  # fmt: skip
PIECES = {"at once": 1 << 20, "in single bytes": 1, "in sevens": 7}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = http_server.EchoServer(tmp_path_factory.mktemp("http"))
    yield server
    server.drain()


def ask(server, request, size=1 << 20):
    with server.connect() as peer:
        try:
            for at in range(0, len(request), size):
                peer.sendall(request[at : at + size])
        except (BrokenPipeError, ConnectionResetError):
            pass
        return http_server.rest_of(peer)


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("request_of", REFUSED.values(), ids=REFUSED.keys())
def test_is_refused_and_ends_the_connection(server, request_of, size):
    got = ask(server, request_of + SECOND, size)
    assert got.startswith(b"HTTP/1.1 400 "), got
    assert got.count(b"HTTP/1.1 ") == 1, got
    assert b"\r\nConnection: close\r\n" in got
    assert b'{"error":{"message":"' in got and b'"param":null' in got


ACCEPTED = {
    "an absolute target": get(b"http://x/echo"),
    "Host with a port": post(host=b"Host: x:80"),
    "Host of v6": post(host=b"Host: [::1]:80"),
    "chunked in capitals": post(b"Transfer-Encoding: CHUNKED", body=ZERO),
    "no blank behind a colon": post(b"Content-Length:5", body=b"12345"),
    "blanks around a value": post(b"Content-Length:   5  ", body=b"12345"),
    "two of a list": post(b"Accept: a/b", b"Accept: c/d"),
    "an empty value": post(b"X-A:"),
    "the target * of OPTIONS": post(line=b"OPTIONS * HTTP/1.1"),
    "a byte above ASCII in a value": post(b"X-A: \xc3\xa4"),
}


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("request_of", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_is_served_and_so_is_the_next(server, request_of, size):
    last = SECOND.replace(b"Host", b"Connection: close\r\nHost")
    got = ask(server, request_of + last, size)
    assert got.count(b"HTTP/1.1 ") == 2, got
    assert b"HTTP/1.1 299 " in got
