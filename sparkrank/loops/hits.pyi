import numpy as np
from numpy.typing import NDArray

def walk(
    found: NDArray[np.int32],
    order: NDArray[np.int64],
    sizes: NDArray[np.int64],
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    alike: float,
    gains: NDArray[np.float64],
    discounts: NDArray[np.float64],
    cutoffs: NDArray[np.int64],
    sums: NDArray[np.float64],
    mid_ranks: NDArray[np.float64],
    tied_pairs: NDArray[np.int64],
    room: NDArray[np.float64],
) -> int: ...
