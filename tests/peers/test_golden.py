"""Real rankings against what other libraries print for them: trec_eval, pytrec_eval, ir_measures, ranx, scikit-learn."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkrank.errors import MetricError
from sparkrank.metrics import Metric
from tests.peers import trec
from tests.peers.harness import Impression, evaluate, join_truth

pytestmark = pytest.mark.peer

EXACT = 1e-9
HALF_A_DIGIT = 5e-5 + 1e-12  # trec_eval prints four decimals
GDEVAL = 6e-6  # ir_measures takes nDCG with exponential gains from gdeval, which prints five decimals a query
ALL_QUERIES = "over_all_judged_queries_missing_count_zero"
FEATURES = ("feature_248", "feature_285", "feature_sum")


@dataclass(frozen=True)
class Collection:
    """A run, its judgments, and the golden file of both."""

    golden: str
    qrels: str
    run: str
    part: str | None = None  # the golden file's own heading, where it has several

    def rows(self, data: Path) -> list[Impression]:
        return join_truth(trec.read_run(data / self.run), trec.read_qrels(data / self.qrels))

    def printed(self, golden: Path) -> dict[str, Any]:
        whole = read(golden / self.golden)
        return whole[self.part] if self.part else whole


TREC = Collection("trec_eval_results.test.json", "trec_eval/qrels.test", "trec_eval/results.test")
GRADED = Collection("trec_eval_rel_level.json", "trec_eval/qrels.rel_level", "trec_eval/results.test")
TRUNCATED = Collection("trec_eval_trunc.json", "trec_eval/qrels.test", "trec_eval/results.trunc")
WT11 = Collection("wt11.json", "wt11/qrels.wt11.txt", "wt11/run.wt11.trec", "wt11")
COLLECTIONS = {"results.test": TREC, "rel_level": GRADED, "trunc": TRUNCATED, "wt11": WT11}

# What trec_eval was asked for each of the outputs that ship with it: qrels, run, -l, -M.
COMMANDS = {
    "out.test": ("qrels.test", "results.test", 1, None),
    "out.test.a": ("qrels.test", "results.test", 1, None),
    "out.test.aq": ("qrels.test", "results.test", 1, None),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None),
}

# The judgments of the other two are binary: relevant at level 1 is all they can say.
GRADED_AT_LEVELS = [(name, level) for name in ("rel_level", "wt11") for level in (1, 2)]


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def differing(got: dict[str, float], expected: dict[str, float], tolerance: float) -> dict[str, tuple[float, float]]:
    """Name -> (got, expected) where they differ, of the names that `got` has."""
    pairs = {name: (got[name], expected[name]) for name in expected if name in got}
    assert pairs
    return {name: pair for name, pair in pairs.items() if not math.isclose(*pair, rel_tol=0, abs_tol=tolerance)}


@pytest.mark.parametrize("name", COMMANDS)
def test_trec_eval_prints_these(name: str, data_folder: Path, golden_folder: Path) -> None:
    printed = read(golden_folder / "trec_eval_printed_outputs.json")["files"][name]["values"]
    qrels, run, level, depth = COMMANDS[name]
    folder = data_folder / "trec_eval"
    rows = join_truth(trec.read_run(folder / run, depth), trec.read_qrels(folder / qrels))
    texts = trec.metric_texts(printed["all"], level)
    answer = evaluate(rows, list(texts.values()), **trec.DEFINITIONS)
    assert sorted(answer.counts) == ["301", "302", "303"]
    for query in printed.keys() - {"all"}:
        assert not differing(trec.of_query(answer, texts, query), printed[query], HALF_A_DIGIT), query
    means = {key: answer.means[text].value for key, text in texts.items()}
    means["num_rel_ret"] = 3 * means.get("num_rel_ret", math.nan)  # a sum in the last block of the output
    assert not differing(means, printed["all"], HALF_A_DIGIT)
    assert len(texts) >= (13 if name == "out.test" else 6 if name == "out.test.meas_params" else 48)


@pytest.mark.parametrize(("name", "level"), [("results.test", 1), ("trunc", 1), *GRADED_AT_LEVELS])
def test_pytrec_eval_of_each_query(name: str, level: int, data_folder: Path, golden_folder: Path) -> None:
    collection = COLLECTIONS[name]
    per_query = collection.printed(golden_folder)["pytrec_eval"][f"relevance_level_{level}"]["per_query"]
    texts = trec.metric_texts(next(iter(per_query.values())), level)
    answer = evaluate(collection.rows(data_folder), list(texts.values()), **trec.DEFINITIONS)
    assert per_query.keys() == {query for query, counts in answer.counts.items() if counts.retrieved}
    for query, expected in per_query.items():
        assert not differing(trec.of_query(answer, texts, query), expected, EXACT), query
        if level == 1:
            assert answer.counts[query].relevant == expected["num_rel"]


@pytest.mark.parametrize(
    ("name", "level"),
    [("results.test", 1), ("trunc", 1), *GRADED_AT_LEVELS, *((name, level) for name in FEATURES for level in (1, 2))],
)
def test_pytrec_eval_means(name: str, level: int, data_folder: Path, golden_folder: Path) -> None:
    """Over the queries with a list, and over all judged queries, a missing list counting 0."""
    rows, printed = of_name(name, data_folder, golden_folder)
    means = printed["pytrec_eval"][f"relevance_level_{level}"]["means"]
    for population, over in (("over_queries_in_both", trec.listed_groups(rows)), (ALL_QUERIES, rows)):
        expected = means[population]
        texts = trec.metric_texts(expected.keys() - {"num_rel_ret"}, level)
        answer = evaluate(over, list(texts.values()), **trec.DEFINITIONS)
        got = {key: answer.means[text].value for key, text in texts.items()}
        assert not differing(got, expected, EXACT), population


@pytest.mark.parametrize("name", [*COLLECTIONS, *FEATURES])
def test_ir_measures_by_its_own_names(name: str, data_folder: Path, golden_folder: Path) -> None:
    """The names that ir_measures prints are metrics as they stand. RR@k comes from MS MARCO's script, with its ties."""
    rows, printed = of_name(name, data_folder, golden_folder)
    expected = {key: value for key, value in printed["ir_measures"]["means"].items() if value != "unsupported"}
    expected = {key: value for key, value in expected.items() if is_metric(key)}
    answer = evaluate(rows, list(expected), **trec.DEFINITIONS)
    got = {key: answer.means[key].value for key in expected}
    got["RR@10"] = evaluate(trec.lesser_item_first(rows), "RR@10", **trec.DEFINITIONS).means["RR@10"].value
    exponential = {key: value for key, value in expected.items() if "exp-log2" in key}
    assert not differing(got, exponential, GDEVAL)
    assert not differing(got, {key: expected[key] for key in expected.keys() - exponential.keys()}, EXACT)
    assert len(expected) >= 14


