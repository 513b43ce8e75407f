"""The commands ``sparkrank metrics`` and ``tables``, which print all metrics and all tables of a run."""

from __future__ import annotations

import click

from sparkrank.base.errors import hint, shorten
from sparkrank.cli.answers import answer_page, declaration_document, preset_document, table_document
from sparkrank.cli.options import PLUGIN
from sparkrank.metrics import CATALOG, Metric, find_preset
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.registry import import_plugins
from sparkrank.tables.rows.outputs import OUTPUTS
from sparkrank.text.text import declaration_text, preset_text, table_text


@click.command()
@click.argument("names", nargs=-1)
@click.option("--preset", metavar="LIBRARY", help="Print what the preset of this name sets, and what it cannot.")
@PLUGIN
def metrics(names: tuple[str, ...], preset: str | None, plugins: tuple[str, ...]) -> None:
    """Print every metric, or those NAMED: definition, parameters, undefined rule, reference."""
    import_plugins(plugins, "--plugin")
    library = find_preset(preset)
    if library is not None:
        if names:
            raise click.UsageError("--preset and NAMES do not go together")
        answer_page(lambda: preset_text(library), lambda: {"preset": preset_document(library)})
        return
    declarations = [declaration for name in names for declaration in _named(name)] if names else list(CATALOG.values())
    answer_page(
        lambda: "\n\n".join(map(declaration_text, declarations)),
        lambda: {"metrics": list(map(declaration_document, declarations))},
    )


@click.command()
@click.argument("names", nargs=-1)
def tables(names: tuple[str, ...]) -> None:
    """Print every table that a run writes, or those NAMED: columns, types and meaning (docs/tables.md)."""
    known = {output.schema.name: output.schema for output in OUTPUTS}
    for name in names:
        if name not in known:
            raise click.UsageError(f'there is no table "{shorten(name)}"{hint(name, known, "there are")}')
    chosen = [known[name] for name in names] or list(known.values())
    answer_page(lambda: "\n\n".join(map(table_text, chosen)), lambda: {"tables": list(map(table_document, chosen))})


def _named(name: str) -> list[Declaration]:
    """Return the metrics that ``name`` means with and without a cut-off, and those that share its name.

    ``name`` may be a text such as ``ndcg@10``.
    """
    if not CATALOG.is_known(name):  # the parser's error says what is wrong
        return [Metric.parse(name).declaration]
    meant = [CATALOG.get(name.lower()), CATALOG.find(name, True, name)]
    meant += [own for own in CATALOG.values() if own.called == name.lower()]
    return list({declaration.name: declaration for declaration in meant if declaration is not None}.values())
