"""Slices of rows and of relevant rows, both worked on one list."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### A slice of rows, and a slice of relevant rows

One list, best first: `a` (head, relevant), `b` (tail), `c` (tail, relevant), `d` (head); `e` (tail, relevant) is in no
list. `slices: [tier]` evaluates the rows of each tier as if there were no others: in the slice `tail`, `c` is second.
`{column: tier, of: relevant}` keeps the whole list and changes what is relevant: where `tier of relevant` is `tail`,
`c` is third and `a` counts as not relevant (Steck, RecSys 2011). Its groups are those with a relevant row of the value,
so that Σ (groups of v · `p@k` of v) is groups · `p@k` of the day."""

ROWS = {
    "user": ["ann"] * 5,
    "item": list("abcde"),
    "tier": ["head", "tail", "tail", "head", "tail"],
    "score": [0.9, 0.8, 0.7, 0.6, None],
    "label": [1, 0, 1, 0, 1],
}
# The arithmetic for each slice and metric, of tier tail.
ANSWERS = {
    "tier": {"r@2": "1 / 2", "p@2": "1 / 2", "rr": "1 / 2"},
    "tier of relevant": {"r@2": "0 / 2", "p@2": "0 / 2", "rr": "1 / 3"},
}


def slice_markdown() -> str:
    """The section: its text, and a table with a row for each slice and metric."""
    slices: list[Any] = ["tier", {"column": "tier", "of": "relevant"}]
    columns: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
    evaluation = evaluate(pa.table(ROWS), list(ANSWERS["tier"]), slices=slices, uncertainty=False, **columns)
    lines = [
        [f"`{metric}`, `{slice_}`", "tail", f"`{shown}`", f"{_value(evaluation, metric, slice_):.3f}"]
        for slice_, answers in ANSWERS.items()
        for metric, shown in answers.items()
    ]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value'], lines)}"


def _value(evaluation: Any, metric: str, slice_: str) -> float:
    return float(evaluation.value(metric, slice={slice_: "tail"}))
