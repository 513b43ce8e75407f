"""What tests of compiled loops share: a function run with them and without, a count of their calls, and bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking
from tests.support.numbers import STEP

NAMES = ("blocks", "buckets", "hits", "keys", "logs", "matches", "sums", "texts", "units", "wide")
if not all(hasattr(native, name) for name in NAMES):
    pytest.skip("sparkrank was installed without a C++ compiler: it has no compiled loops", allow_module_level=True)

T = TypeVar("T")
HASH = STEP  # keys and scores are hashed by the upper bits of their product with it
BACK = pow(HASH, -1, 2**64)


def unmixed(word: int) -> int:
    """What is mixed into ``word``."""
    word ^= word >> 31 ^ word >> 62
    word = word * pow(0x94D049BB133111EB, -1, 2**64) % 2**64
    word ^= word >> 27 ^ word >> 54
    word = word * pow(0xBF58476D1CE4E5B9, -1, 2**64) % 2**64
    return word ^ word >> 30 ^ word >> 60


def both(function: Callable[[], T]) -> tuple[T, T]:
    """What ``function`` gives with the loops and without."""
    compiled = function()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "COMPILED", False)
        return compiled, function()


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """How often each function of the loops is called in the meantime."""
    counted: Counter[str] = Counter()

    def spied(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            counted[name] += 1
            return function(*given)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name, module in {name: getattr(native, name) for name in NAMES}.items():
            for of_module, function in list(vars(module).items()):
                if callable(function) and not of_module.startswith("_"):
                    patch.setattr(module, of_module, spied(f"{name}.{of_module}", function))
        yield counted


def array_bits(array: NDArray[Any] | None) -> object:
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())


def ranking(
    scores: Sequence[float], labels: Sequence[float], codes: Sequence[int] | None = None, cutoffs: tuple[int, ...] = ()
) -> Ranking:
    """The rows of groups with ``codes`` (absent: of one group)."""
    group = np.zeros(len(scores), np.int32) if codes is None else np.array(codes, np.int32)
    judgments = Judgments(group, np.array(labels), int(group.max()) + 1)
    return Ranking(judgments, np.array(scores), cutoffs=cutoffs)
