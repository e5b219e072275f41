"""Conversations that are longer than the window of a model whose operator wants
what they leave out summarised: by one call of the model, before the request that
would leave it out ("history": "summarise")."""

import json

import msgpack
import pytest
from command import Command
from servers import wait_until
from stack import ROOT, Stack, call_of

WINDOW = 8000
LONG = "print('x' * 4000)"
SUMMARY = "The user wants a task done. Cells 0 to 2 have printed many x."
SUMMARISED = {"text": SUMMARY}
DONE = {"text": "done"}
LEFT_OUT = "earlier messages are left out here"


@pytest.fixture
def stack():
    with Stack() as stack:
        yield stack


@pytest.fixture
def quern(stack, tmp_path):
    return Command(stack.redis.url, tmp_path)


def endpoint(stack, tmp_path, **more):
    path = tmp_path / "models.json"
    entry = {"url": stack.model.url, "model": "m", "window": WINDOW, **more}
    path.write_text(json.dumps({"default": {"history": "summarise", **entry}}))
    return {"models": path}


def acts(count, start=0):
    return [
        {"tool_calls": [call_of(f"{LONG}; {n}", f"c{n}")]}
        for n in range(start, start + count)
    ]


def script(stack, *replies, summaries=(SUMMARISED,)):
    """One a request: what is left out must not count."""
    stack.model.script(
        [
            {"match": "[task]", "in_order": True, "replies": summaries},
            {"match": "", "in_order": True, "replies": replies},
        ]
    )
    stack.model.call("DELETE", "/counts")


def requests(stack):
    return [stack.model.request(n) for n in range(stack.model.counts()["total"])]


def asks_for_summary(request):
    return "Write a summary that takes its place" in json.dumps(request["messages"][0])


def notes(request):
    return [
        m["content"] for m in request["messages"] if LEFT_OUT in str(m.get("content"))
    ]


def pairs(messages):
    """Ids of calls, and of results."""
    calls = [c["id"] for m in messages for c in m.get("tool_calls", [])]
    return calls, [m["tool_call_id"] for m in messages if m["role"] == "tool"]


def journal(stack, job):
    return [msgpack.unpackb(r) for r in stack.db.lrange(f"{ROOT}journal:{job}", 0, -1)]


def purposes(stack, job):
    """Of the records of summaries: their kind, and what is wrong."""
    return [
        (record["kind"], record.get("last", ""))
        for record in journal(stack, job)
        if record.get("purpose") == "summary"
    ]


def is_replayed(quern, job):
    [outcome] = quern.json("replay", job)
    assert outcome["equal"], outcome


def events(stack, job, type):
    return [e["data"] for e in stack.events(job) if e["type"] == type]


def test_a_summary_takes_the_place_of_what_is_left_out(stack, quern, tmp_path):
    script(stack, *acts(8), DONE)
    stack.consumer(**endpoint(stack, tmp_path))
    job = stack.submit(prompt="the task")
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "done"
    all = requests(stack)
    at = [n for n, request in enumerate(all) if asks_for_summary(request)]
    assert len(at) == 1, "once, when it was to be left out"
    before, asked, turn, after = all[at[0] - 1 : at[0] + 3]

    said = asked["messages"][1]["content"]
    assert [m["role"] for m in asked["messages"]] == ["system", "user"]
    assert "tools" not in asked and "[task]\nthe task" in said
    assert f"{LONG}; 0" in said and f"{LONG}; {at[0] - 1}" not in said

    for request in (turn, after):
        [note] = notes(request)
        assert SUMMARY in note and request["messages"][1]["content"] == "the task"
        calls, results = pairs(request["messages"])
        assert calls == results and "c0" not in calls
    assert len(turn["messages"]) < len(before["messages"])

    assert len(result["cells"]) == 8 and result["usage"]["model_calls"] == 10
    assert "a summary in the place of earlier messages" in result["notes"]
    assert SUMMARY not in json.dumps(result["messages"]), "those are as they were"
    types = stack.types(job)
    assert types.count("turn.started") == types.count("message.completed") == 9
    assert types.index("history.summarised") == types.index("history.summarising") + 1
    [told] = events(stack, job, "history.summarised")
    assert told.pop("usage")["output_tokens"] > 0
    assert told == {"turn": at[0] + 1, "text": SUMMARY}
    heard = "".join(e.get("text", "") for e in events(stack, job, "message.delta"))
    assert SUMMARY not in heard
    is_replayed(quern, job)


