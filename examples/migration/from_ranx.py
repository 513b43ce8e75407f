"""From ranx: its evaluate over Qrels and Run, the same by sparkrank, and that the numbers are equal.

    python examples/migration/from_ranx.py

ranx compiles itself for half a minute; NUMBA_DISABLE_JIT=1 before the command spares that.
"""

from __future__ import annotations

import math

import pandas as pd

import sparkrank as sr

run = pd.DataFrame(
    {
        "q_id": ["ann", "ann", "ann", "bob", "bob", "bob", "cat", "cat", "eve"],
        "doc_id": ["a", "b", "c", "b", "e", "a", "c", "d", "a"],
        "score": [4.0, 3.0, 2.0, 3.0, 2.0, 1.0, 2.0, 1.0, 1.0],
    }
)
qrels = pd.DataFrame(  # dan has no list; eve, who has one, is not here
    {
        "q_id": ["ann", "ann", "bob", "bob", "bob", "cat", "dan"],
        "doc_id": ["a", "c", "a", "d", "e", "a", "b"],
        "grade": [2, 2, 1, 1, 1, 1, 1],
    }
)
METRICS = ["precision@2", "recall@2", "map@2", "ndcg@2", "mrr", "hit_rate@2"]  # the names are the same here


def old_numbers() -> dict[str, float]:
    import ranx

    return dict(
        ranx.evaluate(
            ranx.Qrels.from_df(qrels, score_col="grade"), ranx.Run.from_df(run), METRICS, make_comparable=True
        )
    )


def new_numbers() -> dict[str, float]:
    found = sr.evaluate(
        run, METRICS, truth=qrels, group="q_id", item="doc_id", score="score", label="grade", preset="ranx"
    )
    return {metric: found[metric] for metric in METRICS}


def main() -> None:
    old = old_numbers()
    for metric, number in new_numbers().items():
        print(f"{metric:20}{old[metric]:10.6f}{number:10.6f}")
        if not math.isclose(number, old[metric], rel_tol=1e-12):
            raise SystemExit(f"{metric} is not equal")


if __name__ == "__main__":
    main()
