"""A :class:`~sparkrank.report.data.ReportData` from the tables of a day, a window, or an evaluation.

Every number is that of a table. What tables do not hold is left out, and ``missing`` says what to ask for. Columns that
a table of an older version lacks are None. What there may be too many of, as values of slices, is chosen by whole
columns before any row becomes an object of Python.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import MetricError
from sparkrank.metrics import Metric
from sparkrank.metrics.slices import ALL
from sparkrank.report.data import (
    AucUp,
    Calibration,
    Comparison,
    Comparisons,
    Curve,
    Definition,
    File,
    GateRow,
    GroupDistribution,
    Headline,
    HeadlineRow,
    Histogram,
    Kind,
    MetricValue,
    PairedDistribution,
    Point,
    Provenance,
    QualityLine,
    ReportData,
    SliceRow,
    Slices,
    State,
    Trend,
    Verdict,
)
from sparkrank.report.definition_links import link_of
from sparkrank.schemas.tables import COMPARISONS, GATES, METRICS, QUALITY

MOST_CELLS = 20_000  # values of slices, and comparisons in slices: 20 models and 1,000 values of one metric
MOST_GATES = 5_000  # verdicts: those that do not pass first
MOST_POINTS = 400  # of a curve
_WORST: tuple[State, ...] = ("fail", "undecided", "pass")
_Row = TypeVar("_Row")


@dataclass(frozen=True)
class Before:
    """The day before: its ``name``, and the rows of its table ``metrics`` over the whole day."""

    name: str
    metrics: pa.Table


@dataclass(frozen=True)
class Found:
    """What tables say, of which the sections are made.

    Parameters
    ----------
    kind, name
        As :class:`ReportData` has them.
    metrics
        The table ``metrics``.
    comparisons, gates, quality, curves
        The tables of these names; None where there is none.
    run
        The row of ``runs``, or what an evaluation knows of itself, by the names of its columns.
    baseline, level
        As :class:`ReportData` has them, where no table says it.
    trend, before
        The days before; None where there is none.
    calibration, histograms, auc_up, distributions, paired
        These sections, made from the large tables a batch at a time.
    missing
        Why one of these is empty.
    """

    kind: Kind
    name: str
    metrics: pa.Table
    comparisons: pa.Table | None = None
    gates: pa.Table | None = None
    quality: pa.Table | None = None
    curves: pa.Table | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    baseline: str | None = None
    level: float | None = None
    trend: Trend | None = None
    before: Before | None = None
    calibration: tuple[Calibration, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    auc_up: tuple[AucUp, ...] = ()
    distributions: tuple[GroupDistribution, ...] = ()
    paired: tuple[PairedDistribution, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


def report_data(found: Found) -> ReportData:
    """The report of what was found.

    Parameters
    ----------
    found : Found
        The tables, and the sections that were made from large ones.

    Returns
    -------
    ReportData
        The same for the same tables.
    """
    models, metrics = names_of(found.metrics, "model"), names_of(found.metrics, "metric")
    if found.trend is not None and not found.metrics.num_rows:  # of days that nobody has merged
        models = tuple(dict.fromkeys(each.model for each in found.trend.series))
        metrics = tuple(dict.fromkeys(each.metric for each in found.trend.series))
    gates = _gates(found.gates)
    slices = _slices(found.metrics, models, metrics)
    comparisons = _comparisons(found, None if slices is None else slices.metrics)
    headline = _headline(found, models, metrics, comparisons, gates)
    curves = _curves(found.curves, headline)
    sections: dict[str, Any] = {
        "verdict": _verdict(found, gates),
        "headline": headline,
        "trend": found.trend,
        "comparisons": comparisons,
        "slices": slices,
        "roc": tuple(each for each in curves if each.kind == "roc"),
        "pr": tuple(each for each in curves if each.kind == "pr"),
        "calibration": found.calibration,
        "histograms": found.histograms,
        "auc_up": found.auc_up,
        "distributions": found.distributions,
        "paired": found.paired,
        "gates": gates[:MOST_GATES],
        "quality": tuple(_rows(found.quality, QualityLine, QUALITY.schema.names)),
        "definitions": _definitions(found.metrics),
        "provenance": _provenance(found),
    }
    baseline = found.baseline if comparisons is None else comparisons.baseline
    missing = {name: _why(name, found, models) for name, section in sections.items() if not section}
    before = None if found.before is None else found.before.name
    return ReportData(
        found.kind, found.name, models, metrics, baseline, found.level, before, **sections, missing=missing
    )


_ASK = {
    "verdict": "The spec has no gates: name some, as gates: [{metric: ndcg@10, min: 0.3}].",
    "gates": "The spec has no gates: name some, as gates: [{metric: ndcg@10, min: 0.3}].",
    "headline": "The table metrics has no row over all rows.",
    "trend": "There is no other stored day: with a second one there is a trend.",
    "comparisons": "The spec names no baseline: with several models, ask for compare: {baseline: NAME}.",
    "slices": "No slice is evaluated: ask for slices: [COLUMN].",
    "roc": "There is no ROC curve: ask for the metric auc, and for output.curves: 1000.",
    "pr": "There is no precision-recall curve: ask for the metric pr_auc, and for output.curves: 1000.",
    "calibration": "There are no score bins: ask for the metric ece, and for output.blocks: true.",
    "histograms": "There are no score bins: ask for a metric over all rows as auc, and for output.blocks: true.",
    "auc_up": "AUC_UP is not evaluated: ask for the metrics auc and auc_up, and for output.blocks: true.",
    "distributions": "There is no group table: ask for output.groups: true and a group key, or for percentiles as "
    "median(ndcg@10).",
    "paired": "There are no pairs of groups: with several models, a group key and output.groups: true, ask for "
    "compare: {baseline: NAME}.",
    "quality": "There is no table quality.",
    "definitions": "The table metrics names no metric.",
    "provenance": "There is no table runs.",
}
_OF_EVALUATION = {
    "verdict": "Gates judge stored days: name them in a spec, and run sparkrank evaluate.",
    "gates": "Gates judge stored days: name them in a spec, and run sparkrank evaluate.",
    "trend": "An evaluation in memory is of no day: sparkrank report shows the trend over stored ones.",
    "comparisons": "No baseline is named: with several models, ask for compare=NAME.",
    "slices": "No slice is evaluated: ask for slices=[COLUMN].",
    "roc": "There is no ROC curve: ask for the metric auc, and for curve_points=1000.",
    "pr": "There is no precision-recall curve: ask for the metric pr_auc, and for curve_points=1000.",
    "calibration": "There are no score bins: ask for the metric ece.",
    "histograms": "There are no score bins: ask for a metric over all rows as auc.",
    "auc_up": "AUC_UP is not evaluated: ask for the metrics auc and auc_up.",
    "distributions": "There is no group table: ask for group=KEY and group_table=True.",
    "paired": "There are no pairs of groups: with several models and a group key, ask for compare=NAME.",
}
_OF_WINDOW = {
    "distributions": "A window has no group table: the reports of its days show it; percentiles as median(ndcg@10) "
    "have their distribution in a window, too.",
    "paired": "A window has no group table: the reports of its days show it.",
}


def _why(name: str, found: Found, models: Sequence[str]) -> str:
    """What to ask for, so that the section ``name`` is there."""
    own = {"evaluation": _OF_EVALUATION, "window": _OF_WINDOW}.get(found.kind, {})
    if name in found.missing:
        return found.missing[name]
    if name in ("comparisons", "paired") and len(models) == 1:
        return "There is one model: with a second score column, and a baseline among them, they are compared."
    return own.get(name, _ASK[name])


def names_of(table: pa.Table, column: str) -> tuple[str, ...]:
    """The different texts of ``column``, in the order of the table."""
    return tuple(pc.unique(plain_texts(table.select([column]))[column]).to_pylist())


def plain_texts(table: pa.Table) -> pa.Table:
    """``table`` whose texts are not encoded by dictionaries."""
    for index, each in enumerate(table.schema):
        if pa.types.is_dictionary(each.type):
            table = table.set_column(index, each.name, table[each.name].cast(each.type.value_type))
    return table


def of_all(table: pa.Table) -> pa.Table:
    """The rows of ``table`` over the whole day."""
    return table.filter(pc.equal(table["slice"].cast(pa.string()), ALL))


def _among(texts: pa.ChunkedArray, allowed: Sequence[str]) -> pa.ChunkedArray:
    """Which of ``texts`` are ``allowed``: a mask, for an expression would not keep the order of the rows."""
    return pc.is_in(texts, value_set=pa.array(allowed, pa.string()))


def defined(value: Any) -> Any:
    """``value``, or None where it is NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value


