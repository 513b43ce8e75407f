"""Vectors from the public tests of other libraries, one test a case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import SUMMARY
from tests.peers import vectors

pytestmark = pytest.mark.peer

MOST_EXCLUDED = 0.03  # of the core cases
CORE_CASES_RUN = 396  # in the ten files beside the project; fewer would mean that cases fell silent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a case. Without a folder there is one test, which the fixture skips with its sentence."""
    if "case" in metafunc.fixturenames:
        found = vectors.cases() or [None]
        metafunc.parametrize("case", found, ids=[case["id"] if case else "no folder" for case in found])


def test_case(case: vectors.Record, vectors_folder: Path) -> None:
    reason = vectors.why_not(case)
    if reason:
        pytest.skip(f"excluded: {reason}")
    assert not vectors.differences(case)


def test_enough_cases_are_run(vectors_folder: Path, record_property: Callable[[str, object], None]) -> None:
    """Reports for each peer how many cases passed, failed and are excluded, why, and the ids of excluded core cases."""
    passed, failed = Counter[str](), Counter[str]()
    core: Counter[bool] = Counter()
    excluded: dict[tuple[str, str], list[str]] = {}
    for case in vectors.cases():
        reason = vectors.why_not(case)
        core[reason is None] += case["scope"] == "core"
        if reason is not None:
            named = case["id"] if case["scope"] == "core" else ""
            excluded.setdefault((case["peer"], reason), []).append(named)
        elif vectors.differences(case):
            failed[case["peer"]] += 1
        else:
            passed[case["peer"]] += 1
    lines = [f"vectors in {vectors_folder}: {core[True]} core cases run, {core[False]} excluded"]
    for peer in dict.fromkeys(case["peer"] for case in vectors.cases()):
        reasons = {reason: ids for (of, reason), ids in excluded.items() if of == peer}
        left = sum(map(len, reasons.values()))
        lines.append(f"  {peer}: {passed[peer]} passed, {failed[peer]} failed, {left} excluded")
        for reason, ids in sorted(reasons.items(), key=lambda found: -len(found[1])):
            named = ", ".join(filter(None, ids))
            lines.append(f"    {len(ids):4d}  {reason}" + (f" (core: {named})" if named else ""))
    record_property(SUMMARY, "\n".join(lines))
    assert core[True] >= (1 if vectors.is_elsewhere() else CORE_CASES_RUN)
    assert core[False] <= MOST_EXCLUDED * (core[True] + core[False])


LISTED = {"columns": ["group", "item", "score", "label"]}
LISTED |= {"rows": [[0, 0, 4, 0], [0, 1, 3, 3], [0, 2, 2, 1], [0, 3, 1, 0]], "groups": [0]}
BY_RANK = {"dcg": 7 / 12 + 1 / 13, "ndcg": (7 / 12 + 1 / 13) / (7 / 11 + 1 / 12)}


@pytest.mark.parametrize("metric", BY_RANK)
@pytest.mark.parametrize("k", [None, 4])
def test_the_discount_of_tf_ranking(metric: str, k: int | None) -> None:
    """1 / (position + 10), of test_dcg_ and test_ndcg_should_use_custom_rank_discount_fn of its metrics_impl_test."""
    parameters = {"gain": "exp2", "discount": "inverse_plus_10", "ideal": "truth", "k": k}
    expected = {"per_group": [[0, BY_RANK[metric]]]}
    case = {"metric": metric, "params": parameters, "inputs": LISTED, "ground_truth": None, "expected": expected}
    assert vectors.why_not(case) is None
    assert not vectors.differences({**case, "tolerance": {"abs": 1e-12, "rel": 0.0}})
