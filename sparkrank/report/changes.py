"""What changed since the day before: a line for the end of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import escaped
from sparkrank.report.collect import Before, defined, of_all, plain_texts
from sparkrank.results.day_changes import Change, Changes

MOST_TOLD = 3  # changes that have numbers in the line
_COLUMNS = ("metric", "model", "value", "stderr", "definition")


def changes_since(before: Before, metrics: pa.Table) -> Changes:
    """The changes of the metrics over the whole day.

    Parameters
    ----------
    before : Before
        The day before.
    metrics : pyarrow.Table
        The table ``metrics`` of this day.

    Returns
    -------
    Changes
    """
    then, now = _rows(before.metrics), _rows(metrics)
    both = [key for key in now if key in then]
    alike = [key for key in both if now[key].get("definition") == then[key].get("definition")]
    found = [change for key in alike if (change := _change(key, then[key], now[key])) is not None]
    models, earlier = ({model for _, model in rows} for rows in (now, then))
    return Changes(
        before.name,
        tuple(sorted(found, key=lambda each: each.size, reverse=True)),
        len(both) - len(alike),
        tuple(sorted(models - earlier)),
        tuple(sorted(earlier - models)),
    )


def _rows(metrics: pa.Table) -> dict[tuple[str, str], dict[str, Any]]:
    table = plain_texts(of_all(metrics))
    rows = table.select([name for name in _COLUMNS if name in table.column_names]).to_pylist()
    return {(row["metric"], row["model"]): row for row in rows}


def _change(key: tuple[str, str], then: dict[str, Any], now: dict[str, Any]) -> Change | None:
    value, before = defined(now["value"]), defined(then["value"])
    if value is None or before is None:
        return None
    errors = [defined(row.get("stderr")) for row in (then, now)]
    noise = math.hypot(*errors) if all(error is not None for error in errors) else None
    return Change(*key, before, value, noise)


def changes_text(changes: Changes) -> str:
    """One line: the changes that are more than chance explains, and how many are not.

    Parameters
    ----------
    changes : Changes
        What changed.

    Returns
    -------
    str
        Empty where the two days have nothing in common.
    """
    if not changes.changes and not changes.came and not changes.went and not changes.n_redefined:
        return ""
    beyond = [each for each in changes.changes if each.is_beyond_noise]
    models = {each.model for each in changes.changes}
    told = [_told(each, named=len(models) > 1) for each in beyond[:MOST_TOLD]]
    if len(beyond) > MOST_TOLD:
        told.append(f"{len(beyond) - MOST_TOLD} more")
    still = len(changes.changes) - len(beyond)
    if still:
        told.append(f"{still} of {len(changes.changes)} within their noise" if beyond else _none_moved(still))
    if changes.n_redefined:
        told.append(f"{changes.n_redefined} defined otherwise")
    told += [f"new: {escaped(', '.join(changes.came))}"] if changes.came else []
    told += [f"gone: {escaped(', '.join(changes.went))}"] if changes.went else []
    return f"Since {changes.since}: {'; '.join(told)}"


def _none_moved(count: int) -> str:
    return "the metric is within its noise" if count == 1 else f"all {count} metrics are within their noise"


def _told(change: Change, *, named: bool) -> str:
    relative = "" if change.relative is None else f", {change.relative:+.1%}"
    of = escaped(f"{change.model} {change.metric}" if named else change.metric)
    return f"{of} {change.before:.4f} -> {change.value:.4f} ({change.difference:+.4f}{relative})"


def changes_document(changes: Changes | None) -> dict[str, Any] | None:
    """The same for programs; None where no day is before."""
    if changes is None:
        return None
    rows: Sequence[dict[str, Any]] = [
        {
            "metric": each.metric,
            "model": each.model,
            "before": each.before,
            "value": each.value,
            "difference": each.difference,
            "noise": each.noise,
            "beyond_noise": each.is_beyond_noise,
        }
        for each in changes.changes
    ]
    return {"since": changes.since, "metrics": list(rows), "redefined": changes.n_redefined}
