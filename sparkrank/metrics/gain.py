"""Declarations of metrics of graded relevance: cg, dcg, ndcg (Järvelin and Kekäläinen, TOIS 2002) and rbp."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sparkrank.base.errors import InputError, shorten
from sparkrank.metrics.arithmetic import IDEAL as IDEAL_LIST
from sparkrank.metrics.arithmetic import Arithmetic, Step, TermTable, at_k, list_table, spread, total, within
from sparkrank.metrics.arithmetic import ratio as quotient
from sparkrank.metrics.group_metric import GroupMetric
from sparkrank.metrics.metric import Metric, Unbounded
from sparkrank.metrics.parameters import OF_LISTS_WITH_BEST, UNJUDGED, Choice, Column, Number, Value, discount_of
from sparkrank.metrics.precision import REL, needs_cutoff, ratio
from sparkrank.numeric.array_types import Floats, Ints
from sparkrank.numeric.cached import cached
from sparkrank.numeric.elementary import powers
from sparkrank.numeric.segments import sum_by
from sparkrank.ranking.discounts import LOG2, TABLED_POSITIONS, Discount
from sparkrank.ranking.hit_sums import CompiledSums, Sum, compiled_sums, placed_hits
from sparkrank.ranking.hits import hits_of
from sparkrank.ranking.judgments import Credit, Gain
from sparkrank.ranking.ranking import Ranking


@cached
def gains_of(ranking: Ranking, gain: Gain) -> Credit:
    """Return the gain at the position of each hit.

    Under ``ties=expected``, the gain is the mean gain of the row's tie block.
    """
    if gain.clip is not None and (placed := placed_hits(ranking)) is not None:
        return Credit(placed.group, placed.position, ranking.judgments.gain_of(gain, placed.row))
    hits, blocks = hits_of(ranking, None), ranking.blocks
    amounts = ranking.judgments.gain_of(gain, ranking.row[hits.row])
    if not len(blocks.row):
        return Credit(hits.group, hits.position, amounts)
    tied, place = hits.tied()
    block = blocks.block[place]
    if not gain.grows_with_label:  # inside a block, rows are sorted by label at most
        amounts[tied] = amounts[tied][_order_in_blocks(ranking, amounts[tied], blocks.row[place], block)]
    if ranking.ties == "expected":
        amounts[tied] = (sum_by(block, amounts[tied], len(blocks.size)) / blocks.size)[block]
    return Credit(hits.group, hits.position, amounts)


def _order_in_blocks(ranking: Ranking, amounts: Floats, row: Ints, block: Ints) -> Ints:
    """Return the tied rows of each block sorted by gain: lowest first, or highest first under ``ties=best``.

    Under ``ties=item``, only rows of the same item are sorted. So gains do not depend on the order of the input.
    """
    items = []
    if ranking.ties == "item" and ranking.item_order is not None:
        items = [-ranking.item_order(ranking.row[row])]
    return np.lexsort((-amounts if ranking.ties == "best" else amounts, *items, block))


def cumulated_gain(credit: Credit, k: int | None, groups: int, discount: Discount | None = None) -> Floats:
    """Return the sum per group of the gains at positions up to ``k``, times ``discount`` if given; never NaN."""
    earned = credit if discount is None else _discounted(credit, discount)
    counted = earned if k is None else earned.within(k)
    return sum_by(counted.group, counted.amount, groups)


@cached
def _discounted(credit: Credit, discount: Discount) -> Credit:
    return replace(credit, amount=credit.amount * discount.at(credit.position))


class GainSums:
    """The sums of discounted gains over lists, and over the ideal lists of the same groups.

    Methods return a float64 array with one sum for each distinct list, or for each group if ``distinct`` is None.
    """

    def __init__(self, ranking: Ranking, gain: Gain, discount: Discount) -> None:
        self._ranking = ranking
        self._gain = gain
        self._discount = discount
        sums = self._compiled_sums(None)
        self.distinct = None if sums is None else sums.distinct
        self._count = ranking.groups if sums is None else len(sums.distinct.rows)

    def _compiled_sums(self, k: int | None) -> CompiledSums | None:
        if self._gain.clip is not None and placed_hits(self._ranking) is not None:
            return None  # of hits that are weighed, each list is one of its own
        return compiled_sums(self._ranking, self._gain.rel, k, self._gain, self._discount)

    def of_list(self, k: int | None) -> Floats:
        """Return the discounted gain of each list up to position ``k`` (None: the whole list)."""
        if (sums := self._compiled_sums(k)) is not None:
            return sums.sum(Sum.GAIN, k)
        return cumulated_gain(gains_of(self._ranking, self._gain), k, self._count, self._discount)

    def of_ideal(self, k: int | None, ideal: str | tuple[float, ...]) -> Floats:
        """Return the discounted gain of each ideal list up to position ``k``.

        ``ideal`` is the content of the ideal list: ``judged`` (all labels of the group), ``retrieved`` (the labels in
        the list), ``k_relevant`` (k items of gain 1), or a tuple of grades for every group.
        """
        if isinstance(ideal, tuple):
            best = np.sort(self._gain.of(np.asarray(ideal)))[::-1][:k]
            return np.full(self._count, float(np.cumsum(best * self._discount.table(len(best))[1 : len(best) + 1])[-1]))
        if ideal == "k_relevant":
            assert k is not None  # noqa: S101 - the metric's check refuses None
            return np.full(self._count, float(np.cumsum(self._discount.table(k)[1 : k + 1])[-1]))
        sums, judgments = self._compiled_sums(k), self._ranking.judgments
        if sums is not None and (ideal == "judged" or self._ranking.has_all_rows):
            return sums.sum(Sum.IDEAL, k)
        if sums is not None:  # groups that share a list have the same gains in it
            of_groups = cumulated_gain(
                self._ranking.retrieved_ideal(self._gain), k, self._ranking.groups, self._discount
            )
            of_lists = np.empty(self._count)
            of_lists[sums.distinct.code] = of_groups
            return of_lists
        if ideal == "judged" and (alike := judgments.equal_gain(self._gain)) is not None:
            return best_of_equal(alike, judgments.relevant(self._gain.rel), k, self._discount)
        credit = judgments.ideal(self._gain) if ideal == "judged" else self._ranking.retrieved_ideal(self._gain)
        return cumulated_gain(credit, k, self._count, self._discount)


@cached
def gain_sums(ranking: Ranking, gain: Gain, discount: Discount = LOG2) -> GainSums:
    return GainSums(ranking, gain, discount)


def best_of_equal(gain: float, rows: NDArray[np.integer], k: int | None, discount: Discount = LOG2) -> Floats:
    """Return the discounted gain up to ``k`` of each group's ideal list of ``rows`` rows with equal ``gain``."""
    longest = int(rows.max(initial=0))
    counted = rows if k is None else np.minimum(rows, k)
    through = np.zeros(longest + 1)
    np.cumsum(gain * discount.table(longest)[1 : longest + 1], out=through[1:])  # added in list order
    best: Floats = through[counted]
    return best


