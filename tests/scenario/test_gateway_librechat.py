"""LibreChat's code API: the requests of its client in their order, with its headers,
against a real Redis, consumer and executor."""

import base64
import json
import re
import time

import pytest
from gateway import FORM, form, make_key, part
from test_gateway_openai_files import LIST, asking, call_of

GATEWAY = {"open": None}

BASE = "/v1/librechat"
ID = re.compile(r"[A-Za-z0-9_-]{21}")  # LibreChat takes no other ids
CSV = b"city,people\nBerlin,3\nParis,2\n"
DRAW = """
import os, csv
rows = list(csv.reader(open('/mnt/data/cities.csv')))
print(rows[1][0])
png = bytes.fromhex('89504e470d0a1a0a')
open('/mnt/data/chart.png', 'wb').write(png)
os.makedirs('/mnt/data/out/deep', exist_ok=True)
open('/mnt/data/out/deep/report.txt', 'w').write('3 in Berlin')
"""


class Client:
    """What LibreChat's server sends and reads."""

    def __init__(self, gateway, key, user="65f0c0ffee"):
        self.gateway = gateway
        self.headers = {"user_agent": "LibreChat/1.0", "x_api_key": key}
        self.user = user
        self.query = f"?kind=user&id={user}"

    def json(self, method, path, body=None):
        return self.gateway.json(method, BASE + path, body, **self.headers)

    def upload(self, *files, path="/upload"):
        fields = [part("kind", b"user"), part("id", self.user.encode())]
        body = form(*fields, *(part("file", data, name, "text/csv") for name, data in files))
        headers = {**self.headers, **FORM, "user_id": self.user}
        status, _, data = self.gateway.call("POST", BASE + path, body, **headers)
        return status, json.loads(data)

    def uploaded(self, *files, **given):
        """[what exec takes for each file]."""
        status, answer = self.upload(*files, **given)
        assert (status, answer["message"]) == (200, "success"), answer
        return [
            {
                "id": file["fileId"],
                "storage_session_id": answer["storage_session_id"],
                "name": file["filename"],
                "resource_id": self.user,
                "kind": "user",
            }
            for file in answer["files"]
        ]

    def exec(self, code, **more):
        body = {"lang": "py", "code": code, "user_id": self.user, **more}
        status, answer = self.json("POST", "/exec", body)
        assert status == 200, answer
        assert ID.fullmatch(answer["session_id"])
        return answer

    def download(self, file):
        return self.gateway.call("GET", self.place("download", file), **self.headers)

    def info(self, file):
        path = "/sessions/{storage_session_id}/objects/{id}".format(**file)
        return self.json("GET", path + self.query)

    def delete(self, file):
        path = "/files/{storage_session_id}/{id}".format(**file)
        return self.json("DELETE", path + self.query)

    def place(self, what, file):
        return f"{BASE}/{what}/{file['storage_session_id']}/{file['id']}{self.query}"


@pytest.fixture(scope="module")
def ann(gateway, stack):
    return Client(gateway, make_key(stack, tenant="ann"))


@pytest.fixture(scope="module")
def bob(gateway, stack):
    return Client(gateway, make_key(stack, tenant="bob"))


@pytest.fixture(scope="module")
def drawn(ann):
    """(the answer of a run that read an upload, the upload)"""
    [file] = ann.uploaded(("cities.csv", CSV))
    return ann.exec(DRAW, files=[file]), file


def by_name(answer):
    return {file["name"]: file for file in answer["files"]}


def test_a_run_reads_an_upload_and_its_files_are_listed_read_and_used(ann, drawn):
    answer, file = drawn
    assert (answer["stdout"], answer["stderr"], answer["code"]) == ("Berlin\n", "", 0)
    made = by_name(answer)
    assert set(made) == {"chart.png", "out/deep/report.txt"}
    for one in [file, *answer["files"]]:
        assert ID.fullmatch(one["id"]) and ID.fullmatch(one["storage_session_id"])
    report = made["out/deep/report.txt"]
    status, headers, data = ann.download(report)
    assert (status, data) == (200, b"3 in Berlin")
    assert "report.txt" in headers["Content-Disposition"]
    again = ann.exec(
        "print(open('/mnt/data/out/deep/report.txt').read())\n"
        "print(open('/mnt/data/cities.csv').read()[:4])\n"
        "open('/mnt/data/out/deep/report.txt', 'a').write('!')",
        files=[report, file, made["chart.png"]],
        session_id=answer["session_id"],
    )
    assert again["stdout"] == "3 in Berlin\ncity\n", again
    assert set(by_name(again)) == {"out/deep/report.txt"}
    assert ann.download(again["files"][0])[2] == b"3 in Berlin!"


