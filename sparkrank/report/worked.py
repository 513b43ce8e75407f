"""One small input under each of several definitions: what is asked, the arithmetic for it, and what sparkrank says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from sparkrank.doors.api import evaluate
from sparkrank.metrics import PRESETS, Definitions, Metric
from sparkrank.metrics.presets import Preset
from sparkrank.report.markdown import markdown_table

# Where the answer to a question stands, and so how to see who takes it by default.
METRIC, SETTINGS = "metric", "settings"


class Row(NamedTuple):
    """One impression. A score of None: judged and not listed. A label of None: listed and not judged."""

    user: str
    item: str
    score: float | None
    label: float | None


@dataclass(frozen=True)
class Choice:
    """One definition: the ``metric`` under ``settings``, and the ``arithmetic`` of its value.

    The value is that of the user ``of``, or without one that of all users or of the day.
    """

    metric: str
    arithmetic: str
    of: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trap:
    """A question on which libraries differ, and what each answer makes of :data:`INPUT`, with ``rows`` added to it.

    ``decided_by`` is :data:`METRIC` or :data:`SETTINGS`, and empty where there is no default to speak of.
    """

    title: str
    text: str
    choices: tuple[Choice, ...]
    decided_by: str = METRIC
    rows: tuple[Row, ...] = ()


# Two hits within 3 and five relevant items; two of five rows tied; truth that is in no list; a list shorter than k; a
# user without a relevant row; a user without a list.
INPUT = (
    *(Row("ann", "a", 0.92, 3), Row("ann", "b", 0.88, 0), Row("ann", "c", 0.71, 1)),
    *(Row("ann", "d", 0.62, 2), Row("ann", "e", 0.62, 0), Row("ann", "f", None, 2), Row("ann", "g", None, 1)),
    *(Row("bob", "h", 0.54, 1), Row("bob", "i", 0.44, 0), Row("bob", "j", None, 1), Row("bob", "k", None, 1)),
    *(Row("cid", "l", 0.31, 0), Row("cid", "m", 0.16, 0)),
    Row("dot", "n", None, 1),
)


def trap_markdown(trap: Trap) -> str:
    """The trap as a section: its text, and a table with a row for each choice."""
    head = ["written", "of", "arithmetic", "value", *(["where nothing is said"] if trap.decided_by else [])]
    lines = [_cells(trap, choice, value_of(choice, (*INPUT, *trap.rows))) for choice in trap.choices]
    return f"### {trap.title}\n\n{trap.text}\n\n{markdown_table(head, lines)}"


def _cells(trap: Trap, choice: Choice, value: str) -> list[str]:
    settings = [f"`{name}={word}`" for name, word in choice.settings.items()]
    cells = [", ".join([f"`{choice.metric}`", *settings]), choice.of or "all", f"`{choice.arithmetic}`", value]
    return [*cells, ", ".join(_taken_by(trap, choice))] if trap.decided_by else cells


def _taken_by(trap: Trap, choice: Choice) -> Iterator[str]:
    """What holds where nothing is said: ``default`` for sparkrank's own choice, and the presets that set another."""
    if _is_taken(trap, choice, None):
        yield "default"
        return
    yield from (f"`{name}`" for name, preset in PRESETS.items() if _is_taken(trap, choice, preset))


def _is_taken(trap: Trap, choice: Choice, preset: Preset | None) -> bool:
    if trap.decided_by == METRIC:
        metric = Metric.parse(choice.metric)
        return Metric.parse(metric.name if metric.k is None else f"{metric.name}@{metric.k}", preset) == metric
    definitions = Definitions.of(preset, {})
    return all(getattr(definitions, setting) == word for setting, word in choice.settings.items())


def value_of(choice: Choice, rows: tuple[Row, ...]) -> str:
    """What sparkrank says of ``rows``, to three decimals, with its error bound where there is one."""
    columns = dict(zip(Row._fields, map(list, zip(*rows, strict=True)), strict=True))
    settings: dict[str, Any] = {"uncertainty": False, **choice.settings}
    found = evaluate(
        pa.table(columns), [choice.metric], group="user", item="item", score="score", label="label", **settings
    )
    groups: Any = found.groups
    metrics: Any = found.metrics
    if choice.of:
        (group,) = (row for row in groups.to_pylist() if row["user"] == choice.of)
        return _decimals(group[str(Metric.parse(choice.metric))])
    (day,) = metrics.to_pylist()
    bound = day["error_bound"]
    return _decimals(day["value"]) + (f" ± {_decimals(bound)}" if bound else "")


def _decimals(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"
