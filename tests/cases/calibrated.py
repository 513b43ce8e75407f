"""Probabilities beside what happened."""

from __future__ import annotations

from math import log

from tests.cases.case import many_groups, ranking, whole_day
from tests.cases.rows import LOGITS_TIED

TWENTY_OF_A_HUNDRED = tuple(
    ("u", str(row), 0.5 if row < 50 else 0.4, 1.0 if row < 20 else 0.0) for row in range(100)
)  # 20 positives, 50 picked, all 20 among them

PROBABILITIES = (("u", "a", 0.5, 1.0), ("u", "b", 0.25, 0.0), ("u", "c", 0.75, 1.0), ("u", "d", 0.5, 0.0))
HALF_AND_THREE_QUARTERS = (-log(0.5) - log(0.75) - log(0.75) - log(0.5)) / 4

CALIBRATED = (
    *whole_day(
        "a class of 100 with 20 positives, 50 picked, all 20 among them",
        TWENTY_OF_A_HUNDRED,
        {
            "accuracy": (70 / 100, 0),
            "precision": (40 / 100, 0),
            "recall": (100 / 100, 0),
            "f1": (4 / 7, 0),
            "fbeta": (4 / 7, 0),
            "specificity": (50 / 80, 0),
        },
    ),
    *whole_day(
        "four probabilities",
        PROBABILITIES,
        {
            "logloss": (HALF_AND_THREE_QUARTERS, 0),
            "ne": (HALF_AND_THREE_QUARTERS / log(2), 0),  # half of the rows are clicked
            "brier": ((0.25 + 0.0625 + 0.0625 + 0.25) / 4, 0),
            "copc": (2 / (0.5 + 0.25 + 0.75 + 0.5), 0),
            # .5 holds 1+1 with scores of 1 together; .25 none clicked; .75 one clicked
            "ece": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(exact)": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(digits=2)": ((0 + 0.25 + 0.25) / 4, 0),
            "ece(bits=3)": ((0 + 0.25 + 0.25) / 4, 0),
            # below 1/2 one row at .25; from 1/2 on 2 clicked, scores 1.75 together
            "ece(bins=2)": ((0.25 + 0.25) / 4, 0),
            "ece(bins=1)": (0, 0),
            "rig": (1 - HALF_AND_THREE_QUARTERS / log(2), 0),
            **dict.fromkeys(("mce", "mce(exact)", "mce(digits=2)", "mce(bits=3)"), (0.25, 0)),
            "mce(bins=2)": (0.25, 0),  # of the second bin 0.25 / 3
            "mce(bins=1)": (0, 0),
            **dict.fromkeys(("ece(mass=20)", "ece(mass=20,exact)", "ece(mass=20,bits=3)"), ((0 + 0.25 + 0.25) / 4, 0)),
            # the middle of .5 has half of the rows above it, so it is in the second run, with 1.25 in all and one click
            "ece(mass=2,digits=2)": ((0.25 + 0.25) / 4, 0),
            "ece(mass=1)": (0, 0),
            # the rates 1, 1/2 and 0 rise with the score: only the .5 leave errors after the fit, 2 of 1/4
            "mcb(exact)": ((0.0625 + 0.25 + 0.25 + 0.0625 - 0.5) / 4, 0),
            "dsc(exact)": (1 / 4 - 0.5 / 4, 0),
            # of bins, whose scores may differ, the two .5 may be in order: then nothing is left
            **dict.fromkeys(
                ("mcb", "mcb(digits=2)", "mcb(bits=3)"), ((0.0625 + 0.25 + 0.25 + 0.0625 - 0.5) / 4, 0.5 / 4)
            ),
            **dict.fromkeys(("dsc", "dsc(digits=2)", "dsc(bits=3)"), (1 / 4 - 0.5 / 4, 0.5 / 4)),
            "unc": (2 * 2 / 16, 0),
        },
    ),
    *whole_day(
        "a click above no click, in one bin of mean score 9/16",
        (("u", "a", 0.625, 1.0), ("u", "b", 0.5, 0.0)),
        {
            # the fit of the bin is 1/2; of the scores it is 1 and 0, and brier (9/64 + 1/4) / 2
            "mcb(bits=1)": ((49 / 256 + 81 / 256) / 2 - 1 / 4, 25 / 128 - 1 / 256),
            "dsc(bits=1)": (0, 1 / 4),
            "mcb(exact)": (25 / 128, 0),
            "dsc(exact)": (1 / 4, 0),
        },
    ),
    *whole_day(
        "certain and right, certain and wrong",
        (("u", "a", 1.0, 1.0), ("u", "b", 0.0, 0.0), ("u", "c", 1.0, 0.0)),
        {
            "logloss": ((-2 * log(1 - 2**-52) + 52 * log(2)) / 3, 0),  # clipped to 2^-52
            "brier": (1 / 3, 0),
            "ece": (1 / 3, 0),  # a score of 1 stands in the last bin
        },
    ),
    *whole_day(
        "grades at a threshold, as a classifier",
        tuple(("u", str(i), score, label) for i, (score, label) in enumerate([(0.8, 1.0), (0.6, 3.0), (0.4, 2.0)])),
        {
            "accuracy(rel=2)": (1 / 3, 0),
            "precision(rel=2)": (1 / 2, 0),
            "recall(rel=2)": (1 / 2, 0),
            "tpr(rel=2)": (1 / 2, 0),
            "fpr(rel=2)": (1, 0),
            "specificity(rel=2)": (0, 0),
            "f1(rel=2)": (1 / 2, 0),
            "fbeta(rel=3)": ((2 * 1 / 2 * 1) / (1 / 2 + 1), 0),
            "logloss(rel=2)": ((-log(0.2) - log(0.6) - log(0.4)) / 3, 0),
            "ne(rel=2)": ((-log(0.2) - log(0.6) - log(0.4)) / 3 / -(log(1 / 3) / 3 + log(2 / 3) * 2 / 3), 0),
            "brier(rel=2)": ((0.64 + 0.16 + 0.36) / 3, 0),
            "copc(rel=2)": (2 / 1.8, 0),
            "ece(rel=2)": ((0.8 + 0.4 + 0.6) / 3, 0),
            "ece(mass=20,rel=2)": ((0.8 + 0.4 + 0.6) / 3, 0),
            "mce(rel=2)": (0.8, 0),
            # the highest score has no positive, so all rows share the rate 2/3
            "mcb(rel=2)": ((0.64 + 0.16 + 0.36) / 3 - 2 / 9, 0),
            "dsc(rel=2)": (0, 0),
            "unc(rel=2)": (2 / 9, 0),
            "rig(rel=2)": (1 - (-log(0.2) - log(0.6) - log(0.4)) / 3 / -(log(1 / 3) / 3 + log(2 / 3) * 2 / 3), 0),
            "pr_auc(exact,rel=2)": ((1 / 2 + 2 / 3) / 2, 0),
            "bep(exact,rel=2)": (1 / 2, 0),
            "ks(exact,rel=2)": (0, 0),
            "ks(exact,rel=3)": (1 - 1 / 2, 0),
            # joined from the top: .8 with .6, and .4, which is one row alone, with them
            "auc_up(exact,min_rows=2,rel=2)": (1 / 2, 0),
        },
    ),
    *whole_day(
        "neighbours joined",
        ranking("u", 0, 1, 1, 1, 0, 0, 0),
        {
            # from the top: 0+1 1, 1 1, 0 0, and the last 0 with them: 1+1, 2+0, 0+3 of 3 and 4
            "auc_up(exact,min_rows=2)": ((2 * 4 + 1 * (1 / 2 + 3)) / 12, 0),
            "auc_up(exact,min_rows=3)": ((2 * (1 / 2 * 1 + 3) + 1 * 3 / 2) / 12, 0),  # 2+1, and 1+3
            "auc_up(exact,min_rows=7)": (1 / 2, 0),
        },
    ),
    *whole_day(
        "no positive row",
        ranking("u", 0, 0),
        {
            **dict.fromkeys(("pr_auc(exact)", "bep(exact)", "ks(exact)"), (None, 0)),
            **dict.fromkeys(
                ("recall", "tpr", "f1(threshold=9)", "fbeta(threshold=9)", "precision(threshold=9)"), (None, 0)
            ),
            **dict.fromkeys(("f1", "fbeta", "precision"), (0, 0)),
        },
    ),
    *whole_day("no negative row", ranking("u", 1, 1), {"specificity": (None, 0), "fpr": (None, 0)}),
    *whole_day("one class of probabilities", PROBABILITIES[:1], {"ne": (None, 0), "logloss": (log(2), 0)}),
    *whole_day("nothing predicted", (("u", "a", 0.0, 0.0),), {"copc": (None, 0), "brier": (0, 0)}),
    *whole_day(
        "scores that are no probabilities",
        LOGITS_TIED,
        dict.fromkeys(
            [
                *("logloss", "ne", "brier", "copc", "ece", "rig", "mce", "ece(mass=20)"),
                *("mcb(exact)", "dsc(exact)", "unc"),
            ],
            (None, 0),
        ),
    ),
    *whole_day(
        "no row with a score",
        (("u", "a", None, 1.0),),
        dict.fromkeys(("accuracy", "logloss", "brier", "ece", "auc(exact)"), (None, 0)),
    ),
)

