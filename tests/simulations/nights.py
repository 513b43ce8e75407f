"""Nights of a job with gates, through ``sparkrank evaluate``: how often it stops without a reason, and finds one.

Every log has users with two rows, one of them clicked; a model puts it first or not. So ``hit@1`` is what is drawn.
Models of one job are drawn independently, each with a gate of its own: they are that many jobs in the time of one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tests.simulations.job import day_of, put, run

NORMAL = 0.5  # the hit rate
NEVER = 10**6
Hits = Callable[[np.random.Generator, int, bool], NDArray[np.bool_]]


@dataclass(frozen=True)
class Chain:
    """A gate, and nights on some of which something is really worse.

    ``hits``: from a draw, the night's number and whether it is a bad one, whether each user of a model has a hit;
    ``baseline`` the same of the model that all are compared with. ``cells``: values of the slice, all of equal size.
    ``first``: the night from which verdicts count. ``counted``: the verdict that does. ``nominal``: how often it comes
    without a reason, at most; ``least_found``: how often at least where there is one, the ``change``.
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

    def __reduce__(self) -> tuple[Callable[[str], Chain], tuple[str]]:
        """Pickled by its name: what draws its nights goes to no other process."""
        return chain_of, (self.name,)

    def is_bad(self, night: int) -> bool:
        return night >= self.first and (night - self.first) % self.bad_every == self.bad_every - 1


@dataclass(frozen=True)
class Stops:
    """Of so many nights of a gate, on how many it had the verdict that is counted, and was undecided."""

    chain: Chain
    good: int
    good_stopped: int
    bad: int
    bad_stopped: int
    undecided: int

    @property
    def false_alarms(self) -> float:
        return self.good_stopped / self.good

    @property
    def found(self) -> float:
        return self.bad_stopped / max(self.bad, 1)


def stops(chain: Chain, seed: int = 0, nights: int | None = None) -> Stops:
    """Simulate ``chain``."""
    draw = np.random.default_rng([seed, *chain.name.encode()])
    names = [f"m{place:02d}" for place in range(chain.models)]
    count = {"good": 0, "good_stopped": 0, "bad": 0, "bad_stopped": 0, "undecided": 0}
    with tempfile.TemporaryDirectory() as folder:
        _write_spec(chain, Path(folder), names)
        for night in range(nights or chain.nights):
            day, kind = day_of(night), "bad" if chain.is_bad(night) else "good"
            put(Path(folder), night, _log(chain, draw, night, names))
            run("evaluate", "--conf", f"{folder}/spec.json", "--date", day)
            if night < chain.first:
                continue
            by_gate: dict[str, set[str]] = {}
            for row in pq.read_table(f"{folder}/out/gates/day={day}").to_pylist():
                by_gate.setdefault(row["gate"], set()).add(row["verdict"])
            for verdicts in by_gate.values():
                count[kind] += 1
                count[f"{kind}_stopped"] += chain.counted in verdicts
                count["undecided"] += "undecided" in verdicts
    return Stops(chain, **count)


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
    is_bad = chain.is_bad(night)
    hits = {name: chain.hits(draw, night, is_bad) for name in names}
    if chain.baseline is not None:
        hits["base"] = chain.baseline(draw, night, is_bad)
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

    def hits(draw: np.random.Generator, night: int, is_bad: bool) -> NDArray[np.bool_]:
        chance = np.where(np.arange(users) % 2 == 0, 0.98, 0.02 + 0 * night)
        return draw.random(users) < chance - drop * is_bad

    return hits


HISTORY = {"not_worse_than": "history"}


def _all() -> Iterable[Chain]:
    half, both = 0.025, 0.0027  # beyond one end of an interval of 95 %; beyond 3 deviations
    stderr, paired = NORMAL / 1000**0.5, NORMAL / 1000**0.5
    against = {"not_worse_than": "base"}
    yield Chain("at least, just there", {"min": NORMAL}, _rate(1000, worse=4 * stderr), half, "4 standard errors")
    yield Chain("at least, just there: passes", {"min": NORMAL}, _rate(1000), half, bad_every=NEVER, counted="pass")
    yield Chain(
        "not worse than an equal model", against, _rate(2000, worse=4 * paired), half, "4 standard errors",
        baseline=_rate(2000),
    )  # fmt: skip
    yield Chain(
        "worse by the whole margin of 10 %: passes", {**against, "by": "10%"}, _rate(2000, rate=0.9 * NORMAL), half,
        baseline=_rate(2000), bad_every=NEVER, counted="pass",
    )  # fmt: skip
    yield Chain(
        "apart by the whole margin: equivalent", {"equivalent_to": "base", "by": 0.05}, _rate(2000, rate=NORMAL - 0.05),
        half, baseline=_rate(2000), bad_every=NEVER, counted="pass",
    )  # fmt: skip
    yield Chain(
        "not worse than an equal model, 50 shops", against, _cells(50, 60, worse=0.45), half,
        "5 standard errors in one shop", baseline=_cells(50, 60), cells=50, models=6,
    )  # fmt: skip
    for days, least_found in ((7, 0.6), (28, 0.9)):  # of 7 days the band is 5.2 deviations wide
        yield Chain(
            f"history of {days} days", HISTORY, _rate(2000, scatter=0.03, worse=6 * 0.032), both, "6 deviations",
            least_found, history={"days": days}, first=days, nights=days + 60, models=20,
        )  # fmt: skip
    yield Chain(
        "history, too good", HISTORY, _rate(2000, scatter=0.03, worse=-6 * 0.032), both, "6 deviations upward",
        first=28, nights=88,
    )  # fmt: skip
    # Beyond 3 deviations a drop of 4 is found in 84 % where mean and scatter are known. Four days of a weekday say so
    # little of its mean that the band is 3.8 deviations wide: in 58 %.
    yield Chain(
        "history, lower on weekends", HISTORY, _rate(20_000, scatter=0.02, weekend=0.08, worse=4 * 0.02), both,
        "4 deviations", 0.5, first=42, nights=102, bad_every=11,
    )  # fmt: skip
    yield Chain(
        "history, 200 shops", HISTORY, _cells(200, 40, scatter=0.1), 0.1, first=28, nights=148, cells=200, models=2,
        bad_every=NEVER, history={"days": 28},
    )  # fmt: skip
    yield Chain(
        "history, users return", HISTORY, _returning(2000, drop=6 * 0.14 / 2000**0.5), both,
        "6 deviations from day to day", first=28, nights=88,
    )  # fmt: skip


CHAINS = {chain.name: chain for chain in _all()}


def chain_of(name: str) -> Chain:
    """The chain of this name."""
    return CHAINS[name]


def markdown(results: Iterable[Stops]) -> str:
    lines = [
        "| gate | nominal | nights that stop without a change | a change of | found | undecided |",
        "| --- | ---: | ---: | --- | ---: | ---: |",
    ]
    for result in results:
        chain, undecided = result.chain, result.undecided / (result.good + result.bad)
        cells = [
            chain.name,
            f"{100 * chain.nominal:.2g} %",
            f"{100 * result.false_alarms:.2f} % of {result.good}",
            chain.change,
        ]
        cells += [f"{100 * result.found:.0f} % of {result.bad}" if result.bad else "", f"{100 * undecided:.0f} %"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
