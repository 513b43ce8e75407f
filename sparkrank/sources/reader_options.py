"""Options that make Spark's readers lose or change rows or values without counting them.

:data:`LOSING` lists all such options. A spec may set such an option only to its strict value. If Spark's default or the
setting of a session may differ from the strict value, sparkrank passes the strict value to Spark's readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkrank.sources.text_schema import TEXT_FORMATS


class LosingOption(NamedTuple):
    """An option by which a reader may lose data. Every value except ``strict`` causes the ``loss``.

    ``formats`` lists the affected formats (empty: all). If ``strict`` is empty, a spec may not set the option. If
    ``is_sent`` is true, sparkrank passes the strict value to the reader.
    """

    name: str
    strict: str
    loss: str
    formats: tuple[str, ...] = ()
    is_sent: bool = False


_CSV, _JSON, _RECORDS = ("csv",), ("json",), (*TEXT_FORMATS, "xml")
_OTHER_NUMBERS = "numbers are read by another rule (nan and inf are known as such)"
LOSING = (
    LosingOption("ignoreCorruptFiles", "false", "files that cannot be read are left out uncounted", is_sent=True),
    LosingOption("ignoreMissingFiles", "false", "files that are deleted are left out uncounted", is_sent=True),
    LosingOption("ignoreInvalidPartitionPaths", "false", "folders are left out uncounted"),
    LosingOption("ignoreExtension", "true", "files of another name are left out uncounted", ("avro",)),
    LosingOption("failOnDataLoss", "true", "rows that are no longer stored are left out uncounted"),
    LosingOption("badRecordsPath", "", "rows are moved away uncounted"),
    LosingOption("mode", "FAILFAST", "rows are dropped or lose values uncounted", _RECORDS, is_sent=True),
    LosingOption("comment", "", "rows that begin with this letter are dropped uncounted", _CSV),
    LosingOption("multiLine", "false", "only the first record of a file is read", _JSON),
    LosingOption("unescapedQuoteHandling", "RAISE_ERROR", "values with a quote inside are lost or cut", _CSV),
    LosingOption("enforceSchema", "false", "columns are taken by position, whatever the header says", _CSV),
    LosingOption("columnPruning", "false", "rows of another length than the header's are cut or filled up", _CSV, True),
    LosingOption("inferSchema", "false", "types are not those of the roles or of schema", _RECORDS),
    *(LosingOption(name, "", _OTHER_NUMBERS, TEXT_FORMATS) for name in ("nanValue", "positiveInf", "negativeInf")),
)


def validate_options(options: Mapping[str, str], kind: str) -> None:
    """Raise ``ValueError`` for an option by which Spark's reader of the format ``kind`` may lose or change data."""
    for name, value in options.items():
        for losing in _of_kind(kind):
            if name.lower() == losing.name.lower() and value.lower() != losing.strict.lower():
                allowed = f"allowed: {losing.strict}" if losing.strict else "leave it out"
                raise ValueError(f"has options.{name}, with which {losing.loss} ({allowed})")


def strict_options(kind: str) -> dict[str, str]:
    """Return the options that sparkrank always passes to Spark's reader of the format ``kind``, in every session."""
    return {losing.name: losing.strict for losing in _of_kind(kind) if losing.is_sent}


def _of_kind(kind: str) -> list[LosingOption]:
    """Return the options for the format ``kind``, which may be a class name such as com.databricks.spark.csv."""
    return [losing for losing in LOSING if not losing.formats or any(name in kind.lower() for name in losing.formats)]


# The options by which Spark's reader of a format takes a version of a table, and a time of which it takes the version.
VERSION_OPTIONS: Mapping[str, tuple[str, str]] = {
    "delta": ("versionAsOf", "timestampAsOf"),
    "iceberg": ("snapshot-id", "as-of-timestamp"),
}
# The packages that Spark needs for formats that it does not read by itself, before the version of Scala.
_PACKAGES: Mapping[str, str] = {
    "delta": "io.delta:delta-spark",
    "hudi": "org.apache.hudi:hudi-spark{spark}-bundle",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-{spark}",
    "avro": "org.apache.spark:spark-avro",
}


def spark_package(kind: str, version: str = "<version>") -> str:
    """Return the package that Spark ``version`` needs for the format ``kind``, or an empty string."""
    package = _PACKAGES.get(kind.lower())
    return "" if package is None else f"{package.format(spark=version)}_2.13"
