"""The evaluation that a spec requests for one day, and the locations of its inputs and tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SparkrankError, SpecError, escape, shorten
from sparkrank.base.redaction import redact, shown_url
from sparkrank.engines.request import CatalogRows, Request
from sparkrank.inputs.day_marks import as_pattern, day_of, on_day, on_days
from sparkrank.inputs.window import spans
from sparkrank.sources.lake_formats import LAKES
from sparkrank.sources.lakes import ICEBERG
from sparkrank.sources.side_rows import SideRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.config.sections import InputRows


def request_of(spec: Spec, day: str, spark: SparkSession | None) -> Request:
    plan, engine = spec.plan(), spec.engine
    how = (engine.lane, spark, engine.buckets, engine.bucket_rows, engine.row_memory)
    truth = None if spec.truth is None else side_of("truth", spec.truth, day)
    lists = tuple(side_of(what, rows, day) for what, rows in spec.lists)
    catalog = None
    if spec.catalog is not None:
        item, since = spec.columns_of_catalog(spec.roles)
        catalog = CatalogRows(side_of("catalog", spec.catalog, day), item, spec.catalog.most_bytes, since)
    past = {name: replace(side_of(name, rows, day), optional=rows.optional) for name, rows in spec.past.items()}
    beside: Any = {"catalog": catalog, "past": past, "popularity": spec.popularity_days(day)}
    return Request(lists, truth, spec.roles, plan, spec.limits(plan), *how, spec.input.grouped, **beside)


def side_of(what: str, rows: InputRows, day: str) -> SideRows:
    """Return the location of the rows of ``day`` in one input.

    ``what`` is the name of the input in messages, such as input.models.als.
    """
    return SideRows(
        what,
        path=None if rows.path is None else as_pattern(rows.path, day),
        paths=() if rows.path is None else tuple(on_days(rows.path, day)),
        table=None if rows.table is None else on_day(rows.table, day),
        name=on_day(rows.path or f"table {rows.table}", day),
        format=rows.format,
        options=rows.options,
        fields=rows.fields,
        where=None if rows.where is None else on_day(rows.where, day),
        partition_types=rows.partition_types,
        version=rows.version,
        as_of=rows.as_of,
    )


def resolve_day(spec: Spec, day: str | None) -> str:
    """Return ``day`` or, if it is None, the spec's day. Raise :class:`SpecError` if there is no valid day."""
    if day is None:
        if spec.day is None:
            raise SpecError("no day is given: name it with --date YYYY-MM-DD or as day in the spec")
        return spec.day.isoformat()
    if day_of(day) is None:
        raise SpecError(f"--date {shorten(day)} is not a day of the form YYYY-MM-DD")
    return day


def places_of(spec: Spec, day: str) -> list[str]:
    """Return a line, such as ``input.path: /log/dt=2026-01-31``, for each location read or written for ``day``."""
    lines = []
    for what, rows in spec.places:
        if rows.path is not None:
            lines += [f"{what}.path: {shown_url(path)}" for path in on_days(rows.path, day)]
        texts = {"table": rows.table, "where": rows.where}
        lines += [f"{what}.{key}: {redact(on_day(text, day))}" for key, text in texts.items() if text is not None]
    if (stored := spec.popularity_days(day)) is not None:
        lines.append(f"interactions.states: {shown_url(stored.path)} of {spans(stored.days)}")
    return list(map(escape, (*lines, f"output.path: {shown_url(on_day(spec.output.path, day))}")))


def kept_files_of(spec: Spec, day: str) -> list[str]:
    """Return a line for each lake table of ``day``: the number of its files that conditions do not rule out.

    Only the logs of the tables are read. A table with an unreadable log also gets a line, because its rows may come
    later.
    """
    lines = []
    for what, rows in spec.places:
        lake = LAKES.get(rows.format)
        if lake is None or not lake.is_installed() or (rows.path is None and rows.format != ICEBERG):
            continue
        try:
            kept, files = lake.kept_files(side_of(what, rows, day))
            lines.append(f"{what}.files: {kept:,} of {files:,}")
        except SparkrankError as error:
            lines.append(f"{what}.files: not counted ({error})")
    return list(map(escape, lines))
