"""Files that lack a column which others have, of any format whose files have columns of their own.

Such a file has null where others have a value: a row of it would count as not retrieved, as not relevant, or fall to a
condition, and nobody would hear of it. So it is refused, in every lane that reads its format.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs
from pyarrow import json as pa_json

from sparkrank.base.errors import InputError, shortened
from sparkrank.inputs.roles import Roles
from sparkrank.sources.stored_files import StoredFiles, named_in

READING_THREADS = 16  # what is read waits for the store, not for a core
_FIRST, _NEXT = 64 << 10, 8 << 20  # bytes of JSON that are looked at: most records have all keys
_OVERLAP = 4096  # of a key that two blocks share
# Writers of JSON leave out what is null: Spark does unless it is told otherwise.
WRITE_NULL = ", so write null where there is none (Spark does with ignoreNullFields=false)"
_LOST = "rows that lost a value cannot be told from rows that never had one"


@dataclass(frozen=True)
class FileColumns:
    """The ``names`` of the columns that files have, all together; ``lacking`` as :func:`lacking_columns` gives it.

    ``remedy`` is what to do about it, as the end of a sentence.
    """

    names: tuple[str, ...]
    lacking: Mapping[str, str]
    has_rows: bool
    remedy: str = ""

    @classmethod
    def of(cls, columns: Sequence[Sequence[str]], files: Sequence[str], remedy: str = "") -> FileColumns:
        """Those of ``files``, each with its ``columns``; a file without rows has an empty name."""
        names = tuple(dict.fromkeys(name for names in columns for name in names))
        return cls(names, lacking_columns(columns, files), any(files), remedy)

    def validate_has_columns(self, roles: Roles, what: str, where: str | None) -> None:
        """Raise :class:`InputError` where a file of ``what`` lacks a column of ``roles``, or one in ``where``."""
        for role, column in roles.columns():
            if file := self.lacking.get(outer_column(column, self.names)):
                raise_lacking_column(file, f"the {role} column", column, what, self.remedy)
        validate_condition_columns(self.lacking, where, what, self.remedy)

    def validate_present(self, asked: Iterable[str], what: str) -> None:
        """Raise :class:`InputError` where no record has one of the columns ``asked``, which a schema names."""
        for column in asked:
            if column not in self.names and self.has_rows:
                raise InputError(
                    f'no record of the {what} has the column "{shortened(column)}", which {what}.schema names: where '
                    "there is no value, a record has null there"
                )


def lacking_columns(columns: Iterable[Sequence[str]], files: Iterable[str]) -> dict[str, str]:
    """Of each of the ``columns`` of files that one of them lacks, that file: the first that has a name in ``files``."""
    kinds: dict[frozenset[str], str] = {}
    for names, file in zip(map(frozenset, columns), files, strict=True):
        kinds[names] = kinds.get(names) or file
    every = frozenset[str]().union(*kinds)
    lacking: dict[str, str] = {}
    for names, file in kinds.items():
        lacking |= {name: lacking.get(name) or file for name in every - names}
    return lacking


def validate_condition_columns(lacking: Mapping[str, str], where: str | None, what: str, remedy: str = "") -> None:
    """Raise :class:`InputError` where a column that ``where`` asks for is among those ``lacking`` in a file with rows:
    the condition would hold for none of its rows, or for all of them.
    """
    for name in named_in(lacking, (), where):
        if file := lacking[name]:
            raise_lacking_column(file, f"the {what}.where column", name, what, remedy)


def raise_lacking_column(file: str, title: str, column: str, what: str, remedy: str = "") -> None:
    """Raise the :class:`InputError` that says which column a ``file`` of ``what`` lacks."""
    raise InputError(
        f'{shortened(file)} of the {what} lacks {title} "{shortened(column)}", which other files have: {_LOST}{remedy}'
    )


def outer_column(column: str, names: Sequence[str]) -> str:
    """The column that holds what a role names: the longest of ``names`` that it begins with, if it is none itself."""
    within = [name for name in names if column.startswith((f"{name}.", f"{name}["))]
    return column if column in names or not within else max(within, key=len)


def validate_fragments(dataset: ds.Dataset, roles: Roles) -> None:
    """Raise :class:`InputError` where a file of a ``dataset`` of Arrow's lacks a column of ``roles`` that others have.

    What no file has comes of folders.
    """
    fragments = list(_fragments(dataset))
    with ThreadPoolExecutor(READING_THREADS) as pool:
        columns = list(pool.map(lambda each: each.physical_schema.names, fragments))
    found = FileColumns.of(columns, [each.path for each in fragments])
    if not any(map(found.lacking.get, columns_asked(found.names, roles, None))):
        return
    with_rows = [each.path if each.count_rows() else "" for each in fragments]
    FileColumns.of(columns, with_rows).validate_has_columns(roles, "input" if roles.scores else "truth", None)


def _fragments(dataset: ds.Dataset) -> Iterator[ds.FileFragment]:
    """The files of ``dataset``, which a filter may hide."""
    for each in dataset.children if isinstance(dataset, ds.UnionDataset) else [dataset]:
        if isinstance(each, ds.UnionDataset):
            yield from _fragments(each)
        elif isinstance(each, ds.FileSystemDataset):
            yield from (each.format.make_fragment(file, each.filesystem) for file in each.files)


def orc_columns(stored: StoredFiles) -> FileColumns:
    """The columns of files of ORC, by their footers; raises what Arrow raises of files that it cannot read."""
    from pyarrow import orc  # of which not every build of Arrow has one

    store, files = stored.store, stored.listing.files

    def footer(file: str) -> tuple[list[str], str]:
        with (store or fs.LocalFileSystem()).open_input_file(file) as opened:
            found = orc.ORCFile(opened)
            return found.schema.names, file if found.nrows else ""

    with ThreadPoolExecutor(READING_THREADS) as pool:
        read = list(pool.map(footer, files))
    return FileColumns.of([names for names, _ in read], [file for _, file in read])


def columns_asked(names: Sequence[str], roles: Roles, where: str | None) -> list[str]:
    """Those of ``names`` that hold what has one of ``roles``, or that ``where`` names."""
    return list(named_in(names, [outer_column(column, names) for _, column in roles.columns()], where))


def json_columns(stored: StoredFiles, asked: AbstractSet[str], by_lines: bool) -> FileColumns:
    """The keys that records of JSON have, file by file, as far as they are among those ``asked``.

    A file is read until it has shown all of them. Without ``by_lines`` a record may have several lines, and a key is
    looked for wherever it stands.
    """
    store = stored.store

    def keys(file: str) -> tuple[list[str], str]:
        found, has_rows = set[str](), False
        for block in _blocks(store, file):
            if not block.strip():
                continue
            has_rows = True
            found |= _keys(block, asked - found, by_lines)
            if asked <= found:
                break
        return sorted(found), file if has_rows else ""

    with ThreadPoolExecutor(READING_THREADS) as pool:
        read = list(pool.map(keys, stored.listing.files))
    return FileColumns.of([names for names, _ in read], [file for _, file in read], WRITE_NULL)


def _blocks(store: fs.FileSystem, file: str) -> Iterator[bytes]:
    """The bytes of ``file`` in blocks that end with a line, if lines are no longer than these."""
    rest, size = b"", _FIRST
    with store.open_input_stream(file) as stream:
        while read := stream.read(size):
            block = rest + read
            end = block.rfind(b"\n") + 1 or len(block)
            yield block[:end]
            rest, size = block[end:] if end < len(block) else block[-_OVERLAP:] if block[-1:] != b"\n" else b"", _NEXT
    yield rest


def _keys(block: bytes, asked: AbstractSet[str], by_lines: bool) -> set[str]:
    """Those of the keys ``asked`` that a record of ``block`` has; one that nobody can tell counts as there."""
    if by_lines:
        options = pa_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        try:
            return set(pa_json.read_json(io.BytesIO(block), options).schema.names) & asked
        except pa.ArrowInvalid:  # half a record, or one that Spark alone reads
            pass
    if b"\\u" in block:
        return set(asked)
    return {
        name for name in asked if re.search(rb"[\"'\s{,]%b[\"']?\s*:" % re.escape(name.encode()), block) is not None
    }
