"""The first times of items are a state: merged in any parts and order, they are those of all rows."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.states import Partials
from sparkrank.states.first_times import FirstTimes
from tests.extent import examples
from tests.support.strategies import PATIENT

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 5)), max_size=5)


@settings(PATIENT, max_examples=examples(50))
@given(st.lists(ROWS, max_size=4), st.randoms())
def test_merged_first_times_are_those_of_all_rows(parts: list, random: object) -> None:
    states = [
        Partials(
            first_times=FirstTimes.of(
                pa.chunked_array([pa.array([item for item, _ in rows], pa.string())]),
                pa.chunked_array([pa.array([at for _, at in rows], pa.int32()).cast(pa.date32())]),
            )
        )
        for rows in parts
    ]
    random.shuffle(states)  # type: ignore[attr-defined]
    table = Partials.unpack([state.pack() for state in states]).first_times.table
    found = [] if table is None else table.cast(pa.schema([("item", pa.string()), ("time", pa.int32())])).to_pylist()
    rows = [row for part in parts for row in part]
    times = {item: [at for other, at in rows if other == item and at is not None] for item, _ in rows}
    assert {row["item"]: row["time"] for row in found} == {item: min(of, default=None) for item, of in times.items()}
    assert len(found) == len(times)
