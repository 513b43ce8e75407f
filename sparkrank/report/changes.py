"""The changes in metrics since the previous day: the last line that a run prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sparkrank.base.errors import CodedSentence, escape
from sparkrank.report.report_tables import DayBefore, defined, plain_texts, whole_day

MOST_NAMED = 3  # changes that the line gives with their numbers
BEYOND = 1.96  # standard errors of the difference between two days: a smaller difference may be chance
LEAST_KEPT = 0.5  # of the previous share of groups with a value: below this, the value describes different groups
BY_CHANCE = 3.0  # standard errors of the difference between two shares: a smaller difference may be chance
_COLUMNS = ("metric", "model", "value", "stderr", "definition", "n_groups", "n_undefined")


@dataclass(frozen=True)
class Change:
    """A metric of a model on two days: the value ``before``, and the later ``value``.

    ``noise`` is the standard error of the difference between independent days, or None if unknown.
    """

    metric: str
    model: str
    before: float
    value: float
    noise: float | None

    @property
    def difference(self) -> float:
        """The later value minus the earlier value."""
        return self.value - self.before

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the change is beyond what chance explains. Without a standard error, every change is."""
        return abs(self.difference) > BEYOND * (self.noise or 0.0)

    @property
    def size(self) -> tuple[bool, float]:
        """A sort key: the change in standard errors or, below all of these, in units of the metric."""
        if self.noise is None:
            return False, abs(self.difference)
        return True, abs(self.difference) / self.noise if self.noise else (math.inf if self.difference else 0.0)

    def text(self, *, with_model: bool) -> str:
        """Format the change, for example ``mrr 0.3000 -> 0.2700 (-0.0300, -10.0%)``."""
        share = f", {self.difference / abs(self.before):+.1%}" if self.before else ""
        name = escape(f"{self.model} {self.metric}" if with_model else self.metric)
        return f"{name} {self.before:.4f} -> {self.value:.4f} ({self.difference:+.4f}{share})"


@dataclass(frozen=True)
class Changes:
    """The changes in metrics since the day ``since``, largest change first.

    ``n_redefined`` counts the metrics whose definition changed. ``came`` names the models of only the later day, and
    ``went`` those of only the earlier day. ``warnings`` contains sentences about metrics defined in far fewer groups
    than before.
    """

    since: str
    changes: tuple[Change, ...]
    n_redefined: int = 0
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def changes_since(before: DayBefore, metrics: pa.Table) -> Changes:
    """Return the changes in metrics of the whole day from the day ``before`` to the day of the table ``metrics``."""
    then, now = _rows(before.metrics), _rows(metrics)
    both = [key for key in now if key in then]
    alike = [key for key in both if now[key].get("definition") == then[key].get("definition")]
    changes = [change for key in alike if (change := _change(key, then[key], now[key])) is not None]
    changes.sort(key=lambda change: change.size, reverse=True)
    models, earlier = ({model for _, model in rows} for rows in (now, then))
    came, went = tuple(sorted(models - earlier)), tuple(sorted(earlier - models))
    fallen = [text for key in alike if (text := _defined_for_few(key, then[key], now[key])) is not None]
    return Changes(before.name, tuple(changes), len(both) - len(alike), came, went, _warnings(before.name, fallen))


def _rows(metrics: pa.Table) -> dict[tuple[str, str], dict[str, Any]]:
    table = plain_texts(whole_day(metrics))
    rows = table.select([name for name in _COLUMNS if name in table.column_names]).to_pylist()
    return {(row["metric"], row["model"]): row for row in rows}


def _defined_for_few(key: tuple[str, str], then: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return a phrase if a far smaller share of groups than the day before has a value; otherwise None."""
    counts = [(row.get("n_groups") or 0, row.get("n_undefined")) for row in (then, now)]
    defined_groups = [(groups, groups - undefined) for groups, undefined in counts if groups and undefined is not None]
    if len(defined_groups) < len(counts):  # rows have no group, or an older day has no such counts
        return None
    (groups_then, defined_then), (groups, count) = defined_groups
    before, share = defined_then / groups_then, count / groups
    together = (defined_then + count) / (groups_then + groups)
    noise = math.sqrt(max(together * (1 - together), 0.0) * (1 / groups_then + 1 / groups))
    if share >= LEAST_KEPT * before or before - share <= BY_CHANCE * noise:
        return None
    return f"{key[0]} of {key[1]} in {count:,} of {groups:,} groups ({share:.1%}, then {before:.1%})"


def _warnings(since: str, fallen: Sequence[str]) -> tuple[str, ...]:
    if not fallen:
        return ()
    more = f" and {len(fallen) - MOST_NAMED:,} more" if len(fallen) > MOST_NAMED else ""
    sentence = f"defined in far fewer groups than on {since}: {', '.join(fallen[:MOST_NAMED])}{more}"
    return (CodedSentence("defined_for_few", sentence).capitalized(),)


def _change(key: tuple[str, str], then: dict[str, Any], now: dict[str, Any]) -> Change | None:
    value, before = defined(now["value"]), defined(then["value"])
    if value is None or before is None:
        return None
    errors = [defined(row.get("stderr")) for row in (then, now)]
    return Change(*key, before, value, None if None in errors else math.hypot(*errors))


def changes_text(changes: Changes) -> str:
    """Return the changes beyond chance, and the number of other changes, as one line (empty without changes)."""
    count = len(changes.changes)
    beyond = [change for change in changes.changes if change.is_beyond_noise]
    with_model = len({change.model for change in changes.changes}) > 1
    parts = [change.text(with_model=with_model) for change in beyond[:MOST_NAMED]]
    if len(beyond) > MOST_NAMED:
        parts.append(f"{len(beyond) - MOST_NAMED} more")
    if beyond and count > len(beyond):
        parts.append(f"{count - len(beyond)} of {count} within their noise")
    elif count > len(beyond):
        parts.append("the metric is within its noise" if count == 1 else f"all {count} metrics are within their noise")
    if changes.n_redefined:
        parts.append(f"{changes.n_redefined} defined otherwise")
    for word, models in (("new", changes.came), ("gone", changes.went)):
        parts += [f"{word}: {escape(', '.join(models))}"] if models else []
    return f"Since {changes.since}: {'; '.join(parts)}" if parts else ""


def changes_document(changes: Changes | None) -> dict[str, Any] | None:
    """Return the changes as plain values for JSON, or None if there is no previous day."""
    if changes is None:
        return None
    plain = ("metric", "model", "before", "value", "difference", "noise")
    rows = [
        {**{name: getattr(change, name) for name in plain}, "beyond_noise": change.is_beyond_noise}
        for change in changes.changes
    ]
    return {"since": changes.since, "metrics": rows, "redefined": changes.n_redefined}
