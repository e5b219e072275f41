"""Functions that a cell's code calls, with the test in the consumer's place."""

import json
import time

import pytest
from executor_client import Executor

SEARCH = {
    "name": "search",
    "description": "Looks for something.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for"},
            "count": {"type": "integer", "default": 3},
            "safe": {"type": "boolean"},
        },
        "required": ["query"],
    },
}
PLUS = {
    "name": "add-up",
    "parameters": {
        "type": "object",
        "properties": {"numbers": {"type": "array", "items": {"type": "number"}}},
        "required": ["numbers"],
    },
}
TOOLS = json.dumps([SEARCH, PLUS])


def answer(name, arguments):
    if name == "add-up":
        return sum(arguments["numbers"])
    return {"found": arguments}


@pytest.fixture(scope="module")
def executor():
    with Executor("--profile", "bare", "--tool-time", "4s") as executor:
        yield executor


@pytest.fixture
def session(session):
    yield session
    assert session.run("1 + 1").result == "2"


def run(session, code, on_tool=answer, tools=TOOLS, **more):
    return session.finish(session.start(code, tools=tools, **more)[0], on_tool)


def asked(session, ref, count=1):
    """So many calls of the run's code."""
    frames = [session.connection.answer(ref) for _ in range(count)]
    assert [frame["type"] for frame in frames] == ["tool"] * count
    return frames


# Every row: what it shows, the cell, what it gives.
GIVES = [
    ("positional", "search('a')", "{'found': {'query': 'a'}}"),
    ("by name", "search(count=2, query='a')", "{'found': {'query': 'a', 'count': 2}}"),
    ("None may be left out", "search('a', None)", "{'found': {'query': 'a'}}"),
    ("a name with a hyphen", "add_up([1, 2.5])", "3.5"),
    ("in the namespace", "tools.search('b')['found']", "{'query': 'b'}"),
    ("any text", "search('\"中\\n🙂')['found']['query']", "'\"中\\n🙂'"),
    ("in a loop", "[add_up([i, 1]) for i in range(5)]", "[1, 2, 3, 4, 5]"),
    (
        "a real signature",
        "import inspect\nstr(inspect.signature(search))",
        "'(query: str, count: int = 3, safe: bool = None)'",
    ),
    ("a docstring", "search.__doc__.splitlines()[0]", "'Looks for something.'"),
    ("arguments told", "'query: What to look for' in search.__doc__", "True"),
    ("numbers of numpy", "import numpy\nadd_up(numpy.arange(3))", "3"),
    ("without waiting for the loop", "import asyncio\nawait asyncio.to_thread(add_up, [1, 2])", "3"),
]  # fmt: skip


@pytest.mark.parametrize("row", [r[1:] for r in GIVES], ids=[r[0] for r in GIVES])
def test_a_call_gives(session, row):
    code, shown = row
    done = run(session, code)
    assert (done.error, done.result) == ({}, shown)


