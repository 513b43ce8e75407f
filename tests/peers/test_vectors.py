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
    lines = [f"vectors in {vectors_folder}: {core[True]} core cases run, {core[False]} excluded"]
    lines += [f"  {peer}: {count} run" for peer, count in run.items()]
    lines += [f"  {peer}: {count} excluded: {reason}" for (peer, reason), count in excluded.items()]
    record_property(SUMMARY, "\n".join(lines))
    assert wrong == {}
    assert core[True] >= (1 if vectors.is_elsewhere() else CORE_CASES_RUN)
    assert core[False] <= MOST_EXCLUDED * (core[True] + core[False])
