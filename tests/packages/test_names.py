"""Which package brings a module; what counts as a package's name."""

import os
import re
import sys

import pytest
from servers import SOURCE

PACKAGES = os.path.join(SOURCE, "executor", "packages")
IMPORTS = os.path.join(PACKAGES, "imports")
sys.path.insert(0, PACKAGES)
import names

BRINGS = [
    ("cv2", "opencv-python-headless"),
    ("sklearn", "scikit-learn"),
    ("skimage", "scikit-image"),
    ("yaml", "PyYAML"),
    ("PIL", "pillow"),
    ("bs4", "beautifulsoup4"),
    ("docx", "python-docx"),
    ("fitz", "PyMuPDF"),
    ("dateutil", "python-dateutil"),
    ("Crypto", "pycryptodome"),
    ("seaborn", "seaborn"),  # most are called alike
    ("sentence_transformers", "sentence-transformers"),
]


@pytest.mark.parametrize("module, package", BRINGS, ids=[r[0] for r in BRINGS])
def test_what_brings_a_module(module, package):
    assert names.package_of(module, IMPORTS) == package


def test_the_list_of_them_is_sound():
    with open(IMPORTS, encoding="utf-8") as file:
        rows = [line.split() for line in file if line.strip() and line[0] != "#"]
    assert all(len(row) == 2 for row in rows)
    for module, package in rows:
        assert names.MODULE.fullmatch(module), module
        assert re.fullmatch(names.NAME, package), package
        assert names.normal(package) != names.normal(module), f"{module}: no need"
    modules = [module for module, _ in rows]
    assert len({*modules}) == len(modules), "each once"


REQUIREMENTS = [
    ("pandas", "pandas"),
    ("Zope.Interface", "Zope.Interface"),
    ("pandas[excel, xml]>=2,<3", "pandas"),
    ("x == 1.0.*", "x"),
    ("", None),
    ("-r", None),
    ("--index-url=http://x", None),
    ("x @ http://y/z.whl", None),
    ("git+https://x/y", None),
    ("./x", None),
    ("x; python_version > '3'", None),
    ("x\ny", None),
    ("x>=1 --no-deps", None),
    ("ｘ", None),
]


@pytest.mark.parametrize("text, package", REQUIREMENTS, ids=[r[0] for r in REQUIREMENTS])
def test_a_requirement_is_a_name_with_or_without_versions(text, package):
    if package:
        assert names.name_of(text) == package
        return
    with pytest.raises(names.Refused):
        names.name_of(text)
