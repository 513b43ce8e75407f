"""Group keys that occur several times where each should occur once, found by their 64-bit hashes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

MOST_EXAMPLES = 100  # the examples that are compared by their keys, of which chance alone makes hardly one
MOST_SPLITS = 3  # three keys of one hash do not occur by chance, so two of three splits share a key, or two have two


@dataclass(frozen=True)
class RepeatedKeys:
    """The number of hashes that occur several times, in ranges of hashes that do not overlap.

    ``examples`` are the lowest of these hashes, each with the numbers of up to three splits that have the hash. A split
    occurs as often as it has the hash.
    """

    count: int = 0
    examples: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @classmethod
    def merged(cls, parts: Iterable[RepeatedKeys]) -> RepeatedKeys:
        gathered = list(parts)
        examples = sorted(chain.from_iterable(part.examples for part in gathered))
        return cls(sum(part.count for part in gathered), tuple(examples[:MOST_EXAMPLES]))
