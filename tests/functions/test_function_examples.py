"""The examples in the docstrings of the functions of metrics: by hand, by SciPy, and each the same as ``sr.evaluate``.

``tests/spark/test_functions.py`` runs them.
"""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from scipy import stats

import sparkrank as sr
from sparkrank import functions as srf
from sparkrank.functions.function_examples import COLUMNS, VALUES
from sparkrank.metrics import CATALOG

# The scores 0.9 and 0.4 are of clicks, 0.7 and 0.2 are not; metrics with a cut-off see the first two rows.
ROWS = {name: values for name, (_, values) in COLUMNS.items()}
BY_HAND = {
    "rr": 1 / 1,
    "hit": 1,
    "ap": (1 / 1) / 2,
    "ndcg": 1 / (1 + 1 / math.log2(3)),
    "p": 1 / 2,
    "r": 1 / 2,
    "err": (2**1 - 1) / 2**4,
    "rbp": (1 - 0.8) * 1,
    "bpref": (1 + (1 - 1 / 2)) / 2,
    "overlap": 1 / 2,  # tea is second by the reference rank, mug fourth
    "auc": 3 / 4,  # pairs in order: 0.9 above both, 0.4 above one
    "accuracy": 2 / 4,  # 0.9 and 0.2 are on the right side of 0.5
    "logloss": -(math.log(0.9) + math.log(1 - 0.7) + math.log(0.4) + math.log(1 - 0.2)) / 4,
    "brier": (0.1**2 + 0.7**2 + 0.6**2 + 0.2**2) / 4,
    "mae": (0.1 + 0.7 + 0.6 + 0.2) / 4,
    "copc": 2 / (0.9 + 0.7 + 0.4 + 0.2),
    "value": (0.9 / 0.5 * 1 + 0.4 / 0.25 * 1) / 4,
    "kendall_tau": stats.kendalltau(ROWS["score"], ROWS["label"]).statistic,
    "spearman": stats.spearmanr(ROWS["score"], ROWS["label"]).statistic,
}


def test_examples_are_what_is_worked_out_here() -> None:
    assert {name: VALUES[name] for name in BY_HAND} == pytest.approx(BY_HAND, abs=5e-7)


def test_every_function_of_a_metric_has_the_value_that_evaluate_gives() -> None:
    texts = {f"{name}@2" if CATALOG[name].cutoff == "optional" else name: name for name in dir(srf) if name in CATALOG}
    roles = {name: name for name in ROWS}
    found = sr.evaluate(pa.table({"user": ["ann"] * 4, **ROWS}), [*texts], group="user", **roles, lane="local")
    assert {name: round(found[text], 6) for text, name in texts.items()} == VALUES
