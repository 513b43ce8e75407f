"""The examples without Spark print what is computed by hand here, and the pages of migration show their code."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from itertools import product
from math import log2, sqrt
from pathlib import Path

import pytest

from sparkrank.metrics import PRESETS
from tests.support.examples import EXAMPLES, PAGES, PROJECT, blocks, numbers, printed, program

PRESET_OF = {"ranx": "ranx", "recommenders": "recommenders", "rectools": "rectools", "replay": "replay"}
PRESET_OF |= {"scikit_learn": "sklearn", "spark_ml": "mllib"}  # of the library that each page comes from

# ann has one hit of two at place 1, bob one of three at place 2, cat none, dan no list; k is 2. NDCG of ann and bob is
# 1 / (1 + d) and d / (1 + d) with d = 1 / log2(3): it adds up to 1, whatever d is.
P, R, AP, AP_OF_ALL, NDCG = 1 / 2 + 1 / 2, 1 / 2 + 1 / 3, 1 / 2 + (1 / 2) / 2, 1 / 2 + (1 / 2) / 3, 1
# Without dan, but for NDCG.
RECOMMENDERS = {"p@2": P / 3, "r@2": R / 3, "ap@2": AP / 3, "ap(over=relevant)@2": AP_OF_ALL / 3, "ndcg@2": NDCG / 4}
# Of ten rows of the log e has four, d two, and a, b, c and f one each; of nine rows shown a has three, b and c two.
RECOMMENDERS |= {"novelty": (7 * log2(10) + log2(10 / 4) + log2(10 / 2)) / 9, "coverage": 5 / 6}
RECOMMENDERS |= {"entropy": 3 / 9 * log2(9 / 3) + 2 * 2 / 9 * log2(9 / 2) + 2 / 9 * log2(9)}
# Angles of 45 degrees between b and each of the others, of 90 between a and c; e is as a, and d as c.
NEAR = 1 - 1 / sqrt(2)
RECOMMENDERS |= {"ild(by=catalog.features,distance=cosine)": ((NEAR + 1 + NEAR) / 3 + (NEAR + NEAR + 0) / 3 + 0) / 3}
REPLAY = {"Precision@2": P / 4, "Recall@2": R / 4, "MAP@2": AP / 4, "NDCG@2": NDCG / 4}
REPLAY |= {"HitRate@2": 2 / 4, "MRR@2": (1 + 1 / 2) / 4}
# Of four users all had e, two d, one each a, b, c and f; the lists are a b, b e, c d and a, of which bob alone had e.
REPLAY |= {"Novelty@2": (1 + 1 / 2 + 1 + 1) / 4, "Coverage@2": 5 / 6}
REPLAY |= {"Surprisal@2": ((1 + 1) / 2 + (1 + 0) / 2 + (1 + log2(4 / 2) / log2(4)) / 2 + 1 / 2) / 4}
RECTOOLS = {"Precision@2": P / 4, "Recall@2": R / 4, "MAP@2": AP_OF_ALL / 4, "NDCG@2": NDCG / 4}
# Of five users four had e, two d, one each a, b and c; the lists are a b, b e, c d and a, of which e and a are hits.
RECTOOLS |= {"MeanInvUserFreq@2": (4 * log2(5) - log2(4) / 2 - log2(2) / 2) / 4, "CatalogCoverage@2": 5}
RECTOOLS |= {"AvgRecPopularity@2": (1 + 5 / 2 + 3 / 2 + 1) / 4, "Serendipity@2": ((3 - 1) / 5 / 2) / 4}
RANX = {"precision@2": P / 4, "recall@2": R / 4, "map@2": AP_OF_ALL / 4, "ndcg@2": NDCG / 4}
RANX |= {"mrr": (1 + 1 / 2) / 4, "hit_rate@2": 2 / 4}
# The arithmetic stands on the page.
SCIKIT_LEARN = {
    "ndcg@2": (0.806574 + 0.630930 + 0) / 3,
    "ap(ties=block)": (5 / 6 + 1 / 2 + 0) / 3,
    "auc": 13.5 / 18,
    "group_auc": (3.5 / 4 + 1 / 2) / 2,
}


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("recommenders", RECOMMENDERS),
        ("rectools", RECTOOLS),
        ("replay", REPLAY),
        ("scikit_learn", SCIKIT_LEARN),
    ],
)
def test_old_and_new_numbers_are_those_of_the_page(
    page: str, expected: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The old code runs where its library is there; the others state its numbers otherwise."""
    if page == "scikit_learn":
        pytest.importorskip("sklearn.metrics", reason="the old code is scikit-learn's")
    are_equal_numbers(page, expected, printed(program(page), capsys))


@pytest.mark.peer
@pytest.mark.skipif(find_spec("ranx") is None, reason="the old code is that of ranx")
def test_old_and_new_numbers_of_ranx() -> None:
    """In a process without numba's compiler, where ranx computes the same formulas and starts in no time."""
    command = [sys.executable, "-W", "ignore", str(program("ranx"))]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(PROJECT)}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert told.returncode == 0, told.stderr
    are_equal_numbers("ranx", RANX, told.stdout)


def are_equal_numbers(page: str, expected: dict[str, float], text: str) -> None:
    assert numbers(text) == {metric: (pytest.approx(value, abs=1e-6),) * 2 for metric, value in expected.items()}
    assert blocks(PAGES / f"{page}.md", "text") == [text]


