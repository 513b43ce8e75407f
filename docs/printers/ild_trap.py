"""What the distances within a list are divided by, worked on a list of four items and one of a single item."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate
from sparkrank.metrics import Metric

TEXT = """\
### What the diversity of a list is divided by

ann is shown four items: jazz of 2001, jazz of 2003, rock of 2001 and folk of 2001, with the vectors (1, 0), (1, 0), (0,
1) and (1, 1). They make six pairs, of which five differ in genre and three in year. sparkrank, RecTools and jurity
divide by the number of pairs. Evidently divides by the rows of the list: `5 / 4 = 1.250`, and (n - 1) / 2 for n rows
that all differ, so its value grows with k. RecTools adds up columns, and `scale=mean` divides by their number.
Recommenders and LensKit take the mean cosine similarity of two items: Recommenders' diversity is 1 minus that, and
LensKit's ILS is the similarity itself, `(1 + 3/sqrt(2)) / 6 = 0.520`. bob is shown one item, so there is no pair. In
sparkrank his list has no value and is left out of the mean; RecTools counts it as 0, as `single=zero` does."""

ROWS = {
    "user": ["ann"] * 4 + ["bob"],
    "item": list("abcde"),
    "score": [4.0, 3.0, 2.0, 1.0, 1.0],
    "label": [0] * 5,
    "genre": ["jazz", "jazz", "rock", "folk", "rock"],
    "year": [2001, 2003, 2001, 2001, 2002],
    "vector": [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]],
}
# What is written, of whom, the arithmetic, and the library that divides so.
ANSWERS = (
    ("ild(by=genre)", "ann", "5 / 6", "RecTools, of one column"),
    ("ild(by=[genre,year])", "ann", "(5 + 3) / 6", "RecTools"),
    ("ild(by=[genre,year],scale=mean)", "ann", "(5 + 3) / (2·6)", ""),
    ("ild(by=vector,distance=cosine)", "ann", "(1 + 1 + 3·(1 - 1/sqrt(2))) / 6", "Recommenders, jurity"),
    ("ild(by=genre)", "all", "(5/6) / 1", ""),
    ("ild(by=genre,single=zero)", "all", "(5/6 + 0) / 2", "RecTools"),
)


def ild_markdown() -> str:
    """The section: its text, and a table with a row for each answer."""
    columns: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
    metrics = [metric for metric, *_ in ANSWERS]
    evaluation: Any = evaluate(pa.table(ROWS), metrics, uncertainty=False, **columns)
    values = {row["user"]: row for row in evaluation.groups.to_pylist()} | {"all": evaluation}
    lines = [
        [f"`{metric}`", whose, f"`{arithmetic}`", f"{values[whose][str(Metric.parse(metric))]:.3f}", library]
        for metric, whose, arithmetic, library in ANSWERS
    ]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value', 'as in'], lines)}"
