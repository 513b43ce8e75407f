"""The examples on Spark print what is computed by hand here, in the session of the tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.support.commands import PROJECT
from tests.support.examples import EXAMPLES, PAGES, blocks, numbers, printed, program
from tests.support.page_blocks import blocks_of, run_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_page_of_python_prints_what_it_shows(spark: SparkSession) -> None:
    """The click of ann is second by one score and first by the other; y of ann is second by als, first by popular."""
    impressions = spark.createDataFrame(
        [("ann", 0.9, 0.1, 0), ("ann", 0.5, 0.8, 1)], "user_id string, score_a double, score_b double, clicked int"
    )
    recommendations = pd.DataFrame({"user_id": ["ann"], "item_id": ["x"], "score": [0.5]})
    actions = pd.DataFrame({"user_id": ["ann"], "item_id": ["x"], "rating": [4.0]})
    names = {"impressions": impressions, "recommendations": recommendations, "actions": actions}
    first, *others = blocks_of(PROJECT / "docs" / "python.md")
    assert list(run_python([first], names)) == []
    assert [names["ev"].value("rr", model=model) for model in ("production", "candidate")] == [1 / 2, 1]
    ((shown, text),) = run_python(others, names)
    assert text == shown.text
    assert text.startswith("ann als 0.5 1.0\nann popular 1.0 1.0\n")


def rows_of(text: str) -> list[list[str]]:
    """The cells of the tables that Spark shows, their headings too."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]


@pytest.mark.tools
def test_spark_dataframe(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """The place of each user's click in the lists of either model."""
    places = {"old": {"ann": 1, "bob": 2, "cat": 2, "dan": 3}, "new": {"ann": 1, "bob": 1, "cat": 2, "dan": 2}}
    text = printed(EXAMPLES / "spark_dataframe.py", capsys)
    expected = {}
    for model, of in places.items():
        expected |= {(model, user): pytest.approx(1 / place) for user, place in of.items()}
        expected[model, "rr"] = pytest.approx(sum(1 / place for place in of.values()) / 4)
        expected[model, "hit@1"] = sum(place == 1 for place in of.values()) / 4
    assert {(row[0], row[1]): float(row[2]) for row in rows_of(text) if row[0] in places} == expected
    # (1 - 1/2) of bob and (1/2 - 1/3) of dan, over four users.
    assert re.search(r"^rr: \+0\.166667, wins 2, ties 2, losses 0$", text, re.MULTILINE)


@pytest.mark.tools  # tests/spark/test_functions.py has the same queries
def test_sql_functions(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Clicks at places 1, 2 and 3. In de the scores 3 and 2 meet 2, 1, 3, 1; in fr 1 meets 3 and 2."""
    rows = rows_of(printed(EXAMPLES / "sql_functions.py", capsys))
    assert rows[0] == ["user", "rr", "hit_at_1"]
    assert {user: (float(rr), float(hit)) for user, rr, hit in rows[1:4]} == {
        "ann": (1, 1),
        "bob": (1 / 2, 0),
        "cat": (pytest.approx(1 / 3), 0),
    }
    assert rows[4] == ["country", "auc"]
    assert {country: float(auc) for country, auc in rows[5:]} == {"de": (3 + 1 / 2 + 1 + 1 / 2 + 1) / 8, "fr": 0}


@pytest.mark.tools
@pytest.mark.peer
def test_old_and_new_numbers_of_spark_ml(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """ann has items 1 and 3 of three right, both of hers; bob 2 and 3, two of his three; cat and dan none."""
    text = printed(program("spark_ml"), capsys)
    expected = {
        "ap": ((1 / 1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 3) / 4,
        "ap@2": ((1 / 1) / 2 + (1 / 2) / 2) / 4,
        "p@2": (1 / 2 + 1 / 2) / 4,
        "r@2": (1 / 2 + 1 / 3) / 4,
        "ndcg@2": 1 / 4,  # 1 / (1 + d) of ann and d / (1 + d) of bob, d = 1 / log2(3)
    }
    assert numbers(text) == {metric: (pytest.approx(value, abs=1e-6),) * 2 for metric, value in expected.items()}
    assert blocks(PAGES / "spark_ml.md", "text") == [text]
