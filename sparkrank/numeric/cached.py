"""A cache for methods: results live as long as the object; ``functools.cache`` would keep every bucket alive."""

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
        # The function is the key because two methods may have the same name. It is the wrapped one, which pickle finds
        # in its module.
        key = (once, args[1:], tuple(kwargs.items()))
        if key not in memory:
            memory[key] = method(*args, **kwargs)
        return memory[key]

    return once


def drop_cached(owner: object) -> None:
    """Drop the cached results of ``owner``: they may refer to it, and only Python's collector frees cycles."""
    owner.__dict__.pop("_cached", None)
