"""What deploy/debian says of the tree, without making packages: each installed file
is in one of them, and no list names what is not there. tests/debian/run makes them."""

import fnmatch
import os
import re
import subprocess

import pytest
from servers import BUILD, SOURCE

DEBIAN = os.path.join(SOURCE, "deploy", "debian")
# What debian/rules adds to an installation.
MADE_BY_RULES = {
    *(f"etc/quern/{name}.conf" for name in ("consumer", "deliverer", "executor", "gateway")),
    "usr/share/bash-completion/completions/quern",
    "usr/share/fish/vendor_completions.d/quern.fish",
    "usr/share/zsh/vendor-completions/_quern",
}


def lines_of(name):
    with open(os.path.join(DEBIAN, name)) as file:
        found = [line.strip() for line in file]
    found = [line for line in found if line and not line.startswith("#")]
    return [line.replace("${env:UNITS}", "usr/lib/systemd/system") for line in found]


def lists():
    names = [name for name in os.listdir(DEBIAN) if name.endswith(".install")]
    return {name: lines_of(name) for name in names}


def takes(pattern, path):
    return fnmatch.fnmatch(path, pattern) or path.startswith(pattern + "/")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The tree that debian/rules has in /usr; of this build, in /usr/local."""
    place = tmp_path_factory.mktemp("installed")
    subprocess.run(
        ["cmake", "--install", BUILD],
        env={**os.environ, "DESTDIR": str(place), "ASAN_OPTIONS": "detect_leaks=0"},
        check=True,
        capture_output=True,
    )
    assert os.listdir(place) == ["usr"] and os.listdir(place / "usr") == ["local"]
    return place / "usr/local"


@pytest.fixture(scope="module")
def files(installed):
    found = {
        os.path.join("usr", os.path.relpath(os.path.join(folder, name), installed))
        for folder, _, names in os.walk(installed)
        for name in names
    }
    return found | MADE_BY_RULES


def test_each_file_is_in_one_package(files):
    left_out = lines_of("not-installed")
    for path in files:
        # libquern's folder has the architecture's name in a package.
        path = re.sub(r"^usr/lib/(?!\w+/lib)(?=libquern|pkgconfig)", "usr/lib/any/", path)
        owners = [name for name, lines in lists().items() if any(takes(x, path) for x in lines)]
        if any(takes(pattern, path) for pattern in left_out):
            assert owners == [], path
        elif fnmatch.fnmatch(path, "usr/lib/*/libquern.so"):
            assert owners == ["libquern-dev.install"], path
        else:
            assert len(owners) == 1, (path, owners)


def test_no_list_names_what_is_not_there(files):
    there = {re.sub(r"^usr/lib/(?!\w+/lib)(?=libquern|pkgconfig)", "usr/lib/any/", x) for x in files}
    for name, lines in lists().items():
        for pattern in lines:
            assert any(takes(pattern, path) for path in there), (name, pattern)
    for name in os.listdir(DEBIAN):
        if name.endswith((".examples", ".docs")):
            for path in lines_of(name):
                assert os.path.exists(os.path.join(SOURCE, path)), (name, path)


def test_the_symbols_are_those_of_the_library(installed):
    [library] = [path for path in installed.rglob("libquern.so.0.*")]
    said = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    )
    exported = {line.split()[-1] for line in said.stdout.splitlines()}
    listed = {line.split("@")[0] for line in lines_of("libquern0.symbols")[1:]}
    # A sanitizer marks the globals of a file.
    assert {x for x in exported if x.startswith("quern_")} == listed


@pytest.mark.parametrize("program", ["quern-replay", "quern-practice-model"])
def test_a_page_without_settings_reads_well(installed, program):
    page = installed / "share/man/man1" / f"{program}.1"
    text = page.read_text()
    assert re.search(rf"^{program} \\- \S.*\S$", text, re.M)
    done = subprocess.run(
        ["man", "--warnings", "-E", "UTF-8", "-l", page],
        env={**os.environ, "MANWIDTH": "80", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert f"{program} [--" in done.stdout


def test_units_know_the_prefix(installed):
    place = installed / "lib/systemd/system"
    units = sorted(path.name for path in place.iterdir())
    assert len(units) == 4
    for unit in units:
        [start] = re.findall(r"^ExecStart=(\S+)", (place / unit).read_text(), re.M)
        assert (installed / os.path.relpath(start, "/usr/local")).exists(), (unit, start)
