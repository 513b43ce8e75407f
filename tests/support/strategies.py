"""Random impressions and random metrics, for property tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sparkrank.metrics import CATALOG, GroupMetric, Metric
from sparkrank.metrics.gain import MOST_DISCOUNT, MOST_EXPONENT
from sparkrank.metrics.metric import Declaration
from sparkrank.metrics.parameters import Choice, Column, ColumnChoice, Count, Flag, Name, Number, Parameter, Value
from tests.cases import Row
from tests.oracles import OWN_TIES

# A shared machine is slow now and then; that is no failure of a property.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

TIED_SCORES = (None, 0.0, -0.0, 1.0, 2.0)  # few, so that most groups have ties; 0.0 and -0.0 are one score
GRADES = (None, -1.0, 0.0, 1.0, 1.0, 2.0, 3.0, 0.5)


@st.composite
def impressions(
    draw: st.DrawFn,
    most_rows: int,
    groups: Sequence[str] = ("a", "b", "c"),
    scores: Sequence[float | None] = TIED_SCORES,
    labels: Sequence[float | None] = GRADES,
) -> list[Row]:
    """Rows of some of ``groups``, each of ``most_rows`` at most and its items distinct, in any order."""
    rows: list[Row] = []
    for group in groups:
        pairs = draw(st.lists(st.tuples(st.sampled_from(scores), st.sampled_from(labels)), max_size=most_rows))
        items = draw(st.permutations(range(7, 7 + len(pairs))))  # 7 to 14: as text, 10 stands below 7
        rows += [(group, str(item), score, label) for item, (score, label) in zip(items, pairs, strict=True)]
    return draw(st.permutations(rows))


# Parameters that mean nothing without a cut-off.
NEED_A_CUTOFF = {(name, "min_k_relevant") for name in ("p", "r", "ap")} | {
    ("ap", "k"),
    ("ndcg", "k_relevant"),
    ("past_novelty", "k"),
}
GAINS = ("linear", "exp2", "binary")  # of labels, whatever they are
MOST_DRAWN = 100.0  # of a number that may be far larger

Asked = tuple[str, dict[str, Value], int | None]  # a metric in its parts: name, the parameters given, cut-off


def values_of(parameter: Parameter, thresholds: st.SearchStrategy[float]) -> st.SearchStrategy[Value]:
    """Every value that ``parameter`` allows; ``thresholds`` are the values of an unbounded number."""
    if isinstance(parameter, Choice):
        words = st.sampled_from(parameter.choices)
        grades = st.lists(thresholds, min_size=1, max_size=4).map(lambda drawn: tuple(sorted(drawn, reverse=True)))
        return words | grades if parameter.grades else words
    if isinstance(parameter, Count):
        return st.integers(parameter.least, parameter.most)
    if isinstance(parameter, Flag):
        return st.just(True)
    if isinstance(parameter, Column):
        names = st.sampled_from([*parameter.choices, "_"])
        return names if parameter.listed is None else names | st.sampled_from([(0.0, 1.0, 3.0, 7.0), (0.0, 0.5)])
    if isinstance(parameter, Name):
        return st.sampled_from([*parameter.choices, "7", "2.5-1", "_"])  # names keep their case: these have none
    assert isinstance(parameter, Number)
    low, high = parameter.above, parameter.below
    if parameter.name == "rel":
        return thresholds
    if low == -float("inf"):
        return st.floats(allow_nan=False, allow_infinity=False)
    if high > low + MOST_DRAWN:
        return st.floats(low + 0.01, low + MOST_DRAWN)  # a beta of 1e-200 is 0 when squared
    if parameter.closed:
        return st.floats(low, high) | st.integers(0, 20).map(lambda level: low + (high - low) * level / 20)
    return st.floats(low, high, exclude_min=True, exclude_max=True)


@st.composite
def asked(
    draw: st.DrawFn,
    declarations: Sequence[Declaration] = tuple(CATALOG.values()),
    thresholds: st.SearchStrategy[float] = st.floats(0, exclude_min=True, allow_infinity=False),  # noqa: B008
    cutoffs: st.SearchStrategy[int] = st.integers(1, 10**6),  # noqa: B008
    column: str = "_",
) -> Asked:
    """A metric that the grammar allows."""
    declaration = draw(st.sampled_from(declarations))
    own = declaration.parameters
    some = st.lists(st.sampled_from(own), unique_by=lambda each: each.name) if own else st.just([])
    given = {parameter.name: draw(values_of(parameter, thresholds)) for parameter in draw(some)}
    given = of_samples(needed(declaration.name, column) | given)
    given |= {own.name: column for own in own if isinstance(own, Column) and given.get(own.name) == "_"}
    for extra in [name for name in given if name in declaration.exclusive][1:]:
        del given[extra]
    given = {name: value for name, value in given.items() if name not in ("propensity", "clip")}  # rows have none
    if "gain" in declaration.defaults and given.get("gain") != "binary":
        given.pop("rel", None)
    given = with_grades(declaration.name, given)
    if given.get("gain") == "exp2" and isinstance(ideal := given.get("ideal"), tuple):
        given["ideal"] = tuple(min(grade, MOST_EXPONENT) for grade in ideal)
    if given.get("gain", "linear") not in GAINS:
        given.pop("ideal", None)
    if "scale" in declaration.defaults and given.get("scale") != "unit":
        given.pop("items", None)
    if given.get("by") == "count":
        given.pop("items", None)  # a number of items is divided by none
    given.pop("against", None)  # the catalog has no labels
    if isinstance(discount := given.get("discount"), tuple):
        given["discount"] = tuple(min(each, MOST_DISCOUNT) for each in discount)
    given = label_parameters(given)
    if declaration.cutoff == "none":
        return declaration.name, given, None
    needs = any((declaration.name, value) in NEED_A_CUTOFF for value in given.values())
    return declaration.name, given, draw(cutoffs if needs else st.none() | cutoffs)


def of_samples(given: dict[str, Value]) -> dict[str, Value]:
    """The parameters of an estimate from sampled items, which are fewer than all, and without a gamma nobody reads."""
    more = {"items": 1001} if {"sampled", "items"} <= given.keys() else {}
    return {
        name: value for name, value in (given | more).items() if name != "gamma" or "minimal_bias" in given.values()
    }


def label_parameters(given: dict[str, Value]) -> dict[str, Value]:
    """The parameters of a metric of a column that is a copy of the labels: no arrays, and no column of a catalog."""
    others = {("distance", "jaccard"): "mismatch", ("distance", "cosine"): "mismatch", ("over", "catalog"): "k"}
    return {name: others.get((name, str(value)), value) for name, value in given.items()}


def with_grades(name: str, given: dict[str, Value]) -> dict[str, Value]:
    """The parameters of rbp, of which a highest grade goes with linear gains alone, and a threshold with others.

    Of cg and dcg one goes with rows without a label alone.
    """
    if name in ("cg", "dcg"):
        return {own: value for own, value in given.items() if own != "max_grade"}
    if name != "rbp":
        return given
    if "max_grade" not in given:
        return {**given, "gain": "binary"}
    return {**{name: value for name, value in given.items() if name != "rel"}, "gain": "linear"}


def needed(name: str, column: str = "label", arrays: str | None = None) -> dict[str, Value]:
    """The parameters without which the metric means nothing: the columns of values that it reads.

    Those of the labels are what oracles see. ``arrays`` is the column for metrics that read arrays of texts.
    """
    declared = CATALOG[name].parameters
    words = {own.name: own.choices[0] for own in declared if isinstance(own, ColumnChoice)}
    columns = [own for own in declared if isinstance(own, Column) and own.default is None]
    words |= {own.name: 3 if own.name == "sampled" else own.most for own in declared if is_required(own)}
    return words | {own.name: arrays if arrays and own.kind == "texts" else column for own in columns}


def is_required(parameter: Parameter) -> bool:
    return isinstance(parameter, Count) and parameter.required


def reads_the_past(declaration: Declaration) -> bool:
    """Whether the metric reads interactions: those of groups, or the popularity of items in them."""
    return declaration.reads_interactions or any(isinstance(own, ColumnChoice) for own in declaration.parameters)


# Metrics that count rows which nobody judged and no list shows: a slow join does not keep them.
OF_ALL_ROWS = ("fallout", "percentile_rank")
# Metrics for which scores are numbers and not only an order: a list of places says nothing of them.
OF_NUMBERS = ("calibration_gap", "group_rmse", "group_mae")


def has_unjudged(parts: Asked, definitions: Mapping[str, str]) -> bool:
    """Whether the metric has the rows without a label that it counts."""
    return parts[0] not in ("judged", "unj") or definitions["unjudged"] != "drop"


def group_metrics(tied: bool, *, values: bool = False) -> st.SearchStrategy[Asked]:
    """Metrics of groups at thresholds and cut-offs that matter to small lists; ``tied``: with an expected form.

    ``values``: also metrics that read a column of values, which is that of the labels.
    """
    declared = [declaration for declaration in CATALOG.values() if isinstance(declaration, GroupMetric)]
    small = asked(
        [own for own in declared if not reads_the_past(own) and (values or not needed(own.name))],
        st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]),
        st.integers(1, 7),
        "label",
    )
    small = small.filter(lambda parts: "is" not in parts[1])  # labels are numbers
    # listed gains refuse most labels, which other metrics then lack
    small = small.filter(lambda parts: parts[1].get("gain", "linear") in (*GAINS, *(["label"] if values else [])))
    evaluated = small.filter(lambda parts: refers_to_labels(parts) and weighs_by_a_word(parts))
    return evaluated.filter(has_expectation) if tied else evaluated


def refers_to_labels(parts: Asked) -> bool:
    """Whether the metric compares with no order, or with that of the labels, which all rows have."""
    return parts[1].get("ref", CATALOG[parts[0]].defaults.get("ref", "label")) == "label"


def weighs_by_a_word(parts: Asked) -> bool:
    return parts[1].get("weight", "uniform") in ("uniform", "rows", "relevant", "positives", "pairs")


def has_expectation(parts: Asked) -> bool:
    """Whether the metric's value under ties=expected is the mean over all orders of the tied rows."""
    metric = Metric.parse(text(parts))
    has_its_own = metric.name in OWN_TIES or parts[1].get("tied") == "zero" or not refers_to_labels(parts)
    declared = metric.declaration
    return not has_its_own and isinstance(declared, GroupMetric) and declared.unexpected(metric) is None


def arguments(parts: Asked) -> dict[str, Value]:
    name, given, k = parts
    return given if CATALOG[name].cutoff == "none" else {"k": k, **given}


def text(parts: Asked) -> str:
    """The metric as a person would type it."""
    name, given, k = parts
    inside = ",".join(written(*setting) for setting in given.items())
    return name + (f"({inside})" if given else "") + ("" if k is None else f"@{k}")


def written(name: str, value: Value) -> str:
    if value is True:
        return name
    return f"{name}=[{','.join(map(str, value))}]" if isinstance(value, tuple) else f"{name}={value}"
