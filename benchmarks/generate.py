"""Impression logs, and lists with a truth beside them, of any size, made up but the same every time.

Users are many and of unequal activity, and the rows of one lie all over the log, as they do in a log written in the
order of time. Labels come from a hidden taste that every model sees through some noise, so metrics are neither 0 nor 1.

    python -m benchmarks.generate --rows 2e6 --groups 1e5
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

VERSION = 1  # to be raised when the same arguments give other rows: folders of older versions are then left alone
DEFAULT_ROOT = Path(__file__).parent / "data"

LISTS, TRUTH = "lists", "truth"  # folders inside of that of a log whose layout is lists
LOG, CATALOG, PAST = "log", "catalog", "past"  # and of one whose layout is beside
CATEGORIES = 40
KEPT = 0.3  # of the rows that reach the next step of a funnel
FIRST_DAY = dt.date(2026, 1, 1)  # of a log whose layout is days
ITEMS = 200_000
LIST_ROWS = 20
MOST_TRUE_ITEMS = 8  # of a user; half as many on average, every other one in the list
GOLDEN = 0.6180339887498949  # its multiples lie apart, so that no list repeats an item
COUNTRIES, DEVICES = 20, ("desktop", "phone", "tablet", "tv")
CLICK_LOGIT = -2.4  # with the spreads below, an impression in eight is clicked
USER_SPREAD = 2.0  # users differ in how much they click, so the AUC of the day is not the mean AUC of the groups
MODEL_NOISE = 0.7  # of the first model; the second sees the taste through twice as much, and so on
GRADE_EDGES = (0.0, 0.8, 1.6, 2.4)  # a response above the first is a click, and each edge passed is one grade more
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_ODD = 0x1E3779B97F4A7C15  # odd, so multiplying by it modulo a power of two is one to one


@dataclass(frozen=True)
class LogShape:
    """What a log looks like. Equal shapes are equal logs, byte for byte with the same pyarrow.

    ``groups`` is how many users there may be: the activity of a user falls as 1/sqrt of its rank, so with 20 rows a
    user on average the most active of a million has 20,000 and the least active 10. ``ties`` is the share of scores
    rounded to two decimals; the others are equal to no other score of their group. ``row_group_rows`` is also what is
    held in memory at a time.

    Where the ``layout`` is ``lists``, each user has a list of twenty rows, one after the other, and a truth of some
    true items without labels. With ``slices``, impressions have a country, the user's, and a device of their own.
    Where it is ``arrays``, a list and its true items are one row; ``rows`` then counts the items of lists. Where it is
    ``days``, the log has a folder for each of so many ``days``. Where it is ``beside``, there are a catalog of all
    items with a price and a category, and as many pairs of a user and an item of the past, beside the impressions.
    ``keys`` are numbers, texts of 16 letters (``string``) or of 21 (``text``), and with ``sessions`` there is a second
    key: users have up to four sessions.

    ``items`` are numbers that many impressions share, or a text for each impression (``text``). Where rows are
    ``weighted``, each has a weight from 0.5 to 2. ``heavy`` is the share of rows that are of one user. ``format`` is
    that of the files: ``parquet`` or ``csv``. Where impressions are ``bucketed``, all those of a user are in one file,
    as lists and their truth always are. With a ``funnel``, 3 of 10 clicked rows are in the cart, 3 of 10 of these are
    paid, and each row has a propensity.
    """

    rows: int = 1_000_000
    groups: int = 50_000
    labels: str = "click"
    keys: str = "int"
    models: int = 1
    ties: float = 0.0
    files: int = 8
    row_group_rows: int = 1_000_000
    seed: int = 0
    layout: str = "log"
    slices: bool = False
    days: int = 1
    sessions: bool = False
    items: str = "shared"
    weighted: bool = False
    heavy: float = 0.0
    format: str = "parquet"
    bucketed: bool = False
    funnel: bool = False

    @property
    def graded(self) -> bool:
        return self.labels == "graded"

    @property
    def label(self) -> str:
        """The label's column: ``clicked`` (0 or 1), or ``label`` (0 to 4)."""
        return "label" if self.graded else "clicked"

    @property
    def scores(self) -> tuple[str, ...]:
        """The score column of each model."""
        return ("score",) if self.models == 1 else tuple(f"score_{model}" for model in range(1, self.models + 1))

    @property
    def names_of_days(self) -> tuple[str, ...]:
        """The days of the log, each YYYY-MM-DD."""
        return tuple(str(FIRST_DAY + dt.timedelta(days=day)) for day in range(self.days))

    @property
    def folder(self) -> str:
        """The name that spells out what is not by default. No "=" in it: Spark takes that for a partition."""
        spelled = [
            f"{field.name.replace('_', '-')}-{value}"
            for field in fields(self)
            for value in [getattr(self, field.name)]
            if value != field.default or field.name in ("rows", "groups")
        ]
        return "_".join((f"log-v{VERSION}", *spelled))


