"""Nights of a job with gates, through ``sparkrank evaluate``: how often it stops without a reason, and finds one.

Every log has users with two rows, one of them clicked; a model puts it first or not. So ``hit@1`` is what is drawn.
Models of one job are drawn independently, each with a gate of its own: they are that many jobs in the time of one.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sparkrank.cli import main

MONDAY = dt.date(2026, 1, 5)
STOPPED = (0, 3, 5)  # exit codes of a night whose tables are written
NORMAL = 0.5  # the hit rate
Hits = Callable[[np.random.Generator, int, bool], NDArray[np.bool_]]


@dataclass(frozen=True)
class Chain:
    """A gate, and nights on some of which something is really worse.

    ``hits``: from a draw, the night's number and whether it is a bad one, whether each user of a model has a hit;
    ``baseline`` the same of the model that all are compared with. ``cells``: values of the slice, all of equal size.
    ``first``: the night from which verdicts count. ``bad_every``: one night in so many is bad, none if it is 0.
    ``counted``: the verdict that counts. ``nominal``: how often it comes without a reason, at most; ``least_found``:
    how often at least where there is one, the ``change``.
    """

    name: str
    gate: Mapping[str, Any]
    hits: Hits
    nominal: float
    change: str = ""
    least_found: float = 0.9
    models: int = 12
    cells: int = 0
    nights: int = 60
    first: int = 0
    bad_every: int = 10
    baseline: Hits | None = None
    history: Mapping[str, Any] = field(default_factory=dict)
    counted: str = "fail"

    def is_bad(self, night: int) -> bool:
        counted = night - self.first
        return counted >= 0 and self.bad_every > 0 and counted % self.bad_every == self.bad_every - 1


@dataclass(frozen=True)
class Stops:
    """The nights of a gate without and with a change, and on how many of these it had the verdict that is counted."""

    chain: Chain
    good: int
    good_stopped: int
    bad: int
    bad_stopped: int


def stops(name: str, seed: int = 0, nights: int | None = None) -> Stops:
    """Simulate the chain of this name."""
    chain = CHAINS[name]
    draw = np.random.default_rng([seed, *name.encode()])
    models = [f"m{place:02d}" for place in range(chain.models)]
    count: Counter[tuple[bool, bool]] = Counter()  # by whether the night is bad, and the verdict is the counted one
    with tempfile.TemporaryDirectory() as folder:
        _write_spec(chain, Path(folder), models)
        for night in range(nights or chain.nights):
            day = (MONDAY + dt.timedelta(night)).isoformat()
            rows = Path(folder) / f"in/dt={day}/rows.parquet"
            rows.parent.mkdir(parents=True)
            pq.write_table(_log(chain, draw, night, models), rows)
            _evaluate(folder, day)
            verdicts: dict[str, set[str]] = {}
            for row in pq.read_table(f"{folder}/out/gates/day={day}").to_pylist():
                verdicts.setdefault(row["gate"], set()).add(row["verdict"])
            if night >= chain.first:
                count.update((chain.is_bad(night), chain.counted in words) for words in verdicts.values())
    good, bad = (count[is_bad, False] + count[is_bad, True] for is_bad in (False, True))
    return Stops(chain, good, count[False, True], bad, count[True, True])


def _evaluate(folder: str, day: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main(["evaluate", "--conf", f"{folder}/spec.json", "--date", day])
        except SystemExit as end:
            if end.code not in (None, *STOPPED):
                raise RuntimeError(errors.getvalue()) from end


def _write_spec(chain: Chain, folder: Path, names: Iterable[str]) -> None:
    of_slice = {"slice": {"shop": "*"}} if chain.cells else {}
    scores = {name: name for name in (*names, *(["base"] if chain.baseline else []))}
    spec = {
        "input": {"path": f"{folder}/in/dt={{date}}", "columns": {"group": "user", "score": scores, "label": "y"}},
        "metrics": ["hit@1"],
        "slices": ["shop"] if chain.cells else [],
        "gates": [{"metric": "hit@1", "model": name, "name": name, **of_slice, **chain.gate} for name in names],
        "output": {"path": f"{folder}/out", "curves": False, "groups": False},
        "engine": {"lane": "local"},
        **({"compare": {"baseline": "base"}} if chain.baseline else {}),
        **({"history": dict(chain.history)} if chain.history else {}),
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")


def _log(chain: Chain, draw: np.random.Generator, night: int, names: Iterable[str]) -> pa.Table:
    drawn = dict.fromkeys(names, chain.hits) | ({"base": chain.baseline} if chain.baseline else {})
    hits = {name: of_model(draw, night, chain.is_bad(night)) for name, of_model in drawn.items()}
    users = len(next(iter(hits.values())))
    columns: dict[str, Any] = {"user": np.repeat(np.arange(users), 2), "y": np.tile([1, 0], users).astype(np.int32)}
    columns |= {name: np.stack([hit, ~hit], axis=1).ravel().astype(np.float64) for name, hit in hits.items()}
    if chain.cells:
        columns["shop"] = np.repeat(np.arange(users) * chain.cells // users, 2).astype(str)
    return pa.table(columns)


def _rate(users: int, rate: float = NORMAL, worse: float = 0.0, scatter: float = 0.0, weekend: float = 0.0) -> Hits:
    """Users whose chance of a hit scatters from night to night; it is less by ``worse`` on bad ones."""

    def hits(draw: np.random.Generator, night: int, is_bad: bool) -> NDArray[np.bool_]:
        chance = rate - worse * is_bad - weekend * (night % 7 >= 5) + scatter * draw.normal()
        return draw.random(users) < chance

    return hits


def _cells(cells: int, users: int, scatter: float = 0.0, worse: float = 0.0) -> Hits:
    """The same in many slices, whose chances scatter each for itself; on bad nights the first cell is ``worse``."""

    def hits(draw: np.random.Generator, night: int, is_bad: bool) -> NDArray[np.bool_]:
        chance = NORMAL + scatter * draw.normal(size=cells)
        chance[0] -= worse * is_bad
        return draw.random(cells * users) < np.repeat(chance, users)

    return hits


def _returning(users: int, drop: float) -> Hits:
    """The same users every night: half have nearly always a hit, half hardly ever."""
    chance = np.where(np.arange(users) % 2 == 0, 0.98, 0.02)
    return lambda draw, night, is_bad: draw.random(users) < chance - drop * is_bad


def _all() -> Iterable[Chain]:
    half, both = 0.025, 0.0027  # beyond one end of an interval of 95 %; beyond 3 deviations
    stderr = NORMAL / 1000**0.5
    against, history, pair = {"not_worse_than": "base"}, {"not_worse_than": "history"}, {"baseline": _rate(2000)}
    passing: dict[str, Any] = {"bad_every": 0, "counted": "pass"}
    month: dict[str, Any] = {"first": 28, "nights": 88}
    yield Chain("at least, just there", {"min": NORMAL}, _rate(1000, worse=4 * stderr), half, "4 standard errors")
    yield Chain("at least, just there: passes", {"min": NORMAL}, _rate(1000), half, **passing)
    worse = _rate(2000, worse=4 * stderr)
    yield Chain("not worse than an equal model", against, worse, half, "4 standard errors", **pair)
    share, lower = {**against, "by": "10%"}, _rate(2000, rate=0.9 * NORMAL)
    yield Chain("worse by the whole margin of 10 %: passes", share, lower, half, **pair, **passing)
    alike, apart = {"equivalent_to": "base", "by": 0.05}, _rate(2000, rate=NORMAL - 0.05)
    yield Chain("apart by the whole margin: equivalent", alike, apart, half, **pair, **passing)
    yield Chain(
        "not worse than an equal model, 50 shops", against, _cells(50, 60, worse=0.45), half,
        "5 standard errors in one shop", baseline=_cells(50, 60), cells=50, models=6,
    )  # fmt: skip
    lower = _rate(2000, scatter=0.03, worse=6 * 0.032)
    for days, least_found in ((7, 0.6), (28, 0.9)):  # of 7 days the band is 5.2 deviations wide
        span: dict[str, Any] = {"history": {"days": days}, "first": days, "nights": days + 60, "models": 20}
        yield Chain(f"history of {days} days", history, lower, both, "6 deviations", least_found, **span)
    higher = _rate(2000, scatter=0.03, worse=-6 * 0.032)
    yield Chain("history, too good", history, higher, both, "6 deviations upward", **month)
    # Beyond 3 deviations a drop of 4 is found in 84 % where mean and scatter are known. Four days of a weekday say so
    # little of its mean that the band is 3.8 deviations wide: in 58 %.
    lower, weeks = _rate(20_000, scatter=0.02, weekend=0.08, worse=4 * 0.02), {"first": 42, "nights": 102}
    yield Chain("history, lower on weekends", history, lower, both, "4 deviations", 0.5, **weeks, bad_every=11)
    shops: dict[str, Any] = {"nights": 148, "cells": 200, "models": 2, "bad_every": 0, "history": {"days": 28}}
    yield Chain("history, 200 shops", history, _cells(200, 40, scatter=0.1), 0.1, first=28, **shops)
    lower = _returning(2000, drop=6 * 0.14 / 2000**0.5)
    yield Chain("history, users return", history, lower, both, "6 deviations from day to day", **month)


CHAINS = {chain.name: chain for chain in _all()}


def markdown(results: Iterable[Stops]) -> str:
    head = "| gate | nominal | nights that stop without a change | a change of | found |"
    lines = [head, "| --- | ---: | ---: | --- | ---: |"]
    for result in results:
        chain, alarms = result.chain, f"{result.good_stopped / result.good:.2%} of {result.good}".replace("%", " %")
        found = f"{100 * result.bad_stopped / result.bad:.0f} % of {result.bad}" if result.bad else ""
        lines.append(f"| {chain.name} | {100 * chain.nominal:.2g} % | {alarms} | {chain.change} | {found} |")
    return "\n".join(lines)
