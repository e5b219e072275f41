"""What the READMEs say works, and where they point there is something."""

import pathlib
import re
import subprocess
import sys

import pytest
from stack import Stack

TREE = pathlib.Path(__file__).resolve().parents[2]
READMES = sorted(
    path
    for pattern in ("README.md", "*/README.md", "*/*/README.md")
    for path in TREE.glob(pattern)
    if "build" not in path.parts and "node_modules" not in path.parts
)


def test_python_of_the_front_page_works():
    (code,) = re.findall(
        r"^```python\n(.*?)^```", (TREE / "README.md").read_text(), re.M | re.S
    )
    with Stack() as stack:
        stack.consumer()
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"REDIS_URL": stack.redis.url},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.startswith("job.queued") for line in lines)
    assert any(line.startswith("job.completed") for line in lines)
    assert "primes" in lines[-1]


@pytest.mark.parametrize(
    "readme, fence, example",
    [
        ("README.md", "python", "ask.py"),
        ("producer/README.md", "js", "ask.mjs"),
        ("producer/README.md", "php", "ask.php"),
    ],
)
def test_what_is_quoted_is_what_is_tested(readme, fence, example):
    text = (TREE / readme).read_text()
    (code,) = re.findall(rf"^```{fence}\n(.*?)^```", text, re.M | re.S)
    assert code == (TREE / "producer" / "examples" / example).read_text()
    assert len(code.splitlines()) <= 15


@pytest.mark.parametrize(
    "readme", READMES, ids=[str(path.relative_to(TREE)) for path in READMES]
)
def test_links_lead_somewhere(readme):
    text = re.sub(r"`[^`\n]+`", "", readme.read_text())  # code is no link
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [x for x in links if not (readme.parent / x).exists()] == []
