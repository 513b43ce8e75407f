"""The command ``sparkrank compare``, which compares models or runs, or splits a difference of means over a slice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base.errors import SpecError, escape, hint, shorten
from sparkrank.cli.answers import answer
from sparkrank.cli.options import DEBUG, PLUGIN, all_of, day_option, validate_alone
from sparkrank.cli.sides import (
    SIDE_OPTIONS,
    SideOptions,
    metrics_of,
    session_for_far,
    sides_of,
    sides_text,
    states_of,
    validate_model,
)
from sparkrank.comparison.mix_and_rate import decomposition
from sparkrank.comparison.run_comparison import GroupChoice, RunComparison
from sparkrank.comparison.runs import compare_tables, without_states
from sparkrank.comparison.whole_runs import compare_states
from sparkrank.inputs.day_marks import on_day
from sparkrank.inputs.window import Window, spans
from sparkrank.jobs.compare_job import DayComparisons, compare_days
from sparkrank.metrics import find_preset
from sparkrank.metrics.grammar import texts_of
from sparkrank.metrics.registry import import_plugins
from sparkrank.metrics.uncertainty import FAMILIES, Comparison, Family
from sparkrank.stats.corrections import METHODS, Correction
from sparkrank.tables.commit.days import local_path
from sparkrank.tables.rows.lookup import found_metric
from sparkrank.text.comparison_text import (
    comparisons_text,
    decomposition_text,
    metrics_by_slice_text,
    notes_text,
    stored_comparisons_text,
)

if TYPE_CHECKING:
    from sparkrank.config import Spec

LEVEL = 0.95


@click.command()
@all_of(
    DEBUG,
    PLUGIN,
    click.option(
        "--groups", type=click.Choice(["all", "common"]), help="For two runs: compare all groups, or the common ones."
    ),
    click.option("--decompose", metavar="SLICE", help="Split the difference of means over the values of a slice."),
    click.option("--other-definitions", is_flag=True, help="Compare metrics that the two runs define otherwise, too."),
    click.option("--correction", type=click.Choice(list(METHODS)), help="How p is adjusted for many comparisons."),
    click.option("--family", type=click.Choice(FAMILIES), help="With --conf: which p-values are adjusted together."),
    click.option("--metric", "metrics", multiple=True, metavar="TEXT", help="A metric to compare; by default, all."),
    click.option("--allow-missing", is_flag=True, help="Compare over the stored days, without missing ones."),
    day_option("--to", "last", "With --conf: the last day of a window."),
    day_option("--from", "first", "With --conf: the first day of a window."),
)
@SIDE_OPTIONS
def compare(
    first: str | None,
    last: str | None,
    allow_missing: bool,
    metrics: tuple[str, ...],
    family: Family | None,
    correction: Correction | None,
    other_definitions: bool,
    groups: GroupChoice | None,
    decompose: str | None,
    plugins: tuple[str, ...],
    **side_options: Any,
) -> None:
    """Compare the models of stored days (--conf), or two runs (--left, --right), over all or over common groups.

    With --conf, every model is compared with the baseline from the stored states of a day or of a window. Values of
    slices are shown if they differ clearly; with --metric, all are shown. With --decompose, split the difference of two
    means over the values of a slice: between two models or days of --conf, or between two runs.
    """
    sides = SideOptions(**side_options)
    import_plugins(plugins, "--plugin")
    metrics = tuple(one for text in metrics for one in texts_of(text))
    of_states = sides.spec is not None and decompose is None and sides.left_date is None
    if of_states:
        of_runs: dict[str, object] = {"--other-definitions": other_definitions, "--groups": groups}
        validate_alone("--conf alone", of_runs)
    else:
        beside = {"--from": first, "--to": last, "--family": family, "--allow-missing": allow_missing}
        validate_alone("--left" if sides.spec is None else "--decompose or --left-date", beside)
    if decompose is not None:
        validate_alone("--decompose", {"--correction": correction, "--groups": groups})
    if sides.spec is not None and of_states:
        window = _window(sides, first, last, allow_missing=allow_missing)
        days = _stored(sides, sides.spec, window, correction, family, allow_missing)
        chosen, notes = _chosen(days.comparisons, sides, sides.spec, metrics), [*days.warnings, *days.unlisted]
        text = metrics_by_slice_text if metrics else stored_comparisons_text
        unlisted = "\n".join(map(escape, days.unlisted))
        below = notes_text([*([f"no states of {spans(days.missing)}"] if days.missing else []), *days.warnings])
        answer(
            lambda: _paragraphs(f"Models of {spans(window.days)}", text(chosen), unlisted, below),
            lambda: {"window": str(window), "missing": days.missing, "notes": notes, "comparisons": chosen.to_pylist()},
        )
        return
    if decompose is not None:
        _decompose(sides, decompose, metrics or None, other_definitions)
        return
    options: Any = {"correction": correction or "holm", "level": LEVEL, "other_definitions": other_definitions}
    lacking: list[str] = []
    if groups != "common":
        before, after, models = states_of(sides)
        lacking = without_states((before, after), groups)
        if not (isinstance(before, str) or isinstance(after, str)):
            _answer_runs(compare_states(before, after, models, metrics or None, **options, options=sides.model_options))
            return
    with sides_of(sides) as (left, right):
        _answer_runs(compare_tables(left, right, metrics or None, **options, notes=lacking))


def _window(sides: SideOptions, first: str | None, last: str | None, *, allow_missing: bool) -> Window:
    if (first is None) != (last is None):
        raise click.UsageError("--from and --to go together: they are the first and the last day of a window")
    if first is not None and last is not None:
        validate_alone("--from", {"--date": sides.day})
        return Window.of(first, last)
    if allow_missing:
        raise click.UsageError("--allow-missing is for a window: --from and --to")
    (_, day), _ = sides.places
    return Window.of(str(day), str(day))


def _stored(
    sides: SideOptions,
    spec: Spec,
    window: Window,
    correction: Correction | None,
    family: Family | None,
    allow_missing: bool,
) -> DayComparisons:
    """Return the result of :func:`compare_days`. The command's options override the comparison in ``spec``."""
    own = None if spec.compare is None else spec.compare.comparison
    baseline = sides.baseline or (None if own is None else own.baseline)
    wanted = None
    if baseline is not None:
        given = own or Comparison(baseline)
        changes: Any = {"correction": correction or given.correction, "family": family or given.family}
        wanted = replace(given, baseline=baseline, **changes)
    is_far = local_path(on_day(spec.output.path, str(window.first))) is None
    with session_for_far(is_far=is_far) as spark:
        return compare_days(spec, window, wanted, spark, allow_missing=allow_missing)


