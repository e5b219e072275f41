"""quern-gateway: /v1/files, uploads of any shape, and files in requests."""

import binascii
import hashlib
import json
import os
import re
import socket
import threading
import time

import pytest
from gateway import FORM, Gateway, bearer, form, frees_at_once, make_key, part
from processes import resident
from servers import PATIENCE_S, RedisServer, wait_until
from stack import call_of

MIB = 1 << 20


@pytest.fixture(scope="module")
def gateway(stack):
    # A busy machine takes seconds to write 64 MiB.
    patience = {"redis_timeout": "60s"}
    with Gateway(stack.redis.url, more=frees_at_once(), **patience) as gateway:
        gateway.ready()
        yield gateway
        gateway.drain()


PURPOSE = part("purpose", b"user_data")


def upload(gateway, data=b"a,b\n1,2\n", name="a.csv", more=(), status=200, type="text/csv", **h):
    body = form(part("file", data, name, type), PURPOSE, *more)
    got, _, text = gateway.call("POST", "/v1/files", body, **FORM, **h)
    assert got == status, text
    return json.loads(text)


def refused(gateway, *parts, body=None, **headers):
    """(status, code, param), and the sentence."""
    status, _, text = gateway.call("POST", "/v1/files", body or form(*parts), **FORM, **headers)
    error = json.loads(text)["error"]
    assert status >= 400 and error["message"]
    return (status, error["code"], error["param"]), error["message"]


def blob_of(stack, file):
    return stack.db.hget(f"quern:{{000}}:file:{file['id']}", "blob").decode()


def test_a_file_comes_back_as_it_was(gateway, stack):
    data = os.urandom(3 * MIB)
    before = int(time.time())
    file = upload(gateway, data, "größe.bin", type="application/x-any; v=1")
    assert re.fullmatch("file-[0-9a-f]{24}", file["id"])
    assert before <= file["created_at"] <= time.time() + 1
    assert file == {
        "id": file["id"],
        "object": "file",
        "bytes": len(data),
        "created_at": file["created_at"],
        "expires_at": file["created_at"] + 30 * 24 * 3600,
        "filename": "größe.bin",
        "purpose": "user_data",
        "status": "processed",
    }
    path = f"/v1/files/{file['id']}"
    assert gateway.json("GET", path) == (200, file)
    status, headers, got = gateway.call("GET", f"{path}/content")
    assert (status, got) == (200, data)
    assert headers["Content-Type"] == "application/x-any"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.bin"
    assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert headers["ETag"] == f'"{hashlib.sha256(data).hexdigest()}"'
    tag = {"if_none_match": headers["ETag"]}
    assert gateway.call("GET", f"{path}/content", **tag)[0] == 304
    status, headers, got = gateway.call("GET", f"{path}/content", range="bytes=5-9")
    assert (status, got) == (206, data[5:10])
    assert headers["Content-Range"] == f"bytes 5-9/{len(data)}"
    head = gateway.call("HEAD", f"{path}/content")
    assert (head[0], head[1]["Content-Length"], head[2]) == (200, str(len(data)), b"")


def test_only_an_image_that_runs_nothing_is_shown_in_place(gateway):
    for type, shown in (
        ("image/png", "inline"),
        ("image/svg+xml", "attachment"),
        ("text/html", "attachment"),
        ("text/html x", "attachment"),
        (None, "attachment"),
    ):
        file = upload(gateway, b"<b>x", "x", type=type)
        _, headers, _ = gateway.call("GET", f"/v1/files/{file['id']}/content")
        assert headers["Content-Disposition"].split(";")[0] == shown, type
        odd = type is None or " " in type
        assert headers["Content-Type"] == ("application/octet-stream" if odd else type)
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_an_empty_file_is_a_file(gateway):
    file = upload(gateway, b"", "empty.txt")
    assert file["bytes"] == 0
    assert gateway.call("GET", f"/v1/files/{file['id']}/content")[2] == b""


def raw(gateway, pieces, head="", length=None, pause=0.0):
    """Sends a POST piece by piece; the status, and the body as JSON."""
    whole = sum(map(len, pieces)) if length is None else length
    with socket.create_connection(("127.0.0.1", gateway.port), PATIENCE_S) as peer:
        peer.sendall(
            b"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Content-Type: multipart/form-data; boundary=XX\r\n"
            + (head or f"Content-Length: {whole}\r\n").encode()
            + b"\r\n"
        )
        try:
            for piece in pieces:
                peer.sendall(piece)
                if pause:
                    time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was answered before
        answer = b""
        try:
            while piece := peer.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
    status, _, body = answer.partition(b"\r\n\r\n")
    return int(status.split()[1]), json.loads(body)


