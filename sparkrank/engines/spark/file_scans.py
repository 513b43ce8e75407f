"""DataFrames and bucketed tables that only scan local Parquet files, so that Arrow may read the files instead.

No public method shows what a DataFrame does with the files of ``DataFrame.inputFiles``, so this module reads the plan
through Spark's private interface. A plan with any unknown step is left to Spark, which reads the same rows more slowly.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.base.errors import FrameLaneNeededError
from sparkrank.engines.spark.files import path_of
from sparkrank.engines.spark.session_features import is_connect, setting
from sparkrank.engines.spark.spark_tables import frame_of_table
from sparkrank.sources.colocation import bucket_number
from sparkrank.sources.files import Listing
from sparkrank.sources.folders import PartitionTypes, folder_values
from sparkrank.sources.integrity import stamps_of
from sparkrank.sources.parquet import ParquetInput, TablePartitions
from sparkrank.sources.selection import Selection
from sparkrank.sources.stored_files import StoredFiles, named_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source
    from sparkrank.sources.side_rows import SideRows

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
_FILES = "org.apache.spark.sql.execution.datasources."
# Settings under which Spark leaves rows out, finds columns by number, or filters rows for some users.
_OF_SPARK_ALONE = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.fieldId.read.enabled",
    "spark.sql.extensions",
)
_DECRYPTION = "parquet.crypto.factory.class"


@dataclass(frozen=True)
class FileScan:
    """A scan of all Parquet files of ``frame``: those in the local folder ``root``, or ``root`` itself if it is a file.

    The files had ``size`` bytes when Spark listed them. ``partitions`` are those that a catalog has, as Spark shows
    them, and ``partition_types`` are the types of their columns. Spark wrote the files of a bucketed table into
    ``buckets`` buckets by the hash of ``bucket_columns``.
    """

    frame: DataFrame
    root: str
    size: int
    partitions: tuple[str, ...] = ()
    partition_types: PartitionTypes = "inferred"
    buckets: int = 0
    bucket_columns: tuple[str, ...] = ()

    @classmethod
    def of_table(cls, side: SideRows, spark: SparkSession) -> FileScan | None:
        """Return the scan of the table of ``side``, without files of partitions where its condition is never true.

        The result is None if the table is not bucketed, or if reading it may be more than a scan.
        """
        try:
            scan = cls.of(frame_of_table(side, spark), side.where)
        except Exception:  # noqa: BLE001 - the lane frame reads it again, and says what is wrong
            return None
        return scan if scan is not None and scan.buckets else None  # a path may stand in place of a table

    @classmethod
    def of(cls, frame: DataFrame, where: str | None = None) -> FileScan | None:
        """Return the scan that ``frame`` does, perhaps of only some columns.

        The result is None if ``frame`` may do more than scan.
        """
        spark = frame.sparkSession
        if os.environ.get("SPARKRANK_PRIVATE_SPARK") == "0" or is_connect(spark):
            return None
        if any(setting(spark, name, "false") not in ("false", "") for name in _OF_SPARK_ALONE):
            return None
        try:
            planned = frame._jdf.queryExecution()  # noqa: SLF001 - the module's text says why
            is_encrypted = planned.sparkSession().sessionState().newHadoopConf().get(_DECRYPTION) is not None
            return None if is_encrypted else cls._of_plan(frame, planned.analyzed(), where)
        except Exception:  # noqa: BLE001 - the private interface differs by version and platform
            return None

    @classmethod
    def _of_plan(cls, frame: DataFrame, plan: Any, where: str | None) -> FileScan | None:
        while (kind := _name(plan)) in (f"{_LOGICAL}Project", f"{_LOGICAL}SubqueryAlias"):
            child = plan.child()
            if not plan.outputSet().subsetOf(child.outputSet()):  # a computed value, or a new name
                return None
            plan = child
        if (
            kind != f"{_FILES}LogicalRelation"
            or plan.isStreaming()
            or _name(relation := plan.relation()) != f"{_FILES}HadoopFsRelation"
            # Spark's plan calls no table of Hive bucketed, because Hive hashes in another way
            or (bucketed := relation.bucketSpec()).isDefined() != plan.catalogTable().isDefined()
            or _name(relation.fileFormat()) != f"{_FILES}parquet.ParquetFileFormat"
            or relation.options().keySet().mkString(",") not in ("", "path")
        ):
            return None
        roots, index = relation.location().rootPaths(), relation.location()
        root = roots.head().toUri()
        if roots.size() > 1 or root.getScheme() != "file":  # a path that is given twice is read twice
            return None
        partitions: tuple[str, ...] = ()
        if _name(index) == f"{_FILES}CatalogFileIndex":
            frame, index = _listed(frame, plan, where)
            partitions = tuple(index.partitionSpec().partitions().mkString("\n").splitlines())
        if _name(index) != f"{_FILES}InMemoryFileIndex":
            return None
        scan = cls(frame, os.path.normpath(root.getPath()), index.sizeInBytes(), partitions)
        if bucketed.isEmpty():
            return scan
        kinds = {column.dataType().typeName() for column in relation.partitionSchema().fields()}
        columns = bucketed.get().bucketColumnNames()
        return replace(
            scan,
            partition_types="text" if kinds == {"string"} else "inferred",
            buckets=bucketed.get().numBuckets(),
            bucket_columns=tuple(columns.apply(place) for place in range(columns.size())),
        )

    def open(self, side: SideRows, roles: Roles, plan: Plan, opened: dict[str, Source]) -> Selection:
        """Open the files for ``side``, an input. Raise :class:`FrameLaneNeededError` if only Spark can.

        Spark lists files when a DataFrame is made, and infers types by its own rules. So Arrow must find the same
        sizes of these files, and the same types of columns.
        """
        source = opened[side.what] = ParquetInput.of(self._stored(side.what), self.partition_types)
        selection = Selection.checked(source, side, roles, plan)
        named = named_in(source.schema.names, (), side.where)
        _validate_columns(selection, self.frame, [*(column for _, column in roles.columns()), *named])
        return replace(selection, source=replace(source, in_table=self._in_buckets(source)))

    def _stored(self, what: str) -> StoredFiles:
        """Return the files that Spark would read."""
        files = tuple(sorted(map(path_of, self.frame.inputFiles())))
        if not files:
            raise FrameLaneNeededError(f"the {what} is cached, or has no files")
        store = fs.LocalFileSystem()
        stamps = stamps_of(store.get_file_info(list(files)), store)
        if sum(size for size, _ in stamps.values()) != self.size:
            raise FrameLaneNeededError(f"files of the {what} changed after Spark listed them")
        folders = {posixpath.dirname(file) for file in files}
        if self.partitions and sorted(self.partitions) != sorted(_as_shown(folder, self.root) for folder in folders):
            raise FrameLaneNeededError(f"the {what} has partitions that are not in folders of their values")
        base = None if files == (self.root,) else self.root
        stored = StoredFiles(
            self.root, what, store, "file:", Listing(files, (self.root,) * len(files), base, stamps=stamps)
        )
        stored.validate_files()
        return stored

    def _in_buckets(self, source: ParquetInput) -> TablePartitions | None:
        if not self.buckets or not set(self.bucket_columns).issubset(source.schema.names):
            return None
        # Values of two types are one key for the join, and two for Spark's hash.
        columns = ", ".join(f"{name} {source.schema.field(name).type}" for name in self.bucket_columns)
        (folders,), name = source.partitionings, f"{self.buckets} buckets of {columns}"
        values = {}
        for file in source.fragments:
            number = bucket_number(file.path)
            values[file.path] = folder_values(file) | ({} if number is None else {name: str(number)})
        ways = [{**folders, name: self.bucket_columns}, folders]
        return TablePartitions(ways if any(name not in own for own in values.values()) else ways[:1], values)


def _listed(frame: DataFrame, relation: Any, where: str | None) -> tuple[DataFrame, Any]:
    """Return the rows of the partitions of a table that ``where`` leaves, and Spark's list of the files."""
    if where is not None:
        frame = frame.where(f"({where}\n)")
        relation = frame._jdf.queryExecution().optimizedPlan()  # noqa: SLF001
        while _name(relation) != f"{_FILES}LogicalRelation":
            relation = relation.child()
    index = relation.relation().location()
    if _name(index) == f"{_FILES}CatalogFileIndex":  # no condition on partitions
        index = index.filterPartitions(relation.children())  # a relation has no children, so this is an empty list
    return frame, index


