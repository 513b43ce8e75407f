"""The hash of a request, from a spec or a call. Everything that can change a number changes it, except the rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sparkrank.metrics import Plan
from sparkrank.metrics.uncertainty import DEFAULT

DIGITS = 12
_NEWER = ("cluster", "model")
_OF_GATES = ("most_unpaired",)  # fields of a comparison that change verdicts and no numbers


def hash_of_plan(
    plan: Plan,
    impressions: Mapping[str, Any],
    truth: Mapping[str, Any] | None,
    *,
    plugins: Sequence[str] = (),
    session: Mapping[str, str] | None = None,
) -> str:
    """The hash of ``plan``, both sides (see :func:`rows_asked`), the ``plugins``, and Spark ``session`` settings."""
    numbers: dict[str, object] = {
        "input": _as_before(impressions),
        "truth": None if truth is None else _as_before(truth),
        "metrics": [str(metric) for metric in plan.metrics],
        "slices": [list(columns) for columns in plan.slices],
        "definitions": asdict(plan.definitions),
    }
    if plan.uncertainty != DEFAULT:
        numbers["uncertainty"] = asdict(plan.uncertainty)
    if plan.compare is not None:
        numbers["compare"] = {name: value for name, value in asdict(plan.compare).items() if name not in _OF_GATES}
    if plan.least_groups > 1:  # it leaves comparisons out of a family
        numbers["least_groups"] = plan.least_groups
    if plugins:  # they define the meaning of their metrics
        numbers["plugins"] = list(plugins)
    if session:
        numbers["session"] = dict(session)
    text = json.dumps(numbers, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _as_before(asked: Mapping[str, Any]) -> dict[str, Any]:
    """``asked`` without recently added roles that name no column, so that older hashes stay the same."""
    columns = {role: column for role, column in asked["columns"].items() if role not in _NEWER or column is not None}
    return {**asked, "columns": columns}


def rows_asked(columns: Mapping[str, Any], partition_types: str) -> dict[str, Any]:
    """A description of rows passed in a call, wherever the rows are. It has the same keys as a section of a spec."""
    return {
        "path": None,
        "table": None,
        "format": "parquet",
        "schema": None,
        "options": {},
        "where": None,
        "partition_types": partition_types,
        "columns": {role: _as_spec(named) for role, named in columns.items()},
    }


def _as_spec(named: Any) -> Any:
    if isinstance(named, Mapping):
        return dict(named)
    return list(named) if isinstance(named, (tuple, list)) else named
