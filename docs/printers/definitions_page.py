"""docs/definitions.md: every declaration, the traps worked on one input, and who uses which definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docs.printers.checked_trap import checked_markdown
from docs.printers.field_trap import field_markdown
from docs.printers.ild_trap import ild_markdown
from docs.printers.label_trap import label_markdown
from docs.printers.markdown import declaration_markdown, markdown_table, parameter_markdown
from docs.printers.metric_traps import METRIC_TRAPS
from docs.printers.popularity_trap import popularity_markdown
from docs.printers.propensity_trap import propensity_markdown
from docs.printers.setting_traps import SETTING_TRAPS
from docs.printers.slice_trap import slice_markdown
from docs.printers.worked import INPUT, Impression, trap_markdown
from sparkrank.metrics import CATALOG, PRESETS, CatalogueMetric, Definitions, GroupMetric, PooledMetric
from sparkrank.metrics.aliases import ALIASES, ELSEWHERE
from sparkrank.metrics.checked_metric import OF_LABELS
from sparkrank.metrics.definitions import ALLOWED
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.parameters import OF_LISTS_WITH_BEST
from sparkrank.metrics.presets import Preset
from sparkrank.metrics.sampled_metric import SampledMetric
from sparkrank.text.text import default_texts

KINDS: tuple[type[Declaration], ...] = (
    GroupMetric,
    PooledMetric,
    CatalogueMetric,
    SampledMetric,
)  # in the order of the page

INTRODUCTION = """\
# Definitions

What every metric of sparkrank means, where libraries mean different things by one name, and what each of them takes.
This page is printed by `python -m docs.printers`, and sparkrank computes its values when it is printed.

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
on three days is ranked three times and counts three times in the means. Pooled metrics are those of all rows of the
window. [Decision 30](decisions/030-days-merge-as-tables.md) says what is pooled and what is refused.

`median(ndcg@10)` and `p90(ndcg@10)` are quantiles of the values of groups, interpolated linearly. Each group counts
once, so a metric whose groups weigh has none: `median(group_auc)`, not `median(gauc)`. They are exact up to 65,536
distinct values and have an error bound beyond; see
[decision 25](decisions/025-the-text-of-a-metric-is-its-identity.md).

`gmean(ap)` is the geometric mean of the values of groups, exp(Σ w·log(max(v, 1e-5)) / Σ w), where a group weighs what
it weighs in the mean: trec_eval's `gm_map`, and `gmean(bpref)` its `gm_bpref` (both are names here). Of the values 1,
1/2 and 0 it is (1 · 1/2 · 1e-5)^(1/3) = 0.0171, and their mean is 1/2: it says how the worst groups fare, and what it
says of zeros is a matter of the 1e-5. It merges as a mean does. Its interval is that of the mean logarithm
(`interval` says `log`), and models are compared by parts. A metric with values below 0 has none."""

CHOICES = """\
## Where the words leave a choice

Counting:

- `n_groups` counts all groups of the model, `n_undefined` those where the metric is undefined. Under `undefined=skip`
  the mean is over the difference.
- A group without a scored row has an empty list: `ndcg`, `ap` and `r` are 0 if it has relevant rows, and `p` is 0.
  Under `unretrieved=skip` it is left out of that model's means.
- Group keys may be of any plain type. A null or NaN in a key makes a bad row.
- The catalogue of `coverage` and `gini` is the set of distinct items of the rows evaluated, listed or not, or `items=`
  where that is more. `unjudged=drop` takes unjudged rows out of it. `gini`, `entropy` and `novelty` take expected
  exposures where k cuts tied rows; `coverage@k` and `personalization@k` refuse `ties=expected`.
- `personalization` is over all groups that are evaluated, and a list counts an item once. An empty list shares nothing
  with others, and the places that a short list leaves empty count as what no other list has: a warning says how many
  lists are shorter than k. Of full lists it is one less the mean cosine of two lists, as evidently and jurity have it,
  from counts of items instead of pairs of lists. Of lists of different lengths these divide by √(|A|·|B|) instead.
