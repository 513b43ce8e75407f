"""What weights by propensity are divided by, and the value of a policy per row and per slate, worked on small logs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

SEEN_TEXT = """\
### The sum of weights in SNIPS

What nobody saw got no label, so recall of what was seen is recall of what ranked high before. With the column
`propensity`, the chance that a relevant row was seen, a hit counts v = 1 / propensity. `a` is shown before `b`, and
both are hits; `c` and `d` are relevant, too, and in no list. The weights are 1, 4, 2 and 4. `ips` divides by what
recall is divided by without them, and may exceed 1. `snips` divides by the sum of the weights of **all** relevant
rows, listed or not (Yang et al.: RecSys 2018, equation 9), not by that of the hits, which would always give 1, and
not by their number. Without a discount, `p` and `r` have then one value. `best` divides by the highest sum that any
order has: that is the normalised PSP@k and PSnDCG@k of extreme classification. Its plain ones are
`p(propensity=ips)@k` and `ndcg(propensity=ips,gain=binary,ideal=k_relevant)@k` (Jain et al.: KDD 2016). pyxclib
divides the sums over all groups by one another; here each group has a quotient, of which the mean is taken. A `clip`
is the lowest propensity that counts as itself: it bounds v, for a bias."""

VALUE_TEXT = """\
### A policy's value per row, and per slate

A log has the actions that one policy took, the chance with which it took each (`propensity`) and what came of it
(`label`); the score of a model is the chance with which it would have taken the same action. ann's slate has the
actions x and y, bob's has z. The weights v = score / propensity are 2, 0.5 and 1, and the rewards 1, 0 and 1. Per
row, N counts the rows; per slate, the rows of a group are added up and N counts groups, each position for itself
(McInerney et al.: KDD 2020, without their weights of the positions above). SNIPS divides by the sum of the weights,
which is about the number of rows, and per slate that is once more multiplied by the rows of a mean slate. `dr` starts
from what a model of rewards expects of the policy, 0.5 in each row here, and corrects it by what actions earned
beyond its `estimate`, 0.6 of each. Values per row and per slate are different quantities: a day with longer slates
has a higher value per slate. `quality` has the mean weight, which is about 1 if propensities are right, and the
effective sample size, (Σv)² / Σv²."""

SEEN = {
    "u": ["u"] * 4,
    "i": [*"abcd"],
    "s": [2.0, 1.0, None, None],
    "y": [1, 1, 1, 1],
    "e": [1.0, 0.25, 0.5, 0.25],
}
SEEN_ANSWERS = {
    "r@2": "2 / 4",
    "r(propensity=ips)@2": "(1 + 4) / 4",
    "r(propensity=ips)@1": "1 / 4",
    "r(propensity=snips)@2": "(1 + 4) / (1 + 4 + 2 + 4)",
    "r(propensity=snips)@1": "1 / (1 + 4 + 2 + 4)",
    "p(propensity=snips)@1": "1 / (1 + 4 + 2 + 4)",
    "p(propensity=best)@2": "(1 + 4) / (4 + 4)",
    "r(propensity=snips,clip=0.5)@2": "(1 + 2) / (1 + 2 + 2 + 2)",
}
ACTIONS = {
    "u": ["ann", "ann", "bob"],
    "s": [0.5, 0.25, 0.5],
    "y": [1, 0, 1],
    "e": [0.25, 0.5, 0.5],
    "q": [0.6] * 3,
    "p": [0.5] * 3,
}
VALUE_ANSWERS = {
    "value": "(2·1 + 0.5·0 + 1·1) / 3",
    "value(by=snips)": "(2·1 + 0.5·0 + 1·1) / (2 + 0.5 + 1)",
    "value(by=dr)": "((0.5 + 2·0.4) + (0.5 - 0.5·0.6) + (0.5 + 1·0.4)) / 3",
    "value(clip=1)": "(1·1 + 0.5·0 + 1·1) / 3",
    "value(per=group)": "(2·1 + 0.5·0 + 1·1) / 2",
    "value(by=snips,per=group)": "(2·1 + 0.5·0 + 1·1) / (2 + 0.5 + 1) · 3 / 2",
}


def propensity_markdown() -> str:
    """The two sections: their texts, and a table of each."""
    roles: dict[str, Any] = {"group": "u", "score": "s", "label": "y", "propensity": "e", "uncertainty": False}
    seen = evaluate(pa.table(SEEN), [*SEEN_ANSWERS], item="i", **roles)
    value = evaluate(pa.table(ACTIONS), [*VALUE_ANSWERS], estimate="q", policy_estimate="p", **roles)
    parts = []
    for text, answers, found in ((SEEN_TEXT, SEEN_ANSWERS, seen), (VALUE_TEXT, VALUE_ANSWERS, value)):
        lines = [[f"`{metric}`", f"`{shown}`", f"{found[metric]:.3f}"] for metric, shown in answers.items()]
        parts.append(f"{text}\n\n{markdown_table(['written', 'arithmetic', 'value'], lines)}")
    return "\n\n".join(parts)
