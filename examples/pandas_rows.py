"""Evaluates two models on rows of pandas, without Spark: means, one country at a time, and the users behind them.

    python examples/pandas_rows.py

Three users saw three items each, and clicked the first, second and third of the model `old`: rr is 1, 1/2 and 1/3. The
model `new` turns each list round: 1/3, 1/2 and 1. Both means are 11/18 = 0.611111. In de (ann and bob) `old` has
(1 + 1/2) / 2 = 0.75 and `new` (1/3 + 1/2) / 2 = 0.416667; in fr (cat) they have 1/3 and 1. The first item is clicked
by one user of three: hit@1 is 0.333333.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

import sparkrank as sr

ROWS = pd.DataFrame(
    [
        ("ann", "de", 3.0, 1.0, 1),
        ("ann", "de", 2.0, 2.0, 0),
        ("ann", "de", 1.0, 3.0, 0),
        ("bob", "de", 3.0, 1.0, 0),
        ("bob", "de", 2.0, 2.0, 1),
        ("bob", "de", 1.0, 3.0, 0),
        ("cat", "fr", 3.0, 1.0, 0),
        ("cat", "fr", 2.0, 2.0, 0),
        ("cat", "fr", 1.0, 3.0, 1),
    ],
    columns=["user", "country", "old", "new", "clicked"],
)


def main() -> None:
    evaluation = sr.evaluate(
        ROWS,
        ["rr", "hit@1"],
        group="user",
        score={"old": "old", "new": "new"},
        label="clicked",
        slices=["country"],
    )
    table = evaluation.to_pandas()[["model", "slice", "slice_value", "metric", "value"]]
    print(table.to_string(index=False))
    users: Any = evaluation.groups  # a pyarrow Table, because there is no Spark
    print(users.to_pandas().pivot(index="user", columns="model", values="rr").to_string())
    print("rr of new in fr:", evaluation.value("rr", model="new", slice={"country": "fr"}))


if __name__ == "__main__":
    main()
