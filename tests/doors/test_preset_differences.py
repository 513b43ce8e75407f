"""Why two libraries have two numbers for the same rows: each number is that of an evaluation under those settings."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkrank as sr
from sparkrank.config import load_spec
from sparkrank.jobs.preset_differences import explain_presets
from sparkrank.metrics import PRESETS
from sparkrank.results.preset_moves import PresetDifferences
from sparkrank.run.stages import Stages
from tests.support.commands import exit_code, write_spec

DAY = "2026-01-31"
# Of a the list is x, y, z, of which y and z are tied and z is clicked twice as much as w, which is not in the list. Of
# b nothing is clicked, and c has no list.
ROWS = pa.table(
    {
        "user": ["a"] * 4 + ["b"] * 2 + ["c"] + ["d"] * 3,
        "item": ["x", "y", "z", "w", "x", "y", "x", "x", "y", "z"],
        "score": [0.9, 0.5, 0.5, None, 0.7, 0.3, None, 0.1, 0.2, 0.2],
        "click": [0, 1, 2, 1, 0, 0, 1, 1, 0, 1],
    }
)
COLUMNS = {"group": "user", "item": "item", "score": "score", "label": "click"}


def _conf(folder: Path, rows: pa.Table = ROWS) -> str:
    pq.write_table(rows, folder / f"{DAY}.parquet")
    document = {
        "input": {"path": f"{folder}/{{date}}.parquet", "columns": COLUMNS},
        "metrics": ["rr"],
        "slices": ["item"],
        "output": {"path": f"{folder}/out"},
        "engine": {"lane": "local"},
    }
    return write_spec(folder, document)


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _conf(tmp_path_factory.mktemp("presets"))


def _found(conf: str, one: str, other: str, *texts: str) -> PresetDifferences:
    return explain_presets(load_spec(conf, ()), DAY, one, other, texts, None, Stages())


def test_by_hand(conf: str) -> None:
    """recommenders has ap over min(k, R), the gain of a click, and ties in expectation; trec_eval R, grades, and the
    item that is last by text first. Groups are those with truth and a list: a, b and d, and an undefined one counts 0.

    p@2 has no parameter in which they differ: of a, y and z have the second place with the chance 1/2 each, and either
    is relevant; of d, z stands before y by item.
    """
    found = _found(conf, "recommenders", "trec_eval", "p@2", "ap@2")
    p, ap = found.metrics
    assert [(each.setting, each.one, each.other) for each in p.settings] == [("ties", "expected", "item")]
    assert p.value == pytest.approx((1 / 2 + 0 + 1 / 2 * 1) / 3)
    assert p.other_value == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    # a: R = 3 and min(2, 3) = 2; d: z first or second, then x third
    by_k = ((1 / 2) / 2 + 0 + (1 / 2 * 1 + 1 / 2 * 1 / 2) / 2) / 3
    by_relevant = ((1 / 2) / 3 + 0 + (1 / 2 * 1 + 1 / 2 * 1 / 2) / 2) / 3
    alone = {each.setting: each.value for each in ap.settings}
    assert ap.value == pytest.approx(by_k)
    assert alone == pytest.approx({"over": by_relevant, "ties": ((1 / 2) / 2 + 0 + 1 / 2) / 3})
    assert ap.other_value == pytest.approx(((1 / 2) / 3 + 0 + 1 / 2) / 3)
    assert ap.combined == pytest.approx(ap.other_value - ap.value - (by_relevant - by_k) - (alone["ties"] - by_k))
    assert found.notes == ()


TEXTS = ["ndcg@2", "ap@2", "rr", "auc", "r@2", "hit@1"]


def test_both_ends_are_evaluations_under_the_presets(conf: str) -> None:
    ring = ("trec_eval", "mllib", "default", "ranx", "recommenders", "trec_eval")
    presets: dict[str, Any] = {name: name for name in ring} | {"default": None}
    ends = {name: sr.evaluate(ROWS, TEXTS, **COLUMNS, preset=preset) for name, preset in presets.items()}
    for one, other in itertools.pairwise(ring):
        for moves in _found(conf, one, other, *TEXTS).metrics:
            values = repr((moves.value, moves.other_value))  # NaN is NaN
            assert values == repr((ends[one][moves.text], ends[other][moves.text])), (one, other, moves.text)
            assert moves.moved - moves.combined == pytest.approx(sum(s.value - moves.value for s in moves.settings))


def test_a_setting_alone_is_an_evaluation_of_the_first_with_that_of_the_second(conf: str) -> None:
    """mllib and ranx: population, by which c counts, is the one setting of the evaluation, beside ap's and ndcg's."""
    differences = _found(conf, "mllib", "ranx", "ndcg@2", "ap@2")
    texts = {"gain": "ndcg(gain=linear)@2", "over": "ap(over=relevant)@2"}
    for moves in differences.metrics:
        own = "gain" if "ndcg" in moves.text else "over"
        assert {setting.setting for setting in moves.settings} == {"population", own}
        for setting in moves.settings:
            text = texts.get(setting.setting, moves.text)
            under: Any = {"population": "truth"} if setting.setting == "population" else {}
            assert repr(setting.value) == repr(sr.evaluate(ROWS, [text], **COLUMNS, preset="mllib", **under)[text])
    assert differences.passes == 2  # mllib with all texts; ranx, whose other setting is this one alone


def test_a_preset_that_refuses_the_rows_is_said_so_and_the_others_are_compared(tmp_path: Path) -> None:
    rows = pa.concat_tables([ROWS, ROWS.slice(0, 1)])
    found = _found(_conf(tmp_path, rows), "recommenders", "trec_eval", "ap@2")
    (note,) = found.notes
    assert note.startswith("trec_eval refuses these rows, and its numbers here are without that: duplicates=error")
    kept = sr.evaluate(rows, ["ap@2"], **COLUMNS, preset="trec_eval", duplicates="keep")
    assert found.metrics[0].other_value == kept["ap@2"]


def test_every_preset_is_compared_with_itself(conf: str) -> None:
    """Texts and ties need no pass of their own."""
    assert _found(conf, "mllib", "mllib", "ndcg@2", "ap@2").passes == 1
    for name in PRESETS.keys() - {"rectools"}:  # which is of ranks
        alike = _found(conf, name, name, "ndcg@2", "ap@2").metrics
        assert all(not each.settings and each.moved == 0 for each in alike), name


def test_the_command_prints_a_line_for_each_setting(conf: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--conf", conf, "--date", DAY, "--from", "recommenders", "--to", "trec_eval", "ap@2"]
    assert exit_code(*words) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["over", "alone", "min_k_relevant", "relevant", "0.1806", "-0.0278"] in lines
    assert ["as", "trec_eval", "0.2222", "+0.0139"] in lines
    assert exit_code(*words, "--json") == 0
    (metric,) = json.loads(capsys.readouterr().out)["metrics"]
    assert metric["to"]["value"] == pytest.approx(2 / 9)


def test_what_one_of_the_presets_cannot_have_is_a_sentence_and_what_a_text_means_may_differ(conf: str) -> None:
    """rectools takes ranks as positions: there are none. precision of ranx is p; elsewhere it is at a threshold."""
    with pytest.raises(sr.SpecError, match="positions=given takes ranks as positions, but no rank column is named"):
        _found(conf, "mllib", "rectools", "ndcg@2")
    with pytest.raises(sr.SpecError, match=r'^--to is "defaults", did you mean "default"\? \(allowed: default, trec'):
        _found(conf, "mllib", "defaults", "ndcg@2")
    (moves,) = _found(conf, "mllib", "ranx", "precision").metrics
    assert [setting.setting for setting in moves.settings if setting.setting == "metric"] == ["metric"]
    assert moves.other_value == sr.evaluate(ROWS, ["precision"], **COLUMNS, preset="ranx")["precision"]
