"""The state under every metric of a whole day: rows counted by block of score and class."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.errors import StateError
from sparkrank.kernels.blocks import BlockRule, block_scores, count_blocks, score_sums
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.order import Flags, Ints, run_starts

BLOCKS = pa.schema(
    [
        ("model", pa.string()),
        ("slice", pa.string()),
        ("slice_value", pa.string()),
        ("rule", pa.string()),
        ("block", pa.int64()),
        ("score", pa.float64()),
        ("pos", pa.int64()),
        ("neg", pa.int64()),
        ("offset", pa.int64()),
        ("score_sum", pa.float64()),
    ]
)
SERIES = ("model", "slice", "slice_value", "rule")
COUNTS = ("pos", "neg", "offset")


class Series(NamedTuple):
    """Whose blocks these are: one model, one value of one slice, one rule."""

    model: str
    slice: str
    slice_value: str
    rule: BlockRule


@dataclass(frozen=True)
class ScoreBlocks:
    """Blocks in ascending order of score: ``block`` number, ``pos`` and ``neg`` rows, ``offset`` of the scores.

    Numbers and offsets are those of :mod:`sparkrank.kernels.blocks`.
    """

    rule: BlockRule
    block: Ints
    pos: Ints
    neg: Ints
    offset: Ints

    @classmethod
    def empty(cls, rule: BlockRule) -> ScoreBlocks:
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of(cls, rule: BlockRule, scores: NDArray[np.floating], flags: Flags, sums: bool) -> ScoreBlocks:
        """The blocks of rows with ``scores`` (no NaN), relevant where ``flags``; ``sums`` asks for score sums."""
        return cls(rule, *count_blocks(rule, scores, flags, sums))

    def merge(self, *others: ScoreBlocks) -> ScoreBlocks:
        """The blocks of all rows together. Raises :class:`StateError` when the rules differ."""
        for other in others:
            if other.rule != self.rule:
                raise StateError(f"blocks of {self.rule} do not merge with blocks of {other.rule}: the edges differ")
        parts = (self, *others)
        block = np.concatenate([part.block for part in parts])
        order = np.argsort(block)  # whole numbers add up to the same in any order, so equal blocks may stand anyhow
        first = run_starts(block[order])
        if len(first) == 0:
            return self

        def summed(name: str) -> Ints:
            values = np.concatenate([getattr(part, name) for part in parts])[order]
            return np.add.reduceat(values, first)

        return ScoreBlocks(self.rule, block[order][first], summed("pos"), summed("neg"), summed("offset"))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in the narrowest integers that hold the counts: most blocks of a bucket hold a row or two."""
        return _widened, (self.rule, self.block, *map(_narrowed, (self.pos, self.neg, self.offset)))

    @property
    def score(self) -> Floats:
        """The score of each block."""
        return block_scores(self.block)

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each block's rows."""
        return score_sums(self.rule, self.block, self.pos + self.neg, self.offset)


def _narrowed(whole: Ints) -> NDArray[np.signedinteger[Any]]:
    for kind in (np.int8, np.int16, np.int32):
        limits = np.iinfo(kind)
        if len(whole) == 0 or (whole.min() >= limits.min and whole.max() <= limits.max):
            return whole.astype(kind)
    return whole


def _widened(rule: BlockRule, block: Ints, *counts: NDArray[np.signedinteger[Any]]) -> ScoreBlocks:
    return ScoreBlocks(rule, block, *(count.astype(np.int64) for count in counts))


def blocks_table(by_series: Mapping[Series, ScoreBlocks]) -> pa.Table:
    """One row per model, slice, rule and block, ascending by score.

    ``score`` and ``score_sum`` are there to be read; the blocks themselves are ``block``, ``pos``, ``neg`` and
    ``offset``.
    """
    tables = [BLOCKS.empty_table()]
    for series, blocks in sorted(by_series.items(), key=lambda item: (*item[0][:3], str(item[0].rule))):
        texts = (series.model, series.slice, series.slice_value, str(series.rule))
        columns = [pa.repeat(pa.scalar(text, pa.string()), len(blocks.block)) for text in texts]
        columns += [pa.array(getattr(blocks, name)) for name in BLOCKS.names[len(SERIES) :]]
        tables.append(pa.Table.from_arrays(columns, schema=BLOCKS))
    return pa.concat_tables(tables)


def blocks_of_table(rows: pa.Table) -> dict[Series, ScoreBlocks]:
    """The blocks of each series that ``rows`` in any order hold; a block has one row."""
    found = {}
    for (model, of, value, text), of_series in by_series_and_block(rows, SERIES):
        rule = BlockRule.parse(text)
        columns = (rows[name].to_numpy()[of_series] for name in ("block", *COUNTS))
        found[Series(model, of, value, rule)] = ScoreBlocks(rule, *columns)
    return found


def by_series_and_block(rows: pa.Table, series: Sequence[str]) -> Iterator[tuple[list[str], Ints]]:
    """The texts of each series that ``rows`` hold, with the places of its rows in ascending order of block."""
    block = rows["block"].to_numpy()
    code = np.zeros(len(block), np.int64)
    for name in series:
        encoded = rows[name].combine_chunks().dictionary_encode()
        code = code * len(encoded.dictionary) + encoded.indices.to_numpy()
    order = np.lexsort((block, code))
    for start, end in itertools.pairwise([*run_starts(code[order]), len(block)]):
        yield [rows[name][int(order[start])].as_py() for name in series], order[start:end]
