"""Slow, plain definitions of every metric: one list, one loop, and every order of tied rows where ties are expected.

Nothing here comes from the package. A list is ``ranked``: (position, label) of each row with a score. In a strict
order the positions are 1, 2, 3, ...; where a tie block enters as one step, its rows share its last position.
``judged`` holds the label of every row of the group, with a score or without. A label of None was not judged. Metrics
of all rows and of all lists take these. tests/metrics/test_oracles.py says what the others take.
"""

from tests.oracles.by_name import ALL_LISTS, ALL_ROWS, ORACLES, OTHERS, OWN_TIES, PAIRED
from tests.oracles.joins import Given, Listed, lists_and_truth
from tests.oracles.orders import best_blocks_auc, pair_count_auc, rank_biased_overlap
from tests.oracles.ties import expected_over_orders, settled, settled_for
from tests.oracles.values import Label, Ranked, Value

__all__ = [
    "ALL_LISTS",
    "ALL_ROWS",
    "ORACLES",
    "OTHERS",
    "OWN_TIES",
    "PAIRED",
    "Given",
    "Label",
    "Listed",
    "Ranked",
    "Value",
    "best_blocks_auc",
    "expected_over_orders",
    "lists_and_truth",
    "pair_count_auc",
    "rank_biased_overlap",
    "settled",
    "settled_for",
]
