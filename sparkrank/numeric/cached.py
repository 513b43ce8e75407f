"""A cache for methods. Results live as long as the object, while ``functools.cache`` would keep every bucket alive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def cached(method: Callable[P, R]) -> Callable[P, R]:
    """Call ``method`` only once for each object and each set of (hashable, positional) arguments."""

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
    """Drop the cached results of ``owner``: they may form cycles with it, which only Python's collector frees."""
    owner.__dict__.pop("_cached", None)
