"""The state under every metric of a whole day: rows counted by block of score and class."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sparkrank.errors import StateError
from sparkrank.kernels.blocks import BlockRule, score_sums
from sparkrank.kernels.coding import Range, block_scores
from sparkrank.kernels.counting import count_blocks
from sparkrank.kernels.exact import LIMBS, Amounts, rounded
from sparkrank.kernels.judgments import Floats
from sparkrank.kernels.merging import join_blocks
from sparkrank.kernels.order import Flags, Ints, run_starts
from sparkrank.kernels.rowsums import ScoredRows
from sparkrank.kernels.segments import WHOLE, Segments
from sparkrank.states.narrow import (
    Narrow,
    NarrowAmounts,
    narrow,
    narrow_amounts,
    narrow_ascending,
    widen,
    widen_amounts,
    widen_ascending,
)

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
AMOUNTS = ("pos", "neg", "offset")
ROWS = "rows"
LIMB_COLUMNS = [f"{name}_{limb}" for name in AMOUNTS for limb in range(LIMBS)]
SUMS_OF_SCORES = ("score_sum", "offset", *(f"offset_{limb}" for limb in range(LIMBS)))
# Where rows have weights, the amounts are sums of them.
WEIGHTED_BLOCKS = pa.schema(
    [field.with_type(pa.float64()) if field.name in AMOUNTS else field for field in BLOCKS]
    + [pa.field(ROWS, pa.int64())]
    + [pa.field(name, pa.float64()) for name in LIMB_COLUMNS]
)


class Series(NamedTuple):
    """Whose blocks these are: one model, one value of one slice, one rule."""

    model: str
    slice: str
    slice_value: str
    rule: BlockRule


@dataclass(frozen=True)
class ScoreBlocks:
    """Blocks in ascending order of score: ``block`` number, ``pos`` and ``neg`` rows, ``offset`` of the scores.

    Numbers and offsets are those of :mod:`sparkrank.kernels.blocks`. Where rows have weights, ``pos``, ``neg`` and
    ``offset`` are limbs (blocks, 6) of sums of weights, and ``count`` are the rows.
    """

    rule: BlockRule
    block: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    count: Ints | None = None

    @classmethod
    def empty(cls, rule: BlockRule) -> ScoreBlocks:
        """No blocks: they merge with any of the same rule, with weights or without."""
        none = np.empty(0, np.int64)
        return cls(rule, none, none, none, none)

    @classmethod
    def of(
        cls,
        rule: BlockRule,
        scores: NDArray[np.floating],
        flags: Flags,
        sums: bool,
        weights: Floats | None = None,
    ) -> ScoreBlocks:
        """The blocks of rows with ``scores`` (no NaN), relevant where ``flags``; ``sums`` asks for score sums."""
        (blocks,) = cls.of_each(replace(rule, rel=None), ScoredRows(scores, flags, weights), sums)
        return replace(blocks, rule=rule)

    @classmethod
    def of_each(cls, rule: BlockRule, rows: ScoredRows, sums: bool, segments: Segments = WHOLE) -> list[ScoreBlocks]:
        """The blocks of the ``rows`` of each segment, relevant as ``rule`` says; ``sums`` asks for score sums."""
        return [cls(rule, *counted) for counted in count_blocks(rule, rows, sums, segments)]

    def merge(self, *others: ScoreBlocks) -> ScoreBlocks:
        """The blocks of all rows together.

        Raises :class:`StateError` when the rules differ, or some have weights and some have none.
        """
        for other in others:
            if other.rule != self.rule:
                raise StateError(f"blocks of {self.rule} do not merge with blocks of {other.rule}: the edges differ")
        parts = [part for part in (self, *others) if len(part.block)]
        if not parts:
            return self
        weighted = {part.count is not None for part in parts}
        if len(weighted) > 1:
            raise StateError(f"blocks of {self.rule} with weights do not merge with blocks without")
        joined = join_blocks(self.rule, [part.block for part in parts])
        pos, neg, offset = (joined.sum([getattr(part, name) for part in parts]) for name in AMOUNTS)
        count = joined.sum([part.rows for part in parts]) if weighted == {True} else None
        return ScoreBlocks(self.rule, joined.block, pos, neg, offset, count)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled narrowly: most blocks of a bucket are neighbours and hold a row or two, and most weights need three
        limbs of six. So a block of unweighted rows takes 9 bytes instead of 32.
        """
        if len(self.block) == 0:
            return ScoreBlocks.empty, (self.rule,)
        scores = Range(*block_scores(self.block[[0, -1]]).tolist())
        codes = self.rule.coding(scores).codes(self.score)
        amounts = [narrow_amounts(each) for each in (self.pos, self.neg, self.offset)]
        count = None if self.count is None else narrow(self.count)
        return _widened, (self.rule, scores, narrow_ascending(codes), amounts, count)

    @property
    def rows(self) -> Ints:
        """The rows of each block."""
        rows: Ints = self.pos + self.neg if self.count is None else self.count
        return rows

    @property
    def positives(self) -> Floats:
        """The positive rows of each block, or the sum of their weights."""
        return rounded(self.pos)

    @property
    def negatives(self) -> Floats:
        """The negative rows of each block, or the sum of their weights."""
        return rounded(self.neg)

    @property
    def score(self) -> Floats:
        """The score of each block."""
        return block_scores(self.block)

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each block's rows, each times its weight."""
        return score_sums(self.rule, self.block, rounded(self.pos + self.neg), rounded(self.offset))


