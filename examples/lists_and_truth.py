"""Evaluates lists of recommendations against what users really did, where the two are tables of their own.

    python examples/lists_and_truth.py

Among the first two items ann has one of the two that she bought, and bob one of one, which stands second. dan bought
something and got no list. eve got a list and bought nothing: she is no user of the truth.

    recall@2     (1/2 + 1 + 0) / 3 = 0.5                                      0.75 without dan
    precision@2  (1/2 + 1/2 + 0) / 3 = 0.333333                               0.5 without dan
    ap@2         (1/2 + 1/2 + 0) / 3 = 0.333333: divided by what was bought   0.5 without dan
"""

from __future__ import annotations

import pyarrow as pa

import sparkrank as sr

LISTS = pa.table(
    {
        "user": ["ann", "ann", "ann", "bob", "bob", "eve"],
        "item": ["x", "y", "z", "y", "x", "x"],
        "position": [1, 2, 3, 1, 2, 1],
    }
)
BOUGHT = pa.table({"user": ["ann", "ann", "bob", "dan"], "item": ["x", "w", "x", "z"]})  # w is in no list


def main() -> None:
    for users in ("truth", "both"):  # users who bought something; those of them who got a list
        evaluation = sr.evaluate(
            LISTS,
            ["recall@2", "precision@2", "ap@2"],
            truth=BOUGHT,
            group="user",
            item="item",
            rank="position",  # lower is better; score= where higher is
            population=users,
            undefined="zero",  # a user of the truth without a list counts 0
        )
        print(users, {metric: round(evaluation[metric], 6) for metric in evaluation})


if __name__ == "__main__":
    main()
