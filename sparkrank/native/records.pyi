from typing import Any

import numpy as np
from numpy.typing import NDArray

def loose_quote(block: bytes | memoryview, quote: int, separator: int, doubled: bool, may_have_lines: bool) -> bool: ...
def count(block: bytes | memoryview, letter: int) -> int: ...
def line_ends(block: bytes | memoryview) -> int: ...
def read(
    block: bytes | memoryview,
    separator: int,
    quote: int,
    header: bool,
    most: int,
    kinds: NDArray[np.int64],
    values: list[NDArray[Any]],
    states: list[NDArray[np.uint8]],
    texts: list[NDArray[np.uint8]],
    lengths: NDArray[np.int64],
    others: NDArray[np.int64],
) -> int: ...
