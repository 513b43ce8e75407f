"""Tables of a day that are damaged, forged, or stand there twice: a sentence and exit code 4, and no window."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.unit.commands import exit_code
from tests.unit.stored_files import one_file, without_checksums
from tests.unit.windows.week import DAYS, evaluate, impressions_of, merging, spec_of, spoil, write_log

pytestmark = pytest.mark.same_without_loops

Change = Callable[[pa.Table], pa.Table]
ITEMS: dict[str, Any] = {"metrics": ["ap", "median(ap)", "coverage", "auc", "f1"], "input__columns__item": "item_id"}
WEIGHTED: dict[str, Any] = {**ITEMS, "input__columns__weight": "weight"}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day with every table that a merge reads, without weights and with them."""
    folder = tmp_path_factory.mktemp("damaged")
    for name, changes in (("plain", ITEMS), ("weighted", WEIGHTED)):
        (folder / name).mkdir()
        rows = impressions_of(DAYS[2], 200)
        rows["item_id"] = [f"i{row % 50}" for row in range(200)]
        write_log(folder / name, rows, DAYS[2])
        evaluate(spec_of(folder / name, **changes), DAYS[2])
    return folder


def merge(folder: Path, **changes: Any) -> int:
    return exit_code(*merging(spec_of(folder, **changes), first=DAYS[2], last=DAYS[2]))


def with_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def cast(name: str, kind: pa.DataType) -> Change:
    return lambda table: with_column(table, name, table[name].cast(kind))


def moved(name: str, by: float) -> Change:
    """The numbers of a column, each more by so much."""
    return lambda table: with_column(table, name, pc.add(table[name], pa.scalar(by, table.schema.field(name).type)))


def constant(name: str, value: Any) -> Change:
    """``value`` wherever the column has one."""

    def change(table: pa.Table) -> pa.Table:
        new = pa.repeat(pa.scalar(value, table.schema.field(name).type), table.num_rows)
        return with_column(table, name, pc.if_else(table[name].is_valid(), new, table[name].combine_chunks()))

    return change


def negated(name: str) -> Change:
    return lambda table: with_column(table, name, pc.negate(table[name]))


def no_utf8(name: str) -> Change:
    """The texts of the column without the second byte of a letter of two."""
    return lambda table: with_column(table, name, pa.array([b"\xff"] * table.num_rows).cast(pa.string(), safe=False))


def twice(table: pa.Table) -> pa.Table:
    """Each row once more."""
    return pa.concat_tables([table, table])


def a_row_again(table: pa.Table) -> pa.Table:
    """The first row in place of the last, so that there are as many as before."""
    return pa.concat_tables([table[:-1], table[:1]])


def nested(name: str) -> Change:
    return lambda table: with_column(table, name, pa.array([[1]] * table.num_rows))


TEXTS = {
    "states": ["kind", "definition", "source", "model", "slice", "slice_value", "name"],
    "blocks": ["model", "slice", "slice_value", "rule"],
    "distributions": ["model", "slice", "slice_value", "metric", "rule"],
    "items": ["model", "slice", "slice_value", "exposure", "item"],
}
NUMBERS = {
    "states": ["version", "n_groups", "n_averaged", "n_rows", "count", "n_blocks", "w_0", "wwvv_5", "total_2"],
    "blocks": ["block", "pos", "neg", "offset"],
    "distributions": ["block", "groups"],
    "items": ["shown", "relevant"],
}
MISTYPED = [
    *(
        (table, name, no_utf8(name), f"has a text in {name} that is not UTF-8")
        for table, of in TEXTS.items()
        for name in of
    ),
    *((table, name, nested(name), f"has {name} of type list") for table, of in TEXTS.items() for name in of[:2]),
    *(
        (table, name, cast(name, pa.binary()), f"has {name} of type binary, not string")
        for table, of in TEXTS.items()
        for name in of
    ),
    *(
        (table, name, cast(name, pa.string()), f"has {name} of type string, not ")
        for table, of in NUMBERS.items()
        for name in of
    ),
    *((table, name, nested(name), f"has {name} of type list") for table, of in NUMBERS.items() for name in of[:2]),
    *(
        (table, name, lambda t, name=name: t.drop_columns([name]), f"lacks {name}")
        for found in (TEXTS, NUMBERS)
        for table, of in found.items()
        for name in of
    ),
]


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [(t, c, s) for t, _, c, s in MISTYPED],
    ids=[f"{t}.{n}-{i}" for i, (t, n, *_) in enumerate(MISTYPED)],
)
def test_a_mistyped_column_is_refused(
    evaluated: Path, tmp_path: Path, capsys, table: str, change: Change, told: str
) -> None:
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    spoil(tmp_path, table, change)
    assert merge(tmp_path, **ITEMS) == 4
    error = capsys.readouterr().err
    assert error.startswith(f"sparkrank: the table {table} of {DAYS[2]} {told}")
    assert error.endswith("evaluate that day again\n")
    assert not (tmp_path / "tables/windows").exists()