@pytest.mark.parametrize("name", ["results.test", "rel_level", "trunc"])
def test_ranx_means(name: str, data_folder: Path, golden_folder: Path) -> None:
    """Where its order inside ties, which it does not document, decides nothing: ranx and pytrec_eval agree there."""
    rows, printed = of_name(name, data_folder, golden_folder)
    texts = {
        "ndcg@10": "ndcg@10",
        "ndcg": "ndcg",
        "ndcg_burges@10": "ndcg(gain=exp2)@10",
        "ndcg_burges": "ndcg(gain=exp2)",
        "precision@5": "p@5",
        "precision@10": "p@10",
        "recall@10": "r@10",
        "recall@100": "r@100",
        "mrr": "rr",
        "mrr@10": "rr@10",
        "map": "ap",
        "map@10": "ap@10",
        "r-precision": "rprec",
        "hit_rate@5": "hit@5",
        "hits@10": "cg(gain=binary)@10",
        "f1@10": "f@10",
    }
    if printed["shape"]["labels"].keys() <= {"0", "1"}:
        texts["rbp.90"] = "rbp(p=0.9)"  # of graded labels ranx sums the grades
    assert set(printed["agreement_ranx_minus_pytrec_eval"].values()) == {0.0}
    answer = evaluate(trec.listed_groups(rows), list(texts.values()), **trec.DEFINITIONS)
    got = {key: answer.means[text].value for key, text in texts.items()}
    assert not differing(got, printed["ranx"]["means"], EXACT)


