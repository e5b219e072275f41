"""Sessions that outlive their jobs and their host: made again, jobs in turn,
deaths."""

import pytest
from held_redis import HeldRedis
from hosts import hosts, record
from servers import PATIENCE_S, wait_until
from stack import ROOT

# ------------------------------------------------------------- another host


def test_it_goes_on_where_its_host_was_lost():
    with hosts("a", "b") as (a, b):
        a.run(
            "import pandas\nx = 41\nt = pandas.DataFrame({'n': [1, 2]})",
            "def plus(n): return x + n",
            "import os\nos.makedirs('d')\nopen('d/é.csv', 'w').write('1,2')",
            "log = open('log', 'w')\ncounts = (n for n in range(3))",
        )
        a.kill()
        result = b.run("plus(1), int(t.n.sum()), open('d/é.csv').read()", "log")
        first, second = result["cells"]
        assert first["result"] == "(42, 3, '1,2')"
        assert first["state"] == "restored"
        assert "log (" in first["reason"] and "counts (" in first["reason"]
        assert second["error"]["name"] == "NameError"
        assert second["state"] == "kept", "it is told once"


def test_one_that_stayed_behind_never_answers(pair, name):
    a, b = pair
    a.cell("x = 'of a'", session=name)
    assert b.cell("x", session=name)["result"] == "'of a'"
    b.cell("x = 'of b'\nopen('f', 'w').write(x)", session=name)
    cell = a.cell("x, open('f').read()", session=name)
    assert cell["result"] == "('of b', 'of b')" and cell["state"] == "restored"
    assert a.cell("x", session=name)["state"] == "kept"
    assert b.cell("x", session=name)["state"] == "restored"


def test_one_that_is_over_never_answers(pair, name):
    """Closed by a host that has never had it."""
    a, b = pair
    a.cell("x = 1", session=name)
    assert b.act("close", session=name)["status"] == "completed"
    listed = a.stack.db.zrange(f"{ROOT}sessions", 0, -1)
    assert f"default/{name}".encode() not in listed
    assert b.act("show", session=name)["error"]["code"] == "unknown_session"
    cell = a.run("x", session=name)["cells"][0]
    assert cell["error"]["name"] == "NameError" and cell["state"] == "kept"


def test_a_file_that_was_deleted_stays_away(pair, name):
    a, b = pair
    a.cell("open('old', 'w').write('1');", session=name)
    b.cell("import os\nos.remove('old')\nopen('new', 'w').write('2')", session=name)
    cell = a.cell("sorted(os.listdir())", session=name)
    assert cell["result"] == "['new']"


def test_files_whose_names_are_bytes(pair, name):
    a, b = pair
    a.cell("import os\nopen(b'caf\\xe9 \\n', 'w').write('x')", session=name)
    assert b.cell("os.listdir(b'.')", session=name)["result"] == "[b'caf\\xe9 \\n']"


SAME = "open('f', 'w').write('1' * 99);"
OTHER = "open('f', 'w').write('2' * 99);"


@pytest.mark.parametrize(
    "state, again",
    [("kept", 0), ("restored", 1)],
    ids=["its host has it still", "another host has made it again"],
)
def test_a_file_of_an_earlier_job_that_has_the_same_bytes_is_no_output(
    pair, name, state, again
):
    def files(cell):
        return {file["name"]: file["change"] for file in cell.get("files", [])}

    a = pair[0]
    assert files(a.cell(SAME, session=name)) == {"f": "new"}
    same = pair[again].run(SAME, OTHER, SAME, session=name)
    assert [files(cell) for cell in same["cells"]] == [{}, *[{"f": "changed"}] * 2]
    assert same["cells"][0]["state"] == state
    assert [file["name"] for file in same["files"]] == ["f"]


def test_a_file_that_was_put_and_is_written_unchanged_is_no_output(pair, name):
    a, b = pair
    a.act("put", session=name, files=[a.stack.file("f", b"1" * 99)])
    for host in (a, b):
        assert "files" not in host.cell(SAME, session=name)