RAISES = [
    ("a missing argument", "search()", "TypeError", "missing a required argument: 'query'"),
    ("an unknown one", "search('a', colour=1)", "TypeError", "colour"),
    ("no JSON", "search('a', count={1, 2})", "TypeError", "argument 'count' is not JSON"),
    ("not a number", "search('a', count=float('nan'))", "TypeError", "'count' is not JSON"),
    ("half a character", "search('\\ud800')", "TypeError", "argument 'query'"),
    ("too much", "search('a' * (2 << 20))", "ValueError", "at most 1,048,576"),
    ("in a fork", "import os\npid = os.fork()\nif not pid:\n    try: search('a')\n    except ToolError as e: os._exit('forked' in str(e))\nos.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) / 0", "ZeroDivisionError", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", [r[1:] for r in RAISES], ids=[r[0] for r in RAISES])
def test_a_call_raises(session, row):
    code, name, sentence = row
    done = run(session, code)
    assert done.error.get("name") == name, done
    assert sentence in done.error["value"]


TEXT = {"type": "string"}
# Every row: what it shows, the tool's parameters, the call, its arguments.
SCHEMAS = [
    ("none", None, "t()", {}),
    ("of any name", {"properties": {"others": TEXT}}, "t('a')", {"others": "a"}),
    (
        "of any name, and more",
        {"properties": {"others": TEXT}, "additionalProperties": True},
        "t('a', z=1)",
        {"others": "a", "z": 1},
    ),
    ("that are no names", {"properties": {"a-b": TEXT}}, "t(**{'a-b': 1})", {"a-b": 1}),
    (
        "named like ours",
        {"properties": {"self": TEXT, "args": TEXT}},
        "t(self='a', args='b')",
        {"self": "a", "args": "b"},
    ),
    ("that are keywords", {"properties": {"in": TEXT}}, "t(**{'in': 1})", {"in": 1}),
    ("of two types", {"properties": {"a": {"type": ["string", "null"]}}}, "t('x')", {"a": "x"}),
    ("of no type", {"properties": {"a": {"type": []}}}, "t('x')", {"a": "x"}),
    ("of types that nobody knows", {"properties": {"a": {"type": {"b": 1}}, "c": {"type": [[]]}}}, "t('x')", {"a": "x"}),
    ("one of some lists", {"properties": {"a": {"enum": [[1], {"b": 2}]}}}, "t([1])", {"a": [1]}),
    ("a list of anything", {"properties": {"a": {"type": "array", "items": True}}}, "t([1])", {"a": [1]}),
    ("with a default, which is the tool's to know", {"properties": {"a": {"default": 5}}}, "t()", {}),
    ("with no words", {"properties": {"a": {"description": 7}}}, "t.__doc__ and t('x')", {"a": "x"}),
    ("anything", {"properties": {"a": True}}, "t('x')", {"a": "x"}),
]  # fmt: skip


@pytest.mark.parametrize("row", [r[1:] for r in SCHEMAS], ids=[r[0] for r in SCHEMAS])
def test_parameters(session, row):
    parameters, code, given = row
    tool = {"name": "t"} if parameters is None else {"name": "t", "parameters": parameters}
    got = []
    run(session, code, lambda name, arguments: got.append(arguments), json.dumps([tool]))
    assert got == [given]


def test_an_answer_that_is_nested_too_deeply(session):
    ref, _ = session.start("try: search('a')\nexcept ToolError as e: print(e)", tools=TOOLS)
    frame = asked(session, ref)[0]
    session.connection.send(
        type="answer",
        session=session.name,
        call=frame["call"],
        number=frame["number"],
        data=b"[" * 100_000 + b"]" * 100_000,
    )
    done = session.finish(ref)
    assert (done.status, done.stdout[:28]) == ("ok", "search(): its answer cannot "), done


def test_an_answer_to_nothing_is_ignored(session):
    ref, _ = session.start("add_up([1])", tools=TOOLS)
    frame = asked(session, ref)[0]
    for number in (0, 2, 1 << 63, (1 << 64) - 1):
        session.reply({**frame, "number": number}, "wrong")
    session.reply({**frame, "call": "another"}, "wrong")
    session.reply(frame, "right")
    session.reply(frame, "again")
    assert session.finish(ref).result == "'right'"


def test_an_error_is_a_tool_error(session):
    ref, _ = session.start("try: search('a')\nexcept ToolError as e: print(e)", tools=TOOLS)
    session.reply(asked(session, ref)[0], error="the index is closed")
    assert session.finish(ref).stdout == "search(): the index is closed\n"


def test_a_users_own_name_stays(session):
    session.run("def search(x): return 'mine'")
    done = run(session, "search('a'), tools.search('b')['found']['query']")
    assert done.result == "('mine', 'b')"


def test_functions_come_and_go_with_their_cell(session):
    assert run(session, "search('a')['found']").result == "{'query': 'a'}"
    done = session.run("'search' in globals(), 'tools' in globals()")
    assert done.result == "(False, False)"
    done = run(session, "add_up([1]), 'search' in globals()", tools=json.dumps([PLUS]))
    assert done.result == "(1, False)"


def test_functions_survive_a_rollback(session):
    run(session, "kept = add_up([40, 1])")
    done = run(session, "import os\nos._exit(1)")
    assert done.state == "rolled_back"
    assert run(session, "add_up([kept, 1])").result == "42"


def test_many_threads_at_once(session):
    """No answer comes before all have asked; the answers come in disorder."""
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(12) as pool:\n"
        "    got = list(pool.map(add_up, [[i, 100] for i in range(12)]))\n"
        "got"
    )
    ref, _ = session.start(code, tools=TOOLS)
    for frame in reversed(asked(session, ref, 12)):
        session.reply(frame, answer(frame["name"], json.loads(frame["data"])))
    assert session.finish(ref).result == str([i + 100 for i in range(12)])


def test_more_threads_than_may_ask_wait_their_turn(session):
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(40) as pool:\n"
        "    got = sum(pool.map(add_up, [[i] for i in range(40)]))\n"
        "got"
    )
    assert run(session, code).result == str(sum(range(40)))


