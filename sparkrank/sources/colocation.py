"""Files of whole groups, which tasks evaluate as they read them, without a shuffle of rows."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from sparkrank.base.errors import SpecError, itemize
from sparkrank.sources.protocol import FileSplit

# The words of ``grouped``. A word that ends in "unchecked" leaves out the check by the hashes of group keys.
GroupedWord: TypeAlias = Literal[
    "auto", "files", "folders", "sorted", "files unchecked", "folders unchecked", "sorted unchecked", "shuffle"
]
BY_ITSELF: tuple[GroupedWord, ...] = ("auto", "shuffle")  # words that say nothing about the files
_UNCHECKED = " unchecked"
# The number of a file in the names that Spark and Hive write. The number of a bucket precedes that of a task.
_BUCKET = re.compile(r"_(\d{5})(?=\.|$)")  # part-00003-<uuid>_00007.c000.snappy.parquet
_TASK = re.compile(r"part-(\d+)(?!\d)|(\d{6})_\d+")  # part-00007-<uuid>-c000.snappy.parquet, 000007_0


# The conditions under which ``auto`` evaluates partitions: on average enough rows to make the fixed cost of an
# evaluation small, and none with more than half of a core's share of the rows, so that no core waits long for another.
LEAST_PARTITION_ROWS = 1 << 17
MOST_OF_A_CORE = 1 / 2


class FileSet(NamedTuple):
    """The files that one task reads together, each with the number of its input, and the number of all their rows."""

    files: tuple[tuple[int, FileSplit], ...]
    rows: int


@dataclass(frozen=True)
class Colocation:
    """The way in which rows of a group are together: in one of the ``files`` or ``folders``, or ``sorted`` in a file.

    Files of several inputs are read together if they have the same number, or the same partition values, from folders
    or from the metadata of a table. ``values`` names the partition values chosen by ``auto``; if ``values`` is None,
    all partition values common to every input count.
    """

    by: Literal["files", "folders", "sorted"]
    is_checked: bool = True
    values: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, word: GroupedWord) -> Colocation | None:
        """Return the colocation named by ``word``, or None if ``word`` promises nothing about the files."""
        if word in BY_ITSELF:
            return None
        return cls(word.removesuffix(_UNCHECKED), not word.endswith(_UNCHECKED))  # type: ignore[arg-type]

    @property
    def reason(self) -> str:
        """The clause of ``lane_reason`` with the reason why no rows are shuffled."""
        return f"grouped is {self.by}" + (", which is not checked" if not self.is_checked else "")

    @property
    def refusal(self) -> str:
        """The clause, in a message on a group's rows, that other rows of the group are elsewhere."""
        if self.values is not None:
            return f"the partitions by {itemize(self.values)} do not hold whole groups; write grouped: shuffle"
        return f"grouped: {self.by} does not hold; leave it out"

    def file_sets(self, sides: Sequence[Sequence[FileSplit]]) -> list[FileSet]:
        """Return the files of all inputs (``sides``) in sets, one set for each task, the largest set first.

        Raise :class:`SpecError` if groups should be in folders, but the files of an input are not in folders.
        """
        values = self._values(sides)
        if self.by == "folders" and not values:
            raise SpecError("grouped is folders, but no folder name (key=value) gives a column that all inputs have")
        sets: defaultdict[tuple[object, ...], list[tuple[int, FileSplit]]] = defaultdict(list)
        for side, files in enumerate(sides):
            for file in files:
                sets[self._place(file, values, len(sides))].append((side, file))
        whole = (FileSet(tuple(files), sum(file.rows for _, file in files)) for files in sets.values())
        return sorted(whole, key=lambda files: -files.rows)

    def _values(self, sides: Sequence[Sequence[FileSplit]]) -> tuple[str, ...]:
        if self.values is not None:
            return self.values
        return shared_names([file.partition for files in sides for file in files])

    def _place(self, file: FileSplit, values: Sequence[str], sides: int) -> tuple[object, ...]:
        """Return a value that is equal for the files of a set."""
        partition = tuple(file.partition[name] for name in values)
        if self.by == "folders":
            return partition
        bucket = bucket_number(file.path)
        if sides == 1 and (bucket is None or self.by == "sorted"):
            return (file.path,)
        # The folders of a partitioned table have files of any task, so there a number is that of a bucket. A bucket has
        # a file of each task that wrote rows of it.
        number = bucket if values or sides == 1 else file_number(file.path)
        return (*partition, number) if values or number is not None else (file.path,)


def shared_names(every: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    return tuple(name for name in (every[0] if every else ()) if all(name in some for some in every))


def file_number(path: str) -> int | None:
    """Return the number in a file name by Spark or Hive, or None for another name.

    Examples
    --------
    >>> file_number("lists/part-00003-5a1f_00007.c000.snappy.parquet"), file_number("lists/000012_0")
    (7, 12)
    """
    number = bucket_number(path)
    if number is None and (mark := _TASK.match(posixpath.basename(path))) is not None:
        return int(mark[1] or mark[2])
    return number


def bucket_number(path: str) -> int | None:
    """Return the number of a bucket of Spark or Hive in the name of a file, or None without such a number."""
    mark = _BUCKET.search(posixpath.basename(path))
    return None if mark is None else int(mark[1])


def why_not_by_partitions(rows: Sequence[int], cores: int | None) -> str | None:
    """Return the reason why ``auto`` shuffles partitions of ``rows`` rows each, or None if it does not shuffle."""
    if cores is None:
        return "the session does not say how many cores it has"
    total, largest = sum(rows), max(rows, default=0)
    if total < LEAST_PARTITION_ROWS * len(rows):
        return f"they have few rows: {total:,} in {len(rows):,}"
    if largest > MOST_OF_A_CORE * total / cores:
        return f"one has {largest:,} of {total:,} rows, and would leave some of {cores} cores idle"
    return None
