"""Why a mean moved: the difference of two means split over the values of a slice, exactly.

Of the value v of a slice a mean holds the share s(v) of its weight, at the mean m(v). With M the middle between the two
means that are compared, B less A is the sum over v of

    mix   (s_B - s_A) · ((m_A + m_B) / 2 - M)      the share of v changed, and v lies above or below the whole
    rate  (s_A + s_B) / 2 · (m_B - m_A)            the mean of v changed

which is the symmetric form of Kitagawa (1955): swapping A and B turns every sign, and nothing remains, because shares
add up to 1 on both sides. A value that is on one side alone has no mean on the other: all that it adds is mix, its
share times how far its mean lies from M. All of it is computed in fractions, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sparkrank.base.errors import InputError, MetricError, SpecError, did_you_mean, listed, shortened, without_secrets
from sparkrank.comparison.group_tables import asked_among, model_among, told_of_definitions
from sparkrank.comparison.mix_and_rate_errors import intervals_of_parts
from sparkrank.comparison.run_states import LoadedStates, RunStates
from sparkrank.metrics import Metric
from sparkrank.metrics.kinds import GroupMetric, PooledMetric
from sparkrank.metrics.slices import ALL, shown_value
from sparkrank.results.evaluation import Evaluation
from sparkrank.schemas.tables import DECOMPOSITION, METRICS
from sparkrank.tables.stored.validation import validate_column_types, validate_results, validate_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

# How far sums over the values of a slice may be from the whole, by its size: what rounding does to stored means.
_ROUNDED = Fraction(1, 10**9)


_READ = ("model", "slice", "slice_value", "metric", "value", "weight", "definition")


@dataclass(frozen=True)
class MetricRows:
    """The rows of one model in a table ``metrics``; ``place`` is how sentences call the table."""

    what: str
    place: str
    model: str
    rows: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, what: str, table: pa.Table, model: str | None, option: str, place: str | None = None) -> MetricRows:
        """Those of ``model``, or of the only one. Raises :class:`SpecError` where there is no such model."""
        place = place or f"the {what} table"
        if not isinstance(table, pa.Table):
            raise SpecError(f"{what} is of type {type(table).__name__}: an Evaluation or a pyarrow Table is needed")
        lacking = [name for name in _READ if name not in table.column_names]
        if lacking:
            raise InputError(f"{place} is no table metrics: it lacks {listed(lacking)}")
        validate_column_types(table.schema, METRICS.whole_schema, "metrics", place)
        validate_utf8(table, "metrics", place)
        validate_results(table, "metrics", place, once=False)
        models = sorted(set(table["model"].to_pylist()))
        model = model_among(place, models, model, option)
        return cls(what, place, model, [row for row in table.to_pylist() if row["model"] == model])

    def metrics(self) -> list[str]:
        """The metrics, in the order of the table."""
        return list(dict.fromkeys(row["metric"] for row in self.rows))

    def definitions(self) -> dict[str, str]:
        """What each metric means."""
        return {row["metric"]: row["definition"] for row in self.rows}

    def slices(self) -> list[str]:
        """The slices, without the whole day."""
        return [name for name in dict.fromkeys(row["slice"] for row in self.rows) if name != ALL]

    def values(self, metric: str, of: str) -> dict[str | None, Mapping[str, Any]]:
        """The rows of ``metric`` by the value of the slice ``of``.

        Raises :class:`InputError` where a value has several rows, as of several days.
        """
        rows = [row for row in self.rows if row["metric"] == metric and row["slice"] == of]
        found = {row["slice_value"]: row for row in rows}
        if len(found) < len(rows):
            told = f"{self.place} has several rows of {metric} of {self.model} in one value of {of}"
            raise InputError(f"{told}: the metrics of one day are needed")
        return found


@without_secrets()
def decompose(
    left: Evaluation | pa.Table,
    right: Evaluation | pa.Table,
    by: str,
    metrics: Sequence[str] | None = None,
    *,
    left_model: str | None = None,
    right_model: str | None = None,
    other_definitions: bool = False,
) -> pa.Table:
    """Split the difference of means, right less left, over the values of a slice: into mix and rate, without remainder.

    Parameters
    ----------
    left : Evaluation or pyarrow Table
        Results, or a table ``metrics``: of another day, or of the same with another model.
    right : Evaluation or pyarrow Table
        What is compared with it.
    by : str
        The slice, as the tables name it: ``country``, or ``country,device``.
    metrics : sequence of str, optional
        The metrics, which must be means; all means that both sides have where it is left out.
    left_model, right_model : str, optional
        The model of each side, which may be left out where there is one.
    other_definitions : bool
        Whether to split the difference of metrics of one text that the two sides define otherwise.

    Returns
    -------
    pyarrow.Table
        A row per metric and slice value, with the columns of the table ``decomposition``. Of two evaluations the parts
        have intervals, from what they would be without each part of the groups.

    Raises
    ------
    SpecError
        Where a metric is no mean, or a model, a slice or a metric is not there.
    InputError
        Where a mean is undefined, a metric is defined otherwise on the two sides, or the values of the slice do not add
        up to the whole, because groups have rows of several values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> def day(countries):
    ...     users = range(len(countries))
    ...     log = pa.table({"user": users, "country": countries, "score": [0.5] * len(countries),
    ...                     "label": [int(each == "de") for each in countries]})
    ...     return sr.evaluate(log, ["p@1"], group="user", score="score", label="label", slices=["country"])
    >>> found = sr.decompose(day(["de", "fr", "fr", "fr"]), day(["de", "de", "fr", "fr"]), "country")
    >>> found.select(["slice_value", "mix", "rate", "difference"]).to_pylist() # doctest: +NORMALIZE_WHITESPACE
    [{'slice_value': 'de', 'mix': 0.15625, 'rate': 0.0, 'difference': 0.25},
     {'slice_value': 'fr', 'mix': 0.09375, 'rate': 0.0, 'difference': 0.25}]
    """
    tables = (each.table if isinstance(each, Evaluation) else each for each in (left, right))
    models = ((left_model, "left_model"), (right_model, "right_model"))
    ours, theirs = (
        MetricRows.of(what, table, *model) for what, table, model in zip(("left", "right"), tables, models, strict=True)
    )
    states = RunStates.of("left", left, None, None), RunStates.of("right", right, None, None)
    return decomposition(ours, theirs, by, metrics, states, other_definitions=other_definitions)[0]


def decomposition(
    left: MetricRows,
    right: MetricRows,
    by: str,
    metrics: Sequence[str] | None,
    states: tuple[RunStates | str, RunStates | str],
    *,
    other_definitions: bool = False,
) -> tuple[pa.Table, list[str]]:
    """The table ``decomposition``, and sentences about metrics that are not in it.

    It has intervals where both sides have ``states``.
    """
    for side in (left, right):
        if by not in side.slices():
            near = did_you_mean(by, side.slices())
            there = f"there are: {listed(side.slices())}" if side.slices() else "there is none"
            raise SpecError(f'{side.place} has no slice "{shortened(by)}"{near} ({there})')
    common = [name for name in right.metrics() if name in left.metrics()]
    chosen, told = [], []
    names = common if metrics is None else [asked_among(common, text) for text in metrics]
    for name in dict.fromkeys(names):
        refused = _refused(name)
        if refused is None:
            chosen.append(name)
        elif metrics is None:
            told.append(refused)
        else:
            raise SpecError(refused)
    if not chosen:
        raise SpecError(f"no metric of {right.place} is a mean ({listed(common)}): only a mean is split over a slice")
    told += told_of_definitions(left.definitions(), right.definitions(), chosen, other_definitions)
    by_metric = {name: list(_rows(left, right, by, name)) for name in chosen}
    before, after = states
    if not (isinstance(before, str) or isinstance(after, str)):
        stored = [name for name in chosen if name in before.metrics and name in after.metrics]
        loaded = before.loaded(stored, by), after.loaded(stored, by)
        told += dict.fromkeys((*loaded[0].told, *loaded[1].told))
        for name in stored:
            _add_intervals(by_metric[name], loaded, after.metrics[name])
    rows = [row for of_metric in by_metric.values() for row in of_metric]
    return pa.Table.from_pylist(rows, schema=DECOMPOSITION.schema), told


def _add_intervals(rows: Sequence[dict[str, Any]], states: tuple[LoadedStates, LoadedStates], metric: Metric) -> None:
    """Add to the ``rows`` of ``metric`` what parts of the groups say of their error."""
    before, after = (
        [side.sample(row[model], row["slice"], row["slice_value"]) for row in rows]
        for side, model in zip(states, ("baseline", "candidate"), strict=True)
    )
    parts = [(row["mix"], row["rate"], row["part"]) for row in rows]
    level = states[1].plan.uncertainty.look_level
    for row, found in zip(rows, intervals_of_parts(before, after, metric, parts, level), strict=True):
        for name, interval in zip(("mix", "rate", "part"), found, strict=True):
            row[f"{name}_low"], row[f"{name}_high"] = interval.low, interval.high
        row["interval"] = found[-1].method


def _refused(name: str) -> str | None:
    """Why the metric of this text cannot be split, or None where it is a mean over groups or rows."""
    try:
        metric = Metric.parse(name)
    except MetricError:
        return f"{name} is a metric that nobody here has registered: --plugin imports the module that does"
    declared = metric.declaration
    is_mean = isinstance(declared, GroupMetric) or (isinstance(declared, PooledMetric) and declared.is_row_mean)
    if is_mean and metric.percentile is None:
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
    for value in sorted({*ours.of, *theirs.of}, key=lambda each: (each is None, each or "")):
        part = _part(ours.of.get(value), theirs.of.get(value), middle)
        yield {**common, "slice_value": value, **part}


def _part(ours: tuple[Fraction, Fraction] | None, theirs: tuple[Fraction, Fraction] | None, middle: Fraction) -> Any:
    """What one value of the slice adds, of its (share, mean) on the left and on the right."""
    presence: Literal["both", "entered", "left"]
    rate = Fraction()
    if ours is not None and theirs is not None:
        presence = "both"
        mix = (theirs[0] - ours[0]) * ((ours[1] + theirs[1]) / 2 - middle)
        rate = (ours[0] + theirs[0]) / 2 * (theirs[1] - ours[1])
    elif theirs is not None:
        presence, mix = "entered", theirs[0] * (theirs[1] - middle)
    elif ours is not None:
        presence, mix = "left", -ours[0] * (ours[1] - middle)
    else:
        raise ValueError("a value of a slice is on one side at least")
    return {
        "presence": presence,
        "baseline_share": 0.0 if ours is None else float(ours[0]),
        "share": 0.0 if theirs is None else float(theirs[0]),
        "baseline_value": None if ours is None else float(ours[1]),
        "value": None if theirs is None else float(theirs[1]),
        "mix": float(mix),
        "rate": float(rate),
        "part": float(mix + rate),
    }


@dataclass(frozen=True)
class _Shares:
    """One side: the share and the mean ``of`` each value of the slice that has weight, and the ``mean`` of all."""

    of: Mapping[str | None, tuple[Fraction, Fraction]]
    mean: Fraction
    whole: Mapping[str, Any]

    @classmethod
    def read(cls, side: MetricRows, by: str, name: str) -> _Shares:
        """Those of the metric ``name`` by the slice ``by``.

        Raises :class:`InputError` where a mean is undefined, or the values do not add up to the whole day.
        """
        told, whole = f"{name} of {side.model} in {side.place}", side.values(name, ALL)[ALL]
        found: dict[str | None, tuple[Fraction, Fraction]] = {}
        for value, row in side.values(name, by).items():
            if not row["weight"]:
                continue  # nothing of it is in the mean: a value that is not there
            if not math.isfinite(row["value"]):
                raise InputError(f"{told} is undefined where {by} is {shown_value(value, by)}: it is not split by {by}")
            found[value] = Fraction(row["weight"]), Fraction(row["value"])
        if not found or not whole["weight"] or not math.isfinite(whole["value"]):
            raise InputError(f"{told} is undefined: there is no difference to split")
        weight = sum((each for each, _ in found.values()), Fraction())
        weighted = sum((each * mean for each, mean in found.values()), Fraction())
        size = sum((abs(each * mean) for each, mean in found.values()), Fraction())
        is_whole = abs(weight - Fraction(whole["weight"])) <= _ROUNDED * weight
        if not is_whole or abs(weighted - weight * Fraction(whole["value"])) > _ROUNDED * size:
            raise InputError(
                f"the values of {by} do not add up to {told}: their weights are {float(weight):.12g} of "
                f"{whole['weight']:.12g}, as where groups have rows of several values"
            )
        return cls({value: (each / weight, mean) for value, (each, mean) in found.items()}, weighted / weight, whole)