JARVELIN = "Järvelin, Kekäläinen: TOIS 2002"
# With gains of up to 2^400, sums over a list and their squares over all groups stay far below float64's 2^1024.
MOST_EXPONENT = 400
LEAST_GAIN = 1e-6  # the squares of smaller ones lose digits in the sums over groups
GAIN = Column(
    "gain",
    "linear",
    f"of a label: linear = itself; exp2 = 2^label - 1, of labels up to {MOST_EXPONENT}; binary = 1 if relevant; "
    "[0,1,3,7] = those of the labels 0, 1, 2, 3, which alone are taken; a label below 0 has gain 0; or of a relevant "
    "row: a column of numbers from 0, where a null is 0 and counted; cg and dcg, whose squares are added up, take 0 or "
    "labels and columns from 1e-6; others are rejected as bad rows are; or {click:1,pay:5} = click + 5·pay, of several "
    "labels",
    aliases=("dcg",),
    choices=("linear", "exp2", "binary"),
    synonyms=(("log2", "linear"), ("exp-log2", "exp2")),
    of_relevant=True,
    listed="gain",
    of_labels=True,
)
LEAST_GRADE = 1e-6  # grades divided by it are finite
MOST_GRADE = 1000.0  # 2^1024 would be too large for a float64
MOST_DISCOUNT = 1e6  # so that the squares of sums stay below float64's 2^1024
DISCOUNT = Choice(
    "discount",
    "log2",
    "of position i: log2 = 1/log2(i+1); zipf (or inverse) = 1/i; or one for each of the first positions, which do not "
    f"grow, the first above 0 and up to {MOST_DISCOUNT:.0f}, 0 beyond",
    later=True,
    choices=("log2", "zipf"),
    grades=True,
    synonyms=(("inverse", "zipf"),),
    noun="discount",
)
MAX_GRADE = Number(
    "max_grade",
    None,
    "with unjudged=best and gain=linear or exp2, the highest grade that a label can have, which rows without one then "
    "have; of listed gains it is the label of the highest",
    later=True,
    above=0.0,
    below=MOST_GRADE,
)
IDEAL = Choice(
    "ideal",
    "judged",
    "ideal list: judged = all labels of the group; retrieved = those in the list; k_relevant = k items of gain 1; "
    "or the grades of one list",
    choices=("judged", "retrieved", "k_relevant"),
    grades=True,
)


