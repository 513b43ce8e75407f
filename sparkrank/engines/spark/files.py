"""The reading of files for the frame lane. Spark reads exactly the files that the other lanes list.

Spark gets the names of folders, because it would look up each of thousands of files in a task. If a folder contains
other files too, Spark gets the names of all files.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from sparkrank.base.errors import MOST_SENTENCE, InputError, SpecError, StoreError, shorten
from sparkrank.engines.spark.failures import reading_errors
from sparkrank.engines.spark.session_features import setting
from sparkrank.inputs.field_paths import columns_of
from sparkrank.sources.files import Listing, alternatives, escaped, without_password
from sparkrank.sources.folders import PartitionTypes
from sparkrank.sources.integrity import SPARK_CHECKED
from sparkrank.sources.joined_types import validate_column
from sparkrank.sources.lakes import tables_among, ways_of
from sparkrank.sources.parquet import ParquetInput
from sparkrank.sources.reader_options import strict_options
from sparkrank.sources.stored_files import StoredFiles, named_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from sparkrank.inputs.roles import Roles

FILE_FORMATS = ("parquet", "orc", "csv", "json", "text", "avro")  # tables in these formats are plain folders of files
# The short names of sources in Spark and in connectors. Any other source is named by its class, which has a dot.
OTHER_FORMATS = (
    *("delta", "iceberg", "hudi", "paimon", "deltasharing", "xml", "binaryfile", "tfrecord"),
    *("jdbc", "bigquery", "snowflake", "redshift", "clickhouse", "mongodb", "kudu", "es"),
)
# Options with which the caller changes how Spark looks for files.
_OF_LISTING = {"basepath", "recursivefilelookup", "pathglobfilter", "modifiedbefore", "modifiedafter"}
_LAKE_MARKS = "{_delta_log,.hoodie,metadata/*.metadata.json,metadata/*.metadata.json.gz}"
_SCHEME = re.compile(r"^[A-Za-z][\w+.-]*:(//[^/]*)?")  # and the host
_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def infers(partition_types: PartitionTypes, spark: SparkSession | None) -> bool:
    """Return whether the types of values in folder names are inferred. A setting of ``spark`` may prevent this."""
    if partition_types == "text":
        return False
    return spark is None or (setting(spark, _INFERENCE) or "true").lower() == "true"


def frame_of_files(
    spark: SparkSession,
    path: str,
    roles: Roles | None,
    what: str = "input",
    partition_types: PartitionTypes = "inferred",
    where: str | None = None,
    kind: str = "parquet",
    options: Mapping[str, str] | None = None,
    opened: ParquetInput | None = None,
    schema: str | None = None,
) -> DataFrame:
    """Read the files at ``path`` in a format of :data:`FILE_FORMATS`. Messages call the files ``what``.

    ``where`` is not applied, but the files must have its columns. ``opened`` contains files that are already listed.
    """
    given = {name.lower(): value for name, value in (options or {}).items()}
    reader = _reader(spark, kind, options or {}, schema)
    place = (without_password(path), f"{kind} {what}", what)
    stored = _listed(spark, path, what, place) if opened is None else opened.stored
    if stored is None or _OF_LISTING & set(given):
        with reading_errors(*place):
            frame = reader().load(path)
        if partition_types == "text":
            raise SpecError(f"{what}.partition_types is text, but only Spark finds the folders of {place[0]}")
        if stored is not None:
            read = {path_of(uri, stored.prefix or "") for uri in frame.inputFiles()}
            files = tuple(file for file in stored.listing.files if file in read)
            stored = replace(stored, listing=Listing(files, files))
            if files:
                _differ(stored, None, kind, roles, where)
        return frame
    stored.validate_files()
    folders = stored.folder_columns("inferred" if infers(partition_types, spark) else "text")
    if _differ(stored, opened, kind, roles, where) and "mergeschema" not in given:
        reader = _reader(spark, kind, {**(options or {}), "mergeSchema": "true"})
    with reading_errors(*place):
        return _loaded(reader, stored, folders.names if partition_types == "text" else ())


def _reader(
    spark: SparkSession, kind: str, options: Mapping[str, str], schema: str | None = None
) -> Callable[[], DataFrameReader]:
    def reader() -> DataFrameReader:
        of_kind = SPARK_CHECKED if kind == "parquet" else {}
        read = spark.read.format(kind).options(**{**strict_options(kind), **of_kind, **options})
        return read if schema is None else read.schema(schema)

    return reader


def _differ(
    stored: StoredFiles,
    opened: ParquetInput | None,
    kind: str,
    roles: Roles | None,
    where: str | None,
) -> bool:
    """Return whether the needed columns differ between Parquet files, so that Spark must read all their schemas."""
    if stored.store is None or kind != "parquet":
        return False
    try:
        source = opened or ParquetInput.of(stored)
    except (InputError, StoreError, pa.ArrowException, OSError) as error:
        logging.getLogger(__name__).info("columns are not compared: %s", shorten(error, MOST_SENTENCE))
        return False
    names = source.schema.names
    if roles is None:
        return any(named_in(source.lacking, (), where))
    for role, column in roles.columns():
        if column in names:
            validate_column(role, column, names, stored.what)
    source.check(roles, where)
    return any(named_in(source.lacking, columns_of(roles, names), where))


def _loaded(reader: Callable[[], DataFrameReader], stored: StoredFiles, as_texts: Sequence[str]) -> DataFrame:
    """Return a DataFrame of exactly the files of ``stored``, with strings in the columns that ``as_texts`` names."""
    listing, prefix = stored.listing, stored.prefix or ""
    paths, base = [f"{prefix}{escaped(path)}" for path in listing.shortly], dict[str, str]()
    try:
        frame = reader().load(paths)
        is_whole = sorted(path_of(uri, prefix) for uri in frame.inputFiles()) == list(listing.files)
    except Exception as error:  # noqa: BLE001 - for names that Spark cannot list, hidden folders and others
        logging.getLogger(__name__).info("Spark gets the names of all files: %s", shorten(error, MOST_SENTENCE))
        is_whole = False
    if not is_whole:
        paths = [f"{prefix}{escaped(file)}" for file in listing.files]
        base = {} if listing.base is None else {"basePath": f"{prefix}{listing.base}"}
        frame = reader().options(**base).load(paths)
    if not as_texts:
        return frame
    from pyspark.sql import types as T

    kinds = [T.StructField(field.name, T.StringType()) if field.name in as_texts else field for field in frame.schema]
    return reader().options(**base).schema(T.StructType(kinds)).load(paths)


def path_of(uri: str, prefix: str = "file:") -> str:
    """Return the path in the file system for Spark's ``uri``, which is percent-encoded (``file:///`` if local)."""
    path = unquote(uri)
    return path[len("file://") :] if path.startswith("file:///") else path.removeprefix(prefix)


