"""Functions that look up one value in the table ``metrics`` by metric, model and slice."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError, UnknownResultError, did_you_mean, itemize, quote, shorten
from sparkrank.gates.rules import slice_parts
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import ALL, names_of, shown_value

_SHOWN = 12  # the most names that an error message lists


def value_of(
    table: pa.Table, plan: Plan, preset: Preset | None, metric: object, model: str | None, slice_: object
) -> float:
    """Return the value of a metric, model and slice; NaN if undefined. Raise :class:`UnknownResultError` if absent."""
    if not isinstance(metric, (str, Metric)):
        raise UnknownResultError(f"metric is {quote(metric)}: a text is needed, for example ndcg@10")
    whose = _model_named(plan, model)
    name = _metric_named(plan, preset, metric, whose)
    slice_, value = (ALL, ALL) if slice_ is None or slice_ == ALL else _slice_named(table, plan, slice_)
    of_value = pc.field("slice_value").is_null() if value is None else pc.field("slice_value") == value
    matches = (pc.field("metric") == name) & (pc.field("model") == whose) & (pc.field("slice") == slice_) & of_value
    return float(table.filter(matches)["value"][0].as_py())


def has_metric(plan: Plan, preset: Preset | None, metric: object) -> bool:
    """Return whether :func:`value_of` can find values of ``metric``."""
    if not isinstance(metric, (str, Metric)):
        return False
    return any(found_metric(plan, preset, metric, model) is not None for model in plan.models)


def _metric_named(plan: Plan, preset: Preset | None, metric: str | Metric, model: str) -> str:
    """Return the name that ``metric`` of ``model`` has in the table. Raise :class:`UnknownResultError` if missing."""
    text = found_metric(plan, preset, metric, model)
    if text is None:
        raise _unknown("metric", metric, [str(own) for own in plan.metrics if (model, own) not in plan.absent])
    return text


def text_of(plan: Plan, preset: Preset | None, metric: Metric) -> str:
    """Return the text of ``metric`` for :func:`value_of`. With a preset, ``str(metric)`` may mean another metric."""
    text = str(metric)
    if preset is None or found_metric(plan, preset, text) == text:
        return text
    mine = [default.parameter for default in preset.defaults if default.metric == metric.name]
    spelled = {name: metric[name] for name in mine if not isinstance(metric[name], bool)}
    written = str(replace(metric, settings=tuple(sorted({**spelled, **dict(metric.settings)}.items()))))
    return written if found_metric(plan, preset, written) == text else text


def found_metric(plan: Plan, preset: Preset | None, metric: str | Metric, model: str | None = None) -> str | None:
    """Return the name of the plan's metric that equals ``metric``, read with or without ``preset``; None if none does.

    If ``model`` has a label of its own, the metric of that label is meant.
    """
    known = [str(own) for own in plan.metrics if (model, own) not in plan.absent]
    readings: list[str] = []
    for read_by in (preset, None) if isinstance(metric, str) else (None,):
        try:
            readings.append(str(plan.resolved(Metric.parse(str(metric), read_by), model)))
        except MetricError:
            continue
    return next((reading for reading in (*readings, str(metric)) if reading in known), None)


def _model_named(plan: Plan, model: str | None) -> str:
    if model is None:
        if len(plan.models) == 1:
            return plan.models[0]
        raise UnknownResultError(f"there are several models, so model= is needed (there are: {_some(plan.models)})")
    if model not in plan.models:
        raise _unknown("model", model, plan.models)
    return model


def _slice_named(table: pa.Table, plan: Plan, named_slice: object) -> tuple[str, str | None]:
    """Return the slice and the slice value as spelled in the table. ``named_slice`` has its columns in any order."""
    if not isinstance(named_slice, (str, Mapping)):
        needed = 'a mapping of columns to values, or a text such as "country=de", is needed'
        raise UnknownResultError(f"slice is {quote(named_slice)}: {needed}")
    rows = table.select(["slice", "slice_value"]).group_by(["slice", "slice_value"]).aggregate([]).to_pylist()
    there = {
        frozenset(_parts(row["slice"], row["slice_value"], plan).items()): (row["slice"], row["slice_value"])
        for row in rows
        if row["slice"] != ALL
    }
    if isinstance(named_slice, str):
        texts = {frozenset(_labels(parts)): place for parts, place in there.items()}
        # A value of a single column need not be escaped.
        whole = {f"{slice_}={shown_value(value)}": (slice_, value) for slice_, value in there.values()}
        labels = frozenset(part.strip() for part in re.findall(r"(?:\\.|[^\\,])+", named_slice, re.DOTALL))
        typed, place = named_slice, whole.get(named_slice, texts.get(labels))
    else:
        parts = [(str(column), _text(value)) for column, value in named_slice.items()]
        typed, place = ",".join(_labels(parts)), there.get(frozenset(parts))
    if place is not None:
        return place
    known = [",".join(_labels(parts)) for parts in (_parts(*place, plan).items() for place in there.values())]
    raise _unknown("slice", typed, known)


def _parts(slice_: str, value: str | None, plan: Plan) -> dict[str, str | None]:
    """Split the ``value`` of a slice of ``plan`` into the value of each column, by column name."""
    return slice_parts(next(names for names in map(names_of, plan.slices) if ",".join(names) == slice_), value)


def _labels(parts: Iterable[tuple[str, str | None]]) -> list[str]:
    """Write each pair of column and value as ``country=de``, with commas escaped as in the table."""
    return [f"{column}={shown_value(value)}".replace("\\", "\\\\").replace(",", "\\,") for column, value in parts]


def _text(value: Any) -> str | None:
    """Return a slice value in the form in which the tables store it: a string, or None for null."""
    if value is None:
        return None
    if isinstance(value, dt.date):
        return value.isoformat()
    text = str(value)
    return text.lower() if text in ("True", "False") and not isinstance(value, str) else text


def _unknown(what: str, name: object, known: Sequence[str]) -> UnknownResultError:
    there_are = f"there are: {_some(known)}" if known else f"no {what}s were requested"
    return UnknownResultError(f'no {what} "{shorten(name)}" was evaluated{did_you_mean(name, known)} ({there_are})')


def _some(known: Sequence[str]) -> str:
    return itemize(known[:_SHOWN]) + (f", and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