SHOW = """
import io, os
class Picture:
    def _repr_png_(self):
        return bytes.fromhex(%r)
picture = Picture()
display(picture)
"""
PNG = (
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def test_an_image_that_was_only_shown_is_a_file_and_one_that_was_saved_too_is_one(ann):
    [image] = ann.exec(SHOW % PNG)["files"]
    assert image["name"].endswith(".png")
    assert ann.download(image)[2] == bytes.fromhex(PNG)
    code = "import os; print(os.path.getsize('/mnt/data/chart.png'))"
    again = ann.exec(code, files=[{**image, "name": "chart.png"}])
    assert again["stdout"] == f"{len(PNG) // 2}\n"
    saves = f"{SHOW % PNG}open('/mnt/data/a.png', 'wb').write(picture._repr_png_())"
    assert [file["name"] for file in ann.exec(saves)["files"]] == ["a.png"]


def test_openai_s_routes_take_an_upload_with_folders(gateway, stack, ann):
    ann.uploaded(("box/n.csv", b"1,2"))
    _, listed = ann.gateway.json("GET", "/v1/files?limit=1", **ann.headers)
    [file] = listed["data"]
    assert file["filename"] == "box/n.csv"
    stack.model.script([{"tool_calls": [call_of(LIST)]}, {"text": "See it"}])
    request = asking({"type": "input_file", "file_id": file["id"]})
    request["include"] = ["code_interpreter_call.outputs"]
    status, answer = gateway.json("POST", "/v1/responses", request, **ann.headers)
    assert status == 200, answer
    assert answer["output"][0]["outputs"][0]["logs"] == "n.csv 3\n"
    status, headers, data = gateway.call("GET", f"/v1/files/{file['id']}/content", **ann.headers)
    assert (status, data) == (200, b"1,2")
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''n.csv"


def test_a_list_has_the_form_that_is_asked_for(ann, drawn):
    answer, file = drawn
    report = by_name(answer)["out/deep/report.txt"]
    session = answer["session_id"]
    name = f"{session}/{report['id']}"
    assert name in ann.json("GET", f"/files/{session}")[1]
    _, rows = ann.json("GET", f"/files/{session}?detail=summary")
    [row] = [row for row in rows if row["name"].startswith(name)]
    assert row["size"] == 11
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["lastModified"])
    _, rows = ann.json("GET", f"/files/{session}?detail=full")
    assert "out/deep/report.txt" in [row["metadata"]["original-filename"] for row in rows]
    _, rows = ann.json("GET", f"/files/{session}?detail=normalized")
    assert report["id"] in [row["id"] for row in rows]
    place = file["storage_session_id"]
    assert ann.json("GET", f"/files/{place}")[1] == [f"{place}/{file['id']}"]
    status, refused = ann.json("GET", f"/files/{session}?detail=long")
    assert status == 400 and "long" in refused["error"]


def test_what_is_known_of_a_file(ann, drawn):
    answer, file = drawn
    for one, size in ((file, len(CSV)), (by_name(answer)["chart.png"], 8)):
        status, facts = ann.info(one)
        assert status == 200
        assert (facts["size"], facts["originalFilename"]) == (size, one["name"])
        assert facts["lastModified"].startswith("20") and len(facts["etag"]) == 64


def test_a_batch_keeps_folders(ann):
    files = ann.uploaded(
        ("skill/a.csv", b"a"), ("skill/b/c.csv", b"bc"), path="/upload/batch"
    )
    assert [file["name"] for file in files] == ["skill/a.csv", "skill/b/c.csv"]
    assert len({file["storage_session_id"] for file in files}) == 1
    code = "print(open('/mnt/data/skill/a.csv').read(), open('skill/b/c.csv').read())"
    answer = ann.exec(code, files=files)
    assert (answer["stdout"], answer["files"]) == ("a bc\n", []), answer
    _, names = ann.json("GET", f"/files/{files[0]['storage_session_id']}")
    assert names == [f"{file['storage_session_id']}/{file['id']}" for file in files]


