"""Plain, scaled and estimated hits among sampled candidates, worked on eight lists of three items."""

from __future__ import annotations

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate

TEXT = """\
### Hits among sampled candidates

A catalogue has five items. Each of eight lists has its relevant item and two others that were drawn at random. The
relevant item is first in 3 lists, second in 2 and last in 3. Three answers to how often it is among the first two **of
all five items**:

- Plain: count it within the first 2 of the three. That is another quantity, and far too high: an item that is in the
  middle of five is mostly among the first two of three.
- Scaled: with one of the two drawn items above it, about half of the four others are above it, so a rank r of three
  stands for rank 1 + (r - 1) · 4 / 2 of five: 1, 3 or 5. Only the first place is then within 2. Each place of three is
  taken for one rank of five, so other ranks never occur: the same lists say 3/8 for k = 1, too.
- Estimated: which distribution of ranks of five makes such ranks of three most likely? An item of rank R is above one
  drawn item with probability 1 - (R - 1) / 4, which is 1, 3/4, 1/2, 1/4 or 0. If all five ranks are equally likely, it
  is first of three with probability (1 + 9/16 + 4/16 + 1/16 + 0) / 5 = 3/8, second with 2/8 and last with 3/8. That is
  what these lists show, so each rank has 1/5 (Jin et al., AAAI 2021)."""

RANKS = [1, 1, 1, 2, 2, 3, 3, 3]
ROWS = {
    "user": [user for user in range(8) for _ in range(3)],
    "item": [*range(3)] * 8,
    "score": [3.0, 2.0, 1.0] * 8,
    "label": [int(place == rank) for rank in RANKS for place in (1, 2, 3)],
}
# What is written and what it answers, with its arithmetic.
ANSWERS = {
    ("hit@2", "plain, k = 2"): "(3 + 2) / 8",
    ("hit@1", "scaled, k = 2"): "3 / 8",
    ("hit(sampled=2,items=5)@2", "estimated, k = 2"): "1 / 5 + 1 / 5",
    ("hit@1", "plain and scaled, k = 1"): "3 / 8",
    ("hit(sampled=2,items=5)@1", "estimated, k = 1"): "1 / 5",
    ("ndcg@2", "plain, k = 2"): "(3 + 2 / log2(3)) / 8",
    ("ndcg(sampled=2,items=5)@2", "estimated, k = 2"): "(1 + 1 / log2(3)) / 5",
}


def sampled_markdown() -> str:
    """The section: its text, and a table with a row for each answer."""
    metrics = list(dict.fromkeys(metric for metric, _ in ANSWERS))
    roles = {"group": "user", "item": "item", "score": "score", "label": "label"}
    found = evaluate(pa.table(ROWS), metrics, **roles, uncertainty=False)
    lines = [[f"`{metric}`", of, f"`{shown}`", f"{found[metric]:.3f}"] for (metric, of), shown in ANSWERS.items()]
    return f"{TEXT}\n\n{markdown_table(['written', 'of', 'arithmetic', 'value'], lines)}"