# ------------------------------------------------------------- one call each


def chat(turns=40, words=300):
    """Said before, in the job itself: longer than the window from the start."""
    said = [
        {"role": role, "content": f"{role} {n}: " + f"w{n} " * words}
        for n in range(turns)
        for role in ("user", "assistant")
    ]
    return [*said, {"role": "user", "content": "and now?"}]


@pytest.fixture
def talks():
    """Without an executor: nothing is run."""
    with Stack(executor=False) as stack:
        stack.settings.update(backoff="20ms", max_attempts=3)
        yield stack


@pytest.fixture
def asks(talks, tmp_path):
    return Command(talks.redis.url, tmp_path)


def summary_requests(stack):
    return [request for request in requests(stack) if asks_for_summary(request)]


def test_as_much_as_fits_is_summarised(talks, asks, tmp_path):
    """What is many times longer than the window: its newest, and what is missing
    is said."""
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(messages=chat())
    assert talks.result(job)["answer"] == "done"
    [asked, turn] = requests(talks)
    said = asked["messages"][1]["content"]
    assert asks_for_summary(asked) and "messages are missing here]" in said
    assert WINDOW < len(said) < WINDOW * 4 / 2, "half of it, in bytes"
    assert "w1 " not in said and said.count("[assistant]") > 3
    [note] = notes(turn)
    assert SUMMARY in note and turn["messages"][-1]["content"] == "and now?"
    is_replayed(asks, job)


def test_the_default_leaves_out_and_asks_nobody(talks, asks, tmp_path):
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path, history="drop"))
    job = talks.submit(messages=chat())
    result = talks.result(job)
    [turn] = requests(talks)
    assert notes(turn) == [f"[{notes(turn)[0].split()[0][1:]} {LEFT_OUT}: the "
                           "conversation is too long for them.]"]
    assert "notes" not in result and purposes(talks, job) == []
    is_replayed(asks, job)


