"""Exact blocks made coarser, to draw curves from: few enough for one process whatever the day."""

from __future__ import annotations

import numpy as np

from sparkrank.kernels.blocks import BlockRule
from sparkrank.kernels.order import run_starts
from sparkrank.states.blocks import ScoreBlocks

# 16,384 blocks for each doubling of the score: some hundred thousand for a day, each 6e-5 of its score wide.
SKETCH_BITS = 14


def sketched(blocks: ScoreBlocks) -> ScoreBlocks:
    """``blocks`` of single scores joined to those of the rule ``bits``; without sums of scores."""
    rule = BlockRule("bits", SKETCH_BITS, blocks.rule.rel)
    if len(blocks.block) == 0:
        return ScoreBlocks.empty(rule)
    number = rule.numbers(blocks.score)
    first = run_starts(number)  # blocks stand by ascending score, and so do the coarser ones

    pos, neg = (np.add.reduceat(each, first) for each in (blocks.pos, blocks.neg))
    count = None if blocks.count is None else np.add.reduceat(blocks.count, first)
    return ScoreBlocks(rule, number[first], pos, neg, np.zeros_like(pos), count)
