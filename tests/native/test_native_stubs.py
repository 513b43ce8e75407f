"""The types of the loops stand beside them, in stubs, for no type checker reads Cython."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sparkrank

LOOPS = Path(sparkrank.__file__).parent / "native"
SOURCES = sorted(LOOPS.glob("*.pyx"))


def _of_the_stub(file: Path) -> dict[str, list[str]]:
    functions = (node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef))
    return {function.name: [argument.arg for argument in function.args.args] for function in functions}


def _of_the_source(file: Path) -> dict[str, list[str]]:
    """Python's functions, whose arguments are written ``const double[:, ::1] values``."""
    found = re.findall(r"^def (\w+)\(([^)]*)\)", file.read_text("utf-8"), re.MULTILINE)
    plain = {name: re.sub(r"\[[^\]]*\]", "", arguments) for name, arguments in found}
    return {name: [part.split()[-1] for part in text.split(",") if part.strip()] for name, text in plain.items()}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_stub_has_the_functions_of_its_loop_with_their_arguments(source: Path) -> None:
    functions = _of_the_source(source)
    assert functions
    assert _of_the_stub(source.with_suffix(".pyi")) == functions


def test_each_loop_is_imported_with_the_others() -> None:
    """Of a loop that is not, nobody would see that it did not compile: ``COMPILED`` would be true."""
    assert SOURCES
    nodes = ast.walk(ast.parse((LOOPS / "__init__.py").read_text("utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "sparkrank.native"]
    imported = [name.name for node in imports for name in node.names]
    assert sorted(imported) == [source.stem for source in SOURCES]
