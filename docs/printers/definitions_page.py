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
from docs.printers.sampled_trap import sampled_markdown
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

What every metric of sparkrank means, where libraries compute different things under one name, and which definition each
library uses. `python -m docs.printers` prints this page, and computes its values with sparkrank.

`i` is the position from 1, `k` the cut-off, `R` and `N` are the relevant and non-relevant rows of a group (or of the
day), `g_i` is the gain at position `i`. A row without a score is a judged item that is not in the list: it counts in
`R` and in the ideal list only. A metric is written `name(parameter=value)@k`; a parameter that is left out has its
default."""

TRAPS_HEAD = """\
## Where definitions part

One input, and the value that each definition gives on it. A row without a score is an item that is not in the list.
Unless a table says otherwise, `ties=expected` and `undefined=skip`. The last column of a table says where the
definition is the default: `default` is sparkrank's own, which also holds under each preset that no other row names."""

LIBRARIES_HEAD = """\
## Who uses which

A preset (`definitions.preset` in a spec, `preset=` in Python) sets the definitions of another library, so that the same
text of a metric gives the library's number. A parameter in the text of a metric, or a setting that is given, overrides
the preset. Words in bold are set by the preset; the others are sparkrank's defaults. The list below each preset says
what the preset does not reproduce, and which text to write instead."""

MERGING = """\
## Several days, and quantiles

A window of days is evaluated from the states of its days. Its groups are the pairs of a group and a day: a user with
lists on three days counts three times in the means. Pooled metrics are over all rows of the window. [Decision
30](decisions/030-days-merge-as-tables.md) says what is pooled and what is refused.

`median(ndcg@10)` and `p90(ndcg@10)` are quantiles of the values of groups, interpolated linearly. Each group counts
once, so a metric whose groups have weights has no quantiles: `median(group_auc)`, not `median(gauc)`. Quantiles are
exact up to 65,536 distinct values; with more they have an error bound: see [decision
25](decisions/025-the-text-of-a-metric-is-its-identity.md).

`gmean(ap)` is the geometric mean of the values of groups, exp(Σ w·log(max(v, 1e-5)) / Σ w), where w are the weights of
groups in the mean: trec_eval's `gm_map`, and `gmean(bpref)` its `gm_bpref` (both are names here). Of the values 1, 1/2
and 0 it is (1 · 1/2 · 1e-5)^(1/3) = 0.0171, and their mean is 1/2: it shows how the worst groups do, and the 1e-5 alone
decides how far a zero pulls it down. It merges over days as a mean does. Its interval is that of the mean logarithm
(`interval` says `log`), and models are compared by parts of the groups. A metric that can be below 0 has no geometric
mean."""

