"""Whether the states of a stored day can be those of one day: sums that some values have, tables that say the same.

A table of another day, or one that something has written anew, may have the right types and as many rows. What it
says is then no longer what the others say of the same groups and rows. All checks go over whole columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkrank.base import checks
from sparkrank.base.errors import InputError, shortened
from sparkrank.histogram.scored_rows import RowSum
from sparkrank.metrics.slices import ALL
from sparkrank.numeric.array_types import Flags, Floats, Ints
from sparkrank.numeric.exact_sums import LIMBS, UNITS
from sparkrank.states.forms import (
    BLOCKS_KIND,
    COUNT_FORM,
    DISTRIBUTION_FORM,
    ITEM_FORM,
    MEAN_FORM,
    PART_MEAN_FORM,
    PART_SUM_FORM,
    PARTS_KIND,
    STATE_KEY,
    SUM_FORM,
)
from sparkrank.states.part_bins import OF

SCORED = str(RowSum("rows"))
GROUPS = "groups"
# Sums of parts, by kind and amount, and those of all groups that they add up to.
_OF_PARTS = (
    (PART_MEAN_FORM.kind, "part_w", MEAN_FORM.kind, "w"),
    (PART_MEAN_FORM.kind, "part_wv", MEAN_FORM.kind, "wv"),
    (PART_SUM_FORM.kind, "part_total", SUM_FORM.kind, "total"),
)
_ADVICE = "evaluate that day again"
_ROUNDED = 1e-9  # far above what rounding does to sums and their squares
_LOST = 2.0**-84  # of each value that is summed, what lies below the finest unit
Counts = Mapping[tuple[str, str], int]  # by check and model, which is empty where a check concerns all


def counts_of(states: pa.Table) -> dict[tuple[str, str], int]:
    """What a day counts, of the rows of its table ``states``."""
    rows = states.filter(pc.equal(states["kind"], COUNT_FORM.kind))
    names = (rows[name].to_pylist() for name in ("name", "model", "count"))
    return {(name, model): count for name, model, count in zip(*names, strict=True)}


def validate_run(run: Mapping[str, object], found: Sequence[str | None], day: str, name: str = "states") -> None:
    """Raise :class:`InputError` where the row ``run`` of ``runs`` is no finished run of ``day``, or where the table
    ``name`` is ``found`` to be of another. Days of older versions do not say whose their states are.
    """
    run_id, status = run.get("run_id"), run.get("status")
    if status is not None and status != "done":
        raise InputError(f"the run of {day} has the status {shortened(status)}, not done: {_ADVICE}")
    if run_id is None:
        return
    if str(run_id).rpartition("-")[0] != day:
        raise InputError(f"the tables of {day} are those of the run {shortened(run_id)}, of another day: {_ADVICE}")
    for other in found:
        if other is not None and other != run_id:
            raise InputError(
                f"the table {name} of {day} is that of the run {shortened(other)}, and its table runs that of "
                f"{shortened(run_id)}: {_ADVICE}"
            )


def validate_sums(table: pa.Table, counted: Ints, amounts: Sequence[str], name: str, day: str) -> None:
    """Raise :class:`InputError` where a limb of the sums ``amounts`` is larger than so many ``counted`` values (n) can
    make it: of each value a unit leaves half of itself to the finer ones.
    """
    most = np.maximum(counted, 1).astype(np.float64)
    for amount in amounts:
        for limb in range(1, LIMBS):
            column = f"{amount}_{limb}"
            if (np.abs(table[column].to_numpy()) > most * UNITS[limb - 1]).any():
                _raise_damaged(name, day, f"{column} that is more than its values can make it")
        if not np.isfinite(_totals(table, amount)).all():
            _raise_damaged(name, day, f"{amount}_0 to {amount}_{LIMBS - 1} whose sum is not finite")


def validate_means(means: pa.Table, never_negative: Sequence[str], day: str) -> None:
    """Raise :class:`InputError` for means whose counts and sums no groups can have (Cauchy and Schwarz).

    The squares of values that are ``never_negative``, by the metric, add up to the square of their sum at most.
    """
    groups, undefined, averaged = (means[name].to_numpy() for name in ("n_groups", "n_undefined", "n_averaged"))
    if ((averaged != groups) & (averaged != groups - undefined)).any():
        _raise_damaged("states", day, "n_averaged that is neither n_groups nor n_groups without n_undefined")
    validate_sums(means, averaged, ("w", "wv", "ww", "wwv", "wwvv"), "states", day)
    w, wv, ww, wwv, wwvv = (_totals(means, name) for name in ("w", "wv", "ww", "wwv", "wwvv"))
    count = averaged.astype(np.float64)
    ww, wwvv, lost = np.abs(ww), np.abs(wwvv), count * _LOST
    with np.errstate(over="ignore"):
        bad = w * w > count * (ww + lost) * (1 + _ROUNDED)
        bad |= ww > w * w * (1 + _ROUNDED) + lost
        bad |= wv * wv > count * (wwvv + lost) * (1 + _ROUNDED)
        bad |= wwv * wwv > (ww + lost) * (wwvv + lost) * (1 + _ROUNDED)
        bad |= (wwvv > wv * wv * (1 + _ROUNDED) + lost) & _named(means, never_negative)
    if bad.any():
        _raise_damaged("states", day, "sums w, wv, ww, wwv and wwvv that n_averaged groups cannot have")


def validate_pairs(pairs: pa.Table, day: str) -> None:
    """Raise :class:`InputError` for pairs of models whose counts and sums no groups can have (Cauchy and Schwarz)."""
    n, *counted = (pairs[name].to_numpy() for name in ("n_pairs", "n_above", "n_equal", "n_below"))
    if (n != sum(counted)).any():
        _raise_damaged("states", day, "n_pairs that is not n_above, n_equal and n_below together")
    first, second = _totals(pairs, "d"), np.abs(_totals(pairs, "dd"))
    count = n.astype(np.float64)
    with np.errstate(over="ignore"):
        bad = first * first > count * (second + count * _LOST) * (1 + _ROUNDED)
    if bad.any():
        _raise_damaged("states", day, "sums d and dd that n_pairs groups cannot have")


def validate_agreement(kinds: Mapping[str, pa.Table], counts: Counts, day: str) -> None:
    """Raise :class:`InputError` where tables of one day, by kind, do not say the same of its groups and rows."""
    read, evaluated = (counts.get((name, "")) for name in (checks.ROWS_READ, checks.ROWS_EVALUATED))
    if read is not None and evaluated is not None and evaluated > read:
        _raise_damaged("states", day, f"more {checks.ROWS_EVALUATED} than {checks.ROWS_READ}")
    if MEAN_FORM.kind in kinds and evaluated is not None:
        _validate_counts(kinds[MEAN_FORM.kind], evaluated, counts, day)
    sums = kinds.get(SUM_FORM.kind)
    if sums is not None:
        validate_sums(sums, np.full(len(sums), read or 2**62), ("total",), "states", day)
        for name, most in ((SCORED, evaluated), (GROUPS, counts.get((checks.GROUPS, "")))):
            totals = _totals(sums.filter(pc.equal(sums["name"], name)), "total")
            if most is not None and ((totals > most) | (totals != np.rint(totals))).any():
                _raise_damaged("states", day, f"a sum of {name} that is more than there were, or no whole number")
    if DISTRIBUTION_FORM.kind in kinds and MEAN_FORM.kind in kinds:
        found = kinds[DISTRIBUTION_FORM.kind].rename_columns(_renamed(kinds[DISTRIBUTION_FORM.kind], "metric"))
        names = pc.unique(found["name"]).cast(pa.string())
        means = kinds[MEAN_FORM.kind].filter(pc.is_in(kinds[MEAN_FORM.kind]["name"].cast(pa.string()), names))
        _validate_group_counts(found, found["groups"].to_numpy(), means, means["n_averaged"].to_numpy(), day)
    for name in (BLOCKS_KIND, PARTS_KIND):
        if sums is not None and name in kinds:
            of_groups = pc.match_substring(kinds[name]["rule"].cast(pa.string()), OF)
            _validate_block_rows(kinds[name].filter(pc.invert(of_groups)), sums, name, day)
    for part, amount, whole, total in _OF_PARTS:
        if part in kinds and whole in kinds:
            _validate_part_sums(kinds[part], amount, kinds[whole], total, day)
    if sums is not None and ITEM_FORM.kind in kinds:
        _validate_item_groups(kinds[ITEM_FORM.kind], sums, day)


def _validate_counts(means: pa.Table, evaluated: int, counts: Counts, day: str) -> None:
    """Of the whole day each model has all groups but those left out, and no row that was not evaluated."""
    rows = means["n_rows"].to_numpy()
    if (rows > evaluated).any():
        _raise_damaged("states", day, f"n_rows that is more than the {checks.ROWS_EVALUATED}")
    groups = counts.get((checks.GROUPS, ""))
    if groups is None:
        return
    whole = means.filter(pc.equal(means["slice"], ALL))
    models = whole["model"].combine_chunks()
    encoded = models if pa.types.is_dictionary(models.type) else models.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    left = np.array([counts.get((checks.GROUPS_LEFT_OUT, name), 0) for name in names], np.int64)
    expected = groups - left[encoded.indices.to_numpy(zero_copy_only=False)]
    if (whole["n_groups"].to_numpy() != expected).any():
        _raise_damaged("states", day, f"n_groups that is not what it has of the check {checks.GROUPS}")
    nothing = (whole["n_rows"].to_numpy() == 0) & (expected == groups) & (expected > 0)
    if evaluated and nothing.any():
        _raise_damaged("states", day, "n_rows of 0 beside groups")


def _validate_group_counts(found: pa.Table, ours: Ints, others: pa.Table, theirs: Ints, day: str) -> None:
    """The groups of a distribution are those in the mean of its metric."""
    sums = _by_key([(found, ours), (others, -theirs)])
    if sums["amount_sum"].to_numpy().any():
        _raise_damaged(DISTRIBUTION_FORM.kind, day, "groups that are not those in the mean of its metric")


def _validate_part_sums(parts: pa.Table, amount: str, whole: pa.Table, total: str, day: str) -> None:
    """The sums of all parts are those of the whole, up to the units that parts are rounded to."""
    sliced = _named(whole, pc.unique(parts["slice"]).to_pylist(), "slice")
    known = _named(whole, pc.unique(parts["name"]).to_pylist())
    theirs = whole.filter(pa.array(sliced & known))
    parts = parts.filter(pa.array(_named(parts, pc.unique(whole["name"]).to_pylist())))
    ours = _totals(parts, amount)
    expected = _totals(theirs, total)
    sizes = [(parts, np.abs(ours)), (theirs, np.abs(expected))]
    off = _by_key([(parts, ours), (theirs, -expected)])["amount_sum"].to_numpy()
    size = _by_key(sizes)["amount_sum"].to_numpy()
    if (np.abs(off) > _ROUNDED * (1 + size)).any():
        _raise_damaged(
            "states", day, f"{amount}_0 to {amount}_{LIMBS - 1} whose sum over the parts is not that of all groups"
        )


def _validate_block_rows(blocks: pa.Table, sums: pa.Table, name: str, day: str) -> None:
    """The rows of the blocks by each rule are all rows with a score, in the slices that they have."""
    found = blocks.rename_columns(_renamed(blocks, "rule"))
    if "rows" in found.column_names:
        rows = found["rows"].to_numpy()
    else:
        rows = found["pos"].to_numpy() + found["neg"].to_numpy()
    of_rule = _by_key([(found, rows)])
    scored = sums.filter(pc.equal(sums["name"], SCORED))
    if name == PARTS_KIND:  # which values of slices may lack
        scored = scored.filter(pa.array(_named(scored, pc.unique(blocks["slice"]).to_pylist(), "slice")))
    totals = _totals(scored, "total").astype(np.int64)
    place = scored.column_names.index("name")
    expected = [
        (scored.set_column(place, "name", pa.repeat(rule, len(scored))), -totals)
        for rule in pc.unique(of_rule["name"]).to_pylist()
    ]
    together = _by_key([(of_rule, of_rule["amount_sum"].to_numpy()), *expected])
    if together["amount_sum"].to_numpy().any():
        _raise_damaged(name, day, "rows that are not those with a score")


def _validate_item_groups(items: pa.Table, sums: pa.Table, day: str) -> None:
    """An item is relevant in a group once at most."""
    groups, by = sums.filter(pc.equal(sums["name"], GROUPS)), list(STATE_KEY[:3])
    whole = _plain(groups.select(by)).append_column("groups", pa.array(_totals(groups, "total").astype(np.int64)))
    most = items.unify_dictionaries().group_by(by, use_threads=False).aggregate([("relevant", "max")])
    together = pa.concat_tables([_plain(most), whole], promote_options="default").group_by(by, use_threads=False)
    found = together.aggregate([("relevant_max", "max"), ("groups", "max")])
    if pc.any(pc.greater(found["relevant_max_max"], found["groups_max"])).as_py():
        _raise_damaged(ITEM_FORM.kind, day, "relevant that is more than the groups")


def _by_key(parts: Sequence[tuple[pa.Table, Ints | Floats]]) -> pa.Table:
    """The sums of numbers under each key of states, those of all ``parts`` together."""
    tables = []
    for table, amount in parts:
        rows = table.select(list(STATE_KEY)).append_column("amount", pa.array(amount)).unify_dictionaries()
        tables.append(_plain(rows.group_by(list(STATE_KEY), use_threads=False).aggregate([("amount", "sum")])))
    together = pa.concat_tables(tables).group_by(list(STATE_KEY), use_threads=False).aggregate([("amount_sum", "sum")])
    return together.rename_columns([*together.column_names[:-1], "amount_sum"])


def _plain(table: pa.Table) -> pa.Table:
    """``table`` with texts that are not encoded by dictionaries."""
    kinds = [(each.name, pa.string() if pa.types.is_dictionary(each.type) else each.type) for each in table.schema]
    return table.cast(pa.schema(kinds))


def _named(table: pa.Table, names: Sequence[str], column: str = "name") -> Flags:
    """Which rows of ``table`` have one of ``names``."""
    found = pc.is_in(table[column].cast(pa.string()), pa.array(list(names), pa.string()))
    return np.asarray(found.to_numpy(), np.bool_)


def _renamed(table: pa.Table, column: str) -> list[str]:
    return ["name" if name == column else name for name in table.column_names]


def _totals(table: pa.Table, amount: str) -> Floats:
    """The sums of limbs, from the finest."""
    with np.errstate(over="ignore", invalid="ignore"):
        totals: Floats = np.sum([table[f"{amount}_{limb}"].to_numpy() for limb in reversed(range(LIMBS))], axis=0)
    return totals


def _raise_damaged(name: str, day: str, what: str) -> None:
    raise InputError(f"the table {name} of {day} has {what}: {_ADVICE}")