- `entropy` is in bits. RecBole takes natural logarithms and divides by the number of items shown, so that its value
  falls where more items are shown: of two items shown equally often it is ln(2) / 2, and of four ln(4) / 4, the same.
- `entropy(by=genre)` is that of the values in a list, a mean over lists: another metric, `category_entropy`.
- `novelty` is two metrics: with `of=users` or `of=rows` one of groups, without one of all lists. So is `serendipity`,
  which compares two lists, or with `of=rows` a list with what is popular. Recommenders gives items that its log lacks 0
  bits; here nobody had them, and they count as if one had. RePlay's `Surprisal@k` divides by k where a list is shorter;
  here by its rows.
- `serendipity(of=rows)` takes `over=retrieved` as RecTools computes it; RecTools' page says k. With p_i - u_i =
  (r_i - i) / N a relevant row counts by how many places its position is above its rank by popularity. Under
  `ties=expected` a tied row counts the mean over the positions of its block. Ranks beyond N + 1, where the catalog has
  fewer items than were had, count as N + 1.
- `serendipity` is a share of the list. Evidently's is 1 - Σ similarity / items of the history, summed over the relevant
  rows without division: of one such row that is like all of the history it is 0, and of four -3.
- `new@k` divides by k. The page of RePlay's Novelty says so too, while its code divides by the rows of a list that is
  shorter: `over=retrieved`.
- `category_entropy` is that of the counts. LensKit adds a millionth of a row to each category, shown or not: of five
  rows of one category out of four it has 0.000014 bits instead of 0. Its ExposureGini keeps exposures as float32.
- A row with a null in a column that `distinct`, `category_entropy` or `ild` reads is left out, and `quality` counts it:
  of jazz, null and rock, `ild` has one pair. Where k cuts tied rows, `ild` is the mean over their orders that leave a
  pair: of a row above and two of three tied rows, each of the three pairs inside the block has the chance 2·1 / (3·2).
- `alpha_ndcg` and `strecall` read relevance by subtopic: a relevant row is relevant to the subtopics in its array. The
  list a+b, b and c, all relevant, has 2 + 1/2 / log2(3) + 1 / log2(4); the greedy list takes c before b. It is made of
  all relevant rows of the group, listed or not, and of equal rows it takes that with the greater item, as ndeval does:
  rows that are equal now may lead to different gains later. The greedy list is not always the best one, so a list may
  have more than 1, which `quality` counts. ndeval adds up rounded (1-alpha)^c in the order of the subtopics, so that
  equal rows may differ in the last bit for it (not with alpha=0.5), and it compares 20 rows at most. Under `ties=block`
  rows of a tie stand at one position, in any order. Beside a truth subtopics are a column of the catalog.

Scores and labels:

- `group_auc`, `gauc` and `auc` are over rows with a score. A judged row that was not retrieved stands in no pair.
- A NaN score makes a bad row, because null is what says "not retrieved". In pandas NaN stands for null as well: there
  it is read as null, in any role and container. Where a null is no bad row, `quality` and a warning count them.
- A null label counts as not relevant, here as in the ideal list. Under `unjudged=drop` the row goes before positions
  are given. `quality` counts such rows.
- A label below 0 has gain 0 and is not relevant. In `bpref` and `infap` it is not judged, as in trec_eval.
- A threshold is compared as float64 with the score as it came: 0.1 stored as float32 is above 0.1. So is `rel=` with
  the label: 0.7 stored as float32 is below 0.7.
- Whole numbers are ordered as float64. Beyond 2^53, as instants in nanoseconds, scores, ranks and labels may tie.

Ties and two orders:

- Two orders are compared over the rows that have both: a score, and a label, a rank or another model's score. `rbo`
  alone takes both lists whole, because it is about items that one of them lacks.
