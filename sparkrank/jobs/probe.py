"""What one bucket of made rows costs, by the metrics, models and slices of a spec, in a process of its own.

The rows are made: groups of so many rows, random scores, a tenth of the labels 1, columns of the types that the input
has where somebody knows them. What is measured is the work of Spark's tasks, without Spark: Parquet is decoded, rows
are cut, the bucket is evaluated, its groups are written, and its states are merged.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sparkrank.base.checks import Limits
from sparkrank.base.errors import MOST_SENTENCE, SparkrankError, shortened
from sparkrank.engines.group_files import GroupFiles
from sparkrank.engines.result import Solved
from sparkrank.engines.shuffle.packing import pieces_by_task
from sparkrank.engines.spark.tasks import Result, solve_pieces, solve_tables, tune_worker
from sparkrank.inputs.roles import Roles
from sparkrank.jobs.capacity import Costs
from sparkrank.metrics import Plan
from sparkrank.numeric.memory import give_back_freed_memory
from sparkrank.sources.sources import Sides, Source
from sparkrank.states import Partials
from sparkrank.states.partials import MERGED_AT_ONCE
from sparkrank.states.pickling import stream_of
from sparkrank.tables.rows.finished import Finished
from sparkrank.tables.rows.outputs import output_tables
from sparkrank.tables.rows.quality import quality_table
from sparkrank.tables.rows.results import NO_ORIGIN, metrics_table
from sparkrank.text.terminal import print_document

PROBED_ROWS = 200_000
FEW_ROWS = 20_000  # of the smaller bucket, by which what a bucket costs is told from what its rows cost
WARM_ROWS = 2_000
CUT_INTO = 300, 87  # buckets and tasks into which a split is cut: those of three hundred million rows
TRUE_ITEMS = 4  # of a group, in a truth or an array
RELEVANT = 0.1
TEXT_WIDTH = 12  # letters of a made text of a key or an item
_STATUS = Path("/proc/self/status")
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What is to be probed: columns of ``roles`` with the types that are known, by side, and ``plan``.

    ``values`` are those of each slice, ``group_rows`` the rows of a group on average.
    """

    roles: Roles
    plan: Plan
    limits: Limits
    types: tuple[Mapping[str, pa.DataType], Mapping[str, pa.DataType]] = field(default=({}, {}))
    values: int = 1
    group_rows: int = 20
    rows: int = PROBED_ROWS
    source: str = ""
    has_blocks: bool = True


