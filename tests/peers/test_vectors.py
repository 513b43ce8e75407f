"""Vectors from the public tests of other libraries."""

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


# Names that other folders of vectors have. u has the labels 2, 0 and 1 from the top, of v nothing is listed.
COLUMNS = ["group", "item", "score", "label"]
LISTED = [["u", "a", 3, 2], ["u", "b", 2, 0], ["u", "c", 1, 1], ["w", "a", 2, None], ["w", "b", 1, 0]]
OTHER_NAMES = {
    "pair_auc_graded": ({}, {"u": 2 / 3}),  # of three pairs b stands above c
    "judged_rate": ({"k": 1}, {"u": 1.0, "w": 0.0}),
    "set_ap": ({}, {"u": 2 / 3 * 2 / 2}),
    "num_ret": ({"k": 2}, {"u": 2.0, "w": 2.0}),
    "arp": ({"gain": "linear"}, {"u": (1 * 2 + 3 * 1) / 3}),
    "min_label_position": ({"rel_threshold": 1}, {"u": 1.0}),
    "precision": ({"k": 2, "empty_list": "one"}, {"u": 1 / 2, "v": 1.0, "w": 0.0, "mean": (1 / 2 + 1 + 0) / 3}),
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_names_of_other_folders_are_read(name: str) -> None:
    parameters, values = OTHER_NAMES[name]
    expected = {"per_group": [[group, value] for group, value in values.items() if group != "mean"]}
    expected |= {"mean": values["mean"]} if "mean" in values else {}
    case = {"id": name, "metric": name, "params": parameters, "expected": expected, "ground_truth": None}
    case |= {"inputs": {"columns": COLUMNS, "rows": LISTED, "groups": ["u", "v", "w"]}}
    assert vectors.why_not(case) is None
    assert vectors.differences(case | {"tolerance": {"abs": 1e-12, "rel": 0.0}}) == []
    wrong = {"per_group": [[group, value + 0.5] for group, value in expected["per_group"]], "mean": 7.0}
    wrong = {key: wrong[key] for key in expected if expected[key]}
    assert vectors.differences(case | {"expected": wrong, "tolerance": {"abs": 1e-12, "rel": 0.0}}) != []


def test_the_cases_of_other_libraries(vectors_folder: Path, record_property: Callable[[str, object], None]) -> None:
    """Reports how many cases of each library are run, and how many are excluded for which reason."""
    wrong, core = {}, Counter[bool]()
    run, excluded = Counter[str](), Counter[tuple[str, str]]()
    for case in vectors.cases():
        reason = vectors.why_not(case)
        core[reason is None] += case["scope"] == "core"
        if reason is not None:
            excluded[case["peer"], reason] += 1
            continue
        run[case["peer"]] += 1
        if differences := vectors.differences(case):
            wrong[case["id"]] = differences
    share = core[False] / max(1, core.total())
    lines = [f"vectors in {vectors_folder}: {core[True]} core cases run, {core[False]} excluded ({share:.1%})"]
    lines += [f"  {peer}: {count} run" for peer, count in run.items()]
    lines += [f"  {peer}: {count} excluded: {reason}" for (peer, reason), count in excluded.items()]
    record_property(SUMMARY, "\n".join(lines))
    assert wrong == {}
    assert core[True] >= (1 if vectors.is_elsewhere() else CORE_CASES_RUN)
    assert core[False] <= MOST_EXCLUDED * (core[True] + core[False])
