"""The text of a metric: every allowed one is read, printed canonically and read back; the rest is refused."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import MetricError, SpecError, itemize
from sparkrank.metrics import CATALOG, Metric
from sparkrank.metrics.metric import distinct_metrics
from tests.extent import examples
from tests.support.strategies import PATIENT, Asked, asked, text, written


def spelled(parts: Asked, random_case: random.Random) -> str:
    """The metric with its parameters in some order, spaces and letters of either case."""
    name, given_, k = parts
    inside = [written(*setting) for setting in given_.items()]
    random_case.shuffle(inside)
    brackets = f" ( {' , '.join(inside)} ) " if inside or random_case.random() < 0.5 else ""
    typed = f" {name}{brackets}" + ("" if k is None else f"@ {k} ")
    return "".join(random_case.choice([letter.lower(), letter.upper()]) for letter in typed)


@settings(PATIENT, max_examples=examples(400))
@given(asked(), st.randoms(use_true_random=False))
def test_what_is_written_is_what_is_read(parts: Asked, random_case: random.Random) -> None:
    name, given_, k = parts
    metric = Metric.parse(spelled(parts, random_case))
    declaration = CATALOG[name]
    assert (metric.name, metric.k, metric.declaration) == (name, k, declaration)
    replaced = set(declaration.exclusive) if set(declaration.exclusive) & set(given_) else set()
    for parameter in declaration.parameters:
        if parameter.name in given_:
            assert metric[parameter.name] == given_[parameter.name], parameter.name
        elif parameter.name in replaced:
            assert not metric[parameter.name], parameter.name
        else:
            assert metric[parameter.name] == parameter.default, parameter.name


@settings(PATIENT, max_examples=examples(400))
@given(asked(), asked())
def test_the_canonical_text_is_the_identity(parts: Asked, other: Asked) -> None:
    metric = Metric.parse(text(parts))
    again = Metric.parse(str(metric))
    assert (again, hash(again), str(again)) == (metric, hash(metric), str(metric))
    assert Metric.parse(metric.definition) == metric  # with every default written out
    assert " " not in str(metric)
    assert (metric == Metric.parse(text(other))) == (str(metric) == str(Metric.parse(text(other))))


# What is typed, and what tables hold. SetF is trec_eval's set_F.x = (x+1)PR/(R + xP): its x is the square of our beta.
CANONICAL = """
    nDCG@10                                ndcg@10
    nDCG(dcg='exp-log2')@10                ndcg(gain=exp2)@10
    AP                                     ap
    Success@5                              hit@5
    SetP                                   p
    SetR                                   r
    IPrec@0.1                              iprec(recall=0.1)
    IPrec(rel=2)@0.50                      iprec(recall=0.5,rel=2)
    infAP                                  infap
    SetF                                   f
    SetF(beta=4.0)                         f(beta=2)

    map                                    ap
    mrr                                    rr
    precision@5                            p@5
    hr@10                                  hit@10
    F1@3                                   f@3
    roc_auc                                auc

    ndcg(gain=linear, ideal=judged)@10     ndcg@10
    p(rel=2.0)@3                           p(rel=2)@3
    p( rel = 0.5 , over = k )@ 5           p(rel=0.5)@5
    ndcg(ideal=[3.0, 2,0.50])              ndcg(ideal=[3,2,0.5])
    ndcg(ideal=k_relevant)@4194304         ndcg(ideal=k_relevant)@4194304
    ndcg(discount=log2)@10                 ndcg@10
    dcg(discount=Inverse)                  dcg(discount=zipf)
    dcg(discount=[1.0, 0.50,.25 ])@3       dcg(discount=[1,0.5,0.25])@3
    ndcg@010                               ndcg@10
    ndcg()@3                               ndcg@3

    auc(bits=12)                           auc
    auc(EXACT)                             auc(exact)
    auc(rel=2,exact)                       auc(exact,rel=2)
    auc_up(digits=5)                       auc_up
    auc_up(min_rows=20,digits=5)           auc_up(min_rows=20)
    recall(threshold=0.5)                  recall
    FBeta(beta=2)                          fbeta(beta=2)
    fbeta(beta=2)@3                        f(beta=2)@3
    ece(bins=15)                           ece