@pytest.mark.parametrize("feature", FEATURES)
def test_scikit_learn_of_each_group(feature: str, data_folder: Path, golden_folder: Path) -> None:
    """It averages over tied scores in dcg and ndcg, and counts a tied pair 1/2 in AUC: ties=expected."""
    rows, printed = of_name(feature, data_folder, golden_folder)
    per_group = printed["sklearn"]["per_group"]
    texts = {key: scikit_text(key) for key in per_group["1"] if key.startswith(("ndcg", "dcg", "auc"))}
    answer = evaluate(rows, list(texts.values()), ties="expected")
    assert per_group.keys() == answer.counts.keys()
    for group, expected in per_group.items():
        counts = answer.counts[group]
        assert (counts.rows, counts.relevant) == (expected["n"], expected["n_pos"])
        got = {key: answer.values[text][group] for key, text in texts.items()}
        undefined = {key for key, value in expected.items() if value == "NaN" and key in got}
        assert all(math.isnan(got[key]) for key in undefined)
        # A group without a relevant row has no ideal: undefined here, 0 there.
        zero = {key for key in got if key.startswith("ndcg") and math.isnan(got[key])}
        assert not zero or expected["n_pos"] == 0
        compared = {key: value for key, value in expected.items() if key not in undefined}
        got |= dict.fromkeys(zero, 0.0)
        assert group == "0" or not differing(got, compared, EXACT), group  # it takes no ndcg of one row
    assert len(texts) == 17


def scikit_text(key: str) -> str:
    """ndcg_exp2@10, auc_label_ge2: the golden file's own names."""
    name, _, k = key.partition("@")
    metric, _, kind = name.partition("_")
    text = f"group_auc(rel={kind[-1]})" if metric == "auc" else f"{metric}(gain={kind})"
    return f"{text}@{k}" if k else text


@pytest.mark.parametrize("feature", FEATURES)
def test_auc_of_all_groups_together(feature: str, data_folder: Path, golden_folder: Path) -> None:
    rows, printed = of_name(feature, data_folder, golden_folder)
    day = evaluate(rows, "auc(exact)").days["auc(exact)"]
    assert day == pytest.approx(printed["sklearn"]["global_auc_label_ge1"], abs=EXACT)
    check_gauc(rows, printed["sklearn"]["gauc_label_ge1"])


@pytest.mark.parametrize("score", ["propensity_score", "affinity"])
@pytest.mark.parametrize("policy", ["bts", "random"])
def test_impressions_with_few_clicks(policy: str, score: str, data_folder: Path, golden_folder: Path) -> None:
    """115 clicks among 20,000 impressions: groups of one class are the rule, not the exception."""
    printed = read(golden_folder / "open_bandit_men.json")[f"{policy}_men"]
    with (data_folder / "open_bandit_men" / "impressions.csv").open(encoding="utf-8", newline="") as file:
        records = [record for record in csv.DictReader(file) if record["policy"] == policy]
    assert len(records) == printed["rows"]
    keys: dict[str, Callable[[dict[str, str]], Hashable]] = {
        "gauc_by_user_segment": lambda record: record["user_segment"],
        "gauc_by_item": lambda record: record["item_id"],
        "gauc_by_hour": lambda record: record["timestamp"][: len("2019-11-24 00")],
    }
    for name, key in keys.items():
        rows = [Impression(key(r), r["row"], float(r[score]), float(r["click"])) for r in records]
        day = evaluate(rows, "auc(exact)").days["auc(exact)"]
        assert day == pytest.approx(printed[score]["global_auc"], abs=EXACT)
        check_gauc(rows, printed[score][name])


def check_gauc(rows: list[Impression], printed: dict[str, float]) -> None:
    texts = {
        "mean": "gauc(weight=uniform)",
        "weighted_by_count": "gauc",
        "weighted_by_positives": "gauc(weight=positives)",
    }
    answer = evaluate(rows, list(texts.values()))
    got = {name: answer.means[text].value for name, text in texts.items()}
    assert not differing(got, printed, EXACT)
    of_both_classes = answer.means["gauc"].n_groups - answer.means["gauc"].n_undefined
    assert answer.means["gauc"].n_groups == printed["groups"]
    assert of_both_classes == printed["groups_with_both_classes"]


def of_name(name: str, data: Path, golden: Path) -> tuple[list[Impression], dict[str, Any]]:
    """The rows of a collection, or of a feature of the learning-to-rank set as a score, and what is printed for them."""
    if name in COLLECTIONS:
        return COLLECTIONS[name].rows(data), COLLECTIONS[name].printed(golden)
    with (data / "lightgbm_rank" / "train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(learning_to_rank(csv.DictReader(file), f"score_{name}"))
    return rows, read(golden / "lightgbm_rank_train.json")[f"train_{name}"]


def learning_to_rank(records: Iterable[dict[str, str]], score: str) -> Iterable[Impression]:
    for record in records:
        yield Impression(record["group"], record["item"], float(record[score]), float(record["label"]))


def is_metric(name: str) -> bool:
    try:
        Metric.parse(name)
    except MetricError:
        return False
    return True
