"""How a job wants its model to write: temperature and the like, in the words of
each dialect, within what the operator allows."""

import json

import pytest
from command import Command
from stack import Stack

WISHES = {
    "temperature": 1.5,
    "top_p": 0.5,
    "top_k": 7,
    "seed": 42,
    "stop": "END",
    "reasoning_effort": "low",
    "verbosity": "high",
    "presence_penalty": -1,
}
SENT = {
    "chat": WISHES,
    "anthropic": {
        "temperature": 1,
        "top_p": 0.5,
        "top_k": 7,
        "stop_sequences": ["END"],
        "output_config": {"effort": "low"},
    },
    "responses": {
        "temperature": 1.5,
        "top_p": 0.5,
        "reasoning": {"summary": "auto", "effort": "low"},
        "text": {"verbosity": "high"},
    },
}
OWN = {"responses": {"reasoning": {"summary": "auto"}}}
ALLOWED = {
    "temperature": [0, 1],
    "reasoning_effort": ["low", "medium"],
    "seed": "drop",
    "top_p": True,
    "*": False,
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory):
    with Stack(executor=False) as stack:
        table = {
            d: {"url": stack.model.url, "model": d, "dialect": d, "parameters": OWN.get(d, {})}
            for d in SENT
        }
        table["strict"] = {
            "url": stack.model.url,
            "model": "m",
            "parameters": {"temperature": 0.7, "top_p": 0.9},
            "job_parameters": ALLOWED,
        }
        table["falls"] = {**table["chat"], "url": "http://127.0.0.1:1/v1", "fallback": "strict"}
        table["old"] = {**table["chat"], "model": "old"}
        path = tmp_path_factory.mktemp("models") / "models.json"
        path.write_text(json.dumps(table))
        stack.consumer(models=path)
        yield stack


def asked(stack, reply=None, **job):
    stack.model.script([{"match": "", "in_order": True, "replies": [reply or {"text": "x"}] * 5}])
    result = stack.run(prompt="go", **job)
    return result, stack.model.request()


@pytest.mark.parametrize("dialect", SENT)
def test_each_dialect_has_its_own_words(stack, dialect):
    result, request = asked(stack, model=dialect, parameters=WISHES)
    assert result["status"] == "completed", result
    names = {*WISHES, *SENT[dialect], "stop_sequences", "output_config"}
    assert {k: v for k, v in request.items() if k in names} == SENT[dialect]


def test_the_operator_bounds_them(stack):
    _, request = asked(
        stack, model="strict", parameters={"temperature": 1.9, "seed": 1, "reasoning_effort": "low"}
    )
    assert (request["temperature"], request["top_p"]) == (1, 0.9)
    assert request["reasoning_effort"] == "low" and "seed" not in request


@pytest.mark.parametrize(
    "wish, said",
    [
        ({"top_k": 3}, "parameters.top_k: the operator does not allow it for model strict"),
        ({"reasoning_effort": "high"}, 'does not allow "high" for model strict'),
    ],
)
def test_the_operator_refuses_them(stack, wish, said):
    result, _ = asked(stack, model="strict", parameters=wish)
    assert result["error"]["code"] == "bad_field" and said in result["error"]["message"]
    retry = {"max_attempts": 1, "backoff_ms": 1}
    result, _ = asked(stack, model="falls", parameters=wish, retry=retry)
    assert result["error"]["code"] == "model_unavailable", "no fallback to who refuses"


@pytest.mark.parametrize(
    "wishes, said",
    [
        ({"tempreature": 1}, 'there is no "tempreature"; there are temperature, top_p'),
        ({"temperature": 2.5}, "parameters.temperature: is 2.5, must be from 0 to 2"),
        ({"temperature": "hot"}, "parameters.temperature must be a number from 0 to 2"),
        ({"seed": 1.5}, "parameters.seed must be an integer"),
        ({"stop": []}, "parameters.stop must be a text"),
        ({"stop": ["a"] * 17}, "parameters.stop must be a text"),
        ({"reasoning_effort": "very much"}, "parameters.reasoning_effort must be a word"),
        ([1], "parameters must be a map"),
    ],
)
def test_what_is_none_is_refused_by_name(stack, wishes, said):
    result, _ = asked(stack, parameters=wishes)
    assert result["error"]["code"] == "bad_field" and said in result["error"]["message"]


def test_an_endpoint_that_does_not_take_one_is_asked_without(stack):
    refuses = {"refuse": ["temperature", "seed"], "text": "x"}
    result, request = asked(stack, refuses, model="old", parameters={"temperature": 0, "seed": 1, "top_p": 1})
    assert result["status"] == "completed", result
    assert "temperature" not in request and "seed" not in request and request["top_p"] == 1


def test_a_replay_asks_the_same(stack, tmp_path):
    asked(stack, model="strict", parameters={"temperature": 1.9, "top_p": 0.1})
    result, _ = asked(stack, model="strict", parameters={"temperature": 1.9, "top_p": 0.1})
    out, err, code = Command(stack.redis.url, tmp_path).run("replay", result["id"])
    assert (code, err) == (0, ""), out


def test_the_command_says_them(stack, tmp_path):
    quern = Command(stack.redis.url, tmp_path)
    stack.model.script([{"match": "", "in_order": True, "replies": [{"text": "x"}]}])
    words = ["--set", "temperature=0.25", "--set", "reasoning_effort=low", "--set", 'stop=["a", "b"]']
    assert quern.run("run", "go", "--model", "chat", *words)[2] == 0
    request = stack.model.request()
    assert (request["temperature"], request["stop"]) == (0.25, ["a", "b"])
    assert request["reasoning_effort"] == "low"
    err = quern.run("run", "go", "--set", "heat=1")[1]
    assert 'there is no "heat"' in err
    assert "is not NAME=VALUE" in quern.run("run", "go", "--set", "heat")[1]
