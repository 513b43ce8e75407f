"""Imports point one way: every module stands in a layer, knows those below it alone, and is part of no circle."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import sparkrank
from sparkrank.cli.command_line import COMMANDS, full_command

PACKAGE = Path(sparkrank.__file__).parent
SPARK = ("pyspark", "py4j")

# The rooms from the ground up, and what of other packages they know. A room knows those above it in this table alone.
LAYERS: dict[str, tuple[str, ...]] = {
    "_version": (),
    "base": (),
    "native": ("numpy",),
    "numeric": ("numpy", "pyarrow", "scipy"),
    "schemas": ("pyarrow",),
    "ranking": ("numpy",),
    "stats": ("numpy", "scipy"),
    "histogram": ("numpy",),
    "states": ("numpy", "pyarrow"),
    "metrics": ("numpy",),
    "inputs": ("numpy", "pyarrow"),
    "bucket": ("numpy", "pyarrow"),
    "gates": ("numpy", "pyarrow", "scipy"),
    "sources": ("numpy", "pyarrow", "pandas", "polars", "deltalake", "pyiceberg", *SPARK),
    "engines": ("numpy", "pyarrow", "typing_extensions", *SPARK),
    "uncertainty": ("numpy", "pyarrow", "scipy"),
    "tables": ("numpy", "pyarrow", "obstore", "deltalake", "pyiceberg", "mlflow", "openlineage", *SPARK),
    "config": ("pydantic", "pydantic_core", "yaml"),
    "text": ("click", "pyarrow"),
    "comparison": ("numpy", "pyarrow", *SPARK),
    "report": ("numpy", "pyarrow", "altair", "jinja2", "markupsafe", "vl_convert", *SPARK),
    "results": ("pyarrow", "pandas", "altair", *SPARK),
    "run": ("numpy", "pyarrow", *SPARK),
    "jobs": ("numpy", "pyarrow", "dagster_pipes", "prometheus_client", *SPARK),
    "doors": ("pyarrow", "typing_extensions", *SPARK),
    "cli": ("click", "pyarrow", "yaml", *SPARK),
    "functions": ("numpy", "pyarrow", "pandas", "typing_extensions", *SPARK),
    "ml": ("typing_extensions", *SPARK),
    "__main__": (),
    "": (),  # the package's own __init__, its face
}
ORDER = list(LAYERS)


MODULES = {  # all of the package by dotted name, without the package's own
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").rstrip("."): file
    for file in sorted(PACKAGE.rglob("*.py"))
}
COMPILED = {f"native.{stub.stem}" for stub in (PACKAGE / "native").glob("*.pyi")}  # they may be there or not


def room(module: str) -> str:
    return module.partition(".")[0]


@cache
def imports(file: Path) -> set[str]:
    """Every module that the file imports: at its top, under TYPE_CHECKING, inside functions, by its name as text."""
    names, text = set(), file.read_text()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively: write the whole name"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("sparkrank.")
                is_module = inner in MODULES or inner in COMPILED
                names.add(f"sparkrank.{inner}" if is_module else str(node.module))
        elif isinstance(node, ast.Constant) and "import_module" in text:
            names |= {f"sparkrank.{name}" for name in MODULES} & {node.value}
    return names


def inner(file: Path) -> set[str]:
    """The modules of the package that the file imports, without the package's name before them."""
    names = {name for name in imports(file) if room(name) == "sparkrank"}
    return {name.removeprefix("sparkrank").lstrip(".") for name in names}


def test_every_module_stands_in_a_layer_that_knows_those_below_it_alone() -> None:
    assert {room(name) for name in MODULES} == set(LAYERS)
    assert len(MODULES) > 200
    upward = {
        f"{name} imports {other or 'sparkrank'}"
        for name, file in MODULES.items()
        for other in inner(file)
        if ORDER.index(room(other)) > ORDER.index(room(name))
    }
    assert upward == set()


def test_a_layer_knows_no_package_that_is_not_in_its_row() -> None:
    strange = {
        f"{name} imports {package}"
        for name, file in MODULES.items()
        for package in {room(other) for other in imports(file)} - set(sys.stdlib_module_names) - {"sparkrank"}
        if package not in LAYERS[room(name)]
    }
    assert strange == set()


def test_no_modules_import_one_another_in_a_circle() -> None:
    edges = {name: inner(file) - {name} for name, file in MODULES.items()}
    graphlib.TopologicalSorter(edges).prepare()  # raises CycleError, which names a circle


