"""One commit is tested with one set of packages: constraints.txt names all of them, at versions that are allowed."""

from __future__ import annotations

import re
import runpy
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = Path(__file__).resolve().parents[2]
LINES = [
    line for line in (PROJECT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]
PINS = dict(line.split("==") for line in LINES)


def test_every_line_is_one_version_of_one_package() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.+]*", line) for line in LINES)
    assert len(PINS) == len(LINES) == len({canonicalize_name(name) for name in PINS})
    assert sorted(LINES, key=lambda line: line.split("==")[0]) == LINES


def test_every_package_that_the_project_names_has_a_version_that_it_allows() -> None:
    requirements = [Requirement(text) for text in metadata.requires("sparkrank") or ()]
    assert {"numpy", "pyarrow", "pyspark", "pytest"} <= {each.name for each in requirements}
    for each in requirements:
        if each.name != "sparkrank":
            assert Version(PINS[canonicalize_name(each.name)]) in each.specifier, each


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the versions are those of newer Pythons")
def test_every_package_that_those_need_has_one() -> None:
    needed = runpy.run_path(str(PROJECT / "scripts" / "pin.py"))["needed"]()
    assert {"py4j", "numpy", "werkzeug"} <= needed.keys()
    assert needed.keys() - PINS.keys() == set()


def test_make_installs_these_versions() -> None:
    make = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert "--constraint constraints.txt" in make
    assert "$(PINNED) --editable" in make
    assert "constraints.txt" in re.findall(r"^BUILT_FROM := (.*)$", make, re.MULTILINE)[0].split()