def test_a_jobs_own_files_come_after_those_that_were_saved(pair, name):
    a, b = pair
    a.cell("open('f', 'w').write('old');", session=name)
    file = a.stack.file("f", b"new")
    cell = b.cell("open('f').read()", session=name, files=[file])
    assert cell["result"] == "'new'"


def test_tenants_have_their_own(pair, name):
    a, b = pair
    a.cell("x = 1", session=name, tenant="one")
    result = b.run("x", session=name, tenant="two")
    assert result["cells"][0]["error"]["name"] == "NameError"
    assert b.cell("x", session=name, tenant="one")["result"] == "1"


def test_the_model_is_told(name):
    with hosts("a", "b") as (a, b):
        a.cell("x = 41\ng = (1 for _ in [1])", session=name)
        a.kill()
        job = b.stack.submit(queue="b", session=name, prompt="```python\nx\n```")
        result = b.stack.result(job)
        told = [m["content"] for m in result["messages"] if m["role"] == "tool"]
        assert told and "The session was restored" in told[0], result
        assert "not saved: g (" in told[0] and "41" in told[0]


# ----------------------------------------------------------------- one by one


def test_jobs_of_a_session_run_in_the_order_of_their_submits(pair, name):
    """Whoever takes them, and however quick each is."""
    a, b = pair
    code = "n = globals().get('n', []) + [{}]\nn"
    jobs = [
        (a, b)[number % 2].submit(code.format(number), session=name)
        for number in range(20)
    ]
    results = [a.stack.result(job) for job in jobs]
    for number, result in enumerate(results):
        assert result["cells"][0]["result"] == str([*range(number + 1)])


def test_one_that_waits_makes_room_for_the_one_that_goes_first():
    """A consumer with one place, which is the later job's."""
    with hosts("a", lease="600ms", slots=1) as (a,):
        first = a.submit("import time\ntime.sleep(5)\nn = [1]")
        a.stack.wait_event(first, "tool.started")
        later = a.submit("n = n + [2]\nn")
        a.consumer.kill()
        a.start(slots=1)
        result = a.stack.result(later)
        assert result["cells"][0]["result"] == "[1, 2]"
        assert a.stack.state(first) == "completed"
        assert result["attempts"] == 1, "nobody is charged for waiting"


