"""Metrics beyond accuracy against the libraries that have them, on random lists: `make test-peers` installs them.

LensKit and RecBole need torch: `make test-peers-large` installs these. Each is tested where it is installed. What a
library does otherwise is a parameter here, or stands in the test.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import sparkrank as sr
from tests.peers.rankings import EXACT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

USERS, ITEMS, LONGEST = 30, 24, 8
CUTOFFS = (1, 3, 5, 8)
VECTOR = [f"v{place}" for place in range(4)]
TAGS = ["loud", "short", "grey"]
SEEDS = pytest.mark.parametrize("seed", range(4))


@dataclass(frozen=True, eq=False)
class Log:
    """Lists of two models, what users had before, and the items; ``is_full``: all lists have LONGEST rows."""

    rows: pd.DataFrame  # user, item, new, old, rel: a score of the model that lists the item, else NaN
    had: pd.DataFrame
    items: pd.DataFrame

    @classmethod
    def of(cls, seed: int, is_full: bool = False) -> Log:
        draw = np.random.default_rng(seed)
        items = pd.DataFrame({"item": range(ITEMS), "genre": draw.integers(0, 4, ITEMS)})
        items["year"] = draw.integers(0, 3, ITEMS)
        items = items.assign(**dict(zip(VECTOR, draw.normal(size=(4, ITEMS)), strict=True)))
        items[TAGS] = draw.random((ITEMS, len(TAGS))) < 0.5
        items[TAGS[0]] |= ~items[TAGS].any(axis=1)  # of two items without a tag no distance is left
        pairs = pd.MultiIndex.from_product([range(USERS), range(ITEMS)], names=["user", "item"]).to_frame(index=False)
        liking = draw.exponential(size=ITEMS)[pairs["item"]]
        pairs["rel"] = draw.random(len(pairs)) < 0.3
        for model in ("new", "old"):
            score = liking + 2 * draw.random(len(pairs))  # no ties
            lengths = np.full(USERS, LONGEST) if is_full else draw.integers(1, LONGEST + 1, USERS)
            place = pd.Series(score).groupby(pairs["user"]).rank(ascending=False)
            pairs[model] = np.where(place <= lengths[pairs["user"]], score, np.nan)
        is_had = (draw.random(len(pairs)) < 0.25) | (pairs["item"] == pairs["user"] % ITEMS)  # of each user
        return cls(pairs[pairs["new"].notna() | pairs["old"].notna()], pairs[is_had][["user", "item"]], items)

    def lists(self, model: str = "new") -> pd.DataFrame:
        """The rows of a model, the highest score first, with their rank."""
        rows = self.rows[self.rows[model].notna()].sort_values(["user", model], ascending=[True, False])
        return rows.assign(score=rows[model], rank=rows.groupby("user").cumcount() + 1).reset_index(drop=True)

    @property
    def unseen(self) -> Log:
        """Without the pairs of the history that are in a list, and then without items that nobody had."""
        pairs, listed = (pd.MultiIndex.from_frame(of[["user", "item"]]) for of in (self.had, self.rows))
        had = self.had[~pairs.isin(listed)]
        return Log(
            self.rows[self.rows["item"].isin(had["item"])], had, self.items[self.items["item"].isin(had["item"])]
        )

    @property
    def catalog(self) -> pa.Table:
        """The items with their vector, with the users that have had each as another, and with their tags."""
        had = np.zeros((ITEMS, USERS))
        had[self.had["item"], self.had["user"]] = 1
        vectors = {"vector": [*self.items[VECTOR].to_numpy()], "users": [*had[self.items["item"]]]}
        tags = [[tag for tag in TAGS if row[tag]] for _, row in self.items.iterrows()]
        return pa.table({**self.items[["item", "genre", "year"]], **vectors, "tags": tags})

    def evaluate(self, *metrics: str, **others: Any) -> sr.Evaluation:
        """The evaluation of the lists of both models, beside the tables that a metric reads."""
        columns = {"group": "user", "item": "item", "label": "rel", "score": {"new": "new", "old": "old"}}
        text = " ".join(metrics)
        if any(word in text for word in ("catalog.", "coverage", "gini", "serendipity")):
            others["catalog"] = self.catalog
        if any(word in text for word in ("interactions.", "new", "(of=")):
            others["interactions"] = pa.Table.from_pandas(self.had, preserve_index=False)
        return sr.evaluate(pa.Table.from_pandas(self.rows, preserve_index=False), list(metrics), **columns, **others)

    def means(self, *metrics: str) -> list[float]:
        rows = self.evaluate(*metrics, group_table=False).metrics.to_pylist()
        return [row["value"] for row in rows if row["model"] == "new"]

    def of_users(self, metric: str) -> pd.Series:
        """The values of the users who have one."""
        found = self.evaluate(metric)
        rows = found.groups.to_pandas()
        return rows[rows["model"] == "new"].set_index("user")[str(found.plan.metrics[0])].dropna()


def assert_same(ours: Any, theirs: Any) -> None:
    assert list(ours) == pytest.approx(list(theirs), rel=EXACT, abs=EXACT)


def assert_same_users(ours: pd.Series, theirs: pd.Series) -> None:
    assert ours.index.sort_values().tolist() == theirs.index.sort_values().tolist()
    assert_same(ours.sort_index(), theirs.sort_index())


# RecTools --------------------------------------------------------------------------------------------------------

NAMES_OF_RECTOOLS = {"user": "user_id", "item": "item_id"}


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_rectools(rectools_metrics: ModuleType, seed: int, k: int) -> None:
    log = Log.of(seed)
    lists, others, had = (of.rename(columns=NAMES_OF_RECTOOLS) for of in (log.lists(), log.lists("old"), log.had))
    popularity = log.of_users(f"shown(of=interactions.rows)@{k}")
    assert_same_users(popularity, rectools_metrics.AvgRecPopularity(k).calc_per_user(lists, had))
    normalized = rectools_metrics.AvgRecPopularity(k, normalize=True).calc_per_user(lists, had)
    assert_same_users(popularity / len(had), normalized)
    hamming = rectools_metrics.PairwiseHammingDistanceCalculator(log.items.set_index("item")[["genre", "year"]])
    diversity = rectools_metrics.IntraListDiversity(k, hamming).calc_per_user(lists)
    assert_same_users(log.of_users(f"ild(by=[catalog.genre,catalog.year],single=zero)@{k}"), diversity)
    intersection = rectools_metrics.Intersection(k).calc_per_user(lists, others)
    assert_same_users(log.of_users(f"overlap(ref=old,over=retrieved)@{k}"), intersection)
    novelty = rectools_metrics.MeanInvUserFreq(k).calc_per_user(lists, had)
    assert_same_users(log.of_users(f"novelty(of=users,over=lists)@{k}"), novelty)
    wanted = log.rows[log.rows["rel"]].rename(columns=NAMES_OF_RECTOOLS)
    serendipity = rectools_metrics.Serendipity(k).calc_per_user(lists, wanted, had, log.items["item"])
    ours = log.of_users(f"serendipity(of=rows,over=retrieved)@{k}")
    assert set(ours.index) >= set(serendipity.index)
    assert_same_users(ours[serendipity.index], serendipity)
    covered = rectools_metrics.CatalogCoverage(k, normalize=True).calc(lists, log.items["item"])
    assert_same(log.means(f"coverage@{k}"), [covered])


# RePlay ----------------------------------------------------------------------------------------------------------

NAMES_OF_REPLAY = {"user": "query_id", "item": "item_id", "score": "rating"}


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_replay(replay_metrics: ModuleType, seed: int, k: int) -> None:
    """Its page of Novelty divides by K, and its code by the length of the list where that is less."""
    log = Log.of(seed)
    lists, others = (log.lists(model).rename(columns=NAMES_OF_REPLAY) for model in ("new", "old"))
    had, by_user = log.had.rename(columns=NAMES_OF_REPLAY), replay_metrics.PerUser()

    def of_users(metric: Any, *beside: pd.DataFrame, of: pd.DataFrame = lists) -> pd.Series:
        (values,) = metric(of, *beside).values()
        return pd.Series(values)

    assert_same_users(log.of_users(f"new(over=retrieved)@{k}"), of_users(replay_metrics.Novelty(k, mode=by_user), had))
    surprisal = log.of_users(f"novelty(of=users,over=k,scale=unit)@{k}")
    assert_same_users(surprisal, of_users(replay_metrics.Surprisal(k, mode=by_user), had))
    unexpected = of_users(replay_metrics.Unexpectedness(k, mode=by_user), others)
    assert_same_users(log.of_users(f"unexpected(ref=old)@{k}"), unexpected)
    with_genre = lists.merge(log.items.rename(columns={"item": "item_id", "genre": "category_id"}))
    diversity = replay_metrics.CategoricalDiversity(k)(with_genre[["query_id", "category_id", "rating"]])
    assert_same(log.means(f"distinct(by=catalog.genre)@{k}"), diversity.values())
    every = pd.DataFrame({"query_id": 0, "item_id": log.items["item"]})
    assert_same(log.means(f"coverage@{k}"), replay_metrics.Coverage(k)(lists, every).values())


# recommenders ----------------------------------------------------------------------------------------------------


@SEEDS
def test_recommenders(recommenders_python: ModuleType, seed: int) -> None:
    """Lists have no cut-off. An item that the log lacks has 0 bits there, and here those of an item with one row."""
    log = Log.of(seed).unseen
    lists, had, names = log.lists(), log.had, {"col_user": "user", "col_item": "item"}
    assert_same(log.means("novelty(of=rows)"), [recommenders_python.novelty(had, lists, **names)])
    fewer = had[had["item"] >= 5]  # the log lacks five items
    theirs = recommenders_python.novelty(fewer, lists, **names)
    lacking = (~lists["item"].isin(fewer["item"])).mean()
    assert lacking > 0
    ours = Log(log.rows, fewer, log.items).means("novelty(of=rows)")
    assert_same(ours, [theirs + lacking * math.log2(len(fewer))])


@pytest.mark.spark
@pytest.mark.parametrize("measure", ["item_cooccurrence_count", "item_feature_vector"])
def test_recommenders_on_spark(recommenders_spark: ModuleType, request: pytest.FixtureRequest, measure: str) -> None:
    """Similarity by users in common is the cosine of vectors with an entry for each user. Lists have no cut-off."""
    log, spark = Log.of(seed=7).unseen, request.getfixturevalue("spark")  # no session where the library is not
    lists, had = (frame_of(spark, of[["user", "item"]]) for of in (log.lists(), log.had))
    features = None
    if measure == "item_feature_vector":
        from pyspark.ml.functions import array_to_vector
        from pyspark.sql import functions as F

        vector = array_to_vector(F.array(*VECTOR)).alias("features")
        features = frame_of(spark, log.items).select("item", vector)
    theirs = recommenders_spark.SparkDiversityEvaluation(
        had, lists, item_feature_df=features, item_sim_measure=measure, col_user="user", col_item="item"
    )
    by = "catalog.users" if features is None else "catalog.vector"
    diversity = theirs.user_diversity().toPandas().set_index("user")["user_diversity"]
    assert_same_users(log.of_users(f"ild(by={by},distance=cosine)"), diversity)
    assert_same(log.means("entropy"), [theirs.distributional_coverage()])
    assert_same(log.means("coverage"), [theirs.catalog_coverage()])


def frame_of(spark: SparkSession, rows: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(rows.astype({"item": "int32"}))


# Evidently -------------------------------------------------------------------------------------------------------


def evidently_value(legacy: ModuleType, metric: Any, log: Log) -> float:
    from evidently.legacy.pipeline.column_mapping import ColumnMapping
    from evidently.legacy.report import Report

    names = {"user_id": "user", "item_id": "item", "target": "rel", "prediction": "rank"}
    report = Report(metrics=[metric])
    report.run(
        reference_data=None,
        current_data=log.lists().merge(log.items).astype({"rel": int}),
        column_mapping=ColumnMapping(recommendations_type="rank", **names),
        additional_data={"current_train_data": log.had.merge(log.items)},
    )
    return float(report.as_dict()["metrics"][0]["result"]["current_value"])


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_evidently(evidently_metrics: ModuleType, seed: int, k: int) -> None:
    """Its diversity divides the distances of pairs by the rows, (k-1)/2 times the mean over pairs."""
    log, legacy = Log.of(seed, is_full=True), evidently_metrics
    personal = evidently_value(legacy, legacy.PersonalizationMetric(k=k), log)
    assert_same(log.means(f"personalization@{k}"), [personal])
    diversity = evidently_value(legacy, legacy.DiversityMetric(k=k, item_features=VECTOR), log)
    (ild,) = log.means(f"ild(by=catalog.vector,distance=cosine,single=zero)@{k}")
    assert_same([ild * (k - 1) / 2], [diversity])


def test_the_serendipity_of_evidently_is_no_mean(evidently_metrics: ModuleType) -> None:
    """1 - Σ similarity / items of the history, whatever the number of relevant rows: of four that are alike, -3."""
    rows = pd.DataFrame({"user": 0, "item": range(4), "rel": 1, "new": [4.0, 3.0, 2.0, 1.0], "old": np.nan})
    items = pd.DataFrame({"item": range(5), **dict.fromkeys(VECTOR, 1.0)})
    log = Log(rows, pd.DataFrame({"user": [0], "item": [4]}), items)
    metric = evidently_metrics.SerendipityMetric(k=4, item_features=VECTOR)
    assert evidently_value(evidently_metrics, metric, log) == pytest.approx(-3)


# jurity ----------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_jurity(jurity_recommenders: ModuleType, seed: int, k: int) -> None:
    log = Log.of(seed, is_full=True)
    lists, names = log.lists(), {"user_id_column": "user", "item_id_column": "item"}
    sampling = {"user_sample_size": None, "num_runs": 1, **names}
    personal = jurity_recommenders.InterListDiversity("score", k, **sampling).get_score(lists, lists)
    assert_same(log.means(f"personalization@{k}"), [personal])
    if k > 1:
        features = log.items[["item", *VECTOR]]
        within = jurity_recommenders.IntraListDiversity(features, "score", k, **sampling).get_score(lists, lists)
        assert_same(log.means(f"ild(by=catalog.vector,distance=cosine)@{k}"), [within])


# recpack ---------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_recpack(recpack_metrics: ModuleType, seed: int, k: int) -> None:
    """It takes users and items as the rows and columns of a matrix, and users with a row of the truth alone."""
    log = Log.of(seed)
    lists, shape = log.lists(), (USERS, ITEMS)
    listed = csr_matrix((lists["score"], (lists["user"], lists["item"])), shape)
    diversity = recpack_metrics.IntraListDiversityK(k)
    diversity.fit(csr_matrix(log.items[TAGS].to_numpy()))
    diversity.calculate(csr_matrix(np.ones(shape)), listed)
    theirs = diversity.results.set_index("user_id")["score"]
    assert_same_users(log.of_users(f"ild(by=catalog.tags,distance=jaccard,single=zero)@{k}"), theirs)
    covered = recpack_metrics.CoverageK(k)
    covered.calculate(csr_matrix(np.ones(shape)), listed)
    assert_same(log.means(f"coverage@{k}"), [covered.value])


# LensKit ---------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_lenskit(lenskit_ranking: ModuleType, seed: int, k: int) -> None:
    """It keeps exposures as float32, and adds a millionth of a row to each category, which can be undone.

    Of its similarity within lists (ILS) no release has anything, up to 2025.8.1: that of recommenders is the same mean.
    """
    from lenskit.data import ItemList

    log, ranking = Log.of(seed), lenskit_ranking
    lists = {user: ItemList(of["item"].to_numpy(), ordered=True) for user, of in log.lists().groupby("user")}
    ours = log.means(f"gini@{k}", f"gini(discount=log2)@{k}", f"gini(discount={geometric(0.85)})@{k}")
    for value, metric in zip(
        ours,
        [
            ranking.ListGini(k, items=ITEMS),
            ranking.ExposureGini(k, items=ITEMS, weight=ranking.LogRankWeight(offset=1)),
            ranking.ExposureGini(k, items=ITEMS, weight=ranking.GeometricRankWeight(0.85)),
        ],
        strict=True,
    ):
        of_lists = [metric.compute_list_data(of, None) for of in lists.values()]
        assert metric.global_aggregate(of_lists) == pytest.approx(value, rel=EXACT if value is ours[0] else 1e-6)
    genres = np.eye(4)[log.items["genre"]]
    entropy = log.of_users(f"category_entropy(by=catalog.genre)@{k}")
    for user, of in lists.items():
        counts = genres[of.ids()][:k].sum(axis=0)
        assert ranking.entropy(of, genres[of.ids()], n=k) == pytest.approx(smoothed_entropy(counts), rel=EXACT)
        assert entropy[user] == pytest.approx(ranking.entropy(of, genres[of.ids()], n=k), abs=1e-3)


def geometric(patience: float) -> str:
    return f"[{','.join(repr(patience**place) for place in range(LONGEST))}]"


def smoothed_entropy(counts: NDArray[np.float64]) -> float:
    p = (counts + 1e-6) / (counts + 1e-6).sum()
    return float(-(p * np.log2(p)).sum())


# RecBole ---------------------------------------------------------------------------------------------------------


@SEEDS
@pytest.mark.parametrize("k", CUTOFFS)
def test_the_entropy_of_recbole_is_in_nats_over_the_items_shown(recbole_metrics: ModuleType, seed: int, k: int) -> None:
    log = Log.of(seed, is_full=True)
    shown = np.array(log.lists()["item"]).reshape(USERS, LONGEST)[:, :k]
    entropy = recbole_metrics.ShannonEntropy({"topk": [k], "metric_decimal_place": 12}).get_entropy(shown)
    (bits,) = log.means(f"entropy@{k}")
    assert entropy == pytest.approx(bits * math.log(2) / len(np.unique(shown)), rel=EXACT)
