"""schemas/json/asyncapi.json against Redis, the pages and the functions."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import msgpack
import pytest
import redis

from servers import BUILD, RedisServer, binary

SCHEMAS = Path(__file__).parents[2] / "schemas"
API = json.loads((SCHEMAS / "json" / "asyncapi.json").read_text())
CHANNELS = API["channels"]
ROOT = API["components"]["parameters"]["root"]["default"]
ID = "019aa5c8-1b2c-7000-8000-00000000000%x"
SAMPLES = {
    "queue": "q",
    "priority": "high",
    "tenant": "t",
    "session": "s",
    "idempotency_key": "k",
    "idempotency_ttl_ms": 1000,
    "deadline_ms": 60000,
    "max_depth": 10,
    "tenant_depth": 10,
    "unique_key": "u",
    "delay_ms": 1,
    "not_before": 1,
    "pairs": "all",
    "notify": 1,
    "asked": b"{}",
    "asked_ttl_ms": 60000,
    "blob": hashlib.sha256(b"bytes").hexdigest(),
}
SAID = ("queue", "priority", "tenant", "session", "idempotency_key", "not_before")


FUNCTIONS = API["components"]["x-functions"]
LIBRARY = SCHEMAS / "redis" / "library"
REFERENCE = (SCHEMAS / "FUNCTIONS.md").read_text()


@pytest.fixture(scope="module")
def server():
    with RedisServer() as server:
        client = server.client()
        library = Path(BUILD, "schemas", "redis", "library.lua")
        client.execute_command("FUNCTION", "LOAD", "REPLACE", library.read_bytes())
        yield server


@pytest.fixture
def client(server):
    server.client().flushall()
    return server.client()


def address(channel, job_id=""):
    text = CHANNELS[channel]["address"]
    return text.replace("{root}", ROOT).replace("{id}", job_id)


def submit(client, job_id, **more):
    """With what the job says of itself as pairs too."""
    said = {name: more[name] for name in SAID if name in more}
    if "notify" in more:
        said["notify"] = True
    if "deadline_ms" in more:
        said["limits"] = {"deadline_ms": more["deadline_ms"]}
    job = msgpack.packb({"v": 1, "id": job_id, "prompt": "hi", **said})
    pairs = {"id": job_id, "job": job} | more
    flat = [part for pair in pairs.items() for part in pair]
    name = CHANNELS["submit"]["x-function"]["name"]
    return client.execute_command("FCALL", name, 1, address("submit"), *flat)


def decoded(schema, data):
    done = subprocess.run(
        [binary("translate"), "decode", schema],
        input=data,
        capture_output=True,
        timeout=20,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for inner in node.values():
            yield from references(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from references(inner)


def resolve(document, pointer):
    for name in pointer.removeprefix("#/").split("/"):
        document = document[name]
    return document


@pytest.mark.parametrize(
    "name", ["asyncapi", "job.schema", "event.schema", "result.schema"]
)
def test_references_lead_somewhere(name):
    document = json.loads((SCHEMAS / "json" / f"{name}.json").read_text())
    for reference in references(document):
        if reference.startswith("#/"):
            assert resolve(document, reference) is not None
        else:
            assert (SCHEMAS / "json" / reference).is_file()


# ------------------------------------------- the library's own register


def source(name="*"):
    return "".join(path.read_text() for path in sorted(LIBRARY.glob(f"{name}.lua")))


def table_of(title):
    """The cells of each row of the reference's section, without the head."""
    section = REFERENCE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [line[1:-1].replace("`", "").split("|") for line in lines[2:]]


def words_in(text):
    return set(re.findall(r"`([a-z_]+)`", text))


def names_of(table):
    """Of a table in Lua: the names of its members."""
    body = re.search(rf"local {table} = \{{(.*?)\n *\}}", source(), re.S)[1]
    return set(re.findall(r"(\w+) = ", body))


def test_every_function_is_documented(client):
    (library,) = client.execute_command("FUNCTION", "LIST")
    rows = library[library.index(b"functions") + 1]
    there = {row[row.index(b"name") + 1].decode() for row in rows}
    assert there == {f"quern_v1_{name}" for name in FUNCTIONS}


