import numpy as np
from numpy.typing import NDArray

def leading_bits(
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    dropped: int,
    lowest: int,
    counted: NDArray[np.int64],
) -> None: ...
def decimals(
    scores: NDArray[np.float64],
    relevant: NDArray[np.uint8],
    scale: float,
    lowest: int,
    counted: NDArray[np.int64],
) -> None: ...
def kept(
    counted: NDArray[np.int64],
    lowest: int,
    code: NDArray[np.int64],
    pos: NDArray[np.int64],
    neg: NDArray[np.int64],
) -> None: ...
def add(sums: NDArray[np.int64], places: NDArray[np.int64], amounts: NDArray[np.int64]) -> None: ...