def instant(value: Any) -> str | None:
    """An instant as ISO 8601 in UTC, to the second; one without a zone is in UTC."""
    if not isinstance(value, dt.datetime):
        return None if value is None else str(value)
    in_utc = value.replace(tzinfo=dt.timezone.utc) if value.tzinfo is None else value.astimezone(dt.timezone.utc)
    return in_utc.isoformat(timespec="seconds").replace("+00:00", "Z")


def _rows(table: pa.Table | None, kind: type[_Row], names: Sequence[str]) -> list[_Row]:
    """The rows of ``table`` as values of ``kind``, whose fields are among the columns ``names``."""
    if table is None:
        return []
    wanted = [each.name for each in fields(kind) if each.name in names]  # type: ignore[arg-type]
    there = [name for name in wanted if name in table.column_names]
    lacking = dict.fromkeys(set(wanted) - set(there))
    rows = plain_texts(table.select(there)).to_pylist()
    return [kind(**lacking, **{name: defined(value) for name, value in row.items()}) for row in rows]


def values_of(table: pa.Table) -> list[MetricValue]:
    """The rows of a table ``metrics``."""
    return _rows(table, MetricValue, METRICS.whole_schema.names)


def comparisons_of(table: pa.Table | None) -> list[Comparison]:
    """The rows of a table ``comparisons`` over the whole day."""
    return [] if table is None else _rows(of_all(table), Comparison, COMPARISONS.schema.names)


