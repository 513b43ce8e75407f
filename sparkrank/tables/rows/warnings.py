"""Warnings: messages about results that probably come from unsuitable input. A warning never stops a run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import CodedSentence
from sparkrank.metrics import Plan
from sparkrank.metrics.checked_metric import LEAST_CHECKED
from sparkrank.metrics.labels import level_text
from sparkrank.metrics.merged import Merged
from sparkrank.metrics.role_reasons import label_reason
from sparkrank.metrics.slices import ALL, OTHER
from sparkrank.ranking.value_columns import CATALOG
from sparkrank.states import Partials
from sparkrank.states.distinct_items import distinct_items
from sparkrank.states.keys import StateKey, Subject
from sparkrank.states.unmatched import IRRELEVANT, LISTS, TRUTH, Unmatched, UnmatchedRow
from sparkrank.tables.rows.exposures import MOST_VALUES
from sparkrank.tables.rows.weight_checks import warnings_of_weights

# The number of letters shown at the two ends of a long key, where a blank or a suffix may explain a mismatch.
FIRST_LETTERS, LAST_LETTERS = 40, 16
MOST_OF_ONE = 0.05  # the largest share of the rows, or of the weight, in one group that causes no warning
FEW_GROUPS = 30  # effective groups: with fewer, intervals of skewed values undercover
MOST_NAMED = 6
_IN_LISTS, _IN_TRUTH = "the lists have", "the truth has"  # the beginning of an example
HARDLY = 0.02  # the share of a model's rows that are in the truth, relative to the model with the largest share


def warnings_of(partials: Partials, plan: Plan, metrics: pa.Table, limits: checks.Limits) -> list[CodedSentence]:
    """Return the warnings about a day or a window, from its states and from its table ``metrics``."""
    sentences = [
        *_of_pandas(partials),
        *_unmatched(partials, plan, limits),
        *_strangers(partials, plan),
        *_past_of_others(partials, plan),
        *_unknown_items(partials),
        *_missing(partials, plan),
        *_ordered(partials, plan),
        *_short(partials, plan),
        *_pooled_values(partials, plan),
        *warnings_of_weights(partials, plan, limits),
        *_few_checked(partials, plan),
        *_undefined(metrics, plan),
        *(_large_group(partials) if plan.has_parts else ()),
        *(_few_groups(metrics) if plan.has_parts else ()),
    ]
    return [sentence.capitalized() for sentence in sentences]


_OF_PANDAS = {
    checks.NAN_OF_PANDAS: ("scores", "not retrieved"),
    checks.NAN_RATINGS: ("ratings", "none: their items stand last"),
    checks.NAN_LABELS: ("labels", "not judged"),
    checks.NAN_REFERENCE_OF_PANDAS: ("reference ranks", "none"),
}


def _of_pandas(partials: Partials) -> Iterator[CodedSentence]:
    """Warn that NaN in pandas data was taken as null, because pandas does not distinguish the two."""
    for (check, model), count in partials.counts.items():
        if count and check in _OF_PANDAS:
            what, taken_as = _OF_PANDAS[check]
            whose = f" of {as_shown(model)}" if model else ""
            yield CodedSentence(
                "nan_of_pandas", f"in pandas NaN means null: {count:,} in the {what}{whose}, taken as {taken_as}"
            )


def _unmatched(partials: Partials, plan: Plan, limits: checks.Limits) -> Iterator[CodedSentence]:
    """Warn if few or no truth items are in any list, for the first relevance level with this problem.

    If the truth has relevant items, only these are counted, because irrelevant items are often in no list. If all items
    were counted, a single irrelevant item in a list would hide that all relevant items are missing.
    """
    counts = partials.counts
    unlisted = _count(counts, checks.TRUTH_UNLISTED)
    whole = unlisted + _count(counts, checks.TRUTH_LISTED)
    limit = limits.by_check.get(checks.TRUTH_UNLISTED, unlisted_limit(partials))
    shares: list[tuple[tuple[str, str], int, int, float]] = []
    for level in map(level_text, plan.levels):
        total, check = _count(counts, checks.relevant_truth(level)), checks.relevant_unlisted(level)
        if total:
            named = ("truth", "items") if total == whole else ("relevant truth", f"items with {level}")
            shares.append((named, _count(counts, check), total, limits.by_check.get(check, limit)))
    for (what, items), missing, total, most in shares or [(("truth", "items"), unlisted, whole, limit)]:
        if not missing or (missing < total and missing <= most * total):
            continue
        sentence = f"no {what} is found in any list (none of {total:,} {items})"
        if missing < total:
            sentence = f"most of the {what} is in no list ({missing:,} of {total:,} {items}, {missing / total:.2%})"
        example = example_text(partials.unmatched, plan)
        yield CodedSentence("truth_in_no_list", f"{sentence}{': ' if example else ''}{example}")
        return


def unlisted_limit(partials: Partials) -> float:
    """Return the largest share of truth items outside all lists that is not suspicious.

    Above this share, the lists contain few of the truth's items, hardly more than random lists would. The share is 1
    for a window, where distinct items are not counted.
    """
    room, pairs = (_count(partials.counts, check) for check in (checks.TRUTH_ROOM, checks.TRUTH_PAIRS))
    whole = sum(_count(partials.counts, check) for check in (checks.TRUTH_LISTED, checks.TRUTH_UNLISTED))
    if not partials.item_hashes or not whole:
        return 1.0
    by_chance = pairs / distinct_items(partials.item_hashes)
    more = min(checks.TIMES_CHANCE * by_chance, by_chance + checks.OF_THE_ROOM * max(room - by_chance, 0.0))
    return max(checks.MOST_UNLISTED, 1 - more / whole)


def _count(counts: Mapping[tuple[str, str], int], check: str, model: str = "") -> int:
    return counts.get((check, model), 0)


def _strangers(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of models with hardly any row in the truth, if another model has many: their item spellings may differ."""
    counts = partials.counts
    counted = {
        model: (_count(counts, checks.ROWS_IN_TRUTH, model), _count(counts, checks.SCORED_ROWS, model))
        for model in plan.models
    }
    shares = {model: there / scored for model, (there, scored) in counted.items() if scored}
    best = max(shares, key=lambda model: shares[model], default=None)
    for model, share in shares.items():
        if best is not None and shares[best] and share <= HARDLY * shares[best]:
            (there, scored), (of_best, scored_best) = counted[model], counted[best]
            how_many = f"{there:,} of the {scored:,} rows" if there else f"none of the {scored:,} rows"
            yield CodedSentence(
                "model_hardly_in_truth",
                f"{how_many} with a score of {as_shown(model)} {'are' if there > 1 else 'is'} in the truth, while of "
                f"{as_shown(best)} {of_best:,} of {scored_best:,} are: are its items written as those of the truth?",
            )


