"""One value of the table ``metrics``, by the text that was asked for, the model and the slice."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError, UnknownResultError, did_you_mean, listed, shortened, shown
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.slices import ALL, NO_PART, shown_value

_SHOWN = 12  # of the names that there are, so many stand in a sentence


def value_of(
    table: pa.Table,
    plan: Plan,
    preset: Preset | None,
    metric: object,
    model: str | None,
    of: object,
) -> float:
    """The value in the one row of ``table`` that the three name; NaN where it is undefined.

    Raises :class:`UnknownResultError` with the nearest of what there is.
    """
    name = _metric_named(plan, preset, metric)
    whose = _model_named(plan, model)
    slice_, value = (ALL, ALL) if of is None or of == ALL else _slice_named(table, plan, of)
    of_value = pc.field("slice_value").is_null() if value is None else pc.field("slice_value") == value
    matches = (pc.field("metric") == name) & (pc.field("model") == whose) & (pc.field("slice") == slice_) & of_value
    return float(table.filter(matches)["value"][0].as_py())


def has_metric(plan: Plan, preset: Preset | None, metric: object) -> bool:
    """Whether :func:`value_of` has values of ``metric``."""
    try:
        return bool(_metric_named(plan, preset, metric))
    except UnknownResultError:
        return False


def _metric_named(plan: Plan, preset: Preset | None, metric: object) -> str:
    """The canonical text of the metric that was asked for as ``metric``: under the preset, else as it stands."""
    if not isinstance(metric, (str, Metric)):
        raise UnknownResultError(f"metric is {shown(metric)}: a text is needed, for example ndcg@10")
    known = list(map(str, plan.metrics))
    found = found_metric(plan, preset, metric)
    if found is None:
        near = did_you_mean(metric, known)
        raise UnknownResultError(f'no metric "{shortened(metric)}" was evaluated{near} (there are: {_some(known)})')
    return found


def text_of(plan: Plan, preset: Preset | None, metric: Metric) -> str:
    """A text of ``metric`` by which :func:`value_of` finds it, where the preset would read its usual one otherwise."""
    text = str(metric)
    if preset is None or found_metric(plan, preset, text) == text:
        return text
    mine = [each.parameter for each in preset.defaults if each.metric == metric.name]
    spelled = {name: metric[name] for name in mine if not isinstance(metric[name], bool)}
    written = str(replace(metric, settings=tuple(sorted({**spelled, **dict(metric.settings)}.items()))))
    return written if found_metric(plan, preset, written) == text else text


def found_metric(plan: Plan, preset: Preset | None, metric: str | Metric) -> str | None:
    """The metric of ``plan`` that ``metric`` is: read under the preset, or as it stands; None where it is none."""
    known = list(map(str, plan.metrics))
    readings: list[str] = []
    for read_by in (preset, None) if isinstance(metric, str) else (None,):
        try:
            readings.append(str(plan.resolved(Metric.parse(str(metric), read_by), read_by)))
        except MetricError:
            continue
    return next((reading for reading in (*readings, str(metric)) if reading in known), None)


def _model_named(plan: Plan, model: str | None) -> str:
    if model is None and len(plan.models) == 1:
        return plan.models[0]
    if model is None:
        raise UnknownResultError(f"there are several models, so model= is needed (there are: {_some(plan.models)})")
    if model not in plan.models:
        near = did_you_mean(model, plan.models)
        raise UnknownResultError(f'no model "{shortened(model)}" was evaluated{near} (there are: {_some(plan.models)})')
    return model


def _slice_named(table: pa.Table, plan: Plan, of: object) -> tuple[str, str | None]:
    """The slice and its value in the table, of columns in any order."""
    if not isinstance(of, (str, Mapping)):
        needed = 'a mapping of columns to values, or a text such as "country=de", is needed'
        raise UnknownResultError(f"slice is {shown(of)}: {needed}")
    rows = table.select(["slice", "slice_value"]).group_by(["slice", "slice_value"]).aggregate([]).to_pylist()
    there = {
        frozenset(_parts(row["slice"], row["slice_value"], plan).items()): (row["slice"], row["slice_value"])
        for row in rows
        if row["slice"] != ALL
    }
    if isinstance(of, str):
        texts = {frozenset(_labels(parts)): found for parts, found in there.items()}
        # of one column, unescaped
        whole = {f"{slice_}={shown_value(value)}": (slice_, value) for slice_, value in there.values()}
        asked = frozenset(each.strip() for each in re.findall(r"(?:\\.|[^\\,])+", of, re.DOTALL))
        found = whole.get(of, texts.get(asked))
    else:
        found = there.get(frozenset((str(column), _text(value)) for column, value in of.items()))
    if found is not None:
        return found
    typed = of if isinstance(of, str) else ",".join(_labels((str(c), _text(v)) for c, v in of.items()))
    known = [",".join(_labels(parts)) for parts in (_parts(*found, plan).items() for found in there.values())]
    there_are = f"there are: {_some(known)}" if known else "no slices were asked for"
    raise UnknownResultError(f'no slice "{shortened(typed)}" was evaluated{did_you_mean(typed, known)} ({there_are})')


def _parts(slice_: str, value: str | None, plan: Plan) -> dict[str, str | None]:
    """The value of each column of a slice: those of several stand between commas, and commas in them are escaped."""
    columns = next(columns for columns in plan.slices if ",".join(columns) == slice_)
    if len(columns) == 1 or value is None:
        return dict.fromkeys(columns, value)
    found = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", value, re.DOTALL)[: len(columns)]
    return {
        column: None if part == NO_PART else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
        for column, part in zip(columns, found, strict=True)
    }


def _labels(parts: Iterable[tuple[str, str | None]]) -> list[str]:
    """Each part as a person writes it: ``country=de``; a comma in it is escaped, as in the table."""
    return [f"{column}={shown_value(value)}".replace("\\", "\\\\").replace(",", "\\,") for column, value in parts]


def _text(value: Any) -> str | None:
    """A value of a slice as the tables have it."""
    if value is None:
        return None
    if isinstance(value, dt.date):
        return value.isoformat()
    text = str(value)
    return text.lower() if text in ("True", "False") and not isinstance(value, str) else text


def _some(names: Iterable[str]) -> str:
    known = list(names)
    return listed(known[:_SHOWN]) + (f", and {len(known) - _SHOWN} more" if len(known) > _SHOWN else "")
