"""The names of a bucket's columns, and functions that combine the chunks of a column into one array."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

LABEL = "label"
ITEM = "item"
TRUTH = "truth"
PAST = "past"  # which table of the past a row is of, counted from 1; 0 for rows of the lists and the truth
LIST = "list"  # for input rows with arrays: the number of the input row, unique in the run
REFERENCE_RANK = "reference_rank"
WEIGHT = "weight"
PROPENSITY = "propensity"
CLUSTER = "cluster"
TIME = "time"  # of the lists, the truth and the interactions
SINCE = "since"  # looked up by item: since when it has been there
# For explanations: rows whose truth came before their list, and rows of a list before their item was there.
EARLY_TRUTH, EARLY_ITEM = "early_truth", "early_item"
TITLE = "title"  # for explanations: what the item is called
MODEL = "model"  # for rows that have the score of one model: the number of the model, null in truth rows
_KEY = "key_"
_SCORE = "score_"
_SLICE = "slice_"


# The names of numbered columns: of the group key, scores of models, slices, weights of groups, and values.
key_column, score_column, slice_column = f"{_KEY}{{}}".format, f"{_SCORE}{{}}".format, f"{_SLICE}{{}}".format
group_weight_column = "group_weight_{}".format
value_column = "value_{}".format
_FURTHER_LABEL = "label_"
label_column = f"{_FURTHER_LABEL}{{}}".format  # of a further label, by its place among all, from 1
# Flags of the rows whose group has their item in a table of the past, by the name of the table.
past_column = "past_{}".format


def labels_of(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are names of label columns."""
    return [name for name in names if name == LABEL or name.startswith(_FURTHER_LABEL)]


def key_columns(rows: pa.Table | pa.RecordBatch) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_KEY)]


def slice_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SLICE)]


def score_columns(rows: pa.Table) -> list[str]:
    return [name for name in rows.column_names if name.startswith(_SCORE)]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array. Values are copied only if the column has several chunks."""
    if not column.num_chunks and pa.types.is_dictionary(column.type):  # pyarrow 18 cannot combine zero chunks
        kind = column.type
        return pa.DictionaryArray.from_arrays(pa.array([], kind.index_type), pa.array([], kind.value_type))
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def in_one_piece(rows: pa.Table) -> pa.Table:
    """Return ``rows`` with the chunks of each column combined into one.

    Exceptions are a single key column, and columns with values only in the lists or only in the truth.
    """
    keys = key_columns(rows)
    columns = [
        column if keys == [name] or _is_of_one_side(column) else one_array(column)
        for name, column in zip(rows.column_names, rows.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _is_of_one_side(column: pa.ChunkedArray) -> bool:
    filled = [chunk for chunk in column.chunks if chunk.null_count < len(chunk)]
    return len(filled) == 1 and not filled[0].null_count and column.num_chunks > 1
