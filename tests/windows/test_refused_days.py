"""Days that do not merge: evaluated otherwise, of another version, cut short. One sentence names day and remedy."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from sparkrank import cli
from sparkrank.states.forms import VERSION
from tests.windows.week import (
    DAYS,
    METRICS,
    SCORES,
    assert_same,
    evaluate,
    merging,
    refused,
    spec_of,
    spoil,
    window_table,
)

LACKS = "2026-11-15 has no {} state of {} for the model production"
OTHERWISE: list[tuple[dict[str, object], str]] = [
    (
        {"definitions__ties": "worst"},
        'gmean(ap) of 2026-11-15 was evaluated as "ap(over=relevant); ties=worst, undefined=skip", and the spec',
    ),
    ({"definitions__undefined": "zero"}, "undefined=zero"),
    (
        {"metrics": METRICS[:2] + METRICS[3:]},
        f"{LACKS.format('mean', 'rr')}: evaluate that day again, or leave rr out of",
    ),
    ({"metrics": [*METRICS[:-1], "auc_up(digits=2)"]}, LACKS.format("blocks", "auc_up(digits=1)")),
    (
        {"metrics": [name for name in METRICS if not name.startswith(("p90", "median"))]},
        LACKS.format("distributions", "p90(ndcg@5)"),
    ),
    (
        {"output__blocks": False},
        f"{LACKS.format('blocks', 'auc')}: evaluate that day again with output.blocks: true, or",
    ),
    (
        {"input__where": "clicked < 2"},
        "of source group=user_id, label=clicked, where clicked < 2, and the spec asks for group=user_id",
    ),
]


def test_a_day_of_another_definition_is_refused(tables: Path, capsys) -> None:
    for changes, sentence in OTHERWISE:
        evaluate(spec_of(tables, "other", **changes), DAYS[2])
        assert sentence in refused(capsys, *merging(spec_of(tables), "--allow-missing"))
        assert not (tables / "tables/windows").exists()


def test_one_state_of_another_definition_is_refused(tables: Path, capsys) -> None:
    """Wherever it stands among those of its day, and where nothing else is asked for."""
    evaluate(spec_of(tables, "other", metrics=["ap", "rr"], definitions__ties="worst"), DAYS[2])
    for metric, meant in (("ap", "ap(over=relevant)"), ("rr", "rr")):
        error = refused(capsys, *merging(spec_of(tables, metrics=[metric]), first=DAYS[2], last=DAYS[2]))
        assert error == (
            f'sparkrank: {metric} of 2026-11-15 was evaluated as "{meant}; ties=worst, undefined=skip", and the spec '
            f'asks for "{meant}; ties=expected, undefined=skip": evaluate that day again, or request what is stored\n'
        )


def test_a_day_of_scores_does_not_merge_with_a_day_of_ranks(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same columns mean the opposite: a mean over both would be of neither order."""
    ranks = {"group": "user_id", "label": "clicked", "rank": dict(SCORES)}
    error = refused(capsys, *merging(spec_of(tables, input__columns=ranks)))
    assert "of source group=user_id, label=clicked, and the spec asks for group=user_id, label=clicked, models" in error


def test_states_of_another_version_and_blocks_that_are_not_whole_are_refused(tables: Path, capsys) -> None:
    for table, change, sentence in (
        ("blocks", lambda rows: rows[1:], "2026-11-15 has 650 rows of blocks where its states say 651"),
        (
            "states",
            lambda rows: rows.set_column(1, "version", pc.subtract(rows["version"], 1)),
            f"the states of 2026-11-15 are of version {VERSION - 1}, and this sparkrank reads version {VERSION}",
        ),
    ):
        spoil(tables, table, change)
        assert f"{sentence}: evaluate that day again" in refused(capsys, *merging(spec_of(tables)))


def test_a_column_of_states_that_a_day_has_none_of_may_lack(tables: Path) -> None:
    """What a day of before a new type of state looks like."""
    conf = spec_of(tables, metrics=["ap"])
    cli.main(merging(conf))
    expected = window_table(tables, "metrics")

    def older(rows: pa.Table) -> pa.Table:
        return rows.filter(pc.not_equal(rows["kind"], "blocks")).drop_columns(["n_blocks"])

    spoil(tables, "states", older)
    cli.main(merging(conf))
    assert_same(window_table(tables, "metrics"), expected)
