"""The report of an evaluation in memory: of the tables that it has, without any that a run would add."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank._version import __version__
from sparkrank.base import checks
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.report import group_sections, score_sections
from sparkrank.report.collect import Found, comparisons_of, names_of, of_all, report_data, values_of
from sparkrank.report.data import ReportData
from sparkrank.states.distributions import distributions_table

if TYPE_CHECKING:
    from sparkrank.results.evaluation import Evaluation


def report_of_evaluation(evaluation: Evaluation) -> ReportData:
    """The report of an evaluation.

    Parameters
    ----------
    evaluation : Evaluation
        What :func:`sparkrank.evaluate` gave.

    Returns
    -------
    ReportData
        Of Spark tables the counts of bins alone come to this process.
    """
    plan, metrics = evaluation.plan, evaluation.table
    models, values = names_of(metrics, "model"), values_of(of_all(metrics))
    compare = plan.compare
    comparisons = None
    if compare is not None:
        comparisons = evaluation.compare(compare.baseline, correction=compare.correction, family=compare.family)
    blocks = evaluation.blocks
    bins: score_sections.Bins
    told: str | None = None
    if isinstance(blocks, pa.Table):
        bins = score_sections.score_bins(blocks.to_batches())
    else:
        bins, told = score_sections.frame_bins(blocks)
    made, missing = score_sections.sections_of_bins(bins, models, values, told)
    if evaluation.groups is not None:
        table = GroupTable.of("report", evaluation)
        of_groups, unpaired = group_sections.sections_of_groups(table, models, comparisons_of(comparisons))
        made, missing = {**made, **of_groups}, {**missing, **unpaired}
    elif plan.distributions:
        rows = distributions_table(evaluation.partials.distributions)
        made["distributions"] = group_sections.stored_distributions(rows, values, models)
    run = {
        "lane": evaluation.lane,
        "rows": evaluation.partials.counts.get((checks.ROWS_READ, "")),
        "spec_hash": evaluation.origin.spec_hash,
        "versions": json.dumps({"sparkrank": __version__, "pyarrow": pa.__version__}),
    }
    return report_data(
        Found(
            "evaluation",
            "evaluation",
            metrics,
            comparisons,
            quality=evaluation.quality,
            curves=evaluation.curves,
            run=run,
            baseline=None if compare is None else compare.baseline,
            level=None if plan.uncertainty.off else plan.uncertainty.level,
            missing=missing,
            **made,
        )
    )
