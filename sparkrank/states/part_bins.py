"""Coarse score bins by part (one of 64 fixed sets of groups), for the standard errors of pooled metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparkrank.histogram.bins import BinRule
from sparkrank.histogram.bins import score_sums as bin_sums
from sparkrank.histogram.count import SegmentCounts
from sparkrank.histogram.state import AMOUNTS, ScoreHistogram
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.exact_sums import LIMBS, Amounts, rounded
from sparkrank.numeric.segments import run_starts
from sparkrank.states.histogram_table import LIMB_COLUMNS, ROWS_COLUMN, amounts_of
from sparkrank.states.keys import by_key, encoded_texts, in_order, rows_by_key

COARSE_BITS = 6  # bits of the mantissa: about a thousand bins of probabilities
FEW_BINS = 1024  # bins of equal width: about as many as the coarse bins
VALUES = BinRule("bits", COARSE_BITS)  # the rule for the values of groups
RANKS = BinRule("bits", 16)  # the rule for ranks: each whole number up to 2^17 is a bin
OF = " of "
KEY = ("model", "slice", "rule")


class PartSeries(NamedTuple):
    """The key of bins for one model, slice and coarse rule. The bins count scores, or values of the metric ``of``."""

    model: str
    slice: str
    rule: BinRule
    of: str = ""

    @property
    def name(self) -> str:
        return rule_name(self.rule, self.of)

    @classmethod
    def named(cls, model: str, slice_: str, name: str) -> PartSeries:
        rule, _, metric = name.partition(OF)
        return cls(model, slice_, BinRule.parse(rule), metric)


def rule_name(rule: BinRule, metric: str = "") -> str:
    """Return the name of ``rule`` for bins of scores, or for bins of groups' values if a ``metric`` is given."""
    return f"{rule}{OF}{metric}" if metric else str(rule)


def coarse(rule: BinRule) -> BinRule:
    """Return the rule of coarse bins for a metric whose bins follow ``rule``: the same rule if it is coarse enough."""
    if rule.kind == "bins" and rule.size <= FEW_BINS:
        return rule
    if rule.kind == "bits" and rule.size <= COARSE_BITS:
        return rule
    return replace(rule, kind="bits", size=COARSE_BITS)