LIMBS = [*(f"{name}_{limb}" for name in ("w", "wv", "ww", "wwv", "wwvv") for limb in (0, 3, 5)), "total_0", "total_4"]
WRONG: list[tuple[str, str, Change, str]] = [
    *(
        ("states", name, negated(name), f"has {name} that is below 0")
        for name in ("n_groups", "n_rows", "count", "n_blocks")
    ),
    ("states", "n_undefined", constant("n_undefined", -1), "has n_undefined that is below 0"),
    ("states", "n_undefined", constant("n_undefined", 10**6), "has n_undefined that is more than n_groups"),
    ("states", "n_averaged", constant("n_averaged", 10**6), "has n_averaged that is more than n_groups"),
    *(
        ("states", name, constant(name, value), f"has {name} that is not finite")
        for name in LIMBS
        for value in (np.nan, np.inf, -np.inf)
    ),
    *(("states", name, constant(name, 2.0**-90), f"has {name} that is no whole number of its unit") for name in LIMBS),
    *(
        ("states", name, constant(f"{name}_0", -(2.0**30)), f"has {name}_0 to {name}_5 that is a sum below 0")
        for name in ("w", "ww", "wwvv")
    ),
    *(
        ("states", name, constant(name, value), f"has {name} that is more than its values can make it")
        for name, value in (("w_3", -1.0), ("w_3", 0.5), ("wwv_1", 1e308), ("wv_5", -1e200), ("ww_2", 2.0**26))
    ),
    *(
        ("states", name, constant(name, 1e308), "has sums w, wv, ww, wwv and wwvv that n_averaged groups cannot have")
        for name in ("w_0", "wv_0", "ww_0", "wwv_0", "wwvv_0")
    ),
    ("states", "wv_0", constant("wv_0", -(2.0**26)), "has sums w, wv, ww, wwv and wwvv that n_averaged groups cannot"),
    ("states", "n_groups", constant("n_groups", 2**62), "has n_averaged that is neither n_groups nor n_groups without"),
    ("states", "n_groups", lambda t: constant("n_averaged", 30)(constant("n_groups", 30)(t)), "has n_groups that is "),
    ("states", "n_rows", constant("n_rows", 0), "has n_rows of 0 beside groups"),
    ("states", "n_rows", constant("n_rows", 10**6), "has n_rows that is more than the rows evaluated"),
    ("states", "total_0", constant("total_0", 1e308), "has a sum of rows that is more than there were, or no whole"),
    *(
        ("states", f"total_{limb}", constant(f"total_{limb}", 1e308), f"has total_{limb} that is more than its values")
        for limb in range(1, 6)
    ),
    ("distributions", "value", constant("value", np.nan), "has value that is not that of its block"),
    ("distributions", "value", constant("value", 0.123), "has value that is not that of its block"),
    ("distributions", "groups", constant("groups", 7), "has groups that are not those in the mean of its metric"),
    ("items", "relevant", constant("relevant", 26), "has relevant that is more than the groups"),
    ("blocks", "pos", constant("pos", 7), "has rows that are not those with a score"),
    ("states", "total", constant("total_0", -(2.0**30)), "has a sum of rows below 0"),
    ("states", "key", twice, "has rows of one key twice (kind, model, slice, slice_value, name, part)"),
    ("states", "key", a_row_again, "has rows of one key twice"),
    *(("blocks", name, constant(name, -1), f"has {name} that is below 0") for name in ("pos", "neg")),
    ("blocks", "block", constant("block", 2**63 - 1), "has rows of one key twice"),
    ("blocks", "key", a_row_again, "has rows of one key twice (model, slice, slice_value, rule, block)"),
    ("distributions", "groups", constant("groups", -1), "has groups that is below 0"),
    ("distributions", "key", a_row_again, "has rows of one key twice (model, slice, slice_value, metric, rule, block)"),
    *(("items", name, constant(name, -1), f"has {name} that is below 0") for name in ("shown", "relevant")),
    ("items", "key", a_row_again, "has rows of one key twice (model, slice, slice_value, exposure, item)"),
    *((table, "part", moved("part", 64), "has part that is none of 64") for table in ("states", "parts")),
    *((table, "part", moved("part", -64), "has part that is none of 64") for table in ("states", "parts")),
    ("parts", "pos", moved("pos", 1), "has rows that are not those with a score"),
    ("parts", "key", a_row_again, "has rows of one key twice (model, slice, slice_value, rule, part, block)"),
    (
        "states",
        "part_w",
        moved("part_w_2", 2.0**-18),
        "has part_w_0 to part_w_5 whose sum over the parts is not that of",
    ),
    (
        "states",
        "part_wv",
        moved("part_wv_2", 2.0**-2),
        "has part_wv_0 to part_wv_5 whose sum over the parts is not that",
    ),
    (
        "states",
        "part_total",
        moved("part_total_1", 16.0),
        "has part_total_0 to part_total_5 whose sum over the",
    ),
    ("states", "part_wv_3", constant("part_wv_3", np.nan), "has part_wv_3 that is not finite"),
]
WEIGHTED_WRONG: list[tuple[str, str, Change, str]] = [
    *(
        ("blocks", name, constant(name, np.nan), f"has {name} that is not finite")
        for name in ("pos_0", "neg_5", "offset_3")
    ),
    *(
        ("blocks", name, constant(f"{name}_0", -(2.0**30)), f"has {name}_0 to {name}_5 that is a sum below 0")
        for name in ("pos", "neg")
    ),
    ("blocks", "offset_2", constant("offset_2", 2.0**-90), "has offset_2 that is no whole number of its unit"),
    ("blocks", "rows", constant("rows", -1), "has rows that is below 0"),
    ("blocks", "rows", constant("rows", 7), "has rows that are not those with a score"),
]
BOTH = [("plain", ITEMS, *each) for each in WRONG] + [("weighted", WEIGHTED, *each) for each in WEIGHTED_WRONG]


