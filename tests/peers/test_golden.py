"""Real rankings against what trec_eval, pytrec_eval, ir_measures, ranx and scikit-learn print for them."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Hashable
from pathlib import Path

import pytest

from tests.peers import golden, trec
from tests.peers.harness import Impression, evaluate, join_truth

pytestmark = pytest.mark.peer

EXACT = 1e-9
HALF_A_DIGIT = 5e-5 + 1e-12  # trec_eval prints four decimals
GDEVAL = 6e-6  # ir_measures takes nDCG with exponential gains from gdeval, which prints five decimals a query

# What trec_eval was asked for each of the outputs that ship with it (qrels, run, -l, -M), and how many of the values in
# it have a counterpart here.
COMMANDS = {
    "out.test": ("qrels.test", "results.test", 1, None, 25),
    "out.test.a": ("qrels.test", "results.test", 1, None, 70),
    "out.test.aq": ("qrels.test", "results.test", 1, None, 70),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None, 70),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100, 70),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None, 69),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None, 16),
}

RANX = {
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


def differing(got: dict[str, float], expected: dict[str, float], tolerance: float) -> dict[str, tuple[float, float]]:
    """Name -> (got, expected) where they differ, of the names that both have."""
    pairs = {name: (got[name], expected[name]) for name in expected if name in got}
    assert pairs
    return {name: pair for name, pair in pairs.items() if not math.isclose(*pair, rel_tol=0, abs_tol=tolerance)}


@pytest.mark.parametrize("name", COMMANDS)
def test_trec_eval_prints_these(name: str, data_folder: Path, golden_folder: Path) -> None:
    printed = golden.read(golden_folder / "trec_eval_printed_outputs.json")["files"][name]["values"]
    qrels, run, level, depth, covered = COMMANDS[name]
    folder = data_folder / "trec_eval"
    rows = join_truth(trec.read_run(folder / run, depth), trec.read_qrels(folder / qrels))
    texts = trec.metric_texts(printed["all"], level, version=10)
    assert len(texts) == covered
    answer = evaluate(rows, list(texts.values()), **trec.DEFINITIONS)
    assert sorted(answer.counts) == ["301", "302", "303"]
    for query in printed.keys() - {"all"}:
        assert not differing(trec.of_query(answer, texts, query), printed[query], HALF_A_DIGIT), query
    means = {key: answer.means[text].value for key, text in texts.items()}
    if "num_rel_ret" in means:
        means["num_rel_ret"] *= 3  # the last block of the output has the sum over the three topics
    assert not differing(means, printed["all"], HALF_A_DIGIT)


@pytest.mark.parametrize(("name", "level"), [(name, level) for name in golden.RUNS for level in golden.LEVELS[name]])
def test_pytrec_eval_of_each_query(name: str, level: int, data_folder: Path, golden_folder: Path) -> None:
    per_query = golden.printed(name, golden_folder)["pytrec_eval"][f"relevance_level_{level}"]["per_query"]
    texts = trec.metric_texts(next(iter(per_query.values())), level)
    assert len(texts) == 22  # of 24: num_ret and num_rel are counts
    answer = evaluate(golden.rows(name, data_folder), list(texts.values()), **trec.DEFINITIONS)
    assert per_query.keys() == {query for query, counts in answer.counts.items() if counts.retrieved}
    for query, expected in per_query.items():
        assert not differing(trec.of_query(answer, texts, query), expected, EXACT), query
        assert level > 1 or answer.counts[query].relevant == expected["num_rel"]


@pytest.mark.parametrize(("name", "level"), [(name, level) for name, of in golden.LEVELS.items() for level in of])
def test_pytrec_eval_means(name: str, level: int, data_folder: Path, golden_folder: Path) -> None:
    """Over the queries with a list, and over all judged queries, a missing list counting 0."""
    rows = golden.rows(name, data_folder)
    means = golden.printed(name, golden_folder)["pytrec_eval"][f"relevance_level_{level}"]["means"]
    populations = {
        "over_queries_in_both": trec.listed_groups(rows),
        "over_all_judged_queries_missing_count_zero": rows,
    }
    for population, evaluated in populations.items():
        expected = means[population]
        texts = trec.metric_texts(expected.keys() - {"num_rel_ret"}, level)  # a sum, not a mean
        assert len(texts) == 57
        answer = evaluate(evaluated, list(texts.values()), **trec.DEFINITIONS)
        got = {key: answer.means[text].value for key, text in texts.items()}
        assert not differing(got, expected, EXACT), population


@pytest.mark.parametrize("name", golden.LEVELS)
def test_ir_measures_by_its_own_names(name: str, data_folder: Path, golden_folder: Path) -> None:
    """The names that ir_measures prints are metrics as they stand. RR@k comes from MS MARCO's script, with its ties."""
    rows = golden.rows(name, data_folder)
    means = golden.printed(name, golden_folder)["ir_measures"]["means"]
    expected = {key: value for key, value in means.items() if value != "unsupported"}
    answer = evaluate(rows, list(expected), **trec.DEFINITIONS)
    got = {key: answer.means[key].value for key in expected}
    got["RR@10"] = evaluate(trec.lesser_item_first(rows), "RR@10", **trec.DEFINITIONS).means["RR@10"].value
    for key, value in expected.items():
        assert not differing(got, {key: value}, GDEVAL if "exp-log2" in key else EXACT)