def _named_gain(metric: Metric) -> Gain:
    named = metric["gain"]
    if isinstance(named, tuple):
        return Gain("listed", listed=named)
    if metric.gain_columns:
        return Gain("column", column=metric.value_column("gain"))
    if str(named).startswith("{"):  # the label is the sum
        return Gain()
    return Gain(str(named), metric.rel)


def gain_of(ranking: Ranking, metric: Metric) -> Gain:
    return checked_gain(ranking, metric, _named_gain(metric))


def checked_gain(ranking: Ranking, metric: Metric, gain: Gain) -> Gain:
    """Return ``gain``. Raise :class:`InputError` if a label is too large for ``metric`` to add up such gains."""
    labels = ranking.judgments.labels
    highest = float(labels.max(initial=0)) if gain.kind in ("linear", "exp2") else 0.0
    if gain.kind == "exp2" and highest > MOST_EXPONENT:
        raise InputError(f"{shorten(metric)} makes 2^{highest:g} of a label: labels up to {MOST_EXPONENT} are allowed")
    if highest > 2.0**MOST_EXPONENT:
        raise InputError(
            f"{shorten(metric)} adds up labels, but the highest label is {highest:g}: labels up to 2^{MOST_EXPONENT} "
            "are allowed"
        )
    return gain


def _sums(ranking: Ranking, metric: Metric) -> GainSums:
    return gain_sums(ranking, gain_of(ranking, metric), _discount(metric))


def _discount(metric: Metric) -> Discount:
    return discount_of(metric["discount"])


def why_no_discounts(metric: Metric) -> str | None:
    """Return the reason why the listed discounts of ``metric`` are refused, or None.

    A list of discounts is refused if it begins with 0, contains a number below 0, or increases.
    """
    discounts = () if metric.name == "cg" else _discount(metric).listed
    if not discounts:
        return None
    if not 0 < discounts[0] <= MOST_DISCOUNT:
        allowed = f"one above 0 and up to {MOST_DISCOUNT:.0f} is allowed"
        return f"gives the first position a discount of {discounts[0]:g}: {allowed}"
    if discounts[-1] < 0:
        return f"gives a discount of {discounts[-1]:g}: none below 0 is allowed"
    grows = next((place for place in range(1, len(discounts)) if discounts[place] > discounts[place - 1]), None)
    if grows is not None:
        return f"gives position {grows + 1} a larger discount than position {grows}: discounts must not grow"
    return None


