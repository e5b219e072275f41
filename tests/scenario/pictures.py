"""Cells that show a picture, and the pictures that a model was shown."""

import base64

from stack import call_of

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
SHOW = f"""
class P:
    def _repr_png_(self): return {PNG!r} + bytes(SIZE)
display(P())"""


def show(size):
    return SHOW.replace("SIZE", str(size))


def shows(*sizes):
    """A picture each, told apart by its length."""
    return [{"tool_calls": [call_of(show(size), f"c{size}")]} for size in sizes]


def parts(request):
    """(position, role, names, lengths) of the messages that hold pictures."""
    found = []
    for at, message in enumerate(request["messages"]):
        if not isinstance(message["content"], list):
            continue
        urls = [p["image_url"]["url"] for p in message["content"] if "image_url" in p]
        texts = [p["text"] for p in message["content"] if p["type"] == "text"]
        assert all(url.startswith("data:image/png;base64,") for url in urls)
        bytes_of = [base64.b64decode(url.split(",")[1]) for url in urls]
        assert all(data.startswith(PNG) for data in bytes_of)
        lengths = [len(data) - len(PNG) for data in bytes_of]
        found.append((at, message["role"], texts, lengths))
    return found
