"""What makes a row, a group and a label, as stored states name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkrank.config import load_spec
from tests.windows.week import SCORES, spec_of


def test_the_source_of_states_leaves_out_what_may_change(tmp_path: Path) -> None:
    columns = {"group": ["user_id", "session"], "label": "clicked", "score": SCORES, "item": "item_id"}
    spec = load_spec(spec_of(tmp_path, input__columns=columns))
    assert spec.source() == "group=user_id, group=session, label=clicked"


def test_what_makes_a_label_is_part_of_the_source_and_of_the_hash(tmp_path: Path) -> None:
    """States of labels that were made otherwise do not merge; where the rows lie may change."""
    conf = tmp_path / "spec.yaml"
    conf.write_text(
        "input: {path: lists, columns: {group: user, item: item, score: {m: s}}}\nmetrics: [rr]\n"
        "output: {path: tables}\ntruth: {path: orders, where: a > 1, columns: {label: quantity}}\n"
    )
    joined = load_spec(conf)
    lists, truth = "group=user, item=item", "truth group=user, truth label=quantity, truth item=item"
    assert joined.source() == f"{lists}, {truth}, truth where a > 1"
    by_other_items = ("input.columns.item=product", "truth.columns.item=product")
    for override in ("truth.columns.label=price", "truth.where=a > 2", *by_other_items):
        other = load_spec(conf, [override])
        assert other.source() != joined.source()
        assert other.hash() != joined.hash()
    assert load_spec(conf, ["truth.path=elsewhere"]).source() == joined.source()
    conf.write_text(
        "input: {path: x, columns: {group: user, items: {m: list}, true_items: bought}}\nmetrics: [rr]\n"
        "output: {path: tables}\n"
    )
    of_arrays = load_spec(conf).source()
    assert (
        of_arrays == "group=user, true items=bought, relevance=membership, each row a list"
    )  # once all rows of a key were one
    ranked = load_spec(conf, ["input.columns.relevance=reciprocal_rank"]).source()
    assert ranked == "group=user, true items=bought, relevance=reciprocal_rank, each row a list"


@pytest.mark.parametrize("setting", ["ties=item", "duplicates=first"])
def test_the_item_is_part_of_the_source_where_it_decides(tmp_path: Path, setting: str) -> None:
    columns = {"group": "user_id", "label": "clicked", "score": SCORES, "item": "item_id"}
    conf = spec_of(tmp_path, input__columns=columns)
    assert load_spec(conf).source() == "group=user_id, label=clicked"
    assert load_spec(conf, [f"definitions.{setting}"]).source() == "group=user_id, label=clicked, item=item_id"