def functions_for(who):
    """Of the reference: a heading and a list for each function."""
    section = REFERENCE.split(f"\n## For {who}\n")[1].split("\n## ")[0]
    text = re.sub(r"\[([^][]*)\]\((?:[A-Z]+\.md)?#[^)]*\)", r"\1", section).replace("`", "")
    for block in text.split("\n### ")[1:]:
        name, _, items = block.partition("\n")
        rows = [" ".join(item.split()) for item in re.split(r"(?m)^- ", items)[1:]]
        assert [row.split(":")[0] for row in rows] == [
            "arguments",
            "answers",
            "refusals",
        ], name
        yield name, [row.partition(": ")[2] for row in rows]


def test_the_reference_says_what_the_document_says():
    for who in ("producers", "consumers", "operators", "deliverers", "everybody"):
        kept = {
            name: [
                row["arguments"].replace("`", "") or "none",
                row["answers"].replace("`", ""),
                " ".join(row["refusals"]) or "none",
            ]
            for name, row in FUNCTIONS.items()
            if row["for"] == who
        }
        assert dict(functions_for(who)) == kept


def test_every_pair_of_submit_is_documented():
    pairs = names_of("READERS") | {"blob"}
    cells = [row[0] for row in table_of("Pairs of submit")]
    assert {name.strip() for cell in cells for name in cell.split(",")} == pairs
    spec = CHANNELS["submit"]["x-function"]
    assert {*spec["required"], *spec["optional"]} == pairs


def test_every_verdict_is_documented():
    verdicts = names_of("VERDICTS")
    assert {row[0].strip() for row in table_of("Verdicts of approve")} == verdicts
    assert set(CHANNELS["approve"]["x-function"]["verdicts"]) == verdicts


def test_every_setting_is_documented():
    lists = re.findall(r"local (?:SETTINGS|BUDGETS) = \{(.*?)\}", source(), re.S)
    settings = set(re.findall(r'"(\w+)"', "".join(lists)))
    section = REFERENCE.split("\n## Settings of queue_set\n")[1].split("\n## ")[0]
    assert settings == words_in(section)


def test_every_refusal_is_documented():
    words = set(re.findall(r'refuse\("([A-Z]+)"', source()))
    assert {row[0].strip() for row in table_of("Refusals")} == words
    assert {word for row in FUNCTIONS.values() for word in row["refusals"]} == words


@pytest.mark.parametrize("cursor", ["x", "", "(1-1", "1"])
def test_a_walk_that_begins_nowhere_is_refused(client, cursor):
    """In the library's words, not in those of Redis."""
    stream = f"{ROOT}work:default:normal"
    with pytest.raises(redis.ResponseError, match="^BADARG reclaim: .*cursor"):
        client.execute_command(
            "FCALL", "quern_v1_reclaim", 1, ROOT, stream, 1, 1, cursor
        )


def test_every_mismatch_is_documented():
    body = re.search(r"local SAID = \{(.*?)\n    \}", source("given"), re.S)[1]
    rows = re.findall(r'\{ "(\w+)"(?:, [^,}]+)?(?:, "(\w+)")? \}', body)
    assert len(rows) == 9
    assert {f"{code or name}_mismatch" for name, code in rows} <= words_in(REFERENCE)


def test_every_answer_is_documented():
    """Words that a function returns; and no word that none does."""
    code = re.sub(r"--.*", "", source())
    returned = set()
    for line in re.findall(r"return ([^\n]*)", code):
        if re.search(r"refuse|wrong_kind|and form|[=~]= ", line):
            continue
        alone = r'^"([a-z]{2,})"|(?: and| or) "([a-z]{2,})"'
        returned |= {one or two for one, two in re.findall(alone, line)}
        if line.startswith("{"):
            returned |= set(re.findall(r'[{,] "([a-z]{2,})"', line))
    returned -= {"text", "default", "nil", "record"}  # of helpers
    answered = {word for row in FUNCTIONS.values() for word in words_in(row["answers"])}
    assert returned <= answered, returned - answered
    assert {"queued", "late", "created", "exists", "paused", "deadline"} <= returned
    for word in answered:
        assert f'"{word}"' in code or f" {word} = true" in code, word


def test_event_types_are_those_of_the_page():
    text = (SCHEMAS / "MESSAGES.md").read_text()
    section = text.split("\n## Events\n")[1].split("\n## ")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    types = [t for cell in first_cells for t in re.findall(r"`([^`]+)`", cell)]
    assert set(types) == set(CHANNELS["events"]["messages"])