def test_of_files_with_one_name_the_last_counts(ann):
    [old] = ann.uploaded(("x.csv", b"old"))
    [new] = ann.uploaded(("x.csv", b"new"))
    [folder] = ann.uploaded(("y/z.csv", b"z"))
    code = "import os; print(open('x.csv').read(), sorted(os.listdir('.')))"
    assert ann.exec(code, files=[old, new])["stdout"] == "new ['x.csv']\n"
    assert ann.exec(code, files=[new, old])["stdout"] == "old ['x.csv']\n"
    answer = ann.exec(code, files=[{**new, "name": "y"}, folder, new])
    assert answer["stdout"] == "new ['x.csv', 'y']\n", answer
    answer = ann.exec(code, files=[folder, new, {**new, "name": "y"}])
    assert answer["stdout"] == "new ['x.csv', 'y']\n", answer


def test_an_older_client_says_session_id(ann):
    status, answer = ann.upload(("x.csv", b"x"))
    assert status == 200
    file = {"id": answer["files"][0]["fileId"], "session_id": answer["session_id"]}
    answer = ann.exec("print(open('x.csv').read())", files=[{**file, "name": "x.csv"}])
    assert answer["stdout"] == "x\n"


def test_arguments_are_those_of_the_program(ann):
    code = "import sys\nprint(sys.argv[1:], 'os' in globals())"
    assert ann.exec(code, args=["a'\"\\", "ü"])["stdout"] == "['a\\'\"\\\\', 'ü'] False\n"


@pytest.mark.parametrize("script", ["exit 3", "false", "no-such-command", "if"])
def test_a_script_that_fails_has_failed(ann, script):
    assert ann.exec(script, lang="bash")["code"] == 1


def test_bash_reads_and_writes_files_as_librechat_s_tools_do(ann):
    [file] = ann.uploaded(("it's/a b.csv", CSV))
    cat = ann.exec("cat '/mnt/data/it'\\''s/a b.csv'", files=[file], lang="bash")
    assert (cat["stdout"], cat["stderr"], cat["files"]) == (CSV.decode(), "", [])
    script = "python3 - <<'PY'\nwith open('/mnt/data/out.txt', 'wb') as f: f.write(b'ab')\nPY\n"
    wrote = ann.exec(f"{script}echo \"$0 $1 $#\"; ls /none; true", lang="bash", args=["x y", "z"])
    assert wrote["stdout"] == "/tmp/main.sh x y 2\n", wrote
    assert "/none" in wrote["stderr"]
    [out] = wrote["files"]
    assert (out["name"], ann.download(out)[2]) == ("out.txt", b"ab")
    assert ann.exec("read x; echo \"<$x>\"", lang="bash")["stdout"] == "<>\n"


def test_a_run_that_failed_says_why_and_has_no_files(ann):
    answer = ann.exec("open('/mnt/data/a.txt', 'w').write('a')\nprint('b')\n1/0")
    assert (answer["stdout"], answer["files"], answer["code"]) == ("b\n", [], 1)
    assert answer["stderr"].startswith("Traceback (most recent call last):\n")
    assert answer["stderr"].endswith("ZeroDivisionError: division by zero\n")
    status, refused = ann.json("GET", f"/files/{answer['session_id']}")
    assert (status, refused) == (404, {"error": "File not found"})


def test_nothing_stays_for_the_next_run(ann):
    ann.exec("x = 5\nopen('/mnt/data/left.txt', 'w').write('a')")
    code = "import os; print('x' in globals(), os.listdir('/mnt/data'))"
    assert ann.exec(code)["stdout"] == "False []\n"


def test_a_deleted_file_is_unknown(ann):
    one, other = ann.uploaded(("a.csv", b"a"), ("b.csv", b"b"), path="/upload/batch")
    assert ann.delete(one)[0] == 200
    for status, answer in (ann.info(one), ann.delete(one)):
        assert (status, answer) == (404, {"error": "File not found"})
    assert ann.download(one)[0] == 404
    assert ann.download(other)[2] == b"b"
    body = {"lang": "py", "code": "1", "files": [one]}
    status, answer = ann.json("POST", "/exec", body)
    assert status == 404 and "does not exist" in answer["error"]


def test_a_file_of_a_run_goes_with_the_run(ann):
    [file] = ann.exec("open('/mnt/data/a.txt', 'w').write('a')")["files"]
    assert ann.delete(file)[0] == 200
    assert ann.info(file)[0] == 404
    code = "for name in 'ab': open(f'/mnt/data/{name}', 'w').write(name)"
    files = ann.exec(code)["files"]
    status, answer = ann.delete(files[0])
    assert status == 409 and "2 files" in answer["error"]
    assert [ann.download(file)[2] for file in files] == [b"a", b"b"]


