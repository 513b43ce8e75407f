"""A label that a surer one checks in part, worked on forty lists of one item."""

from __future__ import annotations

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### A label that a human checks in part

Forty users are shown one item each, and a machine says of all that it was relevant. A human has judged the lists of
thirty users, drawn at random, and found 20 relevant items there and 10 that are not. `label: {machine: machine,
human: human}` names both labels. By the machine the mean is too high. `label=human` alone counts what no human saw as
not relevant. `checked_by=human` adds to the mean of all users the mean of what the human says less what the machine
says, over the users in whose list **every** row has the human's label (prediction-powered inference; Angelopoulos et
al., Science 2023).

It is right for any machine, however bad, if those users were drawn at random and their lists judged whole; a better
machine makes the interval shorter. The interval has the variance of both means. At least 30 such users are needed,
and `quality` has their number; with fewer the metric is undefined. A value that is undefined by a label counts 0 in
both means (or 1 under `undefined=one`), as one label may find something where the other does not: under
`undefined=skip` too, unlike in `ndcg(label=machine)`. The estimate may lie a little outside of the range of the
metric. The group table has the values by the machine. A truth beside the lists, `exclude`, slices of relevant rows,
percentiles, weights, `among`, `unjudged` and `propensity` are refused with it."""

ROWS = {
    "user": range(40),
    "score": [1.0] * 40,
    "machine": [1] * 40,
    "human": [None if user >= 30 else int(user % 3 > 0) for user in range(40)],
}
# The arithmetic for each metric.
ANSWERS = {
    "p@1": "40 / 40",
    "p(label=human)@1": "20 / 40",
    "p(checked_by=human)@1": "40/40 + (20 - 30) / 30",
}


def checked_markdown() -> str:
    """The section: its text, and a table with a row for each metric."""
    labels = {"machine": "machine", "human": "human"}
    evaluation = evaluate(pa.table(ROWS), list(ANSWERS), group="user", score="score", label=labels, uncertainty=False)
    lines = [[f"`{metric}`", "all", f"`{shown}`", f"{evaluation[metric]:.3f}"] for metric, shown in ANSWERS.items()]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value'], lines)}"
