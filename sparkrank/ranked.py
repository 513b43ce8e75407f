"""One model's rankings of the groups of a bucket, and the states that they yield. Pure pyarrow and numpy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkrank import checks
from sparkrank.impressions import ITEM, WEIGHT, weights_of
from sparkrank.kernels.auc import class_counts
from sparkrank.kernels.exposure import shown
from sparkrank.kernels.hits import hits_of
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags
from sparkrank.kernels.ranking import Ranking
from sparkrank.kernels.remember import remembered
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.lists import ListedRows
from sparkrank.metrics import Plan
from sparkrank.states import Distribution, ItemCounts, ScoreBlocks, Series
from sparkrank.states.means import MeanRow, weighted_sums

ALL = "all"  # the slice, and its value, that holds the whole day
GROUP_COUNTS = ("n_rows", "n_retrieved", "n_relevant")
MODEL = "model"
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class RankedModel:
    """The rankings of model ``name``, of ``listed`` among the ``rows`` of a bucket.

    ``chosen`` (groups) are the groups in which it is evaluated, absent where these are all.
    """

    name: str
    plan: Plan
    ranking: Ranking
    listed: ListedRows
    rows: pa.Table
    chosen: Flags | None

    def counts(self) -> dict[tuple[str, str], int]:
        """What ``quality`` says of the model."""
        positives, negatives = class_counts(hits_of(self.ranking, None))
        listed = self.ranking.length > 0
        one_class = listed & ((positives == 0) | (negatives == 0))
        return {
            (checks.SCORED_ROWS, self.name): len(self.ranking.row),
            (checks.TIED_ROWS, self.name): len(self.ranking.blocks.row),
            (checks.UNRETRIEVED_GROUPS, self.name): int(np.count_nonzero(~listed)),
            (checks.ONE_CLASS_GROUPS, self.name): int(np.count_nonzero(one_class)),
        }

    def means(self) -> Iterator[MeanRow]:
        """The mean state of each group metric."""
        ranking, chosen = self.ranking, self.chosen
        codes = ranking.judgments.codes
        n_rows = len(codes) if chosen is None else int(np.count_nonzero(chosen[codes]))
        n_groups = ranking.groups if chosen is None else int(np.count_nonzero(chosen))
        for metric, declared in self.plan.group_metrics:
            of_groups, weights = self._values()[str(metric)], declared.weights(ranking, metric)
            if chosen is not None:
                of_groups, weights = of_groups[chosen], None if weights is None else weights[chosen]
            n_undefined = int(np.count_nonzero(np.isnan(of_groups)))
            of_groups, weights = _counted(of_groups, weights, self.plan)
            yield self._key(metric), (n_groups, n_undefined, len(of_groups), n_rows), weighted_sums(of_groups, weights)

    def distributions(self) -> Iterator[tuple[Key, Distribution]]:
        """The values of groups of each metric of which a percentile is asked for."""
        for metric in self.plan.distributions:
            of_groups = self._values()[str(metric)]
            counted, _ = _counted(of_groups if self.chosen is None else of_groups[self.chosen], None, self.plan)
            yield self._key(metric), Distribution.of(counted)

    def blocks(self) -> Iterator[tuple[Series, ScoreBlocks]]:
        """The score blocks by each rule that a metric of the whole day reads."""
        for rule, score_sums in self.plan.block_rules.items():
            yield Series(self.name, ALL, ALL, rule), ScoreBlocks.of_rows(rule, self._scored_rows(), score_sums)

    def row_sums(self) -> Iterator[tuple[Key, Floats]]:
        """The limbs of each sum over rows that a metric of the whole day reads."""
        for quantity in self.plan.row_sums:
            yield self._key(quantity), self._scored_rows().sum(quantity)

    def items(self) -> Iterator[ItemCounts]:
        """What the lists of the groups evaluated show of the catalogue; an item of a group is relevant there once."""
        judgments, chosen = self.ranking.judgments, self.chosen
        counted = judgments.counted()
        for exposure in self.plan.exposures:
            relevant = judgments.flags(exposure.rel)
            if counted is not None:
                once = np.zeros(len(relevant), np.bool_)
                once[counted] = relevant[counted]
                relevant = once
            exposed = shown(self.ranking, exposure.k)
            if chosen is not None:  # what other groups list is in the catalogue all the same
                evaluated = chosen[judgments.codes]
                exposed, relevant = np.where(evaluated, exposed, 0), relevant & evaluated
            yield ItemCounts.of(self._key(exposure), self.rows[ITEM], exposed, relevant)

    def group_rows(self, keys: pa.Table) -> pa.Table:
        """The rows of the group table: model, group key (``keys``), counts, and a column for each metric."""
        ranking, judgments = self.ranking, self.ranking.judgments
        counts = (judgments.rows_of_group(), ranking.length, judgments.relevant(None))
        columns = {
            MODEL: pa.array([self.name] * ranking.groups, pa.string()),
            **dict(zip(self.plan.keys, keys.columns, strict=True)),
            **dict(zip(GROUP_COUNTS, counts, strict=True)),
            **self._values(),
        }
        table = pa.table(columns)
        return table if self.chosen is None else table.filter(pa.array(self.chosen))

    def _key(self, what: object) -> Key:
        return self.name, ALL, ALL, str(what)

    @remembered
    def _values(self) -> dict[str, Floats]:
        """The value of each group metric in each group."""
        return {str(metric): declared.values(self.ranking, metric) for metric, declared in self.plan.group_metrics}

    @remembered
    def _scored_rows(self) -> ScoredRows:
        """The rows that have a score, in the groups evaluated, as the metrics of the whole day see them."""
        judgments, scores, retrieved = self.ranking.judgments, self.listed.scores, self.listed.retrieved
        if self.chosen is not None:
            of_chosen = self.chosen[judgments.codes if retrieved is None else judgments.codes[retrieved]]
            scores = scores[of_chosen]
            retrieved = np.flatnonzero(of_chosen) if retrieved is None else retrieved[of_chosen]
        weights = weights_of(self.rows[WEIGHT]) if self.plan.weighted else None
        if retrieved is None:
            return ScoredRows(scores, judgments.labels, weights)
        return ScoredRows(scores, judgments.labels[retrieved], None if weights is None else weights[retrieved])


def _counted(values: Floats, weights: Floats | None, plan: Plan) -> tuple[Floats, Floats | None]:
    """The values of the groups that count, an undefined one as the definitions say, and their weights."""
    undefined = np.isnan(values)
    if not undefined.any():
        return values, weights
    if plan.definitions.counts_undefined_as is not None:
        return np.where(undefined, plan.definitions.counts_undefined_as, values), weights
    return values[~undefined], None if weights is None else weights[~undefined]
