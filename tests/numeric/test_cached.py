"""What is computed once for an object and its arguments, and given again."""

from __future__ import annotations

import pickle

from sparkrank.numeric.cached import cached, drop_cached
from sparkrank.states import RowSums


class Owner:
    """What remembers."""


def _constant(value: int):
    @cached
    def found(owner: Owner) -> int:
        return value

    return found


def test_functions_of_one_name_do_not_give_each_others_values() -> None:
    """Two modules, or two calls of a function that makes functions, may each have one of that name."""
    one, two, owner = _constant(1), _constant(2), Owner()
    assert one.__name__ == two.__name__
    assert (one(owner), two(owner), one(owner)) == (1, 2, 1)


def test_a_value_is_computed_once_for_each_owner_and_arguments_until_it_is_forgotten() -> None:
    calls = []

    @cached
    def found(owner: Owner, k: int, *, rel: float | None = None) -> int:
        calls.append((k, rel))
        return k

    owner, other = Owner(), Owner()
    assert [found(owner, 5), found(owner, 5), found(owner, 5, rel=1.0), found(other, 5)] == [5, 5, 5, 5]
    assert calls == [(5, None), (5, 1.0), (5, None)]
    drop_cached(owner)
    found(owner, 5)
    found(other, 5)
    assert calls == [(5, None), (5, 1.0), (5, None), (5, None)]


def test_an_owner_is_pickled_with_what_it_remembers() -> None:
    """States go from worker to worker after somebody has asked them something."""
    sums = RowSums.of([])
    sums.limbs()
    assert pickle.loads(pickle.dumps(sums)).limbs() == {}  # noqa: S301 - our own bytes
