"""Definitions on which libraries differ and that are settings of an evaluation, as data; values are computed."""

from __future__ import annotations

from collections.abc import Mapping

from docs.printers.worked import SETTINGS, Answer, Impression, Trap


def _under(setting: str, metric: str, user: str, arithmetic: Mapping[str, str]) -> tuple[Answer, ...]:
    """An answer for each value of a setting."""
    return tuple(Answer(metric, shown, user, {setting: word}) for word, shown in arithmetic.items())


TIES = Trap(
    "Where tied rows stand",
    "d, which is relevant, and e, which is not, have the same score. `expected` is the mean over both orders; `item` "
    "puts the item first whose text is greater, here e; `worst` puts the less relevant row first and `best` the more "
    "relevant one; under `block` both are at position 5. A library that only sorts has one of these orders, and which "
    "one is a matter of luck.",
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

UNDEFINED = Trap(
    "Users without anything to find",
    "r@3 is 2/5 for ann, 1/3 for bob and 0 for dot, who has no list. For cid R is 0, so r@3 is undefined, and the "
    "mean leaves her out or counts her as 0 or as 1; `error` stops the evaluation. p@3 is never undefined, so it "
    "counts all four.",
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
    "The input gets one more user: eve, whose list of one row, at 0.95, has no label. p@3 is 2/3 for ann, 1/3 for "
    "bob, and 0 for cid, whose rows are judged not relevant, for dot, who has no list, and for eve, who has no judged "
    "row. `unretrieved=skip` leaves out users without a list, as `population=lists` does.",
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
    rows=(Impression("eve", "y", 0.95, None),),
)

DUPLICATES = Trap(
    "An item twice in a list",
    "ann's list gets a once more, at 0.65, which is position 4. Under `keep` every row of a log counts, also in R, "
    "which is 6; under `once` an item counts at its best position and its repeats count as not relevant; under "
    "`first` the repeats leave the list and the rows below move up; `error`, which is trec_eval's behaviour, stops "
    "the evaluation. If lists are joined with a truth, R counts an item once under each of them, so recall may exceed "
    "1 under `keep`; the default there is `once`.",
    (
        *_under(
            "duplicates",
            "p@4",
            "ann",
            {"keep": "(1 + 0 + 1 + 1) / 4", "once": "(1 + 0 + 1 + 0) / 4", "first": "(1 + 0 + 1 + 1/2) / 4"},
        ),
        *_under("duplicates", "r@5", "ann", {"keep": "(3 + 1/2) / 6", "once": "(2 + 1/2) / 5", "first": "3 / 5"}),
    ),
    decided_by=SETTINGS,
    rows=(Impression("ann", "a", 0.65, 3),),
)

UNJUDGED = Trap(
    "A row of which nothing is known",
    "ann's list gets an item without a label at 0.8, which is position 3. It counts as not relevant, or it is dropped "
    "and the rows below it move up.",
    _under("unjudged", "p@3", "ann", {"nonrelevant": "(1 + 0 + 0) / 3", "drop": "(1 + 0 + 1) / 3"}),
    decided_by=SETTINGS,
    rows=(Impression("ann", "x", 0.8, None),),
)

UNJUDGED_BY_METRIC = Trap(
    "What nobody judged, by metric",
    "The same row at position 3. `judged` and `unj` say how much of a list has labels. With `unjudged=drop` a metric "
    "sees the condensed list, while other metrics see the whole one. With `unjudged=best` the row counts as relevant, "
    "with the highest grade: the value is the highest that judging the row could give, and for `rbp` the difference "
    "is its residual.",
    (
        Answer("judged@3", "(1 + 1 + 0) / 3", "ann"),
        Answer("judged(over=k)@10", "(1 + 1 + 0 + 1 + 1 + 1) / 10", "ann"),
        Answer("unj@3", "(0 + 0 + 1) / 3", "ann"),
        Answer("p(unjudged=drop)@3", "(1 + 0 + 1) / 3", "ann"),
        Answer("p(unjudged=best)@3", "(1 + 0 + 1) / 3", "ann"),
        Answer("rbp@3", "(1-0.8)·(1 + 0 + 0)", "ann"),
        Answer("rbp(unjudged=best)@3", "(1-0.8)·(1 + 0 + 0.8·0.8)", "ann"),
        Answer("dcg(max_grade=3,unjudged=best)@3", "3/1 + 0 + 3/log2(4)", "ann"),
    ),
    decided_by="",
    rows=UNJUDGED.rows,
)

HAD = (("ann", "b"), ("ann", "f"))
EXCLUDED = Trap(
    "What a user had before",
    "ann had b, which is second in her list, and f, which is relevant and in no list. With `exclude` both are left "
    "out before positions are given: c moves up to position 2, and f counts neither in R nor in the ideal list, so R "
    "is 4. A library that takes b out of the list and leaves f in R has a recall that can never reach 1.",
    (
        *(Answer("p@2", shown, "ann", exclude=had) for shown, had in (("(1 + 0) / 2", ()), ("(1 + 1) / 2", HAD))),
        *(Answer("r@2", shown, "ann", exclude=had) for shown, had in (("(1 + 0) / 5", ()), ("(1 + 1) / 4", HAD))),
        Answer("ndcg@2", "(3/1 + 0) / (3/1 + 2/log2(3))", "ann"),
        Answer("ndcg@2", "(3/1 + 1/log2(3)) / (3/1 + 2/log2(3))", "ann", exclude=HAD),
    ),
    decided_by="",
)

SETTING_TRAPS = (
    TIES,
    UNDEFINED,
    POPULATION,
    DUPLICATES,
    UNJUDGED,
    UNJUDGED_BY_METRIC,
    EXCLUDED,
)
