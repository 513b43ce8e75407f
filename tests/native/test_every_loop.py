"""Wide logs have the same tables with loops and without, and each loop that there is has run in both forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sparkrank
import sparkrank as sr
from sparkrank import native
from sparkrank.numeric.narrow_integers import narrow_ascending, widen_ascending
from tests.extent import IS_LONG
from tests.native.with_and_without import both
from tests.support.apart import lists_of_models, truth_of
from tests.wide_logs import LOGS, differences

PACKAGE = Path(sparkrank.__file__).parent
ASKED = re.compile(r'native\.runs\("([^"]+)"')
LOOPS = {name for file in PACKAGE.rglob("*.py") for name in ASKED.findall(file.read_text("utf-8"))}
# So many that each loop runs; a long run has all logs.
FEW = ("nulls", "slices", "weights", "exact", "text_keys", "arrays", "truth", "ranks", "past_of_labels", "times")


@contextmanager
def choices() -> Iterator[set[tuple[str, bool]]]:
    """Each loop that is asked for in the meantime, by any thread, and whether it has run compiled."""
    asked: set[tuple[str, bool]] = set()
    runs = native.runs

    def noted(loop: str, serves: bool = True) -> bool:
        compiled = runs(loop, serves)
        asked.add((loop, compiled))
        return compiled

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "runs", noted)
        yield asked


def bins_sent_and_read(bins: int) -> list[int]:
    """Numbers as states send them."""
    first, steps = narrow_ascending(np.arange(bins + 1) ** 2)
    return widen_ascending(first, steps).tolist()


def models_apart() -> str:
    models = lists_of_models(pa.int64())
    asked = {"group": ["user", "shop"], "item": "item", "score": "score", "truth": truth_of(models)}
    return repr(sr.evaluate(models, ["ndcg@5", "gini@3"], buckets=2, **asked).metrics.to_pylist())


def heads_of_lists() -> str:
    """Lists that are long beside a cut-off."""
    place = np.arange(60)
    rows = pa.table({"user": place % 3, "score": place * 7 % 20, "label": place % 2, "price": place / 7})
    asked = {"group": "user", "score": "score", "label": "label"}
    return repr(sr.evaluate(rows, ["shown(of=price)@4", "ild(by=price)@4"], buckets=2, **asked).metrics.to_pylist())


def test_every_loop_has_the_bits_of_numpy(tmp_path: Path) -> None:
    wrong = {}
    with choices() as asked:
        for name in LOGS if IS_LONG else FEW:
            log = LOGS[name]()
            (folder := tmp_path / name).mkdir()
            path, truth = log.written(folder)
            compiled = log.bits(path, truth, buckets=3)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(native, "COMPILED", False)
                if names := differences(compiled, log.bits(path, truth, buckets=3)):
                    wrong[name] = names
        others = (lambda: bins_sent_and_read(100), lambda: bins_sent_and_read(0), models_apart, heads_of_lists)
        for rows in map(both, others):
            assert rows[0] == rows[1]
    assert wrong == {}
    assert len(LOOPS) > 15
    assert {(loop, compiled) for loop in LOOPS for compiled in (True, False)} - asked == set()
