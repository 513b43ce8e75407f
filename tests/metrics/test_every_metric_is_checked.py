"""Every metric is checked by something that is not sparkrank.

What checks it is looked for, not listed: a metric without a case, an oracle or a library fails here on the day it is
declared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sparkrank.base.errors import MetricError
from sparkrank.metrics import CATALOG, Metric
from tests.cases import CASES
from tests.oracles import ORACLES

PEERS = Path(__file__).resolve().parents[1] / "peers"


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


def test_something_else_says_what_the_value_of_each_is() -> None:
    known = {*ORACLES, *compared_with_a_library()}
    assert [name for name in CATALOG if name not in known and not hand_worked(name)] == []


def test_the_evidence_is_found_where_it_is() -> None:
    """Else nothing would be proved by finding it everywhere."""
    assert hand_worked("ndcg")
    assert not hand_worked("nothing")
    found = compared_with_a_library()
    assert {"ndcg", "ap", "kendall_tau", "spearman", "auc", "logloss", "bpref"} <= found
    assert found < set(CATALOG), "some metric no library has"
