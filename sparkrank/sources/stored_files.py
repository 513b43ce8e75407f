"""The list of the files of an input.

Every lane checks this list before it reads any row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import InputError, NoInputError, itemize, unreadable
from sparkrank.sources.files import Listing, file_system, store_of, without_password
from sparkrank.sources.folders import PartitionTypes, folder_columns, validate_even_folders
from sparkrank.sources.lakes import HUDI, LakeTable
from sparkrank.sources.reader_options import spark_package

# String literals of SQL. Under a setting of Spark that few sessions have, double quotes enclose names instead.
_TEXTS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)


@dataclass(frozen=True)
class StoredFiles:
    """The files of an input at ``path`` in a ``store``. Spark needs ``prefix`` (None: unknown) before their paths."""

    path: str
    what: str
    store: fs.FileSystem | None
    prefix: str | None
    listing: Listing

    @classmethod
    def at(cls, path: str, what: str = "input", kind: str = "parquet") -> StoredFiles:
        """Return the files of the input ``what`` at ``path``: a file, a folder, or a pattern with wildcards.

        Raise :class:`InputError` if there are no files, or if files are incomplete, belong to a lake table or do not
        fit together, and :class:`StoreError` if the store fails.
        """
        place = without_password(path)
        try:
            stored = cls.found(path, what)
        except (FileNotFoundError, NotADirectoryError):
            raise NoInputError(f"there is no {kind} {what} at {place}") from None
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"the {what} {place} cannot be read as {kind}", error) from error
        if not stored.listing.files:
            stored.listing.validate_complete()
            raise NoInputError(f"there is no {kind} {what} at {place}")
        stored.validate_files()
        return stored

    @classmethod
    def found(cls, path: str, what: str = "input") -> StoredFiles:
        """Return the files of the input ``what`` at ``path``. Raise :class:`InputError` for a lake table."""
        store, inside = file_system(path)
        stored = cls(path, what, store, store_of(path, inside), Listing.at(store, inside))
        for table in stored.listing.tables:
            stored.raise_lake_table(table)
        return stored

    @property
    def _subject(self) -> str:
        return f"the {self.what} {without_password(self.path)}"

    def validate_files(self) -> None:
        """Raise :class:`InputError` if a file is incomplete or missing, or if folders give different columns."""
        self.listing.validate_complete()
        files: dict[str, list[str]] = {}
        for file, root in zip(self.listing.files, self.listing.roots, strict=True):
            if file != root:
                files.setdefault(root, []).append(file)
        for root, below in files.items():
            validate_even_folders(self._subject, below, root)

    def raise_lake_table(self, table: LakeTable) -> None:
        """Raise an :class:`InputError`, because the files belong to the lake ``table``."""
        folder = without_password(f"{(self.prefix or '').removeprefix('file:')}{table.folder}")
        package = f" (Spark needs {spark_package(HUDI)} for it)" if table.format == HUDI else ""
        raise InputError(
            f"{self._subject} is in a table of {table.format.capitalize()} ({folder} has {table.mark}), whose files "
            f"hold removed rows too: write format: {table.format} with the path of the table{package}, or give "
            f'sr.evaluate spark.read.format("{table.format}").load(path)'
        )

    def folder_columns(self, partition_types: PartitionTypes) -> pa.Schema:
        """Return the columns from folder names. A single file or a pattern has no such columns."""
        base = self.listing.base
        return pa.schema([]) if base is None else folder_columns(self.what, self.listing.files, base, partition_types)

    def fragments(self, kind: str | ds.FileFormat, folders: pa.Schema) -> tuple[ds.FileFragment, ...]:
        """Return the files as fragments in the format ``kind``, each with its values for the columns in ``folders``."""
        base = self.listing.base
        dataset = ds.dataset(
            list(self.listing.files),
            folders,
            kind,
            filesystem=self.store,
            partition_base_dir=base,
            partitioning=None if base is None else ds.partitioning(folders, flavor="hive"),
        )
        return tuple(dataset.get_fragments())


def validate_present(paths: Sequence[str], kind: str, what: str) -> None:
    """Raise an :class:`InputError` that names each of several ``paths`` without files. A single path is not checked."""
    missing = []
    for path in paths if len(paths) > 1 else ():
        try:
            there = StoredFiles.found(path, what).listing.files
        except (FileNotFoundError, NotADirectoryError):
            there = ()
        except (pa.ArrowException, OSError):  # the reader of this path will raise it
            return
        if not there:
            missing.append(without_password(path))
    if missing:
        raise NoInputError(f"there is no {kind} {what} at {itemize(missing)}")


def has_files(paths: Sequence[str]) -> bool:
    """Return whether there is a file, or a lake table, at any of ``paths``."""
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            listing = Listing.at(*file_system(path))
            if listing.files or listing.tables:
                return True
    return False


def named_in(names: Iterable[str], columns: Iterable[str], where: str | None) -> Iterator[str]:
    """Yield the ``names`` that occur in ``columns``, or in the SQL condition ``where`` outside of string literals."""
    where = None if where is None else _TEXTS.sub("''", where)
    used = {column.lower() for column in columns}
    for name in names:
        if name.lower() in used or (where and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", where, re.IGNORECASE)):
            yield name