def _check(metric: Metric) -> str | None:
    if str(metric["gain"]).startswith("{") and metric["label"] is not None:
        return f"gives label with gain={metric['gain']}, which says what labels count"
    if metric.rel is not None and metric["gain"] != "binary":
        return f"gives rel with gain={GAIN.write(metric['gain'])}: only gain=binary asks which labels are relevant"
    refused = why_no_discounts(metric) or _why_no_gains(metric["gain"])
    return refused or (_why_no_ideal(metric) if metric.name == "ndcg" else _why_no_highest(metric))


def _why_no_highest(metric: Metric) -> str | None:
    """Return why ``metric`` needs a highest grade, or may not have the given one. None if neither is so."""
    gain, grade, is_best = metric["gain"], metric["max_grade"], metric[UNJUDGED.name] == "best"
    needs_grade = is_best and gain in ("linear", "exp2")
    if needs_grade and grade is None:
        return "gives unjudged=best alone: add max_grade=, the highest grade that a label can have"
    if is_best and metric.gain_columns:
        return f"gives unjudged=best with gain={gain}: the gains of a column have no highest one"
    if grade is not None and not needs_grade:
        return "gives max_grade, which only unjudged=best with gain=linear or gain=exp2 takes"
    if gain == "exp2" and grade is not None and metric.number("max_grade") > MOST_EXPONENT:
        return f"makes 2^{grade} of max_grade: grades up to {MOST_EXPONENT} are allowed"
    return None


def _why_no_ideal(metric: Metric) -> str | None:
    """Return why the ideal list of ``metric`` is refused, or None."""
    ideal, gain = ideal_of(metric), metric["gain"]
    if gain == "exp2" and isinstance(ideal, tuple) and max(ideal) > MOST_EXPONENT:
        return f"makes 2^{max(ideal):g} of an ideal grade: grades up to {MOST_EXPONENT} are allowed"
    if metric.gain_columns and ideal not in ("judged", "retrieved"):
        return f"gives ideal={IDEAL.write(ideal)} with gain={gain}: judged or retrieved rows have gains of a column"
    if isinstance(gain, tuple) and isinstance(ideal, tuple):
        bad = next((grade for grade in ideal if not (grade < 0 or grade in range(len(gain)))), None)
        if bad is not None:
            return f"gives an ideal list with the grade {bad:g}: gain has whole grades up to {len(gain) - 1}"
    if ideal == "k_relevant" and metric.k is not None and metric.k > TABLED_POSITIONS:
        return f"asks for an ideal list of k items: a cut-off up to {TABLED_POSITIONS} is allowed"
    return needs_cutoff("ideal", "k_relevant")(metric)


def _why_no_gains(gains: Value) -> str | None:
    """Return why the listed ``gains`` are refused, or None if they are allowed or missing."""
    if not isinstance(gains, tuple):
        return None
    if gains[0] != 0:
        return f"gives the label 0 a gain of {gains[0]:g}: rows of this label are not relevant, so 0 is needed"
    most = 2.0**MOST_EXPONENT
    if (bad := next((gain for gain in gains if gain and not LEAST_GAIN <= gain <= most), None)) is not None:
        return f"gives a label a gain of {bad:g}: 0 or a gain from {LEAST_GAIN:g} to 2^{MOST_EXPONENT} is allowed"
    return None if any(gains) else "gives no label a gain above 0"


def ideal_of(metric: Metric) -> str | tuple[float, ...]:
    ideal = metric["ideal"]
    return ideal if isinstance(ideal, tuple) else str(ideal)


