"""Checks of stored tables: the run that wrote the tables, the types of columns, and the strings and keys of rows.

The checks also apply to days of releases that wrote no checksums. Numbers are not checked: anyone who can write the
tables of a day can also write its row of ``runs``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError, shorten

ADVICE = "evaluate that day again"


def _stands_in(kind: pa.DataType, expected: pa.DataType) -> bool:
    """Return whether the type ``kind`` can be read as ``expected``.

    A timestamp may have another unit, a string may be large, and a list may lack fields that later releases added.
    """
    if pa.types.is_list(expected) and pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return all(field in list(expected.value_type) for field in kind.value_type)
    if pa.types.is_timestamp(expected):
        return bool(pa.types.is_timestamp(kind))
    return bool(pa.types.is_string(expected) and pa.types.is_large_string(kind))


def validate_run(run: Mapping[str, object], run_ids: Sequence[str | None], day: str, name: str = "states") -> None:
    """Raise :class:`InputError` if ``run`` is not a finished run of ``day``, or did not write the table ``name``."""
    run_id, status = run.get("run_id"), run.get("status")
    if status is not None and status != "done":
        raise InputError(f"the run of {day} has the status {shorten(status)}, not done: {ADVICE}")
    if run_id is None:
        return
    if str(run_id).rpartition("-")[0] != day:
        raise InputError(
            f"the tables of {day} are those of the run {shorten(run_id)}, which is a run of another day: {ADVICE}"
        )
    for other in run_ids:
        if other is not None and other != run_id:
            raise InputError(
                f"the table {name} of {day} is that of the run {shorten(other)}, and its table runs that of "
                f"{shorten(run_id)}: {ADVICE}"
            )


def validate_column_types(schema: pa.Schema, expected: pa.Schema, name: str, day: str) -> None:
    """Raise :class:`InputError` if a column of ``schema`` occurs twice, or has a type other than in ``expected``."""
    for field in expected:
        if field.name not in schema.names:
            continue
        places = schema.get_all_field_indices(field.name)
        if len(places) > 1:
            raise InputError(f"the table {name} of {day} has {len(places)} columns {field.name}: {ADVICE}")
        kind = schema.field(places[0]).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if kind != field.type and not _stands_in(kind, field.type):
            written = f"{kind!s:.200}"
            raise InputError(
                f"the table {name} of {day} has {field.name} of type {written}, not {field.type}: {ADVICE}"
            )


def validate_utf8(table: pa.Table, name: str, day: str) -> None:
    """Raise :class:`InputError` if a string column contains invalid UTF-8."""
    for column, values in zip(table.column_names, table.columns, strict=True):
        kind = values.type
        if not (pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        for chunk in values.chunks:
            try:
                (chunk.dictionary if pa.types.is_dictionary(kind) else chunk).validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(
                    f"the table {name} of {day} has a text in {column} that is not UTF-8: {ADVICE}"
                ) from None


def validate_unique_keys(table: pa.Table, key: Sequence[str], name: str, day: str) -> None:
    """Raise :class:`InputError` if two rows have the same values in the columns ``key``, and so would count twice."""
    if table.group_by(list(key), use_threads=False).aggregate([]).num_rows != table.num_rows:
        raise InputError(f"the table {name} of {day} has two rows of one key ({', '.join(key)}): {ADVICE}")


# The key of a row in a table of results: string columns without nulls, whose values together identify the row.
RESULT_KEYS = {
    "metrics": ("metric", "model", "slice", "slice_value"),
    "comparisons": ("metric", "candidate", "baseline", "slice", "slice_value"),
    "disparities": ("metric", "model", "slice"),
}
# The columns that must not contain nulls. Several verdicts may have the same subject, and a verdict about a missing
# model or slice has null in that column.
_WITHOUT_NULLS = {**RESULT_KEYS, "gates": ("gate", "kind", "metric", "verdict", "accepted")}
# Columns that every release has written, by table.
_REQUIRED = {
    "metrics": ("metric", "model", "slice", "value"),
    "comparisons": ("metric", "candidate", "baseline", "slice", "difference"),
    "disparities": ("metric", "model", "slice", "difference"),
    "gates": ("gate", "kind", "metric", "model", "slice", "verdict"),
    "curves": ("metric", "model", "slice", "curve", "x", "y", "threshold"),
    "blocks": ("model", "slice", "rule", "score", "pos", "neg"),
    "distributions": ("metric", "model", "slice", "value", "groups"),
}


def validate_required(columns: Sequence[str], name: str, day: str) -> None:
    """Raise :class:`InputError` if ``columns`` lacks a column that every release writes to the table ``name``."""
    lacking = [column for column in _REQUIRED.get(name, ()) if column not in columns]
    if lacking:
        raise InputError(f"the table {name} of {day} lacks {', '.join(lacking)}: {ADVICE}")


def validate_results(table: pa.Table, name: str, day: str, *, once: bool = True) -> None:
    """Raise :class:`InputError` if a table of results, such as ``metrics``, has an invalid row.

    A row is invalid if its key contains a null, if its weight is infinite or, with ``once``, if its key repeats.
    """
    for column in _WITHOUT_NULLS[name]:
        if column != "slice_value" and column in table.column_names and table[column].null_count:
            raise InputError(f"the table {name} of {day} has {column} that is null: {ADVICE}")
    # Weights are summed as exact fractions, which cannot be infinite.
    if "weight" in table.column_names and pc.any(pc.is_inf(table["weight"])).as_py():
        raise InputError(f"the table {name} of {day} has weight that is not finite: {ADVICE}")
    key = RESULT_KEYS.get(name, ()) if once else ()
    if key and set(key) <= set(table.column_names):
        validate_unique_keys(table, key, name, day)