@pytest.mark.parametrize("name", ["results.test", "rel_level", "trunc", "by_rank_graded", "by_rank_binary"])
def test_ranx_means(name: str, data_folder: Path, golden_folder: Path) -> None:
    """Where its order inside ties, which it does not document, decides nothing: ranx and pytrec_eval agree there."""
    printed = golden.printed(name, golden_folder)
    assert max(map(abs, printed["agreement_ranx_minus_pytrec_eval"].values())) < 1e-15
    binary = printed["shape"]["labels"].keys() <= {"0", "1"}
    texts = RANX | ({"rbp.90": "rbp(p=0.9)"} if binary else {})  # of graded labels ranx sums the grades
    answer = evaluate(trec.listed_groups(golden.rows(name, data_folder)), list(texts.values()), **trec.DEFINITIONS)
    got = {key: answer.means[text].value for key, text in texts.items()}
    assert not differing(got, printed["ranx"]["means"], EXACT)


@pytest.mark.parametrize("feature", golden.FEATURES)
def test_scikit_learn_of_each_group(feature: str, data_folder: Path, golden_folder: Path) -> None:
    """It averages over tied scores in dcg and ndcg, and counts a tied pair 1/2 in AUC: ties=expected."""
    per_group = golden.printed(feature, golden_folder)["sklearn"]["per_group"]
    texts = {key: scikit_text(key) for key in per_group["1"] if key.startswith(("ndcg", "dcg", "auc"))}
    assert len(texts) == 17
    answer = evaluate(golden.rows(feature, data_folder), list(texts.values()), ties="expected")
    assert per_group.keys() == answer.counts.keys()
    for group, expected in per_group.items():
        counts = answer.counts[group]
        assert (counts.rows, counts.relevant) == (expected["n"], expected["n_pos"])
        for key in texts.keys() & expected.keys():
            got = answer.values[texts[key]][group]
            if math.isnan(got):  # one class only; or no relevant row, for which scikit-learn says ndcg = 0
                assert expected[key] == ("NaN" if key.startswith("auc") else 0.0), (group, key)
                assert key.startswith("auc") or counts.relevant == 0
            else:
                assert got == pytest.approx(expected[key], abs=EXACT), (group, key)


def scikit_text(key: str) -> str:
    """ndcg_exp2@10, auc_label_ge2: the golden file's own names."""
    name, _, k = key.partition("@")
    metric, _, kind = name.partition("_")
    text = f"group_auc(rel={kind[-1]})" if metric == "auc" else f"{metric}(gain={kind})"
    return f"{text}@{k}" if k else text


@pytest.mark.parametrize("feature", golden.FEATURES)
def test_auc_of_all_groups_together(feature: str, data_folder: Path, golden_folder: Path) -> None:
    printed = golden.printed(feature, golden_folder)["sklearn"]
    check_auc(golden.rows(feature, data_folder), printed["global_auc_label_ge1"], printed["gauc_label_ge1"])


@pytest.mark.parametrize("score", ["propensity_score", "affinity"])
@pytest.mark.parametrize("policy", ["bts", "random"])
def test_impressions_with_few_clicks(policy: str, score: str, data_folder: Path, golden_folder: Path) -> None:
    """115 clicks among 20,000 impressions: groups of one class are the rule, not the exception."""
    printed = golden.read(golden_folder / "open_bandit_men.json")[f"{policy}_men"]
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
        check_auc(rows, printed[score]["global_auc"], printed[score][name])


def check_auc(rows: list[Impression], of_the_day: float, of_groups: dict[str, float]) -> None:
    """The AUC of all rows, and the mean AUC of groups by each weight. Groups of one class are undefined."""
    texts = {
        "mean": "gauc(weight=uniform)",
        "weighted_by_count": "gauc",
        "weighted_by_positives": "gauc(weight=positives)",
    }
    answer = evaluate(rows, [*texts.values(), "auc(exact)"])
    assert answer.days["auc(exact)"] == pytest.approx(of_the_day, abs=EXACT)
    got = {name: answer.means[text].value for name, text in texts.items()}
    assert not differing(got, of_groups, EXACT)
    mean = answer.means["gauc"]
    assert (mean.n_groups, mean.n_groups - mean.n_undefined) == (
        of_groups["groups"],
        of_groups["groups_with_both_classes"],
    )
