"""What tests of compiled loops share: a function run with them and without, a count of their calls, and bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from sparkrank import native
from sparkrank.ranking.judgments import Judgments
from sparkrank.ranking.ranking import Ranking

NAMES = ("blocks", "buckets", "hits", "keys", "logs", "matches", "sums", "texts", "units")
if not all(hasattr(native, name) for name in NAMES):
    pytest.skip("sparkrank was installed without a C++ compiler: it has no compiled loops", allow_module_level=True)

T = TypeVar("T")
MODELS = ("m", "n", "o")
HASH = 0x9E3779B97F4A7C15  # keys and scores are hashed by the upper bits of their product with it
BACK = pow(HASH, -1, 2**64)


def mixed(word: int) -> int:
    """The finalizer of SplitMix64."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


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

    with ExitStack() as stack:
        for module in NAMES:
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            functions = {name: each for name, each in vars(getattr(native, module)).items() if callable(each)}
            for name, function in functions.items():
                if not name.startswith("_"):
                    patch.setattr(getattr(native, module), name, spied(f"{module}.{name}", function))
        yield counted


def bits(table: pa.Table) -> tuple[pa.Schema, list[list[object]]]:
    """The schema of a table and its columns, floats as the text of their bits."""
    columns = (column.to_pylist() for column in table.columns)
    return table.schema, [[each.hex() if isinstance(each, float) else each for each in column] for column in columns]


def array_bits(array: NDArray[Any] | None) -> object:
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())


def ranking(
    scores: Sequence[float], labels: Sequence[float], codes: Sequence[int] | None = None, cutoffs: tuple[int, ...] = ()
) -> Ranking:
    """The rows of groups with ``codes`` (absent: of one group)."""
    group = np.zeros(len(scores), np.int32) if codes is None else np.array(codes, np.int32)
    judgments = Judgments(group, np.array(labels), int(group.max()) + 1)
    return Ranking(judgments, np.array(scores), cutoffs=cutoffs)
