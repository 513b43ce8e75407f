"""Write constraints.txt: what the development extra of pyproject.toml needs, at the versions that are installed here.

    .venv/bin/python scripts/pin.py

The tests hold that the file names every package that an installation needs, and that its versions are allowed.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[1]
FILE = PROJECT / "constraints.txt"
HEAD = """\
# The versions that the tests have passed with, of all that `pip install '.[dev]'` brings (scripts/pin.py writes this),
# and of what other extras name, whose versions are written by hand.
# The Makefile installs these on Python 3.11 and newer, so that one commit is tested with one set of packages.
"""


def needed(name: str = "sparkrank", extras: frozenset[str] = frozenset({"dev"})) -> dict[str, str]:
    """The installed version of every package that ``name`` with ``extras`` needs, and those need in turn."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    left = [(name, extras)]
    while left:
        package, asked = left.pop()
        if (package, asked) in seen:
            continue
        seen.add((package, asked))
        try:
            installed = metadata.distribution(package)
        except metadata.PackageNotFoundError:  # for another system
            continue
        if package != name:
            found[package] = installed.version
        for text in installed.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (*asked, "")):
                left.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return found


def of_other_extras() -> dict[str, str]:
    """The version that the file has of every package that an extra outside of the development extra names."""
    named = {canonicalize_name(Requirement(text).name) for text in metadata.requires("sparkrank") or ()}
    lines = (line.partition("==") for line in FILE.read_text(encoding="utf-8").splitlines() if "==" in line)
    return {package: version for package, _, version in lines if package in named}


if __name__ == "__main__":
    pins = of_other_extras() | needed()
    lines = [f"{package}=={version}" for package, version in sorted(pins.items())]
    FILE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} packages in {FILE.name}")
