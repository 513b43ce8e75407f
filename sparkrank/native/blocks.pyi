from typing import Any

import numpy as np
from numpy.typing import NDArray

LEADING_BITS: int
DECIMALS: int
BINS: int
RELEVANT: int

def ends(scores: NDArray[np.float64]) -> tuple[float, float]: ...
def pages(way: int, size: float, scores: NDArray[np.float64], lowest: int, filled: NDArray[np.uint8]) -> None: ...
def count(
    way: int,
    size: float,
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    lowest: int,
    left_out: NDArray[np.int64],
    segments: NDArray[np.int32],
    owners: NDArray[np.int32],
    span: int,
    counted: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None: ...
def weigh(
    way: int,
    size: float,
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    lowest: int,
    left_out: NDArray[np.int64],
    segments: NDArray[np.int32],
    owners: NDArray[np.int32],
    span: int,
    number: NDArray[np.int32],
    weights: NDArray[np.float64],
    first: int,
    last: int,
    units: NDArray[np.float64],
    pos: NDArray[np.float64],
    neg: NDArray[np.float64],
    offsets: NDArray[np.float64],
) -> None: ...
def codes(way: int, size: float, blocks: NDArray[np.int64], found: NDArray[np.int64]) -> None: ...
def ascend(first: int, least: int, steps: NDArray[np.integer[Any]], found: NDArray[np.int64]) -> None: ...
def kept(
    counted: NDArray[np.int64], place: NDArray[np.int64], pos: NDArray[np.int64], neg: NDArray[np.int64]
) -> None: ...
def add(
    sums: NDArray[np.int64],
    codes: NDArray[np.int64],
    lowest: int,
    least: int,
    amounts: NDArray[np.integer[Any]],
    times: int,
) -> None: ...
def sort_rows(
    runs: list[tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float64]]],
    are_sorted: bool,
    bins: NDArray[np.int64],
    relevant: NDArray[np.uint8],
    weights: NDArray[np.float64],
) -> None: ...
def sweep_rows(
    relevant: NDArray[np.uint8],
    weights: NDArray[np.float64],
    units: NDArray[np.float64],
    scale: float,
    taken: NDArray[np.float64],
    pos: NDArray[np.float64],
    neg: NDArray[np.float64],
    tp: NDArray[np.float64],
    fp: NDArray[np.float64],
) -> None: ...
