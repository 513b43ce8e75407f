"""The group table of the left or the right run of a comparison, with its metric definitions if the run stored them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow import fs

from sparkrank.base.errors import (
    InputError,
    MetricError,
    SpecError,
    StoreError,
    hint,
    itemize,
    shorten,
    unreadable,
    validate_names,
)
from sparkrank.bucket.group_rows import GROUP_COUNTS, MODEL
from sparkrank.inputs.day_marks import day_of, on_day
from sparkrank.metrics import Metric, Plan
from sparkrank.metrics.presets import PRESETS, Preset
from sparkrank.schemas.tables import METRICS, RUNS
from sparkrank.sources.files import file_system, is_hidden, visible_files, without_password
from sparkrank.sources.in_memory import is_frame, is_path
from sparkrank.sources.integrity import CHECKED, SPARK_CHECKED
from sparkrank.tables.commit.output_folder import DAY
from sparkrank.tables.stored.day_files import DayFiles, day_files
from sparkrank.tables.stored.validation import validate_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPS = "groups"
_TABLES = (GROUPS, "metrics", "runs")
_OF_DAY = re.compile(rf"(?P<output>.+)/(?P<table>{GROUPS}|metrics)/{DAY}=(?P<day>[^/]+)(/[^/]+\.parquet)?/*")
_KEPT = ("model", "metric", "definition", "spec_hash", "run_id")  # columns of the table metrics


@dataclass(frozen=True)
class GroupTable:
    """The group table of the left or the right run of a comparison (``what`` is ``left`` or ``right``).

    The ``rows`` have the columns and types of ``schema``. ``place`` is the table's name in messages. The metric
    ``definitions`` and ``known_models`` come from the run's ``metrics`` table; without that table, they are empty.
    Groups with the same value in the column ``cluster`` are not independent; the group table itself lacks this column.
    ``preset`` is the preset under which the run parsed metric names.
    """

    what: str
    place: str
    rows: Any  # a pyarrow Dataset, or a Spark DataFrame
    schema: pa.Schema
    definitions: Mapping[str, str] = field(default_factory=dict)
    known_models: tuple[str, ...] = ()
    spec_hash: str | None = None
    run_id: str | None = None
    cluster: str | None = None
    preset: Preset | None = None

    @classmethod
    def of(cls, what: str, rows: Any, day: str | None = None, spark: SparkSession | None = None) -> GroupTable:
        """Return the group table in ``rows``, or stored at the path ``rows``. ``day`` selects one of the days.

        Raise :class:`SpecError` for a wrong type or an ambiguous day, and :class:`InputError` for unusable rows.
        """
        if is_path(rows):
            return cls.at(what, os.fspath(rows), day, spark)
        if day is not None:
            raise SpecError(
                f"{what}_day is {shorten(day)}, but {what} is not a path: only a path can have several days"
            )
        return cls.held(what, rows, f"the {what} rows")

    @classmethod
    def of_evaluation(cls, what: str, rows: object, plan: Plan, preset: Preset | None = None) -> GroupTable:
        """Return the group table ``rows`` of an evaluation. Raise :class:`SpecError` if ``rows`` is None."""
        if rows is None:
            raise SpecError(f"{what} has no group table: evaluate with a group and group_table=True")
        table = cls.held(what, rows, f"the {what} evaluation")
        every = dict.fromkeys((*(metric for metric, _ in plan.group_metrics), *plan.metrics))
        definitions = {str(metric): plan.definition(metric) for metric in every}
        known = {"known_models": tuple(plan.models), "cluster": plan.cluster, "preset": preset}
        return replace(table, definitions=definitions, **known)  # type: ignore[arg-type]

    @classmethod
    def held(cls, what: str, rows: Any, place: str) -> GroupTable:
        """Return the group table with the ``rows`` of a table or DataFrame.

        Raise :class:`SpecError` for another type, and :class:`InputError` if it is no group table.
        """
        if is_frame(rows):
            from sparkrank.engines.spark.batches import arrow_schema

            return cls(what, place, rows, arrow_schema(rows)).checked()
        if isinstance(rows, pa.Table):
            rows = ds.dataset(rows.cast(pa.schema([plain_field(column) for column in rows.schema])))
        if not isinstance(rows, ds.Dataset):
            kind = type(rows).__name__
            raise SpecError(f"{what} is of type {kind}: a group table, an Evaluation or a path is needed")
        return cls(what, place, rows, rows.schema).checked()

    @classmethod
    def at(cls, what: str, path: str, day: str | None, spark: SparkSession | None) -> GroupTable:
        """Return the group table at ``path``: a day's folder, an ``output.path`` (needs ``day``), or Parquet files."""
        if day is None and _OF_DAY.fullmatch(path) is None:
            return cls._alone(what, path, spark)
        return cls._of_day(what, *day_at(what, path, day), spark)

    @classmethod
    def _of_day(cls, what: str, output: str, day: str, spark: SparkSession | None) -> GroupTable:
        """Return the group table of ``day`` below ``output``, with metadata from the ``metrics`` table of the run."""
        place = without_password(f"{output.rstrip('/')}/{GROUPS}/{DAY}={day}")
        files = day_files(output, day, _TABLES, spark)
        if not files.has(GROUPS):
            raise InputError(f"there is no group table at {place}: evaluate {day} with output.groups and a group key")
        known: dict[str, Any] = {}
        if files.has("metrics"):
            rows = files.read("metrics", pa.schema([METRICS.schema.field(name) for name in _KEPT]))
            validate_results(rows, "metrics", day)
            if set(_KEPT) <= set(rows.column_names):
                known = _facts(rows)
        if files.has("runs"):
            known |= _of_spec(files.read("runs", pa.schema([RUNS.schema.field("spec")])))
        return replace(cls.stored(what, place, files), **known)

    @classmethod
    def stored(cls, what: str, place: str, files: DayFiles) -> GroupTable:
        """Return the group table in a day's ``files``. Raise :class:`InputError` if the rows are not a group table."""
        table = cls.held(what, files.rows(GROUPS, (MODEL,)), place)
        return table if table.is_frame else replace(table, schema=pa.schema(map(plain_field, table.schema)))

    @classmethod
    def _alone(cls, what: str, path: str, spark: SparkSession | None) -> GroupTable:
        place = without_password(path)
        try:
            store, folder = file_system(path)
            if store.get_file_info(folder).type == fs.FileType.File:
                return cls.of_files(what, place, store, [folder])
            days = _days_in(store, f"{folder}/{GROUPS}") or _days_in(store, folder)
            if days:
                example = f"name one, as --{what}-date {days[0]} (in Python {what}_day)"
                raise SpecError(f"{place} has the group tables of {len(days)} days ({itemize(days)}): {example}")
            files = visible_files(store, folder, folder.count("/") + 1)
        except (pa.ArrowException, OSError) as error:
            if spark is None or isinstance(error, NotADirectoryError):
                raise unreadable(f"the group table {place} cannot be opened", error) from error
            return cls._by_spark(what, path, place, spark)
        if not files:
            raise InputError(f"there is no group table at {place}")
        return cls.of_files(what, place, store, files)

    @classmethod
    def of_files(cls, what: str, place: str, store: fs.FileSystem, files: Sequence[str]) -> GroupTable:
        """Return the group table in Parquet ``files`` of ``store``.

        Raise :class:`InputError` if a file is unreadable.
        """
        reader = ds.ParquetFileFormat(dictionary_columns={MODEL}, **CHECKED)
        try:
            rows = ds.dataset(list(files), filesystem=store, format=reader)
            schema = pa.schema([plain_field(column) for column in rows.schema])
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"the group table {place} cannot be read", error) from error
        return cls(what, place, rows, schema).checked()

    @classmethod
    def _by_spark(cls, what: str, path: str, place: str, spark: SparkSession | None) -> GroupTable:
        from sparkrank.engines.spark.failures import reading_errors

        if spark is None:
            raise InputError(f"the group table {place} can only be read by Spark: a Spark session is needed")
        with reading_errors(path, "group table", "group table"):
            return cls.held(what, spark.read.options(**SPARK_CHECKED).parquet(path), place)

    def checked(self) -> GroupTable:
        """Return this table, or raise :class:`InputError` if a required column is missing or has the wrong type."""
        names = self.schema.names
        lacking = [name for name in (MODEL, *GROUP_COUNTS) if name not in names]
        if lacking:
            self._refuse(f"it lacks {itemize(lacking)} (it has {itemize(names)})")
        if names.index(MODEL) + 1 >= names.index(GROUP_COUNTS[0]):
            self._refuse(f"no column of a key stands behind {MODEL}")
        kinds = {
            MODEL: (is_text_type, "string"),
            **dict.fromkeys(GROUP_COUNTS, (pa.types.is_integer, "int64")),
            **dict.fromkeys(self.metrics, (_is_number, "double")),
        }
        for name, (is_kind, needed) in kinds.items():
            if len(self.schema.get_all_field_indices(name)) > 1:
                self._refuse(f'it has several columns "{shorten(name)}"')
            kind = self.schema.field(name).type
            if not is_kind(kind):
                self._refuse(f'"{shorten(name)}" is of type {shorten(kind)}, not {needed}')
        return self

    def _refuse(self, problem: str) -> NoReturn:
        raise InputError(f"{self.place} is not a group table: {problem}")

    def validate_files(self, column: str, values: pa.Array | pa.ChunkedArray) -> None:
        """Raise :class:`InputError` if the ``values`` of ``column`` include a value that a run never writes."""
        if column in GROUP_COUNTS and (values.null_count or pc.any(pc.less(values, 0)).as_py()):
            raise InputError(f"{self.place} has {column} that is null or below 0: evaluate it again")
        if column in self.metrics and pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
            raise InputError(f'{self.place} has "{shorten(column)}" that is not finite: evaluate it again')
        if is_text_type(values.type):
            try:
                (values.dictionary if isinstance(values, pa.DictionaryArray) else values).validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(f"{self.place} has a text in {shorten(column)} that is not UTF-8") from None
        if column == MODEL and values.null_count:
            raise InputError(f"{self.place} has {column} that is null: evaluate it again")

    @property
    def keys(self) -> list[str]:
        """The columns of the group key, which are between the model column and the count columns."""
        names = self.schema.names
        return list(names[names.index(MODEL) + 1 : names.index(GROUP_COUNTS[0])])

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics, in column order."""
        names = self.schema.names
        return [name for name in names[names.index(GROUP_COUNTS[-1]) + 1 :] if name != DAY]

    @property
    def is_frame(self) -> bool:
        """Whether the rows are a Spark DataFrame."""
        return is_frame(self.rows)

    def here(self, model: str, columns: Sequence[str]) -> GroupTable:
        """Return the table in a form that Arrow can read.

        From a DataFrame, only the rows of ``model`` and the metrics in ``columns`` are copied.
        """
        if not self.is_frame:
            return self
        from sparkrank.engines.spark.batches import named
        from sparkrank.engines.spark.local_copies import local_copy

        metrics = [name for name in columns if name not in GROUP_COUNTS]
        names = [MODEL, *self.keys, *GROUP_COUNTS, *metrics]
        rows = local_copy(self.rows.where(named(MODEL) == model).select(*map(named, names)))
        return replace(self, rows=rows, schema=rows.schema, known_models=(model,))

    @cached_property
    def models(self) -> list[str]:
        """The sorted names of the models in the table."""
        if self.known_models:
            return sorted(self.known_models)
        if self.is_frame:
            names = [row[0] for row in self.rows.select(MODEL).distinct().collect()]
            self.validate_files(MODEL, pa.array(names, pa.string()))
            return sorted(names)
        return sorted({model for batch in self.batches() for model in pc.unique(batch[MODEL]).to_pylist()})

    def batches(self, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield batches with the model column and the given ``columns``. The rows must not be a Spark DataFrame."""
        with self.reading():
            for batch in self.rows.scanner(columns=[*columns, MODEL]).to_batches():
                self.validate_files(MODEL, batch[MODEL])
                yield batch

    def count(self) -> int:
        """Return the number of rows of all models, from memory or file footers.

        The rows must not be a Spark DataFrame.
        """
        with self.reading():
            return int(self.rows.count_rows())

    def model(self, name: str | None, option: str) -> str:
        """Return the model ``name`` or, if ``name`` is None, the only model.

        Raise :class:`SpecError` if there is no such model. The message names ``option``.
        """
        return model_among(self.place, self.models, name, option)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors of Arrow inside a ``with`` block to errors that name this table."""
        try:
            yield
        except FileNotFoundError:
            problem = f"the group table {self.place} was replaced while it was read"
            raise StoreError(f"{problem}: compare once more") from None
        except UnicodeDecodeError:
            raise InputError(f"{self.place} has a text that is not UTF-8: evaluate it again") from None
        except (pa.ArrowException, OSError) as error:
            raise unreadable(f"the group table {self.place} cannot be read", error) from error


def model_among(place: str, models: Sequence[str], name: str | None, option: str) -> str:
    """Return ``name`` or, if None, the only one of ``models``. Raise :class:`SpecError` if there is no such model.

    The message contains ``place`` (a name of the table) and ``option``.
    """
    if name is None:
        if len(models) != 1:
            raise SpecError(f"{place} has the models {itemize(models)}: name one with {option}")
        return models[0]
    validate_names(f"{option}: {place} has no model", [name], models, "there are")
    return name


class HasModels(Protocol):
    """An object with a ``place`` (its name in messages) and a list of model names, such as a group table."""

    @property
    def place(self) -> str: ...
    @property
    def models(self) -> list[str]: ...


def chosen_models(
    left: HasModels,
    right: HasModels,
    left_model: str | None,
    right_model: str | None,
    options: tuple[str, str] = ("left_model", "right_model"),
) -> tuple[str, str]:
    """Return the left and the right model to compare.

    If no model is requested for one run, the result is the model requested for the other run, the single name common to
    both runs, or the only model of the run.
    """
    for side, name, option in zip((left, right), (left_model, right_model), options, strict=True):
        if name is not None:
            model_among(side.place, side.models, name, option)
    if left_model is None and right_model is None:
        common = sorted({*left.models} & {*right.models})
        if len(common) == 1:
            return common[0], common[0]
    if left_model is None and right_model in left.models:
        left_model = right_model
    if right_model is None and left_model in right.models:
        right_model = left_model
    before = model_among(left.place, left.models, left_model, options[0])
    return before, model_among(right.place, right.models, right_model, options[1])


def metric_text(metrics: Sequence[str], text: str, *presets: Preset | None) -> str | None:
    """Return the entry of ``metrics`` that ``text`` names, or None without such an entry.

    ``text`` is read under each of the ``presets``, and without a preset.
    """
    readings: list[Metric] = []
    for preset in (*presets, None):
        with suppress(MetricError):
            readings.append(Metric.parse(text, preset))
    ordered = [metric.with_ties(order) for metric in readings for order in metric.orders]
    return next((name for name in (*map(str, readings), text, *map(str, ordered)) if name in metrics), None)


def metric_among(metrics: Sequence[str], text: str, *presets: Preset | None, of_rows: Iterable[str] = ()) -> str:
    """Return the entry of ``metrics`` that ``text`` names in any spelling. Raise :class:`SpecError` if none is named.

    ``of_rows`` lists the pooled metrics of both runs, which have no values per group.
    """
    name = metric_text(metrics, text, *presets)
    if name is None and (pooled := metric_text(list(of_rows), text, *presets)):
        with suppress(MetricError):  # a metric that is registered only where it was evaluated
            if (own := Metric.parse(pooled)).is_over_groups:
                raise SpecError(f"{pooled} is one number of all groups: name {own.group_metric}, which each group has")
        raise SpecError(f"{pooled} is a metric of all rows together, without values of groups (compare compares it)")
    if name is None:
        near = hint(text, metrics, "there are", "they have none in common")
        raise SpecError(f'the metric "{shorten(text)}" is not in both runs{near}')
    return name


def notes_on_definitions(
    left: Mapping[str, str], right: Mapping[str, str], names: Sequence[str], allowed: bool
) -> list[str]:
    """Return notes on metrics whose definitions differ. Raise :class:`InputError` instead if ``allowed`` is false."""
    notes = [
        f"{name} is defined on the left as {shorten(left.get(name))}, and on the right as {shorten(right.get(name))}"
        for name in names
        if left.get(name) != right.get(name)
    ]
    if notes and not allowed:
        more = f" (and {len(notes) - 1} more)" if len(notes) > 1 else ""
        raise InputError(f"{notes[0]}{more}: to compare them nevertheless, set other_definitions (--other-definitions)")
    return notes


def metrics_at(what: str, path: str, day: str | None, spark: SparkSession | None) -> tuple[pa.Table, str]:
    """Return the ``metrics`` table of the run at ``path`` (see :func:`day_at`), and its name in messages."""
    output, date = day_at(what, path, day)
    place = without_password(f"{output.rstrip('/')}/metrics/{DAY}={date}")
    files = day_files(output, date, ("metrics",), spark)
    if not files.has("metrics"):
        raise InputError(f"there is no table metrics at {place}: evaluate {date} first")
    rows = files.read("metrics", METRICS.schema)
    validate_results(rows, "metrics", date)
    return rows, place


def day_at(what: str, path: str, day: str | None) -> tuple[str, str]:
    """Return the output path and the day, from the folder of a day's table or from an output path and ``day``."""
    match = _OF_DAY.fullmatch(path)
    if match is not None:
        if day is not None and day != match["day"]:
            raise SpecError(f"{what} is the {match['table']} of {shorten(match['day'])}, but its day is {day}")
        return match["output"], match["day"]
    if day is None:
        raise SpecError(f"{what} is {without_password(path)}, which does not name the day: name it with --{what}-date")
    if day_of(day) is None:
        raise SpecError(f"the day of {what} is {shorten(day)}, which is not of the form YYYY-MM-DD")
    return on_day(path, day), day


