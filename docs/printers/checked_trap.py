"""A label that a human checks in part, worked on forty lists of one item."""

from __future__ import annotations

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### A label that a human checks in part

Forty users are shown one item each, and a machine labels all forty relevant. A human judges the lists of thirty users,
drawn at random, and finds 20 items relevant and 10 not. `label: {machine: machine, human: human}` names both labels.
With the machine's labels the mean is too high. With `label=human` the lists that no human saw count as not relevant, so
it is too low. `checked_by=human` corrects the machine's mean over all users: it adds the mean of (value by the human -
value by the machine) over the users in whose list **every** row has the human's label (prediction-powered inference;
Angelopoulos et al., Science 2023).

The estimate has no bias, however bad the machine is, if those users were drawn at random and their lists judged whole;
a better machine makes the interval shorter. The interval includes the variance of both means. At least 30 such users
are needed, and `quality` has their number; with fewer the metric is undefined. A value that is undefined with one of
the labels counts 0 in both means (or 1 under `undefined=one`), because the same users must be in both. That holds under
`undefined=skip` too, unlike in `ndcg(label=machine)`. The estimate may be a little outside of the range of the metric.
The group table has the values by the machine's label. A truth beside the lists, `exclude`, slices of relevant rows,
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
