"""The group table as Parquet files that the tasks write themselves, so that no rows need to be sent to the driver.

The name of a file contains the number of its first bucket, a random number and the name of the run. If Spark runs a
task twice, the task writes its files twice, and only the files named in the result that Spark uses are kept. The other
attempt may end later with only some of the groups, because a task cannot tell the end of a broken input from the end of
all rows. Until :meth:`GroupFiles.publish`, the files are in a hidden folder of the run, which readers ignore and other
runs avoid.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkrank.base.errors import InputError, SparkrankError, first_line, shorten, writing_errors
from sparkrank.bucket.group_rows import GROUP_COUNTS, MODEL, with_plain_models
from sparkrank.schemas.tables import ATTEMPT_ID
from sparkrank.sources.files import file_system, without_password

# The number of rows of a row group and of a file: 2 and 20 MB on disk with twenty columns, 16 and 160 MB in memory.
ROW_GROUP_ROWS = 100_000
FILE_ROWS = 1_000_000
# For text keys, zstd takes as long as Snappy and half the space. For metrics it takes a sixth longer for 6 % less.
COMPRESSION_OF_KEYS = "zstd"
COMPRESSION = "snappy"
# Statistics would take an eighth of the time, and no reader could skip a row group by them, because the groups of a
# bucket are a random sample. Dictionaries do not help keys, which do not repeat. Without dictionaries, metrics are
# written in half the time: a million groups with clicks take 0.080 instead of 0.135 s, and 21.7 instead of 15.0 MB.
# Differences between counts are mostly 0: this encoding takes three quarters of the time of dictionaries, and less
# space.
IN_DICTIONARIES = [MODEL]
COUNTS_AS = "DELTA_BINARY_PACKED"
# The number of values written at a time, as many as a page has. This is a tenth faster than the default of 1,024.
VALUES_AT_A_TIME = 20_000
_ARROW_SCHEMA = "ARROW:schema"  # where readers that return Arrow tables look up the original types
_ATTEMPT = re.compile(r"[0-9a-f]{12}(\.kept)?")
REMOVALS = 3  # attempts to remove a folder while a task may still create files in it


class BucketGroups(NamedTuple):
    """Rows of the group table for one bucket or several buckets. ``bucket`` is the number of the first of them."""

    bucket: int
    groups: pa.Table


@dataclass(frozen=True)
class GroupFiles:
    """The files of a group table, which :meth:`publish` makes visible in ``folder``.

    All tasks must reach the file system ``store``. ``attempt`` identifies the run, and ``unseen`` is its hidden folder.
    """

    store: fs.FileSystem
    folder: str
    attempt: str
    unseen: str

    @property
    def kept(self) -> str:
        """The hidden folder for files that are complete but not yet visible to readers."""
        return f"{self.unseen}.kept"

    @classmethod
    def at(cls, path: str, attempt: str | None = None) -> GroupFiles:
        """Return new group files for the folder ``path``, which may be in any file system and need not exist.

        Raise :class:`InputError` if the folder is not empty or belongs to another evaluation, running or killed.
        """
        refused = f"the group table cannot be written to {without_password(path)}"
        attempt = uuid.uuid4().hex[:12] if attempt is None else attempt
        try:
            store, folder = file_system(path)
            files = cls(store, folder, attempt, _unseen(store, folder, attempt))
            # Create the folder before listing, so that at most one of two simultaneous runs continues.
            store.create_dir(files.unseen, recursive=True)
            others = {files.unseen}
            try:
                others = files._others()
            finally:
                if others:
                    store.delete_dir(files.unseen)
        except (pa.ArrowException, OSError) as error:
            raise SparkrankError(f"{refused}: {shorten(first_line(error))}") from error
        if others:
            other = min(others)
            if _ATTEMPT.fullmatch(other.rpartition("/")[2].removeprefix(files._stem)):
                why = f"another evaluation is writing it, or was killed: wait for it, or remove {shorten(other)}"
            else:
                why = f"the folder is not empty ({shorten(other)})"
            raise InputError(f"{refused}: {why}")
        return files

    @property
    def _stem(self) -> str:
        """The name of the hidden folder without the attempt."""
        return self.unseen.rpartition("/")[2].removesuffix(self.attempt)

    def _others(self) -> set[str]:
        """Return the paths of the folder's contents, and of other runs' hidden folders inside it or beside it."""
        there = {info.path for info in self.store.get_file_info(fs.FileSelector(self.folder, allow_not_found=True))}
        above = self.unseen.rpartition("/")[0]
        if above != self.folder:
            beside = self.store.get_file_info(fs.FileSelector(above))
            there |= {info.path for info in beside if _is_of_another(info, self._stem)}
        return there - {self.unseen}

    def write(self, tables: Iterable[BucketGroups]) -> Iterator[str]:
        """Write ``tables`` to files, and yield the name of each file once the file is complete.

        All groups of a table are in one file. After :meth:`keep`, names are yielded but no files are written.
        """
        wanted = self._exists(self.unseen)
        groups = _gathered(tables, ROW_GROUP_ROWS)
        part = next(groups, None)
        while part is not None:
            bucket, rows = part.bucket, 0
            name = name_of(bucket, self.attempt)
            with (
                writing_errors(f"the group table in {self.folder}"),
                self._writer(f"{self.unseen}/{name}", part.groups) if wanted else nullcontext() as writer,
            ):
                while part is not None and rows < FILE_ROWS:
                    if writer is not None:
                        writer.write_table(part.groups.cast(writer.schema), row_group_size=part.groups.num_rows)
                    rows += part.groups.num_rows
                    part = next(groups, None)
            yield name

    def _writer(self, path: str, group: pa.Table) -> pq.ParquetWriter:
        """Open a Parquet writer for tables like ``group``. Readers see model names as plain strings."""
        keys = key_columns(group)
        read_as = _without_nulls(with_plain_models(group.slice(length=0)).schema)
        writer = pq.ParquetWriter(
            path,
            _without_nulls(group.schema),
            filesystem=self.store,
            compression={name: COMPRESSION_OF_KEYS if name in keys else COMPRESSION for name in group.column_names},
            write_statistics=False,
            use_dictionary=IN_DICTIONARIES,
            column_encoding=dict.fromkeys(GROUP_COUNTS, COUNTS_AS),
            write_batch_size=VALUES_AT_A_TIME,
            store_schema=False,
            write_page_checksum=True,
        )
        writer.add_key_value_metadata({_ARROW_SCHEMA: base64.b64encode(read_as.serialize()), ATTEMPT_ID: self.attempt})
        return writer

    def _exists(self, path: str) -> bool:
        return bool(self.store.get_file_info(path).type != fs.FileType.NotFound)

    def keep(self, names: Collection[str]) -> None:
        """Keep the tasks' files listed in ``names``, and remove all others. After this, tasks cannot write files."""
        with writing_errors(f"the group table in {self.folder}"):
            self._take_over()
            missing = set(names)
            for info in self.store.get_file_info(fs.FileSelector(self.kept)):
                if info.base_name not in missing:
                    self.store.delete_file(info.path)
                missing.discard(info.base_name)
        if missing:
            raise SparkrankError(
                f"{len(missing)} of {len(names)} files of the group table are not in {shorten(self.folder)}: name a "
                f"place that every executor reaches, as a folder that is mounted on all of them"
            )

    def _take_over(self) -> None:
        """Move the tasks' files to the folder :attr:`kept`, in one step if possible, otherwise one by one."""
        if _renames_folders(self.store):
            self.store.move(self.unseen, self.kept)
            return
        self.store.create_dir(self.kept)
        for _ in range(REMOVALS):
            for info in self.store.get_file_info(fs.FileSelector(self.unseen, allow_not_found=True)):
                self.store.move(info.path, f"{self.kept}/{info.base_name}")
            with suppress(OSError):  # a task has just created a file in it
                self.store.delete_dir(self.unseen)
            if not self._exists(self.unseen):
                break

    def publish(self) -> None:
        """Make the files visible in one step, or one by one if ``folder`` is a mount or contains other files."""
        with writing_errors(f"the group table in {self.folder}"):
            if not self.kept.startswith(f"{self.folder}/") and self._renamed():
                return
            self.store.create_dir(self.folder)
            for info in self.store.get_file_info(fs.FileSelector(self.kept)):
                self.store.move(info.path, f"{self.folder}/{info.base_name}")
            self.store.delete_dir(self.kept)

    def _renamed(self) -> bool:
        """Rename :attr:`kept` to the target folder, with the target's permissions, and return whether that worked."""
        try:
            if Path(self.folder).is_dir():
                shutil.copymode(self.folder, self.kept)
            os.rename(self.kept, self.folder)  # noqa: PTH104 - Arrow's function refuses to replace an empty folder
        except OSError:
            return False
        return True

    def discard(self) -> None:
        """Remove all files of this run that have not been made visible."""
        for folder in (self.unseen, self.kept):
            for _ in range(REMOVALS):
                if not self._exists(folder):
                    break
                with suppress(OSError):  # a task has just created a file in it
                    self.store.delete_dir(folder)


