"""One small input under each of several definitions: what is asked, the arithmetic for it, and what sparkrank says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from docs.printers.markdown import markdown_table
from sparkrank import evaluate
from sparkrank.metrics import PRESETS, Definitions, Metric
from sparkrank.metrics.presets import Preset

# Where the answer to a question stands, and so how to see who takes it by default.
METRIC, SETTINGS = "metric", "settings"


class Impression(NamedTuple):
    """One impression. A score of None: judged and not listed. A label of None: listed and not judged."""

    user: str
    item: str
    score: float | None
    label: float | None


@dataclass(frozen=True)
class Answer:
    """One definition: the ``metric`` under ``settings``, and the ``arithmetic`` of its value.

    The value is that of the ``user``, or without one that of all users or of the day. Pairs of user and item that are
    left out are in ``exclude``.
    """

    metric: str
    arithmetic: str
    user: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Trap:
    """A question on which libraries differ, with the value that each answer gives on :data:`INPUT` and ``rows``.

    ``decided_by`` is :data:`METRIC` or :data:`SETTINGS`; it is empty if no answer is a default.
    """

    title: str
    text: str
    answers: tuple[Answer, ...]
    decided_by: str = METRIC
    rows: tuple[Impression, ...] = ()


# Two hits within 3 and five relevant items; two of five rows tied; truth that is in no list; a list shorter than k; a
# user without a relevant row; a user without a list.
INPUT = tuple(
    Impression(*row)
    for row in (
        ("ann", "a", 0.92, 3), ("ann", "b", 0.88, 0), ("ann", "c", 0.71, 1), ("ann", "d", 0.62, 2),
        ("ann", "e", 0.62, 0), ("ann", "f", None, 2), ("ann", "g", None, 1),
        ("bob", "h", 0.54, 1), ("bob", "i", 0.44, 0), ("bob", "j", None, 1), ("bob", "k", None, 1),
        ("cid", "l", 0.31, 0), ("cid", "m", 0.16, 0), ("dot", "n", None, 1),
    )
)  # fmt: skip


def trap_markdown(trap: Trap) -> str:
    """The trap as a section: its text, and a table with a row for each answer."""
    head = ["written", "of", "arithmetic", "value", *(["default or preset"] if trap.decided_by else [])]
    lines = [_cells(trap, answer, value_of(answer, (*INPUT, *trap.rows))) for answer in trap.answers]
    return f"### {trap.title}\n\n{trap.text}\n\n{markdown_table(head, lines)}"


def _cells(trap: Trap, answer: Answer, value: str) -> list[str]:
    settings = [f"`{name}={word}`" for name, word in answer.settings.items()]
    settings += ["`exclude`"] if answer.exclude else []
    cells = [", ".join([f"`{answer.metric}`", *settings]), answer.user or "all", f"`{answer.arithmetic}`", value]
    return [*cells, ", ".join(_taken_by(trap, answer))] if trap.decided_by else cells


def _taken_by(trap: Trap, answer: Answer) -> Iterator[str]:
    """Yield ``default`` for the answer that is sparkrank's default; for another answer, the presets that set it."""
    if _is_taken(trap, answer, None):
        yield "default"
        return
    yield from (f"`{name}`" for name, preset in PRESETS.items() if _is_taken(trap, answer, preset))


def _is_taken(trap: Trap, answer: Answer, preset: Preset | None) -> bool:
    if trap.decided_by == METRIC:
        metric = Metric.parse(answer.metric)
        return Metric.parse(metric.name if metric.k is None else f"{metric.name}@{metric.k}", preset) == metric
    definitions = Definitions.of(preset, {})
    return all(getattr(definitions, setting) == word for setting, word in answer.settings.items())


def value_of(answer: Answer, rows: tuple[Impression, ...]) -> str:
    """What sparkrank says of ``rows``, to three decimals, with its error bound where there is one."""
    columns = dict(zip(Impression._fields, map(list, zip(*rows, strict=True)), strict=True))
    settings: dict[str, Any] = {"uncertainty": False, **answer.settings}
    if answer.exclude:
        users, items = map(list, zip(*answer.exclude, strict=True))
        settings["exclude"] = pa.table({"user": users, "item": items})
    evaluation = evaluate(
        pa.table(columns), [answer.metric], group="user", item="item", score="score", label="label", **settings
    )
    groups: Any = evaluation.groups
    metrics: Any = evaluation.metrics
    if answer.user:
        (group,) = (row for row in groups.to_pylist() if row["user"] == answer.user)
        return _decimals(group[str(Metric.parse(answer.metric))])
    (day,) = metrics.to_pylist()
    bound = day["error_bound"]
    return _decimals(day["value"]) + (f" ± {_decimals(bound)}" if bound else "")


def _decimals(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.3f}"
