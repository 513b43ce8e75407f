"""Popularity of users, of rows, of some days and of relevant rows, all worked on the same two lists."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### Popularity of whom, and of which days

Before the lists, on Monday, ann and bob had `a` and cid had `b`; on Tuesday ann had `a` twice more and dot had `c`. Now
ann is shown `a` and `b`, and bob is shown `c` and clicks it. `novelty` is the mean of -log2 of the popularity of the
items shown. Libraries measure popularity in different ways: by the users who had the item (RecTools, RePlay) or by its
rows in a log (Recommenders), over the days of a training log or over the very day that is evaluated (`novelty@k`
without `of`). The last one calls an item new if nobody clicks it, and uses the labels that the model has to predict.
`interactions` counts every row of its table, so use `where` to choose the days: with Tuesday, one user had `c`;
without, nobody. In a mean over the rows of all lists ann's two rows count twice as much as bob's one; in a mean over
lists (`over=lists`) both lists count the same."""

LISTS = {
    "user": ["ann", "ann", "bob"],
    "item": ["a", "b", "c"],
    "score": [2.0, 1.0, 1.0],
    "label": [0, 0, 1],
}
MONDAY = [("ann", "a"), ("bob", "a"), ("cid", "b")]
TUESDAY = [("ann", "a"), ("ann", "a"), ("dot", "c")]
# The arithmetic for each metric, by the days of the interactions.
ANSWERS = {
    "both days": {
        "novelty(of=users)": "(-log2(2/4) - log2(1/4) - log2(1/4)) / 3",
        "novelty(of=users,over=lists)": "((-log2(2/4) - log2(1/4)) / 2 - log2(1/4)) / 2",
        "novelty(of=users,over=lists,scale=unit)": "((-log2(2/4) - log2(1/4)) / 2 - log2(1/4)) / 2 / log2(4)",
        "novelty(of=rows)": "(-log2(4/6) - log2(1/6) - log2(1/6)) / 3",
    },
    "Monday": {
        "novelty(of=users)": "(-log2(2/3) - log2(1/3) - log2(1/3)) / 3",
        "novelty(of=rows)": "(-log2(2/3) - log2(1/3) - log2(1/3)) / 3",
    },
    "none": {"novelty": "(-log2(1/2) - log2(1/2) - log2(1/2)) / 3"},
}
DAYS = {"both days": [*MONDAY, *TUESDAY], "Monday": MONDAY, "none": []}


def popularity_markdown() -> str:
    """The section: its text, and a table with a row for each metric and each choice of days."""
    columns: dict[str, Any] = {"group": "user", "item": "item", "score": "score", "label": "label"}
    lines = []
    for days, answers in ANSWERS.items():
        users, items = map(list, zip(*DAYS[days], strict=True)) if DAYS[days] else ([], [])
        past = {"interactions": pa.table({"user": users, "item": items})} if users else {}
        evaluation = evaluate(pa.table(LISTS), [*answers], uncertainty=False, **past, **columns)
        lines += [[f"`{metric}`", days, f"`{shown}`", f"{evaluation[metric]:.3f}"] for metric, shown in answers.items()]
    return f"{TEXT}\n\n{markdown_table(['written', 'interactions', 'arithmetic', 'value'], lines)}"
