"""Whole-day score bins from the table ``blocks``, read in batches; adjacent bins are joined if there are too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.comparison.group_pairs import is_text
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import run_starts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = ("model", "slice", "rule", "score", "pos", "neg", "score_sum", "rows")  # the columns read from the table
_AMOUNTS = ("score", "pos", "neg", "rows", "score_sum")
MOST_BINS = 200_000  # the most bins kept for a model and rule; a probability with five decimals needs fewer
JOINED_BITS = 8  # bits of the mantissa that are kept when there are more bins, which are then joined
MOST_FRAME_BINS = 2_000_000  # the most bins that Spark passes to this process


@dataclass(frozen=True)
class ScoreBins:
    """The score bins of one model under one bin rule over the whole day, ascending by ``score``.

    ``pos`` and ``neg`` are the numbers (or weights) of relevant rows and of other rows. ``rows`` counts all rows.
    ``score_sum`` is None if the table has no sums. ``is_joined`` is True if neighbouring bins were joined because there
    were too many.
    """

    model: str
    rule: str
    score: Floats
    pos: Floats
    neg: Floats
    rows: Floats
    score_sum: Floats | None
    is_joined: bool = False

    @property
    def mass(self) -> Floats:
        """The number (or weight) of all rows in each bin."""
        return self.pos + self.neg

    def with_sums(self) -> ScoreBins:
        """Return the bins with sums of scores; if these are not stored, each row counts with the score of its bin."""
        with np.errstate(invalid="ignore"):  # an infinite score times zero weight
            return self if self.score_sum is not None else replace(self, score_sum=self.score * self.mass)

    def select(self, which: Any) -> ScoreBins:
        """Return the bins that ``which`` (indices, a slice or a mask) selects."""
        return self._changed(lambda column: column[which])

    def _changed(self, change: Callable[[Floats], Floats]) -> ScoreBins:
        changed: dict[str, Any] = {name: change(c) for name in _AMOUNTS if (c := getattr(self, name)) is not None}
        return replace(self, **changed)

    def summed(self, first: Ints) -> ScoreBins:
        """Join the bins from each index in ``first`` up to the next index into one bin, named by the first score."""
        summed = self._changed(lambda amounts: np.add.reduceat(amounts, first))
        return replace(summed, score=self.score[first])

    def joined(self) -> ScoreBins:
        """Return the bins; more than :data:`MOST_BINS` are joined by the rule ``bits`` with :data:`JOINED_BITS`."""
        if len(self.score) <= MOST_BINS:
            return self
        numbers = BinRule("bits", JOINED_BITS).numbers(self.score)
        return replace(self.summed(run_starts(numbers)), is_joined=True)

    @classmethod
    def merged(cls, parts: Sequence[ScoreBins]) -> ScoreBins:
        """Combine the bins of all ``parts``, which share a model and rule, sorted by score and joined if too many."""
        columns = {name: [getattr(part, name) for part in parts] for name in _AMOUNTS}
        order = np.argsort(np.concatenate(columns["score"]), kind="stable")
        whole: dict[str, Any] = {
            name: None if any(column is None for column in own) else np.concatenate(own)[order]
            for name, own in columns.items()
        }
        return cls(parts[0].model, parts[0].rule, is_joined=any(part.is_joined for part in parts), **whole).joined()


BinsByRule: TypeAlias = Mapping[tuple[str, str], ScoreBins]


def score_bins(batches: Iterable[pa.RecordBatch]) -> dict[tuple[str, str], ScoreBins]:
    """Return the bins by model and rule, from ``batches`` of ``blocks`` with the :data:`COLUMNS` that it has."""
    parts: dict[tuple[str, str], list[ScoreBins]] = {}
    held: dict[tuple[str, str], int] = {}
    for batch in batches:
        rows = batch.filter(is_text(batch["slice"], ALL))
        for model in pc.unique(rows["model"]).to_pylist():
            of_model = rows.filter(is_text(rows["model"], model))
            for rule in pc.unique(of_model["rule"]).to_pylist():
                key = (model, rule)
                parts.setdefault(key, []).append(_bins(model, rule, of_model.filter(is_text(of_model["rule"], rule))))
                held[key] = held.get(key, 0) + len(parts[key][-1].score)
                if held[key] > 2 * MOST_BINS:
                    parts[key] = [ScoreBins.merged(parts[key])]
                    held[key] = len(parts[key][0].score)
    return {key: ScoreBins.merged(own) for key, own in parts.items()}


def frame_bins(frame: DataFrame) -> tuple[BinsByRule, str | None]:
    """Return the bins in a Spark DataFrame, or no bins and a sentence with the reason if there are too many of them."""
    rows = frame.where(frame["slice"] == ALL).select([name for name in COLUMNS if name in frame.columns])
    if rows.count() > MOST_FRAME_BINS:
        return {}, f"There are more than {MOST_FRAME_BINS:,} score bins: ask for a rule with fewer, as auc(bits=12)."
    return score_bins(rows.toArrow().to_batches()), None


def _bins(model: str, rule: str, rows: pa.RecordBatch) -> ScoreBins:
    def column(name: str) -> Floats:
        values: Floats = rows[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values

    pos, neg = column("pos"), column("neg")
    names = rows.schema.names
    sums = column("score_sum") if "score_sum" in names and not rows["score_sum"].null_count else None
    return ScoreBins(model, rule, column("score"), pos, neg, column("rows") if "rows" in names else pos + neg, sums)


def chosen_bins(bins: BinsByRule, model: str, kinds: Sequence[str]) -> ScoreBins | None:
    """Return the model's bins of the first rule kind in ``kinds`` that has bins (preferably no ``rel``), or None."""
    rules = [(BinRule.parse(rule), own) for (name, rule), own in bins.items() if name == model and len(own.score)]
    known = [(rule, own) for rule, own in rules if rule.kind in kinds]
    if not known:
        return None
    return min(known, key=lambda pair: (kinds.index(pair[0].kind), pair[0].rel is not None, -pair[0].size))[1]
