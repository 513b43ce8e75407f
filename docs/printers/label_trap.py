"""Several labels, and one among the rows of another, worked on one list."""

from __future__ import annotations

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### A label among the rows of another

One list, best first: `a` (clicked), `b`, `c` (clicked and paid), `d` (clicked), with the predicted probabilities 0.4,
0.3, 0.2 and 0.1 that a click leads to a payment. `label: {click: clicked, pay: paid}` names two labels, and metrics
read the first unless their text says `label=pay`. `among=click` leaves out `b`, which nobody clicked, before positions
are given, so `c` is second and the mean prediction is over three rows (after the click: Ma et al., SIGIR 2018). Without
`among`, predictions that assume a click are compared with rows that had none. `gain={click:1,pay:5}` is click +
5·pay, where a null counts 0; on a day on which no row has one of the labels, the metric is undefined."""

ROWS = {
    "user": ["ann"] * 4,
    "chance": [0.4, 0.3, 0.2, 0.1],
    "clicked": [1, 0, 1, 1],
    "paid": [0, 0, 1, 0],
}
# The arithmetic for each metric.
ANSWERS = {
    "rr": "1 / 1",
    "rr(label=pay)": "1 / 3",
    "rr(label=pay,among=click)": "1 / 2",
    "auc(label=pay)": "(0 + 0 + 1) / 3",
    "auc(label=pay,among=click)": "(0 + 1) / 2",
    "copc(label=pay)": "1 / (0.4 + 0.3 + 0.2 + 0.1)",
    "copc(label=pay,among=click)": "1 / (0.4 + 0.2 + 0.1)",
    "cg(gain={click:1,pay:5})@3": "1 + 0 + (1 + 5)",
}


def label_markdown() -> str:
    """The section: its text, and a table with a row for each metric."""
    labels = {"click": "clicked", "pay": "paid"}
    evaluation = evaluate(pa.table(ROWS), list(ANSWERS), group="user", score="chance", label=labels, uncertainty=False)
    lines = [[f"`{metric}`", "ann", f"`{shown}`", f"{evaluation[metric]:.3f}"] for metric, shown in ANSWERS.items()]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value'], lines)}"
