"""Repeats recorded jobs with the consumer of today: each must be equal, and a diff
shows the first difference. There must be a recording of every kind and end. See
"Recorded jobs" in tests/RECORDINGS.md."""

import base64
import json
import pathlib
import re
import subprocess

import msgpack
import pytest
from servers import SOURCE, binary

JOBS = pathlib.Path(__file__).parent / "jobs"
PACK = sorted(JOBS.glob("*.jsonl"))
LARGEST = 3 << 20  # bytes of all of them
SCHEMA = pathlib.Path(SOURCE, "schemas", "json", "job.schema.json")
# All members of a job: when one is added, a recording has to have it.
MEMBERS = sorted({*json.loads(SCHEMA.read_text())["properties"]} - {"v"})


class Recording:
    def __init__(self, path):
        self.name = path.stem
        lines = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
        self.id = lines[0]["recording"]["job"]
        self.job = next((line["job"] for line in lines if "job" in line), {})
        [body] = [line["body"] for line in lines if "body" in line] or [None]
        if body:
            self.job = job_in(base64.b64decode(body["base64"]))
        self.records = [line["record"] for line in lines if "record" in line]
        self.result = lines[-1]["result"]

    def end(self):
        code = self.result.get("error", {}).get("code", "")
        return f"{self.result['status']} {code}".strip()

    def terms(self):
        """All under which the model was asked."""
        return [json.loads(r["terms"]) for r in self.records if r.get("terms")]


def job_in(body):
    try:
        job = msgpack.unpackb(body)
    except ValueError:
        return {}
    return job if isinstance(job, dict) else {}


@pytest.fixture(scope="module")
def pack():
    return [Recording(path) for path in PACK]


@pytest.fixture(scope="module")
def outcomes(pack):
    """Of each recording, by the job's id: one process replays them all, with the
    instructions that are ours."""
    args = [binary("quern-replay"), "--prompts", "", "--json", *PACK]
    done = subprocess.run(args, capture_output=True, text=True)
    assert done.stderr == "" and done.returncode in (0, 1), done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {outcome["job"]: outcome for outcome in told}


@pytest.mark.parametrize("number", range(len(PACK)), ids=[path.stem for path in PACK])
def test_a_recorded_job_is_done_again(pack, outcomes, number):
    recording = pack[number]
    outcome = outcomes[recording.id]
    assert outcome["equal"], outcome["first_difference"]["diff"]
    assert outcome["steps"] == len(recording.records) + 1
    asked = [r for r in recording.records if r["kind"] == "model_intent"]
    sent = [r for r in asked if not r.get("failed")]
    assert outcome["requests"] == len(sent), "each is compared, byte for byte"


def test_there_are_so_many_and_they_are_small():
    assert len(PACK) >= 150
    assert sum(path.stat().st_size for path in PACK) <= LARGEST


# --- what there has to be one of

ENDS = """
completed
incomplete bad_output
incomplete cost_limit
incomplete loop
incomplete no_action
incomplete no_answer
incomplete token_limit
incomplete turn_limit
cancelled
cancelled aborted
failed bad_blob
failed bad_field
failed bad_message
failed cell_failed
failed crashed
failed deadline_exceeded
failed deadline_mismatch
failed executor_unavailable
failed id_mismatch
failed internal
failed missing_blob
failed missing_field
failed model_context
failed model_cut
failed model_garbage
failed model_refused
failed model_rejected
failed model_too_long
failed model_unavailable
failed not_approved
failed not_before_mismatch
failed priority_mismatch
failed queue_mismatch
failed redis_refused
failed session_exists
failed session_failed
failed session_mismatch
failed tenant_budget
failed tenant_mismatch
failed too_large
failed tool_unavailable
failed unknown_file
failed unknown_model
failed unknown_session
failed unknown_tool
failed unsupported_version
""".strip().splitlines()

# Codes that no job ends with, or of which no recording can be made.
NEVER = {
    "bad_argument": "a transition refuses its caller",
    "bad_setting": "a program does not start",
    "expired": "clients are told so of a job that has ended",
    "lost_body": "a recording has what was submitted",
    "misplaced": "a transition refuses its caller",
    "no_interpreter": "the executor does not start, or tries again",
    "not_dead": "an operator's call is refused",
    "not_durable": "a consumer waits, clients are told",
    "not_saved": "a client cannot write a file",
    "queue_full": "a submit is refused, there is no job",
    "redis_full": "a consumer waits until it is over",
    "redis_unavailable": "a consumer waits until it is over",
    "stale": "a transition refuses its caller",
    "timeout": "a client has not waited long enough",
    "unknown_call": "the executor tells the consumer",
    "unknown_job": "a transition refuses its caller",
    "unknown_outcome": "clients, models and code are told",
    "unknown_queue": "an operator's call is refused",
    "unknown_schedule": "an operator's call is refused",
    "unknown_hook": "an operator's call is refused",
    "unknown_worker": "an operator's call is refused",
}


