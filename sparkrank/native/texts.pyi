from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_End = TypeVar("_End", np.int32, np.int64)

def hashes(ends: NDArray[_End], data: NDArray[np.uint8], found: NDArray[np.uint64]) -> None: ...
def buckets_of(ends: NDArray[_End], data: NDArray[np.uint8], buckets: int, found: NDArray[np.uint16]) -> None: ...
def number(
    ends: NDArray[_End],
    data: NDArray[np.uint8],
    codes: NDArray[np.int32],
    distinct_ends: NDArray[_End],
    distinct: NDArray[np.uint8],
) -> int: ...
def scatter(
    ends: NDArray[_End],
    data: NDArray[np.uint8],
    buckets: NDArray[np.uint16],
    places: NDArray[np.int64],
    room_ends: NDArray[_End],
    room: NDArray[np.uint8],
) -> None: ...
