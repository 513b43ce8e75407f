"""Session settings that can change a result. For this reason, ``spec_hash``, ``runs`` and states include them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from sparkrank.base.errors import SpecError, quote
from sparkrank.engines.spark.session_features import all_settings, setting, setting_as
from sparkrank.inputs.roles import Roles
from sparkrank.sources.conditions import UntranslatableError, pushed_down

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HIDDEN = "not told"  # a setting that the session does not reveal
ZONE = "spark.sql.session.timeZone"
INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"
# Settings that matter to any SQL. Their defaults differ between versions of Spark.
_OF_SQL = ("spark.sql.ansi.enabled", "spark.sql.caseSensitive", "spark.sql.legacy.timeParserPolicy")
# These settings are rarely changed, and are recorded only if they differ from the defaults of Spark 4.
_RARE = {
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.csv.parser.columnPruning.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.session.collation.default": "UTF8_BINARY",
}
_RARE_KINDS = ("spark.sql.legacy.", "spark.sql.ansi.", "spark.sql.parser.")


def settings_read(
    frame: DataFrame, roles: Roles, condition: str | None, is_view: bool, is_text: bool, own_zone: bool
) -> dict[str, str]:
    """Return the session settings on which the rows of ``frame`` may depend.

    The rows of a view may depend on all settings.
    """
    spark = frame.sparkSession
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    by_sql = is_view or (condition is not None and not _is_arrows(condition, frame))
    used = [kinds[column] for _, column in roles.columns() if column in kinds]
    settings: dict[str, str] = {}
    if by_sql:
        settings |= {name: shown_setting(spark, name) for name in _OF_SQL}
    if by_sql or is_text or any("date" in kind or "timestamp" in kind for kind in used):
        settings |= _rare(spark)
    if not own_zone and (by_sql or any("timestamp" in kind for kind in used)):
        settings[ZONE] = shown_setting(spark, ZONE)
    return settings


def _rare(spark: SparkSession) -> dict[str, str]:
    given = all_settings(spark)
    if given is None:  # some sessions reveal only single settings
        given = {name: value for name in _RARE if (value := setting(spark, name, _RARE[name])) is not None}
    rare = {name: given[name] for name, usual in _RARE.items() if given.get(name, usual).lower() != usual.lower()}
    of_kinds = {
        name: value
        for name, value in given.items()
        if name.startswith(_RARE_KINDS) and name not in _OF_SQL and value.lower() != "false"
    }
    return rare | of_kinds


def _is_arrows(condition: str, frame: DataFrame) -> bool:
    """Return whether Arrow can evaluate ``condition``, which then means the same in every session."""
    from sparkrank.engines.spark.batches import arrow_schema

    plain = [field for field in arrow_schema(frame) if not pa.types.is_nested(field.type)]
    try:
        pushed_down(condition, pa.schema(plain))
    except UntranslatableError:
        return False
    return True


@contextmanager
def time_zone(spark: SparkSession | None, zone: str | None) -> Iterator[None]:
    """Set the session's time zone to ``zone`` inside a ``with`` block. None changes nothing."""
    # text readers look up the zone when they run, and Spark Connect analyzes a query each time
    if spark is None or zone is None:
        yield
        return
    with setting_as(spark, ZONE, zone) as because:
        if because is not None and (now := shown_setting(spark, ZONE)) != zone:
            raise SpecError(
                f"input.time_zone is {quote(zone)}, but the time zone of the session is {now} and cannot be set "
                f"({because})"
            )
        yield


def shown_setting(spark: SparkSession, name: str) -> str:
    """Return the value of the setting ``name``, or :data:`HIDDEN` if hidden. SQL always reveals the time zone."""
    value = setting(spark, name)
    if value is None and name == ZONE:
        return str(spark.sql("SELECT current_timezone()").toArrow().column(0)[0])
    return HIDDEN if value is None else value


_MARK = " | session "


def with_session(source: str, session: Mapping[str, str]) -> str:
    """Return ``source``, a name in stored states, followed by the settings that were read from the session."""
    return f"{source}{_MARK}{json.dumps(dict(session), sort_keys=True)}" if session else source


def without_session(source: str) -> tuple[str, dict[str, str]]:
    """Return the source and the settings that :func:`with_session` joined."""
    before, mark, settings = source.rpartition(_MARK)
    return (before, json.loads(settings)) if mark and settings.startswith("{") else (source, {})
