"""Imports point one way: no Spark and no engine below the engine, no metric below the metrics, and in no circle."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sparkrank

pytestmark = pytest.mark.same_without_loops

PACKAGE = Path(sparkrank.__file__).parent


def modules(part: str) -> dict[str, Path]:
    """The modules of a folder or a file of the package, by dotted name."""
    files = [PACKAGE / part] if part.endswith(".py") else sorted((PACKAGE / part).rglob("*.py"))
    return {
        ".".join(("sparkrank", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): file
        for file in files
    }


# What each layer may import beside the standard library.
ALLOWED = {
    "native": ("sparkrank.native",),
    "numeric": ("numpy", "pyarrow", "sparkrank.base.errors", "sparkrank.native", "sparkrank.numeric"),
    "ranking": ("numpy", "sparkrank.native", "sparkrank.numeric", "sparkrank.ranking"),
    "histogram": (
        "numpy",
        "sparkrank.base.errors",
        "sparkrank.native",
        "sparkrank.numeric",
        "sparkrank.ranking.judgments",
        "sparkrank.histogram",
    ),
    "states": (
        "numpy",
        "pyarrow",
        "sparkrank.base.errors",
        "sparkrank.native",
        "sparkrank.numeric",
        "sparkrank.histogram",
        "sparkrank.states",
        "sparkrank.schemas.tables",
    ),
    "stats": ("numpy", "scipy", "sparkrank.base.errors", "sparkrank.numeric", "sparkrank.stats"),
    "tables/schemas.py": ("pyarrow", "sparkrank.numeric.exact_sums"),
    "metrics": (
        "numpy",
        "sparkrank.base.errors",
        "sparkrank.numeric",
        "sparkrank.ranking",
        "sparkrank.histogram",
        "sparkrank.states",
        "sparkrank.metrics",
    ),
    "gates": (
        "numpy",
        "pyarrow",
        "scipy",
        "sparkrank.gates",
        "sparkrank.metrics.slices",
        "sparkrank.stats",
        "sparkrank.schemas.tables",
    ),
    "role_table.py": ("sparkrank.base.checks", "sparkrank.metrics"),
    "errors.py": ("sparkrank.base.redaction",),
    "redaction.py": (),
    "checks.py": (),
}
LAYERS = [pytest.param(layer, file, id=name) for layer in ALLOWED for name, file in modules(layer).items()]
BUCKET = ("bucket",)
# Compiled, so that they may be there or not.
COMPILED = [f"sparkrank.native.{stub.stem}" for stub in (PACKAGE / "native").glob("*.pyi")]
BELOW_THE_ENGINE = [name for part in (*ALLOWED, *BUCKET) for name in modules(part)]
SPARK = ("pyspark", "py4j")


def inside(module: str, packages: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def imported(file: Path) -> set[str]:
    """Every module that the file names in an import, at its top or anywhere inside."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name} imports relatively: write the whole name"
            # "from sparkrank import states" imports sparkrank.states
            top = node.module == "sparkrank"
            found |= {f"sparkrank.{alias.name}" for alias in node.names} if top else {node.module or ""}
    return found


@pytest.mark.parametrize(("layer", "file"), LAYERS)
def test_a_layer_knows_those_below_it_alone(layer: str, file: Path) -> None:
    others = {name for name in imported(file) if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not inside(name, ALLOWED[layer])} == set()


def test_no_two_files_share_a_name_unless_they_are_twins() -> None:
    """The same name in both engines is the same concept; elsewhere one of the two would be opened by mistake."""
    places: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        if not file.name.startswith("__"):
            places.setdefault(file.name, set()).add(file.parent.relative_to(PACKAGE).as_posix())
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert {name for name, found in shared.items() if found != {"engines/arrow", "engines/spark"}} == set()
    assert {"arrays.py", "columns.py", "files.py", "nested.py", "values.py"} <= shared.keys()


def loaded_by(script: str) -> list[str]:
    """The modules that are loaded after ``script``, in a process of its own: here others have imported much."""
    script += "\nimport sys\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    return done.stdout.split()


def test_the_package_imports_without_spark() -> None:
    loaded = loaded_by("import sparkrank")
    assert "sparkrank" in loaded
    assert [module for module in loaded if inside(module, SPARK)] == []


WAYS_IN = ("sparkrank.functions", "sparkrank.integrations", "sparkrank.ml")  # of other programs, on top of all else
OPTIONAL = ("IPython", "altair", "duckdb", "jinja2", "jsonschema", "obstore", "polars", "tqdm", "sklearn", "vl_convert")


def test_nothing_of_the_ways_in_is_loaded_or_known_below_them() -> None:
    loaded = loaded_by("import sparkrank")
    assert [module for module in loaded if inside(module, (*WAYS_IN, *OPTIONAL))] == []
    below = {name: file for name, file in modules(".").items() if not inside(name, WAYS_IN)}
    assert len(below) > 200
    assert {
        name: imported(file) for name, file in below.items() if any(inside(m, WAYS_IN) for m in imported(file))
    } == {}
    assert any(inside(name, WAYS_IN) for name in modules("."))


def test_statistics_load_scipy_when_they_are_asked_for() -> None:
    """It takes as long to load as all the rest, and no worker needs it."""
    loaded = loaded_by("\n".join(f"import {name}" for name in ("sparkrank", *modules("stats"))))
    assert set(modules("stats")) <= set(loaded)
    assert [module for module in loaded if inside(module, ("scipy",))] == []
    asked = loaded_by("from sparkrank.stats.intervals import t_interval; t_interval(1.0, 1.0, 9)")
    assert "scipy.special" in asked
    assert "scipy.stats" not in asked


def test_what_is_below_the_engine_loads_without_it() -> None:
    """The package's own __init__, which names the whole of it, is left out by an empty module in its place."""
    imports = "\n".join(f"import {name}" for name in BELOW_THE_ENGINE)
    loaded = loaded_by(
        f"import sys, types\nsys.modules['sparkrank'] = types.ModuleType('sparkrank')\n"
        f"sys.modules['sparkrank'].__path__ = [{str(PACKAGE)!r}]\n{imports}"
    )
    assert set(BELOW_THE_ENGINE) <= set(loaded)
    ours = {module for module in loaded if inside(module, ("sparkrank",))} - {
        "sparkrank",
        "sparkrank.tables",
        *COMPILED,
    }
    assert sorted(ours) == sorted(BELOW_THE_ENGINE)  # so neither engines, other tables, config nor run
    assert [module for module in loaded if inside(module, SPARK)] == []
