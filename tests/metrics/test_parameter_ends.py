"""At the ends of what a number in a metric's text may be there is a value or none; beyond them there is a sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.parameters import Count, Number
from tests.cases import CASES, Case
from tests.support.buckets import day, evaluate, group_values

NUMERIC = [
    (declared, own)
    for declared in CATALOG.values()
    for own in declared.all_parameters
    if isinstance(own, (Number, Count)) and own.name != "rel"  # which is one and the same for all
]
INPUTS = 3
ROUNDING = 1e-9


def ends(parameter: Number | Count) -> tuple[list[float], list[float]]:
    """The least and the most that are allowed, and the next numbers, which are not."""
    if isinstance(parameter, Count):
        return [parameter.least, parameter.most], [parameter.least - 1, parameter.most + 1]
    both = [(parameter.above, math.inf), (parameter.below, -math.inf)]
    next_ones = [(end, math.nextafter(end, inward), math.nextafter(end, -inward)) for end, inward in both]
    inside = [end if parameter.closed else inner for end, inner, _ in next_ones]
    return inside, [outer if parameter.closed else end for end, _, outer in next_ones]


def changed(declared: Declaration, parameter: Number | Count, value: float) -> Iterator[tuple[Case, str]]:
    """Yield hand-worked cases of the metric, with its text in which the parameter has another value."""
    for case in CASES:
        metric = Metric.parse(case.metric)
        if metric.declaration is declared and metric.bare == metric:
            others = {name: own for name, own in metric.settings if name not in declared.exclusive}
            settings = tuple({**others, parameter.name: value}.items())
            yield case, str(replace(metric, settings=settings))


@pytest.mark.parametrize(("declared", "parameter"), NUMERIC, ids=lambda own: own.name)
def test_numbers_at_their_ends(declared: Declaration, parameter: Number | Count) -> None:
    allowed, refused = ends(parameter)
    for value in refused:
        _, text = next(changed(declared, parameter, value))
        with pytest.raises(MetricError, match=re.escape(parameter.allowed)):
            Metric.parse(text)
    evaluated = [metric for value in allowed for metric in islice(_within_range(declared, parameter, value), INPUTS)]
    assert evaluated


def _within_range(declared: Declaration, parameter: Number | Count, value: float) -> Iterator[Metric]:
    for case, text in changed(declared, parameter, value):
        try:
            metric = Metric.parse(text)
        except MetricError as error:  # it does not go with another parameter of the case
            refused = str(error)
        else:
            refused = ""
        assert parameter.allowed not in refused, text
        if refused:
            continue
        ties = metric.group_metric.orders[0] if case.ties == "expected" and metric.group_metric.orders else case.ties
        partials = (result := evaluate(case.rows, [metric], ties, case.undefined)).partials
        is_of_day = case.groups is None
        values = [day(partials, metric)[0]] if is_of_day else group_values(result, str(metric)).values()
        low, high = declared.range_of(metric)
        assert all(math.isnan(own) or low - ROUNDING <= own <= high + ROUNDING for own in values), (text, case)
        yield metric