def test_members_of_a_job_are_those_of_the_page():
    """The table of the page and the JSON Schema name the same members."""
    schema = json.loads((SCHEMAS / "json" / "job.schema.json").read_text())
    text = (SCHEMAS / "MESSAGES.md").read_text()
    section = text.split("\n## Job\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert sorted(named) == sorted({*schema["properties"]} - {"v"})


def test_a_job_is_heard_of_where_the_document_says(client):
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(address("events", ID % 1))
    listener.get_message(timeout=30)
    assert submit(client, ID % 1) == [(ID % 1).encode(), b"created"]
    take = ["FCALL", "quern_v1_take", 1, ROOT, "c1", 30000, 3, 1, "queue", "default"]
    assert len(client.execute_command(*take)) == 1
    heard = []
    for _ in range(100):
        message = len(heard) < 2 and listener.get_message(timeout=0.1)
        heard += [message["data"]] if message else []
    listener.close()
    events = [decoded("event", data) for data in heard]
    types = [event["type"] for event in events]
    assert types == ["job.queued", "job.started"]
    assert set(types) <= set(CHANNELS["events"]["messages"])
    assert [event["seq"] for event in events] == [1, 2]
    replayed = client.xrange(address("events", ID % 1))
    assert replayed == [
        (b"%d-0" % seq, {b"event": data}) for seq, data in enumerate(heard, 1)
    ]


def test_approving_lets_a_job_go_on(client):
    submit(client, ID % 6)
    take = ["FCALL", "quern_v1_take", 1, ROOT, "c1", 30000, 3, 9, "queue", "default"]
    (epoch,) = [
        one[3] for one in client.execute_command(*take) if one[2].decode() == ID % 6
    ]
    wait = ["FCALL", "quern_v1_wait", 1, ROOT, ID % 6, epoch, 0, "approval", 0, b""]
    assert client.execute_command(*wait) == b"waiting"
    last = client.xrevrange(address("events", ID % 6), count=1)[0][1][b"event"]
    assert decoded("event", last)["type"] == "job.waiting"
    name = CHANNELS["approve"]["x-function"]["name"]
    call = ["FCALL", name, 1, address("approve"), ID % 6, "approve", "go on"]
    assert client.execute_command(*call) == b"queued"


@pytest.mark.parametrize("argument", CHANNELS["submit"]["x-function"]["optional"])
def test_every_argument_of_submit_is_taken(client, argument):
    client.set(f"{ROOT}blob:{SAMPLES['blob']}", b"bytes")
    submit(client, ID % 2, **{argument: SAMPLES[argument]})


@pytest.mark.parametrize("argument", CHANNELS["submit"]["x-function"]["required"])
def test_required_arguments_of_submit_are_required(client, argument):
    with pytest.raises(redis.ResponseError, match="^BADARG"):
        submit(client, ID % 3, **{argument: ""})


def test_cancelling_ends_a_waiting_job(client):
    submit(client, ID % 4)
    name = CHANNELS["cancel"]["x-function"]["name"]
    call = ["FCALL", name, 1, address("cancel"), ID % 4, "no longer wanted"]
    assert client.execute_command(*call) == b"cancelled"
    last = client.xrevrange(address("events", ID % 4), count=1)[0][1][b"event"]
    assert decoded("event", last)["type"] == "job.cancelled"
    result = decoded("result", client.get(address("result", ID % 4)))
    assert result["id"] == ID % 4
    assert result["status"] == "cancelled"
    assert client.execute_command(*call) == b"cancelled"  # nothing new


def test_cancelling_tells_the_consumer_of_a_running_job(client):
    submit(client, ID % 5)
    stream = f"{ROOT}work:default:normal"
    entry = client.xreadgroup("consumers", "c1", {stream: ">"}, count=1)[0][1][0][0]
    take = ["FCALL", "quern_v1_take", 1, ROOT, "c1", 30000, 3, 1]
    assert client.execute_command(*take, "entry", stream, entry)
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(address("control"))
    listener.get_message(timeout=30)
    name = CHANNELS["cancel"]["x-function"]["name"]
    said = client.execute_command("FCALL", name, 1, address("cancel"), ID % 5)
    assert said == b"asked"
    heard = None
    for _ in range(50):
        heard = heard or listener.get_message(timeout=0.1)
    listener.close()
    pattern = API["components"]["messages"]["cancel"]["payload"]["pattern"]
    assert re.fullmatch(pattern, heard["data"].decode())
