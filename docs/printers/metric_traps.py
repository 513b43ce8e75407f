"""Definitions on which libraries differ and that stand in the text of a metric, as data; values are computed."""

from __future__ import annotations

from collections.abc import Mapping

from docs.printers.worked import Answer, Trap


def _answers(user: str, arithmetic: Mapping[str, str], **settings: str) -> tuple[Answer, ...]:
    """An answer for each metric, of one user (or, without one, of all), under the same settings."""
    return tuple(Answer(metric, shown, user, settings) for metric, shown in arithmetic.items())


AVERAGE_PRECISION = Trap(
    "What average precision is divided by",
    "The sum over hits within k of (hits so far / position) is 1/1 + 2/3 for ann at 3, and 1/1 for bob at 5. "
    "Libraries divide it by R, by min(k, R), by k, by the hits or by min(k, R, length of the list); R is 5 and 3, and "
    "bob's list has two rows. Divided by the hits, average precision has no closed form for its mean over the orders "
    "of tied rows: `over=hits` needs an order.",
    (
        *_answers(
            "ann",
            {
                "ap@3": "(1/1 + 2/3) / 5",
                "ap(over=min_k_relevant)@3": "(1/1 + 2/3) / 3",
                "ap(over=min_k_relevant_retrieved)@3": "(1/1 + 2/3) / 3",
                "ap(over=k)@3": "(1/1 + 2/3) / 3",
            },
        ),
        *_answers("ann", {"ap(over=hits)@3": "(1/1 + 2/3) / 2"}, ties="item"),
        *_answers(
            "bob",
            {
                "ap@5": "(1/1) / 3",
                "ap(over=min_k_relevant)@5": "(1/1) / 3",
                "ap(over=min_k_relevant_retrieved)@5": "(1/1) / 2",
                "ap(over=k)@5": "(1/1) / 5",
            },
        ),
        *_answers("bob", {"ap(over=hits)@5": "(1/1) / 1"}, ties="item"),
    ),
)