"""


@pytest.mark.parametrize(
    ("typed", "canonical"), [re.split(r"\s{2,}", line.strip()) for line in CANONICAL.split("\n") if line]
)
def test_canonical_text(typed: str, canonical: str) -> None:
    assert str(Metric.parse(typed)) == canonical
    assert Metric.parse(typed) == Metric.parse(canonical)


def test_the_definition_leaves_nothing_to_guess() -> None:
    assert Metric.parse("nDCG@10").definition == "ndcg(gain=linear, ideal=judged)@10"
    assert Metric.parse("auc").definition == "auc(bits=12)"
    assert Metric.parse("auc(exact)").definition == "auc(exact)"


ALL_NAMES = itemize(own.name for own in CATALOG.values() if own.called is None)
REFUSED = {
    # The text, then what the sentence must contain: what is wrong, the nearest name, all that is allowed.
    "": ("is not a metric", "name@k"),
    "ndcg@": ('"ndcg@" is not a metric',),
    "ndgc@10": ('"ndgc"', '"ndgc@10"', 'did you mean "ndcg"?', ALL_NAMES),
    "precison@5": ('"precison"', 'did you mean "precision"?', ALL_NAMES),
    "past_serendipit@5": ('"past_serendipit"', 'did you mean "serendipity"?', ALL_NAMES),
    "xyzzy": ('unknown metric "xyzzy"', ALL_NAMES),
    "prec": ('"prec" needs a cut-off', "prec@k"),
    "precision(over=retrieved)": ('"over"', "precision takes threshold, rel"),
    "precision(threshold=0.3)@5": ('"threshold"', "p takes over, rel"),
    "accuracy(threshold=nan)": ("threshold=nan", "a number"),
    "fbeta(beta=0)": ("beta=0", "between 1e-09 and 1000000"),
    "ece(bins=0)": ("bins=0", "whole number from 1 to 1000000"),
    "ndcg@0": ('"ndcg@0"', "whole number from 1"),
    "ndcg(gain=exp2,ideal=[3,401])": ("2^401", "grades up to 400"),
    "p@2147483648": ("2147483648", "whole number from 1 to 2147483647"),
    "ndcg@ten": ('"ndcg@ten"', "whole number from 1"),
    "ndcg@²": ('"ndcg@²"', "whole number from 1"),
    "rprec@5": ("rprec takes no cut-off", '"rprec@5"'),
    "ndcg(gian=exp2)@10": ('"gian"', '"ndcg(gian=exp2)@10"', 'did you mean "gain"?', "gain, ideal, rel"),
    "auc(binary)": ('"binary"', "bits, digits, exact, rel"),
    "ap(over=retrieved)": ("over=retrieved", '"ap(over=retrieved)"', "relevant|min_k_relevant|k|hits|"),
    "ndcg(ideal=3)": ("ideal=3", "judged|retrieved|k_relevant|[grade,...]"),
    "ndcg(ideal=[3,x])": ("ideal=[3,x]", "[grade,...]"),
    "ndcg(ideal=[inf])": ("ideal=[inf]", "[grade,...]"),
    "dcg(discount=ln)": ("discount=ln", "log2|zipf|[discount,...]"),
    "dcg(discount=[1,nan])": ("discount=[1,nan]", "[discount,...]"),
    "dcg(discount=[0,0])": ("first position a discount of 0", "above 0 and up to 1000000"),
    "ndcg(discount=[1000001])": ("first position a discount of 1e+06", "above 0 and up to 1000000"),
    "ndcg(discount=[1,-0.5])@3": ("gives a discount of -0.5", "none below 0"),
    "ndcg(discount=[1,0.5,0.75])": ("gives position 3 a larger discount than position 2", "must not grow"),
    "cg(discount=zipf)": ('"discount"', "cg takes gain, rel"),
    "rbp(p=1)": ("p=1", "between 0 and 1"),
    "iprec@2": ('recall=2 in "iprec@2"', "a number from 0 to 1"),
    "iprec(recall=0.1)@0.2": ("recall twice",),
    "f(beta=1e200)@5": ("beta=1e200", "between 1e-09 and 1000000"),
    "err(max_grade=2000)": ("max_grade=2000", "between 0 and 1000"),
    "p(rel=high)@5": ("rel=high", "a number"),
    "p(rel=0)@5": ("rel=0", "a number above 0"),  # a row that was not judged has label 0
    "p(rel)@5": ("rel", "needs a value", "a number"),
    "auc(bits=53)": ("bits=53", "whole number from 1 to 52"),
    "auc(bits=1.5)": ("bits=1.5", "whole number from 1 to 52"),
    "auc(digits=16)": ("digits=16", "whole number from 0 to 15"),
    "auc(exact=no)": ("exact=no", "the bare word exact"),
    "auc(exact,bits=3)": ('"auc(exact,bits=3)"', "bits and exact", "only one"),
    "p(over=k,over=retrieved)@5": ('"p(over=k,over=retrieved)@5"', "over twice"),
    "ndcg(gain=exp2,dcg=log2)": ("gain twice",),
    "ap(over=min_k_relevant)": ("needs a cut-off", "over=min_k_relevant"),
    "ndcg(ideal=k_relevant)": ("needs a cut-off", "ideal=k_relevant"),
    "ndcg(ideal=k_relevant)@5000000": ("an ideal list of k items", "a cut-off up to 4194304"),
    "ndcg(rel=2)@10": ("rel with gain=linear", "gain=binary"),
}


LISTS = {
    "ndcg@{1,5,10}": ["ndcg@1", "ndcg@5", "ndcg@10"],
    "MAP(rel=2)@{ 5, 3 }": ["ap(rel=2)@5", "ap(rel=2)@3"],
    "median(rr@{1,5})": ["median(rr@1)", "median(rr@5)"],
    "p @ {7}": ["p@7"],
    "iprec@{0,0.5}": ["iprec", "iprec(recall=0.5)"],
    "dcg(discount=[1,0.5])@{1,2}": ["dcg(discount=[1,0.5])@1", "dcg(discount=[1,0.5])@2"],
}
NO_LISTS = {
    "ndcg@{}": 'metrics[0]: "ndcg@{}" lacks a cut-off',
    "ndcg@{1,,5}": "write numbers between commas, as in ndcg@{1,5,10}",
    "ndcg@{1,5,1}": '"ndcg@{1,5,1}" gives the cut-off 1 twice',
    "ndcg@{1,0}": 'the cut-off of "ndcg@0" is 0',
    "ndcg@{1,x}": 'the cut-off of "ndcg@x" is x',
    "ndcg@{1}@{2}": "one list of cut-offs",
    "rprec@{1,2}": "rprec takes no cut-off",
    "ndcg@{1,2": 'the cut-off of "ndcg@{1,2" is {1,2',
}


def test_a_list_of_cutoffs_stands_for_several_metrics() -> None:
    assert {typed: list(map(str, distinct_metrics([typed], None))) for typed in LISTS} == LISTS
    assert list(map(str, distinct_metrics(["ndcg@5", "ndcg@{1,5}"], None))) == ["ndcg@5", "ndcg@1"]
    for refused, sentence in NO_LISTS.items():
        with pytest.raises(MetricError, match=re.escape(sentence)):
            distinct_metrics([refused], None)
    with pytest.raises(MetricError, match="means several metrics, but one is needed here"):
        Metric.parse("ndcg@{1,5}")


@pytest.mark.parametrize("typed", REFUSED)
def test_refused(typed: str) -> None:
    with pytest.raises(MetricError) as refused:
        Metric.parse(typed)
    assert [part for part in REFUSED[typed] if part not in str(refused.value)] == []
    assert (isinstance(refused.value, SpecError), refused.value.exit_code) == (True, 2)
