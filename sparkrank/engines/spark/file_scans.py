"""DataFrames that only scan local Parquet files, so that Arrow may read the files instead.

No public method shows what a DataFrame does with the files of ``DataFrame.inputFiles``, so this module reads the plan
through Spark's private interface. A plan with any unknown step is left to Spark, which reads the same rows more slowly.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import from_arrow_type

from sparkrank.base.errors import FrameLaneNeededError
from sparkrank.engines.spark.files import path_of
from sparkrank.engines.spark.session_features import is_connect, setting
from sparkrank.sources.files import escaped
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.selection import Selection
from sparkrank.sources.side_rows import SideRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkrank.inputs.roles import Roles
    from sparkrank.metrics import Plan
    from sparkrank.sources.protocol import Source

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
    """A scan of all Parquet files at the local path ``root``. When Spark listed the files, they had ``size`` bytes."""

    root: str
    size: int

    @classmethod
    def of(cls, frame: DataFrame) -> FileScan | None:
        """Return the scan, perhaps of only some columns, of which ``frame`` consists.

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
            return None if is_encrypted else cls._of_plan(planned.analyzed())
        except Exception:  # noqa: BLE001 - the private interface differs by version and platform
            return None

    @classmethod
    def _of_plan(cls, plan: Any) -> FileScan | None:
        while (kind := _name(plan)) in (f"{_LOGICAL}Project", f"{_LOGICAL}SubqueryAlias"):
            child = plan.child()
            if not plan.outputSet().subsetOf(child.outputSet()):  # a computed value, or a new name
                return None
            plan = child
        if kind != f"{_FILES}LogicalRelation" or plan.isStreaming() or plan.catalogTable().isDefined():
            return None
        relation = plan.relation()
        if (
            _name(relation) != f"{_FILES}HadoopFsRelation"
            or _name(relation.fileFormat()) != f"{_FILES}parquet.ParquetFileFormat"
            or _name(relation.location()) != f"{_FILES}InMemoryFileIndex"
            or relation.options().keySet().mkString(",") not in ("", "path")
        ):
            return None
        roots = relation.location().rootPaths()
        root = roots.head().toUri()
        if roots.size() > 1 or root.getScheme() != "file":  # a path that is given twice is read twice
            return None
        return cls(root.getPath(), relation.location().sizeInBytes())

    def open(self, side: SideRows, roles: Roles, plan: Plan, opened: dict[str, Source]) -> Selection:
        """Open the files of the DataFrame of ``side``, an input. Raise :class:`FrameLaneNeededError` if only Spark can.

        Spark lists files when a DataFrame is made, and infers types by its own rules. So Arrow must find the same
        files, sizes and types of columns.
        """
        of_files = SideRows(side.what, path=escaped(self.root), paths=(escaped(self.root),))
        selection = Selection.open(of_files, roles, plan, opened)
        source = selection.source
        assert isinstance(source, ParquetInput)  # noqa: S101 - the default format
        listing = source.stored.listing
        if sorted(map(path_of, side.given.inputFiles())) != list(listing.files):  # a cached DataFrame has no files
            raise FrameLaneNeededError(f"the {side.what} is cached, or has other files than its folder")
        if sum(size for size, _ in listing.stamps.values()) != self.size:
            raise FrameLaneNeededError(f"files of the {side.what} changed after the DataFrame was made")
        _validate_columns(selection, side.given, roles)
        return selection


def _validate_columns(selection: Selection, frame: DataFrame, roles: Roles) -> None:
    """Raise :class:`FrameLaneNeededError` for a column that Spark may read in another way than Arrow."""
    stored, shown = selection.source.schema, frame.schema
    if len({name.lower() for name in stored.names}) < len(stored.names):
        raise FrameLaneNeededError(f"the {selection.what} has columns whose names differ only by case")
    for _, column in roles.columns():
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
