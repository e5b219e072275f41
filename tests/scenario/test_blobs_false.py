"""Bytes that are not what their key says reach no cell, no model and no disk."""

import hashlib
import os
import subprocess
import sys

import pytest
from hosts import record
from pictures import PNG
from servers import SOURCE
from stack import ROOT

LIE = b"price\nmallory\n"


def lie(stack, true_bytes, false_bytes=LIE):
    """Somebody else's bytes under the key of those; as a file of a job."""
    blob = hashlib.sha256(true_bytes).hexdigest()
    stack.db.set(f"{ROOT}blob:{blob}", false_bytes, ex=86400)
    return {"name": "prices.csv", "blob": blob, "bytes": len(true_bytes)}


def refused(result, name):
    assert result["status"] == "failed", result
    error = result["error"]
    assert error["code"] == "bad_blob" and error["kind"] == "reject", error
    assert f'"{name}"' in error["message"], error


def test_a_false_file_never_reaches_a_cell(stack):
    file = lie(stack, b"price\n1\n")
    result = stack.run(
        kind="code",
        tenant="victim",
        files=[file],
        cells=["print(open('prices.csv').read())"],
    )
    refused(result, "prices.csv")
    assert "mallory" not in str(result)


def test_a_false_file_is_not_put_into_a_session(stack):
    file = lie(stack, b"price\n2\n")
    action = {"kind": "session", "session": "put-false", "action": {"do": "put"}}
    refused(stack.run(files=[file], **action), "prices.csv")


@pytest.fixture(scope="module")
def seeing(stack, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "models.json"
    url = stack.model.url
    path.write_text('{"eyes": {"url": "%s", "model": "eyes", "sees": true}}' % url)
    stack.consumer(models=path, queues="eyes")
    return stack


def test_a_false_picture_is_not_sent_to_a_model(seeing):
    file = lie(seeing, PNG, PNG[:-1] + b"X") | {
        "name": "photo.png",
        "mime": "image/png",
        "bytes": len(PNG),
    }
    asked = seeing.model.counts()
    result = seeing.run(queue="eyes", model="eyes", prompt="What is it?", files=[file])
    refused(result, "photo.png")
    assert seeing.model.counts() == asked


def test_saved_variables_and_files_that_are_false_are_lost(pair, name):
    a, b = pair
    a.cell("x = 1\nopen('f', 'w').write('1');", session=name)
    saved = record(a.stack, name)
    a.stack.db.set(f"{ROOT}blob:{saved['picture']}", b"cposix\nsystem\n")
    a.stack.db.set(f"{ROOT}blob:{saved['files'][0]['blob']}", LIE)
    cell = b.run("import os\nprint(os.listdir())\nx", session=name)["cells"][0]
    assert cell["state"] == "lost" and cell["error"]["name"] == "NameError"
    assert cell["stdout"] == "[]\n"
    assert "the file f is gone: somebody has replaced its bytes" in cell["reason"]
    assert "somebody has replaced what was saved of them" in cell["reason"]


def test_a_history_that_is_false_is_forgotten(stack):
    stack.run(prompt="My number is 7.", session="told")
    saved = record(stack, "told")
    key = f"{ROOT}blob:{saved['history']}"
    stack.db.set(key, stack.db.get(key).replace(b"7", b"8"))
    assert stack.run(prompt="hello", session="told")["status"] == "completed"
    assert "My number is" not in str(stack.model.request(-1)["messages"])


# --- true bytes take their place again


def test_what_a_cell_leaves_replaces_a_false_blob(stack):
    lie(stack, b"price\n3\n")
    result = stack.run(
        kind="code", cells=["open('p.csv', 'wb').write(b'price\\n3\\n');"]
    )
    assert stack.bytes_of(result["files"][0]) == b"price\n3\n"


@pytest.mark.parametrize("client", ["quern", "plain.py"])
def test_an_upload_replaces_a_false_blob(client, server, redis, quern, tmp_path):
    """And shortens no life: some job may need it for ever, or for a year."""
    path = tmp_path / "prices.csv"
    for number, ttl in enumerate((None, 365 * 86400, 60)):
        data = b"price\n%d\n" % number
        path.write_bytes(data)
        key = f"{ROOT}blob:{hashlib.sha256(data).hexdigest()}"
        redis.set(key, LIE, ex=ttl)
        if client == "quern":
            quern("submit", "sum", "--file", str(path))
        else:
            upload_plainly(server, path)
        assert redis.get(key) == data
        left = redis.ttl(key)
        if ttl is None or client == "quern":  # whose job needs it now
            assert left == -1
        else:
            assert abs(left - max(ttl, 86400)) < 100


def upload_plainly(server, path):
    """With put() of the example, as other services copy it."""
    example = os.path.join(SOURCE, "producer", "examples", "plain.py")
    with open(example, encoding="utf-8") as file:
        source = file.read().split("\ndef submit(")[0]
    subprocess.run(
        [sys.executable, "-c", source + f"\nput({str(path)!r})"],
        env={**os.environ, "REDIS_URL": server.url},
        check=True,
    )