- `kendall_tau` and `spearman` have rules of their own for tied scores (tau-b and tau-c; mid-ranks), as has `rbo`, and
  `ties` does not touch them. In `kendall_distance` and `pair_auc` a pair that the score ties counts 1/2, which is also
  its mean over all orders. A pair that the reference ties is never in the wrong order: so a perfect ranking of clicks
  has distance 0.
- `overlap`, `unexpected` and `serendipity` take both lists whole, each cut at k. Under `ties=expected` each is its mean
  over the orders of the tied rows of both lists, one independent of the other, so a list with tied rows at k does not
  wholly overlap with itself. `over=union` is a quotient of counts and needs an order. Rows that an order leaves tied,
  as those of equal label under `ties=worst`, share the places that are left.
- `awrf` and `exposure_gap` compare shares of attention, E, with what is due, T. Rows without a value are left out of
  both. `awrf` takes the distance of each list and then the mean; `exposure_gap` adds up the attention of all lists
  first, so lists may make up for each other, and tied rows share their positions. `against=relevant` counts relevant
  rows as R does, an item once (once for each of its values); relevant rows of a truth that are in no list have a
  value only if it is one of the catalog. `js` is the divergence of base 2 from 0 to 1, and not its root. The gap of
  few rows is above 0 even where nobody is preferred, as chance moves shares apart: compare gaps of as many rows. Over
  several days the items of each day's catalog count, or the rows of each day's interactions: items that the catalog
  lacks, or whose value is null, have no part in either.
- `fitness` is Σ w / (alpha·(|p-q| + 1) + (1-alpha)·p) over its value for p = q, where p is a row's position by score
  and q by reference. Where the reference ties, q follows the score, so that a perfect ranking has 1. Under
  `ties=expected` a row that the reference ties with no other of its tie block stands at each position of the block
  alike. Sums of 1/(a·p + b) are then differences of digamma functions, which sparkrank takes from their series, so that
  workers need not load scipy. Rows that both orders tie change q with p; their chances are counted in as many passes as
  the block has rows, and more than 16,384 such rows are refused.
- `err`, `iprec` and `infap` have no simple mean over the orders of tied rows (a product, a maximum, a quotient) and
  refuse `ties=expected`. `bpref` has one: in a tie block with n rows judged not relevant, 0 to n of them stand above a
  relevant row, each number as likely.
- `hit(sampled=m,items=I)@k`, `r`, `rr` and `ndcg` are of lists of one relevant item and m others that were drawn at
  random from I items. The plain `hit@10` of such a list is another quantity. Among 10,000 items an item of rank 300 has
  about 3 of 100 sampled ones above it, is a hit in nearly each sample, and in the list of all items in none. To scale k
  does not help: the first of 101 stands for ranks 1 to 100 or so, so there is no k for `hit@10`. The estimate takes the
  ranks r of all groups together: P(r|R) is binomial, of r - 1 out of m at (R-1)/(I-1), and p_R is what 300 steps of EM
  make of the uniform distribution. With m = 1 and I = 3 the item of rank 1, 2 or 3 is above the other one with the
  chance 1, 1/2 or 0. Of two groups with r = 1 and r = 2, half and half, p stays 1/3, 1/3, 1/3, since each step
  multiplies p_R by Σ_r P(r|R)·(1/2) / (1/2) = 1: `hit@1` is 1/2 as it comes and 1/3 as estimated, `ndcg@2` is
  1/3 + 1/3 / log2(3). Ranks below I/m are hardly told apart: there p stays smooth, as it began, so that a model whose
  hits all stand at rank 1 is given less than it has. The interval knows of chance alone, not of this bias.
- `by=minimal_bias` is a mean over groups of what a sampled rank counts: f solves ((1-γ)·AᵀA + γ·diag(c)) f = Aᵀb over
  ranks that are all as likely. It may be below 0 or above 1, and is nearer to the value of uniform ranks than EM's.
- `iprec` at a level of recall begins at a hit that trec_eval's versions round differently; `round` names them.
- `arhr` is not `rr`. Where a user has one held-out item they agree. With more, texts on recommenders sum 1/position
  over every hit, and that is `arhr`.