@pytest.mark.parametrize(
    ("of", "asked", "table", "change", "told"),
    [(of, asked, table, change, told) for of, asked, table, _, change, told in BOTH],
    ids=[f"{of}.{table}.{name}-{i}" for i, (of, _, table, name, *_) in enumerate(BOTH)],
)
def test_numbers_that_cannot_be_are_refused(
    evaluated: Path, tmp_path: Path, capsys, of: str, asked: dict[str, Any], table: str, change: Change, told: str
) -> None:
    shutil.copytree(evaluated / of, tmp_path, symlinks=True, dirs_exist_ok=True)
    spoil(tmp_path, table, change)
    assert merge(tmp_path, **asked) == 4
    assert capsys.readouterr().err.startswith(f"sparkrank: the table {table} of {DAYS[2]} {told}")
    assert not (tmp_path / "tables/windows").exists()


@pytest.mark.parametrize(
    "change",
    [lambda t: t.take(np.arange(t.num_rows)[::-1]), lambda t: t.take(np.random.default_rng(1).permutation(t.num_rows))],
)
@pytest.mark.parametrize("of", ["plain", "weighted"])
def test_rows_in_another_order_are_the_same_states(evaluated: Path, tmp_path: Path, of: str, change: Change) -> None:
    asked = {"plain": ITEMS, "weighted": WEIGHTED}[of]
    shutil.copytree(evaluated / of, tmp_path, symlinks=True, dirs_exist_ok=True)
    window = tmp_path / f"tables/windows/metrics/window={DAYS[2]}..{DAYS[2]}"
    found = []
    for table in (None, *TEXTS):
        if table is not None:
            spoil(tmp_path, table, change)
        assert merge(tmp_path, **asked) == 0
        found.append(pq.read_table(one_file(window), partitioning=None).drop_columns(["run_id"]))
    assert all(each.equals(found[0]) for each in found)


