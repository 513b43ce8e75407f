"""Tables of lists and truth, and what an evaluation of them says."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

import sparkrank as sr
from sparkrank.run.execute import EvaluationOutcome
from tests.oracles import Given, Listed

COLUMNS = {"group": "user", "item": "item", "score": "score", "label": "label"}


def lists_table(rows: Sequence[Listed], item: pa.DataType | None = None) -> pa.Table:
    return _table(rows, "score", item)


def truth_table(rows: Sequence[Given], item: pa.DataType | None = None) -> pa.Table:
    return _table(rows, "label", item)


def _table(rows: Sequence[Listed | Given], number: str, item: pa.DataType | None) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    types = {"user": pa.string(), "item": item or pa.string(), number: pa.float64()}
    return pa.table([pa.array(*each) for each in zip(columns, types.values(), strict=True)], [*types])


def values_of(evaluation: sr.Evaluation, metric: str, key: str = "user") -> dict[str, float]:
    """The value of each group, by its ``key``."""
    return dict(zip(evaluation.groups[key].to_pylist(), evaluation.groups[metric].to_pylist(), strict=True))


def counts_of(evaluation: sr.Evaluation | EvaluationOutcome) -> dict[str, float]:
    """The counts of quality, by check."""
    return {row["check"]: row["count"] for row in evaluation.quality.to_pylist()}


LISTS = [("u", item, 5.0 - place) for place, item in enumerate("abcde")]
TRUTH = [("u", item, 1.0) for item in "abex"]
