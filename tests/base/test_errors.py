"""The suggestion of an error: there for what a slip of the keyboard makes of a word, not for another word."""

from __future__ import annotations

from sparkrank.base.errors import did_you_mean
from sparkrank.metrics import CATALOG, PRESETS
from sparkrank.metrics.definitions import ALLOWED

METRICS = list(CATALOG)
COLUMNS = ["user_id", "item_id", "score", "label", "country", "device", "ts"]
KEYS = ["input", "metrics", "output", "slices", "truth", "day", "definitions", "quality", "engine"]
TIES = ALLOWED["ties"]

# A slip and the word that was meant.
SLIPS = [
    (METRICS, "ndgc ndcg, nddcg ndcg, ndg ndcg, presision precision, precison precision, percision precision"),
    (METRICS, "recal recall, recalll recall, gruop_auc group_auc, groupauc group_auc, kendal_tau kendall_tau"),
    (METRICS, "kendall_tua kendall_tau, spearmann spearman, covrage coverage, noveltly novelty, lgoloss logloss"),
    (METRICS, "acuracy accuracy, specifity specificity, bperf bpref, GAUCC gauc"),
    ([name for name in METRICS if name != "dcg"], "mdcg ndcg"),
    (COLUMNS, "userid user_id, user-id user_id, itme_id item_id, Label label, lable label, labels label"),
    (COLUMNS, "scroe score, contry country, counrty country"),
    (KEYS, "metric metrics, ouput output, defintions definitions, qualtiy quality"),
    (TIES, "expcted expected, bets best, itm item, blok block"),
    (PRESETS, "relay replay, trec-eval trec_eval, sklern sklearn"),
]
TYPOS = {
    typed: (meant, known) for known, slips in SLIPS for typed, meant in (slip.split() for slip in slips.split(","))
}

OTHERS = {
    **dict.fromkeys(
        ("rmse", "mae", "mse", "map_at_n", "lift", "roc", "wer", "bleu", "diversity", "serendipity", "iou", "x", "42"),
        METRICS,
    ),
    **dict.fromkeys(("price", "click", "query", "timestamp", "model", "category", "id"), COLUMNS),
    **dict.fromkeys(("models", "spark", "format", "where", "gates", "lane"), KEYS),
    **dict.fromkeys(("random", "mean", "first", "average", "last", "min"), TIES),
    **dict.fromkeys(("evidently", "lenskit", "surprise", "trec"), PRESETS),
    "": METRICS,
}


def test_a_slip_is_understood_and_another_word_is_none() -> None:
    assert {typed: did_you_mean(typed, known) for typed, (_, known) in TYPOS.items()} == {
        typed: f', did you mean "{meant}"?' for typed, (meant, _) in TYPOS.items()
    }
    assert {typed: near for typed, known in OTHERS.items() if (near := did_you_mean(typed, known))} == {}


def letters(word: str) -> list[str]:
    """Every word that one slip makes of ``word``: a letter left out, doubled, or two that changed places."""
    left_out = [word[:place] + word[place + 1 :] for place in range(len(word))]
    doubled = [word[: place + 1] + word[place:] for place in range(len(word))]
    turned = [word[:place] + word[place : place + 2][::-1] + word[place + 2 :] for place in range(len(word) - 1)]
    return [*left_out, *doubled, *turned]


def test_each_slip_of_a_letter_suggests_a_word_as_near() -> None:
    """The word itself, or one that is as few slips away: ndg is ndcg or dcg."""
    for name in METRICS:
        for typed in set(letters(name)) - set(METRICS) if len(name) >= 4 else ():
            assert did_you_mean(typed, [name]) == f', did you mean "{name}"?'
            assert did_you_mean(typed, METRICS) != "", typed


def test_nothing_is_near_to_nothing() -> None:
    assert did_you_mean("ndcg", []) == ""
