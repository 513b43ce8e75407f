"""The hash of a request (a spec or a call). It depends on all settings that can change a result, but not on rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from sparkrank.metrics import Plan
from sparkrank.metrics.slices import written_slices
from sparkrank.metrics.uncertainty import DEFAULT

DIGITS = 12
_NEWER = ("cluster", "model", "time", "since", "propensity", "estimate", "policy_estimate")
_SHOWN = ("title",)  # roles that no result depends on
_OF_GATES = ("most_unpaired",)  # fields of a comparison that change verdicts and no numbers


def hash_of_plan(
    plan: Plan,
    impressions: Mapping[str, Any],
    truth: Mapping[str, Any] | None,
    catalog: Mapping[str, Any] | None = None,
    *,
    past: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    plugins: Sequence[str] = (),
    session: Mapping[str, str] | None = None,
) -> str:
    """Return a hash of all arguments.

    ``impressions``, ``truth``, ``catalog`` and ``past`` have the form of the result of :func:`rows_section`.
    """
    numbers: dict[str, object] = {
        "input": _as_before(impressions),
        "truth": None if truth is None else _as_before(truth),
        "metrics": [str(metric) for metric in plan.requests or plan.metrics],
        "slices": written_slices(plan.slices),
        "definitions": asdict(plan.definitions),
    }
    if plan.uncertainty != DEFAULT:
        numbers["uncertainty"] = asdict(plan.uncertainty)
    if plan.compare is not None:
        numbers["compare"] = {name: value for name, value in asdict(plan.compare).items() if name not in _OF_GATES}
    if plan.least_groups > 1:  # the limit may remove comparisons from a family
        numbers["least_groups"] = plan.least_groups
    if catalog is not None:
        numbers["catalog"] = _as_before(catalog)
    if plan.disparities:
        numbers["disparities"] = list(plan.disparities)
    if past:
        numbers |= {"past": {name: _as_before(own) for name, own in past.items()}, "exclude": plan.exclude}
    if len(plan.labels) > 1:  # their order says which is the first
        numbers["labels"] = list(plan.labels)
    if plan.reads_tiers:
        numbers["tiers"] = asdict(plan.tiers)
    if plan.popularity_days:
        numbers["popularity_days"] = plan.popularity_days
    if plugins:  # plugins define the meaning of their metrics
        numbers["plugins"] = list(plugins)
    if session:
        numbers["session"] = dict(session)
    text = json.dumps(numbers, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _as_before(section: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``section`` without roles that change no result, and without newer roles that have no column.

    Hashes of earlier releases thus stay the same.
    """
    columns = {
        role: _filled(column)
        for role, column in section["columns"].items()
        if role not in _SHOWN and (role not in _NEWER or column is not None)
    }
    return {**section, "columns": columns}


def _filled(named: Any) -> Any:
    """Return ``named`` without keys of None, which a spec has where a call leaves them out."""
    return {key: _filled(own) for key, own in named.items() if own is not None} if isinstance(named, Mapping) else named


def rows_section(columns: Mapping[str, Any], partition_types: str) -> dict[str, Any]:
    """Return a description of the rows in a call, with the keys of a section of a spec, but without their location."""
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