def test_a_boundary_may_come_in_pieces(gateway):
    data = b"\r\n--X\r\r\n-\r\n--XY\r\n" * 3 + b"\r\n--X"
    body = form(PURPOSE, part("file", data, "a.bin"))
    status, whole = raw(gateway, [body[i : i + 1] for i in range(len(body))], pause=0.0002)
    assert (status, whole["bytes"]) == (200, len(data))
    path = f"/v1/files/{whole['id']}/content"
    assert gateway.call("GET", path)[2] == data
    for size in (3, 7):
        pieces = [body[i : i + size] for i in range(0, len(body), size)]
        assert raw(gateway, pieces, pause=0.0005)[1]["bytes"] == len(data)


NAMES = [
    ("../../etc/passwd", None, "passwd"),
    ("/a/b/c.txt", None, "c.txt"),
    (r"C:\a\b.txt", r"C:\\a\\b.txt", r"C:\a\b.txt"),
    ('a"b;c=d.txt', r"a\"b;c=d.txt", 'a"b;c=d.txt'),
    ("名前 (1).csv", None, "名前 (1).csv"),
    ("-rf *", None, "-rf *"),
    ("x" * 255, None, "x" * 255),
    ("%00%2f", None, "%00%2f"),
]


@pytest.mark.parametrize("name, quoted, kept", NAMES)
def test_hostile_names(gateway, name, quoted, kept):
    body = form(PURPOSE, part("file", b"x", name, quoted=quoted))
    status, _, text = gateway.call("POST", "/v1/files", body, **FORM)
    assert (status, json.loads(text).get("filename")) == (200, kept), text
    path = f"/v1/files/{json.loads(text)['id']}/content"
    status, headers, _ = gateway.call("GET", path)
    assert status == 200 and "\n" not in headers["Content-Disposition"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/", "a/..", "x" * 256])
def test_names_that_are_none(gateway, name):
    told, message = refused(gateway, PURPOSE, part("file", b"x", name))
    assert told == (400, "bad_field", "filename") and "255" in message


def test_forms_that_are_wrong(gateway):
    file = part("file", b"x", "a")
    star = b"Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%e2%82%ac\r\n\r\nx"
    for parts, code, param in [
        ([file], "missing_required_parameter", "purpose"),
        ([file, part("purpose", b"fun")], "invalid_value", "purpose"),
        ([file, part("purpose", b"")], "invalid_value", "purpose"),
        ([file, PURPOSE, PURPOSE], "bad_field", "purpose"),
        ([file, file, PURPOSE], "bad_field", "file"),
        ([PURPOSE], "missing_required_parameter", "file"),
        ([part("file", b"x"), PURPOSE], "missing_required_parameter", "file"),
        ([part("purpose", b"user_data", "a"), PURPOSE], "bad_field", "purpose"),
        ([file, PURPOSE, part("color", b"red")], "unknown_parameter", "color"),
        ([file, part("purpose", b"\xff")], "bad_field", "purpose"),
        ([file, part("purpose", b"a\0b")], "bad_field", "purpose"),
        ([file, part("purpose", b"x" * 4097)], "too_large", "purpose"),
        ([file, part("x" * 257, b"")], "too_large", None),
        ([file] * 51, "too_large", None),
        ([part("a", b"x")] * 65, "too_large", None),
        ([star, PURPOSE], "invalid_multipart", None),
    ]:
        told, _ = refused(gateway, *parts)
        assert told == (400, code, param), (parts[:3], told)
    for body in (b"x", b"--XX", form(PURPOSE, file)[:-4], b"--XX--\r\n--XX--\r\n"):
        told, _ = refused(gateway, body=body)
        assert told == (400, "invalid_multipart", None), body
    assert gateway.refusal("POST", "/v1/files", {"file": "x"})[:2] == (415, "bad_field")
    none = {"content_type": "multipart/form-data"}
    assert gateway.call("POST", "/v1/files", b"x", **none)[0] == 400


def test_an_end_that_the_client_gives(gateway, stack):
    def ends(*given):
        names = ("anchor", "seconds")
        return [part(f"expires_after[{n}]", v) for n, v in zip(names, given) if v is not None]

    for seconds in (3600, 2592000):
        file = upload(gateway, more=ends(b"created_at", b"%d" % seconds))
        assert file["expires_at"] - file["created_at"] in (seconds, seconds + 1)
    key = f"quern:{{000}}:file:{file['id']}"
    assert abs(stack.db.ttl(key) - 2592000) < 60
    for given, param in [
        ((b"created_at", b"3599"), "seconds"),
        ((b"created_at", b"2592001"), "seconds"),
        ((b"created_at", b"-1"), "seconds"),
        ((b"created_at", b"9999999999999999999999"), "seconds"),
        ((b"created_at", b""), "seconds"),
        ((b"created_at", None), "seconds"),
        ((b"last_active_at", b"3600"), "anchor"),
        ((None, b"3600"), "anchor"),
    ]:
        told, _ = refused(gateway, part("file", b"x", "a"), PURPOSE, *ends(*given))
        assert told == (400, "invalid_value", f"expires_after[{param}]"), given


def test_a_file_that_has_expired_is_unknown(gateway, stack):
    file = upload(gateway)
    stack.db.pexpire(f"quern:{{000}}:file:{file['id']}", 1)
    path = f"/v1/files/{file['id']}"
    wait_until(lambda: gateway.call("GET", path)[0] == 404)
    assert gateway.call("GET", f"{path}/content")[0] == 404
    assert gateway.call("DELETE", path)[0] == 404
    listed = gateway.json("GET", "/v1/files")[1]["data"]
    assert file["id"] not in [each["id"] for each in listed]


def test_lists(stack):
    with Gateway(stack.redis.url, open="lister") as gateway:
        gateway.ready()
        assert gateway.json("GET", "/v1/files") == (
            200,
            {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False},
        )
        files = []
        for number in range(5):
            files.insert(0, upload(gateway, b"%d" % number, f"{number}.txt"))
            time.sleep(0.002)
        ids = [file["id"] for file in files]
        status, listed = gateway.json("GET", "/v1/files")
        assert listed == {
            "object": "list",
            "data": files,
            "first_id": ids[0],
            "last_id": ids[4],
            "has_more": False,
        }

        def page(query):
            listed = gateway.json("GET", f"/v1/files?{query}")[1]
            return [file["id"] for file in listed["data"]], listed["has_more"]

        assert page("limit=2") == (ids[:2], True)
        assert page(f"limit=2&after={ids[1]}") == (ids[2:4], True)
        assert page(f"limit=2&after={ids[3]}") == (ids[4:], False)
        assert page("order=asc&limit=10000") == (ids[::-1], False)
        assert page("purpose=user_data") == (ids, False)
        assert page("purpose=batch") == ([], False)
        for query, param in [
            ("limit=0", "limit"),
            ("limit=10001", "limit"),
            ("limit=x", "limit"),
            ("order=up", "order"),
            ("after=x", "after"),
            ("purpose=fun", "purpose"),
            ("color=red", "color"),
        ]:
            status, _, told = gateway.refusal("GET", f"/v1/files?{query}")
            assert (status, told) == (400, param), query
        gateway.drain()


def test_a_deleted_file_is_unknown(gateway, stack):
    file = upload(gateway, os.urandom(9))
    path = f"/v1/files/{file['id']}"
    blob = blob_of(stack, file)
    assert stack.db.ttl(f"quern:{{000}}:blob:{blob}") > 29 * 24 * 3600
    gone = {"id": file["id"], "object": "file", "deleted": True}
    assert gateway.json("DELETE", path) == (200, gone)
    for method, which in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        assert gateway.refusal(method, path + which) == (404, "not_found", "file_id")
    assert stack.db.ttl(f"quern:{{000}}:blob:{blob}") <= 3600


def test_what_another_tenant_has_is_unknown(stack):
    """In the same words as what nobody has."""
    with Gateway(stack.redis.url, open=None, key_cache_time="1s") as gateway:
        gateway.ready()
        ann, bob = make_key(stack), make_key(stack, tenant="bob")
        file = upload(gateway, **bearer(ann))
        none = "file-" + "0" * 24
        for method, which in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
            told = []
            for id in (file["id"], none, file["id"].upper(), "x"):
                path = f"/v1/files/{id}{which}"
                status, error = gateway.json(method, path, **bearer(bob))
                told.append((status, json.dumps(error).replace(id, "")))
            assert told[0][0] == 404 and len(set(told)) == 1, told
        assert gateway.json("GET", "/v1/files", **bearer(bob))[1]["data"] == []
        assert gateway.json("GET", "/v1/files", **bearer(ann))[1]["data"] == [file]
        after = f"/v1/files?after={file['id']}"
        assert gateway.json("GET", after, **bearer(bob))[0] == 200
        read = make_key(stack, scopes="read")
        upload(gateway, status=403, **bearer(read))
        assert gateway.call("DELETE", f"/v1/files/{none}", **bearer(read))[0] == 403
        gateway.drain()


def test_in_a_fleet_of_several_partitions():
    """A tenant's files are where its jobs are."""
    with RedisServer() as redis:
        db = redis.client()
        db.hset("quern:fleet", "partitions", 200)
        for tenant in ("ann", "bob", "mañana/x"):
            with Gateway(redis.url, open=tenant) as gateway:
                gateway.ready()
                file = upload(gateway, tenant.encode())
                number = binascii.crc_hqx(tenant.encode(), 0) % 200
                assert db.exists(f"quern:{{{number:03x}}}:file:{file['id']}")
                path = f"/v1/files/{file['id']}"
                assert gateway.json("GET", path) == (200, file)
                assert gateway.call("GET", f"{path}/content")[2] == tenant.encode()
                assert gateway.json("GET", "/v1/files")[1]["data"] == [file]
                assert gateway.call("DELETE", path)[0] == 200
                gateway.drain()


# --------------------------------------------------------- files in requests

CODE = {"type": "code_interpreter", "container": {"type": "auto"}}


def asking(*parts, **more):
    content = [{"type": "input_text", "text": "?"}, *parts]
    return {"input": [{"role": "user", "content": content}], "tools": [CODE], **more}


def run_code(gateway, stack, code, request):
    """What the code prints."""
    stack.model.script([{"tool_calls": [call_of(code)]}, {"text": "See it"}])
    more = {"include": ["code_interpreter_call.outputs"]}
    status, answer = gateway.json("POST", "/v1/responses", {**request, **more})
    assert status == 200, answer
    return "".join(each["logs"] for each in answer["output"][0]["outputs"])


LIST = "import os\nfor n in sorted(os.listdir()): print(n, len(open(n, 'rb').read()))"


def test_an_uploaded_file_reaches_the_code(gateway, stack):
    table = upload(gateway, b"42", "a.csv")
    picture = upload(gateway, b"\x89PNG", "p.png", type="image/png")
    request = asking(
        {"type": "input_file", "file_id": table["id"]},
        {"type": "input_file", "file_id": table["id"], "filename": "mine.csv"},
        {"type": "input_file", "file_id": table["id"]},
        {"type": "input_image", "file_id": picture["id"]},
    )
    told = run_code(gateway, stack, LIST, request)
    assert told == "a-3.csv 2\na.csv 2\nmine.csv 2\np.png 4\n"
    asked = json.dumps(stack.model.request()["messages"])
    for text in ("[file: a.csv]", "[file: mine.csv]", "[file: a-3.csv]", "[image: p.png]"):
        assert text in asked


def test_an_uploaded_file_is_of_the_container(gateway, stack):
    file = upload(gateway, b"a,b", "b.csv")
    tool = {"type": "code_interpreter"}
    tool["container"] = {"type": "auto", "file_ids": [file["id"]]}
    assert run_code(gateway, stack, LIST, {"input": "?", "tools": [tool]}) == "b.csv 3\n"


def test_a_file_that_is_unknown_or_of_another_tenant_is_refused(gateway, stack):
    with Gateway(stack.redis.url, open="other") as other:
        other.ready()
        theirs = upload(other)["id"]
        other.drain()
    gone = upload(gateway)["id"]
    gateway.call("DELETE", f"/v1/files/{gone}")
    sentences = set()
    for id in (theirs, gone, "file-" + "0" * 24, "file-abc123", "x"):
        request = asking({"type": "input_file", "file_id": id})
        status, answer = gateway.json("POST", "/v1/responses", request)
        error = answer["error"]
        told = (status, error["code"], error["param"])
        assert told == (400, "invalid_value", "input[0].content[1].file_id")
        sentences.add(error["message"].replace(id, ""))
    assert len(sentences) == 1
    request = asking({"type": "input_file", "file_url": "https://example.org/a"})
    told = gateway.refusal("POST", "/v1/responses", request)
    assert told == (400, "unsupported_parameter", "input[0].content[1].file_url")


def test_a_file_that_is_deleted_stays_for_a_job_that_runs(gateway, stack):
    """Deleted while the model has not answered yet, so before the first cell."""
    file = upload(gateway, os.urandom(7), "late.bin")
    code = "print(len(open('late.bin', 'rb').read()))"
    stack.model.script([{"delay_ms": 1500, "tool_calls": [call_of(code)]}, {"text": "See it"}])
    request = asking({"type": "input_file", "file_id": file["id"]}, background=True)
    request["include"] = ["code_interpreter_call.outputs"]
    before = stack.model.counts()["total"]
    status, answer = gateway.json("POST", "/v1/responses", request)
    assert status == 200, answer
    wait_until(lambda: stack.model.counts()["total"] > before)
    blob = f"quern:{{000}}:blob:{blob_of(stack, file)}"
    assert stack.db.ttl(blob) == -1
    assert gateway.call("DELETE", f"/v1/files/{file['id']}")[0] == 200
    assert stack.db.ttl(blob) == -1
    path = f"/v1/responses/{answer['id']}"
    wait_until(lambda: gateway.json("GET", path)[1]["status"] == "completed")
    [logs] = gateway.json("GET", path)[1]["output"][0]["outputs"]
    assert logs["logs"] == "7\n"
    wait_until(lambda: stack.db.ttl(blob) > 0)


# ------------------------------------------------------------------ how much


def test_the_largest_file(gateway):
    file = upload(gateway, bytes(64 * MIB))
    assert file["bytes"] == 64 * MIB
    assert len(gateway.call("GET", f"/v1/files/{file['id']}/content")[2]) == 64 * MIB


def test_a_longer_file_is_refused(gateway):
    head = form(PURPOSE, part("file", b"", "a"))[: -len("\r\n--XX--\r\n")]
    chunk = b"%x\r\n" % MIB + bytes(MIB) + b"\r\n"
    first = b"%x\r\n" % len(head) + head + b"\r\n"
    for pieces, given in [
        ([head] + [bytes(MIB)] * 64 + [b"x"], {}),
        ([head] + [bytes(MIB)] * 65, {}),
        ([head], {"length": 1 << 30}),
        ([first] + [chunk] * 66, {"head": "Transfer-Encoding: chunked\r\n"}),
    ]:
        status, answer = raw(gateway, pieces, **given)
        assert (status, answer["error"]["code"]) == (413, "file_too_large")
        assert "64 MiB" in answer["error"]["message"]


def test_a_huge_upload_takes_no_memory(gateway):
    upload(gateway, bytes(8 * MIB))
    before = resident(gateway.pid)
    head = form(PURPOSE, part("file", b"", "a"))[: -len("\r\n--XX--\r\n")]
    for _ in range(3):
        assert raw(gateway, [head] + [bytes(MIB)] * 80, length=1 << 30)[0] == 413
    assert resident(gateway.pid) - before < 72 * MIB


def test_many_uploads_share_a_bounded_memory(stack):
    """Those for which there is none are told to come back."""
    size, count = 8 * MIB, 50
    given = {"blob_memory": "128M", "redis_timeout": "60s"}
    with Gateway(stack.redis.url, more=frees_at_once(), **given) as gateway:
        gateway.ready()
        upload(gateway, bytes(size))
        before, told, most = resident(gateway.pid), [], [0]

        def send(number):
            data = bytes([number]) * size
            body = form(PURPOSE, part("file", data, f"{number}.bin"))
            pieces = [body[i : i + MIB // 2] for i in range(0, len(body), MIB // 2)]
            status, answer = raw(gateway, pieces, pause=0.05)
            told.append((status, answer.get("error", {}).get("code")))
            most[0] = max(most[0], resident(gateway.pid))

        threads = [threading.Thread(target=send, args=[n]) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(told) == {(200, None), (503, "blob_memory_full")}, set(told)
        assert len(told) == count
        assert most[0] - before < 320 * MIB
        upload(gateway, bytes(size))
        gateway.drain()


def test_a_tenant_has_a_largest_number_of_files(stack):
    with Gateway(stack.redis.url, open="hoarder") as gateway:
        gateway.ready()
        members = {f"file-{number:024x}:vision": 0 for number in range(10000)}
        stack.db.zadd("quern:{000}:files:hoarder", members)
        answer = upload(gateway, status=400)
        assert answer["error"]["code"] == "too_large"
        assert "10000" in answer["error"]["message"]
        stack.db.delete("quern:{000}:files:hoarder")
        gateway.drain()