@dataclass(frozen=True)
class PartBins:
    """The n bins of all parts for one model, slice and rule, ascending. Arrays have shape (n,).

    ``value`` is the index of a bin's slice value in ``values``, ``part`` its part, and ``bins`` its number. ``pos`` and
    ``neg`` are the amounts of positives and negatives, ``offset`` is the sum of score minus bin score. These three are
    whole numbers, or limbs (floats of exact sums) of shape (n, 6) if rows are weighted. In this case ``rows`` contains
    the number of rows; otherwise it is None. ``offset`` is None if no metric reads sums of scores.
    """

    values: tuple[str | None, ...]
    value: Ints
    part: Ints
    bins: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts | None = None
    rows: Ints | None = None

    @classmethod
    def of(cls, values: Iterable[str | None], parts: int, counts: SegmentCounts) -> PartBins:
        """Return the bins in ``counts``, which has a segment for each slice value and each of ``parts`` parts."""
        segment = np.repeat(np.arange(len(counts.starts) - 1), np.diff(counts.starts))
        value, part = np.divmod(segment, parts)
        offset = counts.offset if np.count_nonzero(counts.offset) else None
        pos, neg = counts.pos, counts.neg
        return cls(tuple(values), value, part, counts.bins, pos, neg, offset, counts.weighted_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arrays in few bytes, for transfer between workers."""
        return _widened, (self.values, *map(_narrowed, self.columns()))

    def merge(self, others: Iterable[PartBins]) -> PartBins:
        filled = [part for part in (self, *others) if len(part.bins)]
        if len(filled) < 2:
            return filled[0] if filled else self
        values = tuple(sorted({value for part in filled for value in part.values}, key=in_order))
        if any(part.offset is not None for part in filled):
            filled = [replace(part, offset=part.offsets) for part in filled]
        columns = zip(*(part.among(values).columns() for part in filled), strict=True)
        together: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
        return PartBins(values, *together).added_up()

    def columns(self) -> tuple[Any, ...]:
        return self.value, self.part, self.bins, self.pos, self.neg, self.offset, self.rows

    @property
    def offsets(self) -> Amounts:
        return np.zeros_like(self.pos) if self.offset is None else self.offset

    def among(self, values: Sequence[str | None]) -> PartBins:
        place = {value: number for number, value in enumerate(values)}
        return replace(self, values=tuple(values), value=np.array([place[text] for text in self.values])[self.value])

    def ordered(self, order: Ints) -> PartBins:
        columns: list[Any] = [None if column is None else column[order] for column in self.columns()]
        return PartBins(self.values, *columns)

    def added_up(self) -> PartBins:
        """Return the bins sorted by slice value, part and number. Bins that agree in all three are added up."""
        ordered = self.ordered(np.lexsort((self.bins, self.part, self.value)))
        first = run_starts(ordered.value, ordered.part, ordered.bins)
        value, part, bins, *amounts = ordered.columns()
        sums: list[Any] = [None if column is None else np.add.reduceat(column, first) for column in amounts]
        return PartBins(self.values, value[first], part[first], bins[first], *sums)

    def by_value(self) -> PartBins:
        """Return the bins sorted by slice value as a string, because each bucket orders its values differently."""
        values = tuple(sorted(self.values, key=in_order))
        if values == self.values:
            return self
        among = self.among(values)
        return among.ordered(np.argsort(among.value, kind="stable"))

    def of_value(self, rule: BinRule, value: str | None) -> BinsOfParts | None:
        if value not in self.values:
            return None
        number = self.values.index(value)
        here = np.arange(*np.searchsorted(self.value, [number, number + 1]))  # values are ascending
        if not len(here):
            return None
        own = self.ordered(here[np.argsort(self.bins[here], kind="stable")])
        first = run_starts(own.bins)
        place = np.repeat(np.arange(len(first)), np.diff(first, append=len(here)))
        pos, neg, offset = (np.add.reduceat(amounts, first) for amounts in (own.pos, own.neg, own.offsets))
        count = None if own.rows is None else np.add.reduceat(own.rows, first)
        together = ScoreHistogram(rule, own.bins[first], pos, neg, offset, count)
        return BinsOfParts(together, place, own.part, own.pos, own.neg, own.offsets, own.rows)


def _narrowed(numbers: Amounts | None) -> tuple[int, Amounts | None]:
    """Return how many trailing bits are 0 in all numbers, and the numbers without these bits. Limbs stay unchanged."""
    if numbers is None or numbers.ndim > 1 or not len(numbers):
        return 0, numbers
    used = int(np.bitwise_or.reduce(numbers))
    zeros = (used & -used).bit_length() - 1 if used else 0
    left = numbers >> zeros
    kind = np.promote_types(np.min_scalar_type(int(left.min())), np.min_scalar_type(int(left.max())))
    return zeros, left.astype(kind) if kind.kind in "iu" else left


def _widened(values: tuple[str | None, ...], *narrow: tuple[int, Amounts | None]) -> PartBins:
    columns: list[Any] = [
        numbers if numbers is None or numbers.ndim > 1 else numbers.astype(np.int64) << zeros
        for zeros, numbers in narrow
    ]
    return PartBins(values, *columns)


@dataclass(frozen=True)
class BinsOfParts:
    """The bins (``together``) of all groups, and the amounts of each part (one of 64 fixed sets of groups).

    Element i of the arrays is for the part ``part[i]`` and the bin at index ``place[i]`` of ``together``.
    """

    together: ScoreHistogram
    place: Ints
    part: Ints
    pos: Amounts
    neg: Amounts
    offset: Amounts
    rows: Ints | None

    def without(self, part: int) -> ScoreHistogram:
        own = np.flatnonzero(self.part == part)
        place = self.place[own]
        left: list[Any] = []
        for name, of_parts in zip((*AMOUNTS, "count"), (self.pos, self.neg, self.offset, self.rows), strict=True):
            rest = getattr(self.together, name)
            if of_parts is not None:
                rest = rest.copy()
                rest[place] -= of_parts[own]
            left.append(rest)
        rows = left[0] + left[1] if left[3] is None else left[3]
        columns: list[Any] = [None if column is None else column[rows > 0] for column in (self.together.bins, *left)]
        return ScoreHistogram(self.together.rule, *columns)

    @cached
    def amounts_without(self, parts: tuple[int, ...], *, score_sums: bool) -> tuple[Floats, Floats, Floats | None]:
        """Return positives, negatives and sums of scores (or None) by bin, highest first. Shape: (1 + parts, bins).

        The first row is for all groups. Each further row leaves out one part.
        """
        left_out = np.array(parts, np.int64)
        pos, neg = (self._less(left_out, getattr(self.together, name), getattr(self, name)) for name in ("pos", "neg"))
        if not score_sums:
            return pos, neg, None
        offset, bins = self._less(left_out, self.together.offset, self.offset), self.together.bins[::-1]
        rows = zip(pos + neg, offset, strict=True)
        return pos, neg, np.stack([bin_sums(self.together.rule, bins, weight, inside) for weight, inside in rows])

    @property
    def ranks(self) -> Floats:
        """The share of all rows (or of their weight) in each bin and the bins of lower scores. Shape: (bins,)."""
        through = np.cumsum(rounded(self.together.pos) + rounded(self.together.neg))
        return through / max(float(through[-1]), np.finfo(np.float64).tiny)

    def amounts_of(self, parts: int, place_of_bin: Ints, places: int) -> Floats:
        """Return pos, neg and offset per part. Shape: (parts, 3, places).

        The amounts of bin i are added at index ``place_of_bin[i]``.
        """
        amounts = np.zeros((parts, 3, places))
        place = place_of_bin[self.place]
        for row, of_parts in enumerate((self.pos, self.neg, self.offset)):
            np.add.at(amounts[:, row], (self.part, place), rounded(of_parts))
        return amounts

    def _less(self, parts: Ints, together: Amounts, own: Amounts) -> Floats:
        row = np.zeros(int(max(self.part.max(initial=0), parts.max(initial=0))) + 1, np.int64)
        row[parts] = np.arange(len(parts)) + 1
        left = np.tile(rounded(together), (len(parts) + 1, 1))
        kept = row[self.part] > 0
        left[row[self.part[kept]], self.place[kept]] -= rounded(own)[kept]
        return left[:, ::-1]


@dataclass(frozen=True)
class PartHistograms:
    """The coarse score bins of all parts (fixed sets of groups), by model, slice and rule."""

    by_series: Mapping[PartSeries, PartBins] = field(default_factory=dict)

    def merge(self, others: Iterable[PartHistograms]) -> PartHistograms:
        by_series = by_key(histograms.by_series for histograms in (self, *others))
        return PartHistograms({series: first.merge(rest) for series, (first, *rest) in by_series.items()})

    def rows(self, *, weighted: bool) -> pa.Table:
        """Return a table row per bin and part: whole numbers, or floats and a row count if rows are ``weighted``."""
        names = [*LIMB_COLUMNS, ROWS_COLUMN] if weighted else [*AMOUNTS]
        kinds = [pa.float64()] * len(LIMB_COLUMNS) + [pa.int64()] if weighted else [pa.int64()] * len(AMOUNTS)
        texts = [(name, pa.string()) for name in ("model", "slice", "slice_value", "rule")]
        whole = [("part", pa.int64()), ("block", pa.int64())]
        schema = pa.schema([*texts, *whole, *zip(names, kinds, strict=True)])
        tables = [schema.empty_table()]
        for series, unordered in sorted(self.by_series.items(), key=lambda item: (*item[0][:2], item[0].name)):
            ordered = unordered.by_value()
            count = len(ordered.bins)
            value = pa.array(ordered.values, pa.string()).take(pa.array(ordered.value))
            columns = [
                *(pa.repeat(pa.scalar(text, pa.string()), count) for text in (series.model, series.slice)),
                value,
                pa.repeat(pa.scalar(series.name, pa.string()), count),
                pa.array(ordered.part, pa.int64()),
                pa.array(ordered.bins),
                *_stored(ordered, weighted=weighted),
            ]
            tables.append(pa.Table.from_arrays(columns, schema=schema))
        return pa.concat_tables(tables)

    @classmethod
    def of_rows(cls, rows: pa.Table) -> PartHistograms:
        weighted = ROWS_COLUMN in rows.column_names
        part, bins = (rows[name].to_numpy() for name in ("part", "block"))
        pos, neg, offset = (amounts_of(rows, name, weighted) for name in AMOUNTS)
        count = rows[ROWS_COLUMN].to_numpy() if weighted else None
        known, codes = encoded_texts(rows["slice_value"])
        by_series = {}
        for (model, slice_, text), places in rows_by_key(rows, KEY):
            used, value = np.unique(codes[places], return_inverse=True)
            columns = [None if column is None else column[places] for column in (part, bins, pos, neg, offset, count)]
            own = PartBins(tuple(known[code] for code in used), value, *columns)  # type: ignore[arg-type]
            own = own.among(sorted(own.values, key=in_order)).added_up()
            if not own.offsets.any():
                own = replace(own, offset=None)
            by_series[PartSeries.named(model, slice_, text)] = own
        return cls(by_series)


def _stored(bins: PartBins, *, weighted: bool) -> list[pa.Array]:
    amounts = (bins.pos, bins.neg, bins.offsets)
    if not weighted:
        return [pa.array(column, pa.int64()) for column in amounts]
    limbs = (column if column.ndim == 2 else np.zeros((len(column), LIMBS)) for column in amounts)
    return [*(pa.array(np.ascontiguousarray(limb)) for column in limbs for limb in column.T), pa.array(bins.rows)]
