"""The names of the sums over rows by their position in the lists. The table ``positions`` is made from these sums."""

from __future__ import annotations

from collections.abc import Iterator

from sparkrank.base.errors import SpecError
from sparkrank.metrics.labels import FIRST, level_text
from sparkrank.metrics.needs import Needed
from sparkrank.metrics.plan import Plan
from sparkrank.states.forms import SUM_FORM

ROWS, RELEVANT, SCORES, WEIGHTS = "rows", "relevant rows", "scores", "weights"
GROUPS = "groups of positions"  # a model with a label of its own may have others
BEYOND = "scores beyond 4.3e9 in lists"  # sums of scores omit these
OF_POSITIONS = "output.positions"  # the key in a spec that requests them
DEFAULT_DEPTH, MOST_POSITIONS = 50, 1_000


def sum_at(quantity: str, position: int) -> str:
    """Return the name of the sum of ``quantity`` over the rows at ``position``."""
    return f"{quantity} at {position}"


def quantities_of(plan: Plan) -> tuple[str, ...]:
    """Return the quantities that are summed at each position. These do not include ranks, which are not scores."""
    return (ROWS, RELEVANT, *([] if plan.by_rank else [SCORES]), *([WEIGHTS] if plan.weighted else []))


def counts_positions(plan: Plan, model: str) -> bool:
    """Return whether ``plan`` counts rows for the table ``positions``: it is the plan of the label of ``model``."""
    return plan.position_depth > 0 and dict(plan.own_labels).get(model, FIRST) == (plan.judging or FIRST)


def position_names(plan: Plan) -> list[str]:
    """Return the names of the sums at positions that ``plan`` needs."""
    places = range(1, plan.position_depth + 1)
    return [sum_at(quantity, place) for quantity in quantities_of(plan) for place in places]


def needed_positions(plan: Plan) -> Iterator[Needed]:
    """Yield the states that the table ``positions`` needs. The states of a greater depth include those of a smaller."""
    if not plan.position_depth:
        return
    of_models = "".join(
        f"; {model}: {own} ({level_text(plan.by_judging[own].level)})" for model, own in plan.own_labels
    )
    for name in (GROUPS, RELEVANT, *([] if plan.by_rank else [BEYOND]), *position_names(plan)):
        level = f" ({level_text(plan.level)})" if name.startswith(RELEVANT) else ""
        yield Needed(SUM_FORM.kind, name, OF_POSITIONS, f"{name}{level}; {plan.settings}{of_models}")


def validate_position_depth(plan: Plan) -> None:
    """Raise :class:`SpecError` if the table ``positions`` is requested but no group column is named."""
    if plan.position_depth and not plan.keys:
        raise SpecError("positions need lists, but no group column is named")
