"""What a merge holds true of a stored table, checked before anything is added up: types, keys, numbers.

A table may be damaged, written by another program, or stand twice in its folder. Then a sentence names the day, the
table and the column. All checks go over whole columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import InputError
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, UNITS
from sparkrank.numeric.key_hashes import PARTS
from sparkrank.numeric.ordered_integers import bin_scores
from sparkrank.schemas.tables import PART
from sparkrank.states.part_sums import PARTS_OF_SLICE, WHOLE_DAY

SIGNED = ("offset",)  # of whole numbers; all others count something
# Sums of what is never below 0: weights, squares, rows by class.
NEVER_NEGATIVE = ("w", "ww", "wwvv", "pos", "neg")
_AT_MOST = (("n_undefined", "n_groups"), ("n_averaged", "n_groups"))
_MOST_CODES = 2**62
_ADVICE = "evaluate that day again"


def _stands_in(kind: pa.DataType, expected: pa.DataType) -> bool:
    """Whether ``kind`` is read as ``expected`` all the same.

    Spark writes instants in another unit, without a zone. Lists of fields had fewer of them in releases before.
    """
    if pa.types.is_list(expected) and pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        return all(field in list(expected.value_type) for field in kind.value_type)
    if pa.types.is_timestamp(expected):
        return bool(pa.types.is_timestamp(kind))
    return bool(pa.types.is_string(expected) and pa.types.is_large_string(kind))


def validate_column_types(found: pa.Schema, expected: pa.Schema, name: str, day: str) -> None:
    """Raise :class:`InputError` where a column of ``expected`` that a table has is of another type."""
    for field in expected:
        if field.name not in found.names:
            continue
        places = found.get_all_field_indices(field.name)
        if len(places) > 1:
            raise InputError(f"the table {name} of {day} has {len(places)} columns {field.name}: {_ADVICE}")
        kind = found.field(places[0]).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if kind != field.type and not _stands_in(kind, field.type):
            written = f"{kind!s:.200}"
            raise InputError(
                f"the table {name} of {day} has {field.name} of type {written}, not {field.type}: {_ADVICE}"
            )


def validate_utf8(table: pa.Table, name: str, day: str) -> None:
    """Raise :class:`InputError` where a column of texts has one that is none; of dictionaries each text is looked at
    once.
    """
    for column, values in zip(table.column_names, table.columns, strict=True):
        kind = values.type
        if not (pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        for chunk in values.chunks:
            try:
                (chunk.dictionary if pa.types.is_dictionary(kind) else chunk).validate(full=True)
            except pa.ArrowInvalid:
                raise InputError(
                    f"the table {name} of {day} has a text in {column} that is not UTF-8: {_ADVICE}"
                ) from None


def validate_unique_keys(table: pa.Table, key: Sequence[str], name: str, day: str) -> None:
    """Raise :class:`InputError` where two rows have one ``key``: what they hold would count twice."""
    code = _codes(table, [column for column in key if column != "block"])
    if "block" in key:
        block = table["block"].to_numpy()
        same = code[1:] == code[:-1]
        ascending = bool((~same | (block[1:] > block[:-1])).all())
        once = ascending and len(np.unique(runs := code[np.append(True, ~same)[: len(code)]])) == len(runs)
        if not once:
            order = np.lexsort((block, code))
            code, block = code[order], block[order]
            once = not ((code[1:] == code[:-1]) & (block[1:] == block[:-1])).any()
    else:
        once = bool((code[1:] > code[:-1]).all()) or len(np.unique(code)) == len(code)
    if not once:
        raise InputError(f"the table {name} of {day} has rows of one key twice ({', '.join(key)}): {_ADVICE}")


def validate_numbers(table: pa.Table, numbers: pa.Schema, name: str, day: str) -> None:
    """Raise :class:`InputError` for counts below 0, or of more than their whole, and sums that are not finite, no whole
    multiples of the unit of their limb, or below 0 where they never are.
    """

    def refuse(bad: Flags, column: str, what: str) -> None:
        if bad.any():
            raise InputError(f"the table {name} of {day} has {column} that is {what}: {_ADVICE}")

    sums: dict[str, list[Floats]] = {}
    for field in numbers:
        values = table[field.name].to_numpy()
        if pa.types.is_integer(field.type):
            if field.name not in SIGNED:
                refuse(values < 0, field.name, "below 0")
            continue
        amount, limb = field.name.rsplit("_", 1)
        with np.errstate(over="ignore", invalid="ignore"):
            units = values / UNITS[int(limb)]
            whole = units == np.rint(units)  # not so of NaN, but of infinity
            if not whole.all() or not np.isfinite(values.sum()):
                refuse(~np.isfinite(values), field.name, "not finite")
                refuse(~whole, field.name, "no whole number of its unit")
        sums.setdefault(amount, []).append(values)
    for amount in (each for each in NEVER_NEGATIVE if each in sums):
        refuse(_below_zero(sums[amount]), f"{amount}_0 to {amount}_{LIMBS - 1}", "a sum below 0")
    for part, whole in _AT_MOST:
        if part in numbers.names:
            refuse(table[part].to_numpy() > table[whole].to_numpy(), part, f"more than {whole}")
    if "block" in table.column_names:
        refuse(np.isnan(bin_scores(table["block"].to_numpy())), "block", "of no score")


# What a row of a table of results is about: texts that are there, and no two rows are about the same.
RESULT_KEYS = {
    "metrics": ("metric", "model", "slice", "slice_value"),
    "comparisons": ("metric", "candidate", "baseline", "slice", "slice_value"),
}
# Of verdicts several may be about the same, and one about a model or a slice that is not there names none.
_THERE = {**RESULT_KEYS, "gates": ("gate", "kind", "metric", "verdict", "accepted")}
_FINITE = ("value", "difference", "stderr", "ci_low", "ci_high", "weight")
_VERDICTS = ("pass", "fail", "undecided")


def validate_results(table: pa.Table, name: str, day: str, *, once: bool = True) -> None:
    """Raise :class:`InputError` where the rows of a table of results, as ``metrics``, are none that a run writes.

    Every row says what it is about, and the value of a slice alone may be null. Counts and weights are not below 0, and
    numbers are finite or undefined. Columns that the table lacks are not looked at, as those of an older version.
    ``once`` asks for one row of each.
    """

    def refuse(bad: pa.ChunkedArray, column: str, what: str) -> None:
        if pc.any(bad).as_py():
            raise InputError(f"the table {name} of {day} has {column} that is {what}: {_ADVICE}")

    for column, values in zip(table.column_names, table.columns, strict=True):
        if column in _THERE[name] and column != "slice_value":
            refuse(values.is_null(), column, "null")
        if pa.types.is_integer(values.type) or column == "weight":
            refuse(pc.less(values, pa.scalar(0, values.type)), column, "below 0")
        if column in _FINITE:
            refuse(pc.is_inf(values), column, "not finite")
        if column == "verdict":
            known = pc.is_in(values.cast(pa.string()), pa.array(_VERDICTS))
            refuse(pc.invert(known), column, f"none of {', '.join(_VERDICTS)}")
    key = RESULT_KEYS.get(name, ()) if once else ()
    if key and set(key) <= set(table.column_names):
        validate_unique_keys(table, key, name, day)


def validate_part_numbers(table: pa.Table, name: str, day: str) -> None:
    """Raise :class:`InputError` where a part is none of those that the whole day, or the values of a slice, have."""
    whole = np.asarray(pc.equal(table["slice"].cast(pa.string()), WHOLE_DAY).to_numpy(), np.bool_)
    part = table[PART.name].to_numpy()
    most = np.where(whole, PARTS, PARTS_OF_SLICE)
    if ((part < 0) | (part >= most)).any():
        raise InputError(f"the table {name} of {day} has {PART.name} that is none of {PARTS}: {_ADVICE}")


def validate_nonnegative_sums(table: pa.Table, names: Iterable[str], day: str) -> None:
    """Raise :class:`InputError` where a sum over rows whose name is among ``names`` is below 0."""
    ours = np.isin(np.array(table["name"].to_pylist(), object), list(names))
    below = _below_zero([table[f"total_{limb}"].to_numpy() for limb in range(LIMBS)])
    if (ours & below).any():
        raise InputError(f"the table states of {day} has a sum of rows below 0: {_ADVICE}")


def validate_distribution_values(distributions: pa.Table, day: str) -> None:
    """Raise :class:`InputError` where a value of a distribution, which people read, is not that of its block."""
    exact = np.asarray(pc.equal(distributions["rule"].cast(pa.string()), "exact").to_numpy(), np.bool_)
    values, scores = distributions["value"].to_numpy(), bin_scores(distributions["block"].to_numpy())
    if (np.isnan(values) | (exact & (values != scores))).any():
        raise InputError(f"the table distributions of {day} has value that is not that of its block: {_ADVICE}")


def _below_zero(limbs: Sequence[Floats]) -> Flags:
    """Which sums are below 0, by more than the rounding of what is added up here."""
    total, size = np.zeros_like(limbs[0]), np.zeros_like(limbs[0])
    with np.errstate(over="ignore"):
        for limb in limbs:
            total = total + limb
            size = size + np.abs(limb)
        below: Flags = total < -1e-12 * size
    return below


def _codes(table: pa.Table, names: Sequence[str]) -> Ints:
    """A number for the texts of each row in the columns ``names``: equal texts, equal numbers."""
    code, size = np.zeros(table.num_rows, np.int64), 1
    for name in names:
        found = table[name].combine_chunks()
        found = found if pa.types.is_dictionary(found.type) else found.dictionary_encode()
        texts = found.dictionary.dictionary_encode()  # a dictionary that was written elsewhere may repeat a text
        distinct = len(texts.dictionary) + 1
        if size * distinct > _MOST_CODES:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            size = int(code.max(initial=0)) + 1
        numbers = np.append(texts.indices.to_numpy(zero_copy_only=False), distinct - 1)  # None is a value too
        own = numbers[found.indices.fill_null(len(found.dictionary)).to_numpy(zero_copy_only=False)]
        code, size = code * distinct + own, size * distinct
    return code