def _beats_its_ideal(metric: Metric) -> bool:
    """Return whether the gains of the ideal list are fixed. The gains of labels may then exceed them."""
    return isinstance(metric["ideal"], tuple) or (metric["ideal"] == "k_relevant" and metric["gain"] != "binary")


def rank_biased_precision(ranking: Ranking, metric: Metric) -> Floats:
    """Return (1 - p) · Σ rel_i · p^(i-1) over hits within k, where rel_i is 1, or the label over ``max_grade``."""
    relevance = _relevance(ranking, metric)
    earned = replace(relevance, amount=relevance.amount * _persistence(relevance, metric))
    return cumulated_gain(earned, metric.k, ranking.groups)


def _relevance(ranking: Ranking, metric: Metric) -> Credit:
    """Return the relevance of each hit in rank-biased precision."""
    if metric["gain"] == "linear":
        credit = gains_of(ranking, checked_gain(ranking, metric, Gain()))
        return replace(credit, amount=credit.amount / metric.number("max_grade"))
    hits = hits_of(ranking, metric.rel)
    return Credit(hits.group, hits.position, hits.probability)


def _persistence(credit: Credit, metric: Metric) -> Floats:
    """Return the weight of the position of each of ``credit``."""
    p = metric.number("p")
    return (1 - p) * powers(p, credit.position - 1)


def _why_no_grades(metric: Metric) -> str | None:
    if metric["gain"] == "binary":
        return "gives max_grade with gain=binary: only gain=linear divides by it" if metric["max_grade"] else None
    if metric.rel is not None:
        return "gives rel with gain=linear: only gain=binary asks which labels are relevant"
    return None if metric["max_grade"] else "gives gain=linear alone: add max_grade=, the label that counts 1"


def _biased_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    credit, row = _relevance(ranking, metric), hits_of(ranking, metric.rel).row
    weight = _persistence(credit, metric)
    columns = {
        "relevance": spread(ranking, row, credit.amount, 0.0),
        "weight": spread(ranking, row, weight),
        "contribution": spread(ranking, row, credit.amount * weight, 0.0),
    }
    columns = {name: within(terms, ranking.stands_at(), metric.k) for name, terms in columns.items()}
    return Arithmetic.of([list_table(ranking, columns)], [total(str(metric), "contribution")])


def _list_terms(ranking: Ranking, metric: Metric, discount: Discount | None) -> TermTable:
    credit, hits = gains_of(ranking, gain_of(ranking, metric)), hits_of(ranking, None)
    columns = {"gain": spread(ranking, hits.row, credit.amount, 0.0)}
    position = ranking.stands_at()
    if discount is not None:
        columns["discount"] = discount.at(position)
        columns["contribution"] = columns["gain"] * columns["discount"]
    last = next(reversed(columns))
    columns[last] = within(columns[last], position, metric.k)
    return list_table(ranking, columns)


def _ideal_terms(ranking: Ranking, metric: Metric, discount: Discount) -> TermTable:
    """Return the table of terms of the ideal list up to ``k``, highest gain first, for a ranking of one group."""
    gain, ideal, judgments = gain_of(ranking, metric), ideal_of(metric), ranking.judgments
    rows: Ints | None = None
    if isinstance(ideal, tuple):
        gains = np.sort(gain.of(np.asarray(ideal)))[::-1]
    elif ideal == "k_relevant":
        gains = np.ones(metric.k or 0)
    else:
        counted = judgments.counted()
        rows = ranking.row if ideal == "retrieved" else np.arange(len(judgments.codes)) if counted is None else counted
        rows = rows[judgments.flags(None)[rows]]
        gains = judgments.gain_of(gain, rows)
        order = np.argsort(-gains, kind="stable")
        rows, gains = rows[order], gains[order]
    discounts = discount.at(np.arange(1, len(gains) + 1, dtype=np.int32)) if len(gains) else np.empty(0)
    k = len(gains) if metric.k is None else metric.k
    columns = {"gain": gains[:k], "discount": discounts[:k], "contribution": (gains * discounts)[:k]}
    return TermTable(IDEAL_LIST, columns, None if rows is None else rows[:k])


