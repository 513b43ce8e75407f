"""Options that make Spark's readers lose or change rows or values without counting them.

:data:`LOSING` lists all such options. A spec may set one of them only to its strict value. Where Spark's default or a
session may differ, sparkrank passes the strict value to Spark's readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sparkrank.sources.text_schema import TEXT_FORMATS


class LosingOption(NamedTuple):
    """An option of some ``formats``, or of all if empty. Any value but ``strict`` causes the ``loss``.

    If ``strict`` is empty, the option may not be set. If ``is_sent``, sparkrank passes the strict value to the reader.
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
    """Raise ``ValueError`` for an option with which Spark's reader for the format ``kind`` would lose something."""
    for name, value in options.items():
        for losing in _of_kind(kind):
            if name.lower() == losing.name.lower() and value.lower() != losing.strict.lower():
                allowed = f"allowed: {losing.strict}" if losing.strict else "leave it out"
                raise ValueError(f"has options.{name}, by which {losing.loss} ({allowed})")


def strict_options(kind: str) -> dict[str, str]:
    """The options that sparkrank passes to Spark's reader for the format ``kind``, whatever the session says."""
    return {losing.name: losing.strict for losing in _of_kind(kind) if losing.is_sent}


def _of_kind(kind: str) -> list[LosingOption]:
    """The options for the format ``kind``, which may be a class name, such as com.databricks.spark.csv."""
    return [losing for losing in LOSING if not losing.formats or any(name in kind.lower() for name in losing.formats)]
