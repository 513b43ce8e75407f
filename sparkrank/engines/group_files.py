"""The group table written by those who solve the buckets, so that its rows need not travel.

Every solver writes Parquet files of its own and reports their names with its states. A file is named after the first
bucket of those whose groups it holds, and takes its name when it is whole. So a task that Spark runs twice writes the
same files twice, also where an executor is lost after all results were read: no group is ever in two files.

Files that are not whole are in a folder of the run, which readers skip. While it is there, no other run takes the
place. It is removed once all results are in or the evaluation has failed; who then still runs, or runs again, writes
nothing. Nor does a solver on a machine where it is not to be seen: so the files are looked for at the end.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.bucket.group_rows import GROUP_COUNTS, MODEL, with_plain_models
from sparkrank.engines.arrow.files import file_system, without_password
from sparkrank.errors import InputError, SparkrankError, first_line, shortened, told_by_writing

# A row group and a file of the group table: 2 and 20 MB with twenty columns, 16 and 160 while they are held.
ROW_GROUP_ROWS = 100_000
FILE_ROWS = 1_000_000
# Texts of keys take zstd as long as Snappy and half the space; metrics take a sixth longer for 6 % less.
COMPRESSION_OF_KEYS = "zstd"
COMPRESSION = "snappy"
# The least and the most of each column would take an eighth of the time to write, and let no reader skip a row group:
# a row group has some of all groups of a few buckets.
STATISTICS = False
# A key stands once for each model: a dictionary of them would hold them all, and their numbers beside. Metrics, of
# which equal values stand together, are written in half the time without dictionaries: of a million groups with clicks
# in 0.080 instead of 0.135 s, and take 21.7 instead of 15.0 MB.
IN_DICTIONARIES = [MODEL]
# Steps from one group to the next are mostly 0: three fourths of the time of dictionaries, and less space.
COUNTS_AS = "DELTA_BINARY_PACKED"
# Values that the writer takes at a time, which a page holds anyway: a tenth less time than with its 1,024.
VALUES_AT_A_TIME = 20_000
_ARROW_SCHEMA = "ARROW:schema"  # where readers that give Arrow look for the types that were written
REMOVALS = 3  # of a folder in which a task may begin a file at the same moment, one in a second or so


class Part(NamedTuple):
    """The ``groups`` of a ``bucket``, or of several of which this is the first."""

    bucket: int
    groups: pa.Table


@dataclass(frozen=True)
class GroupFiles:
    """Files of the group table in ``folder`` of the file system ``store``, which every solver reaches.

    ``unfinished`` is the run's own folder in it, of files that are not whole.
    """

    store: fs.FileSystem
    folder: str
    unfinished: str

    @classmethod
    def at(cls, path: str) -> GroupFiles:
        """Files in the folder ``path``, which is made if it is missing; ``path`` may name another file system.

        Raises :class:`InputError` where something is in the folder already, be it of an evaluation that goes on or was
        killed, and :class:`SparkrankError` where it cannot be made.
        """
        refused = f"the group table cannot be written to {without_password(path)}"
        try:
            store, folder = file_system(path)
            files = cls(store, folder, f"{folder}/_{uuid.uuid4().hex}")
            store.create_dir(files.unfinished, recursive=True)  # before looking: of two at once one at most goes on
            there = {info.path for info in store.get_file_info(fs.FileSelector(folder))} - {files.unfinished}
            if there:
                store.delete_dir(files.unfinished)
        except (pa.ArrowException, OSError) as error:
            raise SparkrankError(f"{refused}: {first_line(error)}") from error
        if there:
            raise InputError(f"{refused}: the folder is not empty ({shortened(min(there))})")
        return files

    def write(self, parts: Iterable[Part]) -> Iterator[str]:
        """Write ``parts`` into as many files as they fill, and give the name of each file once it is whole.

        A part is in one file, whose name is that of its first: no two solvers write the same, and one that runs again
        writes the same again. After :meth:`keep` the names are all. Two row groups are held, the one that was written
        and the one that is gathered. Raises :class:`sparkrank.errors.SparkrankError` where they cannot be written.
        """
        wanted = self._exists(self.unfinished)
        groups = _gathered(parts, ROW_GROUP_ROWS)
        part = next(groups, None)
        while part is not None:
            bucket, rows = part.bucket, 0
            unfinished = f"{self.unfinished}/{uuid.uuid4().hex}"
            with (
                told_by_writing(f"the group table in {self.folder}"),
                self._writer(unfinished, part.groups) if wanted else nullcontext() as writer,
            ):
                while part is not None and rows < FILE_ROWS:
                    if writer is not None:
                        writer.write_table(part.groups.cast(writer.schema), row_group_size=part.groups.num_rows)
                    rows += part.groups.num_rows
                    part = next(groups, None)
            name = name_of(bucket)
            if wanted:
                self.store.move(unfinished, f"{self.folder}/{name}")
            yield name

    def _writer(self, path: str, group: pa.Table) -> pq.ParquetWriter:
        """A writer of tables like ``group``, whose readers get models as texts."""
        keys = key_columns(group)
        read_as = _without_nulls(with_plain_models(group.slice(length=0)).schema)
        writer = pq.ParquetWriter(
            path,
            _without_nulls(group.schema),
            filesystem=self.store,
            compression={name: COMPRESSION_OF_KEYS if name in keys else COMPRESSION for name in group.column_names},
            write_statistics=STATISTICS,
            use_dictionary=IN_DICTIONARIES,
            column_encoding=dict.fromkeys(GROUP_COUNTS, COUNTS_AS),
            write_batch_size=VALUES_AT_A_TIME,
            store_schema=False,
        )
        writer.add_key_value_metadata({_ARROW_SCHEMA: base64.b64encode(read_as.serialize())})
        return writer

    def _exists(self, path: str) -> bool:
        return bool(self.store.get_file_info(path).type != fs.FileType.NotFound)

    def keep(self, names: Collection[str]) -> None:
        """Remove every file that ``names`` do not name. From now on nobody writes any.

        Raises :class:`SparkrankError` where one that they name is not there: its solver has not reached this folder.
        """
        for _ in range(REMOVALS):
            with suppress(OSError):  # a task has begun a file in it meanwhile
                self.store.delete_dir(self.unfinished)
            if not self._exists(self.unfinished):
                break
        missing = set(names)
        for info in self.store.get_file_info(fs.FileSelector(self.folder, allow_not_found=True)):
            if info.type == fs.FileType.File and info.base_name not in missing:
                self.store.delete_file(info.path)
            missing.discard(info.base_name)
        if missing:
            raise SparkrankError(
                f"{len(missing)} of {len(names)} files of the group table are not in {shortened(self.folder)}: name a "
                f"place that every executor reaches, as a folder that is mounted on all of them"
            )


def _without_nulls(schema: pa.Schema) -> pa.Schema:
    """``schema`` as Parquet writes it a twelfth faster: nothing in the group table is null, a metric may be NaN."""
    return pa.schema([field.with_nullable(False) for field in schema], schema.metadata)


def key_columns(table: pa.Table) -> list[str]:
    """The columns between the model and the counts."""
    names: list[str] = table.column_names
    return names[names.index(MODEL) + 1 : names.index(GROUP_COUNTS[0])]


def name_of(bucket: int) -> str:
    """The name of the file whose groups begin with those of ``bucket``."""
    return f"part-{bucket:05d}.parquet"


def _gathered(parts: Iterable[Part], rows: int) -> Iterator[Part]:
    """``parts`` joined until they hold ``rows`` rows, without those of buckets that have none but bad ones."""
    held: list[Part] = []
    for part in parts:
        if not part.groups.num_rows:
            continue
        held.append(part)
        if sum(each.groups.num_rows for each in held) >= rows:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


def _joined(parts: Sequence[Part]) -> Part:
    return Part(parts[0].bucket, pa.concat_tables([part.groups for part in parts]))
