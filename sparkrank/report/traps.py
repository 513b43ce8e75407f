"""The definitions on which libraries differ, as data: one small input, and the arithmetic of each answer on it.

Values are not written here: sparkrank computes them when the page is made.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkrank.report.worked import SETTINGS, Choice, Row, Trap

# Two hits within 3 and five relevant items; two of five rows tied; truth that is in no list; a list shorter than k; a
# user without a relevant row; a user without a list.
INPUT = (
    *(Row("ann", "a", 0.92, 3), Row("ann", "b", 0.88, 0), Row("ann", "c", 0.71, 1)),
    *(Row("ann", "d", 0.62, 2), Row("ann", "e", 0.62, 0), Row("ann", "f", None, 2), Row("ann", "g", None, 1)),
    *(Row("bob", "h", 0.54, 1), Row("bob", "i", 0.44, 0), Row("bob", "j", None, 1), Row("bob", "k", None, 1)),
    *(Row("cid", "l", 0.31, 0), Row("cid", "m", 0.16, 0)),
    Row("dot", "n", None, 1),
)


def _each(of: str, arithmetic: Mapping[str, str], **settings: str) -> tuple[Choice, ...]:
    """A choice for each metric, of one user (or, without one, of all), under the same settings."""
    return tuple(Choice(metric, shown, of, settings) for metric, shown in arithmetic.items())


def _under(setting: str, metric: str, of: str, arithmetic: Mapping[str, str]) -> tuple[Choice, ...]:
    """A choice for each value of a setting."""
    return tuple(Choice(metric, shown, of, {setting: word}) for word, shown in arithmetic.items())


AVERAGE_PRECISION = Trap(
    "What average precision is divided by",
    "The sum over hits within k of (hits so far / position) is 1/1 + 2/3 for ann at 3, and 1/1 for bob at 5. Libraries "
    "divide it by R, by min(k, R), by k, by the hits or by min(k, R, length of the list); R is 5 and 3, and bob's "
    "list has two rows. Divided by the hits, the mean over the orders of tied rows has no closed form, so that one "
    "needs an order.",
    (
        *_each(
            "ann",
            {
                "ap@3": "(1/1 + 2/3) / 5",
                "ap(over=min_k_relevant)@3": "(1/1 + 2/3) / 3",
                "ap(over=min_k_relevant_retrieved)@3": "(1/1 + 2/3) / 3",
                "ap(over=k)@3": "(1/1 + 2/3) / 3",
            },
        ),
        *_each("ann", {"ap(over=hits)@3": "(1/1 + 2/3) / 2"}, ties="item"),
        *_each(
            "bob",
            {
                "ap@5": "(1/1) / 3",
                "ap(over=min_k_relevant)@5": "(1/1) / 3",
                "ap(over=min_k_relevant_retrieved)@5": "(1/1) / 2",
                "ap(over=k)@5": "(1/1) / 5",
            },
        ),
        *_each("bob", {"ap(over=hits)@5": "(1/1) / 1"}, ties="item"),
    ),
)

PRECISION = Trap(
    "What precision, recall and F are divided by",
    "Where a list is shorter than k, or R is less than k, a perfect list cannot reach 1, and some libraries divide by "
    "less. Hit rate is a name for three things: whether any hit is there (`hit`), their share of R (`r`), and their "
    "number (`cg(gain=binary)`). trec_eval weighs recall in its F by its parameter, others by the square of it.",
    (
        *_each(
            "bob",
            {"p@5": "1 / 5", "p(over=retrieved)@5": "1 / 2", "p(over=min_k_relevant)@5": "1 / 3"},
        ),
        *_each("ann", {"r@3": "2 / 5", "r(over=min_k_relevant)@3": "2 / 3"}),
        *_each("ann", {"hit@3": "1", "cg(gain=binary)@3": "1 + 0 + 1"}),
        *_each(
            "bob",
            {
                "f@5": "(1 + 1)·1 / (1·3 + 5)",
                "f(over=retrieved)@5": "(1 + 1)·1 / (1·3 + 2)",
                "f(beta=4)": "(16 + 1)·1 / (16·3 + 2)",
                "SetF(beta=4)": "(4 + 1)·1 / (4·3 + 2)",
            },
        ),
    ),
)

RECIPROCAL_RANK = Trap(
    "The first hit or every hit",
    "Of one held-out item a user, reciprocal rank and reciprocal hit ranks are the same number. With more items the "
    "first is about the first hit and the second about every one.",
    _each("ann", {"rr": "1/1", "arhr": "1/1 + 1/3 + (1/4 + 1/5) / 2"}),
    decided_by="",
)

GAIN = Trap(
    "What a grade is worth",
    "ann's first three grades are 3, 0 and 1. The gain of a grade is itself, 2 to its power less 1, or 1. RBP has no "
    "grades but a persistence p, whose default differs.",
    (
        *_each(
            "ann",
            {
                "dcg@3": "3/log2(2) + 0/log2(3) + 1/log2(4)",
                "dcg(gain=exp2)@3": "7/log2(2) + 0/log2(3) + 1/log2(4)",
                "dcg(gain=binary)@3": "1/log2(2) + 0/log2(3) + 1/log2(4)",
            },
        ),
        *_each("bob", {"rbp": "(1 - 0.8)·1", "rbp(p=0.9)": "(1 - 0.9)·1"}),
    ),
)

IDEAL = Trap(
    "Which list is ideal",
    "ann's list has the grades 3, 2, 1, 0, 0; with the items that it lacks there are 3, 2, 2, 1, 1. The ideal list of "
    "NDCG is the best order of all judged rows, of those in the list, or k rows of gain 1 even where R is less than k; "
    "or it is given.",
    (
        *_each(
            "ann",
            {
                "ndcg@3": "(3 + 1/log2(4)) / (3 + 2/log2(3) + 2/log2(4))",
                "ndcg(ideal=retrieved)@3": "(3 + 1/log2(4)) / (3 + 2/log2(3) + 1/log2(4))",
                "ndcg(ideal=[3,3,3])@3": "(3 + 1/log2(4)) / (3 + 3/log2(3) + 3/log2(4))",
                "ndcg(gain=exp2)@3": "(7 + 1/log2(4)) / (7 + 3/log2(3) + 3/log2(4))",
                "ndcg(gain=binary)@3": "(1 + 1/log2(4)) / (1 + 1/log2(3) + 1/log2(4))",
            },
        ),
        *_each(
            "bob",
            {
                "ndcg(gain=binary)@5": "1 / (1 + 1/log2(3) + 1/log2(4))",
                "ndcg(gain=binary,ideal=retrieved)@5": "1 / 1",
                "ndcg(gain=binary,ideal=k_relevant)@5": "1 / (1 + 1/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6))",
            },
        ),
    ),
)

TIES = Trap(
    "Where tied rows stand",
    "d, which is relevant, and e, which is not, have one score. `expected` is the mean over both orders; `item` puts "
    "the item that is greater as text first, here e; `worst` and `best` say what they are; under `block` both stand at "
    "position 5. A library that sorts and says nothing has one of these orders, and which one is luck.",
    (
        *_under(
            "ties",
            "p@4",
            "ann",
            {
                "expected": "(2 + 1/2) / 4",
                "item": "(2 + 0) / 4",
                "worst": "(2 + 0) / 4",
                "best": "(2 + 1) / 4",
                "block": "(2 + 0) / 4",
            },
        ),
        *_under(
            "ties",
            "ap",
            "ann",
            {
                "expected": "(1/1 + 2/3 + (3/4 + 3/5) / 2) / 5",
                "item": "(1/1 + 2/3 + 3/5) / 5",
                "worst": "(1/1 + 2/3 + 3/5) / 5",
                "best": "(1/1 + 2/3 + 3/4) / 5",
                "block": "(1/1 + 2/3 + 3/5) / 5",
            },
        ),
    ),
    decided_by=SETTINGS,
)

PAIRS = Trap(
    "What a tied pair counts",
    "Of the ten pairs of ann's list by score and by grade, five agree, three are reversed, the score ties d and e, and "
    "the grades tie b and e. AUC takes the six pairs of a relevant and a non-relevant row: a wins two, c one, and d is "
    "tied with e. These metrics have rules of their own for ties, which the setting `ties` does not touch.",
    _each(
        "ann",
        {
            "group_auc": "(2 + 1 + 1/2) / (3·2)",
            "group_auc(tied=zero)": "(2 + 1 + 0) / (3·2)",
            "pair_auc": "(5 + 1/2) / (10 - 1)",
            "kendall_distance": "(3 + 1/2) / 10",
            "kendall_tau": "(5 - 3) / sqrt((10 - 1)·(10 - 1))",
            "kendall_tau(variant=c)": "(5 - 3) / (25·(4 - 1) / (2·4))",
        },
    ),
    decided_by="",
)

WEIGHTS = Trap(
    "How groups weigh in GAUC",
    "The AUC is 3.5/6 inside ann's list (5 rows, 3 relevant, 6 pairs) and 1 inside bob's (2 rows, 1 relevant, 1 pair); "
    "cid and dot have no pair and are left out. GAUC of the DIN paper weighs by rows, other code by nothing, by clicks "
    "or by pairs. `auc` compares rows across users and is another number.",
    _each(
        "",
        {
            "group_auc": "(3.5/6 + 1) / 2",
            "gauc": "(5·3.5/6 + 2·1) / (5 + 2)",
            "gauc(weight=positives)": "(3·3.5/6 + 1·1) / (3 + 1)",
            "gauc(weight=pairs)": "(6·3.5/6 + 1·1) / (6 + 1)",
            "auc(exact)": "(5 + 4 + 3.5 + 3) / (4·5)",
        },
    ),
    decided_by="",
)

BLOCKS = Trap(
    "Which scores of the day fall together",
    "Four of the nine scored rows are relevant. `exact` has a block for each score, `digits=1` rounds .92 and .88 to "
    "one block, `bits=1` has blocks from .75, .5, .375 and .25 on. A binned `auc` comes with a bound on its distance "
    "from the exact one. `auc_up` puts the block of the highest rate of positives first, and rises as blocks get "
    "finer, up to 1 where each row has its own. In `pr_auc` a block, so a tie, is one step of recall.",
    _each(
        "",
        {
            "auc(exact)": "(5 + 4 + 3.5 + 3) / 20",
            "auc": "(5 + 4 + 3.5 + 3) / 20",
            "auc(digits=1)": "(1/2 + (2 + 1/2) + 4·3) / 20",
            "auc(bits=1)": "(1/2 + (1 + 3/2) + 4·3) / 20",
            "auc_up(exact)": "((3 + 1/2) + 4·4) / 20",
            "auc_up": "((3 + 1/2) + 4·4) / 20",
            "auc_up(digits=1)": "((2 + 1/2) + (3 + 1/2) + 4·3) / 20",
            "auc_up(bits=1)": "(3/2 + (3 + 1/2) + 4·3) / 20",
            "pr_auc(exact)": "(1/1 + 2/3 + 3/5 + 4/6) / 4",
        },
    ),
)

UNDEFINED = Trap(
    "Users without anything to find",
    "r@3 is 2/5 for ann, 1/3 for bob and 0 for dot, who has no list. For cid R is 0: the value is undefined, and the "
    "mean leaves her out, counts her as 0 or as 1; `error` stops. p@3 is never undefined, so it counts all four.",
    (
        *_under(
            "undefined",
            "r@3",
            "",
            {
                "skip": "(2/5 + 1/3 + 0) / 3",
                "zero": "(2/5 + 1/3 + 0 + 0) / 4",
                "one": "(2/5 + 1/3 + 1 + 0) / 4",
            },
        ),
        *_under("undefined", "p@3", "", {"skip": "(2/3 + 1/3 + 0 + 0) / 4"}),
    ),
    decided_by=SETTINGS,
)

POPULATION = Trap(
    "Which users there are",
    "To the input comes eve, whose list of one row, at 0.95, has no label. p@3 is 2/3 for ann, 1/3 for bob and 0 for "
    "cid, whose rows are judged not relevant, for dot, who has no list, and for eve, of whom nothing is known. "
    "`unretrieved=skip` leaves out who has no list, as `population=lists` does.",
    (
        *_under(
            "population",
            "p@3",
            "",
            {
                "all": "(2/3 + 1/3 + 0 + 0 + 0) / 5",
                "truth": "(2/3 + 1/3 + 0 + 0) / 4",
                "lists": "(2/3 + 1/3 + 0 + 0) / 4",
                "both": "(2/3 + 1/3 + 0) / 3",
            },
        ),
        *_under("unretrieved", "p@3", "", {"skip": "(2/3 + 1/3 + 0 + 0) / 4"}),
    ),
    decided_by=SETTINGS,
    rows=(Row("eve", "y", 0.95, None),),
)

DUPLICATES = Trap(
    "An item twice in a list",
    "To ann's list comes a once more, at 0.65, which is position 4. Under `keep` every row of a log counts, in R as "
    "well, which is 6; under `first` an item counts at its best position; `error`, which is trec_eval's, stops. Where "
    "lists are joined with a truth, R counts an item once under each of them.",
    (
        *_under("duplicates", "p@4", "ann", {"keep": "(1 + 0 + 1 + 1) / 4", "first": "(1 + 0 + 1 + 1/2) / 4"}),
        *_under("duplicates", "r@5", "ann", {"keep": "(3 + 1/2) / 6", "first": "3 / 5"}),
    ),
    decided_by=SETTINGS,
    rows=(Row("ann", "a", 0.65, 3),),
)

UNJUDGED = Trap(
    "A row of which nothing is known",
    "To ann's list comes an item without a label at 0.8, which is position 3. It counts as not relevant, or is dropped "
    "and the rows below it move up.",
    _under("unjudged", "p@3", "ann", {"nonrelevant": "(1 + 0 + 0) / 3", "drop": "(1 + 0 + 1) / 3"}),
    decided_by=SETTINGS,
    rows=(Row("ann", "x", 0.8, None),),
)

MISPRINTS = Trap(
    "Formulas in circulation that are wrong",
    "At 0.6 ann's five rows are predicted positive: TP = 3, FP = 2, FN = 1, TN = 3. Articles print TP/(TP+FP) for the "
    "true positive rate, which is precision (`3 / (3 + 2) = 0.600`), FN/(TN+FP) for the false positive rate "
    "(`1 / (3 + 2) = 0.200`), and (b²+1)PR/(b²(P+R)) for F-beta, which is right for b = 1 alone "
    "(`(4 + 1)·3/5·3/4 / (4·(3/5 + 3/4)) = 0.417`). sparkrank has none of them.",
    _each(
        "",
        {
            "tpr(threshold=0.6)": "3 / (3 + 1)",
            "precision(threshold=0.6)": "3 / (3 + 2)",
            "fpr(threshold=0.6)": "2 / (2 + 3)",
            "fbeta(threshold=0.6,beta=2)": "(4 + 1)·3/5·3/4 / (4·3/5 + 3/4)",
        },
    ),
    decided_by="",
)

TRAPS = (
    AVERAGE_PRECISION,
    PRECISION,
    RECIPROCAL_RANK,
    GAIN,
    IDEAL,
    TIES,
    PAIRS,
    WEIGHTS,
    BLOCKS,
    UNDEFINED,
    POPULATION,
    DUPLICATES,
    UNJUDGED,
    MISPRINTS,
)
