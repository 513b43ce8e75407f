from typing import Any

import numpy as np
from numpy.typing import NDArray

def number(
    codes: NDArray[np.int32],
    items: NDArray[np.int64],
    models: NDArray[np.uint8],
    of_models: int,
    groups: int,
    numbers: NDArray[np.int32],
    first: NDArray[np.int64],
) -> tuple[int, bool]: ...
def place(
    numbers: NDArray[np.int32],
    models: NDArray[np.uint8],
    valid: NDArray[np.uint8],
    scores: NDArray[Any],
    places: NDArray[Any],
    bits: NDArray[np.uint8],
) -> None: ...