def test_the_clock_stands_while_a_call_is_open(session):
    ref, _ = session.start("add_up([1])", tools=TOOLS, cell_ms=1500)
    frame = asked(session, ref)[0]
    time.sleep(2)
    session.reply(frame, 1)
    assert session.finish(ref).status == "ok"


def test_the_clock_goes_on_afterwards(session):
    ref, _ = session.start("add_up([1])\nwhile True: pass", tools=TOOLS, cell_ms=1500)
    frame = asked(session, ref)[0]
    time.sleep(2)
    session.reply(frame, 1)
    done = session.finish(ref)
    # A machine that is busy may not let the interrupt come in time: then it is killed.
    assert done.status == "timeout" and done.state in ("kept", "rolled_back"), done


def test_a_call_that_nobody_answers_ends_with_the_cell(session):
    ref, _ = session.start("add_up([1])", tools=TOOLS, cell_ms=300)
    begun = time.monotonic()
    frame = asked(session, ref)[0]
    done = session.finish(ref)
    assert (done.status, done.state) == ("timeout", "kept"), done
    assert time.monotonic() - begun > 4, "it had its --tool-time"
    session.reply(frame, "late")
    assert run(session, "add_up([2])").result == "2", "not the late answer"


def test_an_interrupt_ends_the_waiting(session):
    ref, _ = session.start("add_up([1])", tools=TOOLS)
    asked(session, ref)
    session.interrupt()
    done = session.finish(ref)
    assert (done.status, done.state) == ("interrupted", "kept")


def test_an_interrupt_ends_the_waiting_beside_another_reader(session):
    """A thread reads for all; the main thread waits for it."""
    code = (
        "import threading\n"
        "thread = threading.Thread(target=add_up, args=([1],), daemon=True)\n"
        "thread.start()\n"
        "add_up([2])"
    )
    ref, _ = session.start(code, tools=TOOLS)
    asked(session, ref, 2)
    session.interrupt()
    done = session.finish(ref)
    assert (done.status, done.state) == ("interrupted", "kept")
    assert session.run("thread.join(5)\nthread.is_alive()").result == "False"


def test_a_thread_left_waiting_hears_that_its_cell_has_ended(session):
    code = (
        "import threading\nheard = []\n"
        "def ask():\n"
        "    try: add_up([1])\n"
        "    except ToolError as error: heard.append(str(error))\n"
        "thread = threading.Thread(target=ask)\nthread.start()\n"
        "add_up([2])"
    )
    ref, _ = session.start(code, tools=TOOLS)
    for frame in asked(session, ref, 2):
        if json.loads(frame["data"]) == {"numbers": [2]}:
            session.reply(frame, 2)
    assert session.finish(ref).result == "2"
    done = session.run("thread.join(5)\nheard")
    assert done.result == "['add_up(): the cell that asked has ended']"


