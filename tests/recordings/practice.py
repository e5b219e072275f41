"""What the practice model says in the other dialects, as recordings.

They are in the sample, with what the vendors' clients make of them: so both
ends of our scenarios cannot be wrong in the same way.
"""

import http.client
import json

from practice_model import PracticeModel

SOURCE = "quern-practice-model"
REPLY = {
    "reasoning": "two sums, and no more",
    "text": "I do both of them.",
    "tool_calls": [
        {"id": "a", "name": "f", "arguments": '{"x": [1, 2.5, "é"]}'},
        {"id": "b", "name": "g", "arguments": "{}"},
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 60},
    },
}
REPLIES = {
    "calls": REPLY,
    "text": {"text": "hello, and good bye"},
    "hidden": {"redacted": "secret", "text": "hello"},
    "refused": {"status": 429, "error": "slow down"},
}
QUESTION = [{"role": "user", "content": "hi"}]
REQUESTS = {
    "anthropic": ("/v1/messages", {"max_tokens": 99, "messages": QUESTION}),
    "responses": (
        "/v1/responses",
        {"input": QUESTION, "include": ["reasoning.encrypted_content"]},
    ),
}


def ask(model, path, body):
    connection = http.client.HTTPConnection(model.url.split("/")[2], timeout=30)
    connection.request("POST", path, json.dumps(body))
    response = connection.getresponse()
    told = response.read().decode()
    connection.close()
    return response.status, response.headers["Content-Type"], told


def record(model, dialect, name, stream):
    path, request = REQUESTS[dialect]
    model.script([REPLIES[name]])
    status, kind, body = ask(model, path, {**request, "model": "m", "stream": stream})
    return {
        "dialect": dialect,
        "source": SOURCE,
        "licence": "",
        "path": f"{dialect}/{name}/{'stream' if stream else 'plain'}",
        "n": 0,
        "url": path,
        "status": status,
        "headers": {"content-type": kind},
        "body": body,
    }


def recordings():
    with PracticeModel() as model:
        return [
            record(model, dialect, name, stream)
            for dialect in REQUESTS
            for name in REPLIES
            for stream in (True, False)
        ]
