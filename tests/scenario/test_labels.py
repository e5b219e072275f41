"""Tenants and sessions are called what the application calls them, and no two of
them, however they are spelled, ever share a key."""

import json
from itertools import permutations
from pathlib import Path

import pytest
from command import Command
from library import job_id, pack, refused
from servers import wait_until
from stack import ROOT

VECTORS = json.loads(
    (Path(__file__).parents[2] / "schemas" / "vectors" / "labels.json").read_text()
)
LABELS = [(row["label"], row["encoded"]) for row in VECTORS["labels"]]


def members(client, key):
    return {member.decode() for member in client.zrange(key, 0, -1)}


@pytest.mark.parametrize("label, encoded", LABELS, ids=[e for _, e in LABELS])
def test_the_library_encodes_as_published(label, encoded, queue):
    queue.submit(job_id(1), tenant=label, session=label, queue="q")
    if label != "default":
        facts = queue.client.hgetall(f"{queue.root}job:{job_id(1)}")
        assert facts[b"tenant"] == label.encode(), "the label itself"
    assert queue.client.exists(f"{queue.root}line:{encoded}/{encoded}")
    assert queue.client.exists(f"{queue.root}ready:q/{encoded}")


@pytest.mark.parametrize("digits", VECTORS["no_labels"])
def test_what_is_no_label_is_refused(digits, queue):
    for name in ("tenant", "session"):
        if digits:  # an empty pair is an absent one
            value = {name: bytes.fromhex(digits)}
            why = refused("BADARG", queue.submit, job_id(1), **value)
            assert f"{name} must be 1 to 128 bytes of UTF-8 without control" in why
    args = ("q", "tenant_running:" + bytes.fromhex(digits).decode("latin-1"), 1)
    if not digits:
        refused("BADARG", queue.call, "queue_set", *args)


@pytest.mark.parametrize("text", VECTORS["no_encoded"])
def test_a_label_has_one_encoded_form(text, queue):
    queue.submit(job_id(1))
    queue.begin()
    session = f"{text}/s".encode()
    refused(
        "BADARG", queue.call, "session_claim", job_id(1), queue.epoch(job_id(1)),
        session, 1000,
    )


def test_a_refusal_quotes_every_letter(queue):
    king = "\u738b"
    job = pack(v=1, id=job_id(1), tenant="\u674e\u96f7")
    args = ("submit", "id", job_id(1), "job", job, "tenant")
    why = refused("BADARG", queue.call, *args, king)
    assert f"the job says tenant '\u674e\u96f7', the pair says tenant '{king}'" in why
    why = refused("BADARG", queue.call, *args, f"{king}\x9b{king * 40}")
    assert f"'{king}?{king * 24}'" in why and "control characters" in why
    why = refused("BADARG", queue.call, *args, b"\xff\x1b\xe6")
    assert "'???'" in why


# Where a careless key would be the same for two of them.
PARTS = ["a", "b", "c", "a/b", "b/c", "a:b", "b:c", "a b", "a%2Fb", "a:high", "/", ":"]
PAIRS = list(permutations(PARTS, 2))


def test_no_two_sessions_share_a_line(queue):
    for number, (tenant, session) in enumerate(PAIRS):
        queue.submit(job_id(number), tenant=tenant, session=session)
    lines = list(queue.client.scan_iter(f"{queue.root}line:*", count=1000))
    assert len(lines) == len(PAIRS)
    assert {queue.client.zcard(line) for line in lines} == {1}
    assert not queue.client.exists(f"{queue.root}behind:default")


def test_no_two_keys_of_tenants_are_one(queue):
    """a:b with key c, and a with key b:c."""
    for number, (tenant, key) in enumerate(PAIRS):
        job = pack(v=1, id=job_id(number), tenant=tenant, idempotency_key=key)
        got = queue.submit(job_id(number), job, pairs="")
        assert got == (job_id(number), "created")
    for number, (tenant, key) in enumerate(PAIRS, 1000):
        got = queue.submit(job_id(number), tenant=tenant, unique_key=key)
        assert got == (job_id(number), "created")


