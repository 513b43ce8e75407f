"""Group keys that occur several times although each should occur once. Such keys are found by their 64-bit hashes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

MOST_EXAMPLES = 100  # examples whose keys are compared; hardly one of so many hashes repeats by chance alone
MOST_SPLITS = 3  # three keys with one hash do not occur by chance, so at least two occurrences are of one key


@dataclass(frozen=True)
class RepeatedKeys:
    """The number (``count``) of hashes that occur several times.

    ``examples`` are the lowest of these hashes, each with the numbers of up to three splits that have it. A split with
    several groups of the hash is listed several times. Merged states cover ranges of hashes that do not overlap.
    """

    count: int = 0
    examples: tuple[tuple[int, tuple[int, ...]], ...] = ()

    @classmethod
    def merged(cls, parts: Iterable[RepeatedKeys]) -> RepeatedKeys:
        gathered = list(parts)
        examples = sorted(chain.from_iterable(part.examples for part in gathered))
        return cls(sum(part.count for part in gathered), tuple(examples[:MOST_EXAMPLES]))
