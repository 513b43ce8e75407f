"""The report of a day to the run of Dagster that started the command.

Dagster gets the day's metrics, and its gates as checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkrank.base.errors import SpecError, quote, require, shorten
from sparkrank.base.redaction import shown_url
from sparkrank.gates.verdicts import GateVerdict, worst_first
from sparkrank.jobs.report_index import REPORT, REPORT_FILE
from sparkrank.jobs.track_job import names_of_day
from sparkrank.metrics.slices import ALL
from sparkrank.tables.trackers.tracked_run import names_without_clash, values_of

if TYPE_CHECKING:
    from dagster_pipes import PipesContext

    from sparkrank.config import Spec
    from sparkrank.results.run_results import DayResult

_SIGN = re.compile(r"[^A-Za-z0-9_]")  # Dagster allows no other characters in the name of a check


@dataclass(frozen=True)
class PipesRun:
    """The run of Dagster that waits for the command. Dagster gets no rows, no slice values and no group keys."""

    context: PipesContext

    def report(self, result: DayResult) -> None:
        """Report a stored day as one materialization, and each gate as one check of the asset."""
        metadata: dict[str, Any] = dict(values_of(result.metrics, result.comparisons, ()))
        if (folder := result.folders.get(REPORT)) is not None:
            metadata[REPORT] = {"type": "path", "raw_value": f"{shown_url(folder)}/{REPORT_FILE}"}
        self.context.report_asset_materialization(metadata)
        of_gates: dict[str, list[GateVerdict]] = {}
        for check in result.verdicts:
            of_gates.setdefault(check.key.gate, []).append(check)
        for name, gate in check_names(of_gates).items():
            self.context.report_asset_check(name, **_check(of_gates[gate]))


@contextmanager
def pipes_run(spec: Spec) -> Iterator[PipesRun]:
    """Yield the connection to Dagster inside a ``with`` block, and close it at the end.

    Raise :class:`SpecError` unless Dagster started the command for one asset, or if two metrics or gates would get the
    same name in Dagster. Dagster gets no traceback, because it could show values of the input.
    """
    require("dagster_pipes", "dagster", "--pipes")
    from dagster_pipes import PipesEnvVarParamsLoader, open_dagster_pipes

    if not PipesEnvVarParamsLoader().is_dagster_pipes_process():
        raise SpecError("--pipes reports to Dagster, but Dagster did not start this command: leave the option out")
    plan = spec.plan()
    names_without_clash(names_of_day(plan))
    judge = spec.judge(plan)
    check_names(() if judge is None else [rule.gate for rule in judge.rules])
    with closing(open_dagster_pipes()) as context:
        keys = context.asset_keys if context.is_asset_step else ()
        if len(keys) != 1:
            raise SpecError(f"--pipes reports one asset, and the step of Dagster has {len(keys)}")
        yield PipesRun(context)


def check_names(gates: Iterable[str]) -> dict[str, str]:
    """Return the gates by the names of their checks. Raise :class:`SpecError` if two gates would get the same name.

    Examples
    --------
    >>> list(check_names(["few", "ndcg@10 at least 0.3"]))
    ['few', 'ndcg_at_10_at_least_0_3']
    """
    names: dict[str, str] = {}
    for gate in gates:
        name = _SIGN.sub("_", gate.replace("@", "_at_"))
        if names.setdefault(name, gate) != gate:
            both = " and ".join(quote(own) for own in (names[name], gate))
            raise SpecError(f"the gates {both} would both be the check {shorten(name)} in Dagster: rename one of them")
    return names


def _check(verdicts: list[GateVerdict]) -> dict[str, Any]:
    """Return the check for one gate. A verdict that a person has accepted counts as passed."""
    open_verdicts = sorted((one for one in verdicts if one.verdict != "pass" and one.accepted is None), key=worst_first)
    metadata: dict[str, Any] = {"checks": len(verdicts), "not_passed": len(open_verdicts)}
    worst = open_verdicts[0] if open_verdicts else None
    metadata["verdict"] = "pass" if worst is None else worst.verdict
    if worst is not None and worst.key.cell.slice == ALL:  # in other cases, the reason may contain slice values
        metadata["reason"] = worst.reason
    severity = "ERROR" if any(one.stops for one in open_verdicts) else "WARN"
    return {"passed": worst is None, "severity": severity, "metadata": metadata}