def _facts(rows: pa.Table) -> dict[str, Any]:
    pairs = rows.select(["metric", "definition"]).group_by(["metric", "definition"]).aggregate([]).to_pylist()
    return {
        "definitions": {pair["metric"]: pair["definition"] for pair in pairs},
        "known_models": tuple(pc.unique(rows["model"]).to_pylist()),
        "spec_hash": rows["spec_hash"][0].as_py() if rows.num_rows else None,
        "run_id": rows["run_id"][0].as_py() if rows.num_rows else None,
    }


def _of_spec(runs: pa.Table) -> dict[str, Any]:
    """Return the cluster column and the preset in the run's spec, or an empty mapping if the spec is unreadable."""
    try:
        spec = json.loads(runs["spec"][0].as_py())
        cluster, name = spec["input"]["columns"].get("cluster"), spec["definitions"].get("preset")
    except (LookupError, TypeError, ValueError):  # another type of table, or a truncated one
        return {}
    return {"cluster": cluster if isinstance(cluster, str) else None, "preset": PRESETS.get(str(name))}


def _days_in(store: fs.FileSystem, folder: str) -> list[str]:
    infos = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    names = (Path(info.path).name for info in infos)
    return sorted(name.removeprefix(f"{DAY}=") for name in names if name.startswith(f"{DAY}=") and not is_hidden(name))


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether a type is a string type, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def plain_field(column: pa.Field) -> pa.Field:
    """Return the field, with its value type in place of a dictionary type."""
    return column.with_type(column.type.value_type) if pa.types.is_dictionary(column.type) else column
