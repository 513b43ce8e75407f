"""What a terminal shows, drawn by hand: the metrics of a day, a declaration and a preset."""

from __future__ import annotations

import math
from textwrap import dedent

import pyarrow as pa

from docs.printers.markdown import declarations_markdown
from sparkrank.metrics.metric import Declaration, NeedsOrder
from sparkrank.metrics.parameters import Choice, Flag, Number
from sparkrank.metrics.presets import Default, Preset
from sparkrank.text.text import declaration_text, metrics_text, preset_text, quality_text

COLUMNS = ("model", "slice", "slice_value", "metric", "value", "ci_high", "n_groups", "n_undefined", "error_bound")


def _metrics(*rows: tuple) -> pa.Table:
    """Some columns of the table ``metrics``."""
    table = pa.table({name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)})
    ends = zip(*(table[name].to_pylist() for name in ("value", "ci_high")), strict=True)
    low = [None if end is None else 2 * value - end for value, end in ends]
    intervals = [None if end is None else "t" for end in table["ci_high"].to_pylist()]
    table = table.append_column("ci_low", pa.array(low, pa.float64()))
    return table.append_column("interval", pa.array(intervals, pa.string()))


def test_metrics_stand_in_a_line_each_with_their_models_beside_each_other() -> None:
    """Numbers to the right, the half-width of an interval (0.5625 - 0.5) or the bound of blocks, and no slice."""
    of_day = ("all", "all")
    found = _metrics(
        ("production", "kind", "film", "ndcg@10", 0.875, 0.9, 12, 0, None),
        ("candidate", *of_day, "ndcg@10", 0.5, 0.5625, 1_234_567, 2_000, None),
        ("production", *of_day, "ndcg@10", math.nan, None, 1_234_567, 2_000, None),
        ("candidate", *of_day, "auc", 0.75, None, None, 1, 0.0001),
        ("production", *of_day, "auc", None, None, None, 1, None),
        ("candidate", *of_day, "auc(exact)", 0.25, None, None, 0, 0.0),
        ("production", "country", "de", "ndcg@10", 0.875, 0.9, 7, 0, None),
        ("candidate", "country", "de", "ndcg@10", 0.875, 0.9, 7, 0, None),
        ("candidate", "country", "fr", "ndcg@10", 0.875, 0.9, 5, 0, None),
    )
    drawn = """
        metric                   candidate  production     groups  undefined
        ----------  ----------------------  ----------  ---------  ---------
        ndcg@10            0.5000 ± 0.0625   undefined  1,234,567      2,000
        auc         0.7500 ± 0.0001 (bins)   undefined                     1
        auc(exact)                  0.2500                                 0

        Also by country (values: 2), kind (values: 1): see the table metrics
    """
    assert metrics_text(found) == dedent(drawn).strip()


def test_without_slices_and_without_rows_there_is_a_head() -> None:
    found = _metrics(("m", "all", "all", "ap", 0.5, 0.625, 9, 0, None))
    drawn = """
        metric                m  groups  undefined
        ------  ---------------  ------  ---------
        ap      0.5000 ± 0.1250       9          0
    """
    assert metrics_text(found) == dedent(drawn).strip()
    assert metrics_text(found[:0]) == "metric  groups  undefined\n------  ------  ---------"


def test_checks_beyond_their_limit_are_told() -> None:
    """A share of what, or a number that has a limit itself; what is within its limit, or has none, is not told."""
    names = ("check", "model", "count", "of", "fraction", "limit", "ok")
    rows = [
        ("rows read", None, 4_000.0, None, None, None, None),
        ("rows rejected", None, 0.0, "rows read", 0.0, 0.0, True),
        ("rows per block", "candidate", 6.25, None, None, 20.0, False),
        ("without probability", "production", 1_234_000.0, "scored rows", 0.25, 0.0, False),
    ]
    told = """
        Not within its limit (table quality)
          candidate: 6.25 rows per block (limit 20)
          production: 1,234,000 without probability (25.0000% of scored rows, limit 0.0000%)
    """
    quality = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    assert quality_text(quality) == dedent(told).strip()
    assert quality_text(quality[:2]) == ""


def test_a_declaration_is_written_out_whole() -> None:
    declaration = Declaration(
        name="gain",
        title="the gain",
        formula="g / k",
        undefined="k = 0",
        reference="Nobody 2001",
        parameters=(
            Choice("over", "hits", "what is divided by", choices=("hits", "rows")),
            Number("rel", None, "least relevant label", above=0),
            Flag("exact", False, "one block for each score"),
        ),
        aliases=("cg@", "cumulated"),
    )
    written = """
        gain[@k]  the gain
          = g / k
          over=hits|rows (default hits): what is divided by
          rel=a number above 0 (default none): least relevant label
          exact: one block for each score
          undefined: k = 0
          range: 0 to 1
          better: higher
          also: cg@k, cumulated
          reference: Nobody 2001
    """
    assert declaration_text(declaration) == dedent(written).strip()
    short = Declaration(
        "day_gain", "the gain of a day", "G", "never", "N", cutoff="none", needs_order=NeedsOrder("of it", "@k")
    )
    written = """
        day_gain  the gain of a day
          = G
          undefined: never
          range: 0 to 1
          better: higher
          ties with @k: item, worst, best or block; expected is computed of ranks without ties alone (of it)
          reference: N
    """
    assert declaration_text(short) == dedent(written).strip()
    row = "| `day_gain` | the gain of a day: G; `@k` needs `ties` other than `expected`, or ranks | none | never | N |"
    assert declarations_markdown([short]).splitlines()[-1] == row


def test_a_preset_is_written_out_whole() -> None:
    """A default holds with a cut-off, without one, or with both; auc has none, and exact is a bare word."""
    defaults = (
        Default("ap", "over", "k", cutoff=True),
        Default("ndcg", "gain", "exp2", cutoff=False),
        Default("p", "over", "retrieved"),
        Default("auc", "exact", ""),
    )
    preset = Preset("other", "the library Other", {"ties": "item"}, defaults, ("its names",))
    written = """
        other  as the library Other
          definitions (those left out keep their default)
            ties=item
          metrics (a parameter that a text gives wins)
            ap@k is ap(over=k)@k
            ndcg is ndcg(gain=exp2)
            p[@k] is p(over=retrieved)[@k]
            auc is auc(exact)
          not matched, or by another text
            its names
    """
    assert preset_text(preset) == dedent(written).strip()
    written = """
        same  as Same
          definitions (those left out keep their default)
          metrics (a parameter that a text gives wins)
            none: sparkrank's own defaults are the same
          not matched, or by another text
    """
    assert preset_text(Preset("same", "Same")) == dedent(written).strip()
