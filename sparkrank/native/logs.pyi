import numpy as np
from numpy.typing import NDArray

def log(values: NDArray[np.float64], found: NDArray[np.float64]) -> None: ...
