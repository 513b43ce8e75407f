"""The function ``sr.track``, which logs an evaluation to a tracker of experiments."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sparkrank.base.errors import SparkrankError, SpecError, did_you_mean, itemize, quote, short_traceback
from sparkrank.base.time_limits import TIMEOUT
from sparkrank.doors.write_api import EvaluationWriter
from sparkrank.inputs.day_marks import day_of
from sparkrank.jobs.track_job import validate_tracked
from sparkrank.report.page import lacking_extra
from sparkrank.results.evaluation import Evaluation
from sparkrank.run.provenance import run_id_of
from sparkrank.tables.trackers.mlflow_tracker import TRACKERS
from sparkrank.tables.trackers.tracked_run import TrackedRun, values_of, without_options
from sparkrank.tables.trackers.tracker import ObjectWithLogs, log_to_object, log_to_tracker

_METHODS = ("log_params", "log_metrics", "log_artifact")


@short_traceback
def track(
    evaluation: Evaluation,
    to: str | ObjectWithLogs = "mlflow",
    *,
    experiment: str | None = None,
    name: str = "evaluation",
    day: str | None = None,
    slices: Sequence[str] = (),
    series: bool = False,
    timeout: float = TIMEOUT,
) -> bool:
    """Log the metrics, settings, tables and the report of an evaluation to a tracker of experiments.

    Parameters
    ----------
    evaluation : Evaluation
        The result of :func:`sparkrank.evaluate`.
    to : {"mlflow"} or object
        A tracker by its name, or any object with the methods ``log_params``, ``log_metrics`` and ``log_artifact``, such
        as the module ``mlflow`` itself. The server of a tracker given by name is in the configuration of the tracker.
    experiment : str, optional
        The name of the experiment, for a tracker given by name; by default the tracker's own.
    name : str
        The name of the evaluation. Evaluations with different names become different runs.
    day : str, optional
        The day of the rows, as YYYY-MM-DD; by default, today in UTC.
    slices : sequence of str
        The slices whose values are logged, such as ``"country"`` or ``"country,device"``. The table of metrics, logged
        as a file, always contains all slices.
    series : bool
        Whether all days of the same settings and ``name`` are steps of one run; otherwise, each day is a run.
    timeout : float
        The time limit, in seconds, for the answer of a tracker given by name.

    Returns
    -------
    bool
        Whether the run was logged now; False if a tracker given by name already has the same run.

    Raises
    ------
    SpecError
        If there is no such tracker or slice, if two values would get the same name in the tracker, if the values of a
        slice are group keys, or if the library of the tracker is not installed.
    StoreError
        If the tracker fails or does not answer. Errors of an object passed as ``to`` are not changed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import sparkrank as sr
    >>> class Printer:
    ...     def log_params(self, params): pass
    ...     def log_metrics(self, metrics, step): print(step, metrics["new/hit_at_1"])
    ...     def log_artifact(self, path): pass
    >>> log = pa.table({"user": ["a", "a", "b"], "score": [0.9, 0.5, 0.7], "click": [0, 1, 1]})
    >>> ev = sr.evaluate(log, ["hit@1"], group="user", score={"new": "score"}, label="click")
    >>> sr.track(ev, Printer(), day="1970-01-03")
    2 0.5
    True
    """
    is_object = all(callable(getattr(to, method, None)) for method in _METHODS)
    if not is_object and not (isinstance(to, str) and to in TRACKERS):
        near = did_you_mean(to, TRACKERS) if isinstance(to, str) else ""
        raise SpecError(
            f"to is {quote(to)}{near}: {itemize(TRACKERS)}, or an object with {itemize(_METHODS)} is needed"
        )
    if isinstance(slices, str):
        raise SpecError(f"slices is {quote(slices)}, one text: a list of slices is needed")
    day = dt.datetime.now(dt.timezone.utc).date().isoformat() if day is None else str(day)
    if day_of(day) is None:
        raise SpecError(f"day is {quote(day)}: a day of the form YYYY-MM-DD is needed")
    validate_tracked(evaluation.plan, slices, "slices")
    run = _tracked_run(evaluation, name, day, slices)

    def write_report(file: Path) -> None:
        if not lacking_extra():
            evaluation.report(file, keys=False)

    if not isinstance(to, str):
        log_to_object(to, run, write_report)
        return True
    tracker = TRACKERS[to](experiment, series)
    tracker.require_library()
    return log_to_tracker(tracker, run, write_report, timeout)


def _tracked_run(evaluation: Evaluation, name: str, day: str, slices: Sequence[str]) -> TrackedRun:
    writer, plan, spec_hash = evaluation.writer, evaluation.plan, evaluation.origin.spec_hash
    if not isinstance(writer, EvaluationWriter) or spec_hash is None:
        raise SparkrankError("only what sr.evaluate has returned can be tracked")
    compared = None if plan.compare is None else evaluation.compare(plan.compare.baseline)
    tables = {"metrics": evaluation.table, **({} if compared is None else {"comparisons": compared})}
    preset = {} if evaluation.preset is None else {"preset": evaluation.preset.name}
    inputs = writer.parts.inputs
    return TrackedRun(
        name,
        day,
        run_id_of(day, spec_hash, day, name, inputs),  # the hash does not depend on the location of the rows
        {"spec_hash": spec_hash, **preset},
        {"lane": evaluation.lane, "input": inputs},
        values_of(evaluation.table, compared, slices),
        inputs,
        tables,
        _document(writer.document),
    )


def _document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of a call with every default, but without secrets and without the section ``output``."""
    from sparkrank.config.loading import spec_of  # slow to import

    resolved = spec_of({**document, "output": {"path": "output"}}, "the evaluation").resolved()
    del resolved["output"]
    return dict(without_options(resolved))