def example_text(unmatched: Unmatched, plan: Plan) -> str:
    """Return a text on an unmatched row of the lists and one of the truth, spelled as read; empty without such rows."""

    def key(row: UnmatchedRow) -> str:
        return key_text((*plan.keys[: len(row.group)], plan.item or "item"), (*row.group, row.item))

    sides = {LISTS: f"{_IN_LISTS} {{}}, which the truth does not have", TRUTH: f"{_IN_TRUTH} {{}}, which no list has"}
    shown = {TRUTH: unmatched[IRRELEVANT], **unmatched} if IRRELEVANT in unmatched else unmatched
    return "; ".join(words.format(key(shown[side])) for side, words in sides.items() if side in shown)


def without_example(sentence: str) -> str:
    """Return the warning ``sentence`` without the rows of single groups from :func:`example_text`.

    Examples
    --------
    >>> without_example('no truth is found in any list: the lists have user "anna", which the truth does not have')
    'no truth is found in any list'
    """
    return re.split(f": (?:{_IN_LISTS}|{_IN_TRUTH}) ", sentence, maxsplit=1)[0]


def key_text(columns: Sequence[str], values: Sequence[bytes]) -> str:
    """Return the ``values`` of the key ``columns`` as text: ``user "anna", query "7"``, or "" without values."""
    return ", ".join(f"{as_shown(name)} {quoted(text)}" for name, text in zip(columns, values, strict=False))


def quoted(text: bytes) -> str:
    """Return ``text`` decoded, escaped by :func:`as_shown`, and in double quotes."""
    return f'"{as_shown(text.decode(errors="backslashreplace"), also=chr(34))}"'


def as_shown(text: str, also: str = "") -> str:
    """Return ``text`` with invisible characters and the characters in ``also`` escaped. Long text is cut in the middle.

    Combining marks are escaped if Unicode has one character for a letter of the text with its mark.
    """
    if len(text) > FIRST_LETTERS + LAST_LETTERS + 1:
        text = f"{text[:FIRST_LETTERS]}…{text[-LAST_LETTERS:]}"
    composed = unicodedata.is_normalized("NFC", text)
    return "".join(
        f"\\{letter}"
        if letter in also or (also and letter == "\\")
        else letter.encode("unicode_escape").decode()
        if not letter.isprintable() or (unicodedata.combining(letter) and not composed)
        else letter
        for letter in text
    )