def impressions(shape: LogShape, rows: int, chunk: int, file: int) -> pa.Table:
    """The rows of one chunk of the log, which stands in ``file``."""
    random = np.random.default_rng([shape.seed, chunk])
    group = (random.random(rows) ** 2 * shape.groups).astype(np.int64)
    if shape.bucketed:
        group += file - group % shape.files
    if shape.heavy:
        group[np.random.default_rng([shape.seed, chunk, 1]).random(rows) < shape.heavy] = 0
    user = (group * _ODD) & (2**62 - 1)
    item = (random.random(rows) ** 3 * ITEMS).astype(np.int64)
    habit = USER_SPREAD * ((user >> 40) % 1024 / 1023 - 0.5)
    taste = CLICK_LOGIT + habit + random.standard_normal(rows)
    response = taste + random.logistic(size=rows)
    grade = np.searchsorted(GRADE_EDGES if shape.graded else GRADE_EDGES[:1], response).astype(np.int32)
    rounded = random.random(rows) < shape.ties
    columns = {"user_id": _keys(shape, user), "item_id": item}
    if shape.items == "text":
        columns["item_id"] = _hex(((np.arange(rows) + chunk * shape.row_group_rows) * _ODD) & (2**62 - 1), "item-")
    for model, name in enumerate(shape.scores, start=1):
        score = 1 / (1 + np.exp(-taste - model * MODEL_NOISE * random.standard_normal(rows)))
        columns[name] = np.where(rounded, np.round(score, 2), score)
    if shape.slices:
        countries = pa.array([f"country-{country:02d}" for country in range(COUNTRIES)])
        columns["country"] = countries.take(pa.array(user % COUNTRIES))
        columns["device"] = pa.array(DEVICES).take(pa.array(random.integers(0, len(DEVICES), rows)))
    if shape.sessions:
        columns["session_id"] = random.integers(0, 4, rows)
    if shape.weighted:
        columns["weight"] = 0.5 + 1.5 * random.random(rows)
    if shape.funnel:
        columns["carted"] = grade * (random.random(rows) < KEPT).astype(np.int32)
        columns["paid"] = columns["carted"] * (random.random(rows) < KEPT).astype(np.int32)
        columns["propensity"] = 0.05 + 0.95 * random.random(rows)
    return pa.table({**columns, shape.label: grade})


def lists_and_truth(shape: LogShape, rows: int, chunk: int) -> tuple[pa.Table, pa.Table]:
    """The rows of one chunk of the lists, and the true items of the same users."""
    random = np.random.default_rng([shape.seed, chunk])
    count = max(rows // LIST_ROWS, 1)
    user = ((np.arange(count) + chunk * shape.row_group_rows) * _ODD) & (2**62 - 1)
    first = random.random(count)
    place = np.tile(np.arange(LIST_ROWS), count)
    scores = {
        name: 1 / (1 + np.exp((place - 10) / 4 + model * random.standard_normal(len(place))))
        for model, name in enumerate(shape.scores, start=1)
    }
    owner = np.repeat(np.arange(count), LIST_ROWS)
    lists = {"user_id": _keys(shape, user[owner]), "item_id": _items(first[owner], place), **scores}
    picked = np.arange(MOST_TRUE_ITEMS) * 2 + 0.5  # between those of the list
    of_user = np.tile(picked, (count, 1))
    of_user[:, ::2] = (random.integers(0, LIST_ROWS, count)[:, np.newaxis] + np.arange(0, 4) ** 2) % LIST_ROWS
    has = random.integers(0, MOST_TRUE_ITEMS + 1, count)[:, np.newaxis] > np.arange(MOST_TRUE_ITEMS)
    owner, _ = np.nonzero(has)
    truth = {"user_id": _keys(shape, user[owner]), "item_id": _items(first[owner], of_user[has])}
    return pa.table(lists), pa.table(truth)


def catalog(shape: LogShape) -> pa.Table:
    """All items that impressions may have, each with a price and one of the categories."""
    random = np.random.default_rng([shape.seed, 2**32 - 1])
    category = pa.array([f"category-{number:02d}" for number in range(CATEGORIES)])
    category = category.take(pa.array(random.integers(0, CATEGORIES, ITEMS)))
    return pa.table({"item_id": np.arange(ITEMS), "price": random.lognormal(3, 1, ITEMS), "category": category})


def arrays_of(lists: pa.Table, truth: pa.Table) -> pa.Table:
    """The rows of ``lists``, twenty of a user one after the other, and those of ``truth`` as a row for each user."""
    users = lists["user_id"].to_numpy()[::LIST_ROWS]
    ends = np.arange(len(users) + 1) * LIST_ROWS
    owners, counts = np.unique(truth["user_id"].to_numpy(), return_counts=True)
    where = np.searchsorted(owners, users).clip(max=max(len(owners) - 1, 0))
    of_user = np.where(owners[where] == users, counts[where], 0) if len(owners) else np.zeros(len(users), np.int64)
    true_ends = np.append(0, np.cumsum(of_user))  # the truth has users in the order of the lists
    items, true_items = (side["item_id"].combine_chunks() for side in (lists, truth))
    return pa.table(
        {
            "user_id": users,
            "items": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items),
            "true_items": pa.ListArray.from_arrays(pa.array(true_ends, pa.int32()), true_items),
        }
    )


