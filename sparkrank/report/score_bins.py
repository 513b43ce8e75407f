"""Score bins from the table ``blocks``, read in batches, for the whole day and for a few values of slices.

Adjacent bins are joined if there are too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.comparison.group_pairs import is_text
from sparkrank.histogram.bins import BinRule
from sparkrank.metrics.slices import ALL, OF_RELEVANT
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.segments import run_starts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# The columns read from the table.
COLUMNS = ("model", "slice", "slice_value", "rule", "score", "pos", "neg", "score_sum", "rows")
_AMOUNTS = ("score", "pos", "neg", "rows", "score_sum")
MOST_BINS = 200_000  # the most bins kept for a model and rule; a probability with five decimals needs fewer
JOINED_BITS = 8  # bits of the mantissa that are kept when there are more bins, which are then joined
MOST_FRAME_BINS = 2_000_000  # the most bins that Spark passes to this process
MOST_VALUES = 6  # values of slices whose bins are read: more lines cannot be distinguished in one diagram
SliceValue: TypeAlias = "tuple[str, str | None]"  # a slice and a value of it
WHOLE_DAY: SliceValue = (ALL, ALL)


@dataclass(frozen=True)
class ScoreBins:
    """The score bins of one model by one bin rule, for the whole day or a value of a slice, ascending by ``score``.

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
        """Return the bins with sums of scores. If sums are not stored, each row counts with the score of its bin."""
        with np.errstate(invalid="ignore"):  # an infinite score times zero weight
            return self if self.score_sum is not None else replace(self, score_sum=self.score * self.mass)

    def select(self, which: Any) -> ScoreBins:
        """Return the bins at ``which`` (indices, a slice or a mask)."""
        return self._changed(lambda column: column[which])

    def _changed(self, change: Callable[[Floats], Floats]) -> ScoreBins:
        changed: dict[str, Any] = {name: change(c) for name in _AMOUNTS if (c := getattr(self, name)) is not None}
        return replace(self, **changed)

    def summed(self, first: Ints) -> ScoreBins:
        """Return the bins joined from each index in ``first`` up to the next index.

        The score of a joined bin is that of its first bin.
        """
        summed = self._changed(lambda amounts: np.add.reduceat(amounts, first))
        return replace(summed, score=self.score[first])

    def joined(self) -> ScoreBins:
        """Return the bins, joined by leading bits (:data:`JOINED_BITS`) if there are more than :data:`MOST_BINS`."""
        if len(self.score) <= MOST_BINS:
            return self
        numbers = BinRule("bits", JOINED_BITS).numbers(self.score)
        return replace(self.summed(run_starts(numbers)), is_joined=True)

    @classmethod
    def merged(cls, parts: Sequence[ScoreBins]) -> ScoreBins:
        """Return the bins of ``parts`` (of one model and rule), sorted by score, and joined if they are too many."""
        columns = {name: [getattr(part, name) for part in parts] for name in _AMOUNTS}
        order = np.argsort(np.concatenate(columns["score"]), kind="stable")
        whole: dict[str, Any] = {
            name: None if any(column is None for column in own) else np.concatenate(own)[order]
            for name, own in columns.items()
        }
        return cls(parts[0].model, parts[0].rule, is_joined=any(part.is_joined for part in parts), **whole).joined()


BinsByRule: TypeAlias = Mapping[tuple[str, str], ScoreBins]
BinsBySliceValue: TypeAlias = Mapping[SliceValue, BinsByRule]


def shown_places(metrics: pa.Table) -> tuple[SliceValue, ...]:
    """Return the whole day, and the :data:`MOST_VALUES` values of slices with the most rows in the table ``metrics``.

    Slices of relevant rows are left out, because their lists have the same scores for each value.
    """
    if "n_rows" not in metrics.column_names:  # written by earlier releases
        return (WHOLE_DAY,)
    rows = metrics.select(["slice", "slice_value", "n_rows"]).group_by(["slice", "slice_value"])
    values = rows.aggregate([("n_rows", "max")]).to_pylist()
    values = [row for row in values if row["slice"] != ALL and OF_RELEVANT not in row["slice"]]
    values.sort(key=lambda row: (-(row["n_rows_max"] or 0), row["slice"], row["slice_value"] or ""))
    return (WHOLE_DAY, *((row["slice"], row["slice_value"]) for row in values[:MOST_VALUES]))


