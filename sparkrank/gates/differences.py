"""Gates that compare a model with another one of the same day."""

from __future__ import annotations

import math
from typing import ClassVar

from sparkrank.gates.bounds import against_bound, alone_text, interval_text
from sparkrank.gates.facts import Measured
from sparkrank.gates.kind import Kind, Night
from sparkrank.gates.rules import Cell, Rule
from sparkrank.gates.verdicts import Judged, Key, failed, shown_number


class NotWorse(Kind):
    """Not worse than a model by more than a margin."""

    name: ClassVar[str] = "not_worse_than"
    is_directed: ClassVar[bool] = True

    def judged(self, rule: Rule, cell: Cell, measured: Measured, night: Night) -> Judged:
        """Whether the worst end of the difference's interval is within the margin (non-inferiority)."""
        facts, value = night.facts, measured.value
        against, sign = str(rule.against), night.sign(cell)
        if facts.compared is None:
            return failed(rule, cell, f"{facts.name} has no table comparisons, so nothing tells", value)
        difference = facts.compared.get((cell, against))
        baseline = facts.measured.get(cell._replace(model=against))
        if difference is None:
            return failed(rule, cell, f"{facts.name} has no comparison of it with {against}", value)
        if difference.value is None or math.isnan(difference.value):
            return failed(rule, cell, f"its difference to {against} is undefined on {facts.name}", value)
        if rule.margin.relative and (baseline is None or baseline.value is None or math.isnan(baseline.value)):
            told = f"{against} has no value on {facts.name}, of which the margin {rule.margin} is a share"
            return failed(rule, cell, told, value)
        of = math.nan if baseline is None or baseline.value is None else baseline.value
        bound = 0.0 - sign * rule.margin.of(of)
        verdict = against_bound(difference, bound, sign)
        told = {
            "pass": "is no worse than the margin allows",
            "fail": "is worse than the margin allows",
            "undecided": "may or may not be worse than the margin allows",
        }[verdict]
        told = f"{interval_text(difference)}, {told} ({shown_number(bound)}){alone_text(difference)}"
        reason = f"its difference to {against}, {told}"
        return Judged(
            Key(rule.gate, rule.kind, cell),
            verdict,
            reason,
            value,
            against if math.isnan(of) else f"{against} {shown_number(of)}",
            bound,
            difference.low,
            difference.high,
            rule.undecided,
            judged=difference.value,
            expected=0.0,
            deviation=difference.stderr,
            sign=sign,
        )
