"""/v1/containers, with a real Redis, consumer and executor: where the code of
responses runs, and the files there."""

import json
import threading

import pytest
from gateway import FORM, Gateway, form, part
from servers import wait_until
from stack import ROOT, Stack, call_of
from test_gateway_responses import CODE, create

PLOT = """import base64
display({'image/svg+xml': '<svg></svg>'}, raw=True)
open('/mnt/data/out.csv', 'w').write('a,b')
import os; os.makedirs('deep', exist_ok=True)
open('deep/in.txt', 'w').write('deep')"""
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
DRAW = f"import base64\ndisplay({{'image/png': base64.b64decode('{PNG}')}}, raw=True)"


def make(gateway, **more):
    status, answer = gateway.json("POST", "/v1/containers", {"name": "lab", **more})
    assert status == 200, answer
    return answer


def uploaded(gateway, name, data):
    body = form(part("purpose", b"user_data"), part("file", data.encode(), name))
    status, _, answer = gateway.call("POST", "/v1/files", body, **FORM)
    assert status == 200, answer
    return json.loads(answer)["id"]


def test_a_put_that_was_cancelled_says_so():
    with Stack(executor=False) as idle, Gateway(idle.redis.url) as gateway:
        gateway.ready()
        container = gateway.json("POST", "/v1/containers", {"name": "lab"})[1]["id"]
        path, file = f"/v1/containers/{container}/files", uploaded(gateway, "a.txt", "a")
        given = {}
        put = threading.Thread(
            target=lambda: given.update(answer=gateway.json("POST", path, {"file_id": file}))
        )
        put.start()
        [job] = wait_until(lambda: gateway.json("GET", "/v1/jobs")[1]["jobs"], what="a job")
        gateway.json("POST", f"/v1/jobs/{job['id']}/cancel")
        put.join()
        status, answer = given["answer"]
        assert (status, answer["error"]["code"]) == (400, "cancelled")
        assert "the container could not be changed" in answer["error"]["message"]
        gateway.drain()


def code_in(container):
    return {"type": "code_interpreter", "container": container}


def run(gateway, stack, code, container=None, text="Done."):
    stack.model.script([{"tool_calls": [call_of(code)]}, {"text": text}])
    tool = code_in(container) if container else CODE
    return create(
        gateway, input="go", tools=[tool], include=["code_interpreter_call.outputs"]
    )


def code_item(response):
    [item] = [i for i in response["output"] if i["type"] == "code_interpreter_call"]
    return item


def upload(gateway, container, name, data):
    body = form(part("file", data.encode(), name, "text/csv"))
    path = f"/v1/containers/{container}/files"
    status, _, answer = gateway.call("POST", path, body, **FORM)
    return status, answer


def files(gateway, container):
    status, page = gateway.json("GET", f"/v1/containers/{container}/files?order=asc")
    assert status == 200, page
    return {file["path"]: file for file in page["data"]}


def test_uploaded_files_are_put_into_a_new_container(gateway, stack):
    ids = [uploaded(gateway, name, name * 3) for name in ("a.csv", "b.csv")]
    made = make(gateway, file_ids=ids)
    assert sorted(files(gateway, made["id"])) == ["/mnt/data/a.csv", "/mnt/data/b.csv"]
    code = "print(open('/mnt/data/a.csv').read()); _ = open('/mnt/data/b.csv', 'a').write('x')"
    [output] = code_item(run(gateway, stack, code, made["id"]))["outputs"]
    assert output["logs"] == "a.csv" * 3 + "\n"
    sources = {path: file["source"] for path, file in files(gateway, made["id"]).items()}
    assert sources == {"/mnt/data/a.csv": "user", "/mnt/data/b.csv": "assistant"}


def test_an_uploaded_file_is_put_by_its_id(gateway):
    path = f"/v1/containers/{make(gateway)['id']}/files"
    id = uploaded(gateway, "c.csv", "1,2")
    status, file = gateway.json("POST", path, {"file_id": id})
    assert (status, file["path"], file["bytes"]) == (200, "/mnt/data/c.csv", 3)
    status, _, data = gateway.call("GET", f"{path}/{file['id']}/content")
    assert (status, data) == (200, b"1,2")


@pytest.mark.parametrize(
    "given, status, param",
    [
        ({"file_ids": ["file-000000000000000000000000"]}, 404, "file_ids"),
        ({"file_ids": ["../x"]}, 404, "file_ids"),
        ({"file_ids": "file-1"}, 400, "file_ids"),
        ({"file_ids": [1]}, 400, "file_ids[0]"),
        ({"file_ids": ["a"] * 51}, 400, "file_ids"),
        ({"skills": [{}]}, 400, "skills"),
    ],
)
def test_files_that_no_container_can_have(gateway, given, status, param):
    answer = gateway.refusal("POST", "/v1/containers", {"name": "refused", **given})
    assert (answer[0], answer[2]) == (status, param), answer
    assert gateway.json("GET", "/v1/containers?name=refused")[1]["data"] == []


@pytest.mark.parametrize(
    "given, status",
    [({"file_id": "file-000000000000000000000000"}, 404), ({"file_id": 1}, 400), ({}, 400)],
)
def test_no_file_is_put(gateway, given, status):
    path = f"/v1/containers/{make(gateway)['id']}/files"
    assert gateway.refusal("POST", path, given)[::2] == (status, "file_id")


def test_a_file_that_would_not_be_listed_is_refused(gateway):
    status, answer = upload(gateway, make(gateway)["id"], ".h", "x")
    assert status == 400 and b"begin with a dot" in answer, answer


