"""Exact blocks on their way out of buckets: apart from the other states, and cut into stretches of scores."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from sparkrank.kernels.order import Ints
from sparkrank.states import Partials, ScoreBlocks, Series

# Block numbers that a bucket of a million rows gives as a sample of its blocks. Buckets are cut by a hash of the group,
# so their samples are alike, and a hundred buckets place the cuts to a few per cent of a stretch.
SAMPLE = 160

Stretches: TypeAlias = Sequence[tuple[Series, int]]  # of each stretch its series and its place in it


def apart(partials: Partials) -> tuple[Partials, Partials | None]:
    """``partials`` without exact blocks, and these, where there are any."""
    exact = {series: blocks for series, blocks in partials.blocks.items() if series.rule.kind == "exact"}
    if not exact:
        return partials, None
    others = {series: blocks for series, blocks in partials.blocks.items() if series not in exact}
    return replace(partials, blocks=others), Partials(blocks=exact)


def sample(exact: Partials) -> bytes:
    """Block numbers of each series at equal steps, with the number of blocks."""
    samples = {}
    for series, blocks in exact.blocks.items():
        at = np.linspace(0, len(blocks.block) - 1, min(SAMPLE, len(blocks.block))).astype(np.int64)
        samples[series] = (len(blocks.block), blocks.block[at])
    return pickle.dumps(samples)


@dataclass(frozen=True)
class Cuts:
    """Where the blocks of each series are cut: ascending block numbers, each the lowest of a stretch but the last."""

    splitters: Mapping[Series, Ints]

    @classmethod
    def of(cls, samples: Iterable[bytes], stretch_blocks: int) -> Cuts:
        """Cuts into stretches of about ``stretch_blocks``, or fewer where buckets have blocks in common."""
        counts: dict[Series, int] = {}
        numbers: dict[Series, list[Ints]] = {}
        for packed in samples:
            for series, (count, of_bucket) in pickle.loads(packed).items():  # noqa: S301 - packed by this run
                counts[series] = counts.get(series, 0) + count
                numbers.setdefault(series, []).append(of_bucket)
        splitters = {}
        for series, found in numbers.items():
            stretches = math.ceil(counts[series] / stretch_blocks)
            sampled = np.sort(np.concatenate(found))
            at = (np.arange(1, stretches) * len(sampled)) // max(stretches, 1)
            splitters[series] = np.unique(sampled[at])
        return cls(splitters)

    def stretches(self) -> list[tuple[Series, int]]:
        """Every (series, place from the highest scores down)."""
        return [(series, place) for series, cuts in self.splitters.items() for place in range(len(cuts) + 1)]

    def pieces(self, exact: Partials) -> Iterator[tuple[int, ScoreBlocks]]:
        """The blocks of a bucket by the number of their stretch (its place in :meth:`stretches`)."""
        number = 0
        for series, cuts in self.splitters.items():
            blocks = exact.blocks.get(series)
            if blocks is not None:
                ends = [0, *np.searchsorted(blocks.block, cuts).tolist(), len(blocks.block)]
                for place in range(len(cuts) + 1):
                    start, end = ends[len(cuts) - place], ends[len(cuts) - place + 1]
                    if end > start:
                        yield number + place, _part(blocks, start, end)
            number += len(cuts) + 1


def _part(blocks: ScoreBlocks, start: int, end: int) -> ScoreBlocks:
    block, pos, neg, offset = (each[start:end] for each in (blocks.block, blocks.pos, blocks.neg, blocks.offset))
    return ScoreBlocks(blocks.rule, block, pos, neg, offset, None if blocks.count is None else blocks.count[start:end])
