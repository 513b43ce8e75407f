"""One part of a curve of thresholds: the best point that keeps a condition, and the rows with the highest scores."""

from __future__ import annotations

from tests.cases.case import ranking, whole_day
from tests.cases.rows import CLICKS

# Clicked and not, from the highest score down: 1 1 0 1 1 0 1 0 0, of which five are clicked.
OPERATING_POINTS = (
    *whole_day(
        "the curves of nine scores",
        CLICKS,
        {
            # at thresholds of .5 and .7: 4+1 and 2+1 are picked
            "mcc": ((4 * 3 - 1 * 1) / (5 * 5 * 4 * 4) ** 0.5, 0),
            "mcc(threshold=0.7)": ((2 * 3 - 1 * 3) / (3 * 5 * 4 * 6) ** 0.5, 0),
            "mcc(threshold=9)": (None, 0),
            "balanced_accuracy": ((4 / 5 + 3 / 4) / 2, 0),
            "balanced_accuracy(threshold=0.7)": ((2 / 5 + 3 / 4) / 2, 0),
            "recall(at_precision=0.9)": (2 / 5, 0),
            "recall(at_precision=0.8,exact)": (4 / 5, 0),  # of which the precision is 4/5 itself
            # .9 .8 .7 .5 .4 .3 hold 1+0, 1+0, 1+1, 1+0, 1+1, 0+2; inside .4 there may be 5+1 picked
            "recall(at_precision=0.75,digits=1)": (4 / 5, 5 / 5 - 4 / 5),
            # from .75, .5, .375 and .25 on: 2+0, 2+1, 0+1, 1+2; inside the second there may be 4+0 picked
            "recall(at_precision=0.9,bits=1)": (2 / 5, 4 / 5 - 2 / 5),
            "precision(at_recall=0.8)": (4 / 5, 0),
            "precision(at_recall=1,exact)": (5 / 7, 0),
            "precision(at_recall=1,digits=1)": (5 / 7, 5 / 6 - 5 / 7),
            "precision(at_recall=0.8,bits=1)": (4 / 5, 4 / 4 - 4 / 5),
            "tpr(at_fpr=0.01)": (2 / 5, 0),
            "tpr(at_fpr=0.25,exact)": (4 / 5, 0),  # of which the rate is 1/4 itself
            "tpr(at_fpr=0.25,digits=1)": (4 / 5, 5 / 5 - 4 / 5),
            "tpr(at_fpr=0,bits=1)": (2 / 5, 4 / 5 - 2 / 5),
            # the first of four others stands behind two clicks, the second behind four
            "auc(max_fpr=0.1)": ((1 + (0.1 * 2 / 5 - 0.005) / (0.1 - 0.005)) / 2, 0),
            "auc(max_fpr=0.5,exact)": ((1 + ((2 / 5 + 4 / 5) / 4 - 0.125) / (0.5 - 0.125)) / 2, 0),
            # the others of .7 and .4 stand behind half of the click there; of the second half counts, behind a quarter
            "auc(max_fpr=0.375,digits=1)": (
                (1 + ((2.5 / 5) / 4 + (4.25 / 5) / 8 - 0.375**2 / 2) / (0.375 - 0.375**2 / 2)) / 2,
                ((0.5 / 5) / 4 + (0.75 / 5) / 8) / (0.375 - 0.375**2 / 2) / 2,
            ),
            # behind two clicks at least and four at most, and three as the bins have it
            "auc(max_fpr=0.25,bits=1)": (
                (1 + (3 / 5 / 4 - 1 / 32) / (1 / 4 - 1 / 32)) / 2,
                (1 / 5) / 4 / (1 / 4 - 1 / 32) / 2,
            ),
            "capture(exact)": (0.9 / 5, 0),
            "capture": (0.9 / 5, 0),
            "capture(top=0.5)": (3.5 / 5, 0),
            "capture(top=1,digits=1)": (1, 0),
            # 2.5 rows of the second bin, which holds 2+1: 1.5 clicks at least, 2 at most
            "capture(top=0.5,bits=1)": ((2 + 2.5 * 2 / 3) / 5, (2 - 2.5 * 2 / 3) / 5),
            "lift(exact)": (0.9 / 5 / 0.1, 0),
            "lift": (0.9 / 5 / 0.1, 0),
            "lift(top=0.5)": (3.5 / 5 / 0.5, 0),
            "lift(top=1,digits=1)": (1, 0),
            "lift(top=0.5,bits=1)": ((2 + 2.5 * 2 / 3) / 5 / 0.5, (2 - 2.5 * 2 / 3) / 5 / 0.5),
        },
    ),
    *whole_day(
        "grades at a threshold, on curves",
        ranking("u", 1, 3, 2, 0),
        {
            "mcc(rel=2,threshold=3)": (0, 0),
            "balanced_accuracy(rel=2,threshold=3)": (1 / 2, 0),
            "recall(at_precision=0.9,rel=2,exact)": (None, 0),
            "recall(at_precision=0.6,rel=2,exact)": (1, 0),
            "precision(at_recall=0.8,rel=2)": (2 / 3, 0),
            "tpr(at_fpr=0.01,rel=2)": (0, 0),  # a threshold above all scores
            "auc(max_fpr=0.5,rel=2)": ((1 + (0 - 1 / 8) / (1 / 2 - 1 / 8)) / 2, 0),
            "capture(top=0.5,rel=2)": (1 / 2, 0),
            "lift(top=0.5,rel=2)": (1, 0),
        },
    ),
    *whole_day(
        "no positive row, on curves",
        ranking("u", 0, 0),
        dict.fromkeys(
            (
                *("recall(at_precision=0.9,exact)", "precision(at_recall=0.8,exact)", "tpr(at_fpr=0.1,exact)"),
                *("auc(max_fpr=0.1,exact)", "capture(exact)", "lift(exact)", "mcc", "balanced_accuracy"),
            ),
            (None, 0),
        ),
    ),
)
