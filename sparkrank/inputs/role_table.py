"""The roles (uses) of input columns, as data. A role contains all that is needed to read its column.

A new role for rows needs an entry in :data:`ROW_ROLES` and an argument of ``sr.evaluate``. The metric that reads the
role names it in ``columns`` of its declaration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from sparkrank.base import checks
from sparkrank.metrics.role_reasons import item_reason
from sparkrank.ranking.value_columns import ValueKind

if TYPE_CHECKING:
    from sparkrank.metrics import Plan
    from sparkrank.metrics.slices import SliceSource

# The type that a column must have. Sources have a test for each name (FITS in values.py).
Takes: TypeAlias = Literal["plain", "slice", "category", "number", "label", "time", "array", "numbers"]
NEEDED: dict[Takes, str] = {
    "plain": "a plain value",
    "slice": "a text, whole number, boolean or date",
    "category": "a text, number, boolean or date",
    "number": "a number",
    "label": "a number",  # or true and false
    "time": "an instant, a date or a whole number",
    "array": "an array of plain values",
    "numbers": "an array of numbers",
}
# How a column is read. Sources have a function for each name (READERS in values.py).
Reader: TypeAlias = Literal["key", "item", "label", "float", "double", "text", "name", "time", "texts", "doubles"]
# The kinds of bad row. The bucket has a test for each name (BAD_ROWS in rejection.py).
BadTest: TypeAlias = Literal["nan", "no weight", "small weight", "no number"]
# Whether lists and a truth joined with the lists have the role, or only lists, or only the truth, which has the label.
RoleSide: TypeAlias = Literal["both", "lists", "truth"]


@dataclass(frozen=True)
class BadRow:
    """A rule that rejects the rows with a true ``test``, and counts them under ``check``.

    If ``always`` is false, the rule applies only if the user names a column for the role.
    """

    check: str
    test: BadTest
    always: bool = True


@dataclass(frozen=True)
class Role:
    """A role of an input column: its ``name`` in messages, its types (``takes``), and its conversion (``reads``).

    ``key`` is the role's name as an argument, in ``columns`` of a spec, and as a bucket column. ``used`` returns
    whether a plan reads the column if the user names one. ``reason`` returns why a plan requires the column, as the
    beginning of an error message, or None. ``side`` names the inputs with such a column: the lists, the truth, or both.
    In an input without it, rows get the value ``missing``. ``bad`` contains the rules that reject rows. If
    ``is_group_value`` is true, a list has one value, and a table of arrays a plain column for it. If ``needs_own_name``
    is true, a truth has the role only if the user names a column for the truth.
    """

    name: str
    takes: tuple[Takes, ...]
    reads: Reader
    key: str = ""
    used: Callable[[Plan], bool] | None = None
    reason: Callable[[Plan], str | None] | None = None
    side: RoleSide = "both"
    missing: float | None = None
    bad: tuple[BadRow, ...] = ()
    is_group_value: bool = False
    needs_own_name: bool = False

    def needed(self, plan: Plan) -> bool:
        """Return whether an evaluation of ``plan`` reads the column. A role without a ``key`` is always read."""
        is_used = not self.key or (self.used is not None and self.used(plan))
        return is_used or self.needed_by(plan) is not None

    def needed_by(self, plan: Plan) -> str | None:
        """Return the reason why ``plan`` requires the column, as the beginning of a message; None if it is optional."""
        if not self.key:
            return None
        metric = plan.metric_reading(self.key)
        if metric is not None:
            return f"{metric} reads the {self.name}"
        return None if self.reason is None else self.reason(plan)

    @property
    def is_name(self) -> bool:
        return self.takes[0] in ("plain", "slice")

    @property
    def is_array(self) -> bool:
        return self.takes[0] == "array"


GROUP = Role("group", ("plain",), "key", is_group_value=True)
SLICE = Role("slice", ("slice",), "item")
SLICE_NUMBER = Role("slice", ("number",), "double")  # of a slice by edges
GROUP_WEIGHT = Role("group weight", ("number",), "double", is_group_value=True)
LABEL = Role("label", ("label",), "label")
SCORE = Role("score", ("number",), "float")
RANK = Role("rank", ("number",), "float")
ITEMS = Role("items", ("array",), "item")
TRUE_ITEMS = Role("true items", ("array",), "item")
LABELS = Role("labels", ("array", "numbers"), "label")
# The columns of values that metrics read besides labels and scores, by how they are read.
VALUES: dict[ValueKind, Role] = {
    "number": Role("value", ("label",), "double"),
    "text": Role("value", ("slice",), "text"),
    "category": Role("value", ("category",), "item"),
    "texts": Role("value", ("array",), "texts"),
    "numbers": Role("value", ("numbers",), "doubles"),
}
# What a group belongs to, such as the user of a session. It is read like a group key, so that a user has the same hash
# in both roles.
CLUSTER = Role(
    "cluster",
    ("plain",),
    "key",
    "cluster",
    used=lambda plan: plan.cluster is not None,
    is_group_value=True,
    needs_own_name=True,
)
# The name of the model that a row's score belongs to, in a long table.
MODEL = Role("model", ("slice",), "name", "model", used=lambda plan: plan.long, side="lists")
# The name of an item for people. Only explanations read it.
TITLE = Role(
    "title",
    ("slice",),
    "text",
    "title",
    used=lambda plan: plan.shows_items and not plan.arrays,
    needs_own_name=True,
)
# The time when a list was made, or when a row of the truth or the interactions arose. Rows of one list may differ.
TIME = Role(
    "time",
    ("time",),
    "time",
    "time",
    used=lambda plan: bool(plan.times),
    is_group_value=True,
    needs_own_name=True,
)

# The roles with one column for each row, besides its label and scores.
ROW_ROLES: tuple[Role, ...] = (
    Role(
        "item",
        ("plain",),
        "item",
        "item",
        used=lambda plan: plan.reads_items,
        reason=item_reason,
    ),
    Role(
        "reference rank",
        ("number",),
        "float",
        "reference_rank",
        reason=lambda plan: "ref=reference_rank compares with a column" if plan.needs_reference_rank else None,
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
        missing=1.0,  # never read for a row of the truth, which has no score
        bad=(BadRow(checks.BAD_WEIGHT, "no weight"), BadRow(checks.SMALL_WEIGHT, "small weight", always=False)),
    ),
    Role(
        "propensity",
        ("number",),
        "double",
        "propensity",
        side="truth",
    ),
    Role(
        "estimate",
        ("number",),
        "double",
        "estimate",
        side="lists",
        bad=(BadRow(checks.BAD_ESTIMATE, "no number", always=False),),
    ),
    Role(
        "policy estimate",
        ("number",),
        "double",
        "policy_estimate",
        side="lists",
        bad=(BadRow(checks.BAD_POLICY_ESTIMATE, "no number", always=False),),
    ),
    CLUSTER,
    MODEL,
    TITLE,
    TIME,
)


def slice_role(source: SliceSource) -> Role:
    return SLICE_NUMBER if source.is_number else SLICE


def row_roles() -> tuple[Role, ...]:
    return ROW_ROLES


def truth_roles() -> tuple[Role, ...]:
    return tuple(role for role in ROW_ROLES if role.side != "lists")


def rejections() -> tuple[str, ...]:
    """Return the checks that count rejected rows, in the order of testing."""
    return (*dict.fromkeys((*checks.REJECTIONS, *(bad.check for role in ROW_ROLES for bad in role.bad))),)
