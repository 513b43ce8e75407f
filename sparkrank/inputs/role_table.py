"""The roles that a column of the input can play, as data: one row says all that the reading of a role needs.

A new role of a row is a row of :data:`ROW_ROLES`, an argument of ``sr.evaluate``, and its name in ``columns`` of the
metric's declaration that reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from sparkrank.base import checks

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
# Which bad rows there can be. The bucket has a test of each name (BAD_ROWS in rejection.py).
BadTest: TypeAlias = Literal["nan", "no weight", "small weight"]
# Of lists that are joined with a truth and of this, or of the lists alone. What the truth alone has is its label.
RoleSide: TypeAlias = Literal["both", "lists"]


@dataclass(frozen=True)
class BadRow:
    """The rows that ``test`` holds for are rejected, and counted as ``check``; ``always`` also where no column is."""

    check: str
    test: BadTest
    always: bool = True


@dataclass(frozen=True)
class Role:
    """A role: its ``name`` in sentences, which types it ``takes``, by which reader it is read, and who needs it.

    ``key`` is its name as an argument and in ``columns`` of a spec, and that of its column in a bucket. ``used`` says
    whether a plan reads it where somebody has named it, and ``asked`` why a plan must have it: the beginning of a
    sentence. Rows of a side without such a column have ``missing`` there. Where ``of_groups``, all rows of a group have
    one value: a table of arrays has it beside them. Where ``of_lists_first``, a truth has it only if it is named there.
    """

    name: str
    takes: tuple[Takes, ...]
    reads: Reader
    key: str = ""
    used: Callable[[Plan], bool] | None = None
    asked: Callable[[Plan], str | None] | None = None
    side: RoleSide = "both"
    missing: float | None = None
    bad: tuple[BadRow, ...] = ()
    of_groups: bool = False
    of_lists_first: bool = False

    def needed(self, plan: Plan) -> bool:
        """Whether an evaluation of ``plan`` reads the column; those of no row's role are read in any case."""
        is_used = not self.key or (self.used is not None and self.used(plan))
        return is_used or self.needed_by(plan) is not None

    def needed_by(self, plan: Plan) -> str | None:
        """Why ``plan`` must have the column, as the beginning of a sentence; None where it need not."""
        if not self.key:
            return None
        metric = plan.metric_reading(self.key)
        if metric is not None:
            return f"{metric} reads the {self.name}"
        return None if self.asked is None else self.asked(plan)

    @property
    def is_name(self) -> bool:
        return self.takes[0] in ("plain", "slice")

    @property
    def is_array(self) -> bool:
        return self.takes[0] == "array"


def _reference(plan: Plan) -> str | None:
    return "ref=reference_rank compares with a column" if plan.needs_reference_rank else None


GROUP = Role("group", ("plain",), "key", of_groups=True)
SLICE = Role("slice", ("slice",), "item")
GROUP_WEIGHT = Role("group weight", ("number",), "double", of_groups=True)
LABEL = Role("label", ("label",), "label")
SCORE = Role("score", ("number",), "float")
RANK = Role("rank", ("number",), "float")
ITEMS = Role("items", ("array",), "item")
TRUE_ITEMS = Role("true items", ("array",), "item")
LABELS = Role("labels", ("array", "numbers"), "label")
# Who stands behind a group, as the user behind a session. Read as a key is: the same user has the same hash as either.
CLUSTER = Role(
    "cluster",
    ("plain",),
    "key",
    "cluster",
    used=lambda plan: plan.cluster is not None,
    of_groups=True,
    of_lists_first=True,
)

# The roles of which a row has one column, beside its label and scores.
ROW_ROLES: tuple[Role, ...] = (
    Role(
        "item",
        ("plain",),
        "item",
        "item",
        used=lambda plan: plan.shows_items and plan.item is not None,
        asked=lambda plan: plan.item_is_for,
    ),
    Role(
        "reference rank",
        ("number",),
        "float",
        "reference_rank",
        asked=_reference,
        side="lists",
        bad=(BadRow(checks.NAN_REFERENCE, "nan"),),
    ),
    Role(
        "weight",
        ("number",),
        "double",
        "weight",
        used=lambda plan: plan.weighted,
        side="lists",
        missing=1.0,  # that of a row of the truth is never read: it has no score
        bad=(BadRow(checks.BAD_WEIGHT, "no weight"), BadRow(checks.SMALL_WEIGHT, "small weight", always=False)),
    ),
    CLUSTER,
)


def row_roles(side: RoleSide | None = None) -> tuple[Role, ...]:
    return tuple(role for role in ROW_ROLES if side in (None, role.side))


def rejections() -> tuple[str, ...]:
    """The checks of rejected rows, in the order in which they are looked for."""
    return (*dict.fromkeys((*checks.REJECTIONS, *(bad.check for role in ROW_ROLES for bad in role.bad))),)
