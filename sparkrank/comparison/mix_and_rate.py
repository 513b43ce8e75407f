"""The effects of the values of a slice on the change of a mean. They add up to the change exactly.

A slice value v has a share s(v) of the total weight, and a mean m(v). Let M be the midpoint of the two overall means A
and B that are compared. Then B - A is the sum over v of

    mix   (s_B - s_A) · ((m_A + m_B) / 2 - M)      the share of v changed, and its mean is above or below the midpoint
    rate  (s_A + s_B) / 2 · (m_B - m_A)            the mean of v changed

This is the symmetric form of Kitagawa's decomposition (1955). An exchange of A and B flips every sign, and there is no
residual, because the shares add up to 1 in both. A slice value that occurs in A or B only has no mean in the other. The
whole contribution of this value is mix: its share times the distance of its mean from M. All computations use
fractions, with one rounding at the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkrank.base.errors import InputError, MetricError, SpecError, hint, itemize, shorten
from sparkrank.comparison.group_tables import metric_among, model_among, notes_on_definitions
from sparkrank.comparison.mix_and_rate_errors import intervals_of_parts
from sparkrank.comparison.run_states import LoadedStates, RunStates
from sparkrank.metrics import GroupMetric, Metric, PooledMetric
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.schemas.tables import DECOMPOSITION, METRICS
from sparkrank.tables.stored.validation import validate_column_types, validate_results, validate_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

# The tolerance for sums over slice values, relative to their size; it allows for the rounding of stored means.
_ROUNDED = Fraction(1, 10**9)
_READ = ("model", "slice", "slice_value", "metric", "value", "weight", "definition")


@dataclass(frozen=True)
class MetricRows:
    """The rows of one model in the ``metrics`` table of a run (``what`` is ``left`` or ``right``).

    ``place`` is the table's name in messages.
    """

    what: str
    place: str
    model: str
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, what: str, table: pa.Table, model: str | None, option: str, place: str | None = None) -> MetricRows:
        """Return the rows of ``model`` (None: the only model). Raise :class:`SpecError` if there is no such model."""
        place = place or f"the {what} table"
        if not isinstance(table, pa.Table):
            raise SpecError(f"{what} is of type {type(table).__name__}: an Evaluation or a pyarrow Table is needed")
        lacking = [name for name in _READ if name not in table.column_names]
        if lacking:
            raise InputError(f"{place} is not a table metrics: it lacks {itemize(lacking)}")
        validate_column_types(table.schema, METRICS.whole_schema, "metrics", place)
        validate_utf8(table, "metrics", place)
        validate_results(table, "metrics", place, once=False)
        models = sorted(set(table["model"].to_pylist()))
        model = model_among(place, models, model, option)
        return cls(what, place, model, [row for row in table.to_pylist() if row["model"] == model])

    def metrics(self) -> list[str]:
        """Return the names of the metrics, in table order."""
        return list(dict.fromkeys(row["metric"] for row in self.rows))

    def definitions(self) -> dict[str, str]:
        """Return the definition of each metric, keyed by metric name."""
        return {row["metric"]: row["definition"] for row in self.rows}

    def slices(self) -> list[str]:
        """Return the names of the slices in table order, without the whole day."""
        return [name for name in dict.fromkeys(row["slice"] for row in self.rows) if name != ALL]

    def values(self, metric: str, by: str) -> dict[str | None, Mapping[str, Any]]:
        """Return the row of ``metric`` by value of the slice ``by``. Raise :class:`InputError` if a value repeats."""
        rows = [row for row in self.rows if row["metric"] == metric and row["slice"] == by]
        by_value = {row["slice_value"]: row for row in rows}
        if len(by_value) < len(rows):
            problem = f"{self.place} has several rows of {metric} of {self.model} in one value of {by}"
            raise InputError(f"{problem}: the metrics of one day are needed")
        return by_value


def decomposition(
    left: MetricRows,
    right: MetricRows,
    by: str,
    metrics: Sequence[str] | None,
    states: tuple[RunStates | str, RunStates | str],
    *,
    other_definitions: bool = False,
) -> tuple[pa.Table, list[str]]:
    """Return the table ``decomposition`` (effects by slice value), and notes on the metrics that are left out.

    The table has intervals if both runs have states. A string in ``states`` is the reason why a run has no states.
    """
    for side in (left, right):
        if by not in side.slices():
            raise SpecError(f'{side.place} has no slice "{shorten(by)}"{hint(by, side.slices(), "there are")}')
    common = [name for name in right.metrics() if name in left.metrics()]
    presets = [side.preset for side in states[::-1] if not isinstance(side, str)]
    names = common if metrics is None else [metric_among(common, text, *presets) for text in metrics]
    refused = {name: _refused(name) for name in names}
    chosen, notes = [name for name, why in refused.items() if why is None], list(filter(None, refused.values()))
    if notes and metrics is not None:
        raise SpecError(notes[0])
    if not chosen:
        raise SpecError(
            f"no metric of {right.place} is a mean ({itemize(common)}): only means can be split over a slice"
        )
    notes += notes_on_definitions(left.definitions(), right.definitions(), chosen, other_definitions)
    by_metric = {name: list(_rows(left, right, by, name)) for name in chosen}
    before, after = states
    if not (isinstance(before, str) or isinstance(after, str)):
        stored = [name for name in chosen if name in before.metrics and name in after.metrics]
        loaded = before.loaded(stored, by), after.loaded(stored, by)
        notes += dict.fromkeys((*loaded[0].notes, *loaded[1].notes))
        for name in stored:
            _add_intervals(by_metric[name], loaded, after.metrics[name])
    rows = [row for of_metric in by_metric.values() for row in of_metric]
    return pa.Table.from_pylist(rows, schema=DECOMPOSITION.schema), notes


def _add_intervals(rows: Sequence[dict[str, Any]], states: tuple[LoadedStates, LoadedStates], metric: Metric) -> None:
    before, after = (
        [side.sample(row[model], row["slice"], row["slice_value"]) for row in rows]
        for side, model in zip(states, ("baseline", "candidate"), strict=True)
    )
    parts = [(row["mix"], row["rate"], row["part"]) for row in rows]
    level = states[1].plan.uncertainty.look_level
    for row, intervals in zip(rows, intervals_of_parts(before, after, metric, parts, level), strict=True):
        for name, interval in zip(("mix", "rate", "part"), intervals, strict=True):
            row[f"{name}_low"], row[f"{name}_high"] = interval.low, interval.high
        row["interval"] = intervals[-1].method


def _refused(name: str) -> str | None:
    """Return the reason why a metric cannot be split over a slice; None for a mean over groups or rows."""
    try:
        metric = Metric.parse(name)
    except MetricError:
        return f"{name} is a metric that nobody here has registered: --plugin imports the module that does"
    declared = metric.declaration
    is_mean = isinstance(declared, GroupMetric) or (isinstance(declared, PooledMetric) and declared.is_row_mean)
    if is_mean and metric.percentile is None and not metric.geometric:
        return None
    return f"{name} is no mean of groups or rows: its values of a slice do not add up to the whole"


def _rows(left: MetricRows, right: MetricRows, by: str, name: str) -> Iterable[dict[str, Any]]:
    ours, theirs = (_Shares.read(side, by, name) for side in (left, right))
    middle = (ours.mean + theirs.mean) / 2
    common = {
        "candidate": right.model,
        "baseline": left.model,
        "slice": by,
        "metric": name,
        "difference": float(theirs.mean - ours.mean),
        "definition": theirs.whole["definition"],
        "candidate_run_id": theirs.whole.get("run_id"),
        "baseline_run_id": ours.whole.get("run_id"),
    }
    for value in sorted({*ours.by_value, *theirs.by_value}, key=lambda value: (value is None, value or "")):
        part = _part(ours.by_value.get(value), theirs.by_value.get(value), middle)
        yield {**common, "slice_value": value, **part}


def _part(ours: tuple[Fraction, Fraction] | None, theirs: tuple[Fraction, Fraction] | None, middle: Fraction) -> Any:
    """Return the columns of one slice value, given its (share, mean) in both runs. One of the two may be None."""
    # A side that lacks the value gets the other side's mean, so the whole contribution is mix.
    mean = next(side[1] for side in (ours, theirs) if side)
    left, right = (side or (Fraction(), mean) for side in (ours, theirs))
    mix = (right[0] - left[0]) * ((left[1] + right[1]) / 2 - middle)
    rate = (left[0] + right[0]) / 2 * (right[1] - left[1])
    return {
        "presence": "both" if ours and theirs else "entered" if theirs else "left",
        "baseline_share": float(left[0]),
        "share": float(right[0]),
        "baseline_value": None if ours is None else float(ours[1]),
        "value": None if theirs is None else float(theirs[1]),
        "mix": float(mix),
        "rate": float(rate),
        "part": float(mix + rate),
    }


@dataclass(frozen=True)
class _Shares:
    """The pair (share, mean) of each slice value with weight in one run, and the overall ``mean``.

    ``whole`` is the row for the whole day.
    """

    by_value: Mapping[str | None, tuple[Fraction, Fraction]]
    mean: Fraction
    whole: Mapping[str, Any]

    @classmethod
    def read(cls, side: MetricRows, by: str, name: str) -> _Shares:
        """Return the shares. Raise :class:`InputError` if a mean is undefined or slice values do not add up to it."""
        name_of_mean, whole = f"{name} of {side.model} in {side.place}", side.values(name, ALL)[ALL]
        values: dict[str | None, tuple[Fraction, Fraction]] = {}
        for value, row in side.values(name, by).items():
            if not row["weight"]:
                continue  # a slice value without weight counts as missing
            if not math.isfinite(row["value"]):
                raise InputError(
                    f"{name_of_mean} is undefined where {by} is {shown_value(value, by)}: it is not split by {by}"
                )
            values[value] = Fraction(row["weight"]), Fraction(row["value"])
        if not values or not whole["weight"] or not math.isfinite(whole["value"]):
            raise InputError(f"{name_of_mean} is undefined, so its difference cannot be split")
        weight = sum((own for own, _ in values.values()), Fraction())
        products = [own * mean for own, mean in values.values()]
        weighted, size = sum(products, Fraction()), sum(map(abs, products), Fraction())
        is_whole = abs(weight - Fraction(whole["weight"])) <= _ROUNDED * weight
        if not is_whole or abs(weighted - weight * Fraction(whole["value"])) > _ROUNDED * size:
            raise InputError(
                f"the values of {by} do not add up to {name_of_mean}: their weights are {float(weight):.12g} of "
                f"{whole['weight']:.12g}, because some groups have rows of several values"
            )
        return cls({value: (own / weight, mean) for value, (own, mean) in values.items()}, weighted / weight, whole)
