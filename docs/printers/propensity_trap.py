"""What weights by propensity are divided by, and the value of a policy per row and per slate, worked on small logs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

SEEN_TEXT = """\
### The sum of weights in SNIPS

Items that nobody saw got no label, so recall over logged labels favours the items that an earlier model ranked high.
With the column `propensity`, the probability that a relevant row was seen, a hit counts v = 1 / propensity. Example:
`a` and `b` are in the list in this order, and both are hits; `c` and `d` are relevant too, but in no list. The weights
v are 1, 4, 2 and 4. `ips` divides by what recall is divided by without weights, and may exceed 1. `snips` divides by
the sum of the weights of **all** relevant rows, listed or not (Yang et al.: RecSys 2018, equation 9), not by the sum
over hits, which would always give 1, and not by the number of rows. Without a discount, `p` and `r` then have the same
value. `best` divides by the highest sum that any order reaches: that is the normalised PSP@k and PSnDCG@k of extreme
classification. The versions without that are `p(propensity=ips)@k` and
`ndcg(propensity=ips,gain=binary,ideal=k_relevant)@k` (Jain et al.: KDD 2016). pyxclib divides the sums over all groups
by one another; here each group has a quotient, and the value is their mean. A propensity below `clip` counts as `clip`:
that bounds v, but brings a bias. Propensities, and those of logged actions below, belong to the first label in all
rows: with `label`, `among` or a label of the model's own the metric is refused, and its label is evaluated apart."""

VALUE_TEXT = """\
### A policy's value per row, and per slate

A log has the actions that one policy took, the probability with which it took each (`propensity`) and the reward
(`label`); the score of a model is the probability with which the model would have taken the same action. ann's slate
has the actions x and y, bob's has z. The weights v = score / propensity are 2, 0.5 and 1, and the rewards 1, 0 and 1.
Per row, N counts rows. Per slate, the rows of a group are added up and N counts groups; each position is weighted by
itself (McInerney et al.: KDD 2020, without their weights of the positions above). SNIPS divides by the sum of the
weights, which is about the number of rows; per slate the result is multiplied by the mean number of rows of a slate.
`dr` starts from the reward that a model of rewards expects of the policy, here 0.5 in each row, and adds a correction
from the differences between the logged rewards and the model's `estimate`, here 0.6 for each action. As the policy's
estimate is that of one model, `dr` takes one model a run; `sr.compare_runs` and `sparkrank compare` compare the runs.
Values per row and per slate are different quantities: on a day with longer slates the value per slate is higher.
`quality` has the mean weight, which is about 1 if propensities are right, and the effective sample size,
(Σv)² / Σv²."""

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