def test_who_listens_next_is_asked_again(executor, session):
    ref, call = session.start("print('begun')\nadd_up([5, 6])", tools=TOOLS)
    frame = session.connection.answer(ref)
    assert frame["type"] == "output"
    first = asked(session, ref)[0]
    other = executor.connect()
    again = other.open(session.name)
    ref, _ = again.start("never", call=call)
    assert other.answer(ref)["type"] == "output"
    second = asked(again, ref)[0]
    assert {**first, "ref": 0} == {**second, "ref": 0}
    again.reply(second, 11)
    assert again.finish(ref).result == "11"
    other.close()


def test_a_call_that_was_answered_is_not_asked_again(executor, session):
    ref, call = session.start("add_up([1])\nadd_up([2])", tools=TOOLS)
    session.reply(asked(session, ref)[0], 1)
    asked(session, ref)
    other = executor.connect()
    again = other.open(session.name)
    ref, _ = again.start("never", call=call)
    assert json.loads(asked(again, ref)[0]["data"]) == {"numbers": [2]}
    again.reply({"call": call, "number": 2}, 2)
    assert again.finish(ref).result == "2"
    other.close()


def test_a_call_waits_for_a_listener(executor):
    first = executor.connect()
    session = first.open("waiting")
    ref, call = session.start("import time\ntime.sleep(0.3)\nadd_up([3])", tools=TOOLS)
    first.close()
    time.sleep(0.8)
    second = executor.connect()
    session = second.open("waiting")
    assert run(session, "never", call=call).result == "3"
    session.close()
    second.close()


def test_only_so_many_calls(session):
    code = (
        "count = 0\n"
        "try:\n"
        "    while True:\n"
        "        add_up([count])\n"
        "        count += 1\n"
        "except ToolError as error:\n"
        "    print(error)\n"
        "count"
    )
    done = run(session, code, cell_ms=60000)
    assert done.result == "256"
    assert done.stdout == "add_up(): more than 256 calls in one cell\n"


HASTY = """
import _quern, threading
def ask(numbers):
    return _quern.ask('tool', 'add-up', ('{"numbers":[%d]}' % numbers).encode())
"""


def test_too_fast_is_refused(session):
    """Code that goes round the pace that the functions keep."""
    code = HASTY + "codes = [ask(i)[0] for i in range(100)]\ncodes.count('too_fast')"
    done = run(session, code)
    assert 20 <= int(done.result) <= 36
    done = run(session, HASTY + "ask(1)")
    assert done.result == "(None, None, b'1')", "the next cell may ask again"


def test_too_many_at_once_are_refused(session):
    code = HASTY + (
        "got = []\n"
        "def one(i): got.append(ask(i)[0])\n"
        "threads = [threading.Thread(target=one, args=(i,)) for i in range(20)]\n"
        "for t in threads: t.start()\n"
        "while len(got) < 4: threading.Event().wait(0.01)\n"
        "print('refused', flush=True)\n"
        "for t in threads: t.join()\n"
        "sorted(filter(None, got))"
    )
    ref, _ = session.start(code, tools=TOOLS)
    frames = asked(session, ref, 16)
    assert session.connection.answer(ref)["data"] == b"refused\n"
    for frame in frames:
        session.reply(frame, 1)
    assert session.finish(ref).result == str(["too_many_open"] * 4)


def test_without_tools_nothing_can_be_asked(session):
    done = session.run(HASTY + "ask(1)[:2]")
    assert done.result == "('unknown_tool', 'no tools were offered to this cell')"


def test_an_answer_of_a_mebibyte(session):
    text = "x" * ((1 << 20) - 2)
    done = run(session, "len(search('a'))", on_tool=lambda name, arguments: text)
    assert done.result == str(len(text))
