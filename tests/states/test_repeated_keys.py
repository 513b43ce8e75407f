"""How often group keys are repeated: ranges of hashes merge in any order, with a limit of examples."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkrank.states import Partials
from sparkrank.states.repeated_keys import MOST_EXAMPLES, RepeatedKeys

RANGES = st.lists(st.integers(0, 90), min_size=2, max_size=6)  # how many keys are repeated in each range


def of_ranges(counts: list[int]) -> list[RepeatedKeys]:
    """In each range, from a million times its number, hashes that splits 1 and 2 have."""
    return [
        RepeatedKeys(count, tuple((10**6 * number + hash_, (1, 2)) for hash_ in range(count)))
        for number, count in enumerate(counts)
    ]


@given(RANGES, st.data())
def test_ranges_merge_in_any_order_and_in_steps(counts: list[int], data: st.DataObject) -> None:
    parts = of_ranges(counts)
    lowest = sorted(example for part in parts for example in part.examples)[:MOST_EXAMPLES]
    whole = RepeatedKeys(sum(counts), tuple(lowest))
    shuffled = data.draw(st.permutations(parts))
    at = data.draw(st.integers(0, len(parts)))
    steps = [RepeatedKeys.merged(shuffled[:at]), RepeatedKeys.merged(shuffled[at:])]
    assert RepeatedKeys.merged(shuffled) == RepeatedKeys.merged(steps) == whole


def test_they_travel_with_the_states() -> None:
    packed = [Partials(repeated=part).pack() for part in of_ranges([2, 1])]
    assert Partials.unpack(packed).repeated == RepeatedKeys(3, ((0, (1, 2)), (1, (1, 2)), (10**6, (1, 2))))
