"""Printed pages are fresh, and docs/definitions.md: its numbers are those of arithmetic written out here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log2, sqrt

import pytest

from docs.printers.pages import DOCS, pages
from sparkrank.metrics import CATALOG, PRESETS

PAGE = DOCS / "definitions.md"

MISSED = (1 - 0.92, 0.88, 1 - 0.71, 1 - 0.62, 0.62, 1 - 0.54, 0.44, 0.31, 0.16)  # of the nine scores
BRIER = sum(error**2 for error in MISSED) / 9

# By the first two columns of a row (what is written, of whom): the value, or the value and its error bound.
BY_HAND: dict[tuple[str, str], float | tuple[float, float]] = {
    # ann: 1 0 1 and a tie of 1 and 0; R = 5. bob: 1 0; R = 3.
    ("ap@3", "ann"): (1 / 1 + 2 / 3) / 5,
    ("ap(over=min_k_relevant)@3", "ann"): (1 / 1 + 2 / 3) / min(3, 5),
    ("ap(over=min_k_relevant_retrieved)@3", "ann"): (1 / 1 + 2 / 3) / min(3, 5, 5),
    ("ap(over=k)@3", "ann"): (1 / 1 + 2 / 3) / 3,
    ("ap(over=hits)@3, ties=item", "ann"): (1 / 1 + 2 / 3) / 2,
    ("ap@5", "bob"): (1 / 1) / 3,
    ("ap(over=min_k_relevant)@5", "bob"): (1 / 1) / min(5, 3),
    ("ap(over=min_k_relevant_retrieved)@5", "bob"): (1 / 1) / min(5, 3, 2),
    ("ap(over=k)@5", "bob"): (1 / 1) / 5,
    ("ap(over=hits)@5, ties=item", "bob"): (1 / 1) / 1,
    ("p@5", "bob"): 1 / 5,
    ("p(over=retrieved)@5", "bob"): 1 / min(5, 2),
    ("p(over=min_k_relevant)@5", "bob"): 1 / min(5, 3),
    ("r@3", "ann"): 2 / 5,
    ("r(over=min_k_relevant)@3", "ann"): 2 / min(3, 5),
    ("hit@3", "ann"): 1,
    ("cg(gain=binary)@3", "ann"): 1 + 0 + 1,
    # Of precision P and recall R: (b² + 1)·P·R / (b²·P + R); bob's are 1/5 or 1/2, and 1/3.
    ("f@5", "bob"): 2 * (1 / 5) * (1 / 3) / (1 / 5 + 1 / 3),
    ("f(over=retrieved)@5", "bob"): 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3),
    ("f(beta=4)", "bob"): 17 * (1 / 2) * (1 / 3) / (16 * (1 / 2) + 1 / 3),
    ("SetF(beta=4)", "bob"): 5 * (1 / 2) * (1 / 3) / (4 * (1 / 2) + 1 / 3),
    ("rr", "ann"): 1 / 1,
    ("arhr", "ann"): ((1 / 1 + 1 / 3 + 1 / 4) + (1 / 1 + 1 / 3 + 1 / 5)) / 2,
    # ann's grades: 3 0 1, a tie of 2 and 0; not listed 2 and 1.
    ("dcg@3", "ann"): 3 / log2(2) + 0 / log2(3) + 1 / log2(4),
    ("dcg(gain=exp2)@3", "ann"): (2**3 - 1) / log2(2) + (2**0 - 1) / log2(3) + (2**1 - 1) / log2(4),
    ("dcg(gain=binary)@3", "ann"): 1 / log2(2) + 0 / log2(3) + 1 / log2(4),
    ("rbp", "bob"): (1 - 0.8) * 0.8**0,
    ("rbp(p=0.9)", "bob"): (1 - 0.9) * 0.9**0,
    ("ndcg@3", "ann"): (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 2 / log2(4)),
    ("ndcg(ideal=retrieved)@3", "ann"): (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4)),
    ("ndcg(ideal=[3,3,3])@3", "ann"): (3 / log2(2) + 1 / log2(4)) / (3 / log2(2) + 3 / log2(3) + 3 / log2(4)),
    ("ndcg(gain=exp2)@3", "ann"): (7 / log2(2) + 1 / log2(4)) / (7 / log2(2) + 3 / log2(3) + 3 / log2(4)),
    ("ndcg(gain=binary)@3", "ann"): (1 / log2(2) + 1 / log2(4)) / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
    ("ndcg(gain=binary)@5", "bob"): 1 / (1 / log2(2) + 1 / log2(3) + 1 / log2(4)),
    ("ndcg(gain=binary,ideal=retrieved)@5", "bob"): (1 / log2(2)) / (1 / log2(2)),
    ("ndcg(gain=binary,ideal=k_relevant)@5", "bob"): 1 / sum(1 / log2(i + 1) for i in (1, 2, 3, 4, 5)),
    # With d, the relevant one, at 4 or at 5.
    ("p@4, ties=expected", "ann"): (3 / 4 + 2 / 4) / 2,
    ("p@4, ties=item", "ann"): 2 / 4,
    ("p@4, ties=worst", "ann"): 2 / 4,
    ("p@4, ties=best", "ann"): 3 / 4,
    ("p@4, ties=block", "ann"): 2 / 4,
    ("ap, ties=expected", "ann"): ((1 + 2 / 3 + 3 / 4) / 5 + (1 + 2 / 3 + 3 / 5) / 5) / 2,
    ("ap, ties=item", "ann"): (1 + 2 / 3 + 3 / 5) / 5,
    ("ap, ties=worst", "ann"): (1 + 2 / 3 + 3 / 5) / 5,
    ("ap, ties=best", "ann"): (1 + 2 / 3 + 3 / 4) / 5,
    ("ap, ties=block", "ann"): (1 + 2 / 3 + 3 / 5) / 5,
    # Pairs ab ac ad ae be- bc! bd! cd! ce de=: ! reversed, - tied in the grades, = in the scores.
    ("group_auc", "ann"): (4 - 1 + 1 / 2) / 6,  # ab ae, ce, de=; cb! and db! are lost
    ("group_auc(tied=zero)", "ann"): (4 - 1) / 6,
    ("pair_auc", "ann"): (5 + 1 / 2) / (5 + 3 + 1),
    ("kendall_distance", "ann"): (3 + 1 / 2) / (5 * 4 / 2),
    ("kendall_tau", "ann"): (5 - 3) / sqrt((10 - 1) * (10 - 1)),
    ("kendall_tau(variant=c)", "ann"): 2 * 4 * (5 - 3) / (5**2 * (4 - 1)),  # four grades
    # ann 3.5/6, five rows, three of them relevant; bob 1/1, two rows, one of them relevant.
    ("group_auc", "all"): (3.5 / 6 + 1 / 1) / 2,
    ("gauc", "all"): (5 * 3.5 / 6 + 2 * 1) / 7,
    ("gauc(weight=positives)", "all"): (3 * 3.5 / 6 + 1 * 1) / 4,
    ("gauc(weight=pairs)", "all"): (3.5 + 1) / 7,
    # Clicked + not: .92 1+0, .88 0+1, .71 1+0, .62 1+1, .54 1+0, .44 .31 .16 0+1.
    ("auc(exact)", "all"): (1 * 1 + (2 + 1 / 2) * 1 + 4 * 3) / (4 * 5),
    ("auc", "all"): ((1 * 1 + (2 + 1 / 2) * 1 + 4 * 3) / (4 * 5), 0.5 * (1 * 1) / (4 * 5)),
    # .9 1+1, .7 1+0, .6 1+1, .5 1+0, and three of 0+1
    ("auc(digits=1)", "all"): ((1 / 2 + (2 + 1 / 2) + 4 * 3) / (4 * 5), 0.5 * (1 * 1 + 1 * 1) / (4 * 5)),
    # from .75 on 1+1, from .5 on 3+1, and three of 0+1
    ("auc(bits=1)", "all"): ((1 / 2 + (1 + 3 / 2) + 4 * 3) / (4 * 5), 0.5 * (1 * 1 + 3 * 1) / (4 * 5)),
    ("auc_up(exact)", "all"): ((3 + 1 / 2) * 1 + 4 * 4) / (4 * 5),
    ("auc_up", "all"): ((3 + 1 / 2) * 1 + 4 * 4) / (4 * 5),
    ("auc_up(digits=1)", "all"): ((2 + 1 / 2) + (3 + 1 / 2) + 4 * 3) / (4 * 5),
    ("auc_up(bits=1)", "all"): (3 / 2 * 1 + (3 + 1 / 2) * 1 + 4 * 3) / (4 * 5),
    ("pr_auc(exact)", "all"): 1 / 4 * (1 / 1) + 1 / 4 * (2 / 3) + 1 / 4 * (3 / 5) + 1 / 4 * (4 / 6),
    # ann 2/5 and 2/3, bob 1/3 and 1/3, cid undefined and 0, dot 0 and 0
    ("r@3, undefined=skip", "all"): (2 / 5 + 1 / 3 + 0) / 3,
    ("r@3, undefined=zero", "all"): (2 / 5 + 1 / 3 + 0 + 0) / 4,
    ("r@3, undefined=one", "all"): (2 / 5 + 1 / 3 + 1 + 0) / 4,
    ("p@3, undefined=skip", "all"): (2 / 3 + 1 / 3 + 0 + 0) / 4,
    # ann 2/3, bob 1/3, cid 0, dot without a list 0, eve without a label 0
    ("p@3, population=all", "all"): (2 / 3 + 1 / 3) / 5,
    ("p@3, population=truth", "all"): (2 / 3 + 1 / 3) / (5 - 1),
    ("p@3, population=lists", "all"): (2 / 3 + 1 / 3) / (5 - 1),
    ("p@3, population=both", "all"): (2 / 3 + 1 / 3) / (5 - 2),
    ("p@3, unretrieved=skip", "all"): (2 / 3 + 1 / 3) / (5 - 1),
    # 1 0 1 1 and the tie, or 1 0 1 and the tie
    ("p@4, duplicates=keep", "ann"): 3 / 4,
    ("p@4, duplicates=once", "ann"): 2 / 4,
    ("p@4, duplicates=first", "ann"): (3 / 4 + 2 / 4) / 2,
    ("r@5, duplicates=keep", "ann"): (4 / 6 + 3 / 6) / 2,
    ("r@5, duplicates=once", "ann"): (3 / 5 + 2 / 5) / 2,  # 1 0 1 - and the tie, of which one row is within 5
    ("r@5, duplicates=first", "ann"): 3 / 5,
    # 1 0 0 1 and the tie, or 1 0 1 and the tie
    ("p@3, unjudged=nonrelevant", "ann"): 1 / 3,
    ("p@3, unjudged=drop", "ann"): 2 / 3,
    # 1 0 - 1 and the tie; 0.8² of the third position, and a grade of 3
    ("judged@3", "ann"): 2 / 3,
    ("judged(over=k)@10", "ann"): 5 / 10,
    ("unj@3", "ann"): 1 / 3,
    ("p(unjudged=drop)@3", "ann"): 2 / 3,
    ("p(unjudged=best)@3", "ann"): 2 / 3,
    ("rbp@3", "ann"): 1 - 0.8,
    ("rbp(unjudged=best)@3", "ann"): (1 - 0.8) * (1 + 0.8**2),
    ("dcg(max_grade=3,unjudged=best)@3", "ann"): 3 / log2(2) + 3 / log2(4),
    # of the rows b c, and e in no list; of the list a b c d, where c and e are relevant
    ("r@2, tier", "tail"): 1 / (1 + 1),
    ("p@2, tier", "tail"): (0 + 1) / 2,
    ("rr, tier", "tail"): 1 / 2,
    # Of a, b, c, d: a, c and d clicked, c paid.
    ("rr(label=pay)", "ann"): 1 / 3,
    ("rr(label=pay,among=click)", "ann"): 1 / 2,
    ("auc(label=pay)", "ann"): (0 + 0 + 1) / 3,
    ("auc(label=pay,among=click)", "ann"): (0 + 1) / 2,
    ("copc(label=pay)", "ann"): 1 / (0.4 + 0.3 + 0.2 + 0.1),
    ("copc(label=pay,among=click)", "ann"): 1 / (0.4 + 0.2 + 0.1),
    ("cg(gain={click:1,pay:5})@3", "ann"): 1 + 0 + (1 + 5),
    # A machine calls all of 40 lists right; a human has judged 30, and 20 of them are.
    ("p@1", "all"): 40 / 40,
    ("p(label=human)@1", "all"): 20 / 40,
    ("p(checked_by=human)@1", "all"): 1 + 20 / 30 - 30 / 30,
    # a has two rows with 0.9 and one click, b four with 0.3 and two.
    ("copc", "all"): (1 + 2) / (2 * 0.9 + 4 * 0.3),
    ("calibration_gap", "all"): ((1.8 - 1) / 2 + (2 - 1.2) / 4) / 2,
    ("calibration_gap(weight=rows)", "all"): ((1.8 - 1) + (2 - 1.2)) / 6,
    ("group_rmse", "all"): (sqrt((0.1**2 + 0.9**2) / 2) + sqrt((2 * 0.7**2 + 2 * 0.3**2) / 4)) / 2,
    ("rmse", "all"): sqrt((0.1**2 + 0.9**2 + 2 * 0.7**2 + 2 * 0.3**2) / 6),
    ("group_mae(weight=rows)", "all"): (0.1 + 0.9 + 2 * 0.7 + 2 * 0.3) / 6,
    ("r@2, tier of relevant", "tail"): 0 / (1 + 1),
    ("p@2, tier of relevant", "tail"): (0 + 0) / 2,
    ("rr, tier of relevant", "tail"): 1 / 3,
    # a was had by two of four users and has four of six rows, b and c by one, once; on Monday by two and one of three
    ("novelty(of=users)", "both days"): (log2(2) + log2(4) + log2(4)) / 3,
    ("novelty(of=users,over=lists)", "both days"): ((log2(2) + log2(4)) / 2 + log2(4)) / 2,
    ("novelty(of=users,over=lists,scale=unit)", "both days"): ((1 / 2 + 1) / 2 + 1) / 2,
    ("novelty(of=rows)", "both days"): (log2(6 / 4) + log2(6) + log2(6)) / 3,
    ("novelty(of=users)", "Monday"): (log2(3 / 2) + log2(3) + log2(3)) / 3,
    ("novelty(of=rows)", "Monday"): (log2(3 / 2) + log2(3) + log2(3)) / 3,
    ("novelty", "none"): log2(2),
    # of ann's pairs ab ac ad bc bd cd all but ab differ in genre, and ab bc bd in year; bob has none
    ("ild(by=genre)", "ann"): (0 + 1 + 1 + 1 + 1 + 1) / (4 * 3 / 2),
    ("ild(by=[genre,year])", "ann"): (5 + (1 + 0 + 0 + 1 + 1 + 0)) / (4 * 3 / 2),
    ("ild(by=[genre,year],scale=mean)", "ann"): (5 / 6 + 3 / 6) / 2,
    ("ild(by=vector,distance=cosine)", "ann"): 1 - (1 + 0 + sqrt(1 / 2) + 0 + sqrt(1 / 2) + sqrt(1 / 2)) / 6,
    ("ild(by=genre)", "all"): 5 / 6,
    ("ild(by=genre,single=zero)", "all"): (5 / 6 + 0) / 2,
    # 1 0 1 and the tie, and f and g in no list; without b, which is not relevant, and f, which is: 1 1
    ("p@2", "ann"): 1 / 2,
    ("p@2, exclude", "ann"): 2 / 2,
    ("r@2", "ann"): 1 / 5,
    ("r@2, exclude", "ann"): 2 / 4,
    ("ndcg@2", "ann"): 3 / (3 + 2 / log2(3)),
    ("ndcg@2, exclude", "ann"): (3 + 1 / log2(3)) / (3 + 2 / log2(3)),
    # first of three in 3 lists, second in 2, last in 3; of five: (1 + 9/16 + 4/16 + 1/16) / 5 = 3/8, then 2/8 and 3/8
    ("hit@2", "plain, k = 2"): (3 + 2) / 8,
    ("hit@1", "scaled, k = 2"): 3 / 8,  # of the ranks 1, 1 + 4/2 and 1 + 2 · 4/2
    ("hit(sampled=2,items=5)@2", "estimated, k = 2"): 2 / 5,
    ("hit@1", "plain and scaled, k = 1"): 3 / 8,
    ("hit(sampled=2,items=5)@1", "estimated, k = 1"): 1 / 5,
    ("ndcg@2", "plain, k = 2"): (3 * 1 / log2(2) + 2 * 1 / log2(3)) / 8,
    ("ndcg(sampled=2,items=5)@2", "estimated, k = 2"): (1 / log2(2) + 1 / log2(3)) / 5,
    # 4 of 9 clicked; of the pools 1 of 1, 3 of 5 and 0 of 3 only the second leaves errors
    ("brier", "all"): BRIER,
    ("mcb(exact)", "all"): BRIER - (3 * (2 / 5) ** 2 + 2 * (3 / 5) ** 2) / 9,
    ("dsc(exact)", "all"): 4 / 9 * (1 - 4 / 9) - (3 * (2 / 5) ** 2 + 2 * (3 / 5) ** 2) / 9,
    ("unc", "all"): 4 / 9 * (1 - 4 / 9),
    # From .6 on ann's five: TP 3, FP 2; bob's click FN 1; TN 3
    ("tpr(threshold=0.6)", "all"): 3 / 4,
    ("precision(threshold=0.6)", "all"): 3 / 5,
    ("fpr(threshold=0.6)", "all"): 2 / 5,
    ("fbeta(threshold=0.6,beta=2)", "all"): 1 / (1 / 5 / (3 / 5) + 4 / 5 / (3 / 4)),
}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def worked(page: str) -> Iterator[tuple[tuple[str, str], str, str]]:
    """What is written of whom, the arithmetic and the value of each row of the worked tables."""
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) in (4, 5) and re.fullmatch(r"`.*`", cells[2]):
            yield (cells[0].replace("`", ""), cells[1]), cells[2].strip("`"), cells[3]


def calculated(arithmetic: str) -> float:
    allowed = re.compile(r"log2|sqrt|[\d.+\-·/() ]")
    assert not allowed.sub("", arithmetic), arithmetic
    return eval(arithmetic.replace("·", "*"), {"log2": log2, "sqrt": sqrt})  # noqa: S307 - digits and signs alone


def test_printed_pages_are_fresh() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, f"print {name} with python -m docs.printers"


def test_every_value_is_that_of_the_arithmetic_here_and_of_that_beside_it(page: str) -> None:
    rows = list(worked(page))
    assert {written: value for written, _, value in rows} == {
        written: f"{value[0]:.3f} ± {value[1]:.3f}" if isinstance(value, tuple) else f"{value:.3f}"
        for written, value in BY_HAND.items()
    }
    for written, arithmetic, value in rows:
        assert f"{calculated(arithmetic):.3f}" == value.partition(" ± ")[0], written


def test_a_number_in_the_text_is_that_of_its_arithmetic(page: str) -> None:
    """Those of misprinted formulas and of other divisors, which no metric has."""
    told = re.findall(r"`([^`]+) = (\d\.\d{3})`", page)
    assert [value for _, value in told] == [f"{calculated(arithmetic):.3f}" for arithmetic, _ in told]
    assert len(told) == 5
    p, r = 3 / 5, 3 / 4
    printed = [0.6, 0.2, pytest.approx(5 * p * r / (4 * (p + r)), abs=5e-4)]
    of_ild = [5 / 4, pytest.approx((1 + 3 * sqrt(1 / 2)) / 6, abs=5e-4)]
    assert [float(value) for _, value in told] == [*printed, *of_ild]


def test_who_takes_what(page: str) -> None:
    """By the manuals of the libraries: RePlay and Spark divide by min(k, R), torchmetrics by the hits."""
    lines = [line for line in page.splitlines() if re.match(r"\| `ap(\(over=\w+\))?@3`", line)]
    taken = {line.split("`")[1]: line.split("|")[-2].strip() for line in lines}
    assert {metric: by for metric, by in taken.items() if by} == {
        "ap@3": "default",
        "ap(over=min_k_relevant)@3": "`mllib`, `replay`, `recommenders`",
        "ap(over=hits)@3": "`torchmetrics`",
    }
    assert re.search(r"`p@4`, `ties=item` .*\| `trec_eval` \|", page)


def test_a_preset_is_described_in_full(page: str) -> None:
    for preset in PRESETS.values():
        (line,) = (line for line in page.splitlines() if f"| `{preset.name}` | " in line)
        cells = [cell.strip() for cell in line.split("|")]
        bold = [cell.strip("*") for cell in cells if cell.startswith("**")]
        assert sorted(bold) == sorted(preset.definitions.values()), preset.name
        for default in preset.defaults:
            setting = f"{default.parameter}={default.value}" if default.value else default.parameter
            assert f"`{default.metric}({setting})" in cells[-2]
        assert all(f"- {note}\n" in page for note in preset.unmatched), preset.name


def test_the_section_of_a_metric_holds_all_of_its_declaration(page: str) -> None:
    better = {True: "- Higher is better", False: "- Lower is better", None: "- Neither"}
    lacking = {}
    for declaration in CATALOG.values():
        section = page.partition(f"\n### `{declaration.written}`")[2].partition("\n#")[0]
        words = [declaration.title[1:], declaration.formula, declaration.undefined, declaration.reference]
        for parameter in declaration.parameters:
            default = "" if parameter.default in (None, False) else f"(default `{parameter.write(parameter.default)}`)"
            words += [f"`{parameter.name}", parameter.doc, default]
        words += [f"`{alias.rstrip('@')}" for alias in declaration.aliases]
        words.append(better[declaration.higher_is_better])
        if absent := [word for word in words if word not in section]:
            lacking[declaration.name] = absent
    assert lacking == {}
