"""A bucket evaluated with compiled loops has the bits of the numpy kernels, which other tests hold to oracles."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkrank.base.errors import InputError
from sparkrank.bucket import BucketResult, evaluate_bucket
from sparkrank.bucket.group_rows import with_plain_models
from sparkrank.metrics import Plan
from sparkrank.states import Partials
from tests.extent import examples
from tests.native.with_and_without import array_bits, both
from tests.support.numbers import bits
from tests.support.random_buckets import buckets, plans
from tests.support.strategies import PATIENT


def partial_bits(partials: Partials) -> dict[str, object]:
    blocks = {
        **{str(key): found for key, found in partials.blocks.items()},
        **{str(key): found.histogram for key, found in partials.distributions.items()},
    }
    return {
        "means": bits(partials.means.table),
        "sums": bits(partials.sums.table),
        "items": bits(
            partials.items.table.sort_by([(name, "ascending") for name in partials.items.table.column_names])
        ),
        "counts": list(partials.counts.items()),
        "blocks": {
            key: (found.rule, *(array_bits(getattr(found, name)) for name in ("bins", "pos", "neg", "offset", "rows")))
            for key, found in blocks.items()
        },
    }


def everything(rows: pa.Table, plan: Plan) -> dict[str, object]:
    """All that a bucket yields, and two times that merged, or what is wrong with it."""
    try:
        found: BucketResult = evaluate_bucket(rows, plan)
    except InputError as error:  # an item twice, a label that makes too much of a gain
        return {"error": str(error)}
    by_key = [(name, "ascending") for name in ("model", *plan.keys)]  # the order of groups says nothing
    merged = Partials.merged([found.partials, found.partials])
    groups = bits(with_plain_models(found.groups).sort_by(by_key))
    return {**partial_bits(found.partials), "merged": partial_bits(merged), "groups": groups}


@pytest.mark.slow
@given(st.data())
@settings(PATIENT, max_examples=examples(120))
def test_a_bucket_has_the_same_bits_with_loops_and_without(data: st.DataObject) -> None:
    """Ties, long groups, groups of one class, negative, graded and fractional labels, infinite scores, -0.0, nulls."""
    plan = data.draw(plans())
    rows = data.draw(buckets(plan))
    compiled, plain = both(lambda: everything(rows, plan))
    assert compiled.keys() == plain.keys()
    for part in plain:
        assert compiled[part] == plain[part], part
