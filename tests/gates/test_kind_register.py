"""A kind of gate is its module and one line in the register: specs ask for it, days are judged by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sparkrank
from tests.windows.week import spec_of

# The whole of a module from outside, its one line in the register, and a day that it judges. An empty module stands in
# the place of the package's own __init__, which would read the register before the line is there.
SCRIPT = """
import sys, types
package = types.ModuleType("sparkrank")
package.__path__ = [{package!r}]
sys.modules["sparkrank"] = package

from sparkrank.gates.facts import Facts, IntervalEstimate
from sparkrank.gates.kind import GateKind
from sparkrank.gates.register import KINDS
from sparkrank.gates.verdicts import GateVerdict, VerdictKey


class NearTo(GateKind):
    name = "near_to"
    is_directed = True

    def needed_days(self, history):
        return 3

    def verdict(self, rule, cell, measured, evidence):
        is_near = abs(measured.value - rule.bound) < 0.1
        key, word = VerdictKey(rule.gate, rule.kind, cell), "pass" if is_near else "fail"
        return GateVerdict(key, word, "seen", measured.value)


KINDS["near_to"] = NearTo()

from sparkrank.config import load_spec
from sparkrank.gates.rules import Cell

judge = load_spec({conf!r}).judge(load_spec({conf!r}).plan())
measured = {{Cell("ap", model): IntervalEstimate(0.45, 0.4, 0.5, 0.01) for model in ("production", "candidate")}}
print(judge.needed_days, judge.days_apart, [rule.metrics for rule in judge.rules])
for verdict in judge.verdicts(Facts("day", measured, metrics=frozenset(["ap"])), "day"):
    print(verdict.key.gate, verdict.key.cell.model, verdict.verdict)
"""


def judged(folder: Path, condition: float | str) -> subprocess.CompletedProcess[str]:
    gates = [{"metric": "*", "model": "candidate", "near_to": condition}]
    conf = spec_of(folder, metrics=["ap", "copc"], gates=gates)
    script = SCRIPT.format(package=str(Path(sparkrank.__file__).parent), conf=conf)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_a_kind_is_a_class_and_one_line(tmp_path: Path) -> None:
    """Of the metrics it is about ``ap`` alone: of ``copc`` neither side is better."""
    done = judged(tmp_path, 0.5)
    assert done.stdout.splitlines() == ["3 1 [('ap',)]", "* of candidate near_to 0.5 candidate pass"], done.stderr
    assert judged(tmp_path, 0.9).stdout.endswith("candidate fail\n")


def test_its_condition_is_checked_as_those_of_others(tmp_path: Path) -> None:
    assert "gates.0.near_to is 'much': a number is needed" in judged(tmp_path, "much").stderr
