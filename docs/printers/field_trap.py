"""Errors of scores on the whole and in each field, worked on two fields."""

from __future__ import annotations

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### Right on the whole, and wrong in each field

Field `a` has two rows with the prediction 0.9 and one click, field `b` four rows with 0.3 and two clicks: 3 clicks in
all, where 3 are predicted. The errors of the two fields cancel in `copc`, but not in `calibration_gap(weight=rows)`,
which is the field-level error of Pan et al. (WWW 2020) where the groups are fields, advertisers or queries. It compares
clicks with predictions over the rows of a group; `ece` does so over rows with about the same prediction. `group_rmse`
and `group_mae` are means of the errors of groups: `group_mae(weight=rows)` equals `mae`, but `group_rmse` equals `rmse`
under no weight."""

ROWS = {
    "field": [*"aabbbb"],
    "score": [0.9, 0.9, 0.3, 0.3, 0.3, 0.3],
    "label": [1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
}
# The arithmetic for each metric.
ANSWERS = {
    "copc": "(1 + 2) / (1.8 + 1.2)",
    "calibration_gap": "(0.8/2 + 0.8/4) / 2",
    "calibration_gap(weight=rows)": "(0.8 + 0.8) / (2 + 4)",
    "group_rmse": "(sqrt(0.82/2) + sqrt(1.16/4)) / 2",
    "rmse": "sqrt((0.82 + 1.16) / 6)",
    "group_mae(weight=rows)": "(1.0 + 2.0) / 6",
}


def field_markdown() -> str:
    """The section: its text, and a table with a row for each metric."""
    evaluation = evaluate(pa.table(ROWS), list(ANSWERS), group="field", score="score", label="label", uncertainty=False)
    lines = [[f"`{metric}`", "all", f"`{shown}`", f"{evaluation[metric]:.3f}"] for metric, shown in ANSWERS.items()]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value'], lines)}"
