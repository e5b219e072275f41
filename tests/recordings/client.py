"""What the openai client makes of recordings: it asks a real server for each.

Runs in an environment of its own, which has the client and nothing of ours.
Reads {status, type, stream, body} and writes {message, finish_reason, usage,
error, other}, one JSON object a line.
"""

import http.server
import json
import sys
import threading
import warnings

import openai


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece: none waits for an acknowledgement

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        recording = self.server.recordings[int(self.headers["X-Recording"])]
        body = recording["body"].encode()
        self.send_response(recording["status"])
        self.send_header("Content-Type", recording["type"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def without_nulls(value):
    return {name: v for name, v in value.items() if v is not None}


def completion(seen):
    """The first choice of what the client holds, as plain JSON."""
    if not isinstance(seen, openai.BaseModel):
        return {"other": str(seen)}
    seen = seen.to_dict()
    if not seen.get("choices"):
        return {"other": json.dumps(seen)}
    choice = seen["choices"][0]
    return {
        "message": without_nulls(choice.get("message") or {}),
        "finish_reason": choice.get("finish_reason"),
        "usage": seen.get("usage"),
    }


def read_stream(client, request):
    """However far it comes."""
    made = {}
    with client.chat.completions.stream(**request) as stream:
        try:
            for _ in stream:
                pass
        except Exception as error:
            made["error"] = failure(error)
        try:
            made.update(completion(stream.current_completion_snapshot))
        except AssertionError:
            made["other"] = "no chunk"
    return made


def failure(error):
    body = getattr(error, "body", None)
    told = body.get("message") if isinstance(body, dict) else body
    return {
        "type": type(error).__name__,
        "told": isinstance(error, openai.APIError),
        "status": getattr(error, "status_code", None),
        "text": told if isinstance(told, str) else str(error),
    }


def ask(client, number, stream):
    request = {
        "model": "recorded",
        "messages": [{"role": "user", "content": "again"}],
        "extra_headers": {"X-Recording": str(number)},
    }
    try:
        if stream:
            return read_stream(client, request)
        return completion(client.chat.completions.create(**request))
    except Exception as error:
        return {"error": failure(error)}


def main():
    warnings.simplefilter("ignore")  # pydantic's, on content that is a list
    recordings = [json.loads(line) for line in sys.stdin]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.recordings = True, recordings
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with openai.OpenAI(api_key="none", base_url=url, max_retries=0) as client:
        for number, recording in enumerate(recordings):
            print(json.dumps(ask(client, number, recording["stream"])), flush=True)
    server.shutdown()


if __name__ == "__main__":
    main()