def test_another_tenant_sees_nothing(ann, bob, drawn):
    answer, file = drawn
    for one in [file, *answer["files"]]:
        wanted = {**one, "id": "x" * 21}
        for call in (bob.info, bob.delete):
            assert call(one) == call(wanted) == (404, {"error": "File not found"})
        assert bob.download(one)[0] == bob.download(wanted)[0] == 404
        body = {"lang": "py", "code": "1", "files": [one]}
        refused = bob.json("POST", "/exec", body)
        assert refused == bob.json("POST", "/exec", {**body, "files": [wanted]})
        assert refused[0] == 404
        assert ann.info(one)[0] == 200


HOSTILE = ["../a", "/etc/passwd", "a/../../b", "a//b", "a/", ".", "..", "a/./b", "a" * 256]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_path_that_leads_elsewhere_is_refused(ann, drawn, name):
    status, answer = ann.upload((name, b"a"))
    assert status == 400 and name[:40] in answer["error"], answer
    body = {"lang": "py", "code": "1", "files": [{**drawn[1], "name": name}]}
    status, answer = ann.json("POST", "/exec", body)
    assert status == 400 and "files[0]" in answer["error"], answer


@pytest.mark.parametrize(
    "body, word",
    [
        ({"lang": "js", "code": "1"}, '"js"'),
        ({"lang": "Bash", "code": "ls"}, '"Bash"'),
        ({"code": "1"}, "lang"),
        ({"lang": "py"}, "code"),
        ({"lang": "py", "code": 1}, "code"),
        ({"lang": "py", "code": "1", "args": "a"}, "args"),
        ({"lang": "py", "code": "1", "args": [1]}, "args[0]"),
        ({"lang": "py", "code": "1", "args": ["a"] * 65}, "64"),
        ({"lang": "py", "code": "1", "files": {}}, "files"),
        ({"lang": "py", "code": "1", "files": [{}] * 65}, "64"),
        ({"lang": "py", "code": "1", "files": [{"id": "a"}]}, "files[0]"),
        ({"lang": "py", "code": "1", "files": [1]}, "files[0]"),
    ],
)
def test_what_is_wrong_is_said(ann, body, word):
    status, answer = ann.json("POST", "/exec", body)
    assert status == 400 and word in answer["error"], answer


def test_an_upload_needs_a_file_and_one_alone(ann):
    assert ann.upload()[0] == 400
    status, answer = ann.upload(("a", b""), ("b", b""))
    assert status == 400 and "upload/batch" in answer["error"]


def test_a_client_that_has_its_key_from_the_url(gateway, stack):
    named = base64.b64encode(b"quern:" + make_key(stack, tenant="cid").encode()).decode()
    cid = Client(gateway, None)
    cid.headers = {"user_agent": "LibreChat/1.0", "authorization": f"Basic {named}"}
    [file] = cid.uploaded(("cities.csv", CSV))
    [report] = [f for f in cid.exec(DRAW, files=[file])["files"] if "report" in f["name"]]
    assert cid.download(report)[2] == b"3 in Berlin"


def test_errors_before_the_route_have_its_form(gateway, stack, ann):
    status, answer = gateway.json("POST", f"{BASE}/exec", {"lang": "py", "code": "1"})
    assert status == 401 and "key" in answer["error"]
    reader = Client(gateway, make_key(stack, tenant="ann", scopes="read"))
    status, answer = reader.json("POST", "/exec", {"lang": "py", "code": "1"})
    assert status == 403 and "submit" in answer["error"]
    assert gateway.json("GET", f"{BASE}/health") == (200, {"status": "ok"})
    status, answer = ann.json("POST", "/exec/programmatic", {})
    assert status == 404 and "cannot call tools of LibreChat" in answer["error"]


def test_what_has_expired_is_unknown(ann, stack):
    """The last one: everything expires."""
    [upload] = ann.uploaded(("a.csv", b"a"))
    run = ann.exec("open('/mnt/data/a.txt', 'w').write('a')")
    for kind in ("file", "result"):
        for key in stack.db.scan_iter(f"quern:{{000}}:{kind}:*"):
            assert 23 * 3600 < stack.db.ttl(key) <= 32 * 24 * 3600, key
    for key in stack.db.scan_iter("quern:{000}:file:*"):
        stack.db.pexpire(key, 1)
    for key in stack.db.scan_iter("quern:{000}:result:*"):
        stack.db.delete(key)
    time.sleep(0.01)
    for file in (upload, run["files"][0]):
        assert ann.info(file) == (404, {"error": "File not found"})
        body = {"lang": "py", "code": "1", "files": [file]}
        status, answer = ann.json("POST", "/exec", body)
        assert status == 404 and "not any more" in answer["error"]
