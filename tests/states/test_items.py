"""Items whose texts have more bytes than one array of Arrow, in small: chunks of a few bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from sparkrank.numeric import text_arrays
from sparkrank.states.forms import ITEM_FORM
from sparkrank.states.items import ItemCounts, items_table
from sparkrank.states.keys import SliceKey
from sparkrank.states.partials import Partials


def counts(items: pa.Array) -> ItemCounts:
    ones = np.ones(len(items), np.int64)
    return ItemCounts.of(SliceKey("m", "all", ("all",), "top"), items, np.arange(len(items)), ones, ones > 0)


def test_the_table_has_chunks_and_merges_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten items of one letter to ten, in chunks of about eight bytes, and each once more from another bucket."""
    monkeypatch.setattr(text_arrays, "CHUNK_BYTES", 8)
    items = ["x" * length for length in range(10, 0, -1)]
    table = items_table(counts(pa.array(items)).merge(counts(pa.array(items, pa.large_string()))))
    assert table.schema.field("item").type == pa.string()
    assert [len(chunk) for chunk in table["item"].chunks] == [4, 2, 1, 1, 1, 1]
    assert table["item"].to_pylist() == sorted(items)
    assert table["shown"].to_pylist() == [2] * 10
    merged = ITEM_FORM.merged([table.select(ITEM_FORM.columns)] * 2)
    assert (merged["item"].to_pylist(), merged["shown"].to_pylist()) == (sorted(items), [4] * 10)
    assert merged.equals(ITEM_FORM.to_table(Partials.merged([ITEM_FORM.from_table(table)] * 2)))


def test_whole_numbers_meet_texts() -> None:
    table = items_table(counts(pa.array([7, 10])).merge(counts(pa.array(["7", "b"]))))
    assert dict(zip(table["item"].to_pylist(), table["relevant"].to_pylist(), strict=True)) == {"10": 1, "7": 2, "b": 1}


@pytest.mark.long
def test_two_gibibytes_of_texts() -> None:
    """Of 40,000 items of 65 kB, in two buckets."""
    halves = [
        pa.array([f"{number:08d}" + "q" * 65_000 for number in range(start, start + 20_000)]) for start in (0, 20_000)
    ]
    merged = counts(halves[0]).merge(counts(halves[1]))
    del halves
    table = items_table(merged)
    assert (table.num_rows, table["item"].num_chunks > 1, table["item"].nbytes > 2**31) == (40_000, True, True)
