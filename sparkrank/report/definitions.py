"""docs/definitions.md: every declaration, the traps worked on one input, and who uses which definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sparkrank.metrics import CATALOG, PRESETS, Definitions
from sparkrank.metrics.aliases import ALIASES, ELSEWHERE
from sparkrank.metrics.declaration import CatalogueMetric, Declaration, GroupMetric, PooledMetric
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.parameters import TIES, WEIGHT
from sparkrank.metrics.presets import Preset
from sparkrank.report.markdown import declaration_markdown, markdown_table, parameter_markdown
from sparkrank.report.metric_traps import METRIC_TRAPS
from sparkrank.report.setting_traps import SETTING_TRAPS
from sparkrank.report.text import default_texts
from sparkrank.report.worked import INPUT, Row, trap_markdown

KINDS: tuple[tuple[type[Declaration], str, str], ...] = (
    (GroupMetric, "Metrics of a group", "A value for each group; the number of the day is their mean."),
    (PooledMetric, "Metrics of the whole day", "All rows with a score as one classification, whatever their group."),
    (CatalogueMetric, "Metrics over lists", "Properties of all lists together."),
)

INTRODUCTION = """\
# Definitions

What every metric of sparkrank means, where libraries mean different things by one name, and what each of them takes.
This page is printed by `sparkrank metrics --definitions`, and sparkrank computes its values when it is printed.

`i` is the position from 1, `k` the cut-off, `R` and `N` are the relevant and non-relevant rows of a group (or of the
day), `g_i` is the gain at position `i`. A row without a score is judged and not retrieved: it counts in `R` and in the
ideal list, not in the list. A metric is written `name(parameter=value)@k`; a parameter that is left out takes its
default."""

TRAPS_HEAD = """\
## Where definitions part

One input, and what each definition makes of it. A row without a score is an item that the user wanted and the list
lacks. Ties are `expected` and the undefined is `skip` where nothing else is said. The last column of a table says what
holds where nothing is said: `default` is what sparkrank takes, alone and under the presets that no other row names."""

LIBRARIES_HEAD = """\
## Who uses which

One word, `definitions.preset` in a spec or `preset=` in Python, sets what another library does, so that the same text
of a metric gives its number. A parameter that is in the text, or a setting that is given, wins over it. What a preset
sets is in bold, what is left is sparkrank's own. Under each preset stands what it cannot make equal, and what another
text is for."""

MERGING = """\
## Several days, and quantiles

A window of days is evaluated from the states of its days, and its groups are the (group, day) pairs: a user who comes
on three days is ranked three times and counts three times in the means. Metrics of the whole day are those of all rows
of the window, and [days merge as tables](design.md#days-merge-as-tables) says what is pooled and what is refused.

`median(ndcg@10)` and `p90(ndcg@10)` are quantiles of the values of groups, interpolated linearly. Each group counts
once, so a metric whose groups weigh has none: `median(group_auc)`, not `median(gauc)`. They are exact up to 65,536
distinct values and have an error bound beyond, as
[a quantile is part of a metric's text](design.md#a-quantile-is-part-of-a-metrics-text) explains."""


SHARED = """\
## Parameters of every metric of groups

Beside those of its own, each metric of groups takes these. Metrics over lists take `ties`; the others take neither."""

SHARED_TAIL = """\
So `err(ties=item)@10` stands beside metrics that are expectations. A `ties` that is that of the evaluation is left out
of the metric's text, and the column `definition` says which rule holds. `ndcg(weight=revenue)@10` is Σ w·v / Σ w over
the groups where it is defined, with w from the column `revenue` of the input, of the lists where there is a truth. All
rows of a group have one weight there: 0, or a number from 1e-6 to 1e9. A group without is rejected as a bad row is."""

NAMES_HEAD = """\
## Names of other programs

Names are read in upper and lower case, with hyphens or underscores, and with the cut-off behind them as trec_eval and
others print it: `P_10`, `ndcg_cut_10`, `ndcg_at_10`, `rbp.80`. Some names set parameters."""

ELSEWHERE_HEAD = "These mean in their program what no text here means, and are refused with what to write."


def definitions_page() -> str:
    """The page as it stands in docs, without the last line's end."""
    return "\n\n".join(
        [INTRODUCTION, TRAPS_HEAD, *_traps(), *_libraries(), *_names(), MERGING, *_shared(), *_declarations()]
    )


def _shared() -> Iterator[str]:
    yield SHARED
    yield "\n".join(f"- {parameter_markdown(each)}" for each in (TIES, WEIGHT))
    yield SHARED_TAIL


def _names() -> Iterator[str]:
    """Every name of another program by what it is here, and those that are nothing here."""
    yield NAMES_HEAD
    meanings: dict[str, list[str]] = {}
    for name, here in ALIASES.items():
        at = "@k" if name.endswith("@") else ""
        meanings.setdefault(f"{here}{at}", []).append(f"`{name.rstrip('@')}{at}`")
    yield markdown_table(["here", "names"], ([f"`{here}`", ", ".join(each)] for here, each in meanings.items()))
    yield ELSEWHERE_HEAD
    yield "\n".join(f"- `{name}{'k' if name.endswith('@') else ''}` {why}" for name, why in ELSEWHERE.items())


def _traps() -> Iterator[str]:
    yield markdown_table(Row._fields, ([_shown(value) for value in row] for row in INPUT))
    yield from map(trap_markdown, (*METRIC_TRAPS, *SETTING_TRAPS))


def _shown(value: str | float | None) -> str:
    return "" if value is None else str(value)


def _libraries() -> Iterator[str]:
    yield LIBRARIES_HEAD
    settings = [name for name in ALLOWED if any(name in preset.definitions for preset in PRESETS.values())]
    lines = [_preset_cells(preset, settings) for preset in PRESETS.values()]
    yield markdown_table(["preset", *settings, "metrics"], lines)
    for preset in PRESETS.values():
        yield "\n".join([f"`{preset.name}`: {preset.library}.", "", *(f"- {note}" for note in preset.unmatched)])


def _preset_cells(preset: Preset, settings: Sequence[str]) -> list[str]:
    """Every setting as it is under the preset, in bold where the preset sets it."""
    definitions = Definitions.of(preset, {})
    words = ((name, getattr(definitions, name)) for name in settings)
    cells = [f"**{word}**" if name in preset.definitions else word for name, word in words]
    metrics = [f"`{bare}` is `{meant}`" for bare, meant in map(default_texts, preset.defaults)]
    return [f"`{preset.name}`", *cells, "; ".join(metrics)]


def _declarations() -> Iterator[str]:
    for kind, title, text in KINDS:
        yield f"## {title}"
        yield text
        yield from map(declaration_markdown, _of(kind, CATALOG.values()))


def _of(kind: type[Declaration], declarations: Iterable[Declaration]) -> Iterator[Declaration]:
    return (each for each in declarations if isinstance(each, kind))
