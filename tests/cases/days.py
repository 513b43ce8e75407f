"""AUC and AUC_UP of all rows of a day."""

from __future__ import annotations

from tests.cases.case import ranking, whole_day
from tests.cases.rows import CLICKS, LOGITS_TIED

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
