import numpy as np
from numpy.typing import NDArray

def sum_hits(
    codes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    hits: NDArray[np.int64],
    unlisted: NDArray[np.int64],
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    only_hits: bool,
    alike: float,
    gains: NDArray[np.float64],
    starts: NDArray[np.int64],
    unlisted_gains: NDArray[np.float64],
    discounts: NDArray[np.float64],
    cutoffs: NDArray[np.int64],
    item_ends: NDArray[np.int64],
    items: NDArray[np.uint8],
    judged: NDArray[np.int64],
    firsts: NDArray[np.int64],
    positions: NDArray[np.int32],
    placed: NDArray[np.int64],
    room: NDArray[np.float64],
    number: NDArray[np.int32],
    rows_of_list: NDArray[np.int64],
    hits_of_list: NDArray[np.int64],
    relevant_of_list: NDArray[np.int64],
    places: NDArray[np.uint64],
    sums: NDArray[np.float64],
    mid_ranks: NDArray[np.float64],
    tied_pairs: NDArray[np.int64],
) -> tuple[int, int]: ...
def sort_gains(ends: NDArray[np.int64], gains: NDArray[np.float64]) -> None: ...
def sort_scores(scores: NDArray[np.float64]) -> None: ...

class LargeList:
    tied_rows: int
    tied_pairs: int
    mid_ranks: float
    def add(
        self, others: NDArray[np.float64], hits: NDArray[np.float64], gains: NDArray[np.float64], alike: float
    ) -> None: ...
    def advance(
        self,
        discounts: NDArray[np.float64],
        start: int,
        best: NDArray[np.float64],
        alike: float,
        cutoffs: NDArray[np.int64],
        sums: NDArray[np.float64],
        at: int,
    ) -> bool: ...
