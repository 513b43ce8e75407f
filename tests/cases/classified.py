"""All rows of a day: classified at a threshold, the curves of thresholds, AUC and AUC_UP."""

from __future__ import annotations

from tests.cases.case import ranking, whole_day
from tests.cases.rows import CLICKS, LOGITS_TIED

# At 0.5 five are picked, four of them clicked; at 0.7 three, two of them clicked. The fourth score is 0.66.
CLASSIFIED = (
    *whole_day(
        "nine scores judged as a classifier",
        CLICKS,
        {
            "accuracy": ((4 + 3) / 9, 0),
            "accuracy(threshold=0.66)": ((3 + 3) / 9, 0),  # a score at the threshold is picked
            "precision": (4 / 5, 0),
            "recall": (4 / 5, 0),
            "recall(threshold=0.7)": (2 / 5, 0),
            "tpr": (4 / 5, 0),
            "tpr(threshold=0.7)": (2 / 5, 0),
            "specificity": (3 / 4, 0),
            "specificity(threshold=0.3)": (1 / 4, 0),
            "fpr": (1 / 4, 0),
            "fpr(threshold=0.3)": (3 / 4, 0),
            "f1": (2 * 4 / 5 * 4 / 5 / (4 / 5 + 4 / 5), 0),
            "f1(threshold=0.7)": (2 * 2 / 3 * 2 / 5 / (2 / 3 + 2 / 5), 0),
            "fbeta": (4 / 5, 0),
            "fbeta(beta=2,threshold=0.7)": ((4 + 1) * 2 / 3 * 2 / 5 / (4 * 2 / 3 + 2 / 5), 0),
            "pr_auc(exact)": ((1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5, 0),
            "pr_auc": ((1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5, 0),
            # .7 holds 1+1: its click may come first; .4 too. At worst each comes second, which is the value itself.
            "pr_auc(digits=1)": (
                (1 / 1 + 2 / 2 + 3 / 4 + 4 / 5 + 5 / 7) / 5,
                ((3 / 3 - 3 / 4) + (5 / 6 - 5 / 7)) / 5,
            ),
            # from .75, .5, .375 and .25 on: 2+0, 2+1, 0+1, 1+2
            "pr_auc(bits=1)": (
                (2 * 2 / 2 + 2 * 4 / 5 + 1 * 5 / 9) / 5,
                max(2 * (4 / 4 - 4 / 5) + 1 * (5 / 7 - 5 / 9), 2 * (4 / 5 - 3 / 4)) / 5,
            ),
            "ks(exact)": (4 / 5 - 1 / 4, 0),
            "ks": (4 / 5 - 1 / 4, 0),
            # after .7: 3/5 - 1/4, inside up to 3/5; after .5: 4/5 - 1/4; after .4: 5/5 - 2/4, inside up to 5/5 - 1/4
            "ks(digits=1)": (4 / 5 - 1 / 4, (5 / 5 - 1 / 4) - (4 / 5 - 1 / 4)),
            # after .75: 2/5; after .5: 4/5 - 1/4, inside up to 4/5
            "ks(bits=1)": (4 / 5 - 1 / 4, 4 / 5 - (4 / 5 - 1 / 4)),
            "bep(exact)": (4 / 5, 0),
            "bep": (4 / 5, 0),
            "bep(digits=1)": (4 / 5, 0),  # a block ends where five are picked
            "bep(bits=1)": (4 / 5, 0),
            # 1 holds 4+1, and five are picked there
            "bep(digits=0)": (4 / 5, 0),
        },
    ),
    *whole_day(
        "four clicked rows and another in one block",
        tuple(("u", f"{score}", score, float(score > 0.6)) for score in (0.95, 0.9, 0.8, 0.7, 0.6)),
        # the other may come last, or first: then all four stand where the first of them does at worst, behind it
        {"pr_auc(digits=0)": (4 / 5, max(1 - 4 / 5, 4 / 5 - 1 / 2))},
    ),
    *whole_day(
        "the break-even point inside a block",
        ranking("u", 1, 0, 1, 1, 0),
        {
            "bep(exact)": (2 / 3, 0),
            # scores 5 4 3 2 1; blocks of bits=1: 4 and 5 hold 1+1, 3 and 2 one each, so the third row is a click
            "bep(bits=1)": (2 / 3, 0),
        },
    ),
    *whole_day(
        "the break-even point inside a tie",
        (("u", "a", 0.9, 1.0), *(("u", f"t{label}{i}", 0.5, float(label)) for label in (1, 0) for i in range(2))),
        # three positives; after the first, two more of the four tied rows, of which half are clicked
        {"bep(exact)": ((1 + 2 * 2 / 4) / 3, 0), "bep": ((1 + 2 * 2 / 4) / 3, (2 - 1) / 3)},
    ),
)


DAYS = (
    *whole_day(
        "nine scores",
        CLICKS,
        {
            "auc(exact)": (16 / 20, 0),
            "auc": (16 / 20, 0),  # no two of them within 2^-12 of each other
            # .9 .8 .7 .5 .4 .3 hold 1+0, 1+0, 1+1, 1+0, 1+1, 0+2 rows clicked + not
            "auc(digits=1)": ((4 + 4 + 3.5 + 3 + 2.5) / 20, 0.5 * (1 * 1 + 1 * 1) / 20),
            # 1 and 0 hold 4+1 and 1+3
            "auc(digits=0)": ((4 * 3 + 4 * 1 / 2 + 1 * 3 / 2) / 20, 0.5 * (4 * 1 + 1 * 3) / 20),
            # from .75, .5, .375 and .25 on: 2+0, 2+1, 0+1, 1+2
            "auc(bits=1)": ((2 * 4 + 2 * (1 / 2 + 3) + 1 * 2 / 2) / 20, 0.5 * (2 * 1 + 1 * 2) / 20),
            "auc_up(exact)": (20 / 20, 0),
            "auc_up": (20 / 20, 0),
            # best order: .9 .8 .5 of rate 1, .7 and .4 of rate 1/2, .3 of rate 0
            "auc_up(digits=1)": ((3 * 4 + (1 / 2 + 1 + 2) + (1 / 2 + 2)) / 20, 0),
            # the block of the lower scores that holds 1+2 goes before the one that holds 0+1
            "auc_up(bits=1)": ((2 * 4 + 2 * (1 / 2 + 3) + (2 / 2 + 1)) / 20, 0),
        },
    ),
    *whole_day(
        "0.0 and -0.0 tie, scores are logits",
        LOGITS_TIED,
        {
            "auc(exact)": ((2 + 1 / 2 + 1) / (2 * 2), 0),
            "auc": ((2 + 1 / 2 + 1) / (2 * 2), 0.5 * (1 * 1) / (2 * 2)),
            "auc_up(exact)": ((2 + 1 / 2 + 1) / (2 * 2), 0),
        },
    ),
    *whole_day(
        "grades at a threshold",
        ranking("u", 1, 3, 2, 0),
        {"auc(exact,rel=2)": ((1 + 1) / (2 * 2), 0), "auc_up(exact,rel=2)": (1, 0), "auc(bits=20,rel=3)": (2 / 3, 0)},
    ),
    *whole_day("a label below 0 and none at all", ranking("u", 1, -1, None, 2), {"auc": ((2 + 0) / (2 * 2), 0)}),
    *whole_day("one class", ranking("u", 1, 1, unlisted=(0,)), {"auc(exact)": (None, 0), "auc_up": (None, 0)}),
)
