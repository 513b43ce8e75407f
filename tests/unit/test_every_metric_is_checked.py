"""Every metric that was promised exists, and each that exists is checked by something that is not sparkrank.

What checks it is looked for, not listed: a metric without a case, an oracle or a library fails here on the day it is
declared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.declaration import Declaration
from sparkrank.metrics.kinds import CatalogueMetric, GroupMetric, HistogramMetric, PooledMetric
from tests.cases import CASES
from tests.oracles import ORACLES

pytestmark = pytest.mark.same_without_loops

PEERS = Path(__file__).resolve().parents[1] / "peers"

# The metrics of a group that the project is for, with the parameters of each, defaults first.
OF_A_GROUP = {
    "p": "over=k over=retrieved",
    "p@5": "over=k over=retrieved over=min_k_relevant",
    "r@5": "over=relevant over=min_k_relevant",
    "f@5": "beta=1 beta=2",
    "hit@5": "",
    "rprec": "",
    "ap": "over=relevant over=hits",
    "ap@5": "over=relevant over=min_k_relevant over=k over=hits",
    "rr": "",
    "rr@5": "",
    "cg@5": "gain=linear gain=exp2 gain=binary",
    "dcg@5": "gain=linear gain=exp2 gain=binary discount=log2 discount=zipf discount=[1,0.5]",
    "ndcg": "gain=linear gain=exp2 gain=binary ideal=judged ideal=retrieved ideal=[3,2,1] discount=log2 discount=zipf",
    "ndcg@5": "gain=linear ideal=judged ideal=retrieved ideal=k_relevant ideal=[3,2,1]",
    "rbp": "p=0.8 p=0.5",
    "group_auc": "weight=uniform weight=rows weight=positives weight=pairs",
    "gauc": "weight=rows weight=uniform weight=positives weight=pairs",
    "pair_auc": "weight=uniform weight=rows weight=pairs",
    "kendall_tau": "variant=b variant=c ref=label ref=reference_rank ref=model",
    "kendall_distance": "ref=label ref=reference_rank ref=model",
    "spearman": "ref=label ref=reference_rank ref=model",
    "fitness": "alpha=0.5 alpha=1 discount=none discount=log2",
    "err@5": "",
    "bpref": "",
    "iprec": "recall=0 recall=0.5",
    "arhr@5": "",
    "rbo": "p=0.9 p=0.5",
}
OF_A_DAY = {
    **dict.fromkeys(["auc", "pr_auc", "bep", "ks"], "bits=12 digits=5 exact"),
    "auc_up": "digits=5 bits=12 exact",
    **dict.fromkeys(
        ["accuracy", "precision", "recall", "specificity", "fpr", "tpr", "f1", "fbeta"],
        "threshold=0.5 threshold=0.25",
    ),
    **dict.fromkeys(["logloss", "ne", "brier", "ece", "copc"], ""),
}
OVER_LISTS = {**dict.fromkeys(["coverage@5", "gini@5"], ""), "novelty@5": ""}
PROMISED = [
    *((text, settings, GroupMetric) for text, settings in OF_A_GROUP.items()),
    *((text, settings, PooledMetric) for text, settings in OF_A_DAY.items()),
    *((text, settings, CatalogueMetric) for text, settings in OVER_LISTS.items()),
]
CURVES = {"roc": "auc", "pr": "pr_auc"}  # and the metric that is the area under each
# Names that people and ir_measures type.
ALIASES = {"map": "ap", "mrr": "rr", "precision@5": "p@5", "recall@5": "r@5", "hr@5": "hit@5", "success@5": "hit@5"}
ALIASES |= {"nDCG@10": "ndcg@10", "RR": "rr", "AP": "ap", "P@5": "p@5", "R@5": "r@5", "Rprec": "rprec", "RBP": "rbp"}


@pytest.mark.parametrize(("text", "settings", "kind"), PROMISED, ids=lambda value: value if type(value) is str else "")
def test_what_was_promised_exists(text: str, settings: str, kind: type[Declaration]) -> None:
    """With each of its parameters; the first value of one is its default."""
    metric = Metric.parse(text)
    assert isinstance(metric.declaration, kind)
    name, at, k = text.partition("@")
    seen = set()
    for setting in settings.split():
        parameter = setting.partition("=")[0]
        given = Metric.parse(f"{name}({setting}){at}{k}")
        is_default = parameter not in seen and not (metric.declaration.exclusive and seen)
        assert (given == metric) == is_default, setting
        seen.add(parameter)


def test_the_curves_that_were_promised() -> None:
    drawn = {each.curve: each.name for each in CATALOG.values() if isinstance(each, HistogramMetric) and each.curve}
    assert drawn == CURVES


@pytest.mark.parametrize("alias", ALIASES)
def test_names_that_people_type(alias: str) -> None:
    assert Metric.parse(alias) == Metric.parse(ALIASES[alias])


def hand_worked(name: str) -> bool:
    """A case says a number of it, not only that it is undefined."""
    cases = [case for case in CASES if Metric.parse(case.metric).name == name]
    return any(case.mean is not None for case in cases)


@cache
def compared_with_a_library() -> frozenset[str]:
    """The metrics whose texts stand in the tests against other libraries."""
    texts = (text for file in sorted(PEERS.glob("*.py")) for text in _texts(ast.parse(file.read_text("utf-8"))))
    return frozenset(name for name in map(_metric_named, texts) if name)


def _texts(module: ast.Module) -> Iterator[str]:
    """Every string of a collection, or given to a call; of an f-string the part before the first braces."""
    for node in ast.walk(module):
        held: list[ast.expr | None] = []
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            held = list(node.elts)
        elif isinstance(node, ast.Dict):
            held = [*node.keys, *node.values]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("evaluate", "day_values"):
            held = list(node.args)
        elif isinstance(node, ast.ListComp):
            held = [node.elt]
        for each in held:
            if isinstance(each, ast.JoinedStr) and each.values and isinstance(each.values[0], ast.Constant):
                yield str(each.values[0].value).partition("(")[0]
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value


def _metric_named(text: str) -> str | None:
    try:
        return Metric.parse(text).name
    except MetricError:
        return None


@pytest.mark.parametrize("name", CATALOG)
def test_something_else_says_what_its_value_is(name: str) -> None:
    assert hand_worked(name) or name in ORACLES or name in compared_with_a_library()


def test_the_evidence_is_found_where_it_is() -> None:
    """Else nothing would be proved by finding it everywhere."""
    assert hand_worked("ndcg")
    assert not hand_worked("nothing")
    found = compared_with_a_library()
    assert {"ndcg", "ap", "kendall_tau", "spearman", "auc", "logloss", "bpref"} <= found
    assert found < set(CATALOG), "some metric no library has"