def _unseen(store: fs.FileSystem, folder: str, attempt: str) -> str:
    """Return an attempt's hidden folder: beside ``folder`` if renaming works there, otherwise inside it."""
    above, _, name = folder.rstrip("/").rpartition("/")
    if _renames_folders(store) and not Path(folder).is_mount() and not Path(folder).is_symlink():
        there = next(parent for parent in (Path(above or "/"), *Path(above or "/").parents) if parent.exists())
        if os.access(there, os.W_OK | os.X_OK):
            return f"{above}/.{name}.{attempt}"
    return f"{folder}/_{attempt}"


def _renames_folders(store: fs.FileSystem) -> bool:
    return isinstance(store, fs.LocalFileSystem)


def _is_of_another(info: fs.FileInfo, stem: str) -> bool:
    """Return whether ``info`` is a hidden folder that another run has created for the same target folder."""
    return info.type == fs.FileType.Directory and bool(_ATTEMPT.fullmatch(info.base_name.removeprefix(stem)))


def _without_nulls(schema: pa.Schema) -> pa.Schema:
    """Return ``schema`` with non-nullable fields, which are written faster. Undefined metrics are NaN, never null."""
    return pa.schema([field.with_nullable(False) for field in schema], schema.metadata)


def key_columns(table: pa.Table) -> list[str]:
    """Return the names of the key columns, which lie between the model column and the counts."""
    names: list[str] = table.column_names
    return names[names.index(MODEL) + 1 : names.index(GROUP_COUNTS[0])]


def name_of(bucket: int, attempt: str) -> str:
    """Return a new unique file name for the run ``attempt`` and for groups whose first bucket is ``bucket``."""
    return f"part-{bucket:05d}-{uuid.uuid4().hex[:12]}-{attempt}.parquet"


def _gathered(parts: Iterable[BucketGroups], rows: int) -> Iterator[BucketGroups]:
    """Join consecutive ``parts`` until each joined part has at least ``rows`` rows. Empty parts are left out."""
    gathered: list[BucketGroups] = []
    for part in parts:
        if part.groups.num_rows:
            gathered.append(part)
        if sum(held.groups.num_rows for held in gathered) >= rows:
            yield _joined(gathered)
            gathered = []
    if gathered:
        yield _joined(gathered)


def _joined(parts: Sequence[BucketGroups]) -> BucketGroups:
    return BucketGroups(parts[0].bucket, pa.concat_tables([part.groups for part in parts]))
