"""The reading of CSV and JSON by Spark, with column types from the schema or the roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from sparkrank.base.errors import InputError, hint, shorten
from sparkrank.inputs.roles import Roles
from sparkrank.sources.text_schema import DdlField, is_set, typed_columns

_GIVEN = re.compile(r"_c\d+|.*\d")  # names that Spark may have given to columns that have none in the header


def text_frame(
    read: Callable[..., DataFrame],
    kind: str,
    options: Mapping[str, str],
    fields: Sequence[DdlField] | None,
    roles: Roles,
    what: str,
) -> DataFrame:
    """Read CSV or JSON by calling ``read``, with the column types in ``fields``.

    If ``fields`` is None, Spark infers the types of JSON columns, and the types of CSV columns follow from ``roles``.
    """
    settings = options
    names = [field.name for field in fields or ()]
    kinds: dict[str, str] = {}
    if kind == "json" and fields is None:
        kinds = {field.name: field.dataType.simpleString() for field in read(options=settings).schema}
    elif kind == "csv" and (fields is None or is_set(settings, "header")):
        header = read(options=settings).schema.names
        for name in names:
            if name not in header:
                raise InputError(
                    f'the column "{shorten(name)}" of {what}.schema is not in the {what}{hint(name, header, "")}'
                )
        names = header
        if is_set(settings, "header") and not any(map(_GIVEN.fullmatch, names)):
            settings = {**options, "enforceSchema": "false"}  # every file has this header
    kinds = kinds or typed_columns(names, roles, fields)
    columns = (f"`{name.replace('`', '``')}` {column_type}" for name, column_type in kinds.items())
    return read(options=settings, schema=", ".join(columns))
