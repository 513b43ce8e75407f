"""Logged actions: the score is the probability of the action, the label its reward, the last number its propensity.

A reward of 0.5 is expected of each action, and 0.25 of the policy (tests/support/buckets.py).
"""

from __future__ import annotations

from tests.cases.case import Row, whole_day

# The weights are 2, 0.5 and 3. Nothing is known of what d earned, and the policy is not asked for e.
ACTIONS: tuple[Row, ...] = (
    ("u", "a", 0.5, 1.0, 0.25),
    ("u", "b", 0.25, 0.0, 0.5),
    ("v", "c", 0.375, 2.0, 0.125),
    ("v", "d", 0.75, None, None),
    ("v", "e", None, 1.0, 0.5),
)
EARNED = 2 * 1 + 0.5 * 0 + 3 * 2
WEIGHTS = 2 + 0.5 + 3
CORRECTED = 3 * 0.25 + 2 * (1 - 0.5) + 0.5 * (0 - 0.5) + 3 * (2 - 0.5)
FORMS = ("value", "value(by=snips)", "value(by=dr)", "value(per=group)")

LOGGED_ACTIONS = (
    *whole_day(
        "weights 2, 0.5 and 3 of rewards 1, 0 and 2",
        ACTIONS,
        {
            "value": (EARNED / 3, 0),
            "value(by=snips)": (EARNED / WEIGHTS, 0),
            "value(by=dr)": (CORRECTED / 3, 0),
            "value(clip=2)": ((2 * 1 + 2 * 2) / 3, 0),
            "value(by=snips,clip=1)": ((1 * 1 + 0 + 1 * 2) / (1 + 0.5 + 1), 0),
            "value(by=dr,clip=2)": ((3 * 0.25 + 2 * 0.5 - 0.5 * 0.5 + 2 * 1.5) / 3, 0),
            # two slates, of 3/2 rows each
            "value(per=group)": (EARNED / 2, 0),
            "value(by=snips,per=group)": (EARNED / WEIGHTS * 3 / 2, 0),
            "value(by=dr,per=group)": (CORRECTED / 2, 0),
            # effective: (2 + 0.5 + 3)² / (4 + 0.25 + 9) = 30.25 / 13.25 = 2.28; clipped at 1: 2.5² / 2.25 = 2.78
            "value(min_effective=2.28)": (EARNED / 3, 0),
            "value(min_effective=2.29)": (None, 0),
            "value(by=dr,min_effective=2.29)": (None, 0),
            "value(by=snips,clip=1,min_effective=2.77)": ((1 * 1 + 0 + 1 * 2) / (1 + 0.5 + 1), 0),
            "value(by=snips,clip=1,min_effective=2.78)": (None, 0),
        },
    ),
    *whole_day("no row with a score and a label", ACTIONS[3:], dict.fromkeys(FORMS, (None, 0))),
    *whole_day(
        "a score that is no probability",
        ((*ACTIONS[0][:2], 1.5, *ACTIONS[0][3:]), *ACTIONS[1:]),
        dict.fromkeys(FORMS, (None, 0)),
    ),
    *whole_day(
        "a reward that is too far",
        ((*ACTIONS[0][:3], 5e9, 0.25), *ACTIONS[1:]),
        dict.fromkeys(FORMS, (None, 0)),
    ),
    *whole_day(
        "actions that the policy never takes",
        tuple((group, item, 0.0, label, chance) for group, item, _, label, chance in ACTIONS[:3]),
        {
            "value": (0, 0),
            "value(by=snips)": (None, 0),
            "value(by=dr)": (0.25, 0),
            "value(min_effective=0.001)": (None, 0),  # no weight is no sample
        },
    ),
)