def _past_of_others(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of a table of the past that has no pair of any list. Its keys may be spelled differently."""
    counts = partials.counts
    for name in plan.past:
        read = _count(counts, checks.PAST_ROWS[name])
        listed = checks.EXCLUDED_ROWS if name == plan.exclude else checks.ROWS_IN_PAST
        if read and not _count(counts, listed) and not (name in plan.times and _count(counts, checks.LATE_PAST)):
            yield CodedSentence(
                "past_in_no_list",
                f"none of the {read:,} pairs of {name} is in a list: are its groups and items written as those of the "
                f"lists?",
            )


def _unknown_items(partials: Partials) -> Iterator[CodedSentence]:
    """Warn of a table of items that has no item of any list. Its items may be spelled differently."""
    counts = partials.counts
    listed = _count(counts, checks.ROWS_READ) - _count(counts, checks.TRUTH_ROWS)
    for name, check in checks.LACKING_ITEMS.items():
        read = _count(counts, checks.CATALOG_ITEMS if name == CATALOG else checks.PAST_ROWS[name])
        if read and listed and _count(counts, check) == listed:
            yield CodedSentence(
                "items_of_no_list",
                f"no item of the lists is in the {name}: are its items written as those of the lists?",
            )


def _missing(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn if every row lacks a label although a metric needs labels, and if every row lacks a score of some model."""
    counts = partials.counts
    unjudged, evaluated = (_count(counts, name) for name in (checks.UNJUDGED_ROWS, checks.ROWS_EVALUATED))
    if unjudged and unjudged == evaluated and label_reason(plan) is not None:
        yield CodedSentence("no_labels", "no row has a label: all count as not relevant")
    silent = [model for model in plan.models if counts.get((checks.SCORED_ROWS, model)) == 0]
    if silent:
        yield CodedSentence("no_scores", f"no row has a score of {_listed(silent)}: each of its lists is empty")


def _ordered(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn if the default order of tied rows decides metrics, with the number of lists of the most affected model."""
    groups, decided = _count(partials.counts, checks.GROUPS), []
    for metric in plan.ordered:
        check = checks.decided_by_ties(metric)
        lists, model = max((_count(partials.counts, check, model), model) for model in plan.models)
        if lists:
            decided.append(f"{metric} on {lists:,} of {groups:,} lists{_of(model, plan)}")
    if decided:
        how = "by item" if plan.order == "item" else "with relevant rows last" if plan.order == "worst" else plan.order
        yield CodedSentence(
            "ties_decide",
            f"no order of tied rows was asked for: they are ordered {how}, which decides {_first(decided)}",
        )


def _short(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of lists shorter than the cut-off of a metric that is about full lists, for the model with most of them."""
    groups = _count(partials.counts, checks.GROUPS)
    for metric, declared in plan.catalogue_metrics:
        if not declared.counts_lists or metric.k is None:
            continue
        check = checks.short_lists(metric.k)
        lists, model = max((_count(partials.counts, check, model), model) for model in plan.models)
        if lists:
            yield CodedSentence(
                "lists_shorter",
                f"{lists:,} of {groups:,} lists{_of(model, plan)} have fewer than {metric.k} rows: {metric} takes the "
                "rows that they lack for rows that no other list has",
            )


def _pooled_values(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of the values that the table ``exposures`` pools, for the model with most of them."""
    merged = Merged(partials)
    for metric, declared in plan.attention_metrics:
        subjects = ((model, Subject(model, ALL, ALL)) for model in plan.models)
        values, model = max((len(declared.amounts(merged, own, metric).values), model) for model, own in subjects)
        if values > MOST_VALUES:
            yield CodedSentence(
                "values_pooled",
                f"of the {values:,} values of {metric}{_of(model, plan)} the table exposures has the "
                f"{MOST_VALUES - 1:,} of most attention: it pools the others as {OTHER}",
            )


def _few_checked(partials: Partials, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of labels that cannot check another label, because too few groups have them in all rows."""
    for label in plan.checking_labels:
        metrics = [str(metric) for metric in plan.metrics if metric.checked_by == label]
        check = checks.checked_groups(label)
        groups, model = min((_count(partials.counts, check, model), model) for model in plan.models)
        if groups < LEAST_CHECKED:
            yield CodedSentence(
                "few_checked_groups",
                f"{groups:,} groups{_of(model, plan)} have the label {as_shown(label)} in all rows, and "
                f"{LEAST_CHECKED} are needed: undefined: {_listed(metrics)}",
            )


def _of(model: str, plan: Plan) -> str:
    return f" of {as_shown(model)}" if len(plan.models) > 1 else ""


def _undefined(metrics: pa.Table, plan: Plan) -> Iterator[CodedSentence]:
    """Warn of metrics that are undefined in every group or for the whole day, and name the models concerned."""
    averaged = pa.array([str(metric) for metric in plan.metrics if metric.is_over_groups], pa.string())
    # A metric of all rows is undefined once.
    once = pc.invert(pc.is_in(metrics["metric"], averaged))
    groups = pc.if_else(once, 1, metrics["n_groups"])
    everywhere = pc.and_(pc.equal(metrics["slice"], ALL), pc.equal(metrics["n_undefined"], groups))
    models_of: dict[str, list[str]] = {}
    for row in metrics.filter(everywhere).select(["model", "metric"]).to_pylist():
        models_of.setdefault(row["metric"], []).append(row["model"])
    by_models: dict[tuple[str, ...], list[str]] = {}
    for metric, undefined_models in models_of.items():
        by_models.setdefault(tuple(undefined_models), []).append(metric)
    counted = plan.definitions.counts_undefined_as
    of_groups = {str(metric) for metric, _ in plan.group_metrics}
    for models, names in by_models.items():
        as_value = counted is not None and not of_groups.isdisjoint(names)
        how = f", and counted as {counted:g} by undefined={plan.definitions.undefined}" if as_value else ""
        sentence = f"undefined in every group, or of the whole day: {_listed(names)} of {_listed(models)}{how}"
        yield CodedSentence("undefined_everywhere", sentence)


def _large_group(partials: Partials) -> Iterator[CodedSentence]:
    """Warn of a group that has more than 5% of the rows or of a metric's weight, and more than twice the average."""
    rows, groups = (_count(partials.counts, name) for name in (checks.ROWS_EVALUATED, checks.GROUPS))
    largest = partials.largest[0].rows if partials.largest else 0
    if largest > MOST_OF_ONE * rows and largest * groups > 2 * rows:
        yield CodedSentence(
            "large_group",
            f"the largest of {groups:,} groups has {largest / rows:.1%} of the rows ({largest:,} of {rows:,}): "
            "metrics of all rows depend on it",
        )
    for (metric, model), share in heaviest_shares(partials).items():
        if share.fraction is not None and share.fraction > MOST_OF_ONE and share.fraction * groups > 2:
            yield CodedSentence(
                "large_group",
                f"one of {groups:,} groups has {share.fraction:.1%} of the weight in {metric} of {as_shown(model)}",
            )


class WeightShare(NamedTuple):
    """The ``weight`` of one group in a mean, and its ``fraction`` of the total weight (None if the total is zero)."""

    weight: float
    fraction: float | None


def heaviest_shares(partials: Partials) -> dict[tuple[str, str], WeightShare]:
    """Return the largest weight that a single group has in each mean over the whole day, by metric and model."""
    means, shares = partials.means.results(), {}
    for (metric, model), weight in partials.heaviest.items():
        mean = means.get(StateKey(model, ALL, ALL, metric))
        shares[metric, model] = WeightShare(weight, weight / mean.weight if mean is not None and mean.weight else None)
    return shares


def _few_groups(metrics: pa.Table) -> Iterator[CodedSentence]:
    """Warn of metrics that depend on too few groups: name those of the whole day, and count those of slice values."""
    few_groups = pc.and_(pc.is_valid(metrics["interval"]), pc.less(metrics["n_effective"], FEW_GROUPS))
    few = metrics.filter(pc.fill_null(few_groups, fill_value=False))
    if not few.num_rows:
        return
    is_whole = pc.equal(few["slice"], ALL)
    whole, sliced = few.filter(is_whole), few.filter(pc.invert(is_whole))
    names_and_counts = []
    if whole.num_rows:
        names, least = [*dict.fromkeys(whole["metric"].to_pylist())], pc.min(whole["n_effective"]).as_py()
        names_and_counts.append(f"{_first(names)} ({least:.3g} at least)")
    of_values, of_all = (rows.group_by(["slice", "slice_value"]).aggregate([]) for rows in (sliced, metrics))
    for name in dict.fromkeys(of_values["slice"].to_pylist()):
        count, every = (pc.sum(pc.equal(values["slice"], name)).as_py() for values in (of_values, of_all))
        names_and_counts.append(f"metrics of {count:,} of the {every:,} values of {as_shown(name)}")
    yield CodedSentence(
        "few_groups", f"fewer than {FEW_GROUPS} effective groups stand behind {'; '.join(names_and_counts)}"
    )


def _first(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return _listed(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(as_shown, names))
