"""Checks, before and after reading, that the rows of a day are complete, as ``expect`` in the spec requires."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence, InputError, unreadable
from sparkrank.inputs.age import age_of, age_text
from sparkrank.inputs.day_marks import on_day
from sparkrank.schemas.tables import QUALITY, RUNS
from sparkrank.sources.files import without_password
from sparkrank.sources.lake_formats import installed_lake
from sparkrank.sources.stored_files import StoredFiles
from sparkrank.tables.stored.day_files import day_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkrank.config import Spec
    from sparkrank.sources.side_rows import SideRows
    from sparkrank.states import Partials

INPUT, TRUTH = "input", "truth"


@dataclass(frozen=True)
class Completeness:
    """The expectations of a spec about the inputs of a day.

    ``least`` maps each input to the lowest allowed numbers of rows, each with a text about its setting. ``warnings``
    names the skipped checks.
    """

    least: Mapping[str, tuple[tuple[float, str], ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, spec: Spec, day: str, sides: Mapping[str, SideRows], spark: SparkSession | None) -> Completeness:
        """Return the expectations of ``spec`` for ``day``. ``sides`` maps names of inputs to their rows.

        Raise :class:`InputError` if a marker file is missing, if the newest commit is too old, or if the tables of the
        day before cannot be read.
        """
        least: dict[str, tuple[tuple[float, str], ...]] = {}
        warnings: list[str] = []
        before: dict[str, int] | None = None
        for what, rows in spec.places:
            expect = rows.expect
            if expect is None:
                continue
            if expect.marker is not None:
                validate_markers(sides[what], expect.marker)
            if expect.newer_than is not None:
                validate_age(sides[what], expect.newer_than, dt.datetime.now(dt.timezone.utc))
            limits = [] if expect.min_rows is None else [(float(expect.min_rows), f"min_rows is {expect.min_rows}")]
            if expect.min_fraction_of_yesterday is not None:
                yesterday = (dt.date.fromisoformat(day) - dt.timedelta(1)).isoformat()
                before = _rows_of(on_day(spec.output.path, yesterday), yesterday, spark) if before is None else before
                share, key = expect.min_fraction_of_yesterday, "min_fraction_of_yesterday"
                if what in before:
                    words = f"{key} is {share:g} of the {before[what]} rows of {yesterday}"
                    limits.append((share * before[what], words))
                else:
                    sentence = f"{what}.expect.{key} is not checked: {yesterday} has no tables under output.path"
                    warnings.append(CodedSentence("expectation_not_checked", sentence))
            least[what] = tuple(limits)
        return cls(least, tuple(warnings))

    def validate_row_count(self, partials: Partials) -> None:
        """Raise :class:`InputError` if fewer rows were read than the spec expects. ``partials`` contains the counts."""
        truth = partials.counts.get((checks.TRUTH_ROWS, ""), 0)
        rows = {INPUT: partials.counts.get((checks.ROWS_READ, ""), 0) - truth, TRUTH: truth}
        rows |= {name: partials.counts.get((check, ""), 0) for name, check in checks.PAST_ROWS.items()}
        rows |= {_of_model(model): count for (check, model), count in partials.counts.items() if check in _OF_MODEL}
        for what, limits in self.least.items():
            for least, words in limits:
                if rows[what] < least:
                    unmet = f"{rows[what]} rows were read, and {what}.expect.{words} (nothing was written)"
                    raise InputError(f"the {what} is incomplete: {unmet}")


NOTHING_EXPECTED = Completeness()
_OF_MODEL = (checks.MODEL_ROWS,)
_PAST = tuple(checks.PAST_ROWS.items())


def _of_model(model: str) -> str:
    return f"{INPUT}.models.{model}"


def _rows_of(output: str, day: str, spark: SparkSession | None) -> dict[str, int]:
    files = day_files(output, day, ("runs", "quality"), spark)
    if not files.has("runs"):
        return {}
    runs = files.read("runs", pa.schema([RUNS.schema.field("rows")]))
    rows = int(runs["rows"][0].as_py() or 0) if runs.num_rows else 0
    counted: list[dict[str, Any]] = []
    if files.has("quality"):
        names = ("check", "model", "count")
        counted = files.read("quality", pa.schema([QUALITY.schema.field(name) for name in names])).to_pylist()
    truth = sum(int(row["count"]) for row in counted if row["check"] == checks.TRUTH_ROWS)
    of_models = {_of_model(row["model"]): int(row["count"]) for row in counted if row["check"] in _OF_MODEL}
    of_past = {name: int(row["count"]) for row in counted for name, check in _PAST if row["check"] == check}
    return {INPUT: rows - truth, TRUTH: truth, **of_models, **of_past}


def validate_markers(side: SideRows, marker: str) -> None:
    """Raise :class:`InputError` if a folder of an input lacks ``marker``, the file that marks a complete folder."""
    assert side.path is not None  # noqa: S101 - a spec with a marker has a path
    try:
        stored = StoredFiles.at(side.path, side.what, side.format)
        if stored.store is None:  # pragma: no cover - at() opens one
            return
        places = zip(stored.listing.files, stored.listing.roots, strict=True)
        # the folders that the path matches; if the path matches files, the folders that contain them
        for folder in dict.fromkeys(root.rpartition("/")[0] if root == file else root for file, root in places):
            if stored.store.get_file_info(f"{folder.rstrip('/')}/{marker}").type != fs.FileType.File:
                lacking = f"{without_password(folder)} has no file {marker}, which {side.what}.expect.marker asks for"
                raise InputError(f"the {side.what} is incomplete: {lacking}")
    except (pa.ArrowException, OSError) as error:
        raise unreadable(f"the folders of the {side.what} cannot be searched for {marker}", error) from error


def validate_age(side: SideRows, newer_than: str, now: dt.datetime) -> None:
    """Raise :class:`InputError` if no commit younger than ``newer_than`` added rows of the day to an input.

    ``newer_than`` is an age such as ``1d``, and ``now`` the present time.
    """
    key = f"{side.what}.expect.newer_than"
    newest, allowed = installed_lake(side, key).last_addition(side), age_of(newer_than)
    assert allowed is not None  # noqa: S101 - the spec was checked
    if newest is None:
        raise InputError(
            f"the {side.what} is incomplete: no commit in the log added rows of the day, which {key} needs"
        )
    if now - newest > allowed:
        time, age = newest.isoformat(timespec="seconds"), age_text(now - newest)
        raise InputError(
            f"the {side.what} is incomplete: the newest commit with rows of the day was made at {time}, {age} ago, and "
            f"{key} is {newer_than}"
        )
