"""The quern command, for who is asked: every verdict, beside the job and on a
terminal that follows it."""

import msgpack
import pytest
from command import Terminal
from library import Library, job_id, pack

A = job_id(1)

pytestmark = pytest.mark.usefixtures("ends")


@pytest.fixture
def jobs(redis):
    return Library(redis).load()


@pytest.fixture
def ask(jobs):
    """A job that waits before a call, and goes on to the next one when told."""
    jobs.submit(A)

    def ask(call="1.0", fresh=True, **more):
        job = jobs.begin() if fresh else jobs.take_jobs()[0]
        if fresh:
            jobs.journal(A, job.epoch, 0, pack(v=1, kind="model_reply", turn=1))
        told = pack(reason="approval", call=call, turn=1, **more)
        jobs.wait(A, job.epoch, 0, "approval", 0, told, call)

    return ask


def record(jobs):
    return msgpack.unpackb(jobs.records(A)[-1])


# Every row: the options, what is said, the record of the journal.
VERDICTS = [
    ([], "approved: it goes on", {"verdict": "approve"}),
    (["--reject", "-r", "no"], "rejected", {"verdict": "reject", "observation": "no"}),
    (["--edit", "new.py"], "edited", {"verdict": "edit", "arguments": "6 * 8\n"}),
    (["--skip"], "skipped", {"verdict": "skip"}),
    (["--regenerate"], "asked for another", {"verdict": "regenerate"}),
    (["--ask", "why?"], "is told", {"verdict": "ask", "arguments": "why?"}),
    (["--abort"], "it ends", {"verdict": "abort"}),
    (["--call", "1.0"], "approved", {"verdict": "approve"}),
]


@pytest.mark.parametrize("options, said, told", VERDICTS)
def test_a_verdict(quern, jobs, ask, options, said, told):
    (quern.cwd / "new.py").write_text("6 * 8\n")
    ask()
    assert said in quern("approve", A, *options)
    assert "does not wait" in quern("approve", A, "--call", "1.1")
    kept = record(jobs)
    assert kept.pop("kind") == "approval" and kept.pop("turn") == 1
    assert kept.pop("call") == "1.0" and kept.pop("attempt") == 0
    filled = {"v": 1, "arguments": "", "observation": "", **told}
    assert kept == filled


def test_what_is_no_verdict_is_refused(quern, jobs, ask):
    ask()
    assert "2 verdicts" in quern("approve", A, "--skip", "--abort", code=64)
    assert "No such file" in quern("approve", A, "--edit", "none", code=65)
    (quern.cwd / "big").write_text("x" * 49153)
    assert "49152 bytes, the limit" in quern("approve", A, "--edit", "big", code=65)
    assert "with 0 bytes of text" in quern("approve", A, "--ask", "", code=65)
    assert jobs.state(A) == "waiting"


@pytest.mark.parametrize("words", ["--rejct", "reject", "--edit", "--again"])
def test_a_wrong_word_lists_the_verdicts(quern, words):
    err = quern.run("approve", A, words)[1]
    for word in "approve reject edit skip regenerate ask abort".split():
        assert word in err.partition("verdicts are")[2], err


def test_a_worker_that_names_no_call_is_told_the_verdict(quern, jobs):
    jobs.submit(A)
    jobs.wait(A, jobs.begin().epoch, 0, "approval", 0)
    assert "waits for approve or reject" in quern("approve", A, "--skip", code=65)
    assert quern.json("approve", A) == [{"id": A, "outcome": "approve"}]


def test_who_follows_on_a_terminal_is_asked(quern, jobs, ask):
    ask(tool="execute_python_code", code="6 * 7\x1b]0;mine\x07")
    with Terminal(quern, "watch", A) as terminal:
        terminal.wait_for("q abort:")
        assert "execute_python_code" in terminal.said
        assert "6 * 7" in terminal.said and "\x1b]0" not in terminal.said
        terminal.type("w\na\n")
        terminal.wait_for("text for the model:")
        terminal.type("which one?\n")
        terminal.wait_for("the model is told\r\n")
        assert record(jobs)["arguments"] == "which one?"
        ask("1.1", False, tool="pay", text='{"to": "me"}')
        terminal.wait_for('{"to": "me"}')
        terminal.wait_for("q abort:")
        assert quern("approve", A, "--call", "1.1", "--skip")
        terminal.type("y\n")
        terminal.wait_for("somebody has answered already")
        (job,) = jobs.take_jobs()
        jobs.finish(A, job.epoch)
        terminal.end()
    assert record(jobs)["verdict"] == "skip"


TURNED = 'if level != "user\u202e \u2066# check\u2069 \u2066":'
HIDDEN = [
    ("x = 1 # fine\rpay()", "x = 1 # fine<U+000D>pay()"),
    ("a = 1\r\nb = 2", "b = 2"),
    (TURNED, '"user<U+202E> <U+2066># check'),
    ("pass\u200bword", "pass<U+200B>word"),
    ("\u0645\u06cc\u200c\u062e = 1", "<U+200C>"),
    ("x = 1\u2028pay()", "x = 1<U+2028>pay()"),
    ("s = '\U0001f600\U000e0070\U000e0061\ufe03'", "<U+E0070><U+E0061><U+FE03>"),
]


@pytest.mark.parametrize("code, shown", HIDDEN)
def test_who_approves_sees_every_character(quern, jobs, ask, code, shown):
    quern.env["NO_COLOR"] = "1"
    ask(tool="pay\u202e\nyes", code=code)
    with Terminal(quern, "watch", A) as terminal:
        terminal.wait_for("q abort:")
        assert "to be approved: pay<U+202E><U+000A>yes\r\n" in terminal.said
        assert shown in terminal.said
        assert "\u202e" not in terminal.said
        terminal.type("q\n")
        jobs.cancel(A)


def test_what_was_answered_before_is_only_shown(quern, jobs, ask):
    ask(tool="pay")
    quern("approve", A)
    (job,) = jobs.take_jobs()
    with Terminal(quern, "watch", A) as terminal:
        terminal.wait_for("to be approved")
        jobs.finish(A, job.epoch)
        terminal.end()
        assert "q abort:" not in terminal.said


def test_nobody_is_asked_where_there_is_no_terminal(quern, jobs, ask):
    ask(tool="pay")
    child = quern.start("watch", A)
    jobs.cancel(A)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 1 and "q abort" not in out + err


def test_ctrl_c_leaves_the_question(quern, jobs, ask):
    ask(tool="pay")
    with Terminal(quern, "watch", A) as terminal:
        terminal.wait_for("q abort:")
        terminal.type("\x03")
        terminal.wait_for(f"it waits: quern approve {A}")
        terminal.wait_for("Ctrl-C again to leave")
    assert jobs.state(A) == "waiting"


def test_a_job_says_what_its_answer_has_to_fit(quern, consumer):
    (quern.cwd / "schema.json").write_text('{"type": "object"}')
    quern("submit", "q", "--output-schema", "schema.json")
    assert consumer.take().job["output_schema"] == {"type": "object"}
    (quern.cwd / "schema.json").write_text("{")
    said = quern("submit", "q", "--output-schema", "schema.json", code=65)
    assert "output_schema: not JSON: line 1" in said


def test_a_job_says_what_needs_approval(quern, consumer):
    quern("submit", "q", "--approve", "pay", "--approve", "execute_python_code")
    assert consumer.take().job["approve"] == ["pay", "execute_python_code"]
