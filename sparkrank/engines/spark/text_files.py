"""CSV and JSON as Spark reads them, with the columns that :mod:`sparkrank.engines.arrow.text_files` makes of them.

Numbers are read as texts and become numbers here, so that one that is none is counted, whatever the session is set to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkrank.engines.arrow.text_schema import (
    BLANK,
    FALSE,
    LABEL_KIND,
    NO_NUMBER,
    NUMBER,
    NUMBERS,
    STRICT,
    TRUE,
    WHOLE,
    WHOLE_NUMBER,
    Field,
    is_set,
    number_kinds,
    typed_columns,
)
from sparkrank.engines.spark.values import named
from sparkrank.errors import InputError, did_you_mean, listed, shortened
from sparkrank.roles import Roles

_GIVEN = re.compile(r"_c\d+|.*\d")  # names that Spark may have given to columns of a header without


def text_frame(
    read: Callable[..., DataFrame],
    kind: str,
    options: Mapping[str, str],
    fields: Sequence[Field] | None,
    roles: Roles,
    needed: Sequence[str],
    what: str,
) -> DataFrame:
    """The rows of CSV or JSON, with a column that says whether a text in one of those ``needed`` is no number.

    ``read`` gives what Spark reads there with ``options``, and a ``schema`` or without.

    Raises :class:`InputError` where a column of the schema (``fields``) is not there, and what Spark raises.
    """
    settings = {**STRICT, **options}
    if kind == "csv":
        settings["columnPruning"] = "false"  # or rows of other lengths than the header's are cut or filled up
    kinds, texts = _kinds(read, kind, settings, fields, roles, what)
    stored = {name: "string" if name in texts else of for name, of in kinds.items()}
    if kind == "csv" and is_set(options, "header") and not any(map(_GIVEN.fullmatch, stored)):
        settings = {"enforceSchema": "false", **settings}  # each file has this header
    schema = ", ".join(f"`{name.replace('`', '``')}` {of}" for name, of in stored.items())
    frame = read(options=settings, schema=schema)
    counted = {*number_kinds(roles, fields), *(column for _, column in roles.columns())} & set(needed) & texts
    values, spoiled = [], F.lit(False)
    for name, of in kinds.items():
        column = named(name)
        value = _typed(column, of) if name in texts else column
        values.append(value.alias(name))
        if name in counted:
            spoiled = spoiled | (column.isNotNull() & value.isNull())
    if roles.true_items is not None:
        return frame.select(*values)
    return frame.select(*values, spoiled.alias(NO_NUMBER))


def _kinds(
    read: Callable[..., DataFrame],
    kind: str,
    settings: Mapping[str, str],
    fields: Sequence[Field] | None,
    roles: Roles,
    what: str,
) -> tuple[dict[str, str], set[str]]:
    """The columns in their order, and the kind of each; and those of them that are texts and become numbers."""
    numbers = number_kinds(roles, fields)
    declared = {field.name for field in fields or ()}
    becoming = {*numbers, *(field.name for field in fields or () if field.kind in (*NUMBERS, "boolean"))}
    if fields is not None and not (kind == "csv" and is_set(settings, "header")):
        return typed_columns([field.name for field in fields], roles, fields, {}), becoming & declared
    schema = read(options=settings).schema
    found = {field.name: field.dataType.simpleString() for field in schema}
    for field in fields or ():
        if field.name not in found:
            near = did_you_mean(field.name, found)
            raise InputError(
                f'the column "{shortened(field.name)}" of {what}.schema is not in the {what}{near} ({listed(found)})'
            )
    if kind == "json":  # which has numbers and booleans of its own
        texts = {name for name in numbers if found.get(name) == "string"}
        return {name: numbers[name] if name in texts else of for name, of in found.items()}, texts
    if is_set(settings, "inferSchema"):
        found |= {column: "string" for role, _, column in roles.played() if role.is_name and column in found}
    return typed_columns(list(found), roles, fields, found), becoming & set(found)


def _typed(texts: Column, kind: str) -> Column:
    """``texts`` as values of ``kind``, null where one is none: what :func:`text_values.typed` makes of them."""
    is_true, is_word = texts.rlike(TRUE), texts.rlike(TRUE) | texts.rlike(FALSE)
    if kind == "boolean":
        return F.when(is_word, is_true)
    if kind == LABEL_KIND:
        return F.when(is_word, is_true.cast("tinyint").cast("double")).otherwise(_typed(texts, "double"))
    pattern = WHOLE_NUMBER if kind in WHOLE else NUMBER
    return F.when(texts.rlike(pattern), F.btrim(texts, F.lit(BLANK)).try_cast(kind))
