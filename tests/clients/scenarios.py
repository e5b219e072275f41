"""What each client does and must see: one table for all of them.

A scenario's prompts contain its words; the practice model finds its replies by them.
expect(seen, client, service) looks at what the client has printed. What a scenario
needs besides:

    given       what the client gets beside the request
    meanwhile   meanwhile(service, job): what happens once the job's text has begun
    key         the key, when it is not the usual one
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from expectations import (
    ANSWER,
    BAD,
    CAPTION,
    DRAW,
    ECHOED,
    FILES,
    GIVEN,
    MODEL,
    READ,
    SALES,
    SLOW,
    THREE,
    TOO_LARGE,
    background,
    cancel,
    cancelled,
    chain,
    code,
    conversation,
    cut_off,
    deleted,
    echoes,
    failed_early,
    failed_whole,
    files,
    final_of,
    functions,
    helper,
    input_items,
    lose_consumer,
    models,
    parsed,
    plain,
    refusal,
    refused,
    resumed,
    streamed,
)
from service import CLIENTS
from stack import call_of, job_id

OFFICIAL = ("python", "node")  # both have all calls of the API


@dataclass
class Scenario:
    name: str
    verb: str
    replies: dict  # part of a prompt: the model's replies
    expect: Callable
    clients: tuple = CLIENTS
    request: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    given: dict = field(default_factory=dict)
    meanwhile: Callable = None
    key: str = None

    def asked_by(self, client):
        """What the client gets. No two clients send the model the same request, so
        that replies to repeated requests are each client's own."""
        given = dict(self.given)
        if self.request:
            given["request"] = of(self.request, client)
        if self.requests:
            given["requests"] = [of(request, client) for request in self.requests]
        return given


def of(request, client):
    def named(text):
        return f"{text} (asked by {client})"

    text = request["input"]
    if isinstance(text, str):
        return {"model": MODEL, **request, "input": named(text)}
    messages = [{**message, "content": named(message["content"])} for message in text]
    return {"model": MODEL, **request, "input": messages}


# --- the table

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}
CODE_TOOL = {"type": "code_interpreter", "container": {"type": "auto"}}
UNKNOWN = "resp_" + job_id().replace("-", "")


def weather_call(city, index=0):
    arguments = json.dumps({"city": city})
    id = f"call_{city}"
    return {"id": id, "index": index, "name": "get_weather", "arguments": arguments}


def one_answer(name, verb, expect, **more):
    """A question, and the model's answer of one turn."""
    words = f"Scenario {name}:"
    request = {"input": f"{words} say hello", **more.pop("request", {})}
    replies = {words: more.pop("replies", [{"text": ANSWER}])}
    return Scenario(name, verb, replies, expect, request=request, **more)


def hostile(name, replies, expect, final=None, **more):
    """The raw stream in each client; and in the helper of those that have one."""
    made = [one_answer(name, "streamed", expect, replies=replies, **more)]
    if final:
        helper_name = f"{name} in the helper"
        clients = {"clients": OFFICIAL}
        row = one_answer(
            helper_name, "helper", final, replies=replies, **clients, **more
        )
        made.append(row)
    return made


