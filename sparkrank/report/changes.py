"""What changed since the day before: a line for the end of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import escaped
from sparkrank.report.collect import Before, defined, of_all, plain_texts

MOST_TOLD = 3  # changes that have numbers in the line
BEYOND = 1.96  # standard errors of a difference of two days: less may be chance
_COLUMNS = ("metric", "model", "value", "stderr", "definition")


@dataclass(frozen=True)
class Change:
    """A metric of a model on two days. ``noise`` is the standard error of the difference, None where there is none.

    The two days are taken for independent, which makes the noise too large where the same groups come on both.
    """

    metric: str
    model: str
    before: float
    value: float
    noise: float | None

    @property
    def difference(self) -> float:
        """The value less that of the day before."""
        return self.value - self.before

    @property
    def relative(self) -> float | None:
        """The difference as a share of the value before; None where that is 0."""
        return self.difference / abs(self.before) if self.before else None

    @property
    def is_beyond_noise(self) -> bool:
        """Whether it is more than chance explains; without a standard error, whether it is a change at all."""
        return abs(self.difference) > BEYOND * (self.noise or 0.0)

    @property
    def size(self) -> tuple[bool, float]:
        """How large it is, for the order: what is beyond its noise in standard errors first, then what has no noise."""
        if self.noise is None:
            return False, abs(self.difference)
        return True, abs(self.difference) / self.noise if self.noise else (math.inf if self.difference else 0.0)


@dataclass(frozen=True)
class Changes:
    """What changed since the day ``since``.

    ``changes`` are the metrics of models that both days have, defined alike, the largest change first. ``n_redefined``
    are defined otherwise; ``came`` and ``went`` are the models that one of the two days alone has.
    """

    since: str
    changes: tuple[Change, ...]
    n_redefined: int = 0
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()


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
