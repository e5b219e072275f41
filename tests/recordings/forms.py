"""What a reader made of a recording, in a form that both readers share.

content, reasoning, refusal, details, finish, usage (input, output, cached);
count, ids, names, arguments of the calls; error, and for a status whether the
same request may be sent again.
"""

NOTHING = {
    "content": "",
    "reasoning": "",
    "refusal": "",
    "details": [],
    "finish": "",
    "usage": (0, 0, 0),
    "count": 0,
    "ids": [],
    "names": [],
    "arguments": [],
    "error": "",
    "retry": None,
}
ERROR_BYTES = 255  # as much of an error's sentence as we keep
REFUSAL_BYTES = 256
FILTERED = "the endpoint's content filter stopped the reply"


def head(text, size):
    return text.encode()[:size].decode(errors="ignore")


def calls_form(calls):
    """Calls that say nothing are none."""
    calls = [call for call in calls if call[1] or call[2]]
    return {
        "count": len(calls),
        "ids": [call[0] for call in calls],
        "names": [call[1] for call in calls],
        "arguments": [call[2] for call in calls],
    }


def form_of_ours(made, status=200):
    if made.get("code") == "model_refused" and status == 200:
        return NOTHING | {"refusal": made["text"]}
    if "code" in made:
        retry = made["retry"] if status != 200 else None
        return NOTHING | {"error": made["text"], "retry": retry}
    message = made["message"]
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls", [])
    ]
    return {
        **NOTHING,
        **calls_form(calls),
        "content": message["content"] or "",
        "reasoning": made["told_reasoning"],
        "details": message.get("reasoning_details", []),
        "finish": made["finish_reason"],
        "usage": (made["input_tokens"], made["output_tokens"], made["cached_tokens"]),
    }


def agrees_with_itself(made):
    """What was told while it came is what the message says in the end."""
    if "code" in made:
        return True
    message = made["message"]
    kept = message.get("reasoning_content", message.get("reasoning"))
    names = [call["function"]["name"] for call in message.get("tool_calls", [])]
    return (
        made["told_text"] == (message["content"] or "")
        and kept in (None, made["told_reasoning"])
        and (made["dropped_calls"] > 0 or made["told_calls"] == names)
    )


def usage_form(usage):
    usage = usage or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    cached = (
        cached or usage.get("prompt_cache_hit_tokens") or usage.get("cached_tokens")
    )
    return (
        usage.get("prompt_tokens") or 0,
        usage.get("completion_tokens") or 0,
        cached or 0,
    )


def client_calls(message):
    listed = [
        (call.get("id") or "", call.get("function") or {})
        for call in message.get("tool_calls", [])
    ]
    legacy = message.get("function_call")
    if legacy and not any(function.get("name") for _, function in listed):
        listed = [("", legacy)]
    return [(i, f.get("name") or "", f.get("arguments") or "") for i, f in listed]


def form_of_client(seen):
    """Refusals and errors stand alone, as they do with us."""
    failure = seen.get("error")
    if failure and failure["told"]:
        status = failure["status"]
        retry = status and (status in (408, 409, 429) or status >= 500)
        return NOTHING | {"error": head(failure["text"], ERROR_BYTES), "retry": retry}
    message = seen.get("message", {})
    if message.get("refusal"):
        return NOTHING | {"refusal": head(message["refusal"], REFUSAL_BYTES)}
    if seen.get("finish_reason") == "content_filter":
        return NOTHING | {"refusal": FILTERED}
    return {
        **NOTHING,
        **calls_form(client_calls(message)),
        "content": message.get("content") or "",
        "reasoning": message.get("reasoning_content") or message.get("reasoning") or "",
        "details": message.get("reasoning_details") or [],
        "finish": seen.get("finish_reason") or "",
        "usage": usage_form(seen.get("usage")),
        "error": failure["type"] if failure else "",
    }
