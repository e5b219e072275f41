"""Frames that the guest forges although it knows the nonce of its own cell: it may
end that cell, and nothing else."""

import pytest
from conftest import TOOLS
from test_forgery import FORGE

# What it would say of a display, it says to a socket of its own: there it is.
NONCE = FORGE + """
def find_nonce():
    ours, theirs = socket.socketpair()
    channel = os.dup(3)
    os.dup2(theirs.fileno(), 3)
    display('x')
    os.dup2(channel, 3)
    os.close(channel)
    return int.from_bytes(ours.recv(4096).split(b'nonce\\xcf')[1][:8], 'big')
def say(**members):
    data = frame(nonce=nonce, **members)
    while data: data = data[os.write(3, data):]
def hear():
    import select
    select.select([3], [], [])
    return os.read(3, 65536)
nonce = find_nonce()
"""

# name, code, (status, state, result) of the cell
SAID = [
    (
        "an end of its own",
        "say(type='done', result='forged')\ntime.sleep(9)",
        ("ok", "kept", "forged"),
    ),
    (
        "an end of its own, and no other",
        "say(type='done', result='forged')\nwhile True:\n  try:\n    time.sleep(9)\n"
        "  except BaseException: pass",
        ("ok", "kept", "forged"),
    ),
    (
        "two ends",
        "say(type='done', result='one')\nsay(type='done', result='two')\ntime.sleep(9)",
        ("ok", "kept", "one"),
    ),
    (
        "an end that only the warden may tell of",
        "say(type='done', status='timeout', result='x')\ntime.sleep(9)",
        ("error", "kept", "x"),
    ),
    ("that it is ready", "say(type='ready')\n'true'", ("ok", "kept", "'true'")),
    ("that it forked", "say(type='forked', pid=1)\n'true'", ("ok", "kept", "'true'")),
    ("that one ended", "say(type='exited', pid=1)\n'true'", ("ok", "kept", "'true'")),
    ("that it is to fork", "say(type='fork')\n'true'", ("ok", "kept", "'true'")),
    ("a cell", "say(type='cell', code='1')\n'true'", ("ok", "kept", "'true'")),
    ("a snapshot", "say(type='snapshot')\n'true'", ("ok", "kept", "'true'")),
    ("an answer", "say(type='answer', number=1)\n'true'", ("ok", "kept", "'true'")),
    (
        "a tool that nobody offered",
        "say(type='tool', number=1, name='x', data='{}')\nb'unknown_tool' in hear()",
        ("ok", "kept", "True"),
    ),
    (
        "a tool without a name",
        "say(type='tool', number=1, data='{}')\nb'error' in hear()",
        ("ok", "kept", "True"),
    ),
    (
        "an installation where there are none",
        "say(type='install', number=1, data='evil')\nb'no_packages' in hear()",
        ("ok", "kept", "True"),
    ),
    ("an unknown type", "say(type='x')\ntime.sleep(9)", ("crashed", "rolled_back", "")),
    (
        "a number where there is text",
        "say(type='done', result=5)\ntime.sleep(9)",
        ("crashed", "rolled_back", ""),
    ),
    (
        "an end that does not end",
        "data = frame(type='done', nonce=nonce)\nos.write(3, data[:-9])\n"
        "os.close(3)\ntime.sleep(9)",
        ("crashed", "rolled_back", ""),
    ),
    (
        "a name of a megabyte",
        "big = b'\\xdb' + (1 << 20).to_bytes(4, 'big') + b'x' * (1 << 20)\n"
        "data = frame(type='tool', nonce=nonce, name='@')[4:]\n"
        "data = data.replace(b'\\xd9\\1@', big)\n"
        "data = len(data).to_bytes(4, 'big') + data\n"
        "while data: data = data[os.write(3, data):]\n"
        "time.sleep(9)",
        ("crashed", "rolled_back", ""),
    ),
    (
        "more calls than a cell may make, unread",
        "for i in range(3000): say(type='tool', number=i, name='x')\ntime.sleep(9)",
        ("crashed", "rolled_back", ""),
    ),
]


@pytest.mark.parametrize("name, code, end", SAID, ids=[r[0] for r in SAID])
def test_what_it_may_say(attacker, name, code, end):
    attacker.run("mark = 1")
    done = attacker.run(NONCE + code, cell_ms=5000)
    assert (done.status, done.state, done.result) == end, done
    # What goes on after the end that it told of does not go on for long: it is
    # interrupted, and if it does not obey it is killed.
    if "time.sleep(9)" in code and done.status in ("ok", "error"):
        obeys = "except" not in code
        done = attacker.run("1 + 1", cell_ms=500)
        assert done.state == ("kept" if obeys else "rolled_back"), done
        assert obeys or done.reason, done
    assert attacker.run("mark").result == "1"


