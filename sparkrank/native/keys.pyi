import numpy as np
from numpy.typing import NDArray

def number(pieces: list[NDArray[np.int64]], codes: NDArray[np.int32], distinct: NDArray[np.int64]) -> int: ...
def number_pairs(one: NDArray[np.int64], other: NDArray[np.int64], codes: NDArray[np.int32]) -> int: ...
def count_rows(codes: NDArray[np.int32], flags: NDArray[np.uint8], found: NDArray[np.int64]) -> None: ...
def count_rows_and_flagged(
    codes: NDArray[np.int32], flags: NDArray[np.uint8], rows: NDArray[np.int64], flagged: NDArray[np.int64]
) -> None: ...
def in_turn(codes: NDArray[np.int32], count: int, order: NDArray[np.int64]) -> None: ...
def sort_lists(
    codes: NDArray[np.int32],
    length: NDArray[np.int64],
    keys: NDArray[np.uint64],
    ascending: NDArray[np.uint64],
) -> None: ...
def stand_within(
    codes: NDArray[np.int32],
    scores: NDArray[np.float64],
    length: NDArray[np.int64],
    k: int,
    unit: float,
    room: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None: ...