def _items(first: NDArray[np.float64], place: NDArray[np.generic]) -> NDArray[np.int64]:
    """The item at each ``place`` of a list that begins at ``first``: no other place of the list has it."""
    return (((first + place * GOLDEN) % 1) ** 2 * ITEMS).astype(np.int64)


def _keys(shape: LogShape, user: NDArray[np.int64]) -> pa.Array | NDArray[np.int64]:
    if shape.keys == "int":
        return user
    return _hex(user, prefix="user-" if shape.keys == "text" else "")


def _hex(numbers: NDArray[np.int64], prefix: str = "") -> pa.Array:
    """Sixteen hexadecimal digits of each number behind a ``prefix``, as ids from a hash look."""
    nibbles = numbers.astype(">i8").view(np.uint8).reshape(-1, 8)
    digits = np.stack([_HEX[nibbles >> 4], _HEX[nibbles & 15]], axis=2).reshape(len(numbers), 16)
    before = np.broadcast_to(np.frombuffer(prefix.encode(), np.uint8), (len(numbers), len(prefix)))
    text = np.concatenate([before, digits], axis=1)
    ends = np.arange(len(numbers) + 1, dtype=np.int32) * text.shape[1]
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(text))


def chunks(shape: LogShape) -> Iterator[tuple[int, int, int]]:
    """(file, chunk, rows) of every row group. Chunks are numbered through, for their seeds."""
    chunk = 0
    for file in range(shape.files):
        left = shape.rows * (file + 1) // shape.files - shape.rows * file // shape.files
        while left:
            rows = min(left, shape.row_group_rows)
            yield file, chunk, rows
            chunk, left = chunk + 1, left - rows


def write(shape: LogShape, root: Path = DEFAULT_ROOT) -> Path:
    """The folder under ``root`` that holds the log, written if it is not there: whole or not at all."""
    target = root / shape.folder
    if target.is_dir():
        return target
    unfinished = root / f".{shape.folder}.{os.getpid()}"
    unfinished.mkdir(parents=True)
    try:
        _write_files(shape, unfinished)
        unfinished.rename(target)
    except BaseException:
        shutil.rmtree(unfinished)
        if target.is_dir():  # another process was faster
            return target
        raise
    return target


def _write_files(shape: LogShape, folder: Path) -> None:
    if shape.layout == "log":
        made = ((file, impressions(shape, rows, chunk, file)) for file, chunk, rows in chunks(shape))
        _write_tables(shape, made, folder)
        return
    if shape.layout == "arrays":
        made = ((file, arrays_of(*lists_and_truth(shape, rows, chunk))) for file, chunk, rows in chunks(shape))
        _write_tables(shape, made, folder)
        return
    if shape.layout == "days":
        _write_days(shape, folder)
        return
    if shape.layout == "beside":
        past = replace(shape, seed=shape.seed + 1)
        made = ((file, impressions(shape, rows, chunk, file)) for file, chunk, rows in chunks(shape))
        pairs = ((file, impressions(past, rows, chunk, file).select([0, 1])) for file, chunk, rows in chunks(past))
        for name, tables in ((LOG, made), (CATALOG, [(0, catalog(shape))]), (PAST, pairs)):
            (folder / name).mkdir()
            _write_tables(shape, tables, folder / name)
        return
    for side, name in enumerate((LISTS, TRUTH)):
        (folder / name).mkdir()
        made = ((file, lists_and_truth(shape, rows, chunk)[side]) for file, chunk, rows in chunks(shape))
        _write_tables(shape, made, folder / name)