def _widened(
    rule: BlockRule,
    scores: Range,
    codes: tuple[int, Narrow],
    amounts: Sequence[NarrowAmounts],
    count: Narrow | None,
) -> ScoreBlocks:
    block = rule.coding(scores).numbers(widen_ascending(*codes))
    pos, neg, offset = map(widen_amounts, amounts)
    return ScoreBlocks(rule, block, pos, neg, offset, None if count is None else widen(count))


def blocks_table(
    by_series: Mapping[Series, ScoreBlocks], *, weighted: bool, unsummed: Collection[BlockRule] = ()
) -> pa.Table:
    """One row per model, slice, rule and block, ascending by score.

    ``pos``, ``neg``, ``score`` and ``score_sum`` are there to be read. The blocks themselves are ``block`` with the
    whole numbers ``pos``, ``neg`` and ``offset``, or where rows are ``weighted`` with the limbs of those and ``rows``.
    Offsets and sums of scores are null by the rules ``unsummed``.
    """
    schema = WEIGHTED_BLOCKS if weighted else BLOCKS
    tables = [schema.empty_table()]
    for series, blocks in sorted(by_series.items(), key=lambda item: (*item[0][:3], str(item[0].rule))):
        texts = (series.model, series.slice, series.slice_value, str(series.rule))
        columns = [pa.repeat(pa.scalar(text, pa.string()), len(blocks.block)) for text in texts]
        missing = SUMS_OF_SCORES if series.rule in unsummed else ()
        columns += [
            pa.nulls(len(blocks.block), schema.field(name).type) if name in missing else _column(blocks, name, schema)
            for name in schema.names[len(SERIES) :]
        ]
        tables.append(pa.Table.from_arrays(columns, schema=schema))
    return pa.concat_tables(tables)


def _column(blocks: ScoreBlocks, name: str, schema: pa.Schema) -> pa.Array:
    if name in LIMB_COLUMNS:
        amounts, limb = name.rsplit("_", 1)
        limbs = getattr(blocks, amounts)
        # empty blocks are the same with weights and without
        return pa.array(np.ascontiguousarray(limbs[:, int(limb)]) if limbs.ndim == 2 else np.zeros(len(limbs)))
    values = getattr(blocks, name)
    return pa.array(rounded(values) if pa.types.is_floating(schema.field(name).type) else values)


def blocks_of_table(rows: pa.Table) -> dict[Series, ScoreBlocks]:
    """The blocks of each series that ``rows`` in any order hold; a block has one row."""
    block = rows["block"].to_numpy()
    series = np.zeros(len(block), np.int64)
    for name in SERIES:
        encoded = rows[name].combine_chunks().dictionary_encode()
        series = series * len(encoded.dictionary) + encoded.indices.to_numpy()
    order = np.lexsort((block, series))
    weighted = ROWS in rows.column_names
    amounts = [_amounts(rows, name, weighted)[order] for name in AMOUNTS]
    count = rows[ROWS].to_numpy()[order] if weighted else None
    bounds = [*run_starts(series[order]), len(block)]
    found = {}
    for start, end in itertools.pairwise(bounds):
        model, of, value, text = (rows[name][int(order[start])].as_py() for name in SERIES)
        rule = BlockRule.parse(text)
        pos, neg, offset = (part[start:end] for part in amounts)
        rows_of = None if count is None else count[start:end]
        found[Series(model, of, value, rule)] = ScoreBlocks(rule, block[order][start:end], pos, neg, offset, rows_of)
    return found


def _amounts(rows: pa.Table, name: str, weighted: bool) -> Amounts:
    if not weighted:
        whole: Amounts = rows[name].to_numpy()
        return whole
    return np.column_stack([rows[f"{name}_{limb}"].to_numpy() for limb in range(LIMBS)])