def probe(asked: Asked) -> Costs:
    """Measure what one bucket costs, in a child process.

    Parameters
    ----------
    asked : Asked

    Returns
    -------
    Costs

    Raises
    ------
    SparkrankError
        Where the child fails: with its last line.
    """
    paths = [path for path in sys.path if path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", "from sparkrank.jobs.probe import main; main()"]
    done = subprocess.run(  # noqa: S603 - this Python, and words of our own
        command, input=pickle.dumps(asked), capture_output=True, check=False, env=environment
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {done.returncode}"]
        raise SparkrankError(f"the probe of the metrics failed: {shortened(said[-1], MOST_SENTENCE)}")
    return Costs(**json.loads(done.stdout))


def main() -> None:
    """Measure what stdin asks for, and print it as JSON."""
    asked = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - by the parent process
    print_document(json.dumps(asdict(measured(asked))))


def measured(asked: Asked) -> Costs:
    """What a bucket costs here, in this process."""
    tune_worker()
    with tempfile.TemporaryDirectory(prefix="sparkrank-probe-") as folder:
        _Bucket.of(asked, WARM_ROWS, Path(folder)).run()
        base, addresses = _memory("VmRSS"), _memory("VmSize")
        few = _Bucket.of(asked, min(FEW_ROWS, asked.rows // 2), Path(folder)).run()
        many = _Bucket.of(asked, asked.rows, Path(folder)).run()
    more = max(1, many.rows - few.rows)
    solve_row = max(0.0, many.solve_seconds - few.solve_seconds) / more or many.solve_seconds / many.rows
    return Costs(
        rows=many.rows,
        states=_states(asked),
        read_row_seconds=many.read_seconds / many.rows,
        solve_row_seconds=solve_row,
        bucket_seconds=max(0.0, few.solve_seconds - few.rows * solve_row),
        merge_seconds=many.merge_seconds,
        table_seconds=many.table_seconds,
        piece_row_bytes=many.piece_bytes / many.rows,
        state_bytes=many.state_bytes,
        merged_bytes=many.merged_bytes,
        base_bytes=base,
        read_row_bytes=max(0.0, many.read_peak - base) / many.rows,
        solve_row_bytes=max(0.0, many.solve_peak - base) / many.rows,
        address_bytes=max(0.0, addresses - base),
        group_bytes=many.group_bytes / max(1, many.groups),
        table_bytes=many.table_bytes,
    )


def _states(asked: Asked) -> int:
    plan = asked.plan
    values = min(asked.values, max(1, asked.rows // asked.group_rows)) * len(plan.slices)
    return len(plan.models) * len(plan.metrics) * (1 + values)


@dataclass
class _Spent:
    """What one bucket has cost, in processor seconds and bytes."""

    rows: int = 0
    groups: int = 0
    read_seconds: float = 0.0
    solve_seconds: float = 0.0
    merge_seconds: float = 0.0
    table_seconds: float = 0.0
    piece_bytes: int = 0
    state_bytes: int = 0
    merged_bytes: float = 0.0
    read_peak: float = 0.0
    solve_peak: float = 0.0
    group_bytes: int = 0
    table_bytes: int = 0


@dataclass(frozen=True)
class _Bucket:
    """Made rows, as files and in memory."""

    asked: Asked
    sides: Sides
    spread: Sides  # as many rows, each of a group of its own, as in a split of a large day
    files: tuple[Path, ...]
    folder: Path
    groups: int

    @classmethod
    def of(cls, asked: Asked, rows: int, folder: Path) -> _Bucket:
        arrays = asked.roles.true_items is not None
        groups = max(1, rows if arrays else rows // asked.group_rows)
        pairs = [asked.roles] if asked.roles.truth is None else [asked.roles, asked.roles.truth]

        tables = [
            made_rows(asked, roles, types, groups, is_truth=index > 0)
            for index, (roles, types) in enumerate(zip(pairs, asked.types, strict=False))
        ]
        spread = tables
        if not arrays:
            alone = replace(asked, group_rows=1)
            spread = [made_rows(alone, asked.roles, asked.types[0], tables[0].num_rows), *tables[1:]]
        files = tuple(folder / f"{rows}-{index}.parquet" for index in range(len(tables)))
        for table, file in zip(tables, files, strict=True):
            plain = table.rename_columns([f"c{index}" for index in range(table.num_columns)])
            pq.write_table(plain, file, compression="snappy")
        return cls(asked, _sides(tables, asked), _sides(spread, asked), files, folder, groups)

    def run(self) -> _Spent:
        plan, spent = self.asked.plan, _Spent(rows=sum(self._lengths()), groups=self.groups)
        give_back_freed_memory()
        with _peak() as peak:
            started = time.process_time()
            for file in self.files:
                pq.read_table(file)
            spread, _ = self._cut(self.spread, *CUT_INTO)
            spent.read_seconds = time.process_time() - started
        spent.read_peak = peak[0]
        spent.piece_bytes = sum(piece.size for _, piece in spread)
        del spread
        pieces, tables = self._cut(self.sides)
        groups = GroupFiles.at(str(self.folder / f"groups-{spent.rows}")) if plan.group_table and plan.keys else None
        give_back_freed_memory()
        with _peak() as peak:
            started = time.process_time()
            results = list(self._solved(pieces, tables, groups))
            spent.solve_seconds = time.process_time() - started
        spent.solve_peak = peak[0]
        if groups is not None:
            spent.group_bytes = sum(file.stat().st_size for file in Path(groups.unseen).iterdir())
            groups.discard()
        self._merge(results, spent)
        return spent

    def _lengths(self) -> Iterator[int]:
        yield from (source.rows for source in (self.sides.impressions, self.sides.truth) if source is not None)

    def _cut(
        self, sides: Sides, buckets: int = 1, tasks: int = 1
    ) -> tuple[list[tuple[int, pa.Buffer]], list[pa.Table]]:
        plan = self.asked.plan
        read = sides.reader(plan)
        pieces: list[tuple[int, pa.Buffer]] = []
        tables: list[pa.Table] = []
        for split in sides.splits(plan, self.asked.rows):
            for rows in read(split):
                if plan.keys:
                    pieces += [(bucket, stream_of(piece)) for bucket, piece in pieces_by_task(rows, buckets, tasks)]
                else:
                    tables.append(rows)
        return pieces, tables

    def _solved(
        self, pieces: list[tuple[int, pa.Buffer]], tables: list[pa.Table], groups: GroupFiles | None
    ) -> Iterator[Result]:
        plan = self.asked.plan
        if plan.keys:
            return solve_pieces(iter(pieces), self.sides.schema(plan), plan, groups)
        return solve_tables(tables, plan)

    def _merge(self, results: list[Result], spent: _Spent) -> None:
        """Merge the bucket's states with themselves, as those of other buckets, and make the tables of them."""
        asked = self.asked
        packed = [states for row in results if (states := row["states"]) is not None]
        exact = [blocks for row in results if (blocks := row["blocks"]) is not None]
        spent.state_bytes = sum(map(len, packed))
        give_back_freed_memory()
        before = _memory("VmRSS")
        with _peak() as peak:
            started = time.process_time()
            Partials.unpack(packed * MERGED_AT_ONCE)
            spent.merge_seconds = (time.process_time() - started) / MERGED_AT_ONCE
        spent.merged_bytes = max(0.0, peak[0] - before) / MERGED_AT_ONCE
        started = time.process_time()
        solved = Solved(Partials.unpack([*packed, *exact]), None)
        metrics = metrics_table(solved.merged, asked.plan)
        quality = quality_table(solved.partials, asked.plan, asked.limits)
        finished = Finished(asked.plan, solved, NO_ORIGIN, metrics, quality, None, asked.has_blocks, asked.source)
        tables = [table for table in output_tables(finished).values() if isinstance(table, pa.Table)]
        spent.table_seconds = time.process_time() - started
        spent.table_bytes = sum(map(_stored_bytes, tables))


def _sides(tables: list[pa.Table], asked: Asked) -> Sides:
    return Sides(Source(tables[0]), Source(tables[1]) if len(tables) > 1 else None, asked.roles)


def _stored_bytes(table: pa.Table) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return int(sink.tell())


def made_rows(
    asked: Asked, roles: Roles, types: Mapping[str, pa.DataType], groups: int, *, is_truth: bool = False
) -> pa.Table:
    """Rows of ``groups`` groups for the columns of ``roles``, of the ``types`` that are known."""
    draw = np.random.default_rng(1)
    arrays = roles.true_items is not None
    of_group = 1 if arrays else TRUE_ITEMS if is_truth else asked.group_rows
    group = np.repeat(np.arange(groups), of_group)
    place = np.tile(np.arange(of_group), groups)
    values = max(1, asked.values)
    item = place * (asked.group_rows // TRUE_ITEMS or 1) if is_truth else place

    def numbers(lowest: float, highest: float) -> Callable[[], Any]:
        return lambda: draw.uniform(lowest, highest, len(group))

    def lists(length: int, make: Callable[[int], Any]) -> Callable[[], pa.Array]:
        ends = np.arange(len(group) + 1, dtype=np.int32) * length
        return lambda: pa.ListArray.from_arrays(pa.array(ends), pa.array(make(len(group) * length)))

    def positions() -> Any:
        return place + 1

    def labels() -> Any:
        return (draw.random(len(group)) < RELEVANT).astype(np.int8)

    makers: dict[str, Callable[[], Any]] = {
        "group": lambda: group,
        "slice": lambda: group % values,
        "group weight": lambda: 1.0 + group % 3,
        "label": labels,
        "items": lists(asked.group_rows, lambda count: np.tile(draw.permutation(asked.group_rows), count)[:count]),
        "true items": lists(TRUE_ITEMS, lambda count: np.arange(count) % TRUE_ITEMS * 5),
        "labels": lists(TRUE_ITEMS, np.ones),
        "item": lambda: item,
        "rank": positions,
        "reference rank": positions,
        "weight": numbers(0.5, 1.5),
    }
    columns: dict[str, pa.Array] = {}
    for role, _, column in roles.played():
        if column not in columns:
            made = makers.get(role.name, numbers(0.01, 0.99))()
            columns[column] = _typed(made, types.get(column), is_text=role.name == "slice")
    table = pa.table(columns)
    return table.take(pa.array(draw.permutation(len(group))))  # as in the order of time


def _typed(made: Any, kind: pa.DataType | None, *, is_text: bool = False) -> pa.Array:
    """``made`` values as a column of ``kind``, where that is known and they fit it."""
    array = made if isinstance(made, pa.Array) else pa.array(made)
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind is not None and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        inner = _typed(array.values, kind.value_type)
        return pa.ListArray.from_arrays(array.offsets, inner)
    texts = kind is not None and (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    )
    if texts or (kind is None and is_text):
        width = 0 if is_text else TEXT_WIDTH
        return pa.array([f"v{each:0{width}d}" for each in array.cast(pa.int64(), safe=False).to_pylist()])
    if kind is None:
        return array
    if pa.types.is_date32(kind):
        return array.cast(pa.int32(), safe=False).cast(kind)
    with contextlib.suppress(pa.ArrowException):
        return array.cast(kind, safe=False)
    return array


@contextlib.contextmanager
def _peak() -> Iterator[list[float]]:
    """The most resident memory of this process while the block runs, in bytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_bytes(b"5")  # set the peak back to what is held now (proc(5))
    found: list[float] = []
    yield found
    found.append(_memory("VmHWM"))


def _memory(name: str) -> float:
    """A line of this process's status, in bytes; elsewhere than on Linux the most it has held."""
    try:
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most) * (1 if sys.platform == "darwin" else 1024)