# As much as a frame may have, which with a few words more is too much for the
# consumer's: the connection is all sessions'.
LARGE = """
def put(length, kind='big'):
    return b'\\xc6' + length.to_bytes(4, kind)
body = frame(type='display', nonce=nonce)[4:]
body = bytes([body[0] + 1]) + body[1:] + b'\\xa6bundle\\x81\\xa3a/b'
left = (17 << 20) - len(body) - 5
data = (17 << 20).to_bytes(4, 'big') + body + put(left) + bytes(left)
while data: data = data[os.write(3, data):]
"""


def test_a_display_that_fills_a_frame_hurts_nobody(attacker):
    code = NONCE + LARGE + "'true'"
    done = attacker.run(code, call="c" * 128, cell_ms=20000)
    assert (done.status, done.result) == ("ok", "'true'"), done
    assert done.displays == [
        {"text/plain": "[a/b dropped: a display has 16 MiB at most]"}
    ]


CALLS = """
for i in {numbers}:
    say(type='tool', number=i, name='add', data='{{}}')
time.sleep(0.3)
'over'
"""


# name, how it numbers its calls, how many are passed on
NUMBERED = [
    ("once each", "range(1, 9)", 8),
    ("twice the same", "[1, 1, 2, 2]", 4),
    ("backwards", "[9, 8, 7]", 3),
    ("more than may be open", "range(1, 40)", 16),
    ("at the edge", "[0, 2**64 - 1, 1]", 3),
]


@pytest.mark.parametrize(
    "name, numbers, passed", NUMBERED, ids=[r[0] for r in NUMBERED]
)
def test_calls_of_tools_are_numbered_by_the_warden(attacker, name, numbers, passed):
    ref, _ = attacker.start(NONCE + CALLS.format(numbers=numbers), tools=TOOLS)
    heard = []
    while (frame := attacker.connection.answer(ref))["type"] != "done":
        heard += [frame["number"]] if frame["type"] == "tool" else []
    assert heard == [*range(1, passed + 1)]
    assert frame["cell"].get("state", "kept") == "kept", frame


def test_answers_that_nobody_asked_for_go_nowhere(attacker):
    ref, call = attacker.start("time.sleep(0.5)\n'true'")
    for number in (0, 1, 2**64 - 1):
        attacker.reply({"call": call, "number": number}, "evil")
        attacker.reply({"call": "another", "number": number}, "evil")
    assert attacker.finish(ref).result == "'true'"


def test_an_old_nonce_is_worth_nothing_in_the_next_cell(attacker):
    attacker.run(NONCE)
    for _ in range(3):
        done = attacker.run("say(type='done', result='late')\n'true'")
        assert (done.status, done.result) == ("ok", "'true'")


CHILD = """
if os.fork() == 0:
    while True:
        try:
            say(type='done', result='of a child')
        except OSError:
            pass
time.sleep(0.2)
"""


def test_a_child_that_speaks_in_place_of_its_parent_ends_one_cell_only(attacker):
    """It knows the nonce, so the cell is what it says; then both are one."""
    attacker.run("mark = 1")
    done = attacker.run(NONCE + CHILD, cell_ms=3000)
    assert (done.result, done.state) in (
        ("of a child", "kept"),  # and was swept
        ("of a child", "rolled_back"),  # or it went on until it had flooded
        ("", "rolled_back"),  # or it was quick enough to flood before
    ), done
    assert done.state == "kept" or "frames" in done.reason, done
    for _ in range(3):
        done = attacker.run("mark", cell_ms=1000)
        if done.result != "1":
            assert done.state == "rolled_back" and done.reason, done
    assert attacker.run("mark").result == "1"


def test_a_display_that_fits_no_frame_is_its_own_loss(attacker):
    """With what the warden adds it is larger than anybody takes."""
    shown = "import _quern\n_quern.display({'x/y': bytes((17 << 20) - 60)})\n'true'"
    done = attacker.run(shown, call="c" * 100)
    assert (done.status, done.state, done.result) == ("ok", "kept", "'true'")
    assert [list(d) for d in done.displays] == [["text/plain"]]
    assert "dropped" in str(done.displays[0]["text/plain"])


# Where it is, it says itself, and to nobody else.
TRACE = """
import signal
for number in (2, 63): signal.signal(number, signal.SIG_IGN)
where = f'most recent call first\\n  File "{sys._getframe().f_code.co_filename}"'
os.write(60, f'{where}, line {2**64 - 1} in f\\n'.encode())
while True: pass
"""


def test_a_line_that_no_code_has_is_not_told(attacker):
    attacker.run("mark = 1")
    done = attacker.run(TRACE, cell_ms=500)
    assert (done.status, done.state) == ("timeout", "rolled_back"), done
    assert "at line" not in done.reason
    assert attacker.run("mark").result == "1"
