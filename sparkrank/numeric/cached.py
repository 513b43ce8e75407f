"""Shared work is done once: a method whose result is kept for the life of its object, by its arguments.

``functools.cache`` would keep every bucket alive in a global table; here the results go with the object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def cached(method: Callable[P, R]) -> Callable[P, R]:
    """Call ``method`` once for each set of (hashable, positional) arguments and object."""

    @functools.wraps(method)
    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        owner: Any = args[0]
        memory: dict[object, R] = owner.__dict__.setdefault("_cached", {})
        # by the function: two may share a name. As it stands in its module, where pickling an owner finds it
        key = (once, args[1:], tuple(kwargs.items()))
        if key not in memory:
            memory[key] = method(*args, **kwargs)
        return memory[key]

    return once


def drop_cached(owner: object) -> None:
    """Drop what ``owner`` remembers.

    What it remembers may hold the owner itself: the hits of a ranking know their ranking. Such a circle is freed only
    when Python's collector next looks at its old objects, and solved buckets of 15 MB each piled up to a gigabyte
    until it did.
    """
    owner.__dict__.pop("_cached", None)