def test_the_session_of_a_deleted_container_is_closed(gateway, stack):
    id = make(gateway)["id"]
    run(gateway, stack, "x = 1", id)

    def session():
        return gateway.json("GET", f"/v1/sessions/{id}")

    assert session()[0] == 200
    assert gateway.json("DELETE", f"/v1/containers/{id}")[0] == 200
    wait_until(lambda: session()[0] == 404)


def test_two_files_of_one_name(gateway):
    """Both cannot be there: the request is wrong, and says so."""
    ids = [uploaded(gateway, "same.csv", text) for text in "ab"]
    given = {"name": "x", "file_ids": ids}
    assert gateway.refusal("POST", "/v1/containers", given)[0] == 400


def test_made_listed_forgotten(gateway):
    made = make(gateway, expires_after={"anchor": "last_active_at", "minutes": 20})
    assert made["status"] == "running" and made["expires_after"]["minutes"] == 20
    path = f"/v1/containers/{made['id']}"
    assert gateway.json("GET", path) == (200, made)
    other = make(gateway, name="other")
    listed = gateway.json("GET", "/v1/containers?limit=100")[1]["data"]
    assert {made["id"], other["id"]} <= {one["id"] for one in listed}
    named = gateway.json("GET", "/v1/containers?name=other")[1]["data"]
    assert [one["id"] for one in named] == [other["id"]]
    assert gateway.json("DELETE", path)[1]["deleted"] is True
    for method in ("GET", "DELETE"):
        assert gateway.refusal(method, path)[0] == 404
    assert gateway.refusal("GET", f"{path}/files")[0] == 404
    wrong = {"name": "x", "expires_after": {"anchor": "last_active_at", "minutes": 0}}
    assert gateway.refusal("POST", "/v1/containers", wrong) == (
        *(400, "invalid_value", "expires_after.minutes"),
    )


def test_the_list_forgets_what_has_expired(gateway, stack):
    """A tenant that goes on making containers must not fill Redis with their ids."""
    gateway.json("POST", "/v1/containers", {"name": "a"})
    [key] = stack.db.keys(f"{ROOT}containers:*")
    stack.db.zadd(key, {"cntr_old": 1})
    gateway.json("POST", "/v1/containers", {"name": "b"})
    wait_until(lambda: stack.db.zscore(key, "cntr_old") is None, what="the list")


def test_code_runs_in_the_one_that_is_named(gateway, stack):
    id = make(gateway)["id"]
    assert code_item(run(gateway, stack, "x = 41", id))["container_id"] == id
    again = code_item(run(gateway, stack, "print(x + 1)", id))
    assert again["outputs"][0]["logs"] == "42\n"
    ask = {"input": "a", "tools": [code_in("cntr_" + "0" * 32)]}
    assert gateway.refusal("POST", "/v1/responses", ask) == (400, "invalid_value", "tools")


def test_what_code_leaves_is_read(gateway, stack):
    response = run(gateway, stack, PLOT, text="See out.csv")
    id = code_item(response)["container_id"]
    found = files(gateway, id)
    assert set(found) == {"/mnt/data/out.csv", "/mnt/data/deep/in.txt"}
    for path, text in [("/mnt/data/out.csv", b"a,b"), ("/mnt/data/deep/in.txt", b"deep")]:
        one = found[path]
        base = f"/v1/containers/{id}/files/{one['id']}"
        assert gateway.json("GET", base) == (200, one) and one["bytes"] == len(text)
        status, headers, data = gateway.call("GET", f"{base}/content")
        assert (status, data) == (200, text)
        assert headers["Content-Disposition"].startswith("attachment")
    # What is cited has the same id.
    [cited] = [
        mark
        for item in response["output"]
        if item["type"] == "message"
        for mark in item["content"][0]["annotations"]
        if mark["filename"] == "out.csv"
    ]
    assert cited["file_id"] == found["/mnt/data/out.csv"]["id"]
    assert cited["container_id"] == id


def test_a_chart_is_read(gateway, stack):
    """It is no file of the container, but of the job that drew it."""
    response = run(gateway, stack, DRAW, text="See it.")
    [cited] = [
        mark
        for item in response["output"]
        if item["type"] == "message"
        for mark in item["content"][0]["annotations"]
    ]
    path = f"/v1/containers/{cited['container_id']}/files/{cited['file_id']}"
    status, headers, data = gateway.call("GET", f"{path}/content")
    assert status == 200 and headers["Content-Type"] == "image/png"
    assert data.startswith(b"\x89PNG")


def test_files_are_put_and_removed(gateway, stack):
    id = make(gateway)["id"]
    status, _ = upload(gateway, id, "data.csv", "1,2")
    assert status == 200
    code = "print(open('/mnt/data/data.csv').read())"
    assert code_item(run(gateway, stack, code, id))["outputs"][0]["logs"] == "1,2\n"
    [(path, one)] = files(gateway, id).items()
    assert path == "/mnt/data/data.csv"
    base = f"/v1/containers/{id}/files/{one['id']}"
    assert gateway.json("DELETE", base)[1]["deleted"] is True
    assert files(gateway, id) == {}
    assert gateway.refusal("GET", f"{base}")[0] == 404
    assert upload(gateway, "cntr_" + "0" * 32, "a", "b")[0] == 404


def test_it_is_of_its_tenant(gateway, stack):
    response = run(gateway, stack, "open('a.txt', 'w').write('a')")
    id = code_item(response)["container_id"]
    [one] = files(gateway, id).values()
    with Gateway(stack.redis.url, open="other") as other:
        other.ready()
        for path in ("", "/files", f"/files/{one['id']}", f"/files/{one['id']}/content"):
            assert other.refusal("GET", f"/v1/containers/{id}{path}")[0] == 404
        ask = {"input": "a", "tools": [code_in(id)]}
        assert other.refusal("POST", "/v1/responses", ask)[0] == 400
        other.drain()