@pytest.mark.parametrize("table", [*TEXTS, "runs"])
def test_a_file_that_the_run_did_not_write_is_refused(evaluated: Path, tmp_path: Path, capsys, table: str) -> None:
    """Another copy of the table, an empty table and any other file."""
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    part = one_file(tmp_path / f"tables/{table}/day={DAYS[2]}")
    for name, content in (("part-1.parquet", part.read_bytes()), ("notes.txt", b"notes")):
        (part.parent / name).write_bytes(content)
        assert merge(tmp_path, **ITEMS) == 4
        told = capsys.readouterr().err
        if table == "runs":
            assert f"the table runs of {DAYS[2]} " in told
        else:
            assert told.startswith(
                f"sparkrank: the table {table} of {DAYS[2]} holds a file that its run did not write ("
            )
            assert f"{name}): remove it, or evaluate that day again" in told
        (part.parent / name).unlink()
    (part.parent / "_SUCCESS").write_text("")  # hidden, as readers of Parquet take it
    assert merge(tmp_path, **ITEMS) == 0


@pytest.mark.parametrize("table", [*TEXTS, "runs"])
def test_a_file_that_is_lost_or_another_is_refused(evaluated: Path, tmp_path: Path, capsys, table: str) -> None:
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    part = one_file(tmp_path / f"tables/{table}/day={DAYS[2]}")
    rows = pq.read_table(part, partitioning=None)
    content = part.read_bytes()
    pq.write_table(rows[:-1], part)
    assert merge(tmp_path, **ITEMS) == 4
    told = f"the table runs of {DAYS[2]} has 0 rows" if table == "runs" else f"where its run wrote {len(content)}: "
    assert told in capsys.readouterr().err
    if table != "runs":
        part.write_bytes(bytes([*content[:100], content[100] ^ 1, *content[101:]]))
        assert merge(tmp_path, **ITEMS) == 4
        assert f"the table {table} of {DAYS[2]} has other bytes in {part.resolve()} than" in capsys.readouterr().err
        pq.write_table(rows[:-1], part)
        without_checksums(tmp_path / "tables", DAYS[2])  # as runs of releases before have listed their files
        assert merge(tmp_path, **ITEMS) == 4
        assert f"where its run wrote {rows.num_rows}: evaluate" in capsys.readouterr().err
    part.rename(part.with_name("other.parquet"))
    assert merge(tmp_path, **ITEMS) == 4
    if table != "runs":
        assert "other.parquet): remove it" in capsys.readouterr().err
    part.with_name("other.parquet").unlink()
    capsys.readouterr()
    assert merge(tmp_path, **ITEMS) == 4
    told = (
        "there are no states of"
        if table == "states"
        else f"{DAYS[2]} has lost its table {table}: evaluate that day again"
    )
    assert told in capsys.readouterr().err


def test_a_table_of_endless_rows_is_not_read(evaluated: Path, tmp_path: Path, capsys) -> None:
    """Many rows in a file of some kilobytes: its footer tells."""
    shutil.copytree(evaluated / "plain", tmp_path, symlinks=True, dirs_exist_ok=True)
    part = one_file(tmp_path / f"tables/states/day={DAYS[2]}")
    row = pq.read_table(part, partitioning=None)[:1]
    many = row.take(pa.array(np.zeros(100_000, np.int64)))
    with pq.ParquetWriter(part, many.schema) as writer:
        for _ in range(3):
            writer.write_table(many)
    without_checksums(tmp_path / "tables", DAYS[2])
    assert merge(tmp_path, **ITEMS) == 4
    assert "has 300000 rows in" in capsys.readouterr().err


def test_a_run_lists_the_files_of_every_table(evaluated: Path) -> None:
    tables = evaluated / "plain/tables"
    (run,) = pq.read_table(tables / f"runs/day={DAYS[2]}", partitioning=None).to_pylist()
    expected = {
        (folder.name, file.name, pq.read_metadata(file).num_rows)
        for folder in tables.iterdir()
        if not folder.name.startswith("_") and folder.name != "runs"
        for file in (folder / f"day={DAYS[2]}").iterdir()
    }
    assert {(each["table"], each["name"], each["rows"]) for each in run["files"]} == expected
    for each in run["files"]:
        content = (tables / each["table"] / f"day={DAYS[2]}" / each["name"]).read_bytes()
        assert (each["bytes"], each["checksum"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert {table for table, *_ in expected} >= {"metrics", "groups", "quality", *TEXTS}
