"""What an evaluation gives: the metrics, and the tables behind them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from sparkrank._version import __version__
from sparkrank.base import checks
from sparkrank.base.checks import Limits
from sparkrank.engines.result import Solved
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.uncertainty import Comparison, Family
from sparkrank.schemas.tables import CURVES
from sparkrank.states import Partials
from sparkrank.states.distributions import distributions_table
from sparkrank.stats.corrections import Correction
from sparkrank.tables.rows.blocks import all_blocks
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.curves import curves_table
from sparkrank.tables.rows.lookup import has_metric, text_of, value_of
from sparkrank.tables.rows.pandas_types import with_whole_numbers
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import NO_ORIGIN, Origin
from sparkrank.text.notebook import evaluation_html, evaluation_text

if TYPE_CHECKING:
    import pandas as pd
    from altair import LayerChart
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.report.data import ReportData
    from sparkrank.report.written_forms import ReportForm

# By the lane: ``isinstance`` with :class:`pyarrow.Table` tells which.
LaneTable: TypeAlias = "pa.Table | DataFrame"


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The results of one evaluation, as :func:`sparkrank.evaluate` gives them.

    Tables are Spark DataFrames of ``session``, or tables in memory where the lane is local. A Spark DataFrame of
    :attr:`groups` reads cached results of the pass. :meth:`release` frees that memory, as do the end of a ``with``
    block and Python, once nobody holds the evaluation or one of its tables.

    Parameters
    ----------
    plan : Plan
        The metrics, definitions and slices.
    solved : Solved
        The states and the group table.
    lane : str
        ``frame``, ``scan`` or ``local``.
    table : pyarrow.Table
        The metrics, in memory whatever the lane.
    limits : Limits
        Those of the checks.
    session : SparkSession, optional
        None where the lane is local.
    preset : Preset, optional
        Under which the text of a metric is looked up.
    origin : Origin
        The hash of what was asked, as the tables have it.

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
    >>> "mrr" in ev, list(ev)
    (True, ['rr'])
    >>> ev.metrics.select(["metric", "value", "n_groups"]).to_pylist()
    [{'metric': 'rr', 'value': 0.75, 'n_groups': 2}]
    """

    plan: Plan
    solved: Solved
    lane: str
    table: pa.Table
    limits: Limits
    session: SparkSession | None = None
    preset: Preset | None = None
    origin: Origin = NO_ORIGIN

    def __repr__(self) -> str:
        return evaluation_text(self.table, self._heading)

    def _repr_html_(self) -> str:
        return evaluation_html(self.table, self._heading)

    @property
    def _heading(self) -> str:
        count = self.partials.counts.get((checks.GROUPS, ""), 0)
        groups = f", {count:,} group{'s' if count != 1 else ''}" if self.plan.keys else ""
        return f"Evaluation in the lane {self.lane}{groups}, intervals of {self.plan.uncertainty.level * 100:g} %"

    @property
    def partials(self) -> Partials:
        """The states that the metrics are computed from."""
        return self.solved.partials

    @cached_property
    def metrics(self) -> LaneTable:
        """The table of metrics: one row per model, slice and metric."""
        return with_whole_numbers(self.table) if self.session is None else self.session.createDataFrame(self.table)

    @property
    def groups(self) -> LaneTable | None:
        """The group table: one row per model and group; None without a group key or with ``group_table=False``."""
        return self.solved.groups

    def to_pandas(self) -> pd.DataFrame:
        """The table of metrics, which is small, as a pandas DataFrame; its whole numbers may be null (``Int64``)."""
        small: pd.DataFrame = with_whole_numbers(self.table).to_pandas()
        return small

    def __getitem__(self, metric: str | Metric) -> float:
        """The value of ``metric`` for the only model and the whole day, as :meth:`value` gives it."""
        return self.value(metric)

    def __contains__(self, metric: object) -> bool:
        """Whether ``metric`` was evaluated, in any spelling that :meth:`value` takes."""
        return has_metric(self.plan, self.preset, metric)

    def __iter__(self) -> Iterator[str]:
        """The texts of the metrics, in the order in which they were asked for, each as :meth:`value` finds it."""
        return (text_of(self.plan, self.preset, metric) for metric in self.plan.metrics)

    def value(
        self,
        metric: str | Metric,
        *,
        model: str | None = None,
        slice: Mapping[str, object] | str | None = None,  # noqa: A002 - the name that the tables have for it
    ) -> float:
        """The value of one metric, by the text that was asked for.

        Parameters
        ----------
        metric : str or Metric
            The text of a metric in any spelling, read under the preset of the evaluation, or a :class:`Metric`.
        model : str, optional
            The name of the model. It may be left out where there is only one.
        slice : mapping or str, optional
            The value of each column of a slice: ``{"country": "de", "device": None}``, or the text
            ``"country=de,device=null"``, in which a comma inside a value has a backslash before it.

        Returns
        -------
        float
            The value, NaN where the metric is undefined.

        Raises
        ------
        UnknownResultError
            If no such metric, model or slice was evaluated. It is a ``KeyError``.

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
        """Every other model against ``baseline``: is the difference real, and how large may it be?

        Parameters
        ----------
        baseline : str
            The name of a model. If ``evaluate`` was given it as ``compare``, means of groups are compared by the paired
            t test; otherwise, as all other metrics, by what both models are without each of the 64 parts of the groups.
        correction : {"holm", "benjamini-hochberg", "none"}
            How the p-values of a family become adjusted ones.
        family : {"slice_column", "candidate", "metric", "slice"}
            Which comparisons are one family: the whole day, and each slice with all its values; or all of a candidate,
            of a metric, or of a value of a slice.

        Returns
        -------
        pyarrow.Table
            The table ``comparisons``: a row per candidate, slice, value and metric. Where no standard error is honest,
            as of a coverage, it and what follows from it are null.

        Raises
        ------
        SpecError
            Where there is no such model, or no other, or a word is unknown.

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
        comparison.validate_models(self.plan.models)
        return with_whole_numbers(comparisons_table(self.solved.merged, self.plan, comparison, self.origin))

    def report(self, out: str | os.PathLike[str] | None = None, *, format: ReportForm | None = None) -> ReportData:  # noqa: A002
        """The report that people open: a page of HTML, or another form of it.

        Parameters
        ----------
        out : str or path, optional
            The file to write. Without it nothing is written.
        format : {"html", "md", "json", "latex"}, optional
            Its form; by default that of the file's ending: ``.html``, ``.md``, ``.json`` or ``.tex``.

        Returns
        -------
        ReportData
            What the report says, as values.

        Raises
        ------
        SpecError
            Where the ending is none of these, or ``sparkrank[report]`` is not installed.
        SparkrankError
            Where the file cannot be written.

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

        chosen = form_of(None if out is None else os.fspath(out), format)  # before the work
        data = self._report_data()
        if out is not None:
            write_report(data, os.fspath(out), chosen)
        return data

    def plot(
        self,
        name: str,
        *,
        metric: str | None = None,
        model: str | None = None,
        slice: str | None = None,  # noqa: A002 - the name that the tables have for it
    ) -> LayerChart:
        """A chart of the report: it shows itself in a notebook, and its ``save`` writes SVG, PNG or PDF.

        Parameters
        ----------
        name : str
            ``comparisons``, ``slices``, ``roc``, ``pr``, ``calibration``, ``histograms``, ``auc_up``,
            ``distributions`` or ``paired``.
        metric, model, slice : str, optional
            Which one, where there are several: a metric as the tables have it, a candidate for comparisons, the
            columns of a slice joined by commas. Otherwise the first that fits.

        Returns
        -------
        altair.LayerChart
            A chart of Vega-Lite.

        Raises
        ------
        SpecError
            Where there is no such chart, the tables do not hold what it shows, or the ``report`` extra is not there.

        Examples
        --------
        >>> import pyarrow as pa
        >>> import sparkrank as sr
        >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1],
        ...                 "country": ["de", "de", "fr"]})
        >>> ev = sr.evaluate(log, ["rr"], group="user", score="score", label="click", slices=["country"])
        >>> type(ev.plot("slices", metric="rr")).__name__
        'LayerChart'
        """
        from sparkrank.report.page import require_extra

        require_extra()
        from sparkrank.report.charts import chart

        return chart(self._report_data(), name, metric=metric, model=model, slice=slice)

    def _report_data(self) -> ReportData:
        """The report of the tables that the evaluation has. Of Spark tables the counts of bins alone come here."""
        from sparkrank.comparison.group_tables import GroupTable
        from sparkrank.report.collect import report_data
        from sparkrank.report.report_tables import ReportTables
        from sparkrank.report.score_bins import BinsByRule, frame_bins, score_bins

        plan, compare, blocks, groups = self.plan, self.plan.compare, self.blocks, self.groups
        bins: tuple[BinsByRule, str | None]
        bins = (score_bins(blocks.to_batches()), None) if isinstance(blocks, pa.Table) else frame_bins(blocks)
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
            bins=bins[0],
            bins_missing=bins[1],
            groups=None if groups is None else GroupTable.of_evaluation("report", groups, plan),
        )
        return report_data(tables)

    @property
    def blocks(self) -> LaneTable:
        """The score bins that pooled metrics are computed from; a Spark DataFrame if there are too many exact ones.

        The sums of their scores are null unless a metric reads them or ``score_sums`` is set.
        """
        return all_blocks(self.solved, self.plan)

    @property
    def curves(self) -> pa.Table:
        """The points of the ROC and PR curves; no rows if ``curve_points`` was 0."""
        if not self.plan.curve_points:
            return CURVES.schema.empty_table()
        exact = self.solved.exact
        return curves_table(self.partials, self.plan, {} if exact is None else exact.sketches)

    @property
    def quality(self) -> pa.Table:
        """The counts of the evaluation: rows read, rows rejected by reason, groups of one class, ties."""
        return quality_table(self.partials, self.plan, self.limits, self.solved.measured)

    def release(self) -> None:
        """Free the memory and disk that Spark tables take up; reading :attr:`groups` after that costs a new pass."""
        self.solved.release()

    def __enter__(self) -> Evaluation:  # noqa: PYI034 - typing.Self is of Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
