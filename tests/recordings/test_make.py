"""The maker of recorded jobs makes them: three afresh, of those that it knows."""

import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / ".." / folder) for folder in ("scenario", "fault")]

from golden.make import ROWS  # noqa: E402
from golden.studio import Studio  # noqa: E402
from golden.rows import row, text  # noqa: E402

SOME = ["code-answer", "killed-before-a-reply", "approval-of-codeact"]


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with Studio(tmp_path_factory.mktemp("jobs"), "--profile", "bare") as studio:
        yield studio


@pytest.mark.parametrize("name", SOME)
def test_one_is_made_afresh(studio, name):
    [row] = [row for row in ROWS if row.name == name]
    made = pathlib.Path(studio.record(row))
    kept = HERE / "jobs" / made.name
    assert shape_of(made) == shape_of(kept), "it is the same job, but for times"


def shape_of(path):
    """Which lines it has, in order."""
    return [line.partition(":")[0] for line in path.read_text().split("\n")]


WRONG = [
    ("it ends otherwise", row("wrong", "failed", [text("Two.")])),
    ("it shows something else", row("wrong", "completed", [text("2")], shows=["Two"])),
]


@pytest.mark.parametrize("what, row", WRONG, ids=[what for what, _ in WRONG])
def test_one_that_is_not_what_its_row_says_is_not_kept(studio, what, row):
    with pytest.raises(AssertionError):
        studio.record(row)
    assert not (studio.folder / "wrong.jsonl").exists()


def test_each_has_a_name_of_its_own_and_is_kept():
    kept = {path.stem for path in (HERE / "jobs").glob("*.jsonl")}
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert {row.name for row in ROWS} <= kept
