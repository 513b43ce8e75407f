"""The tutorials run whole, and their numbers are those of other libraries or of a law."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from tests.support.commands import PROJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.tools
_CELL = re.compile(r"^```\{code-cell\}\n(?::[^\n]*\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(name: str) -> str:
    return (PROJECT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def run_cells(text: str) -> dict[str, Any]:
    """Run the cells of a tutorial one after the other, and return the names that they leave behind."""
    names: dict[str, Any] = {}
    cells = [cell for cell in _CELL.findall(text) if cell != "spark.stop()\n"]  # other tests go on with the session
    assert 8 <= len(cells) <= 25
    for number, cell in enumerate(cells, start=1):
        exec(compile(cell, f"cell {number}", "exec"), names)  # noqa: S102 - our own page
    return names


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))  # for the commands that a page starts


def test_an_ads_log_has_the_numbers_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="the numbers are those of scikit-learn")
    names = run_cells(text_of("ads_calibration"))
    log, ev = names["log"], names["ev"]
    clicked, rate = log["clicked"], log["clicked"].mean()
    entropy = -rate * np.log(rate) - (1 - rate) * np.log(1 - rate)
    for model in ("production", "candidate", "corrected"):
        score = log[model]
        assert ev.value("auc(exact)", model=model) == pytest.approx(metrics.roc_auc_score(clicked, score), rel=1e-12)
        assert ev.value("ne", model=model) == pytest.approx(metrics.log_loss(clicked, score) / entropy, rel=1e-9)
        assert ev.value("copc", model=model) == pytest.approx(clicked.sum() / score.sum(), rel=1e-9)
    # Undone, the sampling leaves the probability of the two signals that the candidate sees.
    assert log["corrected"].to_numpy() == pytest.approx(names["probability"](names["first"] + names["second"]))


def test_search_engines_have_the_numbers_of_trec_eval() -> None:
    """Of the files that the page writes, as trec_eval reads them."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="the numbers are those of trec_eval")
    names = run_cells(text_of("search_trec"))
    with Path("qrels.txt").open(encoding="utf-8") as file:
        qrels = pytrec_eval.parse_qrel(file)
    measures = {"map": "map", "ndcg_cut_10": "ndcg_cut.10", "P_10": "P.10", "recip_rank": "recip_rank"}
    assert [*measures] == names["measures"]
    for engine in ("bm25", "dense"):
        with Path(f"{engine}.run").open(encoding="utf-8") as file:
            topics = pytrec_eval.RelevanceEvaluator(qrels, {*measures.values()}).evaluate(pytrec_eval.parse_run(file))
        for measure, mean in pd.DataFrame.from_dict(topics, orient="index").mean().items():
            assert names["ev"].value(str(measure), model=engine) == pytest.approx(mean, rel=1e-9), (engine, measure)


def test_gates_stop_the_broken_night_alone() -> None:
    names = run_cells(text_of("week_of_gates"))
    assert [names[when] for when in ("working_days", "saturday", "sunday", "week")] == [0, 3, 0, 0]
    assert [*names["gates"].query("verdict == 'fail'")["slice_value"]] == ["fr,phone"]


def test_a_week_in_which_nothing_breaks_stops_no_night() -> None:
    text = text_of("week_of_gates")
    assert text.count("broken=day >= SATURDAY") == 1
    with pytest.raises(AssertionError) as raised:
        run_cells(text.replace("broken=day >= SATURDAY", "broken=False"))
    assert raised.traceback[-1].frame.eval("saturday") == 0


@pytest.fixture
def _session_of_a_tutorial(spark: SparkSession) -> Iterator[None]:
    """A tutorial takes the session that it finds; what it sets and caches there ends with it."""
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    yield
    spark.conf.set(setting, before)
    spark.catalog.clearCache()


@pytest.mark.spark
@pytest.mark.usefixtures("_session_of_a_tutorial")
def test_als_and_popularity_have_the_numbers_of_scikit_learn() -> None:
    """Those of the rated films; the recall of the lists is counted here."""
    metrics = pytest.importorskip("sklearn.metrics", reason="the numbers are those of scikit-learn")
    names = run_cells(text_of("movielens"))
    scored, train, test = (names[name].toPandas() for name in ("scored", "train", "test"))
    for model in ("popularity", "als"):
        values = [metrics.ndcg_score([rows["rating"]], [rows[model]], k=10) for _, rows in scored.groupby("user")]
        assert names["rated"].value("ndcg@10", model=model) == pytest.approx(np.mean(values), rel=1e-9)
    als = names["lists"]["als"].toPandas()
    assert names["shown"].value("r(rel=3)@10", model="als") == pytest.approx(mean_recall(als, train, test), rel=1e-12)


@pytest.mark.spark
@pytest.mark.usefixtures("_session_of_a_tutorial")
def test_lists_without_what_users_had_have_the_recall_that_is_counted_here() -> None:
    """The page itself compares with Spark's evaluator; places in its arrays are scores here."""
    names = run_cells(text_of("ranking_evaluator"))
    train, test = (names[name].toPandas() for name in ("train", "test"))
    listed = names["whole"].select("user", "als").toPandas().explode("als")
    als = pd.DataFrame({"user": listed["user"], "film": listed["als"].astype(int), "score": range(len(listed), 0, -1)})
    assert names["new"].value("r@10", model="als") == pytest.approx(mean_recall(als, train, test), rel=1e-12)


def mean_recall(listed: pd.DataFrame, train: pd.DataFrame, test: pd.DataFrame) -> float:
    """Over users with films rated 3 or more: the share of these among the ten best that are not in ``train``."""
    recalls = []
    for user, films in test[test["rating"] >= 3].groupby("user")["film"]:
        own = listed[(listed["user"] == user) & ~listed["film"].isin(train.loc[train["user"] == user, "film"])]
        recalls.append(len({*films} & {*own.nlargest(10, "score")["film"]}) / len(films))
    return float(np.mean(recalls))
