"""Attacks on the channel of results, and on the warden itself."""

import socket
import struct

import msgpack
import pytest
from conftest import TOOLS
from executor_client import Failed, pack, wait_until

FORGE = """
def frame(**members):
    import struct
    def text(s): return bytes([0xd9, len(s)]) + s.encode()
    body = bytes([0x80 | len(members) + 1]) + text('v') + b'\\x01'
    for name, value in members.items():
        number = not isinstance(value, str)
        body += text(name)
        body += struct.pack('>BQ', 0xcf, value) if number else text(value)
    return struct.pack('>I', len(body)) + body
"""


def test_a_forged_result_without_the_nonce_is_dropped(attacker):
    attacker.run(FORGE)
    forged = "os.write(3, frame(type='done', nonce=5, result='forged'))"
    done = attacker.run(forged + "\n'true'")
    assert (done.status, done.result) == ("ok", "'true'")


def test_a_forged_result_of_a_thread_is_dropped(attacker):
    attacker.run(FORGE)
    attacker.run(
        "import threading\n"
        "def forge():\n"
        "    for i in range(200):\n"
        "        os.write(3, frame(type='done', nonce=1, result='forged'))\n"
        "        time.sleep(0.001)\n"
        "threading.Thread(target=forge, daemon=True).start()"
    )
    for i in range(50):
        assert attacker.run(f"{i} + 1").result == str(i + 1)


BOMB = "os.write(3, b'\\0\\0\\0\\5\\xdd\\x10\\0\\0\\0'); time.sleep(9)"
BROKEN = [
    ("an enormous frame", "os.write(3, b'\\xff\\xff\\xff\\xff'); time.sleep(9)"),
    ("an empty frame", "os.write(3, bytes(4)); time.sleep(9)"),
    ("noise", "os.write(3, bytes(3) + bytes(range(16, 33))); time.sleep(9)"),
    ("a bomb of counts", BOMB),
    (
        "a flood of frames",
        FORGE + "while True: os.write(3, frame(type='done', nonce=1))",
    ),
    ("a closed channel", "os.closerange(0, 512); time.sleep(9)"),
]


@pytest.mark.parametrize("name, code", BROKEN, ids=[r[0] for r in BROKEN])
def test_a_broken_channel_ends_the_interpreter_only(attacker, name, code):
    done = attacker.run(code, cell_ms=5000)
    assert (done.status, done.state) == ("crashed", "rolled_back"), done


def test_closed_streams_are_repaired(attacker):
    attacker.run("os.close(1)\nos.close(2)\nsys.stdout = None")
    assert attacker.run("print('back')").stdout == "back\n"


HEAD = "b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR' + "
UNSOUND = "it is not what it says, or has too many pixels"
IMAGES = [
    ("no image at all", "b'not a png'"),
    ("a bomb of pixels", HEAD + "b'\\x7f\\xff\\xff\\xff' * 2 + bytes(64)"),
    ("an image without width", HEAD + "bytes(80)"),
]
DISPLAY = "import _quern\n_quern.display({})"


@pytest.mark.parametrize("name, image", IMAGES, ids=[r[0] for r in IMAGES])
def test_an_unsound_image_is_not_passed_on(attacker, name, image):
    note = f"[image/png dropped: {UNSOUND}]"
    done = attacker.run(DISPLAY.format(f"{{'image/png': {image}}}"))
    assert done.displays == [{"text/plain": note}], done
    bundle = f"{{'image/png': {image}, 'text/plain': b'x', 'a/b': b'y'}}"
    done = attacker.run(DISPLAY.format(bundle))
    assert done.displays == [{"text/plain": "x\n" + note, "a/b": "y"}], done


HELLO = pack({"type": "hello", "ref": 1})
GARBAGE = [
    ("noise", b"GET / HTTP/1.1\r\n\r\n"),
    ("an enormous frame", b"\xff\xff\xff\xff"),
    ("a bomb of counts", b"\0\0\0\5\xdd\x10\0\0\0"),
    ("not a map", b"\0\0\0\1\x01"),
    ("no hello", pack({"type": "open", "ref": 1, "session": "x"})),
    ("an unknown type", HELLO + pack({"type": "nonsense", "ref": 2})),
    ("hello twice", HELLO * 2),
]


def read_frames(connection):
    """Until it is closed by the other side."""
    connection.settimeout(10)
    data = b""
    while got := connection.recv(65536):
        data += got
    while data:
        (length,) = struct.unpack(">I", data[:4])
        yield msgpack.unpackb(data[4 : 4 + length])
        data = data[4 + length :]


