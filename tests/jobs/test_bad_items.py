"""Bad input of a catalog and of interactions, by the command: its exit code and its sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.commands import exit_code, write_spec

LISTS = pa.table({"user": ["a", "a", "b"], "sku": ["x", "y", "x"], "score": [2.0, 1.0, 1.0]})
TRUTH = pa.table({"user": ["a", "b"], "sku": ["y", "x"]})
ITEMS = pa.table({"sku": ["x", "y", "z"], "price": [1.0, 2.0, 3.0]})
PAST = pa.table({"user": ["a"], "sku": ["x"]})
PRICE, NEW = "shown(of=catalog.price)@2", "new@2"
NUMBERS = {"user": PAST["user"], "sku": pa.array([7])}

# metrics, keys of the spec to replace, tables to replace, exit code, what is said
CASES: dict[str, tuple[list[str], dict[str, Any], dict[str, pa.Table], int, str]] = {
    "no catalog": (
        [PRICE],
        {"catalog": None},
        {},
        2,
        f"{PRICE} reads the column price of a catalog, but there is none",
    ),
    "no history": (
        [NEW],
        {"interactions": None},
        {},
        2,
        f"{NEW} reads interactions, but no interactions are given",
    ),
    "no history to exclude": (
        ["p@1"],
        {"interactions": None, "exclude": "interactions"},
        {},
        2,
        "exclude is interactions, but there are none",
    ),
    "no such column of the catalog": (
        ["ndcg(gain=catalog.prise)"],
        {},
        {},
        2,
        'the value column "prise" is not in the catalog, did you mean "price"?',
    ),
    "no such column of the history": (
        [NEW],
        {"interactions": {"path": "past", "columns": {"item": "skU2"}}},
        {},
        2,
        'the item column "skU2" is not in the interactions, did you mean "sku"?',
    ),
    "an empty catalog": ([PRICE], {}, {"items": ITEMS[:0]}, 4, "the catalog has no rows"),
    "an empty history": (
        [NEW],
        {},
        {"past": PAST[:0]},
        4,
        "the table interactions has no rows (in a spec, optional: true allows it)",
    ),
    "no pairs": (["p@1"], {"exclude": {"path": "past"}}, {"past": PAST[:0]}, 4, "the table exclude has no rows"),
    "a first day": ([NEW], {"interactions": {"path": "past", "optional": True}}, {"past": PAST[:0]}, 0, ""),
    "items of another type": (
        [PRICE],
        {},
        {"items": ITEMS.set_column(0, "sku", pa.array([1, 2, 3]))},
        4,
        "of type string in the lists and of type int64 in the catalog",
    ),
    "a history of another type": ([NEW], {}, {"past": pa.table(NUMBERS)}, 4, "of type int64 in the interactions"),
    "an item twice": ([PRICE], {}, {"items": pa.concat_tables([ITEMS, ITEMS[:1]])}, 4, "catalog names 1 item twice"),
    "a pair twice": ([NEW], {}, {"past": pa.concat_tables([PAST, PAST])}, 0, ""),
    "a catalog too large": (
        [PRICE],
        {"catalog": {"path": "items", "most_bytes": 10}},
        {},
        4,
        "of items and the columns catalog.price, but catalog.most_bytes allows",
    ),
    "values that are null": ([PRICE], {}, {"items": ITEMS.set_column(1, "price", pa.array([None, 2.0, 3.0]))}, 0, ""),
    "a gain that the truth lacks": (["ndcg(gain=score)"], {}, {}, 4, 'the value column "score" is not in the truth'),
}


@pytest.mark.parametrize("case", CASES)
def test_what_bad_input_gets(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics, changes, tables, code, sentence = CASES[case]
    for name, table in {"lists": LISTS, "truth": TRUTH, "items": ITEMS, "past": PAST, **tables}.items():
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / f"{name}/0.parquet")
    sections: dict[str, Any] = {"catalog": {"path": "items"}} if any("catalog" in metric for metric in metrics) else {}
    sections |= {"interactions": {"path": "past"}} if NEW in metrics else {}
    document = {
        "input": {"path": "lists", "columns": {"group": "user", "item": "sku", "score": "score"}},
        "truth": {"path": "truth"},
        "metrics": metrics,
        "output": {"path": f"{tmp_path}/out"},
        "engine": {"lane": "local"},
        **{name: section for name, section in {**sections, **changes}.items() if section is not None},
    }
    document = {name: _placed(section, tmp_path) for name, section in document.items()}
    conf = write_spec(tmp_path, document)
    assert exit_code("evaluate", "--quiet", "--conf", conf, "--date", "2026-01-31") == code, capsys.readouterr().err
    assert sentence in capsys.readouterr().err


def _placed(section: Any, folder: Path) -> Any:
    """``section`` with its table in ``folder``."""
    is_table = isinstance(section, dict) and "/" not in section.get("path", "/")
    return {**section, "path": f"{folder}/{section['path']}"} if is_table else section
