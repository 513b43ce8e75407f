"""Tables of lists and truth, and what an evaluation of them says."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import sparkrank as sr
from tests.oracles import Given, Listed

COLUMNS = {"group": "user", "item": "item", "score": "score", "label": "label"}


def lists_table(rows: Sequence[Listed], item: pa.DataType | None = None) -> pa.Table:
    """A table of lists: user, item, score."""
    return _table(rows, item, "score")


def truth_table(rows: Sequence[Given], item: pa.DataType | None = None) -> pa.Table:
    """A table of truth: user, item, label."""
    return _table(rows, item, "label")


def _table(rows: Sequence[tuple], item: pa.DataType | None, number: str) -> pa.Table:
    schema = pa.schema({"user": pa.string(), "item": item or pa.string(), number: pa.float64()})
    return pa.table([list(values) for values in zip(*rows, strict=True)] or [[], [], []], schema=schema)


def values_of(evaluation: sr.Evaluation, metric: str) -> dict[str, float]:
    """The value of each group, by its user."""
    return dict(zip(evaluation.groups["user"].to_pylist(), evaluation.groups[metric].to_pylist(), strict=True))


def counts_of(evaluation: sr.Evaluation) -> dict[str, float]:
    """The counts of quality, by check."""
    return {row["check"]: row["count"] for row in evaluation.quality.to_pylist()}


LISTS = [("u", item, 5.0 - place) for place, item in enumerate("abcde")]
TRUTH = [("u", item, 1.0) for item in "abex"]
