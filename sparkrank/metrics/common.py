"""Parameters of every metric of groups, or of lists, beside those of its own declaration."""

from __future__ import annotations

from typing import get_args

from sparkrank.kernels.ranking import Ties
from sparkrank.metrics.parameters import Choice, Name

TIES = Choice(
    "ties",
    None,
    "where tied rows stand, for this metric alone; without it, where the setting of the evaluation puts them",
    choices=get_args(Ties),
)
NEED_AN_ORDER = "item, worst, best or block"  # the values of ties under which rows stand in an order
COLUMN = "or a column that has one number from 0 in each group"


def weight(default: str, doc: str, choices: tuple[str, ...], synonyms: tuple[tuple[str, str], ...]) -> Name:
    """What a group weighs in the mean: one of a few words, or a column."""
    doc = f"weight of a group in the mean: {doc}; {COLUMN}"
    return Name("weight", default, doc, choices=choices, named="<column>", synonyms=synonyms)


WEIGHT = weight(
    "uniform",
    "uniform = 1; else its listed rows, or its relevant rows, listed or not",
    ("uniform", "rows", "relevant"),
    (("positives", "relevant"),),
)