def _chosen(table: pa.Table, sides: SideOptions, spec: Spec, metrics: tuple[str, ...]) -> pa.Table:
    """Return the rows for the requested candidate and ``metrics``. Their p-values stay adjusted over all rows."""
    plan = spec.plan()
    if sides.model is not None:
        validate_model(plan.models, "--model", sides.model)
        table = table.filter(pc.equal(table["candidate"], sides.model))
    if metrics:
        preset, known = find_preset(spec.definitions.preset), [str(metric) for metric in plan.metrics]
        texts = [found_metric(plan, preset, text) for text in metrics]
        for text, name in zip(metrics, texts, strict=True):
            if name is None:
                raise SpecError(f'--metric: the spec has no "{shorten(text)}"{hint(text, known, "")}')
        table = table.filter(pc.is_in(table["metric"], pa.array(texts)))
    return table


def _decompose(sides: SideOptions, by: str, metrics: tuple[str, ...] | None, other_definitions: bool) -> None:
    left, right = metrics_of(sides)
    before, after, _ = states_of(sides)
    table, notes = decomposition(left, right, by, metrics, (before, after), other_definitions=other_definitions)
    head = sides_text(right.model, right.place, left.model, left.place)
    answer(
        lambda: _paragraphs(head, decomposition_text(table), notes_text(notes)),
        lambda: {"notes": notes, "decomposition": table.to_pylist()},
    )


def _answer_runs(comparison: RunComparison) -> None:
    rows = comparison.table.to_pylist()
    head = sides_text(rows[0]["candidate"], comparison.right, rows[0]["baseline"], comparison.left)
    head = f"{head}\n{comparison.groups_text()}; intervals of {LEVEL:.0%}"
    document = {name: value for name, value in vars(comparison).items() if name != "table"}
    answer(
        lambda: _paragraphs(head, comparisons_text(rows), notes_text(comparison.notes)),
        lambda: {**document, "comparisons": rows},
    )


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