def gate_rows(table: pa.Table | None) -> list[GateRow]:
    """The rows of a table ``gates``, in its order."""
    lacking = table is not None and "accepted" not in table.column_names
    if table is not None and lacking:
        table = table.append_column("accepted", pa.repeat(pa.scalar(False), table.num_rows))
    return _rows(table, GateRow, GATES.schema.names)


def worst(verdicts: Iterable[State]) -> State | None:
    """The worst of ``verdicts``, None where there is none."""
    found = set(verdicts)
    return next((each for each in _WORST if each in found), None)


def _gates(table: pa.Table | None) -> tuple[GateRow, ...]:
    """All verdicts: failures first, then what is undecided."""
    return tuple(sorted(gate_rows(table), key=lambda row: _WORST.index(row.verdict)))


def _verdict(found: Found, gates: Sequence[GateRow]) -> Verdict | None:
    state = worst(row.verdict for row in gates)
    if state is None:
        return None
    counts = {each: sum(row.verdict == each for row in gates) for each in _WORST}
    told = {
        "fail": _of_gates(gates, "fail", "fails", "fail"),
        "undecided": f"No gate fails, and {_of_gates(gates, 'undecided', 'is undecided', 'are undecided')}",
        "pass": "The gate passes" if counts["pass"] == 1 else f"All {counts['pass']:,} gate checks pass",
    }[state]
    at, reason = found.run.get("accepted_at"), found.run.get("accepted_reason")
    is_accepted = reason is not None and any(row.accepted for row in gates)
    let_in = ", and a person has let it in" if is_accepted else ""
    return Verdict(
        state,
        counts["pass"],
        counts["fail"],
        counts["undecided"],
        is_accepted,
        instant(at) if is_accepted else None,
        reason if is_accepted else None,
        f"{told}{let_in}.",
    )


def _of_gates(gates: Sequence[GateRow], state: State, one: str, several: str) -> str:
    """How many gates, and in how many of their checks, have the verdict ``state``."""
    names, those = {row.gate for row in gates}, {row.gate for row in gates if row.verdict == state}
    subject = "the gate" if len(names) == 1 else f"{len(those):,} of {len(names):,} gates"
    checks = sum(row.verdict == state for row in gates)
    where = f", in {checks:,} of {len(gates):,} checks" if len(gates) > len(names) else ""
    sentence = f"{subject} {one if len(those) == 1 else several}{where}"
    return sentence if state == "undecided" else sentence[:1].upper() + sentence[1:]


