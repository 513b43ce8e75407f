"""The command ``sparkrank explain``: the computation of a metric, or the reasons why two libraries differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sparkrank.base.errors import InputError, SpecError
from sparkrank.cli.answers import answer
from sparkrank.cli.options import all_of, command_stages, day_option, spec_options, validate_alone
from sparkrank.comparison.group_pairs import ModelGroups
from sparkrank.comparison.group_tables import GroupTable
from sparkrank.comparison.largest_changes import largest_of_all
from sparkrank.comparison.worst_groups import worst_groups
from sparkrank.config import Spec
from sparkrank.engines.lanes import needs_session
from sparkrank.engines.one_group import GroupKeys
from sparkrank.jobs.explain_job import explain_day, explained_models
from sparkrank.run.day_request import resolve_day
from sparkrank.run.session import command_session
from sparkrank.text.explanation_text import MOST_ROWS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_CHOSEN = 1_000  # groups that are explained at once


@click.command()
@spec_options
@all_of(
    click.option("--rows", type=click.IntRange(1), default=MOST_ROWS, help="The most rows of a table in the terminal."),
    click.option("--models", nargs=2, metavar="A B", help="With --moved: the baseline and the model."),
    click.option("--moved", type=click.IntRange(1, MOST_CHOSEN), help="Explain so many groups that changed most."),
    click.option("--worst", type=click.IntRange(1, MOST_CHOSEN), help="Explain so many groups with the worst values."),
    click.option("--model", "model_names", multiple=True, metavar="NAME", help="A model to show; by default, all."),
    click.option("--metric", "texts", multiple=True, metavar="TEXT", help="A metric to explain: ndcg@10."),
    click.option("--group", multiple=True, metavar="COLUMN=VALUE", help="The group; once for each key column."),
    click.option("--to", "other", metavar="PRESET", help="The preset of the second library, or default."),
    click.option("--from", "one", metavar="PRESET", help="The preset of the first library, or default."),
    day_option("--date", "day", "The day; without it, the spec's day."),
)
@click.argument("metrics", nargs=-1)
def explain(
    spec: Spec,
    metrics: tuple[str, ...],
    day: str | None,
    one: str | None,
    other: str | None,
    group: tuple[str, ...],
    texts: tuple[str, ...],
    **more: Any,
) -> None:
    """Explain how METRICS are computed from one group's rows, or why two libraries have two numbers for a day.

    With --group, --worst or --moved: the list of each model, the terms of the metric, and the steps to its value. With
    --from and --to: each setting in which two presets differ, and how far it moves the number. Nothing is written.
    """
    metric_texts = (*metrics, *texts)
    if not metric_texts:
        raise click.UsageError("no metric is named: name one with --metric, for example --metric ndcg@10")
    day = resolve_day(spec, day)
    if one is not None or other is not None:
        beside = {"--group": group, **{f"--{name}": more[name] for name in ("worst", "moved", "models")}}
        _between_presets(spec, day, one, other, metric_texts, beside)
        return
    _validate_choice(group, more, metric_texts)
    with command_session("explain", is_needed=needs_session(spec.engine.lane)) as spark:
        keys, note = _keys(spec, day, group, metric_texts, more, spark)
        models = more["models"] or more["model_names"]
        explanation = explain_day(spec, day, keys, metric_texts, models or (), spark, command_stages())
    answer(lambda: "\n\n".join(filter(None, [note, explanation.text(more["rows"])])), explanation.to_dict)


def _validate_choice(group: Sequence[str], more: dict[str, Any], metric_texts: Sequence[str]) -> None:
    """Raise a usage error unless exactly one option chooses the groups, and the other options are allowed with it."""
    ways = {"--group": group, "--worst": more["worst"], "--moved": more["moved"]}
    given = [name for name, value in ways.items() if value]
    if not given:
        raise click.UsageError("no group is chosen: name one with --group, or some with --worst or --moved")
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} do not go together")
    if more["models"] and given != ["--moved"]:
        raise click.UsageError("--models is for --moved: the models to show are named by --model")
    if more["moved"] and more["model_names"]:
        raise click.UsageError("--moved and --model do not go together: --models names both")
    if given != ["--group"] and len(metric_texts) > 1:
        raise click.UsageError(f"{given[0]} chooses groups by one metric, but several are named")


def _keys(
    spec: Spec,
    day: str,
    group: Sequence[str],
    metric_texts: Sequence[str],
    more: dict[str, Any],
    spark: SparkSession | None,
) -> tuple[GroupKeys, str]:
    """Return the chosen groups, and a sentence if other groups are as bad as the worst; otherwise an empty string."""
    plan, note = spec.plan(), ""
    columns = plan.keys
    if group:
        pairs = dict(_pair(text, columns) for text in group)
        if len(pairs) < len(group):
            raise click.UsageError("--group names a column twice: it takes one value for each key column of one group")
        return GroupKeys.of(columns, pairs), note
    if not columns:
        raise SpecError("no group column is named: explain needs groups")
    table = GroupTable.at("left", spec.output.path, day, spark)
    if more["worst"]:
        names = explained_models(plan, more["model_names"], "--model")
        if len(names) > 1:
            raise click.UsageError("--worst chooses groups by one model: name it with --model")
        keys, note = worst_groups(table, names[0], metric_texts[0], more["worst"])
    else:
        names = explained_models(plan, more["models"] or (), "--models")
        if len(names) != 2:
            raise click.UsageError("--moved compares two models: name them with --models A B")
        keys = _moved(table, names, metric_texts[0], more["moved"])
    if not keys:
        raise InputError(f"{table.place} has no group to choose by {metric_texts[0]}")
    return GroupKeys(tuple(columns), tuple(keys)), note


def _pair(text: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column and the value in ``text``, which reads ``column=value``. A column name may contain ``=``."""
    name = next((column for column in columns if text.startswith(f"{column}=")), None)
    column, equals, value = text.partition("=") if name is None else (name, "=", text[len(name) + 1 :])
    if not equals:
        raise click.UsageError(f"--group {text} has no value: write it as column=value")
    return column, value


def _moved(table: GroupTable, models: Sequence[str], metric: str, top: int) -> list[tuple[Any, ...]]:
    """Return the keys of the ``top`` groups that changed most between two models, the largest change first."""
    left, right = (ModelGroups(table, table.model(name, "--models")) for name in models)
    ranked = largest_of_all(left, right, metric, top)
    return list(zip(*(ranked[name].to_pylist() for name in table.keys), strict=True))


def _between_presets(
    spec: Spec, day: str, one: str | None, other: str | None, metric_texts: Sequence[str], beside: dict[str, Any]
) -> None:
    from sparkrank.cli.preset_differences_text import differences_document, differences_text
    from sparkrank.jobs.preset_differences import explain_presets

    if one is None or other is None:
        raise click.UsageError("--from and --to go together: they name two presets")
    validate_alone("--from", beside)
    with command_session("explain", is_needed=needs_session(spec.engine.lane)) as spark:
        moves = explain_presets(spec, day, one, other, metric_texts, spark, command_stages())
    answer(lambda: differences_text(moves), lambda: differences_document(moves))