PRECISION = Trap(
    "What precision, recall and F are divided by",
    "If a list is shorter than k, or R is less than k, a perfect list cannot reach 1, and some libraries divide by "
    "less. Hit rate is a name for three things: whether there is any hit (`hit`), the share of the R relevant items "
    "that are hits (`r`), and the number of hits (`cg(gain=binary)`). trec_eval's F weights recall by its parameter, "
    "others by the square of it.",
    (
        *_answers(
            "bob",
            {"p@5": "1 / 5", "p(over=retrieved)@5": "1 / 2", "p(over=min_k_relevant)@5": "1 / 3"},
        ),
        *_answers("ann", {"r@3": "2 / 5", "r(over=min_k_relevant)@3": "2 / 3"}),
        *_answers("ann", {"hit@3": "1", "cg(gain=binary)@3": "1 + 0 + 1"}),
        *_answers(
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
    "If each user has one held-out item, reciprocal rank and reciprocal hit ranks are the same number. With more "
    "items `rr` depends on the first hit alone, and `arhr` on every hit.",
    _answers("ann", {"rr": "1/1", "arhr": "1/1 + 1/3 + (1/4 + 1/5) / 2"}),
    decided_by="",
)

GAIN = Trap(
    "What a grade is worth",
    "ann's first three grades are 3, 0 and 1. The gain of a grade is the grade itself, 2 to its power minus 1, or 1. "
    "RBP has a persistence p, whose default differs between programs.",
    (
        *_answers(
            "ann",
            {
                "dcg@3": "3/log2(2) + 0/log2(3) + 1/log2(4)",
                "dcg(gain=exp2)@3": "7/log2(2) + 0/log2(3) + 1/log2(4)",
                "dcg(gain=binary)@3": "1/log2(2) + 0/log2(3) + 1/log2(4)",
            },
        ),
        *_answers("bob", {"rbp": "(1 - 0.8)·1", "rbp(p=0.9)": "(1 - 0.9)·1"}),
    ),
)

IDEAL = Trap(
    "Which list is ideal",
    "ann's list has the grades 3, 2, 1, 0, 0; together with the relevant items that are not in the list there are 3, "
    "2, 2, 1, 1. The ideal list of NDCG is the best order of all judged rows, or of those in the list, or k rows of "
    "gain 1 even if R is less than k; or the user gives it.",
    (
        *_answers(
            "ann",
            {
                "ndcg@3": "(3 + 1/log2(4)) / (3 + 2/log2(3) + 2/log2(4))",
                "ndcg(ideal=retrieved)@3": "(3 + 1/log2(4)) / (3 + 2/log2(3) + 1/log2(4))",
                "ndcg(ideal=[3,3,3])@3": "(3 + 1/log2(4)) / (3 + 3/log2(3) + 3/log2(4))",
                "ndcg(gain=exp2)@3": "(7 + 1/log2(4)) / (7 + 3/log2(3) + 3/log2(4))",
                "ndcg(gain=binary)@3": "(1 + 1/log2(4)) / (1 + 1/log2(3) + 1/log2(4))",
            },
        ),
        *_answers(
            "bob",
            {
                "ndcg(gain=binary)@5": "1 / (1 + 1/log2(3) + 1/log2(4))",
                "ndcg(gain=binary,ideal=retrieved)@5": "1 / 1",
                "ndcg(gain=binary,ideal=k_relevant)@5": "1 / (1 + 1/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6))",
            },
        ),
    ),
)

PAIRS = Trap(
    "What a tied pair counts",
    "Of the ten pairs of ann's list by score and by grade, five agree, three are reversed, d and e are tied in score, "
    "and b and e in grade. AUC is over the six pairs of a relevant and a non-relevant row: a wins two, c one, and d "
    "is tied with e. These metrics have rules of their own for ties, which the setting `ties` does not change.",
    _answers(
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
    "The AUC is 3.5/6 inside ann's list (5 rows, 3 relevant, 6 pairs) and 1 inside bob's (2 rows, 1 relevant, 1 "
    "pair); cid and dot have no pair and are left out. GAUC of the DIN paper weights groups by rows; other code "
    "weights them equally, by clicks or by pairs. `auc` also compares rows of different users and is another number.",
    _answers(
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
    "Which scores fall together",
    "Four of the nine scored rows are relevant. `exact` has a bin for each score, `digits=1` rounds .92 and .88 to "
    "one bin, and `bits=1` has bins that start at .75, .5, .375 and .25. A binned `auc` comes with a bound on its "
    "distance from the exact one. `auc_up` orders bins by their rate of positives, highest first; it rises as bins "
    "get finer, up to 1 if each row has its own. In `pr_auc` a bin, and so a tie, is one step of recall.",
    _answers(
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

BRIER_PARTS = Trap(
    "How much of the Brier score recalibration takes away",
    "From the highest score down, the rates of positives are 1 0 1 1/2 1 0 0 0. Isotonic regression pools neighbours "
    "where the rates rise on the way down: the fit is 1 for the highest score, 3/5 for the next five rows and 0 for "
    "the last three. `brier` = `mcb` - `dsc` + `unc`: replacing scores by the fit would lower it by `mcb`, and `dsc` "
    "is what the order of the scores is worth.",
    _answers(
        "",
        {
            "brier": "(0.08·0.08 + 0.88·0.88 + 0.29·0.29 + 0.38·0.38 + 0.62·0.62 + 0.46·0.46 + 0.44·0.44 + 0.31·0.31 + "
            "0.16·0.16) / 9",
            "mcb(exact)": "(0.08·0.08 + 0.88·0.88 + 0.29·0.29 + 0.38·0.38 + 0.62·0.62 + 0.46·0.46 + 0.44·0.44 + "
            "0.31·0.31 + 0.16·0.16 - 3·2/5) / 9",
            "dsc(exact)": "4/9·5/9 - 3·2/5/9",
            "unc": "4/9·5/9",
        },
    ),
    decided_by="",
)

MISPRINTS = Trap(
    "Formulas in circulation that are wrong",
    "At 0.6 ann's five rows are predicted positive: TP = 3, FP = 2, FN = 1, TN = 3. Articles print TP/(TP+FP) for the "
    "true positive rate, but that is precision (`3 / (3 + 2) = 0.600`); FN/(TN+FP) for the false positive rate (`1 / "
    "(3 + 2) = 0.200`); and (b²+1)PR/(b²(P+R)) for F-beta, which is right only for b = 1 (`(4 + 1)·3/5·3/4 / (4·(3/5 "
    "+ 3/4)) = 0.417`). sparkrank uses none of them.",
    _answers(
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

METRIC_TRAPS = (
    AVERAGE_PRECISION,
    PRECISION,
    RECIPROCAL_RANK,
    GAIN,
    IDEAL,
    PAIRS,
    WEIGHTS,
    BLOCKS,
    BRIER_PARTS,
    MISPRINTS,
)