def _listed(spark: SparkSession, path: str, what: str, place: tuple[str, str, str]) -> StoredFiles | None:
    """List the files at ``path`` with Arrow, or with Spark if Arrow cannot. Return None if both fail."""
    try:
        stored = StoredFiles.found(path, what)
    except (pa.ArrowException, OSError) as error:
        logging.getLogger(__name__).info("Arrow does not list the %s: %s", what, shorten(error, MOST_SENTENCE))
    else:
        stored.listing.validate_complete()
        if stored.listing.files and stored.prefix is not None:
            return stored
    with reading_errors(*place):
        by_spark = _listed_by_spark(spark, path, what)
    return None if by_spark is None else _without_tables(spark, by_spark)


def _listed_by_spark(spark: SparkSession, path: str, what: str) -> StoredFiles | None:
    """List the non-hidden files at ``path`` with Spark. Return None without files, or if ``path`` is relative."""
    every = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(path)
    names = [unquote(uri) for uri in every.inputFiles()]
    patterns = alternatives(_SCHEME.sub("", path).rstrip("/"))
    sizes = {_SCHEME.sub("", name): 1 for name in names}
    if any(pattern[0] for pattern in patterns):  # relative to the home folder of some user, not to the root
        return None
    if every.count() < len(sizes):  # files of 0 bytes have no row
        with_rows = {_SCHEME.sub("", row.path) for row in every.select("path").toLocalIterator()}
        sizes |= dict.fromkeys(sizes.keys() - with_rows, 0)
    listing = Listing.of(sizes, patterns)
    prefixes = [name.removesuffix(file) for name, file in zip(names, sizes, strict=True)]
    return StoredFiles(path, what, None, prefixes[0], listing) if listing.files else None


def _without_tables(spark: SparkSession, stored: StoredFiles) -> StoredFiles:
    """Return ``stored``, or raise :class:`InputError` if Spark finds that its files belong to a lake table."""
    for folder in dict.fromkeys(itertools.chain.from_iterable(map(ways_of, stored.listing.shortly))):
        try:
            marks = spark.read.format("binaryFile").load(f"{stored.prefix}{escaped(folder)}/{_LAKE_MARKS}").inputFiles()
        except Exception:  # noqa: BLE001, S112 - no such file, or a folder that may not be listed
            continue
        for table in tables_among([unquote(uri).removeprefix(stored.prefix or "") for uri in marks]):
            stored.raise_lake_table(table)
    return stored
