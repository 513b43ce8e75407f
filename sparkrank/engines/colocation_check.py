"""The check that the rows of each group are together in one set of files.

The check compares 64-bit hashes of keys, then the keys themselves, because different keys may share a hash. Only the
key columns of the files concerned are read again.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from sparkrank.base.errors import InputError, shorten
from sparkrank.bucket.impressions import one_array
from sparkrank.engines.file_evaluation import FILE_BATCH_ROWS
from sparkrank.metrics import Plan
from sparkrank.numeric.key_hashes import hash_keys
from sparkrank.sources.colocation import Colocation, FileSet
from sparkrank.sources.files import without_password
from sparkrank.sources.selection import Sides
from sparkrank.states.repeated_keys import RepeatedKeys

GroupKey: TypeAlias = tuple[Any, ...]


def validate_colocation(
    hashes: RepeatedKeys, sets: Sequence[FileSet], sides: Sides, plan: Plan, colocation: Colocation
) -> None:
    """Raise :class:`InputError` if a group has rows in several of ``sets`` (of files).

    In a sorted file, the rows of a group must also be adjacent. ``hashes`` contains the key hashes that occur twice.
    """
    if not hashes.count:
        return
    read = sides.key_reader(plan, FILE_BATCH_ROWS)
    for hash_, numbers in hashes.examples:
        paths = _paths_by_key(hash_, {number: sets[number] for number in numbers}, read)
        if len(numbers) > len(paths):  # otherwise several keys share this hash, and each of them stands in one place
            raise InputError(f"{_where(paths, plan, len(sides.pairs))}: {colocation.refusal}")
    if hashes.count > len(hashes.examples):
        raise InputError(
            f"{hashes.count:,} hashes of group keys occur in several places, more than are compared by their keys: "
            f"grouped: {colocation.by} cannot be checked; leave it out"
        )


def _paths_by_key(
    hash_: int, sets: dict[int, FileSet], read: Callable[[int, str], Iterator[pa.Table]]
) -> dict[GroupKey, dict[int, str]]:
    """Return the keys in ``sets`` that have the hash ``hash_``. Each comes with the first file that has it, by set."""
    paths: defaultdict[GroupKey, dict[int, str]] = defaultdict(dict)
    for number, files in sets.items():
        for side, file in files.files:
            for rows in read(side, file.path):
                hashes = hash_keys([one_array(column) for column in rows.columns])
                chosen = rows.filter(pa.array(hashes == hash_)).group_by(rows.column_names).aggregate([])
                for key in zip(*(column.to_pylist() for column in chosen.columns), strict=True):
                    if None not in key:  # rows without a key belong to no group
                        paths[key].setdefault(number, file.path)
    return dict(paths)


def _where(paths: dict[GroupKey, dict[int, str]], plan: Plan, sides: int) -> str:
    """Return a clause that says which files hold rows of a group.

    The key is hidden unless the plan has the group table.
    """
    key, places = max(paths.items(), key=lambda item: len(item[1]))
    named = "a group"
    if plan.group_table:
        named = ", ".join(f"{shorten(name)} {shorten(value)}" for name, value in zip(plan.keys, key, strict=True))
    files = _shown(list(places.values()), sides)
    if len(files) == 1:
        return f"{named} stands in two places of {files[0]}"
    return f"{named} is in {files[0]} and {files[1]}"


def _shown(paths: Sequence[str], sides: int) -> list[str]:
    """Return ``paths`` as messages show them: names of files, or whole paths if files may have the same name."""
    names = [posixpath.basename(path) for path in paths]
    return list(map(without_password, names if sides == 1 and len(set(names)) == len(names) else paths))
