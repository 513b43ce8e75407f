"""The result of an evaluation: the metrics, and the tables behind them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from sparkrank._version import __version__
from sparkrank.base import checks
from sparkrank.base.checks import Limits
from sparkrank.base.errors import SparkrankError, quote
from sparkrank.engines.result import PassResult
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.plan_validation import validate_comparison
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.uncertainty import Comparison, Family
from sparkrank.states import Partials
from sparkrank.states.distributions import distributions_table
from sparkrank.stats.corrections import Correction
from sparkrank.tables.rows.blocks import all_blocks
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.curves import curves_table
from sparkrank.tables.rows.disparities import disparities_table
from sparkrank.tables.rows.exposures import exposures_table
from sparkrank.tables.rows.gains import gains_table
from sparkrank.tables.rows.lookup import found_metric, has_metric, text_of, value_of
from sparkrank.tables.rows.pandas_types import with_whole_numbers
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import NO_ORIGIN, Origin
from sparkrank.tables.rows.rows_by_position import positions_table
from sparkrank.tables.rows.warnings import warnings_of
from sparkrank.text.notebook import evaluation_html, evaluation_text, show_tables
from sparkrank.text.text import unlisted_sentences

if TYPE_CHECKING:
    import pandas as pd
    from altair import LayerChart
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.report.data import ReportData
    from sparkrank.report.written_forms import ReportForm

# The type depends on the lane; check with ``isinstance(table, pyarrow.Table)``.
LaneTable: TypeAlias = "pa.Table | DataFrame"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The results of one evaluation, as :func:`sparkrank.evaluate` returns them.

    In the local lane (which runs without Spark), tables are in memory; otherwise they are Spark DataFrames of
    ``session``. The DataFrame :attr:`groups` reads cached results of the pass over the rows. :meth:`release` frees this
    cache, and so does the end of a ``with`` block, or of the last reference to the evaluation and its tables.

    Parameters
    ----------
    plan : Plan
        The metrics, definitions and slices.
    solved : PassResult
        The states (partial results that merge) and the group table.
    lane : str
        The lane in which the evaluation ran: ``frame``, ``scan`` or ``local``.
    table : pyarrow.Table
        The table of metrics, which is in memory in every lane.
    limits : Limits
        The limits of the checks.
    session : SparkSession, optional
        The Spark session of the DataFrames; None in the local lane.
    preset : Preset, optional
        The preset under which metric texts are looked up.
    origin : Origin
        The hash of the request, as stored in the tables.
    writer : callable, optional
        The function that :meth:`write` calls.
    source : str, optional
        The rows that were evaluated, with the version and the ID of each lake table: the column ``input`` of the table
        ``runs``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
    >>> ev = sr.evaluate(log, ["mrr"], group="user", score="score", label="click")
    >>> ev
    Evaluation in the lane local, 2 groups, intervals of 95 %
    metric                    score  groups  undefined
    ------  -----------------------  ------  ---------
    rr      0.7500 [0.0000, 1.0000]       2          0
    >>> ev["mrr"], ev.groups["rr"].to_pylist()
    (0.75, [0.5, 1.0])
    >>> "mrr" in ev, list(ev), ev.source
    (True, ['rr'], 'in memory')
    >>> ev.metrics.select(["metric", "value", "n_groups"]).to_pylist()
    [{'metric': 'rr', 'value': 0.75, 'n_groups': 2}]
    """

    plan: Plan
    solved: PassResult
    lane: str
    table: pa.Table
    limits: Limits
    session: SparkSession | None = None
    preset: Preset | None = None
    origin: Origin = NO_ORIGIN
    writer: Callable[[Evaluation, str, str | None], dict[str, str]] | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        show_tables()

    def __repr__(self) -> str:
        return evaluation_text(self.table, self._heading, unlisted_sentences(self.quality))

    def _repr_html_(self) -> str:
        return evaluation_html(self.table, self._heading, unlisted_sentences(self.quality))

    @property
    def _heading(self) -> str:
        count = self.partials.counts.get((checks.GROUPS, ""), 0)
        groups = f", {count:,} group{'s' if count != 1 else ''}" if self.plan.keys else ""
        compare = self.plan.compare
        differences = "" if compare is None else f", differences in compare({quote(compare.baseline)})"
        level = f"intervals of {self.plan.uncertainty.level * 100:g} %"
        return f"Evaluation in the lane {self.lane}{groups}, {level}{differences}"

    @property
    def partials(self) -> Partials:
        """The states (partial results that merge) from which the metrics are computed."""
        return self.solved.partials

    @cached_property
    def metrics(self) -> LaneTable:
        """The table of metrics, with one row per model, slice value and metric."""
        return with_whole_numbers(self.table) if self.session is None else self.session.createDataFrame(self.table)

    @property
    def groups(self) -> LaneTable | None:
        """The group table, with one row per model and group; None without a group key or with ``group_table=False``."""
        return self.solved.groups

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of metrics as a pandas DataFrame, in which integer columns are nullable (``Int64``).

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
        >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click")
        >>> ev.to_pandas()[["metric", "value", "n_groups"]].to_dict("records")
        [{'metric': 'rr', 'value': 0.75, 'n_groups': 2}]
        """
        small: pd.DataFrame = with_whole_numbers(self.table).to_pandas()
        return small

    def __getitem__(self, metric: str | Metric) -> float:
        """Return the value of ``metric`` for the only model over the whole day, as :meth:`value` does."""
        return self.value(metric)

    def __contains__(self, metric: object) -> bool:
        """Return whether ``metric``, in any spelling that :meth:`value` accepts, was evaluated."""
        return has_metric(self.plan, self.preset, metric)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the metrics as strings that :meth:`value` accepts, in the order of the request."""
        return (text_of(self.plan, self.preset, metric) for metric in self.plan.metrics)

    def value(
        self,
        metric: str | Metric,
        *,
        model: str | None = None,
        slice: Mapping[str, object] | str | None = None,  # noqa: A002 - the name that the tables have for it
    ) -> float:
        """Return the value of one metric, for a model and a slice.

        Parameters
        ----------
        metric : str or Metric
            A :class:`Metric`, or a string in any spelling, which is read under the preset of the evaluation.
        model : str, optional
            The name of the model. It may be omitted if there is only one model.
        slice : mapping or str, optional
            The value of each slice column, as ``{"country": "de", "device": None}`` or as the string
            ``"country=de,device=(null)"``. In the string, a comma within a value is escaped with a backslash.

        Returns
        -------
        float
            The value; NaN if the metric is undefined.

        Raises
        ------
        UnknownResultError
            If no such metric, model or slice was evaluated. This error is a ``KeyError``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "label": [0, 1, 1],
        ...                 "country": ["de", "de", None]})
        >>> ev = sr.evaluate(log, ["mrr", "auc(exact)"], group="user", score="score", label="label",
        ...                  slices=["country"])
        >>> ev["mrr"]
        0.75
        >>> ev.value("rr", model="score", slice={"country": "de"})
        0.5
        >>> ev.value("MRR", slice="country=(null)")
        1.0
        >>> ev["ndcg@10"]
        Traceback (most recent call last):
            ...
        sparkrank.base.errors.UnknownResultError: no metric "ndcg@10" was evaluated (there are: rr, auc(exact))
        """
        return value_of(self.table, self.plan, self.preset, metric, model, slice)

    def compare(self, baseline: str, *, correction: Correction = "holm", family: Family = "slice_column") -> pa.Table:
        """Compare every other model with ``baseline``, with p-values and intervals of the differences.

        Parameters
        ----------
        baseline : str
            The name of a model. If this model was passed to ``evaluate`` as ``compare``, means over groups are compared
            by a paired t test. All other comparisons use a jackknife, which leaves out one of 64 fixed subsets of
            the groups at a time.
        correction : {"holm", "benjamini-hochberg", "none"}
            The adjustment of the p-values within a family.
        family : {"slice_column", "candidate", "metric", "slice"}
            How comparisons form families. With ``slice_column``, the whole day is one family, and each slice with all
            its values forms another. Otherwise, a family is all comparisons of a candidate, a metric or a slice value.

        Returns
        -------
        pyarrow.Table
            The table ``comparisons``, with one row per candidate, slice, slice value and metric. If there is no valid
            standard error, as for coverage, the standard error and all columns derived from it are null.

        Raises
        ------
        SpecError
            If there is no such model or no other model, or if an option is unknown.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b", "b"], "old": [0.9, 0.5, 0.7, 0.2], "new": [0.1, 0.5, 0.7, 0.2],
        ...                 "click": [0, 1, 1, 0]})
        >>> ev = sr.evaluate(log, ["mrr"], group="user", score={"old": "old", "new": "new"}, label="click",
        ...                  compare="old")
        >>> ev.compare("old").select(["candidate", "difference", "wins", "ties", "losses"]).to_pylist()
        [{'candidate': 'new', 'difference': 0.25, 'wins': 1, 'ties': 1, 'losses': 0}]
        """
        return self._compared(Comparison(baseline, correction, family))

    def _compared(self, comparison: Comparison) -> pa.Table:
        validate_comparison(self.plan, comparison)
        return with_whole_numbers(comparisons_table(self.solved.merged, self.plan, comparison, self.origin))

    @property
    def disparities(self) -> pa.Table | None:
        """The table ``disparities``, with one row per model, slice and metric; None if none were requested.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b", "b"], "score": [0.9, 0.5, 0.7, 0.2], "click": [0, 1, 1, 0],
        ...                 "country": ["de", "de", "fr", "fr"]})
        >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click", slices=["country"],
        ...                  disparities=["country"])
        >>> ev.disparities.select(["lowest", "highest", "difference", "ratio"]).to_pylist()
        [{'lowest': 'de', 'highest': 'fr', 'difference': 0.5, 'ratio': 0.5}]
        """
        if not self.plan.disparities:
            return None
        return with_whole_numbers(disparities_table(self.solved.merged, self.plan, self.origin))

    def report(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        format: ReportForm | None = None,  # noqa: A002
        keys: bool = True,
    ) -> ReportData:
        """Return the report of the evaluation, and optionally write it to a file as an HTML page or in another form.

        Parameters
        ----------
        out : str or path, optional
            The file to write. If omitted, nothing is written.
        format : {"html", "md", "json", "latex"}, optional
            The form of the file. By default, the form for the suffix of ``out``: ``.html``, ``.md``, ``.json`` or
            ``.tex``.
        keys : bool
            Whether the report shows the keys of single groups, which may identify persons.

        Returns
        -------
        ReportData
            The contents of the report as values.

        Raises
        ------
        SpecError
            If the suffix or form is unknown, or if ``sparkrank[report]`` is needed but not installed.
        SparkrankError
            If the file cannot be written.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
        >>> data = sr.evaluate(log, ["mrr"], group="user", score="score", label="click").report()
        >>> data.models, data.headline.rows[0].row.value
        (('score',), 0.75)
        >>> data.missing["roc"]
        'There is no ROC curve: ask for the metric auc, and for curve_points=1000.'
        """
        from sparkrank.report.written_forms import form_of, write_report

        chosen = form_of(None if out is None else os.fspath(out), format)  # fail before the work starts
        data = self._report_data(shows_keys=keys)
        if out is not None:
            write_report(data, os.fspath(out), chosen)
        return data

    def write(self, folder: str | os.PathLike[str], *, day: str | None = None) -> dict[str, str]:
        """Write the tables to a folder in the way of a job, so that all tables of a day become visible at once.

        The written tables can be read by ``sparkrank report``, ``gate``, ``compare`` and ``movers``, by
        :func:`sparkrank.compare_runs`, and by later days of a job.

        Parameters
        ----------
        folder : str or path
            The folder of all tables, like ``output.path`` in a spec. Rows of other days in the folder are kept.
        day : str, optional
            The day to write or replace, as YYYY-MM-DD; by default, today in UTC.

        Returns
        -------
        dict of str to str
            The folder of each table.

        Raises
        ------
        SpecError
            If ``day`` is not a date, or if ``folder`` is inside the folder of the input rows or needs a Spark session.
        SparkrankError
            If another run is writing the day, or if the tables cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
        >>> ev = sr.evaluate(log, ["mrr"], group="user", score="score", label="click")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(ev.write(folder, day="2026-11-19"))
        ...     sr.compare_runs(folder, ev, left_day="2026-11-19").table["difference"].to_pylist()
        ['blocks', 'groups', 'metrics', 'quality', 'runs', 'states']
        [0.0]
        """
        if self.writer is None:
            raise SparkrankError("only what sr.evaluate has returned can be written")
        return self.writer(self, os.fspath(folder), day)

    def plot(
        self,
        name: str,
        *,
        metric: str | None = None,
        model: str | None = None,
        slice: str | None = None,  # noqa: A002 - the name that the tables have for it
    ) -> LayerChart:
        """Return a chart from the report, which notebooks display offline and ``save`` writes as SVG, PNG or PDF.

        Parameters
        ----------
        name : str
            ``comparisons``, ``slices``, ``roc``, ``pr``, ``calibration``, ``histograms``, ``auc_up``,
            ``distributions`` or ``paired``.
        metric, model, slice : str, optional
            The choice among several charts: a metric in any spelling, a model (for comparisons, a candidate), or the
            columns of a slice joined by commas. The first matching chart is returned.

        Returns
        -------
        altair.LayerChart
            A Vega-Lite chart.

        Raises
        ------
        SpecError
            If there is no such chart, if the tables lack its data, or if the ``report`` extra is not installed.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1],
        ...                 "country": ["de", "de", "fr"]})
        >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click", slices=["country"])
        >>> ev.plot("slices", metric="rr")._repr_mimebundle_()["image/svg+xml"][:4]  # what a notebook shows
        '<svg'
        """
        from sparkrank.report.page import require_extra

        require_extra()
        from sparkrank.report.charts import chart

        named = None if metric is None else found_metric(self.plan, self.preset, metric) or metric
        return chart(self._report_data(), name, metric=named, model=model, slice=slice)

    def _report_data(self, *, shows_keys: bool = True) -> ReportData:
        """Return the report on the evaluation's tables. From Spark tables, only the counts per bin are collected."""
        from sparkrank.comparison.group_tables import GroupTable
        from sparkrank.report.collect import report_data
        from sparkrank.report.report_tables import ReportTables
        from sparkrank.report.score_bins import BinsBySliceValue, frame_bins, score_bins, shown_places

        plan, compare, blocks, groups = self.plan, self.plan.compare, self.blocks, self.groups
        places = shown_places(self.table)
        bins: tuple[BinsBySliceValue, str | None]
        if isinstance(blocks, pa.Table):
            bins = score_bins(blocks.to_batches(), places), None
        else:
            bins = frame_bins(blocks, places)
        distributions = (
            distributions_table(self.partials.distributions) if groups is None and plan.distributions else None
        )
        run = {
            "lane": self.lane,
            "rows": self.partials.counts.get((checks.ROWS_READ, "")),
            "spec_hash": self.origin.spec_hash,
            "versions": json.dumps({"sparkrank": __version__, "pyarrow": pa.__version__}),
        }
        tables = ReportTables(
            "evaluation",
            "evaluation",
            self.table,
            None if compare is None else self._compared(compare),
            quality=self.quality,
            curves=self.curves,
            distributions=distributions,
            run=run,
            baseline=None if compare is None else compare.baseline,
            level=None if plan.uncertainty.off else plan.uncertainty.level,
            most_unpaired=(compare or Comparison("")).most_unpaired,
            keys=plan.keys,
            undefined=plan.definitions.undefined,
            warnings=warnings_of(self.partials, plan, self.table, self.limits),
            bins=bins[0],
            bins_missing=bins[1],
            groups=None if groups is None else GroupTable.of_evaluation("report", groups, plan),
            disparities=self.disparities,
            exposures=self.exposures if plan.attention_metrics else None,
            positions=self.positions,
            shows_keys=shows_keys,
        )
        return report_data(tables)

    @property
    def blocks(self) -> LaneTable:
        """The table of score bins (rows with nearly equal scores), from which pooled metrics are computed.

        The table is a Spark DataFrame if there are too many exact bins. The column ``score_sum`` is null unless a
        metric reads score sums or ``score_sums`` is set.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
        >>> ev = sr.evaluate(log, ["auc(exact)"], score="score", label="click")
        >>> ev.blocks.select(["score", "pos", "neg"]).to_pydict()
        {'score': [0.5, 0.7, 0.9], 'pos': [1, 1, 0], 'neg': [0, 0, 1]}
        """
        return all_blocks(self.solved, self.plan)

    @property
    def curves(self) -> pa.Table:
        """The table of ROC and PR curves and of their best points. It is empty if ``curve_points`` is 0.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
        >>> ev = sr.evaluate(log, ["auc(exact)"], score="score", label="click", curve_points=10)
        >>> ev.curves.select(["curve", "x", "y"]).to_pydict()  # from the highest score down: a miss, a hit, a hit
        {'curve': ['roc', 'roc', 'roc', 'roc'], 'x': [0.0, 1.0, 1.0, 1.0], 'y': [0.0, 0.0, 0.5, 1.0]}
        """
        return curves_table(self.solved, self.plan)

    @property
    def positions(self) -> pa.Table | None:
        """The table of the rows at each position of the lists; None if ``position_depth`` is 0.

        Examples
        --------
        The rate by position, and its mean over the first two:

        >>> import pyarrow as pa, sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b", "b"], "score": [0.9, 0.5, 0.7, 0.2], "click": [0, 1, 1, 0]})
        >>> ev = sr.evaluate(log, ["p@2"], group="user", score="score", label="click", position_depth=2)
        >>> ev.positions.select(["position", "rows", "relevant"]).to_pylist()
        [{'position': 1, 'rows': 2, 'relevant': 1.0}, {'position': 2, 'rows': 2, 'relevant': 1.0}]
        >>> ev["p@2"]
        0.5
        """
        return positions_table(self.partials, self.plan) if self.plan.position_depth else None

    @property
    def gains(self) -> pa.Table | None:
        """The table of lift and capture by twentieths of all rows; None if it was not requested.

        Examples
        --------
        >>> import pyarrow as pa, sparkrank as sr
        >>> log = pa.table({"score": [0.9, 0.5, 0.7, 0.2], "click": [1, 0, 1, 0]})
        >>> ev = sr.evaluate(log, ["lift(top=0.25)"], score="score", label="click", gains=True)
        >>> ev.gains.select(["top", "score", "capture", "lift"]).to_pylist()[4]
        {'top': 0.25, 'score': 0.89990234375, 'capture': 0.5, 'lift': 2.0}
        >>> ev["lift(top=0.25)"]
        2.0
        """
        return gains_table(self.solved, self.plan) if self.plan.gains else None

    @property
    def exposures(self) -> pa.Table:
        """The table of ``exposure_gap``: the attention to each value (such as a provider), and the amount due to it."""
        return exposures_table(self.solved.merged, self.plan)

    @property
    def quality(self) -> pa.Table:
        """The table of counts: rows read, rows rejected by reason, groups with a single class, and ties.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, float("nan")], "click": [0, 1, 1]})
        >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click", max_bad_fraction=0.5)
        >>> [(row["check"], row["count"]) for row in ev.quality.to_pylist() if "nan_score" in row["code"]]
        [('rejected: NaN score', 1.0)]
        """
        return quality_table(self.partials, self.plan, self.limits, self.solved.exact_terms)

    def release(self) -> None:
        """Free the memory and disk space of Spark tables. A later use of :attr:`groups` reads the input rows again."""
        self.solved.release()

    def __enter__(self) -> Evaluation:  # noqa: PYI034 - typing.Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