def _write_days(shape: LogShape, folder: Path) -> None:
    """A folder for each day, whose rows come in no other day's chunks."""
    of_day = replace(shape, rows=shape.rows // shape.days, files=1)
    chunk = 0
    for day in shape.names_of_days:
        (folder / f"day={day}").mkdir()
        made = []
        for _, number, rows in chunks(of_day):
            made.append((0, impressions(shape, rows, chunk + number, 0)))
        chunk += len(made)
        _write_tables(shape, made, folder / f"day={day}")


def _write_tables(shape: LogShape, tables: Iterable[tuple[int, pa.Table]], folder: Path) -> None:
    """Write each of ``tables`` as a row group of the file of its number."""
    writer, open_file = None, -1
    for file, table in tables:
        if writer is None or file != open_file:
            if writer is not None:
                writer.close()
            path, open_file = folder / f"part-{file:05d}.{shape.format}", file
            writer = (pq.ParquetWriter if shape.format == "parquet" else pa_csv.CSVWriter)(path, table.schema)
        writer.write_table(table, max(table.num_rows, 1))
    if writer is not None:
        writer.close()


def add_arguments(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """The options that make up a :class:`LogShape`, or ``several`` of different sizes, and where logs are kept."""
    default = LogShape()
    rows = parser.add_argument("--rows", type=whole, default=default.rows, help="1e6 is understood too")
    if several:
        rows.nargs, rows.default = "+", [default.rows]
    parser.add_argument("--groups", type=whole, help="how many users there may be (default: rows / 20)")
    parser.add_argument("--labels", choices=("click", "graded"), default=default.labels)
    parser.add_argument("--models", type=whole, default=default.models, help="score columns (default: %(default)s)")
    parser.add_argument("--keys", choices=("int", "string", "text"), default=default.keys)
    parser.add_argument("--ties", type=float, default=default.ties, help="share of scores rounded to two decimals")
    parser.add_argument("--files", type=whole, default=default.files)
    parser.add_argument("--row-group-rows", type=whole, default=default.row_group_rows)
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument(
        "--layout",
        choices=("log", "lists", "arrays", "days", "beside"),
        default=default.layout,
        help="lists have a truth beside them, arrays in the same row",
    )
    parser.add_argument("--days", type=whole, default=default.days, help="folders of the layout days")
    parser.add_argument("--sessions", action="store_true", help="with a second key")
    parser.add_argument("--items", choices=("shared", "text"), default=default.items, help="text: each row's own")
    parser.add_argument("--weighted", action="store_true", help="with a weight for each row")
    parser.add_argument("--heavy", type=float, default=default.heavy, help="share of rows that are of one user")
    parser.add_argument("--format", choices=("parquet", "csv"), default=default.format)
    parser.add_argument("--bucketed", action="store_true", help="with all impressions of a user in one file")
    parser.add_argument("--funnel", action="store_true", help="with two further labels and a propensity")
    parser.add_argument("--slices", action="store_true", help="with a country and a device")
    parser.add_argument("--data", type=Path, default=DEFAULT_ROOT, help="where logs are kept (default: %(default)s)")


def whole(text: str) -> int:
    """A number of rows: ``20000000`` or ``2e7``."""
    return int(float(text))


def shape_of(arguments: argparse.Namespace) -> LogShape:
    return shape_with(arguments, arguments.rows)


def shape_with(arguments: argparse.Namespace, rows: int) -> LogShape:
    """The shape that ``arguments`` spell, with ``rows`` rows."""
    given = {field.name: getattr(arguments, field.name) for field in fields(LogShape) if field.name in arguments}
    return LogShape(**{**given, "rows": rows, "groups": arguments.groups or max(rows // 20, 1)})


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.generate", description="Write an impression log as Parquet.")
    add_arguments(parser)
    arguments = parser.parse_args()
    print(write(shape_of(arguments), arguments.data))


if __name__ == "__main__":
    main()