REFUSED = {"status": 400, "error": "I do not write summaries."}
BAD = {
    "empty": [{"text": ""}],
    "blank": [{"text": " \n "}],
    "a call": [{"text": "I run it.", "tool_calls": [call_of("1")]}],
    "a call in its text": [
        {
            "text": '<tool_call>{"name": "execute_python_code", '
            '"arguments": {"code": "1"}}</tool_call>'
        }
    ],
    "filtered": [{"text": "I am", "finish_reason": "content_filter"}],
    "refused": [REFUSED],
    "too long": [{"status": 400, "error": "prompt is too long: 9 > 8"}],
    "away": [{"status": 503}] * 3,
    "cut off": [{"text": SUMMARY, "cut": 300}] * 3,
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_summary_is_none(stack, quern, tmp_path, name):
    """Then the messages are left out as where nobody asks, once."""
    script(stack, *acts(8), DONE, summaries=BAD[name])
    stack.consumer(**endpoint(stack, tmp_path), max_attempts=3)
    job = stack.submit(prompt="the task")
    result = stack.result(job)
    assert result["status"] == "completed" and result["answer"] == "done", result
    assert len(summary_requests(stack)) == len(BAD[name]), "not with each turn"
    [note] = notes(requests(stack)[-1])
    assert "summary" not in note and LEFT_OUT in note
    types = stack.types(job)
    assert types.count("history.dropped") == 1 and "history.summarised" not in types
    assert "no summary came" in result["notes"]
    assert len(result["cells"]) == 8
    stack.check_events(job)
    is_replayed(quern, job)


def test_a_summary_is_bounded(talks, asks, tmp_path):
    script(talks, DONE, summaries=[{"text": "y" * 100_000}])
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(messages=chat())
    talks.result(job)
    [note] = notes(requests(talks)[1])
    assert 1000 < len(note) < 8192 and "bytes left out" in note
    is_replayed(asks, job)


def test_where_there_is_no_room_for_one_nobody_is_asked(talks, tmp_path):
    """The task alone fills the window: another would have to be made each turn."""
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    messages = [{"role": "user", "content": "z" * 4 * 5600}, *chat(6)[1:]]
    job = talks.submit(messages=messages)
    talks.result(job)
    [turn] = requests(talks)
    assert notes(turn) and purposes(talks, job) == []


def test_after_a_refusal_that_it_was_too_long(talks, asks, tmp_path):
    """Of a window that nobody knows."""
    refusal = {"status": 400, "error": "prompt is too long: 9 > 8"}
    script(talks, refusal, DONE)
    talks.consumer(**endpoint(talks, tmp_path, window=100_000))
    job = talks.submit(messages=chat())
    assert talks.result(job)["answer"] == "done"
    sent, asked, turn = requests(talks)
    assert asks_for_summary(asked) and SUMMARY in notes(turn)[0]
    assert len(json.dumps(turn)) < len(json.dumps(sent)) / 2 + 2000
    is_replayed(asks, job)


def test_the_next_one_carries_the_last_one_over(stack, quern, tmp_path):
    script(
        stack,
        *acts(16),
        DONE,
        summaries=[{"text": f"summary {n}"} for n in range(9)],
    )
    stack.consumer(**endpoint(stack, tmp_path), max_turns=20)
    job = stack.submit(prompt="the task")
    assert stack.result(job)["status"] == "completed"
    first, second, *_ = summary_requests(stack)
    assert "[earlier summary]\nsummary 0" in second["messages"][1]["content"]
    assert "[earlier summary]" not in first["messages"][1]["content"]
    [note] = notes(requests(stack)[-1])
    assert "summary 0" not in note and "summary" in note
    is_replayed(quern, job)


def test_chinese_is_summarised_in_chinese(talks, tmp_path):
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    said = [
        {"role": role, "content": "六乘七是多少？" * 100}
        for _ in range(10)
        for role in ("user", "assistant")
    ]
    talks.run(messages=[*said, {"role": "user", "content": "那么？"}])
    instructions = requests(talks)[0]["messages"][0]["content"]
    assert "请写一份摘要" in instructions


# -------------------------------------------------------------------- limits


def test_a_tenants_budget_pays(talks, tmp_path):
    talks.call("queue_set", "default", "tenant_tokens:acme", 1_000_000)
    counted = {"usage": {"prompt_tokens": 900, "completion_tokens": 100}}
    script(talks, {**DONE, **counted}, summaries=[{**SUMMARISED, **counted}])
    talks.consumer(**endpoint(talks, tmp_path))
    result = talks.run(messages=chat(), tenant="acme")
    assert result["usage"]["input_tokens"] == 1800 and result["answer"] == "done"
    spent = talks.db.hmget(f"{ROOT}spent:default/acme", "tokens", "held_tokens")
    assert [int(n or 0) for n in spent] == [2000, 0]


def test_beyond_a_tenants_budget_there_is_none(talks, asks, tmp_path):
    """One that no period will ever pay for; the turn is shorter."""
    talks.call("queue_set", "default", "tenant_tokens:acme", 2500)
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(
        messages=[
            {"role": "user", "content": "go"},
            *chat(3, words=5200)[1:-1],
            {"role": "user", "content": "well?"},
            {"role": "assistant", "content": "Well."},
            {"role": "user", "content": "and now?"},
        ],
        tenant="acme",
        limits={"max_tokens": 600},
    )
    result = talks.result(job)
    assert result.get("answer") == "done", result["error"]
    assert summary_requests(talks) == []
    assert purposes(talks, job) == [("model_intent", "tenant_budget")]
    [told] = events(talks, job, "history.dropped")
    assert told["error"]["code"] == "tenant_budget"
    is_replayed(asks, job)


def test_near_a_limit_of_the_job_there_is_none(talks, asks, tmp_path):
    """What is left is for the answer."""
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(messages=chat(), limits={"max_total_tokens": 9000})
    assert talks.result(job)["answer"] == "done"
    assert summary_requests(talks) == [] and purposes(talks, job) == []
    is_replayed(asks, job)


def test_it_is_no_turn(talks, tmp_path):
    script(talks, DONE)
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(messages=chat(), limits={"max_turns": 1})
    result = talks.result(job)
    assert result["status"] == "completed" and len(summary_requests(talks)) == 1


# ----------------------------------------------------------- stopped, resumed


def test_a_cancel_meanwhile_has_no_answer(talks, tmp_path):
    slow = {**SUMMARISED, "chunk_ms": 400, "chunk": 8}
    script(talks, DONE, summaries=[slow])
    talks.consumer(**endpoint(talks, tmp_path))
    job = talks.submit(messages=chat())
    talks.wait_event(job, "history.summarising")
    wait_until(lambda: talks.model.counts()["total"] == 1, what="it is asked")
    talks.call("cancel", job, "enough")
    result = talks.result(job)
    assert result["status"] == "cancelled" and result.get("answer", "") == ""
    assert result["usage"]["uncounted_tokens"] > 0, "it may be charged for"


def test_a_kill_in_the_middle_of_one(talks, asks, tmp_path):
    """It is asked for again, and counted."""
    slow = {**SUMMARISED, "chunk_ms": 400, "chunk": 8}
    script(talks, DONE, summaries=[slow, SUMMARISED])
    settings = endpoint(talks, tmp_path)
    talks.consumer(**settings)
    job = talks.submit(messages=chat())
    wait_until(lambda: talks.model.counts()["total"] == 1, what="it is asked")
    talks.consumers[-1].kill()
    talks.consumer(**settings)
    result = talks.result(job)
    assert result["answer"] == "done" and result["usage"]["repeated_calls"] == 1
    assert len(summary_requests(talks)) == 2
    is_replayed(asks, job)


def test_one_that_is_kept_is_fetched(talks, asks, tmp_path):
    """And not paid for twice."""
    slow = {**SUMMARISED, "chunk_ms": 600, "kept": {"after_ms": 1500}}
    script(talks, DONE, summaries=[slow])
    settings = endpoint(
        talks,
        tmp_path,
        dialect="responses",
        parameters={"store": True, "background": True},
    )
    talks.consumer(**settings)
    job = talks.submit(messages=chat())
    kinds = lambda: [record["kind"] for record in journal(talks, job)]
    wait_until(lambda: "model_sent" in kinds(), what="its id is known")
    talks.consumers[-1].kill()
    talks.consumer(**settings)
    result = talks.result(job)
    assert result["answer"] == "done" and "repeated_calls" not in result["usage"]
    counts = talks.model.counts()
    assert (counts["made"], counts["fetched"] > 0) == (2, True)
    heard = "".join(e.get("text", "") for e in events(talks, job, "message.delta"))
    assert SUMMARY not in heard
    assert "history.summarised" in talks.types(job)
    is_replayed(asks, job)


@pytest.mark.parametrize("summaries", [[SUMMARISED], [REFUSED]], ids=["made", "failed"])
def test_another_goes_on_from_every_record(talks, asks, tmp_path, summaries):
    """As from the journal of a consumer that has died there."""
    settings = endpoint(talks, tmp_path)
    script(talks, DONE, summaries=summaries)
    consumer = talks.consumer(**settings)
    whole = talks.submit(messages=chat())
    before = talks.result(whole)
    records = talks.db.lrange(f"{ROOT}journal:{whole}", 0, -1)
    assert len(records) == (4 if summaries == [SUMMARISED] else 5)
    assert talks.dismiss(consumer) == 0
    for count in range(1, len(records) + 1):
        done = [msgpack.unpackb(record) for record in records[:count]]
        ended = "model_reply" if summaries == [SUMMARISED] else "model_intent"
        over = any(
            r.get("purpose") == "summary"
            and r["kind"] == ended
            and ("last" in r or ended == "model_reply")
            for r in done
        )
        job = talks.submit(messages=chat())
        talks.db.rpush(f"{ROOT}journal:{job}", *records[:count])
        talks.db.hset(f"{ROOT}job:{job}", "journal", 1)
        script(talks, DONE, summaries=summaries)
        consumer = talks.consumer(**settings)
        after = talks.result(job)
        assert talks.dismiss(consumer) == 0
        assert after["answer"] == before["answer"] == "done", count
        assert after["notes"] == before["notes"], count
        assert len(summary_requests(talks)) == (not over), count
        is_replayed(asks, job)