def _gain_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    return Arithmetic.of([_list_terms(ranking, metric, None)], [total(str(metric), "gain")])


def _discounted_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    return Arithmetic.of([_list_terms(ranking, metric, _discount(metric))], [total(str(metric), "contribution")])


def _normalised_terms(ranking: Ranking, metric: Metric) -> Arithmetic:
    discount, dcg = _discount(metric), at_k("dcg", metric.k)
    tables = [_list_terms(ranking, metric, discount), _ideal_terms(ranking, metric, discount)]
    steps: list[Step] = [total(dcg, "contribution"), total(f"ideal {dcg}", "contribution", IDEAL_LIST)]
    return Arithmetic.of(tables, [*steps, quotient(str(metric), dcg, f"ideal {dcg}")])


DECLARATIONS = (
    GroupMetric(
        name="cg",
        title="cumulated gain",
        formula="Σ g_i over the first k",
        undefined="never",
        reference=JARVELIN,
        parameters=(GAIN, REL, MAX_GRADE),
        common=OF_LISTS_WITH_BEST,
        highest=math.inf,
        check=_check,
        values=lambda ranking, metric: cumulated_gain(
            gains_of(ranking, gain_of(ranking, metric)), metric.k, ranking.groups
        ),
        arithmetic=_gain_terms,
    ),
    GroupMetric(
        name="dcg",
        title="discounted cumulated gain",
        formula="Σ g_i · d_i over the first k, d_i = 1 / log2(i+1) unless discount says otherwise",
        undefined="never",
        reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
        parameters=(GAIN, REL, DISCOUNT, MAX_GRADE),
        common=OF_LISTS_WITH_BEST,
        highest=math.inf,
        check=_check,
        sums=_sums,
        values=lambda gains, metric: gains.of_list(metric.k),
        arithmetic=_discounted_terms,
    ),
    GroupMetric(
        name="ndcg",
        title="normalised discounted cumulated gain",
        formula="dcg@k / dcg@k of the ideal list",
        undefined="the ideal list has no gain",
        reference=f"{JARVELIN}; gain=exp2: Burges et al., ICML 2005",
        parameters=(GAIN, IDEAL, REL, DISCOUNT),
        others=(("sampled", "sampled_ndcg"),),
        unbounded=Unbounded("ideal=[grade,...], or ideal=k_relevant where gain is not binary", _beats_its_ideal),
        check=_check,
        sums=_sums,
        values=lambda gains, metric: ratio(gains.of_list(metric.k), gains.of_ideal(metric.k, ideal_of(metric))),
        arithmetic=_normalised_terms,
        interval="logit",
    ),
    GroupMetric(
        name="rbp",
        title="rank-biased precision",
        formula="(1-p) · Σ rel_i · p^(i-1)",
        undefined="never",
        reference="Moffat, Zobel: TOIS 2008",
        parameters=(
            Number("p", 0.8, "persistence: the chance that a reader goes on to the next row", above=0.0, below=1.0),
            REL,
            Choice(
                "gain",
                "binary",
                "rel_i: binary = 1 if relevant; linear = label / max_grade, where a label below 0 counts 0",
                later=True,
                choices=("binary", "linear"),
            ),
            Number(
                "max_grade",
                None,
                "with gain=linear, the label that counts 1; a higher one counts more, so 1 adds up labels as trec_eval "
                "and ranx do",
                later=True,
                above=LEAST_GRADE,
                below=MOST_GRADE,
            ),
        ),
        common=OF_LISTS_WITH_BEST,
        check=_why_no_grades,
        unbounded=Unbounded("gain=linear", lambda metric: metric["gain"] == "linear", has_ideal=lambda metric: False),
        values=rank_biased_precision,
        arithmetic=_biased_terms,
        interval="logit",
    ),
)
