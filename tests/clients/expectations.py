"""What each client must have seen: expect(seen, client, service) of the scenarios,
seen being what the client has printed; and the texts that the scenarios tell."""

import base64
import json
import struct
import zlib

from golden import check_response, check_stream

# --- what is said

MODEL = "practice"
BAD = "The request is not good."
ANSWER = "Hello from the model, ünïcödé 中 😀."
SLOW = {"text": "word " * 80 + "end", "chunk_ms": 150}
GIVEN = {"results": {"Oslo": "-3 degrees", "Rome": "12 degrees"}}
ECHOED = {
    "instructions": "Be brief.",
    "temperature": 0.5,
    "metadata": {"order": "7"},
    "store": True,
    "parallel_tool_calls": True,
    "truncation": "disabled",
    "text": {"format": {"type": "text"}},
}
THREE = [
    {"role": "user", "content": "Items: one"},
    {"role": "assistant", "content": "Items: two"},
    {"role": "user", "content": "Items: three"},
]


def png():
    """Two pixels."""

    def chunk(kind, data):
        sum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + sum

    head = struct.pack(">IIBBBBB", 2, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" + b"\xff\0\0" + b"\0\0\xff")
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


CHART = png()
SALES = "month,amount\nJanuary,40\nFebruary,2\n"
DRAW = f"""rows = open("sales.csv").read().split()[1:]
print("total", sum(int(row.split(",")[1]) for row in rows))
open("chart.png", "wb").write(bytes.fromhex("{CHART.hex()}"));"""
CAPTION = "The total is 42, see chart.png."


# --- answers


def answers_of(seen):
    """The answers of several responses, as the client puts them together."""
    if "told" in seen:
        return [told["text"] for told in seen["told"]]
    return [output_text(response) for response in seen["responses"]]


def check_answer(seen, text):
    if "told" in seen:
        told = seen["told"]
        assert (told["text"], told["finish"]) == (text, "stop"), told
        assert told["id"].startswith("resp_"), told
        assert told["usage"]["inputTokens"] > 0, told
        return
    response = seen["response"]
    check_response(without_text(response))
    assert (response["status"], output_text(response)) == ("completed", text), response
    assert response["id"].startswith("resp_"), response["id"]


def output_text(response):
    """As clients put it together."""
    text = "".join(
        part["text"]
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
        if part["type"] == "output_text"
    )
    assert response.get("output_text", text) == text, response["output_text"]
    return text


def without_text(response):
    """output_text is the clients' own; Node's helpers add what they have parsed."""
    return {k: v for k, v in response.items() if k != "output_text"}


def plain(seen, client, service):
    check_answer(seen, ANSWER)


def echoes(seen, client, service):
    response = seen["response"]
    plain(seen, client, service)
    for name, value in ECHOED.items():
        assert response[name] == value, (name, response[name])
    assert response["model"] == MODEL and response["background"] is False


def background(seen, client, service):
    assert seen["first"]["status"] in ("queued", "in_progress"), seen["first"]
    assert seen["first"]["id"] == seen["response"]["id"]
    check_response(without_text(seen["first"]))
    check_answer(seen, ANSWER)
    assert seen["response"]["background"] is True


# --- streams


def streamed(*types, text=ANSWER):
    """Events of these types are among those of a sound stream with that text."""

    def expect(seen, client, service):
        final = check_stream(seen["events"])
        assert final["status"] == "completed", final
        found = {event["type"] for event in seen["events"]}
        assert found >= {f"response.{kind}" for kind in types}, sorted(found)
        assert output_text(final) == text, final
        if client == "ai":
            ended_well(seen, text)

    return expect


def ended_well(seen, text):
    assert seen["errors"] == [], seen["errors"]
    assert seen["final"]["answer"]["text"].endswith(text), seen["final"]
    assert seen["final"]["answer"]["finish"] == "stop", seen["final"]


def helper(seen, client, service):
    final = seen["final"]["answer"]
    assert final["status"] == "completed" and output_text(final) == ANSWER, final
    assert seen["types"][0] == "response.created", seen["types"]
    assert seen["types"][-1] == "response.completed", seen["types"]


def resumed(seen, client, service):
    """Every event once, whatever the connection; the helper has the later ones."""
    whole = seen["events"] + seen["rest"]
    final = check_stream(whole)
    assert output_text(final) == SLOW["text"], final
    assert whole == seen["again"], "a second reading differs"
    numbers = [event["sequence_number"] for event in seen["rest"]]
    assert seen["helper"]["numbers"] == numbers
    assert seen["helper"]["final"]["answer"]["id"] == final["id"]


def cut_off(status, finish, reason=None):
    """The end of a stream without an answer. No client raises anything, but for the
    helper of Python, which has no final response then: final_of()."""

    def expect(seen, client, service):
        final = check_stream(seen["events"])
        assert final["status"] == status, final
        details = final["incomplete_details"] or {}
        assert reason in (None, details.get("reason")), final
        if status == "cancelled":
            assert details.get("reason"), "clients take a cancelled one for a whole one"
        if client == "ai":
            found = seen["final"]["answer"]["finish"]
            assert found == finish, seen["final"]
            assert bool(seen["errors"]) == (status == "failed"), seen["errors"]

    return expect


def failed_early(seen, client, service):
    """Before there was any output. The AI SDK then raises what it raises when a
    request is refused, and shows no event."""
    if client != "ai":
        cut_off("failed", None)(seen, client, service)
        return
    assert seen["events"] == [], seen["events"]
    [error] = seen["errors"]
    assert error["class"] == "APICallError" and BAD in error["message"], error


def failed_whole(seen, client, service):
    """No stream: a response that has failed, or a refusal of the request."""
    if client == "ai":
        error = seen["refusal"]["raised"]
        assert error["class"] == "APICallError" and BAD in error["message"], error
    elif "answer" in seen["refusal"]:
        response = seen["refusal"]["answer"]
        check_response(without_text(response))
        assert response["status"] == "failed", response
        assert BAD in response["error"]["message"], response["error"]
    else:
        error = seen["refusal"]["raised"]
        assert error["status"] >= 400 and BAD in error["message"], error


def final_of(status):
    def expect(seen, client, service):
        if client == "python":
            error = seen["final"]["raised"]
            assert error["class"] == "RuntimeError", error
            assert "response.completed" in error["message"], error
        else:
            assert seen["final"]["answer"]["status"] == status, seen["final"]
        end = "failed" if status == "failed" else "incomplete"
        assert seen["types"][-1] == f"response.{end}", seen["types"]

    return expect


def refusal(seen, client, service):
    """The model's refusal is told as such: by a part, or as the reason of the end."""
    final = check_stream(seen["events"])
    parts = [p for i in final["output"] for p in i.get("content") or []]
    reason = (final["incomplete_details"] or {}).get("reason")
    assert reason == "content_filter" or "refusal" in [p["type"] for p in parts], final
    assert client != "ai" or seen["errors"] == [], seen["errors"]


def lose_consumer(service, job):
    """The consumer dies in the middle of a reply; another one goes on."""
    service.stack.consumers[-1].kill()
    service.stack.consumer()


def cancel(service, job):
    service.stack.call("cancel", job, "enough")


# --- jobs that go on, and jobs that end


def cancelled(seen, client, service):
    for answer in seen["answers"]:
        assert answer["id"] == seen["response"]["id"], answer
        check_response(without_text(answer))
    assert seen["response"]["status"] == "cancelled", seen["response"]
    late = seen["late"]
    if "answer" in late:  # 200 with the object as it is, or 400
        assert late["answer"]["status"] == "cancelled", late
    else:
        assert late["raised"]["status"] == 400, late


def said_to_model(service, number):
    """Role and text of the messages of the model's request, from the end."""
    request = service.stack.model.request(number)
    return [(m["role"], text_in(m.get("content") or "")) for m in request["messages"]]


def text_in(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content


def chain(seen, client, service):
    assert answers_of(seen) == ["root", "left", "right"], seen
    if client != "ai":
        root, *others = seen["responses"]
        previous = [response["previous_response_id"] for response in others]
        assert previous == [root["id"]] * 2, previous
    for number, word in ((-2, "left"), (-1, "right")):
        said = said_to_model(service, number)
        text = " ".join(text for _, text in said)
        assert "Chain root" in text and ("assistant", "root") in said, said
        assert f"Chain {word}" in text, said
        other = {"left": "right", "right": "left"}[word]
        assert f"Chain {other}" not in text, f"the other branch is in it: {said}"
    assert "obey" in str(said_to_model(service, -3)), "instructions of the first"
    assert "obey" not in str(said_to_model(service, -1)), "instructions are not carried"


def functions(cities):
    def expect(seen, client, service):
        assert len(seen["calls"]) == len(cities), seen["calls"]
        asked = [
            json.loads(c["arguments"])["city"] if client != "ai" else c["city"]
            for c in seen["calls"]
        ]
        assert asked == cities, seen["calls"]
        check_answer(seen, "It is cold.")
        results = [text for role, text in said_to_model(service, -1) if role == "tool"]
        assert results == [GIVEN["results"][city] for city in cities], results

    return expect


def parsed(seen, client, service):
    assert seen["value"] == {"city": "Oslo", "celsius": -3}, seen["value"]


def conversation(seen, client, service):
    assert answers_of(seen) == ["Hello, Ann.", "Ann."], seen
    said = said_to_model(service, -1)
    assert ("assistant", "Hello, Ann.") in said, said
    if client == "ai":
        return
    made = seen["made"]
    assert made["id"].startswith("conv_") and made["object"] == "conversation", made
    assert {r["conversation"]["id"] for r in seen["responses"]} == {made["id"]}
    roles = [item["role"] for item in seen["items"] if item["type"] == "message"]
    assert roles == ["user", "assistant"] * 2, seen["items"]
    assert seen["removed"] == made and seen["left"] == seen["items"][:-1], seen
    assert seen["found"]["metadata"] == {"topic": "farewells"}, seen["found"]
    assert seen["deleted"]["deleted"] is True, seen["deleted"]
    assert seen["gone"]["raised"]["status"] == 404, seen["gone"]


def input_items(seen, client, service):
    oldest = seen["oldest_first"]
    assert seen["newest_first"] == oldest[::-1], "the default order is the newest first"
    ids = [item["id"] for item in oldest]
    assert len(set(ids)) == 3 and all(ids), ids
    texts = [part["text"] for item in oldest for part in item["content"]]
    begun = [text.split(" (")[0] for text in texts]
    assert begun == [message["content"] for message in THREE], texts


def deleted(seen, client, service):
    refusals = {name: seen[name]["raised"] for name in seen}
    found = {name: error["status"] for name, error in refusals.items()}
    assert found == {"retrieved": 404, "continued": 400, "deleted": 404}, refusals
    assert refusals["continued"]["code"] == "previous_response_not_found", refusals


# --- code


def code(seen, client, service):
    check_answer(seen, CAPTION)
    [chart] = [m for m in seen["made"] if m["filename"] == "chart.png"]
    assert base64.b64decode(chart["base64"]) == CHART, "the chart has other bytes"
    if client == "ai":
        # It does not ask for the outputs of code.
        return
    response = seen["response"]
    [call] = [i for i in response["output"] if i["type"] == "code_interpreter_call"]
    assert call["container_id"] == seen["container"]["id"], call
    assert (call["code"], call["status"]) == (DRAW, "completed"), call
    logs = [output["logs"] for output in call["outputs"] if output["type"] == "logs"]
    assert "total 42" in "".join(logs), call
    cited = CAPTION[chart["start_index"] : chart["end_index"]]
    assert "chart.png" in cited or cited == "", cited
    check_files(seen)


def check_files(seen):
    """The uploaded file, the container, and what is in it."""
    file, container = seen["file"], seen["container"]
    assert (file["object"], file["filename"]) == ("file", "sales.csv"), file
    assert file["id"].startswith("file-") and file["bytes"] == len(SALES), file
    assert file["purpose"] == "user_data" and seen["content"] == SALES
    assert container["object"] == "container", container
    assert container["id"].startswith("cntr_") and len(container["id"]) <= 64
    paths = {one["path"]: one for one in seen["listed"]}
    assert set(paths) >= {"/mnt/data/sales.csv", "/mnt/data/chart.png"}, paths
    for one in paths.values():
        assert one["container_id"] == container["id"], one
        assert one["object"] == "container.file", one
        assert one["id"].startswith("cfile_") and len(one["id"]) <= 64, one
    assert paths["/mnt/data/sales.csv"]["source"] == "user", paths
    assert paths["/mnt/data/chart.png"]["source"] == "assistant", paths
    assert seen["gone"]["raised"]["status"] == 404, seen["gone"]
    assert seen["file_deleted"]["deleted"] is True, seen["file_deleted"]


# --- files

FILES = [["größe (1).csv", SALES], ["b.txt", "b"], ["c.txt", ""]]
READ = "print(open('größe (1).csv').read())"
TOO_LARGE = 65 << 20


def files(seen, client, service):
    check_answer(seen, ANSWER)
    names = [[one["filename"], one["bytes"]] for one in seen["made"]]
    assert names == [[name, len(text)] for name, text in FILES], names
    for one in seen["made"]:
        assert (one["object"], one["status"]) == ("file", "processed"), one
        assert one["id"].startswith("file-") and one["purpose"] == "vision", one
        assert one["expires_at"] - one["created_at"] in (3600, 3601), one
    assert seen["listed"] == seen["made"], seen["listed"]
    assert seen["contents"] == [text for _, text in FILES], seen["contents"]
    response = seen["response"]
    [call] = [i for i in response["output"] if i["type"] == "code_interpreter_call"]
    assert SALES in call["outputs"][0]["logs"], call
    refusal = seen["large"]["raised"]
    assert (refusal["status"], refusal["code"]) == (413, "file_too_large"), refusal
    for one, deleted in zip(seen["made"], seen["deleted"]):
        assert deleted == {"id": one["id"], "object": "file", "deleted": True}
    assert seen["gone"]["raised"]["status"] == 404, seen["gone"]


# --- refusals


def refused(status, code=None, param=None, **classes):
    """classes: what Python and Node.js raise."""
    types = {429: "rate_limit_error"}

    def expect(seen, client, service):
        error = seen["refusal"]["raised"]
        found = (error["status"], error["code"], error["param"])
        wanted = (status, code or error["code"], param or error["param"])
        assert found == wanted, error
        assert error["type"] == types.get(status, "invalid_request_error"), error
        assert error["request_id"], "x-request-id is missing"
        kind = classes["kind"] if client != "ai" else "APICallError"
        assert error["class"] in (kind, f"AI_{kind}", f"_{kind}"), error

    return expect


def limited(seen, client, service):
    error = seen["refusal"]["raised"]
    assert (error["status"], error["class"]) == (429, "RateLimitError"), error
    assert error["type"] == "rate_limit_error" and float(error["retry_after"]) > 0, (
        error
    )
    assert MODEL in seen["models"], "the client's own retry did not succeed"


def models(seen, client, service):
    for model in seen["models"]:
        assert model["object"] == "model" and model["created"] >= 0, model
        assert model["owned_by"], model
    assert MODEL in [model["id"] for model in seen["models"]], seen
