from typing import Any

import numpy as np
from numpy.typing import NDArray

def buckets_of(keys: NDArray[np.signedinteger[Any]], buckets: int, found: NDArray[np.uint16]) -> None: ...
def tally(buckets: NDArray[np.uint16], rows: NDArray[np.int64]) -> None: ...
def spread(
    cells: NDArray[np.uint8],
    width: int,
    buckets: NDArray[np.uint16],
    places: NDArray[np.int64],
    room: NDArray[np.uint8],
) -> None: ...
