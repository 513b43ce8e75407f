import numpy as np
from numpy.typing import NDArray

def add_rows(
    table: NDArray[np.int64], code: NDArray[np.int32], segment: NDArray[np.int32], added: NDArray[np.int64]
) -> None: ...
def compare_rows(
    ours: NDArray[np.int64],
    our_code: NDArray[np.int32],
    theirs: NDArray[np.int64],
    their_code: NDArray[np.int32],
    segment: NDArray[np.int32],
    undefined: int,
    tied: int,
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None: ...
