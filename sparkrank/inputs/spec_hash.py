"""What is asked of rows, as one hash, by one rule for a spec and for a call of ``sr.evaluate``.

It changes when anything that can change a number does, but for the rows themselves. A spec says where its rows are,
which is part of its question; a call is handed the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sparkrank.metrics import Plan
from sparkrank.metrics.uncertainty import DEFAULT

DIGITS = 12
_OF_GATES = ("most_unpaired",)  # of the comparison, which change verdicts and no number


def hash_of_plan(
    plan: Plan,
    impressions: Mapping[str, Any],
    truth: Mapping[str, Any] | None,
    *,
    plugins: Sequence[str] = (),
    session: Mapping[str, str] | None = None,
) -> str:
    """The hash of ``plan`` asked of the ``impressions`` and the ``truth``, each as :func:`rows_asked` has it.

    ``session`` are the settings of the Spark session that reading depended on.
    """
    numbers: dict[str, object] = {
        "input": _clustered(impressions),
        "truth": None if truth is None else _clustered(truth),
        "metrics": [str(metric) for metric in plan.metrics],
        "slices": [list(columns) for columns in plan.slices],
        "definitions": asdict(plan.definitions),
    }
    if plan.uncertainty != DEFAULT:
        numbers["uncertainty"] = asdict(plan.uncertainty)
    if plan.compare is not None:
        numbers["compare"] = {name: value for name, value in asdict(plan.compare).items() if name not in _OF_GATES}
    if plan.least_groups > 1:  # leaves comparisons out of a family
        numbers["least_groups"] = plan.least_groups
    if plugins:  # what a metric of theirs means is said there
        numbers["plugins"] = list(plugins)
    if session:
        numbers["session"] = dict(session)
    text = json.dumps(numbers, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _clustered(asked: Mapping[str, Any]) -> dict[str, Any]:
    """``asked`` without a cluster that nobody names: other hashes stay as they were before there were clusters."""
    columns = {role: column for role, column in asked["columns"].items() if role != "cluster" or column is not None}
    return {**asked, "columns": columns}


def rows_asked(columns: Mapping[str, Any], partition_types: str) -> dict[str, Any]:
    """What is asked of rows that a caller has, wherever they are, with all that a section of a spec has."""
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
