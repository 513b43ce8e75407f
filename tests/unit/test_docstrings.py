"""The examples of docstrings print what they say."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import sparkrank

pytestmark = pytest.mark.same_without_loops

MODULES = sorted(
    each.name
    for each in pkgutil.walk_packages(sparkrank.__path__, "sparkrank.")
    if not each.name.endswith("__main__") and ".engines.spark" not in each.name and ".native." not in each.name
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert "sparkrank.results.evaluation.Evaluation.value" in {test.name for test in found}


def test_every_parameter_of_evaluate_is_described_once() -> None:
    described = [
        name.strip()
        for line in inspect.getdoc(sparkrank.evaluate).partition("Returns\n")[0].splitlines()
        if (found := re.fullmatch(r"(\w[\w, ]*) : .+", line))
        for name in found[1].split(",")
    ]
    assert sorted(described) == sorted(inspect.signature(sparkrank.evaluate).parameters)


@pytest.mark.parametrize(
    "kind",
    ["GroupMetric", "CatalogueMetric", "PooledMetric", "HistogramMetric", "PooledTotals", "PooledValue"],
)
def test_what_a_metric_from_outside_is_made_of_is_described(kind: str) -> None:
    """Every field of its own, but for those that all declarations have, and an example."""
    own = getattr(sparkrank.metrics, kind)
    shared = {each.name for each in dataclasses.fields(sparkrank.metrics.Declaration)}
    parents = {name for base in own.__mro__[1:] for name in vars(base).get("__annotations__", {})}
    fields = {each.name for each in dataclasses.fields(own)} - shared - parents
    parameters, _, examples = inspect.getdoc(own).partition("Parameters\n----------\n")[2].partition("Examples\n---")
    described = [
        name.strip()
        for line in parameters.splitlines()
        if (found := re.fullmatch(r"(\w[\w, ]*) : .+", line))
        for name in found[1].split(",")
    ]
    assert fields
    assert fields <= set(described)
    assert len(set(described)) == len(described)
    assert ">>> " in examples
