"""Metrics of the whole day from counted score blocks: what every contender that can count leaves to numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.contenders.contender import Value

DIGITS = 5  # scores fall together when rounded to this many decimals
DAY_METRICS = ("auc", f"auc_up(digits={DIGITS})")


def needs_blocks(metrics: Sequence[str]) -> bool:
    return any(metric in DAY_METRICS for metric in metrics)


def block_of(score: str, rint: str) -> str:
    """SQL for the number of a score's block; ``rint`` is the engine's rounding to whole numbers."""
    return f"CAST({rint}({score} * 1e{DIGITS}) AS BIGINT)"


def day_values(metrics: Sequence[str], block: ArrayLike, positives: ArrayLike, rows: ArrayLike) -> Mapping[str, Value]:
    """Those of ``metrics`` that are of the day, from the positives and all rows of each block, in any order."""
    pos = np.asarray(positives, np.float64)
    neg = np.asarray(rows, np.float64) - pos
    pairs = pos.sum() * neg.sum()

    def area(order: NDArray[np.int64]) -> float:
        below = np.cumsum(neg[order]) - neg[order] / 2
        return float(pos[order] @ below / pairs)

    auc, auc_up = DAY_METRICS
    values = {
        auc: lambda: Value(area(np.argsort(block)), bound=float(pos @ neg / pairs / 2)),
        auc_up: lambda: Value(area(np.argsort(pos / (pos + neg)))),
    }
    return {metric: values[metric]() for metric in metrics if metric in values}
