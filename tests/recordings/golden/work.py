"""Jobs of code alone, sessions and what is done with them, tools, people who
approve, and jobs that cannot be carried out."""

import msgpack
from golden.rows import HUNGRY, acts, asks, calls, earlier, in_ms, row, text, writes
from golden.steps import (
    a_while,
    blob_changed,
    blob_of_another_type,
    blobs_deleted,
    executor_killed,
    executor_with,
    library_broken,
    meanwhile,
    person_says,
    when,
)
from stack import job_id

PYTHON = ["execute_python_code"]


def code(what, end, *cells, **more):
    return row(f"code-{what}", end, kind="code", cells=[*cells], **more)


CODE = [
    code("answer", "completed", "6 * 7", shows=['"result":"42"']),
    code(
        "prints", "completed", "import sys\nprint('out')\nprint('err', file=sys.stderr)"
    ),
    code("variables", "completed", "x = 6", "y = 7", "x * y", shows=['"result":"42"']),
    code(
        "figure",
        "completed",
        "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1))\n"
        "plt.plot([1, 2]);",
        shows=["image/png"],
    ),
    code(
        "two-figures",
        "completed",
        "import matplotlib.pyplot as plt\nfor n in (1, 2):\n"
        "    plt.figure(figsize=(1, 1))\n    plt.plot([1, n]);",
        shows=["figure-2.png"],
    ),
    code(
        "table",
        "completed",
        "import pandas as pd\npd.DataFrame({'a': [1, 2]})",
        shows=["text/html"],
    ),
    code(
        "forms-of-a-display",
        "completed",
        "from IPython.display import HTML, JSON, Latex, Markdown, SVG, display\n"
        "display(HTML('<b>a</b>'), Markdown('**b**'), Latex('$c$'), JSON({'d': 1}),\n"
        "        SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'))",
        shows=["image/svg+xml"],
    ),
    code(
        "display-updated",
        "completed",
        "from IPython.display import display\nd = display('one', display_id='d')",
        "d.update('two')",
        shows=["two"],
    ),
    code(
        "output-cleared",
        "completed",
        "from IPython.display import clear_output\nprint('gone')\nclear_output()\n"
        "print('stays')",
        shows=['"stdout":"stays'],
    ),
    code(
        "files",
        "completed",
        "import os\nos.makedirs('d')\nopen('d/a.csv', 'w').write('1,2\\n')\n"
        "open('b.txt', 'w').write('b');",
        "open('b.txt', 'a').write('b');\nos.remove('d/a.csv')",
        shows=['"change":"changed"', '"change":"deleted"'],
    ),
    code("upload", "completed", "open('a.csv').read()", files={"a.csv": b"1,2\n"}),
    code("exception", "failed cell_failed", "1", "1 / 0", "3"),
    code(
        "exception-of-an-exception",
        "failed cell_failed",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
        "    raise ValueError('so') from e",
    ),
    code("syntax-error", "failed cell_failed", "if:", shows=["SyntaxError"]),
    code(
        "exit",
        "failed cell_failed",
        "import sys\nsys.exit(3)",
        shows=['"status":"exit"'],
    ),
    code("exit-at-ease", "failed cell_failed", "raise SystemExit"),
    code(
        "interrupts-itself",
        "failed cell_failed",
        "raise KeyboardInterrupt",
        shows=['"status":"interrupted"'],
    ),
    code(
        "stopped-at-its-deadline",
        "failed cell_failed",
        "import time\ntime.sleep(60)",
        limits={"cell_ms": 300},
        shows=['"status":"timeout"'],
    ),
    code(
        "killed-at-its-deadline",
        "failed cell_failed",
        "x = 1",
        "x = 2\nsum(range(10**12))",
        limits={"cell_ms": 300},
        shows=['"state":"rolled_back"'],
    ),
    code(
        "memory",
        "failed cell_failed",
        "x = 1",
        HUNGRY,
        limits={"memory_bytes": 256 << 20},
        shows=['"status":"memory"', '"state":"rolled_back"'],
    ),
    code(
        "crash",
        "failed cell_failed",
        "x = 1",
        "import os\nos._exit(1)",
        shows=['"status":"crashed"'],
    ),
    code(
        "crash-by-a-signal",
        "failed cell_failed",
        "import ctypes\nctypes.string_at(0)",
        shows=['"status":"crashed"'],
    ),
    code(
        "long-output",
        "completed",
        "for n in range(9000): print(n)",
        shows=['"stdout_blob"'],
    ),
    code(
        "bytes",
        "completed",
        "import sys\nsys.stdout.buffer.write(b'\\xff\\x00')\nb'\\xff'",
    ),
    code(
        "drawn-over",
        "completed",
        "for n in range(9): print(n, end='\\r')\nprint('\\x1b[1mb\\x1b[0m')",
    ),
    code("input", "failed cell_failed", "input('name? ')"),
    code(
        "no-network",
        "failed cell_failed",
        "import socket\nsocket.create_connection(('192.0.2.1', 80), 1)",
    ),
    code(
        "calls-a-tool",
        "completed",
        "print(search(query='a'))",
        shows=["/search?query=a"],
    ),
    code("nothing", "completed", ""),
    code("nothing-in-a-session", "completed", "", session="lab"),
    code(
        "environment",
        "completed",
        "import os\nlen(os.environ['KEY'])",
        env={"KEY": "s3cret"},
        shows=['"KEY":""', '"result":"6"'],
    ),
    code(
        "environment-and-an-unknown-member",
        "completed",
        "import os\nlen(os.environ['KEY'])",
        env={"KEY": "s3cret"},
        colour="red",
        shows=['unknown member \\"colour\\"'],
    ),
    code(
        "metadata",
        "completed",
        "1",
        metadata={"ticket": "T-7", "who": "Ada"},
        notify=True,
        shows=['"ticket":"T-7"'],
    ),
    code("high-priority", "completed", "1", priority="high"),
    code(
        "low-priority-of-a-tenant", "completed", "1", priority="low", tenant="user:42"
    ),
    code("idempotent", "completed", "1", idempotency_key="once"),
    code("delayed", "completed", "1", not_before=lambda: in_ms(300)),
    code(
        "traced",
        "completed",
        "1",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    code(
        "trace-with-state",
        "completed",
        "1",
        traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        tracestate="rojo=00f067aa0ba902b7,acme@quern=t61rcWkgMzE",
    ),
    code("note-of-the-client", "completed", "1", client="view 7"),
    code("chinese", "completed", "print('四十二')", files={"表.csv": b"1"}),
    code(
        "library-is-broken", "failed internal", "1", before=[library_broken("journal")]
    ),
    code(
        "disk-too-small-for-its-file",
        "failed session_failed",
        "1",
        files={"a.bin": bytes(2 << 20)},
        before=[executor_with("--disk", "1")],
    ),
    code(
        "executor-is-meant-to-be-none",
        "failed executor_unavailable",
        "1",
        house="no executor",
    ),
]


def session(what, end, do, before=(), **more):
    action = {k: more.pop(k) for k in ("names", "to") if k in more}
    return row(
        f"session-{what}",
        end,
        kind="session",
        session="lab",
        before=before,
        action={"do": do, **action},
        **more,
    )


def cells(*cells, **more):
    return earlier(kind="code", cells=[*cells], session="lab", **more)


def code_of_session(what, end, *cells, **more):
    return row(
        f"session-{what}", end, kind="code", cells=[*cells], session="lab", **more
    )


LEFT = cells("x = 1\nopen('f', 'w').write('1');")
SESSIONS = [
    session("show", "completed", "show", [LEFT], shows=['"record"']),
    session("show-unknown", "failed unknown_session", "show"),
    session("files", "completed", "files", [LEFT], shows=['"listing"']),
    session("get", "completed", "get", [LEFT], names=["f"]),
    session("get-unknown", "failed unknown_file", "get", [LEFT], names=["g"]),
    session("put", "completed", "put", [LEFT], files={"a.csv": b"1,2\n"}),
    session("put-into-none", "completed", "put", files={"a.csv": b"1,2\n"}),
    session("close", "completed", "close", [LEFT]),
    session("close-unknown", "failed unknown_session", "close"),
    session("fork", "completed", "fork", [LEFT], to="what-if"),
    session(
        "fork-exists",
        "failed session_exists",
        "fork",
        [LEFT, earlier(kind="code", cells=["1"], session="taken")],
        to="taken",
    ),
    session("fork-unknown", "failed unknown_session", "fork", to="what-if"),
    session("with-metadata", "completed", "show", [LEFT], metadata={"ticket": "T-7"}),
    row(
        "session-lives",
        "completed",
        [acts("x + 1"), text("2")],
        before=[LEFT],
        session="lab",
        shows=['"result":"2"', '"number":2'],
    ),
    row(
        "session-restored",
        "completed",
        [acts("x + 1"), text("2")],
        before=[LEFT, executor_killed],
        session="lab",
        shows=['"state":"restored"'],
    ),
    row(
        "session-restored-in-part",
        "completed",
        [acts("x"), text("1")],
        before=[cells("x = 1\ng = (1 for _ in [1])"), executor_killed],
        session="lab",
        shows=["g ("],
    ),
    row(
        "session-lost",
        "completed",
        [acts("'x' in globals()"), text("No.")],
        before=[LEFT, blobs_deleted, executor_killed],
        session="lab",
    ),
    row(
        "session-not-saved",
        "completed",
        [acts("x = 2"), text("so")],
        before=[LEFT],
        session="lab",
        house="saves nothing",
    ),
    row(
        "session-rolled-back",
        "completed",
        [acts("x = 2\nsum(range(10**12))"), acts("x"), text("1")],
        before=[LEFT],
        session="lab",
        limits={"cell_ms": 300},
        shows=['"state":"rolled_back"', '"result":"1"'],
    ),
    row(
        "session-of-a-tenant",
        "completed",
        [writes("x = 1"), text("FINAL ANSWER: 1")],
        session="lab",
        tenant="ann@example.org",
        mode="codeact",
    ),
    code_of_session(
        "waits-for-its-turn",
        "completed",
        "x + 1",
        before=[
            meanwhile(
                kind="code", session="lab", cells=["import time\ntime.sleep(1)\nx = 1"]
            )
        ],
        shows=['"result":"2"'],
    ),
]

TOOLS = [
    row(
        "tool-get",
        "completed",
        [calls(asks("search", query="a", kind="b")), text("so")],
        house="tooled",
        shows=["/search?query=a&kind=b"],
    ),
    row(
        "tool-get-of-a-bad-choice",
        "completed",
        [calls(asks("search", query="a", kind="c")), text("no")],
        house="tooled",
        shows=['"failed":true'],
    ),
    row(
        "tool-post",
        "completed",
        [calls(asks("order", item="rye/2", count=3)), text("ordered")],
        house="tooled",
        metadata={"user": "Ada"},
    ),
    row(
        "tool-out-of-order",
        "completed",
        [calls(asks("broken")), text("no")],
        house="tooled",
        shows=["500"],
    ),
    row(
        "tool-too-large",
        "completed",
        [calls(asks("large")), text("no")],
        house="tooled",
    ),
    row(
        "tool-too-slow", "completed", [calls(asks("slow")), text("no")], house="tooled"
    ),
    row(
        "tool-guarded-by-the-operator",
        "completed",
        [calls(asks("guarded", query="a")), text("so")],
        house="tooled",
        during=[person_says("approve")],
    ),
    row(
        "tool-of-a-server",
        "completed",
        [calls(asks("weather_say", x="Rome")), text("rain")],
        house="tooled",
        shows=["It rains."],
    ),
    row(
        "tool-of-a-server-fails",
        "completed",
        [calls(asks("weather_book", x="12")), text("no")],
        house="tooled",
        shows=["all seats are taken"],
    ),
    row(
        "tool-of-a-server-called-by-code",
        "completed",
        [writes("print(weather_say(x='Rome'))"), text("FINAL ANSWER: rain")],
        house="tooled",
        mode="codeact",
        shows=["It rains."],
    ),
    row(
        "tool-of-a-server-that-is-away",
        "failed tool_unavailable",
        tools=["gone_say"],
        house="servers away",
    ),
    row(
        "tool-calculates",
        "completed",
        [calls(asks("calculate_math_expression", expression="2**0.5")), text("so")],
        house="tooled",
        shows=["1.4142"],
    ),
    row(
        "tool-cannot-calculate",
        "completed",
        [calls(asks("calculate_math_expression", expression="1/0")), text("no")],
        house="tooled",
    ),
    row(
        "tool-fetches-a-page",
        "completed",
        [calls(asks("fetch_url", url="http://pages/page")), text("so")],
        house="tooled",
        shows=["[milled](https://mills.example/)"],
    ),
    row(
        "tool-fetches-a-page-for-code",
        "completed",
        [acts("print(fetch_url('http://pages/page')['title'])"), text("so")],
        house="tooled",
        shows=["Grain"],
    ),
    row(
        "tool-fetches-elsewhere",
        "completed",
        [calls(asks("fetch_url", url="http://10.0.0.1/")), text("no")],
        house="tooled",
    ),
    row(
        "tool-searches",
        "completed",
        [calls(asks("search_web", query="grain")), text("mills")],
        house="tooled",
        shows=["https://mills.example/"],
    ),
    row(
        "tool-searches-for-code",
        "completed",
        [
            writes("search_web('grain')['results'][0]['url']"),
            text("FINAL ANSWER: mills"),
        ],
        house="tooled",
        mode="codeact",
        shows=["https://mills.example/"],
    ),
    row(
        "tool-four-at-once",
        "completed",
        [
            calls(
                asks("search", "a", query="a"),
                asks("order", "b", item="b"),
                asks("weather_say", "c", x="c"),
                asks("calculate_math_expression", "d", expression="1+1"),
            ),
            text("so"),
        ],
        house="tooled",
    ),
]


def approval(what, end, says, *verdicts, **more):
    during = [person_says(*verdict) for verdict in verdicts]
    return row(
        f"approval-of-{what}",
        end,
        says,
        **{"approve": PYTHON, "during": during, **more},
    )


APPROVALS = [
    approval("code-given", "completed", [acts("6 * 7"), text("42")], ["approve"]),
    approval(
        "code-rejected",
        "completed",
        [acts("6 * 7"), text("no")],
        ["reject", "too dear"],
        shows=["too dear"],
    ),
    approval(
        "code-edited",
        "completed",
        [acts("6 * 7"), text("4")],
        ["edit", "", "2 + 2"],
        shows=['"code":"2 + 2"'],
    ),
    approval("code-skipped", "completed", [acts("6 * 7"), text("so")], ["skip"]),
    approval(
        "code-asked-about",
        "completed",
        [acts("6 * 7"), text("so")],
        ["ask", "", "what for?"],
        shows=["what for?"],
    ),
    approval(
        "code-regenerated",
        "completed",
        [acts("6 * 7"), acts("42"), text("42")],
        ["regenerate", "shorter"],
        ["approve"],
    ),
    approval("code-aborted", "cancelled aborted", [acts("6 * 7")], ["abort", "enough"]),
    approval(
        "arguments-edited-badly-and-well",
        "completed",
        [calls(asks("search", query="a")), text("so")],
        ["edit", "", "no JSON"],
        ["edit", "", '{"query": "b"}'],
        approve=["search"],
        shows=["/search?query=b"],
    ),
    approval(
        "two-of-three-calls",
        "completed",
        [
            calls(
                asks("search", "a", query="a"),
                asks("search", "b", query="b"),
                asks("search", "c", query="c"),
            ),
            text("so"),
        ],
        ["approve"],
        ["reject"],
        ["approve"],
        approve=["search"],
    ),
    approval(
        "codeact",
        "completed",
        [writes("6 * 7"), text("FINAL ANSWER: 42")],
        ["approve"],
        mode="codeact",
    ),
    approval(
        "codeact-rejected",
        "completed",
        [writes("6 * 7"), text("FINAL ANSWER: no")],
        ["reject", "no code"],
        mode="codeact",
    ),
    approval(
        "codeact-edited",
        "completed",
        [writes("6 * 7"), text("FINAL ANSWER: 4")],
        ["edit", "", "2 + 2"],
        mode="codeact",
        shows=['"code":"2 + 2"'],
    ),
    approval(
        "nobody-in-time", "failed not_approved", [acts("6 * 7")], approval_ms=1000
    ),
    approval(
        "nobody-in-time-skipped",
        "completed",
        [acts("6 * 7"), text("so")],
        approval_ms=1000,
        approval_default="skip",
    ),
    approval(
        "the-operators-choice",
        "completed",
        [acts("6 * 7"), text("42")],
        ["approve"],
        approve=[],
        house="careful",
    ),
    approval(
        "a-session",
        "completed",
        [acts("x = 1"), acts("x + 1"), text("2")],
        ["approve"],
        ["approve"],
        session="lab",
    ),
    approval("an-unknown-tool", "failed unknown_tool", [], approve=["fly"]),
]


def bad(what, end, pairs=None, **job):
    return row(f"bad-{what}", f"failed {end}", pairs=pairs, **job)


def packed(**job):
    return lambda id: msgpack.packb({"v": 1, "id": id, **job})


def differs(name, value, **job):
    """What is said beside the job is not what it says itself."""
    about = {"pairs": "all", **({name: value} if value else {})}
    return bad(
        f"{name.replace('_', '-')}-mismatch",
        f"{name}_mismatch",
        about,
        prompt="x",
        **job,
    )


BAD = [
    bad("no-message", "bad_message", body=lambda id: b"\xc1 no job"),
    bad("half-a-message", "bad_message", body=lambda id: packed(prompt="x")(id)[:-1]),
    bad(
        "version",
        "unsupported_version",
        body=lambda id: msgpack.packb({"v": 2, "id": id, "prompt": "x"}),
    ),
    bad("nothing-asked", "missing_field", body=packed(metadata={"ticket": "T-7"})),
    bad("unknown-member-for-the-prompt", "missing_field", body=packed(promt="x")),
    bad(
        "prompt-and-messages",
        "bad_field",
        body=packed(prompt="x", messages=[{"role": "user", "content": "x"}]),
    ),
    bad("mode", "bad_field", body=packed(prompt="x", mode="dance")),
    bad("schema", "bad_field", output_schema={"type": "object", "if": {}}),
    bad(
        "too-many-files",
        "too_large",
        body=packed(
            prompt="x", files=[{"name": f"{n}", "blob": "0" * 64} for n in range(65)]
        ),
    ),
    bad("id", "id_mismatch", body=lambda id: packed(prompt="x")(job_id())),
    bad("model", "unknown_model", model="nobody"),
    bad("model-and-unknown-member", "unknown_model", model="nobody", sesion="s"),
    bad("tool", "unknown_tool", tools=["fly"]),
    bad(
        "file-without-its-blob",
        "missing_blob",
        body=packed(prompt="x", files=[{"name": "a", "blob": "0" * 64, "bytes": 3}]),
    ),
    bad(
        "file-of-other-bytes",
        "bad_blob",
        kind="code",
        cells=["1"],
        files={"a.csv": b"1,2\n"},
        before=[blob_changed("a.csv")],
    ),
    bad(
        "file-of-another-type",
        "redis_refused",
        kind="code",
        cells=["1"],
        files={"a.csv": b"1,2\n"},
        before=[blob_of_another_type("a.csv")],
    ),
    differs("tenant", "other", tenant="acme"),
    differs("queue", "default", queue="other"),
    differs("priority", "high"),
    differs("session", "other", session="lab"),
    differs("deadline", "", limits={"deadline_ms": 60000}),
    differs("not_before", "", not_before=lambda: in_ms(3600000)),
    row(
        "unknown-members",
        "completed",
        [text("Hello.")],
        sesion="s",
        limits={"cell_msec": 5},
        shows=["limits.cell_msec"],
    ),
    row(
        "unknown-members-of-a-cancelled-job",
        "cancelled",
        [{"delay_ms": 60000}],
        sesion="s",
        during=[
            when("turn.started"),
            a_while(200),
            lambda scene: scene.stack.call("cancel", scene.id),
        ],
    ),
]

ROWS = [*CODE, *SESSIONS, *TOOLS, *APPROVALS, *BAD]
