"""Errors of predicted ratings beside the rating metrics of recommenders: `make test-peers` installs it.

It reads the pairs that are in both tables, the ratings and the predictions; here they are the rows.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sparkrank as sr
from tests.peers.rankings import EXACT

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

NAMES = {"col_user": "user", "col_item": "item", "col_rating": "stars", "col_prediction": "guess"}
OURS = {"rmse": "rmse", "mae": "mae", "rsquared": "r2"}


def rated(seed: int) -> pd.DataFrame:
    """Ratings of half of the items by each user, and a guess of half of all pairs; null where there is none."""
    draw = np.random.default_rng(seed)
    pairs = pd.MultiIndex.from_product([range(20), range(15)], names=["user", "item"]).to_frame(index=False)
    stars = draw.integers(1, 6, len(pairs)).astype(float)
    guess = stars + draw.normal(0.3, 1, len(pairs))
    for name, numbers in (("stars", stars), ("guess", guess)):
        pairs[name] = np.where(draw.random(len(pairs)) < 0.5, numbers, np.nan)
    return pairs


def tables(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The ratings and the predictions, each with pairs that the other lacks."""
    true, predicted = (rows[["user", "item", name]].dropna() for name in ("stars", "guess"))
    return true, predicted


def evaluated(rows: pd.DataFrame) -> dict[str, float]:
    """By their names; the variance explained is what R² would be of predictions without their bias."""
    table = pa.Table.from_pandas(rows.dropna(), preserve_index=False)
    found = sr.evaluate(table, [*OURS.values(), "bias", "mse"], score="guess", label="stars")
    variance = found["mse"] / (1 - found["r2"])
    of_theirs = {theirs: found[ours] for theirs, ours in OURS.items()}
    return {**of_theirs, "exp_var": 1 - (found["mse"] - found["bias"] ** 2) / variance}


@pytest.mark.parametrize("seed", range(4))
def test_recommenders_in_pandas(recommenders_python: ModuleType, seed: int) -> None:
    rows = rated(seed)
    for name, value in evaluated(rows).items():
        assert getattr(recommenders_python, name)(*tables(rows), **NAMES) == pytest.approx(value, abs=EXACT), name


@pytest.mark.spark
def test_recommenders_on_spark(recommenders_spark: ModuleType, request: pytest.FixtureRequest) -> None:
    rows, spark = rated(9), request.getfixturevalue("spark")  # no session where the library is not
    theirs = recommenders_spark.SparkRatingEvaluation(*map(spark.createDataFrame, tables(rows)), **NAMES)
    for name, value in evaluated(rows).items():
        assert getattr(theirs, name)() == pytest.approx(value, abs=EXACT), name
