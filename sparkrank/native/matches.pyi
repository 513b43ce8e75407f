import numpy as np
from numpy.typing import NDArray

def find(
    codes: NDArray[np.int32],
    items: NDArray[np.int64],
    grades: NDArray[np.float64],
    given: NDArray[np.int32],
    fates: NDArray[np.uint8],
    are_judged: NDArray[np.uint8],
) -> tuple[int, int, int, int, NDArray[np.int64], NDArray[np.int64]]: ...
def flag_members(
    codes: NDArray[np.int32],
    items: NDArray[np.int64],
    codes_of_pairs: NDArray[np.int32],
    items_of_pairs: NDArray[np.int64],
    groups: int,
    flags: NDArray[np.uint8],
) -> None: ...
def find_lowest(items: NDArray[np.int64], most: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
