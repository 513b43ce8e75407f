"""The roles that a column of the input can play, as data: one row says all that the reading of a role needs.

Config, the doors, the checks of schemas, both engines, text formats and the bucket are driven by it. A new role of a
row is a row of :data:`ROW_ROLES`, an argument of ``sr.evaluate``, and its name in ``columns`` of the metric's
declaration that reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from sparkrank import checks

if TYPE_CHECKING:
    from sparkrank.metrics import Plan

# What a column must hold. Both engines have a test of each name (FITS in values.py).
Takes: TypeAlias = Literal["plain", "slice", "number", "label", "array", "numbers"]
NEEDED: dict[Takes, str] = {
    "plain": "a plain value",
    "slice": "a text, whole number, boolean or date",
    "number": "a number",
    "label": "a number",  # or true and false
    "array": "an array of plain values",
    "numbers": "an array of numbers",
}
# How a column is read. Both engines have a function of each name (READERS in values.py).
Reader: TypeAlias = Literal["key", "item", "label", "float", "double"]
# Which bad rows there can be. The bucket has a test of each name (BAD_ROWS in impressions.py).
BadTest: TypeAlias = Literal["nan", "no weight", "small weight"]
# Of lists that are joined with a truth and of this, or of the lists alone. What the truth alone has is its label.
Side: TypeAlias = Literal["both", "lists"]


def _always(_: Plan) -> bool:
    return True


def _nobody(_: Plan) -> str | None:
    return None


@dataclass(frozen=True)
class BadRow:
    """The rows that ``test`` holds for are rejected, and counted as ``check``; ``always`` also where no column is."""

    check: str
    test: BadTest
    always: bool = True


@dataclass(frozen=True)
class Role:
    """A role: its ``name`` in sentences, which types it ``takes``, by which reader it is read, and who needs it.

    ``key`` is its name as an argument and in ``columns`` of a spec, and that of its column in a bucket. It is read
    where ``needed``, and must be named where ``needed_by`` gives a reason, which begins a sentence. Rows of a side
    without such a column have ``missing`` there. ``bad`` are the rows that are rejected for what stands in it.
    """

    name: str
    takes: tuple[Takes, ...]
    reads: Reader
    key: str = ""
    needed: Callable[[Plan], bool] = _always
    needed_by: Callable[[Plan], str | None] = _nobody
    side: Side = "both"
    missing: float | None = None
    bad: tuple[BadRow, ...] = ()

    @property
    def is_name(self) -> bool:
        """Whether its values are names: what they are called matters, not how much they are."""
        return self.takes[0] in ("plain", "slice")

    @property
    def is_array(self) -> bool:
        return self.takes[0] == "array"


def read_by_metrics(
    name: str, key: str, takes: Takes, reads: Reader, side: Side = "lists", bad: tuple[BadRow, ...] = ()
) -> Role:
    """A role of a row that is needed where a metric's declaration names its ``key`` among its ``columns``."""

    def reason(plan: Plan) -> str | None:
        metric = plan.metric_reading(key)
        return None if metric is None else f"{metric} reads the {name}"

    return Role(name, (takes,), reads, key, lambda plan: reason(plan) is not None, reason, side, None, bad)


def _reference(plan: Plan) -> str | None:
    return "ref=reference_rank compares with a column" if plan.needs_reference_rank else None


GROUP = Role("group", ("plain",), "key")
SLICE = Role("slice", ("slice",), "item")
GROUP_WEIGHT = Role("group weight", ("number",), "double")
LABEL = Role("label", ("label",), "label")
SCORE = Role("score", ("number",), "float")
RANK = Role("rank", ("number",), "float")
ITEMS = Role("items", ("array",), "item")
TRUE_ITEMS = Role("true items", ("array",), "item")
LABELS = Role("labels", ("array", "numbers"), "label")

# The roles of which a row has one column, beside its label and scores.
ROW_ROLES: tuple[Role, ...] = (
    Role("item", ("plain",), "item", "item", lambda plan: plan.needs_item, lambda plan: plan.item_is_for),
    Role(
        "reference rank",
        ("number",),
        "float",
        "reference_rank",
        lambda plan: plan.needs_reference_rank,
        _reference,
        "lists",
        bad=(BadRow(checks.NAN_REFERENCE, "nan"),),
    ),
    Role(
        "weight",
        ("number",),
        "double",
        "weight",
        lambda plan: plan.weighted,
        side="lists",
        missing=1.0,  # that of a row of the truth is never read: it has no score
        bad=(BadRow(checks.BAD_WEIGHT, "no weight"), BadRow(checks.SMALL_WEIGHT, "small weight", always=False)),
    ),
)


def row_roles(side: Side | None = None) -> tuple[Role, ...]:
    """The roles of a row, or those that are of ``side``."""
    return tuple(role for role in ROW_ROLES if side in (None, role.side))


def rejections() -> tuple[str, ...]:
    """The checks of rejected rows, in the order in which they are looked for."""
    return (*dict.fromkeys((*checks.REJECTIONS, *(bad.check for role in ROW_ROLES for bad in role.bad))),)