@pytest.mark.parametrize("name, data", GARBAGE, ids=[r[0] for r in GARBAGE])
def test_garbage_closes_its_connection_only(executor, neighbour, name, data):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(executor.path)
        connection.sendall(data)
        last = [*read_frames(connection)][-1]
    assert last["type"] == "failed"
    assert last["error"]["message"]
    assert neighbour.run("mine + 1").result == "42"


def is_let_in(executor):
    try:
        executor.connect().close()
    except (EOFError, Failed):
        return False
    return True


def test_connections_are_counted(executor, neighbour):
    """Those that are too many are told so; the others stay."""
    held = []
    try:
        while len(held) < 100:
            held.append(socket.socket(socket.AF_UNIX))
            held[-1].connect(executor.path)
        last = [*read_frames(held[-1])]
        assert [f["error"]["code"] for f in last] == ["executor_unavailable"]
        assert "more than 64 connections" in last[0]["error"]["message"]
        assert neighbour.run("mine + 1").result == "42"
    finally:
        for connection in held:
            connection.close()
    wait_until(lambda: is_let_in(executor), what="there is room again")


def test_a_silent_connection_is_closed(executor):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(executor.path)
        assert [*read_frames(connection)] == []


def test_a_call_runs_once_whoever_asks(executor, attacker):
    """The first is in the midst of it, with a tool's call open."""
    ref, call = attacker.start(
        "print('one', flush=True)\nadd()\nprint('two')\n"
        "count = globals().get('count', 0) + 1\ncount",
        tools=TOOLS,
    )
    while attacker.connection.answer(ref)["type"] != "tool":
        pass
    other = executor.connect()
    again = other.open(attacker.name)
    assert not again.fresh
    done = again.finish(again.start("never", call=call)[0], lambda *_: None)
    assert (done.stdout, done.result) == ("one\ntwo\n", "1")
    with pytest.raises(Failed, match="somebody else"):
        attacker.finish(ref)
    assert again.run("never", call=call).result == "1", "it is remembered"
    assert again.run("count").result == "1", "it ran once"
    again.forget(call)
    assert again.run("'anew'", call=call).result == "", "but it has run"
    with pytest.raises(Failed, match="has not seen"):
        again.forget("never-heard-of")
    other.close()


def test_a_session_outlives_its_connection(executor):
    first = executor.connect()
    session = first.open("survivor")
    session.run("x = 5")
    ref, call = session.start(
        "import time; print('begun', flush=True); time.sleep(0.3); x += 1; x"
    )
    assert first.answer(ref)["data"] == b"begun\n"
    first.close()
    second = executor.connect()
    session = second.open("survivor")
    assert not session.fresh
    assert session.run("never", call=call).result == "6"
    session.close()
    second.close()


def test_requests_of_a_session_are_carried_out_in_order(attacker):
    refs = [attacker.start(f"order = {i}\norder")[0] for i in range(10)]
    assert [attacker.finish(r).result for r in refs] == [str(i) for i in range(10)]


def test_an_interrupt_keeps_the_state(attacker):
    attacker.run("kept = 3")
    ref, _ = attacker.start("print('begun', flush=True)\ntime.sleep(60)")
    assert attacker.connection.answer(ref)["data"] == b"begun\n"
    attacker.interrupt()
    done = attacker.finish(ref)
    assert (done.status, done.state) == ("interrupted", "kept")
    assert attacker.run("kept").result == "3"


def test_closing_ends_what_runs(executor):
    session = executor.open("closing")
    ref, _ = session.start("while True: pass")
    session.close()
    with pytest.raises(Failed, match="closed"):
        session.finish(ref)
    with pytest.raises(Failed, match="not opened"):
        session.run("1")


REQUESTS = [
    ("a run without a call", {"type": "run", "code": "1"}, "call"),
    ("a file that is not there", {"type": "get", "name": "nowhere"}, "No such file"),
    ("a name with a slash", {"type": "open", "session": "a/b"}, "session"),
]


@pytest.mark.parametrize("name, frame, why", REQUESTS, ids=[r[0] for r in REQUESTS])
def test_a_request_that_cannot_be_carried_out_says_why(attacker, name, frame, why):
    with pytest.raises(Failed, match=why):
        attacker.connection.ask(**{"session": attacker.name, **frame})
