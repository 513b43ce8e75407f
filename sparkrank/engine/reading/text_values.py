"""Numbers in texts: one grammar for every lane, by patterns that Arrow and Spark read alike.

A number has digits, a point, an exponent, a sign; blanks and tabs may stand around it. ``nan``, ``inf`` and
``infinity`` are numbers in upper and lower case. A label may be ``true`` or ``false`` as well.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.engine.reading.ddl import WHOLE

BLANK = " \t"
WHOLE_NUMBER = r"\A[ \t]*[+-]?[0-9]+[ \t]*\z"
NUMBER = (
    r"\A[ \t]*(?:[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
    r"|[nN][aA][nN])[ \t]*\z"
)
TRUE, FALSE = r"\A[ \t]*[tT][rR][uU][eE][ \t]*\z", r"\A[ \t]*[fF][aA][lL][sS][eE][ \t]*\z"
LABEL_KIND = "label"  # a number, or true or false
_ARROW = {
    "string": pa.string(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    LABEL_KIND: pa.float64(),
}


def arrow_kind(kind: str) -> pa.DataType:
    """The Arrow type of a column of ``kind``."""
    return _ARROW[kind]


def typed(texts: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """``texts`` as values of ``kind``, null where one is none."""
    if kind == "string":
        return texts
    if kind in ("boolean", LABEL_KIND):
        is_true = pc.match_substring_regex(texts, TRUE)
        is_word = pc.or_(is_true, pc.match_substring_regex(texts, FALSE))
        if kind == "boolean":
            return pc.if_else(is_word, is_true, pa.scalar(None, pa.bool_()))
        return pc.if_else(is_word, is_true.cast(pa.int8()).cast(pa.float64()), typed(texts, "double"))
    pattern = WHOLE_NUMBER if kind in WHOLE else NUMBER
    numbers = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))
    numbers = pc.replace_substring_regex(pc.utf8_trim(numbers, characters=BLANK), r"\A\+", "")
    return _whole(numbers, kind) if kind in WHOLE else _floats(numbers, arrow_kind(kind))


def _floats(numbers: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    try:
        return numbers.cast(kind)
    except pa.ArrowInvalid:  # older versions of Arrow refuse what is beyond the largest and the smallest double
        texts = numbers.fill_null("nan").combine_chunks().to_numpy(zero_copy_only=False).astype(np.str_)
        with np.errstate(over="ignore"):
            floats = pa.array(texts.astype(np.float64).astype(kind.to_pandas_dtype()))
        return pa.chunked_array([pc.if_else(pc.is_valid(numbers.combine_chunks()), floats, pa.scalar(None, kind))])


def fitting(numbers: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Whole ``numbers`` as those of ``kind``, null where one is beyond its limits."""
    most = 2 ** (WHOLE[kind] - 1) - 1
    lowest, highest = (pa.scalar(value).cast(numbers.type) for value in (-most - 1, most))
    fits = pc.and_(pc.greater_equal(numbers, lowest), pc.less_equal(numbers, highest))
    return pc.if_else(fits, numbers, pa.scalar(None, numbers.type)).cast(arrow_kind(kind))


def _whole(numbers: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    short = pc.replace_substring_regex(numbers, r"\A(-?)0+([0-9])", r"\1\2")
    short = pc.if_else(pc.less_equal(pc.utf8_length(short), 20), short, pa.scalar(None, pa.string()))
    try:
        return short.cast(arrow_kind(kind))
    except pa.ArrowInvalid:  # one is too large
        return fitting(short.cast(pa.decimal128(38, 0)), kind)
