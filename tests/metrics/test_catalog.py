"""The catalog as data: every declaration says all that is printed of it, and a hand-worked case covers each value."""

from __future__ import annotations

import pickle
from collections import defaultdict
from functools import cache
from typing import get_args

import pytest

from sparkrank.metrics import CATALOG, PRESETS, Metric
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.parameters import Choice, Column, Flag, Name, Parameter
from sparkrank.metrics.presets import PresetName
from tests.cases import CASES, Case

DECLARATIONS = list(CATALOG.values())
PARAMETERS = [(declaration, parameter) for declaration in DECLARATIONS for parameter in declaration.parameters]


@cache
def cases_of() -> dict[str, list[tuple[Case, Metric]]]:
    """The hand-worked cases with their metrics, by the name of the metric."""
    by_name: dict[str, list[tuple[Case, Metric]]] = defaultdict(list)
    for case in CASES:
        metric = Metric.parse(case.metric)
        by_name[metric.name].append((case, metric))
    return by_name


def covered(name: str) -> list[Metric]:
    return [metric for _, metric in cases_of()[name]]


def named(value: object) -> str:
    return value.name if isinstance(value, (Declaration, Parameter)) else str(value)


def test_documentation() -> None:
    for declaration in DECLARATIONS:
        for field in ("title", "formula", "undefined", "reference"):
            said = getattr(declaration, field)
            assert len(said) >= 3, (declaration.name, field)
            assert said == said.strip().rstrip("."), (declaration.name, field)
        assert all(parameter.doc for parameter in declaration.parameters), declaration.name


def test_names_and_aliases_are_one_namespace() -> None:
    names = [name for declaration in DECLARATIONS for name in (declaration.name, *declaration.aliases)]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names)


def test_each_alias_names_its_declaration() -> None:
    typed = [(alias + "3" * alias.endswith("@"), own) for own in DECLARATIONS for alias in own.aliases]
    assert [text for text, own in typed if Metric.parse(text.upper()).declaration is not own] == []


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=named)
def test_hand_worked_cases_cover_the_metric(declaration: Declaration) -> None:
    """With a number, with a cut-off and without: a metric that nothing checks fails here on the day it is declared."""
    cutoffs = {metric.k is not None for metric in covered(declaration.name)}
    assert cutoffs == ({True, False} if declaration.cutoff == "optional" else {False})
    assert any(case.mean is not None for case, _ in cases_of()[declaration.name])


@pytest.mark.parametrize(("declaration", "parameter"), PARAMETERS, ids=named)
def test_hand_worked_cases_cover_the_parameter(declaration: Declaration, parameter: Parameter) -> None:
    values = [metric[parameter.name] for metric in covered(declaration.name)]
    if isinstance(parameter, Choice):
        assert set(parameter.choices) <= set(values)
        assert parameter.grades == any(isinstance(value, tuple) for value in values)
    elif isinstance(parameter, Flag):
        assert True in values
    elif isinstance(parameter, Column):
        assert any(metric.value_columns for metric in covered(declaration.name))
        assert set(parameter.choices) <= set(values)
        assert (parameter.listed is not None) == any(isinstance(value, tuple) for value in values)
    elif isinstance(parameter, Name):
        assert parameter.default in values  # other names need other columns: test_reference_orders has them
    else:
        assert any(value not in (None, parameter.default) for value in values), "a value that is not the default"
        assert parameter.default in values or getattr(parameter, "required", False)


@pytest.mark.parametrize("declaration", DECLARATIONS, ids=named)
def test_hand_worked_cases_cover_the_undefined(declaration: Declaration) -> None:
    """A metric that is undefined somewhere has a case that is; one that never is has none."""
    cases = [case for case, metric in cases_of()[declaration.name] if metric.declaration is declaration]
    values = [
        case.mean if case.groups is None else value for case in cases for value in (case.groups or {"": 0}).values()
    ]
    assert (None in values) == (declaration.undefined != "never")


def test_hand_worked_cases_cover_the_definitions() -> None:
    assert {case.ties for case in CASES} == set(ALLOWED["ties"])
    assert {case.undefined for case in CASES} == set(ALLOWED["undefined"]) - {"error"}  # an error is no value


def test_every_preset_has_a_name_for_type_checkers() -> None:
    assert set(PRESETS) == set(get_args(PresetName))


def test_a_declaration_that_was_pickled_is_the_one_of_the_catalog() -> None:
    """Its functions have no name by which another process would find them."""
    assert all(pickle.loads(pickle.dumps(declared)) is declared for declared in DECLARATIONS)  # noqa: S301 - of this line
