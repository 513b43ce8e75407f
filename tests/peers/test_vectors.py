"""Vectors from the public tests of other libraries, one test a case."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.peers import vectors

pytestmark = pytest.mark.peer

CORE_CASES_RUN = 369  # in the ten files beside the project; fewer would mean that cases fell silent


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a case. Without a folder there is one test, which the fixture skips with its sentence."""
    if "case" in metafunc.fixturenames:
        found = vectors.cases() or [None]
        metafunc.parametrize("case", found, ids=[case["id"] if case else "no folder" for case in found])


def test_case(case: vectors.Record, vectors_folder: Path) -> None:
    reason = vectors.why_not(case)
    if reason:
        pytest.skip(f"left for later: {reason}")
    assert not vectors.differences(case)


def test_enough_cases_are_run(vectors_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints for each peer how many cases were run, passed, and left for later, and why."""
    run, passed, core = Counter[str](), Counter[str](), Counter[bool]()
    later = Counter[tuple[str, str]]()
    for case in vectors.cases():
        reason = vectors.why_not(case)
        core[reason is None] += case["scope"] == "core"
        if reason:
            later[case["peer"], reason] += 1
        else:
            run[case["peer"]] += 1
            passed[case["peer"]] += not vectors.differences(case)
    lines = [f"vectors in {vectors_folder}: {core[True]} core cases run, {core[False]} left for later"]
    for peer in dict.fromkeys(case["peer"] for case in vectors.cases()):
        reasons = [(count, reason) for (of, reason), count in later.items() if of == peer]
        left = sum(count for count, _ in reasons)
        lines.append(f"  {peer}: {run[peer]} run, {passed[peer]} passed, {left} left for later")
        lines += [f"    {count:4d}  {reason}" for count, reason in sorted(reasons, reverse=True)]
    with capsys.disabled():
        print("\n" + "\n".join(lines))  # noqa: T201 - the counts are what this test is for
    assert core[True] >= (1 if os.environ.get(vectors.VARIABLE) else CORE_CASES_RUN)