def test_limits_are_of_one_tenant_alone(queue):
    for tenant in PARTS:
        queue.call("queue_set", "default", f"tenant_running:{tenant}", 1)
    settings = queue.client.hgetall(f"{queue.root}queue:default")
    assert b"tenant_running:a%3Ab" in settings and len(settings) == len(PARTS)
    for number, tenant in enumerate(PARTS + PARTS):
        queue.submit(job_id(number), tenant=tenant)
    started = queue.take_jobs(count=100)
    assert [one.id for one in started] == [job_id(n) for n in range(len(PARTS))]
    for tenant in PARTS:
        queue.call("queue_set", "default", f"tenant_running:{tenant}", "")
    assert not queue.client.exists(f"{queue.root}queue:default")


# --- all of quern, by the command


NASTY = [
    ("a/b", "c"),
    ("a", "b/c"),
    ("user:42", "a b"),
    ("ann@example.org", "\u674e\u96f7 \U0001f642"),
    ("a=b", "100%"),
    ("..", "."),
    ("\u202etxt", "a%2Fb"),
]


@pytest.fixture
def cli(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def cell(cli, tenant, session, code):
    (cli.cwd / "cell.py").write_text(code)
    return cli("exec", "--tenant", tenant, "--session", session, "cell.py")


def test_sessions_by_any_name(stack, cli):
    for number, (tenant, session) in enumerate(NASTY):
        cell(cli, tenant, session, f"x = {number}")
    for number, (tenant, session) in enumerate(NASTY):
        assert cell(cli, tenant, session, "x") == f"{number}\n"
    listed = {(row["tenant"], row["name"]) for row in cli.json("session", "ls")}
    assert listed >= set(NASTY)
    for tenant, session in NASTY:
        of = ("--tenant", tenant)
        assert [row["name"] for row in cli.json("session", "ls", *of)] == [session]
        (shown,) = cli.json("session", "show", session, *of)
        assert (shown["tenant"], shown["name"]) == (tenant, session)
        (cli.cwd / "f.txt").write_text(session)
        cli("session", "put", session, "f.txt", *of)
        cli("session", "fork", session, session + "/2", *of)
        assert cell(cli, tenant, session + "/2", "open('f.txt').read()") == (
            f"{session!r}\n"
        )
        cli("session", "close", session, *of)
        names = [row["name"] for row in cli.json("session", "ls", *of)]
        assert names == [session + "/2"]
    cli("check")


def test_limits_by_any_name(stack, cli):
    tenant = "user:42=x/y z"
    cli("queue", "set", "default", f"tenant_running:{tenant}=1")
    slow = ["import time; time.sleep(1)"]
    jobs = [stack.submit(kind="code", cells=slow, tenant=tenant) for _ in range(3)]
    free = stack.submit(kind="code", cells=slow, tenant="user:42")
    most = 0

    def ended():
        # At one moment: of states asked for one after the other two may be of jobs
        # that have followed each other.
        nonlocal most
        running = stack.db.scard(f"{ROOT}running:default/user%3A42%3Dx%2Fy%20z")
        most = max(most, running)
        return {stack.state(job) for job in jobs} == {"completed"}

    wait_until(ended, what="the end of all three")
    assert most == 1
    assert stack.result(free)["status"] == "completed"
    cli("queue", "set", "default", f"tenant_running:{tenant}=")
    assert not stack.db.exists(f"{ROOT}queue:default")


def test_refusals_have_the_rule(cli):
    why = "must be 1 to 128 bytes of UTF-8 without control characters"
    assert why in cli("submit", "x", "--tenant", "a\nb", code=65)
    assert why in cli("submit", "x", "--session", "\x1b[2J", code=65)
