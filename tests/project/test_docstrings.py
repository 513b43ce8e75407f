"""The examples of docstrings print what they say."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import sparkrank
from sparkrank import functions
from sparkrank.ml import RankingMetricEvaluator

MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(sparkrank.__path__, "sparkrank.")
    if not each.name.endswith("__main__") and ".engines.spark" not in each.name and ".native." not in each.name
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0
    assert tried or name != "sparkrank.results.evaluation"


def described(documented: object) -> list[str]:
    """The parameters that a docstring describes."""
    parameters = inspect.getdoc(documented).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    names = re.findall(r"^(\w[\w, ]*) : .+", parameters, re.MULTILINE)
    return [name.strip() for line in names for name in line.split(",")]


def test_every_argument_of_a_door_is_described_once() -> None:
    """Options that doors share are typed once, and described in each."""
    for door in (sparkrank.evaluate, sparkrank.explain, functions.metric, functions.metrics, RankingMetricEvaluator):
        assert sorted(described(door)) == sorted(inspect.signature(door).parameters), door


def test_every_public_name_has_an_example() -> None:
    """A class may have that of one of its methods; functions of metrics are in tests/functions."""
    lacking = []
    for module in (sparkrank, functions, sparkrank.metrics, sparkrank.ml):
        for name in module.__all__:
            named = getattr(module, name)
            if inspect.isclass(named) or inspect.isroutine(named):
                own = [named, *(getattr(named, member) for member in vars(named) if not member.startswith("_"))]
                if not any(">>> " in (inspect.getdoc(each) or "") for each in own):
                    lacking.append(f"{module.__name__}.{name}")
    assert lacking == []


def test_a_definition_is_declared_in_two_files() -> None:
    """In the definitions and in the spec: the third file of a new word is the one that applies it."""
    package = Path(sparkrank.__file__).parent
    declaring: dict[str, set[str]] = {"unjudged": set(), "unretrieved": set(), "population": set()}
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            name = node.arg if isinstance(node, ast.arg) else getattr(getattr(node, "target", None), "id", None)
            if isinstance(node, (ast.arg, ast.AnnAssign)) and name in declaring:
                declaring[name].add(file.relative_to(package).as_posix())
    assert list(declaring.values()) == [{"metrics/definitions.py", "config/sections.py"}] * 3


@pytest.mark.parametrize(
    "kind", ["GroupMetric", "CatalogueMetric", "PooledMetric", "HistogramMetric", "PooledTotals", "PooledValue"]
)
def test_what_a_metric_from_outside_is_made_of_is_described(kind: str) -> None:
    """Every field of its own, but for those that all declarations have, and an example."""
    own = getattr(sparkrank.metrics, kind)
    shared = {each.name for each in dataclasses.fields(sparkrank.metrics.Declaration)}
    parents = {name for base in own.__mro__[1:] for name in vars(base).get("__annotations__", {})}
    fields = {each.name for each in dataclasses.fields(own)} - shared - parents
    assert fields
    assert fields <= set(described(own))
    assert len(set(described(own))) == len(described(own))
    assert ">>> " in inspect.getdoc(own).partition("Examples\n---")[2]
