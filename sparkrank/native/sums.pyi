import numpy as np
from numpy.typing import NDArray

def add(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    times: NDArray[np.float64],
    units: NDArray[np.float64],
    most: float,
    limbs: NDArray[np.float64],
) -> bool: ...
def last_of(values: NDArray[np.float64], first: int, units: NDArray[np.float64]) -> int: ...
def add_scattered_values(
    values: NDArray[np.float64],
    codes: NDArray[np.int32],
    first: int,
    units: NDArray[np.float64],
    most: float,
    limbs: NDArray[np.float64],
) -> bool: ...
def add_with_squares(
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
    times: NDArray[np.float64],
    counted_as: float,
    units: NDArray[np.float64],
    most: float,
    undefined: NDArray[np.int64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> bool: ...