def test_a_session_is_closed_while_a_job_waits(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(1)\nx = 1", session=name)
    a.stack.wait_event(slow, "tool.started")
    close = b.submit(kind="session", session=name, action={"do": "close"})
    later = a.submit("'x' in globals()", session=name)
    assert a.stack.result(later)["cells"][0]["result"] == "False"
    assert a.stack.state(slow) == a.stack.state(close) == "completed"
    assert record(a.stack, name)["cells"] == 1, "another one begins"


def test_jobs_of_a_session_take_turns_across_hosts(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(1)\nx = 1", session=name)
    a.stack.wait_event(slow, "tool.started")
    cell = b.cell("x", session=name)
    assert cell["result"] == "1" and a.stack.state(slow) == "completed"


def test_one_that_waits_can_be_cancelled(pair, name):
    a, b = pair
    slow = a.submit("import time\ntime.sleep(30)", session=name)
    a.stack.wait_event(slow, "tool.started")
    job = b.submit("1", session=name)
    wait_until(lambda: a.stack.db.exists(f"{ROOT}line:default/{name}"))
    a.stack.call("cancel", job)
    assert a.stack.result(job)["status"] == "cancelled"
    a.stack.call("cancel", slow)
    assert a.stack.result(slow)["status"] == "cancelled"


def test_a_cancelled_job_leaves_what_it_did(pair, name):
    a, b = pair
    job = a.submit("x = 1", "import time\ntime.sleep(30)", session=name)
    wait_until(lambda: a.stack.types(job).count("tool.started") == 2)
    a.stack.call("cancel", job)
    assert a.stack.result(job)["status"] == "cancelled"
    assert b.cell("x", session=name)["result"] == "1"


# --------------------------------------------------------------------- deaths


def lines(host, session):
    return host.cell("open('log').read()", session=session)["result"]


ONCE = "n = globals().get('n', 0) + 1\nopen('log', 'a').write(f'{n};')"


def test_killed_after_the_save_it_is_not_saved_twice():
    """The job is another host's then, and has only to end."""
    with hosts("a", "b", lease="600ms") as (a, b):
        a.cell(ONCE)
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            other = b.start(queues="a")  # takes over what is a's
            other.signal(19)
            way.hold(b"quern_v1_session_save")
            job = a.submit(ONCE)
            assert way.held.wait(PATIENCE_S)
            wait_until(lambda: record(a.stack, "s")["cells"] == 2)
            a.kill()
            other.signal(18)
        assert a.stack.result(job)["status"] == "completed"
        assert record(a.stack, "s")["cells"] == 2
        assert lines(b, "s") == "'1;2;'"


def test_killed_before_the_save_the_next_one_makes_it():
    """And runs the job's cells again there, on top of what was saved."""
    with hosts("a", "b", lease="600ms") as (a, b):
        a.cell(ONCE)
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            way.lose(b"quern_v1_session_save", for_good=True)
            job = a.submit(ONCE)
            assert way.lost.wait(PATIENCE_S)
            a.kill()
            b.start(queues="a")
            assert a.stack.result(job)["status"] == "completed"
        assert record(a.stack, "s")["cells"] == 2
        assert lines(b, "s") == "'1;2;'"


def test_a_save_that_was_lost_on_the_way_is_made_again():
    with hosts("a") as (a,):
        with HeldRedis(a.stack.redis.socket) as way:
            a.consumer.kill()
            a.consumer = a.start(redis_url=way.url)
            way.lose(b"quern_v1_session_save")
            a.cell(ONCE)
            assert way.lost.is_set()
        assert record(a.stack, "s")["cells"] == 1


def test_its_executor_dies_in_a_later_job_of_it():
    """What was saved, then the job's own cells, then the one that ran."""
    with hosts("a", away_time="20s") as (a,):
        a.cell(ONCE)
        job = a.submit(ONCE, "import time\ntime.sleep(5)\nn")
        wait_until(lambda: a.stack.types(job).count("tool.started") == 2)
        a.executor.process.kill()
        a.executor.process.start()
        cell = a.stack.result(job)["cells"][1]
        assert cell["result"] == "2" and cell["state"] == "restored"
        assert lines(a, "s") == "'1;2;'"


def test_a_consumer_dies_and_its_executor_does_not(name):
    """Nothing is made again: another consumer of the host goes on."""
    with hosts("a", lease="600ms") as (a,):
        a.cell("x = object()\nfirst = id(x)", session=name)
        job = a.submit("import time\ntime.sleep(1)", "id(x) == first", session=name)
        a.stack.wait_event(job, "tool.started")
        a.consumer.kill()
        a.start()
        result = a.stack.result(job)
        assert [c["state"] for c in result["cells"]] == ["kept", "kept"]
        assert result["cells"][1]["result"] == "True"


def test_it_is_killed_half_made_again():
    """What is under its name then is not the session, though it has run."""
    with hosts("a", "b", lease="600ms") as (a, b):
        a.cell("x = 1\nopen('f', 'w').write('1');")
        with HeldRedis(a.stack.redis.socket) as way:
            b.consumer.kill()
            b.consumer = b.start(redis_url=way.url)
            # Which says that b has it.
            way.lose(b"quern_v1_session_save", for_good=True)
            job = b.submit("x, open('f').read()")
            assert way.lost.wait(PATIENCE_S)
            b.consumer.kill()
        b.start()
        cell = b.stack.result(job)["cells"][0]
        assert cell["result"] == "(1, '1')" and cell["state"] == "restored"