def score_bins(batches: Iterable[pa.RecordBatch], places: Sequence[SliceValue]) -> BinsBySliceValue:
    """Return the score bins of each slice value in ``places``, by model and rule.

    ``batches`` contains rows of the table ``blocks``, and may lack some of :data:`COLUMNS`.
    """
    parts: dict[SliceValue, dict[tuple[str, str], list[ScoreBins]]] = {place: {} for place in places}
    for batch in batches:
        for place, of_place in parts.items():
            rows = _rows_at(batch, place)
            for model in pc.unique(rows["model"]).to_pylist():
                of_model = rows.filter(is_text(rows["model"], model))
                for rule in pc.unique(of_model["rule"]).to_pylist():
                    own = of_place.setdefault((model, rule), [])
                    own.append(_bins(model, rule, of_model.filter(is_text(of_model["rule"], rule))))
                    if sum(len(bins.score) for bins in own) > 2 * MOST_BINS:
                        own[:] = [ScoreBins.merged(own)]
    return {place: {key: ScoreBins.merged(own) for key, own in of_place.items()} for place, of_place in parts.items()}


def _rows_at(batch: pa.RecordBatch, place: SliceValue) -> pa.RecordBatch:
    slice_, value = place
    rows = batch.filter(is_text(batch["slice"], slice_))
    if slice_ == ALL:
        return rows
    return rows.filter(pc.is_null(rows["slice_value"]) if value is None else is_text(rows["slice_value"], value))


def frame_bins(frame: DataFrame, places: Sequence[SliceValue]) -> tuple[BinsBySliceValue, str | None]:
    """Return the bins in a Spark DataFrame by slice value, and None; for too many bins, no bins and the reason."""
    columns = [name for name in COLUMNS if name in frame.columns]
    rows = frame.where(frame["slice"].isin([slice_ for slice_, _ in places])).select(columns)
    if rows.count() > MOST_FRAME_BINS:  # rows of all values of these slices
        places, rows = [WHOLE_DAY], rows.where(rows["slice"] == ALL)
        if rows.count() > MOST_FRAME_BINS:
            return (
                {},
                f"There are more than {MOST_FRAME_BINS:,} score bins: ask for a rule with fewer, as auc(bits=12).",
            )
    return score_bins(rows.toArrow().to_batches(), places), None


def _bins(model: str, rule: str, rows: pa.RecordBatch) -> ScoreBins:
    def column(name: str) -> Floats:
        values: Floats = rows[name].cast(pa.float64()).to_numpy(zero_copy_only=False)
        return values

    pos, neg = column("pos"), column("neg")
    names = rows.schema.names
    sums = column("score_sum") if "score_sum" in names and not rows["score_sum"].null_count else None
    return ScoreBins(model, rule, column("score"), pos, neg, column("rows") if "rows" in names else pos + neg, sums)


def chosen_bins(bins: BinsByRule, model: str, kinds: Sequence[str]) -> ScoreBins | None:
    """Return the model's bins of the first of ``kinds`` (of rules) with bins, or None if no kind has any.

    Of several bins of a kind, those of the first label are preferred, then those without ``rel``.
    """
    rules = [(BinRule.parse(rule), own) for (name, rule), own in bins.items() if name == model and len(own.score)]
    known = [(rule, own) for rule, own in rules if rule.kind in kinds]
    if not known:
        return None
    return min(known, key=lambda pair: (kinds.index(pair[0].kind), *_of_other_rows(pair[0]), -pair[0].size))[1]


def _of_other_rows(rule: BinRule) -> tuple[bool, bool]:
    return bool(rule.judging), rule.rel is not None