def _comparisons(found: Found, of_slices: Sequence[str] | None) -> Comparisons | None:
    """The table, of slices those rows whose metrics are shown, up to :data:`MOST_CELLS`."""
    table = found.comparisons
    if table is None or not table.num_rows:
        return None
    table = plain_texts(table)
    whole = of_all(table)
    others = table.filter(pc.not_equal(table["slice"], ALL))
    kept = others.filter(_among(others["metric"], of_slices or ())).slice(0, MOST_CELLS)
    rows = _rows(pa.concat_tables([whole, kept]), Comparison, COMPARISONS.schema.names)
    return Comparisons(table["baseline"][0].as_py(), tuple(rows), others.num_rows - kept.num_rows)


def _headline(
    found: Found,
    models: Sequence[str],
    metrics: Sequence[str],
    comparisons: Comparisons | None,
    gates: Sequence[GateRow],
) -> Headline | None:
    rows = values_of(of_all(found.metrics))
    if not rows:
        return None
    compared = {
        (each.metric, each.candidate): each
        for each in (() if comparisons is None else comparisons.rows)
        if each.slice == ALL
    }
    judged: dict[tuple[str, str | None], list[GateRow]] = {}
    for gate in gates:
        if gate.slice == ALL:
            judged.setdefault((gate.metric, gate.model), []).append(gate)
    earlier = _earlier(found)
    order = {metric: index for index, metric in enumerate(metrics)}
    place = {model: index for index, model in enumerate(models)}
    lines = []
    for row in sorted(rows, key=lambda row: (order[row.metric], place[row.model])):
        key = (row.metric, row.model)
        before = earlier.get(key)
        change = None if before is None or row.value is None else row.value - before
        lines.append(HeadlineRow(row, compared.get(key), before, change, tuple(judged.get(key, ()))))
    return Headline(tuple(metrics), tuple(models), tuple(lines))


def definitions_of(table: pa.Table) -> dict[tuple[str, str], str | None]:
    """The definition of each metric and model of a table ``metrics``."""
    if "definition" not in table.column_names:
        return {}
    rows = plain_texts(table.select(["metric", "model", "definition"])).to_pylist()
    return {(row["metric"], row["model"]): row["definition"] for row in rows}


def _earlier(found: Found) -> dict[tuple[str, str], float | None]:
    """The values of the day before by metric and model, of those that are defined alike."""
    if found.before is None:
        return {}
    now, then = definitions_of(of_all(found.metrics)), definitions_of(found.before.metrics)
    rows = plain_texts(found.before.metrics.select(["metric", "model", "value"])).to_pylist()
    keys = [((row["metric"], row["model"]), defined(row["value"])) for row in rows]
    return {key: value for key, value in keys if now.get(key) == then.get(key)}


def _slices(metrics: pa.Table, models: Sequence[str], texts: Sequence[str]) -> Slices | None:
    """The rows of slices, up to :data:`MOST_CELLS` values: whole metrics in the order of the spec, at least one."""
    table = plain_texts(metrics)
    table = table.filter(pc.not_equal(table["slice"], ALL))
    if not table.num_rows:
        return None
    kept: list[str] = []
    count_kept = 0
    for text in texts:
        count = pc.sum(pc.equal(table["metric"], text)).as_py() or 0
        if kept and count_kept + count > MOST_CELLS:
            break
        kept.append(text)
        count_kept += count
    shown = table.filter(_among(table["metric"], kept))
    if shown.num_rows > MOST_CELLS:  # the values with the most rows
        shown = shown.take(pc.sort_indices(shown, [("n_rows", "descending"), *_BY_NAME])[:MOST_CELLS])
    found: dict[tuple[str, str | None, str], dict[str, MetricValue]] = {}
    for row in values_of(shown):
        found.setdefault((row.slice, row.slice_value, row.metric), {})[row.model] = row
    place, order = {each: index for index, each in enumerate(names_of(table, "slice"))}, list(kept)
    rows = []
    for (slice_, value, metric), cells_of in found.items():
        cells = tuple(map(cells_of.get, models))
        first = next(filter(None, cells))
        rows.append(SliceRow(slice_, value, metric, first.n_groups, first.n_rows, cells))
    rows.sort(key=lambda row: (place[row.slice], order.index(row.metric), -(row.n_rows or 0), *_text_key(row)))
    return Slices(tuple(models), tuple(kept), tuple(rows), table.num_rows - shown.num_rows)


