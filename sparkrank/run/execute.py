"""The steps of every evaluation: open the rows, check their schema, count, evaluate, and refuse or warn."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from sparkrank.base.errors import MOST_SENTENCE, shorten
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.lanes import Lane
from sparkrank.engines.request import Request
from sparkrank.engines.result import PassResult
from sparkrank.inputs.buckets import bucket_count
from sparkrank.inputs.field_paths import elements_of
from sparkrank.metrics.uncertainty import Comparison
from sparkrank.run.catalog_items import with_catalogue
from sparkrank.run.completeness import NOTHING_EXPECTED, Completeness
from sparkrank.run.item_tables import with_item_tables
from sparkrank.run.lane import open_lane
from sparkrank.run.stages import Stages
from sparkrank.tables.rows.comparisons import comparisons_table
from sparkrank.tables.rows.limits import validate_quality
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.refusals import validate_defined, validate_partials, validate_past
from sparkrank.tables.rows.results import metrics_table
from sparkrank.tables.rows.top_values import with_top_values
from sparkrank.tables.rows.warnings import warnings_of


@dataclass(frozen=True)
class EvaluationOutcome:
    """The result of an evaluation of ``request``: states (``solved``), ``metrics``, and ``warnings`` for the user."""

    request: Request
    lane: Lane
    buckets: int
    solved: PassResult
    metrics: pa.Table
    warnings: list[str]

    @cached_property
    def quality(self) -> pa.Table:
        """The table ``quality``, with the result of each check of the rows."""
        return quality_table(self.solved.partials, self.request.plan, self.request.limits, self.solved.exact_terms)

    def comparisons(self, comparison: Comparison) -> pa.Table:
        """Return the table ``comparisons`` of each model with the baseline."""
        return comparisons_table(self.solved.merged, self.request.plan, comparison)


@dataclass(frozen=True)
class OpenRequest:
    """A request whose rows passed the check of their schema. ``lane`` evaluates the rows in ``buckets`` buckets.

    ``rows`` is the number of rows that were counted before the evaluation, or 0.
    """

    request: Request
    lane: Lane
    buckets: int
    completeness: Completeness = NOTHING_EXPECTED
    rows: int = 0  # the number of rows counted, or 0

    def evaluate(self, stages: Stages, files: GroupFiles | None = None) -> EvaluationOutcome:
        """Evaluate the rows in one pass. If ``files`` is given, the workers write the group table to them.

        Raise :class:`InputError` if the rows cannot be used or a limit is exceeded. After any error, all files written
        to ``files`` are removed.
        """
        try:
            with stages.stage("evaluate", self.rows):
                solved = self.lane.evaluate(self.request.plan, self.buckets, files)
            try:
                with stages.stage("check"):
                    outcome = self._checked(solved)
                    if files is not None:
                        files.publish()
                    return outcome
            except BaseException:
                solved.release()
                raise
        except BaseException:  # an interrupt too, after which a notebook continues
            if files is not None:
                files.discard()
            raise

    def _checked(self, solved: PassResult) -> EvaluationOutcome:
        request, plan, limits = self.request, self.request.plan, self.request.limits
        counts = {**solved.partials.counts, **request.counts}
        solved = replace(solved, partials=with_catalogue(replace(solved.partials, counts=counts), plan))
        elements = [column for _, roles in request.sides for column in elements_of(roles)]
        self.completeness.validate_row_count(solved.partials)
        validate_partials(solved.partials, plan, limits.bad, elements)
        needed = [name for name in plan.past if name in request.past and not request.past[name].optional]
        validate_past(needed, solved.partials)
        pooled = with_top_values(solved.partials, plan)
        solved = replace(solved, partials=pooled, before_pooling=solved.partials)
        metrics = metrics_table(solved.merged, plan)
        validate_defined(metrics, plan)
        warnings = [
            *self.completeness.warnings,
            *self.lane.warnings,
            *_slower(solved),
            *warnings_of(solved.partials, plan, metrics, limits),
        ]
        outcome = EvaluationOutcome(request, self.lane, self.buckets, solved, metrics, warnings)
        if limits.by_check:
            validate_quality(outcome.quality, limits)
        return outcome


def _slower(solved: PassResult) -> Iterator[str]:
    """Yield a warning for each refusal by the Spark session that made the evaluation slower.

    Usual refusals are only logged.
    """
    for refusal in solved.refusals:
        if refusal.is_usual:
            logging.getLogger(__name__).info("%s", shorten(refusal, MOST_SENTENCE))
        else:
            yield str(refusal)


def open_request(request: Request, stages: Stages) -> OpenRequest:
    """Open the lane for ``request``, check the schema of its rows, and count the rows if ``buckets`` is not given.

    Raise the errors of :func:`sparkrank.run.lane.open_lane`, or an error if a column is missing or has a wrong type.
    """
    request.plan.uncertainty.validate_single_look()
    with stages.stage("open"):
        request = request.without_absent().at_versions()
        lane = open_lane(request)
        lane.check(request.plan)
        request = with_item_tables(request, lane)
    with stages.stage("count"):
        if not request.plan.keys:
            return OpenRequest(request, lane, 1)
        if request.buckets is not None:
            return OpenRequest(request, lane, request.buckets)
        rows = lane.rows()
        buckets = bucket_count(rows, request.bucket_rows, len(request.plan.models))
        return OpenRequest(request, lane, buckets, rows=rows)
