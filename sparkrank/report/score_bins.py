"""Score bins over the whole day, from the table ``blocks``, read a batch at a time and joined where too many."""

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

COLUMNS = ("model", "slice", "rule", "score", "pos", "neg", "score_sum", "rows")  # that are read of the table
_AMOUNTS = ("score", "pos", "neg", "rows", "score_sum")
MOST_BINS = 200_000  # of a model and rule that are kept: as many as five decimals of a probability need
JOINED_BITS = 8  # bits of the mantissa by which more of them are joined
MOST_FRAME_BINS = 2_000_000  # that Spark gives to this process


@dataclass(frozen=True)
class ScoreBins:
    """The bins of a model by a rule, over the whole day, ascending by ``score``.

    ``pos`` and ``neg`` are relevant and other rows, or their weights, ``rows`` counts them. ``score_sum`` is None where
    the table has none. ``is_joined``: there were too many, and neighbouring ones have become one.
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
        """All rows of each bin, or their weights."""
        return self.pos + self.neg

    def with_sums(self) -> ScoreBins:
        """With sums of scores: where the table has none, every row has the score that names its bin."""
        with np.errstate(invalid="ignore"):  # an infinite score without weight
            return self if self.score_sum is not None else replace(self, score_sum=self.score * self.mass)

    def select(self, which: Any) -> ScoreBins:
        """Those at the places, or by the flags, ``which``."""
        return self._changed(lambda column: column[which])

    def _changed(self, change: Callable[[Floats], Floats]) -> ScoreBins:
        changed: dict[str, Any] = {name: change(c) for name in _AMOUNTS if (c := getattr(self, name)) is not None}
        return replace(self, **changed)

    def summed(self, first: Ints) -> ScoreBins:
        """With the bins from each of ``first`` to the next as one, which has the first score."""
        summed = self._changed(lambda amounts: np.add.reduceat(amounts, first))
        return replace(summed, score=self.score[first])

    def joined(self) -> ScoreBins:
        """With few enough bins: those of one rule of :data:`JOINED_BITS`."""
        if len(self.score) <= MOST_BINS:
            return self
        numbers = BinRule("bits", JOINED_BITS).numbers(self.score)
        return replace(self.summed(run_starts(numbers)), is_joined=True)

    @classmethod
    def merged(cls, parts: Sequence[ScoreBins]) -> ScoreBins:
        """All bins of ``parts`` of one model and rule, in order."""
        columns = {name: [getattr(part, name) for part in parts] for name in _AMOUNTS}
        order = np.argsort(np.concatenate(columns["score"]), kind="stable")
        whole: dict[str, Any] = {
            name: None if any(column is None for column in own) else np.concatenate(own)[order]
            for name, own in columns.items()
        }
        return cls(parts[0].model, parts[0].rule, is_joined=any(part.is_joined for part in parts), **whole).joined()


BinsByRule: TypeAlias = Mapping[tuple[str, str], ScoreBins]


def score_bins(batches: Iterable[pa.RecordBatch]) -> dict[tuple[str, str], ScoreBins]:
    """The bins by model and rule, of ``batches`` of the table ``blocks`` with those of :data:`COLUMNS` that it has."""
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
    """The same of a Spark DataFrame, unless they are more than one process should hold: then why there are none."""
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
    """The bins of ``model`` by the first of ``kinds`` of rules that it has; those that name no ``rel`` go first."""
    rules = [(BinRule.parse(rule), own) for (name, rule), own in bins.items() if name == model and len(own.score)]
    known = [(rule, own) for rule, own in rules if rule.kind in kinds]
    if not known:
        return None
    return min(known, key=lambda pair: (kinds.index(pair[0].kind), pair[0].rel is not None, -pair[0].size))[1]