@pytest.mark.parametrize("end", ENDS)
def test_one_ends_so(pack, end):
    assert end in {recording.end() for recording in pack}


def test_every_error_code_is_accounted_for():
    """Those of the table in schemas/MESSAGES.md: a new one needs a recording."""
    text = pathlib.Path(SOURCE, "schemas", "MESSAGES.md").read_text()
    table = text.partition("## Error codes")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line[:2] == "| "]
    codes = {code for cell in rows for code in re.findall(r"`(\w+)`", cell)}
    recorded = {end.partition(" ")[2] for end in ENDS} - {""}
    assert len(codes) > 50 and not recorded & set(NEVER)
    assert codes == recorded | set(NEVER)


def kinds(pack):
    """With the mode and the dialect of each conversation that asks a model."""
    for recording in pack:
        job = recording.job
        kind = job.get("kind", "conversation")
        yield kind
        if kind == "session":
            yield f"session that is to {job.get('action', {}).get('do', 'show')}"
        for terms in recording.terms():
            mode, dialect = job.get("mode", "tools"), terms.get("dialect", "chat")
            yield f"{mode} in {dialect}"
            yield f"{mode} in {dialect}, {recording.end()}"


def cells(pack):
    for recording in pack:
        for cell in recording.result.get("cells", []):
            yield f"cell {cell['status']}"
            yield f"session {cell.get('state', 'kept')}"


def steps(pack):
    """What stands in their journals."""
    for recording in pack:
        for record in recording.records:
            yield record["kind"]
            for name in ("verdict", "brake", "purpose", "last"):
                yield f"{name} {record.get(name, '')}"
            if record.get("attempt", 1) > 1:
                yield f"{record['kind']} of another attempt"
            if record.get("failed"):
                yield f"{record['kind']} that failed"
            if record.get("number"):
                yield f"{record['kind']} of a call that code makes"


def members(pack):
    return (name for recording in pack for name in recording.job)


MUST = [
    (
        kinds,
        "conversation",
        "code",
        "session that is to show",
        "session that is to files",
        "session that is to get",
        "session that is to put",
        "session that is to close",
        "session that is to fork",
        *(
            f"{mode} in {dialect}{how}"
            for mode in ("tools", "codeact")
            for dialect in ("chat", "anthropic", "responses")
            for how in ("", ", completed")
        ),
        *(
            f"tools in {dialect}, {end}"
            for dialect in ("chat", "anthropic", "responses")
            for end in (
                "incomplete token_limit",
                "incomplete turn_limit",
                "incomplete no_answer",
                "failed model_refused",
                "failed model_rejected",
            )
        ),
    ),
    (
        cells,
        *(
            f"cell {status}"
            for status in ("ok", "error", "exit", "timeout", "memory")
            + ("crashed", "interrupted", "unknown")
        ),
        *(f"session {state}" for state in ("kept", "rolled_back", "restored", "lost")),
    ),
    (
        steps,
        "model_intent",
        "model_intent that failed",
        "model_intent of another attempt",
        "model_sent",
        "model_reply",
        "model_reply of another attempt",
        "tool_intent",
        "tool_intent of a call that code makes",
        "tool_result",
        "tool_result that failed",
        "tool_result of another attempt",
        "tool_result of a call that code makes",
        "approval",
        *(
            f"verdict {verdict}"
            for verdict in ("approve", "reject", "edit", "skip", "regenerate")
            + ("ask", "abort")
        ),
        "brake hint",
        "brake forbid",
        "purpose summary",
        "last turn_limit",
        "last token_limit",
        "last cost_limit",
        "last loop",
    ),
    (members, *MEMBERS),
]


@pytest.mark.parametrize(
    "what, wanted", [(what, w) for what, *all in MUST for w in all]
)
def test_there_is_one_of(pack, what, wanted):
    assert wanted in set(what(pack))
