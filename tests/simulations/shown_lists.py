"""Lists that users of different taste are shown, from one catalog of items with prices, genres and providers.

The true values of metrics of what is shown come from formulas of numpy, over many lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import sparkrank as sr
from sparkrank.metrics.merged import Merged
from sparkrank.states import Partials
from sparkrank.tables.rows.disparities import disparities_table
from sparkrank.tables.rows.results import metrics_table
from tests.simulations.trials import Intervals

ITEMS, GENRES, PROVIDERS, K = 60, 4, 5, 5
COUNTRIES = ("de", "fr", "it")
RETURNING = 0.5  # the share of users who come on a day of several
TRUE_LISTS = 100_000
_DRAW = np.random.default_rng(60)
PRICE = _DRAW.lognormal(3, 0.8, ITEMS)
GENRE, PROVIDER = _DRAW.integers(0, GENRES, ITEMS), _DRAW.integers(0, PROVIDERS, ITEMS)
APPEAL = _DRAW.normal(0, 0.7, ITEMS)
PAST_USERS = 400  # others than those with lists, the same in each trial: popularity is known, not estimated
PAST = np.argwhere(_DRAW.random((PAST_USERS, ITEMS)) < 1 / (1 + np.exp(3 - APPEAL)))
BITS = np.log2(len(np.unique(PAST[:, 0])) / np.maximum(np.bincount(PAST[:, 1], minlength=ITEMS), 1))
QUALITY = np.array([0.0, 0.1, 0.2, 0.3, 0.5])[PROVIDER]  # how probably it gets the label 1
BY_CHANCE = 0.2  # how probably a row gets the label 2, whatever its item
WIDER = np.array([0.0, 0.8, 1.6])  # how much the taste of a country differs from item to item
CATALOG = pa.table({"item": range(ITEMS), "price": PRICE, "genre": GENRE, "provider": PROVIDER})
NOTHING = "nothing"  # the metric whose true value is 0: rows are shown and relevant by the same shares
METRICS = {
    "price": "shown(of=catalog.price)@5",
    "discounted": "shown(of=catalog.price,by=sum,discount=log2)@5",
    "ild": "ild(by=catalog.genre)@5",
    "new": "new@5",
    "relevant": "exposure_gap(by=catalog.provider)@5",
    "catalog": "exposure_gap(by=catalog.provider,against=catalog)@5",
    NOTHING: "exposure_gap(by=catalog.provider,discount=[1,1,1,1,1],rel=2)@5",
}
OF_PAST = {"novelty": "novelty(of=users,over=lists)@5"}
PLACES = ("all", *COUNTRIES, "gap")
USERS, DAYS = 300, 7
RUNS = (("items", 1), ("items", DAYS), ("past", 1), ("past", DAYS))  # metrics, and how many days


@dataclass(frozen=True)
class Users:
    """Some users: their country, what they like, and what they had before."""

    country: NDArray[np.int64]
    taste: NDArray[np.float64]
    had: NDArray[np.bool_]

    @classmethod
    def drawn(cls, draw: np.random.Generator, users: int) -> Users:
        country = draw.integers(0, len(COUNTRIES), users)
        taste = draw.normal(0, 1.5, (users, GENRES))[:, GENRE] * WIDER[country][:, None] + APPEAL
        return cls(country, taste, draw.random((users, ITEMS)) < 1 / (1 + np.exp(2 - taste)))

    def of(self, here: NDArray[np.int64]) -> Users:
        return Users(self.country[here], self.taste[here], self.had[here])

    def lists(self, draw: np.random.Generator) -> NDArray[np.int64]:
        """The first items of each user, drawn one after the other by what the user likes."""
        return np.argsort(-(self.taste + draw.gumbel(size=self.taste.shape)), axis=1)[:, :K]


def labels(draw: np.random.Generator, shown: NDArray[np.int64]) -> NDArray[np.int32]:
    by_chance, relevant = (draw.random(shown.shape) < chance for chance in (BY_CHANCE, QUALITY[shown]))
    return np.where(by_chance, 2, relevant).astype(np.int32)


@cache
def truth() -> dict[tuple[str, str], float]:
    """By country, "all" and "gap" (the most less the least of countries), and by metric."""
    draw = np.random.default_rng(1)
    users = Users.drawn(draw, TRUE_LISTS)
    shown = users.lists(draw)
    label, discount = labels(draw, shown) > 0, 1 / np.log2(np.arange(K) + 2)
    pairs = [(i, j) for i in range(K) for j in range(i)]
    of_lists = {
        "price": PRICE[shown].mean(axis=1),
        "discounted": PRICE[shown] @ discount,
        "novelty": BITS[shown].mean(axis=1),
        "ild": np.mean([GENRE[shown[:, i]] != GENRE[shown[:, j]] for i, j in pairs], axis=0),
        "new": 1 - np.take_along_axis(users.had, shown, axis=1).mean(axis=1),
    }
    values = {}
    for place, name in ((None, "all"), *enumerate(COUNTRIES)):
        own = slice(None) if place is None else users.country == place
        values |= {(name, metric): float(value[own].mean()) for metric, value in of_lists.items()}
        exposure = shares(shown[own], np.broadcast_to(discount, shown[own].shape))
        values[name, "relevant"] = float(np.abs(exposure - shares(shown[own], label[own])).sum() / 2)
        values[name, NOTHING] = 0.0
        values[name, "catalog"] = float(np.abs(exposure - np.bincount(PROVIDER) / ITEMS).sum() / 2)
    for metric in (*METRICS, *OF_PAST):
        of_countries = [values[country, metric] for country in COUNTRIES]
        values["gap", metric] = max(of_countries) - min(of_countries)
    return values


def shares(shown: NDArray[np.int64], weight: NDArray[Any]) -> NDArray[np.float64]:
    amounts = np.bincount(PROVIDER[shown].ravel(), weight.ravel(), minlength=PROVIDERS)
    return amounts / amounts.sum()


def intervals(
    users: int, days: int, trials: int, seed: int = 0, asked: Mapping[str, str] = METRICS
) -> dict[tuple[str, str], Intervals]:
    """The intervals of ``trials``, by "all", countries and "gap", and by metric."""
    result: dict[tuple[str, str], Intervals] = {key: Intervals() for key in truth() if key[1] in asked}
    names = {text: name for name, text in asked.items()}
    for trial in range(trials):
        metrics, disparities = _tables(np.random.default_rng([seed, users, days, trial]), users, days, asked)
        for row in metrics:
            key = row["slice_value"], names[row["metric"]]
            result[key].add(truth()[key], row["value"], row["ci_low"], row["ci_high"], row["interval"])
        for row in disparities:
            key = "gap", names[row["metric"]]
            result[key].add(truth()[key], row["difference"], row["ci_low"], row["ci_high"], row["interval"])
    return result


def _tables(
    draw: np.random.Generator, users: int, days: int, asked: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of ``metrics`` and ``disparities`` of a day, or of a window merged from the states of its days."""
    evaluated = [_evaluated(*log, asked) for log in _logs(draw, users, days)]
    merged, plan = Merged(Partials.merged(day.partials for day in evaluated)), evaluated[0].plan
    tables = (table(merged, plan, clustered=days > 1) for table in (metrics_table, disparities_table))
    metrics, disparities = (table.to_pylist() for table in tables)
    return metrics, disparities