SCENARIOS = [
    one_answer("plain", "plain", plain),
    one_answer(
        "echo",
        "plain",
        echoes,
        clients=OFFICIAL,
        request={k: v for k, v in ECHOED.items() if k != "parallel_tool_calls"},
    ),
    one_answer("streamed", "streamed", streamed("output_text.delta")),
    one_answer("helped", "helper", helper, clients=OFFICIAL),
    one_answer(
        "reasoned",
        "streamed",
        streamed("reasoning_summary_text.delta", "output_text.delta"),
        replies=[{"reasoning": "It is a greeting.", "text": ANSWER}],
        request={"reasoning": {"summary": "auto"}},
    ),
    one_answer(
        "background",
        "background",
        background,
        clients=OFFICIAL,
        replies=[{"text": ANSWER, "delay_ms": 1000}],
    ),
    one_answer(
        "resumed",
        "resumed",
        resumed,
        clients=OFFICIAL,
        given={"drop_after": 5},
        replies=[SLOW],
    ),
    one_answer("cancelled", "cancelled", cancelled, clients=OFFICIAL, replies=[SLOW]),
    Scenario(
        "chain",
        "chain",
        {
            "Chain root": [{"text": "root"}],
            "Chain left": [{"text": "left"}],
            "Chain right": [{"text": "right"}],
        },
        chain,
        requests=[
            {"input": "Chain root", "instructions": "obey"},
            {"input": "Chain left"},
            {"input": "Chain right"},
        ],
    ),
    one_answer(
        "function",
        "functions",
        functions(["Oslo"]),
        given=GIVEN,
        request={"tools": [WEATHER]},
        replies=[{"tool_calls": [weather_call("Oslo")]}, {"text": "It is cold."}],
    ),
    one_answer(
        "two functions",
        "functions",
        functions(["Oslo", "Rome"]),
        given=GIVEN,
        request={"tools": [WEATHER]},
        replies=[
            {"tool_calls": [weather_call("Oslo"), weather_call("Rome", 1)]},
            {"text": "It is cold."},
        ],
    ),
    one_answer(
        "streamed functions",
        "streamed",
        streamed("function_call_arguments.done", text=""),
        clients=OFFICIAL,
        request={"tools": [WEATHER]},
        replies=[{"tool_calls": [weather_call("Oslo"), weather_call("Rome", 1)]}],
    ),
    one_answer(
        "code",
        "code",
        code,
        given={"file": ["sales.csv", SALES]},
        replies=[{"tool_calls": [call_of(DRAW)]}, {"text": CAPTION}],
    ),
    one_answer(
        "files",
        "files",
        files,
        clients=OFFICIAL,
        given={"files": FILES, "too_large": TOO_LARGE},
        request={"tools": [CODE_TOOL]},
        replies=[{"tool_calls": [call_of(READ)]}, {"text": ANSWER}],
    ),
    one_answer(
        "streamed code",
        "streamed",
        streamed(
            "code_interpreter_call.interpreting",
            "code_interpreter_call_code.delta",
            "output_text.annotation.added",
            text=CAPTION,
        ),
        request={"tools": [CODE_TOOL]},
        replies=[
            {"tool_calls": [call_of("open('chart.png', 'wb').write(b'x');")]},
            {"text": CAPTION},
        ],
    ),
    one_answer(
        "parsed",
        "parsed",
        parsed,
        replies=[{"text": '{"city": "Oslo", "celsius": -3}'}],
    ),
    Scenario(
        "conversation",
        "conversation",
        {
            "Conversation: I am Ann": [{"text": "Hello, Ann."}],
            "Conversation: who am I": [{"text": "Ann."}],
        },
        conversation,
        requests=[
            {"input": "Conversation: I am Ann"},
            {"input": "Conversation: who am I"},
        ],
    ),
    Scenario(
        "input items",
        "input_items",
        {"Items: three": [{"text": "four"}]},
        input_items,
        clients=OFFICIAL,
        request={"input": THREE},
    ),
    one_answer("deleted", "deleted", deleted, clients=OFFICIAL),
    Scenario("models", "models", {}, models, clients=OFFICIAL),
    *hostile(
        "voided turn",
        [[{"text": f"This is void. {ANSWER}", "cut": 1200}, {"text": ANSWER}]],
        streamed("output_text.delta"),
        helper,
    ),
    *hostile(
        "consumer lost",
        [[SLOW, {"text": ANSWER}]],
        streamed("output_text.delta"),
        helper,
        meanwhile=lose_consumer,
    ),
    *hostile(
        "refused",
        [{"text": "", "finish_reason": "content_filter"}],
        refusal,
    ),
    *hostile(
        "cut off",
        [{"text": "Half of", "finish_reason": "length"}],
        cut_off("incomplete", "length", "max_output_tokens"),
        final_of("incomplete"),
    ),
    *hostile(
        "failed",
        [{"status": 400, "error": BAD}],
        failed_early,
        final_of("failed"),
    ),
    *hostile(
        "failed late",
        [{"tool_calls": [call_of("1 + 1")]}, {"status": 400, "error": BAD}],
        cut_off("failed", "error"),
        final_of("failed"),
        request={"tools": [CODE_TOOL]},
    ),
    one_answer(
        "failed whole",
        "refused",
        failed_whole,
        replies=[{"status": 400, "error": BAD}],
        given={"call": "create"},
    ),
    *hostile(
        "cancelled stream",
        [SLOW],
        cut_off("cancelled", "other"),
        final_of("cancelled"),
        meanwhile=cancel,
    ),
    one_answer(
        "too hot",
        "refused",
        refused(400, None, "temperature", kind="BadRequestError"),
        given={"call": "create"},
        request={"temperature": 7},
    ),
    Scenario(
        "a wrong role",
        "refused",
        {},
        refused(400, None, "input[1].role", kind="BadRequestError"),
        clients=OFFICIAL,
        request={
            "input": [THREE[0], {"role": "wizard", "content": "hello"}],
        },
        given={"call": "create"},
    ),
    one_answer(
        "a wrong key",
        "refused",
        refused(401, "invalid_api_key", kind="AuthenticationError"),
        given={"call": "create"},
        key="qk_wrong",
    ),
    one_answer(
        "an unknown model",
        "refused",
        refused(404, "model_not_found", "model", kind="NotFoundError"),
        given={"call": "create"},
        request={"model": "no-such-model"},
    ),
    one_answer(
        "an unknown previous response",
        "refused",
        refused(
            400,
            "previous_response_not_found",
            "previous_response_id",
            kind="BadRequestError",
        ),
        given={"call": "create"},
        request={"previous_response_id": UNKNOWN},
    ),
    *[
        Scenario(
            f"{call} an unknown response",
            "refused",
            {},
            refused(404, kind="NotFoundError"),
            clients=OFFICIAL,
            given={"call": call, "id": UNKNOWN},
        )
        for call in ("retrieve", "cancel", "delete")
    ],
]
assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)
