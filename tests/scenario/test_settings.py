"""What the tables of settings tell, and that documents say the same."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from servers import PATIENCE_S, binary

TREE = pathlib.Path(__file__).resolve().parents[2]
MARK = "<!-- generated -->\n"
# folder: the command that prints the table of its settings
MARKDOWN = {
    "consumer": [binary("quern-consumer"), "--document", "markdown"],
    "executor": [binary("quern-executor"), "--document", "markdown"],
    "producer": [binary("quern"), "help", "settings", "markdown"],
    "producer/gateway": [binary("quern-gateway"), "--document", "markdown"],
    "producer/deliver": [binary("quern-deliverer"), "--document", "markdown"],
}
MAN = {
    "quern-consumer": [binary("quern-consumer"), "--document", "man"],
    "quern-executor": [binary("quern-executor"), "--document", "man"],
    "quern-gateway": [binary("quern-gateway"), "--document", "man"],
    "quern-deliverer": [binary("quern-deliverer"), "--document", "man"],
    "quern": [binary("quern"), "help", "man"],
}
SAMPLE = {
    "quern-consumer": [binary("quern-consumer"), "--document", "sample"],
    "quern-executor": [binary("quern-executor"), "--document", "sample"],
    "quern-gateway": [binary("quern-gateway"), "--document", "sample"],
    "quern-deliverer": [binary("quern-deliverer"), "--document", "sample"],
    "quern": [binary("quern"), "help", "settings", "sample"],
}


def run(*command, code=0, **env):
    done = subprocess.run(
        command,
        env={"PATH": os.environ["PATH"], "HOME": "/nowhere", **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


@pytest.mark.parametrize("room", MARKDOWN)
def test_the_page_of_a_room_is_what_its_program_says(room):
    page = TREE / room / "SETTINGS.md"
    text = page.read_text()
    head = text[: text.index(MARK) + len(MARK)]
    tables = run(*MARKDOWN[room])
    if os.environ.get("QUERN_UPDATE"):
        page.write_text(head + tables)
    assert page.read_text() == head + tables


@pytest.mark.parametrize("program", SAMPLE)
def test_a_sample_is_a_settings_file(program, tmp_path):
    """With every # taken away it says what the defaults say."""
    sample = run(*SAMPLE[program])
    lines = re.findall(r"^#([A-Z_]+=.*)$", sample, re.M)
    assert len(lines) >= 8
    # Without a default, a line would say that the value is nothing.
    path = tmp_path / "all.conf"
    path.write_text("".join(f"{x}\n" for x in lines if not x.endswith("=")))
    if program == "quern":
        run(binary("quern"), "help", QUERN_CONFIG=str(path))
    else:
        run(binary(program), "--config", path, "--version")


@pytest.mark.parametrize("program", ["quern-consumer", "quern-executor"])
def test_mistakes_are_told_by_the_name_they_have(program, tmp_path):
    path = tmp_path / "wrong.conf"
    path.write_text("# mine\n\nQUERN_MEMORY=512\n")
    said = run(binary(program), "--config", path, code=64)
    assert f'{path}:3: QUERN_MEMORY is "512", must have a unit: 512B,' in said
    said = run(binary(program), code=64, QUERN_CELL_TIME="1w")
    assert 'QUERN_CELL_TIME is "1w", must be a time from' in said
    said = run(binary(program), "--cell-time=5", code=64, QUERN_CELL_TIME="1m")
    assert '--cell-time is "5", must have a unit: 5ms, 5s or 5m' in said
    said = run(binary(program), "--cell-tmie", "5s", code=64)
    assert "there is no flag --cell-tmie; did you mean --cell-time?" in said


@pytest.mark.parametrize("program", MAN)
@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not here")
def test_a_man_page_is_one(program):
    page = run(*MAN[program])
    done = subprocess.run(
        ["groff", "-man", "-Tascii", "-ww", "-z"],
        input=page,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stderr == ""


def test_the_man_page_of_quern_has_all_verbs_options_and_settings():
    page = run(*MAN["quern"]).replace("\\-", "-")
    told = run(binary("quern"), "help").split("\n\n")[2]
    verbs = re.findall(r"^  ([a-z]+(?: [a-z]+)?) ", told, re.M)
    assert len(verbs) > 40
    heads = re.findall(r'^\.SS "quern ([^"]*)"$', page, re.M)
    for verb in verbs:
        assert [x for x in heads if x == verb or x.startswith(verb + " ")], verb
        # Each verb's own options stand behind its head, before the next one's.
        part = page.split(f'\n.SS "quern {verb}', 1)[1].split("\n.SS ", 1)[0]
        told = run(binary("quern"), "help", *verb.split())
        for option in re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", told, re.M):
            assert f"--{option}" in part, (verb, option)
    settings = run(*MARKDOWN["producer"])
    for name in re.findall(r"^\| `--([a-z-]+)`", settings, re.M):
        assert f'"--{name}"' in page, name
    for status in ("0", "1", "64", "65", "69", "74", "75"):
        assert re.search(rf"^ +{status} ", page.split("\n.SH EXIT STATUS")[1], re.M)
    for head in ("ENVIRONMENT", "FILES", "OPTIONS OF EVERY VERB"):
        assert f"\n.SH {head}\n" in page


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("program", ["quern-consumer", "quern-executor"])
def test_help_fits_the_terminal(program, columns):
    lines = run(binary(program), "--help", COLUMNS=str(columns)).splitlines()
    told = lines[: lines.index("Examples:")]
    # A word that is longer than the line stands alone in it.
    assert [x for x in told if len(x) > columns and len(x.split()) > 1] == []
    assert max(map(len, told)) > columns - 20


def test_help_of_a_verb_fits_the_terminal():
    for columns in (60, 100):
        for verb in ("queue set", "schedule add", "submit"):
            page = run(binary("quern"), "help", *verb.split(), COLUMNS=str(columns))
            # Without its first line, examples and tables.
            text = [x for x in page.splitlines()[1:] if x[:1] != " "]
            text = [x for x in text if "  " not in x]
            assert columns - 20 < max(map(len, text)) <= columns
            assert "\n  " in page  # an example