def _evaluated(rows: pa.Table, had: pa.Table, asked: Mapping[str, str]) -> sr.Evaluation:
    columns = {"group": "user", "item": "item", "label": "y", "score": "score"}
    past = pa.table({"user": -1 - PAST[:, 0], "item": PAST[:, 1]})
    beside: dict[str, Any] = {"interactions": past} if asked == OF_PAST else {"interactions": had, "catalog": CATALOG}
    beside |= {"slices": ["country"], "disparities": ["country"]}
    return sr.evaluate(rows, [*asked.values()], **columns, **beside, group_table=False)


def _logs(draw: np.random.Generator, users: int, days: int) -> Iterator[tuple[pa.Table, pa.Table]]:
    every = Users.drawn(draw, users)
    for _ in range(days):
        here = np.arange(users) if days == 1 else np.flatnonzero(draw.random(users) < RETURNING)
        own = every.of(here)
        shown = own.lists(draw)
        columns = {
            "user": np.repeat(here, K),
            "item": shown.ravel(),
            "score": np.tile(np.arange(K, 0.0, -1), len(here)),
        }
        country = np.repeat(np.array(COUNTRIES)[own.country], K)
        label = labels(draw, shown).ravel()
        user, item = np.nonzero(own.had)
        yield pa.table({**columns, "y": label, "country": country}), pa.table({"user": here[user], "item": item})


def coverages(of: tuple[str, int], users: int, trials: int, seed: int) -> dict[str, list[float]]:
    """By metric the coverage of the whole, of each country and of the difference; ``of`` names metrics and days."""
    which, days = of
    asked = OF_PAST if which == "past" else METRICS
    found = intervals(users, days, trials, seed, asked)
    return {text: [found[place, name].coverage for place in PLACES] for name, text in asked.items()}


def markdown(shown: Iterable[dict[str, list[float]]]) -> str:
    """The :func:`coverages` of :data:`RUNS`, in %."""
    of_runs = [*shown]
    words = ("all", "countries", "between countries")
    heads = [f"{'day' if days == 1 else 'week'}: {word}" for days in (1, DAYS) for word in words]
    lines = [["", *heads], ["---", *("---:" for _ in heads)]]
    for day, week in (of_runs[:2], of_runs[2:]):
        for metric in day:
            cells = [f"`{metric}`"]
            for whole, *countries, gap in (day[metric], week[metric]):
                ends = f"{100 * min(countries):.1f} to {100 * max(countries):.1f}"
                cells += [f"{100 * whole:.1f}", ends, f"{100 * gap:.1f}"]
            lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
