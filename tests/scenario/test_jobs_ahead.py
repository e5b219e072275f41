"""The session is made ready while a reply still comes, and nothing is run."""

import json
import time

import pytest
from executor_client import Connection
from held_redis import HeldRedis
from servers import PATIENCE_S, wait_until
from stack import TERMINAL, Stack, call_of

def run(stack, *texts, **job):
    stack.model.script([{"text": text} for text in texts])
    return stack.run(prompt="go", mode="codeact", **job)


def sessions(stack):
    connection = Connection(stack.socket)
    try:
        listed = connection.ask(type="sessions").get("sessions", [])
        return {session["name"]: session for session in listed}
    finally:
        connection.close()


def types(stack, id):
    return [event["type"] for event in stack.events(id)]


def test_the_session_is_there_before_the_reply(stack):
    slow = "```python\nprint('ran')\n```\n" + "I wait for what comes of it. " * 20
    stack.model.script(
        [{"text": slow, "chunk_ms": 150}, {"text": "FINAL ANSWER: well"}]
    )
    id = stack.submit(prompt="go", mode="codeact")
    wait_until(lambda: f"job-{id}" in sessions(stack))
    assert sessions(stack)[f"job-{id}"].get("cells", 0) == 0, "nothing was run"
    assert "message.completed" not in types(stack, id), "the reply still comes"
    assert "tool.started" not in types(stack, id)
    result = stack.result(id)
    assert result["cells"][0]["stdout"] == "ran\n"


SLOW = {"chunk": 400, "chunk_ms": 60}  # a second
SLOWER = {"chunk": 400, "chunk_ms": 200}
DIALECTS = ["chat", "anthropic", "responses"]


@pytest.fixture(scope="module")
def dialects(stack, tmp_path_factory):
    """A consumer for jobs of their queue, with an endpoint of each."""
    path = tmp_path_factory.mktemp("models") / "models.json"
    model = {"url": stack.model.url, "model": "m"}
    path.write_text(json.dumps({d: {**model, "dialect": d} for d in DIALECTS}))
    stack.consumer(models=path, queues="dialects")


def calls(stack, *before, name="execute_python_code", slow=SLOW):
    """A call whose arguments take a while to come, and an answer."""
    call = call_of("print('ran')" + "  # and so on" * 50, name=name)
    replies = [*before, {"tool_calls": [call], **slow}, {"text": "well"}]
    stack.model.script([{"match": "", "in_order": True, "replies": replies}])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_session_is_there_before_the_arguments(stack, dialects, dialect):
    calls(stack, slow=SLOWER)
    id = stack.submit(prompt="go", queue="dialects", model=dialect)
    wait_until(lambda: f"job-{id}" in sessions(stack))
    assert sessions(stack)[f"job-{id}"].get("cells", 0) == 0, "nothing was run"
    assert types(stack, id)[-1] == "turn.started", "the reply still comes"
    result = stack.result(id)
    assert result["status"] == "completed", result
    assert result["cells"][0]["stdout"] == "ran\n"


def watch(stack, id):
    """Whether it ever has a session."""
    while stack.state(id) not in TERMINAL:
        if f"job-{id}" in sessions(stack):
            return True
        time.sleep(0.05)
    return False


def test_a_person_is_asked_first(stack):
    calls(stack)
    approve = {"approve": ["execute_python_code"], "approval_ms": 100}
    id = stack.submit(prompt="go", **approve)
    assert not watch(stack, id)
    assert stack.result(id)["error"]["code"] == "not_approved"


def test_who_is_asked_for_an_answer_runs_nothing(stack):
    calls(stack, {"tool_calls": [call_of("", name="nobody")]})
    id = stack.submit(prompt="go", limits={"max_turns": 1})
    assert not watch(stack, id)
    assert stack.result(id)["error"]["code"] == "turn_limit"


def test_another_tool_needs_no_session(stack):
    calls(stack, name="nobody")
    id = stack.submit(prompt="go")
    assert not watch(stack, id)
    assert stack.result(id)["status"] == "completed"


def test_a_reply_that_is_given_up_leaves_nothing(stack):
    code = "```python\nopen('/workspace/ran', 'w')\n```\n"
    cut = {"text": code + "I wait. " * 50, "cut": 900}
    again = {"text": "```python\nimport os\nos.path.exists('/workspace/ran')\n```"}
    stack.model.script([[cut, again], {"text": "FINAL ANSWER: well"}])
    result = stack.run(prompt="go", mode="codeact")
    [cell] = result["cells"]
    assert cell["result"] == "False" and result["status"] == "completed"


def test_a_job_without_code_has_no_session(stack):
    stack.model.script([{"text": "Nothing to compute.\n" * 3}])
    id = stack.submit(prompt="go", mode="codeact")
    stack.result(id)
    assert f"job-{id}" not in sessions(stack)


def test_one_that_was_for_nothing_is_ended(stack):
    text = "As in:\n```python\nprint(1\n```\nwell.\nFINAL ANSWER: well"
    stack.model.script([{"text": text}, {"text": "FINAL ANSWER: well"}])
    id = stack.submit(prompt="go", mode="codeact")
    stack.result(id)
    wait_until(lambda: f"job-{id}" not in sessions(stack))


def test_variables_of_a_named_session_are_there(stack):
    first = run(stack, "```python\nn = 41\n```\n", "FINAL ANSWER: a", session="s")
    assert first["status"] == "completed"
    text = "```python\nn + 1\n```\nI wait.\n"
    result = run(stack, text, "FINAL ANSWER: b", session="s")
    assert result["cells"][0]["result"] == "42"


@pytest.mark.parametrize("talked", [False, True])
def test_a_reply_that_ends_while_the_session_is_written_down(talked):
    """That the executor has it is on its way, and may have been written or not:
    the cell finds out, and is told of no loss."""
    with Stack() as stack, HeldRedis(stack.redis.socket) as way:
        stack.consumer(redis_url=way.url)
        if talked:
            stack.model.script([{"text": "hello"}])
            assert stack.run(prompt="hello", session="s")["status"] == "completed"
        way.hold(b"quern_v1_session_save")
        text = "```python\nn = 41\n```\n" + "And on it goes. " * 50
        replies = [{"text": text, "chunk_ms": 20}, {"text": "FINAL ANSWER: a"}]
        stack.model.script([{"match": "", "in_order": True, "replies": replies}])
        job = stack.submit(prompt="go", mode="codeact", session="s")
        assert way.held.wait(PATIENCE_S), "while the reply still comes"
        time.sleep(2)
        way.let_go()
        result = stack.result(job)
        assert result["status"] == "completed", result
        assert result["cells"][0]["state"] == "kept"