CHOICES = """\
## Where the words leave a choice

Counting:

- `n_groups` counts all groups of the model, `n_undefined` those where the metric is undefined. Under `undefined=skip`
  the mean is over the other `n_groups - n_undefined` groups.
- A group without a scored row has an empty list: `ndcg`, `ap` and `r` are 0 if it has relevant rows, and `p` is 0.
  Under `unretrieved=skip` the group is left out of that model's means.
- Group keys may be of any plain type. A row with a null or NaN in a key is a bad row.
- The catalogue of `coverage` and `gini` is the set of distinct items of the rows evaluated, in a list or not; `items=`
  gives its size if that is more, and a [catalog](inputs.md#values-of-rows-and-of-items) adds its own.
  `unjudged=drop` takes unjudged rows out of it. Where k cuts tied rows, `gini`, `entropy` and `novelty` use expected
  exposures; `coverage@k` and `personalization@k` refuse `ties=expected`.
- `personalization` is over all groups that are evaluated, and a list counts an item once. An empty list shares no item
  with others, and the empty places of a list shorter than k count as items that no other list has: a warning says how
  many lists are shorter than k. If all lists are full, it is 1 minus the mean cosine of two lists, the value of
  evidently and jurity, but computed from counts of items instead of pairs of lists. For lists of different lengths
  these two divide by √(|A|·|B|) instead.
- `entropy` is in bits. RecBole uses natural logarithms and divides by the number of items shown, so its value does not
  grow as more items are shown: for two items shown equally often it is ln(2) / 2, and for four ln(4) / 4, which is the
  same number.
- `entropy(by=genre)`, the entropy of the values in a list, is another metric: `category_entropy`, a mean over lists.
- `novelty` is two metrics: with `of=users` or `of=rows` a mean over groups, without `of` a metric of all lists
  together. `serendipity` is two metrics as well: it compares two lists, or with `of=rows` a list with what is popular.
  RePlay's `Surprisal@k` divides by k even if a list is shorter: `over=k`. Recommenders gives 0 bits to items that are
  not in its log, as if everybody had had what nobody knows. Here such an item counts as if one user had had it, and no
  parameter says otherwise.
- `serendipity(of=rows)` divides by k, as RecTools' page says; its code divides by the rows of the list if that is
  shorter: `over=retrieved`, which preset `rectools` writes. Since p_i - u_i = (r_i - i) / N, a relevant row counts the
  number of places by which its position is above its rank by popularity. Under `ties=expected` a tied row counts the
  mean over the positions of its block. If the catalog has fewer items than the interactions, ranks beyond N + 1 count
  as N + 1.
- `serendipity` is a share of the list. Evidently's is 1 - Σ similarity / items of the history, where the sum over the
  relevant rows is not divided: for one relevant row that is equal to the whole history it is 0, and for four such rows
  -3.
- `new@k` divides by k. The page of RePlay's Novelty says the same, but its code divides by the rows of the list if that
  is shorter: `over=retrieved`.
- `category_entropy` is computed from the counts alone. LensKit adds a millionth of a row to each category, shown or
  not: for five rows of one category out of four its value is 0.000014 bits instead of 0. LensKit's ExposureGini keeps
  exposures as float32.
- A row with a null in a column that `distinct`, `category_entropy` or `ild` reads is left out, and `quality` counts it:
  `ild` of jazz, null and rock has one pair. Where k cuts tied rows, `ild` is the mean over those orders of the tied
  rows that leave at least one pair in the list. Example: one row above three tied rows, of which k takes two. Each of
  the three pairs inside the block is in the list with probability 2·1 / (3·2).
- `alpha_ndcg` and `strecall` read relevance by subtopic: a relevant row is relevant to the subtopics in its array.
  Example: the relevant rows a+b, b and c have 2 + 1/2 / log2(3) + 1 / log2(4) in this order; the greedy list has c
  before b. The greedy list is made of all relevant rows of the group, in the list or not. Of rows with equal gain it
  takes the one with the greater item, as ndeval does; the choice matters, because rows with equal gain now may lead to
  different gains later. The greedy list is not always the best one, so a list may have a value above 1; `quality`
  counts such lists. ndeval adds up rounded (1-alpha)^c in the order of the subtopics, so that rows of equal gain may
  differ in the last bit there (not with alpha=0.5), and it compares 20 rows at most. Under `ties=block` rows of a tie
  stand at one position, in any order. If the truth is a table of its own, the subtopics are a column of the catalog.

Scores and labels:

- `group_auc`, `gauc` and `auc` are over rows with a score. A judged row that was not retrieved is in no pair.
- A row with a NaN score is a bad row, because "not retrieved" is written as null. pandas writes null as NaN too: in its
  tables NaN is read as null, in any role and container. Where rows with a null are not bad rows, `quality` and a
  warning count them.
- A null label counts as not relevant, in the list and in the ideal list. Under `unjudged=drop` the row is dropped
  before positions are given. `quality` counts such rows.
- A label below 0 has gain 0 and is not relevant. In `bpref` and `infap` it is not judged, as in trec_eval.
- A threshold is compared in float64 with the score as stored: 0.1 stored as float32 is above 0.1. In the same way
  `rel=` is compared with the label: 0.7 stored as float32 is below 0.7.
- The threshold that `recall(at_precision=)`, `precision(at_recall=)` and `tpr(at_fpr=)` find is in the table
  [`curves`](tables.md#curves), with the point of the curve.
- Whole numbers are ordered as float64. Different scores, ranks or labels beyond 2^53, such as instants in nanoseconds,
  may therefore tie.

Ties and two orders:

- Two orders are compared over the rows that have both: a score, and a label, a rank or another model's score. Only
  `rbo` takes both lists whole, because it is also about items that only one of them has.
- `kendall_tau` and `spearman` have rules of their own for tied scores (tau-b and tau-c; mid-ranks), as has `rbo`; the
  setting `ties` does not change them. In `kendall_distance` and `pair_auc` a pair with tied scores counts 1/2, which is
  also its mean over all orders. A pair that is tied in the reference is never in the wrong order, so a perfect ranking
  of clicks has distance 0.
- `overlap`, `unexpected` and `serendipity` take both lists whole, each cut at k. Under `ties=expected` each is its mean
  over the orders of the tied rows of both lists, one independent of the other, so a list with tied rows at k does not
  wholly overlap with itself. `over=union` is a quotient of counts and needs an order of tied rows. Rows that are tied
  even after that, such as rows of equal label under `ties=worst`, share their positions evenly.
- `awrf` and `exposure_gap` compare E, the shares of attention that values get, with T, the shares that they are due.
  Rows without a value are left out of both. `awrf` is the mean over lists of each list's distance; `exposure_gap` adds
  up the attention of all lists first, so one list may compensate for another, and tied rows share their positions.
  `against=relevant` counts relevant rows as R does, an item once (once for each of its values); relevant rows of the
  truth that are in no list have a value only if the column is one of the catalog. `js` is the divergence (base 2, from
  0 to 1), not its square root. With few rows the gap is above 0 even if no value is preferred, because shares differ by
  chance: compare gaps only between equal numbers of rows. Over several days the items of each day's catalog count, or
  the rows of each day's interactions; items that are not in the catalog, or whose value is null, count in neither.
- `fitness` is Σ w / (alpha·(|p-q| + 1) + (1-alpha)·p) divided by its value for p = q, where p is a row's position by
  score and q its position by reference. Among rows that are tied in the reference q follows the score, so a perfect
  ranking has 1. Under `ties=expected` a row with a tied score, whose reference differs from that of all other rows of
  the tie block, is at each position of the block with equal probability. The sums of 1/(a·p + b) are then differences
  of digamma functions, which sparkrank computes from their series, so that workers need not load scipy. For rows that
  are tied in both orders q changes with p; their probabilities are counted in as many passes as the block has rows, and
  more than 16,384 such rows are refused.
- `err`, `iprec` and `infap` have no simple mean over the orders of tied rows (a product, a maximum, a quotient) and
  refuse `ties=expected`. `bpref` has one: in a tie block with n rows judged not relevant, 0 to n of them are above a
  relevant row, each number with equal probability.
- `hit(sampled=m,items=I)@k`, `r`, `rr` and `ndcg` are for lists of one relevant item and m others that were drawn at
  random from I items. The plain `hit@10` of such a list is another quantity: an item of rank 300 among 10,000 items has
  about 3 of 100 sampled ones above it and is a hit in nearly every sample, but never in the list of all items. Another
  k does not help: the first place of 101 corresponds to ranks 1 to 100 or so, so no k of the sample gives the `hit@10`
  of all items. The estimate uses the ranks r of all groups together: P(r|R) is the binomial probability of r - 1 out of
  m at (R-1)/(I-1), and p_R is the distribution after 300 steps of EM from the uniform one
  ([an example](#hits-among-sampled-candidates)). The sample hardly distinguishes ranks below I/m: there p stays as
  smooth as it began, so the estimate is too low for a model whose hits are all at rank 1. The interval covers chance
  only, not this bias.
- `by=minimal_bias` is the mean over groups of f(sampled rank), where f solves ((1-γ)·AᵀA + γ·diag(c)) f = Aᵀb for ranks
  that are all equally likely. It may be below 0 or above 1, and is nearer than EM's estimate to the value of uniform
  ranks.
- `iprec` at a level of recall starts at a hit whose number is rounded; versions of trec_eval round differently, and
  `round` chooses.
- `arhr` is not `rr`. They are equal if each user has one held-out item. With more items, papers on recommenders sum
  1/position over every hit, and that is `arhr`.

Intervals:

- `stderr` of a mean is that of a ratio estimator, sqrt(Σ w²(v-m)² · n/(n-1)) / Σw with n = (Σw)² / Σw², which is the
  number of groups if all have the same weight; it has n - 1 degrees of freedom. A standard deviation below 1e-8 of the
  mean (3e-8 if groups have weights) is given as 0, and one little above that has few correct digits: sums are exact,
  but the squares of values that they add are float64. Pooled metrics, and windows, use the jackknife over parts of the
  groups ([uncertainty](uncertainty.md)).
- `ci_low` and `ci_high` are Student's t on the scale that suits the metric, which the column `interval` names: Wilson's
  interval of shares (`p r hit rprec`, `accuracy precision recall specificity fpr tpr`), also where all are 0 or all are
  1; the log odds of other metrics from 0 to 1; else the value itself, cut at the ends of its range. Outside of Wilson's
  interval, a standard error of 0 gives no interval. Fewer than two effective groups give none either: `interval` says
  `too few`.

Pooled metrics:

- They are over rows with a score. A weight multiplies the row in positives, negatives and sums; `n_rows` counts rows,
  and `weight` is the sum of their weights. Metrics of groups do not read these weights: if there are only such metrics,
  the column is refused.
- A row whose weight is null, NaN, negative, above 1e288, or above 0 and below 1e-15 is a bad row. Sums are exact down
  to 2^-85. The part of a row's weight below that is lost: of the least weight a fraction of 3e-11. Weights of 1e-24
  would change `auc`, and are therefore refused. Sums are exact up to 2^79. If weights add up to more than some 1e14,
  the last digits may depend on the number of buckets, and on whether the compiled loops are used.
- Sums over scores are exact down to 2^-85 too. In `ece`, `brier` and `logloss`, whose values are compared with 1, the
  loss cannot be seen. `copc` divides by the sum of the predictions, and is undefined if that is below 2^-55 per row.
  Labels are only compared, or are gains in metrics of groups, whose squares are summed down to 2^-85 as well: with
  `dcg` or `cg`, a row with a label above 0 and below 1e-6 is a bad row. `ndcg`, a quotient of each group in float64,
  accepts it.
- If there is one class only, `auc`, `auc_up`, `ks` and `ne` are undefined; `pr_auc` and `bep` are undefined without
  positives. `logloss` and `brier` are means over rows and need no second class.
- A score outside [0, 1] is no probability: `logloss`, `ne`, `brier`, `ece`, `copc` and `value` are undefined, and
  `quality` counts the rows. Only the pass over the rows can find such scores: a column of whole numbers may hold 0
  and 1.
- `logloss` clips as scikit-learn does, at the eps of the float type of the scores: 2^-52 or 2^-23.
- `ece` has 15 bins of equal width by default, as Guo et al. and torchmetrics do; each bin includes its lower edge, and
  the last one includes both."""

SHARED = """\
## Parameters of every metric of groups

In addition to its own parameters, each metric of groups takes `ties` and `weight`. Metrics over lists take `ties`; the
others take neither. Every metric that reads labels takes `label` and `among`."""

SHARED_TAIL = """\
So one evaluation may have `err(ties=item)@10` together with metrics under `ties=expected`. A `ties` equal to that of
the evaluation is left out of the metric's text, and the column `definition` says which rule holds.
`ndcg(weight=revenue)@10` is Σ w·v / Σ w over the groups where it is defined. The weight w comes from the column
`revenue` of the input (of the lists, if the truth is a table of its own). All rows of a group have the same weight
there: 0, or a number from 1e-6 to 1e9. A group without such a weight is rejected, as bad rows are."""

NAMES_HEAD = """\
## Names of other programs

Names of other programs are read in upper or lower case, with hyphens or underscores, and with the cut-off after the
name as trec_eval and others print it: `P_10`, `ndcg_cut_10`, `ndcg_at_10`, `rbp.80`. Some names set parameters."""

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
    yield sampled_markdown()
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