def test_no_two_files_share_a_name_unless_they_are_twins_and_no_two_classes() -> None:
    """Files as Arrow and as Spark reads them are the same concept; elsewhere one would be opened by mistake."""
    folders, modules = defaultdict(set), defaultdict(set)
    for name, file in MODULES.items():
        if not file.name.startswith("__"):
            folders[file.name].add(file.parent.relative_to(PACKAGE).as_posix())
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(name)
            elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
                modules[ast.unparse(node.target)].add(name)
    shared = {name: places for name, places in folders.items() if len(places) > 1}
    assert {name for name, places in shared.items() if places != {"sources", "engines/spark"}} == set()
    assert shared.keys() == {"files.py", "text_files.py"}
    assert {name: places for name, places in modules.items() if len(places) > 1} == {}
    assert len(modules) > 200


def loaded_by(script: str) -> list[str]:
    """The modules that are loaded after ``script``, in a process of its own: here others have imported much."""
    script += "\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return done.stdout.split()


OPTIONAL = (
    "IPython",
    "altair",
    "dagster_pipes",
    "deltalake",
    "duckdb",
    "jinja2",
    "jsonschema",
    "mlflow",
    "obstore",
    "openlineage",
    "polars",
    "prometheus_client",
    "pyiceberg",
    "sklearn",
    "vl_convert",
)


def test_all_names_of_the_package_import_without_spark_and_without_extras() -> None:
    loaded = {room(module) for module in loaded_by("from sparkrank import *")}
    assert {"sparkrank", "pyarrow"} <= loaded
    assert loaded & {*SPARK, *OPTIONAL} == set()


def test_importing_the_package_imports_nothing_that_takes_time() -> None:
    """Each name brings its own module, and is the one that a type checker sees."""
    loaded = set(loaded_by("import sparkrank"))
    assert {name for name in loaded if room(name) == "sparkrank"} == {"sparkrank", "sparkrank._version"}
    assert {room(name) for name in loaded} - set(sys.stdlib_module_names) <= {"sparkrank", *loaded_by("")}
    seen = {
        alias.name: node.module
        for block in ast.parse(Path(sparkrank.__file__).read_text()).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        for alias in node.names
    }
    assert seen == sparkrank._MODULES
    assert {*seen, "__version__"} == set(sparkrank.__all__) == set(dir(sparkrank))
    light = set(loaded_by("from sparkrank import SparkrankError"))
    assert {name for name in light if room(name) == "sparkrank"} == {"sparkrank", "sparkrank._version", *BASE}
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        sparkrank.evalute  # noqa: B018


BASE = ("sparkrank.base", *(f"sparkrank.base.{name}" for name in ("byte_texts", "errors", "redaction")))
SLOW = {"numpy", "pandas", "pyarrow", "pydantic", "scipy", "yaml", "sparkrank.jobs", "sparkrank.config"}


@pytest.mark.parametrize(
    ("words", "module", "also"),
    [
        (["--help"], None, set()),
        (["--version"], None, {"numpy"}),
        (["init", "--help"], "sparkrank.cli.spec_commands", SLOW),
    ],
)
def test_the_command_line_imports_a_command_when_it_is_called(
    words: list[str], module: str | None, also: set[str]
) -> None:
    script = f"from sparkrank.cli import main\ntry:\n    main({words})\nexcept SystemExit:\n    pass"
    loaded = set(loaded_by(script))
    assert "click" in loaded
    assert loaded & {module for module, _ in COMMANDS.values()} == {module} - {None}
    assert loaded & SLOW - also == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_what_its_summary_says(name: str) -> None:
    module, about = COMMANDS[name]
    command = full_command(name)
    assert (command.name, command.callback.__module__) == (name, module)
    assert command.help.startswith(about.removesuffix("."))


def test_only_their_users_import_the_rooms_of_functions_and_ml() -> None:
    outside = {name: file for name, file in MODULES.items() if room(name) not in ("functions", "ml")}
    assert {name for name, file in outside.items() if {"functions", "ml"} & {room(m) for m in inner(file)}} == set()


def test_statistics_load_scipy_when_they_are_asked_for() -> None:
    """It takes as long to load as all the rest, and no worker needs it."""
    statistics = [f"sparkrank.{name}" for name in MODULES if room(name) == "stats"]
    loaded = loaded_by("\n".join(f"import {name}" for name in ("sparkrank", *statistics)))
    assert set(statistics) <= set(loaded)
    assert "scipy" not in {room(module) for module in loaded}
    asked = loaded_by("from sparkrank.stats.intervals import t_interval; t_interval(1.0, 1.0, 9)")
    assert "scipy.special" in asked
    assert "scipy.stats" not in asked
