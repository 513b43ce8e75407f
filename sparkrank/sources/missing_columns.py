"""Detection of files that lack a column that other files have.

Such a file is an error: values that were lost cannot be told from values that never existed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow.dataset as ds

from sparkrank.base.errors import InputError, shorten
from sparkrank.inputs.roles import Roles
from sparkrank.sources.stored_files import named_in

READING_THREADS = 16  # reading waits for the store, not for a core
_LOST = "rows that lost a value cannot be told from rows that never had one"


def lacking_columns(columns: Iterable[Sequence[str]], files: Iterable[str]) -> dict[str, str]:
    """Return the first file that lacks a column, by column, for the columns that only some files have."""
    kinds: dict[frozenset[str], str] = {}
    for names, file in zip(map(frozenset, columns), files, strict=True):
        kinds[names] = kinds.get(names) or file
    every = frozenset[str]().union(*kinds)
    lacking: dict[str, str] = {}
    for names, file in kinds.items():
        lacking |= {name: lacking.get(name) or file for name in every - names}
    return lacking


def validate_columns(
    lacking: Mapping[str, str], names: Sequence[str], roles: Roles, what: str, where: str | None, remedy: str = ""
) -> None:
    """Raise :class:`InputError` if ``roles`` or ``where`` use a column missing in a file with rows (by ``lacking``)."""
    uses = [(f"the {role} column", column, outer_column(column, names)) for role, column in roles.columns()]
    uses += [(f"the {what}.where column", name, name) for name in named_in(lacking, (), where)]
    for title, column, outer in uses:
        if file := lacking.get(outer):
            raise lacking_column(file, title, column, what, remedy)


def lacking_column(file: str, title: str, column: str, what: str, remedy: str = "") -> InputError:
    return InputError(
        f'{shorten(file)} of the {what} lacks {title} "{shorten(column)}", which other files have: {_LOST}{remedy}'
    )


def outer_column(column: str, names: Sequence[str]) -> str:
    """Return the one of ``names`` that contains ``column``: the same name, or else the longest prefix."""
    within = [name for name in names if column.startswith((f"{name}.", f"{name}["))]
    return column if column in names else max(within, key=len, default=column)


def validate_fragments(dataset: ds.Dataset, roles: Roles) -> None:
    """Raise :class:`InputError` if a file of a ``dataset`` lacks a role's column and other files do not."""
    fragments = list(_fragments(dataset))
    with ThreadPoolExecutor(READING_THREADS) as pool:
        columns = list(pool.map(lambda fragment: fragment.physical_schema.names, fragments))
    lacking = lacking_columns(columns, [fragment.path for fragment in fragments])
    names = list(dict.fromkeys(name for of_file in columns for name in of_file))
    if any(outer_column(column, names) in lacking for _, column in roles.columns()):
        with_rows = [fragment.path if fragment.count_rows() else "" for fragment in fragments]
        what = "input" if roles.scores else "truth"
        validate_columns(lacking_columns(columns, with_rows), names, roles, what, None)


def _fragments(dataset: ds.Dataset) -> Iterator[ds.FileFragment]:
    """Yield a fragment for each file of ``dataset``, without any filter that the dataset has."""
    for part in dataset.children if isinstance(dataset, ds.UnionDataset) else [dataset]:
        if isinstance(part, ds.UnionDataset):
            yield from _fragments(part)
        elif isinstance(part, ds.FileSystemDataset):
            yield from (part.format.make_fragment(file, part.filesystem) for file in part.files)
