"""One scenario with the official client for Python.

    OPENAI_BASE_URL=... OPENAI_API_KEY=... python python_client.py VERB GIVEN

GIVEN is a JSON object, `request` in it the members of responses.create(). Prints
what the client saw as one JSON object; README.md says what it has for each verb.
"""

import base64
import json
import sys
import time

import openai
from pydantic import BaseModel

PAUSE_S = 0.2


class Weather(BaseModel):
    city: str
    celsius: int


def plain(client, given):
    return {"response": of(client.responses.create(**given["request"]))}


def streamed(client, given):
    with client.responses.create(**given["request"], stream=True) as stream:
        return {"events": [of(event) for event in stream]}


def helper(client, given):
    with client.responses.stream(**given["request"]) as stream:
        types = [event.type for event in stream]
        return {"types": types, "final": attempt(stream.get_final_response)}


def background(client, given):
    response = client.responses.create(**given["request"], background=True)
    first = of(response)
    response = wait_for_end(client, response)
    return {"first": first, "response": of(response)}


def resumed(client, given):
    """The connection ends after some events; the rest comes over another."""
    events, request = [], given["request"]
    with client.responses.create(**request, background=True, stream=True) as stream:
        for event in stream:
            events.append(of(event))
            if len(events) == given["drop_after"]:
                break
    id, last = events[0]["response"]["id"], events[-1]["sequence_number"]
    ask = client.responses.retrieve
    rest = [of(event) for event in ask(id, stream=True, starting_after=last)]
    again = [of(event) for event in ask(id, stream=True)]
    with client.responses.stream(response_id=id, starting_after=last) as stream:
        numbers = [event.sequence_number for event in stream]
        final = attempt(stream.get_final_response)
    return {
        "events": events,
        "rest": rest,
        "again": again,
        "helper": {"numbers": numbers, "final": final},
    }


def cancelled(client, given):
    id = client.responses.create(**given["request"], background=True).id
    answers = [of(client.responses.cancel(id)) for _ in range(2)]
    response = wait_for_end(client, client.responses.retrieve(id))
    again = attempt(lambda: client.responses.cancel(id))
    return {"answers": answers, "response": of(response), "late": again}


def chain(client, given):
    """The second and the third both continue the first."""
    responses = []
    for request in given["requests"]:
        previous = responses[0].id if responses else None
        more = {"previous_response_id": previous} if previous else {}
        responses.append(client.responses.create(**request, **more))
    return {"responses": [of(response) for response in responses]}


def functions(client, given):
    response = client.responses.create(**given["request"])
    calls = [item for item in response.output if item.type == "function_call"]
    results = [
        {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": given["results"][json.loads(call.arguments)["city"]],
        }
        for call in calls
    ]
    request = {**given["request"], "input": results}
    after = client.responses.create(**request, previous_response_id=response.id)
    return {
        "first": of(response),
        "calls": [of(c) for c in calls],
        "response": of(after),
    }


def code(client, given):
    """Reads an uploaded file in a container; fetches what the code has made."""
    name, text = given["file"]
    file = client.files.create(file=(name, text.encode()), purpose="user_data")
    container = client.containers.create(name="figures", file_ids=[file.id])
    response = client.responses.create(
        **given["request"],
        tools=[{"type": "code_interpreter", "container": container.id}],
        include=["code_interpreter_call.outputs"],
    )
    files = client.containers.files
    content = client.files.content(file.id).read()
    made = [
        {
            **of(cited),
            "base64": encoded(
                files.content.retrieve(cited.file_id, container_id=cited.container_id)
            ),
        }
        for cited in citations(response)
    ]
    listed = [of(one) for one in files.list(container.id)]
    deleted = client.containers.delete(container.id)
    gone = attempt(lambda: client.containers.retrieve(container.id))
    return {
        "file": of(file),
        "content": content.decode(),
        "container": of(container),
        "response": of(response),
        "made": made,
        "listed": listed,
        "deleted": deleted and of(deleted),
        "gone": gone,
        "file_deleted": of(client.files.delete(file.id)),
    }


def files(client, given):
    """Uploads files, lists them in pages of two, and asks about the first one."""
    ends = {"anchor": "created_at", "seconds": 3600}
    made = [
        client.files.create(file=(name, text.encode()), purpose="vision", expires_after=ends)
        for name, text in given["files"]
    ]
    listed = client.files.list(limit=2, order="asc", purpose="vision")
    question = {"type": "input_text", "text": given["request"]["input"]}
    file = {"type": "input_file", "file_id": made[0].id}
    content = [question, file]
    response = client.responses.create(
        **{**given["request"], "input": [{"role": "user", "content": content}]},
        include=["code_interpreter_call.outputs"],
    )
    large = ("large", bytes(given["too_large"]))
    return {
        "made": [of(one) for one in made],
        "listed": [of(one) for one in listed],
        "contents": [client.files.content(one.id).read().decode() for one in made],
        "response": of(response),
        "large": attempt(lambda: client.files.create(file=large, purpose="vision")),
        "deleted": [of(client.files.delete(one.id)) for one in made],
        "gone": attempt(lambda: client.files.retrieve(made[0].id)),
    }