# Two fields: a predicts 1.5 clicks of three rows and has 2; b predicts 1.25 of two and has none. c is no probability.
FIELDS = (
    *(("a", "i", 0.5, 1.0), ("a", "j", 0.25, 0.0), ("a", "k", 0.75, 1.0), ("a", "l", None, 1.0)),
    *(("b", "i", 1.0, 0.0), ("b", "j", 0.25, None)),
    *(("c", "i", 1.5, 1.0), ("c", "j", 0.5, 0.0)),
)
GAPS_OF_FIELDS = {"a": 0.5 / 3, "b": 1.25 / 2, "c": None}

CALIBRATED_IN_GROUPS = (
    many_groups("three fields", FIELDS, "calibration_gap", GAPS_OF_FIELDS, (0.5 / 3 + 1.25 / 2) / 2),
    many_groups("three fields", FIELDS, "calibration_gap(weight=rows)", GAPS_OF_FIELDS, (0.5 + 1.25) / (3 + 2)),
    many_groups(
        "three fields", FIELDS, "calibration_gap(rel=2)", {"a": 1.5 / 3, "b": 1.25 / 2, "c": None}, (0.5 + 0.625) / 2
    ),
    many_groups(
        "three fields", FIELDS, "calibration_gap(unjudged=drop)", {"a": 0.5 / 3, "b": 1, "c": None}, (0.5 / 3 + 1) / 2
    ),
    many_groups("no list", (*FIELDS[:3], ("d", "i", None, 1.0)), "calibration_gap", {"a": 0.5 / 3, "d": None}, 0.5 / 3),
)