_BY_NAME = [(name, "ascending") for name in ("slice", "slice_value", "metric", "model")]


def _text_key(row: SliceRow) -> tuple[bool, str]:
    return row.slice_value is None, row.slice_value or ""


def _curves(table: pa.Table | None, headline: Headline | None) -> tuple[Curve, ...]:
    """The curves over the whole day, each of at most :data:`MOST_POINTS` of its points, at equal steps of them."""
    if table is None:
        return ()
    areas = {} if headline is None else {(each.row.metric, each.row.model): each.row.value for each in headline.rows}
    rows = plain_texts(of_all(table))
    keys = rows.select(["model", "curve", "metric"]).group_by(["curve", "metric", "model"], use_threads=False)
    found = []
    for key in keys.aggregate([]).to_pylist():
        of = rows.filter(
            pc.and_(
                pc.and_(pc.equal(rows["model"], key["model"]), pc.equal(rows["curve"], key["curve"])),
                pc.equal(rows["metric"], key["metric"]),
            )
        )
        count = of.num_rows
        places = range(count) if count <= MOST_POINTS else _spread(count)
        points = of.select(["x", "y", "threshold"]).take(list(places)).to_pylist()
        found.append(
            Curve(
                key["curve"],
                key["model"],
                key["metric"],
                areas.get((key["metric"], key["model"])),
                tuple(Point(each["x"], each["y"], _finite(each["threshold"])) for each in points),
                count,
            )
        )
    place = {} if headline is None else {model: index for index, model in enumerate(headline.models)}
    metric = {} if headline is None else {each: index for index, each in enumerate(headline.metrics)}
    return tuple(sorted(found, key=lambda each: (each.kind, metric.get(each.metric, 0), place.get(each.model, 0))))


def _spread(count: int) -> list[int]:
    """The places of :data:`MOST_POINTS` of ``count`` points, the first and the last among them."""
    return [index * (count - 1) // (MOST_POINTS - 1) for index in range(MOST_POINTS)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _definitions(metrics: pa.Table) -> tuple[Definition, ...]:
    texts = {metric: text for (metric, _), text in reversed(list(definitions_of(metrics).items()))}
    return tuple(_definition(metric, texts.get(metric)) for metric in names_of(metrics, "metric"))


def _definition(text: str, definition: str | None) -> Definition:
    with suppress(MetricError):  # of another version, or of a module that is not imported
        declared = Metric.parse(text).declaration
        return Definition(
            text,
            definition,
            declared.title,
            declared.formula,
            declared.undefined,
            declared.reference,
            declared.higher_is_better,
            link_of(declared),
        )
    return Definition(text, definition)


def _provenance(found: Found) -> Provenance | None:
    run = found.run
    if not run:
        return None
    own = {each.name for each in fields(Provenance)}
    plain = {name: value for name, value in run.items() if name in own and not isinstance(value, (list, dict))}
    named = {
        "started_at": instant(run.get("started_at")),
        "accepted_at": instant(run.get("accepted_at")),
        "days": tuple(run.get("days") or ()),
        "days_missing": tuple(run.get("days_missing") or ()),
        "stages": tuple((name, float(seconds)) for name, seconds in _read(run.get("stages")).items()),
        "versions": tuple(
            (name, _told(value)) for name, value in _read(run.get("versions")).items() if value is not None
        ),
        "spec": _spec_text(run.get("spec")),
        "files": tuple(_file(each) for each in run.get("files") or ()),
    }
    return Provenance(**{**plain, **named})


def _file(each: Mapping[str, Any]) -> File:
    return File(each["table"], each["name"], each.get("rows"), each.get("bytes"), each.get("checksum"))


def _read(text: str | None) -> dict[str, Any]:
    """The object of JSON that ``text`` is; empty where it is none."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_told(each)}" for name, each in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _spec_text(text: str | None) -> str | None:
    """The spec as its row of ``runs`` has it, with a key a line."""
    found = _read(text)
    return json.dumps(found, indent=2, ensure_ascii=False, sort_keys=True) if found else text


def spec_of(run: Mapping[str, Any]) -> dict[str, Any]:
    """The document that a row of ``runs`` has; empty where it has none."""
    return _read(run.get("spec"))