def parsed(client, given):
    response = client.responses.parse(**given["request"], text_format=Weather)
    return {"value": response.output_parsed.model_dump(), "response": of(response)}


def conversation(client, given):
    made = client.conversations.create(metadata={"topic": "greetings"})
    responses = [
        of(client.responses.create(**request, conversation=made.id))
        for request in given["requests"]
    ]
    items = [of(item) for item in client.conversations.items.list(made.id, order="asc")]
    last = items[-1]["id"]
    removed = client.conversations.items.delete(last, conversation_id=made.id)
    left = [of(item) for item in client.conversations.items.list(made.id, order="asc")]
    client.conversations.update(made.id, metadata={"topic": "farewells"})
    found = client.conversations.retrieve(made.id)
    deleted = client.conversations.delete(made.id)
    gone = attempt(lambda: client.conversations.retrieve(made.id))
    return {
        "made": of(made),
        "responses": responses,
        "items": items,
        "removed": of(removed),
        "left": left,
        "found": of(found),
        "deleted": of(deleted),
        "gone": gone,
    }


def input_items(client, given):
    """Pages of two; iterating asks for the next ones."""
    id = client.responses.create(**given["request"]).id
    ask = client.responses.input_items.list
    return {
        "newest_first": [of(item) for item in ask(id, limit=2)],
        "oldest_first": [of(item) for item in ask(id, limit=2, order="asc")],
    }


def deleted(client, given):
    id = client.responses.create(**given["request"]).id
    client.responses.delete(id)
    request = {**given["request"], "previous_response_id": id}
    return {
        "retrieved": attempt(lambda: client.responses.retrieve(id)),
        "continued": attempt(lambda: client.responses.create(**request)),
        "deleted": attempt(lambda: client.responses.delete(id)),
    }


def webhook(client, given):
    payload, headers = given["payload"], given["headers"]
    unwrap = client.webhooks.unwrap
    event = unwrap(payload, headers, secret=given["secret"])
    forged = payload.replace("response", "resqonse", 1)
    return {
        "event": of(event),
        "forged": attempt(lambda: unwrap(forged, headers, secret=given["secret"])),
    }


def refused(client, given):
    """The call that is not to succeed: create, retrieve, cancel or delete."""
    ask = getattr(client.responses, given["call"])
    if given["call"] == "create":
        return {"refusal": attempt(lambda: ask(**given["request"]))}
    return {"refusal": attempt(lambda: ask(given["id"]))}


def limited(client, given):
    """More calls than the key may make; then one that waits for its turn."""
    hasty = client.with_options(max_retries=0)
    for _ in range(given["calls"]):
        refusal = attempt(hasty.models.list)
        if "raised" in refusal:
            break
    patient = client.with_options(max_retries=5)
    raw = patient.models.with_raw_response.list()
    names = [model.id for model in raw.parse()]
    return {"refusal": refusal, "models": names, "retries": raw.retries_taken}


def models(client, given):
    return {"models": [of(model) for model in client.models.list()]}


# --- what they share


def of(model):
    """What the server sent of it, and nothing that was not there."""
    made = model.to_dict(mode="json", warnings=False)
    if model.__class__.__name__ in ("Response", "ParsedResponse"):
        made["output_text"] = model.output_text
    return made


def encoded(content):
    return base64.b64encode(content.read()).decode()


def citations(response):
    return [
        annotation
        for item in response.output
        if item.type == "message"
        for part in item.content
        for annotation in getattr(part, "annotations", [])
        if annotation.type == "container_file_citation"
    ]


def wait_for_end(client, response):
    while response.status in ("queued", "in_progress"):
        time.sleep(PAUSE_S)
        response = client.responses.retrieve(response.id)
    return response


def attempt(ask):
    """{"answer": ...} or {"raised": ...}"""
    try:
        return {"answer": of(ask())}
    except Exception as error:
        return {"raised": described(error)}


def described(error):
    names = ("status_code", "code", "param", "type", "request_id")
    said = {name: getattr(error, name, None) for name in names}
    headers = getattr(getattr(error, "response", None), "headers", {})
    return {
        "class": error.__class__.__name__,
        "message": str(error),
        "status": said.pop("status_code"),
        **said,
        "retry_after": headers.get("retry-after"),
    }


def main():
    verb, given = sys.argv[1], json.loads(sys.argv[2])
    try:
        client = openai.OpenAI(max_retries=given.get("retries", 2))
        seen = globals()[verb](client, given)
    except Exception as error:
        seen = {"raised": described(error)}
    print(json.dumps(seen))


main()