Intervals:

- `stderr` of a mean is that of a ratio estimator, sqrt(Σ w²(v-m)² · n/(n-1)) / Σw with n = (Σw)² / Σw², the number of
  groups where all weigh the same; it has n - 1 degrees of freedom. A standard deviation below 1e-8 of the mean, or 3e-8
  where groups have weights, is 0, and one little above has few digits: squares of values are float64, though sums of
  them are exact. Pooled metrics, and windows, have the jackknife over parts of the groups
  ([uncertainty](uncertainty.md)).
- `ci_low` and `ci_high` are Student's t on the scale that suits the metric, which the column `interval` names: Wilson's
  interval of shares (`p r hit rprec`, `accuracy precision recall specificity fpr tpr`), also where all are 0 or all are
  1; the log odds of other metrics from 0 to 1; else the value itself, cut at the ends of its range. A standard error of
  0 gives no other interval, nor do fewer than two effective groups: `too few`.

Pooled metrics:

- They are over rows with a score, as `auc`. A weight multiplies the row in positives, negatives and sums; `n_rows`
  counts rows, and `weight` is the sum of their weights. Metrics of groups do not read these weights: where only such
  metrics are asked for, the column is refused.
- A row whose weight is null, NaN, negative, above 1e288, or above 0 and below 1e-15 is a bad row. Sums are exact down
  to 2^-85. What a row adds below that is lost, of the least weight 3e-11 of it; weights of 1e-24 would move `auc`.
  They are exact up to 2^79. Where weights add up to more than some 1e14, the last digits may depend on the number of
  buckets, and on whether there are compiled loops.
- It is the same for sums over scores. In `ece`, `brier` and `logloss`, which are means of what is compared with 1,
  nobody can see it. `copc` has the sum of the predictions below it, and is undefined where that is below 2^-55 a row.
  Labels are compared, or are gains of groups, whose squares have the same units: under `dcg` and `cg` a label above 0
  and below 1e-6 is a bad row. `ndcg`, a quotient of each group in float64, takes it.
- One class only leaves `auc`, `auc_up`, `ks` and `ne` undefined; `pr_auc` and `bep` are undefined without positives.
  `logloss` and `brier` are means over rows and need no second class.
- A score outside [0, 1] is no probability: `logloss`, `ne`, `brier`, `ece` and `copc` are undefined, and `quality`
  counts the rows. This cannot be known before the pass: a column of whole numbers may hold 0 and 1.
- `logloss` clips as scikit-learn does, to the eps of the float type in which the scores came: 2^-52 or 2^-23.
- `ece` has 15 bins of equal width, as Guo et al. and torchmetrics have; each bin includes its lower edge, and the last
  includes both."""

SHARED = """\
## Parameters of every metric of groups

Beside those of its own, each metric of groups takes `ties` and `weight`. Metrics over lists take `ties`; the others
take neither. Every metric that reads labels takes `label` and `among`."""

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
        [
            INTRODUCTION,
            TRAPS_HEAD,
            *_traps(),
            *_libraries(),
            CHOICES,
            *_names(),
            MERGING,
            *_shared(),
            *_declarations(),
        ]
    )


def _shared() -> Iterator[str]:
    yield SHARED
    yield "\n".join(f"- {parameter_markdown(each)}" for each in (*OF_LISTS_WITH_BEST, *OF_LABELS))
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
    yield markdown_table(Impression._fields, ([_shown(value) for value in row] for row in INPUT))
    yield from map(trap_markdown, (*METRIC_TRAPS, *SETTING_TRAPS))
    yield slice_markdown()
    yield label_markdown()
    yield checked_markdown()
    yield popularity_markdown()
    yield ild_markdown()
    yield propensity_markdown()
    yield field_markdown()


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
    for kind in KINDS:
        yield f"## {kind.heading}"
        yield kind.about
        yield from (declaration_markdown(each) for each in CATALOG.values() if each.heading == kind.heading)