def _as_shown(folder: str, root: str) -> str:
    """Return the partition in ``folder`` as Spark shows it, if the names of folders below ``root`` are its values."""
    values = ",".join(unquote(part.partition("=")[2]) for part in folder[len(root) + 1 :].split("/"))
    return f"PartitionPath([{values}],file:{folder})"


def _validate_columns(selection: Selection, frame: DataFrame, columns: Sequence[str]) -> None:
    """Raise :class:`FrameLaneNeededError` for one of ``columns`` that Spark may read in another way than Arrow."""
    stored, shown = selection.source.schema, frame.schema
    if len({name.lower() for name in stored.names}) < len(stored.names):
        raise FrameLaneNeededError(f"the {selection.what} has columns whose names differ only by case")
    for column in columns:
        name = selection.inner_places[column].column if column in selection.inner_places else column
        kind: pa.DataType = stored.field(name).type
        try:
            is_equal = name in shown.names and from_arrow_type(kind) == shown[name].dataType
        except PySparkTypeError:
            is_equal = False
        if not is_equal or pa.types.is_date(kind):  # Spark converts dates from old calendars
            raise FrameLaneNeededError(f"the {selection.what} has {name} in a type that Spark may read otherwise")


def _name(of: Any) -> str:
    return str(of.getClass().getName())
