"""The golden bytes as another MessagePack library sees them, and its bytes as
we do."""

import base64
import json
import subprocess
from pathlib import Path

import msgpack
import pytest

from servers import binary

VECTORS = Path(__file__).parents[2] / "schemas" / "vectors"
INDEX = json.loads((VECTORS / "index.json").read_text())
ID = "019aa5c8-1b2c-7000-8000-000000000000"


def rows(writing):
    return [pytest.param(r, id=r["file"]) for r in INDEX if r["writing"] == writing]


def translate(verb, schema, data):
    return subprocess.run(
        [binary("translate"), verb, schema],
        input=data,
        capture_output=True,
        timeout=20,
    )


def decoded(schema, data):
    done = translate("decode", schema, data)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(schema, data):
    done = translate("decode", schema, data)
    assert done.returncode == 1, done.stdout
    return json.loads(done.stderr)


def as_json(value):
    """What schemas/json makes of bytes."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value


def test_every_file_is_in_the_index():
    files = {path.name for path in VECTORS.glob("*.msgpack")}
    assert files == {row["file"] for row in INDEX}
    assert len(files) > 30


@pytest.mark.parametrize("row", rows("canonical"))
def test_python_reads_what_we_write(row):
    data = (VECTORS / row["file"]).read_bytes()
    assert as_json(msgpack.unpackb(data)) == row["json"]


@pytest.mark.parametrize("row", rows("canonical"))
def test_python_writes_the_same_bytes(row):
    data = (VECTORS / row["file"]).read_bytes()
    assert msgpack.packb(msgpack.unpackb(data)) == data


@pytest.mark.parametrize("row", rows("canonical") + rows("accepted"))
def test_we_read_them(row):
    data = (VECTORS / row["file"]).read_bytes()
    assert decoded(row["schema"], data) == row["json"]


@pytest.mark.parametrize("row", rows("canonical"))
def test_we_write_them_from_json(row):
    done = translate("encode", row["schema"], json.dumps(row["json"]).encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout == (VECTORS / row["file"]).read_bytes()


@pytest.mark.parametrize("row", rows("refused"))
def test_we_refuse_them(row):
    data = (VECTORS / row["file"]).read_bytes()
    assert refused(row["schema"], data)["code"] == row["code"]


JOB = {"v": 1, "id": ID, "prompt": "Grüße 😀"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"kind": "conversation", "priority": "low"},
        {"files": [{"name": "a.csv", "blob": "0" * 64, "bytes": 2**25}]},
        {"limits": {"deadline_ms": 604_800_000}, "retry": {"max_attempts": 3}},
        {"metadata": {"user": "42", "seit": "März"}},
        {"tools": ["search_web"], "session": "s-1", "not_before": 2**53 - 1},
    ],
    ids=lambda more: ",".join(more) or "nothing more",
)
def test_we_read_jobs_that_python_made(more):
    job = JOB | more
    told = decoded("job", msgpack.packb(job))
    assert told == {"kind": "conversation"} | job


def test_we_read_messages_that_python_made():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "assistant", "content": None, "n": [1, -1, 2**40, 0.5, True]},
    ]
    job = {"v": 1, "id": ID, "messages": messages}
    assert decoded("job", msgpack.packb(job))["messages"] == messages


def test_prompts_from_old_libraries_are_refused_by_name():
    """use_bin_type=False writes bytes as str: what is not UTF-8 is told."""
    job = JOB | {"prompt": b"\xff\xfe"}
    error = refused("job", msgpack.packb(job, use_bin_type=False))
    assert error == {"code": "bad_field", "text": "prompt is not UTF-8"}


@pytest.mark.parametrize(
    "change, code, text",
    [
        ({"prompt": "x" * 196_609}, "too_large", "prompt is 196609 bytes"),
        ({"tools": ["t"] * 65}, "too_large", "tools has 65 items"),
        ({"limits": {"cell_ms": 2**64 - 1}}, "bad_field", "limits.cell_ms is 184"),
        ({"kind": "poem"}, "bad_field", 'kind is "poem"'),
        ({"id": ID.upper()}, "bad_field", "id must be"),
        ({"v": 1.0}, "unsupported_version", "v is a real"),
        ({"env": {"A": "x" * 16_384}}, "too_large", "env has 16385 bytes"),
        ({"env": {"A": "x\0"}}, "bad_field", 'env has a NUL in the value of "A"'),
        ({"env": {f"A{n}": "" for n in range(65)}}, "too_large", "env has 65"),
        ({"metadata": {"a": 1}}, "bad_field", 'metadata has an integer under "a"'),
    ],
)
def test_faults_are_told_by_name(change, code, text):
    error = refused("job", msgpack.packb(JOB | change))
    assert error["code"] == code
    assert error["text"].startswith(text)