@pytest.mark.parametrize("page", ["recommenders", "rectools", "replay"])
def test_other_numbers_than_those_of_the_library_end_in_an_error(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both where its numbers are stated and where it runs: at the twelfth digit, not at the last that is printed."""
    there = runpy.run_path(str(program(page)))
    main, stated = there["main"], there["STATED"]
    metric = next(iter(stated))
    stated[metric] *= 1 + 1e-11
    with pytest.raises(SystemExit, match=re.escape(f"{metric} is not equal")):
        main()


def test_there_is_a_page_for_each_program_and_the_other_way_round() -> None:
    programs = {path.stem.removeprefix("from_") for path in (EXAMPLES / "migration").glob("*.py")}
    index = (PAGES / "README.md").read_text(encoding="utf-8")
    assert programs == {path.stem for path in PAGES.glob("*.md")} - {"README"} == set(PRESET_OF)
    for page, preset in PRESET_OF.items():
        links = f"[{page}.md]({page}.md) | [from_{page}.py](../../examples/migration/from_{page}.py)"
        assert f"| {links} | `{preset}` |\n" in index


@pytest.mark.parametrize("page", PRESET_OF)
def test_a_page_has_the_code_of_its_program_and_names_all_that_its_preset_sets(page: str) -> None:
    """Each definition as an argument, and each parameter as a metric's text, without its cut-off."""
    source, text = (path.read_text(encoding="utf-8") for path in (program(page), PAGES / f"{page}.md"))
    shown, preset = blocks(PAGES / f"{page}.md", "python"), PRESETS[PRESET_OF[page]]
    assert [block for block in shown if f"\n{block}\n" not in source] == []  # whole lines, and an empty one before
    assert [re.findall(r"^def (\w+)", block, re.MULTILINE) for block in shown] == [[], ["old_numbers"], ["new_numbers"]]
    assert f'preset="{preset.name}"' in shown[2]
    words = {f'{name}="{value}"' for name, value in preset.definitions.items()}
    words |= {f"{each.metric}({'='.join(filter(None, (each.parameter, each.value)))})" for each in preset.defaults}
    assert len(words) >= 3
    assert {word for word in {*words, "**Ties**", "**Relevance**", "**Division**"} if word not in text} == set()


def test_pandas_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Clicks stand at places 1, 2 and 3 of the old lists, and 3, 2 and 1 of the new ones."""
    text = printed(EXAMPLES / "pandas_rows.py", capsys)
    lines = [line.split() for line in text.splitlines() if line.lstrip().startswith(("old ", "new "))]
    rows = {tuple(words): float(value) for *words, value in lines}
    places = {"old": {"ann": 1, "bob": 2, "cat": 3}, "new": {"ann": 3, "bob": 2, "cat": 1}}
    users_of = {("all", "all"): ("ann", "bob", "cat"), ("country", "de"): ("ann", "bob"), ("country", "fr"): ("cat",)}
    expected = {}
    for (model, place), (where, users) in product(places.items(), users_of.items()):
        means = (
            sum(1 / place[user] for user in users) / len(users),
            sum(place[user] == 1 for user in users) / len(users),
        )
        expected |= {(model, *where, name): value for name, value in zip(("rr", "hit@1"), means, strict=True)}
    assert rows == pytest.approx(expected, abs=1e-6)
    for user in ("ann", "bob", "cat"):
        assert f"{user} {1 / places['new'][user]:.6f} {1 / places['old'][user]:.6f}" in re.sub(r" +", " ", text)
    assert text.endswith("rr of new in fr: 1.0\n")


def test_lists_and_truth(capsys: pytest.CaptureFixture[str]) -> None:
    """ann: one of two bought, at place 1. bob: one of one, at place 2. dan, without a list, is a user of the truth."""
    lines = printed(EXAMPLES / "lists_and_truth.py", capsys).splitlines()
    found = {users: ast.literal_eval(rest) for users, rest in (line.split(" ", 1) for line in lines)}
    recall, precision, ap = 1 / 2 + 1, 1 / 2 + 1 / 2, (1 / 1) / 2 + (1 / 2) / 1
    assert found == {
        users: {"r@2": round(recall / n, 6), "p@2": round(precision / n, 6), "ap@2": round(ap / n, 6)}
        for users, n in (("truth", 3), ("both", 2))
    }


@pytest.mark.parametrize("example", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.stem)
def test_an_example_says_what_it_shows_and_how_to_run_it(example: Path) -> None:
    text = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
    assert text
    if example.stem not in ("outside_metric", "nightly_metrics"):  # named by a spec, or by dbt
        assert re.search(rf"^ *\S*(python|spark-submit) {example.relative_to(PROJECT)}", text, re.MULTILINE)


def test_halves_of_the_same_groups_differ_by_chance_alone() -> None:
    """Of 16 comparisons five or more have a p below 0.05 once in a thousand logs, if p is what it says."""
    example = runpy.run_path(str(EXAMPLES / "aa_halves.py"))
    values = example["p_values"](example["log"]())
    assert len(values) == 16
    assert all(0 <= p <= 1 for p in values)
    assert sum(p < 0.05 for p in values) < 5
