"""The values of group metrics for the lists of an Arrow batch, computed by the same functions as for a bucket.

A batch is one Arrow array of lists of structs, or several arrays of lists of equal lengths. Each list is a group, and
its index in the batch is the group's number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import InputError, itemize, shorten
from sparkrank.bucket.bucket_rows import BucketRows
from sparkrank.bucket.evaluate import ranked_models
from sparkrank.bucket.grouping import Groups
from sparkrank.bucket.impressions import LABEL, LIST, in_one_piece, score_column
from sparkrank.bucket.joining import judge
from sparkrank.bucket.ranked import RankedModel
from sparkrank.bucket.rejection import reject
from sparkrank.functions.column_plans import ColumnPlan
from sparkrank.inputs.role_table import LABEL as OF_LABEL
from sparkrank.inputs.role_table import NEEDED, RANK, SCORE, Role, row_roles
from sparkrank.metrics import Definitions, Plan
from sparkrank.numeric.array_types import Codes, Flags, Floats, Ints
from sparkrank.sources.types import is_list, list_parts, plain_array
from sparkrank.sources.values import FITS, READERS

# The most rows evaluated at a time, unless one list has more. A batch has ten thousand lists of any length.
MOST_ROWS = 1 << 20
ROLES = {"score": SCORE, "rank": RANK, "label": OF_LABEL} | {role.key: role for role in row_roles()}


def values_of_lists(arrays: Sequence[pa.Array], column_plan: ColumnPlan) -> list[pa.Array]:
    """Return one array of shape (n,) for each metric, with its values for the n lists of a batch.

    A value is null if it is undefined or the list is null, and NaN if a row of the list cannot be evaluated, such as a
    row with a NaN score. Raise :class:`InputError` if a column has the wrong type, if the arrays of one list differ in
    length, or if a definition such as ``undefined=error`` forbids the lists.
    """
    ranked = BatchRankings.of(lists_of(arrays, column_plan.roles), column_plan.plan)
    values = ranked.values_of(column_plan.plan)
    for model in ranked.models:
        model.drop_cached()
    return values


@dataclass(frozen=True)
class BatchLists:
    """The n lists of a batch: n + 1 offsets ``ends``, n flags ``null``, and the elements of all lists for each role."""

    ends: Ints
    null: Flags
    columns: dict[str, pa.Array]

    def chunks(self) -> Iterator[BatchLists]:
        """Yield the batch in chunks of whole lists. A chunk has up to :data:`MOST_ROWS` rows, or one longer list."""
        first, count = 0, len(self.null)
        if self.ends[-1] <= MOST_ROWS:
            yield self
            return
        while first < count:
            last = int(np.searchsorted(self.ends, self.ends[first] + MOST_ROWS, side="right")) - 1
            last = max(last, first + 1)
            low, high = int(self.ends[first]), int(self.ends[last])
            columns = {key: column.slice(low, high - low) for key, column in self.columns.items()}
            yield BatchLists(self.ends[first : last + 1] - low, self.null[first:last], columns)
            first = last

    def without(self, lists: Flags) -> BatchLists:
        """Return a copy in which the lists flagged by ``lists`` are empty."""
        lengths = np.diff(self.ends)
        kept = pa.array(~np.repeat(lists, lengths))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(lists, 0, lengths))])
        return BatchLists(ends, self.null, {key: column.filter(kept) for key, column in self.columns.items()})


def lists_of(arrays: Sequence[pa.Array], roles: Sequence[str]) -> BatchLists:
    """Return the lists in ``arrays``: one array of lists of structs, or one array of lists for each role."""
    null = np.logical_or.reduce([array.is_null().to_numpy(zero_copy_only=False) for array in arrays])
    # a NULL in SQL has no type
    arrays = [array.cast(pa.list_(pa.null())) if pa.types.is_null(array.type) else array for array in arrays]
    arrays = [plain_array(array) if is_list(array.type) else array for array in arrays]
    kind = arrays[0].type.value_type if len(arrays) == 1 and is_list(arrays[0].type) else None
    if kind is not None and (pa.types.is_struct(kind) or pa.types.is_null(kind)):  # null: all lists are empty
        ends, elements = list_parts(arrays[0])
        return BatchLists(ends, null, _fields(elements, roles))
    if len(arrays) != len(roles):
        raise InputError(
            f"{len(arrays)} columns are given, and {len(roles)} are needed, arrays of {itemize(roles)}, or one array "
            "of structs of these"
        )
    for key, array in zip(roles, arrays, strict=True):
        if not is_list(array.type):
            raise InputError(
                f"the {ROLES[key].name} column is {shorten(array.type)}: an array is needed, that of a list in each "
                'row (of="rows" says that it has the rows of a list)'
            )
    parts = [list_parts(array.filter(pa.array(~null)) if null.any() else array) for array in arrays]
    ends = parts[0][0]
    for key, (others, _) in zip(roles, parts, strict=True):
        if not np.array_equal(ends, others):
            place = int(np.argmax(np.diff(ends) != np.diff(others)))
            size, other = (int(np.diff(all_ends)[place]) for all_ends in (ends, others))
            names = ROLES[roles[0]].name, ROLES[key].name
            raise InputError(
                f"a row has {size} {names[0]}s and {other} {names[1]}s: arrays of one row need equal lengths"
            )
    if null.any():
        lengths = np.zeros(len(null), np.int64)
        lengths[~null] = np.diff(ends)
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return BatchLists(ends, null, {key: values for key, (_, values) in zip(roles, parts, strict=True)})


def _fields(elements: pa.Array, roles: Sequence[str]) -> dict[str, pa.Array]:
    """Return the struct field for each role, by name or by position. Raise :class:`InputError` if they do not fit."""
    if pa.types.is_null(elements.type):
        return dict.fromkeys(roles, elements)
    names = [field.name.lower() for field in elements.type]
    fields = elements.flatten()
    if set(roles) <= set(names):
        return {key: fields[names.index(key)] for key in roles}
    misplaced = any(name in ROLES and name != key for name, key in zip(names, roles, strict=False))
    if len(names) != len(roles) or misplaced:
        raise InputError(
            f"the structs have {len(names)} fields ({itemize(names)}), and {itemize(roles)} are needed, by these names "
            "or no more than these in this order"
        )
    return dict(zip(roles, fields, strict=True))


@dataclass(frozen=True)
class BatchRankings:
    """The ranked lists of a batch, in chunks. ``bad`` flags the lists with a row that cannot be evaluated."""

    lists: BatchLists
    models: tuple[RankedModel, ...]
    bad: Flags
    repeated: int

    @classmethod
    def of(cls, lists: BatchLists, plan: Plan) -> BatchRankings:
        """Return the rankings of ``lists``. A list with a row that cannot be evaluated is ranked as an empty list."""
        models: list[RankedModel] = []
        bad, repeated = [np.zeros(0, np.bool_)], 0
        for part in lists.chunks():
            model, bad_lists, counts = _ranked(part, plan)
            models.append(model)
            bad.append(bad_lists)
            repeated += counts[checks.REPEATED_ROWS, model.name]
        return cls(lists, tuple(models), np.concatenate(bad), repeated)

    def values_of(self, plan: Plan) -> list[pa.Array]:
        """Return one array of n values for each metric of ``plan``, the same plan as in :meth:`of`."""
        definitions = plan.definitions
        if definitions.duplicates == "error" and self.repeated:
            raise InputError(f"duplicates=error, and there are duplicates ({checks.REPEATED_ROWS}: {self.repeated})")
        left_out = np.concatenate([self.lists.null[:0], *map(_left_out, self.models)]) | self.lists.null
        return [self._values(str(metric), left_out, definitions) for metric in plan.metrics]

    def _values(self, name: str, left_out: Flags, definitions: Definitions) -> pa.Array:
        values: Floats = np.concatenate([np.empty(0), *(model.values()[name].by_group() for model in self.models)])
        undefined = np.isnan(values) & ~left_out & ~self.bad
        if definitions.undefined == "error" and undefined.any():
            count = int(np.count_nonzero(undefined))
            raise InputError(f"{name} is undefined in {count} lists of a batch, and undefined=error")
        if definitions.counts_undefined_as is not None:
            values = np.where(undefined, definitions.counts_undefined_as, values)
            undefined = np.zeros(len(values), np.bool_)
        values = np.where(self.bad, np.nan, values)
        return pa.array(values, pa.float64(), mask=undefined | left_out)


def _left_out(model: RankedModel) -> Flags:
    """Return one flag for each list, which is True if the model is not evaluated in that list."""
    return np.zeros(model.ranking.groups, np.bool_) if model.chosen is None else ~model.chosen


def _ranked(lists: BatchLists, plan: Plan) -> tuple[RankedModel, Flags, Counter[tuple[str, str]]]:
    """Rank ``lists``. Return the ranked model, flags that are True for lists with a bad row, and the check counts."""
    counts: Counter[tuple[str, str]] = Counter()
    rows, codes = _bucket_rows(lists)
    accepted = reject(BucketRows(rows), plan, counts)
    bad = np.zeros(len(lists.null), np.bool_)
    if len(accepted) < rows.num_rows:
        left = accepted.values(LIST).astype(np.int32)
        bad = np.bincount(codes, minlength=len(bad)) != np.bincount(left, minlength=len(bad))
        model, _, counts = _ranked(lists.without(bad), plan)
        return model, bad, counts
    groups = Groups(codes, len(bad))
    (model,) = ranked_models(judge(accepted, groups, plan, counts), plan, counts, {})
    return model, bad, counts


def _bucket_rows(lists: BatchLists) -> tuple[pa.Table, Codes]:
    """Return the rows of ``lists`` as a bucket has them, and the list index of each. An empty list has a null row."""
    lengths = np.diff(lists.ends)
    codes = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    empty = np.flatnonzero(lengths == 0).astype(np.int32)
    codes = np.concatenate([codes, empty])
    columns = {}
    for key, values in lists.columns.items():
        column = read_column(values, ROLES[key])
        name = score_column(0) if key in ("score", "rank") else key
        if key == "rank":
            column = pc.negate(column)
        if len(empty):
            column = pa.chunked_array([pa.concat_arrays([*column.chunks, pa.nulls(len(empty), column.type)])])
        columns[name] = column
    if LABEL not in columns:
        columns[LABEL] = pa.chunked_array([pa.nulls(len(codes), pa.int8())])
    columns[LIST] = pa.chunked_array([codes])
    return in_one_piece(pa.table(columns)), codes


def read_column(values: pa.Array, role: Role) -> pa.ChunkedArray:
    """Return ``values`` in the type of ``role`` in a bucket. Raise :class:`InputError` if their type does not fit."""
    if not FITS[role.takes[0]](values.type):
        hint = ' (of="lists" says that a row has the arrays of a whole list)' if is_list(values.type) else ""
        raise InputError(f"the {role.name} column is {shorten(values.type)}: {NEEDED[role.takes[0]]} is needed{hint}")
    return READERS[role.reads](pa.chunked_array([values]))
