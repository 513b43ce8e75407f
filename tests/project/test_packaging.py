"""What an index of packages shows, and what an installation is made of: pinned, oldest and newest versions."""

from __future__ import annotations

import re
import runpy
import sys
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import sparkrank as sr
from tests.project.test_pages import anchors

PROJECT = Path(__file__).resolve().parents[2]
PYPROJECT = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")


def pins_of(name: str) -> list[str]:
    lines = (PROJECT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


PINNED_LINES = pins_of("constraints.txt")
PINS = dict(line.split("==") for line in PINNED_LINES)
_LINK = re.compile(r"\]\(([^)\s]*)\)")


def given(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    told: dict[str, Any] = {}
    setuptools = SimpleNamespace(setup=lambda **options: told.update(options), Extension=lambda name, *_, **__: name)
    monkeypatch.setitem(sys.modules, "setuptools", setuptools)  # which newer Pythons do not bring
    monkeypatch.chdir(PROJECT)
    runpy.run_path("setup.py")
    return told


def test_links_of_the_long_description_lead_somewhere_from_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is absolute and names what is in the repository; nothing but links differs from the README."""
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    shown = given(monkeypatch)["long_description"]
    (home,) = re.findall(r'^Repository = "(https://.*)"$', PYPROJECT, re.MULTILINE)
    pictures = re.findall(r'\bsrc(?:set)?="([^"]*)"', readme)
    for picture in pictures:
        assert (PROJECT / picture).exists()
        assert f'="{home}/raw/main/{picture}"' in shown
    shown = shown.replace(f'="{home}/raw/main/', '="')
    assert _LINK.sub("]()", shown) == _LINK.sub("]()", readme)
    assert len(pictures) == 3
    links = list(zip(_LINK.findall(readme), _LINK.findall(shown), strict=True))
    assert len(links) > 10
    for before, after in links:
        assert re.match(r"https?://|#", after), after
        if before == after:
            continue
        name, _, anchor = after.removeprefix(f"{home}/blob/main/").partition("#")
        assert (PROJECT / name).exists(), after
        assert not anchor or anchor in anchors((PROJECT / name).read_text(encoding="utf-8")), after


def test_every_loop_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = {path.stem for path in (PROJECT / "sparkrank/native").glob("*.pyx")}
    assert set(given(monkeypatch)["ext_modules"]) == {f"sparkrank.native.{loop}" for loop in loops}


def test_the_oldest_versions_are_those_that_the_project_allows() -> None:
    """`make test-minimum` installs the lowest version of everything that a user needs; 1.11 stands for 1.11.1, too."""
    pins = dict(line.split("==") for line in pins_of("constraints-minimum.txt"))
    listed = re.findall(r"^(?:dependencies|spark|stores|report) = \[(.*?)\]$", PYPROJECT, re.MULTILINE | re.DOTALL)
    needed = [Requirement(text) for texts in listed for text in re.findall(r'"(.+?)"', texts)]
    assert sorted(pins) == sorted({canonicalize_name(each.name) for each in needed})
    for each in needed:
        lowest = [Version(one.version).release for one in each.specifier if one.operator == ">="]
        pinned = Version(pins[canonicalize_name(each.name)])
        assert pinned in each.specifier
        assert all(pinned.release[: len(release)] == release for release in lowest), each


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    """A file that is no module is there by a pattern of its package, or of all packages."""
    (section,) = re.findall(r"^\[tool\.setuptools\.package-data\]\n((?:.+\n)+)", PYPROJECT, re.MULTILINE)
    patterns = {
        name: re.findall(r'"(.+?)"', found)
        for name, found in re.findall(r'^"(.+?)" = \[(.*)\]$', section, re.MULTILINE)
    }
    files = [file for file in (PROJECT / "sparkrank").rglob("*") if file.is_file()]
    others = [file for file in files if file.suffix not in {".py", ".pyc", ".pyx", ".so", ".h", ".cpp"}]
    assert {"report.jinja", "report.css", "report.js", "py.typed"} <= {file.name for file in others}
    for file in others:
        package = next(folder for folder in file.parents if (folder / "__init__.py").exists())
        known = (*patterns["*"], *patterns.get(".".join(package.relative_to(PROJECT).parts), ()))
        assert any(fnmatch(file.relative_to(package).as_posix(), pattern) for pattern in known), file


def test_every_package_that_the_project_names_has_one_version_that_it_allows() -> None:
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.+]*", line) for line in PINNED_LINES)
    assert len(PINNED_LINES) == len({canonicalize_name(name) for name in PINS})
    assert sorted(PINS) == list(PINS)
    requirements = [Requirement(text) for text in metadata.requires("sparkrank") or ()]
    assert {"numpy", "pyarrow", "pyspark", "pytest"} <= {each.name for each in requirements}
    for each in requirements:
        if each.name != "sparkrank":
            assert Version(PINS[canonicalize_name(each.name)]) in each.specifier, each


def test_the_conda_recipe_and_the_citation_are_of_this_version_and_these_requirements() -> None:
    recipe = yaml.safe_load((PROJECT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    assert recipe["context"]["version"] == citation["version"] == sr.__version__
    changes = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{sr.__version__}] - {citation['date-released']}\n" in changes
    needed = {Requirement(text) for text in metadata.requires("sparkrank") or () if ";" not in text}
    run = {Requirement(text) for text in recipe["requirements"]["run"]}
    named = {(canonicalize_name(each.name), each.specifier) for each in needed}
    python = ("python", SpecifierSet(metadata.metadata("sparkrank")["Requires-Python"]))
    assert {(canonicalize_name(each.name), each.specifier) for each in run} == named | {python}
    extras = set(metadata.metadata("sparkrank").get_all("Provides-Extra") or ()) - {"test", "dev", "bench", "docs"}
    of_extras = [Requirement(text) for text in metadata.requires("sparkrank") or () if ";" in text]
    asked = [each for each in of_extras if each.marker and any(each.marker.evaluate({"extra": one}) for one in extras)]
    limited = [Requirement(text) for text in recipe["requirements"]["run_constraints"]]
    beside = {(canonicalize_name(each.name), each.specifier) for each in limited}
    assert beside == {(canonicalize_name(each.name), each.specifier) for each in asked if each.name != "pandas"}


def test_each_python_that_is_named_has_wheels_and_the_oldest_and_newest_are_tested() -> None:
    """`make test-installs` takes the named ones, where they are at hand, and the hosted checks the two ends."""
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PYPROJECT)
    (built,) = re.findall(r'^build = "(.*-\*)"$', PYPROJECT, re.MULTILINE)
    assert [f"cp{version.replace('.', '')}-*" for version in named] == built.split()
    flow = yaml.safe_load((PROJECT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    assert flow["jobs"]["tests"]["strategy"]["matrix"]["python"] == [named[0], named[-1]]


def test_the_hosted_checks_run_targets_that_there_are() -> None:
    make = (PROJECT / "Makefile").read_text(encoding="utf-8")
    flows = "".join(path.read_text(encoding="utf-8") for path in (PROJECT / ".github/workflows").glob("*.yml"))
    targets = set(re.findall(r"run: make ([a-z-]+)", flows))
    for names in re.findall(r"target: \[(.*)\]", flows):
        targets |= set(names.split(", "))
    assert {"test", "demo", "test-minimum", "test-long"} <= targets
    assert targets <= set(re.findall(r"^([a-z-]+):", make, re.MULTILINE))


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
